"""Cuts much straight code into stretches, so that `sharing.py` can make functions of them.

LLVM's time in straight code is not linear in its length, and what is straight code in a program of few numbers is
mostly the same a hundred times over: the steps of a Python loop. Where one stretch ends is therefore decided by the
instructions around, not by a count: what comes again is cut at the same places, and its stretches are one function.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from itertools import groupby, pairwise
from typing import Any, cast

from .loops import (
    Block,
    Convert,
    For,
    Function,
    Get,
    If,
    Let,
    Load,
    Reg,
    Return,
    Select,
    Set,
    Store,
    Var,
    While,
    blocks_of,
    is_step,
)  # fmt: skip
from .renaming import reads, walk

MUCH = 2_500  # straight instructions of a block, from which on they are cut: more than sharing.LARGEST
LEAST = 12  # of a stretch: what is called costs as much as some; one that is short and like no other stays where it is
ENOUGH, MOST = 200, 800  # from which on one may end, and from which on it does
SEEN = 6  # instructions that decide whether a stretch ends behind them
AGAIN = 10  # stretches that are alike, on the average: of fewer LLVM's haste with straight code takes less time

_PLAIN = frozenset({Let, Select, Convert, Get, Set, Load, Store})


def cut(function: Function, fresh: Callable[[str], Reg]) -> set[int]:
    """Puts stretches of long straight code of a function into loops of one iteration; gives these by `id`.

    What other code reads of their registers they leave in variables, which it is read from. `fresh` makes registers.
    """
    blocks = {id(block): block for block in _blocks(function.body) if sum(map(_is_plain, block)) >= MUCH}
    if not blocks:
        return set()
    parts = {key: _stretches(block) for key, block in blocks.items()}
    stretches = [part for found in parts.values() for part in found if _is_stretch(part)]
    if not _come_again(stretches):
        return set()
    left = _left(function, stretches)
    return {id(loop) for key, block in blocks.items() for loop in _put(block, parts[key], left, fresh)}


def _blocks(block: Block) -> list[Block]:
    """A block, and those inside it that no vector code is made of: of branches, and of steps one after another."""
    found = [block]
    for item in block:
        if type(item) in (While, If) or is_step(item):
            found += [inner for part in blocks_of(item) for inner in _blocks(part)]
    return found


def _is_plain(item: Any) -> bool:
    return type(item) in _PLAIN or (type(item) is If and not item.other and [*map(type, item.then)] == [Return])


def _is_stretch(part: Block) -> bool:
    return len(part) >= LEAST and _is_plain(part[0])


def _stretches(block: Block) -> list[Block]:
    """A block in pieces: straight ones of at most `MOST` instructions, and what stands between them."""
    found: list[Block] = []
    for is_plain, items in groupby(block, _is_plain):
        run = [*items]
        ends = _ends(run) if is_plain else [len(run)]
        found += [run[start:end] for start, end in pairwise([0, *ends])]
    return found


def _token(item: Any) -> str:
    """What an instruction does, whatever with."""
    return f"{type(item).__name__} {getattr(item, 'op', '')}"


def _ends(run: Block) -> list[int]:
    """Where stretches of straight code end: of the places where one may, the one with the least number made of the
    instructions before it. A place that comes again in every step is the least among any that a step has, however few
    kinds of places there are.
    """
    tokens = [zlib.crc32(_token(item).encode()) for item in run]
    numbers = [hash((*tokens[max(0, place - SEEN) : place],)) for place in range(len(run) + 1)]
    ends = [0]
    while ends[-1] + MOST < len(run):
        places = range(ends[-1] + ENOUGH, ends[-1] + MOST + 1)
        ends.append(min(places, key=numbers.__getitem__))
    return [*ends[1:], len(run)]


def _come_again(stretches: list[Block]) -> bool:
    """Whether most of what stretches do others do, too: LLVM takes its time with what is new."""
    lengths = {" ".join(map(_token, part)): len(part) for part in stretches}
    return sum(lengths.values()) * AGAIN <= sum(map(len, stretches))


def _left(function: Function, stretches: list[Block]) -> set[Reg]:
    """The registers of stretches that other code reads."""
    numbers = {id(item): number for number, part in enumerate(stretches) for item in part}
    owners: dict[Any, int] = {out: number for number, part in enumerate(stretches) for out in _outs(part)}
    left: set[Any] = set()
    for item in walk(function.body):
        number = numbers.get(id(item))
        left.update(reg for reg in reads(item) if owners.get(reg, number) != number)
    return left


def _outs(part: list[Any]) -> list[Reg]:
    return [item.out for item in part if type(item) not in (Set, Store, If)]


def _put(block: Block, parts: list[Block], left: set[Reg], fresh: Callable[[str], Reg]) -> list[For]:
    """Puts the loops into a block; gives them."""
    made: Block = []
    loops: list[For] = []
    for part in parts:
        if not _is_stretch(part):
            made += part
            continue
        kept = [(reg, Var(reg.type, cast(int, fresh(reg.type).number))) for reg in _outs(part) if reg in left]
        loops.append(For(fresh("i64"), 0, 1, [*part, *[Set(var, reg) for reg, var in kept]]))
        made += [loops[-1], *[Get(reg, var) for reg, var in kept]]
    block[:] = made
    return loops


__all__ = ["cut"]
