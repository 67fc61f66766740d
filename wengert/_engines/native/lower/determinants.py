"""Determinants, cofactors, and inverses that are infinite where there are none.

A determinant is the product of the pivots of Gauss's elimination; only where that leaves the range of its type is it
added up by logarithms, as NumPy has it always. Cofactors, the gradient of determinants, are right at singular matrices,
too: of few rows they are minors, written out, of more they come from an elimination with the largest pivot of all rows
and columns. That gives A = P L D U Q with triangles of entries up to 1, whose inverses are tame, and

    cof(A) = det(P) det(Q) P L^-T diag(prod of all d but d_i) U^-T Q

holds no division by a pivot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...._core.graph import Node
from ..ir.builder import Builder
from ..ir.complex_numbers import Pair, pair_of
from ..ir.loops import COMPLEX, ITEM, Operand, Status, Var
from .blocks import Block, singles
from .complex_scalars import COMPLEX_SCALARS
from .elimination import Written, is_little, size_of, system
from .factorisations import Columns, fill_matrix, is_wild, loops_over, matrix_at, of_identity, scratch
from .forms import Form, Index, Stored

LONG = 25  # rows from which on their entries are gone over side by side: below that, it takes longer
At = Callable[[Operand, Operand], Operand]  # an element by row and column

# -- determinants -----------------------------------------------------------------------------------------------------

_FAR = {"f64": 2.0**900, "f32": 2.0**100}  # products of pivots that are larger, or smaller than 1 over this, are far


def _det(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b, target = block.b, block.room(node.outputs[0])
    a, t = block.stored(forms[0]), target.type
    n = a.shape[-1]

    def by_size(index: Index, sign: Operand, size: Operand) -> None:
        target.store(b, index, _scaled(b, t, sign, b.let("exp", ITEM[t], size)))

    if not is_little(n, 0):
        _by_lapack(block, a, by_size)
        return [target]
    assert type(n) is int
    found, wild, is_far = system(b, t, n, 0), b.var("bool", False), b.var("bool", False)
    with loops_over(b, a.shape[:-2]) as index:
        _eliminate(b, found, matrix_at(b, a, index), wild)
        total = _Product(b, t, found.sign)
        found.pivots(total.join)
        target.store(b, index, total.value())
        if type(found) is Written:
            b.set(is_far, b.either(b.get(is_far), total.is_far()))
        else:
            with b.when(total.is_far()):
                by_size(index, *_by_logarithms(b, t, found))
    _require_tame(b, wild)
    if type(found) is Written:  # a branch in the loop above would keep it from being vector code
        with b.when(b.get(is_far)):
            _little_sizes(b, a, by_size)
    return [target]


class _Product:
    """The product of pivots, and whether it was far from 1 at some step."""

    def __init__(self, b: Builder, t: str, sign: Operand) -> None:
        self.b, self.type = b, t
        self._total, self._far = b.var(t, sign), b.var("bool", False)

    def join(self, pivot: Operand) -> None:
        b, t = self.b, self.type
        total = b.let("mul", t, b.get(self._total), pivot)
        size, real = size_of(b, t, total), ITEM[t]
        is_near = b.both(b.let("gt", real, size, 1 / _FAR[real]), b.let("lt", real, size, _FAR[real]))
        b.set(self._total, total)
        b.set(self._far, b.either(b.get(self._far), b.negated(is_near)))

    def value(self) -> Operand:
        return self.b.get(self._total)

    def is_far(self) -> Operand:
        return self.b.get(self._far)


def _slogdet(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b, a = block.b, block.stored(forms[0])
    signs, sizes = map(block.room, node.outputs)

    def store(index: Index, sign: Operand, size: Operand) -> None:
        signs.store(b, index, sign)
        sizes.store(b, index, size)

    if is_little(a.shape[-1], 0):
        _little_sizes(b, a, store)
    else:
        _by_lapack(block, a, store)
    return [signs, sizes]


def _by_lapack(block: Block, a: Stored, store: Callable[[Index, Operand, Operand], None]) -> None:
    """The sign and the logarithm of the size of each determinant."""
    b, n, t = block.b, a.shape[-1], a.type
    columns = Columns(block, t, n, n)
    with loops_over(b, a.shape[:-2]) as index:
        columns.take(matrix_at(b, a, index))
        columns.factorise()
        total = _Size(b, t, 1.0)
        with b.loop(0, n) as i:
            stays = b.let("eq", "i32", b.load(columns.pivots, i), b.convert("i32", "i64", b.add(i, 1)))
            total.join(columns.matrix.at(b, (i, i)), b.negated(stays))
        store(index, *total.result())


def _little_sizes(b: Builder, a: Stored, store: Callable[[Index, Operand, Operand], None]) -> None:
    """As `_by_lapack`, of few rows."""
    n = a.shape[-1]
    assert type(n) is int
    found, wild = system(b, a.type, n, 0), b.var("bool", False)
    with loops_over(b, a.shape[:-2]) as index:
        _eliminate(b, found, matrix_at(b, a, index), wild)
        store(index, *_by_logarithms(b, a.type, found))
    _require_tame(b, wild)


def _eliminate(b: Builder, found: Any, matrix: Stored, wild: Var) -> None:
    found.take(lambda i, j: matrix.at(b, (i, j)), lambda i, c: 0.0)
    b.set(wild, b.either(b.get(wild), found.wild))


def _require_tame(b: Builder, wild: Var) -> None:
    with b.when(b.get(wild)):
        b.leave(Status.LINALG)


def _by_logarithms(b: Builder, t: str, found: Any) -> tuple[Operand, Operand]:
    total = _Size(b, t, found.sign)
    found.pivots(lambda pivot: total.join(pivot, False))
    return total.result()


class _Size:
    """The product of pivots: its sign, and the logarithm of its size."""

    def __init__(self, b: Builder, t: str, sign: Operand) -> None:
        self.b, self.type = b, t
        self.sign, self.size = b.var(t, sign), b.var(ITEM[t], 0.0)

    def join(self, pivot: Operand, is_turned: Operand) -> None:
        """A factor, of which the rows may have changed places."""
        b, t = self.b, self.type
        if t in COMPLEX:
            self._join_complex(pivot, is_turned)
            return
        is_negative = b.let("lt", t, pivot, 0.0)
        flips = is_negative if is_turned is False else b.let("xor", "bool", is_turned, is_negative)
        turned = b.select(t, flips, b.let("neg", t, b.get(self.sign)), b.get(self.sign))
        b.set(self.sign, b.select(t, b.let("eq", t, pivot, 0.0), 0.0, turned))
        b.set(self.size, b.let("add", t, b.get(self.size), b.let("log", t, b.let("abs", t, pivot))))

    def _join_complex(self, pivot: Operand, is_turned: Operand) -> None:
        """As `join`, of a factor with a direction."""
        b, t, real = self.b, self.type, ITEM[self.type]
        size = COMPLEX_SCALARS["abs"](b, t, (), pivot)
        divisor = b.select(real, b.let("eq", real, size, 0.0), 1.0, size)
        parts = pair_of(pivot)
        direction: Any = Pair(*[b.let("div", real, part, divisor) for part in (parts.re, parts.im)])
        sign = b.let("mul", t, b.get(self.sign), direction)
        b.set(self.sign, sign if is_turned is False else b.select(t, is_turned, b.let("neg", t, sign), sign))
        b.set(self.size, b.let("add", real, b.get(self.size), b.let("log", real, size)))

    def result(self) -> tuple[Operand, Operand]:
        """The sign, 0 if it is singular, and the logarithm."""
        b, t = self.b, self.type
        sign = b.get(self.sign)
        return b.select(t, b.let("eq", t, sign, 0.0), 0.0, sign), b.get(self.size)


def _scaled(b: Builder, t: str, x: Operand, factor: Operand) -> Any:
    """A number, perhaps complex, times a real one."""
    if t not in COMPLEX:
        return b.let("mul", t, x, factor)
    parts = pair_of(x)
    return Pair(*[b.let("mul", ITEM[t], part, factor) for part in (parts.re, parts.im)])


# -- cofactors --------------------------------------------------------------------------------------------------------

_WRITTEN_OUT = 4  # rows of matrices whose minors are written out


def _cofactor(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b, a = block.b, block.stored(forms[0])
    target = block.room(node.outputs[0])
    n, wild = a.shape[-1], b.var("bool", False)
    by_pivots = None if _is_written(n) else _Cofactors.of(block, n, a.type)
    with loops_over(b, a.shape[:-2]) as index:
        matrix, out = matrix_at(b, a, index), matrix_at(b, target, index)
        b.set(wild, b.either(b.get(wild), is_wild(b, matrix)))
        if by_pivots is None:
            _minors(b, matrix, lambda i, j, x, out=out: out.store(b, (i, j), x))
        else:
            by_pivots.find(matrix, lambda i, j, x, out=out: out.store(b, (i, j), x))
    _require_tame(b, wild)
    return [target]


def _is_written(n: Operand) -> bool:
    return type(n) is int and n <= _WRITTEN_OUT


def _minors(b: Builder, a: Stored, keep: Callable[[int, int, Operand], None]) -> None:
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

    everywhere = (*range(n),)
    for i in everywhere:
        for j in everywhere:
            x = minor((*everywhere[:i], *everywhere[i + 1 :]), (*everywhere[:j], *everywhere[j + 1 :]))
            keep(i, j, b.let("neg", t, x) if (i + j) % 2 else x)


class _Cofactors:
    """Cofactors by an elimination with the largest pivots of all rows and columns, in double precision."""

    def __init__(self, block: Block, n: Operand, type_: str) -> None:
        b = self.b = block.b
        self.n, self.type = n, "c128" if type_ in COMPLEX else "f64"
        self.packed = scratch(block, self.type, n, n)  # L below the diagonal, D on it, U above
        self.lower, self.upper = scratch(block, self.type, n, n), scratch(block, self.type, n, n)  # L^-1, U^-1
        self.others = scratch(block, self.type, n)
        self.rows, self.columns = scratch(block, "i64", n), scratch(block, "i64", n)  # where each was at first
        self.sign = b.var(self.type)

    @staticmethod
    def of(block: Block, n: Operand, type_: str) -> _Cofactors:
        """For matrices of n rows."""
        return (_Cofactors if type(n) is int and n < LONG else _LongCofactors)(block, n, type_)

    def find(self, matrix: Stored, keep: Callable[[Operand, Operand, Operand], None]) -> None:
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
            pivot = packed.at(b, (step, step))
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


class _LongCofactors(_Cofactors):
    """Of long rows, whose entries are compared and added up side by side, each with the numbers of `_Cofactors`."""

    def __init__(self, block: Block, n: Operand, type_: str) -> None:
        super().__init__(block, n, type_)
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
    n, t, wild = a.shape[-1], a.type, b.var("bool", False)
    by_pivots = None if _is_written(n) else _Cofactors.of(block, n, a.type)
    inverse = _Inverse.of(block, a)
    with loops_over(b, a.shape[:-2]) as index:
        matrix, out = matrix_at(b, a, index), matrix_at(b, target, index)
        b.set(wild, b.either(b.get(wild), is_wild(b, matrix)))
        is_singular = inverse.find(matrix, lambda i, j, x, out=out: out.store(b, (i, j), x))

        def keep(i: Operand, j: Operand, x: Operand, out: Stored = out) -> None:
            out.store(b, (j, i), b.let("div", t, x, 0.0))

        with b.when(b.both(is_singular, b.negated(b.get(wild)))):
            _minors(b, matrix, keep) if by_pivots is None else by_pivots.find(matrix, keep)
    _require_tame(b, wild)
    return [target]


class _Inverse(NamedTuple):
    """Inverts matrices: `find(matrix, keep)` calls `keep(i, j, x)` and tells whether there is none."""

    find: Callable[[Stored, Callable[[Operand, Operand, Operand], None]], Operand]

    @staticmethod
    def of(block: Block, a: Stored) -> _Inverse:
        b, n, t = block.b, a.shape[-1], a.type
        if is_little(n, n):
            assert type(n) is int
            found = system(b, t, n, n)

            def by_elimination(matrix: Stored, keep: Callable[[Operand, Operand, Operand], None]) -> Operand:
                found.take(lambda i, j: matrix.at(b, (i, j)), lambda i, c: of_identity(b, t, i, c))
                with b.when(b.negated(found.bad)):
                    found.solve(keep)
                return found.bad

            return _Inverse(by_elimination)
        columns, room = Columns(block, t, n, n), scratch(block, t, n, n)

        def by_lapack(matrix: Stored, keep: Callable[[Operand, Operand, Operand], None]) -> Operand:
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


# -- rows in an order -------------------------------------------------------------------------------------------------


def _rows(is_back: bool) -> Any:
    """`permute_rows`, or its way back."""

    def rule(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
        b, x, order = block.b, block.stored(forms[0]), block.stored(forms[1])
        target = block.room(node.outputs[0])
        with loops_over(b, x.shape[:-2]) as index:
            source, places, out = (matrix_at(b, y, index) for y in (x, order, target))
            with b.loop(0, source.shape[0]) as i:
                other = b.convert("i64", order.type, places.at(b, (i,)))
                inside = b.both(b.let("ge", "i64", other, 0), b.let("lt", "i64", other, source.shape[0]))
                with b.when(b.negated(inside)):
                    b.leave(Status.INDEX)
                down, up = (other, i) if is_back else (i, other)
                with b.loop(0, source.shape[1]) as j:
                    out.store(b, (down, j), source.at(b, (up, j)))
        return [target]

    return rule


LOWERED = singles({
    "det": _det, "slogdet": _slogdet, "cofactor": _cofactor, "inv_or_inf": _inv_or_inf,
    "permute_rows": _rows(False), "unpermute_rows": _rows(True),
}, of_complex=True)  # fmt: skip
