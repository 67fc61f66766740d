"""NumPy's functions that move values without computing: shapes, axes, joining, splitting, repeating, diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import ops
from .._core.argument_types import ArrayLike, Axes, DTypeLike, Out, ShapeLike
from .._core.structure import refuse_cycle
from .._core.tensor import Tensor
from .._core.types import same_dim
from .._core.user_line import at_user_line
from ..ops.memory.sharing import axes_in_order, view_of
from ..ops.promotion import as_tensor, cast, normal_axis, strong
from ._decorators import NO_VALUE, accept, as_numpy, named_dtype
from ._padding import PADDED_HERE, padded


@as_numpy
def reshape(a: Any, /, shape: Any, order: Any = "C", *, copy: Any = None) -> Any:
    """The same elements in another shape; one extent may be -1."""
    if order == "F" or (order == "A" and isinstance(a, Tensor) and axes_in_order(a, "A") != (*range(a.ndim),)):
        x = as_tensor(a, "reshape")
        wanted = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        return ops.transpose(ops.reshape(ops.transpose(x), wanted[::-1]))
    if order != "C":
        accept("np.reshape", order=order)
    return ops.reshape(a, shape)


@as_numpy
def ravel(a: Any, order: str = "C") -> Any:
    """The elements in one row."""
    if order == "K" and isinstance(a, Tensor):
        return ops.ravel(ops.transpose(a, axes_in_order(a, order)))
    return reshape(a if isinstance(a, Tensor) else as_tensor(a, "ravel"), (-1,), order)


@as_numpy
def transpose(a: ArrayLike, axes: Axes = None) -> Any:
    """The axes in another order; reversed by default."""
    return ops.transpose(a, axes)


permute_dims = transpose


@as_numpy
def matrix_transpose(x: ArrayLike, /) -> Any:
    """The last two axes exchanged."""
    return ops.matrix_transpose(x)


@as_numpy
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Any:
    """Two axes exchanged."""
    return ops.swapaxes(a, axis1, axis2)


@as_numpy
def moveaxis(a: ArrayLike, source: Any, destination: Any) -> Any:
    """Axes moved to new places, the others keeping their order."""
    return ops.moveaxis(a, source, destination)


@as_numpy
def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Any:
    """One axis moved before another."""
    return ops.rollaxis(a, axis, start)


@as_numpy
def expand_dims(a: ArrayLike, axis: Axes) -> Any:
    """New axes of length 1."""
    return ops.expand_dims(a, axis)


@as_numpy
def squeeze(a: ArrayLike, axis: Axes = None) -> Any:
    """Axes of length 1 taken away."""
    return a.squeeze(axis) if isinstance(a, Tensor) else ops.squeeze(a, axis)


@as_numpy
def broadcast_to(array: ArrayLike, shape: ShapeLike, subok: bool = False) -> Any:
    """Repeated along new axes and along those of length 1."""
    return ops.broadcast_to(array, shape)


@as_numpy
def broadcast_arrays(*args: ArrayLike, subok: bool = False) -> Any:
    """Arrays in the shape that they have in common."""
    tensors = [a if isinstance(a, Tensor) else as_tensor(a, "broadcast_arrays") for a in args]
    return (*map(_repeated, tensors, ops.broadcast_arrays(*tensors)),)


def _repeated(x: Tensor, found: Tensor) -> Tensor:
    """What stands for a tensor in another shape: a view that can be written to, as NumPy's of `broadcast_arrays`."""
    if x.ndim == found.ndim and all(map(same_dim, x.shape, found.shape)):
        return x
    shape: Any = found.shape

    def make(y: Any) -> Any:
        view = np.broadcast_to(y, shape)
        return np.lib.stride_tricks.as_strided(y, shape, view.strides) if isinstance(view, np.ndarray) else view

    return view_of(x, found, make)


@as_numpy
def atleast_1d(*arys: Any) -> Any:
    """Numbers as rows of one element."""
    return ops.atleast_1d(*arys)


@as_numpy
def atleast_2d(*arys: Any) -> Any:
    """Numbers and rows as matrices."""
    return ops.atleast_2d(*arys)


@as_numpy
def atleast_3d(*arys: Any) -> Any:
    """Arrays with three axes at least."""
    return ops.atleast_3d(*arys)


# -- joining ---------------------------------------------------------------------------------------------------------


def _joinable(arrays: Sequence[Any], dtype: DTypeLike | None, name: str) -> list[Tensor]:
    tensors = [as_tensor(strong(x), name) for x in arrays]
    if not tensors:
        raise ValueError(at_user_line(f"np.{name}: there is no array to join"))
    return tensors if dtype is None else [cast(t, named_dtype(dtype)) for t in tensors]


