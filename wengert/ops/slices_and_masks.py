"""Slices at positions that values decide, masks and sliding windows: gather_nd, dynamic_slice, masked_select, ..."""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex

import numpy as np

from .._core import dtypes
from .._core.argument_types import ArrayLike, Axes, ShapeLike
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import indexing as I
from .._prims import structural as S
from . import promotion
from .elementwise import add, divide, exp, subtract
from .indexing import take, where
from .ordering import segment_max, segment_sum
from .piecewise import clip
from .promotion import as_float, as_tensor, names_errors, normal_axes, outward, public
from .shapes import known_extent, new_shape, permuted, reshaped
from .subscript import known_values

# -- gathers -------------------------------------------------------------------------------------------------------


def _whole(x: ArrayLike, what: str, name: str) -> Tensor:
    places = as_tensor(x, what)
    if not dtypes.is_integer(places.dtype):
        raise TypeError(at_user_line(f"{what}: {name} has dtype {places.dtype.name}, wanted integers"))
    return promotion.cast(places, dtypes.int64)


@names_errors
def gather_nd(params: ArrayLike, indices: ArrayLike, batch_dims: int = 0) -> Any:
    """Elements, or slices, at places that stand together on the last axis of `indices`.

    Args:
        params: an array.
        indices: integers (..., k): places along k axes, after `batch_dims` axes that both arrays share.
        batch_dims: how many leading axes are a batch.

    Returns:
        An array of shape (*indices.shape[:-1], *params.shape[batch_dims + k:]) in the kind that came in; what is
        gathered more than once adds up in the gradient.

    Raises:
        IndexError: for a place out of range.
        TypeError: if `indices` are not integers.
        ValueError: for shapes that do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.ops.gather_nd([[1.0, 2.0], [3.0, 4.0]], [[0, 1], [1, 0]])
        array([2., 3.])
    """
    a, places = as_tensor(params, "gather_nd"), _whole(indices, "gather_nd", "indices")
    count = operator.index(batch_dims)
    depth = known_extent(places, places.ndim - 1, "gather_nd") if places.ndim else 0
    if not 0 <= count < max(places.ndim, 1) or depth < 1 or count + depth > a.ndim:
        raise ValueError(at_user_line(f"gather_nd: params has shape {a.shape} and indices has shape {places.shape}"))
    if tuple(a.shape[:count]) != tuple(places.shape[:count]):
        raise ValueError(at_user_line(f"gather_nd: batches {a.shape[:count]} and {places.shape[:count]} differ"))
    lead = tuple(places.shape[:-1])
    columns = [_axis_numbers(i, lead) for i in range(count)]
    columns += [reshaped(take(places, i, axis=-1), lead) for i in range(depth)]
    return outward(I.gather(a, *columns), params, indices)


def _axis_numbers(axis: int, shape: Any) -> Tensor:
    number = S.iota(size=shape[axis], dtype=dtypes.int64)
    return promotion.broadcast(
        reshaped(number, (*[shape[axis] if i == axis else 1 for i in range(len(shape))],)), shape
    )


@names_errors
def embedding_lookup(table: ArrayLike, ids: ArrayLike) -> Any:
    """The rows of a table at numbers; gradients of rows that are looked up more than once add up.

    Args:
        table: an array (rows, ...).
        ids: integers of any shape.

    Returns:
        An array (*ids.shape, ...) in the kind that came in.

    Raises:
        IndexError: for a number out of range.
        TypeError: if `ids` are not integers.

    Example:
        >>> import wengert as wg
        >>> wg.nn.embedding_lookup([[1.0, 2.0], [3.0, 4.0]], [1, 1, 0])
        array([[3., 4.],
               [3., 4.],
               [1., 2.]])
    """
    places = _whole(ids, "embedding_lookup", "ids")
    return outward(take(as_tensor(table, "embedding_lookup"), places, axis=0), table, ids)


# -- dynamic slices ------------------------------------------------------------------------------------------------


def _starts(a: Tensor, starts: Any, sizes: Any, what: str) -> list[Tensor]:
    """Where the slice begins on each axis, moved inside so that all of it fits."""
    given = list(starts) if isinstance(starts, (list, tuple)) else [*_rows(as_tensor(starts, what))]
    if len(given) != a.ndim or len(sizes) != a.ndim:
        raise ValueError(at_user_line(f"{what}: wanted one start and one size for each of {a.ndim} axes"))
    found = []
    for axis, (start, size) in enumerate(zip(given, sizes)):
        extent = a.shape[axis]
        if type(extent) is int and type(size) is int and size > extent:
            raise ValueError(at_user_line(f"{what}: {size} elements do not fit axis {axis} of {extent}"))
        place = _whole(start, what, "a start")
        place = where(place < 0, place + extent, place)
        found.append(clip(place, 0, extent - size))
    return found


