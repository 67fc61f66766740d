"""Quantiles for programs that leave Python, by the methods of NumPy's kernels (`numpy/quantiles.py`): counts by
doubling and halving, angles by halving.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .numbers import Number, Some, choose, exp, expm1, first_of, repeated, sqrt, where
from .own import Scope, add, call_own
from .scalars import SCALARS
from .special import call

_LARGEST = 2.0**53  # beyond it floats are no counts
_VANISHED = -700.0  # where e^y nears the smallest number
_NODES = 48


@add("ndtri_exp", 1)
def _ndtri_exp(s: Scope, y: Number) -> Some:
    """The normal quantile of e^y."""

    def quantile(p: Number) -> Number:
        return Number(s.b, call(s.b, "ndtri", "f64", p.x))

    def far() -> Number:
        def step(k: Number, x: Number) -> list[Some]:
            off = Number(s.b, call(s.b, "log_ndtr", "f64", x.x)) - y
            return [k + 1.0, x - off / Number(s.b, SCALARS["normal_hazard"](s.b, "f64", (), x.x))]

        return repeated(s.b, [0.0, -sqrt(-2.0 * y)], lambda k, x: k < 6.0, step)[1]

    cases = [
        (~(y <= 0.0), lambda: math.nan), (y == -math.inf, lambda: y), (y > -0.5, lambda: -quantile(-expm1(y))),
        (y > _VANISHED, lambda: quantile(exp(y))),
    ]  # fmt: skip
    return first_of(cases, far)


def _smallest(s: Scope, q: Number, is_enough: Callable[[Number], Any]) -> Number:
    """The smallest whole number that is enough, by doubling and halving; inf where none is."""

    def told(k: Number) -> Number:
        return where(is_enough(k), 1.0, 0.0)

    def doubled(high: Number, enough: Number) -> list[Some]:
        more = 2.0 * high + 1.0
        return [more, told(more)]

    start = 0.0 * q
    high, enough = repeated(s.b, [start, told(start)], lambda high, enough: (enough < 0.5) & (high < _LARGEST), doubled)
    low = where(high > 0.0, (0.5 * (high - 1.0)).of("floor"), -1.0)

    def halved(low: Number, high: Number) -> list[Some]:
        middle = (0.5 * (low + high)).of("floor")
        found = told(middle)
        return [where(found > 0.5, low, middle), where(found > 0.5, middle, high)]

    _, found = repeated(s.b, [low, high], lambda low, high: high - low > 1.0, halved)
    return where(enough > 0.5, found, math.inf)


def _count(s: Scope, q: Number, upper: int, parts: tuple[Callable[[Number], Some], Callable[[Number], Some]]) -> Number:
    """The count up to which the mass is q, or beyond which it is, of functions of the mass up to k and beyond it."""
    below, beyond = parts
    return _smallest(s, q, (lambda k: beyond(k) <= q) if upper else (lambda k: below(k) >= q))


@add("poisson_count", 2)
def _poisson(s: Scope, q: Number, mu: Number, upper: int) -> Some:
    return _count(s, q, upper, (
        lambda k: call_own(s.b, "gammaincc", (), k + 1.0, mu), lambda k: call_own(s.b, "gammainc", (0,), k + 1.0, mu),
    ))  # fmt: skip


@add("binom_count", 3)
def _binom(s: Scope, q: Number, n: Number, p: Number, upper: int) -> Some:
    return _count(s, q, upper, (
        lambda k: choose(k >= n, lambda: 1.0, lambda: call_own(s.b, "betaincc", (), k + 1.0, n - k, p)),
        lambda k: choose(k >= n, lambda: 0.0, lambda: call_own(s.b, "betainc", (0, 0), k + 1.0, n - k, p)),
    ))  # fmt: skip


@add("nbinom_count", 3)
def _nbinom(s: Scope, q: Number, n: Number, p: Number, upper: int) -> Some:
    return _count(s, q, upper, (
        lambda k: call_own(s.b, "betainc", (0, 0), n, k + 1.0, p),
        lambda k: call_own(s.b, "betaincc", (), n, k + 1.0, p),
    ))  # fmt: skip


@add("vonmises_place", 2)
def _vonmises(s: Scope, q: Number, kappa: Number) -> Some:
    """By halving; the mass below an angle is summed by Gauss's rule where the density has not vanished."""
    b = s.b
    nodes, weights = (s.table(x) for x in np.polynomial.legendre.leggauss(_NODES))
    height = 1.0 / (2 * math.pi * Number(b, SCALARS["i0e"](b, "f64", (), kappa.x)))

    def sine(x: Number) -> Number:
        return x.of("sin")

    def below(angle: Number) -> Number:
        half_sine = sine(0.5 * angle)
        reach = half_sine * half_sine + 20.0 / kappa
        end = where(reach < 1.0, -2.0 * sqrt(where(reach < 1.0, reach, 1.0)).of("asin"), -math.pi)
        half = 0.5 * (angle - end)
        total = b.var("f64", 0.0)
        with b.loop(0, _NODES) as i:
            place = sine(0.25 * (angle + end) + 0.5 * half * s.read(nodes, i))
            part = s.read(weights, i) * exp(-2.0 * kappa * (place * place))
            b.set(total, (Number(b, b.get(total)) + part).x)
        return height * half * Number(b, b.get(total))

    def halved(k: Number, low: Number, high: Number) -> list[Some]:
        middle = 0.5 * (low + high)
        is_below = below(middle) < q
        return [k + 1.0, where(is_below, middle, low), where(is_below, high, middle)]

    _, low, high = repeated(b, [0.0, -math.pi, 0.0], lambda k, low, high: k < 54.0, halved)
    return 0.5 * (low + high)
