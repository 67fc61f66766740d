"""NumPy's order statistics, and its interpolation in a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from .._core import dtypes
from .._core.argument_types import ArrayLike, Axes, Out
from .._core.dims import Dim
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..ops.ordering import require_shares
from ..ops.promotion import as_float, as_ndarray, as_tensor, cast, common_dtype, is_tensor_like, meet, with_doubles
from ._decorators import NO_VALUE, as_numpy, is_kept
from ._quantiles import FURTHER, quantile_by, weighted

_OF_ELEMENTS = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")  # methods that compute nothing


def _quantile(
    name: str,
    x: ArrayLike,
    q: ArrayLike,
    axis: Axes,
    method: str,
    keepdims: object,
    weights: ArrayLike | None,
    skip: bool,
) -> Any:
    """The quantiles by NumPy's method of that name, with or without weights; `skip` leaves NaN out."""
    a, kept = as_tensor(x, name), is_kept(keepdims)
    require_shares(q, name)
    if a.dtype == dtypes.bool_ and method not in _OF_ELEMENTS:  # in NumPy, too, booleans have no differences
        raise TypeError(at_user_line(f"np.{name}: of booleans, method must be one of {_OF_ELEMENTS}, got {method!r}"))
    if not isinstance(q, (int, float)) and method not in _OF_ELEMENTS:
        a = cast(a, dtypes.promote(a.dtype, as_float(as_tensor(q)).dtype))  # as NumPy: numbers do not count, arrays do
    if weights is not None:
        found = weighted(name, a, q, axis, method, weights, kept, skip)
    elif method in FURTHER:
        found = quantile_by(method, a, q, axis, kept, skip)
    else:
        found = (ops.nanquantile if skip else ops.quantile)(a, q, axis, method, kept)
    return ops.cast(found, a.dtype) if a.dtype.kind in "biu" and method in _OF_ELEMENTS else found


def _hundredth(q: ArrayLike, name: str) -> Any:
    """Percentages as shares; plain numbers stay plain, also in a trace."""
    require_shares(q, name, 100)
    return as_tensor(q, name) / 100 if is_tensor_like(q) else as_ndarray(q, name).astype(float) / 100


