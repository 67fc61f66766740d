"""Tiling of convolutions: how rows, columns and terms are cut into tiles, blocks, and portions that stay in the cache.

Shared by `direct_convolutions.py`, `convolution_products.py`, `depthwise.py`, `depthwise_planes.py` and
`plane_convolutions.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ..ir.builder import Builder
from ..ir.loops import Operand
from .forms import Extents
from .ranges import is_one, number_of, smaller

LEAST_LANES = 4
LONG = 28  # rows side by side that are enough for tiles
PITCH = 1 << 10  # bytes between rows, terms or planes that get into each other's way in the cache
PARTS = 8  # of images or planes, which threads may share


class Axis(NamedTuple):
    """An axis of rows or terms: its extent, and the steps in the operand and in the result or the kernel."""

    extent: Operand
    step: int
    other: int


class Columns(NamedTuple):
    """Blocks of columns of one width: the first column, how many blocks, vectors of each, lanes of each vector."""

    first: int
    blocks: int
    vectors: int
    lanes: int

    @property
    def width(self) -> int:
        return self.vectors * self.lanes


class Slices(NamedTuple):
    """Terms in portions: axes around, the axis that is cut and into runs of how many, and the axes inside."""

    outer: list[Axis]
    cut: Axis | None
    most: int
    inner: list[Axis]


class Portion(NamedTuple):
    """Some of the terms: where they begin in the operand and in the kernel, and whether any were before them."""

    source: Operand
    kernel: Operand
    keeps: Operand
    terms: list[Axis]


class Grid(NamedTuple):
    """Rows cut into tiles of `height` by `width` along the last axes; the other axes are around them."""

    outer: list[Axis]
    down: Axis
    along: Axis
    height: int
    width: int

    @property
    def lines(self) -> Extents:
        """The extents of what is around a line of tiles."""
        return (*[a.extent for a in self.outer], -(-number_of(self.down.extent) // self.height))


def merged(axes: list[Axis], most: int | None = None) -> list[Axis]:
    """Neighbouring axes as one where their steps allow it; those of one element go. Axes that are long enough for
    tiles do not grow beyond the most, if there is one: so there are several tasks."""
    found: list[Axis] = []
    for axis in axes:
        if is_one(axis.extent):
            continue
        joined = _joined(found[-1], axis, most) if found else None
        if joined is None:
            found.append(axis)
        else:
            found[-1] = joined
    return found


def _joined(outer: Axis, inner: Axis, most: int | None) -> Axis | None:
    n, m = inner.extent, outer.extent
    if type(n) is not int or type(m) is not int or (outer.step, outer.other) != (n * inner.step, n * inner.other):
        return None
    is_long = most is not None and n >= LONG and n * m > most
    return None if is_long else Axis(n * m, inner.step, inner.other)


def grid_of(rows: list[Axis], most: int) -> Grid:
    """Tiles of about equal size, of as many rows as there are registers for."""
    nothing = Axis(1, 0, 0)
    *outer, along = rows or [nothing]
    width = even(number_of(along.extent), most)
    if width == along.extent and outer and type(outer[-1].extent) is int:
        height = even(outer[-1].extent, max(1, most // width))
        if height > 1:
            return Grid(outer[:-1], outer[-1], along, height, width)
    return Grid(outer, nothing, along, 1, width)


def even(extent: int, most: int) -> int:
    """The size of pieces of about equal size, none larger than the most."""
    return -(-extent // -(-extent // most))


def columns_of(columns: int, lanes: int) -> list[Columns]:
    """Columns as vectors, mostly two or three side by side."""
    while lanes > LEAST_LANES and 2 * columns <= lanes:
        lanes //= 2
    count = -(-columns // lanes)
    if count <= 3:
        return [Columns(0, 1, count, lanes)]
    if count % 2 == 0:
        return [Columns(0, count // 2, 2, lanes)]
    if count % 3 == 0:
        return [Columns(0, count // 3, 3, lanes)]
    pairs = (count - 3) // 2
    return [Columns(0, pairs, 2, lanes), Columns(pairs * 2 * lanes, 1, 3, lanes)]


def slices_of(terms: list[Axis], size: int, most_bytes: int) -> Slices:
    """Portions of terms of which what they read stays in the cache; a term takes so many bytes there."""
    for depth in range(len(terms) - 1, -1, -1):
        axis = terms[depth]
        if type(axis.extent) is not int or size * axis.extent > most_bytes:
            most = max(1, most_bytes // size)
            if type(axis.extent) is int:
                most = even(axis.extent, most)
            return Slices(terms[:depth], axis, most, terms[depth + 1 :])
        size *= axis.extent
    return Slices([], None, 0, terms)


@contextmanager
def portions(b: Builder, slices: Slices) -> Iterator[Portion]:
    """`with portions(b, slices) as portion:` what is emitted inside runs for each of them."""
    if slices.cut is None:
        yield Portion(0, 0, 0, slices.inner)
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
            yield Portion(source, kernel, keeps, [Axis(count, cut.step, cut.other), *slices.inner])


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
def maybe_loop(b: Builder, count: int) -> Iterator[Operand]:
    """A loop, unless it has one iteration."""
    if count == 1:
        yield 0
    else:
        with b.loop(0, count) as i:
            yield i


def parts_of(count: Operand) -> int:
    """In how many parts so many images or planes are done."""
    return min(PARTS, count) if type(count) is int else PARTS


@contextmanager
def few_parts(b: Builder, count: Operand, work: Operand) -> Iterator[tuple[Operand, Operand, Operand]]:
    """A few parts of so many, which may be done in threads: the number of each, its first, and behind its last."""
    parts = parts_of(count)
    each = b.divided(b.add(count, parts - 1), parts)
    with b.loop(0, parts, work) as part:
        first = smaller(b, b.mul(part, each), count)
        yield part, first, smaller(b, b.add(first, each), count)
