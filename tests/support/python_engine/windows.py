"""Sliding windows of the plain-Python engine, element by element."""

from __future__ import annotations

import bisect
import math
import operator
from collections.abc import Callable, Iterator
from math import prod
from typing import Any

from tests.support.python_engine.array import PyArray, indices, make, strides
from wengert._core import dtypes

Geometry = tuple[Any, Any, Any, Any]


def _count(size: int, window: int, stride: int, padding: tuple[int, int], dilation: int) -> int:
    return (sum(padding) + size - (window - 1) * dilation - 1) // stride + 1


def _windows(sizes: tuple[int, ...], geometry: Geometry) -> Iterator[list[int]]:
    """For each window, row-major, the places in it that are not padding."""
    window, steps, padding, dilation = geometry
    jumps = strides(sizes)
    for position in indices(map(_count, sizes, window, steps, padding, dilation)):
        starts = [p * s - low for p, s, (low, _) in zip(position, steps, padding, strict=True)]
        places = ([a + k * d for a, k, d in zip(starts, tap, dilation, strict=True)] for tap in indices(window))
        yield [
            sum(map(operator.mul, place, jumps))
            for place in places
            if all(0 <= a < n for a, n in zip(place, sizes, strict=True))
        ]


def _blocks(x: PyArray, length: int) -> list[list[Any]]:
    return [x.flat[i : i + length] for i in range(0, len(x.flat), length)] if length else []


def _split(x: PyArray, geometry: Geometry) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The leading axes, the sizes of the last ones, and the number of windows along each."""
    lead = x.ndim - len(geometry[0])
    sizes = x.shape[lead:]
    return x.shape[:lead], sizes, tuple(map(_count, sizes, *geometry))


def window_sum(x: PyArray, *geometry: Any) -> PyArray:
    """Sums over windows."""
    lead, sizes, counts = _split(x, geometry)
    windows = list(_windows(sizes, geometry))
    values = (sum(block[i] for i in places) for block in _blocks(x, prod(sizes)) for places in windows)
    return make((*lead, *counts), x.dtype, values)


def window_spread(x: PyArray, sizes: tuple[int, ...], *geometry: Any) -> PyArray:
    """Each element added to all places of its window."""
    lead = x.shape[: x.ndim - len(sizes)]
    windows = list(_windows(sizes, geometry))
    flat: list[Any] = []
    for block in _blocks(x, len(windows)):
        out: list[Any] = [0] * prod(sizes)
        for value, places in zip(block, windows, strict=True):
            for i in places:
                out[i] += value
        flat += out
    return make((*lead, *sizes), x.dtype, flat)


def _place(is_better: Callable[[Any, Any], bool]) -> Callable[..., PyArray]:
    def kernel(x: PyArray, *geometry: Any) -> PyArray:
        """The place of each window's extremum."""
        lead, sizes, counts = _split(x, geometry)
        windows = list(_windows(sizes, geometry))
        values = (_best(block, places, is_better) for block in _blocks(x, prod(sizes)) for places in windows)
        return make((*lead, *counts), dtypes.int64, values)

    return kernel


def _best(block: list[Any], places: list[int], is_better: Callable[[Any, Any], bool]) -> int:
    best = places[0]
    for i in places[1:]:
        if math.isnan(block[best]):
            break
        if math.isnan(block[i]) or is_better(block[i], block[best]):
            best = i
    return best


def take_along(x: PyArray, index: PyArray) -> PyArray:
    """For each place along the last axis the element at a position of its own."""
    n, m = x.shape[-1], index.shape[-1]
    return make((*x.shape[:-1], m), x.dtype, (x.flat[at // m * n + i] for at, i in enumerate(index.flat)))


def add_along(x: PyArray, index: PyArray, size: int) -> PyArray:
    """Each element added to a place of its own."""
    n = x.shape[-1]
    out: list[Any] = [0] * (prod(x.shape[:-1]) * size)
    for at, (value, i) in enumerate(zip(x.flat, index.flat, strict=True)):
        out[at // n * size + i] += value
    return make((*x.shape[:-1], size), x.dtype, out)


def searchsorted(sequence: PyArray, values: PyArray, right: bool) -> PyArray:
    """For each value its place in a sorted sequence; NaN comes last."""
    find = bisect.bisect_right if right else bisect.bisect_left
    rows = _blocks(sequence, sequence.shape[-1]) or [[]] * prod(sequence.shape[:-1])
    m = values.shape[-1]
    places = (
        find(rows[at // m], (math.isnan(v), v), key=lambda w: (math.isnan(w), w)) for at, v in enumerate(values.flat)
    )
    return make(values.shape, dtypes.int64, places)


KERNELS: dict[str, Callable[..., Any]] = {
    "window_sum": window_sum,
    "window_spread": window_spread,
    "window_argmax": _place(operator.gt),
    "window_argmin": _place(operator.lt),
    "searchsorted": searchsorted,
    "take_along": take_along,
    "add_along": add_along,
}
