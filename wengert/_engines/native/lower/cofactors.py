"""Cofactors, and inverses that are infinite where there are none.

Cofactors, the gradient of determinants, are right at singular matrices, too. Of few rows they are minors, written out.
Of matrices far from singular they are det(A) A^-T. Of others they come from an elimination with the largest pivot of
all rows and columns. That gives A = P L D U Q with triangles of entries up to 1, whose inverses are tame, and

    cof(A) = det(P) det(Q) P L^-T diag(prod of all d but d_i) U^-T Q

holds no division by a pivot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...._core.graph import Node
from ...cofactors import MINORS, MODEST, ROUNDING
from ..ir.builder import Builder
from ..ir.complex_numbers import Pair
from ..ir.loops import COMPLEX, ITEM, WIDTHS, Operand
from .blocks import Block, singles
from .determinants import Product
from .elimination import Planes, is_little, size_of, system
from .factorisations import Columns, fill_matrix, loops_over, matrix_at, scratch
from .forms import Form, Index, Stored
from .unsolved import Unsolved, is_wild, of_identity

Keep = Callable[[Operand, Operand, Operand], None]  # takes row, column and entry

LONG = 25  # rows from which on their entries are gone over side by side: below that, it takes longer
LANES = 8  # rows are filled up to whole vectors of the widest kind
COUNTED = (1 << 20) - 1  # columns that the low bits of a number count; the others tell its size to nine digits


def _cofactor(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b, a = block.b, block.stored(forms[0])
    target = block.room(node.outputs[0])
    n, unsolved = a.shape[-1], Unsolved(b)
    exchanges = None if _is_written(n) else _Exchanges(block, n, a.type)
    by_pivots = None if _is_written(n) else _ByPivots.of(block, n, a.type)
    with loops_over(b, a.shape[:-2]) as index:
        matrix, out = matrix_at(b, a, index), matrix_at(b, target, index)

        def keep(i: Operand, j: Operand, x: Operand, out: Stored = out) -> None:
            out.store(b, (i, j), x)

        if exchanges is None or by_pivots is None:
            unsolved.note(is_wild(b, matrix))
            _minors(b, matrix, keep)
        else:
            with b.when(b.negated(exchanges.find(matrix, keep))):
                unsolved.note(is_wild(b, matrix))
                by_pivots.find(matrix, keep)
    unsolved.leave(block, node, [a], [target])
    return [target]


def _is_written(n: Operand) -> bool:
    return type(n) is int and n <= MINORS


def _minors(b: Builder, a: Stored, keep: Callable[[int, int, Operand], None], is_singular: bool = False) -> None:
    """Calls `keep(i, j, x)` for the cofactors; of a singular matrix with 0 for what is left by rounding alone."""
    n, t = a.shape[-1], a.type
    assert type(n) is int
    rows = [[a.at(b, (i, j)) for j in range(n)] for i in range(n)]
    known: dict[tuple[tuple[int, ...], tuple[int, ...]], Operand] = {}

    def minor(down: tuple[int, ...], across: tuple[int, ...]) -> Operand:
        """The determinant of some rows and columns, by the first of the rows."""
        if not down:
            return 1.0
        if len(down) == 1:
            return rows[down[0]][across[0]]
        found = known.get((down, across))
        if found is None:
            for place, j in enumerate(across):
                term = b.let("mul", t, rows[down[0]][j], minor(down[1:], (*across[:place], *across[place + 1 :])))
                found = term if found is None else b.let("sub" if place % 2 else "add", t, found, term)
            assert found is not None
            known[down, across] = found
        return found

    def size(down: tuple[int, ...], across: tuple[int, ...]) -> Operand:
        """The sum of the sizes of all products in a minor."""
        total: Operand = 0.0 if down else 1.0
        for place, j in enumerate(across):
            rest = size(down[1:], (*across[:place], *across[place + 1 :]))
            term = b.let("mul", ITEM[t], size_of(b, t, rows[down[0]][j]), rest)
            total = b.let("add", ITEM[t], total, term)
        return total

    everywhere = (*range(n),)
    for i in everywhere:
        for j in everywhere:
            chosen = (*everywhere[:i], *everywhere[i + 1 :]), (*everywhere[:j], *everywhere[j + 1 :])
            x = minor(*chosen)
            if is_singular and n > 2:
                is_rounding = b.let(
                    "le", ITEM[t], size_of(b, t, x), b.let("mul", ITEM[t], size(*chosen), ROUNDING[WIDTHS[ITEM[t]]])
                )
                x = b.select(t, is_rounding, 0.0, x)
            keep(i, j, b.let("neg", t, x) if (i + j) % 2 else x)


# -- far from singular ------------------------------------------------------------------------------------------------


class _Exchanges:
    """det(A) A^-T of matrices far from singular, by exchanges, in double precision.

    An exchange solves a row of y = A x for one of the unknowns, which changes places with the row's y: after one for
    each row the inverse is there. The largest entry of the row says which unknown it is. Nothing is moved: `chosen`
    tells which column each row has taken. All goes over whole rows, in vectors without a rest.
    """

    def __init__(self, block: Block, n: Operand, type_: str) -> None:
        b = self.b = block.b
        self.n, self.type = n, "c128" if type_ in COMPLEX else "f64"
        self.width = b.mul(b.divided(b.add(n, LANES - 1), LANES), LANES)
        self.rows = Planes.on_heap(b, self.type, n, self.width)
        self.line = Planes.on_heap(b, self.type, self.width)
        self.open = scratch(block, "i64", self.width)  # -1 of columns that no row has taken, else 0
        self.chosen = scratch(block, "i64", n)

    def find(self, matrix: Stored, keep: Keep) -> Operand:
        """Calls `keep(i, j, x)` for the cofactors, if the matrix is far from singular; whether it is."""
        b = self.b
        is_far = b.var("bool", False)
        self._take(matrix)
        with b.when(self._is_moderate()):
            before = self._squares()
            det, is_sound = self._exchanged()
            size = b.let("mul", "f64", before, self._squares())
            b.set(is_far, b.both(is_sound, b.let("lt", "f64", size, MODEST**2)))
            with b.when(b.get(is_far)):
                self._give(matrix.type, det, keep)
        return b.get(is_far)

    def _take(self, matrix: Stored) -> None:
        b, n = self.b, self.n
        with b.loop(0, n) as i:
            with b.loop(0, n) as j:
                self.rows.store((i, j), b.convert(self.type, matrix.type, matrix.at(b, (i, j))))
            with b.loop(n, self.width) as j:
                self.rows.store((i, j), 0.0)
        with b.loop(0, self.width) as j:
            self.open.store(b, (j,), b.select("i64", b.let("lt", "i64", j, n), -1, 0))

    def _over_rows(self, of: Callable[[Any], None]) -> None:
        with self.b.loop(0, self.n) as i, self.b.loop(0, self.width) as j:
            of(self.rows.at(i, j))

    def _is_moderate(self) -> Operand:
        """Whether no entry is so large that the determinant may be beyond its type, nor infinite. As whole numbers, the
        bits of floats stand in the floats' order, and comparing them leaves no flag."""
        b, most = self.b, self.b.var("i64", 0)

        def look(x: Any) -> None:
            for part in (x.re, x.im) if type(x) is Pair else (x,):
                bits = b.convert("i64", "f64", b.let("abs", "f64", part), bits=True)
                b.set(most, b.select("i64", b.let("gt", "i64", bits, b.get(most)), bits, b.get(most)))

        self._over_rows(look)
        exponent = 900 // max(self.n, 1) if type(self.n) is int else 4
        return b.let("lt", "i64", b.get(most), (1023 + exponent) << 52)

    def _squares(self) -> Operand:
        """The sum of all entries' squares."""
        b, total = self.b, self.b.var("f64", 0.0)

        def join(x: Any) -> None:
            for part in (x.re, x.im) if type(x) is Pair else (x,):
                b.set(total, b.let("sum", "f64", b.get(total), b.let("mul", "f64", part, part)))

        self._over_rows(join)
        return b.get(total)

    def _exchanged(self) -> tuple[Operand, Operand]:
        """Makes the rows those of the inverse. The determinant, and whether there is one in the type's range, not 0."""
        b, t = self.b, self.type
        bad, turns, product = b.var("bool", False), b.var("i64", 0), Product(b, t, 1.0)
        with b.loop(0, self.n) as step:
            column = self._largest(step)
            self.chosen.store(b, (step,), column)
            b.set(turns, b.add(b.get(turns), self._taken_beyond(column)))
            self.open.store(b, (column,), 0)
            pivot = self.rows.at(step, column)
            product.join(pivot)
            is_none = b.let("eq", t, pivot, 0.0)
            b.set(bad, b.either(b.get(bad), is_none))
            self._exchange(step, column, b.let("div", t, 1.0, b.select(t, is_none, 1.0, pivot)))
        is_odd = b.let("eq", "i64", b.let("and", "i64", b.get(turns), 1), 1)
        det = b.select(t, is_odd, b.let("neg", t, product.value()), product.value())
        return det, b.negated(b.either(b.get(bad), product.is_far()))

    def _largest(self, row: Operand) -> Operand:
        """Which column has the largest entry of a row, of those that are open; of such as are alike the first.

        The size in the upper bits of a number, the column in the lower ones, larger for earlier columns: the largest
        of these numbers tells.
        """
        b, most = self.b, self.b.var("i64", 0)
        with b.loop(0, self.width) as j:
            size = b.convert("i64", "f64", size_of(b, self.type, self.rows.at(row, j)), bits=True)
            upper = b.let("and", "i64", size, -1 - COUNTED)
            found = b.let("and", "i64", b.let("or", "i64", upper, b.sub(COUNTED, j)), self.open.at(b, (j,)))
            b.set(most, b.select("i64", b.let("gt", "i64", found, b.get(most)), found, b.get(most)))
        return b.sub(COUNTED, b.let("and", "i64", b.get(most), COUNTED))

    def _taken_beyond(self, column: Operand) -> Operand:
        """How many of the columns behind one are taken; each makes the determinant's sign another one."""
        b, count = self.b, self.b.var("i64", 0)
        with b.loop(0, self.width) as j:
            one = b.add(1, self.open.at(b, (j,)))
            behind = b.select("i64", b.let("gt", "i64", j, column), one, 0)
            b.set(count, b.add(b.get(count), behind))
        return b.sub(b.get(count), b.sub(self.width, self.n))

    def _exchange(self, step: Operand, column: Operand, over: Operand) -> None:
        """Solves a row for an unknown, whose factor is 1 / `over`, and puts that into all other rows."""
        b, t = self.b, self.type
        with b.loop(0, self.width) as j:
            x = b.let("mul", t, self.rows.at(step, j), over)
            self.line.store((j,), x)
            self.rows.store((step, j), x)
        self.rows.store((step, column), over)
        for span in ((0, step), (b.add(step, 1), self.n)):
            with b.loop(*span) as i:
                less = b.let("neg", t, self.rows.at(i, column))
                with b.loop(0, self.width) as j:
                    self.rows.store((i, j), b.let("fma", t, less, self.line.at(j), self.rows.at(i, j)))
                # behind the others: a vector is not read right after one of its numbers was written
                self.rows.store((i, column), b.let("mul", t, less, over))

    def _give(self, type_: str, det: Operand, keep: Keep) -> None:
        b = self.b
        with b.loop(0, self.n) as i:
            column = self.chosen.at(b, (i,))
            with b.loop(0, self.n) as j:
                x = b.let("mul", self.type, det, self.rows.at(i, self.chosen.at(b, (j,))))
                keep(j, column, b.convert(type_, self.type, x))


