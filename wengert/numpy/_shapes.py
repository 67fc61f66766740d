"""NumPy's functions that move values without computing: shapes, axes, joining, splitting, repeating, diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import ops
from .._core.tensor import Tensor
from .._core.where import at_user_line
from ..ops.promotion import as_tensor, cast, normal_axes, normal_axis
from ._writing import NO_VALUE, accept, as_numpy


@as_numpy
def reshape(a: Any, /, shape: Any, order: Any = "C", *, copy: Any = None) -> Any:
    """The same elements in another shape; one extent may be -1.

    Example:
        >>> import wengert.numpy as np
        >>> np.reshape([1.0, 2.0], (2, 1)).shape
        (2, 1)
    """
    x = as_tensor(a, "reshape")
    wanted = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if order == "F":
        return ops.transpose(ops.reshape(ops.transpose(x), wanted[::-1]))
    accept("np.reshape", order=order)
    return ops.reshape(x, wanted)


@as_numpy
def ravel(a: Any, order: Any = "C") -> Any:
    """The elements in one row.

    Example:
        >>> import wengert.numpy as np
        >>> np.ravel([[1.0], [2.0]])
        array([1., 2.])
    """
    return reshape(as_tensor(a, "ravel"), (-1,), order)


@as_numpy
def transpose(a: Any, axes: Any = None) -> Any:
    """The axes in another order; reversed by default.

    Example:
        >>> import wengert.numpy as np
        >>> np.transpose([[1.0, 2.0]]).shape
        (2, 1)
    """
    return ops.transpose(as_tensor(a, "transpose"), axes)


permute_dims = transpose


@as_numpy
def matrix_transpose(x: Any, /) -> Any:
    """The last two axes exchanged.

    Example:
        >>> import wengert.numpy as np
        >>> np.matrix_transpose([[1.0, 2.0]]).shape
        (2, 1)
    """
    return ops.swapaxes(as_tensor(x, "matrix_transpose"), -1, -2)


@as_numpy
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Two axes exchanged.

    Example:
        >>> import wengert.numpy as np
        >>> np.swapaxes([[1.0, 2.0]], 0, 1).shape
        (2, 1)
    """
    return ops.swapaxes(as_tensor(a, "swapaxes"), axis1, axis2)


