"""Convolutions of known geometry, computed directly: windows are read where they lie, tile by tile.

Tiles are those of `llvm/microtiles.py`; `convolution_products.py` emits the loops over them.

A convolution is a product of matrices whose left one need not exist: a row of it (an image and a position) and a term
(a channel and a tap) each make a step in the operand, and the two steps add up. So windows are read in place: from a
copy with the zeros around the images and between their elements put in, or from the operand itself where there are
none. Vectors run along the channels of the result, which lie side by side in it and in the kernel, packed if need be.
Both gradients are convolutions of the same family; for the one with respect to the kernel the rows are its taps and
input channels, and the terms all positions of all images.

Axes of rows and of terms are ordered as the operand lies in memory, but for channels before places: such images are
copied with the channels last, so that a term is next to the one before. Terms are taken in portions that stay in the
cache beside a block of columns. Each element of the result is one sum, in an order that the extents alone decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from ...._core.tensor import Value
from ..ir.builder import Builder
from ..ir.loops import FLOATS, WIDTHS, Operand
from ..llvm.vectors import most_lanes
from . import nests
from .blocks import Block
from .convolution_products import CACHED, ROWS, WORTH, ConvolutionLayout, Kernel, Product, Shape
from .convolution_tiling import LEAST_LANES, PARTS, PITCH, Axis, Columns, columns_of, merged
from .depthwise import Lanes
from .forms import Extents, Lazy, Stored, count_of, is_numbers, row_major
from .layouts import copy_in_order, fresh_in, memory_order, readers_order
from .ranges import is_one, number_of, smaller
from .standalone import is_alone
from .window_geometry import Phase, Window, is_inside, phases_of, reach, seen

LEAST = 1 << 14  # multiplications from which on tiles are worth the functions that they take
SCRATCH = 1 << 23  # bytes of images with their zeros, or of results in another order, at a time
FEW = 8  # positions of an image that are too few for tiles
UNKNOWN = 16  # an extent that only a run tells counts as so many
RUN = 4  # channels that are worth it to have side by side
MOST_PHASES = 16  # functions of tiles for each


def serves(x: Stored, kernel: Stored, shape: Shape, windows: Sequence[Window]) -> bool:
    """Whether tiles can compute a convolution, and are worth it."""
    if is_alone() or x.type not in FLOATS or type(shape.columns) is not int or not windows:
        return False
    if shape.columns < 1 or (is_depthwise(shape) and not _have_lanes(x, shape)):
        return False
    known = [*(n for w in windows for n in (w.size, w.positions, w.taps, w.low)), *x.strides, *kernel.strides]
    if not is_numbers(known) or not is_numbers([x.shape[a] for a in memory_order(x)[1:]]):
        return False
    if type(shape.images) is not int and (shape.batch_groups > 1 or all(w.positions == 1 for w in windows)):
        return False
    extents = [*shape, *(n for w in windows for n in (w.positions, w.taps))]
    return prod(n if type(n) is int else UNKNOWN for n in extents) >= LEAST


def is_depthwise(shape: Shape) -> bool:
    """Whether there are many groups of one column each."""
    return shape.groups * shape.batch_groups > 1 and is_one(shape.columns)


def _have_lanes(x: Stored, shape: Shape) -> bool:
    """Whether groups of one channel are neighbours, or are enough to be copied as such: one by one they take four times
    as long."""
    axis, each = _groups_axis(shape), shape.channels if shape.groups > 1 else shape.images
    if 1 not in (shape.groups, shape.batch_groups) or not is_one(each):
        return False
    return is_one(x.strides[axis]) or shape.groups * shape.batch_groups >= LEAST_LANES


def _groups_axis(shape: Shape) -> int:
    """The axis of the operand along which the groups of a depthwise convolution lie."""
    return 1 if shape.groups > 1 else 0


def convolved(
    block: Block, target: Stored, x: Stored, kernel: Stored, shape: Shape, windows: Sequence[Window]
) -> None:  # fmt: skip
    """Emits the convolution of an operand (images, channels, *spatial) and a kernel (columns, channels, *taps)."""
    phases = [*map(phases_of, windows)]
    if prod(map(len, phases)) > MOST_PHASES:
        phases = [[Phase(w, 0, 1, 0, 1)] for w in windows]
    if prod(map(len, phases)) > 1 and is_numbers(target.shape) and not is_one(target.strides[1]):
        # phases lie between each other, so they are turned together
        made = fresh_in(block, target.shape, (0, *range(2, len(target.shape)), 1), target.type)
        convolved(block, made, x, kernel, shape, windows)
        copy_in_order(block.b, made, target)
        block.give_back(made.array, count_of(block.b, made.shape))
        return
    for chosen in product(*phases):
        inner = [p.window for p in chosen]
        of_target = every(block.b, target, [p.places for p in chosen], [w.positions for w in inner])
        of_kernel = every(block.b, kernel, [p.kernel_places for p in chosen], [w.taps for w in inner])
        if 0 in of_kernel.shape[2:]:
            nests.copy(block.b, Lazy(of_target.shape, x.type, lambda b, index: 0.0), of_target)
        else:
            _Convolution(block, of_target, x, of_kernel, shape, inner).run()


def target_of(block: Block, value: Value, type_: str) -> Stored:
    """Where the result goes, in the order of its readers."""
    order = None if value.key in block.targets else readers_order(block, value)
    return block.room(value) if order is None else fresh_in(block, block.shape(value), order, type_)


def every(b: Builder, x: Stored, cuts: Sequence[tuple[int, int]], extents: Sequence[Operand]) -> Stored:
    """Some elements along the axes behind the first two, from a first on with a step."""
    offset, strides = x.offset, [*x.strides[:2]]
    for (first, step), own in zip(cuts, x.strides[2:], strict=True):
        offset = b.add(offset, b.mul(first, own))
        strides.append(b.mul(step, own))
    return Stored((*x.shape[:2], *extents), x.array, offset, (*strides,), False)


class _Convolution:
    """One convolution on its way into loops.

    Attributes:
        order: the operand's axes as they lie in memory.
        steps: the step of each, in the operand or its copy with zeros.
        pitch: the step in the result's memory from row to row.
    """

    def __init__(
        self, block: Block, target: Stored, x: Stored, kernel: Stored, shape: Shape, windows: Sequence[Window]
    ) -> None:  # fmt: skip
        self.block, self.b, self.target = block, block.b, target
        self.x, self.kernel, self.shape, self.windows = x, kernel, shape, windows
        self.order = _order_of(x, shape)
        self.row_axes = [a for a in self.order if a != 1]
        self.term_axes = [a for a in self.order if a != 0]
        self.is_copied = self.order != memory_order(x) or not all(map(is_inside, windows))
        self.steps = self._steps()
        self.columns = [] if is_depthwise(shape) else columns_of(number_of(shape.columns), most_lanes(x.type))
        self.parts = shape.groups * shape.batch_groups
        self.pitch = self.parts * (sum(c.blocks * c.width for c in self.columns) or 1)
        self.scratch: list[Stored] = []
        self.is_direct = self._is_direct()
        self.kernels = [self._kernel(c) for c in self.columns]
        self.lanes = self._lanes_kernel() if is_depthwise(shape) else None

    def run(self) -> None:
        """Emits it."""
        images, size = self.shape.images, self._image_size()
        known, positions = images if type(images) is int else None, prod(number_of(w.positions) for w in self.windows)
        if self._has_many_channels():
            self._by_channels()
        elif size and positions >= FEW and not _is_few(known) and self._is_cached(size):
            self._one_by_one()
        elif size and positions > 1 and (known is None or known * size > SCRATCH):
            self._some_at_a_time(max(1, SCRATCH // size))
        else:
            copy, room = self._copies(images), self._room(images)
            self._clear(copy)
            self._images(copy, room, 0, images)
        self._release()

    def _layout(self) -> ConvolutionLayout:
        return ConvolutionLayout(self.shape, self.windows, self.steps, self.parts, self.pitch)

    def _image_size(self) -> int:
        """How many bytes of copies an image takes; 0 for none, or where images do not lie one behind the other."""
        if self.order[0] != 0 or self.shape.batch_groups > 1:
            return 0
        elements = number_of(self.steps[0]) if self.is_copied else 0
        return (elements + (0 if self.is_direct else self._room_steps()[0])) * WIDTHS[self.x.type]

    def _is_cached(self, size: int) -> bool:
        """Whether copies of an image for each part take little memory, and the kernel stays in the cache, too."""
        kernel = prod(n if type(n) is int else UNKNOWN for n in self.kernel.shape) * WIDTHS[self.x.type]
        return PARTS * size <= SCRATCH and kernel <= max(4 * CACHED, size)

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
        elements = prod(map(number_of, self._row_extents(self.shape.images))) * self.pitch
        copy = number_of(self.steps[1]) if self.is_copied else 0
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
                    axes = self._rows(self.shape.images, False)
                    terms = self._terms(kernel.steps, 1)
                    Product(b, self._layout(), columns, kernel, source, total, axes, terms, channel).emit()
        out = self.target if self._is_in_place() else totals.row(b, 0)
        self._add_up(totals, out)
        if not self._is_in_place():
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
        each = b.mul(count_of(b, (*positions, self.parts)), number_of(shape.columns))
        return b.divided(b.mul(b.mul(shape.images, shape.channels), each), WORTH)

    def _images(self, copy: Stored | None, room: Stored | None, start: Operand, count: Operand) -> None:
        """Some of the images, their copies with zeros in one scratch, their results in another one or in place."""
        b = self.b
        source = self._placed(copy, start, count)
        out = room
        if out is None:
            out = Stored((), self.target.array, b.add(self.target.offset, b.mul(start, self.target.strides[0])), ())
        rows = self._rows(count, room is None)
        if self.lanes is not None:
            terms = self._terms(self.lanes.steps, self.shape.channels)
            Lanes(b, source, self.lanes.x, out, self.parts, rows, terms).emit()
        for columns, kernel in zip(self.columns, self.kernels, strict=True):
            terms = self._terms(kernel.steps, self.shape.channels)
            Product(b, self._layout(), columns, kernel, source, out, rows, terms).emit()
        if room is not None:
            self._put(room, start, count)

    # -- the result -----------------------------------------------------------------------------------------------

    def _is_direct(self) -> bool:
        """Whether tiles can be written to where the result goes: columns must lie side by side."""
        strides, columns = self.target.strides, self.parts * number_of(self.shape.columns)
        return self.pitch == columns and is_numbers(strides) and (strides[1] == 1 or columns == 1)

    def _is_in_place(self) -> bool:
        """Whether the result lies exactly as its rows do."""
        steps = self._room_steps()
        axes = [a for a in self.row_axes if not is_one(self.target.shape[a])]
        return self.is_direct and all(self.target.strides[a] == steps[a] for a in axes)

    def _row_extents(self, images: Operand) -> Extents:
        extents = (images, 0, *[w.positions for w in self.windows])
        return (*[extents[a] for a in self.row_axes],)

    def _room_steps(self) -> dict[int, int]:
        """For each axis of the rows the step where they lie in their order; that of an unknown extent comes first."""
        steps = row_major((*self._row_extents(self.shape.images), self.pitch))
        return {axis: number_of(step) for axis, step in zip(self.row_axes, steps, strict=False)}

    def _rows(self, images: Operand, is_direct: bool) -> list[Axis]:
        strides = (1, 0, *[w.stride for w in self.windows])
        others = dict(enumerate(map(number_of, self.target.strides))) if is_direct else self._room_steps()
        extents = self._row_extents(images)
        axes = [
            Axis(n, strides[a] * number_of(self.steps[a]), others[a])
            for n, a in zip(extents, self.row_axes, strict=True)
        ]  # fmt: skip
        return merged(axes, ROWS)

    def _put(self, out: Stored, start: Operand, count: Operand) -> None:
        """What tiles have written, to where it is wanted."""
        b, target, columns = self.b, self.target, number_of(self.shape.columns)
        steps = self._room_steps()
        lead = (count, *[w.positions for w in self.windows])
        from_steps = (steps[0], *[steps[a] for a in range(2, len(self.order))])
        to_steps = (target.strides[0], *target.strides[2:])
        to = b.add(target.offset, b.mul(start, target.strides[0]))
        shape = (self.parts, columns, *lead)
        source = Stored(shape, out.array, out.offset, (self.pitch // self.parts, 1, *from_steps), False)
        step = target.strides[1]
        found = Stored(shape, target.array, to, (b.mul(step, columns), step, *to_steps), False)
        copy_in_order(b, source, found)

    # -- the operand ----------------------------------------------------------------------------------------------

    def _steps(self) -> Extents:
        if not self.is_copied:
            return self.x.strides
        extents = (*self.x.shape[:2], *map(reach, self.windows))
        found: list[Operand] = [0] * len(extents)
        for axis, step in zip(self.order, row_major(self._apart(extents)), strict=True):
            found[axis] = step
        return (*found,)

    def _apart(self, extents: Extents) -> Extents:
        """Extents of copies in the order of memory; rows of tiles do not meet in the same lines of the cache."""
        *outer, inner = (extents[a] for a in self.order)
        if type(inner) is int and inner and inner * WIDTHS[self.x.type] % PITCH == 0:
            inner += most_lanes(self.x.type)
        return (*outer, inner)

    def _room(self, images: Operand) -> Stored | None:
        """Memory for results that are put into another order."""
        return None if self.is_direct else self._scratch((*self._row_extents(images), self.pitch))

    def _copies(self, images: Operand, channels: Operand | None = None) -> Stored | None:
        """Memory for copies with zeros."""
        if not self.is_copied:
            return None
        channels = self.x.shape[1] if channels is None else channels
        extents = (self.b.mul(images, self.shape.batch_groups), channels, *map(reach, self.windows))
        return self._scratch(self._apart(extents))

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
            first, n = seen(w)
            extents.append(n)
            strides.append(b.mul(step, w.spread))
            offset = b.add(offset, b.mul(first, own))
            place = b.add(place, b.mul(number_of(w.low) + first * w.spread, step))
        if 0 not in extents:
            shape = (*extents,)
            source = Stored(shape, x.array, offset, x.strides, False)
            copy_in_order(b, source, Stored(shape, copy.array, place, (*strides,), False))
        return copy

    # -- the kernel -----------------------------------------------------------------------------------------------

    def _kernel(self, columns: Columns) -> Kernel:
        b, kernel, width = self.b, self.kernel, number_of(self.shape.columns)
        if self._is_packed():
            return self._packed(columns)

        def place(part: Operand, block: Operand) -> Operand:
            column = b.add(b.mul(part, width), b.add(columns.first, b.mul(block, columns.width)))
            return b.add(kernel.offset, column)

        return Kernel(kernel, dict(enumerate(map(number_of, kernel.strides))), place)

    def _is_packed(self) -> bool:
        """Whether blocks of columns are copied: where columns lie apart, or terms so far that caches suffer from it."""
        kernel = self.kernel
        if number_of(kernel.strides[0]) != 1 or self.pitch != self.parts * number_of(self.shape.columns):
            return True
        steps = [abs(number_of(s)) for n, s in zip(kernel.shape[1:], kernel.strides[1:], strict=True) if not is_one(n)]
        far = min(steps, default=0) * WIDTHS[kernel.type] >= PITCH
        images = self.shape.images if type(self.shape.images) is int else UNKNOWN
        rows = images * prod(number_of(w.positions) for w in self.windows)
        return far and rows > ROWS

    def _terms(self, others: dict[int, int], channels: Operand) -> list[Axis]:
        """The axes of terms, with steps in a kernel."""
        extents = (0, channels, *[w.taps for w in self.windows])
        gaps = (0, 1, *[w.dilation for w in self.windows])
        axes = [Axis(extents[a], gaps[a] * number_of(self.steps[a]), others[a]) for a in self.term_axes]
        return merged(axes) or [Axis(1, 0, 0)]

    def _packed(self, columns: Columns) -> Kernel:
        """Blocks of columns, one behind the other: for each term the columns of a block side by side."""
        b, kernel, width = self.b, self.kernel, columns.width
        extents = (*[kernel.shape[a] for a in self.term_axes],)
        steps = row_major((*extents, width))
        made = self._scratch((self.parts, columns.blocks, *extents, width))
        count = b.mul(count_of(b, extents), width)
        here = min(columns.blocks * width, number_of(self.shape.columns) - columns.first)
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
                copy_in_order(b, source, Stored(shape, made.array, b.mul(count, block), to, False))

        def place(part: Operand, block: Operand) -> Operand:
            return b.mul(count, b.add(b.mul(part, columns.blocks), block))

        return Kernel(made, dict(zip(self.term_axes, map(number_of, steps), strict=False)), place)

    def _lanes_kernel(self) -> Kernel:
        """The kernel with groups side by side."""
        kernel = self.kernel
        if not (is_one(kernel.strides[0]) and is_numbers(kernel.strides)):
            order = (*self.term_axes, 0)
            kernel = fresh_in(self.block, kernel.shape, order, kernel.type)
            copy_in_order(self.b, self.kernel, kernel)
            self.scratch.append(Stored(kernel.shape, kernel.array))
        return Kernel(kernel, dict(enumerate(map(number_of, kernel.strides))), lambda part, block: 0)

    # -- memory ---------------------------------------------------------------------------------------------------

    def _scratch(self, shape: Extents) -> Stored:
        made = self.block.fresh(shape, self.x.type)
        self.scratch.append(made)
        return made

    def _release(self) -> None:
        for made in self.scratch:
            self.block.give_back(made.array, count_of(self.b, made.shape))


def _order_of(x: Stored, shape: Shape) -> list[int]:
    """The order of axes in which the operand is read: as it lies in memory, or with the channels of images behind their
    places, copied so, since terms are then long runs of neighbours; many groups of one channel lie side by side."""
    order = memory_order(x)
    if is_depthwise(shape):
        axis = _groups_axis(shape)
        return order if is_one(x.strides[axis]) else [*(a for a in order if a != axis), axis]
    inside = order[order.index(1) + 1 :]
    is_last = all(is_one(x.shape[a]) for a in inside)
    if is_last or (0 in inside and not is_one(x.shape[0])) or shape.batch_groups > 1 or not _is_run(x.shape[1]):
        return order
    return [*(a for a in order if a != 1), 1]


def _is_run(channels: Operand) -> bool:
    return type(channels) is int and channels >= RUN


def _is_few(n: Operand | None) -> bool:
    """Whether there is less than an image for each second part."""
    return type(n) is int and n <= PARTS // 2


__all__ = ["convolved", "is_depthwise", "serves", "target_of"]