# -- at all matrices --------------------------------------------------------------------------------------------------


class _ByPivots:
    """Cofactors by an elimination with the largest pivots of all rows and columns, in double precision."""

    def __init__(self, block: Block, n: Operand, type_: str, is_singular: bool = False) -> None:
        b = self.b = block.b
        self.n, self.type = n, "c128" if type_ in COMPLEX else "f64"
        # of a singular matrix, pivots that are but rounding beside the first one are 0
        self.tiny = ROUNDING[WIDTHS[ITEM[type_]]] if is_singular else None
        self.first = b.var("f64", 0.0)
        self.packed = scratch(block, self.type, n, n)  # L below the diagonal, D on it, U above
        self.lower, self.upper = scratch(block, self.type, n, n), scratch(block, self.type, n, n)  # L^-1, U^-1
        self.others = scratch(block, self.type, n)
        self.rows, self.columns = scratch(block, "i64", n), scratch(block, "i64", n)  # where each was at first
        self.sign = b.var(self.type)

    @staticmethod
    def of(block: Block, n: Operand, type_: str, is_singular: bool = False) -> _ByPivots:
        """For matrices of n rows."""
        return (_ByPivots if type(n) is int and n < LONG else _ByLongPivots)(block, n, type_, is_singular)

    def find(self, matrix: Stored, keep: Keep) -> None:
        """Calls `keep(i, j, x)` for the cofactors of a matrix."""
        b, n, t = self.b, self.n, matrix.type
        self._eliminate(matrix)
        self._invert(self.lower, is_lower=True)
        self._invert(self.upper, is_lower=False)
        self._products()
        with b.loop(0, n) as i:
            entry = self._row(i)
            with b.loop(0, n) as j:
                x = b.let("mul", self.type, b.get(self.sign), entry(j))
                keep(self.rows.at(b, (i,)), self.columns.at(b, (j,)), b.convert(t, self.type, x))

    def _row(self, i: Operand) -> Callable[[Operand], Operand]:
        """The entries of a row of L^-T diag(others) U^-T, by column."""
        b = self.b

        def entry(j: Operand) -> Operand:
            start = b.select("i64", b.let("gt", "i64", i, j), i, j)
            total = b.var(self.type, 0.0)
            with b.loop(start, self.n) as k:
                left = b.let("mul", self.type, self.lower.at(b, (k, i)), self.others.at(b, (k,)))
                b.set(total, b.let("fma", self.type, left, self.upper.at(b, (j, k)), b.get(total)))
            return b.get(total)

        return entry

    def _eliminate(self, matrix: Stored) -> None:
        b, n, packed = self.b, self.n, self.packed
        fill_matrix(b, packed, lambda index: b.convert(self.type, matrix.type, matrix.at(b, index)))
        b.set(self.sign, 1.0)
        with b.loop(0, n) as i:
            self.rows.store(b, (i,), i)
            self.columns.store(b, (i,), i)
        with b.loop(0, n) as step:
            row, column = self._largest(step)
            self._exchange(self.rows, step, row, is_row=True)
            self._exchange(self.columns, step, column, is_row=False)
            pivot = self._pivot(step)
            # where nothing is left, the triangles end as those of the identity do
            over = b.let("div", self.type, 1.0, b.select(self.type, b.let("eq", self.type, pivot, 0.0), 1.0, pivot))
            with b.loop(b.add(step, 1), n) as i:
                factor = b.let("mul", self.type, packed.at(b, (i, step)), over)
                packed.store(b, (i, step), factor)
                less = b.let("neg", self.type, factor)
                with b.loop(b.add(step, 1), n) as j:
                    rest = b.let("fma", self.type, less, packed.at(b, (step, j)), packed.at(b, (i, j)))
                    packed.store(b, (i, j), rest)
            with b.loop(b.add(step, 1), n) as j:
                packed.store(b, (step, j), b.let("mul", self.type, packed.at(b, (step, j)), over))

    def _pivot(self, step: Operand) -> Operand:
        b, place = self.b, (step, step)
        if self.tiny is None:
            return self.packed.at(b, place)
        size = size_of(b, self.type, self.packed.at(b, place))
        b.set(self.first, b.select("f64", b.let("eq", "i64", step, 0), size, b.get(self.first)))
        is_rounding = b.let("le", "f64", size, b.let("mul", "f64", b.get(self.first), self.tiny))
        self.packed.store(b, place, b.select(self.type, is_rounding, 0.0, self.packed.at(b, place)))
        return self.packed.at(b, place)

    def _largest(self, step: Operand) -> tuple[Operand, Operand]:
        """Row and column of the largest entry that is left, the first of equal ones."""
        b = self.b
        most, row, column = b.var("f64", -1.0), b.var("i64", step), b.var("i64", step)
        with b.loop(step, self.n) as i, b.loop(step, self.n) as j:
            size = size_of(b, self.type, self.packed.at(b, (i, j)))
            is_larger = b.let("gt", "f64", size, b.get(most))
            b.set(most, b.select("f64", is_larger, size, b.get(most)))
            b.set(row, b.select("i64", is_larger, i, b.get(row)))
            b.set(column, b.select("i64", is_larger, j, b.get(column)))
        return b.get(row), b.get(column)

    def _exchange(self, order: Stored, step: Operand, other: Operand, is_row: bool) -> None:
        b = self.b
        with b.when(b.let("ne", "i64", step, other)):
            b.set(self.sign, b.let("neg", self.type, b.get(self.sign)))
            _swap(b, order, (step,), (other,))
            with b.loop(0, self.n) as k:
                _swap(b, self.packed, *(((step, k), (other, k)) if is_row else ((k, step), (k, other))))

    def _invert(self, out: Stored, is_lower: bool) -> None:
        """The inverse of a triangle whose diagonal is 1, by rows: those of U from the last one on."""
        b, n = self.b, self.n
        with b.loop(0, n) as step:
            i = step if is_lower else b.sub(b.sub(n, 1), step)
            with b.loop(0, n) as j:
                out.store(b, (i, j), of_identity(b, self.type, i, j))
            with b.loop(0 if is_lower else b.add(i, 1), i if is_lower else n) as k:
                less = b.let("neg", self.type, self.packed.at(b, (i, k)))
                with b.loop(*self._span(k, is_lower)) as j:
                    out.store(b, (i, j), b.let("fma", self.type, less, out.at(b, (k, j)), out.at(b, (i, j))))

    def _span(self, k: Operand, is_lower: bool) -> tuple[Operand, Operand]:
        """Which entries to go over of a row of a triangle: all of a short one, in a loop whose length is fixed."""
        return 0, self.n

    def _products(self) -> None:
        """For each pivot the product of all others."""
        b, n = self.b, self.n
        ahead, behind = b.var(self.type, 1.0), b.var(self.type, 1.0)
        with b.loop(0, n) as i:
            self.others.store(b, (i,), b.get(ahead))
            b.set(ahead, b.let("mul", self.type, b.get(ahead), self.packed.at(b, (i, i))))
        with b.loop(0, n) as step:
            i = b.sub(b.sub(n, 1), step)
            self.others.store(b, (i,), b.let("mul", self.type, self.others.at(b, (i,)), b.get(behind)))
            b.set(behind, b.let("mul", self.type, b.get(behind), self.packed.at(b, (i, i))))


