"""Reductions, cumulative ops and sorting of the plain-Python engine.

Owns folds over axes (dropped from the shape) and along one axis. Half and single precision are summed in
Python's float64 and rounded once.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

from wengert._engines.python.array import PyArray, along, flip, lanes, make, reduce, take_flat
from wengert._engines.python.dtypes import BOOL, INT64
from wengert._engines.python.elementwise import maximum, minimum, order_key


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
    def kernel(x: PyArray, axis: int, reverse: bool = False) -> PyArray:
        """Fold along `axis`, every partial result kept; from the end if `reverse`."""
        if reverse:
            return flip(kernel(flip(x, (axis % x.ndim,)), axis), (axis % x.ndim,))
        return along(x, axis, lambda lane: list(accumulate(lane, fn)))

    return kernel


def sort(x: PyArray, axis: int = -1) -> PyArray:
    """Ascending along `axis`, NaN last."""
    return along(x, axis, lambda lane: sorted(lane, key=order_key))


def argsort(x: PyArray, axis: int = -1) -> PyArray:
    """Positions (int64) that sort x along `axis`: stable, NaN last."""
    return along(x, axis, _sorting_positions, INT64)


def _sorting_positions(lane: list[Any]) -> list[int]:
    return sorted(range(len(lane)), key=lambda i: order_key(lane[i]))


def searchsorted(sorted_values: PyArray, values: PyArray, side: str = "left") -> PyArray:
    """Where each value goes in a sorted vector (int64)."""
    before = operator.lt if side == "left" else operator.le
    keys = [order_key(v) for v in sorted_values.flat]
    found = (sum(before(k, order_key(v)) for k in keys) for v in values.flat)
    return make(values.shape, INT64, found)


def nonzero(x: PyArray) -> tuple[PyArray, ...]:
    """For each axis the indices (int64) of the elements that are not zero."""
    hits = [i for i, v in enumerate(x.flat) if v]
    columns, block = [], x.size
    for length in x.shape:
        block = block // length if length else 0
        columns.append(make((len(hits),), INT64, (i // block % length for i in hits)))
    return tuple(columns)


def compress(x: PyArray, mask: PyArray) -> PyArray:
    """The elements where a mask of x's shape holds, as a vector."""
    return take_flat(x, [i for i, keep in enumerate(mask.flat) if keep])


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
    "sort": sort,
    "argsort": argsort,
    "searchsorted": searchsorted,
    "nonzero": nonzero,
    "compress": compress,
}
