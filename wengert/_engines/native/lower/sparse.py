"""Products of sparse matrices, whose values and places are operands, with matrices; and systems whose matrix is a band.

A system is solved here where its matrix is a band of moderate width, as those of splines and of differential equations
are, and where it is small. The places are looked at when it runs: of any other matrix, and of one that has no solution,
a kernel of NumPy's is called, SuperLU.
"""

from __future__ import annotations

from typing import NamedTuple

from ...._core.graph import Node
from ..ir.builder import Builder
from ..ir.loops import ITEM, Array, Operand, Status
from .blocks import Block, singles
from .elimination import size_of
from .factorisations import fill_matrix
from .forms import Form, Index, Stored
from .maps import zero_of
from .scalars import larger, smaller
from .scatters import over, over_columns
from .unsolved import Unsolved, is_wild

WIDE = 96  # columns of a band beyond which SuperLU, which finds an order of the unknowns, may be faster ...
SMALL = 64  # ... but for so few unknowns
FEW_SIDES = 2  # right-hand sides that are taken one by one


def _matmul(block: Block, node: Node, forms: list[Form]) -> list[Form]:
    """Each value adds its multiple of a row to a row; threads share the columns."""
    b = block.b
    data, rows, columns, x = map(block.stored, forms)
    target = block.room(node.outputs[0])
    height, width = target.shape
    with b.when(_is_outside(b, [(rows, height), (columns, x.shape[0])])):
        b.leave(Status.REFUSED)  # NumPy's kernel tells
    over(b, target.shape, lambda index: target.store(b, index, zero_of(target.type)))

    def add(index: Index) -> None:
        k, j = index
        place = (_place(b, rows, k), j)
        source = (_place(b, columns, k), j)
        term = b.let("mul", x.type, data.at(b, (k,)), x.at(b, source))
        target.store(b, place, b.let("add", x.type, target.at(b, place), term))

    over_columns(b, (data.shape[0], width), 1, add)
    return [target]


def _place(b: Builder, places: Stored, k: Operand) -> Operand:
    return b.convert("i64", places.type, places.at(b, (k,)))


def _is_outside(b: Builder, places: list[tuple[Stored, Operand]]) -> Operand:
    """Whether a place is none of so many."""
    some = b.var("bool", False)
    for x, count in places:

        def look(index: Index, x: Stored = x, count: Operand = count) -> None:
            place = _place(b, x, index[0])
            is_outside = b.either(b.let("lt", "i64", place, 0), b.let("ge", "i64", place, count))
            b.set(some, b.either(b.get(some), is_outside))

        over(b, x.shape, look)
    return b.get(some)


# -- systems ----------------------------------------------------------------------------------------------------------


def _solve(block: Block, node: Node, forms: list[Form]) -> list[Form]:
    b = block.b
    data, rows, columns, right = map(block.stored, forms)
    target = block.room(node.outputs[0])
    n, unsolved = target.shape[0], Unsolved(b)
    below, above = _reaches(b, rows, columns)
    width = b.add(b.add(b.mul(2, below), above), 1)
    is_narrow = b.either(b.let("le", "i64", width, WIDE), b.let("le", "i64", n, SMALL))
    is_inside = b.negated(_is_outside(b, [(rows, n), (columns, n)]))
    wild = b.either(is_wild(b, _as_matrix(data)), is_wild(b, right))
    is_ours = b.both(b.both(is_narrow, is_inside), b.negated(wild))
    unsolved.note(b.negated(is_ours))
    with b.when(is_ours):
        band = _Band(b, n, below, above, b.grown(data.type, b.mul(n, width)))
        band.take(data, rows, columns)
        fill_matrix(b, target, lambda index: right.at(b, index))
        unsolved.note(b.negated(band.solve(target)))
    unsolved.leave(block, node, [data, rows, columns, right], [target], is_usual=True)
    return [target]


def _as_matrix(x: Stored) -> Stored:
    return Stored((1, *x.shape), x.array, x.offset, (0, *x.strides), False)


def _reaches(b: Builder, rows: Stored, columns: Stored) -> tuple[Operand, Operand]:
    """How far entries are from the diagonal, below it and above."""
    below, above = b.var("i64", 0), b.var("i64", 0)
    with b.loop(0, rows.shape[0]) as k:
        apart = b.sub(_place(b, rows, k), _place(b, columns, k))
        b.set(below, larger(b, "i64", b.get(below), apart))
        b.set(above, larger(b, "i64", b.get(above), b.sub(0, apart)))
    return b.get(below), b.get(above)


