"""Positions of the elements of sliding windows (`_prims/windows.py`), for engines that take them by slices or index."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def lowest(dtype: np.dtype[Any]) -> float | int:
    """What loses against every number of a dtype."""
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def highest(dtype: np.dtype[Any]) -> float | int:
    """What wins against every number of a dtype."""
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


def tap(axis: int, ndim: int, start: int, count: int, stride: int) -> tuple[slice, ...]:
    """Along one axis the places where one element of every window lies."""
    own = slice(start, start + (count - 1) * stride + 1, stride)
    return (*[own if i == axis else slice(None) for i in range(ndim)],)


def count_of(size: int, window: int, stride: int, dilation: int) -> int:
    """How many windows lie along an axis."""
    return (size - (window - 1) * dilation - 1) // stride + 1


def places_of(
    sizes: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """For each window the places of its elements, row-major over the axes that it slides over; -1 in the padding."""
    numbers = np.pad(np.arange(prod(sizes)).reshape(sizes), padding, constant_values=-1)
    reach = (*[(n - 1) * gap + 1 for n, gap in zip(window, dilation, strict=True)],)
    view = sliding_window_view(numbers, reach)
    view = view[(*[slice(None, None, s) for s in strides], *[slice(None, None, gap) for gap in dilation])]
    return view.reshape((*view.shape[: len(window)], prod(window)))
