"""Ops that rearrange, repeat and join elements without computing on them."""

from __future__ import annotations

import builtins
import functools
import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

import numpy as np

from .._core import dims, dtypes
from .._core.apply import apply
from .._core.argument_types import ArrayLike, Axes, ShapeLike
from .._core.constant import constant
from .._core.dims import Dim, DimLike, Shape
from .._core.state import STATE
from .._core.tensor import Tensor
from .._core.types import is_one, same_dim
from .._core.where import at_user_line
from .._prims import linalg as L
from .._prims import structural as S
from .._prims.indexing import gather
from . import promotion
from .promotion import (
    MOST_COUNTED,
    as_ndarray,
    as_tensor,
    broadcast_shapes,
    common_dtype,
    count_of,
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


def part(x: Tensor, axis: int, start: DimLike, limit: DimLike) -> Tensor:
    """x[start:limit] along one axis; the bounds lie inside."""
    starts = (*[start if i == axis else 0 for i in range(x.ndim)],)
    limits = (*[limit if i == axis else d for i, d in enumerate(x.shape)],)
    return S.slice_(x, starts=starts, limits=limits, strides=(1,) * x.ndim)


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


@public
def flip(x: ArrayLike, axis: Axes = None) -> Any:
    """x with its elements in opposite order along axes.

    Args:
        x: an array.
        axis: an axis or a tuple of them; None means all.

    Returns:
        The rearranged array in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.flip([1, 2, 3])
        array([3, 2, 1])
    """
    a = as_tensor(x, "flip")
    axes = normal_axes(axis, a.ndim, "flip")
    return S.flip(a, axes=axes) if axes else a


@public
def fliplr(x: ArrayLike) -> Any:
    """x with its elements in opposite order along axis 1.

    Args:
        x: an array of at least two axes.

    Returns:
        The rearranged array in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.fliplr([[1, 2]])
        array([[2, 1]])
    """
    return flip(as_tensor(x, "fliplr"), 1)


@public
def flipud(x: ArrayLike) -> Any:
    """x with its elements in opposite order along axis 0.

    Args:
        x: an array of at least one axis.

    Returns:
        The rearranged array in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.flipud([1, 2])
        array([2, 1])
    """
    return flip(as_tensor(x, "flipud"), 0)


@public
def rot90(array: ArrayLike, k: int = 1, axes: Any = (0, 1)) -> Any:
    """An array turned by quarters, from the first of two axes towards the second.

    Args:
        array: an array of at least two axes.
        k: how many quarters; negative ones turn the other way.
        axes: the two axes of the plane.

    Returns:
        The rearranged array in the kind that came in.

    Raises:
        ValueError: if `axes` are not two different axes.
        TypeError: if `k` is not an integer.

    Example:
        >>> import wengert as wg
        >>> wg.ops.rot90([[1, 2], [3, 4]])
        array([[2, 4],
               [1, 3]])
    """
    a = as_tensor(array, "rot90")
    plane = normal_axes(tuple(axes), a.ndim, "rot90")
    if len(plane) != 2:
        raise ValueError(at_user_line(f"rot90: wanted two axes, got {axes}"))
    try:
        quarters = operator.index(k) % 4
    except TypeError as error:  # of a traced tensor a LostGradientError
        told = f"rot90: k counts quarters and must be an integer, got {k!r}: {error}"
        raise type(error)(at_user_line(told)) from None
    if quarters == 2:
        return S.flip(a, axes=plane)
    if quarters == 1:
        return swapaxes(S.flip(a, axes=plane[1:]), *plane)
    return S.flip(swapaxes(a, *plane), axes=plane[1:]) if quarters else a


@public
def roll(x: ArrayLike, shift: ArrayLike, axis: Axes = None) -> Any:
    """x with its elements moved along; those that leave at the end come back at the front.

    Args:
        x: an array.
        shift: by how many places, or one number for each axis; negative ones move to the front.
        axis: the axis or axes; None moves the elements of the flattened array.

    Returns:
        The rearranged array in x's kind.

    Raises:
        ValueError: if `shift` and `axis` do not match in number.

    Example:
        >>> import wengert as wg
        >>> wg.ops.roll([1, 2, 3], 1)
        array([3, 1, 2])
    """
    a = as_tensor(x, "roll")
    if axis is None:
        total = int(np.sum(as_ndarray(shift, "roll")))
        return reshaped(_rolled(flat(a), total, 0), tuple(a.shape))
    shifts, axes = np.broadcast_arrays(as_ndarray(shift, "roll"), np.asarray(axis))
    if shifts.ndim > 1:
        raise ValueError(at_user_line("roll: shift and axis are numbers or flat sequences"))
    for by, along in zip(shifts.ravel().tolist(), axes.ravel().tolist()):
        a = _rolled(a, by, normal_axis(along, a.ndim, "roll"))
    return a


def _rolled(x: Tensor, shift: int, axis: int) -> Tensor:
    size = x.shape[axis]
    if type(size) is int and (size == 0 or shift % size == 0):
        return x
    full_turns = dims.floordiv(shift, size if type(size) is int else dims.maximum(size, 1))
    start = (full_turns + 1) * size - shift  # what is there now begins here
    return joined([part(x, axis, start, size), part(x, axis, 0, start)], axis)


@public
def tile(x: ArrayLike, repeats: ArrayLike) -> Any:
    """x laid side by side.

    Args:
        x: an array or a number.
        repeats: how many times along each of the last axes; more numbers than axes add leading axes.

    Returns:
        The larger array in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.tile([1, 2], 2)
        array([1, 2, 1, 2])
    """
    a = as_tensor(x, "tile")
    counts = new_shape(repeats, "tile")
    rank = builtins.max(a.ndim, len(counts))
    counts = (1,) * (rank - len(counts)) + counts
    sizes = (1,) * (rank - a.ndim) + tuple(a.shape)
    narrow = (*[d for size in sizes for d in (1, size)],)
    wide = (*[d for pair in zip(counts, sizes) for d in pair],)
    repeated = promotion.broadcast(reshaped(a, narrow), wide)
    return reshaped(repeated, (*[c * s for c, s in zip(counts, sizes)],))


@public
def repeat(x: ArrayLike, repeats: ArrayLike, axis: Axes = None) -> Any:
    """Each element of x, or each slice along an axis, several times in succession.

    Args:
        x: an array or a number.
        repeats: how many times, for all or for each; known while tracing.
        axis: the axis; None repeats the elements of the flattened array.

    Returns:
        The larger array in x's kind.

    Raises:
        ValueError: if there are several `repeats` and not one for each slice.

    Example:
        >>> import wengert as wg
        >>> wg.ops.repeat([1, 2], 2)
        array([1, 1, 2, 2])
    """
    a = as_tensor(x, "repeat")
    a, place = (flat(a), 0) if axis is None else (a, normal_axis(axis, a.ndim, "repeat"))
    if isinstance(repeats, Dim):
        return _repeated_evenly(a, repeats, place)
    counts = as_ndarray(repeats, "repeat")
    if counts.size == 1:
        return _repeated_evenly(a, int(counts.item()), place)
    size = known_extent(a, place, "repeat")
    if counts.shape != (size,):
        raise ValueError(
            at_user_line(f"repeat: repeats has shape {counts.shape}, wanted one number for each of {size} slices")
        )
    return _picked(a, place, np.repeat(np.arange(size), counts))


def _repeated_evenly(x: Tensor, count: DimLike, axis: int) -> Tensor:
    if type(count) is int and count < 0:
        raise ValueError(at_user_line(f"repeat: repeats is {count}, wanted a number that is not negative"))
    before, size, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    wide = promotion.broadcast(with_axis(x, axis + 1), (*before, size, count, *after))
    return reshaped(wide, (*before, size * count, *after))


def _picked(x: Tensor, axis: int, positions: np.ndarray[Any, Any]) -> Tensor:
    """The slices of x at known positions along an axis."""
    taken = gather(moved(x, axis, 0), constant(positions.astype(np.int64)))
    return moved(taken, 0, axis)


# -- several arrays ------------------------------------------------------------------------------------------


@public
def concatenate(xs: ArrayLike, axis: Axes = 0) -> Any:
    """Arrays joined along an axis that they have.

    Args:
        xs: a sequence of arrays whose shapes differ along the axis only; dtypes promote.
        axis: the axis; None joins the flattened arrays.

    Returns:
        One array in the kind of array that came in.

    Raises:
        ValueError: if there are no arrays, or their shapes do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.ops.concatenate([[1, 2], [3.0]])
        array([1., 2., 3.])
    """
    tensors = tensors_in(xs, "concatenate")
    if axis is None:
        return joined(list(map(flat, tensors)), 0)
    if not builtins.all(t.ndim for t in tensors):
        raise ValueError(at_user_line("concatenate: arrays without axes cannot be joined; use stack"))
    ranks = {t.ndim for t in tensors}
    if len(ranks) > 1:
        raise ValueError(at_user_line(f"concatenate: arrays have shapes {', '.join(str(t.shape) for t in tensors)}"))
    return joined(tensors, normal_axis(axis, tensors[0].ndim, "concatenate"))


@public
def append(x1: ArrayLike, x2: ArrayLike, axis: Axes = None) -> Any:
    """x2 behind x1.

    Args:
        x1: an array.
        x2: an array whose shape differs along the axis only.
        axis: the axis; None joins the flattened arrays.

    Returns:
        One array in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.ops.append([1, 2], [3])
        array([1, 2, 3])
    """
    return concatenate([as_tensor(x1, "append"), as_tensor(x2, "append")], axis)


@public
def stack(x: ArrayLike, axis: int = 0) -> Any:
    """Arrays of one shape joined along a new axis.

    Args:
        x: a sequence of arrays; dtypes promote.
        axis: the place of the new axis in the result.

    Returns:
        One array in the kind of array that came in.

    Raises:
        ValueError: if the shapes differ.

    Example:
        >>> import wengert as wg
        >>> wg.ops.stack([[1, 2], [3, 4]], axis=1)
        array([[1, 3],
               [2, 4]])
    """
    tensors = tensors_in(x, "stack")
    for t in tensors[1:]:
        if len(t.shape) != len(tensors[0].shape) or not builtins.all(map(same_dim, t.shape, tensors[0].shape)):
            raise ValueError(at_user_line(f"stack: arrays have shapes {tensors[0].shape} and {t.shape}"))
    place = normal_axis(axis, tensors[0].ndim + 1, "stack")
    return joined([with_axis(t, place) for t in tensors], place)


@public
def hstack(xs: ArrayLike) -> Any:
    """Arrays joined along axis 1, vectors along axis 0.

    Args:
        xs: a sequence of arrays.

    Returns:
        One array in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.ops.hstack([[1, 2], [3]])
        array([1, 2, 3])
    """
    tensors = [_at_least(t, 1, "hstack") for t in tensors_in(xs, "hstack")]
    return concatenate(tensors, 0 if tensors[0].ndim == 1 else 1)


@public
def vstack(xs: ArrayLike) -> Any:
    """Arrays joined along axis 0, vectors as rows.

    Args:
        xs: a sequence of arrays.

    Returns:
        One array in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.ops.vstack([[1, 2], [3, 4]])
        array([[1, 2],
               [3, 4]])
    """
    return concatenate([_at_least(t, 2, "vstack") for t in tensors_in(xs, "vstack")], 0)


@public
def dstack(xs: ArrayLike) -> Any:
    """Arrays joined along axis 2, after `atleast_3d`.

    Args:
        xs: a sequence of arrays.

    Returns:
        One array in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.ops.shape(wg.ops.dstack([[1, 2], [3, 4]]))
        (1, 2, 2)
    """
    return concatenate([_at_least(t, 3, "dstack") for t in tensors_in(xs, "dstack")], 2)


@public
def column_stack(xs: ArrayLike) -> Any:
    """Vectors as the columns of a matrix; matrices joined along axis 1.

    Args:
        xs: a sequence of arrays.

    Returns:
        One array in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.ops.column_stack([[1, 2], [3, 4]])
        array([[1, 3],
               [2, 4]])
    """
    tensors = [_at_least(t, 1, "column_stack") for t in tensors_in(xs, "column_stack")]
    return concatenate([with_axis(t, 1) if t.ndim == 1 else t for t in tensors], 1)


@public
def split(x: ArrayLike, indices_or_sections: int, axis: int = 0) -> Any:
    """x cut into parts along an axis.

    Args:
        x: an array.
        indices_or_sections: the number of equal parts, or the positions of the cuts.
        axis: the axis.

    Returns:
        A list of arrays in x's kind.

    Raises:
        ValueError: if the axis does not divide into so many equal parts.

    Example:
        >>> import wengert as wg
        >>> wg.ops.split([1, 2, 3, 4], 2)
        [array([1, 2]), array([3, 4])]
    """
    a = as_tensor(x, "split")
    place = normal_axis(axis, a.ndim, "split")
    sections = _section_count(indices_or_sections)
    size = a.shape[place]
    if sections and type(size) is int and size % sections:
        raise ValueError(
            at_user_line(f"split: axis {place} of shape {a.shape} does not divide into {sections} equal parts")
        )
    if sections is not None and sections < 1:
        raise ValueError(at_user_line(f"split: wanted at least one part, got {sections}"))
    if sections is None:
        return _cut(a, place, indices_or_sections)
    step = dims.floordiv(size, sections)
    if not same_dim(step * sections, size):
        raise ValueError(at_user_line(f"split: axis {place} does not divide into {sections} equal parts"))
    return [part(a, place, step * i, step * (i + 1)) for i in range(sections)]


@public
def array_split(x: ArrayLike, indices_or_sections: int, axis: int = 0) -> Any:
    """x cut into parts along an axis, the first ones longer by one where they cannot be equal.

    Args:
        x: an array.
        indices_or_sections: the number of parts, or the positions of the cuts.
        axis: the axis, whose extent is known while tracing.

    Returns:
        A list of arrays in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.array_split([1, 2, 3], 2)
        [array([1, 2]), array([3])]
    """
    a = as_tensor(x, "array_split")
    place = normal_axis(axis, a.ndim, "array_split")
    sections = _section_count(indices_or_sections)
    if sections is None:
        return _cut(a, place, indices_or_sections)
    if sections < 1:
        raise ValueError(at_user_line(f"array_split: wanted at least one part, got {sections}"))
    count_of(sections, "array_split: indices_or_sections", most=MOST_COUNTED)
    each, longer = divmod(known_extent(a, place, "array_split"), sections)
    ends = np.cumsum([each + (i < longer) for i in range(sections)]).tolist()
    return [part(a, place, start, end) for start, end in zip([0, *ends], ends)]


def _section_count(indices_or_sections: int) -> int | None:
    if isinstance(indices_or_sections, (list, tuple)) or getattr(indices_or_sections, "ndim", 0):
        return None
    return operator.index(indices_or_sections)


def _cut(x: Tensor, axis: int, positions: Any) -> list[Tensor]:
    size = known_extent(x, axis, "split")
    bounds = [0, *(operator.index(p) for p in positions), size]
    ranges = (builtins.slice(a, b).indices(size) for a, b in itertools.pairwise(bounds))
    return [part(x, axis, start, builtins.max(start, stop)) for start, stop, _ in ranges]


@public
def hsplit(x: ArrayLike, indices_or_sections: Any) -> Any:
    """x cut along axis 1, a vector along axis 0.

    Args:
        x: an array.
        indices_or_sections: the number of equal parts, or the positions of the cuts.

    Returns:
        A list of arrays in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.hsplit([1, 2], 2)
        [array([1]), array([2])]
    """
    a = as_tensor(x, "hsplit")
    return split(a, indices_or_sections, 1 if a.ndim > 1 else 0)


@public
def vsplit(x: ArrayLike, indices_or_sections: Any) -> Any:
    """x cut along axis 0.

    Args:
        x: an array of at least two axes.
        indices_or_sections: the number of equal parts, or the positions of the cuts.

    Returns:
        A list of arrays in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.vsplit([[1], [2]], 2)
        [array([[1]]), array([[2]])]
    """
    a = as_tensor(x, "vsplit")
    if a.ndim < 2:
        raise ValueError(at_user_line(f"vsplit: x has shape {a.shape}, wanted at least two axes"))
    return split(a, indices_or_sections, 0)


@public
def dsplit(x: ArrayLike, indices_or_sections: Any) -> Any:
    """x cut along axis 2.

    Args:
        x: an array of at least three axes.
        indices_or_sections: the number of equal parts, or the positions of the cuts.

    Returns:
        A list of arrays in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.dsplit([[[1, 2]]], 2)
        [array([[[1]]]), array([[[2]]])]
    """
    a = as_tensor(x, "dsplit")
    if a.ndim < 3:
        raise ValueError(at_user_line(f"dsplit: x has shape {a.shape}, wanted at least three axes"))
    return split(a, indices_or_sections, 2)


@public
def unstack(x: ArrayLike, num: int | None = None, axis: int = 0) -> Any:
    """The slices of x along an axis.

    Args:
        x: an array of at least one axis.
        num: how many there are, if it should be checked.
        axis: the axis, whose extent is known while tracing or given by `num`.

    Returns:
        A list of arrays in x's kind.

    Raises:
        ValueError: if the axis has another extent than `num`.

    Example:
        >>> import wengert as wg
        >>> wg.ops.unstack([[1, 2], [3, 4]])
        [array([1, 2]), array([3, 4])]
    """
    a = as_tensor(x, "unstack")
    place = normal_axis(axis, a.ndim, "unstack")
    if num is not None and not same_dim(a.shape[place], num):
        raise ValueError(at_user_line(f"unstack: axis {place} of shape {a.shape} has not extent {num}"))
    count = known_extent(a, place, "unstack") if num is None else num
    shape = S.without(a.shape, (place,))
    return [reshaped(part(a, place, i, i + 1), shape) for i in range(count)]


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


def _pairs(width: Any, rank: int, what: str) -> list[tuple[Any, Any]]:
    """What NumPy takes for widths as one (before, after) pair for each axis."""
    if isinstance(width, dict):
        pairs = [(0, 0)] * rank
        for axis, value in width.items():
            pairs[normal_axis(axis, rank, what)] = _pairs(value, 1, what)[0]
        return pairs
    if isinstance(width, (tuple, list)) or getattr(width, "ndim", 0):
        entries = [tuple(w) if isinstance(w, (tuple, list)) or getattr(w, "ndim", 0) else w for w in width]
    else:
        return [(width, width)] * rank
    if len(entries) == 2 and not builtins.any(isinstance(e, tuple) for e in entries):
        return [(entries[0], entries[1])] * rank
    pairs = [(e if len(e) == 2 else e * 2) if isinstance(e, tuple) else (e, e) for e in entries]
    if len(pairs) == 1:
        pairs = pairs * rank
    if len(pairs) != rank or builtins.any(len(p) != 2 for p in pairs):
        raise ValueError(at_user_line(f"{what}: {width} is not one pair for each of {rank} axes"))
    return pairs


@public
def pad(x: ArrayLike, pad_width: Sequence[Any], mode: str = "constant", constant_values: Any = None) -> Any:
    """x with elements put before and after along each axis.

    Args:
        x: an array.
        pad_width: how many: a number, a (before, after) pair, or one pair for each axis.
        mode: "constant", "edge", "reflect", "symmetric" or "wrap".
        constant_values: the number for "constant" (0 if None), or numbers in the forms of `pad_width`.

    Returns:
        The larger array in x's kind and dtype.

    Raises:
        ValueError: for another mode, negative widths, or `constant_values` with another mode.

    Example:
        >>> import wengert as wg
        >>> wg.ops.pad([1, 2], (1, 2))
        array([0, 1, 2, 0, 0])
    """
    a = as_tensor(x, "pad")
    widths: list[Any] = [(*[extent(w, "pad") for w in pair],) for pair in _pairs(pad_width, a.ndim, "pad")]
    if builtins.any(type(w) is not Dim and w < 0 for pair in widths for w in pair):
        raise ValueError(at_user_line(f"pad: pad_width {pad_width} has a negative number"))
    if mode == "constant":
        return _pad_constant(a, widths, constant_values)
    if constant_values is not None:
        raise ValueError(at_user_line(f"pad: constant_values is for mode 'constant', not {mode!r}"))
    if mode not in _GATHERED_MODES:
        raise ValueError(at_user_line(f"pad: mode is {mode!r}, wanted 'constant' or one of {_GATHERED_MODES}"))
    for axis, pair in enumerate(widths):
        if pair != (0, 0):
            positions = np.arange(known_extent(a, axis, f"pad with mode {mode!r}"))
            a = _picked(a, axis, np.pad(positions, pair, mode=mode))
    return a


def _pad_constant(x: Tensor, widths: list[Any], values: ArrayLike) -> Tensor:
    if values is None or (type(values) in (int, float) and values == 0):
        if builtins.all(pair == (0, 0) for pair in widths):
            return x
        low, high = ((*[pair[side] for pair in widths],) for side in (0, 1))
        return S.pad(x, low=low, high=high, interior=(0,) * x.ndim)
    single = as_tensor(values, "pad") if isinstance(values, Tensor) and values.ndim == 0 else values
    for axis, (pair, fills) in enumerate(zip(widths, _pairs(single, x.ndim, "pad"))):
        blocks = [x]
        for side, (width, value) in enumerate(zip(pair, fills)):
            if width != 0:
                shape = (*x.shape[:axis], width, *x.shape[axis + 1 :])
                block = promotion.broadcast(promotion.converted(value, x.dtype, "pad: constant_values"), shape)
                blocks.insert(0 if side == 0 else len(blocks), block)
        x = joined(blocks, axis)
    return x


# -- matrices: diagonals and triangles -----------------------------------------------------------------------


def _triangle(x: ArrayLike, k: int, upper: bool, name: str) -> Tensor:
    a = as_tensor(x, name)
    if a.ndim == 0:
        raise ValueError(at_user_line(f"{name}: wanted at least one axis, got a number"))
    if a.ndim == 1:  # as NumPy: every row is the vector
        a = promotion.broadcast(a, (a.shape[0], a.shape[0]))
    return (L.triu if upper else L.tril)(a, k=operator.index(k))


@public
def tril(x: ArrayLike, k: int = 0) -> Any:
    """x with zeros above a diagonal.

    Args:
        x: an array of matrices on the last two axes.
        k: which diagonal is the last that is kept; 0 is the main one, positive ones lie above.

    Returns:
        An array of x's shape and kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.tril([[1, 2], [3, 4]])
        array([[1, 0],
               [3, 4]])
    """
    return _triangle(x, k, False, "tril")


@public
def triu(x: ArrayLike, k: int = 0) -> Any:
    """x with zeros below a diagonal.

    Args:
        x: an array of matrices on the last two axes.
        k: which diagonal is the first that is kept; 0 is the main one, positive ones lie above.

    Returns:
        An array of x's shape and kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.triu([[1, 2], [3, 4]])
        array([[1, 2],
               [0, 4]])
    """
    return _triangle(x, k, True, "triu")


def _diagonal_extent(height: DimLike, width: DimLike, offset: int) -> DimLike:
    length = dims.minimum(height + builtins.min(offset, 0), width - builtins.max(offset, 0))
    return builtins.max(length, 0) if type(length) is int else length


@public
def diagonal(x: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonals of x in the plane of two axes, as a new last axis.

    Args:
        x: an array of at least two axes.
        offset: which diagonal; 0 is the main one, positive ones lie above.
        axis1: the axis of the rows.
        axis2: the axis of the columns.

    Returns:
        The diagonals in x's kind.

    Raises:
        ValueError: if x has fewer than two axes, or the two axes are one.

    Example:
        >>> import wengert as wg
        >>> wg.ops.diagonal([[1, 2], [3, 4]])
        array([1, 4])
    """
    a = as_tensor(x, "diagonal")
    if a.ndim < 2:
        raise ValueError(at_user_line(f"diagonal: x has shape {a.shape}, wanted at least two axes"))
    first, second = normal_axes((axis1, axis2), a.ndim, "diagonal")
    rest = (*[i for i in range(a.ndim) if i not in (first, second)],)
    offset = operator.index(offset)
    if offset == 0 and a.shape[first] == a.shape[second]:
        return L.diagonal(permuted(a, (*rest, first, second)))
    a = permuted(a, (first, second, *rest))
    height, width = a.shape[:2]
    length = _diagonal_extent(height, width, offset)
    # on the flattened plane the diagonal's elements lie at one distance, width + 1
    plane = reshaped(a, (height * width, *a.shape[2:]))
    step = S.iota(size=length, dtype=dtypes.int64)
    start = offset if offset >= 0 else -offset * width
    positions = step_times(step, width + 1, start)
    taken = gather(plane, positions)
    return moved(taken, 0, taken.ndim - 1)


def step_times(step: Tensor, factor: DimLike, start: DimLike) -> Tensor:
    """start + step * factor in int64, where the two numbers may be dimensions of a trace."""
    for op, by in ((S.mul, factor), (S.add, start)):
        amount = S.dim_value(dim=by) if type(by) is Dim else S.full(shape=(), value=by, dtype=dtypes.int64)
        step = op(step, promotion.broadcast(amount, step.shape))
    return step


def _with_diagonal(v: Tensor, k: int) -> Tensor:
    """The square matrix that has v on its k-th diagonal and zeros elsewhere."""
    if k == 0:
        return L.make_diagonal(v)
    length = v.shape[0]
    n = length + builtins.abs(k)
    # rows of n + 1 elements, v in front: read as rows of n, each element stands one further right
    spaced = S.pad(reshaped(v, (length, 1)), low=(0, 0), high=(0, n), interior=(0, 0))
    line = reshaped(spaced, (length * (n + 1),))
    start = k if k >= 0 else -k * n
    line = S.pad(line, low=(start,), high=(n * n - start - length * (n + 1),), interior=(0,))
    return reshaped(line, (n, n))


@public
def diag(x: ArrayLike, k: int = 0) -> Any:
    """The matrix that has a vector on a diagonal; the diagonal of a matrix.

    Args:
        x: a vector or a matrix.
        k: which diagonal; 0 is the main one, positive ones lie above.

    Returns:
        A matrix or a vector in x's kind.

    Raises:
        ValueError: if x is neither a vector nor a matrix.

    Example:
        >>> import wengert as wg
        >>> wg.ops.diag([1, 2])
        array([[1, 0],
               [0, 2]])
    """
    a = as_tensor(x, "diag")
    if a.ndim == 1:
        return _with_diagonal(a, operator.index(k))
    if a.ndim == 2:
        return diagonal(a, k)
    raise ValueError(at_user_line(f"diag: x has shape {a.shape}, wanted a vector or a matrix"))


@public
def diagflat(x: ArrayLike, k: int = 0) -> Any:
    """The matrix that has the elements of x, flattened, on a diagonal.

    Args:
        x: an array or a number.
        k: which diagonal; 0 is the main one, positive ones lie above.

    Returns:
        A square matrix in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.diagflat([[1, 2]])
        array([[1, 0],
               [0, 2]])
    """
    return _with_diagonal(flat(as_tensor(x, "diagflat")), operator.index(k))


__all__ = [
    "reshape", "ravel", "transpose", "matrix_transpose", "swapaxes", "moveaxis", "rollaxis", "expand_dims",
    "squeeze", "broadcast_to", "atleast_1d", "atleast_2d", "atleast_3d", "flip", "fliplr", "flipud", "rot90",
    "roll", "tile", "repeat", "concatenate", "append", "stack", "hstack", "vstack", "dstack", "column_stack",
    "split", "array_split", "hsplit", "vsplit", "dsplit", "unstack", "meshgrid", "broadcast_arrays", "pad", "tril",
    "triu", "diagonal", "diag", "diagflat",
]  # fmt: skip
