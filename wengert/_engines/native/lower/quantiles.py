"""Quantiles by the methods of NumPy's kernels (`numpy/quantiles.py`): counts by steps from a guess, angles by
Newton's method; and those of the normal distribution, as vector code.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..ir.builder import Builder
from ..ir.loops import Operand
from .approximations import quantile
from .formulas import Formulas, Scope, call_either, call_own, rule_of
from .numbers import Number, Some, choose, exp, expm1, horner, log, repeated, sqrt, where
from .scalars import SCALARS
from .special import of_scipy
from .standalone import is_alone

FORMULAS = Formulas()

# -- the normal distribution -------------------------------------------------------------------------------------------

_HALF = (-0.6931471805599453, -2.3190468138462996e-17)  # log(1/2), in two parts
_MIDDLE = (-2.5902, -0.07797)  # where probabilities are from 0.075 to 0.925
_FAR = -700.0  # below it the quantile's square is found by the asymptotic series of the tail
_MILLS = (0.0, -1.0, 5 / 2, -37 / 3, 353 / 4)  # log(1 - u + 3 u^2 - 15 u^3 + ...)


def _ndtri_exp(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand) -> Operand:
    """The normal quantile of e^y, by the logarithms of both tails, without branches."""
    y = Number(b, b.convert("f64", t, x))
    is_told = (y < 0.0) & (y > -math.inf)
    place = where(is_told, y, -1.0)
    is_middle = (place > _MIDDLE[0]) & (place < _MIDDLE[1])
    is_upper, is_far = place > _HALF[0], place < _FAR
    # next to the median all digits of what is between count
    grown = expm1(where(is_middle, (place - _HALF[0]) - _HALF[1], place))
    sides = where(is_upper, 0.5, -0.5)
    lacks = is_upper & ~is_middle
    size = log(where(is_far, -place, where(lacks, -grown, 0.5)))
    tail = where(lacks, -size, -place)
    near = Number(b, quantile(b, where(is_middle, 0.5 * grown, sides).x, where(is_far, 1.0, tail).x))
    found = where(is_far, _far_quantile(where(is_far, -place, -_FAR), where(is_far, size, math.log(-_FAR))), near)
    ends = where(y == 0.0, math.inf, where(y == -math.inf, y, math.nan))
    return b.convert(t, "f64", where(is_told, found, ends).x)


def _far_quantile(size: Number, line: Number) -> Number:
    """The x at which log_ndtr is less a large number, of which the logarithm is given: by Newton's method for x^2 / 2,
    from where one step leads to all digits."""
    constant = 0.5 * math.log(2 * math.pi)
    line = line + math.log(2.0)
    off = 0.5 * line + constant
    half = size - off + 0.5 * ((off - 1.0) / size)
    over = 0.5 / half
    value = (half - size) + (0.5 * (log(half) + math.log(2.0)) + constant) - horner(over, _MILLS)
    half = half - value / (1.0 + over - 2.0 * (over * over))
    return -math.sqrt(2.0) * sqrt(half)


ALONE = {"ndtri_exp": _ndtri_exp}

# -- counts ------------------------------------------------------------------------------------------------------------

_LARGEST = 2.0**53  # beyond it floats are no counts
_BESIDE = 1e-11  # ten times and more what two ways to the same share differ by, relative to it


def _smallest(s: Scope, guess: Number, is_enough: Callable[[Number], Any]) -> Number:
    """The smallest whole number that is enough: by steps from a guess that double, then by halving; inf if no count
    is."""

    def goes_on(low: Number, high: Number, at: Number, step: Number) -> Any:
        return (high - low > 1.0) & (low < _LARGEST)

    def next_of(low: Number, high: Number, at: Number, step: Number) -> list[Some]:
        found = is_enough(at)
        low, high = where(found, low, at), where(found, at, high)
        is_down = (low < 0.0) & (high - step > low)
        between = where(is_down, high - step, (0.5 * (low + high)).of("floor"))
        return [low, high, where(high == math.inf, low + step, between), 2.0 * step]

    low, high, *_ = repeated(s.b, [-1.0, math.inf, guess, 1.0], goes_on, next_of)
    return where(low < _LARGEST, high, math.inf)  # from there on it has not been halved to the smallest


class _Moments(NamedTuple):
    """Of a distribution of counts.

    Attributes:
        size: its first parameter.
        mean: its mean.
        variance: its variance.
        third: the third central moment over the variance.
    """

    size: Number
    mean: Number
    variance: Number
    third: Some


def _count(
    s: Scope, q: Number, upper: int, moments: _Moments, parts: tuple[Callable[[Number], Some], Callable[[Number], Some]]
) -> Number:  # fmt: skip
    """The count up to which the mass is q, or beyond which it is, of functions of the mass up to k and beyond it:
    sought from where Cornish and Fisher's expansion has it."""
    below, beyond = parts
    z = of_scipy(s.b, "ndtri", q)
    z = -z if upper else z
    guess = moments.mean + z * sqrt(moments.variance) + (z * z - 1.0) * moments.third * (1 / 6)
    guess = (guess - 0.5).of("ceil")
    is_near = (guess > 0.0) & (guess < _LARGEST) & (moments.size < _LARGEST)  # of huge sizes SciPy has masses of NaN
    return _smallest(
        s, where(is_near, guess, 0.0), (lambda k: beyond(k) <= q) if upper else (lambda k: below(k) >= q)
    )  # fmt: skip