@as_numpy
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Axes moved to new places, the others keeping their order.

    Example:
        >>> import wengert.numpy as np
        >>> np.moveaxis(np.zeros((2, 3, 4)), 0, -1).shape
        (3, 4, 2)
    """
    return ops.moveaxis(as_tensor(a, "moveaxis"), source, destination)


@as_numpy
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """One axis moved before another.

    Example:
        >>> import wengert.numpy as np
        >>> np.rollaxis(np.zeros((2, 3, 4)), 2).shape
        (4, 2, 3)
    """
    x = as_tensor(a, "rollaxis")
    axis = normal_axis(axis, x.ndim, "rollaxis")
    start = start + x.ndim if start < 0 else start
    return ops.moveaxis(x, axis, start - 1 if axis < start else start)


@as_numpy
def expand_dims(a: Any, axis: Any) -> Any:
    """New axes of length 1.

    Example:
        >>> import wengert.numpy as np
        >>> np.expand_dims([1.0, 2.0], 0).shape
        (1, 2)
    """
    x = as_tensor(a, "expand_dims")
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    width = x.ndim + len(axes)
    new = normal_axes(tuple(axes), width, "expand_dims")
    rest = iter(x.shape)
    return ops.reshape(x, tuple(1 if i in new else next(rest) for i in range(width)))


@as_numpy
def squeeze(a: Any, axis: Any = None) -> Any:
    """Axes of length 1 taken away.

    Example:
        >>> import wengert.numpy as np
        >>> np.squeeze([[1.0, 2.0]]).shape
        (2,)
    """
    return ops.squeeze(as_tensor(a, "squeeze"), axis)


@as_numpy
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    """Repeated along new axes and along those of length 1.

    Example:
        >>> import wengert.numpy as np
        >>> np.broadcast_to([1.0, 2.0], (3, 2)).shape
        (3, 2)
    """
    wanted = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    return ops.broadcast_to(as_tensor(array, "broadcast_to"), wanted)


@as_numpy
def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    """Arrays in the shape that they have in common.

    Example:
        >>> import wengert.numpy as np
        >>> [b.shape for b in np.broadcast_arrays([1.0, 2.0], [[3.0]])]
        [(1, 2), (1, 2)]
    """
    tensors = [as_tensor(x, "broadcast_arrays") for x in args]
    shape = np.broadcast_shapes(*(t.shape for t in tensors))
    return tuple(ops.broadcast_to(t, shape) for t in tensors)


def _at_least(ndim: int, arys: tuple[Any, ...]) -> Any:
    found = []
    for ary in arys:
        x = as_tensor(ary, f"atleast_{ndim}d")
        missing = max(ndim - x.ndim, 0)
        # the third axis goes behind, the first two before, as NumPy has it
        behind = 1 if ndim == 3 and x.ndim in (1, 2) else 0
        found.append(ops.reshape(x, (1,) * (missing - behind) + tuple(x.shape) + (1,) * behind) if missing else x)
    return found[0] if len(found) == 1 else tuple(found)


@as_numpy
def atleast_1d(*arys: Any) -> Any:
    """Numbers as rows of one element.

    Example:
        >>> import wengert.numpy as np
        >>> np.atleast_1d(1.0)
        array([1.])
    """
    return _at_least(1, arys)


@as_numpy
def atleast_2d(*arys: Any) -> Any:
    """Numbers and rows as matrices.

    Example:
        >>> import wengert.numpy as np
        >>> np.atleast_2d([1.0])
        array([[1.]])
    """
    return _at_least(2, arys)


@as_numpy
def atleast_3d(*arys: Any) -> Any:
    """Arrays with three axes at least.

    Example:
        >>> import wengert.numpy as np
        >>> np.atleast_3d([1.0]).shape
        (1, 1, 1)
    """
    return _at_least(3, arys)


# -- joining ---------------------------------------------------------------------------------------------------------


def _joinable(arrays: Any, dtype: Any, name: str) -> list[Tensor]:
    tensors = [as_tensor(x, name) for x in arrays]
    if not tensors:
        raise ValueError(at_user_line(f"np.{name}: there is no array to join"))
    return tensors if dtype is None else [cast(t, np.dtype(dtype)) for t in tensors]


@as_numpy
def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:  # fmt: skip
    """Arrays joined along an axis that they have.

    Example:
        >>> import wengert.numpy as np
        >>> np.concatenate([[1.0], [2.0]])
        array([1., 2.])
    """
    tensors = _joinable(arrays, dtype, "concatenate")
    if axis is None:
        return ops.concatenate([ops.reshape(t, (-1,)) for t in tensors], axis=0)
    return ops.concatenate(tensors, axis=axis)


concat = concatenate


@as_numpy
def stack(
    arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:  # fmt: skip
    """Arrays joined along a new axis.

    Example:
        >>> import wengert.numpy as np
        >>> np.stack([[1.0], [2.0]]).shape
        (2, 1)
    """
    return ops.stack(_joinable(arrays, dtype, "stack"), axis=axis)


@as_numpy
def vstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """Arrays joined as rows.

    Example:
        >>> import wengert.numpy as np
        >>> np.vstack([[1.0], [2.0]]).shape
        (2, 1)
    """
    return ops.concatenate([_at_least(2, (t,)) for t in _joinable(tup, dtype, "vstack")], axis=0)


@as_numpy
def hstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """Arrays joined along the second axis; rows along their only one.

    Example:
        >>> import wengert.numpy as np
        >>> np.hstack([[1.0], [2.0]])
        array([1., 2.])
    """
    tensors = [_at_least(1, (t,)) for t in _joinable(tup, dtype, "hstack")]
    return ops.concatenate(tensors, axis=0 if tensors[0].ndim == 1 else 1)


@as_numpy
def dstack(tup: Any) -> Any:
    """Arrays joined along the third axis.

    Example:
        >>> import wengert.numpy as np
        >>> np.dstack([[1.0], [2.0]]).shape
        (1, 1, 2)
    """
    return ops.concatenate([_at_least(3, (t,)) for t in _joinable(tup, None, "dstack")], axis=2)


@as_numpy
def column_stack(tup: Any) -> Any:
    """Arrays joined as columns.

    Example:
        >>> import wengert.numpy as np
        >>> np.column_stack([[1.0], [2.0]]).shape
        (1, 2)
    """
    tensors = [t if t.ndim > 1 else ops.reshape(t, (-1, 1)) for t in _joinable(tup, None, "column_stack")]
    return ops.concatenate(tensors, axis=1)


@as_numpy
def block(arrays: Any) -> Any:
    """An array from nested lists of blocks, the innermost lists joined along the last axis.

    Example:
        >>> import wengert.numpy as np
        >>> np.block([[np.ones((2, 1)), np.zeros((2, 2))]]).shape
        (2, 3)
    """
    depth = _depth(arrays)
    width = max(depth, *(as_tensor(leaf).ndim for leaf in _leaves(arrays)))

    def joined(blocks: Any, level: int) -> Tensor:
        if not isinstance(blocks, list):
            return _at_least_leading(as_tensor(blocks, "block"), width)
        return ops.concatenate([joined(b, level + 1) for b in blocks], axis=width - depth + level)

    return joined(arrays, 0)


def _depth(blocks: Any) -> int:
    depth = 0
    while isinstance(blocks, list):
        if not blocks:
            raise ValueError(at_user_line("np.block: a list of blocks is empty"))
        depth, blocks = depth + 1, blocks[0]
    return depth


def _leaves(blocks: Any) -> list[Any]:
    leaves, waiting = [], [blocks]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting.extend(item)
        else:
            leaves.append(item)
    return leaves


def _at_least_leading(x: Tensor, ndim: int) -> Tensor:
    return x if x.ndim >= ndim else ops.reshape(x, (1,) * (ndim - x.ndim) + tuple(x.shape))


@as_numpy
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """Values joined behind an array; both in one row, without an axis.

    Example:
        >>> import wengert.numpy as np
        >>> np.append([1.0], 2.0)
        array([1., 2.])
    """
    return concatenate([as_tensor(arr, "append"), as_tensor(values, "append")], axis)


# -- splitting -------------------------------------------------------------------------------------------------------


def _cut(x: Tensor, bounds: Sequence[Any], axis: int) -> list[Tensor]:
    before = (slice(None),) * axis
    return [x[(*before, slice(int(a), int(b)))] for a, b in zip(bounds[:-1], bounds[1:])]


@as_numpy
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """A list of parts, at the given indices or as many as asked, the first ones being longer by one if need be.

    Example:
        >>> import wengert.numpy as np
        >>> [len(part) for part in np.array_split([1.0, 2.0, 3.0], 2)]
        [2, 1]
    """
    x = as_tensor(ary, "array_split")
    axis = normal_axis(axis, x.ndim, "array_split")
    size: Any = x.shape[axis]
    if np.ndim(indices_or_sections) == 0:
        count = int(indices_or_sections)
        if count <= 0:
            raise ValueError(at_user_line("np.array_split: the number of parts must be positive"))
        each, extra = divmod(size, count)
        bounds = [0]
        for i in range(count):
            bounds.append(bounds[-1] + each + (i < extra))
    else:
        inner = [int(i) for i in indices_or_sections]
        bounds = [0, *inner, size]
    return _cut(x, bounds, axis)


@as_numpy
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """A list of equal parts, or of parts at the given indices.

    Example:
        >>> import wengert.numpy as np
        >>> [len(part) for part in np.split([1.0, 2.0, 3.0, 4.0], 2)]
        [2, 2]
    """
    x = as_tensor(ary, "split")
    size: Any = x.shape[normal_axis(axis, x.ndim, "split")]
    if np.ndim(indices_or_sections) == 0 and size % indices_or_sections:
        raise ValueError(at_user_line(f"np.split: {size} elements do not make {indices_or_sections} equal parts"))
    return array_split(x, indices_or_sections, axis)


@as_numpy
def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    """`split` along the second axis (the only one of a row).

    Example:
        >>> import wengert.numpy as np
        >>> [part.shape for part in np.hsplit(np.zeros((2, 4)), 2)]
        [(2, 2), (2, 2)]
    """
    x = as_tensor(ary, "hsplit")
    return split(x, indices_or_sections, 1 if x.ndim > 1 else 0)


@as_numpy
def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    """`split` along the first axis of a matrix.

    Example:
        >>> import wengert.numpy as np
        >>> [part.shape for part in np.vsplit(np.zeros((4, 2)), 2)]
        [(2, 2), (2, 2)]
    """
    return split(as_tensor(ary, "vsplit"), indices_or_sections, 0)


@as_numpy
def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    """`split` along the third axis.

    Example:
        >>> import wengert.numpy as np
        >>> [part.shape for part in np.dsplit(np.zeros((1, 1, 4)), 2)]
        [(1, 1, 2), (1, 1, 2)]
    """
    return split(as_tensor(ary, "dsplit"), indices_or_sections, 2)


@as_numpy
def unstack(x: Any, /, *, axis: int = 0) -> Any:
    """A tuple of the slices along an axis.

    Example:
        >>> import wengert.numpy as np
        >>> len(np.unstack([1.0, 2.0]))
        2
    """
    t = as_tensor(x, "unstack")
    axis = normal_axis(axis, t.ndim, "unstack")
    before = (slice(None),) * axis
    return tuple(t[(*before, i)] for i in range(t.shape[axis]))


# -- repeating and reordering ----------------------------------------------------------------------------------------


@as_numpy
def tile(A: Any, reps: Any) -> Any:
    """An array repeated as a whole.

    Example:
        >>> import wengert.numpy as np
        >>> np.tile([1.0, 2.0], 2)
        array([1., 2., 1., 2.])
    """
    return ops.tile(as_tensor(A, "tile"), reps)


@as_numpy
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """Each element repeated.

    Example:
        >>> import wengert.numpy as np
        >>> np.repeat([1.0, 2.0], 2)
        array([1., 1., 2., 2.])
    """
    return ops.repeat(as_tensor(a, "repeat"), repeats, axis=axis)


@as_numpy
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Elements moved along axes, those that leave coming in again.

    Example:
        >>> import wengert.numpy as np
        >>> np.roll([1.0, 2.0, 3.0], 1)
        array([3., 1., 2.])
    """
    x = as_tensor(a, "roll")
    if axis is None:
        return reshape(roll(ravel(x), int(np.sum(shift)), 0), x.shape)
    moves = np.broadcast(np.asarray(shift), np.asarray(axis))
    for s, i in moves:
        i = normal_axis(int(i), x.ndim, "roll")
        size: Any = x.shape[i]
        s = int(s) % size if size else 0
        if s:
            before = (slice(None),) * i
            x = ops.concatenate([x[(*before, slice(size - s, None))], x[(*before, slice(None, size - s))]], axis=i)
    return x


