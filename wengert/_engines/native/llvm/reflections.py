"""Matrices of few rows made bidiagonal or tridiagonal by reflections, as vector code that compiled code calls by name.

They do what LAPACK's `gebrd` and `sytrd` (`hetrd`) do, with its signs, and leave what those leave: both diagonals,
the reflections in the matrix and their factors. LAPACK goes through what is left of the matrix four times for each
column: it is multiplied, and changed, for the reflection of a column and for that of a row. Here one pass changes it
for the two before and multiplies it with the next, one more multiplies it with the row's. T is f64 or c128; the
matrix lies by columns, `step` numbers from one to the next; `room` has as many doubles as `room_for` says.

- `reflections.bidiagonal.T(m, n, a, step, d, e, left, right, room)`: of m >= n rows.
- `reflections.tridiagonal.T(n, a, step, d, e, factors, room)`: of a Hermitian matrix, whose lower triangle is read.

Numbers are worked on in planes, of the real parts and of the imaginary ones: a vector of complex numbers is two. Where
a reflection has no numbers in some rows, the vector has zeros there, so that all begin at whole vectors.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

from .jit import written
from .vector_text import Text
from .vectors import most_lanes

TYPES = {"f64": 1, "c128": 2}  # how many planes there are
COLUMNS = {"f64": 4, "c128": 2}  # that a pass goes through together
LINES = 6  # of the room, beside the matrix: two pairs of vectors by which it is to be changed, a new one, numbers
SMALL = 1e-280  # sums of squares below which they may have lost digits
RISE = 2.0**500  # by which such numbers are then multiplied

Number = tuple[str, ...]  # by planes


def room_for(type_: str, m: int, n: int) -> int:
    """How many doubles the functions work in."""
    unit = _unit(type_)
    rows, columns = (-(-k // unit) * unit for k in (m, n))
    return TYPES[type_] * (rows * columns + LINES * max(rows, columns))


def address(name: str) -> int:
    """The address of the function `reflections.NAME`, for compiled code; 0 where there is none."""
    kind, _, type_ = name.partition(".")
    makers = {"bidiagonal": bidiagonal_text, "tridiagonal": tridiagonal_text}
    return written(makers[kind], "reduced", type_).address if kind in makers and type_ in TYPES else 0


def _unit(type_: str) -> int:
    """What extents are rounded up to."""
    return max(most_lanes("f64"), COLUMNS[type_])


class _Form(NamedTuple):
    lanes: int


class _Code(Text[_Form]):
    """Lines of one function; `whole` is what vectors of integers are called."""

    def __init__(self, type_: str) -> None:
        super().__init__(_Form(most_lanes("f64")), "f64")
        self.type, self.planes, self.columns = type_, range(TYPES[type_]), COLUMNS[type_]
        self.lanes = self.form.lanes
        self.whole = f"<{self.lanes} x i64>"

    # -- numbers --------------------------------------------------------------------------------------------------

    def negated(self, x: str) -> str:
        return self.let(f"fneg {self.t.vec} {x}")

    def joined(self, total: Number, x: Number, y: Number, turned: tuple[bool, bool] = (False, False)) -> Number:
        """A total and the product of two numbers, each its conjugate where `turned`."""
        if len(total) == 1:
            return (self.fma(x[0], y[0], total[0]),)
        less_x, less_y = turned
        both = self.fma(x[0], y[0], total[0]), self.fma(x[0], self.negated(y[1]) if less_y else y[1], total[1])
        xi = self.negated(x[1]) if less_x else x[1]
        yi = y[1] if less_y else self.negated(y[1])
        return self.fma(xi, yi, both[0]), self.fma(xi, y[0], both[1])

    def product(self, x: Number, y: Number, turned: tuple[bool, bool] = (False, False)) -> Number:
        return self.joined(self.nothing(), x, y, turned)

    def nothing(self) -> Number:
        return tuple("zeroinitializer" for _ in self.planes)

    def conjugate(self, x: Number) -> Number:
        return (x[0], *map(self.negated, x[1:]))

    def minus(self, x: Number) -> Number:
        return (*map(self.negated, x),)

    # -- numbers of arrays, whose planes are so many doubles apart ------------------------------------------------

    def take(self, base: str, index: str, apart: str) -> Number:
        """A vector from an element on."""
        return tuple(self.load(base, self._in_plane(index, apart, p)) for p in self.planes)

    def put(self, x: Number, base: str, index: str, apart: str) -> None:
        for p in self.planes:
            self.store(x[p], base, self._in_plane(index, apart, p))

    def spread(self, base: str, index: str, apart: str) -> Number:
        """One element in all lanes."""
        return tuple(self.splat(base, self._in_plane(index, apart, p)) for p in self.planes)

    def one(self, base: str, index: str, apart: str) -> Number:
        """One element, by its planes."""
        places = [self.at(base, self._in_plane(index, apart, p)) for p in self.planes]
        return tuple(self.let(f"load double, ptr {place}") for place in places)

    def put_one(self, x: Number, base: str, index: str, apart: str) -> None:
        for p in self.planes:
            self.lines.append(f"  store double {x[p]}, ptr {self.at(base, self._in_plane(index, apart, p))}")

    def _in_plane(self, index: str, apart: str, p: int) -> str:
        return self.plus(index, apart) if p else index

    def all_lanes(self, x: Number) -> Number:
        """One number in all lanes."""
        found: list[str] = []
        for part in x:
            name = self.name()
            self.lines += self.t.splat(name, part)
            found.append(name)
        return (*found,)

    def summed(self, x: str) -> str:
        """Of a vector's lanes."""
        call = (
            f"call reassoc double @llvm.vector.reduce.fadd.{self.t.short}(double 0x8000000000000000, {self.t.vec} {x})"
        )
        return self.let(call)

    def put_sums(self, totals: list[str], base: str, index: str) -> None:
        """Of the lanes of some vectors, side by side."""
        each, width = 1, self.lanes
        while len(totals) > 1 and each < width:
            pairs = zip(totals[::2], totals[1::2], strict=True)
            first = [i for start in range(0, width, 2 * each) for i in range(start, start + each)]
            lanes = [[*first], [i + each for i in first]]
            mixed = [
                [
                    lane + beside
                    for k in range(0, len(first), each)
                    for beside in (0, width)
                    for lane in half[k : k + each]
                ]
                for half in lanes
            ]
            totals = [self.op("fadd", self.shuffle(x, y, mixed[0]), self.shuffle(x, y, mixed[1])) for x, y in pairs]
            each *= 2
        while width > each:
            totals = [self._halved(x, width) for x in totals]
            width //= 2
        for k, x in enumerate(totals):
            place = self.at(base, self.plus(index, k * width))
            self.lines.append(f"  store {_vector(width)} {x}, ptr {place}, align 8")

    def _halved(self, x: str, width: int) -> str:
        """The sum of a vector's halves."""
        kind, half = _vector(width), width // 2
        parts: list[str] = []
        for start in (0, half):
            mask = ", ".join(f"i32 {i}" for i in range(start, start + half))
            parts.append(self.let(f"shufflevector {kind} {x}, {kind} {x}, <{half} x i32> <{mask}>"))
        return self.let(f"fadd {_vector(half)} {parts[0]}, {parts[1]}")

    # -- control --------------------------------------------------------------------------------------------------

    def when(self, condition: str, body: Callable[[], None]) -> None:
        self.count += 1
        mark = self.count
        self.lines += [f"  br i1 {condition}, label %then{mark}, label %end{mark}", f"then{mark}:"]
        body()
        self.label(f"end{mark}")

    def behind(self, index: str, bound: str) -> str:
        """Which lanes of a vector that begins at an index are behind a bound."""
        steps = ", ".join(f"i64 {i}" for i in range(self.lanes))
        first, last = (self._whole_lanes(x) for x in (index, bound))
        return self.let(f"icmp sgt {self.whole} {self.let(f'add {self.whole} {first}, <{steps}>')}, {last}")

    def below(self, index: str, bound: str) -> str:
        """Which lanes of such a vector are before a bound."""
        steps = ", ".join(f"i64 {i}" for i in range(self.lanes))
        first, last = (self._whole_lanes(x) for x in (index, bound))
        return self.let(f"icmp slt {self.whole} {self.let(f'add {self.whole} {first}, <{steps}>')}, {last}")

    def _whole_lanes(self, x: str) -> str:
        one = self.let(f"insertelement {self.whole} poison, i64 {x}, i64 0")
        return self.let(f"shufflevector {self.whole} {one}, {self.whole} poison, <{self.lanes} x i32> zeroinitializer")

    def conjugate_one(self, x: Number) -> Number:
        return (x[0], *[self.let(f"fneg double {part}") for part in x[1:]])

    def chosen(self, mask: str, x: Number, y: Number) -> Number:
        return tuple(
            self.let(f"select {self.t.mask} {mask}, {self.t.vec} {a}, {self.t.vec} {b}")
            for a, b in zip(x, y, strict=True)
        )

    def rounded(self, x: str, unit: int) -> str:
        """The multiple of a unit, a power of two, that is not above a number."""
        return self.let(f"and i64 {x}, {-unit}")