def _beta_upper(b: Builder, q: Number, first: Some, second: Some, p: Number) -> Number:
    """What is compared with q: beside it exactly what NumPy's kernel compares, for q may be a count's own share."""
    if is_alone():
        return call_own(b, "betaincc", (), first, second, p)
    found = call_own(b, "betaincc_of_scipy", (0,), first, second, p)
    return choose(
        abs(found - q) > _BESIDE * found, lambda: found, lambda: call_either(b, "betaincc", (), first, second, p)
    )  # fmt: skip


@FORMULAS.add("poisson_count", 2)
def _poisson(s: Scope, q: Number, mu: Number, upper: int) -> Some:
    return _count(s, q, upper, _Moments(mu, mu, mu, 1.0), (
        lambda k: call_either(s.b, "gammaincc", (), k + 1.0, mu),
        lambda k: call_either(s.b, "gammainc", (0,), k + 1.0, mu),
    ))  # fmt: skip


@FORMULAS.add("binom_count", 3, in_lanes=True)
def _binom(s: Scope, q: Number, n: Number, p: Number, upper: int) -> Some:
    mean = n * p
    return _count(s, q, upper, _Moments(n, mean, mean * (1.0 - p), 1.0 - 2.0 * p), (
        lambda k: choose(k >= n, lambda: 1.0, lambda: _beta_upper(s.b, q, k + 1.0, n - k, p)),
        lambda k: choose(k >= n, lambda: 0.0, lambda: call_either(s.b, "betainc", (0, 0), k + 1.0, n - k, p)),
    ))  # fmt: skip


@FORMULAS.add("nbinom_count", 3, in_lanes=True)
def _nbinom(s: Scope, q: Number, n: Number, p: Number, upper: int) -> Some:
    mean = n * (1.0 - p) / p
    return _count(s, q, upper, _Moments(n, mean, mean / p, (2.0 - p) / p), (
        lambda k: call_either(s.b, "betainc", (0, 0), n, k + 1.0, p),
        lambda k: _beta_upper(s.b, q, n, k + 1.0, p),
    ))  # fmt: skip


# -- von Mises's distribution ------------------------------------------------------------------------------------------

_NODES = 48
_MOST_STEPS = 60.0
_CLOSE = 1e-9  # a step of Newton's method that is so small, beside the angle, leads to all digits
_ROUNDING = 1e-16  # ... and of smaller ones only rounding errors are left


@FORMULAS.add("vonmises_place", 2)
def _vonmises(s: Scope, q: Number, kappa: Number) -> Some:
    """By Newton's method from the normal distribution's place; the mass below an angle is summed by Gauss's rule where
    the density has not vanished."""
    b = s.b
    nodes, weights = (s.table(x) for x in np.polynomial.legendre.leggauss(_NODES))
    height = 1.0 / (2 * math.pi * Number(b, SCALARS["i0e"](b, "f64", (), kappa.x)))

    def sine(x: Number) -> Number:
        return x.of("sin")

    def below(angle: Number, square: Number) -> Number:
        reach = square + 20.0 / kappa
        end = where(reach < 1.0, -2.0 * sqrt(where(reach < 1.0, reach, 1.0)).of("asin"), -math.pi)
        half = 0.5 * (angle - end)
        total = b.var("f64", 0.0)
        with b.loop(0, _NODES) as i:
            place = sine(0.25 * (angle + end) + 0.5 * half * s.read(nodes, i))
            part = s.read(weights, i) * exp(-2.0 * kappa * (place * place))
            b.set(total, (Number(b, b.get(total)) + part).x)
        return height * half * Number(b, b.get(total))

    def step(k: Number, angle: Number, move: Number) -> list[Some]:
        half_sine = sine(0.5 * angle)
        square = half_sine * half_sine
        move = (below(angle, square) - q) / (height * exp(-2.0 * kappa * square))
        angle = angle - move
        return [k + 1.0, where(angle > 0.0, 0.0, where(angle < -math.pi, -math.pi, angle)), move]

    def goes_on(k: Number, angle: Number, move: Number) -> Any:
        return (k < _MOST_STEPS) & (abs(move) > _ROUNDING - _CLOSE * angle)

    chord = 0.5 * of_scipy(b, "ndtri", q) / sqrt(kappa)
    spread = where(chord < -1.0, -math.pi, 2.0 * where(chord < -1.0, -1.0, chord).of("asin"))
    start = where(kappa < 1.0, 2 * math.pi * (q - 0.5), spread)
    is_share = (q >= 0.0) & (q <= 1.0)
    return repeated(b, [0.0, where(is_share, start, math.nan), math.inf], goes_on, step)[1]


IN_PROCESS = {
    **ALONE,
    **{name: rule_of(name) for name in ("poisson_count", "binom_count", "nbinom_count", "vonmises_place")},
}
