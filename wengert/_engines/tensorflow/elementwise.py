"""TensorFlow kernels of the elementwise ops and of `_prims/piecewise.py`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from ..checks import require_found, require_not_negative
from .common import (
    any_integer,
    dtype_of,
    in_float32,
    in_wider_integers,
    is_half,
    keeping_nan,
    numpy_dtype,
    on_host,
    on_host_when,
    values_of,
)

_INTEGER_LIKE = {tf.float64: tf.int64, tf.float32: tf.int32, tf.float16: tf.int16, tf.bfloat16: tf.int16}
_MANTISSA = {tf.float64: 52, tf.float32: 23, tf.float16: 10, tf.bfloat16: 7}


def _of(x: tf.Tensor, value: Any) -> Any:
    return tf.constant(value, x.dtype)


def _unless_complex(name: str, function: Callable[..., Any]) -> Any:
    """TensorFlow's function of real numbers; complex ones are the host's, for it has none of them."""
    host, plain = on_host(name), in_float32(function)
    return on_host_when("complex numbers", lambda x, *rest: host(x, *rest) if x.dtype.is_complex else plain(x, *rest))


def _bitwise(function: Callable[..., Any], on_bools: Callable[..., Any]) -> Any:
    """A function of integers (and floats) that has a twin on bools."""
    return lambda *xs: on_bools(*xs) if xs[0].dtype == tf.bool else function(*xs)


# -- powers and logarithms ---------------------------------------------------------------------------------------------


def _refuse_negative_powers(y: tf.Tensor) -> None:
    known = values_of(y)
    if known is not None and known[0].dtype.kind == "i" and (known[0] < 0).any():
        raise ValueError("Integers to negative integer powers are not allowed.")


_integer_power = any_integer(tf.pow)


def _power(x: tf.Tensor, y: tf.Tensor) -> Any:
    if x.dtype.is_integer:
        _refuse_negative_powers(y)
        return _integer_power(x, tf.maximum(y, _of(y, 0)) if not y.dtype.is_unsigned else y)
    return tf.pow(x, y)


def _power_number(x: tf.Tensor, number: int) -> Any:
    if number == 2:
        return _square(x)
    if x.dtype.is_integer:
        if number < 0:
            raise ValueError("Integers to negative integer powers are not allowed.")
        return _integer_power(x, tf.constant(np.asarray(number, numpy_dtype(x))))
    if number == 3:
        return x * x * x
    if number == 0.5:
        return tf.sqrt(x)
    if number == -1:
        return tf.math.reciprocal(x)
    return tf.pow(x, _of(x, number))


_square = any_integer(lambda x: tf.multiply(x, x))


def _cbrt(x: tf.Tensor) -> Any:
    size = tf.abs(x)
    root = tf.pow(size, _of(x, 1 / 3))
    is_plain = tf.logical_and(tf.math.is_finite(root), root > 0)
    safe = tf.where(is_plain, root, _of(x, 1.0))
    better = safe - (safe - size / (safe * safe)) / 3  # one step of Newton's, for the power is not exact
    return _copysign(tf.where(is_plain, better, root), x)


def _exp2(x: tf.Tensor) -> Any:
    return tf.exp(x * _of(x, math.log(2))) if x.dtype.is_complex else tf.pow(_of(x, 2.0), x)


def _by_log(base: float) -> Any:
    return lambda x: tf.math.log(x) / _of(x, math.log(base))


def _logaddexp(x: tf.Tensor, y: tf.Tensor) -> Any:
    gap = -tf.abs(x - y)
    # equal infinities have no difference
    gap = tf.where(tf.equal(x, y), tf.zeros((), x.dtype), gap)
    return _maximum(x, y) + tf.math.log1p(tf.exp(gap))


def _logaddexp2(x: tf.Tensor, y: tf.Tensor) -> Any:
    gap = tf.where(tf.equal(x, y), tf.zeros((), x.dtype), -tf.abs(x - y))
    return _maximum(x, y) + tf.math.log1p(_exp2(gap)) / _of(x, math.log(2))


def _arctanh(x: tf.Tensor) -> Any:
    return (tf.math.log1p(x) - tf.math.log1p(-x)) / 2


def _arcsinh(x: tf.Tensor) -> Any:
    size = tf.abs(x)
    big = size > 1e8 if x.dtype == tf.float64 else size > 1e4
    safe = tf.where(big, _of(x, 1.0), size)
    near = tf.math.log1p(safe + safe * safe / (1 + tf.sqrt(1 + safe * safe)))
    far = tf.math.log(size) + _of(x, math.log(2))
    return _copysign(tf.where(big, far, near), x)


def _sinh(x: tf.Tensor) -> Any:
    grown = tf.math.expm1(tf.abs(x))
    half = tf.exp(tf.abs(x) / 2)
    near = (grown + grown / (grown + 1)) / 2
    is_far = tf.abs(x) > 20
    return _copysign(tf.where(is_far, half / 2 * half, near), x)


def _hypot(x: tf.Tensor, y: tf.Tensor) -> Any:
    x, y = tf.abs(x), tf.abs(y)
    large, small = _maximum(x, y), _minimum(x, y)
    is_plain = tf.logical_and(large > 0, tf.math.is_finite(large))
    ratio = tf.where(is_plain, small / tf.where(is_plain, large, _of(x, 1.0)), _of(x, 0.0))
    out = tf.where(is_plain, large * tf.sqrt(1 + ratio * ratio), large)
    endless = tf.logical_or(tf.math.is_inf(x), tf.math.is_inf(y))
    return tf.where(endless, _of(x, math.inf), out)


# -- signs, steps and bits ---------------------------------------------------------------------------------------------


def _bits(x: tf.Tensor) -> Any:
    return tf.bitcast(x, _INTEGER_LIKE[x.dtype])


def _signbit(x: tf.Tensor) -> Any:
    if x.dtype.is_floating:
        return _bits(x) < 0
    return x < _of(x, 0) if not x.dtype.is_unsigned else tf.zeros_like(x, tf.bool)


def _copysign(x: tf.Tensor, y: tf.Tensor) -> Any:
    size = tf.abs(x)
    return tf.where(_signbit(y), -size, size)


def _sign(x: tf.Tensor) -> Any:
    if x.dtype.is_unsigned:
        return tf.cast(tf.not_equal(x, _of(x, 0)), x.dtype)
    return _narrow_sign(x)


_narrow_sign = in_wider_integers(lambda x: tf.where(x != x, x, tf.sign(x)) if x.dtype.is_floating else tf.sign(x))


def _abs(x: tf.Tensor) -> Any:
    return x if x.dtype.is_unsigned or x.dtype == tf.bool else _narrow_abs(x)


_narrow_abs = in_wider_integers(tf.abs)


def _trunc(x: tf.Tensor) -> Any:
    return tf.where(x < 0, tf.math.ceil(x), tf.floor(x))


def _ldexp(x: tf.Tensor, n: Any) -> Any:
    wide = tf.clip_by_value(tf.cast(n, tf.int64), -4400, 4400)
    third = wide // 3
    for part in (third, third, wide - 2 * third):  # 2 ** n may overflow where x * 2 ** n does not
        x = x * tf.cast(tf.pow(_of(tf.zeros((), tf.float64), 2.0), tf.cast(part, tf.float64)), x.dtype)
    return x


def _exponent(x: tf.Tensor) -> Any:
    """Of a number between a half and one times a power of two."""
    width = _MANTISSA[x.dtype]
    bias = 126 if x.dtype in (tf.float32, tf.bfloat16) else 1022 if x.dtype == tf.float64 else 14
    mask = 2 * bias + 3

    def field(v: tf.Tensor) -> Any:
        return tf.cast(tf.bitwise.right_shift(_bits(v), _of(_bits(v), width)), tf.int32) & mask

    grown = x * _of(x, 2.0 ** (width + 2))  # of what is too small for an exponent of its own
    found = tf.where(field(x) == 0, field(grown) - (width + 2), field(x)) - bias
    return tf.where(tf.logical_or(tf.equal(x, 0), tf.logical_not(tf.math.is_finite(x))), 0, found)


def _nextafter(x: tf.Tensor, y: tf.Tensor) -> Any:
    return on_host("nextafter")(x, y) if is_half(x) else tf.math.nextafter(x, y)


def _gcd(x: tf.Tensor, y: tf.Tensor) -> Any:
    x, y = _abs(x), _abs(y)
    zero, one = _of(x, 0), _of(x, 1)

    def one_step(a: tf.Tensor, b: tf.Tensor) -> Any:
        is_done = tf.equal(b, zero)
        rest = tf.math.floormod(a, tf.where(is_done, one, b))
        return tf.where(is_done, a, b), tf.where(is_done, zero, rest)

    return tf.while_loop(lambda a, b: tf.reduce_any(tf.not_equal(b, zero)), one_step, (x, y))[0]


def _lcm(x: tf.Tensor, y: tf.Tensor) -> Any:
    common = _gcd(x, y)
    is_zero = tf.equal(common, _of(x, 0))
    return tf.where(is_zero, _of(x, 0), _abs(x) // tf.where(is_zero, _of(x, 1), common) * _abs(y))


def _bitcast(x: tf.Tensor, dtype: Any) -> Any:
    wanted = dtype_of(dtype)
    wide, narrow = dtype.itemsize, x.dtype.size
    if wide > narrow:
        x = tf.reshape(x, [*x.shape[:-1], x.shape[-1] * narrow // wide, wide // narrow])
    found = tf.bitcast(x, wanted)
    return tf.reshape(found, [*found.shape[:-2], found.shape[-2] * found.shape[-1]]) if wide < narrow else found


def _all_sign_bits(x: tf.Tensor) -> Any:
    return tf.zeros_like(x) if x.dtype.is_unsigned else tf.where(x < _of(x, 0), _of(x, -1), _of(x, 0))


def _shifted(function: Callable[..., Any], limit: Callable[..., Any]) -> Any:
    """Shifts by the width of the integers and more give what shifting bit by bit gives."""

    def kernel(x: tf.Tensor, y: tf.Tensor) -> Any:
        width = x.dtype.size * 8
        if width > 127 and x.dtype == tf.int8:
            return function(x, y)
        is_far = y >= _of(y, width)
        return tf.where(is_far, limit(x), function(x, tf.where(is_far, _of(y, 0), y)))

    return kernel


def _is(name: str) -> Any:
    """A question about a float; of a complex number about both parts, of an integer answered beforehand."""
    function = getattr(tf.math, name)

    def kernel(x: tf.Tensor) -> Any:
        if x.dtype.is_complex:
            both = tf.logical_and if name == "is_finite" else tf.logical_or
            return both(function(tf.math.real(x)), function(tf.math.imag(x)))
        if not x.dtype.is_floating:
            return tf.fill(tf.shape(x), name == "is_finite")
        return function(x)

    return kernel


is_finite = _is("is_finite")


def _ordered(name: str, function: Callable[..., Any]) -> Any:
    """A comparison; of complex numbers in NumPy's order, on the host."""

    def kernel(x: tf.Tensor, y: tf.Tensor) -> Any:
        if x.dtype.is_complex:
            return on_host(name)(x, y)
        if x.dtype == tf.bool:
            x, y = tf.cast(x, tf.int32), tf.cast(y, tf.int32)
        return function(x, y)

    return on_host_when("complex numbers", kernel)


