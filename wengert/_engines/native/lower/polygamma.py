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
from .approximations import cotangent
from .scalars import f64, larger, smaller
from .special import call

MOST = 30  # orders beyond have too many terms to be written out ...
MOST_OF_STEP = 6  # ... and differences of these more exact ways in NumPy's kernel
_SHIFT = 10
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def _power(b: Builder, x: Operand, n: int) -> Operand:
    """x^n of n from 1 on."""
    if n == 1:
        return x
    half = _power(b, x, n // 2)
    square = f64(b, "mul", half, half)
    return f64(b, "mul", square, x) if n % 2 else square


def _of_positive(b: Builder, x: Operand, n: int) -> Operand:
    """(-1)^(n+1) polygamma(n, x) for x >= 0.

    A part of n! goes into the powers, a power of two for each factor: they are not denormal where the result is not.
    """
    factorial = math.factorial(n)
    exponent = (factorial.bit_length() - 1) // (n + 1)
    share = 2.0**exponent
    total: Operand = 0.0
    shift = max(_SHIFT, n + 4)
    for k in range(shift):
        total = f64(b, "add", total, _power(b, f64(b, "div", share, f64(b, "add", x, float(k))), n + 1))
    over = f64(b, "div", 1.0, f64(b, "add", x, float(shift)))
    square = f64(b, "mul", over, over)
    # n! (y^-n / n + y^-(n+1) / 2 + sum of B(2k) (n+1) ... (n+2k-1) / (2k)! y^-(n+2k)), with the first power taken out
    series: Operand = 0.0
    for k in range(len(_BERNOULLI), 0, -1):
        factor = _BERNOULLI[k - 1] * (math.factorial(2 * k + n - 1) / (math.factorial(2 * k) * factorial))
        series = f64(b, "fma", series, square, factor)
    series = f64(b, "fma", series, square, 1.0 / n)
    series = f64(b, "fma", over, 0.5, series)
    series = f64(b, "mul", f64(b, "mul", series, share), _power(b, f64(b, "mul", over, share), n))
    return f64(b, "mul", f64(b, "add", total, series), factorial / 2 ** (exponent * (n + 1)))


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
    """Differences (base + step)^-k - base^-k of one base: -step / (base (base + step)) times a sum without signs.

    No digits cancel, and no logarithms are needed. The two bases come as the smaller and the larger one.
    """

    def __init__(self, b: Builder, low: Operand, high: Operand, step: Operand, is_endless: Operand) -> None:
        self.b = b
        share = b.select("f64", is_endless, 1.0, f64(b, "div", step, high))
        self.first = f64(b, "neg", f64(b, "div", share, low))
        self.low, self.high = low, high

    def over(self) -> tuple[Operand, Operand]:
        """What powers are taken of."""
        return f64(self.b, "div", 1.0, self.low), f64(self.b, "div", 1.0, self.high)

    def __call__(self, k: int) -> Operand:
        return f64(self.b, "mul", self.first, _terms(self.b, *self.over(), k)) if k > 1 else self.first


def _terms(b: Builder, x: Operand, y: Operand, k: int) -> Operand:
    """(y^k - x^k) / (y - x), for k from 1 on."""
    found: Operand = 1.0
    power: Operand = 1.0
    for _ in range(k - 1):
        power = f64(b, "mul", power, y)
        found = f64(b, "fma", found, x, power)
    return found


def _step_of_positive(b: Builder, x: Operand, other: Operand, step: Operand, n: int) -> Operand:
    """(-1)^(n+1) times the difference, for x and what a step leads to, both above 0."""
    is_endless = b.both(f64(b, "eq", step, math.inf), f64(b, "lt", x, math.inf))
    low, high = smaller(b, "f64", x, other), larger(b, "f64", x, other)

    def moved(k: int) -> _Powers:
        return _Powers(b, f64(b, "add", low, float(k)), f64(b, "add", high, float(k)), step, is_endless)

    total: Operand = 0.0
    for k in range(_SHIFT + n):
        total = f64(b, "add", total, moved(k)(n + 1))
    total = f64(b, "mul", float(math.factorial(n)), total)
    powers = moved(_SHIFT + n)
    one, two = powers.over()
    # the series is P(t) = t^(n+2) Q(t^2) and two terms before it, of which the difference is taken as in P
    first, second = f64(b, "mul", one, one), f64(b, "mul", two, two)
    value: Operand = 0.0  # Q(one^2)
    slope: Operand = 0.0  # (Q(two^2) - Q(one^2)) / (two^2 - one^2)
    for k in range(len(_BERNOULLI), 0, -1):
        factor = _BERNOULLI[k - 1] * math.factorial(2 * k + n - 1) / math.factorial(2 * k)
        slope = f64(b, "fma", slope, second, value)
        value = f64(b, "fma", value, first, factor)
    series = f64(b, "mul", value, _terms(b, one, two, n + 2))
    series = f64(b, "fma", f64(b, "mul", slope, f64(b, "add", one, two)), _power(b, two, n + 2), series)
    series = f64(b, "fma", 0.5 * math.factorial(n), _terms(b, one, two, n + 1), series)
    if n:
        series = f64(b, "fma", float(math.factorial(n - 1)), _terms(b, one, two, n), series)
    total = f64(b, "fma", series, powers.first, total)
    if n:
        return total
    return f64(b, "sub", total, f64(b, "log1p", f64(b, "div", step, f64(b, "add", x, float(_SHIFT)))))


def _step(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand, y: Operand) -> Operand:
    (n,) = attrs
    low, step = b.convert("f64", t, x), b.convert("f64", t, y)
    high = f64(b, "add", low, step)
    if n == 0:
        return b.convert(t, "f64", _psi_step(b, low, high, step))
    is_plain = b.both(f64(b, "gt", low, 0.0), f64(b, "gt", high, 0.0))
    safe, move = b.select("f64", is_plain, low, 1.0), b.select("f64", is_plain, step, 0.0)
    found = _step_of_positive(b, safe, b.select("f64", is_plain, high, 1.0), move, n)
    found = found if n % 2 else f64(b, "neg", found)
    rest = f64(b, "sub", _wide(b, high, n), _wide(b, low, n))
    return b.convert(t, "f64", b.select("f64", is_plain, found, rest))


def _psi_step(b: Builder, low: Operand, high: Operand, step: Operand) -> Operand:
    """psi(high) - psi(low); if one is not above 0, what is below 1/2 is reflected, so that both are positive."""
    is_below = b.either(f64(b, "le", low, 0.0), f64(b, "le", high, 0.0))
    turned = [b.both(is_below, f64(b, "lt", x, 0.5)) for x in (low, high)]
    start, end = (b.select("f64", t, f64(b, "sub", 1.0, x), x) for t, x in zip(turned, (low, high), strict=True))
    move = b.select("f64", is_below, f64(b, "sub", end, start), step)
    move = b.select("f64", b.both(*turned), f64(b, "neg", step), move)
    found = f64(b, "neg", _step_of_positive(b, start, end, move, 0))
    return b.select("f64", is_below, f64(b, "add", found, _mirrored(b, low, high, step, turned)), found)


def _mirrored(b: Builder, low: Operand, high: Operand, step: Operand, turned: Sequence[Operand]) -> Operand:
    """pi cot(pi low) - pi cot(pi high) of what is turned; of both it is pi sin(pi step) over two sines, exact for a
    small step and next to poles. At a pole it is NaN, at 0 the infinity of its sign."""
    is_pole = [b.both(t, f64(b, "eq", x, f64(b, "rint", x))) for t, x in zip(turned, (low, high), strict=True)]
    is_plain = b.negated(b.either(*is_pole))
    aparts: list[Operand] = []
    for x, has_place in zip((low, high, step), (*turned, b.both(*turned)), strict=True):
        place = b.select("f64", b.both(has_place, is_plain), x, 0.25)
        aparts.append(f64(b, "sub", place, f64(b, "rint", place)))
    one, two, both = (f64(b, "sin", f64(b, "mul", x, math.pi)) for x in aparts)
    turns = f64(b, "rint", f64(b, "sub", f64(b, "sub", aparts[1], aparts[0]), aparts[2]))
    both = b.select("f64", f64(b, "eq", turns, 0.0), both, f64(b, "neg", both))
    both = f64(b, "div", f64(b, "div", both, one), two)
    alone: list[Operand] = []
    ends: list[Operand] = []
    for k, (x, sine) in enumerate(((low, one), (high, two))):
        cosine = f64(b, "sin", f64(b, "mul", f64(b, "sub", 0.5, f64(b, "abs", aparts[k])), math.pi))
        alone.append(b.select("f64", turned[k], f64(b, "div", cosine, sine), 0.0))
        pole = b.select("f64", f64(b, "eq", x, 0.0), f64(b, "copysign", math.inf, x), math.nan)
        ends.append(b.select("f64", is_pole[k], pole, 0.0))
    found = b.select("f64", b.both(*turned), both, f64(b, "sub", alone[0], alone[1]))
    return b.select("f64", is_plain, f64(b, "mul", math.pi, found), f64(b, "sub", ends[0], ends[1]))


IN_PROCESS = ALONE = {"polygamma": _polygamma, "polygamma_step": _step}  # where code stands alone, of all orders
