"""Elementwise kernels of the plain-Python engine, by NumPy's names.

Owns which scalar function each op applies and the dtype of its result. The scalar functions are in
`safe_math.py`; operands broadcast.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from wengert._engines.python import safe_math as m
from wengert._engines.python.array import PyArray, broadcast_shapes, broadcast_to, convert, make, map1, map2
from wengert._engines.python.dtypes import BOOL, complex_of, float_of, real_of

Kernel = Callable[..., PyArray]


def _float_function(fn: Callable[[Any], Any]) -> Kernel:
    return lambda x: map1(fn, x, float_of(x.dtype))


def _float_function2(fn: Callable[[Any, Any], Any]) -> Kernel:
    return lambda x, y: map2(fn, x, y, float_of(x.dtype))


def _same(fn: Callable[[Any], Any]) -> Kernel:
    return lambda x: map1(fn, x)


def _same2(fn: Callable[[Any, Any], Any]) -> Kernel:
    return lambda x, y: map2(fn, x, y)


def _predicate(fn: Callable[[Any], bool]) -> Kernel:
    return lambda x: map1(fn, x, BOOL)


def _predicate2(fn: Callable[[Any, Any], bool]) -> Kernel:
    return lambda x, y: map2(fn, x, y, BOOL)


def _to_real(fn: Callable[[Any], Any]) -> Kernel:
    return lambda x: map1(fn, x, real_of(x.dtype))


def _keeps_integers(name: str) -> Kernel:
    """Rounding functions leave integers alone (a float would lose their low bits)."""
    fn = m.FUNCTIONS[name]
    return lambda x: x if x.dtype.kind in "biu" else map1(fn, x)


def is_nan(v: Any) -> bool:
    """Whether a number is NaN, or complex with a NaN part."""
    return v != v


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


def _sign(v: Any) -> Any:
    return (v > 0) - (v < 0) if isinstance(v, int) else m.FUNCTIONS["sign"](v)


def _reciprocal(v: Any) -> Any:
    if isinstance(v, int):
        return int(1 / v) if v else 0
    return m.FUNCTIONS["reciprocal"](v)


def _is_finite(v: Any) -> bool:
    return math.isfinite(v.real) and math.isfinite(v.imag)


def _is_inf(v: Any) -> bool:
    return math.isinf(v.real) or math.isinf(v.imag)


def _angle(v: Any) -> float:
    return math.atan2(v.imag, v.real)


def _abs(v: Any) -> Any:
    return math.hypot(v.real, v.imag) if isinstance(v, complex) else abs(v)


def _negative(v: Any) -> Any:
    return -v


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


def select(condition: PyArray, x: PyArray, y: PyArray) -> PyArray:
    """x where the condition holds, else y."""
    shape = broadcast_shapes(condition.shape, x.shape, y.shape)
    condition, x, y = (broadcast_to(a, shape) for a in (condition, x, y))
    chosen = [a if c else b for c, a, b in zip(condition.flat, x.flat, y.flat, strict=True)]
    return make(shape, x.dtype, chosen)


def clip(x: PyArray, low: PyArray, high: PyArray) -> PyArray:
    """``minimum(maximum(x, low), high)``."""
    return map2(minimum, map2(maximum, x, low), high)


def to_complex(real: PyArray, imag: PyArray) -> PyArray:
    """The complex array of two real parts."""
    return map2(complex, real, imag, complex_of(real.dtype))


def polygamma(x: PyArray, n: int) -> PyArray:
    """The n-th derivative of digamma."""
    return map1(lambda v: m.polygamma(n, float(v)), x, float_of(x.dtype))


_ROUNDINGS = ("floor", "ceil", "trunc", "rint")
_OWN_DTYPE = ("sign", "reciprocal")

KERNELS: dict[str, Kernel] = {
    **{
        name: _float_function(fn)
        for name, fn in m.FUNCTIONS.items()
        if name not in (*_ROUNDINGS, *_OWN_DTYPE)
    },
    **{name: _keeps_integers(name) for name in _ROUNDINGS},
    "sign": _same(_sign),
    "reciprocal": _same(_reciprocal),
    "square": _same(lambda v: _multiply(v, v)),
    "negative": _same(_negative),
    "positive": _same(lambda v: v),
    "abs": _to_real(_abs),
    "real": _to_real(lambda v: v.real),
    "imag": _to_real(lambda v: v.imag),
    "angle": lambda x: map1(_angle, x, real_of(float_of(x.dtype))),
    "conj": _same(lambda v: v.conjugate()),
    "complex": to_complex,
    "polygamma": polygamma,
    "isfinite": _predicate(_is_finite),
    "isinf": _predicate(_is_inf),
    "isnan": _predicate(is_nan),
    "signbit": _predicate(lambda v: math.copysign(1.0, v) < 0),
    "logical_not": _predicate(operator.not_),
    "add": _same2(_add),
    "subtract": _same2(operator.sub),
    "multiply": _same2(_multiply),
    "divide": _float_function2(m.divide),
    "power": _same2(m.power),
    "floor_divide": _same2(m.floor_divide),
    "mod": _same2(m.mod),
    "fmod": _same2(m.fmod),
    "arctan2": _float_function2(math.atan2),
    "hypot": _float_function2(math.hypot),
    "logaddexp": _float_function2(m.logaddexp),
    "logaddexp2": _float_function2(m.logaddexp2),
    "maximum": _same2(maximum),
    "minimum": _same2(minimum),
    "fmax": _same2(_fmax),
    "fmin": _same2(_fmin),
    "copysign": _float_function2(math.copysign),
    "nextafter": _float_function2(math.nextafter),
    "heaviside": _float_function2(_heaviside),
    "ldexp": _float_function2(m.ldexp),
    "gcd": _same2(math.gcd),
    "lcm": _same2(math.lcm),
    "equal": _predicate2(operator.eq),
    "not_equal": _predicate2(operator.ne),
    "less": _predicate2(_ordered(operator.lt)),
    "less_equal": _predicate2(_ordered(operator.le)),
    "greater": _predicate2(_ordered(operator.gt)),
    "greater_equal": _predicate2(_ordered(operator.ge)),
    "logical_and": _predicate2(lambda a, b: bool(a) and bool(b)),
    "logical_or": _predicate2(lambda a, b: bool(a) or bool(b)),
    "logical_xor": _predicate2(lambda a, b: bool(a) != bool(b)),
    "bitwise_and": _same2(operator.and_),
    "bitwise_or": _same2(operator.or_),
    "bitwise_xor": _same2(operator.xor),
    "bitwise_not": _same(_invert),
    "left_shift": left_shift,
    "right_shift": right_shift,
    "select": select,
    "clip": clip,
    "convert": convert,
}
