"""Bodies of parallel loops as functions of their own: what they need from outside, and whether that can be passed.

A thread runs some iterations of a loop as a call of such a function. Registers and addresses are passed by value;
variables and small arrays that only the body uses are its own, and so are those of lanes. A body that allocates others,
returns or sets variables of the function around it stays where it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from .loops import (
    Alloc,
    Apply,
    Array,
    Block,
    For,
    Get,
    Give,
    Lanes,
    Local,
    Reg,
    Reserve,
    Return,
    Set,
    SetSize,
    Swap,
    Var,
    written_by,
)
from .renaming import reads, walk

_STAYS = (Alloc, Reserve, Give, Swap, SetSize, Return)


class Captured(NamedTuple):
    """What a body gets from outside, in a fixed order.

    Attributes:
        registers: values.
        arrays: addresses.
        written: those of the arrays that the body may write to.
    """

    registers: list[Reg]
    arrays: list[Array]
    written: set[Array]


def var_uses(block: Block) -> Counter[Var]:
    """How often each variable is read or set."""
    return var_uses_of(walk(block))


def var_uses_of(items: Iterable[Any]) -> Counter[Var]:
    """As `var_uses`, of instructions without what is inside them."""
    found: Counter[Var] = Counter()
    for item in items:
        kind = type(item)
        if kind is Get or kind is Set:
            found[item.var] += 1
        elif kind is Apply:
            found.update(item.variables)
    return found


def lanes_of(items: Iterable[Any]) -> dict[Array, int]:
    """The arrays that iterations of `Lanes` have one each of, and how many there are."""
    return {
        inner.array: item.count
        for item in items if type(item) is Lanes for inner in walk(item.body) if type(inner) in (Alloc, Local)
    }  # fmt: skip


def _stays(item: object, own: set[Any]) -> bool:
    """Whether an instruction cannot be in a thread; lanes may have arrays of their own."""
    return isinstance(item, _STAYS) and not (type(item) is Alloc and item.array in own)


def captured(loop: For, everywhere: Counter[Var]) -> Captured | None:
    """What the body of a loop needs; None if it cannot be a function.

    Args:
        loop: the loop.
        everywhere: the uses of variables in the whole function.
    """
    if any(everywhere[var] != count for var, count in var_uses(loop.body).items()):
        return None
    own: set[Any] = {loop.index, *lanes_of(walk(loop.body))}
    used: dict[Reg | Array, None] = {}
    written: set[Array] = set()
    for item in walk(loop.body):
        if _stays(item, own):
            return None
        if type(item) is Local:
            own.add(item.array)
        elif type(item) in (For, Lanes):
            own.add(item.index)
        out = getattr(item, "out", None)
        if out is not None:
            own.add(out)
        used.update(dict.fromkeys(reads(item)))
        written.update(written_by(item))
    needed = [x for x in used if x not in own]
    registers = [x for x in needed if type(x) is Reg]
    arrays = [x for x in needed if type(x) is Array]
    return Captured(registers, arrays, {a for a in written if a not in own})
