"""The general convolution, in one canonical layout: lhs (N, C, *spatial), rhs (O, C / groups, *kernel).

It is a cross-correlation with strides, padding (negative: a crop), dilation of both operands and two kinds of
groups. The family contains its own transposes, so one op serves all orders; the arithmetic of their
parameters is in `_core/conv_shape.py`. The ops layer brings other layouts into this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod as size
from typing import Any

from .._core.conv_shape import ConvParams, Rearrangement, conv_out_shape, transpose_lhs_params, transpose_rhs_params
from .._core.op import Op, multilinear
from .._core.tensor import Tensor
from .._core.types import TensorType, tensor_type
from .structural import conj_of, flip, reshape, transpose


def _conv_type(
    lhs: TensorType, rhs: TensorType, strides: Any, padding: Any, lhs_dilation: Any, rhs_dilation: Any,
    groups: int, batch_groups: int,
) -> TensorType:  # fmt: skip
    if lhs.dtype != rhs.dtype:
        raise TypeError(f"conv: lhs has dtype {lhs.dtype.name} and rhs has {rhs.dtype.name}")
    attrs = (strides, padding, lhs_dilation, rhs_dilation, groups, batch_groups)
    return tensor_type(conv_out_shape(lhs.shape, rhs.shape, *attrs), lhs.dtype)


def _moved(x: Tensor, how: Rearrangement) -> Tensor:
    if how.split != x.shape:
        x = reshape(x, shape=how.split)
    if how.perm != tuple(range(len(how.perm))):
        x = transpose(x, perm=how.perm)
    if how.merge != x.shape:
        x = reshape(x, shape=how.merge)
    return flip(x, axes=how.flip) if how.flip else x


def _transposed(how: Any, lhs: Tensor, rhs: Tensor) -> Tensor:
    return _moved(conv(_moved(lhs, how.lhs), _moved(rhs, how.rhs), **how.params._asdict()), how.result)


def _to_lhs(
    ct: Tensor, lhs_type: TensorType, rhs: Tensor, strides: Any, padding: Any, lhs_dilation: Any,
    rhs_dilation: Any, groups: int, batch_groups: int,
) -> Tensor:  # fmt: skip
    params = ConvParams(strides, padding, lhs_dilation, rhs_dilation, groups, batch_groups)
    return _transposed(transpose_lhs_params(lhs_type.shape, rhs.shape, ct.shape, params), ct, conj_of(rhs))


def _to_rhs(
    ct: Tensor, lhs: Tensor, rhs_type: TensorType, strides: Any, padding: Any, lhs_dilation: Any,
    rhs_dilation: Any, groups: int, batch_groups: int,
) -> Tensor:  # fmt: skip
    params = ConvParams(strides, padding, lhs_dilation, rhs_dilation, groups, batch_groups)
    return _transposed(transpose_rhs_params(lhs.shape, rhs_type.shape, ct.shape, params), conj_of(lhs), ct)


# -- batching: the batch axis is folded into an axis that is treated as a batch anyway -------------


def _conv_batch(op: Op, operands: Sequence[Tensor], batched: Sequence[bool], attrs: tuple[Any, ...]) -> Tensor:
    lhs, rhs = operands
    *window, groups, batch_groups = attrs
    if not batched[1]:
        return _batch_lhs(lhs, rhs, tuple(window), groups, batch_groups)
    if not batched[0]:
        return _batch_rhs(lhs, rhs, tuple(window), groups, batch_groups)
    return _batch_both(lhs, rhs, tuple(window), groups, batch_groups)


def _apply(lhs: Tensor, rhs: Tensor, window: tuple[Any, ...], groups: object, batch_groups: object) -> Tensor:
    strides, padding, lhs_dilation, rhs_dilation = window
    return conv(
        lhs, rhs, strides=strides, padding=padding, lhs_dilation=lhs_dilation, rhs_dilation=rhs_dilation,
        groups=groups, batch_groups=batch_groups,
    )  # fmt: skip


def _batch_lhs(lhs: Tensor, rhs: Tensor, window: Any, groups: int, batch_groups: int) -> Tensor:
    """Into N, inside each batch group."""
    size, n, *rest = lhs.shape
    if batch_groups > 1:
        lhs = _swap(reshape(lhs, shape=(size, batch_groups, n // batch_groups, *rest)), 0)
    out = _apply(reshape(lhs, shape=(size * n, *rest)), rhs, window, groups, batch_groups)
    return reshape(out, shape=(size, n // batch_groups, *out.shape[1:]))


def _batch_rhs(lhs: Tensor, rhs: Tensor, window: Any, groups: int, batch_groups: int) -> Tensor:
    """Into O, inside each group of either kind."""
    size, o, *rest = rhs.shape
    blocks = groups * batch_groups
    wide = _swap(reshape(rhs, shape=(size, blocks, o // blocks, *rest)), 0)
    out = _apply(lhs, reshape(wide, shape=(size * o, *rest)), window, groups, batch_groups)
    n, _, *positions = out.shape
    out = reshape(out, shape=(n, blocks, size, o // blocks, *positions))
    out = transpose(out, perm=(2, 0, 1, 3, *range(4, len(out.shape))))
    return reshape(out, shape=(size, n, o, *positions))


def _batch_both(lhs: Tensor, rhs: Tensor, window: Any, groups: int, batch_groups: int) -> Tensor:
    """Into the groups of the kind that there is: each example is a group of its own."""
    size, n, c, *spatial = lhs.shape
    o = rhs.shape[1]
    wide_rhs = reshape(rhs, shape=(size * o, *rhs.shape[2:]))
    if batch_groups > 1:
        wide_lhs = reshape(lhs, shape=(size * n, c, *spatial))
        out = _apply(wide_lhs, wide_rhs, window, 1, size * batch_groups)
    else:
        wide_lhs = reshape(_swap(lhs, 0), shape=(n, size * c, *spatial))
        out = _apply(wide_lhs, wide_rhs, window, size * groups, 1)
    return _swap(reshape(out, shape=(out.shape[0], size, o, *out.shape[2:])), 0)


def _swap(x: Tensor, axis: int) -> Tensor:
    """Two neighbouring axes exchanged."""
    order = list(range(len(x.shape)))
    order[axis], order[axis + 1] = axis + 1, axis
    return transpose(x, perm=tuple(order))


_SAMPLES = [
    (((2, 3, 5), (4, 3, 3)), ((1,), ((1, 1),), (1,), (1,), 1, 1)),
    (((2, 3, 8), (4, 3, 3)), ((3,), ((0, 2),), (1,), (2,), 1, 1)),
    (((1, 2, 4), (3, 2, 3)), ((2,), ((2, 1),), (3,), (1,), 1, 1)),
    (((1, 2, 7), (2, 2, 2)), ((2,), ((-1, -2),), (1,), (1,), 1, 1)),
    (((2, 4, 5), (6, 2, 2)), ((1,), ((0, 1),), (2,), (2,), 2, 1)),
    (((4, 3, 5), (4, 3, 2)), ((2,), ((1, 0),), (1,), (1,), 1, 2)),
    (((2, 2, 5, 4), (3, 2, 3, 2)), ((2, 1), ((1, 1), (0, 1)), (1, 2), (1, 1), 1, 1)),
    (((1, 4, 3, 4), (4, 1, 2, 2)), ((1, 1), ((0, 0), (-1, 1)), (1, 1), (1, 2), 4, 1)),
    (((1, 2, 3, 2, 3), (2, 2, 2, 2, 1)), ((1, 1, 2), ((0, 0), (1, 0), (0, 0)), (1, 1, 1), (1, 1, 1), 1, 1)),
    (((3, 2), (4, 2)), ((), (), (), (), 1, 1)),
    (((1, 2, 2), (3, 2, 4)), ((1,), ((0, 0),), (1,), (1,), 1, 1)),
]  # fmt: skip

conv = multilinear(
    "conv", "lhs rhs", attrs="strides padding lhs_dilation rhs_dilation groups batch_groups", type=_conv_type,
    transpose=(_to_lhs, _to_rhs), batch=_conv_batch, samples=_SAMPLES, dtypes="number",
    doc="cross-correlation of lhs (N, C, *spatial) with rhs (O, C / groups, *kernel)",
    flops=lambda out, lhs, rhs, **attrs: 2 * size(out) * size(rhs[1:]),
    in_float32=True,
)  # fmt: skip
