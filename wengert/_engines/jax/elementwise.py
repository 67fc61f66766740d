"""JAX kernels of the elementwise ops and of `_prims/piecewise.py`: mostly functions of `jax.numpy`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..checks import require_found, require_not_negative
from .common import canonical, in_float32, on_host, values_of


def _power(x: jax.Array, y: jax.Array) -> Any:
    if x.dtype.kind in "iu":
        _refuse_negative_powers(x, y)
    return jnp.power(x, y)


def _refuse_negative_powers(x: jax.Array, y: jax.Array) -> None:
    known = values_of(y)
    if known is not None and y.dtype.kind == "i" and (known[0] < 0).any():
        raise ValueError("Integers to negative integer powers are not allowed.")


def _power_number(x: jax.Array, number: int) -> Any:
    if number == 2:
        return jnp.multiply(x, x)
    if x.dtype.kind in "iu" and number < 0:
        raise ValueError("Integers to negative integer powers are not allowed.")
    return jnp.power(x, jnp.asarray(number, x.dtype) if isinstance(number, float) else number).astype(x.dtype)


def _sigmoid(x: jax.Array) -> Any:
    # exp of a number that is never positive cannot overflow
    decay = jnp.exp(-jnp.abs(x))
    return jnp.where(x >= 0, jnp.reciprocal(1 + decay), decay / (1 + decay))


def _not_negative(x: jax.Array) -> Any:
    require_not_negative(values_of(x))
    return x


def _found(x: jax.Array) -> Any:
    require_found(values_of(x))
    return x


def _by_nonzero(function: Callable[..., Any]) -> Any:
    """Division of integers by zero gives NumPy's value, zero."""

    def kernel(x: jax.Array, y: jax.Array) -> Any:
        if x.dtype.kind not in "iu":
            return function(x, y)
        is_zero = y == 0
        return jnp.where(is_zero, jnp.zeros_like(x), function(x, jnp.where(is_zero, jnp.ones_like(y), y)))

    return kernel


def _floor_divide(x: jax.Array, y: jax.Array) -> Any:
    if x.dtype.kind in "iu":
        return jnp.floor_divide(x, y)
    # NumPy's way: from the exact remainder, for floor(x / y) may round up to the next whole number
    remainder = jnp.fmod(x, y)
    quotient = (x - remainder) / y
    quotient = jnp.where((remainder != 0) & ((y < 0) != (remainder < 0)), quotient - 1, quotient)
    whole = jnp.floor(quotient)
    whole = jnp.where(quotient - whole > 0.5, whole + 1, whole)
    whole = jnp.where(quotient == 0, jnp.copysign(jnp.zeros_like(x), x / y), whole)
    return jnp.where(y == 0, x / y, whole)


def _clip(x: jax.Array, lo: jax.Array, hi: jax.Array) -> Any:
    return jnp.minimum(jnp.maximum(x, lo), hi)


def _shifted(function: Callable[..., Any], limit: Callable[..., Any]) -> Any:
    """Shifts by the width of the integers and more give what shifting bit by bit gives."""

    def kernel(x: Any, y: Any) -> Any:
        width = x.dtype.itemsize * 8
        is_far = y >= width
        return jnp.where(is_far, limit(x), function(x, jnp.where(is_far, jnp.zeros_like(y), y)))

    return kernel


def _fmod(x: jax.Array, y: jax.Array) -> Any:
    return jnp.fmod(x, y) if x.dtype.kind != "u" else jnp.remainder(x, y)


