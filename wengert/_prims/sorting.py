"""Sorting along an axis, the permutation that sorts, and elements in the order of a permutation."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import dtypes
from .._core.op import batch_leading, batch_shifting, general, linear, require_dtype, zero
from .._core.tensor import Tensor
from .._core.types import TensorType, same_shape, tensor_type
from .structural import inverse, require_axes, transpose
from .windows import add_along

_BATCH = batch_shifting(axis=1)
_SAMPLES = [(((2, 4, 2),), (1, False)), (((5,),), (0, True))]
_ORDER = "ascending with NaN last, or descending with NaN first; equal elements keep their order"


def _sort_type(name: str, result: np.dtype[Any] | None = None) -> Any:
    def type_rule(x: TensorType, axis: int, descending: bool) -> TensorType:
        require_axes(name, x, (axis,))
        require_dtype(name, "x", x, "real")
        return tensor_type(x.shape, x.dtype if result is None else result)

    return type_rule


argsort = zero(
    "argsort", "x", attrs="axis descending", type=_sort_type("argsort", dtypes.int64), batch=_BATCH, dtypes="real",
    places=True,
    samples=_SAMPLES, smooth=False, doc=f"the indices that sort along an axis, {_ORDER}",
    mixes="axes",
    in_float32=True,
)  # fmt: skip


def _permute_type(x: TensorType, index: TensorType, axis: int) -> TensorType:
    require_axes("permute_along", x, (axis,))
    require_dtype("permute_along", "index", index, "integer")
    if not same_shape(x.shape, index.shape):
        raise ValueError(f"permute_along: x has shape {x.shape} and index has shape {index.shape}")
    return tensor_type(x.shape, x.dtype)


def _permute_back(ct: Tensor, index: Tensor, axis: int) -> Tensor:
    """Each element where it came from: added to zeros there, in one pass; the inverse order would take a sort."""
    rank = len(ct.shape)
    last = (*[a for a in range(rank) if a != axis % rank], axis % rank)  # as `add_along` takes it
    if last == (*range(rank),):
        return add_along(ct, index, size=ct.shape[-1])
    turned = add_along(transpose(ct, perm=last), transpose(index, perm=last), size=ct.shape[axis])
    return transpose(turned, perm=inverse(last))


permute_along = linear(
    "permute_along", "x index", attrs="axis", transpose=(_permute_back, None), type=_permute_type, batch=_BATCH,
    moves="all",
    dtypes="any", samples=[(((2, 4), lambda rng: rng.permuted([[0, 1, 2, 3]] * 2, axis=1)), (1,)),
                           (((5,), lambda rng: rng.permutation(5)), (0,))],
    doc="the elements along an axis in the order of an index, each line of which is a permutation",
)  # fmt: skip


def _sort_vjp(ct: Tensor, x: Tensor, axis: int, descending: bool) -> Tensor:
    return _permute_back(ct, argsort(x, axis=axis, descending=descending), axis)


def _sort_jvp(x: Tensor, x_dot: Tensor, axis: int, descending: bool) -> Tensor:
    return permute_along(x_dot, argsort(x, axis=axis, descending=descending), axis=axis)


sort = general(
    "sort", "x", attrs="axis descending", vjp=(_sort_vjp,), jvp=_sort_jvp, type=_sort_type("sort"), batch=_BATCH,
    dtypes="real", samples=_SAMPLES, kink="ties in the order of the elements", doc=f"sorted along an axis, {_ORDER}",
    mixes="axes",
    in_float32=True,
)  # fmt: skip

# -- places in sorted numbers ------------------------------------------------------------------------------------------


def _search_type(sequence: TensorType, values: TensorType, right: bool) -> TensorType:
    require_dtype("searchsorted", "sequence", sequence, "real")
    if sequence.dtype != values.dtype:
        raise TypeError(f"searchsorted: sequence has dtype {sequence.dtype.name} and values has {values.dtype.name}")
    if not sequence.shape or not same_shape(sequence.shape[:-1], values.shape[:-1]) or not values.shape:
        raise ValueError(f"searchsorted: sequence has shape {sequence.shape} and values has shape {values.shape}")
    return tensor_type(values.shape, dtypes.int64)


def _sorted(*shape: int) -> Any:
    return lambda rng: _sort_rows(rng.normal(size=shape))


def _sort_rows(x: np.ndarray[Any, Any]) -> Any:
    """An array sorted in place along its last axis."""
    x.sort(-1)
    return x


searchsorted = zero(
    "searchsorted", "sequence values", attrs="right", type=_search_type, batch=batch_leading, dtypes="real",
    places=True,
    smooth=False, samples=[((_sorted(4), (3,)), (False,)), ((_sorted(2, 3), (2, 2)), (True,))],
    doc="for each value the first place (the last, if right) in a sorted sequence that keeps the order",
    in_float32=True,
)  # fmt: skip
