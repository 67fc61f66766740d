"""Singular values and vectors of small bidiagonal matrices, as a function that compiled code calls.

It does what LAPACK's `bdsdc` does before it joins parts of a matrix, and with each part what `lasdq` and `bdsqr` do,
operation for operation; vectors are turned as those of symmetric matrices are (`rotations.py`).
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from ..ir.accesses import unchecked
from ..ir.builder import Builder
from ..ir.loops import Array, Function, Operand, Status, Var
from .forms import Stored
from .rotations import EPS, LEAST, grow, let_double, rotation, size_at, sort, turn_rows

SWEEPS = 6  # times the rows squared: rotations after which LAPACK gives up
TOLERANCE = EPS**-0.125 * EPS  # share of what is beside it up to which an element off the diagonal is nothing
NOTHING = 0.9 * EPS  # of the largest element of a matrix that is divided


def leaves_function(name: str) -> Function:
    """`bounds, d, e, left, right, order, rows, room; n, count, width`: the parts of an upper bidiagonal matrix.

    Parts begin at the bounds; the last bound is n + 1. Between two parts is one row, which belongs to neither, so that
    every part but the last has a column more than rows. The elements of several parts are scaled to a largest one of 1.
    d becomes the values of each part, `left` and `right` the vectors of all (by columns, and by rows that lie as
    columns), `order` what `lasd1` asks for: which value of a part is the first from the least on, counted from 1. e's
    last element, which stands beside nothing, becomes the scale. `rows` are twice as many as the largest part has
    columns, of `width` numbers, a multiple of `LANES`, `room` 2 n numbers. A status other than 0 says that the matrix
    is one for LAPACK: d and e are as they were given.
    """
    b = Builder()
    with unchecked():
        bounds = b.array("i64", "in")
        d, e, left, right, order, rows, room = arrays = [b.array("i32" if k == 4 else "f64", "out") for k in range(7)]
        n, count, width = sizes = [b.reg("i64") for _ in range(3)]
        b.copy(room, 0, d, 0, n)
        b.copy(room, n, e, 0, n)
        is_odd = b.var("bool", False)
        b.store(e, b.sub(n, 1), 1.0)
        is_divided = b.let("gt", "i64", count, 1)
        with b.when(is_divided):
            _scale(b, (d, e), n, is_odd)
        for vectors in (left, right):
            b.fill(vectors, 0, b.mul(n, n))
        with b.loop(1, count) as k:
            b.store(left, b.mul(b.sub(b.load(bounds, k), 1), b.add(n, 1)), 1.0)
        with b.loop(0, count) as k:
            first = b.load(bounds, k)
            size = b.sub(b.sub(b.load(bounds, b.add(k, 1)), first), 1)
            columns = b.select("i64", b.let("lt", "i64", k, b.sub(count, 1)), b.add(size, 1), size)
            leaf = _Leaf(b, d, e, rows, (first, size, columns, width), is_odd)
            leaf.solve()
            leaf.sort(is_divided)
            with b.loop(0, size) as i:
                place = b.select("i64", is_divided, b.add(i, 1), b.sub(size, i))
                b.store(order, b.add(first, i), b.convert("i32", "i64", place))
                b.copy(left, b.add(b.mul(b.add(first, i), n), first), rows, b.mul(b.add(columns, i), width), size)
            with b.loop(0, columns) as j, b.loop(0, columns) as i:
                b.store(right, b.add(b.mul(b.add(first, j), n), b.add(first, i)), leaf.rows.at(b, (i, j)))
        with b.when(b.get(is_odd)):
            b.copy(d, 0, room, 0, n)
            b.copy(e, 0, room, n, n)
            b.leave(Status.REFUSED)
    return b.function(name, [bounds], [*arrays], sizes)


def _scale(b: Builder, matrix: tuple[Array, Array], n: Operand, is_odd: Var) -> None:
    """To a largest element of 1; one that is divided where something beside the diagonal is nothing is for LAPACK."""
    d, e = (Stored((n,), x, 0, (1,), True) for x in matrix)
    let = functools.partial(let_double, b)
    most = b.var("f64", 0.0)
    for x, length in ((d, n), (e, b.sub(n, 1))):
        with b.loop(0, length) as i:
            grow(b, most, size_at(b, x, i))
    is_none = let("eq", b.get(most), 0.0)
    b.set(is_odd, is_none)
    scale = b.select("f64", is_none, 1.0, b.get(most))
    down = let("div", 1.0, scale)
    with b.loop(0, n) as i:
        x = let("mul", d.at(b, (i,)), down)
        d.store(b, (i,), b.select("f64", let("lt", let("abs", x), NOTHING), let("copysign", NOTHING, x), x))
    with b.loop(0, b.sub(n, 1)) as i:
        x = let("mul", e.at(b, (i,)), down)
        e.store(b, (i,), x)
        b.set(is_odd, b.either(b.get(is_odd), let("lt", let("abs", x), NOTHING)))
    e.store(b, (b.sub(n, 1),), scale)


class _Ways(NamedTuple):
    """In which direction a bulge is chased, by 1 or -1; at which place e stands between a row and the next one; the
    row of the tables before the first of the vectors that its first and its second rotations turn."""

    step: Operand
    beside: Operand
    first: Operand
    second: Operand


class _Leaf:
    """One part: its rows of d and e; vectors on the right, by rows, and then those on the left, by columns."""

    def __init__(
        self, b: Builder, d: Array, e: Array, rows: Array, extents: tuple[Operand, ...], is_odd: Var
    ) -> None:  # fmt: skip
        """`extents`: the first row, how many rows and columns there are, and how many numbers a row of vectors has."""
        first, self.size, self.columns, width = extents
        self.b, self.is_odd = b, is_odd
        self.d, self.e = (Stored((self.size,), x, first, (1,), True) for x in (d, e))
        self.rows = Stored((b.add(self.size, self.columns), width), rows, 0, (width, 1), True)
        self._turned = b.var("i64", 0)
        self._limit = b.mul(b.mul(self.size, self.size), SWEEPS)
        self._before = b.var("i64", -1), b.var("i64", -1)  # the block that was worked on
        self._is_up = b.var("bool", True)

    def solve(self) -> None:
        b = self.b
        with b.loop(0, self.rows.shape[0]) as i, b.loop(0, self.rows.shape[1]) as j:
            column = b.select("i64", b.let("lt", "i64", i, self.columns), i, b.sub(i, self.columns))
            self.rows.store(b, (i, j), b.select("f64", b.let("eq", "i64", column, j), 1.0, 0.0))
        with b.when(b.let("gt", "i64", self.columns, self.size)):
            self._make_square(self.size, 0)  # which gives a lower bidiagonal matrix
            self._make_square(b.sub(self.size, 1), self.columns)
        self._find_values()
        self._make_positive()

    def _make_square(self, count: Operand, table: Operand) -> None:
        """Rotations of columns (or rows) that move what is beside the diagonal to its other side."""
        b, d, e = self.b, self.d, self.e
        last = b.sub(self.size, 1)
        with b.loop(0, count) as i:
            c, s, r = rotation(b, d.at(b, (i,)), e.at(b, (i,)))
            d.store(b, (i,), r)
            e.store(b, (i,), 0.0)
            with b.when(b.let("lt", "i64", i, last)):
                after = b.add(i, 1)
                ahead = d.at(b, (after,))
                e.store(b, (i,), b.let("mul", "f64", s, ahead))
                d.store(b, (after,), b.let("mul", "f64", c, ahead))
            here = b.add(table, i)
            turn_rows(b, self.rows, here, b.add(here, 1), c, s)

    def _find_values(self) -> None:
        """From the end on: a value is found where what is beside it is nothing."""
        b = self.b
        least = self._least()
        end, start = b.var("i64", self.size), b.var("i64", 0)
        most = b.var("f64", 0.0)

        def is_left() -> Operand:
            is_endless = b.let("gt", "i64", b.get(self._turned), self._limit)
            b.set(self.is_odd, b.either(b.get(self.is_odd), is_endless))
            return b.both(b.let("gt", "i64", b.get(end), 1), b.negated(is_endless))

        def goes_on() -> Operand:
            inner = b.let("gt", "i64", b.get(start), 0)
            place = b.select("i64", inner, b.sub(b.get(start), 1), 0)
            return b.both(inner, b.let("gt", "f64", size_at(b, self.e, place), least))

        def go_on() -> None:
            before = b.sub(b.get(start), 1)
            b.set(start, before)
            grow(b, most, size_at(b, self.d, before))
            grow(b, most, size_at(b, self.e, before))

        def find_one() -> None:
            high = b.sub(b.get(end), 1)
            b.set(start, high)
            b.set(most, size_at(b, self.d, high))
            b.repeat(goes_on, go_on)
            low = b.get(start)
            with b.when(b.let("gt", "i64", low, 0)):
                self.e.store(b, (b.sub(low, 1),), 0.0)
            with b.when(b.let("eq", "i64", low, high)) as alone:
                b.set(end, high)
            with b.inside(alone.other), b.when(b.let("eq", "i64", low, b.sub(high, 1))) as pair:
                self._solve_pair(low)
                b.set(end, low)
            with b.inside(alone.other), b.inside(pair.other):
                self._work_on(low, high, least, b.get(most))

        b.repeat(is_left, find_one)

    def _least(self) -> Operand:
        """The size up to which what is beside the diagonal is nothing."""
        b, d = self.b, self.d
        let = functools.partial(let_double, b)
        mu = b.var("f64", size_at(b, d, 0))
        least = b.var("f64", b.get(mu))
        with b.loop(1, self.size) as i:
            total = let("add", b.get(mu), size_at(b, self.e, b.sub(i, 1)))
            share = let("div", b.get(mu), b.select("f64", let("eq", total, 0.0), 1.0, total))
            b.set(mu, let("mul", size_at(b, d, i), share))
            b.set(least, let("minimum", b.get(least), b.get(mu)))
        size = b.convert("f64", "i64", self.size)
        found = let("mul", TOLERANCE, let("div", b.get(least), let("sqrt", size)))
        return let("maximum", found, let("mul", SWEEPS, let("mul", size, let("mul", size, LEAST))))

    def _work_on(self, low: Operand, high: Operand, least: Operand, most: Operand) -> None:
        """A block of three rows and more: splits it, or chases a bulge through it."""
        b, d, e = self.b, self.d, self.e
        is_new = b.either(
            b.let("gt", "i64", low, b.get(self._before[1])), b.let("lt", "i64", high, b.get(self._before[0]))
        )
        is_up = b.select(
            "bool", is_new, b.let("ge", "f64", size_at(b, d, low), size_at(b, d, high)), b.get(self._is_up)
        )
        b.set(self._is_up, is_up)
        tables = [b.select("i64", is_up, *pair) for pair in ((0, self.columns), (self.columns, 0))]
        ways = _Ways(b.select("i64", is_up, 1, -1), b.select("i64", is_up, 0, -1), *tables)
        first, last = b.select("i64", is_up, low, high), b.select("i64", is_up, high, low)
        least_value = b.var("f64", size_at(b, d, first))
        end = b.add(b.sub(last, ways.step), ways.beside)
        is_found = b.let("le", "f64", size_at(b, e, end), b.let("mul", "f64", TOLERANCE, size_at(b, d, last)))
        has_split = b.var("bool", is_found)
        with b.when(is_found) as found:
            e.store(b, (end,), 0.0)
        with b.inside(found.other):
            self._split(first, last, ways, least_value, has_split)
        with b.when(b.negated(b.get(has_split))):
            b.set(self._before[0], low)
            b.set(self._before[1], high)
            b.set(self._turned, b.add(b.get(self._turned), b.sub(high, low)))
            shift = self._shift(first, last, ways, b.get(least_value), most)
            with b.when(b.let("eq", "f64", shift, 0.0)) as zero:
                self._sweep_as_it_is(first, last, ways)
            with b.inside(zero.other):
                self._sweep(first, last, ways, shift)
            x = e.at(b, (end,))
            e.store(b, (end,), b.select("f64", b.let("le", "f64", b.let("abs", "f64", x), least), 0.0, x))

    def _split(self, first: Operand, last: Operand, ways: _Ways, least_value: Var, has_split: Var) -> None:
        """At the first place at which what is beside the diagonal is nothing to what is before it."""
        b, d, e = self.b, self.d, self.e
        let = functools.partial(let_double, b)
        place, mu = b.var("i64", first), b.var("f64", b.get(least_value))

        def step() -> None:
            i = b.get(place)
            at, ahead = b.add(i, ways.beside), b.add(i, ways.step)
            size = size_at(b, e, at)
            with b.when(let("le", size, let("mul", TOLERANCE, b.get(mu)))) as nothing:
                e.store(b, (at,), 0.0)
                b.set(has_split, True)
            with b.inside(nothing.other):
                share = let("div", b.get(mu), let("add", b.get(mu), size))
                b.set(mu, let("mul", size_at(b, d, ahead), share))
                b.set(least_value, let("minimum", b.get(least_value), b.get(mu)))
            b.set(place, ahead)

        b.repeat(lambda: b.both(b.let("ne", "i64", b.get(place), last), b.negated(b.get(has_split))), step)

    def _shift(self, first: Operand, last: Operand, ways: _Ways, least_value: Operand, most: Operand) -> Operand:
        """The smaller singular value of the last two rows; 0 where that is nothing, or would make others inexact."""
        b, d, e = self.b, self.d, self.e
        let = functools.partial(let_double, b)
        share = let("mul", let("mul", b.convert("f64", "i64", self.size), TOLERANCE), let("div", least_value, most))
        found = b.var("f64", 0.0)
        with b.when(let("gt", share, max(EPS, 0.01 * TOLERANCE))):
            before = b.sub(last, ways.step)
            shift = _least_of_two(
                b, size_at(b, d, before), size_at(b, e, b.add(before, ways.beside)), size_at(b, d, last)
            )
            start = size_at(b, d, first)
            is_some = let("gt", start, 0.0)
            ratio = let("div", shift, b.select("f64", is_some, start, 1.0))
            is_none = b.both(is_some, let("lt", let("mul", ratio, ratio), EPS))
            b.set(found, b.select("f64", is_none, 0.0, shift))
        return b.get(found)

    def _sweep(self, first: Operand, last: Operand, ways: _Ways, shift: Operand) -> None:
        b, d, e = self.b, self.d, self.e
        let = functools.partial(let_double, b)
        start, beside = d.at(b, (first,)), e.at(b, (b.add(first, ways.beside),))
        sign = let("copysign", 1.0, start)
        f = let("mul", let("sub", let("abs", start), shift), let("add", sign, let("div", shift, start)))
        f_now, g_now, d_now, e_now = (b.var("f64", x) for x in (f, beside, start, beside))
        place, before = b.var("i64", first), b.sub(last, ways.step)

        def turn() -> None:
            here = b.get(place)
            ahead, at = b.add(here, ways.step), b.add(here, ways.beside)
            is_last = b.let("eq", "i64", here, before)
            further = e.at(b, (b.select("i64", is_last, at, b.add(at, ways.step)),))
            x, y, z = b.get(d_now), b.get(e_now), d.at(b, (ahead,))
            c, s, r = rotation(b, b.get(f_now), b.get(g_now))
            with b.when(b.let("ne", "i64", here, first)):
                e.store(b, (b.sub(at, ways.step),), r)
            f = let("add", let("mul", c, x), let("mul", s, y))
            y = let("sub", let("mul", c, y), let("mul", s, x))
            g, z = let("mul", s, z), let("mul", c, z)
            self._turn(ways.first, here, ahead, c, s)
            c, s, r = rotation(b, f, g)
            d.store(b, (here,), r)
            b.set(f_now, let("add", let("mul", c, y), let("mul", s, z)))
            b.set(d_now, let("sub", let("mul", c, z), let("mul", s, y)))
            b.set(g_now, let("mul", s, further))
            b.set(e_now, let("mul", c, further))
            self._turn(ways.second, here, ahead, c, s)
            b.set(place, ahead)

        b.repeat(lambda: b.let("ne", "i64", b.get(place), last), turn)
        d.store(b, (last,), b.get(d_now))
        e.store(b, (b.add(before, ways.beside),), b.get(f_now))

    def _sweep_as_it_is(self, first: Operand, last: Operand, ways: _Ways) -> None:
        """Without a shift, by which small values keep all their digits."""
        b, d, e = self.b, self.d, self.e
        let = functools.partial(let_double, b)
        c_now, c_before, s_before = (b.var("f64", x) for x in (1.0, 1.0, 0.0))
        place = b.var("i64", first)

        def turn() -> None:
            here = b.get(place)
            ahead, at = b.add(here, ways.step), b.add(here, ways.beside)
            c, s, r = rotation(b, let("mul", d.at(b, (here,)), b.get(c_now)), e.at(b, (at,)))
            with b.when(b.let("ne", "i64", here, first)):
                e.store(b, (b.sub(at, ways.step),), let("mul", b.get(s_before), r))
            b.set(c_now, c)
            self._turn(ways.first, here, ahead, c, s)
            c, s, r = rotation(b, let("mul", b.get(c_before), r), let("mul", d.at(b, (ahead,)), s))
            d.store(b, (here,), r)
            b.set(c_before, c)
            b.set(s_before, s)
            self._turn(ways.second, here, ahead, c, s)
            b.set(place, ahead)

        b.repeat(lambda: b.let("ne", "i64", b.get(place), last), turn)
        h = let("mul", d.at(b, (last,)), b.get(c_now))
        d.store(b, (last,), let("mul", h, b.get(c_before)))
        e.store(b, (b.add(b.sub(last, ways.step), ways.beside),), let("mul", h, b.get(s_before)))

    def _turn(self, table: Operand, here: Operand, ahead: Operand, c: Operand, s: Operand) -> None:
        b = self.b
        turn_rows(b, self.rows, b.add(table, here), b.add(table, ahead), c, s)

    def _solve_pair(self, low: Operand) -> None:
        b, d, e = self.b, self.d, self.e
        high = b.add(low, 1)
        large, small, right, left = _of_two(b, d.at(b, (low,)), e.at(b, (low,)), d.at(b, (high,)), self.is_odd)
        self._turn(0, low, high, *right)
        self._turn(self.columns, low, high, *left)
        d.store(b, (low,), large)
        d.store(b, (high,), small)
        e.store(b, (low,), 0.0)

    def _make_positive(self) -> None:
        b, d = self.b, self.d
        with b.loop(0, self.size) as i:
            x = d.at(b, (i,))
            d.store(b, (i,), b.let("abs", "f64", x))
            with b.when(b.let("lt", "f64", x, 0.0)), b.loop(0, self.rows.shape[1]) as j:
                self.rows.store(b, (i, j), b.let("neg", "f64", self.rows.at(b, (i, j))))

    def sort(self, is_rising: Operand) -> None:
        """From the least value on, or from the largest."""
        b = self.b

        def is_before(x: Operand, y: Operand) -> Operand:
            return b.select("bool", is_rising, b.let("lt", "f64", x, y), b.let("gt", "f64", x, y))

        sort(b, self.d, self.rows, (0, self.columns), is_before)


def _least_of_two(b: Builder, x: Operand, y: Operand, z: Operand) -> Operand:
    """The smaller singular value of [[x, y], [0, z]], none of them negative: LAPACK's `las2`."""
    let = functools.partial(let_double, b)
    least, most = let("minimum", x, z), let("maximum", x, z)
    is_wide = let("lt", y, most)
    over = b.select("f64", let("eq", most, 0.0), 1.0, most)
    near, apart = let("add", 1.0, let("div", least, over)), let("div", let("sub", most, least), over)
    # the diagonal is larger
    share = let("div", y, over)
    square = let("mul", share, share)
    roots = [let("sqrt", let("add", let("mul", k, k), square)) for k in (near, apart)]
    wide = let("mul", least, let("div", 2.0, let("add", *roots)))
    # what is beside it is
    share = let("div", most, b.select("f64", is_wide, 1.0, y))
    scaled = [let("mul", k, share) for k in (near, apart)]
    roots = [let("sqrt", let("add", 1.0, let("mul", k, k))) for k in scaled]
    narrow = let("mul", let("mul", least, let("div", 1.0, let("add", *roots))), share)
    narrow = let("add", narrow, narrow)
    return b.select("f64", let("eq", least, 0.0), 0.0, b.select("f64", is_wide, wide, narrow))


