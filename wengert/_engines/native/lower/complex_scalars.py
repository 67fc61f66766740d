"""Elementwise primitives on one complex number: what each computes, from the real and the imaginary part.

Rules as in `scalars.py`; an operand is a `Pair`. The values are those of NumPy's kernels (of C's functions, that is)
where parts are zero, infinite or NaN, too. Where a formula would leave the type's range on its way, it is scaled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..ir.builder import Builder
from ..ir.complex_numbers import Pair, Parts, pair_of
from ..ir.loops import COMPLEX, ITEM, Operand
from .complex_inverses import INVERSES, root_of_squares
from .scalars import plain

Complex = Callable[..., Any]

# exp of more than this is scaled by e to the minus this; of twice this it is infinite in any case
_MOST = {"f64": 709.0, "f32": 88.0}
# squares of numbers between these, and sums of two, are normal numbers; others are once scaled by this power of two
_LARGE = {"f64": 2.0**510, "f32": 2.0**62}
_SMALL = {"f64": 2.0**-480, "f32": 2.0**-40}
_SCALED_BY = {"f64": 600, "f32": 100}
_FAR = {"f64": 22.0, "f32": 11.0}  # where tanh is 1 to the last bit
MOST_FACTORS = 100  # whole exponents below this are products, as NumPy has it


def _function(rule: Callable[[Parts, Pair], Any]) -> Complex:
    return lambda b, t, attrs, x: rule(Parts(b, t), pair_of(x))


def _add_n(b: Builder, t: str, attrs: Any, *xs: Any) -> Any:
    total = xs[0]
    for x in xs[1:]:
        total = b.let("add", t, total, x)
    return total


def _with_number(op: str) -> Complex:
    return lambda b, t, attrs, x: b.let(op, t, x, complex(attrs[0]))


def _select(b: Builder, t: str, attrs: tuple[Any, ...], cond: Operand, x: Any, y: Any) -> Any:
    return b.select(t, cond, x, y)


# -- parts ------------------------------------------------------------------------------------------------------------


def _as_complex(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand, y: Operand) -> Any:
    return Pair(x, y)


def _conj(p: Parts, z: Pair) -> Pair:
    return Pair(z.re, p.neg(z.im))


def _moderate(p: Parts, z: Pair) -> tuple[Operand, Operand, Callable[[float, float, float], Operand]]:
    """The sizes of the parts, scaled so that their squares are normal numbers; and a choice of three numbers, for
    parts that were too large, too small, or as they are."""
    x, y, most = p.abs(z.re), p.abs(z.im), _SCALED_BY[p.type]
    is_large = p.b.either(p.gt(x, _LARGE[p.type]), p.gt(y, _LARGE[p.type]))
    is_small = p.b.both(p.lt(x, _SMALL[p.type]), p.lt(y, _SMALL[p.type]))

    def choice(large: float, small: float, other: float) -> Operand:
        return p.select(is_large, large, p.select(is_small, small, other))

    factor = choice(2.0**-most, 2.0**most, 1.0)
    return p.mul(x, factor), p.mul(y, factor), choice


def _abs(p: Parts, z: Pair) -> Operand:
    x, y, choice = _moderate(p, z)
    most = _SCALED_BY[p.type]
    size = p.mul(root_of_squares(p, x, y), choice(2.0**most, 2.0**-most, 1.0))
    return p.select(_isinf(p, z), math.inf, size)


def _angle(p: Parts, z: Pair) -> Operand:
    """Of zero, too, by the signs; there from 1, since libmvec's function sets the flag of an invalid operation."""
    return p.atan2(z.im, p.select(_is_zero(p, z), p.copysign(1.0, z.re), z.re))


def _is_zero(p: Parts, z: Pair) -> Operand:
    return p.b.both(p.eq(z.re, 0.0), p.eq(z.im, 0.0))


def _isnan(p: Parts, z: Pair) -> Operand:
    return p.b.either(p.is_nan(z.re), p.is_nan(z.im))


def _isinf(p: Parts, z: Pair) -> Operand:
    return p.b.either(p.eq(p.abs(z.re), math.inf), p.eq(p.abs(z.im), math.inf))


def _isfinite(p: Parts, z: Pair) -> Operand:
    return p.b.both(p.lt(p.abs(z.re), math.inf), p.lt(p.abs(z.im), math.inf))


# -- roots and logarithms ---------------------------------------------------------------------------------------------


