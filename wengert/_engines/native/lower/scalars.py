"""Elementwise primitives on one element: what each computes, written in loops.

A rule is `rule(b, t, attrs, *operands)`: the builder, the operands' type, the node's attributes, one operand each. The
values are those of NumPy's kernels, NaN, infinities and signed zeros included; a branch is a select of two values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...._core.op import Op
from ..ir import half_floats
from ..ir.builder import Builder
from ..ir.loops import FLOATS, HALVES, SIGNED, UNSIGNED, WIDTHS, Operand

Rule = Callable[..., Operand]


def f64(b: Builder, op: str, *xs: Operand) -> Operand:
    """An operation on numbers of 64 bits."""
    return b.let(op, "f64", *xs)


def plain(op: str) -> Rule:
    return lambda b, t, attrs, *xs: b.let(op, t, *xs)


# -- arithmetic -------------------------------------------------------------------------------------------------------


def _add(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand, y: Operand) -> Operand:
    return b.let("or" if t == "bool" else "add", t, x, y)


def _mul(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand, y: Operand) -> Operand:
    return b.let("and" if t == "bool" else "mul", t, x, y)


def _add_n(b: Builder, t: str, attrs: tuple[Any, ...], *xs: Operand) -> Operand:
    total = xs[0]
    for x in xs[1:]:
        total = _add(b, t, attrs, total, x)
    return total


def _number(t: str, number: Any) -> Operand:
    return float(number) if t in FLOATS else bool(number) if t == "bool" else int(number)


def _times_number(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand) -> Operand:
    return _mul(b, t, attrs, x, _number(t, attrs[0]))


def _add_number(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand) -> Operand:
    return _add(b, t, attrs, x, _number(t, attrs[0]))


def _scale(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand, y: Operand) -> Operand:
    # where x is not 0, it is the same without a zero added to it
    return b.let("scale", t, b.plain.get(x, x), y)


def _power_number(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand) -> Operand:
    (number,) = attrs
    if number == 2:
        return b.let("mul", t, x, x)
    if t in FLOATS:
        return _float_power(b, t, x, float(number))
    return _integer_power(b, t, x, int(number))


def _float_power(b: Builder, t: str, x: Operand, number: float) -> Operand:
    """A short way for the exponents for which NumPy has one, too, and for small powers, as good as in a function of
    powers: few roundings, and no product on the way leaves the range before the result does."""
    if number in (3.0, 4.0, 5.0):
        return _integer_power(b, t, x, int(number))
    if number == 1.0:
        return x
    if number == 0.0:
        return 1.0
    if number == -1.0:
        return b.let("div", t, 1.0, x)
    if number == 0.5:
        return b.let("sqrt", t, x)
    return b.let("pow", t, x, number)


def _integer_power(b: Builder, t: str, x: Operand, number: int) -> Operand:
    """By squaring; the exponent is not negative, which is checked when the function is traced."""
    result: Operand | None = None
    while number:
        if number & 1:
            result = x if result is None else b.let("mul", t, result, x)
        number >>= 1
        if number:
            x = b.let("mul", t, x, x)
    return 1 if result is None else result


def _abs(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand) -> Operand:
    if t in FLOATS:
        return b.let("abs", t, x)
    return b.select(t, b.let("lt", t, x, 0), b.let("neg", t, x), x) if t in SIGNED else x


def _sign(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand) -> Operand:
    zero, one = _number(t, 0), _number(t, 1)
    if t in UNSIGNED:
        return b.select(t, b.let("gt", t, x, zero), one, zero)
    is_negative = b.let("lt", t, x, zero)
    rest = b.select(t, is_negative, _number(t, -1), b.select(t, b.let("eq", t, x, zero), zero, x))
    return b.select(t, b.let("gt", t, x, zero), one, rest)


def _rounded(op: str) -> Rule:
    return lambda b, t, attrs, x: b.let(op, t, x) if t in FLOATS else x


# -- division ---------------------------------------------------------------------------------------------------------


def _guarded(b: Builder, t: str, x: Operand, y: Operand) -> tuple[Operand, Operand]:
    """Whether y is zero, which the processor notes, and a divisor of x with which no machine traps.

    The least number divided by -1, too, is no quotient; with 1 in the place of -1 it is itself, as when it wraps round.
    """
    is_zero = _noted_zero(b, t, y)
    bad = is_zero
    if t in SIGNED:
        least = -(1 << (8 * WIDTHS[t] - 1))
        overflows = b.both(b.let("eq", t, x, least), b.let("eq", t, y, -1))
        bad = b.either(is_zero, overflows)
    return is_zero, b.select(t, bad, 1, y)


def _noted_zero(b: Builder, t: str, y: Operand) -> Operand:
    """Whether a whole number is zero, by a division of floats: that sets the flag by which NumPy's warning is found."""
    if type(y) is int:
        return y == 0
    return b.let("eq", "f64", b.let("abs", "f64", b.let("div", "f64", 1.0, b.convert("f64", t, y))), math.inf)


