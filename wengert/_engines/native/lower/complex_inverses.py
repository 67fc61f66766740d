"""Inverse trigonometric and hyperbolic functions of one complex number, from its parts, without branches: loops are
vector code.

With the distances r and s of z = x + iy from -1 and 1, and a = (r + s) / 2, arccos(z) is the angle between x and
sqrt(a^2 - x^2), less i log(a + sqrt(a^2 - 1)); arctanh(z) has |z + 1|^2 / |z - 1|^2 in a logarithm (Hull, Fairgrieve
and Tang, ACM Transactions on Mathematical Software 23, 1997; Kahan, 1987). Where digits would cancel, a difference is a
quotient: r - (x + 1) = y^2 / (r + x + 1). Values are those of C's functions where parts are zero, infinite or NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from ..ir.complex_numbers import Pair, Parts
from ..ir.loops import Operand

# larger parts are scaled by this power of two: squares, and sums of two, are then within the type's range
_LARGE = {"f64": 2.0**506, "f32": 2.0**60}
_SCALED_BY = {"f64": 513, "f32": 65}
# beside 1 the square of a smaller part may vanish; times this power of two its inverse is a number
_TINY = {"f64": 2.0**-500, "f32": 2.0**-60}
_RAISED_BY = {"f64": 54, "f32": 24}


class _Place(NamedTuple):
    """A complex number in the first quadrant: its parts, both scaled where one was large, and what became of 1."""

    x: Operand
    y: Operand
    one: Operand
    is_large: Operand
    is_endless: Operand


def _placed(p: Parts, z: Pair) -> _Place:
    x, y = p.abs(z.re), p.abs(z.im)
    is_endless = p.b.either(p.eq(x, math.inf), p.eq(y, math.inf))
    x, y = p.select(is_endless, 0.5, x), p.select(is_endless, 0.5, y)  # any number: the result is another
    is_large = p.b.either(p.gt(x, _LARGE[p.type]), p.gt(y, _LARGE[p.type]))
    factor = p.select(is_large, 2.0 ** -_SCALED_BY[p.type], 1.0)
    return _Place(p.mul(x, factor), p.mul(y, factor), p.select(is_large, 0.0, 1.0), is_large, is_endless)


def root_of_squares(p: Parts, x: Operand, y: Operand) -> Operand:
    """sqrt(x^2 + y^2) of parts whose squares are within the range."""
    return p.sqrt(p.add(p.mul(x, x), p.mul(y, y)))


def _end(p: Parts, part: Operand, leg: Operand, is_endless: Operand) -> Operand:
    """A leg, or of endless numbers 1 in the place of an infinite part, and 0 in that of a number."""
    is_own = p.eq(p.abs(part), math.inf)
    end = p.copysign(p.select(is_own, 1.0, p.mul(p.select(is_own, 0.0, part), 0.0)), part)
    return p.select(is_endless, end, leg)


def _legs(p: Parts, z: Pair) -> tuple[Operand, Operand, Operand]:
    """x and sqrt(a^2 - x^2), and the logarithm of a + sqrt(a^2 - 1)."""
    x, y, one, is_large, is_endless = _placed(p, z)
    up, down = p.add(x, one), p.sub(x, one)
    r = root_of_squares(p, up, y)
    s = p.select(p.eq(down, 0.0), y, root_of_squares(p, down, y))
    a = p.mul(p.add(r, s), 0.5)
    far = p.add(s, p.abs(down))
    over = p.div(1.0, p.add(r, up))
    both = p.mul(p.add(over, p.div(1.0, p.select(p.eq(far, 0.0), 1.0, far))), 0.5)
    apart = p.mul(p.add(p.mul(p.mul(y, y), over), far), 0.5)  # a - x on the left of 1, and a - 1 on its right
    left = p.sqrt(p.mul(apart, p.add(a, x)))
    right = p.mul(y, p.sqrt(p.mul(both, p.add(a, x))))
    leg = p.select(p.le(down, 0.0), left, right)
    left = p.mul(y, p.add(p.mul(y, both), p.sqrt(p.mul(both, p.add(a, one)))))
    right = p.add(apart, p.sqrt(p.mul(apart, p.add(a, one))))
    beyond = p.sub(p.select(p.lt(down, 0.0), left, right), p.sub(1.0, one))
    size = p.add(p.log1p(beyond), p.select(is_large, _SCALED_BY[p.type] * math.log(2), 0.0))
    height = p.select(is_large, p.abs(z.im), leg)  # beside a large number 1 is nothing
    return (
        _end(p, z.re, z.re, is_endless),
        p.abs(_end(p, z.im, height, is_endless)),
        p.select(is_endless, math.inf, size),
    )


def _arccos(p: Parts, z: Pair) -> Pair:
    x, y, size = _legs(p, z)
    angle = p.select(p.b.both(p.eq(z.re, 0.0), p.is_nan(z.im)), math.pi / 2, p.atan2(y, x))
    return Pair(angle, p.neg(p.copysign(size, z.im)))


def _arcsin(p: Parts, z: Pair) -> Pair:
    x, y, size = _legs(p, z)
    angle = p.select(p.eq(z.re, 0.0), z.re, p.atan2(x, y))
    return Pair(angle, p.copysign(size, z.im))


def _arccosh(p: Parts, z: Pair) -> Pair:
    turned = _arccos(p, z)
    return Pair(p.abs(turned.im), p.copysign(turned.re, z.im))


def _arctanh(p: Parts, z: Pair) -> Pair:
    x, y, one, is_large, is_endless = _placed(p, z)
    gap, square = p.sub(one, x), p.mul(y, y)
    is_tiny = p.b.both(p.eq(x, 1.0), p.lt(y, _TINY[p.type]))
    is_tiny = p.b.both(is_tiny, p.eq(one, 1.0))
    less, more = _SCALED_BY[p.type], _RAISED_BY[p.type]
    above = p.select(is_tiny, 2.0, p.mul(x, p.select(is_large, 1.0, 4.0)))
    below = p.select(is_tiny, p.mul(y, 2.0**more), p.add(p.mul(gap, gap), square))
    quotient = p.div(above, below)
    grown = p.mul(p.log1p(quotient), p.select(is_tiny, 0.5, 0.25))
    grown = p.add(grown, p.select(is_tiny, 0.5 * more * math.log(2), 0.0))
    grown = p.select(is_large, p.mul(quotient, 2.0**-less), grown)
    grown = p.select(p.b.either(is_endless, p.eq(z.re, 0.0)), 0.0, grown)
    rest = p.sub(p.mul(gap, p.add(one, x)), square)
    is_end = p.b.both(p.eq(y, 0.0), p.eq(gap, 0.0))  # 1, where the angle is 0
    angle = p.atan2(p.mul(y, p.select(is_large, 2.0 ** (1 - less), 2.0)), p.select(is_end, 1.0, rest))
    angle = p.select(is_endless, p.select(p.is_nan(z.im), math.nan, math.pi), angle)
    return Pair(p.copysign(grown, z.re), p.copysign(p.mul(angle, 0.5), z.im))


def _turned(rule: Callable[[Parts, Pair], Pair]) -> Callable[[Parts, Pair], Pair]:
    """The function that is another one of the number with its parts exchanged, as its result's are."""

    def rule_turned(p: Parts, z: Pair) -> Pair:
        found = rule(p, Pair(z.im, z.re))
        return Pair(found.im, found.re)

    return rule_turned


INVERSES: dict[str, Callable[[Parts, Pair], Pair]] = {
    "arccos": _arccos, "arcsin": _arcsin, "arccosh": _arccosh, "arctanh": _arctanh,
    "arcsinh": _turned(_arcsin), "arctan": _turned(_arctanh),
}  # fmt: skip
