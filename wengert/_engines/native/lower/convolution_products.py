"""Emits a convolution's loop over tasks, which may run in threads: each computes lines of tiles of a block of columns.

`direct_convolutions.py` places operand, kernel and result, and makes a `Product` for each width of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

from ..ir.builder import Builder
from ..ir.loops import WIDTHS, Address, Operand, Typed
from ..llvm.microtiles import Tile, most_rows
from .convolution_tiling import Axis, Columns, Portion, grid_of, maybe_loop, portions, slices_of
from .forms import Extents, Stored, count_of, unflattened
from .ranges import number_of, smaller
from .window_geometry import Window

CACHED = 1 << 18  # bytes of the kernel that a portion of terms takes, for one block of columns
ROWS = 256  # of a task, about
TASKS = 4  # where each reads all terms
WORTH = 16  # multiplications that take as long as what `work` counts


class Shape(NamedTuple):
    """A convolution's extents beside its windows: images and channels of the operand and columns, which are channels
    of the result, in each group, and the groups of channels and of images."""

    images: Operand
    channels: Operand
    columns: Operand
    groups: int
    batch_groups: int


class Kernel(NamedTuple):
    """The kernel for blocks of columns: its elements, the step for each axis of terms, and where a part's block is."""

    x: Stored
    steps: dict[int, int]
    place: Callable[[Operand, Operand], Operand]


class ConvolutionLayout(NamedTuple):
    """What the products of one convolution share: its extents, where its operand's axes lie, and its rows' pitch.

    Attributes:
        steps: the step of each axis in the operand or its copy with zeros.
        parts: groups of channels times groups of images.
        pitch: the step in the result's memory from row to row.
    """

    shape: Shape
    windows: Sequence[Window]
    steps: Extents
    parts: int
    pitch: int


class Product:
    """The tiles of some blocks of columns; those of one channel are added to what is there."""

    def __init__(
        self, b: Builder, layout: ConvolutionLayout, columns: Columns, kernel: Kernel, source: Stored, out: Stored,
        rows: list[Axis], terms: list[Axis], channel: Operand | None = None,
    ) -> None:  # fmt: skip
        self.b, self.layout = b, layout
        self.columns, self.kernel, self.source, self.out = columns, kernel, source, out
        self.channel = channel
        self.grid = grid_of(rows, most_rows(columns.vectors))
        self.terms = terms
        width = WIDTHS[out.type]
        self.slices = slices_of(self.terms, columns.width * width, CACHED)
        if channel is not None:
            taps = prod(number_of(w.taps) for w in layout.windows)
            read = columns.width + abs(number_of(layout.steps[1])) // taps
            self.slices = slices_of(self.terms, read * width, 2 * CACHED)

    def emit(self) -> None:
        """The loops of tasks, which may run in threads, in each group."""
        b, shape, steps = self.b, self.layout.shape, self.layout.steps
        images = b.mul(shape.images, steps[0])
        with maybe_loop(b, shape.batch_groups) as many, maybe_loop(b, shape.groups) as group:
            start = b.add(b.mul(many, images), b.mul(group, b.mul(shape.channels, steps[1])))
            part = b.add(b.mul(many, shape.groups), group)
            if self.channel is None:
                self._tasks(part, start, None)
            else:
                with portions(b, self.slices) as portion:
                    self._tasks(part, start, portion)

    def _tasks(self, part: Operand, start: Operand, portion: Portion | None) -> None:
        """Lines of tiles, a few for each task and block of columns; of a portion of the terms, or of all of them."""
        b, columns = self.b, self.columns
        lines = count_of(b, self.grid.lines)
        height = self.grid.height * number_of(self.grid.along.extent)
        each: Operand = max(1, ROWS // height)
        if portion is None and self.slices.cut is not None:
            each = b.divided(b.add(lines, TASKS - 1), TASKS)
        tasks = b.divided(b.sub(b.add(lines, each), 1), each)
        terms = count_of(b, (*[a.extent for a in self.terms],))
        work = b.mul(b.mul(lines, terms), max(1, height * columns.blocks * columns.width // WORTH))
        with b.loop(0, b.mul(tasks, columns.blocks), work) as task:
            block = b.remainder(task, columns.blocks)
            first = b.mul(b.divided(task, columns.blocks), each)
            last = smaller(b, b.add(first, each), lines)
            column = b.add(b.mul(part, self.layout.pitch // self.layout.parts), columns.first)
            column = b.add(column, b.mul(block, columns.width))
            kernel = self.kernel.place(part, block)
            if self.channel is not None:
                kernel = b.add(kernel, b.mul(self.channel, self.kernel.steps[1]))
            places = b.add(self.source.offset, start), kernel, b.add(self.out.offset, column)
            if portion is not None:
                self._lines(portion, first, last, places)
                return
            with portions(b, self.slices) as each_portion:
                self._lines(each_portion, first, last, places)

    def _lines(
        self, portion: Portion, first: Operand, last: Operand, places: tuple[Operand, Operand, Operand]
    ) -> None:  # fmt: skip
        """Some lines of tiles of one block of columns."""
        b = self.b
        with b.loop(first, last) as line:
            a, kernel, c = places
            *index, down = unflattened(b, self.grid.lines, line)
            for axis, i in zip(self.grid.outer, index, strict=True):
                a, c = b.add(a, b.mul(i, axis.step)), b.add(c, b.mul(i, axis.other))
            self._line(portion, down, a, b.add(kernel, portion.kernel), c)

    def _line(self, portion: Portion, down: Operand, a: Operand, kernel: Operand, c: Operand) -> None:
        b, grid = self.b, self.grid
        whole, rest = divmod(number_of(grid.down.extent), grid.height)
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

    def _tiles(self, portion: Portion, height: int, a: Operand, kernel: Operand, c: Operand) -> None:
        """A line of tiles."""
        b, along, width = self.b, self.grid.along, self.grid.width
        whole, rest = divmod(number_of(along.extent), width)
        with maybe_loop(b, whole) as i:
            start = b.mul(i, width)
            place = b.add(a, b.mul(start, along.step)), kernel, b.add(c, b.mul(start, along.other))
            self._tile(portion, height, width, place)
        if rest:
            start = whole * width
            place = b.add(a, start * along.step), kernel, b.add(c, start * along.other)
            self._tile(portion, height, rest, place)

    def _tile(
        self, portion: Portion, height: int, width: int, place: tuple[Operand, Operand, Operand]
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


__all__ = ["Kernel", "ConvolutionLayout", "Product", "Shape"]
