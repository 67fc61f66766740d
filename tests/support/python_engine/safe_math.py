"""Scalar functions that never raise: C99's (and NumPy's) infinities and NaNs where Python's math raises.

Owns real and complex scalar functions for the plain-Python engine; knows no arrays. Real functions take and
give floats, complex ones complex numbers; `pick` joins the two.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

Real = Callable[[float], float]
Complex = Callable[[complex], complex]

INF, NAN = math.inf, math.nan
_COMPLEX_NAN = complex(NAN, NAN)


def real_function(fn: Real, poles: dict[float, float] | None = None, overflow: Real = lambda x: INF) -> Real:
    """`fn` with its values at poles, NaN outside its domain, and an infinity where it overflows."""
    poles = poles or {}

    def safe(x: float) -> float:
        if x in poles:
            return poles[x]
        try:
            return fn(x)
        except (ValueError, ZeroDivisionError):
            return NAN
        except OverflowError:
            return overflow(x)

    return safe


def complex_function(fn: Complex, poles: dict[complex, complex] | None = None) -> Complex:
    """`fn` with its values at poles, and NaN where cmath raises."""
    poles = poles or {}

    def safe(z: complex) -> complex:
        if z in poles:
            return poles[z]
        try:
            return fn(z)
        except (ValueError, ZeroDivisionError, OverflowError):
            return _COMPLEX_NAN

    return safe


def pick(real: Real, complex_: Complex | None) -> Callable[[Any], Any]:
    """A function of a Python number that goes by the number's type."""

    def choose(x: Any) -> Any:
        if not isinstance(x, complex):
            return real(float(x))
        if complex_ is None:
            raise TypeError("the function is not defined for complex numbers")
        return complex_(x)

    return choose


def _signed_inf(x: float) -> float:
    return math.copysign(INF, x)


def _rint(x: float) -> float:
    # round() gives an int, which has lost the sign of zero.
    return math.copysign(float(round(x)), x) if math.isfinite(x) else x


def _integral(fn: Callable[[float], int]) -> Real:
    return lambda x: math.copysign(float(fn(x)), x) if math.isfinite(x) else x


def _floor(x: float) -> float:
    return x if not math.isfinite(x) or x == 0 else float(math.floor(x))


def reciprocal(x: float) -> float:
    return 1.0 / x if x else _signed_inf(x)


def _rsqrt(x: float) -> float:
    return _signed_inf(x) if x == 0 else 1.0 / math.sqrt(x) if x > 0 else NAN


def _sigmoid(x: float) -> float:
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    small = math.exp(x)
    return small / (1.0 + small)


def softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x))) if x == x else x


def sign(x: Any) -> Any:
    """-1, 0 or 1, of a float or an integer; NaN of NaN."""
    return x if x != x else (x > 0) - (x < 0)


def _complex_log1p(z: complex) -> complex:
    x, y = z.real, z.imag
    if z == -1:
        return complex(-INF, y)
    square = x * (2 + x) + y * y
    return complex(math.log1p(square) / 2 if abs(square) < 0.5 else math.log(abs(1 + z)), math.atan2(y, 1 + x))


def _complex_expm1(z: complex) -> complex:
    x, y = z.real, z.imag
    if y == 0:
        return complex(math.expm1(x) + 0.0, y)  # a zero is positive, as the array API standard has it
    if not math.isfinite(y):
        return {-INF: complex(-1, 0), INF: complex(INF, math.nan)}.get(x, complex(math.nan, math.nan))
    half = math.sin(y / 2)
    return complex(math.expm1(x) * math.cos(y) - 2 * half * half, math.exp(x) * math.sin(y))


def divide(x: Any, y: Any) -> Any:
    """x / y with IEEE's results for a zero divisor."""
    try:
        return x / y
    except ZeroDivisionError:
        if isinstance(x, complex) or isinstance(y, complex):
            x = complex(x)
            return complex(divide(x.real, 0.0), divide(x.imag, 0.0))
        return NAN if x == 0 or x != x else math.copysign(1.0, x) * _signed_inf(y)
    except OverflowError:
        return _COMPLEX_NAN


def _complex_reciprocal(z: complex) -> complex:
    return divide(1 + 0j, z)


def power(x: Any, y: Any) -> Any:
    """x ** y: exact integers, C99's pow for floats, the principal value for complex numbers."""
    if isinstance(x, complex) or isinstance(y, complex):
        return _complex_power(complex(x), complex(y))
    if isinstance(x, int) and isinstance(y, int):
        if y < 0:
            raise ValueError("power: integers to negative integer powers are not allowed")
        return pow(x, y, 1 << 64)  # the widest integer dtype keeps no more than this
    try:
        return math.pow(x, y)
    except ValueError:
        if x != 0:  # a negative base under a broken exponent
            return NAN
        return math.copysign(INF, x) if y % 2 == 1 else INF
    except OverflowError:
        return -INF if x < 0 and y % 2 == 1 else INF


