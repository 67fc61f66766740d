"""Products of large complex matrices, or in code that stands alone, computed as one product of real matrices.

A row of x in memory is a row of twice as many real numbers, and so is a row of the product. Between them stands y with
each element written out as the 2 x 2 matrix of a complex factor: [[re, im], [-im, re]]. So one real product of twice
the terms and columns is all, and its code is that of `matrices.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ..ir.complex_numbers import Pair, pair_of
from ..ir.loops import COMPLEX, ITEM, Operand
from .blocks import Block
from .forms import Extents, Index, Stored, is_numbers, strides_of
from .matrices import is_worth_packing, only
from .scatters import over
from .standalone import is_alone

LEAST = 1000  # multiplications from which on the copies are worth it ...
NARROW = 4  # ... unless an extent is as short as this


def is_worth_real_ones(x: Stored, y: Stored) -> bool:
    """Whether a product, or each of a batch, is better computed by real ones."""
    if x.type not in COMPLEX:
        return False
    extents = (*x.shape[-2:], y.shape[-1])
    if any(type(n) is int and n <= NARROW for n in extents):
        return False
    if not is_numbers(extents):
        return True
    numbers: Any = extents
    if prod(numbers) < LEAST:
        return False
    return is_alone() or is_worth_packing(only(x), only(y))


Multiply = Callable[[Block, Stored, Stored, Stored], None]


def by_real_ones(block: Block, x: Stored, y: Stored, out: Stored, joins: bool, multiply: Multiply) -> None:
    """out = x @ y (or += if it joins), of which all axes before the last two are a batch.

    `multiply` does the same with real numbers.
    """
    b = block.b
    left = _copied(block, x, 1, lambda z: [z.re, z.im])
    right = _copied(block, y, 2, lambda z: [z.re, z.im, b.let("neg", ITEM[y.type], z.im), z.re])
    shape = (*out.shape[:-1], b.mul(out.shape[-1], 2))
    made = _fresh(block, shape, ITEM[out.type])
    multiply(block, left, right, made)

    def put(index: Index) -> None:
        *lead, i, j = index
        re, im = (made.at(b, (*lead, i, b.add(b.mul(j, 2), part))) for part in (0, 1))
        found: Operand = Pair(re, im)  # pyright: ignore[reportAssignmentType]  # which the builder takes as an operand
        if joins:
            found = b.let("add", out.type, out.at(b, index), found)
        out.store(b, index, found)

    over(b, out.shape, put)


def _copied(block: Block, x: Stored, rows: int, parts: Callable[[Pair], list[Operand]]) -> Stored:
    """A stack of matrices as real ones: an element becomes so many rows of two columns."""
    b = block.b
    *lead, m, n = x.shape
    made = _fresh(block, (*lead, b.mul(m, rows), b.mul(n, 2)), ITEM[x.type])

    def put(index: Index) -> None:
        *places, i, j = index
        for number, value in enumerate(parts(pair_of(x.at(b, index)))):
            row = b.add(b.mul(i, rows), number // 2)
            made.store(b, (*places, row, b.add(b.mul(j, 2), number % 2)), value)

    over(b, x.shape, put)
    return made


def _fresh(block: Block, shape: Extents, type_: str) -> Stored:
    found = block.fresh(shape, type_)
    return Stored(shape, found.array, 0, strides_of(block.b, shape), True)
