"""Fourier transforms, along one axis after the other: of as many lines as fill vectors, complex and real, by functions
of our own (`llvm/lane_transforms.py`), of single long ones by the same functions (`split_fourier.py`), of short real
ones written out (`short_fourier.py`), of prime lengths by products with matrices (`prime_fourier.py`), of others by
NumPy's C functions (`llvm/numpy_transforms.py`); where code stands alone, by loops (`standalone_fourier.py`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

from ...._core.graph import Node
from ..ir.builder import Builder
from ..ir.complex_numbers import Pair
from ..ir.loops import COMPLEX, ITEM, WIDTHS, Address, Operand, Status, Typed
from ..llvm.lane_transforms import FACTORS, FEW, Lines, factors_of, has_rare_factors, real_type
from ..llvm.vectors import most_lanes
from . import prime_fourier, short_fourier, split_fourier, standalone_fourier
from .blocks import Block, singles
from .forms import Form, Stored, count_of
from .nests import copy
from .ranges import is_one
from .scalars import smaller
from .standalone import is_alone

AT_ONCE = 1 << 15  # numbers of one call: between calls the user may interrupt
LEAST_LANES = split_fourier.LEAST_LANES
LONG = 256  # numbers of a line that goes by itself where some lanes would have no other
LONGEST = 2048  # and of a line that does in any case: rooms for several fill the second cache
LONGEST_ODD = 20_000  # the same of so many real ones, which by themselves are as much work as complex ones


def _dft(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    axes, is_inverse = node.attrs
    source = block.dense(forms[0])
    out = block.room(node.outputs[0])
    if not axes:
        copy(block.b, source, out)
        return [out]
    for axis in reversed(axes):  # as NumPy has it
        _along(block, "ifft" if is_inverse else "fft", source, out, axis)
        source = out
    return [out]


def _rfft(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    (axis,) = node.attrs
    x = block.dense(forms[0])
    out = block.room(node.outputs[0])
    b, size = block.b, x.shape[axis]
    with b.when(b.let("le", "i64", size, 0)):  # which NumPy words
        b.leave(Status.REFUSED)
    if is_alone():
        standalone_fourier.along(b, "rfft", x, out, axis)
        return [out]
    if short_fourier.serves(x, out, axis):
        short_fourier.forward(b, x, out, axis)
        return [out]
    if prime_fourier.serves_real(x, out, axis):
        prime_fourier.forward(block, x, out, axis)
        return [out]
    if _goes_by_line(b, x, axis, _complex_length(size)) and _real_by_line(block, x, out, axis, is_inverse=False):
        return [out]
    odd = b.let("eq", "i64", b.remainder(size, 2), 1)
    for holds, name in ((odd, "rfft_n_odd"), (b.negated(odd), "rfft_n_even")):
        if holds is not False:
            with b.when(holds):
                _along(block, name, x, out, axis)
    return [out]


def _irfft(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b, x = block.b, block.dense(forms[0])
    out = block.room(node.outputs[0])
    with b.when(b.let("le", "i64", out.shape[node.attrs[0]], 0)):
        b.leave(Status.REFUSED)
    axis = node.attrs[0]
    if not is_alone() and short_fourier.serves(out, x, axis):
        short_fourier.backward(b, x, out, axis)
    elif not is_alone() and prime_fourier.serves_real(out, x, axis):
        prime_fourier.backward(block, x, out, axis)
    elif (
        is_alone()
        or not _goes_by_line(b, out, axis, _complex_length(out.shape[axis]))
        or not _real_by_line(block, x, out, axis, is_inverse=True)
    ):
        _along(block, "irfft", x, out, axis)
    return [out]


def _along(block: Block, name: str, x: Stored, out: Stored, axis: int) -> None:
    """Transforms lines along an axis: side by side behind it or, along the last axis, one behind the other."""
    b, n, m = block.b, x.shape[axis], out.shape[axis]
    if is_alone():
        standalone_fourier.along(b, name, x, out, axis)
        return
    if x.type == out.type and prime_fourier.serves(n):
        prime_fourier.whole(block, x, out, axis, name == "ifft")
        return
    if x.type == out.type and _goes_by_line(b, x, axis, n) and _by_line(block, x, out, axis, name == "ifft"):
        return
    blocks, lines = _lines_of(b, x, axis)
    step, between = lines, (1, 1)  # within a line, and from one line of a block to the next
    is_last = is_one(lines)
    if is_last:
        lines, blocks, between = blocks, 1, (n, m)
    if any(type(k) is int and k == 0 for k in (n, m, lines, blocks)):
        return
    complex_ = x.type if x.type in COMPLEX else out.type
    in_lanes = _InLanes(block, x, out, name in ("ifft", "irfft"), (n, m), step, between, is_last)
    done = in_lanes.run(blocks, lines)
    if type(done) is int and done == lines:
        return
    most = max(1, AT_ONCE // n) if type(n) is int else 64

    def address(a: Stored, length: Operand, gap: Operand, number: Operand, first: Operand) -> Address:
        return Address(a.array, b.add(a.offset, b.add(b.mul(number, b.mul(length, step)), b.mul(first, gap))))

    steps = [b.mul(gap, WIDTHS[a.type]) for a, gap in zip((x, out), between, strict=True)]
    steps += [b.mul(step, WIDTHS[a.type]) for a in (x, out)]
    parts = b.divided(b.add(b.sub(lines, done), most - 1), most)
    with b.when(b.let("gt", "i64", n, 0)), b.loop(0, blocks) as i, b.loop(0, parts) as part:
        first = b.add(done, b.mul(part, most))
        count = smaller(b, "i64", most, b.sub(lines, first))
        places = [address(x, n, between[0], i, first), address(out, m, between[1], i, first)]
        b.call(f"fourier.{name}.{complex_}", [*places, *(Typed("i64", k) for k in (count, n, m, *steps))])
        b.poll(1)


# -- lines by themselves ----------------------------------------------------------------------------------------------


def _goes_by_line(b: Builder, x: Stored, axis: int, n: Operand) -> bool:
    """Whether lines, which are transformed as n complex numbers, are no better transformed side by side."""
    blocks, lines = _lines_of(b, x, axis)
    if type(n) is not int or not factors_of(n):
        return True
    is_last = is_one(lines)
    count = blocks if is_last else lines
    if type(count) is int and count < LEAST_LANES:
        return True
    if not is_last or cast(int, x.shape[axis]) < LONG:
        return False
    is_odd = x.type not in COMPLEX and n == x.shape[axis]
    return n > (LONGEST_ODD if is_odd else LONGEST) or not _fill_lanes(count, most_lanes(ITEM.get(x.type, x.type)))


def _fill_lanes(count: Operand, lanes: int) -> bool:
    """Whether so many lines leave few lanes of vectors to lines that were transformed before."""
    return type(count) is int and count >= lanes and 4 * -(-count // lanes) * lanes <= 5 * count


def _by_line(block: Block, x: Stored, out: Stored, axis: int, is_inverse: bool) -> bool:
    """Transforms complex lines one by one, where there is something that does so."""
    rooms = split_fourier.Rooms(block)
    transform = split_fourier.transform_of(rooms, x.shape[axis], x.type, is_inverse)
    if transform is not None:
        _over_lines(rooms, x, out, axis, transform.run)
    rooms.give_back()
    return transform is not None


def _real_by_line(block: Block, x: Stored, out: Stored, axis: int, is_inverse: bool) -> bool:
    """The same of real lines, and back to them."""
    real, halved = (out, x) if is_inverse else (x, out)
    n, rooms = real.shape[axis], split_fourier.Rooms(block)
    if type(n) is not int or halved.shape[axis] != n // 2 + 1:
        return False
    line = split_fourier.real_line_of(rooms, n, halved.type, is_inverse)
    if line is not None:
        _over_lines(rooms, x, out, axis, line.run)
    rooms.give_back()
    return line is not None


def _over_lines(
    rooms: split_fourier.Rooms, x: Stored, out: Stored, axis: int, run: Callable[[Address, Address], None]
) -> None:
    """Runs a transform over lines; those whose numbers lie apart are copied to rooms and from there."""
    b, n, m = rooms.b, cast(int, x.shape[axis]), cast(int, out.shape[axis])
    _, lines = _lines_of(b, x, axis)
    if is_one(lines):
        prime_fourier.over_lines(
            b, x, out, axis,
            lambda place: run(*(Address(a.array, place(a, 0)) for a in (x, out))),
        )  # fmt: skip
        return
    given, found = rooms.take(x.type, n), rooms.take(out.type, m)

    def line(place: prime_fourier.Place) -> None:
        with b.loop(0, n) as k:
            b.store(given, k, b.load(x.array, place(x, k)))
        run(Address(given), Address(found))
        with b.loop(0, m) as k:
            b.store(out.array, place(out, k), b.load(found, k))

    prime_fourier.over_lines(b, x, out, axis, line)


# -- lines side by side -----------------------------------------------------------------------------------------------


def _lines_of(b: Builder, x: Stored, axis: int) -> tuple[Any, Any]:
    """How many blocks of lines there are, and how many lines lie side by side in each."""
    return count_of(b, x.shape[:axis]), count_of(b, x.shape[axis + 1 :])


def _complex_length(n: Operand) -> Operand:
    """How many complex numbers a line of real ones is transformed as: a half of them if it can, else as many."""
    return n if type(n) is not int or n % 2 else n // 2


class _InLanes(NamedTuple):
    """Transforms of some lines at once, each in a lane of vectors.

    Attributes:
        block: the graph's block.
        x, out: what is transformed, and to where.
        is_inverse: the sign.
        lengths: of a line in each of them.
        step, gaps: from number to number of a line, and from line to line in each.
        is_apart: whether the numbers of a line lie side by side, or the lines do.
    """

    block: Block
    x: Stored
    out: Stored
    is_inverse: bool
    lengths: tuple[Operand, Operand]
    step: Operand
    gaps: tuple[Operand, Operand]
    is_apart: bool

    @property
    def is_real(self) -> bool:
        """Whether one side is of real numbers."""
        return self.x.type != self.out.type

    @property
    def length(self) -> Operand:
        """The length of a line, on the side of real numbers if there is one."""
        return self.lengths[self.is_inverse]

    @property
    def n(self) -> Operand:
        """How many complex numbers are transformed."""
        return _complex_length(self.length) if self.is_real else self.length

    def run(self, blocks: Operand, lines: Operand) -> Operand:
        """As many lines of each block as fill vectors, if their length has small factors; how many of them."""
        b = self.block.b
        if type(lines) is int and lines < LEAST_LANES:
            return 0
        if self.is_real and not self._is_whole():
            return 0
        serves = _has_small_factors(b, self.n)
        if type(serves) is bool:
            return self._all_groups(blocks, lines) if serves else 0
        done = b.var("i64", 0)
        with b.when(serves):
            b.set(done, self._all_groups(blocks, lines))
        return b.get(done)

    def _is_whole(self) -> bool:
        """Whether the complex side of a real line has all numbers that its transform has, and no more."""
        n, other = self.length, self.lengths[not self.is_inverse]
        return type(n) is int and other == n // 2 + 1

    def _all_groups(self, blocks: Operand, lines: Operand) -> Operand:
        b, done, complex_ = self.block.b, cast(Operand, 0), self._complex()
        real = real_type(complex_)
        lanes = most_lanes(real)
        room = self.block.fresh((b.mul(4, b.add(self.n, 1) if self.is_real else self.n), lanes), real)
        roots = self._roots()
        if type(lines) is int and self.x.array is not self.out.array:
            while lanes > lines:
                lanes //= 2
            self._groups(blocks, lines, (0, -(-lines // lanes)), lanes, room, roots)
            done = lines  # the last ones may have been among those before
        while done != lines and lanes >= LEAST_LANES:
            groups = b.divided(b.sub(lines, done), lanes)
            if groups != 0:
                self._groups(blocks, lines, (done, groups), lanes, room, roots)
                done = b.add(done, b.mul(groups, lanes))
            if type(lines) is not int:
                break
            lanes //= 2
        self.block.give_back(room.array, count_of(b, room.shape))
        return done

    def _complex(self) -> str:
        return self.x.type if self.x.type in COMPLEX else self.out.type

    def _roots(self) -> Address:
        if type(self.n) is int:
            return Address(self.block.setting.constant(split_fourier.roots(self.n, self._complex())))
        found = self.block.fresh((self.n,), self.x.type)
        _set_roots(self.block.b, found)
        return Address(found.array, found.offset)

    def _groups(
        self, blocks: Operand, lines: Operand, some: tuple[Operand, Operand], lanes: int, room: Stored, roots: Address
    ) -> None:
        """Some groups of lines of each block, from a first line on; all of them are of lines that there are."""
        b, n, (done, groups) = self.block.b, self.n, some
        form = self._form(lanes)
        each = b.divided(count_of(b, room.shape), 2)
        rooms = [Address(room.array, b.mul(i, each)) for i in range(2)]
        steps = [Typed("i64", k) for k in (n, *(k for side in (0, 1) for k in (self._gap(side), self.step)))]
        more = [self._turns()] if form.real == "even" else []
        with b.loop(0, blocks) as i, b.loop(0, groups) as group:
            first = b.add(done, b.mul(group, lanes))
            if type(lines) is int:
                first = smaller(b, "i64", first, lines - lanes)
            places: list[Address] = []
            for a, length, gap in zip((self.x, self.out), self.lengths, self.gaps, strict=True):
                place = b.add(b.mul(b.mul(i, length), lines), b.mul(first, gap))
                places.append(Address(a.array, b.add(a.offset, place)))
            b.call(form.name, [*places, *rooms, roots, *steps, *more])
            b.poll(16)

    def _form(self, lanes: int) -> Lines:
        place, has_rare = "apart" if self.is_apart else "beside", type(self.n) is int and has_rare_factors(self.n)
        real = ("even" if self.length != self.n else "odd") if self.is_real else ""
        return Lines(self._complex(), lanes, self.is_inverse, place, has_rare, real)

    def _gap(self, side: int) -> Operand:
        """From line to line; real ones that lie apart are counted in pairs."""
        is_paired = self.is_real and self.length != self.n and side == self.is_inverse
        return self.n if is_paired and self.is_apart else self.gaps[side]

    def _turns(self) -> Address:
        table = split_fourier.turns_of_halves(cast(int, self.n), self._complex(), self.is_inverse)
        return Address(self.block.setting.constant(table))


def _has_small_factors(b: Builder, n: Operand) -> Operand:
    """Whether a length is a product of the factors that lanes are transformed by."""
    if type(n) is int:
        return n == 1 or bool(factors_of(n))
    rest = b.var("i64", n)
    with b.when(b.let("gt", "i64", n, 0)):
        for p in (p for p in FACTORS[1:] if p <= FEW):
            b.repeat(
                lambda p=p: b.let("eq", "i64", b.remainder(b.get(rest), p), 0),
                lambda p=p: b.set(rest, b.divided(b.get(rest), p)),
            )
    return b.let("eq", "i64", b.get(rest), 1)


def _set_roots(b: Builder, roots: Stored) -> None:
    """e^(-2 pi i k / n) for each k below n, by angles of up to an eighth of the circle."""
    (n,) = roots.shape
    whole = b.convert("f64", "i64", n)
    with b.loop(0, n) as k:
        four = b.mul(k, 4)
        quarter = b.divided(b.add(four, b.divided(n, 2)), n)
        near = b.convert("f64", "i64", b.sub(four, b.mul(quarter, n)))
        angle = b.let("div", "f64", b.let("mul", "f64", near, math.pi / 2), whole)
        cos, sin = b.let("cos", "f64", angle), b.let("sin", "f64", angle)
        is_odd = b.let("eq", "i64", b.remainder(quarter, 2), 1)
        re, im = b.select("f64", is_odd, sin, cos), b.select("f64", is_odd, cos, sin)
        is_second = b.both(b.let("ge", "i64", quarter, 1), b.let("le", "i64", quarter, 2))
        re = b.select("f64", is_second, b.let("neg", "f64", re), re)
        im = b.select("f64", b.let("ge", "i64", b.remainder(b.add(quarter, 4), 4), 2), im, b.let("neg", "f64", im))
        b.store(roots.array, b.add(roots.offset, k), b.convert(roots.type, "c128", cast(Any, Pair(re, im))))


LOWERED = singles({"dft": _dft, "rfft": _rfft, "irfft": _irfft}, of_complex=True)
