"""Shapes and the order of axes: reshape, transpose and its kin, squeeze, expand_dims, broadcast_to, meshgrid.

The small helpers here (`reshaped`, `permuted`, `joined`, `part`, ...) take tensors; most files of `ops/` use them.
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

import numpy as np

from .._core import dims
from .._core.apply import apply
from .._core.argument_types import ArrayLike, Axes, ShapeLike
from .._core.dims import Dim, DimLike, Shape
from .._core.state import STATE
from .._core.tensor import Tensor
from .._core.types import is_one, same_dim
from .._core.user_line import at_user_line
from .._prims import structural as S
from . import promotion
from .promotion import (
    as_tensor,
    broadcast_shapes,
    common_dtype,
    normal_axes,
    normal_axis,
    public,
)

# -- shapes as users write them ------------------------------------------------------------------------------


def extent(value: SupportsIndex, what: str) -> DimLike:
    """One dimension of a shape that a user wrote: an int, or a Dim of a trace."""
    if type(value) is Dim:
        return value
    try:
        return operator.index(value)
    except TypeError as error:
        raise type(error)(at_user_line(f"{what}: a shape has integers, got {value!r}: {error}")) from None


def shape_of(shape: Any, what: str) -> Shape:
    """A shape that a user wrote: an integer, or a sequence of them."""
    if isinstance(shape, (tuple, list)) or getattr(shape, "ndim", 0) == 1:
        return (*[extent(d, what) for d in shape],)
    return (extent(shape, what),)


def new_shape(shape: object, what: str) -> Shape:
    """As `shape_of`, for an array that is made: negative extents are a `ValueError`."""
    result = shape_of(shape, what)
    if builtins.any(type(d) is not Dim and d < 0 for d in result):
        raise ValueError(at_user_line(f"{what}: the shape {result} has a negative dimension"))
    return result


def _filled_in(shape: Shape, size: DimLike, x: Tensor, what: str) -> Shape:
    """A shape whose -1 has been worked out from the number of elements."""
    unknown = [i for i, d in enumerate(shape) if type(d) is not Dim and d == -1]
    if len(unknown) > 1 or builtins.any(type(d) is not Dim and d < -1 for d in shape):
        raise ValueError(at_user_line(f"{what}: the shape {shape} may have one -1, and no other negative extent"))
    if not unknown:
        return shape
    known = dims.size_of([d for d in shape if type(d) is Dim or d != -1])
    if type(known) is int and (known == 0 or (type(size) is int and size % known)):
        raise ValueError(at_user_line(f"{what}: x has shape {x.shape}, which does not fill the shape {shape}"))
    return (*[dims.floordiv(size, known) if i in unknown else d for i, d in enumerate(shape)],)


@functools.lru_cache(1024)
def _everyday_shape(shape: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...] | None:
    """The extents that an array gets by known ones, of which one may be -1; None where they are refused."""
    size, known = math.prod(shape), math.prod(n for n in wanted if n != -1)
    if min(wanted, default=0) < -1 or wanted.count(-1) > 1 or (-1 in wanted and (not known or size % known)):
        return None
    found = (*[size // known if n == -1 else n for n in wanted],)
    return found if math.prod(found) == size else None


_INTEGERS = frozenset({int})


# -- on tensors, for this file and the other families --------------------------------------------------------


def reshaped(x: Tensor, shape: Shape) -> Tensor:
    """x in a shape without -1; x itself if it has it."""
    return x if x._data.shape == shape else apply(S.reshape, (x,), (shape,))


def permuted(x: Tensor, perm: tuple[int, ...]) -> Tensor:
    """x with its axes in another order; x itself if that is the present one."""
    return x if perm == tuple(range(len(perm))) else apply(S.transpose, (x,), (perm,))


def moved(x: Tensor, source: int, destination: int) -> Tensor:
    """x with one axis in another place."""
    rest = [i for i in range(x.ndim) if i != source]
    rest.insert(destination, source)
    return permuted(x, tuple(rest))


def flat(x: Tensor) -> Tensor:
    """x as a vector."""
    return reshaped(x, (x.size,))


def with_axis(x: Tensor, axis: int) -> Tensor:
    """x with a new axis of extent 1."""
    return reshaped(x, (*x.shape[:axis], 1, *x.shape[axis:]))


def part(x: Tensor, axis: int, start: DimLike, limit: DimLike, stride: int = 1) -> Tensor:
    """x[start:limit:stride] along one axis; the bounds lie inside."""
    starts = (*[start if i == axis else 0 for i in range(x.ndim)],)
    limits = (*[limit if i == axis else d for i, d in enumerate(x.shape)],)
    strides = (*[stride if i == axis else 1 for i in range(x.ndim)],)
    return S.slice_(x, starts=starts, limits=limits, strides=strides)


def joined(xs: Sequence[Tensor], axis: int) -> Tensor:
    """Tensors of one dtype joined along an axis."""
    return xs[0] if len(xs) == 1 else apply(S.concatenate, tuple(xs), (axis,))


def tensors_in(xs: ArrayLike, what: str) -> list[Tensor]:
    """The entries of a sequence, or the rows of an array, as tensors of their common dtype."""
    if isinstance(xs, (list, tuple)):
        tensors = [as_tensor(x, what) for x in xs]
    else:
        whole = as_tensor(xs, what)
        if whole.ndim == 0:
            raise TypeError(at_user_line(f"{what}: wanted a sequence of arrays, got one of no dimensions"))
        tensors = rows(whole, 0)
    if not tensors:
        raise ValueError(at_user_line(f"{what}: wanted at least one array"))
    dtype = common_dtype(tensors)
    return [promotion.cast(t, dtype) for t in tensors]


def rows(x: Tensor, axis: int) -> list[Tensor]:
    """The slices of x along an axis whose extent is known."""
    shape = S.without(x.shape, (axis,))
    return [reshaped(part(x, axis, i, i + 1), shape) for i in range(known_extent(x, axis, "iteration"))]


def known_extent(x: Tensor, axis: int, what: str) -> int:
    """An extent as an int; a dimension of a trace raises `TracingError`."""
    size = x.shape[axis]
    if type(size) is Dim:
        raise size._refusal(f"{what} along axis {axis}")
    return size


# -- one array: the shape ------------------------------------------------------------------------------------


@public
def reshape(x: ArrayLike, newshape: ShapeLike) -> Any:
    """The elements of x, row-major, in another shape.

    Args:
        x: an array or a number.
        newshape: an integer or a sequence of them; one may be -1 and is worked out.

    Returns:
        An array of that shape in x's kind.

    Raises:
        ValueError: if the elements do not fill the shape.

    Example:
        >>> import wengert as wg
        >>> wg.ops.reshape([1, 2, 3, 4], (2, -1))
        array([[1, 2],
               [3, 4]])
    """
    a = as_tensor(x, "reshape")
    if STATE.builder is None and type(newshape) is tuple and _INTEGERS.issuperset(map(type, newshape)):
        known = _everyday_shape(a._data.shape, newshape)
        if known is not None:
            return reshaped(a, known)
    shape = _filled_in(shape_of(newshape, "reshape"), a.size, a, "reshape")
    if not same_dim(dims.size_of(shape), a.size):
        raise ValueError(at_user_line(f"reshape: x has shape {a.shape}, which does not fill the shape {shape}"))
    return reshaped(a, shape)


@public
def ravel(x: ArrayLike) -> Any:
    """The elements of x, row-major, as a vector.

    Args:
        x: an array or a number.

    Returns:
        An array with one axis in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.ravel([[1, 2], [3, 4]])
        array([1, 2, 3, 4])
    """
    return flat(as_tensor(x, "ravel"))


@public
def transpose(x: ArrayLike, axes: Any = None) -> Any:
    """x with its axes in another order.

    Args:
        x: an array or a number.
        axes: for each axis of the result the axis of x that it is; None reverses the order.

    Returns:
        The rearranged array in x's kind.

    Raises:
        ValueError: if `axes` does not permute the axes of x.

    Example:
        >>> import wengert as wg
        >>> wg.ops.transpose([[1, 2], [3, 4]])
        array([[1, 3],
               [2, 4]])
    """
    a = as_tensor(x, "transpose")
    if axes is None:
        return permuted(a, (*reversed(range(a.ndim)),))
    perm = normal_axes(tuple(axes), a.ndim, "transpose")
    if len(perm) != a.ndim:
        raise ValueError(at_user_line(f"transpose: axes {axes} do not permute the axes of shape {a.shape}"))
    return permuted(a, perm)


@public
def matrix_transpose(x: ArrayLike) -> Any:
    """x with its last two axes exchanged.

    Args:
        x: an array of at least two axes.

    Returns:
        The rearranged array in x's kind.

    Raises:
        ValueError: if x has fewer than two axes.

    Example:
        >>> import wengert as wg
        >>> wg.ops.matrix_transpose([[1, 2]])
        array([[1],
               [2]])
    """
    a = as_tensor(x, "matrix_transpose")
    if a.ndim < 2:
        raise ValueError(at_user_line(f"matrix_transpose: x has shape {a.shape}, wanted at least two axes"))
    return permuted(a, (*range(a.ndim - 2), a.ndim - 1, a.ndim - 2))


@public
def swapaxes(x: ArrayLike, axis1: int, axis2: int) -> Any:
    """x with two axes exchanged.

    Args:
        x: an array.
        axis1: one axis.
        axis2: the other.

    Returns:
        The rearranged array in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.swapaxes([[1, 2]], 0, 1)
        array([[1],
               [2]])
    """
    a = as_tensor(x, "swapaxes")
    i, j = normal_axis(axis1, a.ndim, "swapaxes"), normal_axis(axis2, a.ndim, "swapaxes")
    perm = list(range(a.ndim))
    perm[i], perm[j] = j, i
    return permuted(a, tuple(perm))


@public
def moveaxis(x: ArrayLike, source: Axes, destination: Axes) -> Any:
    """x with some axes moved to other places; the others stay in order.

    Args:
        x: an array.
        source: an axis or a sequence of axes.
        destination: where each of them goes.

    Returns:
        The rearranged array in x's kind.

    Raises:
        ValueError: if the two have different lengths.

    Example:
        >>> import wengert as wg
        >>> wg.ops.shape(wg.ops.moveaxis(wg.ops.zeros((2, 3, 4)), 0, -1))
        (3, 4, 2)
    """
    a = as_tensor(x, "moveaxis")
    origin, goal = normal_axes(source, a.ndim, "moveaxis"), normal_axes(destination, a.ndim, "moveaxis")
    if len(origin) != len(goal):
        raise ValueError(at_user_line(f"moveaxis: source {source} and destination {destination} differ in number"))
    order = [i for i in range(a.ndim) if i not in origin]
    for place, axis in sorted(zip(goal, origin)):
        order.insert(place, axis)
    return permuted(a, tuple(order))


@public
def rollaxis(x: ArrayLike, axis: int, start: int = 0) -> Any:
    """x with one axis moved to before another place: NumPy's older spelling of `moveaxis`.

    Args:
        x: an array.
        axis: the axis to move.
        start: the place before which it goes, from 0 to the number of axes.

    Returns:
        The rearranged array in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.shape(wg.ops.rollaxis(wg.ops.zeros((2, 3, 4)), 2))
        (4, 2, 3)
    """
    a = as_tensor(x, "rollaxis")
    source = normal_axis(axis, a.ndim, "rollaxis")
    place = start + a.ndim if start < 0 else start
    if not 0 <= place <= a.ndim:
        raise np.exceptions.AxisError(at_user_line(f"rollaxis: start {start} is out of bounds for shape {a.shape}"))
    return moved(a, source, place - 1 if place > source else place)


@public
def expand_dims(x: ArrayLike, axis: Axes) -> Any:
    """x with new axes of extent 1.

    Args:
        x: an array or a number.
        axis: the place or places that they have in the result.

    Returns:
        The reshaped array in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.expand_dims([1, 2], 0)
        array([[1, 2]])
    """
    a = as_tensor(x, "expand_dims")
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    places = normal_axes(tuple(axes), a.ndim + len(axes), "expand_dims")
    old = iter(a.shape)
    return reshaped(a, (*[1 if i in places else next(old) for i in range(a.ndim + len(axes))],))


@public
def squeeze(x: ArrayLike, axis: Axes = None) -> Any:
    """x without axes of extent 1.

    Args:
        x: an array.
        axis: the axes to leave out; None means all that have extent 1.

    Returns:
        The reshaped array in x's kind.

    Raises:
        ValueError: if an axis named has another extent.

    Example:
        >>> import wengert as wg
        >>> wg.ops.squeeze([[1, 2]])
        array([1, 2])
    """
    a = as_tensor(x, "squeeze")
    if axis is None:
        return reshaped(a, (*[d for d in a.shape if not is_one(d)],))
    axes = normal_axes(axis, a.ndim, "squeeze")
    for i in axes:
        if not same_dim(a.shape[i], 1):
            raise ValueError(at_user_line(f"squeeze: axis {i} of shape {a.shape} has extent {a.shape[i]}, wanted 1"))
    return reshaped(a, S.without(a.shape, axes))


@public
def broadcast_to(x: ArrayLike, shape: ShapeLike) -> Any:
    """x repeated along new leading axes and along axes of extent 1.

    Args:
        x: an array or a number.
        shape: the shape wanted.

    Returns:
        An array of that shape in x's kind.

    Raises:
        ValueError: if x does not broadcast to it.

    Example:
        >>> import wengert as wg
        >>> wg.ops.broadcast_to([1, 2], (2, 2))
        array([[1, 2],
               [1, 2]])
    """
    return promotion.broadcast(as_tensor(x, "broadcast_to"), new_shape(shape, "broadcast_to"))


def _at_least(x: ArrayLike, rank: int, name: str) -> Any:
    a = as_tensor(x, name)
    missing = rank - a.ndim
    if missing <= 0:
        return a
    if rank == 3:  # NumPy puts the new axes of a vector on both sides, of a matrix behind
        return reshaped(a, {0: (1, 1, 1), 1: (1, *a.shape, 1), 2: (*a.shape, 1)}[a.ndim])
    return reshaped(a, (1,) * missing + tuple(a.shape))


def _each(f: Callable[..., Any], xs: tuple[Any, ...]) -> Any:
    return f(xs[0]) if len(xs) == 1 else (*map(f, xs),)


@public
def atleast_1d(*xs: ArrayLike) -> Any:
    """Arrays with at least one axis.

    Args:
        xs: arrays or numbers.

    Returns:
        One array, or a tuple of them if several came in.

    Example:
        >>> import wengert as wg
        >>> wg.ops.atleast_1d(1.5)
        array([1.5])
    """
    return _each(lambda x: _at_least(x, 1, "atleast_1d"), xs)


@public
def atleast_2d(*xs: ArrayLike) -> Any:
    """Arrays with at least two axes; new ones come first.

    Args:
        xs: arrays or numbers.

    Returns:
        One array, or a tuple of them if several came in.

    Example:
        >>> import wengert as wg
        >>> wg.ops.atleast_2d([1, 2])
        array([[1, 2]])
    """
    return _each(lambda x: _at_least(x, 2, "atleast_2d"), xs)


@public
def atleast_3d(*xs: ArrayLike) -> Any:
    """Arrays with at least three axes: a vector becomes (1, n, 1), a matrix (m, n, 1).

    Args:
        xs: arrays or numbers.

    Returns:
        One array, or a tuple of them if several came in.

    Example:
        >>> import wengert as wg
        >>> wg.ops.shape(wg.ops.atleast_3d([1, 2]))
        (1, 2, 1)
    """
    return _each(lambda x: _at_least(x, 3, "atleast_3d"), xs)


# -- one array: order and repetition -------------------------------------------------------------------------


# -- several arrays ------------------------------------------------------------------------------------------


@public
def meshgrid(*x: ArrayLike, indexing: str = "xy") -> Any:
    """Vectors spread to one grid.

    Args:
        x: vectors or numbers, one for each axis.
        indexing: "xy" (the first two axes exchanged, as in plots) or "ij".

    Returns:
        A list of arrays of the grid's shape, one for each vector.

    Raises:
        ValueError: for another `indexing`, or arrays with more than one axis.

    Example:
        >>> import wengert as wg
        >>> wg.ops.meshgrid([1, 2], [3, 4])
        [array([[1, 2], [1, 2]]), array([[3, 3], [4, 4]])]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(at_user_line(f"meshgrid: indexing is {indexing!r}, wanted 'xy' or 'ij'"))
    vectors = [_at_least(v, 1, "meshgrid") for v in x]
    for v in vectors:
        if v.ndim != 1:
            raise ValueError(at_user_line(f"meshgrid: wanted vectors, got shape {v.shape}"))
    order = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        order[0], order[1] = 1, 0
    shape = (*[vectors[i].shape[0] for i in order],)
    grid = []
    for i, v in enumerate(vectors):
        narrow = (*[v.shape[0] if axis == i else 1 for axis in order],)
        grid.append(promotion.broadcast(reshaped(v, narrow), shape))
    return grid


@public
def broadcast_arrays(*xs: ArrayLike) -> Any:
    """Arrays repeated to the shape in which they meet.

    Args:
        xs: arrays or numbers.

    Returns:
        A tuple of arrays of one shape.

    Example:
        >>> import wengert as wg
        >>> wg.ops.broadcast_arrays([1, 2], 3)
        (array([1, 2]), array([3, 3]))
    """
    tensors = [as_tensor(x, "broadcast_arrays") for x in xs]
    shape: Shape = ()
    for t in tensors:
        shape = broadcast_shapes(shape, t.shape, "broadcast_arrays")
    return (*[promotion.broadcast(t, shape) for t in tensors],)


# -- padding -------------------------------------------------------------------------------------------------

_GATHERED_MODES = ("edge", "reflect", "symmetric", "wrap")


# -- matrices: diagonals and triangles -----------------------------------------------------------------------


__all__ = [
    "reshape",
    "ravel",
    "transpose",
    "matrix_transpose",
    "swapaxes",
    "moveaxis",
    "rollaxis",
    "expand_dims",
    "squeeze",
    "broadcast_to",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "meshgrid",
    "broadcast_arrays",
]