@as_numpy
def median(
    a: ArrayLike, axis: Axes = None, out: Out | None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    """The median: the middle element, or the mean of the two in the middle. Of equal elements one has the gradient."""
    return ops.median(as_tensor(a, "median"), axis, is_kept(keepdims))


@as_numpy
def quantile(
    a: ArrayLike, q: ArrayLike, axis: Axes = None, out: Out | None = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: bool = False, *, weights: ArrayLike | None = None,
) -> Any:  # fmt: skip
    """The q-th quantiles, by all of NumPy's methods; with weights "inverted_cdf". Of equal elements one has the
    gradient, and weights have none."""
    return _quantile("quantile", a, q, axis, method, keepdims, weights, False)


@as_numpy
def percentile(
    a: Any, q: Any, axis: Any = None, out: Out | None = None, overwrite_input: bool = False, method: str = "linear",
    keepdims: object = False, *, weights: Any = None,
) -> Any:  # fmt: skip
    """The q-th percentiles: quantiles of q / 100."""
    return _quantile("percentile", a, _hundredth(q, "percentile"), axis, method, keepdims, weights, False)


@as_numpy
def nanmedian(
    a: ArrayLike, axis: Axes = None, out: Out | None = None, overwrite_input: bool = False, keepdims: bool = NO_VALUE
) -> Any:
    """The median of the elements that are not NaN."""
    return ops.nanmedian(as_tensor(a, "nanmedian"), axis, is_kept(keepdims))


@as_numpy
def nanquantile(
    a: ArrayLike, q: ArrayLike, axis: Axes = None, out: Out | None = None, overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = NO_VALUE, *, weights: ArrayLike | None = None,
) -> Any:  # fmt: skip
    """As `quantile`, of the elements that are not NaN; methods "linear", "lower", "higher", "midpoint" and "nearest",
    and "inverted_cdf" with weights."""
    return _quantile("nanquantile", a, q, axis, method, keepdims, weights, True)


@as_numpy
def nanpercentile(
    a: ArrayLike, q: ArrayLike, axis: Axes = None, out: Out | None = None, overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = NO_VALUE, *, weights: ArrayLike | None = None,
) -> Any:  # fmt: skip
    """As `percentile`, of the elements that are not NaN."""
    return _quantile("nanpercentile", a, _hundredth(q, "nanpercentile"), axis, method, keepdims, weights, True)


@as_numpy
def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike | None = None,
    right: ArrayLike | None = None,
    period: ArrayLike | None = None,
) -> Any:
    """The values at x of the line through the points (xp, fp), which ascend in xp. At a point it has the slope to the
    right; outside it is constant.

    Example:
        >>> import wengert.numpy as np
        >>> np.interp([0.5, 9.0], [0.0, 1.0], [0.0, 10.0])
        array([ 5., 10.])
    """
    at, places, values = (with_doubles(as_tensor(t, "interp")) for t in (x, xp, fp))
    if places.ndim == values.ndim == 1 and any(isinstance(t.shape[0], Dim) for t in (places, values)):
        places, values = meet(places, values, "interp")  # extents that only a call tells are alike there
    if places.ndim != 1 or places.shape != values.shape or places.shape == (0,):
        raise ValueError(at_user_line(f"np.interp: xp has shape {places.shape} and fp has shape {values.shape}"))
    if period is None:
        return _interpolated(at, places, values, left, right)
    if not is_tensor_like(period) and not np.all(as_ndarray(period, "interp")):
        raise ValueError(at_user_line("np.interp: the period is 0"))
    lone = as_tensor(period, "interp")
    dtype = common_dtype([at, places, values, lone])
    # places within a period are differences of numbers of many periods: in few bits they would be other places
    at, places, values, lone = (_in_doubles(t) for t in (at, places, values, lone))
    at, places, values = _periodic(at, places, values, lone)
    found = _interpolated(at, places, values, None, None)
    return cast(found, dtype)


def _interpolated(
    at: Tensor, places: Tensor, values: Tensor, left: ArrayLike | None, right: ArrayLike | None
) -> Tensor:
    """The values of the line through points that ascend."""
    last = places.shape[0] - 1
    low = ops.clip(ops.searchsorted(places, at, "right") - 1, 0, last)
    high = ops.minimum(low + 1, last)
    start, end, first, second = (ops.take(t, i) for t in (places, values) for i in (low, high))
    width = end - start
    slope = (second - first) / ops.where(width == 0, 1.0, width)
    inside = first + slope * (at - start)
    # beside an infinite value: from the other end, and at a point what it has
    other = second + slope * (at - end)
    is_level = ops.logical_and(at == at, ops.logical_and(first == second, other != other))
    other = ops.where(ops.logical_or(at == start, is_level), first, other)
    inside = ops.where(inside != inside, other, inside)
    left = values[0] if left is None else left
    right = values[-1] if right is None else right
    return ops.where(at < places[0], left, ops.where(at > places[-1], right, inside))


def _in_doubles(x: Tensor) -> Tensor:
    return cast(x, dtypes.complex128 if dtypes.is_complex(x.dtype) else dtypes.float64)


def _periodic(at: Tensor, places: Tensor, values: Tensor, period: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The table in ascending order within one period, with a neighbour at either end."""
    period = ops.abs(period)
    places = places % period
    order = ops.argsort(places)
    places, values = ops.take(places, order), ops.take(values, order)
    places = ops.concatenate([places[-1:] - period, places, places[:1] + period])
    return at % period, places, ops.concatenate([values[-1:], values, values[:1]])


__all__ = ["interp", "median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]
