"""Depthwise convolutions with one channel of operand and result in each group, and their gradients, plane by plane.

A plane is an image of all groups whose elements lie side by side, or of one group where rows do. A row of it is one
long vector: each lane is a sum of its own, of elements behind one another in the operand times a kernel that is
repeated along the row. For gradients with respect to the kernel the lanes are terms, and what they come to is added up
in the end.

Tiles of some lanes and rows hold their sums in registers (`llvm/microtiles.py`, lane by lane). Called by
`convolutions.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import gcd, prod
from typing import NamedTuple

from ..ir.builder import Builder
from ..ir.loops import FLOATS, WIDTHS, Address, Array, Operand, Typed
from ..llvm.microtiles import Tile, most_rows
from ..llvm.vectors import most_lanes
from .blocks import Block
from .convolution_tiling import LEAST_LANES, PITCH, Axis, even, few_parts, maybe_loop, merged, parts_of
from .factorisations import loops_over
from .forms import Extents, Stored, count_of, is_numbers, row_major
from .layouts import copy_in_order, fresh_in, memory_order
from .ranges import is_one, number_of, smaller
from .standalone import is_alone
from .window_geometry import Window, is_inside, reach, seen

MOST_VECTORS, MOST_ROWS = 4, 6  # of a tile; more load no fewer elements
MOST_REPEATED = 8  # vectors after which lanes have the same group again
CACHED = 1 << 17  # bytes of rows that stay in the cache while all taps read them
WORTH = 16  # multiplications that take as long as what `work` counts


class Grouped(NamedTuple):
    """A convolution of many groups: operand (images, groups, *spatial) and kernel (groups, 1, *taps), or for the
    gradient with respect to a kernel (`is_sum`) operand (groups, images, *spatial) and kernel (groups, images, *taps).
    """

    x: Stored
    kernel: Stored
    windows: Sequence[Window]
    groups: int
    is_sum: bool

    @property
    def images_axis(self) -> int:
        return 1 if self.is_sum else 0

    @property
    def images(self) -> Operand:
        return self.x.shape[self.images_axis]

    @property
    def inner(self) -> int:
        """How many groups lie side by side in a row; 0 if neither they nor the elements of a row do."""
        of_groups, along = self.x.strides[1 - self.images_axis], self.x.strides[-1]
        if is_one(of_groups) and along == self.groups:
            return self.groups
        return 1 if is_one(along) else 0

    @property
    def row(self) -> int:
        """The lanes of a row."""
        last = self.windows[-1]
        return self.inner * number_of(last.taps if self.is_sum else last.positions)


def serves(conv: Grouped) -> bool:
    """Whether this file lowers a convolution: whether the rows of its planes are long enough for vectors."""
    windows, x = conv.windows, conv.x
    known = [n for w in windows for n in (w.size, w.positions, w.taps, w.low)]
    if is_alone() or x.type not in FLOATS or not is_numbers([*known, *x.strides, *conv.kernel.strides]):
        return False
    if 0 in known[1::4] or 0 in known[2::4] or any(w.spread > 1 for w in windows) or not conv.inner:
        return False
    if (windows[-1].dilation if conv.is_sum else windows[-1].stride) != 1:
        return False
    return _lanes(conv) is not None


def _lanes(conv: Grouped) -> tuple[int, int] | None:
    """How many vectors of how many lanes stand side by side; None if a row is too short."""
    lanes = most_lanes(conv.x.type)
    while lanes >= LEAST_LANES:
        most = min(most_rows(1) // 4, MOST_VECTORS, conv.row // lanes)
        if conv.is_sum and conv.inner > 1:
            vectors = conv.inner // gcd(conv.inner, lanes)
            if vectors <= MOST_REPEATED and vectors * lanes <= conv.row:
                return vectors * max(1, min(most // vectors, conv.row // (vectors * lanes))), lanes
            if conv.inner >= lanes:
                return min(most, conv.inner // lanes), lanes
        elif most:
            found = range(1, most + 1) if not conv.is_sum else [most]
            return min(found, key=lambda n: (-(-conv.row // (n * lanes)) * n, -n)), lanes
        lanes //= 2
    return None


class _Plane(NamedTuple):
    """One plane where its windows can be read, from the first on: its image, and its group if there is one only."""

    x: Stored
    image: Operand
    group: Operand


class _Places(NamedTuple):
    """Where a tile begins, in the operand, in the kernel and in the result."""

    x: Array
    in_x: Operand
    kernel: Array
    in_kernel: Operand
    out: Array
    in_out: Operand

    def moved(self, b: Builder, x: Operand, kernel: Operand, out: Operand) -> _Places:
        """The places that many elements further on."""
        return self._replace(
            in_x=b.add(self.in_x, x), in_kernel=b.add(self.in_kernel, kernel), in_out=b.add(self.in_out, out)
        )

    @property
    def addresses(self) -> list[Address]:
        return [Address(self.x, self.in_x), Address(self.kernel, self.in_kernel), Address(self.out, self.in_out)]


class _Planes:
    """Emits one convolution: what its two kinds of tiles (`_Rows`, `_Sums`) share.

    Attributes:
        steps: of the spatial axes, in the operand or its copy with zeros.
        outer: how many groups have planes of their own.
    """

    def __init__(self, block: Block, conv: Grouped) -> None:
        self.block, self.b, self.conv = block, block.b, conv
        self.inner = conv.inner
        self.outer = conv.groups // self.inner
        found = _lanes(conv)
        assert found is not None
        self.vectors, self.lanes = found
        self.width = self.vectors * self.lanes
        self.is_copied = not all(map(is_inside, conv.windows))
        self.extents = self._extents()
        self.steps = row_major(self.extents) if self.is_copied else conv.x.strides[2:]
        self.scratch: list[Stored] = []

    def _extents(self) -> Extents:
        """Of a copy; rows do not meet in the same lines of the cache."""
        *rows, last = map(reach, self.conv.windows)
        inner = last * self.inner
        if rows and inner * WIDTHS[self.conv.x.type] % PITCH == 0:
            inner += most_lanes(self.conv.x.type)
        return (*rows, inner)

    def step(self, axis: int) -> int:
        """From an element to the next one along a spatial axis."""
        if axis == len(self.conv.windows) - 1:
            return self.inner
        return number_of(self.steps[axis])

    def made(self, shape: Extents) -> Stored:
        """A scratch array, which is freed at the end of the convolution."""
        found = self.block.fresh(shape, self.conv.x.type)
        self.scratch.append(found)
        return found

    def release(self) -> None:
        for found in self.scratch:
            self.block.give_back(found.array, count_of(self.b, found.shape))

    def work(self) -> Operand:
        b, windows = self.b, self.conv.windows
        each = prod(number_of(n) for w in windows for n in (w.positions, w.taps)) * self.conv.groups
        return b.divided(b.mul(self.conv.images, each), WORTH)

    def plane(self, copy: Stored | None, image: Operand, group: Operand) -> _Plane:
        """A plane, copied among zeros if windows see any."""
        b, conv = self.b, self.conv
        x = conv.x
        offset = self.start(x, conv.images_axis, image, group)
        if copy is None:
            for w, step in zip(conv.windows, x.strides[2:], strict=True):
                offset = b.sub(offset, b.mul(w.low, step))
            return _Plane(Stored(x.shape[2:], x.array, offset, x.strides[2:]), image, group)
        place, extents = copy.offset, [n for _, n in map(seen, conv.windows)]
        steps = [self.step(a) for a in range(len(extents))]
        for w, step, own in zip(conv.windows, steps, x.strides[2:], strict=True):
            first, _ = seen(w)
            offset = b.add(offset, b.mul(first, own))
            place = b.add(place, (number_of(w.low) + first) * step)
        if 0 not in extents:
            shape = (*extents, self.inner)
            source = Stored(shape, x.array, offset, (*x.strides[2:], 1), False)
            copy_in_order(b, source, Stored(shape, copy.array, place, (*steps, 1), False))
        return _Plane(copy, image, group)

    def start(self, of: Stored, images_axis: int, image: Operand, group: Operand) -> Operand:
        """Where the numbers of an image and a group begin in an array that has two axes of these first."""
        b = self.b
        found = b.add(of.offset, b.mul(image, of.strides[images_axis]))
        return b.add(found, b.mul(group, of.strides[1 - images_axis])) if self.inner == 1 else found

    def rows(self, taken: Iterable[tuple[Operand, int]], of: Stored) -> list[Axis]:
        """The axes before the last one: how many of a plane's rows are taken, and how far apart, beside rows of an
        array."""
        axes = [Axis(n, step * self.step(a), number_of(of.strides[2 + a])) for a, (n, step) in enumerate(taken)]
        return axes or [Axis(1, 0, 0)]

    def copies(self, parts: int) -> Stored | None:
        """Memory for copies with zeros, one for each part."""
        return self.made((parts, *self.extents)) if self.is_copied else None

    def cleared(self, made: Stored | None, part: Operand) -> Stored | None:
        """The share of one part in a scratch array, filled with zeros."""
        if made is None:
            return None
        own = made.row(self.b, part)
        self.b.fill(own.array, own.offset, count_of(self.b, own.shape))
        return own

    def tile(
        self, form: tuple[int, int, int], down: Axis, terms: list[Axis], keeps: int, places: _Places
    ) -> None:  # fmt: skip
        """A tile of so many rows and vectors of so many lanes."""
        rows, vectors, lanes = form
        tile = Tile(self.conv.x.type, rows, 1, down.step, 0, vectors, lanes, len(terms), is_by_lane=True)
        numbers = [keeps, down.other, 0, *(n for axis in terms for n in axis)]
        self.b.call(tile.name, [*places.addresses, *(Typed("i64", n) for n in numbers)])


def convolved(block: Block, conv: Grouped, target: Stored) -> None:
    """Emits the loops of a convolution for which `serves` holds."""
    planes = _Planes(block, conv)
    if conv.is_sum:
        _Sums(planes, target).emit()
    else:
        _Rows(planes, target).emit()
    planes.release()


def _suits(x: Stored, of_groups: Operand, inner: int) -> bool:
    """Whether rows are as those of an operand in which so many groups lie side by side."""
    return x.strides[-1] == inner and (inner == 1 or is_one(of_groups))


class _Rows:
    """Tiles of a convolution whose lanes are positions of the result."""

    def __init__(self, planes: _Planes, target: Stored) -> None:
        self.planes, self.b, self.conv = planes, planes.b, planes.conv
        self.target = target
        if not (is_numbers(target.strides) and _suits(target, target.strides[1], planes.inner)):
            self.target = fresh_in(planes.block, target.shape, memory_order(self.conv.x), target.type)
            planes.scratch.append(Stored(target.shape, self.target.array))
        self.wanted = target
        self.kernel = self._repeated()
        steps = row_major((*[w.taps for w in self.conv.windows], self.kernel.shape[-1]))
        columns = zip(self.conv.windows, range(len(self.conv.windows)), steps, strict=False)
        axes = [Axis(w.taps, w.dilation * planes.step(a), number_of(other)) for w, a, other in columns]
        self.terms = merged(axes) or [Axis(1, 0, 0)]

    def _repeated(self) -> Stored:
        """The kernel for each outer group and tap, repeated so that tiles find it wherever in a row they begin."""
        b, planes, kernel = self.b, self.planes, self.conv.kernel
        inner, taps = planes.inner, (*[w.taps for w in self.conv.windows],)
        times = planes.width if inner == 1 else -(-(inner + planes.width) // inner)
        found = planes.made((planes.outer, *taps, times * inner))
        with b.loop(0, planes.outer) as group, loops_over(b, taps) as index:
            start = found.place(b, (group, *index, 0))
            if inner == 1:
                value = kernel.at(b, (group, 0, *index))
                with b.loop(0, times) as i:
                    b.store(found.array, b.add(start, i), value)
                return found
            with b.loop(0, times) as i, b.loop(0, inner) as j:
                b.store(found.array, b.add(start, b.add(b.mul(i, inner), j)), kernel.at(b, (j, 0, *index)))
        return found

    def emit(self) -> None:
        b, planes = self.b, self.planes
        count = b.mul(self.conv.images, planes.outer)
        copies = planes.copies(parts_of(count))
        with few_parts(b, count, planes.work()) as (part, first, behind):
            copy = planes.cleared(copies, part)
            with b.loop(first, behind) as number:
                image, group = b.divided(number, planes.outer), b.remainder(number, planes.outer)
                self._plane(planes.plane(copy, image, group))
        if self.target is not self.wanted:
            copy_in_order(b, self.target, self.wanted)

    def _plane(self, plane: _Plane) -> None:
        b, planes, target = self.b, self.planes, self.target
        out = planes.start(target, 0, plane.image, plane.group)
        *outer, down = planes.rows(((w.positions, w.stride) for w in self.conv.windows[:-1]), target)
        kernel = b.add(self.kernel.offset, b.mul(plane.group, self.kernel.strides[0]))
        with loops_over(b, [axis.extent for axis in outer]) as index:
            a, c = plane.x.offset, out
            for axis, i in zip(outer, index, strict=True):
                a, c = b.add(a, b.mul(i, axis.step)), b.add(c, b.mul(i, axis.other))
            places = _Places(plane.x.array, a, self.kernel.array, kernel, target.array, c)
            _in_pieces(b, down, most_rows(planes.vectors), places, lambda rows, at: self._line(rows, down, at))

    def _line(self, rows: int, down: Axis, places: _Places) -> None:
        """Emits the tiles of some rows; the last one begins earlier where it would reach beyond their end."""
        b, planes = self.b, self.planes
        inner, width, row = planes.inner, planes.width, self.conv.row
        with maybe_loop(b, -(-row // width)) as i:
            start = smaller(b, b.mul(i, width), row - width)
            phase = 0 if inner == 1 else b.remainder(start, inner)
            planes.tile((rows, planes.vectors, planes.lanes), down, self.terms, 0, places.moved(b, start, phase, start))


def _in_pieces(b: Builder, axis: Axis, most: int, places: _Places, emit: Callable[[int, _Places], None]) -> None:
    """An axis in pieces of about equal size: how many elements, and where they begin."""
    each = even(number_of(axis.extent), min(most, MOST_ROWS))
    whole, rest = divmod(number_of(axis.extent), each)
    with maybe_loop(b, whole) as i:
        emit(each, places.moved(b, b.mul(i, each * axis.step), 0, b.mul(i, each * axis.other)))
    if rest:
        emit(rest, places.moved(b, whole * each * axis.step, 0, whole * each * axis.other))


class _Piece(NamedTuple):
    """Parts of a row that are added up: where they begin, in the row and in the sums, how many there are, how far
    apart, and the vectors and lanes of each."""

    start: int
    column: int
    count: int
    step: int
    vectors: int
    lanes: int


class _Sums:
    """Tiles of the kernel's gradient, whose lanes are terms: a result for each of them, added up in the end."""

    def __init__(self, planes: _Planes, target: Stored) -> None:
        self.planes, self.b, self.conv, self.target = planes, planes.b, planes.conv, target
        self.terms = self.conv.kernel
        if not _suits(self.terms, self.terms.strides[0], planes.inner):
            order = memory_order(self.conv.x)
            self.terms = fresh_in(planes.block, self.terms.shape, order, self.terms.type)
            copy_in_order(self.b, self.conv.kernel, self.terms)
            planes.scratch.append(Stored(self.terms.shape, self.terms.array))
        if planes.width % planes.inner == 0:
            self.pieces = _chunks(self.conv.row, planes.vectors, planes.lanes)
            self.columns = planes.width + self.conv.row % planes.width
        else:
            self.pieces = _blocks(planes.inner, self.conv.row // planes.inner, planes.vectors, planes.lanes)
            self.columns = planes.inner
        self.taps = (*[w.positions for w in self.conv.windows],)

    def emit(self) -> None:
        b, planes = self.b, self.planes
        count = planes.outer if planes.inner == 1 else self.conv.images
        parts = parts_of(count)
        copies, totals = planes.copies(parts), planes.made((parts, *self.taps, self.columns))
        if planes.inner == 1:
            with few_parts(b, count, planes.work()) as (part, first, behind):
                copy = planes.cleared(copies, part)
                with b.loop(first, behind) as group:
                    total = planes.cleared(totals, part)
                    assert total is not None
                    with b.loop(0, self.conv.images) as image:
                        self._plane(planes.plane(copy, image, group), total)
                    self._add_up([total], group)
            return
        with few_parts(b, count, planes.work()) as (part, first, behind):
            copy, total = planes.cleared(copies, part), planes.cleared(totals, part)
            assert total is not None
            with b.loop(first, behind) as image:
                self._plane(planes.plane(copy, image, 0), total)
        self._add_up([totals.row(b, part) for part in range(parts)], 0)

    def _plane(self, plane: _Plane, total: Stored) -> None:
        """Some rows after the other, which stay in the cache while all taps read them."""
        b, planes, terms, windows = self.b, self.planes, self.terms, self.conv.windows
        kernel = planes.start(terms, 1, plane.image, plane.group)
        *outer, rows = planes.rows(((w.taps, w.dilation) for w in windows[:-1]), terms)
        extent = number_of(rows.extent)
        each = even(extent, max(1, CACHED // (WIDTHS[terms.type] * max(1, rows.step))))
        with maybe_loop(b, -(-extent // each)) as i, loops_over(b, self.taps[:-1]) as index:
            first = b.mul(i, each)
            count = smaller(b, each, b.sub(extent, first))
            a, c = b.add(plane.x.offset, b.mul(first, rows.step)), total.place(b, (*index, 0, 0))
            for axis, (w, j) in enumerate(zip(windows[:-1], index, strict=True)):
                a = b.add(a, b.mul(j, w.stride * planes.step(axis)))
            k = b.add(kernel, b.mul(first, rows.other))
            portion = [*outer, Axis(count, rows.step, rows.other)]
            for piece in self.pieces:
                self._taps(portion, piece, _Places(plane.x.array, a, terms.array, k, total.array, c))

    def _taps(self, rows: list[Axis], piece: _Piece, places: _Places) -> None:
        """Emits the tiles of all taps along the last axis, for one piece of each row."""
        planes, lanes = self.planes, piece.lanes
        down = Axis(self.taps[-1], self.conv.windows[-1].stride * planes.inner, self.columns)
        terms = merged([*rows, Axis(piece.count, piece.step, piece.step)]) or [Axis(1, 0, 0)]
        places = places.moved(self.b, piece.start, piece.start, piece.column)
        _in_pieces(self.b, down, most_rows(piece.vectors), places, lambda count, at: planes.tile(
            (count, piece.vectors, lanes), down, terms, 1, at
        ))  # fmt: skip

    def _add_up(self, totals: list[Stored], group: Operand) -> None:
        """The sums of all lanes of a group, and of all parts, in their order."""
        b, inner, type_ = self.b, self.planes.inner, self.target.type
        with loops_over(b, self.taps) as index, b.loop(0, inner) as j:
            found = b.var(type_, 0.0)
            for total in totals:
                start = b.add(total.place(b, (*index, 0)), j)
                with b.loop(0, self.columns // inner) as i:
                    b.set(found, b.let("add", type_, b.get(found), b.load(total.array, b.add(start, b.mul(i, inner)))))
            self.target.store(b, (0, b.add(group, j), *index), b.get(found))


def _chunks(row: int, vectors: int, lanes: int) -> list[_Piece]:
    """A row in vectors that have the same groups, which are added up; the rest of it in fewer."""
    width = vectors * lanes
    count, rest = divmod(row, width)
    return [_Piece(0, 0, count, width, vectors, lanes), *_halves(row - rest, width, rest, 1, 0, lanes)]


def _blocks(groups: int, count: int, vectors: int, lanes: int) -> list[_Piece]:
    """A row in vectors of some groups, each of which comes again so many times."""
    width = vectors * lanes
    whole, rest = divmod(groups, width)
    found = [_Piece(i * width, i * width, count, groups, vectors, lanes) for i in range(whole)]
    return [*found, *_halves(whole * width, whole * width, rest, count, groups, lanes)]


def _halves(start: int, column: int, rest: int, count: int, step: int, lanes: int) -> Iterator[_Piece]:
    """Cuts a remainder into single vectors, each of half as many lanes as the one before."""
    while rest:
        while rest < lanes:
            lanes //= 2
        yield _Piece(start, column, count, step, 1, lanes)
        start, column, rest = start + lanes, column + lanes, rest - lanes


__all__ = ["Grouped", "convolved", "serves"]