def _rows(x: Tensor) -> list[Tensor]:
    return [take(x, i, axis=0) for i in range(known_extent(x, 0, "starts"))]


def _block(starts: list[Tensor], sizes: Any) -> list[Tensor]:
    """The places of a block along each axis, in the block's shape."""
    result = []
    for axis, (start, size) in enumerate(zip(starts, sizes)):
        line = add(S.iota(size=size, dtype=dtypes.int64), start)
        line = reshaped(line, (*[size if i == axis else 1 for i in range(len(sizes))],))
        result.append(promotion.broadcast(line, tuple(sizes)))
    return result


@names_errors
def dynamic_slice(x: ArrayLike, start_indices: ArrayLike, slice_sizes: ShapeLike) -> Any:
    """A block of known size at places that values decide.

    Args:
        x: an array.
        start_indices: where the block begins on each axis, integers that may be tensors; negative ones count from the
            end, and all are moved so that the block lies inside.
        slice_sizes: the block's shape.

    Returns:
        An array of that shape in the kind that came in.

    Raises:
        ValueError: for a block that is larger than x.

    Example:
        >>> import wengert as wg
        >>> wg.ops.dynamic_slice([1.0, 2.0, 3.0, 4.0], [3], (2,))
        array([3., 4.])
    """
    a = as_tensor(x, "dynamic_slice")
    sizes = new_shape(slice_sizes, "dynamic_slice")
    starts = _starts(a, start_indices, sizes, "dynamic_slice")
    result = I.gather(a, *_block(starts, sizes)) if a.ndim else a
    return outward(result, x, start_indices)


@names_errors
def dynamic_update_slice(x: ArrayLike, update: ArrayLike, start_indices: ArrayLike) -> Any:
    """An array with a block replaced at places that values decide.

    Args:
        x: an array.
        update: the block, with as many axes.
        start_indices: where the block begins on each axis, as for `dynamic_slice`.

    Returns:
        The new array in the kind that came in.

    Raises:
        ValueError: for a block that is larger than x.

    Example:
        >>> import wengert as wg
        >>> wg.ops.dynamic_update_slice([1.0, 2.0, 3.0], [9.0], [1])
        array([1., 9., 3.])
    """
    a = as_tensor(x, "dynamic_update_slice")
    values = promotion.cast(as_tensor(update, "dynamic_update_slice"), a.dtype)
    starts = _starts(a, start_indices, tuple(values.shape), "dynamic_update_slice")
    result = I.scatter_set(a, values, *_block(starts, tuple(values.shape))) if a.ndim else values
    return outward(result, x, update, start_indices)


# -- masks -----------------------------------------------------------------------------------------------------------


@names_errors
def boolean_mask(x: ArrayLike, mask: ArrayLike, axis: Axes = None) -> Any:
    """The slices of an array where a mask of known values holds.

    Args:
        x: an array.
        mask: booleans of known values over some axes of x that follow each other.
        axis: the first of those axes; None means 0.

    Returns:
        An array in which those axes are one, as long as the mask has true elements, in the kind that came in.

    Raises:
        TracingError: for a mask that is being traced, since the result's shape is its matter.
        ValueError: for shapes that do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.ops.boolean_mask([1.0, 2.0, 3.0], [True, False, True])
        array([1., 3.])
    """
    a = as_tensor(x, "boolean_mask")
    first = 0 if axis is None else promotion.normal_axis(axis, a.ndim, "boolean_mask")
    chosen = np.asarray(known_values(mask, "boolean_mask"), dtype=bool)
    if chosen.ndim < 1 or tuple(a.shape[first : first + chosen.ndim]) != chosen.shape:
        raise ValueError(at_user_line(f"boolean_mask: x has shape {a.shape} and the mask has shape {chosen.shape}"))
    joined = reshaped(a, (*a.shape[:first], chosen.size, *a.shape[first + chosen.ndim :]))
    return outward(take(joined, np.flatnonzero(chosen), axis=first), x)


@names_errors
def masked_select(x: ArrayLike, mask: ArrayLike) -> Any:
    """The elements of an array where a mask of known values holds, in a row.

    Args:
        x: an array.
        mask: booleans of known values; shapes broadcast.

    Returns:
        A vector as long as the mask has true elements, in the kind that came in.

    Raises:
        TracingError: for a mask that is being traced, since the result's shape is its matter.

    Example:
        >>> import wengert as wg
        >>> wg.ops.masked_select([[1.0, 2.0], [3.0, 4.0]], [True, False])
        array([1., 3.])
    """
    a = as_tensor(x, "masked_select")
    chosen = np.asarray(known_values(mask, "masked_select"), dtype=bool)
    shape = promotion.broadcast_shapes(a.shape, chosen.shape, "masked_select")
    wide = promotion.broadcast(a, shape)
    sizes = (*[known_extent(wide, i, "masked_select") for i in range(len(shape))],)
    places = np.flatnonzero(np.broadcast_to(chosen, sizes))
    return outward(take(reshaped(wide, (wide.size,)), places, axis=0), x)


