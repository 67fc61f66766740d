"""Integrals of the error function: vector code, and for high orders functions with loops."""

from __future__ import annotations

import math
from typing import Any

from ...erfcx_integrals import MOST, SPLIT, reflected, smooth
from ..ir.builder import Builder
from ..ir.loops import Operand
from .formulas import Formulas, Scope, call_own
from .numbers import Number, Some, at_most, choose, exp, fma, fused, repeated, where
from .special import of_scipy

FORMULAS = Formulas()

_STEPS = 200


@FORMULAS.add("erfcx_integral", 1)
def _high_erfcx_integral(s: Scope, x: Number, order: int) -> Some:
    """By the recurrence where nothing cancels (x <= 1), else by the continued fraction of neighbours' ratios."""
    two = 2 / math.sqrt(math.pi)

    def low() -> Some:
        before: Some = two
        here: Some = of_scipy(s.b, "erfcx", x)
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
    if order > MOST:
        return b.convert(t, "f64", call_own(b, "erfcx_integral", attrs, Number(b, b.convert("f64", t, x))).x)
    wide, (coefficients, shift) = Number(b, b.convert("f64", t, x)), smooth(order, _TERMS[t])
    size = abs(wide)
    near = at_most(size, 1e300)  # of an infinity the place is no number
    found = fused((near - SPLIT) / (near + SPLIT), coefficients)
    over = 1.0 / (size + shift)
    for _ in range(order + 1):
        found = found * over
    is_below = wide < 0.0
    low = where(is_below, at_most(size, _VANISHES), 0.0)
    square = low * low
    rest = fma(low, low, -square)
    grown = exp(square)
    other = grown * (1.0 + rest) * fused(low, reflected(order))
    return b.convert(t, "f64", where(is_below, other - (-1.0) ** order * found, found).x)


_VANISHES = 40.0  # below less this all are infinite
_TERMS = {"f64": 27, "f32": 14}  # a float32 is computed in float64, whose rounding is its only one
IN_PROCESS = ALONE = {"erfcx_integral": _erfcx_integral}
