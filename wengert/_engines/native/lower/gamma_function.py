"""The gamma and the beta function of float32 as vector code: in float64, without branches and calls of libraries.

Stirling's series serves numbers from 6 on, to which smaller ones are moved by the recurrence. It is an exponent of up
to 90, whose rounding in float32 would be that many units of the value: float64 costs half the lanes, and no digits.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from ...special_numerics import STIRLING
from ..ir.builder import Builder
from ..ir.loops import Operand
from .numbers import Number, Some, Truth, at_most, exp, fma, fused, log, log1p, where
from .scalars import Rule

_FROM = 6.0
_MOVES = 6
_HALF_LOG = 0.5 * math.log(2 * math.pi)
_WHOLE = 2.0**23  # from here on all numbers of float32 are
_MOST = 160.0  # of more the value is infinite in float32, or 0 below 0, and a float64 up to there
# of sin(pi x) / x in x^2 between 0 and 1/4, which is -1 to 1 for its variable
_SINE = (
    2.534324262661633, -0.5697036803087205, 0.03645310559646704, -0.001092431996734333, 1.8956830838076306e-05,
    -2.1448928110715218e-07, 1.705922232548507e-09,
)  # fmt: skip


class _Moved(NamedTuple):
    """A positive number where Stirling's series serves it.

    Attributes:
        place: the number, moved up if it is small.
        step: how far it was moved.
        factor: gamma(place) / gamma(number).
        beyond: of log(gamma(place)) what Stirling's formula lacks.
    """

    place: Number
    step: Number
    factor: Number
    beyond: Number


def _moved(x: Number) -> _Moved:
    is_small = x < _FROM
    low = where(is_small, x, 1.0)
    factor: Some = low
    for k in range(1, _MOVES):
        factor = factor * (low + float(k))
    step = where(is_small, float(_MOVES), 0.0)
    place = x + step
    over = 1.0 / place
    return _Moved(place, step, where(is_small, factor, 1.0), over * fused(over * over, STIRLING))


def _of_positive(x: Number) -> Number:
    found = _moved(at_most(x, _MOST))
    place = found.place
    return exp(fma(place - 0.5, log(place), _HALF_LOG - place) + found.beyond) / found.factor


def _gamma(x: Number) -> Number:
    """Below 0 by reflection."""
    size, is_below = abs(x), x < 0.0
    above = _of_positive(size)
    turning = where(is_below & (size < _WHOLE), size, 0.0)
    whole = turning.of("rint")
    turn, half = turning - whole, 0.5 * whole
    is_odd = half != half.of("rint")
    sine = turn * cast(Number, fused(fma(turn * turn, 8.0, -1.0), _SINE))
    low = math.pi / where(is_below, size * (above * where(is_odd, sine, -sine)), 1.0)
    at = ends()
    low = where(size == math.inf, at.minus_infinity, where(turn == 0.0, at.whole, low))
    high = where(size == math.inf, math.inf, above)
    sign = Number(x.b, x.b.let("copysign", "f64", 1.0, x.x))
    endless = where(sign < 0.0, at.minus_zero, math.inf)
    return where(is_below, low, where(x == 0.0, endless, high))


class _Ends(NamedTuple):
    """Values where there is no other, which releases of SciPy choose differently."""

    whole: float
    minus_infinity: float
    minus_zero: float


@functools.cache
def ends() -> _Ends:
    """Those of the SciPy that is installed, which eager code has: of all whole numbers below 0 one."""
    from scipy.special import gamma

    with np.errstate(all="ignore"):
        return _Ends(*map(float, gamma([-1.0, -math.inf, -0.0])))


def _betaln(x: Number, y: Number) -> Number:
    """The logarithm of the beta function of positive numbers: no terms of the larger one's size cancel."""
    is_first = x < y
    low, high = where(is_first, x, y), where(is_first, y, x)
    one, two, both = map(_moved, (low, high, low + high))
    gap = low + (both.step - two.step)  # between the places of the larger one and of the sum
    line = (one.place - 0.5) * log(one.place) - (two.place - 0.5) * log1p(gap / two.place) - gap * log(both.place)
    line = line + ((both.step - one.step - two.step) + _HALF_LOG + (one.beyond + two.beyond - both.beyond))
    found = line - log(one.factor * two.factor / both.factor)
    return where((x == 1.0) & (y == 1.0), 0.0, found)  # which rounding errors would not give


def _beta(x: Number, y: Number) -> Number:
    return exp(_betaln(x, y))


def is_plain(x: Number, y: Number) -> Truth:
    """Whether the formula of the beta function is right, and its value a number."""
    return (x > 0.0) & (x < math.inf) & (y > 0.0) & (y < math.inf)


def _wide(b: Builder, t: str, xs: Sequence[Operand]) -> list[Number]:
    return [Number(b, b.convert("f64", t, x)) for x in xs]


def gamma(b: Builder, x: Operand) -> Operand:
    """The gamma function of a float32."""
    return b.convert("f32", "f64", _gamma(*_wide(b, "f32", [x])).x)


def _plain(formula: Callable[[Number, Number], Number]) -> Rule:
    def rule(b: Builder, t: str, attrs: tuple[Any, ...], *xs: Operand) -> Operand:
        x, y = _wide(b, t, xs)
        is_told = is_plain(x, y)
        found = formula(where(is_told, x, 1.0), where(is_told, y, 1.0))
        return b.convert(t, "f64", where(is_told, found, -0.0).x)

    return rule


PLAIN = {"beta": _plain(_beta), "betaln": _plain(_betaln)}