Turn = tuple[Operand, Operand]  # cosine and sine


def _of_two(b: Builder, x: Operand, y: Operand, z: Operand, is_odd: Var) -> tuple[Operand, Operand, Turn, Turn]:
    """The values of [[x, y], [0, z]], that of larger size first, and its vectors on the right and on the left, as
    LAPACK's `lasv2` has them; `is_odd` where the diagonal is nothing beside y, or y beside it."""
    let = functools.partial(let_double, b)
    either = functools.partial(b.select, "f64")
    is_turned = let("gt", let("abs", z), let("abs", x))
    large, small = either(is_turned, z, x), either(is_turned, x, z)
    sizes = let("abs", large), let("abs", small)
    is_beside = let("gt", let("abs", y), sizes[0])
    m = let("div", y, large)
    square = let("mul", m, m)
    is_rare = b.either(let("lt", let("div", sizes[0], let("abs", y)), EPS), let("eq", square, 0.0))
    b.set(is_odd, b.either(b.get(is_odd), b.either(is_rare, let("eq", large, 0.0))))
    apart = let("div", let("sub", *sizes), sizes[0])
    t = let("sub", 2.0, apart)
    s, r = (let("sqrt", let("add", let("mul", k, k), square)) for k in (t, apart))
    a = let("mul", 0.5, let("add", s, r))
    values = let("mul", sizes[0], a), let("div", sizes[1], a)
    t = let("mul", let("add", let("div", m, let("add", s, t)), let("div", m, let("add", r, apart))), let("add", 1.0, a))
    length = let("sqrt", let("add", let("mul", t, t), 4.0))
    right = let("div", 2.0, length), let("div", t, length)
    left = (
        let("div", let("add", right[0], let("mul", right[1], m)), a),
        let("div", let("mul", let("div", small, large), right[1]), a),
    )  # fmt: skip
    left, right = (
        (either(is_turned, right[1], left[0]), either(is_turned, right[0], left[1])),
        (either(is_turned, left[1], right[0]), either(is_turned, left[0], right[1])),
    )  # fmt: skip
    signs = [
        _sign(b, *parts)
        for parts in ((right[0], left[0], x), (right[1], left[0], y), (right[1], left[1], z))
    ]  # fmt: skip
    sign = either(is_beside, signs[1], either(is_turned, signs[2], signs[0]))
    return let("copysign", values[0], sign), let("copysign", values[1], _sign(b, sign, x, z)), right, left


def _sign(b: Builder, *xs: Operand) -> Operand:
    """Of a product."""
    found: Operand = 1.0
    for x in xs:
        found = b.let("mul", "f64", found, b.let("copysign", "f64", 1.0, x))
    return found
