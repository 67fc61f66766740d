"""Convolutions of few columns in a group whose images have the channels first, computed along the rows of planes.

Tiles of `direct_convolutions.py` have columns (channels of the result) in their vectors, so that a group of four fills
a quarter of one, and images with the channels first are turned before and behind. Here the lanes are positions.
Windows that go on by one element see, for a channel and a tap, one run of a plane: that of the first position, moved.
So a tile is some columns by some vectors of a run, and a term is an element of the kernel times a piece of a plane.
Runs go over the ends of rows: what lies between the positions of two rows is computed, too, and is left behind where a
result is put into its place.

Planes of a group are copied among zeros if windows see any. Each element of the result is one sum, in the order of
channels and taps. Called by `convolutions.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from ..ir.builder import Builder
from ..ir.loops import WIDTHS, Address, Operand, Typed
from ..llvm.microtiles import Tile, most_rows
from ..llvm.vectors import most_lanes
from .blocks import Block
from .convolution_products import WORTH, Shape
from .convolution_tiling import LEAST_LANES, PITCH, Axis, columns_of, even, few_parts, maybe_loop, merged, parts_of
from .forms import Extents, Stored, count_of, is_numbers, row_major
from .layouts import copy_in_order
from .ranges import is_one, number_of, smaller
from .window_geometry import Window, is_inside, reach, seen

MOST_VECTORS = 6  # of a tile
UNALIGNED = 2  # vectors that are read in the time in which one that goes over lines of the cache is
IN_FLIGHT = 8  # sums that a processor works at together
TURNED = 0.75  # sums of vectors that take as long as it takes to turn one element of an image or of the result ...
MOVED = 0.5  # ... and to put one of a run into its place
BROKEN = 1.3  # times as long terms of columns take in groups, whose channels are short runs
GAIN = 0.9  # of the time that columns in vectors take, from which on planes are worth it


class _Form(NamedTuple):
    """How a run is cut: columns and vectors of a tile, lanes of a vector, and how long a term of a group takes."""

    columns: int
    vectors: int
    lanes: int
    cost: float

    @property
    def width(self) -> int:
        return self.vectors * self.lanes


def serves(target: Stored, x: Stored, kernel: Stored, shape: Shape, windows: Sequence[Window]) -> bool:
    """Whether rows of planes can be read and written, and take less time than columns in vectors, which could serve."""
    known = [*x.strides, *kernel.strides, *target.strides, *target.shape[1:], *x.shape[1:], shape.channels]
    if shape.batch_groups > 1 or not is_numbers(known) or 0 in known[-1:]:
        return False
    if any(w.stride != 1 or w.spread != 1 or 0 in (w.positions, w.taps) for w in windows):
        return False
    if not (is_one(x.strides[-1]) and is_one(target.strides[-1])) or not _are_rows_apart(x, windows):
        return False
    run = _run(_steps(x, shape, windows)[1:], windows)
    form = _form(run, number_of(shape.columns), x.type)
    return form is not None and _time(form, run, shape, windows) < GAIN * _time_by_columns(x.type, shape, windows)


def _are_rows_apart(x: Stored, windows: Sequence[Window]) -> bool:
    """Whether positions follow each other in the order of memory."""
    if not all(map(is_inside, windows)):
        return True
    steps = [*map(number_of, x.strides[2:])]
    inner = zip(steps[1:], windows[1:], steps, strict=False)
    return all(step * number_of(w.positions) <= outer for step, w, outer in inner)


def _time(form: _Form, run: int, shape: Shape, windows: Sequence[Window]) -> float:
    """How long a group of an image takes, in sums of whole vectors."""
    return form.cost * _terms(shape, windows) + MOVED * number_of(shape.columns) * run


def _time_by_columns(type_: str, shape: Shape, windows: Sequence[Window]) -> float:
    """The same with the columns in vectors, images and results turned."""
    channels, columns = number_of(shape.channels), number_of(shape.columns)
    vectors = columns_of(columns, most_lanes(type_))
    each = sum(c.blocks * c.vectors * _slots(type_, c.lanes) for c in vectors)
    terms = each * _terms(shape, windows) * (BROKEN if shape.groups > 1 else 1.0)
    return (terms + TURNED * (channels + columns)) * prod(number_of(w.positions) for w in windows)


def _terms(shape: Shape, windows: Sequence[Window]) -> int:
    return number_of(shape.channels) * prod(number_of(w.taps) for w in windows)


def _slots(type_: str, lanes: int) -> float:
    """How long a sum of vectors takes: two at a time, but for the widest."""
    return 1.0 if lanes * WIDTHS[type_] * 8 == 512 else 0.5


def _steps(x: Stored, shape: Shape, windows: Sequence[Window]) -> tuple[int, ...]:
    """The steps of channels and spatial axes in the operand, or in a copy of a group with zeros."""
    if all(map(is_inside, windows)):
        return (*map(number_of, x.strides[1:]),)
    plane = row_major((*map(reach, windows),))
    each = number_of(plane[0]) * reach(windows[0])
    lanes = most_lanes(x.type)
    return (each + (lanes if each * WIDTHS[x.type] % PITCH == 0 else 0), *map(number_of, plane))


def _run(steps: Sequence[int], windows: Sequence[Window]) -> int:
    """How many elements there are from the first position of a plane to the last."""
    return 1 + sum((number_of(w.positions) - 1) * step for w, step in zip(windows, steps, strict=True))


def _form(run: int, columns: int, type_: str) -> _Form | None:
    """The tiles that take the least time; None for runs that fill no vector."""
    lanes = most_lanes(type_)
    while lanes > run:
        lanes //= 2
    if lanes < min(LEAST_LANES, most_lanes(type_)):
        return None
    found: list[_Form] = []
    for vectors in range(1, min(MOST_VECTORS, run // lanes, most_rows(1) // 2) + 1):
        rows = even(columns, max(1, most_rows(vectors)))
        tile = max(rows * vectors, UNALIGNED * vectors + rows / UNALIGNED, IN_FLIGHT) * _slots(type_, lanes)
        found.append(_Form(rows, vectors, lanes, tile * -(-columns // rows) * -(-run // (vectors * lanes))))
    return min(found, key=lambda form: form.cost)


def convolved(
    block: Block, target: Stored, x: Stored, kernel: Stored, shape: Shape, windows: Sequence[Window]
) -> None:  # fmt: skip
    """Emits the convolution of an operand (images, channels, *spatial) and a kernel (columns, channels, *taps) for
    which `serves` holds."""
    planes = _Planes(block, target, x, kernel, shape, windows)
    planes.emit()
    planes.release()


class _Planes:
    """One convolution on its way into loops.

    Attributes:
        steps: of channels and spatial axes, where windows are read.
        is_direct: whether results lie in their place as runs do.
        pitch: the step from one column's run to the next.
        terms: the axes of terms, with steps in the kernel and in planes.
    """

    def __init__(
        self, block: Block, target: Stored, x: Stored, kernel: Stored, shape: Shape, windows: Sequence[Window]
    ) -> None:  # fmt: skip
        self.block, self.b = block, block.b
        self.target, self.x, self.kernel, self.shape, self.windows = target, x, kernel, shape, windows
        self.is_copied = not all(map(is_inside, windows))
        self.steps = _steps(x, shape, windows)
        self.run = _run(self.steps[1:], windows)
        self.columns = number_of(shape.columns)
        form = _form(self.run, self.columns, x.type)
        assert form is not None
        self.form = form
        axes = zip(windows, target.strides[2:], self.steps[1:], strict=True)
        is_dense = self.run == prod(number_of(w.positions) for w in windows)
        self.is_direct = is_dense and all(is_one(w.positions) or own == step for w, own, step in axes)
        self.pitch = number_of(target.strides[1]) if self.is_direct else self.run
        inner = zip(windows, kernel.strides[2:], self.steps[1:], strict=True)
        taps = [Axis(w.taps, number_of(own), w.dilation * step) for w, own, step in inner]
        channels = Axis(shape.channels, number_of(kernel.strides[1]), self.steps[0])
        self.terms = merged([channels, *taps]) or [Axis(1, 0, 0)]
        self.scratch: list[Stored] = []

    def emit(self) -> None:
        """Group after group of each image, in a few parts, which may be done in threads."""
        b, groups = self.b, self.shape.groups
        count = b.mul(self.shape.images, groups)
        parts = parts_of(count)
        copies = self._made((parts, number_of(self.shape.channels) * self.steps[0])) if self.is_copied else None
        rooms = None if self.is_direct else self._made((parts, self.columns * self.pitch))
        with few_parts(b, count, self._work()) as (part, first, behind):
            copy, room = (made and made.row(b, part) for made in (copies, rooms))
            if copy is not None:
                b.fill(copy.array, copy.offset, count_of(b, copy.shape))
            with b.loop(first, behind) as number:
                self._group(copy, room, b.divided(number, groups), b.remainder(number, groups))

    def _work(self) -> Operand:
        each = prod(number_of(n) for w in self.windows for n in (w.positions, w.taps))
        each *= self.shape.groups * number_of(self.shape.channels) * self.columns
        return self.b.divided(self.b.mul(self.shape.images, each), WORTH)

    def _group(self, copy: Stored | None, room: Stored | None, image: Operand, group: Operand) -> None:
        b, target = self.b, self.target
        source = self._placed(copy, image, group)
        place = b.add(target.offset, b.mul(image, target.strides[0]))
        place = b.add(place, b.mul(group, b.mul(self.columns, target.strides[1])))
        kernel = b.add(self.kernel.offset, b.mul(group, b.mul(self.columns, self.kernel.strides[0])))
        out = Address(target.array, place) if room is None else Address(room.array, room.offset)
        self._tiles(source, Address(self.kernel.array, kernel), out)
        if room is not None:
            shape = (self.columns, *target.shape[2:])
            made = Stored(shape, room.array, room.offset, (self.pitch, *self.steps[1:]), False)
            copy_in_order(b, made, Stored(shape, target.array, place, target.strides[1:], False))

    def _placed(self, copy: Stored | None, image: Operand, group: Operand) -> Address:
        """Where the first window of a group is read, which has been copied among zeros if windows see any."""
        b, x = self.b, self.x
        offset = b.add(x.offset, b.mul(image, x.strides[0]))
        offset = b.add(offset, b.mul(group, b.mul(self.shape.channels, x.strides[1])))
        if copy is None:
            for w, step in zip(self.windows, x.strides[2:], strict=True):
                offset = b.sub(offset, b.mul(w.low, step))
            return Address(x.array, offset)
        place, extents = copy.offset, [number_of(self.shape.channels)]
        for w, step, own in zip(self.windows, self.steps[1:], x.strides[2:], strict=True):
            first, n = seen(w)
            extents.append(n)
            offset = b.add(offset, b.mul(first, own))
            place = b.add(place, (number_of(w.low) + first) * step)
        if 0 not in extents:
            shape = (*extents,)
            source = Stored(shape, x.array, offset, x.strides[1:], False)
            copy_in_order(b, source, Stored(shape, copy.array, place, self.steps, False))
        return Address(copy.array, copy.offset)

    def _tiles(self, source: Address, kernel: Address, out: Address) -> None:
        """Pieces of a run one after the other, of each all columns: so it stays in the nearest cache. The last piece
        begins earlier where it would reach beyond the run."""
        b, form = self.b, self.form
        whole, rest = divmod(self.columns, form.columns)
        with maybe_loop(b, -(-self.run // form.width)) as i:
            start = smaller(b, b.mul(i, form.width), self.run - form.width)
            plane, to = moved(b, source, start), moved(b, out, start)
            if whole:
                with maybe_loop(b, whole) as block:
                    first = b.mul(block, form.columns)
                    self._tile(form.columns, first, plane, kernel, to)
            if rest:
                self._tile(rest, whole * form.columns, plane, kernel, to)

    def _tile(self, columns: int, first: Operand, plane: Address, kernel: Address, out: Address) -> None:
        b, form, step = self.b, self.form, number_of(self.kernel.strides[0])
        tile = Tile(self.x.type, columns, 1, step, 0, form.vectors, form.lanes, len(self.terms))
        numbers = [0, self.pitch, 0, *(n for axis in self.terms for n in axis)]
        places = moved(b, kernel, b.mul(first, step)), plane, moved(b, out, b.mul(first, self.pitch))
        b.call(tile.name, [*places, *(Typed("i64", n) for n in numbers)])

    def _made(self, shape: Extents) -> Stored:
        found = self.block.fresh(shape, self.x.type)
        self.scratch.append(found)
        return found

    def release(self) -> None:
        for made in self.scratch:
            self.block.give_back(made.array, count_of(self.b, made.shape))


def moved(b: Builder, place: Address, by: Operand) -> Address:
    """The place that many elements further on."""
    return Address(place.array, b.add(place.index, by))


__all__ = ["convolved", "serves"]
