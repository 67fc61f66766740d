"""NumPy kernels of `_prims/windows.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ..checks import require_inside
from ..windows import count_of, highest, lowest, tap
from .common import in_float32, widened
from .summing import pairwise_sum


def _padded(x: np.ndarray[Any, Any], padding: Sequence[tuple[int, int]], value: int) -> Any:
    if not any(map(any, padding)):
        return x
    lead = ((0, 0),) * (x.ndim - len(padding))
    return np.pad(x, (*lead, *padding), constant_values=value)


_FEW = 4  # so many taps are taken one by one, whatever the stride


def _takes_taps(n: int, stride: int) -> bool:
    """Whether n strided taps cost less than doubling at every place, which takes about 2 log2(n) passes."""
    return n <= _FEW or (n <= 16 * _FEW and n <= 2 * n.bit_length() * stride)


def _window_sum(
    x: np.ndarray[Any, Any],
    window: tuple[int, ...],
    strides: tuple[int, ...],
    padding: Sequence[tuple[int, int]],
    dilation: tuple[int, ...],
) -> Any:
    """Axis by axis."""
    out = _padded(x, padding, 0)
    for axis, (n, stride, gap) in enumerate(zip(window, strides, dilation, strict=True), start=x.ndim - len(window)):
        out = _sums_along(out, axis, n, stride, gap)
    return out.copy() if out is x else out


def _sums_along(x: np.ndarray[Any, Any], axis: int, n: int, stride: int, gap: int) -> Any:
    count = count_of(x.shape[axis], n, stride, gap)
    if _takes_taps(n, stride):
        total = x[tap(axis, x.ndim, 0, count, stride)].copy()
        for k in range(1, n):
            total += x[tap(axis, x.ndim, k * gap, count, stride)]
        return total
    if stride >= n and gap == 1:
        view = np.lib.stride_tricks.sliding_window_view(x, n, axis)[tap(axis, x.ndim + 1, 0, count, stride)]
        return pairwise_sum(view, (x.ndim,)) if x.dtype.kind in "fc" else np.add.reduce(view, -1, x.dtype)
    return _doubled_sums(x, axis, n, gap)[tap(axis, x.ndim, 0, count, stride)]


def _doubled_sums(x: np.ndarray[Any, Any], axis: int, n: int, gap: int) -> Any:
    """The sums of windows at every place, put together from windows of 1, 2, 4, ... elements."""
    size = x.shape[axis] - (n - 1) * gap
    block, width, done = x, 1, 0
    total: Any = None
    while width <= n:
        if n & width:
            piece = block[tap(axis, x.ndim, done * gap, size, 1)]
            total = piece.copy() if total is None else np.add(total, piece, out=total)
            done += width
        left = block.shape[axis] - width * gap
        if 2 * width <= n:
            block = block[tap(axis, x.ndim, 0, left, 1)] + block[tap(axis, x.ndim, width * gap, left, 1)]
        width *= 2
    return total


def _window_spread(
    x: np.ndarray[Any, Any],
    sizes: tuple[int, ...],
    window: tuple[int, ...],
    strides: tuple[int, ...],
    padding: Sequence[tuple[int, int]],
    dilation: tuple[int, ...],
) -> Any:
    out, first = x, x.ndim - len(window)
    for i, (n, stride, gap) in enumerate(zip(window, strides, dilation, strict=True)):
        low, high = padding[i]
        out = _spread_along(out, first + i, low + sizes[i] + high, n, stride, gap)
        out = out[tap(first + i, x.ndim, low, sizes[i], 1)]
    return out.copy() if out is x else out


def _spread_along(x: np.ndarray[Any, Any], axis: int, size: int, n: int, stride: int, gap: int) -> Any:
    """Each element added to all places of its window along an axis that gets the given extent."""
    count = x.shape[axis]
    if _takes_taps(n, stride) or not x.size:
        wide = np.zeros((*x.shape[:axis], size, *x.shape[axis + 1 :]), x.dtype)
        for k in range(n):
            wide[tap(axis, x.ndim, k * gap, count, stride)] += x
        return wide
    reach = (n - 1) * gap
    if stride >= n and gap == 1:
        wide = np.zeros((*x.shape[:axis], size, *x.shape[axis + 1 :]), x.dtype)
        windows = np.lib.stride_tricks.sliding_window_view(wide, n, axis, writeable=True)
        windows[tap(axis, x.ndim + 1, 0, count, stride)] = x[..., None]
        return wide
    # a place gets what lies up to the reach before it: the sums of windows over the elements set apart
    apart = np.zeros((*x.shape[:axis], size + reach, *x.shape[axis + 1 :]), x.dtype)
    apart[tap(axis, x.ndim, reach, count, stride)] = x
    return _doubled_sums(apart, axis, n, gap)


# -- places of extrema -------------------------------------------------------------------------------------------------

_AT_ONCE = 1 << 18  # elements that are looked at together


class _Best:
    """Values along windows that grow, and where they came from: -1 for padding."""

    def __init__(self, value: np.ndarray[Any, Any], place: np.ndarray[Any, Any]) -> None:
        self.value, self.place = value, place

    def at(self, tap: Any) -> _Best:
        return _Best(self.value[tap], self.place[tap])

    def or_better(self, other: _Best, loses: Callable[..., Any]) -> _Best:
        """The better of two; the first, where they are equal. NaN is best."""
        takes = ~loses(other.value, self.value)
        takes &= self.value == self.value
        takes |= self.place < 0
        return _Best(np.where(takes, other.value, self.value), np.where(takes, other.place, self.place))


def _best_along(best: _Best, axis: int, n: int, stride: int, gap: int, loses: Callable[..., Any]) -> _Best:
    ndim = best.value.ndim
    count = count_of(best.value.shape[axis], n, stride, gap)
    if _takes_taps(n, stride):
        found = best.at(tap(axis, ndim, 0, count, stride))
        for k in range(1, n):
            found = found.or_better(best.at(tap(axis, ndim, k * gap, count, stride)), loses)
        return found
    width = 1
    while 2 * width <= n:
        left = best.value.shape[axis] - width * gap
        best = best.at(tap(axis, ndim, 0, left, 1)).or_better(best.at(tap(axis, ndim, width * gap, left, 1)), loses)
        width *= 2
    # two windows of a power of two that overlap
    first = best.at(tap(axis, ndim, 0, count, stride))
    return first.or_better(best.at(tap(axis, ndim, (n - width) * gap, count, stride)), loses)


def _place(loses: Callable[..., Any], worst: Callable[..., Any]) -> Any:
    def kernel(
        x: np.ndarray[Any, Any],
        window: tuple[int, ...],
        strides: tuple[int, ...],
        padding: Sequence[tuple[int, int]],
        dilation: tuple[int, ...],
    ) -> Any:
        lead, sizes = x.shape[: x.ndim - len(window)], x.shape[x.ndim - len(window) :]
        counts = map(count_of, map(_padded_size, sizes, padding), window, strides, dilation)
        out = np.empty((prod(lead), *counts), np.int64)
        rows = x.reshape(-1, *sizes) if x.size else np.empty((0, *sizes), x.dtype)
        step = max(1, _AT_ONCE // max(1, prod(sizes)))
        for start in range(0, len(out), step):
            own = widened(rows[start : start + step])
            out[start : start + step] = _places(own, window, strides, padding, dilation, loses, worst(own.dtype))
        return out.reshape(*lead, *out.shape[1:])

    return kernel


def _padded_size(size: int, pair: tuple[int, ...]) -> int:
    return size + pair[0] + pair[1]


def _places(
    x: np.ndarray[Any, Any],
    window: tuple[int, ...],
    strides: tuple[int, ...],
    padding: Sequence[tuple[int, int]],
    dilation: tuple[int, ...],
    loses: Callable[..., Any],
    worst: Any,
) -> Any:
    """Axis by axis from the last one, so that of equal elements the first in order stays."""
    best = _Best(x, np.broadcast_to(np.int64(0), x.shape))
    factor = 1
    for axis in range(x.ndim - 1, 0, -1):
        size, pair = x.shape[axis], padding[axis - 1]
        position = (np.arange(size) * factor).reshape(size, *(1,) * (x.ndim - 1 - axis))
        place = best.place + position
        place = np.where(best.place < 0, -1, place) if factor > 1 else place
        width = (*[pair if i == axis else (0, 0) for i in range(x.ndim)],)
        if any(pair):
            best.value = np.pad(best.value, width, constant_values=worst)
            place = np.pad(place, width, constant_values=-1)
        best = _Best(best.value, place)
        best = _best_along(best, axis, window[axis - 1], strides[axis - 1], dilation[axis - 1], loses)
        factor *= size
    return best.place


# -- elements at places of their own -----------------------------------------------------------------------------------


def _add_along(x: np.ndarray[Any, Any], index: np.ndarray[Any, Any], size: int) -> Any:
    n = x.shape[-1]
    out = np.zeros((*x.shape[:-1], size), x.dtype)
    flat, values, places = out.reshape(-1), x.reshape(-1), index.reshape(-1)
    for start in range(0, x.size, _AT_ONCE):
        own = _from_start(places[start : start + _AT_ONCE], size)
        if n < x.size:
            own += np.arange(start, start + len(own)) // n * size
        np.add.at(flat, own, values[start : start + len(own)])
    return out


def _from_start(places: np.ndarray[Any, Any], size: int) -> Any:
    """Places that may count from the end, as they count from the start; out of range, they would be in another row."""
    places = places.astype(np.int64)  # a narrow dtype has no room for the size
    require_inside([places], [size])
    places[places < 0] += size
    return places


KERNELS: dict[str, Any] = {
    "window_sum": in_float32(_window_sum),
    "window_spread": in_float32(_window_spread),
    "window_argmax": _place(np.less_equal, lowest),
    "window_argmin": _place(np.greater_equal, highest),
    "take_along": lambda x, index: np.take_along_axis(x, index, -1),
    "add_along": in_float32(_add_along),
}