@as_numpy
def flip(m: Any, axis: Any = None) -> Any:
    """Elements in reverse order along axes.

    Example:
        >>> import wengert.numpy as np
        >>> np.flip([1.0, 2.0])
        array([2., 1.])
    """
    return ops.flip(as_tensor(m, "flip"), axis=axis)


@as_numpy
def flipud(m: Any) -> Any:
    """Rows in reverse order.

    Example:
        >>> import wengert.numpy as np
        >>> np.flipud([1.0, 2.0])
        array([2., 1.])
    """
    return flip(as_tensor(m, "flipud"), 0)


@as_numpy
def fliplr(m: Any) -> Any:
    """Columns in reverse order.

    Example:
        >>> import wengert.numpy as np
        >>> np.fliplr([[1.0, 2.0]])
        array([[2., 1.]])
    """
    return flip(as_tensor(m, "fliplr"), 1)


@as_numpy
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """A quarter turn, k times, from the first axis towards the second.

    Example:
        >>> import wengert.numpy as np
        >>> np.rot90([[1.0, 2.0]])
        array([[2.],
               [1.]])
    """
    x = as_tensor(m, "rot90")
    first, second = normal_axes(tuple(axes), x.ndim, "rot90")
    k = k % 4
    if k == 0:
        return x
    if k == 2:
        return flip(x, (first, second))
    return ops.swapaxes(flip(x, second), first, second) if k == 1 else flip(ops.swapaxes(x, first, second), second)


