"""Square roots and logarithms of matrices, and Sylvester's equation, by the Schur form: A = Z T Z* with T triangular.

All is done with complex numbers, of which the real parts are the result where matrices are real. What has no such
result (a real matrix with an eigenvalue at the negative axis), or hardly one (an eigenvalue next to 0 beside others or
that add up to 0), is for NumPy's kernel (`unsolved.py`), which decides, and raises the error.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from ...._core.graph import Node
from ..ir.builder import Builder
from ..ir.complex_numbers import Pair, pair_of
from ..ir.loops import COMPLEX, Address, Operand
from .blocks import Block, singles
from .complex_scalars import COMPLEX_SCALARS, scaled
from .factorisations import address_of, fill_matrix, loops_over, matrix_at, scratch
from .forms import Form, Index, Stored
from .matrices import turned as transposed
from .products import fortran_int, letter
from .spectra import PANEL, Routine, is_none, times
from .unsolved import Unsolved, is_wild, of_identity

TYPE = "c128"
ZERO: Any = Pair(0.0, 0.0)
ONE: Any = Pair(1.0, 0.0)
NEAR_ZERO = 1e-13  # a size beside the largest one, of eigenvalues that may as well be 0 ...
NEAR_AXIS = 1e-3  # ... and the slope of the sector in which they may as well be negative
QUOTIENTS, NEAR = 7, 0.264  # of a logarithm, and the distance from 1 at which so many have all digits
MOST_ROOTS = 1100  # which bring any number near 1

# makes room for matrices of so many rows, and gives what turns a triangle into a function of it
OfTriangle = Callable[[Block, Operand], Callable[[Stored], Stored]]


class Schur:
    """The Schur form of matrices, one at a time. That of real ones is made of the real one, a third of the work.

    Attributes:
        t: the triangle. vectors: Z.
    """

    def __init__(self, block: Block, n: Operand, is_real: bool, unsolved: Unsolved) -> None:
        self.b, self.n, self.is_real = block.b, n, is_real
        self.routine = Routine(block, n, n, "f64" if is_real else TYPE, unsolved)
        type_, room = self.routine.lapack.type, self.routine.room
        self.length = times(block.b, 3 + PANEL, n)
        self.work, self.found, self.flags = room(type_, self.length), room(type_, n, n), room("i32", n)
        self.values, self.parts = room(type_, n), room("f64", n)
        self.count = block.b.local("i32", 1)
        self.t = _columns(block, n, n) if is_real else transposed(self.routine.copy)
        self.vectors = _columns(block, n, n) if is_real else transposed(self.found)

    def find(self, matrix: Stored) -> None:
        routine, n = self.routine, fortran_int(self.b, self.n)
        routine.take(matrix)
        back = routine.make_moderate()
        # the function that would choose eigenvalues is not called; their imaginary parts, or room behind the rest
        parts = [address_of(self.parts)]
        beside, last = (parts, []) if self.is_real else ([], parts)
        routine.lapack.call(
            "gees", letter("V"), letter("N"), Address(self.count), n, address_of(routine.copy), routine.count(self.n),
            Address(self.count), address_of(self.values), *beside, address_of(self.found), routine.count(self.n),
            address_of(self.work), routine.count(self.length), *last, address_of(self.flags),
        )  # fmt: skip
        routine.lapack.note()
        if self.is_real:
            for x, source in ((self.t, routine.copy), (self.vectors, self.found)):
                fill_matrix(
                    self.b, transposed(x), lambda at, source=source: cast(Any, Pair(source.at(self.b, at), 0.0))
                )
            self._make_triangle()
        with self.b.loop(0, self.n) as j, self.b.loop(0, self.b.add(j, 1)) as i:
            self.t.store(self.b, (i, j), scaled(self.b, TYPE, self.t.at(self.b, (i, j)), back))

    def _make_triangle(self) -> None:
        """Turns each pair of rows and columns that has conjugate eigenvalues, from the last one on."""
        b, t = self.b, self.t
        with b.loop(0, b.sub(self.n, 1)) as step:
            j = b.sub(b.sub(self.n, 1), step)
            i = b.sub(j, 1)
            below = pair_of(t.at(b, (j, i))).re
            with b.when(b.let("ne", "f64", below, 0.0)):
                # LAPACK gives equal numbers on the diagonal; beside it are numbers of unlike signs, below and above
                product = b.let("mul", "f64", pair_of(t.at(b, (i, j))).re, below)
                apart = b.let("sqrt", "f64", b.let("abs", "f64", product))
                size = b.let("sqrt", "f64", b.let("fma", "f64", apart, apart, b.let("mul", "f64", below, below)))
                share, rest = b.let("div", "f64", apart, size), b.let("div", "f64", below, size)
                self._turn(i, j, share, rest)
                t.store(b, (j, i), ZERO)

    def _turn(self, i: Operand, j: Operand, share: Operand, rest: Operand) -> None:
        """By [[-i share, rest], [-rest, i share]] from the left, and by its adjoint from the right."""
        b, t = self.b, self.t
        turned, back = cast(Any, Pair(0.0, share)), cast(Any, Pair(0.0, b.let("neg", "f64", share)))
        across, less = cast(Any, Pair(rest, 0.0)), cast(Any, Pair(b.let("neg", "f64", rest), 0.0))

        def combine(x: Stored, one: Any, other: Any, factors: tuple[Any, ...]) -> None:
            a, c = x.at(b, one), x.at(b, other)
            first, second = (
                b.let("add", TYPE, b.let("mul", TYPE, p, a), b.let("mul", TYPE, q, c))
                for p, q in (factors[:2], factors[2:])
            )
            x.store(b, one, first)
            x.store(b, other, second)

        with b.loop(i, self.n) as k:
            combine(t, (i, k), (j, k), (back, across, less, turned))
        for x, rows in ((t, b.add(j, 1)), (self.vectors, self.n)):
            with b.loop(0, rows) as k:
                combine(x, (k, i), (k, j), (turned, across, less, back))

    def note_principal(self) -> None:
        """Notes where the matrix may have no principal root or logarithm, or none that is real: it becomes 1."""
        b = self.b
        most, some = b.var("f64", 0.0), b.var("bool", False)
        with b.loop(0, self.n) as i:
            size = _size(b, self.t.at(b, (i, i)))
            b.set(most, b.select("f64", b.let("gt", "f64", size, b.get(most)), size, b.get(most)))
        least = b.let("mul", "f64", b.get(most), NEAR_ZERO)
        with b.loop(0, self.n) as i:
            value = pair_of(self.t.at(b, (i, i)))
            is_bad = b.let("le", "f64", _size(b, value), least)
            if self.is_real:
                room = b.let("mul", "f64", value.re, -NEAR_AXIS)
                is_bad = b.either(is_bad, b.let("le", "f64", b.let("abs", "f64", value.im), room))
            b.set(some, b.either(b.get(some), is_bad))
        self.routine.unsolved.note(b.get(some))
        with b.when(b.get(some)):
            fill_matrix(b, self.t, lambda at: of_identity(b, TYPE, *at))


def _size(b: Builder, z: Operand | Pair) -> Operand:
    parts = pair_of(z)
    return b.let("add", "f64", b.let("abs", "f64", parts.re), b.let("abs", "f64", parts.im))


def _minus(b: Builder, x: Operand) -> Operand:
    return b.let("neg", TYPE, x)


def _conj(b: Builder, x: Operand) -> Operand:
    return COMPLEX_SCALARS["conj"](b, TYPE, (), x)


def _columns(block: Block, rows: Operand, columns: Operand) -> Stored:
    """Room for a matrix that lies by columns, as LAPACK's do: all is done with whole columns, which are vector code."""
    return transposed(scratch(block, TYPE, columns, rows))