@as_numpy
def concatenate(
    arrays: Sequence[Any], /, axis: Axes = 0, out: Out | None = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:  # fmt: skip
    """Arrays joined along an axis that they have."""
    return ops.concatenate(_joinable(arrays, dtype, "concatenate"), axis=axis)


concat = concatenate


@as_numpy
def stack(
    arrays: Any, axis: int = 0, out: Out | None = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:  # fmt: skip
    """Arrays joined along a new axis."""
    return ops.stack(_joinable(arrays, dtype, "stack"), axis=axis)


@as_numpy
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Arrays joined as rows."""
    return ops.vstack(_joinable(tup, dtype, "vstack"))


@as_numpy
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Arrays joined along the second axis; rows along their only one."""
    return ops.hstack(_joinable(tup, dtype, "hstack"))


@as_numpy
def dstack(tup: Sequence[ArrayLike]) -> Any:
    """Arrays joined along the third axis."""
    return ops.dstack(_joinable(tup, None, "dstack"))


@as_numpy
def column_stack(tup: Sequence[ArrayLike]) -> Any:
    """Arrays joined as columns."""
    return ops.column_stack(_joinable(tup, None, "column_stack"))


@as_numpy
def block(arrays: Sequence[ArrayLike]) -> Any:
    """An array from nested lists of blocks, the innermost lists joined along the last axis.

    Example:
        >>> import wengert.numpy as np
        >>> np.block([[np.ones((2, 1)), np.zeros((2, 2))]]).shape
        (2, 3)
    """
    refuse_cycle(arrays, "np.block: arrays")
    depth = _depth(arrays)
    width = max(depth, *(as_tensor(leaf).ndim for leaf in _leaves(arrays)))

    def joined(blocks: Any, level: int) -> Tensor:
        if not isinstance(blocks, list):
            return _at_least_leading(as_tensor(blocks, "block"), width)
        return ops.concatenate([joined(b, level + 1) for b in blocks], axis=width - depth + level)

    return joined(arrays, 0)


def _depth(blocks: object) -> int:
    depth = 0
    while isinstance(blocks, list):
        if not blocks:
            raise ValueError(at_user_line("np.block: a list of blocks is empty"))
        depth, blocks = depth + 1, blocks[0]
    return depth


def _leaves(blocks: object) -> list[Any]:
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
def append(arr: ArrayLike, values: ArrayLike, axis: Axes = None) -> Any:
    """Values joined behind an array; both in one row, without an axis."""
    return ops.append(strong(arr), strong(values), axis)


# -- splitting -------------------------------------------------------------------------------------------------------


@as_numpy
def array_split(ary: ArrayLike, indices_or_sections: int, axis: int = 0) -> Any:
    """A list of parts, at the given indices or as many as asked, the first ones being longer by one if need be."""
    return ops.array_split(ary, indices_or_sections, axis)


@as_numpy
def split(ary: ArrayLike, indices_or_sections: int, axis: int = 0) -> Any:
    """A list of equal parts, or of parts at the given indices."""
    return ops.split(ary, indices_or_sections, axis)


@as_numpy
def hsplit(ary: ArrayLike, indices_or_sections: ShapeLike) -> Any:
    """`split` along the second axis (the only one of a row)."""
    return ops.hsplit(ary, indices_or_sections)


@as_numpy
def vsplit(ary: ArrayLike, indices_or_sections: ShapeLike) -> Any:
    """`split` along the first axis of a matrix."""
    return ops.vsplit(ary, indices_or_sections)


@as_numpy
def dsplit(ary: ArrayLike, indices_or_sections: ShapeLike) -> Any:
    """`split` along the third axis."""
    return ops.dsplit(ary, indices_or_sections)


@as_numpy
def unstack(x: ArrayLike, /, *, axis: int = 0) -> Any:
    """A tuple of the slices along an axis.

    Example:
        >>> import wengert.numpy as np
        >>> len(np.unstack([1.0, 2.0]))
        2
    """
    return tuple(ops.unstack(x, axis=axis))


# -- repeating and reordering ----------------------------------------------------------------------------------------


@as_numpy
def tile(A: ArrayLike, reps: tuple[int, ...]) -> Any:
    """An array repeated as a whole."""
    return ops.tile(A, reps)


@as_numpy
def repeat(a: ArrayLike, repeats: ArrayLike, axis: Axes = None) -> Any:
    """Each element repeated."""
    return ops.repeat(a, repeats, axis)


@as_numpy
def roll(a: ArrayLike, shift: ArrayLike, axis: Axes = None) -> Any:
    """Elements moved along axes, those that leave coming in again."""
    return ops.roll(a, shift, axis)


@as_numpy
def flip(m: ArrayLike, axis: Axes = None) -> Any:
    """Elements in reverse order along axes."""
    return ops.flip(m, axis)


@as_numpy
def flipud(m: ArrayLike) -> Any:
    """Rows in reverse order."""
    return ops.flipud(m)


@as_numpy
def fliplr(m: ArrayLike) -> Any:
    """Columns in reverse order."""
    return ops.fliplr(m)


@as_numpy
def rot90(m: ArrayLike, k: int = 1, axes: Axes = (0, 1)) -> Any:
    """A quarter turn, k times, from the first axis towards the second."""
    return ops.rot90(m, k, axes)


@as_numpy
def pad(array: ArrayLike, pad_width: Sequence[Any], mode: str = "constant", **kwargs: Any) -> Any:
    """Values put around an array, one axis after the other.

    Modes: "constant" (constant_values=), "edge", "wrap", "reflect" and "symmetric" (reflect_type=), "linear_ramp"
    (end_values=), "maximum", "minimum", "mean" and "median" (stat_length=), "empty" (zeros here)."""
    values = kwargs.pop("constant_values", None)
    if mode in PADDED_HERE and values is None:
        return padded(array, pad_width, mode, kwargs)
    if kwargs:
        raise ValueError(at_user_line(f"np.pad: {', '.join(sorted(kwargs))} is not supported"))
    return ops.pad(array, pad_width, mode, values)


# -- diagonals -------------------------------------------------------------------------------------------------------


@as_numpy
def diag(v: ArrayLike, k: int = 0) -> Any:
    """A row as a diagonal matrix, or the diagonal of a matrix."""
    return ops.diag(v, k)


@as_numpy
def diagflat(v: ArrayLike, k: int = 0) -> Any:
    """All elements on the diagonal of a matrix."""
    return ops.diagflat(v, k)


@as_numpy
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonals of the matrices that lie along two axes."""
    return ops.diagonal(a, offset, axis1, axis2)


@as_numpy
def trace(
    a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike | None = None,
    out: Out | None = None,
) -> Any:  # fmt: skip
    """The sum of the elements on a diagonal."""
    x = as_tensor(a, "trace")
    return ops.sum(ops.diagonal(x, offset, axis1, axis2), axis=-1, dtype=None if dtype is None else named_dtype(dtype))


@as_numpy
def tril(m: ArrayLike, k: int = 0) -> Any:
    """Zeros above a diagonal."""
    return ops.tril(m, k)


@as_numpy
def triu(m: ArrayLike, k: int = 0) -> Any:
    """Zeros below a diagonal."""
    return ops.triu(m, k)


# -- differences -----------------------------------------------------------------------------------------------------


@as_numpy
def diff(a: ArrayLike, n: int = 1, axis: int = -1, prepend: ArrayLike = NO_VALUE, append: ArrayLike = NO_VALUE) -> Any:
    """Differences of neighbours, n times."""
    x = as_tensor(a, "diff")
    axis = normal_axis(axis, x.ndim, "diff")
    if type(n) is int and n == 0:
        return ops.diff(x, 0, axis)  # as NumPy, without what would be put before or behind
    parts = [x if part is None else _edge(part, x, axis) for part in (prepend, None, append) if part is not NO_VALUE]
    return ops.diff(parts[0] if len(parts) == 1 else ops.concatenate(parts, axis=axis), n, axis)


def _edge(part: Any, x: Tensor, axis: int) -> Tensor:
    edge = as_tensor(part, "diff")
    return edge if edge.ndim else ops.broadcast_to(edge, (*[1 if i == axis else n for i, n in enumerate(x.shape)],))


@as_numpy
def ediff1d(ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None) -> Any:
    """Differences of neighbours in one row, with values put at the ends, in ary's dtype.

    Example:
        >>> import wengert.numpy as np
        >>> np.ediff1d([1.0, 3.0, 6.0])
        array([2., 3.])
    """
    x = ravel(as_tensor(ary, "ediff1d"))
    begin, end = ([] if part is None else [_end(part, x.dtype)] for part in (to_begin, to_end))
    return ops.concatenate([*map(ravel, [*begin, diff(x), *end])], axis=0)


def _end(part: ArrayLike, dtype: np.dtype[Any]) -> Tensor:
    """What `ediff1d` puts before or behind differences, in their dtype."""
    found = as_tensor(strong(part), "ediff1d")
    if found.dtype != dtype and not np.can_cast(found.dtype, dtype, "same_kind"):
        raise TypeError(at_user_line(f"ediff1d: {found.dtype.name} does not go to {dtype.name} by 'same_kind'"))
    return cast(found, dtype)


__all__ = [
    "append", "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "block", "broadcast_arrays", "broadcast_to",
    "column_stack", "concat", "concatenate", "diag", "diagflat", "diagonal", "diff", "dsplit", "dstack", "ediff1d",
    "expand_dims", "flip", "fliplr", "flipud", "hsplit", "hstack", "matrix_transpose", "moveaxis", "pad",
    "permute_dims", "ravel", "repeat", "reshape", "roll", "rollaxis", "rot90", "split", "squeeze", "stack",
    "swapaxes", "tile", "trace", "transpose", "tril", "triu", "unstack", "vsplit", "vstack",
]  # fmt: skip
