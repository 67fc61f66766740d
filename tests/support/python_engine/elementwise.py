"""Elementwise kernels of the plain-Python engine: which scalar function each op applies, and the result's dtype.

The scalar functions are in `safe_math.py` and `special_math.py`; operands have one shape and one dtype.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

from tests.support.python_engine import bessel_math, incomplete_math, quantiles_math
from tests.support.python_engine import safe_math as m
from tests.support.python_engine import special_math as special
from tests.support.python_engine.array import PyArray, convert, make, map1, map2, strict_partner
from tests.support.python_engine.dtypes import BOOL, INT32, LARGEST, SIGNIFICANCE, complex_of, real_of, rounder
from tests.support.python_engine.interop import from_numpy, to_numpy

Kernel = Callable[..., PyArray]


def _same(fn: Callable[[Any], Any]) -> Kernel:
    return lambda x: map1(fn, x)


def _not_negative(value: Any) -> Any:
    if value < 0:
        raise ValueError(f"wanted an integer that is not negative, got {value}")
    return value


def _found(value: Any) -> Any:
    if value < 0:
        raise ValueError("all elements of a slice are NaN")
    return value


def _same2(fn: Callable[[Any, Any], Any]) -> Kernel:
    return lambda x, y: map2(fn, x, y)


def _predicate(fn: Callable[[Any], bool]) -> Kernel:
    return lambda x: map1(fn, x, BOOL)


def _predicate2(fn: Callable[[Any, Any], bool]) -> Kernel:
    return lambda x, y: map2(fn, x, y, BOOL)


def _to_real(fn: Callable[[Any], Any]) -> Kernel:
    return lambda x: map1(fn, x, real_of(x.dtype))


def _with_order(fn: Callable[[Any, int], Any]) -> Kernel:
    return lambda x, order: map1(lambda v: fn(v, order), x)


def _with_order2(fn: Callable[[Any, Any, int], Any]) -> Kernel:
    return lambda x, y, order: map2(lambda v, w: fn(v, w, order), x, y)


def _with_number(fn: Callable[[Any, Any], Any]) -> Kernel:
    """A kernel whose second operand is a Python number, rounded to the first one's dtype."""

    def kernel(x: PyArray, number: Any) -> PyArray:
        value = rounder(x.dtype)(number)
        return map1(lambda v: fn(v, value), x)

    return kernel


def order_key(v: Any) -> Any:
    """Sort key with NaN last and complex numbers by real, then imaginary part."""
    if v != v:
        return (1, 0, 0)
    return (0, v.real, v.imag)


def maximum(a: Any, b: Any) -> Any:
    """The larger number; a NaN wins, the first of equals stays."""
    return a if a != a or (b == b and order_key(a) >= order_key(b)) else b


def minimum(a: Any, b: Any) -> Any:
    """The smaller number; a NaN wins, the first of equals stays."""
    return a if a != a or (b == b and order_key(a) <= order_key(b)) else b


def _fmax(a: Any, b: Any) -> Any:
    return b if a != a else a if b != b else maximum(a, b)


def _fmin(a: Any, b: Any) -> Any:
    return b if a != a else a if b != b else minimum(a, b)


def _is_finite(v: Any) -> bool:
    return math.isfinite(v.real) and math.isfinite(v.imag)


def _is_inf(v: Any) -> bool:
    return math.isinf(v.real) or math.isinf(v.imag)


def _angle(v: Any) -> float:
    return math.atan2(v.imag, v.real)


def _abs(v: Any) -> Any:
    return math.hypot(v.real, v.imag) if isinstance(v, complex) else abs(v)


def _add(a: Any, b: Any) -> Any:
    return a or b if isinstance(a, bool) else a + b


def _multiply(a: Any, b: Any) -> Any:
    return a and b if isinstance(a, bool) else a * b


def _heaviside(x: float, at_zero: float) -> float:
    return x if x != x else at_zero if x == 0 else float(x > 0)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """An ordering comparison that is false beside a NaN and knows complex numbers."""

    def holds(a: Any, b: Any) -> bool:
        return a == a and b == b and compare(order_key(a), order_key(b))

    return holds


def _invert(v: Any) -> Any:
    return not v if isinstance(v, bool) else ~v


