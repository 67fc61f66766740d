"""Sums of complex numbers as they lie in memory: a row of n of them is one of 2 n real numbers.

Taken apart, each vector of numbers would be shuffled into one of real and one of imaginary parts before it is added.
Where the last axis stays, the sum is one of real numbers with twice the columns. Where it goes, so many numbers side by
side have a total each, and those of each part are added up in the end. `nests.py` has the loops around.
"""

from __future__ import annotations

from typing import Any

from ..ir.builder import Builder
from ..ir.complex_numbers import Pair
from ..ir.loops import COMPLEX, ITEM, Array, Operand
from .forms import Form, Index, Stored
from .reduces import REDUCES, Reduce

SIDE_BY_SIDE = 16  # complex numbers that have totals of their own: as many as keep four vectors of them busy


class Numbers(Form):
    """The real numbers of complex ones that lie side by side along the last axis, which has twice as many."""

    __slots__ = ("pairs",)

    def __init__(self, b: Builder, pairs: Stored) -> None:
        super().__init__((*pairs.shape[:-1], b.mul(pairs.shape[-1], 2)), ITEM[pairs.type])
        self.pairs = pairs

    def at(self, b: Builder, index: Index) -> Operand:
        return b.load_number(self.pairs.array, self.pairs.place(b, (*index[:-1], 0)), index[-1])


def lies_in_pairs(form: Form, kind: Reduce) -> bool:
    """Whether complex numbers that are added up lie side by side along the last axis."""
    if kind is not REDUCES["reduce_sum"] or type(form) is not Stored or form.type not in COMPLEX or not form.shape:
        return False
    return type(form.strides[-1]) is int and form.strides[-1] == 1


def row_total(b: Builder, array: Array, first: Operand, count: Operand) -> Operand:
    """The sum of so many complex numbers from an element on, in double precision."""
    whole = b.divided(count, SIDE_BY_SIDE)
    totals = b.local("f64", 2 * SIDE_BY_SIDE)
    with b.loop(0, 2 * SIDE_BY_SIDE) as number:
        b.store(totals, number, 0.0)
    with b.loop(0, whole) as step, b.loop(0, 2 * SIDE_BY_SIDE) as number:
        x = b.load_number(array, b.add(first, b.mul(step, SIDE_BY_SIDE)), number)
        b.store(totals, number, b.let("sum", "f64", b.load(totals, number), b.convert("f64", ITEM[array.type], x)))
    found: Any = b.var("c128", 0.0)
    with b.loop(0, SIDE_BY_SIDE) as number:
        place = b.mul(number, 2)
        pair: Any = Pair(b.load(totals, place), b.load(totals, b.add(place, 1)))
        b.set(found, b.let("sum", "c128", b.get(found), pair))
    with b.loop(b.mul(whole, SIDE_BY_SIDE), count) as number:
        x = b.convert("c128", array.type, b.load(array, b.add(first, number)))
        b.set(found, b.let("sum", "c128", b.get(found), x))
    return b.get(found)
