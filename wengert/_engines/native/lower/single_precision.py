"""Special functions of float32 in float32: the normal distribution and digamma.

Without branches and calls of libraries: loops are vector code, of twice as many numbers as in float64. A polynomial is
the one of least squares of relative errors at Chebyshev's points, worked out with 50 digits and rounded; its error is
about 2^-25 with its coefficients rounded. Errors of functions are a few units in the last place, or of what rounding
of the arguments makes of them (`tests/engines/native/test_single_precision.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import cast

from ..ir.builder import Builder
from ..ir.loops import Operand
from .numbers import Number, at_most, exp, fma, fused, log, sqrt, where


def _number(b: Builder, x: Operand) -> Number:
    return Number(b, x, "f32")


def mapped(x: Number, coefficients: Sequence[float], centre: float, half: float) -> Number:
    """A polynomial in the place of x in an interval, from -1 to 1."""
    return cast(Number, fused(fma(x, 1 / half, -centre / half), coefficients))


# -- the normal distribution -------------------------------------------------------------------------------------------

_NOTHING = 10.0625  # erfc is 0
_VANISHED = 20.0  # e^(-x^2 / 2) is 0, and e^(x^2) infinite
# of (x + 2) erfc(x / sqrt(2)) e^(x^2 / 2) / 2, in 1 / (x + 2) between 0 and 1/2
_TAIL = (
    0.672407985, 0.331404448, 0.0287972335, -0.0367182307, -0.000467446138, 0.00672389474, -0.0019649365,
    -0.000781480398, 0.00087017857, -0.000215106425, -0.000186387653, 0.000142320394, 1.44911255e-05,
    -2.69775373e-05,
)  # fmt: skip


def _factor(over: Number) -> Number:
    """(x + 2) times the distribution function at -x over e^(-x^2 / 2), by 1 / (x + 2)."""
    return mapped(over, _TAIL, 0.25, 0.25)


def _scaled_tail(size: Number) -> Number:
    """The distribution function at less a size, over e^(-size^2 / 2)."""
    over = 1.0 / (size + 2.0)
    return over * _factor(over)


def _square(x: Number, most: float) -> tuple[Number, Number]:
    """The square of x or of a bound, and what rounding it has lost."""
    near = where(abs(x) > most, most, x)
    square = near * near
    return square, fma(near, near, -square)


def _decay(x: Number) -> Number:
    """e^(-x^2 / 2)."""
    square, lost = _square(x, _VANISHED)
    return exp(-0.5 * square) * (1.0 - 0.5 * lost)


def tail(x: Number) -> Number:
    """The normal distribution's mass beyond |x|."""
    return _scaled_tail(abs(x)) * _decay(x)


def _ndtr(x: Number) -> Number:
    beyond = tail(x)
    return where(x < 0.0, beyond, 1.0 - beyond)


def _log_ndtr(x: Number) -> Number:
    """By one logarithm: of the tail's factor, or of what the tail leaves with what rounding that has lost."""
    factor, is_low = _scaled_tail(abs(x)), x < 0.0
    tail = factor * _decay(x)
    rest = 1.0 - tail
    line = log(where(x == -math.inf, 1.0, where(is_low, factor, rest)))
    return where(is_low, line - (0.5 * x) * x, -((tail - (1.0 - rest)) / rest - line))


def _scaled(size: Number) -> Number:
    """e^(size^2) erfc(size)."""
    over = math.sqrt(0.5) / (size + math.sqrt(2))
    return 2.0 * (over * _factor(over))


def complement(x: Number) -> Number:
    """erfc(x). Its exponential is a product of two, so that only the last step gives subnormal numbers, which takes
    processors long, and zeros are none that are rounded."""
    square, lost = _square(x, _NOTHING)
    root = exp(-0.5 * square)
    tail = _scaled(abs(x)) * (1.0 - lost) * root * where(square < _NOTHING**2, root, 0.0)
    return where(x < 0.0, 2.0 - tail, tail)


def _erfcx(x: Number) -> Number:
    tail = _scaled(abs(x))
    square, lost = _square(where(x < 0.0, x, 0.0), _VANISHED)
    grown = 2.0 * (exp(square) * (1.0 + lost))
    return where(x < 0.0, grown - tail, tail)


def _normal_hazard(x: Number) -> Number:
    decay, is_low, size = _decay(x), x < 0.0, abs(x) + 2.0
    over = 1.0 / size
    factor = _factor(over)
    top = where(is_low, size, decay) * (1 / math.sqrt(2 * math.pi))
    # -x from there on, also where the quotient would be beyond the largest number
    return where(x < -(2.0**13), -x, top / where(is_low, factor, 1.0 - over * factor * decay))


