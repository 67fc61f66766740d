"""Depthwise convolutions, where each group has one channel of the result: groups are computed side by side in vectors.

A tile of `direct_convolutions.py`, which calls this, would have one column only. So the lanes of a vector are groups,
whose elements lie side by side in the operand, in the kernel and in the result: each lane is a sum of its own. Tiles
of some rows and vectors hold their sums in registers (`llvm/microtiles.py`, lane by lane). What is outermost is a run
of groups: what windows see of them and their kernel stay in the nearest cache while all rows are computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..ir.builder import Builder
from ..ir.loops import WIDTHS, Address, Operand, Typed
from ..llvm.microtiles import Tile, most_rows
from ..llvm.vectors import most_lanes
from .convolution_tiling import Axis, Grid, Portion, grid_of, maybe_loop, portions, slices_of
from .factorisations import loops_over
from .forms import Stored, count_of
from .ranges import number_of

VECTORS = 2  # of a tile, side by side
FEW = 8  # whole vectors beside which one that is not whole takes little
CACHED = 1 << 17  # bytes of the kernel of a run of groups that all rows read
WORTH = 16  # multiplications that take as long as what `work` counts


class _Run(NamedTuple):
    """Groups that are computed in tiles of one form: the first, how many tiles, and the vectors and lanes of each."""

    first: int
    tiles: int
    vectors: int
    lanes: int

    @property
    def width(self) -> int:
        return self.vectors * self.lanes


class _Places(NamedTuple):
    """Where a tile begins, in the operand, in the kernel and in the result."""

    source: Operand
    kernel: Operand
    out: Operand

    def moved(self, b: Builder, axis: Axis, by: Operand) -> _Places:
        """The places so many rows of an axis further on."""
        return self._replace(
            source=b.add(self.source, b.mul(by, axis.step)), out=b.add(self.out, b.mul(by, axis.other))
        )


class Lanes(NamedTuple):
    """A depthwise convolution whose groups lie side by side in vectors.

    Attributes:
        source, kernel, out: where the first element of the first group lies.
        groups: how many there are.
        rows, terms: their axes, with steps in the operand and in the result or the kernel.
    """

    b: Builder
    source: Stored
    kernel: Stored
    out: Stored
    groups: int
    rows: list[Axis]
    terms: list[Axis]

    def emit(self) -> None:
        """All sums, of portions of the terms where these are many (images, say)."""
        runs = [*_runs(self.groups, most_lanes(self.out.type))]
        width = max(run.width for run in runs) * WIDTHS[self.out.type]
        with portions(self.b, slices_of(self.terms, width, CACHED)) as portion:
            for run in runs:
                self._groups(run, portion)

    def _groups(self, run: _Run, portion: Portion) -> None:
        """The tiles of some groups, which may be done in threads."""
        b, grid = self.b, grid_of(self.rows, most_rows(run.vectors))
        outer, *inner = grid.outer or [Axis(1, 0, 0)]
        with b.loop(0, b.mul(outer.extent, run.tiles), self._work(run)) as task:
            first = b.add(run.first, b.mul(b.divided(task, outer.extent), run.width))
            source, kernel = b.add(self.source.offset, portion.source), b.add(self.kernel.offset, portion.kernel)
            at = _Places(b.add(source, first), b.add(kernel, first), b.add(self.out.offset, first))
            at = at.moved(b, outer, b.remainder(task, outer.extent))
            with loops_over(b, [axis.extent for axis in inner]) as index:
                for axis, i in zip(inner, index, strict=True):
                    at = at.moved(b, axis, i)
                for height, line in _pieces(b, grid.down, grid.height, at):
                    for width, place in _pieces(b, grid.along, grid.width, line):
                        self._tile(run, portion, grid, (height, width), place)

    def _tile(self, run: _Run, portion: Portion, grid: Grid, rows: tuple[int, int], at: _Places) -> None:
        down, along, terms = grid.down, grid.along, portion.terms
        form = (*rows, down.step, along.step, run.vectors, run.lanes, len(terms))
        tile = Tile(self.out.type, *form, is_by_lane=True)
        numbers = [portion.keeps, down.other, along.other, *(n for axis in terms for n in axis)]
        places = zip((self.source.array, self.kernel.array, self.out.array), at, strict=True)
        addresses = [Address(array, place) for array, place in places]
        self.b.call(tile.name, [*addresses, *(Typed("i64", n) for n in numbers)])

    def _work(self, run: _Run) -> Operand:
        axes = [*self.rows, *self.terms]
        each = self.b.mul(count_of(self.b, (*[a.extent for a in axes],)), run.tiles * run.width)
        return self.b.divided(each, WORTH)


def _pieces(b: Builder, axis: Axis, each: int, at: _Places) -> Iterator[tuple[int, _Places]]:
    """An axis of rows in pieces: the loop over whole ones, inside which the caller emits, and what is left."""
    whole, rest = divmod(number_of(axis.extent), each)
    with maybe_loop(b, whole) as i:
        yield each, at.moved(b, axis, b.mul(i, each))
    if rest:
        yield rest, at.moved(b, axis, whole * each)


def fill_vectors(groups: int, type_: str) -> bool:
    """Whether so many groups are worth tiles: whether single vectors, of which some are left behind whole ones, are few
    beside these. Long rows of planes leave none."""
    whole, rest = divmod(groups, most_lanes(type_))
    return whole >= VECTORS and whole >= FEW * rest.bit_count()


def _runs(groups: int, lanes: int) -> Iterator[_Run]:
    """All groups: as many as fill tiles, then single vectors, each of half as many lanes as the one before."""
    whole, rest = divmod(groups, VECTORS * lanes)
    if whole:
        yield _Run(0, whole, VECTORS, lanes)
    first = groups - rest
    while rest:
        while rest < lanes:
            lanes //= 2
        yield _Run(first, 1, 1, lanes)
        first, rest = first + lanes, rest - lanes


__all__ = ["Lanes", "fill_vectors"]