@as_numpy
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """Values put around an array: "constant" (constant_values=), "edge", "reflect", "symmetric", "wrap".

    Example:
        >>> import wengert.numpy as np
        >>> np.pad([1.0, 2.0], 1)
        array([0., 1., 2., 0.])
    """
    x = as_tensor(array, "pad")
    widths = np.broadcast_to(np.asarray(_by_axis(pad_width, x.ndim)), (x.ndim, 2))
    if (widths < 0).any():
        raise ValueError(at_user_line("np.pad: widths must not be negative"))
    if mode == "constant":
        return _pad_with(x, widths, kwargs.pop("constant_values", 0), kwargs)
    if mode not in ("edge", "reflect", "symmetric", "wrap") or kwargs:
        raise ValueError(at_user_line(f"np.pad: mode={mode!r} with {sorted(kwargs)} is not supported"))
    for axis, (low, high) in enumerate(widths):
        # NumPy itself says which element goes where
        places = np.pad(np.arange(x.shape[axis]), (low, high), mode=mode)  # type: ignore[call-overload]
        if low or high:
            x = ops.take(x, places, axis=axis)
    return x


def _by_axis(pad_width: Any, ndim: int) -> Any:
    """A dict of widths by axis as pairs for all axes."""
    if not isinstance(pad_width, dict):
        return pad_width
    pairs = np.zeros((ndim, 2), int)
    for axis, width in pad_width.items():
        pairs[axis] = width
    return pairs