def _floor_divide(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand, y: Operand) -> Operand:
    if t in FLOATS:
        return _float_floor_divide(b, t, x, y)
    is_zero, divisor = _guarded(b, t, x, y)
    quotient = b.let("div", t, x, divisor)
    if t in SIGNED:
        rest = b.let("sub", t, x, b.let("mul", t, quotient, divisor))
        is_below = b.both(b.let("ne", t, rest, 0), b.let("lt", t, b.let("xor", t, rest, divisor), 0))
        quotient = b.select(t, is_below, b.let("sub", t, quotient, 1), quotient)
    return b.select(t, is_zero, 0, quotient)


def _float_remainder(b: Builder, t: str, x: Operand, y: Operand) -> tuple[Operand, Operand]:
    """C's remainder with the sign of y, and whether it has been moved by y for that."""
    rest = b.let("fmod", t, x, y)
    is_other = b.let("xor", "bool", b.let("lt", t, y, 0.0), b.let("lt", t, rest, 0.0))
    # of a NaN both tests fail: it stays what it is
    is_some = b.let("ne", t, rest, 0.0)
    moved = b.both(is_some, is_other)
    signed = b.select(t, is_some, rest, b.let("copysign", t, 0.0, y))
    return b.select(t, moved, b.let("add", t, rest, y), signed), moved


def _float_floor_divide(b: Builder, t: str, x: Operand, y: Operand) -> Operand:
    rest = b.let("fmod", t, x, y)
    exact = b.let("div", t, b.let("sub", t, x, rest), y)
    is_other = b.let("xor", "bool", b.let("lt", t, y, 0.0), b.let("lt", t, rest, 0.0))
    moved = b.both(b.let("ne", t, rest, 0.0), is_other)
    exact = b.select(t, moved, b.let("sub", t, exact, 1.0), exact)
    floor = b.let("floor", t, exact)
    is_short = b.let("gt", t, b.let("sub", t, exact, floor), 0.5)
    floor = b.select(t, is_short, b.let("add", t, floor, 1.0), floor)
    quotient = b.let("div", t, x, y)
    found = b.select(t, b.let("eq", t, exact, 0.0), b.let("copysign", t, 0.0, quotient), floor)
    return b.select(t, b.let("eq", t, y, 0.0), quotient, found)


def _mod(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand, y: Operand) -> Operand:
    if t in FLOATS:
        found, _ = _float_remainder(b, t, x, y)
        return b.select(t, b.let("eq", t, y, 0.0), b.let("fmod", t, x, y), found)
    is_zero, divisor = _guarded(b, t, x, y)
    rest = b.let("rem", t, x, divisor)
    if t in SIGNED:
        is_other = b.both(b.let("ne", t, rest, 0), b.let("lt", t, b.let("xor", t, rest, divisor), 0))
        rest = b.select(t, is_other, b.let("add", t, rest, divisor), rest)
    return b.select(t, is_zero, 0, rest)


def _fmod(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand, y: Operand) -> Operand:
    if t in FLOATS:
        return b.let("fmod", t, x, y)
    is_zero, divisor = _guarded(b, t, x, y)
    return b.select(t, is_zero, 0, b.let("rem", t, x, divisor))


# -- comparisons and choices ------------------------------------------------------------------------------------------


def is_nan(b: Builder, t: str, x: Operand) -> Operand:
    """Whether x is a NaN."""
    return b.let("ne", t, x, x)


def larger(b: Builder, t: str, x: Operand, y: Operand) -> Operand:
    """NumPy's maximum: a NaN wins; of equal ones it is y."""
    wins = b.let("gt", t, x, y)
    return b.select(t, b.either(wins, is_nan(b, t, x)) if t in FLOATS else wins, x, y)


def smaller(b: Builder, t: str, x: Operand, y: Operand) -> Operand:
    """NumPy's minimum: a NaN wins; of equal ones it is y."""
    wins = b.let("lt", t, x, y)
    return b.select(t, b.either(wins, is_nan(b, t, x)) if t in FLOATS else wins, x, y)


