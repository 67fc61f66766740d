"""Truncated Taylor series in two parameters; coefficients are arrays, or anything else with arithmetic and `exp`.

Series and continued fractions summed in them are differentiated in their parameters on the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Coefficients = list[list[Any]]  # at [i][j] the coefficient of e^i d^j


class Taylor:
    """sum c[i][j] e^i d^j up to an order in each of e and d; arithmetic drops what is beyond."""

    __slots__ = ("c",)
    __array_ufunc__ = None  # array + Taylor is Taylor's matter

    def __init__(self, c: Coefficients) -> None:
        self.c = c

    @property
    def orders(self) -> tuple[int, int]:
        return len(self.c) - 1, len(self.c[0]) - 1

    def __add__(self, other: object) -> Taylor:
        if isinstance(other, Taylor):
            return Taylor([[x + y for x, y in zip(p, q, strict=True)] for p, q in zip(self.c, other.c, strict=True)])
        return Taylor([[self.c[0][0] + other, *self.c[0][1:]], *self.c[1:]])

    __radd__ = __add__

    def __neg__(self) -> Taylor:
        return Taylor([[-x for x in row] for row in self.c])

    def __sub__(self, other: Taylor | float | np.ndarray[Any, Any]) -> Taylor:
        return self + -other

    def __rsub__(self, other: float | np.ndarray[Any, Any]) -> Taylor:
        return -self + other

    def __mul__(self, other: object) -> Taylor:
        if not isinstance(other, Taylor):
            return Taylor([[x * other for x in row] for row in self.c])
        m, n = self.orders
        return Taylor([
            [
                sum(self.c[k][p] * other.c[i - k][j - p] for k in range(i + 1) for p in range(j + 1))
                for j in range(n + 1)
            ]
            for i in range(m + 1)
        ])  # fmt: skip

    __rmul__ = __mul__

    def reciprocal(self) -> Taylor:
        """1 / self."""
        m, n = self.orders
        first = 1 / self.c[0][0]
        r: Coefficients = [[first] * (n + 1) for _ in range(m + 1)]
        for i in range(m + 1):
            for j in range(n + 1):
                if i or j:
                    r[i][j] = -first * sum(
                        self.c[k][p] * r[i - k][j - p] for k in range(i + 1) for p in range(j + 1) if k or p
                    )
        return Taylor(r)

    def __truediv__(self, other: Taylor | np.ndarray[Any, Any]) -> Taylor:
        return self * (other.reciprocal() if isinstance(other, Taylor) else 1 / other)

    def __rtruediv__(self, other: object) -> Taylor:
        return self.reciprocal() * other

    def exp(self) -> Taylor:
        """e^self: i E_ij is the sum of k c_kp E_(i-k)(j-p)."""
        m, n = self.orders
        first = self.c[0][0]
        first = first.exp() if hasattr(first, "exp") else np.exp(first)
        e: Coefficients = [[first] * (n + 1) for _ in range(m + 1)]
        for j in range(1, n + 1):
            e[0][j] = sum(p * self.c[0][p] * e[0][j - p] for p in range(1, j + 1)) / j
        for i in range(1, m + 1):
            for j in range(n + 1):
                e[i][j] = sum(k * self.c[k][p] * e[i - k][j - p] for k in range(1, i + 1) for p in range(j + 1)) / i
        return Taylor(e)

    def derivative(self) -> Any:
        """The derivative of the highest orders that are kept."""
        m, n = self.orders
        return self.c[m][n] * float(math.factorial(m) * math.factorial(n))


def variable(x: np.ndarray[Any, Any], orders: tuple[int, int], slope: tuple[int, int]) -> Taylor:
    """x + e (slope (1, 0)), x + d (slope (0, 1)), or x + e + d (slope (1, 1))."""
    m, n = orders
    c: Coefficients = [[np.zeros_like(x) for _ in range(n + 1)] for _ in range(m + 1)]
    c[0][0] = x
    if m and slope[0]:
        c[1][0] = np.ones_like(x)
    if n and slope[1]:
        c[0][1] = np.ones_like(x)
    return Taylor(c)


def through(
    x: np.ndarray[Any, Any], orders: tuple[int, int], slope: tuple[int, int], derivatives: Callable[..., Any]
) -> Taylor:
    """A function at `variable(x, orders, slope)`; `derivatives(k)` gives its derivative of order k at x."""
    m, n = orders
    zero = np.zeros_like(x)
    c: Coefficients = [[zero for _ in range(n + 1)] for _ in range(m + 1)]
    known: dict[int, Any] = {}
    for i in range(m + 1):
        for j in range(n + 1):
            if (i and not slope[0]) or (j and not slope[1]):
                continue
            if i + j not in known:
                known[i + j] = derivatives(i + j)
            c[i][j] = known[i + j] / float(math.factorial(i) * math.factorial(j))
    return Taylor(c)


def fraction(terms: Callable[..., Any], steps: int) -> Taylor:
    """A continued fraction b0 + a1/(b1 + a2/(b2 + ...)), the quotient of two solutions of one recurrence; `terms(k)`
    gives (a_k, b_k). After two terms all is divided by the last denominator, which then is 1.

    Stops where no element changes any more, at the latest after a number of steps.
    """
    _, value = terms(0)
    one = value * 0.0 + 1.0
    above_before, below_before = one, value * 0.0
    size = len(_entries(value))
    for k in range(1, steps, 2):
        last, above, below = value, value, one
        for a, b in (terms(k), terms(k + 1)):
            above_before, above = above, b * above + a * above_before
            below_before, below = below, b * below + a * below_before
        scale = below.reciprocal()
        value, above_before, below_before = above * scale, above_before * scale, below_before * scale
        least = 3e-16 * (1 + size) * np.abs(_entries(value)[0])
        if not any(np.any(np.abs(x) > least) for x in _entries(value - last)):
            break
    return value


def _entries(x: Taylor) -> list[Any]:
    return [v for row in x.c for v in row]