def _sqrt(p: Parts, z: Pair) -> Pair:
    """The root in the right half of the plane: its larger part is sqrt((|z| + |re z|) / 2)."""
    x, y, choice = _moderate(p, z)
    half, is_zero = _SCALED_BY[p.type] // 2, _is_zero(p, z)
    back = choice(2.0**half, 2.0**-half, 1.0)
    large = p.sqrt(p.mul(p.add(root_of_squares(p, x, y), x), 0.5))
    little = p.div(y, p.select(is_zero, 1.0, p.mul(large, 2.0)))
    is_right = p.ge(z.re, 0.0)
    large, little = p.mul(large, back), p.mul(little, back)
    re, im = p.select(is_right, large, little), p.copysign(p.select(is_right, little, large), z.im)
    found = p.chosen(is_zero, Pair(0.0, z.im), Pair(re, im))
    # infinite parts: upwards or downwards first of all, then to the right, then to the left
    is_nan = p.is_nan(z.im)
    right = Pair(z.re, p.select(is_nan, z.im, p.copysign(0.0, z.im)))
    left = Pair(p.select(is_nan, z.im, 0.0), p.copysign(math.inf, z.im))
    found = p.chosen(p.eq(z.re, math.inf), right, found)
    found = p.chosen(p.eq(z.re, -math.inf), left, found)
    nothing = p.b.both(p.is_nan(z.re), p.ne(p.abs(z.im), math.inf))
    found = p.chosen(nothing, Pair(math.nan, math.nan), found)
    return p.chosen(p.eq(p.abs(z.im), math.inf), Pair(math.inf, z.im), found)


def _reciprocal(p: Parts, z: Pair) -> Any:
    return p.of_pairs("div", 1, z)


def _rsqrt(p: Parts, z: Pair) -> Any:
    """One over the root, by NumPy's own formula for that."""
    root = _sqrt(p, z)
    is_real = p.ge(p.abs(root.re), p.abs(root.im))
    large, little = p.select(is_real, root.re, root.im), p.select(is_real, root.im, root.re)
    ratio = p.div(little, large)
    below = p.add(large, p.mul(little, ratio))
    first, second = p.div(1.0, below), p.div(ratio, below)
    return Pair(p.select(is_real, first, second), p.neg(p.select(is_real, second, first)))


def _log_of_size(p: Parts, z: Pair) -> Operand:
    """The logarithm of |z|; near 1 from |z|^2 - 1, of which the larger part of z gives most digits."""
    x, y = p.abs(z.re), p.abs(z.im)
    is_first = p.ge(x, y)
    large, little = p.select(is_first, x, y), p.select(is_first, y, x)
    is_moderate = p.lt(large, 2.0)
    large, little = p.select(is_moderate, large, 2.0), p.select(is_moderate, little, 0.0)
    beyond = p.fma(little, little, p.mul(p.sub(large, 1.0), p.add(large, 1.0)))
    is_near = p.lt(p.abs(beyond), 0.5)
    near = p.mul(p.log1p(p.select(is_near, beyond, 0.0)), 0.5)
    x, y, choice = _moderate(p, z)
    more = _SCALED_BY[p.type] * math.log(2)
    far = p.add(p.log(root_of_squares(p, x, y)), choice(more, -more, 0.0))
    return p.select(is_near, near, p.select(_isinf(p, z), math.inf, far))


def _log(p: Parts, z: Pair) -> Pair:
    return Pair(_log_of_size(p, z), _angle(p, z))


def _times(rule: Callable[[Parts, Pair], Pair], factor: float) -> Callable[[Parts, Pair], Pair]:
    def rule_times(p: Parts, z: Pair) -> Pair:
        found = rule(p, z)
        return Pair(p.mul(found.re, factor), p.mul(found.im, factor))

    return rule_times


def _log1p(p: Parts, z: Pair) -> Pair:
    moved = p.add(z.re, 1.0)
    return Pair(p.log(_abs(p, Pair(moved, z.im))), _angle(p, Pair(moved, z.im)))


# -- exponentials -----------------------------------------------------------------------------------------------------


def _turned(p: Parts, x: Operand, y: Operand) -> Pair:
    """e^x (cos y + i sin y), where that is a number; e^x is split where it alone is none."""
    most = _MOST[p.type]
    is_large = p.gt(x, most)
    size = p.exp(p.select(is_large, p.sub(x, most), x))
    rest = p.select(is_large, math.exp(most), 1.0)
    return Pair(p.mul(p.mul(size, p.cos(y)), rest), p.mul(p.mul(size, p.sin(y)), rest))


def _exp(p: Parts, z: Pair) -> Pair:
    found = _turned(p, z.re, z.im)
    is_turn = p.lt(p.abs(z.im), math.inf)  # neither infinite nor NaN
    at_left = p.chosen(is_turn, found, Pair(0.0, p.select(p.eq(z.im, -math.inf), -0.0, 0.0)))
    at_right = p.chosen(is_turn, found, Pair(math.inf, math.nan))
    found = p.chosen(p.eq(z.re, -math.inf), at_left, found)
    found = p.chosen(p.eq(z.re, math.inf), at_right, found)
    return p.chosen(p.eq(z.im, 0.0), Pair(p.exp(z.re), z.im), found)


