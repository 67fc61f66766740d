"""JAX kernels of `_prims/structural.py` and `_prims/reductions.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core import dtypes
from ..._core.dtypes import HISTORY
from ..shared_kernels import PASSING, sliced
from .common import XlaHistory, canonical, in_float32, is_concrete


def _absent(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return XlaHistory((), False, 0) if dtype == HISTORY else jnp.zeros(shape, canonical(dtype))


def _reduce_sum(x: jax.Array, axes: tuple[int, ...]) -> Any:
    if x.dtype == bool:
        return jnp.any(x, axes)
    if dtypes.is_half(x.dtype):
        return jnp.sum(x.astype(jnp.float32), axes).astype(x.dtype)
    return jnp.sum(x, axes, x.dtype)


def _pad(x: jax.Array, low: tuple[int, ...], high: tuple[int, ...], interior: tuple[int, ...]) -> Any:
    config = [(int(lo), int(hi), int(i)) for lo, hi, i in zip(low, high, interior, strict=True)]
    return lax.pad(x, jnp.zeros((), x.dtype), config)


def _convert(x: jax.Array, dtype: np.dtype[Any]) -> Any:
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        x = jnp.real(x)
    return x.astype(canonical(dtype))


def _concatenate(*xs_and_axis: Any) -> Any:
    *xs, axis = xs_and_axis
    return jnp.concatenate(xs, axis)


def _add_n(*xs: jax.Array) -> Any:
    dtype = xs[0].dtype
    if dtypes.is_half(dtype):  # summed in float32
        return _add_n(*[x.astype(jnp.float32) for x in xs]).astype(dtype)
    total = xs[0]
    for x in xs[1:]:
        total = jnp.add(total, x)
    return total


def _scale(x: jax.Array, y: jax.Array) -> Any:
    return jnp.where(jnp.equal(x, 0), jnp.zeros_like(x), jnp.multiply(x, y))


def _as_complex(x: jax.Array, y: jax.Array) -> Any:
    real = canonical(dtypes.real_of(dtypes.complex_of(np.dtype(x.dtype))))
    return lax.complex(x.astype(real), y.astype(real))


def _debug_print(*xs_and_text: Any) -> tuple[Any, ...]:
    *xs, text = xs_and_text
    if all(map(is_concrete, xs)):
        _print(text, *xs)
    else:
        jax.debug.callback(lambda *values: _print(text, *values), *xs, ordered=False)
    return ()


def _print(text: str, *values: object) -> None:
    print(text.format(*[np.asarray(v)[()] for v in values]), flush=True)


def _number(x: jax.Array, number: Any) -> Any:
    return jnp.asarray(number, x.dtype)


def _finite_peak(x: jax.Array, axes: tuple[int, ...]) -> Any:
    """The largest over axes, kept as axes of extent 1; 0 in place of -inf and inf, which cannot be subtracted."""
    peak = jnp.max(x, axes, keepdims=True, initial=-jnp.inf)
    return jnp.where(jnp.isinf(peak), jnp.zeros_like(peak), peak)


def _logsumexp(x: jax.Array, axes: tuple[int, ...]) -> Any:
    peak = _finite_peak(x, axes)
    total = jnp.log(jnp.sum(jnp.exp(x - peak), axes, keepdims=True)) + peak
    return jnp.squeeze(total, axes) if axes else total


def _softmax(x: jax.Array, axis: int) -> Any:
    grown = jnp.exp(x - jnp.max(x, axis, keepdims=True, initial=-jnp.inf))
    return grown / jnp.sum(grown, axis, keepdims=True)


def _log_softmax(x: jax.Array, axis: int) -> Any:
    shifted = x - jnp.max(x, axis, keepdims=True, initial=-jnp.inf)
    return shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis, keepdims=True))


MANY = 1024  # elements up to which XLA reduces in a loop of its own


def _extreme(reduce: Callable[..., Any]) -> Any:
    """The largest or the smallest; XLA's vector code passes over NaN, which a sum does not."""

    def kernel(x: jax.Array, axes: tuple[int, ...]) -> Any:
        found = reduce(x, axes)
        if x.dtype.kind not in "fV" or not axes or (type(x.size) is int and x.size <= MANY):
            return found
        total = jnp.sum(x, axes)
        is_lost = total != total
        return lax.cond(
            jnp.any(is_lost), lambda: jnp.where(is_lost & jnp.any(x != x, axes), total, found), lambda: found
        )

    return kernel


def _place(function: Callable[..., Any]) -> Any:
    return lambda x, axis: function(x, axis).astype(canonical(np.int64))


KERNELS: dict[str, Any] = {
    **PASSING,
    "constant": lambda value: _absent((), HISTORY) if value.dtype == HISTORY else jnp.asarray(value),
    "full": lambda shape, value, dtype: jnp.full(shape, value, canonical(dtype)),
    "unstack": lambda x, size: (*[x[i] for i in range(x.shape[0])],),
    "absent": _absent,
    "iota": lambda size, dtype: jnp.arange(size, dtype=canonical(dtype)),
    "dim_value": lambda dim: jnp.asarray(dim, canonical(np.int64)),
    "add": jnp.add,
    "add_n": _add_n,
    "barrier": lambda *xs: xs,
    "neg": jnp.negative,
    "sub": jnp.subtract,
    "mul": jnp.multiply,
    "scale": _scale,
    "times_number": lambda x, number: jnp.multiply(x, _number(x, number)),
    "add_number": lambda x, number: jnp.add(x, _number(x, number)),
    "convert": _convert,
    "conj": jnp.conjugate,
    "real": jnp.real,
    "imag": jnp.imag,
    "as_complex": _as_complex,
    "reshape": lambda x, shape: jnp.reshape(x, shape),
    "transpose": lambda x, perm: jnp.transpose(x, perm),
    "broadcast_to": lambda x, shape: jnp.broadcast_to(x, shape),
    "reduce_sum": _reduce_sum,
    "slice": sliced,
    "pad": _pad,
    "flip": lambda x, axes: jnp.flip(x, axes),
    "concatenate": _concatenate,
    "select": lambda cond, x, y: jnp.where(cond, x, y),
    # JAX hands out the number itself that a user has given
    "stop_gradient": lambda x: x if is_concrete(x) else jnp.asarray(lax.stop_gradient(x)),
    "debug_print": _debug_print,
    "reduce_prod": in_float32(lambda x, axes: jnp.prod(x, axes, x.dtype)),
    "reduce_max": _extreme(jnp.max),
    "reduce_min": _extreme(jnp.min),
    "argmax": _place(jnp.argmax),
    "argmin": _place(jnp.argmin),
    "reduce_any": lambda x, axes: jnp.any(x, axes),
    "reduce_all": lambda x, axes: jnp.all(x, axes),
    "logsumexp": in_float32(_logsumexp),
    "softmax": in_float32(_softmax),
    "log_softmax": in_float32(_log_softmax),
}