def _subtract(
    b: Builder, x: Stored, factor: Operand, y: Stored, column: tuple[Operand, Operand], rows: Operand
) -> None:
    """Subtracts a multiple of the first rows of a column of y from those of one of x; `column`: which ones."""
    into, source = column
    less = _minus(b, factor)
    with b.loop(0, rows) as i:
        rest = b.let("fma", TYPE, less, y.at(b, (i, source)), x.at(b, (i, into)))
        x.store(b, (i, into), rest)


def _product(b: Builder, out: Stored, x: Stored, factor: Callable[[Index], Operand], is_triangle: bool = False) -> None:
    """out = x @ the matrix of the factors; `is_triangle`: x has nothing below the diagonal."""
    fill_matrix(b, transposed(out), lambda index: ZERO)
    with b.loop(0, out.shape[1]) as j, b.loop(0, x.shape[1]) as k:
        rows = b.add(k, 1) if is_triangle else out.shape[0]
        _subtract(b, out, _minus(b, factor((k, j))), x, (j, k), rows)


class Back:
    """Z f(T) Z*, from the function of a triangle, or Z Y V*."""

    def __init__(self, block: Block, n: Operand, m: Operand) -> None:
        self.b = block.b
        self.beside, self.found = _columns(block, n, m), _columns(block, n, m)

    def store(self, out: Stored, left: Stored, middle: Stored, right: Stored, is_triangle: bool = False) -> None:
        """`is_triangle`: what stands in the middle."""
        b = self.b
        _product(b, self.beside, middle, lambda at: _conj(b, right.at(b, (at[1], at[0]))), is_triangle)
        _product(b, self.found, left, lambda at: self.beside.at(b, at))
        fill_matrix(b, out, lambda at: b.convert(out.type, TYPE, self.found.at(b, at)))