def _bitcast(x: jax.Array, dtype: np.dtype[Any]) -> Any:
    if canonical(dtype) != dtype:
        raise TypeError(f"JAX has no {dtype.name} unless its 64-bit switch is on")
    if "c" in (x.dtype.kind, dtype.kind):
        return on_host("bitcast")(x, dtype)
    wide, narrow = dtype.itemsize, x.dtype.itemsize
    if wide > narrow:
        x = x.reshape((*x.shape[:-1], -1, wide // narrow))
    found = lax.bitcast_convert_type(x, dtype)
    return found.reshape((*found.shape[:-2], -1)) if wide < narrow else found


_bitcast.on_host_when = "complex numbers"


def _angle(x: jax.Array) -> Any:
    return jnp.angle(x).astype(x.real.dtype)


KERNELS: dict[str, Any] = {
    "div": jnp.true_divide,
    "reciprocal": lambda x: jnp.true_divide(jnp.ones_like(x), x),
    "square": lambda x: jnp.multiply(x, x),
    "sqrt": jnp.sqrt,
    "rsqrt": lambda x: jnp.reciprocal(jnp.sqrt(x)),
    "cbrt": jnp.cbrt,
    "power_number": _power_number,
    "power": _power,
    "exp": jnp.exp,
    "exp2": jnp.exp2,
    "expm1": jnp.expm1,
    "log": jnp.log,
    "log2": jnp.log2,
    "log10": jnp.log10,
    "log1p": jnp.log1p,
    "logaddexp": jnp.logaddexp,
    "logaddexp2": jnp.logaddexp2,
    "sigmoid": _sigmoid,
    "sin": jnp.sin,
    "cos": jnp.cos,
    "tan": jnp.tan,
    "arcsin": jnp.arcsin,
    "arccos": jnp.arccos,
    "arctan": jnp.arctan,
    "sinh": jnp.sinh,
    "cosh": jnp.cosh,
    "tanh": jnp.tanh,
    "arcsinh": jnp.arcsinh,
    "arccosh": jnp.arccosh,
    "arctanh": jnp.arctanh,
    "arctan2": jnp.arctan2,
    "hypot": jnp.hypot,
    "abs": jnp.abs,
    "ldexp": lambda x, n: jnp.ldexp(x, n).astype(x.dtype),
    "exponent": lambda x: jnp.frexp(x)[1],
    "nextafter": jnp.nextafter,
    "gcd": jnp.gcd,
    "lcm": jnp.lcm,
    "bitcast": _bitcast,
    "eq": jnp.equal,
    "ne": jnp.not_equal,
    "lt": jnp.less,
    "le": jnp.less_equal,
    "gt": jnp.greater,
    "ge": jnp.greater_equal,
    "isnan": jnp.isnan,
    "isinf": jnp.isinf,
    "isfinite": jnp.isfinite,
    "signbit": jnp.signbit,
    "logical_and": jnp.logical_and,
    "logical_or": jnp.logical_or,
    "logical_xor": jnp.logical_xor,
    "logical_not": jnp.logical_not,
    "bitwise_and": jnp.bitwise_and,
    "bitwise_or": jnp.bitwise_or,
    "bitwise_xor": jnp.bitwise_xor,
    "bitwise_not": jnp.bitwise_not,
    "left_shift": _shifted(jnp.left_shift, jnp.zeros_like),
    "right_shift": _shifted(jnp.right_shift, lambda x: jnp.where(x < 0, -1, 0).astype(x.dtype)),
    "floor": jnp.floor,
    "ceil": jnp.ceil,
    "trunc": jnp.trunc,
    "rint": jnp.rint,
    "sign": jnp.sign,
    "floor_divide": _by_nonzero(_floor_divide),
    "maximum_iterations": _not_negative,
    "place_of_number": _found,
    "maximum": jnp.maximum,
    "minimum": jnp.minimum,
    "fmax": jnp.fmax,
    "fmin": jnp.fmin,
    "clip": _clip,
    "relu": lambda x: jnp.maximum(x, jnp.zeros_like(x)),
    "mod": _by_nonzero(jnp.remainder),
    "fmod": _by_nonzero(_fmod),
    "copysign": jnp.copysign,
    "heaviside": jnp.heaviside,
    "angle": in_float32(_angle),
}