@names_errors
def masked_fill(x: ArrayLike, mask: ArrayLike, value: ArrayLike) -> Any:
    """An array with a value where a mask holds.

    Args:
        x: an array.
        mask: booleans; shapes broadcast.
        value: a number, or an array.

    Returns:
        The new array in the kind that came in; what was replaced has gradient 0.

    Example:
        >>> import wengert as wg
        >>> wg.ops.masked_fill([1.0, 2.0], [True, False], 0.0)
        array([0., 2.])
    """
    a = as_tensor(x, "masked_fill")
    filler = promotion.cast(as_tensor(value, "masked_fill"), a.dtype)
    return outward(where(as_tensor(mask, "masked_fill"), filler, a), x, mask, value)


@public
def sliding_window_view(x: ArrayLike, window_shape: Any, axis: Axes = None) -> Any:
    """All windows of a shape; the result is an array of its own, as everywhere.

    Args:
        x: an array.
        window_shape: the extents of the window, one for each of the axes.
        axis: the axes along which the window slides; None means all.

    Returns:
        An array with the windows' places in the place of those axes, and the windows' elements on new last axes.

    Raises:
        ValueError: for a window that does not fit.

    Example:
        >>> import wengert as wg
        >>> wg.ops.sliding_window_view([1.0, 2.0, 3.0], 2)
        array([[1., 2.],
               [2., 3.]])
    """
    a = as_tensor(x, "sliding_window_view")
    sizes = [operator.index(n) for n in (window_shape if isinstance(window_shape, (tuple, list)) else (window_shape,))]
    axes = normal_axes(axis, a.ndim, "sliding_window_view")
    if len(sizes) != len(axes):
        raise ValueError(at_user_line(f"sliding_window_view: {len(sizes)} extents for {len(axes)} axes"))
    rank = a.ndim
    for place, size in zip(axes, sizes):
        count = known_extent(a, place, "sliding_window_view") - size + 1
        if count < 1 or size < 0:
            raise ValueError(at_user_line(f"sliding_window_view: {size} elements do not fit axis {place} of {a.shape}"))
        a = take(a, np.arange(count)[:, None] + np.arange(size), axis=place)
        order = [i for i in range(a.ndim) if i != place + 1]
        a = permuted(a, (*order, place + 1))
    assert a.ndim == rank + len(axes)
    return a


# -- segments ------------------------------------------------------------------------------------------------------


@names_errors
def segment_softmax(data: ArrayLike, segment_ids: ArrayLike, num_segments: SupportsIndex | None = None) -> Any:
    """Shares of e^x among the rows of each segment, without overflow.

    Args:
        data: an array of floats.
        segment_ids: integers, the segment of each row, in any order; rows outside of the segments have share 0.
        num_segments: how many segments there are; None means one more than the largest id.

    Returns:
        An array of data's shape in the kind that came in; in each segment shares add up to 1.

    Raises:
        TypeError: if `segment_ids` are not integers.

    Example:
        >>> import wengert as wg
        >>> wg.ops.segment_softmax([0.0, 5.0, 0.0], [0, 1, 0])
        array([0.5, 1. , 0.5])
    """
    a, ids = as_float(as_tensor(data, "segment_softmax")), _whole(segment_ids, "segment_softmax", "segment_ids")
    tops = segment_max(S.stop_gradient(a), ids, num_segments)
    count = tops.shape[0]
    is_known = (ids >= 0) & (ids < count)
    places = where(is_known, ids, 0)
    shape = (*ids.shape, *(1,) * (a.ndim - ids.ndim))
    known = reshaped(is_known, shape)
    if type(count) is int and count == 0:
        return outward(S.fill(a, 0), data, segment_ids)
    rises = exp(where(known, subtract(a, take(tops, places, axis=0)), 0.0))
    sums = take(segment_sum(rises, ids, num_segments), places, axis=0)
    return outward(where(known, divide(rises, where(known, sums, 1.0)), 0.0), data, segment_ids)


__all__ = [
    "boolean_mask", "dynamic_slice", "dynamic_update_slice", "embedding_lookup", "gather_nd", "masked_fill",
    "masked_select", "segment_softmax", "sliding_window_view",
]  # fmt: skip
