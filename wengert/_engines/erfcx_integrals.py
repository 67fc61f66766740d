"""e^(x^2) i^n erfc(x), the scaled integrals of the error function, as polynomials: what engines share of them.

Above 0 the function times (x + shift)^(n + 1) is smooth in t = (x - SPLIT) / (x + SPLIT), which is between -1 and 1:
its Chebyshev series ends after some thirty terms. Below 0 the reflection has terms of one sign, or nearly so.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

MOST = 6  # orders beyond would need more terms; a continued fraction serves them
SPLIT = 4.0
_PLACES = 64
_NEAR = 0.5


class Smooth(NamedTuple):
    """The polynomial of an order in t, the constant term first, and the shift.

    Attributes:
        coefficients: of the polynomial.
        shift: with it, the product is of one size at 0 and far out.
    """

    coefficients: tuple[float, ...]
    shift: float


@functools.cache
def smooth(order: int, terms: int = 27) -> Smooth:
    """What an order is computed by, above 0: so many terms and one for each order; 14 are enough for float32."""
    shift = (math.gamma(order / 2 + 1) / math.sqrt(math.pi)) ** (1 / (order + 1))
    values: list[float] = []
    for i in range(_PLACES):
        t = _cosine(2 * i + 1)
        x = SPLIT * (1 + t) / (1 - t)
        values.append(_exact(x, order) * (x + shift) ** (order + 1))
    from fractions import Fraction  # takes long to load, and few programs come here

    # in fractions from here on: powers of t have coefficients that cancel on the way
    total = [Fraction(0)] * (terms + order)
    before, power = [Fraction(1)], [Fraction(0), Fraction(1)]  # Chebyshev's polynomials
    for j in range(len(total)):
        part = math.fsum(v * _cosine(j * (2 * i + 1)) for i, v in enumerate(values))
        weight = Fraction(part) * (2 if j else 1) / _PLACES
        for k, c in enumerate(before):
            total[k] += weight * c
        doubled = [Fraction(0), *[2 * c for c in power]]
        before, power = power, [c - d for c, d in zip(doubled, [*before, *[Fraction(0)] * 2], strict=True)]
    return Smooth((*map(float, total),), shift)


def _cosine(k: int) -> float:
    """cos(pi k / (2 _PLACES)), without rounding of the angle beyond a quarter turn."""
    k %= 4 * _PLACES
    k = min(k, 4 * _PLACES - k)
    return math.cos(math.pi * k / (2 * _PLACES)) if k <= _PLACES else -_cosine(2 * _PLACES - k)


def _exact(x: float, order: int) -> float:
    """By the power series near 0, else by the continued fraction of neighbours' ratios."""
    if x < _NEAR:
        terms = (math.comb(order + k, k) * (-x) ** k / math.gamma((order + k) / 2 + 1) for k in range(60))
        return math.fsum(terms) / 2**order
    last = order + int(40 + (15 / x) ** 2)
    ratio = 1 / (x + math.sqrt(x * x + 2.0 * last))
    product = 2 / math.sqrt(math.pi)
    for n in range(last, -1, -1):
        ratio = 0.5 / (x + (n + 1) * ratio)
        product *= ratio if n <= order else 1.0
    return product


def reflected(order: int) -> tuple[float, ...]:
    """Coefficients of x, the constant one first, in i^n erfc(-x) + (-1)^n i^n erfc(x)."""
    found = [0.0] * (order + 1)
    for k in range(order // 2 + 1):
        found[order - 2 * k] = 2 / (4**k * math.factorial(k) * math.factorial(order - 2 * k))
    return (*found,)
