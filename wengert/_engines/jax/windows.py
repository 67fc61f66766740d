"""JAX kernels of `_prims/windows.py`, `conv.py`, `cumulative.py` and `fourier.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.lib.stride_tricks import sliding_window_view

from ..._core.conv_shape import conv_out_shape
from .common import canonical, in_float32, widened

# -- windows -----------------------------------------------------------------------------------------------------------


def _tap(axis: int, ndim: int, start: int, count: int, stride: int) -> tuple[slice, ...]:
    """Along one axis the places where one element of every window lies."""
    own = slice(start, start + (count - 1) * stride + 1, stride)
    return (*[own if i == axis else slice(None) for i in range(ndim)],)


def _count(size: int, window: int, stride: int, dilation: int) -> int:
    return (size - (window - 1) * dilation - 1) // stride + 1


def _padded(x: jax.Array, padding: Any, value: Any) -> Any:
    if not any(map(any, padding)):
        return x
    lead = ((0, 0),) * (x.ndim - len(padding))
    return jnp.pad(x, (*lead, *padding), constant_values=value)


def _window_sum(
    x: jax.Array, window: tuple[int, ...], strides: tuple[int, ...], padding: Any, dilation: tuple[int, ...]
) -> Any:
    """Axis by axis, as the sum of strided views."""
    out = _padded(x, padding, 0)
    for axis, (n, stride, gap) in enumerate(zip(window, strides, dilation, strict=True), start=x.ndim - len(window)):
        count = _count(out.shape[axis], n, stride, gap)
        total = out[_tap(axis, x.ndim, 0, count, stride)]
        for k in range(1, n):
            total = total + out[_tap(axis, x.ndim, k * gap, count, stride)]
        out = total
    return out


def _window_spread(
    x: jax.Array, sizes: Any, window: tuple[int, ...], strides: tuple[int, ...], padding: Any, dilation: tuple[int, ...]
) -> Any:
    out, first = x, x.ndim - len(window)
    for i, (n, stride, gap) in enumerate(zip(window, strides, dilation, strict=True)):
        axis = first + i
        low, high = padding[i]
        shape = (*out.shape[:axis], low + sizes[i] + high, *out.shape[axis + 1 :])
        wide = jnp.zeros(shape, x.dtype)
        for k in range(n):
            wide = wide.at[_tap(axis, x.ndim, k * gap, out.shape[axis], stride)].add(out)
        out = wide[_tap(axis, x.ndim, low, sizes[i], 1)]
    return out


def _places(sizes: Any, window: Sequence[int], strides: Sequence[int], padding: Any, dilation: Sequence[int]) -> Any:
    """For each window the places of its elements, row-major over the axes that it slides over; -1 in the padding."""
    numbers = np.pad(np.arange(prod(sizes)).reshape(sizes), padding, constant_values=-1)
    reach = (*[(n - 1) * gap + 1 for n, gap in zip(window, dilation, strict=True)],)
    view = sliding_window_view(numbers, reach)
    view = view[(*[slice(None, None, s) for s in strides], *[slice(None, None, gap) for gap in dilation])]
    return view.reshape((*view.shape[: len(window)], prod(window)))


def _place(choose: Callable[..., Any], worst: Callable[..., Any]) -> Any:
    def kernel(x: Any, window: Sequence[int], strides: Sequence[int], padding: Any, dilation: Sequence[int]) -> Any:
        x = widened(x)
        lead = x.ndim - len(window)
        places = _places(x.shape[lead:], window, strides, padding, dilation)
        is_inside = places >= 0
        flat = x.reshape((*x.shape[:lead], -1))
        values = jnp.where(is_inside, flat[..., np.where(is_inside, places, 0)], worst(x.dtype))
        best = choose(values, -1)[..., None]
        whole = jnp.broadcast_to(places, values.shape)
        chosen = jnp.take_along_axis(whole, best, -1)[..., 0]
        # all in a window as bad as the padding: the first place that is not padding
        first = np.take_along_axis(places, np.argmax(is_inside, -1)[..., None], -1)[..., 0]
        return jnp.where(chosen < 0, first, chosen).astype(canonical(np.int64))

    return kernel


def _lowest(dtype: Any) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _highest(dtype: Any) -> Any:
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


# -- convolution -------------------------------------------------------------------------------------------------------


def _conv(
    lhs: Any, rhs: Any, strides: Any, padding: Any, lhs_dilation: Any, rhs_dilation: Any, groups: int, batch_groups: int
) -> Any:
    shape = conv_out_shape(lhs.shape, rhs.shape, strides, padding, lhs_dilation, rhs_dilation, groups, batch_groups)
    if not (prod(shape) and lhs.size and rhs.size):
        return jnp.zeros(shape, lhs.dtype)
    options = {
        "window_strides": strides, "padding": padding, "lhs_dilation": lhs_dilation, "rhs_dilation": rhs_dilation,
        "feature_group_count": groups, "batch_group_count": batch_groups,
    }  # fmt: skip
    return lax.conv_general_dilated(lhs, rhs, **options)


# -- scans -------------------------------------------------------------------------------------------------------------


def _directed(function: Callable[..., Any]) -> Any:
    return in_float32(lambda x, axis, reverse: function(x, axis=axis, reverse=reverse).astype(x.dtype))


def _recurrence(product: Callable[..., Any]) -> Any:
    """s_i = product(factor_i, s_(i-1)) + term_i."""

    def along(factor: Any, term: Any, axis: int, reverse: bool) -> Any:
        if not term.size:
            return term

        def step(state: Any, pair: Any) -> Any:
            state = product(pair[0], state) + pair[1]
            return state, state

        factor, term = jnp.moveaxis(factor, axis, 0), jnp.moveaxis(term, axis, 0)
        _, out = lax.scan(step, jnp.zeros_like(term[0]), (factor, term), reverse=reverse)
        return jnp.moveaxis(out, 0, axis)

    return along


def _times_unless_zero(factor: Any, state: Any) -> Any:
    return jnp.where(factor == 0, jnp.zeros_like(state), factor * state)


_linear = _recurrence(_times_unless_zero)
_masked = _recurrence(lambda restart, state: jnp.where(restart, jnp.zeros_like(state), state))


def _segmented_cumsum(x: jax.Array, restart: Any, axis: int, reverse: bool) -> Any:
    return _masked(restart, x, axis, reverse)


# -- Fourier transforms ------------------------------------------------------------------------------------------------


def _dft(x: jax.Array, axes: tuple[int, ...], inverse: bool) -> Any:
    if not axes or not x.size:
        return x
    for axis in axes:  # one at a time, for XLA transforms three axes at most
        x = jnp.fft.ifft(x, axis=axis, norm="forward") if inverse else jnp.fft.fft(x, axis=axis)
    return x


def _paired_scale(x: jax.Array, axis: int, size: int, factor: float) -> Any:
    inner = (slice(None),) * axis + (slice(1, (size + 1) // 2),)
    return x.at[inner].multiply(factor)


KERNELS: dict[str, Any] = {
    "window_sum": in_float32(_window_sum),
    "window_spread": in_float32(_window_spread),
    "window_argmax": _place(jnp.argmax, _lowest),
    "window_argmin": _place(jnp.argmin, _highest),
    "conv": in_float32(_conv),
    "linear_recurrence": in_float32(_linear),
    "segmented_cumsum": in_float32(_segmented_cumsum),
    "cumsum": _directed(lax.cumsum),
    "cumprod": _directed(lax.cumprod),
    "cummax": _directed(lax.cummax),
    "cummin": _directed(lax.cummin),
    "cumlogsumexp": _directed(lax.cumlogsumexp),
    "dft": _dft,
    "rfft": lambda x, axis: jnp.fft.rfft(widened(x), axis=axis),
    "irfft": lambda x, axis, size: jnp.fft.irfft(x, size, axis, norm="forward"),
    "paired_scale": _paired_scale,
}