# -- roots ------------------------------------------------------------------------------------------------------------


def _root_of_triangle(b: Builder, t: Stored) -> Stored:
    """t, which becomes its root, column by column from the diagonal upwards."""
    with b.loop(0, t.shape[0]) as j:
        t.store(b, (j, j), COMPLEX_SCALARS["sqrt"](b, TYPE, (), t.at(b, (j, j))))
        with b.loop(0, j) as step:
            k = b.sub(b.sub(j, 1), step)
            both = b.let("add", TYPE, t.at(b, (k, k)), t.at(b, (j, j)))
            found = b.let("div", TYPE, t.at(b, (k, j)), both)
            t.store(b, (k, j), found)
            _subtract(b, t, found, t, (j, k), k)
    return t


def _by_schur(block: Block, node: Node, forms: list[Form], of: OfTriangle) -> Sequence[Form]:
    """A function of matrices, by that of the triangles of their Schur forms."""
    b, a = block.b, block.stored(forms[0])
    target = block.room(node.outputs[0])
    n = a.shape[-1]
    if is_none(n):
        return [target]
    schur, found, back = Schur(block, n, a.type not in COMPLEX, Unsolved(b)), of(block, n), Back(block, n, n)
    with loops_over(b, a.shape[:-2]) as index:
        schur.find(matrix_at(b, a, index))
        schur.note_principal()
        back.store(matrix_at(b, target, index), schur.vectors, found(schur.t), schur.vectors, is_triangle=True)
    schur.routine.unsolved.leave(block, node, [a], [target])
    return [target]


