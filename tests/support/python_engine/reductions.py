"""Reductions, cumulative ops and sorting of the plain-Python engine.

Owns folds over axes (dropped from the shape) and along one axis. Half and single precision are summed in
Python's float64 and rounded once.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

from tests.support.python_engine.array import PyArray, along, flip, lanes, make, reduce, strict_partner
from tests.support.python_engine.dtypes import BOOL, INT64
from tests.support.python_engine.elementwise import maximum, minimum, order_key
from tests.support.python_engine.safe_math import FUNCTIONS, divide, logaddexp

_exp, _log = FUNCTIONS["exp"], FUNCTIONS["log"]


def reduce_sum(x: PyArray, axes: Sequence[int]) -> PyArray:
    """Sum over `axes`, in x's dtype."""
    return reduce(x, axes, operator.add, 0)


def reduce_prod(x: PyArray, axes: Sequence[int]) -> PyArray:
    """Product over `axes`, in x's dtype."""
    return reduce(x, axes, operator.mul, 1)


def _extremum(x: PyArray, axes: Sequence[int], better: Callable[[Any, Any], Any], name: str) -> PyArray:
    shape, groups = lanes(x, axes)
    if groups and not groups[0]:
        raise ValueError(f"{name}: nothing to choose from: axes {tuple(axes)} of shape {x.shape} are empty")
    return make(shape, x.dtype, (_fold(group, better) for group in groups))


def _fold(group: list[Any], better: Callable[[Any, Any], Any]) -> Any:
    *_, last = accumulate(group, better)
    return last


def reduce_max(x: PyArray, axes: Sequence[int]) -> PyArray:
    """Largest value over `axes`; NaN if there is one."""
    return _extremum(x, axes, maximum, "reduce_max")


def reduce_min(x: PyArray, axes: Sequence[int]) -> PyArray:
    """Smallest value over `axes`; NaN if there is one."""
    return _extremum(x, axes, minimum, "reduce_min")


def _first_best(x: PyArray, axis: int, better: Callable[[Any, Any], Any], name: str) -> PyArray:
    shape, groups = lanes(x, (axis,))
    if groups and not groups[0]:
        raise ValueError(f"{name}: nothing to choose from: axis {axis} of shape {x.shape} is empty")
    return make(shape, INT64, (_position(group, better) for group in groups))


def _position(group: list[Any], better: Callable[[Any, Any], Any]) -> int:
    best = _fold(group, better)
    return next(i for i, v in enumerate(group) if v == best or (v != v and best != best))


def argmax(x: PyArray, axis: int) -> PyArray:
    """Index (int64) of the first largest value; of the first NaN if there is one."""
    return _first_best(x, axis, maximum, "argmax")


def argmin(x: PyArray, axis: int) -> PyArray:
    """Index (int64) of the first smallest value; of the first NaN if there is one."""
    return _first_best(x, axis, minimum, "argmin")


def reduce_any(x: PyArray, axes: Sequence[int]) -> PyArray:
    """Whether any value over `axes` is not zero."""
    return reduce(x, axes, lambda a, b: a or bool(b), False, BOOL)


def reduce_all(x: PyArray, axes: Sequence[int]) -> PyArray:
    """Whether no value over `axes` is zero."""
    return reduce(x, axes, lambda a, b: a and bool(b), True, BOOL)


def _cumulative(fn: Callable[[Any, Any], Any]) -> Callable[..., PyArray]:
    def kernel(x: PyArray, axis: int, reverse: bool) -> PyArray:
        """Fold along `axis`, every partial result kept; from the end if `reverse`."""
        if reverse:
            return flip(kernel(flip(x, (axis,)), axis, False), (axis,))
        return along(x, axis, lambda lane: list(accumulate(lane, fn)))

    return kernel


def linear_recurrence(a: PyArray, b: PyArray, axis: int, reverse: bool) -> PyArray:
    """s_i = a_i s_(i-1) + b_i along `axis`; a zero factor starts afresh, even after an infinity."""
    return _recurrence(a, b, axis, reverse, lambda factor, state, term: factor * state + term if factor else term)


def segmented_cumsum(x: PyArray, restart: PyArray, axis: int, reverse: bool) -> PyArray:
    """The running sum along `axis`, which starts afresh wherever restart is true."""
    return _recurrence(restart, x, axis, reverse, lambda is_new, state, term: term if is_new else state + term)


def _recurrence(
    factors: PyArray, terms: PyArray, axis: int, reverse: bool, step: Callable[[Any, Any, Any], Any]
) -> PyArray:
    """Along `axis` the first term, then step(factor, state, term) at each place."""
    lanes_of_factors = iter(lanes(strict_partner(terms, factors), (axis,))[1])

    def scan(lane: list[Any]) -> list[Any]:
        pairs = list(zip(next(lanes_of_factors), lane, strict=True))
        pairs = pairs[::-1] if reverse else pairs
        states = [pairs[0][1]] if pairs else []
        for factor, term in pairs[1:]:
            states.append(step(factor, states[-1], term))
        return states[::-1] if reverse else states

    return along(terms, axis, scan)


# -- sums of exponentials -------------------------------------------------------------------------------------------


def _logsumexp(group: list[float]) -> float:
    peak = _fold(group, maximum) if group else -math.inf
    if math.isinf(peak) or peak != peak:
        return peak
    return peak + math.log(sum(math.exp(v - peak) for v in group))


def logsumexp(x: PyArray, axes: Sequence[int]) -> PyArray:
    """log(sum(exp(x))) over `axes`, without overflow."""
    shape, groups = lanes(x, axes)
    return make(shape, x.dtype, map(_logsumexp, groups))


def _log_softmax(lane: list[float]) -> list[float]:
    peak = _fold(lane, maximum) if lane else 0.0
    total = sum(_exp(v - peak) for v in lane)
    return [v - peak - _log(total) for v in lane]


def _softmax(lane: list[float]) -> list[float]:
    peak = _fold(lane, maximum) if lane else 0.0
    grown = [_exp(v - peak) for v in lane]
    total = sum(grown)
    return [divide(v, total) for v in grown]


# -- sorting --------------------------------------------------------------------------------------------------------


def sort(x: PyArray, axis: int, descending: bool) -> PyArray:
    """Ascending along `axis` with NaN last, or descending with NaN first; equal elements keep their order."""
    return along(x, axis, lambda lane: sorted(lane, key=order_key, reverse=descending))


def argsort(x: PyArray, axis: int, descending: bool) -> PyArray:
    """Positions (int64) that sort x along `axis`."""

    def positions(lane: list[Any]) -> list[int]:
        return sorted(range(len(lane)), key=lambda i: order_key(lane[i]), reverse=descending)

    return along(x, axis, positions, INT64)


KERNELS: dict[str, Callable[..., Any]] = {
    "reduce_sum": reduce_sum,
    "reduce_prod": reduce_prod,
    "reduce_max": reduce_max,
    "reduce_min": reduce_min,
    "reduce_any": reduce_any,
    "reduce_all": reduce_all,
    "argmax": argmax,
    "argmin": argmin,
    "cumsum": _cumulative(operator.add),
    "cumprod": _cumulative(operator.mul),
    "cummax": _cumulative(maximum),
    "cummin": _cumulative(minimum),
    "cumlogsumexp": _cumulative(logaddexp),
    "linear_recurrence": linear_recurrence,
    "segmented_cumsum": segmented_cumsum,
    "logsumexp": logsumexp,
    "softmax": lambda x, axis: along(x, axis, _softmax),
    "log_softmax": lambda x, axis: along(x, axis, _log_softmax),
    "sort": sort,
    "argsort": argsort,
}