def _beyond(op: str) -> Rule:
    """fmax and fmin: a number wins over a NaN."""

    def rule(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand, y: Operand) -> Operand:
        wins = b.let(op, t, x, y)
        return b.select(t, b.either(wins, is_nan(b, t, y)) if t in FLOATS else wins, x, y)

    return rule


def _relu(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand) -> Operand:
    return larger(b, t, x, _number(t, 0))


def _heaviside(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand, y: Operand) -> Operand:
    found = b.select(t, b.let("lt", t, x, 0.0), 0.0, b.select(t, is_nan(b, t, x), x, 1.0))
    return b.select(t, b.let("eq", t, x, 0.0), y, found)


def _isnan(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand) -> Operand:
    return is_nan(b, t, x) if t in FLOATS else False


def _isinf(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand) -> Operand:
    return b.let("eq", t, b.let("abs", t, x), math.inf) if t in FLOATS else False


def _isfinite(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand) -> Operand:
    return b.let("lt", t, b.let("abs", t, x), math.inf) if t in FLOATS else True


def _signbit(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand) -> Operand:
    if t in FLOATS:
        bits = f"i{8 * WIDTHS[t]}"
        return b.let("lt", bits, b.convert(bits, t, x, bits=True), 0)
    return b.let("lt", t, x, 0) if t in SIGNED else False


def _select(b: Builder, t: str, attrs: tuple[Any, ...], cond: Operand, x: Operand, y: Operand) -> Operand:
    return b.select(t, cond, x, y)


# -- bits -------------------------------------------------------------------------------------------------------------


def _left_shift(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand, y: Operand) -> Operand:
    width = 8 * WIDTHS[t]
    fits = _fits(b, t, y, width)
    return b.select(t, fits, b.let("shl", t, x, b.select(t, fits, y, 0)), 0)


def _right_shift(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand, y: Operand) -> Operand:
    width = 8 * WIDTHS[t]
    fits = _fits(b, t, y, width)
    beyond = width - 1 if t in SIGNED else 0
    shifted = b.let("shr", t, x, b.select(t, fits, y, beyond))
    return shifted if t in SIGNED else b.select(t, fits, shifted, 0)


def _fits(b: Builder, t: str, y: Operand, width: int) -> Operand:
    """Whether a shift by y is one by less than the width; a negative y counts as a large one."""
    fits = b.let("lt", t, y, width)
    return b.both(fits, b.let("ge", t, y, 0)) if t in SIGNED else fits


# -- functions --------------------------------------------------------------------------------------------------------


def _sigmoid(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand) -> Operand:
    # exp of a number that is never positive cannot overflow
    decay = b.let("exp", t, b.let("neg", t, b.let("abs", t, x)))
    top = b.select(t, b.let("ge", t, x, 0.0), 1.0, decay)
    return b.let("div", t, top, b.let("add", t, 1.0, decay))


def _logaddexp(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand, y: Operand) -> Operand:
    gap = b.let("sub", t, x, y)
    tail = b.let("log1p", t, b.let("exp", t, b.let("neg", t, b.let("abs", t, gap))))
    found = b.let("add", t, b.select(t, b.let("gt", t, gap, 0.0), x, y), tail)
    # a gap that is NaN comes of a NaN, or of two infinities, which are equal
    found = b.select(t, is_nan(b, t, gap), gap, found)
    return b.select(t, b.let("eq", t, x, y), b.let("add", t, x, math.log(2)), found)


def _logaddexp2(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand, y: Operand) -> Operand:
    gap = b.let("sub", t, x, y)
    tail = b.let("log1p", t, b.let("exp2", t, b.let("neg", t, b.let("abs", t, gap))))
    larger_one = b.select(t, b.let("gt", t, gap, 0.0), x, y)
    found = b.let("add", t, larger_one, b.let("mul", t, tail, 1 / math.log(2)))
    found = b.select(t, is_nan(b, t, gap), gap, found)
    return b.select(t, b.let("eq", t, x, y), b.let("add", t, x, 1.0), found)


# of floats the bits behind the exponent, and how far exponents may be apart for a ratio within the range, of subnormal
# numbers, too; where they are further apart two powers of two bring the larger and the smaller number together
_MANTISSA = {"f64": 52, "f32": 23}
_BIAS = {"f64": 1023, "f32": 127}
_FAR_APART = {"f64": 960, "f32": 96}
_TOGETHER = {"f64": (-600, 700), "f32": (-64, 90)}


