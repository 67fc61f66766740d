"""Linear systems and factorisations: loops of our own for small matrices, BLAS and LAPACK for others.

Our matrices lie by rows, LAPACK's by columns, so what we have is the transpose of what it sees. Cholesky's factor and
triangular systems need no copy for that; pivots depend on the order, so `lu`, and `solve`, `inv` and the determinants
of more than a few unknowns (`elimination.py` has those), work on a transposed copy, as NumPy does. A matrix that has no
result is for NumPy's kernel (`unsolved.py`), which raises the error. So is one with an infinity or NaN, since which
elements of the result become NaN depends on the order of the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol, cast

from ...._core.graph import Node
from ...._prims.linalg import ADJOINT
from ..ir.builder import Builder
from ..ir.complex_numbers import Pair
from ..ir.loops import COMPLEX, ITEM, Address, Array, Operand, Typed
from .blocks import Block, singles
from .complex_scalars import conj_of, divided_by_real
from .elimination import WRITTEN_OUT, Looped, Planes, is_little, system
from .forms import Form, Index, Stored, strides_of
from .matrices import BLAS_COLUMNS, in_blocks, some_at_once
from .matrices import turned as transposed
from .products import BLAS_LETTER, fortran_int, letter
from .standalone import is_alone
from .unsolved import Harmless, Unsolved, is_wild, of_identity, wild_noted

SMALL_MATRIX = 24  # rows up to which loops of our own are faster than a call of LAPACK or BLAS
SQUARE = 16  # rows of a square of a matrix that is turned
NEAR = 2048  # numbers of right-hand sides that are taken together: they stay in the nearest cache
FEW_SIDES = 2  # of complex numbers for which loops of our own are faster than a call of BLAS
MANY_ROWS = 33  # from which on one right-hand side is a column, of which vectors are made

At = Callable[[Index], Operand]  # an element

# -- batches ----------------------------------------------------------------------------------------------------------


@contextmanager
def loops_over(b: Builder, extents: Sequence[Operand], index: Index = ()) -> Iterator[Index]:
    """`with loops_over(b, extents) as index:` what is emitted inside runs for each index."""
    if not extents:
        yield index
        return
    with b.loop(0, extents[0]) as i, loops_over(b, extents[1:], (*index, i)) as found:
        yield found


def matrix_at(b: Builder, x: Stored, index: Index) -> Stored:
    """One matrix (or vector) of a batch."""
    for i in index:
        x = x.row(b, i)
    return x


def fill_matrix(b: Builder, x: Stored, value: Callable[[Index], Operand]) -> None:
    """Sets each element of a matrix."""
    with b.loop(0, x.shape[0]) as i, b.loop(0, x.shape[1]) as j:
        x.store(b, (i, j), value((i, j)))


class Source(Protocol):
    """What elements are taken from."""

    type: str

    def at(self, b: Builder, index: Index) -> Operand: ...


def fill_turned(b: Builder, x: Stored, source: Source) -> None:
    """Sets a matrix to the transpose of another one, by squares, whose lines stay in the cache."""
    m, n = x.shape
    with (
        in_blocks(b, m, SQUARE) as (row, rows), in_blocks(b, n, SQUARE) as (column, columns),
        b.loop(0, rows) as i, b.loop(0, columns) as j,
    ):  # fmt: skip
        place = b.add(row, i), b.add(column, j)
        x.store(b, place, b.convert(x.type, source.type, source.at(b, place[::-1])))


def _is_little(n: Operand) -> bool:
    return type(n) is int and n <= SMALL_MATRIX


def _is_few(sides: Operand) -> bool:
    return type(sides) is int and sides <= FEW_SIDES


def scratch(block: Block, type_: str, *shape: Operand) -> Stored:
    """Room that is used in each iteration of a batch; asked for before the loop."""
    return Stored(shape, block.b.alloc(type_, _product(block.b, shape)), 0, strides_of(block.b, shape), True)


def _product(b: Builder, shape: Sequence[Operand]) -> Operand:
    total: Operand = 1
    for n in shape:
        total = b.mul(total, n)
    return total


class Lapack(NamedTuple):
    """Calls routines of one type that end with `info`."""

    block: Block
    type: str
    info: Array
    unsolved: Unsolved

    @staticmethod
    def of(block: Block, type_: str, unsolved: Unsolved) -> Lapack:
        return Lapack(block, type_, block.b.local("i32", 1), unsolved)

    def call(self, name: str, *arguments: Any) -> None:
        self.block.b.call(f"lapack.{BLAS_LETTER[self.type]}{name}", [*arguments, Address(self.info)])

    def note(self) -> None:
        """Notes whether the routine did not succeed."""
        self.unsolved.note(self.has_failed())

    def has_failed(self) -> Operand:
        """Whether the routine did not succeed."""
        return self.block.b.let("ne", "i32", self.block.b.load(self.info, 0), 0)


def address_of(x: Stored) -> Address:
    return Address(x.array, x.offset)


# -- Cholesky ---------------------------------------------------------------------------------------------------------


def _cholesky(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b, a = block.b, block.stored(forms[0])
    target = block.room(node.outputs[0])
    n = a.shape[-1]
    if type(n) is int and n <= SMALL_MATRIX:
        _little_cholesky(block, node, a, target)
        return [target]
    unsolved = Unsolved(b)
    lapack = Lapack.of(block, a.type, unsolved)
    with loops_over(b, a.shape[:-2]) as index:
        source, factor = wild_noted(unsolved, b, matrix_at(b, a, index)), matrix_at(b, target, index)
        _triangle_copied(b, source, factor)
        size = fortran_int(b, n)
        # by columns this is the upper triangle
        lapack.call("potrf", letter("U"), size, address_of(factor), fortran_int(b, one_at_least(b, n)))
        lapack.note()
    unsolved.leave(block, node, [a], [target])
    return [target]


def _little_cholesky(block: Block, node: Node, a: Stored, target: Stored) -> None:
    """Factors of few rows: in registers, or in an array on the stack."""
    b, n = block.b, a.shape[-1]
    assert type(n) is int
    unsolved = Unsolved(b)
    room = Planes.local(b, a.type, n, n) if n > WRITTEN_OUT else None
    with loops_over(b, a.shape[:-2]) as index:
        source, factor = matrix_at(b, a, index), matrix_at(b, target, index)
        unsolved.note(is_wild(b, source))
        if room is None:
            is_bad = _cholesky_written(b, source, factor, n)
        else:
            is_bad = _cholesky_rows(b, source, factor, room)
        unsolved.note(is_bad)
    unsolved.leave(block, node, [a], [target])


def _cholesky_written(b: Builder, a: Stored, out: Stored, n: int) -> Operand:
    """Each element from those before it in its row and in the row of its column; whether there is no factor."""
    t, bad = a.type, cast("Operand", False)
    found: list[list[Operand]] = []
    for i in range(n):
        row: list[Operand] = []
        for j in range(i + 1):
            rest: Operand = a.at(b, (i, j))
            other = row if i == j else found[j]
            for x, y in zip(row, other, strict=False):
                rest = b.let("fma", t, b.let("neg", t, x), conj_of(b, t, y), rest)
            if i == j:
                rest = b.convert(ITEM[t], t, rest)
                bad = b.either(bad, b.negated(b.let("gt", ITEM[t], rest, 0.0)))  # NaN, too
                row.append(b.convert(t, ITEM[t], b.let("sqrt", ITEM[t], rest)))
            else:
                row.append(divided_by_real(b, t, rest, b.convert(ITEM[t], t, other[j])))
        found.append(row)
        for j in range(n):
            out.store(b, (i, j), row[j] if j <= i else 0.0)
    return bad


def _cholesky_rows(b: Builder, a: Stored, out: Stored, upper: Planes) -> Operand:
    """By rows of the factor's adjoint, whose elements lie side by side; whether there is no factor."""
    n, t = a.shape[0], a.type
    bad = b.var("bool", False)
    with b.loop(0, n) as i, b.loop(i, n) as j:
        upper.store((i, j), conj_of(b, t, a.at(b, (j, i))))
    with b.loop(0, n) as step:
        square = b.convert(ITEM[t], t, upper.at(step, step))
        b.set(bad, b.either(b.get(bad), b.negated(b.let("gt", ITEM[t], square, 0.0))))  # NaN, too
        root = b.let("sqrt", ITEM[t], square)
        upper.store((step, step), b.convert(t, ITEM[t], square))
        with b.loop(step, n) as j:
            upper.store((step, j), divided_by_real(b, t, upper.at(step, j), root))
        with b.loop(b.add(step, 1), n) as i:
            factor = b.let("neg", t, conj_of(b, t, upper.at(step, i)))
            with b.loop(i, n) as j:
                upper.store((i, j), b.let("fma", t, factor, upper.at(step, j), upper.at(i, j)))
    with b.loop(0, n) as i:
        with b.loop(0, b.add(i, 1)) as j:
            out.store(b, (i, j), conj_of(b, t, upper.at(j, i)))
        with b.loop(b.add(i, 1), n) as j:
            out.store(b, (i, j), 0.0)
    return b.get(bad)