# -- maxima, quotients, remainders -------------------------------------------------------------------------------------


_maximum = _bitwise(keeping_nan(tf.maximum), tf.logical_or)
_minimum = _bitwise(keeping_nan(tf.minimum), tf.logical_and)
_larger = _bitwise(tf.maximum, tf.logical_or)


def _relu(x: tf.Tensor) -> Any:
    return _larger(x, tf.zeros((), x.dtype))  # 0 is no boolean


def _without_nan(function: Callable[..., Any]) -> Any:
    """Where one operand is NaN the other one."""

    def kernel(x: tf.Tensor, y: tf.Tensor) -> Any:
        if not x.dtype.is_floating:
            return _maximum(x, y) if function is tf.maximum else _minimum(x, y)
        return tf.where(tf.math.is_nan(x), y, tf.where(tf.math.is_nan(y), x, function(x, y)))

    return kernel


def _by_nonzero(function: Callable[..., Any]) -> Any:
    """Division of integers by zero gives NumPy's value, zero."""

    def kernel(x: tf.Tensor, y: tf.Tensor) -> Any:
        if not x.dtype.is_integer:
            return function(x, y)
        is_zero = tf.equal(y, _of(y, 0))
        return tf.where(is_zero, _of(x, 0), function(x, tf.where(is_zero, _of(y, 1), y)))

    return kernel


