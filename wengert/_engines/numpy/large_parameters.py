"""Derivatives of incomplete gamma and beta functions in large parameters, near the peak of the density: by quadrature.

Series and continued fractions take as many steps there as the peak is wide, the square root of the parameter, and
lose digits on the way. The derivative of order n is the integral of the density times a polynomial in the derivatives
of its logarithm, over either tail (over both it is zero). The tail that is taken has a smooth integrand, which falls
off within a few widths of the peak: as many nodes do for every size. What lies off the peak is formed without
cancellation.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..special_numerics import FALL, NODES, beyond_stirling
from ..taylor import Taylor
from .special import polygamma_step

_DIGAMMA = (1 / 2, 1 / 12, 0.0, -1 / 120, 0.0, 1 / 252)


@functools.cache
def _rule() -> tuple[Any, Any]:
    """Nodes in (0, 1) and weights."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return (nodes + 1) / 2, weights / 2


def off(u: np.ndarray[Any, Any]) -> Any:
    """u - log(1 + u), near 0 by the series of the logarithm in u / (2 + u)."""
    t = u / (2 + u)
    square, rest = t * t, np.zeros_like(u)
    for k in range(20, 0, -1):
        rest = (rest + 1 / (2 * k + 1)) * square
    return np.where(np.abs(u) < 0.5, t * (u - 2 * rest), u - np.log1p(u))


def _above_digamma(x: np.ndarray[Any, Any]) -> Any:
    """log(x) - digamma(x) for large x."""
    total = 0.0
    for coefficient in reversed(_DIGAMMA):
        total = (total + coefficient) / x
    return total


def _reach(slope: Any, curvature: Any) -> Any:
    """How far an exponent with this slope and curvature takes to grow by `FALL`."""
    return 2 * FALL / (slope + np.sqrt(slope * slope + 2 * curvature * FALL))


def gamma_derivative(a: np.ndarray[Any, Any], x: np.ndarray[Any, Any], order: int) -> Any:
    """The derivative of gammainc(a, x) in a, for large a and x near it."""
    from scipy.special import polygamma

    start = (x - a) / a
    side = np.where(start < 0, -1.0, 1.0)  # outwards
    reach = _reach(a * np.abs(start) / (1 + start), 0.5 * a)
    nodes, weights = _rule()
    place = start + side * reach * nodes[:, None]
    slopes = [np.log1p(place) + _above_digamma(a), *[-polygamma(k, a) for k in range(1, order)]]
    line = Taylor([[np.zeros_like(place)], *[[s / math.factorial(k)] for k, s in enumerate(slopes, start=1)]])
    density = np.exp(-a * off(place) - beyond_stirling(a)) * np.sqrt(a / (2 * math.pi)) / (1 + place)
    return -side * reach * np.sum(weights[:, None] * density * line.exp().derivative(), axis=0)


def beta_derivative(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], start: Any, order_a: int, order_b: int) -> Any:
    """The derivative of betainc(a, b, x) in a and b, for large ones and x near and not above a / (a + b).

    Args:
        a, b: the parameters.
        start: `beta_start(a, b, x)`, not positive.
        order_a, order_b: how often in each.
    """
    ratio, total = a / b, a + b
    apart = -start
    slope = a * apart * (1 / (1 - apart) + ratio / (1 + apart * ratio))
    reach = _reach(slope, 0.5 * a * (1 + ratio))
    nodes, weights = _rule()
    place = start - reach * nodes[:, None]
    other = -place * ratio
    above = _above_digamma(total)
    first = {
        (1, 0): np.log1p(place) + (_above_digamma(a) - above),
        (0, 1): np.log1p(other) + (_above_digamma(b) - above),
    }

    def slopes(i: int, j: int) -> Any:
        if i + j == 0:
            return np.zeros_like(place)
        return (first[i, j] if i + j == 1 else _step(a, b, i, j)) / (math.factorial(i) * math.factorial(j))

    line = Taylor([[slopes(i, j) for j in range(order_b + 1)] for i in range(order_a + 1)])
    size = np.sqrt(a / b * total / (2 * math.pi)) * np.exp(
        beyond_stirling(total) - beyond_stirling(a) - beyond_stirling(b)
    )
    density = np.exp(-a * off(place) - b * off(other)) / ((1 + place) * (1 + other))
    return size * reach * np.sum(weights[:, None] * density * line.exp().derivative(), axis=0)


def _step(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], i: int, j: int) -> Any:
    """Derivatives from the second on of -log(beta(a, b))."""
    from scipy.special import polygamma

    n = i + j - 1
    if i and j:
        return polygamma(n, a + b)
    return polygamma_step(a, b, n) if i else polygamma_step(b, a, n)