def _exp2(p: Parts, z: Pair) -> Pair:
    return _exp(p, Pair(p.mul(z.re, math.log(2)), p.mul(z.im, math.log(2))))


def _expm1(p: Parts, z: Pair) -> Pair:
    """e^z - 1 = expm1(x) cos y - 2 sin(y / 2)^2 + i e^x sin y, and what NumPy's kernel here says of hard points."""
    half = p.sin(p.mul(z.im, 0.5))
    less = p.expm1(z.re)
    re = p.sub(p.mul(less, p.cos(z.im)), p.mul(p.mul(half, half), 2.0))
    found = Pair(re, p.mul(p.exp(z.re), p.sin(z.im)))
    is_endless = p.b.negated(p.lt(p.abs(z.im), math.inf))
    at_right = p.b.both(is_endless, p.eq(z.re, math.inf))
    at_left = p.b.both(is_endless, p.eq(z.re, -math.inf))
    found = p.chosen(at_right, Pair(math.inf, math.nan), found)
    found = p.chosen(at_left, Pair(-1.0, 0.0), found)
    return p.chosen(p.eq(z.im, 0.0), Pair(p.add(less, 0.0), z.im), found)


def _cosh_and_sinh(p: Parts, x: Operand, y: Operand) -> tuple[Pair, Pair]:
    """cosh and sinh of x + iy. Far out both are halves of e^|x|, which may be split."""
    far = p.gt(p.abs(x), _MOST[p.type])
    c, s = p.cos(y), p.sin(y)
    half = _turned(p, p.sub(p.abs(x), math.log(2)), y)
    sign = p.copysign(1.0, x)
    cosh = p.chosen(far, Pair(half.re, p.mul(half.im, sign)), Pair(p.mul(p.cosh(x), c), p.mul(p.sinh(x), s)))
    sinh = p.chosen(far, Pair(p.mul(half.re, sign), half.im), Pair(p.mul(p.sinh(x), c), p.mul(p.cosh(x), s)))
    # what is not turned stays on its axis, and what is infinite without an angle is infinite
    is_real = p.eq(y, 0.0)
    cosh = p.chosen(is_real, Pair(p.cosh(x), p.select(p.is_nan(x), y, p.mul(sign, y))), cosh)
    sinh = p.chosen(is_real, Pair(p.sinh(x), y), sinh)
    no_turn = p.b.negated(p.lt(p.abs(y), math.inf))
    is_endless = p.b.both(p.eq(p.abs(x), math.inf), no_turn)
    at_zero = p.b.both(p.eq(x, 0.0), no_turn)
    cosh = p.chosen(is_endless, Pair(math.inf, math.nan), cosh)
    sinh = p.chosen(is_endless, Pair(math.inf, math.nan), sinh)  # of either sign, as C's library has it
    cosh = p.chosen(at_zero, Pair(math.nan, 0.0), cosh)
    sinh = p.chosen(at_zero, Pair(x, math.nan), sinh)
    return cosh, sinh


def _cosh(p: Parts, z: Pair) -> Pair:
    return _cosh_and_sinh(p, z.re, z.im)[0]


def _sinh(p: Parts, z: Pair) -> Pair:
    return _cosh_and_sinh(p, z.re, z.im)[1]


def _cos(p: Parts, z: Pair) -> Pair:
    return _cosh_and_sinh(p, p.neg(z.im), z.re)[0]


def _sin(p: Parts, z: Pair) -> Pair:
    turned = _cosh_and_sinh(p, p.neg(z.im), z.re)[1]
    is_endless = p.b.both(p.eq(turned.re, math.inf), p.is_nan(turned.im))
    return Pair(turned.im, p.select(is_endless, math.inf, p.neg(turned.re)))


def _tanh(p: Parts, z: Pair) -> Pair:
    """(sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y); far out the sign of x, and little besides."""
    x, y = z.re, z.im
    c, s = p.cos(y), p.sin(y)
    is_far = p.gt(p.abs(x), _FAR[p.type])
    near = p.select(is_far, 0.0, x)
    sinh, cosh = p.sinh(near), p.cosh(near)
    below = p.fma(sinh, sinh, p.mul(c, c))
    found = Pair(p.div(p.mul(sinh, cosh), below), p.div(p.mul(s, c), below))
    decay = p.exp(p.mul(p.abs(x), -2.0))
    no_turn = p.b.negated(p.lt(p.abs(y), math.inf))
    one = p.select(no_turn, math.nan, p.copysign(1.0, x))
    found = p.chosen(is_far, Pair(one, p.mul(p.mul(p.mul(s, c), 4.0), decay)), found)
    at_end = p.b.both(p.eq(p.abs(x), math.inf), no_turn)
    found = p.chosen(at_end, Pair(p.copysign(1.0, x), p.copysign(0.0, y)), found)
    at_zero = p.b.both(p.eq(x, 0.0), no_turn)
    found = p.chosen(at_zero, Pair(x, math.nan), found)
    return p.chosen(p.eq(y, 0.0), Pair(p.tanh(x), y), found)


