"""Eigenvalues and vectors of small symmetric tridiagonal matrices, as a function that compiled code calls.

It does what LAPACK's `stedc` does before it joins parts of a matrix, and with each part what `steqr` does, operation
for operation. Vectors are turned while the next rotation is being computed, where `steqr` computes those of a sweep
first: that takes a third of the time. The function is compiled once, for all programs (`run/rotations.py`).
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import NamedTuple

from ..ir.accesses import unchecked
from ..ir.builder import Builder
from ..ir.loops import Array, Function, Operand, Status, Var
from .forms import Stored

LEAF = 25  # rows up to which LAPACK divides no matrix
LANES = 8  # numbers of a vector that are turned at a time
SWEEPS = 30  # for each row, after which LAPACK gives up
EPS, LEAST = sys.float_info.epsilon / 2, sys.float_info.min  # LAPACK's: of rounding
SCALES = 1e-120, 1e150  # sizes of a part for which LAPACK does not scale it
SQUARES = LEAST**0.5, (1 / LEAST / 2) ** 0.5  # between these, squares and their sums are numbers as others


def leaves_function(name: str) -> Function:
    """`bounds, d, e, vectors, order, rows, room; n, count, width`: the parts of a matrix from one bound to the next.

    The first of several parts are what is left where the matrix is scaled to a largest element of 1, and what stands
    between them is taken from it. d becomes the values of each part, from the least on, e's last element, which stands
    beside nothing, the scale, `vectors` the vectors of all, `order` what `laed1` asks for: which value of a part is
    the first, counted from 1. `rows` are as many as the largest part has, of `width` numbers, a multiple of `LANES`,
    `room` 2 n numbers. A status other than 0 says that the matrix is one for LAPACK: d and e are as they were given.
    Parts have two rows or more.
    """
    b = Builder()
    with unchecked():
        bounds = b.array("i64", "in")
        d, e, vectors, order, rows, room = arrays = [b.array("i32" if k == 3 else "f64", "out") for k in range(6)]
        n, count, width = sizes = [b.reg("i64") for _ in range(3)]
        b.copy(room, 0, d, 0, n)
        b.copy(room, n, e, 0, n)
        is_odd = b.var("bool", False)
        b.store(e, b.sub(n, 1), 1.0)
        with b.when(b.let("gt", "i64", count, 1)):
            _divide(b, bounds, (d, e), (n, count), is_odd)
        b.fill(vectors, 0, b.mul(n, n))
        with b.loop(0, count) as k:
            first = b.load(bounds, k)
            size = b.sub(b.load(bounds, b.add(k, 1)), first)
            leaf = Stored((size,), d, first, (1,), True), Stored((size,), e, first, (1,), True)
            _solve_leaf(b, leaf, Stored((size, width), rows, 0, (width, 1), True), is_odd)
            with b.loop(0, size) as i:
                row = b.add(first, i)
                b.store(order, row, b.convert("i32", "i64", b.add(i, 1)))
                b.copy(vectors, b.add(b.mul(row, n), first), rows, b.mul(i, width), size)
        with b.when(b.get(is_odd)):
            b.copy(d, 0, room, 0, n)
            b.copy(e, 0, room, n, n)
            b.store(e, b.sub(n, 1), 1.0)
            b.leave(Status.REFUSED)
    return b.function(name, [bounds], [*arrays], sizes)


def _divide(
    b: Builder, bounds: Array, matrix: tuple[Array, Array], extents: tuple[Operand, Operand], is_odd: Var
) -> None:  # fmt: skip
    n, count = extents
    d, e = (Stored((n,), x, 0, (1,), True) for x in matrix)
    let = functools.partial(let_double, b)
    most = b.var("f64", 0.0)
    with b.loop(0, n) as i:
        grow(b, most, size_at(b, d, i))
    with b.loop(0, b.sub(n, 1)) as i:
        size = size_at(b, e, i)
        roots = [let("sqrt", size_at(b, d, k)) for k in (i, b.add(i, 1))]
        is_none = let("le", size, let("mul", let("mul", EPS, roots[0]), roots[1]))
        b.set(is_odd, b.either(b.get(is_odd), is_none))
        grow(b, most, size)
    e.store(b, (b.sub(n, 1),), b.get(most))
    down = let("div", 1.0, b.get(most))
    for x, length in ((d, n), (e, b.sub(n, 1))):
        with b.loop(0, length) as i:
            x.store(b, (i,), let("mul", x.at(b, (i,)), down))
    with b.loop(1, count) as k:
        first = b.load(bounds, k)
        before = b.sub(first, 1)
        between = size_at(b, e, before)
        for i in (before, first):
            d.store(b, (i,), let("sub", d.at(b, (i,)), between))


def _solve_leaf(b: Builder, matrix: tuple[Stored, Stored], rows: Stored, is_odd: Var) -> None:
    size, width = rows.shape
    with b.loop(0, size) as i, b.loop(0, width) as j:
        rows.store(b, (i, j), b.select("f64", b.let("eq", "i64", i, j), 1.0, 0.0))
    _Sweeps(b, *matrix, rows, is_odd).run()
    sort(b, matrix[0], rows, (0,), lambda x, y: b.let("lt", "f64", x, y))


def sort(
    b: Builder, d: Stored, rows: Stored, tables: tuple[Operand, ...], is_before: Callable[[Operand, Operand], Operand]
) -> None:
    """By the first of what is left, as LAPACK does: values, and the row of each in the tables that begin at some rows.

    `is_before`: whether one value comes before another one.
    """
    size = d.shape[0]
    with b.loop(0, b.sub(size, 1)) as i:
        best, place = b.var("f64", d.at(b, (i,))), b.var("i64", i)
        with b.loop(b.add(i, 1), size) as j:
            value = d.at(b, (j,))
            is_better = is_before(value, b.get(best))
            b.set(best, b.select("f64", is_better, value, b.get(best)))
            b.set(place, b.select("i64", is_better, j, b.get(place)))
        k = b.get(place)
        with b.when(b.let("ne", "i64", k, i)):
            d.store(b, (k,), d.at(b, (i,)))
            d.store(b, (i,), b.get(best))
            for table in tables:
                pair = b.add(i, table), b.add(k, table)
                with b.loop(0, rows.shape[1]) as j:
                    mine, its = (rows.at(b, (row, j)) for row in pair)
                    rows.store(b, (pair[0], j), its)
                    rows.store(b, (pair[1], j), mine)


class _Ways(NamedTuple):
    """In which direction values are looked for: 1 or -1, and at which place e stands between a row and the next one."""

    step: Operand
    beside: Operand


class _Sweeps:
    """QL and QR sweeps, which differ by the end at which they look for values."""

    def __init__(self, b: Builder, d: Stored, e: Stored, rows: Stored, is_odd: Var) -> None:
        self.b, self.d, self.e, self.rows, self.is_odd = b, d, e, rows, is_odd
        self.sweeps, self.limit = b.var("i64", 0), b.mul(rows.shape[0], SWEEPS)

    def run(self) -> None:
        """Part after part: one ends where what stands beside the diagonal is nothing."""
        b, behind = self.b, self.rows.shape[0]
        last = b.sub(behind, 1)
        start, end = b.var("i64", 0), b.var("i64", 0)

        def take_part() -> None:
            with b.when(b.let("gt", "i64", b.get(start), 0)):
                self.e.store(b, (b.sub(b.get(start), 1),), 0.0)
            low = b.get(start)
            b.set(end, low)
            b.repeat(goes_on, go_on)
            high = b.get(end)
            with b.when(b.let("lt", "i64", high, last)):
                self.e.store(b, (high,), 0.0)
            b.set(start, b.add(high, 1))
            with b.when(b.let("lt", "i64", low, high)):
                with b.when(self._is_moderate(low, high)) as found:
                    self._find(low, high)
                with b.inside(found.other):
                    b.set(self.is_odd, True)
                is_endless = b.let("ge", "i64", b.get(self.sweeps), self.limit)
                b.set(self.is_odd, b.either(b.get(self.is_odd), is_endless))

        def goes_on() -> Operand:
            inner = b.let("lt", "i64", b.get(end), last)
            return b.both(inner, self._goes_on(b.select("i64", inner, b.get(end), b.sub(last, 1))))

        def go_on() -> None:
            b.set(end, b.add(b.get(end), 1))

        b.repeat(lambda: b.let("lt", "i64", b.get(start), behind), take_part)

    def _goes_on(self, i: Operand) -> Operand:
        b = self.b
        roots = [b.let("sqrt", "f64", size_at(b, self.d, k)) for k in (i, b.add(i, 1))]
        least = b.let("mul", "f64", b.let("mul", "f64", roots[0], roots[1]), EPS)
        return b.let("gt", "f64", size_at(b, self.e, i), least)

    def _is_moderate(self, low: Operand, high: Operand) -> Operand:
        b, most = self.b, self.b.var("f64", 0.0)
        with b.loop(low, b.add(high, 1)) as i:
            grow(b, most, size_at(b, self.d, i))
        with b.loop(low, high) as i:
            grow(b, most, size_at(b, self.e, i))
        found = b.get(most)
        return b.both(b.let("gt", "f64", found, SCALES[0]), b.let("lt", "f64", found, SCALES[1]))

    def _find(self, low: Operand, high: Operand) -> None:
        """The values of a part, from the end on at which the diagonal is smaller."""
        b, d, e = self.b, self.d, self.e
        is_up = b.let("ge", "f64", size_at(b, d, high), size_at(b, d, low))
        ways = _Ways(b.select("i64", is_up, 1, -1), b.select("i64", is_up, 0, -1))
        place, last = b.var("i64", b.select("i64", is_up, low, high)), b.select("i64", is_up, high, low)
        end = b.var("i64", 0)

        def is_left() -> Operand:
            rest = b.mul(b.sub(last, b.get(place)), ways.step)
            return b.both(b.let("ge", "i64", rest, 0), b.let("lt", "i64", b.get(self.sweeps), self.limit))

        def find_one() -> None:
            row = b.get(place)
            b.set(end, row)
            b.repeat(goes_on, go_on)
            other = b.get(end)
            with b.when(b.let("ne", "i64", other, last)):
                e.store(b, (b.add(other, ways.beside),), 0.0)
            with b.when(b.let("eq", "i64", other, row)) as alone:
                b.set(place, b.add(row, ways.step))
            with b.inside(alone.other), b.when(b.let("eq", "i64", other, b.add(row, ways.step))) as pair:
                self._solve_pair(b.add(row, ways.beside))
                b.set(place, b.add(b.add(row, ways.step), ways.step))
            with b.inside(alone.other), b.inside(pair.other):
                b.set(self.sweeps, b.add(b.get(self.sweeps), 1))
                self._sweep(row, other, ways)

        def goes_on() -> Operand:
            """Whether what stands beside a row is more than nothing."""
            i = b.get(end)
            inner = b.let("ne", "i64", i, last)
            safe = b.select("i64", inner, i, row_before)
            size = size_at(b, e, b.add(safe, ways.beside))
            least = b.let("mul", "f64", b.let("mul", "f64", EPS * EPS, size_at(b, d, safe)),
                          size_at(b, d, b.add(safe, ways.step)))  # fmt: skip
            least = b.let("add", "f64", least, LEAST)
            return b.both(inner, b.let("gt", "f64", b.let("mul", "f64", size, size), least))

        def go_on() -> None:
            b.set(end, b.add(b.get(end), ways.step))

        row_before = b.sub(last, ways.step)  # which has one beside it
        b.repeat(is_left, find_one)

    def _sweep(self, row: Operand, other: Operand, ways: _Ways) -> None:
        b, d, e = self.b, self.d, self.e
        let = functools.partial(let_double, b)
        beside = e.at(b, (b.add(row, ways.beside),))
        start = d.at(b, (row,))
        g = let("div", let("sub", d.at(b, (b.add(row, ways.step),)), start), let("mul", 2.0, beside))
        r = let("copysign", _length_beside_one(b, g), g)
        g = let("add", let("sub", d.at(b, (other,)), start), let("div", beside, let("add", g, r)))
        g_now, s_now, c_now, p_now = (b.var("f64", x) for x in (g, 1.0, 1.0, 0.0))
        place = b.var("i64", other)

        def turn() -> None:
            here = b.get(place)
            ahead = b.sub(here, ways.step)
            at = b.add(ahead, ways.beside)
            element = e.at(b, (at,))
            f, share = let("mul", b.get(s_now), element), let("mul", b.get(c_now), element)
            c, s, r = rotation(b, b.get(g_now), f)
            with b.when(b.let("ne", "i64", here, other)):
                e.store(b, (b.add(at, ways.step),), r)
            g = let("sub", d.at(b, (here,)), b.get(p_now))
            r = let(
                "add", let("mul", let("sub", d.at(b, (ahead,)), g), s), let("mul", let("mul", 2.0, c), share)
            )  # fmt: skip
            p = let("mul", s, r)
            d.store(b, (here,), let("add", g, p))
            for var, value in ((p_now, p), (g_now, let("sub", let("mul", c, r), share)), (s_now, s), (c_now, c)):
                b.set(var, value)
            turn_rows(b, self.rows, here, ahead, c, s)
            b.set(place, ahead)

        b.repeat(lambda: b.let("ne", "i64", b.get(place), row), turn)
        d.store(b, (row,), let("sub", start, b.get(p_now)))
        e.store(b, (b.add(row, ways.beside),), b.get(g_now))

    def _solve_pair(self, low: Operand) -> None:
        """Two rows that are left: LAPACK's `laev2`."""
        b, d, e = self.b, self.d, self.e
        high = b.add(low, 1)
        large, small, c, s = _of_two(b, d.at(b, (low,)), e.at(b, (low,)), d.at(b, (high,)))
        turn_rows(b, self.rows, high, low, c, b.let("neg", "f64", s))
        d.store(b, (low,), large)
        d.store(b, (high,), small)
        e.store(b, (low,), 0.0)


