"""torch kernels of `_prims/windows.py`, `cumulative.py` and `fourier.py`."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from ..windows import count_of, places_of, tap
from .common import TableKernel, in_float32, view, widened

# -- windows -----------------------------------------------------------------------------------------------------------


def _padded(x: torch.Tensor, padding: Any, value: int = 0) -> Any:
    if not any(map(any, padding)):
        return x
    return functional.pad(x, [n for pair in reversed(padding) for n in pair], value=value)


def _window_sum(
    x: torch.Tensor,
    window: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[Any, ...],
    dilation: tuple[int, ...],
) -> Any:
    """Axis by axis, as the sum of strided views."""
    out = _padded(x, padding)
    for axis, (n, stride, gap) in enumerate(zip(window, strides, dilation, strict=True), start=x.ndim - len(window)):
        count = count_of(out.shape[axis], n, stride, gap)
        total = out[tap(axis, x.ndim, 0, count, stride)]
        for k in range(1, n):
            total = total + out[tap(axis, x.ndim, k * gap, count, stride)]
        out = total
    return out


def _window_spread(
    x: torch.Tensor,
    sizes: tuple[int, ...],
    window: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[Any, ...],
    dilation: tuple[int, ...],
) -> Any:
    out, first = x, x.ndim - len(window)
    for i, (n, stride, gap) in enumerate(zip(window, strides, dilation, strict=True)):
        axis = first + i
        low, high = padding[i]
        wide = x.new_zeros((*out.shape[:axis], low + sizes[i] + high, *out.shape[axis + 1 :]))
        for k in range(n):
            wide[tap(axis, x.ndim, k * gap, out.shape[axis], stride)] += out
        out = wide[tap(axis, x.ndim, low, sizes[i], 1)]
    return out


def _place(choose: Callable[..., Any], worst: Callable[..., Any]) -> Any:
    def kernel(
        x: torch.Tensor,
        window: tuple[int, ...],
        strides: tuple[int, ...],
        padding: tuple[Any, ...],
        dilation: tuple[int, ...],
    ) -> Any:
        lead = x.ndim - len(window)
        known = places_of(x.shape[lead:], window, strides, padding, dilation)
        places = torch.from_numpy(np.array(known)).to(x.device)
        is_inside = places >= 0
        flat = x.reshape((*x.shape[:lead], prod(x.shape[lead:])))
        values = torch.where(is_inside, flat[..., places.clamp(min=0)], worst(x.dtype))
        if not values.numel():
            return torch.zeros(values.shape[:-1], dtype=torch.int64, device=x.device)
        best = choose(values, -1, keepdim=True)
        chosen = torch.take_along_dim(places.expand(values.shape), best, -1)[..., 0]
        # all in a window as bad as the padding: the first place that is not padding
        first = torch.take_along_dim(places, torch.argmax(is_inside.to(torch.uint8), -1, keepdim=True), -1)[..., 0]
        return torch.where(chosen < 0, first, chosen)

    return kernel


_POOLS = {1: functional.max_pool1d, 2: functional.max_pool2d, 3: functional.max_pool3d}


def is_pooling(window: tuple[int, ...], padding: tuple[Any, ...]) -> bool:
    """Whether torch has a kernel for windows like these."""
    is_even = all(low == high and 2 * low <= n for (low, high), n in zip(padding, window, strict=True))
    return len(window) in _POOLS and is_even


def planes_of(x: torch.Tensor) -> torch.Tensor:
    """What is pooled; CUDA's kernels for float64 fail on small images whose channels lie last.

    A single channel lies last and first: what lies in a row takes the strides of the latter.
    """
    return x.contiguous().view(-1).view(x.shape) if x.is_cuda and x.dtype is torch.float64 else x


def pooled(
    x: torch.Tensor,
    window: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[Any, ...],
    dilation: tuple[int, ...],
) -> tuple[Any, Any]:
    """The place of the largest element of each window, and the element; x has two axes in front."""
    widths = [low for low, _ in padding]
    largest, places = _POOLS[len(window)](planes_of(x), window, strides, widths, dilation, False, True)
    return places, largest


def _by_pooling(general: Callable[..., Any], sign: int) -> Any:
    """torch's pooling tells the places too, where it has a kernel for the case; it takes the first of equal ones."""

    def kernel(
        x: torch.Tensor,
        window: tuple[int, ...],
        strides: tuple[int, ...],
        padding: tuple[Any, ...],
        dilation: tuple[int, ...],
    ) -> Any:
        rank = len(window)
        if not (x.dtype in _POOLED and is_pooling(window, padding) and x.numel()):
            return general(x, window, strides, padding, dilation)
        lead = x.shape[: x.ndim - rank]
        planes = x if len(lead) == 2 else x.reshape((1, -1, *x.shape[x.ndim - rank :]))
        found, _ = pooled(planes if sign > 0 else -planes, window, strides, padding, dilation)
        return found if len(lead) == 2 else found.reshape((*lead, *found.shape[2:]))

    return kernel


_POOLED = frozenset({torch.float32, torch.float64})