def _floor_divide(x: tf.Tensor, y: tf.Tensor) -> Any:
    if x.dtype.is_integer:
        return in_wider_integers(tf.math.floordiv)(x, y)
    # NumPy's way: from the exact remainder, for floor(x / y) may round up to the next whole number
    remainder = tf.truncatemod(x, y)
    quotient = (x - remainder) / y
    quotient = tf.where(tf.logical_and(remainder != 0, (y < 0) != (remainder < 0)), quotient - 1, quotient)
    whole = tf.floor(quotient)
    whole = tf.where(quotient - whole > 0.5, whole + 1, whole)
    whole = tf.where(tf.equal(quotient, 0), _copysign(tf.zeros((), x.dtype), x / y), whole)
    return tf.where(tf.equal(y, 0), x / y, whole)


def _mod(x: tf.Tensor, y: tf.Tensor) -> Any:
    if x.dtype.is_integer:
        return in_wider_integers(tf.math.floormod)(x, y)
    remainder = tf.truncatemod(x, y)
    turned = tf.where(tf.logical_and(remainder != 0, (y < 0) != (remainder < 0)), remainder + y, remainder)
    return tf.where(tf.equal(turned, 0), _copysign(tf.zeros_like(turned), y), turned)


def _fmod(x: tf.Tensor, y: tf.Tensor) -> Any:
    if x.dtype.is_unsigned:
        return in_wider_integers(tf.math.floormod)(x, y)
    if x.dtype.is_integer:
        return in_wider_integers(tf.truncatemod)(x, y)
    remainder = tf.truncatemod(x, y)
    return tf.where(tf.equal(remainder, 0), _copysign(tf.zeros_like(remainder), x), remainder)


