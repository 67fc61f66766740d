"""Convolutions of known geometry: sums over windows where they lie, tile by tile (`microtiles.py`).

A convolution is a product of matrices whose left one need not exist: a row of it (an image and a position) and a term
(a channel and a tap) each make a step in the operand, and the two steps add up. So windows are read in place: from a
copy with the zeros around the images and between their elements put in, or from the operand itself where there are
none. Vectors run along the channels of the result, which lie side by side in it and in the kernel, packed if need be.
Both gradients are convolutions of the same family; for the one with respect to the kernel the rows are its taps and
input channels, and the terms all positions of all images.

Axes of rows and of terms are ordered as the operand lies in memory. Terms are taken in portions that stay in the cache
beside a block of columns. Each element of the result is one sum, in an order that the extents alone decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import NamedTuple

from ...._core.graph import Node
from ..builder import Builder
from ..forms import Extents, Stored, count_of, is_numbers, row_major, unflattened
from ..loops import FLOATS, WIDTHS, Address, Operand, Typed
from ..microtiles import Tile, most_lanes, most_rows
from . import nests
from .blocks import Block
from .orders import fresh_in, readers_order
from .ranges import smaller

LEAST = 1 << 14  # multiplications from which on tiles are worth the functions that they take
LEAST_LANES = 4
CACHED = 1 << 18  # bytes of the kernel that a portion of terms takes, for one block of columns
SCRATCH = 1 << 23  # bytes of images with their zeros, or of results in another order, at a time
PITCH = 1 << 10  # bytes between terms of the kernel from which on it is packed: they would get into each other's way
ROWS = 256  # of a task, about
PARTS = 8  # of the images
FEW = 8  # positions of an image that are too few for tiles
TASKS = 4  # where each reads all terms
UNKNOWN = 16  # an extent that only a run tells counts as so many
WORTH = 16  # multiplications that take as long as what `work` counts


class Window(NamedTuple):
    """One spatial axis: position p and tap k read element (p stride + k dilation - low) / spread, or a zero."""

    size: Operand
    positions: Operand
    taps: Operand
    stride: int
    low: Operand
    dilation: int
    spread: int


class Shape(NamedTuple):
    """A convolution's extents beside its windows: images and channels of the operand and columns, which are channels
    of the result, in each group, and the groups of channels and of images."""

    images: Operand
    channels: Operand
    columns: Operand
    groups: int
    batch_groups: int


class _Axis(NamedTuple):
    """An axis of rows or terms: its extent, and the steps in the operand and in the result or the kernel."""

    extent: Operand
    step: int
    other: int


class _Columns(NamedTuple):
    """Blocks of columns of one width: the first column, how many blocks, vectors of each, lanes of each vector."""

    first: int
    blocks: int
    vectors: int
    lanes: int

    @property
    def width(self) -> int:
        return self.vectors * self.lanes


class _Kernel(NamedTuple):
    """The kernel for blocks of columns: its elements, the step for each axis of terms, and where a part's block is."""

    x: Stored
    steps: dict[int, int]
    place: Callable[[Operand, Operand], Operand]


class _Slices(NamedTuple):
    """Terms in portions: axes around, the axis that is cut and into runs of how many, and the axes inside."""

    outer: list[_Axis]
    cut: _Axis | None
    most: int
    inner: list[_Axis]


class _Portion(NamedTuple):
    """Some of the terms: where they begin in the operand and in the kernel, and whether any were before them."""

    source: Operand
    kernel: Operand
    keeps: Operand
    terms: list[_Axis]