def _log_ratio(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand, y: Operand) -> Operand:
    """By one logarithm, and what rounding has taken from the ratio."""
    whole = f"i{8 * WIDTHS[t]}"
    sizes = (b.convert(whole, t, b.let("abs", t, v), bits=True) for v in (x, y))  # zeros may have a sign
    one, two = (b.let("shr", whole, size, _MANTISSA[t]) for size in sizes)
    apart, (less, more) = b.let("sub", whole, one, two), _TOGETHER[t]
    is_up, is_down = b.let("gt", whole, apart, _FAR_APART[t]), b.let("lt", whole, apart, -_FAR_APART[t])

    def choice(up: float, down: float, other: float) -> Operand:
        return b.select(t, is_up, up, b.select(t, is_down, down, other))

    x = b.let("mul", t, x, choice(2.0**less, 2.0**more, 1.0))
    y = b.let("mul", t, y, choice(2.0**more, 2.0**less, 1.0))
    # of a negative number the logarithm itself, which is NaN: the ratio of two is positive, that to infinity 0
    lesser = b.select(t, b.let("lt", t, x, y), x, y)
    ratio = b.select(t, b.let("lt", t, lesser, 0.0), lesser, b.let("abs", t, b.let("div", t, x, y)))
    is_plain = b.both(b.let("gt", t, ratio, 0.0), b.let("lt", t, ratio, math.inf))
    negative, above, below = (
        b.select(t, is_plain, v, w) for v, w in ((b.let("neg", t, ratio), -1.0), (x, 1.0), (y, 1.0))
    )
    lost = b.let("div", t, b.let("fma", t, negative, below, above), above)
    shift = (more - less) * math.log(2)
    return b.let("add", t, b.let("add", t, b.let("log", t, ratio), lost), choice(shift, -shift, 0.0))


def _ldexp(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand, n: Operand) -> Operand:
    """x times two to the n, by three powers of two of which only the last may round: `t` is the type of n, of which
    nothing is left but where the result is 0 or infinite."""
    # a number that is written out bears no type of its own: the type of the node's result comes as an attribute
    (kind,) = attrs
    whole, mantissa, most = f"i{8 * WIDTHS[kind]}", _MANTISSA[kind], _BIAS[kind]
    least, step = 1 - most, mantissa + 2 - most  # what is left after a step to subnormal numbers is beyond all digits
    n = b.convert(whole, t, n)
    for _ in range(2):
        rest = b.select(whole, b.let("lt", whole, n, least), step, 0)
        rest = b.select(whole, b.let("gt", whole, n, most), most, rest)
        x, n = b.let("mul", kind, x, _power_of_two(b, kind, rest)), b.let("sub", whole, n, rest)
    n = b.select(whole, b.let("lt", whole, n, least), least, n)
    n = b.select(whole, b.let("gt", whole, n, most), most, n)
    return b.let("mul", kind, x, _power_of_two(b, kind, n))


def _power_of_two(b: Builder, t: str, n: Operand) -> Operand:
    whole = f"i{8 * WIDTHS[t]}"
    return b.convert(t, whole, b.let("shl", whole, b.let("add", whole, n, _BIAS[t]), _MANTISSA[t]), bits=True)


def _exponent(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand) -> Operand:
    """The e of x = m 2^e with 0.5 <= m < 1; 0 of what has none. A subnormal number is as many of the least one as its
    bits say."""
    whole, mantissa = f"i{8 * WIDTHS[t]}", _MANTISSA[t]
    size = b.convert(whole, t, b.let("abs", t, x), bits=True)
    is_subnormal = b.let("lt", whole, size, 1 << mantissa)
    steps = b.convert(whole, t, b.convert(t, whole, size), bits=True)
    bits = b.select(whole, is_subnormal, steps, size)
    shift = b.select(whole, is_subnormal, 2 - 2 * _BIAS[t] - mantissa, 1 - _BIAS[t])
    found = b.let("add", whole, b.let("shr", whole, bits, mantissa), shift)
    has_none = b.either(b.let("eq", t, x, 0.0), b.negated(_isfinite(b, t, attrs, x)))
    return b.convert("i32", whole, b.select(whole, has_none, 0, found))


def _gcd(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand, y: Operand) -> Operand:
    """By Euclid's algorithm, on what the signs leave."""
    large, small = b.var(t, _abs(b, t, attrs, x)), b.var(t, _abs(b, t, attrs, y))

    def iteration() -> None:
        divisor = b.get(small)
        rest = b.let("rem", _unsigned(t), *_as_unsigned(b, t, b.get(large), divisor))
        b.set(large, divisor)
        b.set(small, b.convert(t, _unsigned(t), rest, bits=t in SIGNED))

    b.repeat(lambda: b.let("ne", t, b.get(small), 0), iteration)
    return b.get(large)


