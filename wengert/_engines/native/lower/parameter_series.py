"""Series and continued fractions whose terms are truncated Taylor series in parameters, summed in loops: so they are
differentiated in these on the way (`taylor.py`)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ...taylor import Taylor
from ..ir.builder import Builder
from .numbers import Number, Some, Truth, larger, repeated, where

Orders = tuple[int, int]
_MOST_STEPS = 100_000.0


def variable(x: Some, orders: Orders, slope: Orders) -> Taylor:
    c: list[list[Some]] = [[0] * (orders[1] + 1) for _ in range(orders[0] + 1)]
    c[0][0] = x
    if orders[0] and slope[0]:
        c[1][0] = 1
    if orders[1] and slope[1]:
        c[0][1] = 1
    return Taylor(c)


def where_all(cond: Truth, x: Taylor, y: Taylor) -> Taylor:
    rows = zip(x.c, y.c, strict=True)
    return Taylor([[where(cond, p, q) for p, q in zip(one, other, strict=True)] for one, other in rows])


def entries_of(x: Taylor) -> list[Some]:
    return [v for row in x.c for v in row]


def packed(entries: list[Number], orders: Orders) -> list[Taylor]:
    """The series whose coefficients these are, one behind the other."""
    width, size = orders[1] + 1, (orders[0] + 1) * (orders[1] + 1)
    parts = [entries[i : i + size] for i in range(0, len(entries), size)]
    return [Taylor([part[i : i + width] for i in range(0, size, width)]) for part in parts]


def summed(b: Builder, orders: Orders, factor: Callable[[Number], Taylor]) -> Taylor:
    """1 + f(1) + f(1) f(2) + ..., until nothing changes any more."""
    one = variable(1.0, orders, (0, 0))
    count = len(entries_of(one))

    def split(state: tuple[Number, ...]) -> tuple[Number, Taylor, Taylor]:
        k, *entries = state
        term, total = packed(entries, orders)
        return k, term, total

    def goes_on(*state: Number) -> Any:
        k, term, total = split(state)
        going = [abs(t) > 1e-17 * abs(s) for t, s in zip(entries_of(term), entries_of(total), strict=True)]
        return functools.reduce(lambda x, y: x | y, going) & (k < _MOST_STEPS)

    def step(*state: Number) -> list[Some]:
        k, term, total = split(state)
        term = term * factor(k)
        return [k + 1.0, *entries_of(term), *entries_of(total + term)]

    found = repeated(b, [1.0, *entries_of(one), *entries_of(one)], goes_on, step)
    return packed(found[1 + count :], orders)[0]


def fraction(
    b: Builder, orders: Orders, first: Taylor, rounds: Callable[[Number], list[tuple[Taylor, Taylor]]]
) -> Taylor:
    """first + a1/(b1 + a2/(b2 + ...)), the quotient of two solutions of one recurrence; `rounds(m)` gives the next
    pairs (a, b), from m = 1 on.

    After each round all is divided by the last denominator, which then is 1: one division, whatever the number of
    pairs.
    """
    one = variable(1.0, orders, (0, 0))
    size = len(entries_of(one))

    def step(m: Number, _: Number, *entries: Number) -> list[Some]:
        last, above_before, below_before = packed([*entries], orders)
        above, below = last, one
        for a, b in rounds(m):
            above_before, above = above, b * above + a * above_before
            below_before, below = below, b * below + a * below_before
        scale = below.reciprocal()
        value = above * scale
        off: Some = 0.0
        for x in entries_of(value - last):
            off = larger(abs(x), off)
        return [m + 1.0, off, *(e for x in (value, above_before * scale, below_before * scale) for e in entries_of(x))]

    def goes_on(m: Number, off: Number, value: Number, *entries: Number) -> Any:
        return (off > 3e-16 * (1 + size) * abs(value)) & (m < _MOST_STEPS)

    start = [*entries_of(first), *entries_of(one), *[0.0] * size]
    found = repeated(b, [1.0, math.inf, *start], goes_on, step)
    return packed(found[2 : 2 + size], orders)[0]