class _ByLongPivots(_ByPivots):
    """Of long rows, whose entries are compared and added up side by side, each with the numbers of `_ByPivots`."""

    def __init__(self, block: Block, n: Operand, type_: str, is_singular: bool = False) -> None:
        super().__init__(block, n, type_, is_singular)
        self.totals = scratch(block, self.type, n)
        self.most, self.where = scratch(block, "f64", n), scratch(block, "i64", n)  # of each column

    def _span(self, k: Operand, is_lower: bool) -> tuple[Operand, Operand]:
        return (0, self.b.add(k, 1)) if is_lower else (k, self.n)

    def _products(self) -> None:
        super()._products()
        fill_matrix(self.b, self.packed, lambda index: self.upper.at(self.b, index[::-1]))  # U^-T, in its place

    def _row(self, i: Operand) -> Callable[[Operand], Operand]:
        b = self.b
        with b.loop(0, self.n) as j:
            self.totals.store(b, (j,), 0.0)
        with b.loop(i, self.n) as k:
            left = b.let("mul", self.type, self.lower.at(b, (k, i)), self.others.at(b, (k,)))
            with b.loop(0, b.add(k, 1)) as j:
                total = b.let("fma", self.type, left, self.packed.at(b, (k, j)), self.totals.at(b, (j,)))
                self.totals.store(b, (j,), total)
        return lambda j: self.totals.at(b, (j,))

    def _largest(self, step: Operand) -> tuple[Operand, Operand]:
        b, n = self.b, self.n
        with b.loop(step, n) as j:
            self.most.store(b, (j,), -1.0)
            self.where.store(b, (j,), step)
        with b.loop(step, n) as i, b.loop(step, n) as j:
            size, most = size_of(b, self.type, self.packed.at(b, (i, j))), self.most.at(b, (j,))
            is_larger = b.let("gt", "f64", size, most)
            self.most.store(b, (j,), b.select("f64", is_larger, size, most))
            self.where.store(b, (j,), b.select("i64", is_larger, i, self.where.at(b, (j,))))
        most, row, column = b.var("f64", -1.0), b.var("i64", step), b.var("i64", step)
        with b.loop(step, n) as j:
            size, i = self.most.at(b, (j,)), self.where.at(b, (j,))
            is_above = b.both(b.let("eq", "f64", size, b.get(most)), b.let("lt", "i64", i, b.get(row)))
            is_first = b.either(b.let("gt", "f64", size, b.get(most)), is_above)
            b.set(most, b.select("f64", is_first, size, b.get(most)))
            b.set(row, b.select("i64", is_first, i, b.get(row)))
            b.set(column, b.select("i64", is_first, j, b.get(column)))
        return b.get(row), b.get(column)