def left_shift(x: PyArray, y: PyArray) -> PyArray:
    """``x << y``; a shift by the width or more (or a negative one) leaves 0."""
    bits = 8 * x.dtype.itemsize
    return map2(lambda a, b: a << b if 0 <= b < bits else 0, x, y)


def right_shift(x: PyArray, y: PyArray) -> PyArray:
    """``x >> y``; a shift by the width or more leaves the sign."""
    bits = 8 * x.dtype.itemsize
    return map2(lambda a, b: a >> b if 0 <= b < bits else -(a < 0), x, y)


def select(cond: PyArray, x: PyArray, y: PyArray) -> PyArray:
    """x where the condition holds, else y."""
    strict_partner(cond, x)
    strict_partner(x, y)
    chosen = [a if c else b for c, a, b in zip(cond.flat, x.flat, y.flat, strict=True)]
    return make(x.shape, x.dtype, chosen)


def clip(x: PyArray, lo: PyArray, hi: PyArray) -> PyArray:
    """``minimum(maximum(x, lo), hi)``."""
    return map2(minimum, map2(maximum, x, lo), hi)


def map3(fn: Callable[[Any, Any, Any], Any], x: PyArray, y: PyArray, z: PyArray) -> PyArray:
    """A function of three numbers, element by element."""
    strict_partner(x, y)
    strict_partner(x, z)
    return make(x.shape, x.dtype, [fn(*v) for v in zip(x.flat, y.flat, z.flat, strict=True)])


def betainc(a: PyArray, b: PyArray, x: PyArray, order_a: int, order_b: int) -> PyArray:
    """The incomplete beta function, or a derivative of it."""
    return map3(lambda p, q, v: incomplete_math.betainc(p, q, v, order_a, order_b), a, b, x)


def ldexp(x: PyArray, n: PyArray) -> PyArray:
    """x times two to the power of n."""

    def scaled(v: float, k: int) -> float:
        try:
            return math.ldexp(v, k)
        except OverflowError:
            return math.copysign(math.inf, v)

    return make(x.shape, x.dtype, [scaled(v, k) for v, k in zip(x.flat, n.flat, strict=True)])


def exponent(x: PyArray) -> PyArray:
    """The exponents that `math.frexp` gives."""
    return map1(lambda v: math.frexp(v)[1], x, INT32)


def nextafter(x: PyArray, y: PyArray) -> PyArray:
    """The neighbours of x on the way to y."""
    precision, lowest = SIGNIFICANCE[x.dtype.name]

    def neighbour(v: float, to: float) -> float:
        if v != v or to != to:
            return math.nan
        if v == to:
            return to
        if math.isinf(v):  # the largest finite number is half a step below
            return rounder(x.dtype)(math.copysign(LARGEST[x.dtype.name], v))
        step = max(math.frexp(v)[1] - precision, lowest)
        if v and abs(math.frexp(v)[0]) == 0.5 and (to < v) == (v > 0):
            step = max(step - 1, lowest)  # towards 0 the steps below a power of two are half as long
        return v + math.copysign(math.ldexp(1.0, step), to - v)

    return map2(neighbour, x, y)


def as_complex(x: PyArray, y: PyArray) -> PyArray:
    """x + iy."""
    return map2(complex, x, y, complex_of(x.dtype))


def power_number(x: PyArray, number: Any) -> PyArray:
    """x to the power of a Python number."""
    return map1(lambda v: _multiply(v, v), x) if number == 2 else _power_rounded(x, number)


_power_rounded = _with_number(m.power)


def _scale(x: Any, y: Any) -> Any:
    return x * y if x != 0 else type(x)(0)


def _xlogy(x: float, y: float) -> float:
    return 0.0 if x == 0 and y == y else x * m.FUNCTIONS["log"](y)


def _xlog1py(x: float, y: float) -> float:
    return 0.0 if x == 0 and y == y else x * m.FUNCTIONS["log1p"](y)


