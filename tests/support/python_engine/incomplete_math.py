"""The incomplete gamma and beta functions, Hurwitz's zeta function and exponential integrals of floats.

Derivatives in the parameters come from the integrals' own logarithms, so that they owe nothing to the series that the
NumPy engine differentiates.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tests.support.python_engine.quadrature import integral, tail_integral, unit_integral
from tests.support.python_engine.safe_math import INF, NAN
from tests.support.python_engine.special_math import digamma, polygamma


def _derivatives_of_exp(slopes: list[float]) -> list[float]:
    """1 and the derivatives of e^L over e^L, from those of L."""
    found = [1.0]
    for n in range(len(slopes)):
        found.append(sum(math.comb(n, k) * slopes[k] * found[n - k] for k in range(n + 1)))
    return found


def _psi(k: int, x: float) -> float:
    return polygamma(k, x) if k else digamma(x)


# -- incomplete gamma --------------------------------------------------------------------------------------------------


def _gamma_part(a: float, x: float, order: int, is_upper: bool) -> float:
    """The derivative in a of the integral of t^(a-1) e^-t over gamma(a), below x or above it."""
    logarithm = math.lgamma(a)
    inverse = _derivatives_of_exp([-_psi(k, a) for k in range(order)])  # of 1 / gamma(a), over it

    def density(t: float) -> float:
        if t <= 0:
            return 0.0
        line = math.log(t)
        moments = sum(math.comb(order, k) * inverse[order - k] * line**k for k in range(order + 1))
        exponent = (a - 1) * line - t - logarithm
        return math.exp(exponent) * moments if exponent > -745 else 0.0

    if is_upper:
        return tail_integral(lambda s: density(x + s))
    return x * unit_integral(lambda share, _: density(x * share))


def gammainc(a: float, x: float, order: int) -> float:
    """The lower function or its derivative in a."""
    if not (a > 0 and x >= 0):
        return NAN
    if x == 0:
        return 0.0
    if x == INF:
        return 0.0 if order else 1.0
    if x < a + 1:
        return _gamma_part(a, x, order, False)
    return (0.0 if order else 1.0) - _gamma_part(a, x, order, True)


def gammaincc(a: float, x: float) -> float:
    """The upper function."""
    if not (a > 0 and x >= 0):
        return NAN
    if x == 0 or x == INF:
        return float(x == 0)
    return 1 - _gamma_part(a, x, 0, False) if x < a + 1 else _gamma_part(a, x, 0, True)


# -- beta --------------------------------------------------------------------------------------------------------------


def betaln(a: float, b: float) -> float:
    """log|beta(a, b)|."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def poch(a: float, b: float) -> float:
    """gamma(a + b) / gamma(a), for positive a and a + b."""
    return math.exp(math.lgamma(a + b) - math.lgamma(a)) if a > 0 and a + b > 0 else NAN


def gamma_size(a: float, x: float) -> float:
    """x^(a-1) e^-x / gamma(a)."""
    if not (a > 0 and x >= 0):
        return NAN
    if x == 0:
        return INF if a < 1 else float(a == 1)
    return math.exp((a - 1) * math.log(x) - x - math.lgamma(a))


def polygamma_step(a: float, b: float, order: int) -> float:
    """polygamma(a + b) - polygamma(a)."""
    return _psi(order, a + b) - _psi(order, a)


def beta(a: float, b: float) -> float:
    """gamma(a) gamma(b) / gamma(a + b), for positive arguments."""
    return math.exp(betaln(a, b))


def _beta_part(a: float, b: float, x: float, order_a: int, order_b: int) -> float:
    """The derivative in a and b of the integral of t^(a-1) (1-t)^(b-1) over beta(a, b), below x."""
    logarithm = betaln(a, b)
    inverse = _inverse_beta(a, b, order_a, order_b)

    def density(t: float) -> float:
        if not 0 < t < 1:
            return 0.0
        low, high = math.log(t), math.log1p(-t)
        moments = sum(
            math.comb(order_a, i) * math.comb(order_b, j) * inverse[order_a - i, order_b - j] * low**i * high**j
            for i in range(order_a + 1) for j in range(order_b + 1)
        )  # fmt: skip
        return math.exp((a - 1) * low + (b - 1) * high - logarithm) * moments

    return x * unit_integral(lambda share, _: density(x * share))


def _inverse_beta(a: float, b: float, order_a: int, order_b: int) -> dict[tuple[int, int], float]:
    """The derivatives of 1 / beta(a, b), over it: those of gamma(a + b) with those of 1 / gamma(a) and 1 / gamma(b)."""
    total = order_a + order_b
    both = _derivatives_of_exp([_psi(k, a + b) for k in range(total)])
    left = _derivatives_of_exp([-_psi(k, a) for k in range(order_a)])
    right = _derivatives_of_exp([-_psi(k, b) for k in range(order_b)])
    return {
        (i, j): sum(
            math.comb(i, p) * math.comb(j, q) * left[p] * right[q] * both[i - p + j - q]
            for p in range(i + 1) for q in range(j + 1)
        )
        for i in range(order_a + 1) for j in range(order_b + 1)
    }  # fmt: skip


