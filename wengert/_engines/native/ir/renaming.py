"""Which registers instructions name, other names for them, and copies of blocks under fresh names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from typing import Any

from .loops import NESTING, Address, Array, Block, For, If, Lanes, Operand, Reg, Typed, While, blocks_of


def walk(block: Block) -> Iterator[Any]:
    """All instructions of a block and of the blocks inside it."""
    for item in block:
        yield item
        if type(item) in NESTING:
            for inner in blocks_of(item):
                yield from walk(inner)


def reads(item: Any) -> Iterator[Reg | Array]:
    """The registers and arrays that an instruction names, but for those in blocks inside it."""
    for slot in type(item).__slots__:
        if slot != "out":
            yield from _named(getattr(item, slot))


def _named(value: Any) -> Iterator[Reg | Array]:
    if type(value) in (Reg, Array):
        yield value
    elif type(value) is Address:
        yield value.array
        yield from _named(value.index)
    elif type(value) is Typed:
        yield from _named(value.value)
    elif type(value) is tuple:
        for part in value:
            yield from _named(part)


def substitute(item: Any, names: Mapping[Reg, Operand]) -> None:
    """Makes an instruction read other operands, where there are others; not those in blocks inside it."""
    for slot in type(item).__slots__:
        if slot != "out":
            value = getattr(item, slot)
            found = _renamed(value, names)
            if found is not value:
                setattr(item, slot, found)


def _renamed(value: Any, names: Mapping[Reg, Operand]) -> Any:
    kind = type(value)
    if kind is Reg:
        return names.get(value, value)
    if kind is tuple:
        return (*[_renamed(part, names) for part in value],)
    if kind is Address:
        return Address(value.array, _renamed(value.index, names))
    if kind is Typed:
        return value._replace(value=_renamed(value.value, names))
    return value


def renewed(block: Block, names: dict[Reg, Operand], fresh: Callable[[str], Reg]) -> Block:
    """A copy of a block whose registers are fresh ones. `names` has the new names of registers, and gets more."""
    made: Block = []
    for item in block:
        twin: Any = copy(item)
        if isinstance(item, (For, Lanes)):
            twin.index = names[item.index] = fresh("i64")
            twin.body = renewed(item.body, names, fresh)
        elif type(item) is If:
            twin.then, twin.other = renewed(item.then, names, fresh), renewed(item.other, names, fresh)
        elif type(item) is While:
            twin.test, twin.body = renewed(item.test, names, fresh), renewed(item.body, names, fresh)
        substitute(twin, names)
        out = getattr(item, "out", None)
        if out is not None:
            twin.out = names[out] = fresh(out.type)
        made.append(twin)
    return made