def _pad_with(x: Tensor, widths: Any, values: Any, others: dict[str, Any]) -> Tensor:
    if others:
        raise ValueError(at_user_line(f"np.pad: {sorted(others)} does not go with mode='constant'"))
    is_single = isinstance(values, Tensor) and values.ndim == 0
    pairs = [[values, values]] * x.ndim if is_single else np.broadcast_to(np.asarray(values), (x.ndim, 2)).tolist()
    for axis, (low, high) in enumerate(widths):
        edge = [tuple(int(w) if i == axis else n for i, n in enumerate(x.shape)) for w in (low, high)]
        ends = [cast(ops.broadcast_to(as_tensor(v), shape), x.dtype) for v, shape in zip(pairs[axis], edge)]
        parts = [part for part, width in zip((ends[0], x, ends[1]), (low, 1, high)) if width]
        x = ops.concatenate(parts, axis=axis) if len(parts) > 1 else x
    return x


# -- diagonals -------------------------------------------------------------------------------------------------------


@as_numpy
def diag(v: Any, k: int = 0) -> Any:
    """A row as a diagonal matrix, or the diagonal of a matrix.

    Example:
        >>> import wengert.numpy as np
        >>> np.diag([[1.0, 2.0], [3.0, 4.0]])
        array([1., 4.])
    """
    return ops.diag(as_tensor(v, "diag"), k=k)


@as_numpy
def diagflat(v: Any, k: int = 0) -> Any:
    """All elements on the diagonal of a matrix.

    Example:
        >>> import wengert.numpy as np
        >>> np.diagflat([[1.0, 2.0]]).shape
        (2, 2)
    """
    return diag(ravel(as_tensor(v, "diagflat")), k)