def _tan(p: Parts, z: Pair) -> Pair:
    turned = _tanh(p, Pair(p.neg(z.im), z.re))
    return Pair(turned.im, p.neg(turned.re))


# -- powers -----------------------------------------------------------------------------------------------------------


def _power_number(b: Builder, t: str, attrs: tuple[Any, ...], x: object) -> Any:
    (number,) = attrs
    number = complex(number)
    if number.imag == 0 and number.real == int(number.real) and abs(number.real) < MOST_FACTORS:
        return _whole_power(b, t, x, int(number.real))
    return _power(b, t, attrs, x, number)


def _whole_power(b: Builder, t: str, x: object, number: int) -> Any:
    """By squaring, in NumPy's order; a negative power is one over the positive one."""
    if number in (0, 1):
        return x if number else Pair(1.0, 0.0)
    p = Parts(b, t)
    if number in (2, 3):
        square = p.of_pairs("mul", x, x)
        return square if number == 2 else p.of_pairs("mul", x, square)
    result, left, factor = Pair(1.0, 0.0), abs(number), x
    while left:
        if left & 1:
            result = p.of_pairs("mul", result, factor)
        left >>= 1
        if left:
            factor = p.of_pairs("mul", factor, factor)
    if number > 0:
        return result
    return p.chosen(_is_zero(p, pair_of(x)), Pair(math.nan, math.nan), p.of_pairs("div", 1, result))


def _power(b: Builder, t: str, attrs: tuple[Any, ...], x: object, y: object) -> Any:
    """e^(y log x); 0 to the power of what has a positive real part is 0, of 0 it is 1."""
    p, base, power = Parts(b, t), pair_of(x), pair_of(y)
    is_zero = _is_zero(p, base)
    found = _exp(p, p.of_pairs("mul", power, _log(p, p.chosen(is_zero, Pair(1.0, 0.0), base))))
    at_zero = p.chosen(p.gt(power.re, 0.0), Pair(0.0, 0.0), Pair(math.nan, math.nan))
    return p.chosen(_is_zero(p, power), Pair(1.0, 0.0), p.chosen(is_zero, at_zero, found))


COMPLEX_SCALARS: dict[str, Complex] = {
    **{name: plain(name) for name in ("add", "sub", "mul", "div", "neg", "scale")},
    **{name: plain(name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    "add_n": _add_n, "times_number": _with_number("mul"), "add_number": _with_number("add"), "select": _select,
    "square": lambda b, t, attrs, x: b.let("mul", t, x, x),
    "as_complex": _as_complex, "real": _function(lambda p, z: z.re), "imag": _function(lambda p, z: z.im),
    "conj": _function(_conj), "abs": _function(_abs), "angle": _function(_angle),
    "isnan": _function(_isnan), "isinf": _function(_isinf), "isfinite": _function(_isfinite),
    "reciprocal": _function(_reciprocal), "sqrt": _function(_sqrt), "rsqrt": _function(_rsqrt),
    "log": _function(_log), "log2": _function(_times(_log, 1 / math.log(2))),
    "log10": _function(_times(_log, 1 / math.log(10))), "log1p": _function(_log1p),
    "exp": _function(_exp), "exp2": _function(_exp2), "expm1": _function(_expm1),
    "sin": _function(_sin), "cos": _function(_cos), "tan": _function(_tan),
    "sinh": _function(_sinh), "cosh": _function(_cosh), "tanh": _function(_tanh),
    **{name: _function(rule) for name, rule in INVERSES.items()},
    "power_number": _power_number, "power": _power,
}  # fmt: skip


def scaled(b: Builder, t: str, x: Operand, factor: Operand) -> Any:
    """A number, perhaps complex, times a real one."""
    if t not in COMPLEX:
        return b.let("mul", t, x, factor)
    parts = pair_of(x)
    return Pair(*[b.let("mul", ITEM[t], part, factor) for part in (parts.re, parts.im)])


def divided_by_real(b: Builder, t: str, x: Operand, divisor: Operand) -> Any:
    """A number, perhaps complex, over a real one."""
    if t not in COMPLEX:
        return b.let("div", t, x, divisor)
    parts = pair_of(x)
    return Pair(*[b.let("div", ITEM[t], part, divisor) for part in (parts.re, parts.im)])


def conj_of(b: Builder, t: str, x: Operand) -> Any:
    """The conjugate of a number, perhaps complex."""
    return COMPLEX_SCALARS["conj"](b, t, (), x) if t in COMPLEX else x


__all__ = ["COMPLEX_SCALARS", "conj_of", "divided_by_real", "scaled"]
