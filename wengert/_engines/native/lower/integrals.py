"""Exponential integrals for programs that leave Python, by series, continued fractions and, near the zero of Ei, a
quadrature, so that no digits cancel; and integrals of the error function, which are vector code.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...erfcx_integrals import MOST, SPLIT, reflected, smooth
from ..ir.builder import Builder
from ..ir.loops import Operand
from .formulas import Formulas, Scope, call_own
from .numbers import EULER, Number, Some, choose, exp, first_of, fma, fused, log, repeated, where
from .special import call

FORMULAS = Formulas()

_ZERO = (0.37250741078136662, 1.5090283131234e-17)  # of Ei, in two parts
_FAR = 40.0  # from here on the terms of the asymptotic series get small enough


def _series(s: Scope, x: Number) -> Number:
    """x + x^2 / (2 2!) + x^3 / (3 3!) + ..."""

    def step(k: Number, term: Number, total: Number) -> list[Some]:
        term = term * x / k
        return [k + 1.0, term, total + term / k]

    start = [1.0, 1.0, 0.0]
    return repeated(
        s.b, start, lambda k, term, total: (k < 2.0) | (abs(term) > 1e-17 * abs(total) * k) & (k < 500.0), step
    )[2]


def _scaled_fraction(s: Scope, x: Number) -> Number:
    """e^x E1(x) for x from 1 on, by its continued fraction from the far end (DLMF 6.9.1): 80 steps have all digits."""
    steps = where(x < 2.0, 160.0, 60.0)

    def step(k: Number, below: Number) -> list[Some]:
        return [k - 1.0, x + (2.0 * k - 1.0) - k * k / below]

    return 1.0 / repeated(s.b, [steps, x + (2.0 * steps + 1.0)], lambda k, below: k > 0.0, step)[1]


@FORMULAS.add("exp1", 1)
def _exp1(s: Scope, x: Number) -> Some:
    return first_of(
        [
            (~(x >= 0.0), lambda: math.nan),
            (x == 0.0, lambda: math.inf),
            (x < 1.0, lambda: -EULER - log(x) - _series(s, -x)),
            (x > 800.0, lambda: 0.0),
        ],
        lambda: exp(-x) * _scaled_fraction(s, x),
    )


def _near_zero(x: Number) -> Number:
    """The integral of e^t / t from the zero on."""
    apart = (x - _ZERO[0]) - _ZERO[1]
    nodes, weights = np.polynomial.legendre.leggauss(10)
    total: Some = 0
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        place = _ZERO[0] + apart * float(node)
        total = total + exp(place) / place * float(weight)
    return apart * total


def _far(s: Scope, x: Number) -> Number:
    """x e^-x Ei(x) = 1 + 1! / x + 2! / x^2 + ..., to the smallest term."""

    def step(k: Number, term: Number, total: Number) -> list[Some]:
        return [k + 1.0, term * k / x, total + term * k / x]

    return repeated(s.b, [1.0, 1.0, 1.0], lambda k, term, total: (term > 1e-17) & (k < x), step)[2]


@FORMULAS.add("expi", 1)
def _expi(s: Scope, x: Number) -> Some:
    half = exp(0.5 * x)  # twice: e^x overflows before the value does
    return first_of(
        [
            (x != x, lambda: x),
            (x == 0.0, lambda: -math.inf),
            (x < 0.0, lambda: -call_own(s.b, "exp1", (), -x)),
            (x == math.inf, lambda: math.inf),
            (abs(x - _ZERO[0]) < 0.1, lambda: _near_zero(x)),
            (x < _FAR, lambda: EULER + log(x) + _series(s, x)),
        ],
        lambda: half / x * _far(s, x) * half,
    )


_STEPS = 200


@FORMULAS.add("erfcx_integral", 1)
def _high_erfcx_integral(s: Scope, x: Number, order: int) -> Some:
    """By the recurrence where nothing cancels (x <= 1), else by the continued fraction of neighbours' ratios."""
    two = 2 / math.sqrt(math.pi)

    def low() -> Some:
        before: Some = two
        here: Some = Number(s.b, call(s.b, "erfcx", "f64", x.x))
        for n in range(1, order + 1):
            before, here = here, (before - 2.0 * x * here) / (2.0 * n)
        return here

    def high() -> Some:
        def step(n: Number, ratio: Number, product: Number) -> list[Some]:
            ratio = 0.5 / (x + (n + 1.0) * ratio)
            return [n - 1.0, ratio, where(n <= float(order), product * ratio, product)]

        last = float(order + _STEPS)
        start = [last, 1.0 / (x + (x * x + 2.0 * last).of("sqrt")), two]
        return repeated(s.b, start, lambda n, ratio, product: n >= 0.0, step)[2]

    return choose(x <= 1.0, low, high)


def _erfcx_integral(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand) -> Operand:
    """By a polynomial, and below 0 by reflection, without branches; high orders by a function with loops."""
    (order,) = attrs
    wide = Number(b, b.convert("f64", t, x))
    if order > MOST:
        return b.convert(t, "f64", call_own(b, "erfcx_integral", attrs, wide).x)
    coefficients, shift = smooth(order)
    size = abs(wide)
    near = where(size > 1e300, 1e300, size)  # of an infinity the place is no number
    found = fused((near - SPLIT) / (near + SPLIT), coefficients)
    over = 1.0 / (size + shift)
    for _ in range(order + 1):
        found = found * over
    is_below = wide < 0.0
    low = where(is_below, where(size > _VANISHES, _VANISHES, size), 0.0)
    square = low * low
    rest = fma(low, low, -square)
    grown = exp(square)
    other = grown * (1.0 + rest) * fused(low, reflected(order))
    return b.convert(t, "f64", where(is_below, other - (-1.0) ** order * found, found).x)


_VANISHES = 40.0  # below less this all are infinite
IN_PROCESS = ALONE = {"erfcx_integral": _erfcx_integral}
