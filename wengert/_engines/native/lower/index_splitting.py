"""Splits loops at the indices where the way of computing an element changes, so that each piece has no conditions.

Concatenations and paddings give such loops; the pieces can be vector code. The builder finds where: comparisons of a
loop's index with numbers are decided where the range of the index decides them, and otherwise say at which index they
change (`Builder.spans`). Called by `nests.py` and `cumulative.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import nullcontext
from itertools import pairwise
from typing import cast

from ..ir.builder import Builder
from ..ir.edges import Span
from ..ir.loops import Block, Convert, For, Get, Let, Load, Operand, Reg, Select, Set, Store, blocks_of
from ..ir.renaming import walk
from ..llvm.loop_shapes import WRITTEN_OUT
from ..llvm.vectormath import ONE_OPERAND

MOST = 12  # pieces of a loop
VECTOR = 8  # numbers of a vector, of the widest there are
FEW = 64  # iterations up to which the last of them make a difference
_PLAIN = (Let, Select, Convert, Load)
_WRITTEN = (*_PLAIN, Store, Get, Set)
MOST_SHARED = 8  # iterations that are written out for what they share: as many vectors are put together in one
MOST_ITEMS = 2 * WRITTEN_OUT  # of all of these, before what they share is known
LONGEST = 400  # instructions of a body from which on there is one piece


def iterations(
    b: Builder, start: Operand, stop: Operand, body: Callable[[Operand], None], multiple: int = 1, extent: Operand = -1
) -> None:
    """`for index in range(start, stop): body(index)`; `body` emits, and may be asked to more than once.

    Args:
        multiple: what start and stop are multiples of where they are not known.
        extent: of what they are a part then, if that is known: from 0 to which index.
    """
    if type(start) is int and type(stop) is int:
        _split(b, start, stop, body, MOST)
        return
    whole = b.span_of(stop if start == 0 and type(extent) is int and extent < 0 else extent)
    if whole is not None and _split_part(b, (start, stop), whole, body, MOST):
        return
    made = For(b.reg("i64"), start, stop, [])
    span = nullcontext() if whole is None else b.spanning(made.index, whole)
    with b.inside(made.body), span:
        body(made.index)
    count = _shared(b, made, body)
    row = _unknown_row(made)
    if count:
        _emit_shares(b, made, count, body, multiple, extent)
    elif row is not None and not b.width:
        _emit_rows(b, made, row, body)
    else:
        b.emit(made)


def _split(b: Builder, start: int, stop: int, body: Callable[[Operand], None], most: int) -> int:
    """Emits the iterations of a range in at most so many pieces; how many there are now."""
    made = For(b.reg("i64"), start, stop, [])
    with b.inside(made.body), b.spanning(made.index, Span.of(start, stop)) as found:
        body(made.index)
    cuts = sorted(cut.offset for cut in found)
    row = 0 if cuts else _row(made)
    if row:
        with b.loop(start // row, stop // row) as number:
            return _split(b, 0, row, lambda i: body(b.place(number, row, i)), most)
    if not cuts:
        return _emit_even(b, made, body)
    if len(cuts) >= most or _length(made.body) > LONGEST:
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


def _split_part(
    b: Builder, part: tuple[Operand, Operand], span: Span, body: Callable[[Operand], None], most: int
) -> int:
    """Emits those iterations of a span that are in a part of it, which only the run tells, in at most so many pieces;
    how many there are now, 0 if nothing was emitted since there is nothing to split."""
    start, stop = part
    first, last, whole = span
    made = For(b.reg("i64"), start, stop, [])
    with b.inside(made.body), b.spanning(made.index, span) as found:
        body(made.index)
    cuts = sorted(found)
    if not cuts or len(cuts) >= most or _length(made.body) > LONGEST:
        return 0
    count = 0
    left = len(cuts) + 1
    for low, high in pairwise([first, *cuts, last]):
        left -= 1
        begin = start if low == first else _limited(b, "lt", start, b.at_edge(low, whole))
        end = stop if high == last else _limited(b, "gt", stop, b.at_edge(high, whole))
        piece = Span(low, high, whole)
        made = _split_part(b, (begin, end), piece, body, most - count - left)
        if not made:
            with b.loop(begin, end) as index, b.spanning(index, piece):
                body(index)
        count += made or 1
    return count


def _limited(b: Builder, beyond: str, x: Operand, limit: Operand) -> Operand:
    """A number, or what it may not be less ("lt") or greater ("gt") than."""
    return b.select("i64", b.let(beyond, "i64", x, limit), limit, x)


def _emit_even(b: Builder, made: For, body: Callable[[Operand], None]) -> int:
    """Emits few iterations so that vectors do all of them; how many loops that takes.

    LLVM leaves to scalar code what a loop has beyond a multiple of its vectors' length; a scalar call of a mathematical
    function takes as long as that of a whole vector, and vectors that are read where numbers were stored have to wait.
    Where it does no harm to compute an element twice, the last vector overlaps the one before it.
    """
    start, stop = cast(int, made.start), cast(int, made.stop)
    count = stop - start
    shared = _shared(b, made, body)
    if shared and count > 2 * shared:
        return _emit_shares(b, made, shared, body)
    if not 3 <= count <= FEW or count in (4, VECTOR) or _length(made.body) > LONGEST:
        b.emit(made)
        return 1
    width = next(w for w in (VECTOR, VECTOR // 2, VECTOR // 4) if w <= count)
    end = start + count // width * width
    if end == stop or not (_is_repeatable(made.body) or _calls(made.body)):
        b.emit(made)
        return 1
    ranges = [(start, end)]
    if _is_repeatable(made.body):
        ranges.append((stop - width, stop))
    else:
        while end < stop:
            width = next(w for w in (VECTOR // 2, VECTOR // 4, 1) if w <= stop - end)
            ranges.append((end, end + width))
            end += width
    for first, last in ranges:
        with (
            b.loop(first, last) as index,
            b.spanning(index, Span.of(first, last)),
        ):  # what holds for all does for a part
            body(index)
    return len(ranges)


def _shared(b: Builder, made: For, body: Callable[[Operand], None]) -> int:
    """How many iterations in a row share a place, as where elements are repeated; 0 if none do, or too many.

    Nothing is left to divide where each such row is one iteration. LLVM would divide, and of quotients by odd numbers
    it makes vectors badly, of functions of them none.
    """
    found = _divisors(made, is_near=True)
    if len(found) != 1:
        return 0
    (count,) = found
    if type(count) is not int or count > MOST_SHARED:
        return 0
    if not all(type(item) in (*_WRITTEN, For) for item in walk(made.body)):
        return 0
    length = _length(made.body)
    if count * length <= MOST_ITEMS:
        return count
    row = For(b.reg("i64"), 0, 1, [])  # whose iterations may have less to do than one that does not know its place
    with b.inside(row.body):
        _emit_row(b, row.index, count, body)
    return count if _length(row.body) <= max(LONGEST, 2 * length) else 0


def _row(made: For) -> int:
    """How long the rows are into which a loop over all of their elements divides its index; 0 if it does not, or they
    fill no vectors. As loops over rows and over the elements of each they need no division."""
    found = _divisors(made)
    count = found.pop() if len(found) == 1 else 0
    if type(count) is not int or count <= MOST_SHARED or any(type(item) not in _WRITTEN for item in made.body):
        return 0
    start, stop = cast(int, made.start), cast(int, made.stop)
    return 0 if start % count or stop % count or stop - start <= count else count


def _unknown_row(made: For) -> Reg | None:
    """As `_row`, of rows whose length only the run tells; None if there are none."""
    found = _divisors(made)
    row = found.pop() if len(found) == 1 else None
    if type(row) is not Reg or any(type(item) not in _WRITTEN for item in made.body):
        return None
    return None if any(type(item) is Let and item.out is row for item in made.body) else row


def _emit_rows(b: Builder, made: For, row: Reg, body: Callable[[Operand], None]) -> None:
    """Emits a loop as loops over rows, of which the first and the last may be parts, and over the elements of each."""
    start, stop = made.start, made.stop
    with b.when(b.let("lt", "i64", start, stop)):
        behind = b.add(b.divided(b.sub(stop, 1), row), 1)
        with b.loop(b.divided(start, row), behind) as number:
            before = b.mul(number, row)
            first = _limited(b, "lt", b.sub(start, before), 0)
            last = _limited(b, "gt", b.sub(stop, before), row)
            with b.loop(first, last) as i:
                body(b.place(number, row, i))


def _divisors(made: For, is_near: bool = False) -> set[Operand]:
    """What a loop divides its index by, and what is as far from it at each iteration where that is asked for."""
    names = {made.index}
    found = set[Operand]()
    for item in walk(made.body):
        if type(item) is not Let or item.type != "i64":
            continue
        if is_near and _is_shift(item, names):
            names.add(item.out)
        elif item.op in ("div", "rem") and item.args[0] in names:
            found.add(item.args[1])
    return found


def _is_shift(item: Let, names: Collection[Operand]) -> bool:
    """Whether an instruction adds a number to one of these, or takes one from it."""
    x, y = item.args[0], item.args[-1]
    if item.op == "add" and type(x) is int:
        x, y = y, x
    return item.op in ("add", "sub") and x in names and type(y) is int


def _emit_shares(
    b: Builder, made: For, count: int, body: Callable[[Operand], None], multiple: int = 1, extent: Operand = -1
) -> int:  # fmt: skip
    """Emits a loop whose iterations are so many of the given one's, and those before and behind that are fewer; how
    many loops there are.

    Args:
        multiple, extent: as of `iterations`.
    """

    def row(number: Operand) -> None:
        _emit_row(b, number, count, body)

    start, stop = made.start, made.stop
    if type(start) is int and type(stop) is int:
        first, last = -(-start // count), stop // count
        loops = _single(b, start, first * count, body) + _single(b, last * count, stop, body)
        return loops + _split(b, first, last, row, MOST)
    if multiple % count == 0:
        rows = extent // count if type(extent) is int else -1
        iterations(b, b.divided(start, count), b.divided(stop, count), row, 1, rows)
        return 1
    first, last = b.divided(b.add(start, count - 1), count), b.divided(stop, count)
    end = b.mul(first, count)
    for low, high in ((start, _limited(b, "gt", end, stop)), (_limited(b, "lt", b.mul(last, count), end), stop)):
        with b.loop(low, high) as index:
            body(index)
    iterations(b, first, last, row, 1, extent // count if type(extent) is int else -1)
    return 3


def _emit_row(b: Builder, row: Operand, count: int, body: Callable[[Operand], None]) -> None:
    """Emits the iterations of one row."""
    for i in range(count):
        with b.scope():
            body(b.place(row, count, i))


def _single(b: Builder, start: int, stop: int, body: Callable[[Operand], None]) -> int:
    """Emits few iterations one by one; how many."""
    for index in range(start, stop):
        with b.scope():
            body(index)
    return max(stop - start, 0)


def gains(b: Builder, count: int, body: Callable[[Operand], object]) -> bool:
    """Whether a short loop is better done beside others of its kind: vectors gain much, and written out it is long, or
    as long as a vector, which a call for each iteration takes longer than."""
    trial = For(b.reg("i64"), 0, count, [])
    with b.inside(trial.body):
        body(trial.index)
    is_plain = all(type(item) in (*_PLAIN, Store) for item in trial.body)
    return is_plain and _calls(trial.body) and (count >= VECTOR or count * len(trial.body) > WRITTEN_OUT)


def _is_repeatable(block: Block) -> bool:
    """Whether the iterations of a loop only write what none of them reads."""
    read = {id(item.array) for item in block if type(item) is Load}
    return all(type(item) in _PLAIN or (type(item) is Store and id(item.array) not in read) for item in block)


def _calls(block: Block) -> bool:
    return any(type(item) is Let and item.op in ONE_OPERAND for item in block)


def _length(block: Block) -> int:
    return sum(1 + sum(map(_length, blocks_of(item))) for item in block)