def one_at_least(b: Builder, n: Operand) -> Operand:
    return max(n, 1) if type(n) is int else b.select("i64", b.let("lt", "i64", n, 1), 1, n)


def _triangle_copied(b: Builder, source: Harmless, factor: Stored) -> None:
    def value(index: Index) -> Operand:
        below = b.let("le", "i64", index[1], index[0])
        return b.select(source.type, below, source.at(b, index), 0.0)

    fill_matrix(b, factor, value)


# -- triangular systems -----------------------------------------------------------------------------------------------


def _triangular_solve(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b = block.b
    lower, trans, unit = node.attrs
    a, right = block.stored(forms[0]), block.stored(forms[1])
    target = block.room(node.outputs[0])
    by_loops = is_alone() or _is_little(a.shape[-1]) or (a.type in COMPLEX and _is_few(right.shape[-1]))
    if not by_loops:
        a = block.dense(a)
    unsolved = Unsolved(b)
    with loops_over(b, a.shape[:-2]) as index:
        matrix, source, out = (matrix_at(b, x, index) for x in (a, right, target))
        if not unit:
            _note_diagonal(b, matrix, unsolved)
        fill_matrix(b, out, lambda place, source=source: source.at(b, place))
        if by_loops:
            unsolved.note(b.either(is_wild(b, matrix), is_wild(b, source)))
            turned = transposed(matrix) if trans else matrix
            _substitute(b, turned, out, bool(lower) != bool(trans), unit, is_conj=trans == ADJOINT)
        else:
            # by columns: X' op(A)' = B', where A' is what lies there
            flags = "R", "U" if lower else "L", "NTC"[trans], "U" if unit else "N"
            _by_blas(b, flags, matrix, out)
    unsolved.leave(block, node, [a, right], [target])
    return [target]


def _by_blas(b: Builder, flags: Sequence[str], matrix: Stored, out: Stored) -> None:
    """BLAS's call: what lies there becomes the solution of a triangular system; some right-hand sides after the other.

    The flags say: the matrix stands left or right, which triangle, whether transposed, whether its diagonal is of ones.
    """
    n, k = out.shape
    if type(k) is int and k == 1:  # a fifth of the time: X op(M) = B is op(M)' x = b, and reals are their conjugates
        uplo, trans, diagonal = flags[1:]
        b.call(f"blas.{BLAS_LETTER[matrix.type]}trsv", [
            letter(uplo), letter("T" if trans == "N" else "N"), letter(diagonal), fortran_int(b, n), address_of(matrix),
            fortran_int(b, one_at_least(b, n)), address_of(out), fortran_int(b, 1),
        ])  # fmt: skip
        return
    one: Any = Typed(matrix.type, 1.0, True)
    if matrix.type in COMPLEX:
        number = b.local(matrix.type, 1)
        b.store(number, 0, cast(Any, Pair(1.0, 0.0)))
        one = Address(number)
    with some_at_once(b, k, b.divided(b.mul(n, n), 2), BLAS_COLUMNS) as (first, count):
        b.call(f"blas.{BLAS_LETTER[matrix.type]}trsm", [
            *map(letter, flags), fortran_int(b, count), fortran_int(b, n), one,
            address_of(matrix), fortran_int(b, one_at_least(b, n)), Address(out.array, b.add(out.offset, first)),
            fortran_int(b, one_at_least(b, k)),
        ])  # fmt: skip


def _note_diagonal(b: Builder, matrix: Stored, unsolved: Unsolved) -> None:
    with b.loop(0, matrix.shape[0]) as i:
        unsolved.note(b.let("eq", matrix.type, matrix.at(b, (i, i)), 0.0))


def _substitute(b: Builder, a: Stored, x: Stored, lower: bool, unit: bool, is_conj: bool = False) -> None:
    """x becomes the solution: from the first row on if `lower`, else from the last; `is_conj`: with conjugates of a."""
    (n, k), t = x.shape, x.type

    def element(index: Index) -> Operand:
        found = a.at(b, index)
        return conj_of(b, t, found) if is_conj else found

    def divide(i: Operand) -> None:
        if not unit:
            pivot = element((i, i))
            with b.loop(0, k) as j:
                x.store(b, (i, j), b.let("div", t, x.at(b, (i, j)), pivot))

    many = SMALL_MATRIX + 1 if t in COMPLEX else MANY_ROWS
    is_column = type(k) is int and k == 1 and type(n) is int and n >= many
    by_columns = type(a.strides[0]) is int and a.strides[0] == 1
    with b.loop(0, n) as step:
        i = step if lower else b.sub(b.sub(n, 1), step)
        before, behind = (0, i), (b.add(i, 1), n)
        if is_column and by_columns:  # what is known goes into all that follows, which lies side by side
            divide(i)
            _subtract_column(b, element, x, i, behind if lower else before)
        else:
            (_subtract_sum if is_column else _subtract_rows)(b, element, x, i, before if lower else behind)
            divide(i)


def _subtract_column(b: Builder, a: At, x: Stored, i: Operand, span: tuple[Operand, Operand]) -> None:
    """From some rows of x what a column of a makes of row i."""
    t = x.type
    with b.loop(0, x.shape[1]) as j:
        less = b.let("neg", t, x.at(b, (i, j)))
        with b.loop(*span) as p:
            x.store(b, (p, j), b.let("fma", t, less, a((p, i)), x.at(b, (p, j))))


def _subtract_sum(b: Builder, a: At, x: Stored, i: Operand, span: tuple[Operand, Operand]) -> None:
    """From row i of x what a row of a makes of some rows, as one sum."""
    t = x.type
    with b.loop(0, x.shape[1]) as j:
        total = b.var(t, 0.0)
        with b.loop(*span) as p:
            b.set(total, b.let("sum", t, b.get(total), b.let("mul", t, a((i, p)), x.at(b, (p, j)))))
        x.store(b, (i, j), b.let("sub", t, x.at(b, (i, j)), b.get(total)))


def _subtract_rows(b: Builder, a: At, x: Stored, i: Operand, span: tuple[Operand, Operand]) -> None:
    """As `_subtract_sum`, one row after the other, whose elements lie side by side."""
    t = x.type
    with b.loop(*span) as p:
        factor = b.let("neg", t, a((i, p)))
        with b.loop(0, x.shape[1]) as j:
            x.store(b, (i, j), b.let("fma", t, factor, x.at(b, (p, j)), x.at(b, (i, j))))


# -- general systems --------------------------------------------------------------------------------------------------


class Columns:
    """A copy by columns of a batch's matrices, one at a time, with what LAPACK needs beside it."""

    def __init__(self, block: Block, type_: str, m: Operand, n: Operand) -> None:
        self.b = block.b
        self.m, self.n = m, n
        self.unsolved = Unsolved(block.b)
        self.lapack = Lapack.of(block, type_, self.unsolved)
        self.matrix = scratch(block, type_, n, m)  # the transpose, by rows
        self.pivots = block.b.alloc("i32", m if type(m) is int and type(n) is int and m < n else n)

    def take(self, source: Stored) -> None:
        """Copies a matrix."""
        fill_turned(self.b, self.matrix, wild_noted(self.unsolved, self.b, source))

    def factorise(self) -> None:
        """L U of the copy, in its place, with the rows exchanged at each step (counted from 1)."""
        self.lapack.call(
            "getrf", fortran_int(self.b, self.m), fortran_int(self.b, self.n), address_of(self.matrix), self.step,
            Address(self.pivots),
        )  # fmt: skip

    @property
    def step(self) -> Typed:
        return fortran_int(self.b, one_at_least(self.b, self.m))

    def solve(self, right: Stored) -> None:
        """`right` becomes the solution. It lies by rows, so to BLAS it is the X' of X' A' = B': nothing is turned."""
        b, (n, k) = self.b, right.shape
        if not (is_alone() or _is_little(n) or (right.type in COMPLEX and _is_few(k))):
            self._exchange(right)
            for flags in ("RLTU", "RUTN"):
                _by_blas(b, flags, self.matrix, right)
            return
        factors = transposed(self.matrix)
        with in_blocks(b, k, b.divided(NEAR, one_at_least(b, n))) as (first, count):
            part = Stored((n, count), right.array, b.add(right.offset, first), right.strides, False)
            self._exchange(part)
            _substitute(b, factors, part, lower=True, unit=True)
            _substitute(b, factors, part, lower=False, unit=False)

    def _exchange(self, right: Stored) -> None:
        """Exchanges rows as the elimination did."""
        b, (n, k) = self.b, right.shape
        with b.loop(0, n) as i:
            other = b.sub(b.convert("i64", "i32", b.load(self.pivots, i)), 1)
            with b.loop(0, k) as j:
                mine, its = right.at(b, (i, j)), right.at(b, (other, j))
                right.store(b, (i, j), its)
                right.store(b, (other, j), mine)


def _solve(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b = block.b
    a, right = block.stored(forms[0]), block.stored(forms[1])
    target = block.room(node.outputs[0])
    n, k = right.shape[-2:]
    if is_little(n, k):
        _little_systems(block, node, (a, right), target)
        return [target]
    columns = Columns(block, a.type, n, n)
    with loops_over(b, a.shape[:-2]) as index:
        source, out = matrix_at(b, right, index), matrix_at(b, target, index)
        columns.unsolved.note(is_wild(b, source))
        columns.take(matrix_at(b, a, index))
        fill_matrix(b, out, lambda place, source=source: source.at(b, place))
        columns.factorise()
        columns.lapack.note()
        columns.solve(out)
    columns.unsolved.leave(block, node, [a, right], [target])
    return [target]


def _little_systems(block: Block, node: Node, given: Sequence[Stored], target: Stored) -> None:
    """Systems of few unknowns; without right-hand sides, inverses."""
    b, (a, *rights), (n, k) = block.b, given, target.shape[-2:]
    assert type(n) is int
    assert type(k) is int
    found, unsolved = system(b, a.type, n, k), Unsolved(b)
    with loops_over(b, a.shape[:-2]) as index:
        matrix, out = matrix_at(b, a, index), matrix_at(b, target, index)
        source = matrix_at(b, rights[0], index) if rights else None
        found.take(
            lambda i, j: matrix.at(b, (i, j)),
            lambda i, c: of_identity(b, a.type, i, c) if source is None else source.at(b, (i, c)),
        )
        unsolved.note(b.either(found.bad, found.wild))
        found.solve(lambda i, c, x: out.store(b, (i, c), x))
    unsolved.leave(block, node, given, [target])


def _inv(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b, a = block.b, block.stored(forms[0])
    target = block.room(node.outputs[0])
    n, t = a.shape[-1], a.type
    if is_little(n, n):
        _little_systems(block, node, (a,), target)
        return [target]
    columns = Columns(block, t, n, n)
    with loops_over(b, a.shape[:-2]) as index:
        out = matrix_at(b, target, index)
        columns.take(matrix_at(b, a, index))
        fill_matrix(b, out, lambda place: of_identity(b, t, *place))
        columns.factorise()
        columns.lapack.note()
        columns.solve(out)
    columns.unsolved.leave(block, node, [a], [target])
    return [target]


def _lu(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b, a = block.b, block.stored(forms[0])
    packed, pivots, order = map(block.room, node.outputs)
    m, n = a.shape[-2:]
    unsolved, factorised = (_little_lu if is_little(n, 0) and m == n else _lu_by_lapack)(block, a)
    with loops_over(b, a.shape[:-2]) as index:
        factors, exchanged, places = (matrix_at(b, x, index) for x in (packed, pivots, order))
        row_of = factorised(matrix_at(b, a, index), factors)
        with b.loop(0, m) as i:
            places.store(b, (i,), i)
        with b.loop(0, exchanged.shape[0]) as i:
            other = row_of(i)
            exchanged.store(b, (i,), other)
            j = b.convert("i64", "i32", other)
            one, two = places.at(b, (i,)), places.at(b, (j,))
            places.store(b, (i,), two)
            places.store(b, (j,), one)
    unsolved.leave(block, node, [a], [packed, pivots, order])
    return [packed, pivots, order]


# fills a matrix with the factors of another, and gives with which row each one changed places
Factorise = Callable[[Stored, Stored], Callable[[Operand], Operand]]


def _lu_by_lapack(block: Block, a: Stored) -> tuple[Unsolved, Factorise]:
    b, columns = block.b, Columns(block, a.type, *a.shape[-2:])

    def factorise(source: Stored, factors: Stored) -> Callable[[Operand], Operand]:
        columns.take(source)
        columns.factorise()  # of a singular matrix, too, there are factors
        fill_turned(b, factors, columns.matrix)
        return lambda i: b.let("sub", "i32", b.load(columns.pivots, i), 1)

    return columns.unsolved, factorise


def _little_lu(block: Block, a: Stored) -> tuple[Unsolved, Factorise]:
    """As `_lu_by_lapack`, of few rows."""
    b, n = block.b, a.shape[-1]
    assert type(n) is int
    found = Looped(b, a.type, n, 0, keeps=True)
    unsolved, chosen = Unsolved(b), found.chosen
    assert chosen is not None

    def factorise(source: Stored, factors: Stored) -> Callable[[Operand], Operand]:
        found.take(lambda i, j: source.at(b, (i, j)), lambda i, c: 0.0)
        unsolved.note(found.wild)
        fill_matrix(b, factors, lambda at: found.rows.at(*at))
        return lambda i: b.load(chosen, i)

    return unsolved, factorise


LOWERED = singles({
    "cholesky": _cholesky, "triangular_solve": _triangular_solve, "solve": _solve, "inv": _inv, "lu": _lu,
}, of_complex=True)  # fmt: skip