def _vector(width: int) -> str:
    return f"<{width} x double>"


class _Reduction:
    """What both have in common: the room, and the passes over the matrix.

    The matrix in the room, `%work`, has `%rows` numbers in each plane of a column, of which are `%columns`. It is to be
    changed by less than it is: by %v times %y, and %x times the conjugate of %w. %u is a reflection.
    """

    def __init__(self, type_: str, head: str, n: str) -> None:
        """`head`: the parameters, `n`: which is the number of columns."""
        self.code = _Code(type_)
        self.n, self.unit = n, _unit(type_)
        self.head = head
        self.planes = len(self.code.planes)

    def begin(self, m: str) -> None:
        code = self.code
        for name, extent in (("rows", m), ("columns", self.n)):
            code.lines += [f"  %{name}.up = add i64 {extent}, {self.unit - 1}"]
            code.lines += [f"  %{name} = and i64 %{name}.up, {-self.unit}"]
        code.lines += [
            "  %is.tall = icmp sgt i64 %rows, %columns",
            "  %line = select i1 %is.tall, i64 %rows, i64 %columns",
            f"  %row.vectors = udiv i64 %rows, {code.lanes}",
            f"  %line.all = mul i64 %line, {self.planes}",
            f"  %column.all = mul i64 %rows, {self.planes}",
            "  %matrix.all = mul i64 %column.all, %columns",
            "  %v = getelementptr double, ptr %room, i64 %matrix.all",
            *[
                f"  %{name} = getelementptr double, ptr %{before}, i64 %line.all"
                for before, name in zip("vxuyw", [*"xuyw", "found"], strict=True)
            ],
        ]  # fmt: skip
        total = code.let(f"mul i64 %line.all, {LINES - 1}")
        code.loop(total, lambda i: code.store("zeroinitializer", "%v", i), step=code.lanes)
        self._copy_in(m)

    def _copy_in(self, m: str) -> None:
        """Zeros behind the last row and the last column."""
        code = self.code

        def column(j: str) -> None:
            source, line = code.times(code.times(j, "%step"), self.planes), code.times(j, "%column.all")

            def rows(i: str) -> None:
                here = code.at("%a", code.plus(source, code.times(i, self.planes)))
                place = code.plus(line, i)
                code.put(self._masked_in(here, i, m), "%room", place, "%rows")

            code.loop("%rows", rows, step=code.lanes)

        def nothing(j: str) -> None:
            line = code.times(j, "%column.all")
            code.loop(
                "%column.all", lambda i: code.store("zeroinitializer", "%room", code.plus(line, i)), step=code.lanes
            )

        code.loop(self.n, column)
        code.loop("%columns", nothing, first=self.n)

    def _masked_in(self, here: str, i: str, m: str) -> Number:
        code = self.code
        lanes = code.lanes
        if self.planes == 1:
            found = code.name()
            code.lines.append(code.t.load(found, here, code.below(i, m)))
            return (found,)
        bound, halves = code.times(m, 2), list[str]()
        for k in range(2):
            found, first = code.name(), code.plus(code.times(i, 2), k * lanes)
            code.lines.append(code.t.load(found, code.at(here, str(k * lanes)), code.below(first, bound)))
            halves.append(found)
        return tuple(code.shuffle(halves[0], halves[1], [*range(p, 2 * lanes, 2)]) for p in range(2))

    def copy_out(self, m: str) -> None:
        code = self.code
        lanes = code.lanes

        def column(j: str) -> None:
            target, line = code.times(code.times(j, "%step"), self.planes), code.times(j, "%column.all")

            def rows(i: str) -> None:
                here = code.at("%a", code.plus(target, code.times(i, self.planes)))
                x = code.take("%room", code.plus(line, i), "%rows")
                if self.planes == 1:
                    code.lines.append(code.t.store(x[0], here, code.below(i, m)))
                    return
                bound = code.times(m, 2)
                for k in range(2):
                    mixed = [
                        place for i in range(lanes // 2) for place in (i + k * lanes // 2, lanes + i + k * lanes // 2)
                    ]
                    mask = code.below(code.plus(code.times(i, 2), k * lanes), bound)
                    code.lines.append(
                        code.t.store(code.shuffle(x[0], x[1], mixed), code.at(here, str(k * lanes)), mask)
                    )

            code.loop("%rows", rows, step=lanes)

        code.loop(self.n, column)

    def column_at(self, j: str) -> str:
        """Where a column begins."""
        return self.code.at("%room", self.code.times(j, "%column.all"))

    def changed(self, a: Number, i: str, factors: tuple[Number, Number]) -> Number:
        """Numbers of a column from row i on, by what stands in its place of %y and %w."""
        code = self.code
        a = code.joined(a, code.minus(code.take("%v", i, "%line")), factors[0])
        return code.joined(a, code.minus(code.take("%x", i, "%line")), factors[1], (False, True))

    def take_column(self, i: str, first: str, bound: str) -> None:
        """Changes column i, and sets %u to its numbers behind a row."""
        code, here = self.code, self.column_at(i)
        factors = code.spread("%y", i, "%line"), code.spread("%w", i, "%line")

        def rows(k: str) -> None:
            a = self.changed(code.take(here, k, "%rows"), k, factors)
            code.put(a, here, k, "%rows")
            code.put(code.chosen(code.behind(k, bound), a, code.nothing()), "%u", k, "%line")

        code.loop("%rows", rows, first=first, step=code.lanes)

    def keep_column(self, i: str, first: str, bound: str) -> None:
        """The reflection %u, behind its first number, becomes part of column i, which is not to be changed any more."""
        code, here = self.code, self.column_at(i)
        for name in ("%y", "%w"):
            code.put_one(("0.0",) * self.planes, name, i, "%line")

        def rows(k: str) -> None:
            mask = code.behind(k, bound)
            code.put(code.chosen(mask, code.take("%u", k, "%line"), code.take(here, k, "%rows")), here, k, "%rows")

        code.loop("%rows", rows, first=first, step=code.lanes)

    def reflect(self, x: str, first: str, size: str) -> tuple[str, Number]:
        """A vector from a number on becomes a reflection of it; what becomes of the number, and the factor."""
        code = self.code
        code.lines.append(f"  call void @reflect(ptr {x}, i64 {first}, i64 {size}, i64 %line, ptr %found)")
        return code.one("%found", "0", "0")[0], code.one("%found", "1", "1")

    def pass_over(self, first_column: str, first_row: str) -> None:
        """Changes what is left of the matrix; %y becomes %u times it: the sums of conjugates of u times each column."""
        code = self.code

        def group(j: str) -> None:
            columns = [self.column_at(code.plus(j, k)) for k in range(code.columns)]
            factors = [
                tuple(code.spread(x, code.plus(j, k), "%line") for x in ("%y", "%w")) for k in range(code.columns)
            ]

            def rows(i: str, totals: list[str]) -> list[str]:
                k, found = code.times(i, code.lanes), list[str]()
                v, x, u = (code.take(name, k, "%line") for name in ("%v", "%x", "%u"))
                v, x = code.minus(v), code.minus(x)
                for c, here in enumerate(columns):
                    a = code.joined(code.take(here, k, "%rows"), v, factors[c][0])
                    a = code.joined(a, x, factors[c][1], (False, True))
                    code.put(a, here, k, "%rows")
                    total = (*totals[c * self.planes : (c + 1) * self.planes],)
                    found += code.joined(total, u, a, (True, False))
                return found

            starts = [(code.t.vec, "zeroinitializer")] * (code.columns * self.planes)
            totals = code.fold("%row.vectors", starts, rows, first=self._vectors(first_row))
            for p in code.planes:
                code.put_sums(totals[p :: self.planes], "%y", code.plus(j, "%line") if p else j)

        code.loop("%columns", group, first=code.rounded(first_column, code.columns), step=code.columns)

    def _vectors(self, x: str) -> str:
        return self.code.let(f"udiv i64 {x}, {self.code.lanes}")

    def stored_factor(self, x: Number, base: str, index: str) -> None:
        place = self.code.times(index, self.planes)
        self.code.put_one(x, base, place, "1")

    def text(self) -> str:
        code = self.code
        most = f"declare double @llvm.vector.reduce.fmax.{code.t.short}({code.t.vec})"
        return "\n".join([
            _reflect_text(code.type), _scaled_text(code.type),
            f"define void @reduced({self.head}) #0 {{", "entry:", *code.lines, "  ret void", "}",
            *code.t.declarations(), "declare double @llvm.sqrt.f64(double)",
            "declare double @llvm.copysign.f64(double, double)", most,
            f"declare {code.t.vec} @llvm.fabs.{code.t.short}({code.t.vec})",
            "attributes #0 = { nounwind noinline }", "",
        ])  # fmt: skip


def bidiagonal_text(type_: str) -> str:
    """The module of `reflections.bidiagonal.T`, under the name `reduced`."""
    head = "i64 %m, i64 %n, ptr %a, i64 %step, ptr %d, ptr %e, ptr %left, ptr %right, ptr %room"
    made = _Reduction(type_, head, "%n")
    made.begin("%m")
    code = made.code

    def step(i: str) -> None:
        row, ahead = code.rounded(i, code.lanes), code.plus(i, 1)
        made.take_column(i, row, code.let(f"sub i64 {i}, 1"))
        beta, factor = made.reflect("%u", i, "%rows")
        code.lines.append(f"  store double {beta}, ptr {code.at('%d', i)}")
        made.stored_factor(factor, "%left", i)
        made.keep_column(i, row, i)
        is_last = code.let(f"icmp eq i64 {ahead}, %n")
        code.when(is_last, lambda: made.stored_factor(("0.0",) * made.planes, "%right", i))
        code.when(code.let(f"xor i1 {is_last}, true"), lambda: _row_of(made, i, ahead, row, factor))

    code.loop("%n", step)
    made.copy_out("%m")
    return made.text()


def _row_of(made: _Reduction, i: str, ahead: str, row: str, factor: Number) -> None:
    """The reflection of a row, and by what the matrix is to be changed."""
    code = made.code
    made.pass_over(ahead, row)
    group = code.rounded(ahead, made.unit)
    code.loop(ahead, lambda j: code.put_one(("0.0",) * made.planes, "%y", j, "%line"), first=group)
    factors = code.all_lanes(factor)

    def take_row(j: str) -> None:
        code.put_one(code.conjugate_one(code.one(made.column_at(j), i, "%rows")), "%w", j, "%line")

    code.loop("%n", take_row, first=ahead)
    first = code.rounded(ahead, code.lanes)

    def finish_row(k: str) -> None:
        y = code.product(factors, code.take("%y", k, "%line"), (True, False))
        code.put(y, "%y", k, "%line")
        w = code.take("%w", k, "%line")
        w = tuple(code.op("fsub", a, b) for a, b in zip(w, code.conjugate(y), strict=True))
        code.put(w, "%w", k, "%line")

    code.loop("%columns", finish_row, first=first, step=code.lanes)
    beta, right = made.reflect("%w", ahead, "%columns")
    code.lines.append(f"  store double {beta}, ptr {code.at('%e', i)}")
    made.stored_factor(right, "%right", i)
    code.loop(
        "%n", lambda j: code.put_one(code.conjugate_one(code.one("%w", j, "%line")), made.column_at(j), i, "%rows"),
        first=code.plus(ahead, 1),
    )  # fmt: skip
    both = code.fold(
        made._vectors("%columns"), [(code.t.vec, "zeroinitializer")] * made.planes,
        lambda k, total: _dotted(code, k, total), first=made._vectors(first),
    )  # fmt: skip
    share = code.minus(code.all_lanes(tuple(map(code.summed, both))))
    code.loop("%rows", lambda k: code.put(code.nothing(), "%x", k, "%line"), first=row, step=code.lanes)

    def multiply(j: str) -> None:
        columns = [made.column_at(code.plus(j, k)) for k in range(code.columns)]
        ws = [code.spread("%w", code.plus(j, k), "%line") for k in range(code.columns)]

        def rows(k: str) -> None:
            x = code.take("%x", k, "%line")
            for w, here in zip(ws, columns, strict=True):
                x = code.joined(x, code.take(here, k, "%rows"), w)
            code.put(x, "%x", k, "%line")

        code.loop("%rows", rows, first=row, step=code.lanes)

    code.loop("%columns", multiply, first=code.rounded(ahead, code.columns), step=code.columns)
    rights = code.all_lanes(right)

    def finish(k: str) -> None:
        mask = code.behind(k, i)
        u = code.take("%u", k, "%line")
        x = code.product(rights, code.joined(code.take("%x", k, "%line"), u, share))
        code.put(code.chosen(mask, x, code.nothing()), "%x", k, "%line")
        code.put(code.chosen(mask, u, code.nothing()), "%v", k, "%line")

    code.loop("%rows", finish, first=row, step=code.lanes)


def _dotted(code: _Code, k: str, total: list[str]) -> list[str]:
    """Of %y and %w."""
    place = code.times(k, code.lanes)
    return [*code.joined((*total,), code.take("%y", place, "%line"), code.take("%w", place, "%line"))]


def tridiagonal_text(type_: str) -> str:
    """The module of `reflections.tridiagonal.T`, under the name `reduced`."""
    head = "i64 %n, ptr %a, i64 %step, ptr %d, ptr %e, ptr %factors, ptr %room"
    made = _Reduction(type_, head, "%n")
    made.begin("%n")
    code = made.code
    code.loop("%n", lambda j: _mirror(made, j))

    def step(i: str) -> None:
        row, ahead = code.rounded(i, code.lanes), code.plus(i, 1)
        made.take_column(i, row, i)
        diagonal = code.one(made.column_at(i), i, "%rows")[0]
        code.lines.append(f"  store double {diagonal}, ptr {code.at('%d', i)}")
        code.when(code.let(f"icmp slt i64 {ahead}, %n"), lambda: _both_sides(made, i, ahead, row))

    code.loop("%n", step)
    made.copy_out("%n")
    return made.text()


def _mirror(made: _Reduction, j: str) -> None:
    """Of column j what is above the diagonal, from what is below it."""
    code, line = made.code, made.column_at(j)
    code.loop(j, lambda i: code.put_one(code.conjugate_one(code.one(made.column_at(i), j, "%rows")), line, i, "%rows"))
    code.put_one((code.one(line, j, "%rows")[0], *["0.0"] * (made.planes - 1)), line, j, "%rows")


def _both_sides(made: _Reduction, i: str, ahead: str, row: str) -> None:
    """The reflection of a column, which stands on both sides of the matrix, and by what that is to be changed."""
    code = made.code
    beta, factor = made.reflect("%u", ahead, "%rows")
    code.lines.append(f"  store double {beta}, ptr {code.at('%e', i)}")
    made.stored_factor(factor, "%factors", i)
    made.keep_column(i, row, ahead)
    made.pass_over(ahead, ahead)
    factors = code.all_lanes(factor)
    first = code.rounded(ahead, made.unit)

    def multiply(k: str, total: list[str]) -> list[str]:
        place = code.times(k, code.lanes)
        x = code.product(factors, code.take("%y", place, "%line"), (False, True))
        x = code.chosen(code.behind(place, i), x, code.nothing())
        code.put(x, "%x", place, "%line")
        return [*code.joined((*total,), x, code.take("%u", place, "%line"), (True, False))]

    starts = [(code.t.vec, "zeroinitializer")] * made.planes
    total = code.fold("%row.vectors", starts, multiply, first=made._vectors(first))
    half = tuple(code.op("fmul", x, code.number(-0.5)) for x in factors)
    share = code.product(half, code.all_lanes(tuple(map(code.summed, total))))

    def finish(k: str) -> None:
        u = code.take("%u", k, "%line")
        w = code.joined(code.take("%x", k, "%line"), share, u)
        for x, name in ((u, "%v"), (w, "%x"), (code.conjugate(w), "%y"), (u, "%w")):
            code.put(x, name, k, "%line")

    code.loop("%rows", finish, first=first, step=code.lanes)


# -- one reflection ---------------------------------------------------------------------------------------------------

_REFLECTED = "ptr %x, i64 %first, i64 %size, i64 %line, ptr %found"


def _reflect_text(type_: str) -> str:
    """`reflect`: %x from a number on becomes the reflection that leaves this number alone, 1 in its place; %found gets
    what becomes of the number, which is real, and the factor: LAPACK's `larfg`. Before the number there are zeros."""
    code = _Code(type_)
    planes = len(code.planes)
    start = code.rounded("%first", code.lanes)
    alpha = code.one("%x", "%first", "%line")
    code.put_one(("0.0",) * planes, "%x", "%first", "%line")
    squares = _squares(code, start)
    for k, value in enumerate(("1.0", "1.0", squares, *alpha)):
        code.lines.append(f"  store double {value}, ptr {code.at('%found', k)}")
    is_small = code.let(f"fcmp olt double {squares}, {_hex(SMALL)}")
    code.when(
        is_small, lambda: code.lines.append("  call void @scale(ptr %x, i64 %first, i64 %size, i64 %line, ptr %found)")
    )
    rise, some, squares, *alpha = [
        code.let(f"load double, ptr {code.at('%found', k)}") for k in range(3 + planes)
    ]  # fmt: skip
    is_none = code.let(f"fcmp oeq double {some}, 0.0")
    for part in alpha[1:]:
        is_none = code.let(f"and i1 {is_none}, {code.let(f'fcmp oeq double {part}, 0.0')}")
    total = squares
    for part in alpha:
        total = code.let(f"fadd double {total}, {code.let(f'fmul double {part}, {part}')}")
    length = code.let(f"call double @llvm.sqrt.f64(double {total})")
    beta = code.let(f"fneg double {code.let(f'call double @llvm.copysign.f64(double {length}, double {alpha[0]})')}")
    over = code.let(f"select i1 {is_none}, double 1.0, double {beta}")
    apart = code.let(f"fsub double {beta}, {alpha[0]}")
    factor = [apart, *[code.let(f"fneg double {part}") for part in alpha[1:]]]
    factor = [code.let(f"fdiv double {part}, {over}") for part in factor]
    # 1 / (alpha - beta)
    near, square = [code.let(f"fneg double {apart}"), *[code.let(f"fneg double {x}") for x in alpha[1:]]], ""
    for part in near:
        term = code.let(f"fmul double {part}, {part}")
        square = code.let(f"fadd double {square}, {term}") if square else term
    square = code.let(f"select i1 {is_none}, double 1.0, double {square}")
    inverse = [code.let(f"fdiv double {part}, {square}") for part in near]
    factor, inverse = (
        [code.let(f"select i1 {is_none}, double 0.0, double {part}") for part in parts] for parts in (factor, inverse)
    )
    beta = code.let(f"select i1 {is_none}, double {alpha[0]}, double {beta}")
    beta = code.let(f"fdiv double {beta}, {rise}")
    for k, value in enumerate((beta, *factor)):
        code.lines.append(f"  store double {value}, ptr {code.at('%found', k)}")
    inverses = code.all_lanes((*inverse,))
    code.loop(
        "%size", lambda k: code.put(code.product(code.take("%x", k, "%line"), inverses), "%x", k, "%line"),
        first=start, step=code.lanes,
    )  # fmt: skip
    code.put_one(("1.0", *["0.0"] * (planes - 1)), "%x", "%first", "%line")
    return "\n".join([f"define internal void @reflect({_REFLECTED}) #0 {{", "entry:", *code.lines, "  ret void", "}"])


def _scaled_text(type_: str) -> str:
    """`scale`, where a sum of squares is next to nothing: whether the numbers are nothing, or by what they are then
    multiplied; those that are less than that become nothing."""
    code = _Code(type_)
    planes = len(code.planes)
    start = code.rounded("%first", code.lanes)
    before, *alpha = [code.let(f"load double, ptr {code.at('%found', k)}") for k in range(2, 3 + planes)]

    def larger(k: str, most: list[str]) -> list[str]:
        found = most[0]
        for x in code.take("%x", code.times(k, code.lanes), "%line"):
            size = code.let(f"call {code.t.vec} @llvm.fabs.{code.t.short}({code.t.vec} {x})")
            is_larger = code.let(f"fcmp ogt {code.t.vec} {size}, {found}")
            found = code.let(f"select {code.t.mask} {is_larger}, {code.t.vec} {size}, {code.t.vec} {found}")
        return [found]

    first, last = (code.let(f"udiv i64 {x}, {code.lanes}") for x in (start, "%size"))
    most = code.fold(last, [(code.t.vec, "zeroinitializer")], larger, first=first)[0]
    most = code.let(f"call double @llvm.vector.reduce.fmax.{code.t.short}({code.t.vec} {most})")
    some = code.let(f"uitofp i1 {code.let(f'fcmp ogt double {most}, 0.0')} to double")
    code.lines.append(f"  store double {some}, ptr {code.at('%found', 1)}")

    def is_small(total: str, parts: list[str]) -> str:
        for part in parts:
            total = code.let(f"fadd double {total}, {code.let(f'fmul double {part}, {part}')}")
        return code.let(f"fcmp olt double {total}, {_hex(SMALL)}")

    def rise() -> None:
        by = code.all_lanes((_hex(RISE),))[0]

        def rows(k: str) -> None:
            x = code.take("%x", k, "%line")
            code.put(tuple(code.op("fmul", part, by) for part in x), "%x", k, "%line")

        code.loop("%size", rows, first=start, step=code.lanes)
        squares, parts = _squares(code, start), [code.let(f"fmul double {part}, {_hex(RISE)}") for part in alpha]
        is_nothing = is_small(squares, parts)
        still = code.let(f"select i1 {is_nothing}, double 0.0, double {some}")
        rest = [code.let(f"select i1 {is_nothing}, double 0.0, double {part}") for part in parts[1:]]
        for k, value in enumerate((_hex(RISE), still, squares, parts[0], *rest)):
            code.lines.append(f"  store double {value}, ptr {code.at('%found', k)}")

    code.when(is_small(before, alpha), rise)
    return "\n".join([f"define internal void @scale({_REFLECTED}) #0 {{", "entry:", *code.lines, "  ret void", "}"])


def _squares(code: _Code, start: str) -> str:
    """The sum of the squares of a vector's numbers."""

    def add(k: str, total: list[str]) -> list[str]:
        found = total[0]
        for x in code.take("%x", code.times(k, code.lanes), "%line"):
            found = code.fma(x, x, found)
        return [found]

    first, last = (code.let(f"udiv i64 {x}, {code.lanes}") for x in (start, "%size"))
    return code.summed(code.fold(last, [(code.t.vec, "zeroinitializer")], add, first=first)[0])


def _hex(x: float) -> str:
    """A double as LLVM reads it without rounding."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"