class _Grid(NamedTuple):
    """Rows cut into tiles of `height` by `width` along the last axes; the other axes are around them."""

    outer: list[_Axis]
    down: _Axis
    along: _Axis
    height: int
    width: int

    @property
    def lines(self) -> Extents:
        """The extents of what is around a line of tiles."""
        return (*[a.extent for a in self.outer], -(-_int(self.down.extent) // self.height))


def serves(x: Stored, kernel: Stored, shape: Shape, windows: Sequence[Window]) -> bool:
    """Whether tiles can compute a convolution, and are worth it."""
    if x.type not in FLOATS or type(shape.columns) is not int or shape.columns < 2 or not windows:
        return False
    known = [*(n for w in windows for n in (w.size, w.positions, w.taps, w.low)), *x.strides, *kernel.strides]
    if not is_numbers(known) or not is_numbers([x.shape[a] for a in _memory_order(x)[1:]]):
        return False
    if type(shape.images) is not int and (shape.batch_groups > 1 or all(w.positions == 1 for w in windows)):
        return False
    extents = [shape.images, shape.channels, shape.columns, *(n for w in windows for n in (w.positions, w.taps))]
    return prod(n if type(n) is int else UNKNOWN for n in extents) >= LEAST


def convolved(
    block: Block, node: Node, x: Stored, kernel: Stored, shape: Shape, windows: Sequence[Window]
) -> Stored:  # fmt: skip
    """The convolution of an operand (images, channels, *spatial) and a kernel (columns, channels, *taps)."""
    return _Convolution(block, node, x, kernel, shape, windows).run()


class _Convolution:
    """One convolution on its way into loops.

    Attributes:
        order: the operand's axes as they lie in memory.
        steps: the step of each, in the operand or its copy with zeros.
        pitch: the step in the result's memory from row to row.
    """

    def __init__(
        self, block: Block, node: Node, x: Stored, kernel: Stored, shape: Shape, windows: Sequence[Window]
    ) -> None:  # fmt: skip
        self.block, self.b, self.node = block, block.b, node
        self.x, self.kernel, self.shape, self.windows = x, kernel, shape, windows
        self.order = _memory_order(x)
        self.row_axes = [a for a in self.order if a != 1]
        self.term_axes = [a for a in self.order if a != 0]
        self.is_copied = not all(map(_is_inside, windows))
        self.steps = self._steps()
        self.columns = _columns(_int(shape.columns), most_lanes(x.type))
        self.parts = shape.groups * shape.batch_groups
        self.pitch = self.parts * sum(c.blocks * c.width for c in self.columns)
        self.scratch: list[Stored] = []
        self.target, self.is_direct = self._target()
        self.kernels = [self._kernel(c) for c in self.columns]

    def run(self) -> Stored:
        """Emits it."""
        images, size = self.shape.images, self._image_size()
        known, positions = images if type(images) is int else None, prod(_int(w.positions) for w in self.windows)
        if self._has_many_channels():
            self._by_channels()
        elif size and PARTS * size <= SCRATCH and positions >= FEW and not _is_few(known):
            self._one_by_one()
        elif size and positions > 1 and (known is None or known * size > SCRATCH):
            self._some_at_a_time(max(1, SCRATCH // size))
        else:
            copy, room = self._copies(images), self._room(images)
            self._clear(copy)
            self._images(copy, room, 0, images)
        self._release()
        return self.target

    def _image_size(self) -> int:
        """How many bytes of copies an image takes; 0 for none, or where images do not lie one behind the other."""
        if self.order[0] != 0 or self.shape.batch_groups > 1:
            return 0
        elements = _int(self.steps[0]) if self.is_copied else 0
        return (elements + (0 if self.is_direct else self._out_steps()[0])) * WIDTHS[self.x.type]

    def _one_by_one(self) -> None:
        """Image after image in a few parts, which may be done in threads: copies of an image stay in the cache."""
        b, whole = self.b, self.shape.images
        each = b.divided(b.add(whole, PARTS - 1), PARTS)
        copies, rooms = self._copies(PARTS), self._room(PARTS)
        with b.loop(0, PARTS, self._work()) as part:
            first = smaller(b, b.mul(part, each), whole)
            copy, room = (made and made.row(b, part) for made in (copies, rooms))
            self._clear(copy)
            with b.loop(first, smaller(b, b.add(first, each), whole)) as i:
                self._images(copy, room, i, 1)

    def _some_at_a_time(self, most: int) -> None:
        """As many images as memory for copies is wanted."""
        b, whole = self.b, self.shape.images
        copy, room = self._copies(most), self._room(most)
        self._clear(copy)
        with b.loop(0, b.divided(b.add(whole, most - 1), most)) as i:
            start = b.mul(i, most)
            self._images(copy, room, start, smaller(b, most, b.sub(whole, start)))

    def _has_many_channels(self) -> bool:
        """Whether channels lie one behind the other, as the images of a gradient with respect to a kernel do, and the
        result is small enough to have a few of it."""
        channels = self.shape.channels
        if self.order[0] != 1 or self.parts > 1 or _is_few(channels):
            return False
        elements = prod(map(_int, self._row_extents(self.shape.images))) * self.pitch
        copy = _int(self.steps[1]) if self.is_copied else 0
        return PARTS * (elements + copy) * WIDTHS[self.x.type] <= SCRATCH

    def _by_channels(self) -> None:
        """Channel after channel in a few parts, which may be done in threads; then the sums of the parts."""
        b, whole = self.b, self.shape.channels
        each = b.divided(b.add(whole, PARTS - 1), PARTS)
        rows = self._row_extents(self.shape.images)
        copies = self._copies(self.shape.images, PARTS)
        totals = self._scratch((PARTS, *rows, self.pitch))
        with b.loop(0, PARTS, self._work()) as part:
            first = smaller(b, b.mul(part, each), whole)
            copy, total = copies and copies.row(b, part), totals.row(b, part)
            self._clear(copy)
            self._clear(total)
            with b.loop(first, smaller(b, b.add(first, each), whole)) as channel:
                source = self._placed(copy, 0, self.shape.images, channel)
                for columns, kernel in zip(self.columns, self.kernels, strict=True):
                    axes = self._rows(self.shape.images)
                    _Product(self, columns, kernel, source, total, axes, channel).emit()
        out = self.target if self.is_direct else totals.row(b, 0)
        self._add_up(totals, out)
        if not self.is_direct:
            self._put(out, 0, self.shape.images)

    def _add_up(self, totals: Stored, out: Stored) -> None:
        """The sums of all parts, in their order."""
        b, count = self.b, count_of(self.b, totals.shape[1:])
        with b.loop(0, count, b.mul(count, PARTS)) as i:
            total: Operand = b.load(totals.array, b.add(totals.offset, i))
            for part in range(1, PARTS):
                term = b.load(totals.array, b.add(b.add(totals.offset, b.mul(count, part)), i))
                total = b.let("add", out.type, total, term)
            b.store(out.array, b.add(out.offset, i), total)

    def _work(self) -> Operand:
        b, shape = self.b, self.shape
        positions = [n for w in self.windows for n in (w.positions, w.taps)]
        each = b.mul(count_of(b, (*positions, self.parts)), _int(shape.columns))
        return b.divided(b.mul(b.mul(shape.images, shape.channels), each), WORTH)

    def _images(self, copy: Stored | None, room: Stored | None, start: Operand, count: Operand) -> None:
        """Some of the images, their copies with zeros in one scratch, their results in another one or in place."""
        b = self.b
        source = self._placed(copy, start, count)
        out = room
        if out is None:
            out = Stored((), self.target.array, b.add(self.target.offset, b.mul(start, self._out_steps()[0])), ())
        for columns, kernel in zip(self.columns, self.kernels, strict=True):
            _Product(self, columns, kernel, source, out, self._rows(count)).emit()
        if room is not None:
            self._put(room, start, count)

    # -- the result -----------------------------------------------------------------------------------------------

    def _target(self) -> tuple[Stored, bool]:
        """Where the result goes, in the order of its readers, and whether tiles can be written there."""
        block, value = self.block, self.node.outputs[0]
        extents = block.shape(value)
        order = [*range(len(extents))]
        read = None if value.key in block.targets else readers_order(block.graph, value)
        target = block.room(value) if read is None else fresh_in(block, extents, read, self.x.type)
        own = [a for a in [*self.row_axes, 1] if not _is_one(extents[a])]
        is_direct = own == [a for a in read or order if not _is_one(extents[a])]
        return target, is_direct and self.pitch == self.parts * _int(self.shape.columns)

    def _row_extents(self, images: Operand) -> Extents:
        extents = (images, 0, *[w.positions for w in self.windows])
        return (*[extents[a] for a in self.row_axes],)

    def _out_steps(self) -> dict[int, int]:
        """For each axis of the rows the step in the result's memory; the axis of an unknown extent comes first."""
        steps = row_major((*self._row_extents(self.shape.images), self.pitch))
        return {axis: _int(step) for axis, step in zip(self.row_axes, steps, strict=False)}

    def _rows(self, images: Operand) -> list[_Axis]:
        strides, others = (1, 0, *[w.stride for w in self.windows]), self._out_steps()
        extents = self._row_extents(images)
        axes = [
            _Axis(n, strides[a] * _int(self.steps[a]), others[a])
            for n, a in zip(extents, self.row_axes, strict=True)
        ]  # fmt: skip
        return _merged(axes)

    def _put(self, out: Stored, start: Operand, count: Operand) -> None:
        """What tiles have written, to where it is wanted."""
        b, target, columns = self.b, self.target, _int(self.shape.columns)
        steps = self._out_steps()
        lead = (count, *[w.positions for w in self.windows])
        from_steps = (steps[0], *[steps[a] for a in range(2, len(self.order))])
        to_steps = (target.strides[0], *target.strides[2:])
        to = b.add(target.offset, b.mul(start, target.strides[0]))
        shape = (self.parts, columns, *lead)
        source = Stored(shape, out.array, out.offset, (self.pitch // self.parts, 1, *from_steps), False)
        step = target.strides[1]
        found = Stored(shape, target.array, to, (b.mul(step, columns), step, *to_steps), False)
        _copy(b, source, found)

    # -- the operand ----------------------------------------------------------------------------------------------

    def _steps(self) -> Extents:
        if not self.is_copied:
            return self.x.strides
        extents = (*self.x.shape[:2], *map(_reach, self.windows))
        found: list[Operand] = [0] * len(extents)
        for axis, step in zip(self.order, row_major((*[extents[a] for a in self.order],)), strict=True):
            found[axis] = step
        return (*found,)

    def _room(self, images: Operand) -> Stored | None:
        """Memory for results that are put into another order."""
        return None if self.is_direct else self._scratch((*self._row_extents(images), self.pitch))

    def _copies(self, images: Operand, channels: Operand | None = None) -> Stored | None:
        """Memory for copies with zeros."""
        if not self.is_copied:
            return None
        channels = self.x.shape[1] if channels is None else channels
        extents = (self.b.mul(images, self.shape.batch_groups), channels, *map(_reach, self.windows))
        return self._scratch((*[extents[a] for a in self.order],))

    def _clear(self, copy: Stored | None) -> None:
        """Puts the zeros where they will be, and everywhere else."""
        if copy is not None:
            self.b.fill(copy.array, copy.offset, count_of(self.b, copy.shape))

    def _placed(
        self, copy: Stored | None, start: Operand, count: Operand, channel: Operand | None = None
    ) -> Stored:  # fmt: skip
        """The operand (or one channel of it) where its windows can be read; the first window begins at its offset."""
        b, x = self.b, self.x
        count = b.mul(count, self.shape.batch_groups)
        offset = b.add(x.offset, b.mul(start, x.strides[0]))
        if channel is not None:
            offset = b.add(offset, b.mul(channel, x.strides[1]))
        if copy is None:
            for w, step in zip(self.windows, x.strides[2:], strict=True):
                offset = b.sub(offset, b.mul(w.low, step))
            return Stored(x.shape, x.array, offset, x.strides, False)
        place: Operand = copy.offset
        extents, strides = [count, x.shape[1] if channel is None else 1], [*self.steps[:2]]
        for w, step, own in zip(self.windows, self.steps[2:], x.strides[2:], strict=True):
            first, n = _seen(w)
            extents.append(n)
            strides.append(b.mul(step, w.spread))
            offset = b.add(offset, b.mul(first, own))
            place = b.add(place, b.mul(_int(w.low) + first * w.spread, step))
        if 0 not in extents:
            shape = (*extents,)
            source = Stored(shape, x.array, offset, x.strides, False)
            _copy(b, source, Stored(shape, copy.array, place, (*strides,), False))
        return copy

    # -- the kernel -----------------------------------------------------------------------------------------------

    def _kernel(self, columns: _Columns) -> _Kernel:
        b, kernel, width = self.b, self.kernel, _int(self.shape.columns)
        if self._is_packed():
            return self._packed(columns)
        def place(part: Operand, block: Operand) -> Operand:
            column = b.add(b.mul(part, width), b.add(columns.first, b.mul(block, columns.width)))
            return b.add(kernel.offset, column)

        return _Kernel(kernel, dict(enumerate(map(_int, kernel.strides))), place)

    def _is_packed(self) -> bool:
        """Whether blocks of columns are copied: where columns lie apart, or terms so far that caches suffer from it."""
        kernel = self.kernel
        if _int(kernel.strides[0]) != 1 or self.pitch != self.parts * _int(self.shape.columns):
            return True
        steps = [abs(_int(s)) for n, s in zip(kernel.shape[1:], kernel.strides[1:], strict=True) if not _is_one(n)]
        far = min(steps, default=0) * WIDTHS[kernel.type] >= PITCH
        images = self.shape.images if type(self.shape.images) is int else UNKNOWN
        rows = images * prod(_int(w.positions) for w in self.windows)
        return far and rows > ROWS

    def terms(self, others: dict[int, int], channels: Operand) -> list[_Axis]:
        """The axes of terms, with steps in a kernel."""
        extents = (0, channels, *[w.taps for w in self.windows])
        gaps = (0, 1, *[w.dilation for w in self.windows])
        axes = [_Axis(extents[a], gaps[a] * _int(self.steps[a]), others[a]) for a in self.term_axes]
        return _merged(axes) or [_Axis(1, 0, 0)]

    def _packed(self, columns: _Columns) -> _Kernel:
        """Blocks of columns, one behind the other: for each term the columns of a block side by side."""
        b, kernel, width = self.b, self.kernel, columns.width
        extents = (*[kernel.shape[a] for a in self.term_axes],)
        steps = row_major((*extents, width))
        made = self._scratch((self.parts, columns.blocks, *extents, width))
        count = b.mul(count_of(b, extents), width)
        here = min(columns.blocks * width, _int(self.shape.columns) - columns.first)
        if here < columns.blocks * width:
            b.fill(made.array, 0, count_of(b, made.shape))
        own = kernel.strides[0]
        for block, blocks, some in ((0, here // width, width), (here // width, here % width and 1, here % width)):
            if blocks:
                start = b.add(kernel.offset, b.mul(columns.first + block * width, own))
                step = (b.mul(own, self.shape.columns), b.mul(own, width))
                inner = (*[kernel.strides[a] for a in self.term_axes], own)
                shape = (self.parts, blocks, *extents, some)
                to = (b.mul(count, columns.blocks), count, *steps)
                source = Stored(shape, kernel.array, start, (*step, *inner), False)
                _copy(b, source, Stored(shape, made.array, b.mul(count, block), to, False))

        def place(part: Operand, block: Operand) -> Operand:
            return b.mul(count, b.add(b.mul(part, columns.blocks), block))

        return _Kernel(made, dict(zip(self.term_axes, map(_int, steps), strict=False)), place)

    # -- memory ---------------------------------------------------------------------------------------------------

    def _scratch(self, shape: Extents) -> Stored:
        made = self.block.fresh(shape, self.x.type)
        self.scratch.append(made)
        return made

    def _release(self) -> None:
        for made in self.scratch:
            self.block.free.setdefault((made.type, count_of(self.b, made.shape)), []).append(made.array)


class _Product:
    """The tiles of some blocks of columns; those of one channel are added to what is there."""

    def __init__(
        self, whole: _Convolution, columns: _Columns, kernel: _Kernel, source: Stored, out: Stored, rows: list[_Axis],
        channel: Operand | None = None,
    ) -> None:  # fmt: skip
        self.b, self.whole = whole.b, whole
        self.columns, self.kernel, self.source, self.out = columns, kernel, source, out
        self.channel = channel
        self.grid = _grid(rows, most_rows(columns.vectors))
        self.terms = whole.terms(kernel.steps, whole.shape.channels if channel is None else 1)
        self.slices = _slices(self.terms, columns.width * WIDTHS[out.type])

    def emit(self) -> None:
        """The loops of tasks, which may run in threads, in each group."""
        b, shape, steps = self.b, self.whole.shape, self.whole.steps
        lines = count_of(b, self.grid.lines)
        height = self.grid.height * _int(self.grid.along.extent)
        lines_each: Operand = max(1, ROWS // height)
        if self.slices.cut is not None:
            lines_each = b.divided(b.add(lines, TASKS - 1), TASKS)
        tasks = b.divided(b.sub(b.add(lines, lines_each), 1), lines_each)
        terms = count_of(b, (*[a.extent for a in self.terms],))
        work = b.mul(b.mul(lines, terms), max(1, height * self.columns.blocks * self.columns.width // WORTH))
        images = b.mul(shape.images, steps[0])
        with _maybe_loop(b, shape.batch_groups) as many, _maybe_loop(b, shape.groups) as group:
            start = b.add(b.mul(many, images), b.mul(group, b.mul(shape.channels, steps[1])))
            part = b.add(b.mul(many, shape.groups), group)
            first_column = b.add(b.mul(part, self.whole.pitch // self.whole.parts), self.columns.first)
            with b.loop(0, b.mul(tasks, self.columns.blocks), work) as task:
                block = b.remainder(task, self.columns.blocks)
                first = b.mul(b.divided(task, self.columns.blocks), lines_each)
                last = smaller(b, b.add(first, lines_each), lines)
                column = b.add(first_column, b.mul(block, self.columns.width))
                kernel = self.kernel.place(part, block)
                if self.channel is not None:
                    kernel = b.add(kernel, b.mul(self.channel, self.kernel.steps[1]))
                self._task(first, last, start, kernel, column)

    def _task(self, first: Operand, last: Operand, start: Operand, kernel: Operand, column: Operand) -> None:
        """Some lines of tiles of one block of columns, portion after portion of the terms."""
        b = self.b
        with _portions(b, self.slices) as portion, b.loop(first, last) as line:
            a, c = b.add(self.source.offset, start), b.add(self.out.offset, column)
            *places, down = unflattened(b, self.grid.lines, line)
            for axis, i in zip(self.grid.outer, places, strict=True):
                a, c = b.add(a, b.mul(i, axis.step)), b.add(c, b.mul(i, axis.other))
            self._line(portion, down, a, b.add(kernel, portion.kernel), c)

    def _line(self, portion: _Portion, down: Operand, a: Operand, kernel: Operand, c: Operand) -> None:
        b, grid = self.b, self.grid
        whole, rest = divmod(_int(grid.down.extent), grid.height)
        row = b.mul(down, grid.height)
        a, c = b.add(a, b.mul(row, grid.down.step)), b.add(c, b.mul(row, grid.down.other))
        a = b.add(a, portion.source)
        if not rest:
            self._tiles(portion, grid.height, a, kernel, c)
            return
        with b.when(b.let("lt", "i64", down, whole)) as branch:
            self._tiles(portion, grid.height, a, kernel, c)
        with b.inside(branch.other):
            self._tiles(portion, rest, a, kernel, c)

    def _tiles(self, portion: _Portion, height: int, a: Operand, kernel: Operand, c: Operand) -> None:
        """A line of tiles."""
        b, along, width = self.b, self.grid.along, self.grid.width
        whole, rest = divmod(_int(along.extent), width)
        with _maybe_loop(b, whole) as i:
            start = b.mul(i, width)
            place = b.add(a, b.mul(start, along.step)), kernel, b.add(c, b.mul(start, along.other))
            self._tile(portion, height, width, place)
        if rest:
            start = whole * width
            place = b.add(a, start * along.step), kernel, b.add(c, start * along.other)
            self._tile(portion, height, rest, place)

    def _tile(
        self, portion: _Portion, height: int, width: int, place: tuple[Operand, Operand, Operand]
    ) -> None:  # fmt: skip
        grid, columns, terms = self.grid, self.columns, portion.terms
        tile = Tile(
            self.out.type, height, width, grid.down.step, grid.along.step, columns.vectors, columns.lanes, len(terms)
        )
        keeps = portion.keeps if self.channel is None else 1
        numbers = [keeps, grid.down.other, grid.along.other, *(n for axis in terms for n in axis)]
        arrays = (self.source.array, self.kernel.x.array, self.out.array)
        addresses = [Address(array, at) for array, at in zip(arrays, place, strict=True)]
        self.b.call(tile.name, [*addresses, *(Typed("i64", n) for n in numbers)])


# -- cutting ----------------------------------------------------------------------------------------------------------


def _grid(rows: list[_Axis], most: int) -> _Grid:
    """Tiles of about equal size, of as many rows as there are registers for."""
    nothing = _Axis(1, 0, 0)
    *outer, along = rows or [nothing]
    width = _even(_int(along.extent), most)
    if width == along.extent and outer and type(outer[-1].extent) is int:
        height = _even(outer[-1].extent, max(1, most // width))
        if height > 1:
            return _Grid(outer[:-1], outer[-1], along, height, width)
    return _Grid(outer, nothing, along, 1, width)


def _even(extent: int, most: int) -> int:
    """The size of pieces of about equal size, none larger than the most."""
    return -(-extent // -(-extent // most))


def _columns(columns: int, lanes: int) -> list[_Columns]:
    """Columns as vectors, mostly two or three side by side."""
    while lanes > LEAST_LANES and 2 * columns <= lanes:
        lanes //= 2
    count = -(-columns // lanes)
    if count <= 3:
        return [_Columns(0, 1, count, lanes)]
    if count % 2 == 0:
        return [_Columns(0, count // 2, 2, lanes)]
    if count % 3 == 0:
        return [_Columns(0, count // 3, 3, lanes)]
    pairs = (count - 3) // 2
    return [_Columns(0, pairs, 2, lanes), _Columns(pairs * 2 * lanes, 1, 3, lanes)]


def _slices(terms: list[_Axis], size: int) -> _Slices:
    """Portions of terms whose part of the kernel stays in the cache; a term takes so many bytes there."""
    for depth in range(len(terms) - 1, -1, -1):
        axis = terms[depth]
        if type(axis.extent) is not int or size * axis.extent > CACHED:
            most = max(1, CACHED // size)
            if type(axis.extent) is int:
                most = _even(axis.extent, most)
            return _Slices(terms[:depth], axis, most, terms[depth + 1 :])
        size *= axis.extent
    return _Slices([], None, 0, terms)


@contextmanager
def _portions(b: Builder, slices: _Slices) -> Iterator[_Portion]:
    """`with _portions(b, slices) as portion:` what is emitted inside runs for each of them."""
    if slices.cut is None:
        yield _Portion(0, 0, 0, slices.inner)
        return
    with _loops(b, [a.extent for a in slices.outer]) as index:
        cut, most = slices.cut, slices.most
        with b.loop(0, _at_least_one(b, b.divided(b.add(cut.extent, most - 1), most))) as i:
            first = b.mul(i, most)
            count = smaller(b, most, b.sub(cut.extent, first))
            source, kernel, before = b.mul(first, cut.step), b.mul(first, cut.other), i
            for axis, place in zip(slices.outer, index, strict=True):
                source, kernel = b.add(source, b.mul(place, axis.step)), b.add(kernel, b.mul(place, axis.other))
                before = b.add(before, place)
            keeps = b.select("i64", b.let("gt", "i64", before, 0), 1, 0)
            yield _Portion(source, kernel, keeps, [_Axis(count, cut.step, cut.other), *slices.inner])


def _at_least_one(b: Builder, count: Operand) -> Operand:
    """A sum of nothing is computed, too."""
    return max(count, 1) if type(count) is int else b.select("i64", b.let("lt", "i64", count, 1), 1, count)


@contextmanager
def _loops(b: Builder, extents: Sequence[Operand]) -> Iterator[list[Operand]]:
    if not extents:
        yield []
        return
    with b.loop(0, extents[0]) as i, _loops(b, extents[1:]) as rest:
        yield [i, *rest]


@contextmanager
def _maybe_loop(b: Builder, count: int) -> Iterator[Operand]:
    """A loop, unless it has one turn."""
    if count == 1:
        yield 0
    else:
        with b.loop(0, count) as i:
            yield i


# -- axes -------------------------------------------------------------------------------------------------------------


def _int(x: Operand) -> int:
    assert type(x) is int
    return x


def _is_one(n: Operand) -> bool:
    return type(n) is int and n == 1


def _is_few(n: Operand | None) -> bool:
    """Whether there is less than an image for each second part."""
    return type(n) is int and n <= PARTS // 2


def _memory_order(x: Stored) -> list[int]:
    """The axes, the largest step first."""
    return sorted(range(len(x.shape)), key=lambda a: -abs(_int(x.strides[a])) if x.shape[a] != 1 else 0)


def _merged(axes: list[_Axis]) -> list[_Axis]:
    """Neighbouring axes as one where their steps allow it; those of one element go."""
    found: list[_Axis] = []
    for axis in axes:
        if _is_one(axis.extent):
            continue
        last = found[-1] if found else None
        n = axis.extent
        if last is None or type(n) is not int or type(last.extent) is not int:
            found.append(axis)
        elif last.step == n * axis.step and last.other == n * axis.other:
            found[-1] = _Axis(last.extent * n, axis.step, axis.other)
        else:
            found.append(axis)
    return found


def _reach(window: Window) -> int:
    """How many elements, zeros included, the windows of an axis see."""
    return (_int(window.positions) - 1) * window.stride + (_int(window.taps) - 1) * window.dilation + 1


def _is_inside(window: Window) -> bool:
    """Whether all that windows see are elements."""
    low = _int(window.low)
    return (window.spread == 1 or _is_one(window.size)) and low <= 0 and _reach(window) - low <= _int(window.size)


def _seen(window: Window) -> tuple[int, int]:
    """The first element that windows may see, and how many there are from it on."""
    low, spread = _int(window.low), window.spread
    first = -(-max(0, -low) // spread)
    behind = max(first, min(_int(window.size), -(-(_reach(window) - low) // spread)))
    return first, behind - first


# -- order in memory --------------------------------------------------------------------------------------------------


def _copy(b: Builder, source: Stored, target: Stored) -> None:
    """Copies elements in the order of the target's memory, neighbouring axes as one where that can be."""
    order = range(len(target.shape))
    if is_numbers(target.strides):
        order = sorted(order, key=lambda a: -abs(_int(target.strides[a])))
    shape, to, own = ([x[a] for a in order] for x in (target.shape, target.strides, source.strides))
    if is_numbers([*to, *own]):
        axes = _merged([_Axis(n, _int(s), _int(t)) for n, s, t in zip(shape, own, to, strict=True)])
        shape, own, to = ([axis[i] for axis in axes] for i in range(3))
    nests.copy(
        b, Stored((*shape,), source.array, source.offset, (*own,), False),
        Stored((*shape,), target.array, target.offset, (*to,), False),
    )  # fmt: skip


__all__ = ["Shape", "Window", "convolved", "serves"]
