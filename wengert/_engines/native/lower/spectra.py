"""Eigenvalues, singular values, QR: calls of the LAPACK routines that NumPy calls.

They see matrices by columns, and which triangle is read, or whether a matrix or its transpose is given, changes the
signs of vectors: so each works on a transposed copy, as NumPy does. A matrix with an infinity or NaN, with which a
routine may not end, is for NumPy's kernel (`unsolved.py`); so is what a routine does not find. Like NumPy's, results of
single precision are those of double precision, rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from ...._core.graph import Node
from ..ir.builder import Builder
from ..ir.complex_numbers import Pair
from ..ir.loops import COMPLEX, ITEM, Operand, Status, Typed
from ..llvm import reflections
from .bidiagonal import Bidiagonal
from .blocks import Block, singles
from .complex_scalars import conj_of, scaled
from .factorisations import (
    Lapack,
    Source,
    address_of,
    fill_matrix,
    fill_turned,
    loops_over,
    matrix_at,
    one_at_least,
    scratch,
)
from .forms import Form, Index, Stored, is_numbers
from .in_parts import InParts
from .matrices import rows_of_product
from .products import batched, fortran_int, letter
from .scalars import larger, smaller
from .standalone import is_alone
from .tridiagonal import Tridiagonal
from .unsolved import Unsolved, wild_noted

MODERATE = 1e-130, 1e130  # sizes of matrices that LAPACK takes as they are, and the exponent of such a one
MODERATE_EXPONENT, BIAS = 400, 1023
PANEL = 32  # columns that LAPACK's routines take together, given the room
BY_PANELS = 81  # rows of a complex or symmetric matrix from which on they better do: fewer take 5 % longer so
BY_PARTS = 200  # rows of a matrix up to which the steps to its vectors are called one by one
TRIANGLES = 65 * 64  # numbers beside panels with which LAPACK applies reflections together
# rows from which on LAPACK better applies the reflections of a bidiagonal matrix together, on the left and the right
TOGETHER = {"f64": (48, 56), "c128": (56, 81)}
FEW_TOGETHER = 8  # reflections that it then better applies together: 32 of 64 rows take a tenth longer
LONG = 1.5  # rows for each column beyond which LAPACK may factorise a matrix first, for its singular values


def total_of(b: Builder, *terms: Operand) -> Operand:
    found: Operand = 0
    for term in terms:
        found = b.add(found, term)
    return found


def times(b: Builder, number: int, *factors: Operand) -> Operand:
    found: Operand = number
    for factor in factors:
        found = b.mul(found, factor)
    return found


def is_none(*extents: Operand) -> bool:
    return any(type(n) is int and n == 0 for n in extents)


class Routine:
    """A routine on transposed copies of a batch's matrices, with the room that it works in.

    Attributes:
        copy: m x n by columns, which routines overwrite.
    """

    def __init__(
        self, block: Block, m: Operand, n: Operand, type_: str = "f64", unsolved: Unsolved | None = None
    ) -> None:  # fmt: skip
        self.block, self.b = block, block.b
        self.m, self.n = m, n
        self.unsolved = Unsolved(block.b) if unsolved is None else unsolved
        self.lapack = Lapack.of(block, type_, self.unsolved)
        self.copy = scratch(block, type_, n, m)

    def take(self, source: Stored) -> None:
        """Copies a matrix."""
        copied(self.b, wild_noted(self.unsolved, self.b, source), self.copy)

    def make_moderate(self) -> Operand:
        """Scales the copy to a size that LAPACK takes as it is: some builds leave the eigenvalues of others scaled.

        Returns:
            By what eigenvalues are to be multiplied: a power of two, 1 for most matrices.
        """
        b, most = self.b, self.b.var("f64", 0.0)
        with b.loop(0, self.n) as j, b.loop(0, self.m) as i:
            x = self.copy.at(b, (j, i))
            for part in (x.re, x.im) if type(x) is Pair else (x,):
                size = b.let("abs", "f64", part)
                b.set(most, b.select("f64", b.let("gt", "f64", size, b.get(most)), size, b.get(most)))
        is_large = b.let("gt", "f64", b.get(most), MODERATE[1])
        is_small = b.both(b.let("lt", "f64", b.get(most), MODERATE[0]), b.let("gt", "f64", b.get(most), 0.0))
        # the exponent of the largest part, from its bits, less that of what it becomes
        exponent = b.sub(b.let("shr", "i64", b.convert("i64", "f64", b.get(most), bits=True), 52), BIAS)
        rest = b.sub(exponent, b.select("i64", is_large, MODERATE_EXPONENT, -MODERATE_EXPONENT))
        rest = b.select("i64", b.either(is_large, is_small), rest, 0)
        down, up = (_power_of_two(b, power) for power in (b.sub(0, rest), rest))
        with b.when(b.let("ne", "i64", rest, 0)):
            fill_matrix(b, self.copy, lambda index: scaled(b, self.copy.type, self.copy.at(b, index), down))
        return up

    def room(self, type_: str, *shape: Operand) -> Stored:
        """An array for a routine, of at least one number."""
        return scratch(self.block, type_, *[one_at_least(self.b, n) for n in shape])

    def count(self, value: Operand) -> Any:
        """An integer as Fortran takes it, at least 1: a step from column to column, the length of a workspace."""
        return fortran_int(self.b, one_at_least(self.b, value))


def _power_of_two(b: Builder, exponent: Operand) -> Operand:
    return b.convert("f64", "i64", b.let("shl", "i64", b.add(exponent, BIAS), 52), bits=True)


def worked_in(type_: str) -> str:
    """The type in which a matrix's elements are worked with."""
    return "c128" if type_ in COMPLEX else "f64"


