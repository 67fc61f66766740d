"""Quantiles of counts, of angles and of the normal distribution, of one float each, by halving and counting."""

from __future__ import annotations

import math
from collections.abc import Callable

from .incomplete_math import betainc, gammaincc

NAN, INF = math.nan, math.inf


def ndtri_exp(y: float) -> float:
    """The x at which the logarithm of the normal distribution function is y, of moderate size."""
    if not y <= 0:
        return NAN
    if y == 0 or y == -INF:
        return INF if y == 0 else -INF
    low, high = -37.0, 9.0
    for _ in range(200):
        middle = (low + high) / 2
        if math.log(max(math.erfc(-middle / math.sqrt(2)) / 2, 5e-324)) < y:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _smallest(is_enough: Callable[[int], bool]) -> float:
    k = 0
    while not is_enough(k):
        k += 1
    return float(k)


def _count(below: Callable[[int], float], q: float, upper: bool) -> float:
    return _smallest(lambda k: 1 - below(k) <= q if upper else below(k) >= q)


def poisson_count(q: float, mu: float, upper: bool) -> float:
    """Of Poisson's distribution."""
    return NAN if not (0 < q < 1 and mu >= 0) else _count(lambda k: gammaincc(k + 1.0, mu), q, upper)


def binom_count(q: float, n: float, p: float, upper: bool) -> float:
    """Of the binomial distribution."""
    if not (0 < q < 1 and n >= 0 and 0 <= p <= 1):
        return NAN
    return _count(lambda k: 1.0 if k >= n else 1 - betainc(k + 1.0, n - k, p, 0, 0), q, upper)


def nbinom_count(q: float, n: float, p: float, upper: bool) -> float:
    """Of the negative binomial distribution."""
    if not (0 < q < 1 and n > 0 and 0 < p <= 1):
        return NAN
    return _count(lambda k: betainc(n, k + 1.0, p, 0, 0), q, upper)


_PIECES = 3000


def vonmises_place(q: float, kappa: float) -> float:
    """The angle from -pi to 0 with a share q below it, by Simpson's rule: the density is smooth."""
    if not (0 <= q <= 0.5 and kappa > 0):
        return NAN

    def density(angle: float) -> float:
        return math.exp(-2 * kappa * math.sin(angle / 2) ** 2)

    def area(low: float, high: float) -> float:
        step = (high - low) / _PIECES
        inner = sum((4 if i % 2 else 2) * density(low + i * step) for i in range(1, _PIECES))
        return step / 3 * (density(low) + inner + density(high))

    whole = 2 * area(-math.pi, 0.0)
    low, high = -math.pi, 0.0
    for _ in range(54):
        middle = (low + high) / 2
        low, high = (middle, high) if area(-math.pi, middle) < q * whole else (low, middle)
    return (low + high) / 2


FUNCTIONS: dict[str, Callable[[float], float]] = {"ndtri_exp": ndtri_exp}
BINARY: dict[str, Callable[[float, float], float]] = {"vonmises_place": vonmises_place}
