"""Joins the last axes of a nest to one, where all that it reads and writes lies as if they were one.

Where something is repeated along the first axes, or reduced over the last ones, no element can be read by its number
alone. Along the last axes it often can: statistics of planes are the same for all places of one. A loop over all of
these places makes longer vectors than one over each row, and has no ends of rows left over.

The joined axes have a number, and an index in names only: registers that nothing defines. What reads by consecutive
axes in row-major order asks for the number (`joined`); whoever emits looks whether anything else asked (`names_any`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..ir.builder import Builder
from ..ir.loops import Block, Operand, Reg, blocks_of
from ..ir.renaming import reads


class Joint(NamedTuple):
    """Joined axes: the names of their index, and the number that stands for it."""

    index: tuple[Reg, ...]
    extents: tuple[int, ...]
    number: Operand


def named(b: Builder, extents: tuple[int, ...], number: Operand) -> tuple[Reg, ...]:
    """The index of an element of joined axes, in names; until the open block ends they stand for its number."""
    index = (*[b.reg("i64") for _ in extents],)
    b.remember(("joint", index[-1]), Joint(index, extents, number))
    return index


def joined(b: Builder, index: Sequence[Operand]) -> Joint | None:
    """The joined axes at the end of an index; None where there are none."""
    if not index or type(index[-1]) is not Reg:
        return None
    found: Joint | None = b.known(("joint", index[-1]))
    if found is None:
        return None
    tail = index[-len(found.index) :]
    return found if len(tail) == len(found.index) and all(map(_is_same, tail, found.index)) else None


def steps_through(joint: Joint, strides: Sequence[Operand]) -> bool:
    """Whether strides along joined axes take one step after the other."""
    pairs = zip(strides, strides[1:], joint.extents[1:], strict=False)
    return all(type(s) is int and type(t) is int and s == t * n for s, t, n in pairs)


def names_any(block: Block, index: Sequence[Reg]) -> bool:
    """Whether instructions read one of these names."""
    wanted = {*map(id, index)}
    return any(
        any(id(x) in wanted for x in reads(item)) or any(names_any(inner, index) for inner in blocks_of(item))
        for item in block
    )


def _is_same(x: Operand, y: Operand) -> bool:
    return x is y
