"""Fourier transforms of single lines in vector code, where the machine's vectors have no other lines to fill lanes.

A line of small factors is a matrix: its columns are transformed, as many at once as a vector has lanes, turned, and
then its rows (Bailey's four steps). Rooms are as long as columns and rows are, so that they stay in the first cache:
the closer to a square, the longer. A line of another length is turned by a chirp, and its transform is a convolution
with another one, by longer lines (Bluestein). Of an even number of real numbers each two make a complex one.
"""

from __future__ import annotations

import functools
import math
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from ..ir.builder import Builder
from ..ir.complex_numbers import Pair, pair_of
from ..ir.loops import COMPLEX, ITEM, Address, Array, Operand, Typed
from ..llvm.lane_transforms import FACTORS, Lines, factors_of, has_rare_factors
from ..llvm.target import vector_bits
from ..llvm.vectors import most_lanes
from .blocks import Block
from .ranges import smaller

LEAST_LANES = 4
SHORTEST, SHORTEST_CHIRP = 16, 64  # numbers of a line
_TABLES = 32  # that are kept of each kind, for the next programs
_LARGE = 1 << 18  # bytes of a table that is kept no longer than a program has it
_DTYPES = {"c128": np.complex128, "c64": np.complex64}
# what a pass over a number takes for each factor, and what it takes to fetch and to bring one, in passes of factor 2
_WORK, _MOVES = {2: 1.0, 3: 1.2, 4: 1.2, 5: 1.7, 7: 2.4, 11: 5.0, 13: 6.5}, 3.0
_BEGIN = 30.0  # what the first of some lines takes more than the others
_NEAR, _FAR = 1 << 15, 0.5  # bytes of rooms that stay in the first cache; how much longer through those twice as long

Numbers = np.ndarray[Any, Any]


class Split(NamedTuple):
    """A line as a matrix, and how many of its lines go at once."""

    rows: int
    columns: int
    lanes: int


def fills_vectors(type_: str) -> bool:
    """Whether the machine's vectors have as many lanes of a type as transforms in lanes need."""
    return most_lanes(ITEM[type_]) >= LEAST_LANES


