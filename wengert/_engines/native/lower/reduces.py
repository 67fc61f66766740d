"""The rules of reductions: for each the start value, how an element is combined, and the type of the accumulator.

`nests.py` emits them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from ...refine import PEAK
from ..ir.builder import Builder
from ..ir.loops import COMPLEX, FLOATS, FRACTIONS, HALVES, SIGNED, WIDTHS, Operand
from .scalars import larger, smaller


class Reduce(NamedTuple):
    """The rule of a reduction: where it starts, and how an element is combined.

    Attributes:
        start: the value of no elements, by type.
        join: `join(b, type, total, x)`.
        kept: the type in which elements of a type are added up.
        needs_some: whether no elements at all are an error.
        of_complex: whether complex numbers are reduced so.
    """

    start: Callable[[str], Operand]
    join: Callable[[Builder, str, Operand, Operand], Operand]
    kept: Callable[[str], str] = lambda t: t
    needs_some: bool = False
    of_complex: bool = False

    @property
    def begins(self) -> bool:
        """Whether the value of no elements makes a difference: of negative zeros alone NumPy's sum is 0."""
        return self.join is _sum

    def joined(self, b: Builder, t: str, total: Operand, x: Operand) -> Operand:
        """As `join`, but always in order."""
        return in_order(b, t, total, x) if self.join is _sum else self.join(b, t, total, x)


def _sum_start(t: str) -> Operand:
    return 0.0 if t in FRACTIONS else False if t == "bool" else 0


def in_order(b: Builder, t: str, total: Operand, x: Operand) -> Operand:
    """A sum of few elements, written out: its order is fixed, so that its bits do not depend on what is beside it."""
    return b.let("or" if t == "bool" else "add", t, total, x)


def _sum(b: Builder, t: str, total: Operand, x: Operand) -> Operand:
    return b.let("sum" if t in FRACTIONS else "or" if t == "bool" else "add", t, total, x)


def _product(b: Builder, t: str, total: Operand, x: Operand) -> Operand:
    return b.let("and" if t == "bool" else "mul", t, total, x)


def _one(t: str) -> Operand:
    return 1.0 if t in FRACTIONS else True if t == "bool" else 1


def _least(t: str) -> Operand:
    if t in FLOATS:
        return -math.inf
    if t == "bool":
        return False
    return -(1 << (8 * WIDTHS[t] - 1)) if t in SIGNED else 0


def _most(t: str) -> Operand:
    if t in FLOATS:
        return math.inf
    if t == "bool":
        return True
    return (1 << (8 * WIDTHS[t] - (t in SIGNED))) - 1


def _maximum(b: Builder, t: str, total: Operand, x: Operand) -> Operand:
    if t in FLOATS:
        return b.let("maximum", t, total, x)
    return b.let("or", t, total, x) if t == "bool" else larger(b, t, total, x)


def _minimum(b: Builder, t: str, total: Operand, x: Operand) -> Operand:
    if t in FLOATS:
        return b.let("minimum", t, total, x)
    return b.let("and", t, total, x) if t == "bool" else smaller(b, t, total, x)


def _twice(t: str) -> str:
    return "f64" if t in FLOATS or t in HALVES else "c128" if t in COMPLEX else t


def _wide(t: str) -> str:
    """Half floats are rounded once, at the end."""
    return "f32" if t in HALVES else t


class Running(NamedTuple):
    """A running total along an axis: of its elements each needs the one before it, so they are members of a loop, and
    read nowhere else but from memory.

    Attributes:
        neutral: by type what elements before the first would be, so that it stays what it is, to the sign of zero.
        join: `join(b, type, total, x)`.
        kept: the type in which a total of elements of a type goes along.
    """

    neutral: Callable[[str], Operand]
    join: Callable[[Builder, str, Operand, Operand], Operand]
    kept: Callable[[str], str] = lambda t: t


def _no_term(t: str) -> Operand:
    return cast(Any, complex(-0.0, -0.0)) if t in COMPLEX else -0.0 if t in FRACTIONS else 0


RUNNING: dict[str, Running] = {
    "cumsum": Running(_no_term, lambda b, t, x, y: b.let("add", t, x, y), _twice),
    "cumprod": Running(_one, lambda b, t, x, y: b.let("mul", t, x, y)),
    "cummax": Running(_least, larger),
    "cummin": Running(_most, smaller),
}

REDUCES: dict[str, Reduce] = {
    # floats of 32 bits are added up in 64: more exact than NumPy's pairs, and at no cost beside the memory's
    "reduce_sum": Reduce(_sum_start, _sum, _twice, of_complex=True),
    "reduce_prod": Reduce(_one, _product, _wide, of_complex=True),
    "reduce_max": Reduce(_least, _maximum, _wide, needs_some=True),
    PEAK: Reduce(_least, _maximum, _wide),
    "reduce_min": Reduce(_most, _minimum, _wide, needs_some=True),
    "reduce_any": Reduce(lambda t: False, lambda b, t, total, x: b.let("or", t, total, x)),
    "reduce_all": Reduce(lambda t: True, lambda b, t, total, x: b.let("and", t, total, x)),
}