class _Reflecting:
    """Makes the copy of a routine a matrix of two diagonals, which a solver takes, by reflections, whose `factors` it
    sets: a bidiagonal matrix for two arrays of them, a tridiagonal one, from the lower triangle, for one."""

    def __init__(self, routine: Routine, solver: InParts, factors: Sequence[Stored]) -> None:
        m, n, type_ = routine.m, routine.n, routine.lapack.type
        assert type(m) is int
        assert type(n) is int
        self.b, self.copy = routine.b, routine.copy
        self.name, self.extents = ("bidiagonal", (m, n)) if len(factors) == 2 else ("tridiagonal", (n,))
        room = routine.room("f64", reflections.room_for(type_, m, n))
        self.arrays = solver.d, solver.e, *factors, room

    def run(self) -> None:
        numbers = [Typed("i64", x) for x in (*self.extents, self.copy.shape[1])]
        given = *numbers[:-1], address_of(self.copy), numbers[-1], *map(address_of, self.arrays)
        self.b.call(f"reflections.{self.name}.{self.copy.type}", given)


def copied(b: Builder, source: Source, out: Stored) -> None:
    """What lies by rows, by columns, or the other way round."""
    fill_turned(b, out, source)


class _InOrder:
    """Rows in another order."""

    def __init__(self, x: Stored, place: Callable[[Operand], Operand]) -> None:
        self.type, self._x, self._place = x.type, x, place

    def at(self, b: Builder, index: Index) -> Operand:
        return self._x.at(b, (self._place(index[0]), index[1]))


def copied_line(b: Builder, source: Stored, out: Stored) -> None:
    with b.loop(0, out.shape[0]) as i:
        out.store(b, (i,), b.convert(out.type, source.type, source.at(b, (i,))))


# -- eigenvalues ------------------------------------------------------------------------------------------------------