@functools.lru_cache(_TABLES)
def split_of(n: int, type_: str) -> Split | None:
    """How a line is a matrix that takes the least work; None where it has other factors, or is too short."""
    if not factors_of(n):
        return None
    found: list[Split] = []
    lanes = most_lanes(ITEM[type_])
    while lanes >= LEAST_LANES:
        sides = [p for p in range(lanes, math.isqrt(n) + 1) if n % p == 0]
        found += [Split(p, n // p, lanes) for side in sides for p in (side, n // side)]
        lanes //= 2
    return min(found, key=_work_of, default=None)


def _work_of(split: Split) -> float:
    rows, columns, lanes = split
    return -(-columns // lanes) * _work_of_lines(rows) + -(-rows // lanes) * _work_of_lines(columns)


def _work_of_lines(n: int) -> float:
    """What as many lines take as go at once."""
    through = 1 + _FAR * max(math.log2(4 * n * (vector_bits() // 8) / _NEAR), 0.0)
    return _BEGIN + n * through * (_MOVES + sum(_WORK.get(p, p / 2) for p in factors_of(n)))


@functools.lru_cache(_TABLES)
def longer(n: int, type_: str) -> int:
    """The length of lines by which those of a length without small factors are transformed."""
    least, found = 2 * n - 1, list[int]()
    odd = [3**i * 5**j for i in range(4) for j in range(3)]
    for p in odd:
        length = p
        while length < least:
            length *= 2
        if split_of(length, type_) is not None:
            found.append(length)
    return min(found, key=lambda m: _work_of(cast(Split, split_of(m, type_))))


# -- tables -----------------------------------------------------------------------------------------------------------


def _shared(make: Callable[..., Numbers]) -> Callable[..., Numbers]:
    """Programs share tables as long as one of them has these; small ones are kept for the next programs, too."""
    known: weakref.WeakValueDictionary[tuple[Any, ...], Numbers] = weakref.WeakValueDictionary()
    small: deque[Numbers] = deque(maxlen=_TABLES)

    @functools.wraps(make)
    def table(*key: Any) -> Numbers:
        found = known.get(key)
        if found is None:
            found = known[key] = make(*key)
            if found.nbytes <= _LARGE:
                small.append(found)
        return found

    return table


def _exact_roots(n: int) -> Numbers:
    """e^(-2 pi i k / n) for each k below n, by angles of up to an eighth of the circle."""
    four = 4 * np.arange(n)
    quarter = (four + n // 2) // n
    angle = (four - quarter * n) * (math.pi / 2) / n
    return (np.cos(angle) - 1j * np.sin(angle)) * np.array([1, -1j, -1, 1j])[quarter % 4]


@_shared
def roots(n: int, type_: str) -> Numbers:
    """e^(-2 pi i k / n) for each k below n."""
    return _exact_roots(n).astype(_DTYPES[type_])


def _parts(x: Numbers, type_: str) -> Numbers:
    """The real parts of each row, and behind them the imaginary ones."""
    rounded = x.astype(_DTYPES[type_])
    return np.stack([np.real(rounded), np.imag(rounded)], -2).ravel()


@_shared
def _turns(rows: int, columns: int, type_: str) -> Numbers:
    """How far number k of the transform of column j is turned: row * column parts of the circle."""
    places = np.multiply.outer(np.arange(rows), np.arange(columns))
    return _parts(_exact_roots(rows * columns)[places], type_)


@_shared
def turns_of_halves(n: int, type_: str, is_inverse: bool) -> Numbers:
    """How the differences of two numbers are turned for 2 n real ones."""
    found = _exact_roots(2 * n)[:n]
    return _parts(1j * found.conj() if is_inverse else -0.5j * found, type_)


@_shared
def _chirp(n: int, type_: str) -> Numbers:
    """A line that turns faster and faster: its number k by k^2 / 2 n of the circle."""
    return _exact_chirp(n).astype(_DTYPES[type_])


@_shared
def _spectrum(n: int, length: int, type_: str) -> Numbers:
    """The transform of what lines turned by a chirp are convolved with."""
    chirp, other = _exact_chirp(n), np.zeros(length, complex)
    other[:n] = chirp.conj()
    other[length - n + 1 :] = other[n - 1 : 0 : -1]
    return (np.fft.fft(other) / length).astype(_DTYPES[type_])


def _exact_chirp(n: int) -> Numbers:
    return _exact_roots(2 * n)[np.arange(n) ** 2 % (2 * n)]


# -- single lines -----------------------------------------------------------------------------------------------------


class Rooms:
    """Arrays for what transforms lines meanwhile, which others get afterwards."""

    def __init__(self, block: Block) -> None:
        self.block, self.b = block, block.b
        self._taken: list[tuple[Array, Operand]] = []

    def take(self, type_: str, count: int) -> Array:
        """An array of so many numbers."""
        array = self.block.fresh((count,), type_).array
        self._taken.append((array, count))
        return array

    def constant(self, table: Numbers) -> Array:
        """A table as an array."""
        return self.block.setting.constant(table)

    def give_back(self) -> None:
        """Nobody needs what was taken any more."""
        for array, count in self._taken:
            self.block.give_back(array, count)


class Transform(Protocol):
    """Transforms a line of complex numbers side by side, from one place to another, which may be the same."""

    def run(self, source: Address, target: Address) -> None: ...


def transform_of(rooms: Rooms, n: Operand, type_: str, is_inverse: bool) -> Transform | None:
    """What transforms single lines of a length; None for those that others transform in less time."""
    if type(n) is not int or n < SHORTEST or not fills_vectors(type_):
        return None
    split = split_of(n, type_)
    if split is not None:
        return _Matrix(rooms, split, type_, is_inverse)
    is_short = n < SHORTEST_CHIRP or max(factors_of(n), default=n) <= FACTORS[-1]
    return None if is_short else _Chirp(rooms, n, type_, is_inverse)


def _moved(b: Builder, place: Address, by: Operand) -> Address:
    """A place so many complex numbers on, in an array of them or of their parts."""
    return Address(place.array, b.add(place.index, by if place.array.type in COMPLEX else b.mul(by, 2)))


def _number(b: Builder, place: Address, k: Operand) -> Pair:
    """A complex number from a place on, in an array of them or of their parts."""
    array, at = _moved(b, place, k)
    return pair_of(b.load(array, at)) if array.type in COMPLEX else Pair(b.load(array, at), b.load(array, b.add(at, 1)))


def _put(b: Builder, place: Address, k: Operand, x: Pair) -> None:
    array, at = _moved(b, place, k)
    if array.type in COMPLEX:
        b.store(array, at, cast(Any, x))
    else:
        b.store(array, at, x.re)
        b.store(array, b.add(at, 1), x.im)


class _Matrix:
    """A line of small factors."""

    def __init__(self, given: Rooms, split: Split, type_: str, is_inverse: bool) -> None:
        self.b, self.split, self.type, self.is_inverse = given.b, split, type_, is_inverse
        rows, columns, lanes = split
        real, n = ITEM[type_], rows * columns
        self.amid, each = given.take(real, 2 * n), 2 * lanes * max(rows, columns)
        room = given.take(real, 2 * each)
        self.rooms = [Address(room, 0), Address(room, each)]
        self.turns = given.constant(_turns(rows, columns, type_))
        self.roots = {length: Address(given.constant(roots(length, type_)), 0) for length in (rows, columns)}

    def run(self, source: Address, target: Address) -> None:
        b, (rows, columns, lanes) = self.b, self.split
        with b.loop(0, -(-columns // lanes)) as group:
            first = smaller(b, b.mul(group, lanes), columns - lanes)  # the last ones may have been among those before
            given = [_moved(b, source, first), Address(self.amid, first)]
            self._call("columns", given, (rows, 1, columns, columns, 2 * columns), Address(self.turns, first))
        with b.loop(0, -(-rows // lanes)) as group:
            first = smaller(b, b.mul(group, lanes), rows - lanes)
            given = [Address(self.amid, b.mul(first, 2 * columns)), _moved(b, target, first)]
            self._call("rows", given, (columns, 2 * columns, columns, 1, rows))

    def _call(self, place: str, given: list[Address], steps: tuple[int, ...], *more: Address) -> None:
        name = Lines(self.type, self.split.lanes, self.is_inverse, place, has_rare_factors(steps[0])).name
        counts = [Typed("i64", k) for k in steps]
        self.b.call(name, [*given, *self.rooms, self.roots[steps[0]], *counts, *more])
        self.b.poll(16)


class _Chirp:
    """A line of any length, by two longer ones."""

    def __init__(self, given: Rooms, n: int, type_: str, is_inverse: bool) -> None:
        self.b, self.n, self.type, self.is_inverse = given.b, n, type_, is_inverse
        self.length = longer(n, type_)
        self.chirp = given.constant(_chirp(n, type_))
        self.other = given.constant(_spectrum(n, self.length, type_))
        self.rooms = [given.take(type_, self.length) for _ in range(2)]
        split = cast(Split, split_of(self.length, type_))
        self.there, self.back = (_Matrix(given, split, type_, way) for way in (False, True))

    def run(self, source: Address, target: Address) -> None:
        b, (one, two) = self.b, self.rooms
        with b.loop(0, self.n) as k:
            x = self._in_order(_number(b, source, k))
            b.store(one, k, self._turned(cast(Any, x), self.chirp, k))
        b.fill(one, self.n, self.length - self.n)
        self.there.run(Address(one, 0), Address(two, 0))
        with b.loop(0, self.length) as k:
            b.store(two, k, self._turned(b.load(two, k), self.other, k))
        self.back.run(Address(two, 0), Address(one, 0))
        with b.loop(0, self.n) as k:
            _put(b, target, k, self._in_order(pair_of(self._turned(b.load(one, k), self.chirp, k))))

    def _turned(self, x: Operand, by: Array, k: Operand) -> Operand:
        return self.b.let("mul", self.type, x, self.b.load(by, k))

    def _in_order(self, x: Pair) -> Pair:
        return Pair(x.im, x.re) if self.is_inverse else x


# -- lines of real numbers --------------------------------------------------------------------------------------------


class RealLine:
    """Transforms lines of real numbers, or back, without a scale; the numbers of a line lie side by side."""

    def __init__(self, rooms: Rooms, n: int, type_: str, is_inverse: bool, transform: Transform) -> None:
        """`transform`: of half as many numbers if n is even, else of as many."""
        self.b, self.n, self.type, self.is_inverse = rooms.b, n, type_, is_inverse
        self.transform = transform
        self.count = n // 2 if n % 2 == 0 else n
        self.room = rooms.take(type_, self.count)
        if n % 2 == 0:
            self.turns = rooms.constant(turns_of_halves(self.count, type_, is_inverse))

    def run(self, source: Address, target: Address) -> None:
        room = Address(self.room, 0)
        if self.n % 2:
            (self._odd_back if self.is_inverse else self._odd)(source, target)
        elif self.is_inverse:
            self._combined(source, room)
            self._ends_back(source)
            self.transform.run(room, target)
        else:
            self.transform.run(source, room)
            self._combined(room, target)
            self._ends(target)

    def _combined(self, source: Address, target: Address) -> None:
        lanes = most_lanes(ITEM[self.type])
        while lanes >= self.count:
            lanes //= 2
        name = Lines(self.type, lanes, self.is_inverse, "halves").name
        self.b.call(name, [source, target, Address(self.turns, 0), Typed("i64", self.count)])

    def _ends(self, target: Address) -> None:
        b, t = self.b, ITEM[self.type]
        z = pair_of(b.load(self.room, 0))
        for op, k in (("add", 0), ("sub", self.count)):
            found = Pair(b.let(op, t, z.re, z.im), 0.0)
            b.store(target.array, b.add(target.index, k), cast(Any, found))

    def _ends_back(self, source: Address) -> None:
        b, t = self.b, ITEM[self.type]
        first, last = (pair_of(b.load(source.array, b.add(source.index, k))).re for k in (0, self.count))
        b.store(self.room, 0, cast(Any, Pair(b.let("add", t, first, last), b.let("sub", t, first, last))))

    def _odd(self, source: Address, target: Address) -> None:
        b, room = self.b, Address(self.room, 0)
        with b.loop(0, self.n) as k:
            b.store(self.room, k, cast(Any, Pair(b.load(source.array, b.add(source.index, k)), 0.0)))
        self.transform.run(room, room)
        with b.loop(0, self.n // 2 + 1) as k:
            z = pair_of(b.load(self.room, k))
            im = b.select(ITEM[self.type], b.let("eq", "i64", k, 0), 0.0, z.im)
            b.store(target.array, b.add(target.index, k), cast(Any, Pair(z.re, im)))

    def _odd_back(self, source: Address, target: Address) -> None:
        b, t, room = self.b, ITEM[self.type], Address(self.room, 0)
        first = pair_of(b.load(source.array, source.index)).re
        b.store(self.room, 0, cast(Any, Pair(first, 0.0)))
        with b.loop(1, self.n // 2 + 1) as k:
            z = pair_of(b.load(source.array, b.add(source.index, k)))
            b.store(self.room, k, cast(Any, z))
            b.store(self.room, b.sub(self.n, k), cast(Any, Pair(z.re, b.let("neg", t, z.im))))
        self.transform.run(room, room)
        with b.loop(0, self.n) as k:
            b.store(target.array, b.add(target.index, k), pair_of(b.load(self.room, k)).re)


def real_line_of(rooms: Rooms, n: Operand, type_: str, is_inverse: bool) -> RealLine | None:
    """What transforms lines of so many real numbers; None for those that others transform in less time."""
    if type(n) is not int:
        return None
    transform = transform_of(rooms, n // 2 if n % 2 == 0 else n, type_, is_inverse)
    return None if transform is None else RealLine(rooms, n, type_, is_inverse, transform)
