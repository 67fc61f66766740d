"""Primitives on the binary form of numbers: exponents, products with powers of two, the next float, bit casts."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import dtypes
from .._core.op import batch_elementwise, elementwise, linear, not_differentiable, require_dtype, zero
from .._core.types import TensorType, same_shape, tensor_type
from .structural import fill, zeros_of


def _ldexp_type(x: TensorType, n: TensorType) -> TensorType:
    require_dtype("ldexp", "x", x, "float")
    if n.dtype != dtypes.int32:
        raise TypeError(f"ldexp: n has dtype {n.dtype.name}, wanted int32")
    if not same_shape(x.shape, n.shape):
        raise ValueError(f"ldexp: x has shape {x.shape} and n has shape {n.shape}")
    return tensor_type(x.shape, x.dtype)


def _small_integers(*shape: int) -> Any:
    return lambda rng: rng.integers(-3, 4, shape).astype("int32")


ldexp = linear(
    "ldexp", "x n", type=_ldexp_type, batch=batch_elementwise, dtypes="float",
    transpose=(lambda ct, n: ldexp(ct, n), None),
    samples=[(((3, 2), _small_integers(3, 2)), ()), (((), _small_integers()), ())],
    doc="x times two to the power of an integer, exact where the result can be",
    mixes="nothing",
)  # fmt: skip


def _exponent_type(x: TensorType) -> TensorType:
    require_dtype("exponent", "x", x, "float")
    return tensor_type(x.shape, dtypes.int32)


exponent = zero(
    "exponent", "x", type=_exponent_type, batch=batch_elementwise, dtypes="float", smooth=False,
    doc="the integer n with |x| / 2^n from 1/2 to 1; 0 for 0, infinities and NaN",
    mixes="nothing",
)  # fmt: skip

nextafter = elementwise(
    "nextafter", "x y", partials=(lambda x_type: fill(zeros_of(x_type), 1), lambda y_type: zeros_of(y_type)),
    dtypes="float", kink="that of x itself, of which the neighbour is a rounding: 1 for x and 0 for y",
    doc="the next float after x on the way to y",
)  # fmt: skip


def _bits_type(x: TensorType, dtype: np.dtype[Any]) -> TensorType:
    old, new = x.dtype.itemsize, dtype.itemsize
    if old == new:
        return tensor_type(x.shape, dtype)
    if not x.shape or (type(x.shape[-1]) is int and x.shape[-1] * old % new):
        raise ValueError(f"bitcast: {x.dtype.name} of shape {x.shape} does not fill numbers of dtype {dtype.name}")
    return tensor_type((*x.shape[:-1], x.shape[-1] * old // new), dtype)


bitcast = not_differentiable(
    "bitcast", "x", attrs="dtype", type=_bits_type, batch=batch_elementwise, dtypes="number",
    samples=[((lambda rng: rng.integers(0, 100, (3, 2)),), (dtypes.float64,)),
             ((lambda rng: rng.integers(0, 100, (3, 2)).astype("int32"),), (dtypes.int64,)),
             ((lambda rng: rng.integers(0, 100, (3,)),), (dtypes.as_dtype("uint8"),))],
    smooth=False, doc="the same bits read as numbers of another dtype; the last axis gets longer or shorter",
    mixes="nothing",
)  # fmt: skip
