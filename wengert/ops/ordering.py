"""Order and groups: the largest elements, places in sorted sequences, quantiles, distinct values, segments, counts."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any, SupportsIndex

import numpy as np

from .._core import dims, dtypes
from .._core.apply import apply
from .._core.argument_types import ArrayLike, Axes, DTypeLike
from .._core.engine import ndarray_of
from .._core.op import Op
from .._core.structure import is_number_list
from .._core.tensor import Tensor
from .._core.types import tensor_type
from .._core.user_line import at_user_line
from .._prims import discrete as D
from .._prims import indexing as I
from .._prims import sorting as O
from .._prims import structural as S
from .._prims import windows as W
from ..errors import TracingError
from . import partitions, promotion
from .elementwise import add, divide, floor_divide, multiply, subtract
from .piecewise import maximum, minimum
from .promotion import (
    as_tensor,
    count_of,
    named,
    names_errors,
    normal_axes,
    normal_axis,
    outward,
    public,
    strong,
)
from .reductions import sum as total
from .shapes import flat, part, permuted, reshaped
from .subscript import known_places

# -- the largest elements ----------------------------------------------------------------------------------------------


@public
def top_k(x: ArrayLike, k: int, sorted: bool = True) -> Any:
    """The k largest elements along the last axis, and their places.

    At kinks: of equal elements the one of the lowest index counts as larger, and has the gradient.

    Args:
        x: an array of real values.
        k: how many.
        sorted: whether the largest comes first (it always does).

    Returns:
        The values and their integer places (int32), in x's kind.

    Raises:
        ValueError: if the axis has fewer than k elements.

    Example:
        >>> import wengert as wg
        >>> wg.ops.top_k([1.0, 3.0, 2.0], 2)
        (array([3., 2.]), array([1, 2], dtype=int32))
    """
    a, count = as_tensor(x, "top_k"), operator.index(k)
    if a.ndim == 0 or count < 0 or (type(a.shape[-1]) is int and count > a.shape[-1]):
        raise ValueError(at_user_line(f"top_k: {count} elements of the last axis of shape {a.shape}"))
    order = O.argsort(a, axis=a.ndim - 1, descending=True)
    places = part(order, a.ndim - 1, 0, count)
    return W.take_along(a, places), promotion.cast(places, dtypes.int32)


@public
def in_top_k(targets: ArrayLike, predictions: ArrayLike, k: int) -> Any:
    """Whether the prediction for each target is among the k largest of its row; equal ones all count.

    Args:
        targets: integers (batch,).
        predictions: real values (batch, classes).
        k: how many.

    Returns:
        Booleans (batch,), in the kind of array that came in; False where the prediction is not finite.

    Example:
        >>> import wengert as wg
        >>> wg.ops.in_top_k([0, 1], [[0.1, 0.9], [0.1, 0.9]], 1)
        array([False,  True])
    """
    rows = as_tensor(predictions, "in_top_k")
    places = promotion.cast(as_tensor(targets, "in_top_k"), dtypes.int64)
    own = W.take_along(rows, reshaped(places, (*places.shape, 1)))
    above = total(promotion.cast(promotion.binary(D.gt, rows, own), dtypes.int64), axis=-1)
    is_finite = apply(D.isfinite, (reshaped(own, places.shape),))
    return apply(D.logical_and, (promotion.binary(D.lt, above, operator.index(k)), is_finite))


# -- places ------------------------------------------------------------------------------------------------------------


@names_errors
def searchsorted(sorted_sequence: Tensor, values: ArrayLike, side: str = "left") -> Any:
    """The places at which values can be inserted in a sorted sequence so that it stays sorted.

    Args:
        sorted_sequence: a vector, ascending; or vectors (..., n), each for the values of its own row.
        values: an array of any shape; beside several sequences (..., m).
        side: "left": before equal elements; "right": behind them.

    Returns:
        Integers in the shape of `values`, in the kind of array that came in; constants to a gradient.

    Raises:
        ValueError: if the shapes do not fit, or for another side.

    Example:
        >>> import wengert as wg
        >>> wg.ops.searchsorted([1.0, 2.0, 3.0], [0.5, 2.0])
        array([0, 1])
    """
    if side not in ("left", "right"):
        raise ValueError(at_user_line(f"searchsorted: side is {side!r}, wanted 'left' or 'right'"))
    a, v = (as_tensor(strong(x), "searchsorted") for x in (sorted_sequence, values))
    if a.ndim == 0 or (a.ndim > 1 and (v.ndim != a.ndim or a.shape[:-1] != v.shape[:-1])):
        raise ValueError(at_user_line(
            f"searchsorted: the sequence has shape {a.shape} and values has shape {v.shape}; wanted a vector, or "
            f"rows for rows"
        ))  # fmt: skip
    dtype = promotion.common_dtype([a, v])
    dtype = dtypes.int8 if dtype == dtypes.bool_ else dtype
    rows = promotion.cast(v, dtype) if a.ndim > 1 else flat(promotion.cast(v, dtype))
    found = O.searchsorted(promotion.cast(a, dtype), rows, right=side == "right")
    return outward(reshaped(found, v.shape), sorted_sequence, values)


@names_errors
def digitize(x: ArrayLike, bins: ArrayLike) -> Any:
    """The number of the bin that each element lies in.

    Args:
        x: an array of real values.
        bins: the bins' edges, ascending.

    Returns:
        Integers (int32) in the shape of x, in the kind of array that came in: i where
        ``bins[i - 1] <= x < bins[i]``.

    Example:
        >>> import wengert as wg
        >>> wg.ops.digitize([0.5, 1.0, 9.0], [0.0, 1.0, 2.0])
        array([1, 2, 3], dtype=int32)
    """
    found = searchsorted(as_tensor(bins, "digitize"), as_tensor(x, "digitize"), "right")
    return outward(promotion.cast(found, dtypes.int32), x, bins)


# -- quantiles ---------------------------------------------------------------------------------------------------------

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


@public
def quantile(x: ArrayLike, q: ArrayLike, axis: Axes = None, method: str = "linear", keepdims: bool = False) -> Any:
    """The q-th quantiles.

    At kinks: of equal elements one has the gradient, as a stable sort orders them. With respect to q the slope is that
    of the interpolation to the right.

    Args:
        x: an array of real values.
        q: numbers between 0 and 1.
        axis: the axis or axes; None means all.
        method: "linear", "lower", "higher", "midpoint" or "nearest" (halves to the even place).
        keepdims: whether the axes stay, with extent 1.

    Returns:
        The quantiles in x's kind, with the axes of q first; NaN where an element is NaN.

    Raises:
        ValueError: for an unknown method, or q outside of 0 to 1.

    Example:
        >>> import wengert as wg
        >>> print(wg.ops.quantile([1.0, 2.0, 4.0], 0.25))
        1.5
    """
    require_method(method, "quantile")
    require_shares(q, "quantile")
    a, share = _as_floats(as_tensor(x, "quantile")), as_tensor(q, "quantile")
    axes = normal_axes(axis, a.ndim, "quantile")
    ordered = O.sort(in_columns(a, axes), axis=0, descending=False)
    last = as_tensor(ordered.shape[0] - 1)
    result = at_shares(share, a.dtype, lambda share: _of_ordered(ordered, last, share, method))
    return reshaped(result, (*share.shape, *S.kept(a.shape, axes))) if keepdims else result


def _as_floats(x: Tensor) -> Tensor:
    return promotion.cast(x, x.dtype if dtypes.is_inexact(x.dtype) else dtypes.default_float())


def in_columns(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """These axes as one, in front of the others."""
    rest = (*[i for i in range(x.ndim) if i not in axes],)
    count = dims.size_of([x.shape[i] for i in axes])
    return reshaped(permuted(x, (*axes, *rest)), (count, *(x.shape[i] for i in rest)))


def _of_ordered(ordered: Tensor, last: Tensor, share: Tensor, method: str) -> Tensor:
    """The quantiles of the columns of an array in ascending order, whose last row is `last`."""
    place = multiply(share, promotion.cast(last, share.dtype))
    return _or_nan(interpolated(place, last, method, lambda i: I.gather(ordered, i)), ordered, last)


def _or_nan(result: Tensor, ordered: Tensor, last: Tensor) -> Tensor:
    """What was found in columns in ascending order; NaN where the last of their elements is."""
    top = promotion.broadcast(I.gather(ordered, promotion.cast(last, dtypes.int64)), result.shape)
    return S.select(apply(D.isnan, (top,)), top, result)


def middle(last: Tensor, at: Callable[[Tensor], Tensor]) -> Tensor:
    """The element in the middle, or the mean of the two there, of elements in ascending order.

    A place between elements would be none: beside an infinite one there is no number on the way to it.

    Args:
        last: the last place, counted from 0.
        at: from places (int64) to the elements there.
    """
    last = promotion.cast(last, dtypes.int64)
    below = floor_divide(last, 2)
    above = subtract(last, below)
    first, second = at(below), at(above)
    wide = dtypes.float32 if dtypes.is_half(first.dtype) else first.dtype  # the sum of two may be beyond them
    mean = promotion.cast(multiply(add(promotion.cast(first, wide), promotion.cast(second, wide)), 0.5), first.dtype)
    is_one = promotion.broadcast(apply(D.eq, (below, above)), first.shape)
    return S.select(is_one, first, mean)


def interpolated(place: Tensor, last: Tensor, method: str, at: Callable[[Tensor], Tensor]) -> Tensor:
    """What a method gives for places between elements in ascending order.

    Args:
        place: the places, counted from 0.
        last: the last place.
        method: one of those of `quantile`.
        at: from whole places (int64) to the elements there.
    """
    if method == "nearest":
        place = apply(D.rint, (place,))
    below = apply(D.floor, (place,))
    above = apply(D.ceil, (place,)) if method in ("higher", "midpoint") else add(below, 1)
    whole = (minimum(promotion.cast(p, dtypes.int64), last) for p in (below, above))
    first, second = (at(promotion.cast(i, dtypes.int64)) for i in whole)
    if method in ("lower", "nearest"):
        return first
    if method == "higher":
        return second
    weight = subtract(place, below) if method == "linear" else S.fill(place, 0.5)
    weight = reshaped(promotion.cast(weight, first.dtype), (*place.shape, *(1,) * (first.ndim - place.ndim)))
    return add(first, multiply(subtract(second, first), weight))


def require_method(method: str, what: str) -> None:
    """Raises `ValueError` for a method that `interpolated` does not have."""
    if method not in _METHODS:
        raise ValueError(at_user_line(f"{what}: method is {method!r}, wanted one of {', '.join(_METHODS)}"))


def require_shares(q: ArrayLike, what: str, most: int = 1) -> None:
    """Raises `ValueError` for known numbers outside of 0 to `most`; plain numbers are known in a trace, too."""
    if isinstance(q, (int, float, np.number)) or (isinstance(q, (list, tuple)) and is_number_list([*q])):
        values = np.asarray(q)
    else:
        share = as_tensor(q, what)
        if promotion.is_symbolic(share):
            return
        values = ndarray_of(share._data)
    if not (values == np.clip(values, 0, most)).all():
        raise ValueError(at_user_line(f"{what}: q must lie between 0 and {most}"))


def at_shares(share: Tensor, dtype: Any, interpolated: Callable[[Tensor], Tensor]) -> Tensor:
    """The quantiles at shares; NaN at those beyond 0 and 1, which a trace does not know to refuse.

    Args:
        share: the shares.
        dtype: that of the elements; the places in an array of half floats are beyond what these hold.
        interpolated: from shares to the quantiles.
    """
    share = promotion.cast(share, dtype if dtype.itemsize > 2 else dtypes.float32)
    if not promotion.is_symbolic(share):
        return interpolated(share)
    zero = S.fill(share, 0)
    is_share = apply(D.logical_and, (apply(D.ge, (share, zero)), apply(D.le, (share, S.fill(share, 1)))))
    result = interpolated(S.select(is_share, share, zero))
    rest = (1,) * (result.ndim - share.ndim)
    is_result = promotion.broadcast(reshaped(is_share, (*share.shape, *rest)), result.shape)
    return S.select(is_result, result, S.fill(result, math.nan))


@public
def median(x: ArrayLike, axis: Axes = None, keepdims: bool = False) -> Any:
    """The median: the middle element, or the mean of the two in the middle.

    At kinks: of equal elements one has the gradient, as a stable sort orders them.

    Args:
        x: an array of real values.
        axis: the axis or axes; None means all.
        keepdims: whether the axes stay, with extent 1.

    Returns:
        The medians in x's kind; NaN where an element is NaN.

    Example:
        >>> import wengert as wg
        >>> print(wg.ops.median([3.0, 1.0, 2.0, 4.0]))
        2.5
    """
    a = as_tensor(x, "median")
    none = of_nothing(a, axis, keepdims, "median")
    if none is not None:
        return none
    a, axes = _as_floats(a), normal_axes(axis, a.ndim, "median")
    line = in_columns(a, axes)
    ordered, last = O.sort(line, axis=0, descending=False), as_tensor(line.shape[0] - 1)
    if type(line.shape[0]) is not int:
        nothing = promotion.broadcast(promotion.cast(as_tensor(math.nan), a.dtype), (1, *line.shape[1:]))
        ordered, last = apply(S.concatenate, (ordered, nothing), (0,)), maximum(last, 0)  # at 0 where nothing else is
    result = _or_nan(middle(last, lambda i: I.gather(ordered, i)), ordered, last)
    return reshaped(result, S.kept(a.shape, axes)) if keepdims else result


def of_nothing(x: Tensor, axis: Axes, keepdims: bool, name: str) -> Tensor | None:
    """The medians of no elements, which are NaN; None where there are some."""
    axes = normal_axes(axis, x.ndim, name)
    if not builtins.any(type(x.shape[i]) is int and x.shape[i] == 0 for i in axes):
        return None
    a = promotion.cast(x, x.dtype if dtypes.is_inexact(x.dtype) else dtypes.default_float())
    return add(total(a, axis, keepdims=keepdims), math.nan)  # which depends on x


@public
def percentile(x: ArrayLike, q: ArrayLike, axis: Axes = None, method: str = "linear", keepdims: bool = False) -> Any:
    """The q-th percentiles: quantiles of q / 100.

    At kinks: as `quantile`.

    Args:
        x: an array of real values.
        q: numbers between 0 and 100.
        axis: the axis or axes; None means all.
        method: as of `quantile`.
        keepdims: whether the axes stay, with extent 1.

    Returns:
        The percentiles in x's kind, with the axes of q first.

    Raises:
        ValueError: for an unknown method, or q outside of 0 to 100.

    Example:
        >>> import wengert as wg
        >>> print(wg.ops.percentile([1.0, 2.0, 4.0], 25))
        1.5
    """
    require_shares(q, "percentile", 100)
    return quantile(as_tensor(x, "percentile"), divide(as_tensor(q), 100), axis, method, keepdims)


# -- segments ----------------------------------------------------------------------------------------------------------


def _segmented(op: Op, start: ArrayLike, data: ArrayLike, ids: ArrayLike, num_segments: object, what: str) -> Tensor:
    """Rows scattered to their segments; ids outside of them are dropped, into one segment more."""
    a, places = as_tensor(data, what), as_tensor(ids, what)
    if not dtypes.is_integer(places.dtype):
        raise TypeError(at_user_line(f"{what}: segment_ids has dtype {places.dtype.name}, wanted integers"))
    if places.shape != a.shape[: places.ndim] or places.ndim == 0:
        raise ValueError(at_user_line(f"{what}: data has shape {a.shape} and segment_ids has shape {places.shape}"))
    places = promotion.cast(places, dtypes.int64)
    count = _segments_in(ids, what) if num_segments is None else count_of(num_segments, f"{what}: num_segments")
    is_known = apply(D.logical_and, (promotion.binary(D.ge, places, 0), promotion.binary(D.lt, places, count)))
    places = S.select(is_known, places, S.fill(places, count))
    value = start(a.dtype) if callable(start) else start
    shape = (count + 1, *a.shape[places.ndim :])
    base = S.full(shape=shape, value=value, dtype=a.dtype) if value else S.absent(shape=shape, dtype=a.dtype)
    return part(op(base, a, places), 0, 0, count)


def _segments_in(ids: object, what: str) -> int:
    """One more than the largest id, which a trace knows only of ids that are no symbols."""
    known = ids
    if promotion.is_tensor_like(ids):
        known = as_tensor(ids, what)
        if promotion.is_symbolic(known):
            raise TracingError(
                at_user_line(
                    f"{what}: how many segments symbolic ids name is not known while tracing; give num_segments"
                )
            )
        known = ndarray_of(known._data)
    return int(np.max(promotion.as_ndarray(known, what), initial=-1)) + 1


_SEGMENT_DOC = """{what} of the rows of each segment.

    At kinks: {kink}

    Args:
        data: an array.
        segment_ids: integers, the segment of each row; in any order. Rows with an id that is negative or not less than
            `num_segments` are dropped.
        num_segments: how many segments there are; None means one more than the largest id.
        sorted: whether the ids are sorted; a hint that is not needed here.

    Returns:
        An array (num_segments, ...) in the kind of array that came in; {empty} for an empty segment.

    Raises:
        TypeError: if `segment_ids` are not integers.
        ValueError: if there is not one for each row.

    Example:
        >>> import wengert as wg
        >>> wg.ops.{name}([1.0, 2.0, 4.0], [0, 1, 0])
        {example}
    """


def _segment_op(name: str, op: Op, start: Any, what: str, kink: str, empty: str, example: str) -> Any:
    def segment_op(
        data: ArrayLike, segment_ids: ArrayLike, num_segments: SupportsIndex | None = None, sorted: bool = False
    ) -> Any:
        return outward(_segmented(op, start, data, segment_ids, num_segments, name), data, segment_ids)

    named(segment_op, name)
    segment_op = names_errors(segment_op)
    segment_op.__doc__ = _SEGMENT_DOC.format(name=name, what=what, kink=kink, empty=empty, example=example)
    return segment_op


def _lowest(dtype: DTypeLike) -> Any:
    return np.iinfo(dtype).min if dtypes.is_integer(dtype) else -math.inf


def _highest(dtype: DTypeLike) -> Any:
    return np.iinfo(dtype).max if dtypes.is_integer(dtype) else math.inf


segment_sum = _segment_op("segment_sum", I.scatter_add, 0, "The sum", "none.", "0", "array([5., 2.])")
segment_prod = _segment_op(
    "segment_prod", I.scatter_mul, 1, "The product", "none; gradients are exact with zeros.", "1", "array([4., 2.])"
)
segment_max = _segment_op(
    "segment_max", I.scatter_max, _lowest, "The largest", "equal elements share the gradient evenly.",
    "-inf (of integers the lowest)", "array([4., 2.])",
)  # fmt: skip
segment_min = _segment_op(
    "segment_min", I.scatter_min, _highest, "The smallest", "equal elements share the gradient evenly.",
    "inf (of integers the highest)", "array([1., 2.])",
)  # fmt: skip


@names_errors
def segment_mean(
    data: ArrayLike, segment_ids: ArrayLike, num_segments: SupportsIndex | None = None, sorted: bool = False
) -> Any:
    """The mean of the rows of each segment.

    Args:
        data: an array of floats.
        segment_ids: integers, the segment of each row; in any order. Rows with an id outside of the segments are
            dropped.
        num_segments: how many segments there are; None means one more than the largest id.
        sorted: whether the ids are sorted; a hint that is not needed here.

    Returns:
        An array (num_segments, ...) in the kind of array that came in; 0 for an empty segment.

    Example:
        >>> import wengert as wg
        >>> wg.ops.segment_mean([1.0, 2.0, 4.0], [0, 1, 0])
        array([2.5, 2. ])
    """
    a, ids = promotion.as_float(as_tensor(data, "segment_mean")), as_tensor(segment_ids, "segment_mean")
    sums = segment_sum(a, ids, num_segments)
    ones = S.full(shape=ids.shape, value=1, dtype=a.dtype)
    counts = maximum(segment_sum(ones, ids, num_segments), 1)
    counts = reshaped(counts, (*counts.shape, *(1,) * (sums.ndim - 1)))
    return outward(divide(sums, counts), data, segment_ids)


@names_errors
def bincount(x: ArrayLike, weights: ArrayLike | None = None, minlength: int = 0, sparse: bool = False) -> Any:
    """How often each whole number occurs, or the sum of the weights where it does.

    Args:
        x: a vector of integers that are not negative, or rows (batch, n) of them.
        weights: numbers of the same shape; the counts become sums, with gradients to the weights.
        minlength: the least number of counts.
        sparse: not supported.

    Returns:
        Counts (n,) or (batch, n), integers without weights, in the kind of array that came in.

    Raises:
        ValueError: for negative numbers or `sparse=True`.

    Example:
        >>> import wengert as wg
        >>> wg.ops.bincount([1, 1, 3])
        array([0, 2, 0, 1], dtype=int32)
    """
    if sparse:
        raise ValueError(at_user_line("bincount: sparse counts are not supported"))
    if promotion.is_tensor_like(x):
        places = promotion.cast(as_tensor(x, "bincount"), dtypes.int64)
        places._require_concrete("bincount")
        values = ndarray_of(places._data)
    else:
        values = promotion.as_ndarray(x, "bincount").astype(np.int64)
        places = as_tensor(values)
    if values.ndim not in (1, 2) or (values < 0).any():
        raise ValueError(at_user_line("bincount: wanted one or two axes of numbers that are not negative"))
    count = builtins.max(operator.index(minlength), int(values.max(initial=-1)) + 1)
    if weights is None:
        w = S.full(shape=places.shape, value=1, dtype=dtypes.int32)
    else:
        w = as_tensor(weights, "bincount")
    if places.ndim == 1:
        return outward(_segmented(I.scatter_add, 0, w, places, count, "bincount"), x, weights)
    base = S.zeros_of(tensor_type((places.shape[0], count), w.dtype))
    numbers = S.iota(size=places.shape[0], dtype=dtypes.int64)
    rows = promotion.broadcast(reshaped(numbers, (places.shape[0], 1)), places.shape)
    return outward(I.scatter_add(base, w, rows, places), x, weights)


# -- distinct values ---------------------------------------------------------------------------------------------------


@public
def unique(
    x: ArrayLike, sorted: bool = True, return_index: bool = False, return_inverse: bool = False,
    return_counts: bool = False, axis: Axes = None, size: SupportsIndex | None = None, fill_value: float | None = None,
) -> Any:  # fmt: skip
    """The distinct values, ascending. How many there are depends on the values, so a trace cannot hold it.

    At kinks: of equal elements the first has the gradient.

    Args:
        x: an array.
        sorted: whether the values are sorted (they always are).
        return_index: whether to return where each first occurs.
        return_inverse: whether to return the places in the result that rebuild x.
        return_counts: whether to return how often each occurs.
        axis: rows along this axis are compared as wholes; None compares elements.
        size: how many values to return; None means all.
        fill_value: what fills up to `size`; None means the smallest value.

    Returns:
        The values, and what else is asked for, in x's kind.

    Raises:
        TracingError: in a trace.

    Example:
        >>> import wengert as wg
        >>> wg.ops.unique([3, 1, 3])
        array([1, 3])
    """
    a = as_tensor(x, "unique")
    a._require_concrete("unique")
    place = None if axis is None else normal_axis(axis, a.ndim, "unique")
    _, first, inverse, counts = np.unique(
        ndarray_of(a._data), return_index=True, return_inverse=True, return_counts=True, axis=place
    )
    if size is not None:
        first, counts = (_of_size(v, operator.index(size), filler) for v, filler in ((first, first[:1]), (counts, [0])))
    rest = (*[i for i in range(a.ndim) if i != place],)
    line = flat(a) if place is None else permuted(a, (place, *rest))
    values = I.gather(line, as_tensor(first))
    if fill_value is not None and size is not None:
        is_filler = as_tensor(counts == 0)
        is_filler = reshaped(is_filler, (*is_filler.shape, *(1,) * (values.ndim - 1)))
        is_filler = promotion.broadcast(is_filler, values.shape)
        values = S.select(is_filler, S.fill(values, fill_value), values)
    if place is not None:
        values = permuted(values, S.inverse((place, *rest)))
    found = ((first, return_index), (inverse, return_inverse), (counts, return_counts))
    more = [as_tensor(v) for v, is_wanted in found if is_wanted]
    return (values, *more) if more else values


def _of_size(x: Any, size: int, filler: Any) -> Any:
    """The first places, filled up to a size."""
    return np.concatenate([x[:size], np.repeat(filler, builtins.max(size - len(x), 0)).astype(x.dtype)])


@public
def argpartition(x: ArrayLike, kth: Any, axis: Axes = -1) -> Any:
    """An order of elements in which the kth is where sorting puts it, those before are not larger and those after not
    smaller. Here elements of long lanes keep their order among the smaller, the equal and the larger ones, and short
    lanes are sorted.

    Args:
        x: an array of real values.
        kth: the place, or several.
        axis: the axis; None means the flattened array.

    Returns:
        Positions (int64) in x's kind, constants to a gradient.

    Raises:
        ValueError: for a place out of range.

    Example:
        >>> import wengert as wg
        >>> wg.ops.argpartition([3.0, 1.0, 2.0], 0)[0]
        np.int64(1)
    """
    return partitions.argpartition(*partition_operands(x, kth, axis, "argpartition"))


def partition_operands(x: ArrayLike, kth: Any, axis: Axes, what: str) -> tuple[Tensor, list[int], int]:
    """The tensor, the places and the axis of a partition; refuses a place beyond the elements."""
    a = as_tensor(x, what)
    a, place = (flat(a), 0) if axis is None else (a, normal_axis(axis, a.ndim, what))
    size, places = a.shape[place], np.ravel(known_places(kth, what)).tolist()
    if type(size) is int and 0 not in a.shape and any(not -size <= k < size for k in places):
        raise ValueError(at_user_line(f"{what}: kth is {kth}, out of range for {size} elements along axis {axis}"))
    return a, places, place


__all__ = [
    "argpartition",
    "bincount",
    "digitize",
    "in_top_k",
    "median",
    "percentile",
    "quantile",
    "searchsorted",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "top_k",
    "unique",
]
