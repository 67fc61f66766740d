"""JAX kernels of `_prims/windows.py`, `conv.py`, `cumulative.py` and `fourier.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core.conv_shape import conv_out_shape
from ..windows import count_of, highest, lowest, places_of, tap
from .common import canonical, in_float32, widened

# -- windows -----------------------------------------------------------------------------------------------------------


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
        count = count_of(out.shape[axis], n, stride, gap)
        total = out[tap(axis, x.ndim, 0, count, stride)]
        for k in range(1, n):
            total = total + out[tap(axis, x.ndim, k * gap, count, stride)]
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
            wide = wide.at[tap(axis, x.ndim, k * gap, out.shape[axis], stride)].add(out)
        out = wide[tap(axis, x.ndim, low, sizes[i], 1)]
    return out


def _place(choose: Callable[..., Any], worst: Callable[..., Any]) -> Any:
    def kernel(x: Any, window: Sequence[int], strides: Sequence[int], padding: Any, dilation: Sequence[int]) -> Any:
        x = widened(x)
        lead = x.ndim - len(window)
        places = places_of(x.shape[lead:], window, strides, padding, dilation)
        is_inside = places >= 0
        flat = x.reshape((*x.shape[:lead], prod(x.shape[lead:])))
        values = jnp.where(is_inside, flat[..., np.where(is_inside, places, 0)], worst(x.dtype))
        best = choose(values, -1)[..., None]
        whole = jnp.broadcast_to(places, values.shape)
        chosen = jnp.take_along_axis(whole, best, -1)[..., 0]
        # all in a window as bad as the padding: the first place that is not padding
        first = np.take_along_axis(places, np.argmax(is_inside, -1)[..., None], -1)[..., 0]
        return jnp.where(chosen < 0, first, chosen).astype(canonical(np.int64))

    return kernel


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
    "window_argmax": _place(jnp.argmax, lowest),
    "window_argmin": _place(jnp.argmin, highest),
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
