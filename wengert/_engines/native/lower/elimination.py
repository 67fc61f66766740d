"""Linear systems of few unknowns: Gauss's elimination with the largest pivots, as LAPACK does it, without its calls.

`system` makes room for one matrix of a batch with right-hand sides beside it: `Written` in registers, up to
`WRITTEN_OUT` unknowns, where rows change places by selections, so that the systems of a batch can be vector code, or
`Looped` in an array on the stack. A pivot that is zero makes the matrix singular: `bad` says so, the column stays as it
is, as LAPACK has it, and solutions are of no use. A system that holds an infinity or NaN is `wild`: which elements of
the result are NaN depends on the order of the steps, so NumPy's kernel has to say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ..ir.builder import Builder
from ..ir.complex_numbers import Pair, pair_of
from ..ir.loops import COMPLEX, ITEM, Operand
from .forms import Index, Stored, count_of, strides_of
from .standalone import is_alone

WRITTEN_OUT = 6  # unknowns, and right-hand sides, of a system in registers
LITTLE = 32  # unknowns up to which this is faster than a call of LAPACK
LOCAL = 2048  # numbers of a system on the stack
LANES = 8  # columns that are combined at once, a vector of the widest kind: half of it of fewer than `LONG` unknowns
LONG = 13
FEW_SIDES = 2  # right-hand sides that are solved for one by one

Value = Callable[[Operand, Operand], Operand]
Keep = Callable[[Operand, Operand, Operand], None]


def is_little(n: Operand, k: Operand) -> bool:
    """Whether systems of n unknowns and k right-hand sides are for this file."""
    return type(n) is int and type(k) is int and 0 < n <= LITTLE and n * (n + k) <= LOCAL


def size_of(b: Builder, type_: str, x: Operand) -> Operand:
    """By what pivots are chosen, of the type of `ITEM`: the absolute value; of complex numbers that of both parts."""
    if type_ not in COMPLEX:
        return b.let("abs", type_, x)
    parts, real = pair_of(x), ITEM[type_]
    return b.let("add", real, b.let("abs", real, parts.re), b.let("abs", real, parts.im))


def system(b: Builder, type_: str, n: int, k: int) -> Written | Looped:
    """Room for a system of n unknowns and k right-hand sides; asked for before the loop over a batch."""
    return Written(b, type_, n, k) if max(n, k) <= WRITTEN_OUT else Looped(b, type_, n, k)


class Written:
    """A system in registers.

    Attributes:
        sign: -1.0 if rows changed places an odd number of times, else 1.0.
        bad: whether the matrix is singular.
        wild: whether an element is not finite.
    """

    def __init__(self, b: Builder, type_: str, n: int, k: int) -> None:
        self.b, self.type, self.n, self.k = b, type_, n, k
        self.rows: list[list[Operand]] = []
        self.sign: Operand = 1.0
        self.bad: Operand = False
        self.wild: Operand = False

    def take(self, matrix: Value, right: Value) -> None:
        """Sets the elements, and eliminates."""
        b, t, n = self.b, self.type, self.n
        self.rows = [[*[matrix(i, j) for j in range(n)], *[right(i, c) for c in range(self.k)]] for i in range(n)]
        self.sign, self.bad = 1.0, False
        nothing: Operand = 0.0
        for x in (x for row in self.rows for x in row):
            nothing = b.let("add", t, nothing, b.let("sub", t, x, x))
        self.wild = b.negated(b.let("eq", t, nothing, 0.0))
        for step in range(n):
            for i in range(step + 1, n):
                self._exchange(step, i)
            pivot = self.rows[step]
            is_none = b.let("eq", t, pivot[step], 0.0)
            self.bad = b.either(self.bad, is_none)
            divisor = b.select(t, is_none, 1.0, pivot[step])
            for i in range(step + 1, n):
                row = self.rows[i]
                factor = b.select(t, is_none, 0.0, b.let("neg", t, b.let("div", t, row[step], divisor)))
                self.rows[i] = [
                    x if j <= step else b.let("fma", t, factor, p, x)
                    for j, (x, p) in enumerate(zip(row, pivot, strict=True))
                ]

    def _exchange(self, step: int, i: int) -> None:
        """The row with the larger element goes first."""
        b, t, x, y = self.b, self.type, self.rows[step], self.rows[i]
        is_larger = b.let("gt", ITEM[t], size_of(b, t, y[step]), size_of(b, t, x[step]))
        self.rows[step] = [b.select(t, is_larger, q, p) for p, q in zip(x, y, strict=True)]
        self.rows[i] = [b.select(t, is_larger, p, q) for p, q in zip(x, y, strict=True)]
        self.sign = b.select(t, is_larger, b.let("neg", t, self.sign), self.sign)

    def pivots(self, look: Callable[[Operand], None]) -> None:
        """Calls `look` for each pivot."""
        for i in range(self.n):
            look(self.rows[i][i])

    def solve(self, keep: Keep) -> None:
        """Calls `keep(i, c, x)` for the elements of the solutions."""
        b, t, n = self.b, self.type, self.n
        for c in range(self.k):
            found: dict[int, Operand] = {}
            for i in range(n - 1, -1, -1):
                rest = self.rows[i][n + c]
                for p in range(n - 1, i, -1):
                    rest = b.let("fma", t, b.let("neg", t, self.rows[i][p]), found[p], rest)
                found[i] = b.let("div", t, rest, self.rows[i][i])
                keep(i, c, found[i])


class Looped:
    """A system in an array on the stack; attributes as those of `Written`.

    Rows are combined from the last column on that a whole vector begins at. What stands there in columns before the
    pivot's is not read any more, unless factors are kept; right-hand sides begin at such a column.

    Attributes:
        chosen: where factors are kept, with which row each one changed places. They stand below the diagonal.
    """

    def __init__(self, b: Builder, type_: str, n: int, k: int, keeps: bool = False) -> None:
        """`keeps`: the factors by which rows went into others."""
        self.b, self.type, self.n, self.k = b, type_, n, k
        self.chosen = b.local("i32", n) if keeps else None
        self.lanes = LANES if n >= LONG else LANES // 2
        self.right = self._whole(n)  # the column in which right-hand sides begin
        self.width = self.right + self._whole(k)
        self.rows = Planes.local(b, type_, n, self.width)
        self.line = Planes.local(b, type_, 1, self.width)  # the row that goes into others
        self.sign: Operand = 1.0
        self.bad: Operand = False
        self.wild: Operand = False

    @contextmanager
    def _columns(self, start: Operand) -> Iterator[Operand]:
        """`with self._columns(start) as j:` what is emitted runs for columns from `start`, or a few before it."""
        b = self.b
        with b.loop(b.divided(start, self.lanes), self.width // self.lanes) as block:
            if is_alone():
                with b.loop(0, self.lanes) as lane:
                    yield b.add(b.mul(block, self.lanes), lane)
            else:
                with b.lanes(self.lanes) as made:
                    yield b.add(b.mul(block, self.lanes), made.index)

    def _whole(self, count: int) -> int:
        """So many columns, or a few more that fill vectors."""
        return -(-count // self.lanes) * self.lanes

    def take(self, matrix: Value, right: Value) -> None:
        b, n, t, rows = self.b, self.n, self.type, self.rows
        self._copy(matrix, right)
        sign, bad = b.var(t, 1.0), b.var("bool", False)
        largest = _Largest(b, t)
        with b.loop(0, n) as i:
            largest.look(i, rows.at(i, 0))
        with b.loop(0, n) as step:
            chosen = largest.taken()
            is_other = b.let("ne", "i64", chosen, step)
            b.set(sign, b.select(t, is_other, b.let("neg", t, b.get(sign)), b.get(sign)))
            self._exchange(step, chosen)
            pivot = rows.at(step, step)
            is_none = b.let("eq", t, pivot, 0.0)
            b.set(bad, b.either(b.get(bad), is_none))
            divisor = b.select(t, is_none, 1.0, pivot)
            behind = b.add(step, 1)
            following = b.select("i64", b.let("lt", "i64", behind, n), behind, step)
            with b.loop(behind, n) as i:
                factor = b.select(t, is_none, 0.0, b.let("div", t, rows.at(i, step), divisor))
                self._subtract(i, factor, behind)
                if self.chosen is not None:
                    rows.store((i, step), factor)
                largest.look(i, rows.at(i, following))
        self.sign, self.bad = b.get(sign), b.get(bad)

    def _exchange(self, step: Operand, chosen: Operand) -> None:
        """Two rows change places; the one that goes into others is the line."""
        b, t, rows = self.b, self.type, self.rows
        if self.chosen is not None:
            b.store(self.chosen, step, b.convert("i32", "i64", chosen))
        with self._columns(step if self.chosen is None else 0) as j:
            mine, other = rows.at(step, j), rows.at(chosen, j)
            rows.store((chosen, j), mine)
            rows.store((step, j), other)
            if self.chosen is not None:  # factors stay as they are
                other = b.select(t, b.let("gt", "i64", j, step), other, 0.0)
            self.line.store((0, j), other)

    def _copy(self, matrix: Value, right: Value) -> None:
        """Copies the elements; the columns that fill vectors up are zeros."""
        b, rows = self.b, self.rows
        with b.loop(0, self.n) as i:
            with b.loop(0, self.n) as j:
                rows.store((i, j), matrix(i, j))
            with b.loop(0, self.k) as c:
                rows.store((i, b.add(c, self.right)), right(i, c))
            for start, stop in ((self.n, self.right), (self.right + self.k, self.width)):
                with b.loop(start, stop) as j:
                    rows.store((i, j), 0.0)
        self.wild = self._is_wild()

    def _is_wild(self) -> Operand:
        """Whether an element is not finite: looked for in the copy, which has no gaps."""
        b, t, numbers = self.b, self.type, self.rows.as_one_row()
        nothing = b.var(t, 0.0)
        with b.loop(0, self.n * self.width) as place:
            x = numbers.at(place)
            b.set(nothing, b.let("sum", t, b.get(nothing), b.let("sub", t, x, x)))
        return b.negated(b.let("eq", t, b.get(nothing), 0.0))

    def _subtract(self, i: Operand, factor: Operand, start: Operand) -> None:
        """Row i less a multiple of the line, from a column on."""
        b, t, rows = self.b, self.type, self.rows
        less = b.let("neg", t, factor)
        with self._columns(start) as j:
            rows.store((i, j), b.let("fma", t, less, self.line.at(0, j), rows.at(i, j)))

    def pivots(self, look: Callable[[Operand], None]) -> None:
        with self.b.loop(0, self.n) as i:
            look(self.rows.at(i, i))

    def solve(self, keep: Keep) -> None:
        b, n, rows = self.b, self.n, self.rows
        with b.loop(0, n) as step:
            i = b.sub(n - 1, step)
            pivot = rows.at(i, i)
            if self.k <= FEW_SIDES:
                for c in range(self.k):
                    self._solve_side(i, c, pivot, keep)
            else:
                self._solve_sides(i, pivot, keep)

    def _solve_side(self, i: Operand, c: int, pivot: Operand, keep: Keep) -> None:
        """An unknown of one right-hand side, in a register: a vector would be read right after it was stored there."""
        b, t, rows, column = self.b, self.type, self.rows, self.right + c
        found = b.let("div", t, rows.at(i, column), pivot)
        keep(i, c, found)
        with b.loop(0, i) as p:
            less = b.let("neg", t, rows.at(p, i))
            rows.store((p, column), b.let("fma", t, less, found, rows.at(p, column)))

    def _solve_sides(self, i: Operand, pivot: Operand, keep: Keep) -> None:
        b, rows = self.b, self.rows
        with b.loop(0, self.k) as c:
            found = b.let("div", self.type, rows.at(i, b.add(c, self.right)), pivot)
            self.line.store((0, b.add(c, self.right)), found)
            keep(i, c, found)
        with b.loop(0, i) as p:
            self._subtract(p, rows.at(p, i), self.right)


class Planes(NamedTuple):
    """Rows of numbers; of complex ones the parts lie apart, so that what goes over a row is vector code."""

    b: Builder
    parts: tuple[Stored, ...]

    @staticmethod
    def local(b: Builder, type_: str, *shape: int) -> Planes:
        """On the stack."""
        count = math.prod(shape)
        return Planes._of(b, type_, lambda item: Stored(shape, b.local(item, count), 0, strides_of(b, shape), True))

    @staticmethod
    def on_heap(b: Builder, type_: str, *shape: Operand) -> Planes:
        """In memory that is used in each iteration of a batch; asked for before the loop."""
        count = count_of(b, shape)
        return Planes._of(b, type_, lambda item: Stored(shape, b.alloc(item, count), 0, strides_of(b, shape), True))

    @staticmethod
    def _of(b: Builder, type_: str, room: Callable[[str], Stored]) -> Planes:
        return Planes(b, (*[room(ITEM[type_]) for _ in range(1 + (type_ in COMPLEX))],))

    def as_one_row(self) -> Planes:
        """All numbers, row after row."""
        return Planes(
            self.b,
            (*[Stored((count_of(self.b, x.shape),), x.array, x.offset, (1,), True) for x in self.parts],),
        )

    def at(self, *index: Operand) -> Any:
        found = [part.at(self.b, index) for part in self.parts]
        return found[0] if len(found) == 1 else Pair(*found)

    def store(self, index: Index, x: Operand) -> None:
        values = (x,) if len(self.parts) == 1 else (pair_of(x).re, pair_of(x).im)
        for part, value in zip(self.parts, values, strict=True):
            part.store(self.b, index, value)


class _Largest:
    """The first of some rows with the largest element, of one column after the other."""

    def __init__(self, b: Builder, type_: str) -> None:
        self.b, self.type = b, type_
        self.most, self.row = b.var(ITEM[type_], -1.0), b.var("i64", 0)

    def look(self, i: Operand, x: Operand) -> None:
        """A row's element."""
        b, t = self.b, ITEM[self.type]
        size = size_of(b, self.type, x)
        is_larger = b.let("gt", t, size, b.get(self.most))
        b.set(self.row, b.select("i64", is_larger, i, b.get(self.row)))
        b.set(self.most, b.select(t, is_larger, size, b.get(self.most)))

    def taken(self) -> Operand:
        """The row; from now on it is about the next column."""
        found = self.b.get(self.row)
        self.b.set(self.most, -1.0)
        return found