# of erfinv(x) / x in w = -log(1 - x^2), between 0 and 5, and in its root, between 2.2 and 4.2 (Giles' form,
# "Approximating the erfinv function", GPU Computing Gems, 2011)
_MIDDLE = (
    1.50140941, 0.616600692, -0.0261086784, -0.0195738319, 0.00852913596, -0.000485651341, -0.0008454817,
    0.000285807473, 3.54992662e-05, -3.41087871e-05,
)  # fmt: skip
_OUTER = (
    3.03363657, 1.00469244, 0.00597353699, -0.00429367414, 0.00294684502, -0.00199498911, 0.00109434535,
    -0.000356392091, -4.10019893e-05, 9.88887259e-05, -3.01691143e-05,
)  # fmt: skip
_BEYOND = 17.0  # w of the number next to 1 is less


def _erfinv(x: Number) -> Number:
    size = abs(x)
    line = -log((1.0 - size) * (1.0 + size))
    line = at_most(line, _BEYOND)
    is_middle = line < 5.0
    middle = mapped(where(is_middle, line, 0.0), _MIDDLE, 2.5, 2.5)
    outer = mapped(sqrt(where(is_middle, 5.0, line)), _OUTER, 3.2, 1.0)
    factor = where(size == 1.0, math.inf, where(is_middle, middle, outer))
    return where(x == 0.0, 0.0, x * factor)  # of either sign, as SciPy has it


# -- digamma -----------------------------------------------------------------------------------------------------------

_FROM = 3.0  # its asymptotic series serves larger numbers
_WHOLE = 2.0**23  # from here on all numbers are
_ROOT = (0.4616321325302124, 1.24381499e-08)  # less 1, in two parts
# of digamma(2 + x) over what is between 2 + x and the root for x from -1 to 1, and of (log(x) - 1 / (2 x) -
# digamma(x)) x^2 in 1 / x^2 from 0 to 1 / 9
_BESIDE_ROOT = (
    0.785307527, -0.260738641, 0.108999915, -0.0495598689, 0.0234499145, -0.0112688374, 0.00552524813, -0.00296971411,
    0.00145807955, -0.000318437291, 0.000171544219, -0.000411366083, 0.000200984767,
)  # fmt: skip
_LACKING = (0.0828819647, -0.000440365722, 1.04911533e-05, -5.09585504e-07)


def _digamma(x: Number) -> Number:
    """Below 1 and below 0 by the recurrence and by reflection: together they take nothing off near 0."""
    is_below, size = x < 0.0, abs(x)
    is_small, is_near = size < 1.0, size < _FROM
    less = where(is_small, size, size - 1.0)  # 1 less than the place, which is from 1 on
    near = ((less - _ROOT[0]) - _ROOT[1]) * fused(where(is_near, less - 1.0, 0.0), _BESIDE_ROOT)
    far = where(is_near, _FROM, size)
    over = 1.0 / far
    square = over * over
    inner = log(far) - (0.5 * over + square * mapped(square, _LACKING, 1 / 18, 1 / 18))
    found = where(is_near, near, inner)
    step = 1.0 / x  # of either sign
    found = found - where(is_small ^ is_below, step, 0.0)
    turning = where(is_below & (size < _WHOLE), size, 0.0)
    turn = turning - turning.of("rint")
    is_pole, apart = turn == 0.0, abs(turn)
    is_steep = apart < 0.25
    ratio = (math.pi * where(is_pole, 0.125, where(is_steep, apart, 0.5 - apart))).of("tan")
    cotangent = math.pi * where(is_steep, 1.0 / ratio, ratio)
    mirrored = found + where(turn < 0.0, -cotangent, cotangent)
    return where(is_below, where(is_pole, math.nan, mirrored), found)


def _rule(formula: Callable[[Number], Number]) -> Callable[[Builder, Operand], Operand]:
    return lambda b, x: formula(_number(b, x)).x


# by the primitives' names
SHORT: dict[str, Callable[[Builder, Operand], Operand]] = {
    "ndtr": _rule(_ndtr), "log_ndtr": _rule(_log_ndtr), "erfcx": _rule(_erfcx), "normal_hazard": _rule(_normal_hazard),
    "erfinv": _rule(_erfinv), "digamma": _rule(_digamma),
}  # fmt: skip
