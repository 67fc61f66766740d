"""Derivatives of digamma: the recurrence moves the argument up, then Euler's and Maclaurin's series ends the sum.

    polygamma(n, x) = (-1)^(n+1) n! (1/x^(n+1) + 1/(x+1)^(n+1) + ...)

All terms have one sign, so that nothing cancels. Below 0 the reflection takes the place of a recurrence whose length
depends on x: the derivative of pi cot(pi x) is a polynomial in the cotangent. No branch and no call: loops are vector
code.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..ir.builder import Builder
from ..ir.loops import Operand
from .own import RULES
from .scalars import SCALARS, f64
from .special import call
from .standing import cotangent

MOST = 6  # orders beyond have more exact ways in NumPy's kernel
_SHIFT = 10
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def _power(b: Builder, x: Operand, n: int) -> Operand:
    found = x
    for _ in range(n - 1):
        found = f64(b, "mul", found, x)
    return found


def _of_positive(b: Builder, x: Operand, n: int) -> Operand:
    """(-1)^(n+1) polygamma(n, x) for x >= 0."""
    total: Operand = 0.0
    shift = max(_SHIFT, n + 4)
    for k in range(shift):
        total = f64(b, "add", total, _power(b, f64(b, "div", 1.0, f64(b, "add", x, float(k))), n + 1))
    over = f64(b, "div", 1.0, f64(b, "add", x, float(shift)))
    square = f64(b, "mul", over, over)
    # n! (y^-n / n + y^-(n+1) / 2 + sum of B(2k) (n+1) ... (n+2k-1) / (2k)! y^-(n+2k)), with the first power taken out
    series: Operand = 0.0
    for k in range(len(_BERNOULLI), 0, -1):
        factor = _BERNOULLI[k - 1] * math.factorial(2 * k + n - 1) / (math.factorial(2 * k) * math.factorial(n))
        series = f64(b, "fma", series, square, factor)
    series = f64(b, "fma", series, square, 1.0 / n)
    series = f64(b, "fma", over, 0.5, series)
    total = f64(b, "add", total, f64(b, "mul", series, _power(b, over, n)))
    return f64(b, "mul", total, float(math.factorial(n)))


def _cotangent_slopes(n: int) -> Sequence[float]:
    """The derivative of cot of an order as a polynomial in cot, since cot' is -(1 + cot^2)."""
    found = [0.0, 1.0]
    for _ in range(n):
        slope = [-k * c for k, c in enumerate(found)][1:]
        found = [x + y for x, y in zip([*slope, 0.0, 0.0], [0.0, 0.0, *slope], strict=True)]
    return found


def _reflected(b: Builder, x: Operand, n: int) -> Operand:
    """The derivative of pi cot(pi x) of an order."""
    cot = cotangent(b, x)
    total: Operand = 0.0
    for coefficient in reversed(_cotangent_slopes(n)):
        total = f64(b, "fma", total, cot, coefficient)
    return f64(b, "mul", total, math.pi ** (n + 1))


def _polygamma(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand) -> Operand:
    return b.convert(t, "f64", _wide(b, b.convert("f64", t, x), attrs[0]))


def _wide(b: Builder, wide: Operand, n: int) -> Operand:
    if n == 0:
        return call(b, "psi", "f64", wide)
    is_below = f64(b, "lt", wide, 0.0)
    found = _of_positive(b, b.select("f64", is_below, f64(b, "sub", 1.0, wide), wide), n)
    below = f64(b, "add", found, _reflected(b, b.select("f64", is_below, wide, -0.5), n))
    is_pole = b.both(is_below, f64(b, "eq", wide, f64(b, "rint", wide)))
    sign = -1.0 if n % 2 == 0 else 1.0
    # (-1)^n polygamma(n, 1 - x) is -found; at a pole it is the limit from above, as in SciPy; -inf counts as one
    below = b.select("f64", is_pole, sign * math.inf, f64(b, "neg", below))
    return b.select("f64", is_below, below, f64(b, "mul", sign, found))


# -- polygamma(n, x + step) - polygamma(n, x), as NumPy's kernel has it ------------------------------------------------


class _Powers:
    """Differences (base + step)^-k - base^-k of one base."""

    def __init__(self, b: Builder, base: Operand, step: Operand) -> None:
        self.b = b
        self.log = f64(b, "log1p", f64(b, "div", step, base))
        self.over = f64(b, "div", 1.0, base)

    def __call__(self, k: int) -> Operand:
        grown = f64(self.b, "expm1", f64(self.b, "mul", float(-k), self.log))
        return f64(self.b, "mul", _power(self.b, self.over, k), grown)


def _step_of_positive(b: Builder, x: Operand, step: Operand, n: int) -> Operand:
    """(-1)^(n+1) times the difference, for x and x + step above 0."""
    total: Operand = 0.0
    for k in range(_SHIFT + n):
        total = f64(b, "add", total, _Powers(b, f64(b, "add", x, float(k)), step)(n + 1))
    total = f64(b, "mul", float(math.factorial(n)), total)
    powers = _Powers(b, f64(b, "add", x, float(_SHIFT + n)), step)
    first = f64(b, "neg", powers.log) if n == 0 else f64(b, "mul", float(math.factorial(n - 1)), powers(n))
    series = f64(b, "add", first, f64(b, "mul", 0.5 * math.factorial(n), powers(n + 1)))
    for k, number in enumerate(_BERNOULLI, start=1):
        factor = number * math.factorial(2 * k + n - 1) / math.factorial(2 * k)
        series = f64(b, "add", series, f64(b, "mul", factor, powers(2 * k + n)))
    return f64(b, "add", total, series)


def _step(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand, y: Operand) -> Operand:
    (n,) = attrs
    low, step = b.convert("f64", t, x), b.convert("f64", t, y)
    high = f64(b, "add", low, step)
    is_plain = b.both(f64(b, "gt", low, 0.0), f64(b, "gt", high, 0.0))
    safe, move = b.select("f64", is_plain, low, 1.0), b.select("f64", is_plain, step, 0.0)
    found = _step_of_positive(b, safe, move, n)
    found = found if n % 2 else f64(b, "neg", found)
    rest = f64(b, "sub", _wide(b, high, n), _wide(b, low, n))
    return b.convert(t, "f64", b.select("f64", is_plain, found, rest))


SCALARS["polygamma"] = _polygamma
SCALARS["polygamma_step"] = _step
RULES.update({"polygamma": _polygamma, "polygamma_step": _step})  # where code stands alone, of all orders