def turn_rows(b: Builder, rows: Stored, here: Operand, ahead: Operand, c: Operand, s: Operand) -> None:
    """Turns two rows, whose numbers are a multiple of `LANES`, by a rotation."""
    let = functools.partial(let_double, b)
    with b.loop(0, b.divided(rows.shape[1], LANES)) as part, b.lanes(LANES) as made:
        column = b.add(b.mul(part, LANES), made.index)
        x, y = rows.at(b, (here, column)), rows.at(b, (ahead, column))
        rows.store(b, (here, column), let("add", let("mul", c, x), let("mul", s, y)))
        rows.store(b, (ahead, column), let("sub", let("mul", c, y), let("mul", s, x)))


def _of_two(b: Builder, x: Operand, y: Operand, z: Operand) -> tuple[Operand, Operand, Operand, Operand]:
    """The eigenvalues of [[x, y], [y, z]], that of larger size first, and the vector to it (cosine and sine)."""
    let = functools.partial(let_double, b)
    either = functools.partial(b.select, "f64")
    total, apart, twice = let("add", x, z), let("sub", x, z), let("add", y, y)
    width, off = let("abs", apart), let("abs", twice)
    is_first = let("gt", let("abs", x), let("abs", z))
    most, least = either(is_first, x, z), either(is_first, z, x)
    is_wide, is_narrow = let("gt", width, off), let("lt", width, off)
    share = let("div", either(is_wide, off, width), either(is_wide, width, either(is_narrow, off, 1.0)))
    root = let("sqrt", let("add", 1.0, let("mul", share, share)))
    root = let("mul", either(is_wide, width, off), either(b.either(is_wide, is_narrow), root, 2.0**0.5))
    is_less, is_zero = let("lt", total, 0.0), let("eq", total, 0.0)
    large = let("mul", 0.5, either(is_less, let("sub", total, root), let("add", total, root)))
    large = either(is_zero, let("mul", 0.5, root), large)
    over = either(let("eq", large, 0.0), 1.0, large)
    small = let("sub", let("mul", let("div", most, over), least), let("mul", let("div", y, over), y))
    small = either(is_zero, let("mul", -0.5, root), small)
    is_up = let("ge", apart, 0.0)
    cs = either(is_up, let("add", apart, root), let("sub", apart, root))
    is_steep, has_off = let("gt", let("abs", cs), off), let("ne", off, 0.0)
    t = let("div", let("neg", either(is_steep, twice, cs)), either(is_steep, cs, either(has_off, twice, 1.0)))
    inverse = let("div", 1.0, let("sqrt", let("add", 1.0, let("mul", t, t))))
    other = let("mul", t, inverse)
    c = either(is_steep, other, either(has_off, inverse, 1.0))
    s = either(is_steep, inverse, either(has_off, other, 0.0))
    is_same = b.let("eq", "bool", b.negated(is_less), is_up)
    return large, small, either(is_same, let("neg", s), c), either(is_same, c, s)


