"""The place of the largest or smallest element along an axis, of equal ones the first; NaN is the best of all.

Elements of a lane become numbers in whose order they stand, without branches, so that vectors of them are compared. The
best of some elements tells whether any is better than all before; of the last that had one the place is looked for.
Where the lanes lie side by side, rows of them are compared at a time, as far as the best of each stay in the cache.
Booleans are compared as such (`of_booleans`), where the graph makes bytes of them: the first that is true ends it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...._core.graph import Graph, Node
from ...._passes.rewrite import with_inputs
from ...patterns import Parts
from ..ir.builder import Builder
from ..ir.loops import FLOATS, Operand
from .blocks import Block
from .digit_orders import order_number
from .forms import Form, Index, Stored, refuse_none, with_place
from .nests import at_most, poll_often
from .ranges import smaller
from .scalars import is_nan
from .scalars import larger as larger_of
from .scalars import smaller as smaller_of
from .scatters import over

_FEW = 16  # elements of a lane that are compared one after the other; lanes that are not worth vectors
_LONG, _CHUNKS = 8192, (512, 2048)  # elements of which the best is found at once in a lane, and in one that is long
_COLUMNS = 512  # lanes side by side, at most, whose best stay in the cache


def of_booleans(graph: Graph) -> Graph:
    """The graph with places of the best of booleans, where it has those of the bytes that they become."""
    parts, has_found = Parts(graph), False
    for node in graph.nodes:
        made = parts.made_by(node.inputs[0], "convert") if node.op.name in ("argmax", "argmin") else None
        if made is not None and made.inputs[0].dtype == np.bool_:
            node, has_found = with_inputs(node, {made.outputs[0].key: made.inputs[0]}), True
        parts.add(node)
    return parts.without_unused(graph) if has_found else graph


class _Best:
    """Numbers of elements: the larger one is the better one."""

    def __init__(self, b: Builder, type_: str, is_least: bool) -> None:
        self.b, self.type, self.is_least = b, type_, is_least
        self.bits = "u8" if type_ == "bool" else type_.replace("f", "i")
        size = int(self.bits[1:])
        signed = self.bits[0] == "i"
        self.worst, self.best = (-(2 ** (size - 1)), 2 ** (size - 1) - 1) if signed else (0, 2**size - 1)
        if type_ == "bool":
            self.best = 1

    def number(self, x: Operand) -> Operand:
        """In whose order elements are better, the same for all NaN, and for zeros of both signs."""
        b, t = self.b, self.type
        number = order_number(b, t, self.bits, x) if t in FLOATS else b.convert(self.bits, t, x)
        if not self.is_least:
            return number
        # of whole numbers with a sign the least and the most change places, too
        turned = b.let("sub", self.bits, self.best + self.worst, number)
        return b.select(self.bits, is_nan(b, t, x), self.best, turned) if t in FLOATS else turned

    def wins(self, x: Operand, y: Operand) -> Operand:
        """Whether an element is better than another."""
        b, t = self.b, self.type
        if t == "bool":
            return b.both(b.negated(x), y) if self.is_least else b.both(x, b.negated(y))
        is_better = b.let("lt" if self.is_least else "gt", t, x, y)
        return b.either(is_better, b.both(is_nan(b, t, x), b.negated(is_nan(b, t, y)))) if t in FLOATS else is_better

    def better(self, x: Operand, y: Operand) -> Operand:
        return larger_of(self.b, self.bits, x, y)


def place_of_best(is_least: bool) -> Callable[[Block, Node, list[Form]], list[Form]]:
    def lower(block: Block, node: Node, forms: list[Form]) -> list[Form]:
        b, x = block.b, block.stored(forms[0])
        axis = node.attrs[0] % len(x.shape)
        refuse_none(b, [x.shape[axis]])
        kept = (*x.shape[:axis], *x.shape[axis + 1 :])
        target = block.fresh(kept, "i64")
        best = _Best(b, x.type, is_least)
        n = x.shape[axis]
        side = _side_by_side(x, axis)
        if type(n) is int and n <= _FEW:
            over(b, kept, lambda index: target.store(b, index, _of_few(best, x, axis, index)))
        elif side is not None:
            _in_columns(block, best, x, axis, side, target)
        else:
            over(b, kept, lambda index: target.store(b, index, _in_lane(best, x, axis, index)))
        return [target]

    return lower


def _without(index: Index, axis: int) -> Index:
    return (*index[:axis], *index[axis + 1 :])


def _side_by_side(x: Stored, axis: int) -> int | None:
    """The axis along which many lanes lie side by side, if there is one."""
    for i, (n, stride) in enumerate(zip(x.shape, x.strides, strict=True)):
        if i != axis and type(stride) is int and stride == 1 and not (type(n) is int and n <= _FEW):
            return i
    return None


def _of_few(best: _Best, x: Stored, axis: int, index: Index) -> Operand:
    """Of elements as they are, in one lane after the other: LLVM compares several lanes at once."""
    b, n = best.b, x.shape[axis]

    def at(i: Operand) -> Operand:
        return x.at(b, (*index[:axis], i, *index[axis:]))

    found, place = b.var(x.type, at(0)), b.var("i64", 0)
    with b.loop(1, n) as i:
        value, old = at(i), b.get(found)
        wins = best.wins(value, old)
        b.set(found, b.select(x.type, wins, value, old))
        b.set(place, b.select("i64", wins, i, b.get(place)))
    return b.get(place)


# -- lane by lane -----------------------------------------------------------------------------------------------------


def _in_lane(best: _Best, x: Stored, axis: int, index: Index) -> Operand:
    b, n = best.b, x.shape[axis]

    def number(i: Operand) -> Operand:
        return best.number(x.at(b, (*index[:axis], i, *index[axis:])))

    # all parts are of one size, so the last one may have elements of the one before, none of which is better
    chunk = at_most(b, n, _CHUNKS[not (type(n) is int and n <= _LONG)])
    last = b.sub(n, chunk)
    if type(last) is int and last == 0:
        return _first_equal(best, 0, n, _best_among(best, 0, n, number), number)
    found, start, next_ = b.var(best.bits, best.worst), b.var("i64", 0), b.var("i64", 0)

    def look() -> None:
        begin = smaller(b, b.get(next_), last)
        among = _best_among(best, begin, chunk, number)
        with b.when(b.let("gt", best.bits, among, b.get(found))):
            b.set(found, among)
            b.set(start, begin)
        b.set(next_, b.add(begin, chunk))
        b.poll(1)

    def goes_on() -> Operand:
        return b.both(b.let("lt", "i64", b.get(next_), n), b.let("lt", best.bits, b.get(found), best.best))

    b.repeat(goes_on, look)
    return _first_equal(best, b.get(start), chunk, b.get(found), number)


def _best_among(best: _Best, begin: Operand, count: Operand, number: Callable[[Operand], Operand]) -> Operand:
    b, found = best.b, best.b.var(best.bits, best.worst)
    with b.loop(0, count) as i:
        b.set(found, best.better(number(b.add(begin, i)), b.get(found)))
    return b.get(found)


def _first_equal(
    best: _Best, begin: Operand, count: Operand, wanted: Operand, number: Callable[[Operand], Operand]
) -> Operand:  # fmt: skip
    """The first place of a number that is there; places are told apart by half as many bits as they have."""
    b, place = best.b, best.b.var("i32", _LONG)
    with b.loop(0, count) as i:
        is_it = b.let("eq", best.bits, number(b.add(begin, i)), wanted)
        here = b.select("i32", is_it, b.convert("i32", "i64", i), _LONG)
        b.set(place, smaller_of(b, "i32", here, b.get(place)))
    return b.add(begin, b.convert("i64", "i32", b.get(place)))


# -- lanes side by side -----------------------------------------------------------------------------------------------


def _in_columns(block: Block, best: _Best, x: Stored, axis: int, side: int, target: Stored) -> None:
    b, n, columns = best.b, x.shape[axis], x.shape[side]
    width = columns if type(columns) is int and columns <= _COLUMNS else _COLUMNS
    found, places = b.local(best.bits, width), b.local("i64", width)

    def lanes(index: Index) -> None:
        first = b.mul(index[side], width)
        count = at_most(b, width, b.sub(columns, first))

        def number(i: Operand, column: Operand) -> Operand:
            return best.number(x.at(b, with_place(with_place(index, side, b.add(first, column)), axis, i)))

        with b.loop(0, count) as column:
            b.store(found, column, number(0, column))
            b.store(places, column, 0)
        with b.loop(1, n) as i:
            with b.loop(0, count) as column:
                this, old = number(i, column), b.load(found, column)
                wins = b.let("gt", best.bits, this, old)
                b.store(found, column, b.select(best.bits, wins, this, old))
                b.store(places, column, b.select("i64", wins, i, b.load(places, column)))
            poll_often(b, *x.shape)
        with b.loop(0, count) as column:
            place = _without(with_place(index, side, b.add(first, column)), axis)
            target.store(b, place, b.load(places, column))

    groups = 1 if width is columns else b.divided(b.add(columns, width - 1), width)
    over(b, with_place(with_place(x.shape, side, groups), axis, 1), lanes)


__all__ = ["place_of_best"]
