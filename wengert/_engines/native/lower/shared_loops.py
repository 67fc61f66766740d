"""Cuts loops of middling nests into pieces that threads may share: their iterations write, and add nothing up.

Larger nests are made of parts from the start (`nests.py`). Here a nest is emitted as a whole, so that its loops are
split where the way to compute an element changes (`index_splitting.py`) and their ends are numbers, which LLVM makes
the best of; only those that take long enough are cut.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir.builder import Builder
from ..ir.loops import Block, For, Local
from ..ir.shared_work import WORTH, nanoseconds
from .standalone import is_alone

LEAST = 1024  # elements: fewer are not worth it, whatever is computed
PIECE = 1_000.0  # nanoseconds of a piece, as estimated
ROUND = 64  # elements: whole vectors, whole cache lines, so that results have the same bits as those of the whole loop


def emit_shared(b: Builder, count: int, emit: Callable[[], None]) -> None:
    """Emits loops over so many elements together; no iteration of the outermost ones needs another."""
    if b.width or count < LEAST or is_alone():
        emit()
        return
    made: Block = []
    with b.inside(made):
        emit()
    # what is held beside a loop is held for one iteration after the other
    is_free = all(type(item) is not Local for item in made)
    whole = sum(map(_length, made))
    for item in made:
        if type(item) is For and is_free and _length(item) > 1:
            _emit_in_pieces(b, item, count * _length(item) // whole)
        else:
            b.block.append(item)


def _length(item: object) -> int:
    """The iterations of a loop; 0 if only the run tells them."""
    if type(item) is not For or type(item.start) is not int or type(item.stop) is not int:
        return 0
    return item.stop - item.start


def _emit_in_pieces(b: Builder, item: For, work: int) -> None:
    """Emits a loop that computes so many elements, in pieces if it takes long."""
    start, stop, length, takes = item.start, item.stop, _length(item), work * nanoseconds(item)
    size = max(1, int(PIECE * length / takes))
    if work < ROUND * length:  # iterations are elements, or few of them
        size = -(-size // ROUND) * ROUND
    if takes < WORTH or size >= length:
        b.block.append(item)
        return
    with b.loop(0, -(-length // size), work) as piece:
        item.start = b.add(start, b.mul(piece, size))
        behind = b.add(item.start, size)
        item.stop = b.select("i64", b.let("lt", "i64", behind, stop), behind, stop)
        b.block.append(item)