KERNELS: dict[str, Kernel] = {
    **{name: _same(fn) for name, fn in m.FUNCTIONS.items()},
    **{name: _same(fn) for name, fn in special.FUNCTIONS.items()},
    **{name: _same(fn) for name, fn in incomplete_math.FUNCTIONS.items()},
    **{name: _same2(fn) for name, fn in incomplete_math.BINARY.items()},
    **{name: _with_order(fn) for name, fn in special.ORDERED.items()},
    **{name: _with_order(fn) for name, fn in bessel_math.ORDERED.items()},
    **{name: _with_order2(fn) for name, fn in incomplete_math.BINARY_ORDERED.items()},
    **{name: _same(fn) for name, fn in quantiles_math.FUNCTIONS.items()},
    **{name: _same2(fn) for name, fn in quantiles_math.BINARY.items()},
    "poisson_count": lambda q, mu, upper: map2(lambda a, b: quantiles_math.poisson_count(a, b, upper), q, mu),
    "binom_count": lambda q, n, p, upper: map3(lambda a, b, c: quantiles_math.binom_count(a, b, c, upper), q, n, p),
    "nbinom_count": lambda q, n, p, upper: map3(lambda a, b, c: quantiles_math.nbinom_count(a, b, c, upper), q, n, p),
    "betainc": betainc,
    "betaincinv": lambda a, b, p: map3(incomplete_math.betaincinv, a, b, p),
    "betaincc": lambda a, b, x: map3(incomplete_math.betaincc, a, b, x),
    "ldexp": ldexp,
    "exponent": exponent,
    "nextafter": nextafter,
    "square": _same(lambda v: _multiply(v, v)),
    "neg": _same(operator.neg),
    "relu": _same(lambda v: maximum(v, type(v)(0))),
    "abs": _to_real(_abs),
    "real": _to_real(lambda v: v.real),
    "imag": _to_real(lambda v: v.imag),
    "angle": _to_real(_angle),
    "conj": _same(lambda v: v.conjugate()),
    "as_complex": as_complex,
    "isfinite": _predicate(_is_finite),
    "isinf": _predicate(_is_inf),
    "isnan": _predicate(lambda v: v != v),
    "signbit": _predicate(lambda v: math.copysign(1.0, v) < 0),
    "logical_not": _predicate(operator.not_),
    "add": _same2(_add),
    "add_n": lambda *xs: functools.reduce(_same2(_add), xs),
    "sub": _same2(operator.sub),
    "mul": _same2(_multiply),
    "scale": _same2(_scale),
    "times_number": _with_number(operator.mul),
    "add_number": _with_number(operator.add),
    "div": _same2(m.divide),
    "power": _same2(m.power),
    "power_number": power_number,
    "floor_divide": _same2(m.floor_divide),
    "maximum_iterations": _same(_not_negative),
    "place_of_number": _same(_found),
    "mod": _same2(m.mod),
    "fmod": _same2(m.fmod),
    "arctan2": _same2(math.atan2),
    "hypot": _same2(math.hypot),
    "logaddexp": _same2(m.logaddexp),
    "logaddexp2": _same2(m.logaddexp2),
    "xlogy": _same2(_xlogy),
    "xlog1py": _same2(_xlog1py),
    "maximum": _same2(maximum),
    "minimum": _same2(minimum),
    "fmax": _same2(_fmax),
    "fmin": _same2(_fmin),
    "copysign": _same2(math.copysign),
    "heaviside": _same2(_heaviside),
    "eq": _predicate2(operator.eq),
    "ne": _predicate2(operator.ne),
    "lt": _predicate2(_ordered(operator.lt)),
    "le": _predicate2(_ordered(operator.le)),
    "gt": _predicate2(_ordered(operator.gt)),
    "ge": _predicate2(_ordered(operator.ge)),
    "logical_and": _predicate2(operator.and_),
    "logical_or": _predicate2(operator.or_),
    "logical_xor": _predicate2(operator.xor),
    "bitwise_and": _same2(operator.and_),
    "bitwise_or": _same2(operator.or_),
    "bitwise_xor": _same2(operator.xor),
    "bitwise_not": _same(_invert),
    "left_shift": left_shift,
    "right_shift": right_shift,
    "bitcast": lambda x, dtype: from_numpy(to_numpy(x).view(dtype)),
    "gcd": _same2(math.gcd),
    "lcm": _same2(math.lcm),
    "select": select,
    "clip": clip,
    "convert": convert,
}