def _swap(b: Builder, x: Stored, one: Index, two: Index) -> None:
    p, q = x.at(b, one), x.at(b, two)
    x.store(b, one, q)
    x.store(b, two, p)


# -- inverses that are infinite ---------------------------------------------------------------------------------------


def _inv_or_inf(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b, a = block.b, block.stored(forms[0])
    target = block.room(node.outputs[0])
    n, t, unsolved = a.shape[-1], a.type, Unsolved(b)
    by_pivots = None if _is_written(n) else _ByPivots.of(block, n, a.type, is_singular=True)
    inverse = _Inverse.of(block, a)
    with loops_over(b, a.shape[:-2]) as index:
        matrix, out = matrix_at(b, a, index), matrix_at(b, target, index)
        unsolved.note(wild := is_wild(b, matrix))
        is_singular = inverse.find(matrix, lambda i, j, x, out=out: out.store(b, (i, j), x))

        def keep(i: Operand, j: Operand, x: Operand, out: Stored = out) -> None:
            out.store(b, (j, i), b.let("div", t, x, 0.0))

        with b.when(b.both(is_singular, b.negated(wild))):
            _minors(b, matrix, keep, is_singular=True) if by_pivots is None else by_pivots.find(matrix, keep)
    unsolved.leave(block, node, [a], [target])
    return [target]


class _Inverse(NamedTuple):
    """Inverts matrices: `find(matrix, keep)` calls `keep(i, j, x)` and tells whether there is none."""

    find: Callable[[Stored, Keep], Operand]

    @staticmethod
    def of(block: Block, a: Stored) -> _Inverse:
        b, n, t = block.b, a.shape[-1], a.type
        if is_little(n, n):
            assert type(n) is int
            found = system(b, t, n, n)

            def by_elimination(matrix: Stored, keep: Keep) -> Operand:
                found.take(lambda i, j: matrix.at(b, (i, j)), lambda i, c: of_identity(b, t, i, c))
                with b.when(b.negated(found.bad)):
                    found.solve(keep)
                return found.bad

            return _Inverse(by_elimination)
        columns, room = Columns(block, t, n, n), scratch(block, t, n, n)

        def by_lapack(matrix: Stored, keep: Keep) -> Operand:
            columns.take(matrix)
            fill_matrix(b, room, lambda place: of_identity(b, t, *place))
            columns.factorise()
            is_none = columns.lapack.has_failed()
            with b.when(b.negated(is_none)):
                columns.solve(room)
                with b.loop(0, n) as i, b.loop(0, n) as j:
                    keep(i, j, room.at(b, (i, j)))
            return is_none

        return _Inverse(by_lapack)


LOWERED = singles({"cofactor": _cofactor, "inv_or_inf": _inv_or_inf}, of_complex=True)
