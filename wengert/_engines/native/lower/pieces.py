"""Loops in pieces: where an element is computed in one way up to some index and in another from there on, as in what
concatenations and paddings give, each piece is a loop of its own, without conditions, and can be vector code.

The builder finds where: comparisons of a loop's index with numbers are decided where the range of the index decides
them, and otherwise say at which index they change (`Builder.spans`).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from ..builder import Builder
from ..loops import Block, For, Let, Operand, blocks_of
from ..vectormath import ONE_OPERAND

MOST = 12  # pieces of a loop
VECTOR = 8  # numbers of a vector, of the widest there are
FEW = 64  # turns up to which the last of them make a difference
LONGEST = 400  # instructions of a body from which on there is one piece


def turns(b: Builder, start: Operand, stop: Operand, body: Callable[[Operand], None]) -> None:
    """`for index in range(start, stop): body(index)`; `body` emits, and may be asked to more than once."""
    if type(start) is not int or type(stop) is not int:
        with b.loop(start, stop) as index:
            body(index)
        return
    _split(b, start, stop, body, MOST)


def _split(b: Builder, start: int, stop: int, body: Callable[[Operand], None], most: int) -> int:
    """Emits the turns of a range in at most so many pieces; how many there are now."""
    made = For(b.reg("i64"), start, stop, [])
    with b.inside(made.body), b.spanning(made.index, start, stop) as found:
        body(made.index)
    cuts = sorted(found) or _even(start, stop, made.body)
    if not cuts or len(cuts) >= most or _length(made.body) > LONGEST:
        b.emit(made)
        return 1
    count = 0
    left = len(cuts) + 1
    for first, last in pairwise([start, *cuts, stop]):
        left -= 1
        if last - first == 1:
            with b.scope():
                body(first)
            count += 1
        else:
            count += _split(b, first, last, body, most - count - left)
    return count


def _even(start: int, stop: int, body: Block) -> list[int]:
    """Where to cut few turns, so that all of them are done by vectors.

    LLVM leaves to scalar code what a loop has beyond a multiple of its vectors' length; a scalar call of a mathematical
    function takes as long as that of a whole vector, and vectors that are read where numbers were stored have to wait.
    """
    count = stop - start
    if count < 3 or count > FEW or not _calls(body):
        return []
    places = [start + count // VECTOR * VECTOR]
    for width in (VECTOR // 2, VECTOR // 4):
        if stop - places[-1] >= width:
            places.append(places[-1] + width)
    return [p for p in dict.fromkeys(places) if start < p < stop]


def _calls(block: Block) -> bool:
    return any(type(item) is Let and item.op in ONE_OPERAND for item in block)


def _length(block: Block) -> int:
    return sum(1 + sum(map(_length, blocks_of(item))) for item in block)
