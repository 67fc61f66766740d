"""Discrete Fourier transforms, none of them scaled: the ops layer divides.

The transform and the one with the opposite sign are each other's adjoints. So are the transform of real numbers to half
a spectrum and its inverse, but for the weights of the entries that stand for two.
"""

from __future__ import annotations

import math
from typing import Any

from .._core import dims, dtypes
from .._core.domains import require_at_most, require_equal_extents
from .._core.op import batch_shifting, linear, require_dtype
from .._core.tensor import Tensor
from .._core.types import TensorType, tensor_type
from .structural import cast, require_axes


def _dft_type(x: TensorType, axes: tuple[int, ...], inverse: bool) -> TensorType:
    require_axes("dft", x, axes)
    if not dtypes.is_complex(x.dtype):
        raise TypeError(f"dft: x has dtype {x.dtype.name}, wanted complex")
    return tensor_type(x.shape, x.dtype)


def _flops(out: tuple[int, ...], x: tuple[int, ...], **attrs: object) -> float:
    return 5 * max(math.prod(out), math.prod(x)) * math.log2(max(x[-1], 2))


def _complex(*shape: int) -> Any:
    return lambda rng: rng.normal(size=shape) + 1j * rng.normal(size=shape)


dft = linear(
    "dft", "x", attrs="axes inverse", type=_dft_type, batch=batch_shifting(axes=1), dtypes="complex",
    transpose=lambda ct, axes, inverse: dft(ct, axes=axes, inverse=not inverse),
    samples=[((_complex(2, 5),), ((1,), False)), ((_complex(3, 2, 4),), ((0, 2), True))],
    doc="the sums of x_j e^(-2 pi i j k / n) over axes (e^(+...) if inverse)",
    mixes="axes",
    flops=_flops,
)  # fmt: skip


def _rfft_type(x: TensorType, axis: int) -> TensorType:
    require_axes("rfft", x, (axis,))
    require_dtype("rfft", "x", x, "float")
    half = dims.floordiv(x.shape[axis], 2) + 1
    return tensor_type((*x.shape[:axis], half, *x.shape[axis + 1 :]), dtypes.complex_of(x.dtype))


def _rfft_transpose(ct: Tensor, x_type: TensorType, axis: int) -> Tensor:
    size = x_type.shape[axis]
    return cast(irfft(paired_scale(ct, axis=axis, size=size, factor=0.5), axis=axis, size=size), x_type.dtype)


rfft = linear(
    "rfft", "x", attrs="axis", type=_rfft_type, batch=batch_shifting(axis=1), dtypes="float",
    transpose=_rfft_transpose, samples=[(((2, 5),), (1,)), (((4, 2),), (0,)), (((1,),), (0,))],
    doc="the first half of the transform of real numbers, n // 2 + 1 entries",
    mixes="axes",
    flops=_flops,
)  # fmt: skip


def _irfft_type(x: TensorType, axis: int, size: Any) -> TensorType:
    require_axes("irfft", x, (axis,))
    if not dtypes.is_complex(x.dtype):
        raise TypeError(f"irfft: x has dtype {x.dtype.name}, wanted complex")
    return tensor_type((*x.shape[:axis], size, *x.shape[axis + 1 :]), dtypes.real_of(x.dtype))


def _require_half(name: str, x: TensorType, axis: int, size: Any) -> None:
    """Raises unless x is half a spectrum of real numbers."""
    require_axes(name, x, (axis,))
    if not dtypes.is_complex(x.dtype):
        raise TypeError(f"{name}: x has dtype {x.dtype.name}, wanted complex")
    require_at_most(name, "1 before the size", 1, size)
    require_equal_extents(name, f"the extent of axis {axis}", x.shape[axis], dims.floordiv(size, 2) + 1)


irfft = linear(
    "irfft", "x", attrs="axis size", type=_irfft_type, batch=batch_shifting(axis=1), dtypes="complex",
    check=lambda x, axis, size: _require_half("irfft", x, axis, size),
    transpose=lambda ct, axis, size: paired_scale(rfft(ct, axis=axis), axis=axis, size=size, factor=2.0),
    samples=[((_complex(2, 3),), (1, 5)), ((_complex(3, 2),), (0, 4)), ((_complex(1),), (0, 1))],
    doc="the inverse transform to real numbers from the first half of a spectrum, size // 2 + 1 entries; the imaginary "
        "parts of the entries that stand for themselves alone are not read",
    mixes="axes",
    flops=_flops,
)  # fmt: skip

paired_scale = linear(
    "paired_scale", "x", attrs="axis size factor", type=lambda x, axis, size, factor: tensor_type(x.shape, x.dtype),
    batch=batch_shifting(axis=1), dtypes="complex",
    check=lambda x, axis, size, factor: _require_half("paired_scale", x, axis, size),
    transpose=lambda ct, axis, size, factor: paired_scale(ct, axis=axis, size=size, factor=factor),
    samples=[((_complex(2, 3),), (1, 5, 2.0)), ((_complex(3, 2),), (0, 4, 0.5))],
    doc="half a spectrum whose entries that stand for two (all but 0, and size / 2 if size is even) are scaled",
    mixes="nothing",
)  # fmt: skip