class _Band(NamedTuple):
    """A matrix by rows, of each what is near the diagonal, and Gauss's elimination with the largest pivots.

    Rows that change places reach as much farther behind the diagonal as others reach before it.
    """

    b: Builder
    n: Operand
    below: Operand
    above: Operand
    array: Array

    @property
    def reach(self) -> Operand:
        """How many columns behind the diagonal rows reach."""
        return self.b.add(self.below, self.above)

    def _index(self, i: Operand, j: Operand) -> Operand:
        width = self.b.add(self.b.add(self.below, self.reach), 1)
        return self.b.add(self.b.mul(i, width), self.b.add(self.b.sub(j, i), self.below))

    def at(self, i: Operand, j: Operand) -> Operand:
        return self.b.load(self.array, self._index(i, j))

    def put(self, i: Operand, j: Operand, x: Operand) -> None:
        self.b.store(self.array, self._index(i, j), x)

    def take(self, data: Stored, rows: Stored, columns: Stored) -> None:
        """Sets the entries; values of one place add up."""
        b = self.b
        width = b.add(b.add(self.below, self.reach), 1)
        b.fill(self.array, 0, b.mul(self.n, width))
        with b.loop(0, data.shape[0]) as k:
            place = _place(b, rows, k), _place(b, columns, k)
            self.put(*place, b.let("add", self.array.type, self.at(*place), data.at(b, (k,))))

    def solve(self, x: Stored) -> Operand:
        """x, right-hand sides, becomes the solutions; whether there are any."""
        b, t = self.b, self.array.type
        sound = b.var("bool", True)
        with b.loop(0, self.n) as step:
            last = smaller(b, "i64", b.add(step, self.below), b.sub(self.n, 1))
            row = self._largest(step, last)
            with b.when(b.let("ne", "i64", row, step)):
                self._exchange(step, row, x)
            pivot = self.at(step, step)
            is_none = b.let("eq", t, pivot, 0.0)
            b.set(sound, b.both(b.get(sound), b.negated(is_none)))
            divisor = b.select(t, is_none, 1.0, pivot)
            with b.loop(b.add(step, 1), b.add(last, 1)) as i:
                less = b.let("neg", t, b.let("div", t, self.at(i, step), divisor))
                with b.loop(1, b.add(self.reach, 1)) as j:
                    column = b.add(step, j)
                    self.put(i, column, b.let("fma", t, less, self.at(step, column), self.at(i, column)))
                with b.loop(0, x.shape[1]) as j:
                    x.store(b, (i, j), b.let("fma", t, less, x.at(b, (step, j)), x.at(b, (i, j))))
        with b.when(b.get(sound)):
            self._substitute(x)
        return b.get(sound)

    def _largest(self, step: Operand, last: Operand) -> Operand:
        """The first of the rows that reach a column with the largest entry."""
        b, t = self.b, self.array.type
        most, found = b.var(ITEM[t], size_of(b, t, self.at(step, step))), b.var("i64", step)
        with b.loop(b.add(step, 1), b.add(last, 1)) as i:
            size = size_of(b, t, self.at(i, step))
            is_larger = b.let("gt", ITEM[t], size, b.get(most))
            b.set(found, b.select("i64", is_larger, i, b.get(found)))
            b.set(most, b.select(ITEM[t], is_larger, size, b.get(most)))
        return b.get(found)

    def _exchange(self, step: Operand, row: Operand, x: Stored) -> None:
        b = self.b
        with b.loop(0, b.add(self.reach, 1)) as j:
            column = b.add(step, j)
            mine, other = self.at(step, column), self.at(row, column)
            self.put(step, column, other)
            self.put(row, column, mine)
        with b.loop(0, x.shape[1]) as j:
            mine, other = x.at(b, (step, j)), x.at(b, (row, j))
            x.store(b, (step, j), other)
            x.store(b, (row, j), mine)

    def _substitute(self, x: Stored) -> None:
        """From the last row on."""
        b, sides = self.b, x.shape[1]
        is_few = type(sides) is int and sides <= FEW_SIDES
        with b.loop(0, self.n) as step:
            i = b.sub(b.sub(self.n, 1), step)
            behind = b.add(b.add(i, 1), smaller(b, "i64", self.reach, step))
            if is_few:
                self._row_by_sides(x, i, behind)
            else:
                self._row_at_once(x, i, behind)

    def _row_by_sides(self, x: Stored, i: Operand, behind: Operand) -> None:
        b, t = self.b, x.type
        with b.loop(0, x.shape[1]) as j:
            rest = b.var(t, x.at(b, (i, j)))
            with b.loop(b.add(i, 1), behind) as k:
                less = b.let("neg", t, self.at(i, k))
                b.set(rest, b.let("fma", t, less, x.at(b, (k, j)), b.get(rest)))
            x.store(b, (i, j), b.let("div", t, b.get(rest), self.at(i, i)))

    def _row_at_once(self, x: Stored, i: Operand, behind: Operand) -> None:
        b, t = self.b, x.type
        with b.loop(b.add(i, 1), behind) as k:
            less = b.let("neg", t, self.at(i, k))
            with b.loop(0, x.shape[1]) as j:
                x.store(b, (i, j), b.let("fma", t, less, x.at(b, (k, j)), x.at(b, (i, j))))
        pivot = self.at(i, i)
        with b.loop(0, x.shape[1]) as j:
            x.store(b, (i, j), b.let("div", t, x.at(b, (i, j)), pivot))


LOWERED = singles({"sparse_matmul": _matmul, "sparse_solve": _solve}, of_complex=True)