@as_numpy
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonals of the matrices that lie along two axes.

    Example:
        >>> import wengert.numpy as np
        >>> np.diagonal([[1.0, 2.0], [3.0, 4.0]], 1)
        array([2.])
    """
    return ops.diagonal(as_tensor(a, "diagonal"), offset=offset, axis1=axis1, axis2=axis2)


@as_numpy
def trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:  # fmt: skip
    """The sum of the elements on a diagonal.

    Example:
        >>> import wengert.numpy as np
        >>> float(np.trace([[1.0, 2.0], [3.0, 4.0]]))
        5.0
    """
    x = as_tensor(a, "trace")
    x = x if dtype is None else cast(x, np.dtype(dtype))
    return ops.sum(ops.diagonal(x, offset=offset, axis1=axis1, axis2=axis2), axis=-1)


@as_numpy
def tril(m: Any, k: int = 0) -> Any:
    """Zeros above a diagonal.

    Example:
        >>> import wengert.numpy as np
        >>> np.tril([[1.0, 2.0], [3.0, 4.0]])
        array([[1., 0.],
               [3., 4.]])
    """
    return ops.tril(as_tensor(m, "tril"), k=k)


@as_numpy
def triu(m: Any, k: int = 0) -> Any:
    """Zeros below a diagonal.

    Example:
        >>> import wengert.numpy as np
        >>> np.triu([[1.0, 2.0], [3.0, 4.0]])
        array([[1., 2.],
               [0., 4.]])
    """
    return ops.triu(as_tensor(m, "triu"), k=k)


# -- differences -----------------------------------------------------------------------------------------------------


@as_numpy
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = NO_VALUE, append: Any = NO_VALUE) -> Any:
    """Differences of neighbours, n times.

    Example:
        >>> import wengert.numpy as np
        >>> np.diff([1.0, 3.0, 6.0])
        array([2., 3.])
    """
    x = as_tensor(a, "diff")
    if n < 0:
        raise ValueError(at_user_line(f"np.diff: n must not be negative, got {n}"))
    axis = normal_axis(axis, x.ndim, "diff")
    parts = [x if part is None else _edge(part, x, axis) for part in (prepend, None, append) if part is not NO_VALUE]
    x = parts[0] if len(parts) == 1 else ops.concatenate(parts, axis=axis)
    before = (slice(None),) * axis
    for _ in range(n):
        later, earlier = x[(*before, slice(1, None))], x[(*before, slice(None, -1))]
        x = ops.not_equal(later, earlier) if x.dtype.kind == "b" else ops.subtract(later, earlier)
    return x


def _edge(part: Any, x: Tensor, axis: int) -> Tensor:
    edge = as_tensor(part, "diff")
    return edge if edge.ndim else ops.broadcast_to(edge, tuple(1 if i == axis else n for i, n in enumerate(x.shape)))


@as_numpy
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of neighbours in one row, with values put at the ends.

    Example:
        >>> import wengert.numpy as np
        >>> np.ediff1d([1.0, 3.0, 6.0])
        array([2., 3.])
    """
    x = ravel(as_tensor(ary, "ediff1d"))
    ends = [to_begin, diff(x), to_end]
    return ops.concatenate([ravel(as_tensor(part, "ediff1d")) for part in ends if part is not None], axis=0)


__all__ = [
    "append", "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "block", "broadcast_arrays", "broadcast_to",
    "column_stack", "concat", "concatenate", "diag", "diagflat", "diagonal", "diff", "dsplit", "dstack", "ediff1d",
    "expand_dims", "flip", "fliplr", "flipud", "hsplit", "hstack", "matrix_transpose", "moveaxis", "pad",
    "permute_dims", "ravel", "repeat", "reshape", "roll", "rollaxis", "rot90", "split", "squeeze", "stack",
    "swapaxes", "tile", "trace", "transpose", "tril", "triu", "unstack", "vsplit", "vstack",
]  # fmt: skip