def _lowest(dtype: torch.dtype) -> Any:
    return float("-inf") if dtype.is_floating_point else torch.iinfo(dtype).min


def _highest(dtype: torch.dtype) -> Any:
    return float("inf") if dtype.is_floating_point else torch.iinfo(dtype).max


# -- scans -------------------------------------------------------------------------------------------------------------


def _directed(function: Callable[..., Any]) -> Any:
    def kernel(x: torch.Tensor, axis: int, reverse: bool) -> Any:
        return function(x.flip(axis), axis).flip(axis) if reverse else function(x, axis)

    return in_float32(kernel)


def _by_doubling(
    factor: torch.Tensor, term: torch.Tensor, product: Callable[..., Any], joined: Callable[..., Any]
) -> Any:
    """s_i = product(factor_i, s_(i-1)) + term_i along the first axis, in as many rounds as the extent has digits."""
    extent, reach = len(term), 1
    while reach < extent:
        moved = term[:-reach]
        term = torch.cat([term[:reach], product(factor[reach:], moved) + term[reach:]])
        factor = torch.cat([factor[:reach], joined(factor[reach:], factor[:-reach])])
        reach *= 2
    return term


def _step_by_step(factor: Any, term: Any, product: Any) -> Any:
    state = term[0]
    rows = [state]
    for i in range(1, len(term)):
        state = product(factor[i], state) + term[i]
        rows.append(state)
    return torch.stack(rows)


def _recurrence(product: Callable[..., Any], joined: Callable[..., Any]) -> Any:
    def along(factor: torch.Tensor, term: torch.Tensor, axis: int, reverse: bool) -> Any:
        if not term.numel():
            return term
        factor, term = factor.movedim(axis, 0), term.movedim(axis, 0)
        if reverse:
            factor, term = factor.flip(0), term.flip(0)
        out = _by_doubling(factor, term, product, joined)
        if (out.is_floating_point() or out.is_complex()) and not bool(torch.isfinite(out).all()):
            # products of factors may overflow where the recurrence does not
            out = _step_by_step(factor, term, product)
        return (out.flip(0) if reverse else out).movedim(0, axis)

    return along


def _times_unless_zero(factor: torch.Tensor, state: torch.Tensor) -> Any:
    return torch.where(factor == 0, torch.zeros_like(state), factor * state)


_linear = _recurrence(_times_unless_zero, torch.mul)
_masked = _recurrence(lambda restart, state: torch.where(restart, torch.zeros_like(state), state), torch.logical_or)


def _segmented_cumsum(x: torch.Tensor, restart: object, axis: int, reverse: bool) -> Any:
    return _masked(restart, x, axis, reverse)


# -- Fourier transforms ------------------------------------------------------------------------------------------------


def _dft(x: torch.Tensor, axes: tuple[int, ...], inverse: bool) -> Any:
    if not axes or not x.numel():
        return x
    return torch.fft.ifftn(x, dim=axes, norm="forward") if inverse else torch.fft.fftn(x, dim=axes)


def _rfft(x: torch.Tensor, axis: int) -> torch.Tensor:
    x = widened(x)
    if not x.numel():  # which torch's transforms of real numbers refuse
        return x.new_zeros(_resized(x, axis, x.shape[axis] // 2 + 1), dtype=x.dtype.to_complex())
    return torch.fft.rfft(x, dim=axis)


def _irfft(x: torch.Tensor, axis: int, size: int) -> torch.Tensor:
    if not x.numel():
        return x.new_zeros(_resized(x, axis, size), dtype=x.dtype.to_real())
    return torch.fft.irfft(x, size, axis, norm="forward")


def _resized(x: torch.Tensor, axis: int, extent: int) -> list[int]:
    return [extent if i == axis else n for i, n in enumerate(x.shape)]


def _paired_scale(x: torch.Tensor, axis: int, size: int, factor: float) -> Any:
    out = x.clone()
    out[(slice(None),) * axis + (slice(1, (size + 1) // 2),)] *= factor
    return out


KERNELS: dict[str, TableKernel] = {
    "window_sum": view(in_float32(_window_sum)),
    "window_spread": view(in_float32(_window_spread)),
    "window_argmax": _by_pooling(_place(torch.argmax, _lowest), 1),
    "window_argmin": _by_pooling(_place(torch.argmin, _highest), -1),
    "linear_recurrence": view(in_float32(_linear)),
    "segmented_cumsum": view(in_float32(_segmented_cumsum)),
    "cumsum": _directed(lambda x, axis: torch.cumsum(x, axis, dtype=x.dtype)),
    "cumprod": _directed(lambda x, axis: torch.cumprod(x, axis, dtype=x.dtype)),
    "cummax": _directed(lambda x, axis: torch.cummax(x, axis)[0]),
    "cummin": _directed(lambda x, axis: torch.cummin(x, axis)[0]),
    "cumlogsumexp": _directed(torch.logcumsumexp),
    "dft": view(_dft),
    "rfft": _rfft,
    "irfft": _irfft,
    "paired_scale": _paired_scale,
}