def _sqrtm(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    return _by_schur(block, node, forms, lambda block, _: functools.partial(_root_of_triangle, block.b))


# -- logarithms -------------------------------------------------------------------------------------------------------


class _Logarithm:
    """The logarithm of a triangle by roots, until it is near 1, and a sum of quotients (Gauss's rule for an integral).

    N. J. Higham, Functions of Matrices, SIAM 2008, algorithm 11.9. Both diagonals have formulas of their own, which
    lose no digits: that of the roots less 1, too.
    """

    def __init__(self, block: Block, n: Operand) -> None:
        self.b, self.n = block.b, n
        self.logs, self.values, self.beside = (scratch(block, TYPE, n) for _ in range(3))
        self.quotient, self.total = _columns(block, n, n), _columns(block, n, n)

    def of(self, t: Stored) -> Stored:
        """The logarithm; t is written over."""
        b, n = self.b, self.n
        self._note_diagonals(t)
        halvings = self._roots(t)
        back = b.var("f64", 1.0)
        with b.loop(0, b.get(halvings)):
            b.set(back, b.let("mul", "f64", b.get(back), 2.0))
        over = b.let("div", "f64", 1.0, b.get(back))
        with b.loop(0, n) as i:
            moved = COMPLEX_SCALARS["expm1"](b, TYPE, (), scaled(b, TYPE, self.logs.at(b, (i,)), over))
            t.store(b, (i, i), moved)
        fill_matrix(b, self.total, lambda index: ZERO)
        for node, weight in zip(*_rule(), strict=True):
            self._add_quotient(t, node, weight)
        with b.loop(0, n) as i:
            with b.loop(b.add(i, 2), n) as j:
                self.total.store(b, (i, j), scaled(b, TYPE, self.total.at(b, (i, j)), b.get(back)))
            self.total.store(b, (i, i), self.logs.at(b, (i,)))
        with b.loop(0, b.sub(n, 1)) as i:
            self.total.store(b, (i, b.add(i, 1)), self._beside_diagonal(i))
        return self.total

    def _note_diagonals(self, t: Stored) -> None:
        b, n = self.b, self.n
        with b.loop(0, n) as i:
            value = t.at(b, (i, i))
            self.values.store(b, (i,), value)
            self.logs.store(b, (i,), COMPLEX_SCALARS["log"](b, TYPE, (), value))
        with b.loop(0, b.sub(n, 1)) as i:
            self.beside.store(b, (i,), t.at(b, (i, b.add(i, 1))))

    def _roots(self, t: Stored) -> Any:
        """Takes roots of t until it is near 1; how many."""
        b = self.b
        count = b.var("i64", 0)

        def is_far() -> Operand:
            is_more = b.let("lt", "i64", b.get(count), MOST_ROOTS)
            return b.both(b.let("gt", "f64", self._distance(t), NEAR), is_more)

        def root() -> None:
            b.poll(1)
            _root_of_triangle(b, t)
            b.set(count, b.add(b.get(count), 1))

        b.repeat(is_far, root)
        return count

    def _distance(self, t: Stored) -> Operand:
        """The 1-norm of t - 1, of which complex numbers count by both parts."""
        b, most = self.b, self.b.var("f64", 0.0)
        with b.loop(0, self.n) as j:
            total = b.var("f64", 0.0)
            with b.loop(0, b.add(j, 1)) as i:
                one = b.select("f64", b.let("eq", "i64", i, j), 1.0, 0.0)
                away = b.let("sub", TYPE, t.at(b, (i, j)), cast(Any, Pair(one, 0.0)))
                b.set(total, b.let("add", "f64", b.get(total), _size(b, away)))
            b.set(most, b.select("f64", b.let("gt", "f64", b.get(total), b.get(most)), b.get(total), b.get(most)))
        return b.get(most)

    def _add_quotient(self, x: Stored, node: float, weight: float) -> None:
        """Adds weight (1 + node x)^-1 x."""
        b, y = self.b, self.quotient
        with b.loop(0, self.n) as j:
            with b.loop(0, b.add(j, 1)) as i:
                y.store(b, (i, j), x.at(b, (i, j)))
            with b.loop(0, b.add(j, 1)) as step:
                k = b.sub(j, step)
                below = b.let("add", TYPE, ONE, scaled(b, TYPE, x.at(b, (k, k)), node))
                found = b.let("div", TYPE, y.at(b, (k, j)), below)
                y.store(b, (k, j), found)
                _subtract(b, y, scaled(b, TYPE, found, node), x, (j, k), k)
            _subtract(b, self.total, cast(Any, Pair(-weight, 0.0)), y, (j, j), b.add(j, 1))

    def _beside_diagonal(self, i: Operand) -> Operand:
        """t[i, i+1] times (log y - log x) / (y - x) of two eigenvalues: of near ones by the logarithm of y / x."""
        b, next_ = self.b, self.b.add(i, 1)
        x, y = self.values.at(b, (i,)), self.values.at(b, (next_,))
        apart = b.let("sub", TYPE, y, x)
        ratio = b.let("div", TYPE, apart, x)
        is_same = b.let("eq", TYPE, apart, ZERO)
        is_near = b.let("lt", "f64", _size(b, ratio), 0.5)
        near = _log1p(b, b.select(TYPE, is_near, ratio, ZERO))
        far = b.let("sub", TYPE, self.logs.at(b, (next_,)), self.logs.at(b, (i,)))
        # which is that of a turn less or more where the negative axis lies between them
        turns = b.let("div", "f64", b.let("sub", "f64", pair_of(far).im, near.im), 2 * math.pi)
        near = Pair(near.re, b.let("fma", "f64", b.let("rint", "f64", turns), 2 * math.pi, near.im))
        change = b.select(TYPE, is_near, cast(Any, near), far)
        slope = b.let("div", TYPE, change, b.select(TYPE, is_same, ONE, apart))
        slope = b.select(TYPE, is_same, b.let("div", TYPE, ONE, x), slope)
        return b.let("mul", TYPE, self.beside.at(b, (i,)), slope)


def _log1p(b: Builder, z: Operand) -> Pair:
    """log(1 + z) of a z not far out: its size from |1 + z|^2 - 1, whose terms are exact enough."""
    parts = pair_of(z)
    beyond = b.let("fma", "f64", parts.re, b.let("add", "f64", parts.re, 2.0), b.let("mul", "f64", parts.im, parts.im))
    size = b.let("mul", "f64", b.let("log1p", "f64", beyond), 0.5)
    return Pair(size, b.let("atan2", "f64", parts.im, b.let("add", "f64", parts.re, 1.0)))


@functools.cache
def _rule() -> tuple[list[float], list[float]]:
    """Gauss's nodes and weights for integrals from 0 to 1: log(1 + x) is the integral of x / (1 + s x)."""
    nodes, weights = np.polynomial.legendre.leggauss(QUOTIENTS)
    return ((nodes + 1) / 2).tolist(), (weights / 2).tolist()


def _logm(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    return _by_schur(block, node, forms, lambda block, n: _Logarithm(block, n).of)


# -- Sylvester's equation ---------------------------------------------------------------------------------------------


def _sylvester(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    """a x + x b = c: with U* a U = R and V* b V = S, it is R y + y S = U* c V for y = U* x V."""
    b, (a, other, c) = block.b, map(block.stored, forms)
    target = block.room(node.outputs[0])
    n, m = c.shape[-2:]
    if is_none(n, m):
        return [target]
    unsolved = Unsolved(b)
    left, right = (Schur(block, size, a.type not in COMPLEX, unsolved) for size in (n, m))
    y, turned, back = _columns(block, n, m), _columns(block, n, n), Back(block, n, m)
    with loops_over(b, a.shape[:-2]) as index:
        source = matrix_at(b, c, index)
        unsolved.note(is_wild(b, source))
        left.find(matrix_at(b, a, index))
        right.find(matrix_at(b, other, index))
        fill_matrix(b, y, lambda at, source=source: b.convert(TYPE, source.type, source.at(b, at)))
        _product(b, back.beside, y, lambda at: right.vectors.at(b, at))
        fill_matrix(b, turned, lambda at: _conj(b, left.vectors.at(b, (at[1], at[0]))))
        _product(b, y, turned, lambda at: back.beside.at(b, at))
        _solve_triangles(b, left.t, right.t, y, unsolved)
        back.store(matrix_at(b, target, index), left.vectors, y, right.vectors)
    unsolved.leave(block, node, [a, other, c], [target])
    return [target]


def _solve_triangles(b: Builder, r: Stored, s: Stored, y: Stored, unsolved: Unsolved) -> None:
    """y becomes the solution of r y + y s = y: from the lowest row of the first column on."""
    n, m = y.shape
    least = _least_sum(b, r, s)
    with b.loop(0, m) as j:
        with b.loop(0, j) as k:
            _subtract(b, y, s.at(b, (k, j)), y, (j, k), n)
        with b.loop(0, n) as step:
            k = b.sub(b.sub(n, 1), step)
            both = b.let("add", TYPE, r.at(b, (k, k)), s.at(b, (j, j)))
            is_nothing = b.let("le", "f64", _size(b, both), least)
            unsolved.note(is_nothing)
            found = b.let("div", TYPE, y.at(b, (k, j)), b.select(TYPE, is_nothing, ONE, both))
            y.store(b, (k, j), found)
            _subtract(b, y, found, r, (j, k), k)


def _least_sum(b: Builder, r: Stored, s: Stored) -> Operand:
    """The least sum of two eigenvalues that is not as good as 0; LAPACK's own is smaller."""
    most = b.var("f64", 1e-290)
    for t in (r, s):
        with b.loop(0, t.shape[0]) as i, b.loop(i, t.shape[0]) as j:
            size = _size(b, t.at(b, (i, j)))
            b.set(most, b.select("f64", b.let("gt", "f64", size, b.get(most)), size, b.get(most)))
    return b.let("mul", "f64", b.get(most), 4e-16)


LOWERED = singles({"sqrtm": _sqrtm, "logm": _logm, "sylvester": _sylvester}, of_complex=True)