def _not_negative(x: tf.Tensor) -> Any:
    require_not_negative(values_of(x))
    return x


def _found(x: tf.Tensor) -> Any:
    require_found(values_of(x))
    return x


def _heaviside(x: tf.Tensor, y: tf.Tensor) -> Any:
    step = tf.where(x > 0, _of(x, 1.0), tf.where(x < 0, _of(x, 0.0), y))
    return tf.where(tf.math.is_nan(x), x, step)


def _angle(x: tf.Tensor) -> Any:
    if not x.dtype.is_complex:
        return tf.where(_signbit(x), _of(x, math.pi), _of(x, 0.0)) + tf.where(tf.math.is_nan(x), x, _of(x, 0.0))
    return tf.math.atan2(tf.math.imag(x), tf.math.real(x))


# -- sinc and products that are zero where a factor is -----------------------------------------------------------------


KERNELS: dict[str, Any] = {
    "div": tf.divide,
    "reciprocal": lambda x: tf.divide(_of(x, 1), x),
    "square": _square,
    "sqrt": tf.sqrt,
    "rsqrt": lambda x: tf.divide(_of(x, 1), tf.sqrt(x)),
    "cbrt": in_float32(_cbrt),
    "power_number": _power_number,
    "power": _power,
    "exp": tf.exp,
    "exp2": _exp2,
    "expm1": _unless_complex("expm1", tf.math.expm1),
    "log": tf.math.log,
    "log2": _by_log(2),
    "log10": _by_log(10),
    "log1p": _unless_complex("log1p", tf.math.log1p),
    "logaddexp": in_float32(_logaddexp),
    "logaddexp2": in_float32(_logaddexp2),
    "sigmoid": tf.sigmoid,
    "sin": tf.sin,
    "cos": tf.cos,
    "tan": tf.tan,
    "arcsin": _unless_complex("arcsin", tf.asin),
    "arccos": _unless_complex("arccos", tf.acos),
    "arctan": _unless_complex("arctan", tf.atan),
    "sinh": _unless_complex("sinh", _sinh),
    "cosh": _unless_complex("cosh", tf.cosh),
    "tanh": tf.tanh,
    "arcsinh": _unless_complex("arcsinh", _arcsinh),
    "arccosh": _unless_complex("arccosh", tf.acosh),
    "arctanh": _unless_complex("arctanh", _arctanh),
    "arctan2": in_float32(tf.math.atan2),
    "hypot": in_float32(_hypot),
    "abs": _abs,
    "ldexp": in_float32(_ldexp),
    "exponent": _exponent,
    "nextafter": on_host_when("half floats", _nextafter),
    "gcd": any_integer(_gcd),
    "lcm": any_integer(_lcm),
    "bitcast": _bitcast,
    "eq": tf.equal,
    "ne": tf.not_equal,
    "lt": _ordered("lt", tf.less),
    "le": _ordered("le", tf.less_equal),
    "gt": _ordered("gt", tf.greater),
    "ge": _ordered("ge", tf.greater_equal),
    "isnan": _is("is_nan"),
    "isinf": _is("is_inf"),
    "isfinite": is_finite,
    "signbit": _signbit,
    "logical_and": tf.logical_and,
    "logical_or": tf.logical_or,
    "logical_xor": tf.math.logical_xor,
    "logical_not": tf.logical_not,
    "bitwise_and": _bitwise(tf.bitwise.bitwise_and, tf.logical_and),
    "bitwise_or": _bitwise(tf.bitwise.bitwise_or, tf.logical_or),
    "bitwise_xor": _bitwise(tf.bitwise.bitwise_xor, tf.math.logical_xor),
    "bitwise_not": _bitwise(tf.bitwise.invert, tf.logical_not),
    "left_shift": _shifted(tf.bitwise.left_shift, tf.zeros_like),
    "right_shift": _shifted(tf.bitwise.right_shift, _all_sign_bits),
    "floor": tf.floor,
    "ceil": tf.math.ceil,
    "trunc": _trunc,
    "rint": in_float32(tf.math.rint),
    "sign": _sign,
    "floor_divide": _by_nonzero(in_float32(_floor_divide)),
    "maximum_iterations": _not_negative,
    "place_of_number": _found,
    "maximum": _maximum,
    "minimum": _minimum,
    "fmax": _without_nan(tf.maximum),
    "fmin": _without_nan(tf.minimum),
    "clip": lambda x, lo, hi: _minimum(_maximum(x, lo), hi),
    "relu": _relu,
    "mod": _by_nonzero(in_float32(_mod)),
    "fmod": _by_nonzero(in_float32(_fmod)),
    "copysign": _copysign,
    "heaviside": _heaviside,
    "angle": in_float32(_angle),
}