def _eigh(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b, a = block.b, block.stored(forms[0])
    values, vectors = map(block.room, node.outputs)
    n = a.shape[-1]
    if is_none(n):
        return [values, vectors]
    type_, has_vectors = worked_in(a.type), block.is_read(node.outputs[1])
    if has_vectors and type(n) is int and 1 < n <= BY_PARTS and not is_alone():
        _eigh_by_parts(block, node, a, values, vectors)
        return [values, vectors]
    routine = Routine(block, n, n, type_)
    length, whole = _room_for_eigh(b, type_, n), total_of(b, 3, times(b, 5, n))
    work, whole_work, found = routine.room(type_, length), routine.room("i32", whole), routine.room("f64", n)
    name, beside = "syevd", ()
    if type_ in COMPLEX:
        real = total_of(b, 1, times(b, 5, n), times(b, 2, n, n))
        name, beside = "heevd", (address_of(routine.room("f64", real)), routine.count(real))
    with loops_over(b, a.shape[:-2]) as index:
        routine.take(matrix_at(b, a, index))
        routine.lapack.call(
            name, letter("V" if has_vectors else "N"), letter("L" if node.attrs[0] else "U"), fortran_int(b, n),
            address_of(routine.copy), routine.count(n), address_of(found), address_of(work), routine.count(length),
            *beside, address_of(whole_work), routine.count(whole),
        )  # fmt: skip
        routine.lapack.note()
        copied_line(b, found, matrix_at(b, values, index))
        if has_vectors:
            copied(b, routine.copy, matrix_at(b, vectors, index))
    routine.unsolved.leave(block, node, [a], [values, vectors])
    return [values, vectors]


def _eigh_by_parts(block: Block, node: Node, a: Stored, values: Stored, vectors: Stored) -> None:
    """The steps of `syevd` one by one, of which that to vectors of a tridiagonal matrix is machine code of ours."""
    b, n, type_ = block.b, a.shape[-1], worked_in(a.type)
    assert type(n) is int
    routine = Routine(block, n, n, type_)
    solver = Tridiagonal(block, n, routine.unsolved)
    found = routine.room(type_, n, n) if type_ in COMPLEX else solver.vectors
    factors = routine.room(type_, n)
    length = FEW_TOGETHER * n + TRIANGLES
    work = routine.room(type_, max(length, _room_for_sytrd(n)))
    side = letter("L" if node.attrs[0] else "U")
    by_lapack = partial(_by_sytrd, side, routine, solver, factors, work)
    is_ours = node.attrs[0] and len(solver.parts) > 1
    reduce = _Reflecting(routine, solver, (factors,)).run if is_ours else by_lapack

    def place_of(i: Operand) -> Operand:
        return b.sub(b.convert("i64", "i32", solver.order.at(b, (i,))), 1)

    with loops_over(b, a.shape[:-2]) as index:
        routine.take(matrix_at(b, a, index))
        back = routine.make_moderate() if ITEM[a.type] == "f64" else None
        reduce()
        scale = solver.solve()
        if found is not solver.vectors:
            fill_matrix(b, found, lambda at: b.convert(type_, "f64", solver.vectors.at(b, at)))
        routine.lapack.call(
            "unmtr" if type_ in COMPLEX else "ormtr", letter("L"), side, letter("N"), fortran_int(b, n),
            fortran_int(b, n), address_of(routine.copy), routine.count(n), address_of(factors), address_of(found),
            routine.count(n), address_of(work), fortran_int(b, length),
        )  # fmt: skip
        routine.lapack.note()
        value, vector = matrix_at(b, values, index), matrix_at(b, vectors, index)
        with b.loop(0, n) as i:
            x = b.let("mul", "f64", solver.d.at(b, (place_of(i),)), scale)
            x = x if back is None else b.let("mul", "f64", x, back)
            value.store(b, (i,), b.convert(value.type, "f64", x))
        copied(b, _InOrder(found, place_of), vector)
    routine.unsolved.leave(block, node, [a], [values, vectors])


def _by_sytrd(side: Any, routine: Routine, solver: Tridiagonal, factors: Stored, work: Stored) -> None:
    """Of the upper triangle, whose last column is first, and of few rows, as by `_by_gebrd`."""
    b, n, type_ = routine.b, routine.n, routine.lapack.type
    assert type(n) is int
    routine.lapack.call(
        "hetrd" if type_ in COMPLEX else "sytrd", side, fortran_int(b, n), address_of(routine.copy),
        routine.count(n), *map(address_of, (solver.d, solver.e, factors, work)), fortran_int(b, _room_for_sytrd(n)),
    )  # fmt: skip
    routine.lapack.note()


def _room_for_sytrd(n: int) -> int:
    """With more LAPACK takes the first columns of 33 rows and more together, which few take up to a third longer."""
    return n if n < BY_PANELS else PANEL * n


def _room_for_eigh(b: Builder, type_: str, n: Operand) -> Operand:
    """How many numbers LAPACK works in."""
    if type_ in COMPLEX and type(n) is int and n < BY_PANELS:
        return n * (n + 2)
    return total_of(b, 1, times(b, 6 + 2 * PANEL, n), times(b, 2, n, n))


def _eig(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b, a = block.b, block.stored(forms[0])
    values, vectors = map(block.room, node.outputs)
    n = a.shape[-1]
    if is_none(n):
        return [values, vectors]
    is_complex, has_vectors = a.type in COMPLEX, block.is_read(node.outputs[1])
    routine = Routine(block, n, n, worked_in(a.type))
    type_, length, whole = routine.lapack.type, times(b, 4 + PANEL, n), times(b, 2, n)
    # of real matrices: real and imaginary parts of the values; of complex ones: the values, and room beside it
    parts = routine.room(type_, n), routine.room("f64", whole)
    found, work = routine.room(type_, n, n), routine.room(type_, length)
    left = address_of(found), fortran_int(b, 1)  # there are none
    right = address_of(found), routine.count(n), address_of(work), routine.count(length)
    with loops_over(b, a.shape[:-2]) as index:
        routine.take(matrix_at(b, a, index))
        back = routine.make_moderate()
        job = letter("V" if has_vectors else "N")
        given = letter("N"), job, fortran_int(b, n), address_of(routine.copy), routine.count(n)
        if is_complex:
            routine.lapack.call("geev", *given, address_of(parts[0]), *left, *right, address_of(parts[1]))
        else:
            routine.lapack.call("geev", *given, *map(address_of, parts), *left, *right)
        routine.lapack.note()
        value, vector = matrix_at(b, values, index), matrix_at(b, vectors, index)
        for part in parts[:1] if is_complex else parts:
            with b.loop(0, n) as i:
                part.store(b, (i,), scaled(b, part.type, part.at(b, (i,)), back))
        if is_complex:
            copied_line(b, parts[0], value)
        else:
            with b.loop(0, n) as j:
                z: Any = Pair(*[part.at(b, (j,)) for part in parts])
                value.store(b, (j,), b.convert(value.type, "c128", z))
        if has_vectors and is_complex:
            copied(b, found, vector)
        elif has_vectors:
            _paired(b, parts[1], found, vector)
    routine.unsolved.leave(block, node, [a], [values, vectors])
    return [values, vectors]


def _paired(b: Builder, im: Stored, found: Stored, vectors: Stored) -> None:
    """Of two conjugate values LAPACK gives the vector of the one above the axis, real parts before imaginary ones."""
    n = vectors.shape[0]
    with b.loop(0, n) as j:
        above = im.at(b, (j,))
        is_real, is_first = b.let("eq", "f64", above, 0.0), b.let("gt", "f64", above, 0.0)
        first = b.select("i64", b.either(is_real, is_first), j, b.sub(j, 1))
        second = b.select("i64", is_real, j, b.add(first, 1))
        sign = b.select("f64", is_real, 0.0, b.select("f64", is_first, 1.0, -1.0))
        with b.loop(0, n) as i:
            beside = b.let("mul", "f64", sign, found.at(b, (second, i)))
            vectors.store(b, (i, j), b.convert(vectors.type, "c128", cast(Any, Pair(found.at(b, (first, i)), beside))))


# -- singular values --------------------------------------------------------------------------------------------------


class _Values:
    """Singular values of matrices, one at a time.

    Attributes:
        s: the values; left, right: the vectors, u and vh by columns.
    """

    def __init__(self, block: Block, extents: tuple[Operand, Operand, Operand], type_: str, job: str = "S") -> None:
        """`extents`: of the matrices, and how many values they have; `job`: "S", or "N" for values alone."""
        self.job = job
        m, n, k = self.m, self.n, self.k = extents
        self.routine = Routine(block, m, n, type_)
        room = self.routine.room
        self.s, self.left, self.right = room("f64", k), room(type_, k, m), room(type_, n, k)
        self._steps = _Steps(self, block) if job == "S" and _goes_by_parts(m, n) else _Whole(self)

    def find(self, matrix: Stored) -> None:
        self.routine.take(matrix)
        self._steps.find(ITEM[matrix.type] == "f64")


def _goes_by_parts(m: Operand, n: Operand) -> bool:
    """Whether LAPACK would make a matrix upper bidiagonal at once, and of few rows."""
    return type(m) is int and type(n) is int and 1 < n <= BY_PARTS and n <= m <= LONG * n and not is_alone()


class _Whole:
    """`gesdd`."""

    def __init__(self, values: _Values) -> None:
        self.values, self.b = values, values.routine.b
        b, room, type_ = self.b, values.routine.room, values.routine.lapack.type
        k, most = values.k, larger(self.b, "i64", values.m, values.n)
        self.length = _room_for_svd(b, type_, k, most)
        self.work, self.whole_work = room(type_, self.length), room("i32", b.mul(8, k))
        real = total_of(b, times(b, 7, k, k), times(b, 6, k), times(b, 2, most, k))
        self.beside = (address_of(room("f64", real)),) if type_ in COMPLEX else ()

    def find(self, is_double: bool) -> None:
        b, values, routine = self.b, self.values, self.values.routine
        routine.lapack.call(
            "gesdd", letter(values.job), fortran_int(b, values.m), fortran_int(b, values.n), address_of(routine.copy),
            routine.count(values.m), address_of(values.s), address_of(values.left), routine.count(values.m),
            address_of(values.right), routine.count(values.k), address_of(self.work), routine.count(self.length),
            *self.beside, address_of(self.whole_work),
        )  # fmt: skip
        routine.lapack.note()


class _Steps:
    """The steps of `gesdd` one by one, of which that to vectors of a bidiagonal matrix is machine code of ours."""

    def __init__(self, values: _Values, block: Block) -> None:
        self.values, self.b = values, values.routine.b
        m, n, room, type_ = values.m, values.n, values.routine.room, values.routine.lapack.type
        assert type(m) is int
        assert type(n) is int
        self.solver = Bidiagonal(block, n, values.routine.unsolved)
        self.factors = room(type_, n), room(type_, n)
        by_ours = _Reflecting(values.routine, self.solver, self.factors).run if len(self.solver.parts) > 1 else None
        self.reduce = by_ours or self._by_gebrd
        self.lengths = [n if n < least else FEW_TOGETHER * n + TRIANGLES for least in TOGETHER[type_]]
        self.work = room(type_, max(*self.lengths, PANEL * (m + n)))
        self.name = "unmbr" if type_ in COMPLEX else "ormbr"

    def find(self, is_double: bool) -> None:
        b, values, solver = self.b, self.values, self.solver
        back = values.routine.make_moderate() if is_double else None
        self.reduce()
        scale = solver.solve()
        self._put(scale if back is None else b.let("mul", "f64", scale, back))
        self._turn("Q", values.left, self.factors[0], self.lengths[0])
        self._turn("P", values.right, self.factors[1], self.lengths[1])

    def _by_gebrd(self) -> None:
        """The rounding of few rows, which are solved without being divided, chooses signs: they are LAPACK's."""
        b, values, routine, solver = self.b, self.values, self.values.routine, self.solver
        routine.lapack.call(
            "gebrd", fortran_int(b, values.m), fortran_int(b, values.n), address_of(routine.copy),
            fortran_int(b, values.m), *map(address_of, (solver.d, solver.e, *self.factors, self.work)),
            fortran_int(b, self.work.shape[0]),
        )  # fmt: skip
        routine.lapack.note()

    def _put(self, scale: Operand) -> None:
        """Values and vectors of the bidiagonal matrix, from the largest value on."""
        b, values, solver = self.b, self.values, self.solver
        m, n, type_ = values.m, values.n, values.left.type
        with b.loop(0, n) as i:
            place = self._place(i)
            values.s.store(b, (i,), b.let("mul", "f64", solver.d.at(b, (place,)), scale))
            with b.loop(0, n) as j:
                values.left.store(b, (i, j), b.convert(type_, "f64", solver.left.at(b, (place, j))))
            with b.loop(n, m) as j:
                values.left.store(b, (i, j), cast(Any, Pair(0.0, 0.0)) if type_ in COMPLEX else 0.0)
        with b.loop(0, n) as j, b.loop(0, n) as i:
            values.right.store(b, (j, i), b.convert(type_, "f64", solver.right.at(b, (j, self._place(i)))))

    def _place(self, i: Operand) -> Operand:
        """At which place a value is, counted from the largest on, and its vectors."""
        b, order = self.b, self.solver.order
        return b.sub(b.convert("i64", "i32", order.at(b, (b.sub(order.shape[0], b.add(i, 1)),))), 1)

    def _turn(self, which: str, vectors: Stored, factors: Stored, length: int) -> None:
        """By the reflections that have made the matrix bidiagonal."""
        b, routine, columns = self.b, self.values.routine, self.values.n
        rows = vectors.shape[1]
        side, way = ("L", "N") if which == "Q" else ("R", "C" if routine.lapack.type in COMPLEX else "T")
        routine.lapack.call(
            self.name, letter(which), letter(side), letter(way), fortran_int(b, rows), fortran_int(b, columns),
            fortran_int(b, columns), address_of(routine.copy), fortran_int(b, self.values.m), address_of(factors),
            address_of(vectors), fortran_int(b, rows), address_of(self.work), fortran_int(b, length),
        )  # fmt: skip
        routine.lapack.note()


def _room_for_svd(b: Builder, type_: str, least: Operand, most: Operand) -> Operand:
    """How many numbers LAPACK works in, by a matrix's shorter and longer side.

    With more of them it applies complex reflections together, which of 33 to 80 rows takes a tenth longer.
    """
    if type_ not in COMPLEX:
        return total_of(b, times(b, 4, least, least), times(b, 7 + PANEL, least), times(b, 1 + PANEL, most))
    together = total_of(b, times(b, 2 + PANEL, least), times(b, PANEL, most))
    if type(least) is int and type(most) is int and most <= LONG * least:
        return together
    return total_of(b, together, times(b, 1, least, least), least)


def _svd(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b, a = block.b, block.stored(forms[0])
    u, s, vh = map(block.room, node.outputs)
    m, n = a.shape[-2:]
    if is_none(m, n):
        return [u, s, vh]
    has_vectors = block.is_read(node.outputs[0]) or block.is_read(node.outputs[2])
    found = _Values(block, (m, n, s.shape[-1]), worked_in(a.type), "S" if has_vectors else "N")
    with loops_over(b, a.shape[:-2]) as index:
        found.find(matrix_at(b, a, index))
        copied_line(b, found.s, matrix_at(b, s, index))
        if has_vectors:
            copied(b, found.left, matrix_at(b, u, index))
            copied(b, found.right, matrix_at(b, vh, index))
    found.routine.unsolved.leave(block, node, [a], [u, s, vh])
    return [u, s, vh]


def _pinv(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b, a = block.b, block.stored(forms[0])
    target = block.room(node.outputs[0])
    m, n = a.shape[-2:]
    if is_none(m, n):
        return [target]
    type_ = worked_in(a.type)
    found = _Values(block, (m, n, smaller(b, "i64", m, n)), type_)
    made = scratch(block, type_, n, m)
    with loops_over(b, a.shape[:-2]) as index:
        found.find(matrix_at(b, a, index))
        _divided(b, found, node.attrs[0])
        _multiplied(block, found, made)
        fill_matrix(
            b, matrix_at(b, target, index), lambda at: b.convert(target.type, type_, conj_of(b, type_, made.at(b, at)))
        )
    found.routine.unsolved.leave(block, node, [a], [target])
    return [target]


def _divided(b: Builder, found: _Values, share: float) -> None:
    """Divides the vectors on the left by their values; they are 0 for those up to a share of the largest, the first."""
    least = b.let("mul", "f64", found.s.at(b, (0,)), float(share))
    with b.loop(0, found.k) as p:
        value = found.s.at(b, (p,))
        is_large = b.let("gt", "f64", value, least)
        over = b.let("div", "f64", 1.0, b.select("f64", is_large, value, 1.0))
        over = b.select("f64", is_large, over, 0.0)
        with b.loop(0, found.m) as i:
            found.left.store(b, (p, i), scaled(b, found.left.type, found.left.at(b, (p, i)), over))


def _multiplied(block: Block, found: _Values, out: Stored) -> None:
    """All vectors, as they lie, multiplied: the conjugate of the pseudo-inverse."""
    if is_numbers((*found.left.shape, *found.right.shape)):
        batched(block, found.right, found.left, out)
    else:  # a product of unknown extents would ask for its room anew for each matrix
        rows_of_product(block.b, found.right, found.left, out)


# -- QR ---------------------------------------------------------------------------------------------------------------


class _Reflections:
    """A = Q R, Q as reflections and then as the columns that are asked for."""

    def __init__(self, block: Block, extents: tuple[Operand, Operand, Operand], type_: str) -> None:
        """`extents`: of the matrices, and how many columns of Q are asked for."""
        b = block.b
        self.m, self.n, self.columns = extents
        self.routine = Routine(block, self.m, self.columns, type_)  # with room for all columns of Q
        self.length = times(b, PANEL, self.columns)
        self.work, self.factors = self.routine.room(type_, self.length), self.routine.room(type_, self.n)

    def take(self, source: Stored) -> None:
        """Copies a matrix, and factorises it: R is on and above the diagonal of the copy."""
        b, routine = self.routine.b, self.routine
        tame = wild_noted(routine.unsolved, b, source)
        first = Stored((self.n, self.m), routine.copy.array, routine.copy.offset, routine.copy.strides, False)
        copied(b, tame, first)
        routine.lapack.call("geqrf", fortran_int(b, self.m), fortran_int(b, self.n), *self._rest())
        routine.lapack.note()

    def orthonormal(self) -> None:
        """The copy becomes the columns of Q."""
        b, routine = self.routine.b, self.routine
        shape = fortran_int(b, self.m), fortran_int(b, self.columns), fortran_int(b, self.n)
        routine.lapack.call("ungqr" if routine.lapack.type in COMPLEX else "orgqr", *shape, *self._rest())
        routine.lapack.note()

    def _rest(self) -> Sequence[Any]:
        routine = self.routine
        return (
            address_of(routine.copy), routine.count(self.m), address_of(self.factors), address_of(self.work),
            routine.count(self.length),
        )  # fmt: skip


def _require_tall(b: Builder, m: Operand, n: Operand) -> None:
    with b.when(b.let("lt", "i64", m, n)):
        b.leave(Status.REFUSED)


def _qr(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b, a = block.b, block.stored(forms[0])
    q, r = map(block.room, node.outputs)
    m, n = a.shape[-2:]
    _require_tall(b, m, n)
    if is_none(m, n):
        return [q, r]
    made = _Reflections(block, (m, n, n), worked_in(a.type))
    with loops_over(b, a.shape[:-2]) as index:
        made.take(matrix_at(b, a, index))
        out = matrix_at(b, r, index)
        fill_matrix(b, out, _upper(b, made.routine.copy, out.type))
        if block.is_read(node.outputs[0]):
            made.orthonormal()
            copied(b, made.routine.copy, matrix_at(b, q, index))
    made.routine.unsolved.leave(block, node, [a], [q, r])
    return [q, r]


def _upper(b: Builder, copy: Stored, type_: str) -> Callable[[Index], Operand]:
    zero: Any = Pair(0.0, 0.0) if type_ in COMPLEX else 0.0

    def at(index: Index) -> Operand:
        i, j = index
        return b.select(type_, b.let("le", "i64", i, j), b.convert(type_, copy.type, copy.at(b, (j, i))), zero)

    return at


def _complement(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b, q = block.b, block.stored(forms[0])
    target = block.room(node.outputs[0])
    m, n = q.shape[-2:]
    _require_tall(b, m, n)
    if is_none(m):
        return [target]
    made = _Reflections(block, (m, n, m), worked_in(q.type))
    with loops_over(b, q.shape[:-2]) as index:
        made.take(matrix_at(b, q, index))
        made.orthonormal()
        copy = made.routine.copy
        rest = Stored((b.sub(m, n), m), copy.array, b.add(copy.offset, b.mul(n, m)), copy.strides, False)
        copied(b, rest, matrix_at(b, target, index))
    made.routine.unsolved.leave(block, node, [q], [target])
    return [target]


LOWERED = singles({
    "complement": _complement, "eig": _eig, "eigh": _eigh, "pinv": _pinv, "qr": _qr, "svd": _svd,
}, of_complex=True)  # fmt: skip
