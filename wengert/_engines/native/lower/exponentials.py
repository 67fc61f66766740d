"""Exponentials of matrices, and their derivatives in a direction, by sums of powers and squarings: products alone.

The exponential of a matrix is that of a power of two of it, which a few terms of the series give to the last place,
squared again and again. Which degree is enough, and how often a matrix is halved, is read from the sizes of its first
powers, each matrix by itself; a matrix whose large entries vanish from its powers is not halved for them.

What is squared is the exponential less 1, as long as the diagonal is small beside 1: halvings that would not have been
needed cost time, and no digits. Complex matrices are multiplied as real ones: the real and the imaginary part lie side
by side, (re, im), and where they stand on the right, above (-im, re).

A derivative goes through the same steps with a change beside each matrix: that of a b is da b + a db.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from ...._core.graph import Node
from ..ir.builder import Builder
from ..ir.complex_numbers import Pair, pair_of
from ..ir.loops import COMPLEX, ITEM, Operand, Var
from .blocks import Block, singles
from .factorisations import fill_matrix, loops_over, matrix_at, scratch
from .forms import DTYPE_OF, Form, Index, Stored, is_numbers
from .matrices import plan, product

HALF = 0.5  # on the diagonal, up to which 1 is left out
LONG = 128  # rows from which on a product takes so long that the user may interrupt before it

Terms = Mapping[int, float]  # a sum of powers (or of what else was made) by their places, with factors


class Series(NamedTuple):
    """The exponential less 1, up to a power.

    Attributes:
        steps: the factors of each product; what it makes has the next place. The matrix has place 0.
        rest: what is added to the last product.
        most: the sizes of matrices up to which the error is below rounding, by type; of a derivative's beside it.
    """

    steps: Sequence[tuple[Terms, Terms]]
    rest: Terms
    most: dict[str, tuple[float, float]]


def _plain(place: int) -> Terms:
    return {place: 1.0}


def _product_of_sums(
    first: Terms, other: Terms, ones: tuple[float, float], beside: Terms
) -> tuple[Terms, Terms, Terms]:
    """(first + x + other + y) (other + y) + beside less 1, for numbers x and y with (x + y) y = 1.

    Returns:
        The factors without the numbers, and what is to be added to their product.
    """
    x, y = ones
    places = {*first, *other, *beside}
    left = {k: first.get(k, 0.0) + other.get(k, 0.0) for k in sorted({*first, *other})}
    weights = (beside, 1.0), (other, x + 2 * y), (first, y)
    rest = {k: sum(weight * terms.get(k, 0.0) for terms, weight in weights) for k in sorted(places)}
    return left, other, {**rest, 0: 1.0}


# P. Bader, S. Blanes, F. Casas, Computing the matrix exponential with an optimized Taylor polynomial approximation,
# Mathematics 7, 2019: degrees 4, 8, 12 and 18 by 2, 3, 4 and 5 products, with more digits of their numbers. The sizes
# are those up to which the terms of the backward error, or of its slope, add up to half a unit in the last place.


def _all_series() -> tuple[Series, ...]:
    square, cube = (_plain(0), _plain(0)), (_plain(1), _plain(0))
    four = Series(
        [square, (_plain(1), {0: 1 / 6, 1: 1 / 24})], {0: 1.0, 1: 0.5},
        {"f64": (3.397e-4, 2.271e-4), "f32": (5.116e-2, 3.428e-2)},
    )  # fmt: skip
    root = 177**0.5
    eight = Series(
        [
            square,
            (_plain(1), {0: (1 + root) / 132, 1: (1 + root) / 528}),
            ({1: 2 / 3, 2: 1.0}, {0: 11 * (root - 1) / 840, 1: 11 * (root - 9) / 3360, 2: (89 - root) / 2240}),
        ],
        {0: 1.0, 1: (857 - 58 * root) / 630 + (29 * root - 271) / 315, 2: (29 * root - 271) / 210},
        {"f64": (4.991e-2, 3.795e-2), "f32": (0.5800, 0.4450)},
    )  # fmt: skip
    left, right, rest = _product_of_sums(
        {0: 1.1992679041713716908, 1: 0.01179296240992624371, 2: 0.011088445285190924976},
        {0: 0.055027984399284298049, 1: 0.093515907705364473734, 2: 0.0061070052889837800147, 3: 1.0},
        (5.3159789575986144317, 0.18188869982170765134),
        {0: 0.46932117595431469061, 1: -0.20099424927044302003, 2: -0.046239461340633654950},
    )
    half = {0: -0.13181061013830184016, 1: -0.020278555405892590793, 2: -0.0067595184686308635978}
    twelve = Series(
        [square, cube, (half, half), (left, right)], rest,
        {"f64": (0.2996, 0.2426), "f32": (1.4616, 1.1967)},
    )  # fmt: skip
    left, right, rest = _product_of_sums(
        {0: 1.6801581387890619718, 1: 0.05717798464788655127, 2: -0.0069821012248805208429,
         3: 3.3497501708607053831e-5},
        {0: -0.067640451907138190756, 1: 0.067596130177045964608, 2: 0.029555257042931552743,
         3: -1.3918025751606070112e-5, 4: 1.0},
        (-10.967639605296206259, -0.090431683239081056197),
        {0: 0.39784974949964507615, 1: 1.3678377846041171992, 2: 0.49828962252538267756, 3: -6.3789819459472330924e-4},
    )  # fmt: skip
    factors = (
        {0: -0.10036558103014462765, 1: -0.0080292464824115702118, 2: -8.9213849804573002353e-4},
        {1: -0.092336461936711852254, 2: -0.016936493900208170431, 3: -1.4008679818203614914e-5},
    )
    eighteen = Series(
        [square, cube, (_plain(2), _plain(2)), factors, (left, right)], rest,
        {"f64": (1.0908, 0.9317), "f32": (3.0100, 2.5950)},
    )  # fmt: skip
    return four, eight, twelve, eighteen


FOUR, EIGHT, TWELVE, EIGHTEEN = _all_series()


# -- matrices on the way ----------------------------------------------------------------------------------------------


class Planes(NamedTuple):
    """A matrix of real numbers, or of complex ones as (re, im).

    Attributes:
        rows: as a factor on the left, and as a result.
        whole: as a factor on the right.
    """

    rows: Stored
    whole: Stored


class Moving(NamedTuple):
    """A matrix, and its change if one is asked for."""

    value: Planes
    change: Planes | None

    @property
    def parts(self) -> list[Planes]:
        """Both."""
        return [part for part in self if part is not None]


class _Exponential:
    """Exponentials of matrices of so many rows, one at a time, or their changes."""

    def __init__(self, block: Block, n: Operand, type_: str, has_change: bool) -> None:
        self.block, self.b, self.n = block, block.b, n
        self.is_complex, self.has_change = type_ in COMPLEX, has_change
        self.type = ITEM[type_]
        self.width = self.b.mul(n, 2) if self.is_complex else n
        self.count = self.b.mul(n, self.width)
        self.made = [self._room() for _ in range(5)]
        self.left, self.right = self._room(), self._room()
        self.spare = self._planes()
        self.columns = scratch(block, self.type, self.width)
        self.halvings, self.is_less = self.b.var("i64"), self.b.var("bool")

    def _room(self) -> Moving:
        return Moving(self._planes(), self._planes() if self.has_change else None)

    def _planes(self) -> Planes:
        whole = scratch(self.block, self.type, self.width, self.width)
        return Planes(Stored((self.n, self.width), whole.array, whole.offset, whole.strides, True), whole)

    def store(self, out: Stored, a: Stored, change: Stored | None) -> None:
        """The exponential of a, or its change with that of a."""
        b, x = self.b, self.made[0]
        for part, source in zip(x, (a, change), strict=True):
            if part is not None and source is not None:
                self._take(part, source)
        size = b.var(self.type, self._size(x.value))
        b.set(self.halvings, 0)
        b.set(self.is_less, True)
        with b.when(b.let("lt", self.type, b.get(size), np.inf)) as branch:
            self._halve_huge(size)
            self._sum_up(size)
            self._square()
            self._put(out)
        with b.inside(branch.other):
            nothing: Any = Pair(np.nan, np.nan) if self.is_complex else np.nan
            fill_matrix(b, out, lambda index: nothing)

    def _take(self, x: Planes, source: Stored) -> None:
        b = self.b
        with b.loop(0, self.n) as i, b.loop(0, self.n) as j:
            if self.is_complex:
                z = pair_of(source.at(b, (i, j)))
                x.rows.store(b, (i, j), z.re)
                x.rows.store(b, (i, b.add(j, self.n)), z.im)
            else:
                x.rows.store(b, (i, j), source.at(b, (i, j)))
        self._complete(x)

    def _put(self, out: Stored) -> None:
        b, x = self.b, self.made[0]
        if x.change is None:
            with b.when(b.get(self.is_less)):
                self._add_one()
        rows = (x.change or x.value).rows

        def at(index: Index) -> Operand:
            found: Any = rows.at(b, index)
            return Pair(found, rows.at(b, (index[0], b.add(index[1], self.n)))) if self.is_complex else found  # pyright: ignore[reportReturnType]  # which the builder takes as an operand

        fill_matrix(b, out, at)

    def _complete(self, x: Planes) -> None:
        """Writes the rows (-im, re) below (re, im)."""
        if not self.is_complex:
            return
        b, n = self.b, self.n
        with b.loop(0, n) as i:
            below = b.add(i, n)
            with b.loop(0, n) as j:
                beside = b.add(j, n)
                re, im = x.rows.at(b, (i, j)), x.rows.at(b, (i, beside))
                x.whole.store(b, (below, j), b.let("neg", self.type, im))
                x.whole.store(b, (below, beside), re)

    def _size(self, x: Planes) -> Operand:
        """The largest sum of a column's absolute values; of complex numbers those of both parts."""
        b, t = self.b, self.type
        b.fill(self.columns.array, self.columns.offset, self.width)
        with b.loop(0, self.n) as i, b.loop(0, self.width) as j:
            size = b.let("abs", t, x.rows.at(b, (i, j)))
            self.columns.store(b, (j,), b.let("add", t, self.columns.at(b, (j,)), size))
        most = b.var(t, 0.0)
        with b.loop(0, self.n) as j:
            size = self.columns.at(b, (j,))
            if self.is_complex:
                size = b.let("add", t, size, self.columns.at(b, (b.add(j, self.n),)))
            b.set(most, b.let("maximum", t, b.get(most), size))
        return b.get(most)

    # -- products -------------------------------------------------------------------------------------------------

    def _multiply(self, out: Planes, x: Planes, y: Planes, joins: bool = False) -> None:
        b, target = self.b, out.rows
        if not joins or plan(x.rows, y.whole, target, joins).way == "rows":
            product(self.block, x.rows, y.whole, target, joins=joins)
            return
        product(self.block, x.rows, y.whole, self.spare.rows)
        with b.loop(0, self.count) as place:
            total = b.let("add", self.type, b.load(target.array, place), b.load(self.spare.rows.array, place))
            b.store(target.array, place, total)

    def _make(self, place: int, terms: tuple[Terms, Terms]) -> None:
        """The product of two sums."""
        x, y = self._factors(terms)
        out = self.made[place]
        self._multiply(out.value, x.value, y.value)
        self._multiply_change(out, x, y, joins=False)

    def _multiply_change(self, out: Moving, x: Moving, y: Moving, joins: bool) -> None:
        if out.change is not None and x.change is not None and y.change is not None:
            self._multiply(out.change, x.change, y.value, joins)
            self._multiply(out.change, x.value, y.change, joins=True)

    def _factors(self, terms: tuple[Terms, Terms]) -> tuple[Moving, Moving]:
        found: list[Moving] = []
        wanted: list[tuple[Moving, Terms]] = []
        for sum_, room in zip(terms, (self.left, self.right), strict=True):
            if sum_ is terms[0] and found:
                found.append(found[0])
            elif [*sum_.values()] == [1.0]:
                found.append(self.made[next(iter(sum_))])
            else:
                found.append(room)
                wanted.append((room, sum_))
        self._weigh(wanted)
        left, right = found
        if right is not self.made[0]:  # which is whole
            for part in right.parts:
                self._complete(part)
        return left, right

    def _weigh(self, wanted: Sequence[tuple[Moving, Terms]]) -> None:
        """Sums of what was made; the last of them may be where one of these is."""
        b, t = self.b, self.type
        if not wanted:
            return
        for part in range(1 + self.has_change):
            with b.loop(0, self.count) as place:
                places = sorted({k for _, terms in wanted for k in terms})
                known = {k: b.load(self.made[k].parts[part].rows.array, place) for k in places}
                sums = [_weighed(b, t, [(factor, known[k]) for k, factor in terms.items()]) for _, terms in wanted]
                for (room, _), total in zip(wanted, sums, strict=True):
                    b.store(room.parts[part].rows.array, place, total)

    # -- the series -----------------------------------------------------------------------------------------------

    def _sum_up(self, size: Var) -> None:
        """The exponential less 1 of the matrix, perhaps of a part of it, in its place."""
        b = self.b

        def is_within(series: Series) -> Operand:
            return b.let("le", self.type, b.get(size), series.most[self.type][self.has_change])

        self._make(1, EIGHTEEN.steps[0])
        with b.when(is_within(EIGHT)) as few:
            with b.when(is_within(FOUR)) as fewest:
                self._add_up(FOUR, 1)
            with b.inside(fewest.other):
                self._add_up(EIGHT, 1)
        with b.inside(few.other):
            self._make(2, EIGHTEEN.steps[1])
            with b.when(is_within(TWELVE)) as some:
                self._add_up(TWELVE, 2)
            with b.inside(some.other):
                self._halve(size)
                self._add_up(EIGHTEEN, 2)

    def _add_up(self, series: Series, done: int) -> None:
        """A sum of powers of which the first products are there."""
        b, out = self.b, self.made[0]
        for place, terms in enumerate(series.steps[done:-1], done + 1):
            self._make(place, terms)
        x, y = self._factors(series.steps[-1])
        self._weigh([(out, series.rest)])
        with b.when(b.let("gt", "i64", b.get(self.halvings), 0) if self.has_change else True):
            self._multiply(out.value, x.value, y.value, joins=True)
        self._multiply_change(out, x, y, joins=True)

    # -- halvings -------------------------------------------------------------------------------------------------

    def _halve_huge(self, size: Var) -> None:
        """Halves a matrix whose powers would overflow."""
        b, t = self.b, self.type
        most = 2.0 ** (np.finfo(DTYPE_OF[t]).maxexp * 3 // 10)
        factor = b.var(t, 1.0)
        self._count(lambda: b.let("gt", t, b.get(size), most), [(size, 0.5), (factor, 0.5)])
        with b.when(b.let("gt", "i64", b.get(self.halvings), 0)):
            self._scale(0, b.get(factor))
            for part in self.made[0].parts:
                self._complete(part)

    def _halve(self, size: Var) -> None:
        """Halves a matrix, and its first powers, until its size, or what its powers grow by, is small enough."""
        b, t = self.b, self.type
        most = EIGHTEEN.most[t][self.has_change]
        with b.when(b.let("gt", t, b.get(size), most)):
            square, cube = (b.var(t, self._size(self.made[k].value)) for k in (1, 2))
            factor = b.var(t, 1.0)

            def is_due() -> Operand:
                over = (b.let("gt", t, b.get(x), most**k) for k, x in enumerate((size, square, cube), 1))
                first, second, third = over
                return b.both(first, b.either(second, third))

            self._count(is_due, [(size, 0.5), (square, 0.25), (cube, 0.125), (factor, 0.5)])
            power: Operand = 1.0
            for place in range(3):
                power = b.get(factor) if place == 0 else b.let("mul", t, power, b.get(factor))
                self._scale(place, power)

    def _count(self, is_due: Callable[[], Operand], sizes: Sequence[tuple[Var, float]]) -> None:
        """Counts halvings of numbers, by factors of their own."""
        b = self.b

        def halve() -> None:
            for x, factor in sizes:
                b.set(x, b.let("mul", self.type, b.get(x), factor))
            b.set(self.halvings, b.add(b.get(self.halvings), 1))

        b.repeat(is_due, halve)

    def _scale(self, place: int, factor: Operand) -> None:
        b = self.b
        for part in self.made[place].parts:
            array = part.rows.array
            with b.loop(0, self.count) as i:
                b.store(array, i, b.let("mul", self.type, b.load(array, i), factor))

    # -- squarings ------------------------------------------------------------------------------------------------

    def _square(self) -> None:
        """(1 + x)^2 - 1 = 2 x + x^2, or x^2 where 1 is part of x."""
        b, x, square = self.b, self.made[0], self.left
        with b.loop(0, b.get(self.halvings)) as step:
            if not (is_numbers((self.n,)) and cast(int, self.n) < LONG):
                b.poll(1)
            with b.when(b.get(self.is_less)):
                self._keep_one_apart()
            for part in x.parts:
                self._complete(part)
            self._multiply_change(square, x, x, joins=False)
            is_read = not self.has_change or b.let("lt", "i64", b.add(step, 1), b.get(self.halvings))
            with b.when(is_read):
                self._multiply(square.value, x.value, x.value)
            twice = b.select(self.type, b.get(self.is_less), 2.0, 0.0)
            for part, found in zip(x.parts, square.parts, strict=True):
                self._replace(part, found, twice)

    def _replace(self, x: Planes, square: Planes, twice: Operand) -> None:
        b, t = self.b, self.type
        is_less = b.let("gt", t, twice, 0.0)
        with b.loop(0, self.count) as place:
            more = b.select(t, is_less, b.let("mul", t, b.load(x.rows.array, place), twice), 0.0)
            b.store(x.rows.array, place, b.let("add", t, b.load(square.rows.array, place), more))

    def _keep_one_apart(self) -> None:
        """Adds 1, unless the diagonal is small beside it."""
        b, t = self.b, self.type
        most = b.var(t, 0.0)
        with b.loop(0, self.n) as i:
            b.set(most, b.let("maximum", t, b.get(most), b.let("abs", t, self.made[0].value.rows.at(b, (i, i)))))
        with b.when(b.negated(b.let("lt", t, b.get(most), HALF))):
            self._add_one()
            b.set(self.is_less, False)

    def _add_one(self) -> None:
        b, rows = self.b, self.made[0].value.rows
        with b.loop(0, self.n) as i:
            rows.store(b, (i, i), b.let("add", self.type, rows.at(b, (i, i)), 1.0))


def _weighed(b: Builder, t: str, terms: Sequence[tuple[float, Operand]]) -> Operand:
    """A sum with factors."""
    total: Operand | None = None
    for factor, x in sorted(terms, key=lambda term: abs(term[0])):
        if total is None:
            total = x if factor == 1.0 else b.let("mul", t, x, factor)
        else:
            total = b.let("add", t, total, x) if factor == 1.0 else b.let("fma", t, x, factor, total)
    assert total is not None
    return total


def _lowered(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b = block.b
    a, *changes = map(block.stored, forms)
    target = block.room(node.outputs[0])
    n = a.shape[-1]
    if type(n) is int and n == 0:
        return [target]
    found = _Exponential(block, n, a.type, bool(changes))
    with loops_over(b, a.shape[:-2]) as index:
        out, *given = (matrix_at(b, x, index) for x in (target, a, *changes))
        found.store(out, given[0], given[1] if changes else None)
    return [target]


LOWERED = singles({"expm": _lowered, "expm_along": _lowered}, of_complex=True)