def _complex_power(x: complex, y: complex) -> complex:
    try:
        return x**y
    except ZeroDivisionError:
        return _COMPLEX_NAN
    except (OverflowError, ValueError):
        return complex_function(lambda z: cmath.exp(y * cmath.log(z)))(x)


def floor_divide(x: Any, y: Any) -> Any:
    """floor(x / y): 0 for an integer zero divisor, as NumPy; IEEE's for a float one."""
    if y == 0:
        return 0 if isinstance(y, int) else divide(x, y)
    return x // y


def mod(x: Any, y: Any) -> Any:
    """The remainder with the divisor's sign: 0 for an integer zero divisor, NaN for a float one."""
    if y == 0:
        return 0 if isinstance(y, int) else NAN
    try:
        return x % y
    except ValueError:
        return NAN


def fmod(x: Any, y: Any) -> Any:
    """The remainder with the dividend's sign."""
    if isinstance(x, int) and isinstance(y, int):
        return (abs(x) % abs(y)) * (-1 if x < 0 else 1) if y else 0
    try:
        return math.fmod(x, y)
    except ValueError:
        return NAN


def logaddexp(x: float, y: float) -> float:
    """log(exp(x) + exp(y))."""
    return x + math.log(2.0) if x == y else max(x, y) + math.log1p(math.exp(-abs(x - y))) if x - y == x - y else NAN


def logaddexp2(x: float, y: float) -> float:
    """log2(2**x + 2**y)."""
    if x == y:
        return x + 1.0
    return max(x, y) + math.log1p(2.0 ** -abs(x - y)) / math.log(2.0) if x - y == x - y else NAN


_LN2 = math.log(2.0)

# Functions of one number, float or complex, to the same kind; named as in NumPy and SciPy.
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sin": pick(real_function(math.sin), complex_function(cmath.sin)),
    "cos": pick(real_function(math.cos), complex_function(cmath.cos)),
    "tan": pick(real_function(math.tan), complex_function(cmath.tan)),
    "arcsin": pick(real_function(math.asin), complex_function(cmath.asin)),
    "arccos": pick(real_function(math.acos), complex_function(cmath.acos)),
    "arctan": pick(math.atan, complex_function(cmath.atan)),
    "sinh": pick(real_function(math.sinh, overflow=_signed_inf), complex_function(cmath.sinh)),
    "cosh": pick(real_function(math.cosh), complex_function(cmath.cosh)),
    "tanh": pick(math.tanh, complex_function(cmath.tanh)),
    "arcsinh": pick(math.asinh, complex_function(cmath.asinh)),
    "arccosh": pick(real_function(math.acosh), complex_function(cmath.acosh)),
    "arctanh": pick(real_function(math.atanh, {1.0: INF, -1.0: -INF}), complex_function(cmath.atanh)),
    "exp": pick(real_function(math.exp), complex_function(cmath.exp)),
    "exp2": pick(real_function(math.exp2), complex_function(lambda z: cmath.exp(z * _LN2))),
    "expm1": pick(real_function(math.expm1), complex_function(_complex_expm1)),
    "log": pick(real_function(math.log, {0.0: -INF}), complex_function(cmath.log, {0j: complex(-INF, 0)})),
    "log1p": pick(real_function(math.log1p, {-1.0: -INF}), complex_function(_complex_log1p)),
    "log2": pick(
        real_function(math.log2, {0.0: -INF}),
        complex_function(lambda z: cmath.log(z) / _LN2, {0j: complex(-INF, 0)}),
    ),
    "log10": pick(real_function(math.log10, {0.0: -INF}), complex_function(cmath.log10, {0j: complex(-INF, 0)})),
    "sqrt": pick(real_function(math.sqrt), complex_function(cmath.sqrt)),
    "cbrt": pick(math.cbrt, None),
    "reciprocal": pick(reciprocal, _complex_reciprocal),
    "rsqrt": pick(_rsqrt, lambda z: _complex_reciprocal(cmath.sqrt(z))),
    "sign": sign,
    "floor": pick(_floor, None),
    "ceil": pick(_integral(math.ceil), None),
    "trunc": pick(_integral(math.trunc), None),
    "rint": pick(_rint, None),
    "sigmoid": pick(_sigmoid, lambda z: _complex_reciprocal(1 + cmath.exp(-z))),
    "softplus": pick(softplus, None),
}