def _unsigned(t: str) -> str:
    return f"u{t[1:]}"


def _as_unsigned(b: Builder, t: str, *xs: Operand) -> tuple[Operand, ...]:
    """The same bits without a sign: the least number's absolute value fits there."""
    return (*[b.convert(_unsigned(t), t, x, bits=t in SIGNED) for x in xs],)


def _lcm(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand, y: Operand) -> Operand:
    common = _gcd(b, t, attrs, x, y)
    is_none = b.let("eq", t, common, 0)
    divisor = b.select(t, is_none, 1, common)
    product = b.let("mul", t, b.let("div", t, _abs(b, t, attrs, x), divisor), _abs(b, t, attrs, y))
    return b.select(t, is_none, 0, product)


def _reciprocal(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand) -> Operand:
    return b.let("div", t, 1.0, x)


def _rsqrt(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand) -> Operand:
    return b.let("div", t, 1.0, b.let("sqrt", t, x))


def _clip(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand, lo: Operand, hi: Operand) -> Operand:
    return smaller(b, t, larger(b, t, x, lo), hi)


# -- half floats ------------------------------------------------------------------------------------------------------


def _half_power(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand) -> Operand:
    return b.let("pow", t, x, attrs[0])


def half_rule(rule: Rule, op: Op, source: str, target: str, attrs: tuple[Any, ...]) -> Callable[..., Operand]:
    """A rule of half floats, `rule(b, *operands)`: that of float32, its result rounded once."""
    type_ = "f32" if source in HALVES else source
    if op.attrs == ("number",):
        attrs = (half_floats.rounded_number(source, attrs[0]),)
    if op.name == "ldexp":
        attrs = ("f32",)
    if op.name == "power_number" and attrs[0] == 0.5:  # of which NumPy makes a square root of wider floats alone
        rule = _half_power

    def rounded(b: Builder, *xs: Operand) -> Operand:
        found = rule(b, type_, attrs, *xs)
        return half_floats.rounded(b, target, found) if target in HALVES and not op.facts.exact else found

    return rounded


# from the primitive's name to C's
_RENAMED = {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "arctan2": "atan2", "power": "pow", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor",
    "bitwise_not": "not", "logical_and": "and", "logical_or": "or", "logical_xor": "xor", "logical_not": "not",
}  # fmt: skip
_SAME = (
    "sub", "neg", "div", "sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh",
    "cosh", "tanh", "hypot", "cbrt", "erf", "erfc", "nextafter", "eq", "ne", "lt", "le", "gt", "ge", "copysign",
)  # fmt: skip

SEARCHES: dict[str, Rule] = {"gcd": _gcd, "lcm": _lcm}

SCALARS: dict[str, Rule] = {
    **SEARCHES,
    "ldexp": _ldexp,
    "exponent": _exponent,
    **{name: plain(name) for name in _SAME},
    **{name: plain(op) for name, op in _RENAMED.items()},
    **{name: _rounded(name) for name in ("floor", "ceil", "trunc", "rint")},
    "add": _add,
    "mul": _mul,
    "add_n": _add_n,
    "times_number": _times_number,
    "add_number": _add_number,
    "scale": _scale,
    "square": lambda b, t, attrs, x: _mul(b, t, attrs, x, x),
    "power_number": _power_number,
    "reciprocal": _reciprocal,
    "rsqrt": _rsqrt,
    "abs": _abs,
    "sign": _sign,
    "floor_divide": _floor_divide,
    "mod": _mod,
    "fmod": _fmod,
    "maximum": lambda b, t, attrs, x, y: larger(b, t, x, y),
    "minimum": lambda b, t, attrs, x, y: smaller(b, t, x, y),
    "fmax": _beyond("ge"),
    "fmin": _beyond("le"),
    "clip": _clip,
    "select": _select,
    "relu": _relu,
    "heaviside": _heaviside,
    "angle": lambda b, t, attrs, x: b.let("atan2", t, 0.0, x),
    "isnan": _isnan,
    "isinf": _isinf,
    "isfinite": _isfinite,
    "signbit": _signbit,
    "left_shift": _left_shift,
    "right_shift": _right_shift,
    "sigmoid": _sigmoid,
    "logaddexp": _logaddexp,
    "logaddexp2": _logaddexp2,
    "log_ratio": _log_ratio,
}
