"""Linear systems of few unknowns: Gauss's elimination with the largest pivots, as LAPACK does it, without its calls.

`system` makes room for one matrix of a batch with right-hand sides beside it: `Written` in registers, up to
`WRITTEN_OUT` unknowns, where rows change places by selections, so that the systems of a batch can be vector code, or
`Looped` in an array on the stack. A pivot that is zero makes the matrix singular: `bad` says so, the column stays as it
is, as LAPACK has it, and solutions are of no use. A system that holds an infinity or NaN is `wild`: which elements of
the result are NaN depends on the order of the steps, so NumPy's kernel has to say.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir.builder import Builder
from ..ir.complex_numbers import pair_of
from ..ir.loops import COMPLEX, ITEM, Array, Operand

WRITTEN_OUT = 6  # unknowns, and right-hand sides, of a system in registers
LITTLE = 32  # unknowns up to which this is faster than a call of LAPACK
LOCAL = 2048  # numbers of a system on the stack

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
    """A system in an array on the stack; attributes as those of `Written`."""

    def __init__(self, b: Builder, type_: str, n: int, k: int) -> None:
        self.b, self.type, self.n, self.k = b, type_, n, k
        self.width = n + k
        self.array: Array = b.local(type_, n * self.width)
        self.sign: Operand = 1.0
        self.bad: Operand = False
        self.wild: Operand = False

    def at(self, i: Operand, j: Operand) -> Operand:
        return self.b.load(self.array, self._place(i, j))

    def put(self, i: Operand, j: Operand, value: Operand) -> None:
        self.b.store(self.array, self._place(i, j), value)

    def _place(self, i: Operand, j: Operand) -> Operand:
        return self.b.add(self.b.mul(i, self.width), j)

    def take(self, matrix: Value, right: Value) -> None:
        b, n = self.b, self.n
        nothing = b.var(self.type, 0.0)

        def keep(i: Operand, j: Operand, x: Operand) -> None:
            self.put(i, j, x)
            b.set(nothing, b.let("add", self.type, b.get(nothing), b.let("sub", self.type, x, x)))

        with b.loop(0, n) as i:
            with b.loop(0, n) as j:
                keep(i, j, matrix(i, j))
            with b.loop(0, self.k) as c:
                keep(i, b.add(c, n), right(i, c))
        self.wild = b.negated(b.let("eq", self.type, b.get(nothing), 0.0))
        sign, bad = b.var(self.type, 1.0), b.var("bool", False)
        with b.loop(0, n) as step:
            chosen = self._chosen(step)
            is_other = b.let("ne", "i64", chosen, step)
            turned = b.let("neg", self.type, b.get(sign))
            b.set(sign, b.select(self.type, is_other, turned, b.get(sign)))
            with b.loop(step, self.width) as j:
                mine, other = self.at(step, j), self.at(chosen, j)
                self.put(chosen, j, mine)
                self.put(step, j, other)
            pivot = self.at(step, step)
            is_none = b.let("eq", self.type, pivot, 0.0)
            b.set(bad, b.either(b.get(bad), is_none))
            divisor = b.select(self.type, is_none, 1.0, pivot)
            with b.loop(b.add(step, 1), n) as i:
                factor = b.select(self.type, is_none, 0.0, b.let("div", self.type, self.at(i, step), divisor))
                self._subtract(i, step, factor, b.add(step, 1))
        self.sign, self.bad = b.get(sign), b.get(bad)

    def _chosen(self, step: Operand) -> Operand:
        """The first of the rows from a step on with the largest element."""
        b, t = self.b, ITEM[self.type]
        most, chosen = b.var(t, size_of(b, self.type, self.at(step, step))), b.var("i64", step)
        with b.loop(b.add(step, 1), self.n) as i:
            size = size_of(b, self.type, self.at(i, step))
            is_larger = b.let("gt", t, size, b.get(most))
            b.set(chosen, b.select("i64", is_larger, i, b.get(chosen)))
            b.set(most, b.select(t, is_larger, size, b.get(most)))
        return b.get(chosen)

    def _subtract(self, i: Operand, other: Operand, factor: Operand, start: Operand) -> None:
        """Row i less a multiple of another one, from a column on."""
        b, t = self.b, self.type
        less = b.let("neg", t, factor)
        with b.loop(start, self.width) as j:
            self.put(i, j, b.let("fma", t, less, self.at(other, j), self.at(i, j)))

    def pivots(self, look: Callable[[Operand], None]) -> None:
        with self.b.loop(0, self.n) as i:
            look(self.at(i, i))

    def solve(self, keep: Keep) -> None:
        b, n = self.b, self.n
        with b.loop(0, n) as step:
            i = b.sub(n - 1, step)
            with b.loop(b.add(i, 1), n) as p:
                self._subtract(i, p, self.at(i, p), n)
            pivot = self.at(i, i)
            with b.loop(0, self.k) as c:
                found = b.let("div", self.type, self.at(i, b.add(c, n)), pivot)
                self.put(i, b.add(c, n), found)
                keep(i, c, found)