def betainc(a: float, b: float, x: float, order_a: int, order_b: int) -> float:
    """I_x(a, b) or its derivative in a and b."""
    if not (a > 0 and b > 0 and 0 <= x <= 1):
        return NAN
    whole = 0.0 if order_a or order_b else 1.0
    if x == 0 or x == 1:
        return whole * x
    if x * (a + b + 2) < a + 1:
        return _beta_part(a, b, x, order_a, order_b)
    return whole - _beta_part(b, a, 1 - x, order_b, order_a)


def betaincc(a: float, b: float, x: float) -> float:
    """1 - I_x(a, b)."""
    return betainc(b, a, 1 - x, 0, 0)


# -- quantiles ---------------------------------------------------------------------------------------------------------


def _solved(below: Callable[[float], float], p: float, low: float, high: float) -> float:
    """Where an ascending function is p, by halving until floats end."""
    while True:
        middle = (low + high) / 2
        if not low < middle < high:
            return high if abs(below(high) - p) < abs(below(low) - p) else low
        low, high = (middle, high) if below(middle) < p else (low, middle)


def gammaincinv(a: float, p: float) -> float:
    """The x with gammainc(a, x) = p."""
    if not (a > 0 and 0 <= p <= 1):
        return NAN
    if p == 0 or p == 1:
        return p * INF if p else 0.0
    high = 1.0
    while gammainc(a, high, 0) < p:
        high *= 2
    return _solved(lambda x: gammainc(a, x, 0), p, 0.0, high)


def betaincinv(a: float, b: float, p: float) -> float:
    """The x with betainc(a, b, x) = p."""
    if not (a > 0 and b > 0 and 0 <= p <= 1):
        return NAN
    return p if p in (0, 1) else _solved(lambda x: betainc(a, b, x, 0, 0), p, 0.0, 1.0)


# -- zeta and exponential integrals ------------------------------------------------------------------------------------


def zeta(s: float, q: float, order: int) -> float:
    """Hurwitz's zeta function by Hermite's integral, or its derivative in s, which is under the integral."""
    if not (s >= 1 and q > 0):
        return NAN
    if s == 1:
        return INF
    near = 15.0
    total = 0.0
    while q < near:  # where q is large, Hermite's integral is a small correction
        total += (-math.log(q)) ** order * q**-s
        q += 1.0
    line = math.log(q)
    head = 0.5 * (-line) ** order * q**-s
    for k in range(order + 1):  # q^(1-s) / (s - 1), differentiated
        inverse = (-1) ** k * math.factorial(k) / (s - 1) ** (k + 1)
        head += math.comb(order, k) * (-line) ** (order - k) * q ** (1 - s) * inverse

    def wave(t: float) -> float:
        # the imaginary part of (-log(q - it))^order (q - it)^-s, over e^(2 pi t) - 1
        logarithm = complex(0.5 * math.log(q * q + t * t), -math.atan2(t, q))
        size, angle = math.exp(-s * logarithm.real), -s * logarithm.imag
        value = (-logarithm) ** order * complex(size * math.cos(angle), size * math.sin(angle))
        return value.imag / math.expm1(2 * math.pi * t) if 0 < t < 100 else 0.0

    return total + head + 2 * integral(wave, 0.0, 8.0)


_EULER = 0.5772156649015328606


def exp1(x: float) -> float:
    """The integral of e^-t / t from x to infinity."""
    if not x >= 0:
        return NAN
    if x == 0 or x == INF:
        return 0.0 if x else INF
    if x > 1:
        return math.exp(-x) * tail_integral(lambda s: math.exp(-s) / (x + s) if s < 745 else 0.0)
    return -_EULER - math.log(x) - _powers(-x)


def _powers(x: float) -> float:
    """The sum of x^k / (k k!)."""
    term, total, k = 1.0, 0.0, 0
    while k < 10 or abs(term) > 1e-18 * abs(total):
        k += 1
        term *= x / k
        total += term / k
    return total


def expi(x: float) -> float:
    """The integral of e^t / t from minus infinity to x."""
    if x != x or x == INF:
        return x
    if x <= 0:
        return -exp1(-x)
    if x < 45:
        return _EULER + math.log(x) + _powers(x)
    term = total = 1.0
    for k in range(1, 40):
        term *= k / x
        total += term
    try:
        return math.exp(x) / x * total
    except OverflowError:
        return INF


# Functions of one float, of two, and with orders of differentiation as attributes, by op name.
FUNCTIONS: dict[str, Callable[[float], float]] = {"expi": expi, "exp1": exp1}
BINARY: dict[str, Callable[[float, float], float]] = {
    "beta": beta, "betaln": betaln, "gammaincc": gammaincc, "gammaincinv": gammaincinv,
    "poch": poch, "gamma_size": gamma_size,
}  # fmt: skip
BINARY_ORDERED: dict[str, Callable[[float, float, int], float]] = {
    "gammainc": gammainc,
    "zeta": zeta,
    "polygamma_step": polygamma_step,
}
