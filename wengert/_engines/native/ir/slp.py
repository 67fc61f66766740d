"""Decides whether LLVM's straight-line vectoriser (SLP) pays: not where a function's loops work on single numbers.

LLVM can compute neighbours in straight code as the numbers of one vector. Where a step works on small arrays, that
pays; where it takes them apart, as differential equations of three variables do, the shuffling makes the chain of
values from step to step longer, and compiling takes twice as long. What is emitted for an operation on an array is a
*row*: instructions of one kind, one after the other, whose operands are rows, too, or the same for all.
"""

from __future__ import annotations

from typing import Any

from .loops import FLOATS, Block, For, Function, If, Let, Operand, Reg, While, blocks_of, is_step

ENOUGH = 1 / 3  # of the arithmetic, in rows: from there on vectors pay


def is_scattered(function: Function) -> bool:
    """Whether steps, one after the other, are what the function has most of, and they compute on single numbers."""
    inside, outside = _Counts(), _Counts()
    _count(function.body, outside, outside, inside)
    return inside.arithmetic > outside.arithmetic and inside.in_rows < ENOUGH * inside.arithmetic


class _Counts:
    """How many instructions of arithmetic there are, and how many of them in rows."""

    def __init__(self) -> None:
        self.arithmetic = self.in_rows = 0


def _count(block: Block, here: _Counts, others: _Counts, steps: _Counts) -> None:
    """Counts in a block: of its straight code in `here`, of steps inside it in `steps`, of other loops in `others`."""
    _count_straight(block, here)
    for item in block:
        if isinstance(item, (For, While)) and is_step(item):
            _count(item.body, steps, others, steps)
        elif type(item) is If and item.is_likely:
            _count(item.then, here, others, steps)
        else:
            for part in blocks_of(item):
                _count(part, others if type(item) in (For, While) else here, others, steps)


def _count_straight(block: Block, counts: _Counts) -> None:
    places: dict[Operand, int] = {}  # of floats, in the order in which they are made
    before: Any = None
    is_in_row = False
    for item in block:
        out = getattr(item, "out", None)
        if out is None or out.type not in FLOATS:
            continue
        places[out] = len(places)
        if type(item) is Let and item.op != "sum":
            continues = type(before) is Let and _are_neighbours(before, item, places)
            counts.arithmetic += 1
            # the first of a row is seen to be in it when the second comes
            counts.in_rows += continues + (continues and not is_in_row)
            is_in_row = continues
        before = item


def _are_neighbours(x: Let, y: Let, places: dict[Operand, int]) -> bool:
    if x.op != y.op or x.type != y.type or x.out in y.args:
        return False
    return all(
        a is b or (type(a) is type(b) and (type(a) is not Reg or places.get(b, -1) == places.get(a, -3) + 1))
        for a, b in zip(x.args, y.args, strict=True)
    )
