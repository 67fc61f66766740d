"""NumPy kernels of `_prims/windows.py`."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .common import in_float32, widened


def _tap(axis: int, ndim: int, start: int, count: int, stride: int) -> tuple[slice, ...]:
    """Along one axis the places where one element of every window lies."""
    own = slice(start, start + (count - 1) * stride + 1, stride)
    return (*[own if i == axis else slice(None) for i in range(ndim)],)


def _count(size: int, window: int, stride: int, dilation: int) -> int:
    return (size - (window - 1) * dilation - 1) // stride + 1


def _padded(x: Any, padding: Any, value: Any) -> Any:
    if not any(map(any, padding)):
        return x
    lead = ((0, 0),) * (x.ndim - len(padding))
    return np.pad(x, (*lead, *padding), constant_values=value)


def _window_sum(x: Any, window: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    """Axis by axis, as the sum of strided views."""
    out = _padded(x, padding, 0)
    for axis, (n, stride, gap) in enumerate(zip(window, strides, dilation, strict=True), start=x.ndim - len(window)):
        count = _count(out.shape[axis], n, stride, gap)
        total = out[_tap(axis, x.ndim, 0, count, stride)].copy()
        for k in range(1, n):
            total += out[_tap(axis, x.ndim, k * gap, count, stride)]
        out = total
    return out.copy() if out is x else out


def _window_spread(x: Any, sizes: Any, window: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    out, first = x, x.ndim - len(window)
    for i, (n, stride, gap) in enumerate(zip(window, strides, dilation, strict=True)):
        axis = first + i
        low, high = padding[i]
        shape = (*out.shape[:axis], low + sizes[i] + high, *out.shape[axis + 1 :])
        wide = np.zeros(shape, x.dtype)
        for k in range(n):
            wide[_tap(axis, x.ndim, k * gap, out.shape[axis], stride)] += out
        out = wide[_tap(axis, x.ndim, low, sizes[i], 1)]
    return out.copy() if out is x else out


def _windows(x: Any, window: Any, strides: Any, dilation: Any) -> Any:
    """The windows of a padded array, each flattened, as a new last axis."""
    rank = len(window)
    reach = (*[(n - 1) * gap + 1 for n, gap in zip(window, dilation, strict=True)],)
    view = np.lib.stride_tricks.sliding_window_view(x, reach, (*range(x.ndim - rank, x.ndim),))
    steps = (*[slice(None, None, s) for s in strides], *[slice(None, None, gap) for gap in dilation])
    view = view[(..., *steps)]
    return view.reshape((*view.shape[: view.ndim - rank], prod(window)))


def _place(choose: Any, worst: Any) -> Any:
    def kernel(x: Any, window: Any, strides: Any, padding: Any, dilation: Any) -> Any:
        x = widened(x)
        sizes = x.shape[x.ndim - len(window) :]
        places = _windows(_padded(np.arange(prod(sizes)).reshape(sizes), padding, -1), window, strides, dilation)
        values = _windows(_padded(x, padding, worst(x.dtype)), window, strides, dilation)
        best = choose(values, -1)[..., None]
        chosen = np.take_along_axis(np.broadcast_to(places, values.shape), best, -1)[..., 0]
        # all in a window as bad as the padding: the first place that is not padding
        first = np.take_along_axis(places, np.argmax(places >= 0, -1)[..., None], -1)[..., 0]
        return np.where(chosen < 0, first, chosen)

    return kernel


def _lowest(dtype: Any) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _highest(dtype: Any) -> Any:
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


def _add_along(x: Any, index: Any, size: int) -> Any:
    rows, n = prod(x.shape[:-1]), x.shape[-1]
    out = np.zeros((*x.shape[:-1], size), x.dtype)
    np.add.at(out.reshape(rows, size), (np.arange(rows)[:, None], index.reshape(rows, n)), x.reshape(rows, n))
    return out


KERNELS: dict[str, Any] = {
    "window_sum": in_float32(_window_sum),
    "window_spread": in_float32(_window_spread),
    "window_argmax": _place(np.argmax, _lowest),
    "window_argmin": _place(np.argmin, _highest),
    "take_along": lambda x, index: np.take_along_axis(x, index, -1),
    "add_along": in_float32(_add_along),
}