def rotation(b: Builder, f: Operand, g: Operand) -> tuple[Operand, Operand, Operand]:
    """Cosine and sine of the rotation that makes (r, 0) of (f, g), and r: LAPACK's `lartg`."""
    let = functools.partial(let_double, b)
    sizes = let("abs", f), let("abs", g)
    length = let("sqrt", let("add", let("mul", f, f), let("mul", g, g)))
    c_found, r_found = b.var("f64", let("div", sizes[0], length)), b.var("f64", let("copysign", length, f))
    s_found = b.var("f64", let("div", g, b.get(r_found)))
    is_usual: Operand = True
    for size in sizes:
        is_usual = b.both(is_usual, b.both(let("gt", size, SQUARES[0]), let("lt", size, SQUARES[1])))
    with b.when(b.negated(is_usual)):
        most = let("maximum", let("maximum", sizes[0], sizes[1]), LEAST)
        u = let("minimum", most, 1 / LEAST)
        scaled = let("div", f, u), let("div", g, u)
        length = let("sqrt", let("add", let("mul", scaled[0], scaled[0]), let("mul", scaled[1], scaled[1])))
        has_f, has_g = let("ne", f, 0.0), let("ne", g, 0.0)
        length = b.select("f64", has_f, length, 1.0)
        r = let("copysign", length, f)
        s = let("div", scaled[1], r)
        c = let("div", let("abs", scaled[0]), length)
        b.set(c_found, b.select("f64", has_g, b.select("f64", has_f, c, 0.0), 1.0))
        b.set(s_found, b.select("f64", has_g, b.select("f64", has_f, s, let("copysign", 1.0, g)), 0.0))
        b.set(r_found, b.select("f64", has_g, b.select("f64", has_f, let("mul", r, u), sizes[1]), f))
    return b.get(c_found), b.get(s_found), b.get(r_found)


def _length_beside_one(b: Builder, x: Operand) -> Operand:
    """The square root of x^2 + 1: LAPACK's `lapy2`."""
    let = functools.partial(let_double, b)
    size = let("abs", x)
    most, least = let("maximum", size, 1.0), let("minimum", size, 1.0)
    share = let("div", least, most)
    return let("mul", most, let("sqrt", let("add", 1.0, let("mul", share, share))))


def size_at(b: Builder, x: Stored, i: Operand) -> Operand:
    """The size of an element of a vector."""
    return b.let("abs", "f64", x.at(b, (i,)))


def grow(b: Builder, most: Var, x: Operand) -> None:
    """A variable becomes the larger of itself and a number."""
    b.set(most, b.let("maximum", "f64", b.get(most), x))


def let_double(b: Builder, op: str, *xs: Operand) -> Operand:
    return b.let(op, "f64", *xs)
