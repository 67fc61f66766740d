"""Depthwise convolutions, where each group has one channel of the result: groups are computed side by side in vectors.

A tile of `direct_convolutions.py`, which calls this, would have one column only. So the lanes of a vector are groups,
whose elements lie side by side in the operand, in the kernel and in the result: each lane is a sum of its own. Few
terms are written out; the sums of many are in a small array meanwhile, and are taken up again for each portion of the
terms (an image, say), which stays in the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..ir.builder import Builder
from ..ir.loops import Operand
from .convolution_tiling import Axis, maybe_loop
from .factorisations import loops_over
from .forms import Stored, all_indices, count_of, is_numbers
from .matrices import accumulated
from .ranges import number_of

LANES = 64  # groups that are done at a time
WRITTEN_OUT = 32  # terms


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
        """All sums."""
        extents = [axis.extent for axis in self.terms]
        if is_numbers(extents) and number_of(count_of(self.b, extents)) <= WRITTEN_OUT:
            self._all_rows(0, 0, self._few_terms)
            return
        first, *inner = self.terms
        self._all_rows(0, 0, self._clear)
        with self.b.loop(0, first.extent) as i:
            source, kernel = self.b.mul(i, first.step), self.b.mul(i, first.other)
            self._all_rows(source, kernel, lambda run: self._many_terms(run, inner))

    def _all_rows(self, source: Operand, kernel: Operand, body: Callable[[_GroupRange], None]) -> None:
        """`body` for each row and run of groups; rows may be done in threads where terms are few."""
        b = self.b
        rows = self.rows or [Axis(1, 0, 0)]
        with b.loop(0, rows[0].extent, self._work()) as i, loops_over(b, [a.extent for a in rows[1:]]) as rest:
            a, c = b.add(self.source.offset, source), self.out.offset
            for axis, place in zip(rows, (i, *rest), strict=True):
                a, c = b.add(a, b.mul(place, axis.step)), b.add(c, b.mul(place, axis.other))
            k = b.add(self.kernel.offset, kernel)
            whole, rest = divmod(self.groups, LANES)  # of which each has code of its own, for as many as it is
            if whole:
                with maybe_loop(b, whole) as chunk:
                    start = b.mul(chunk, LANES)
                    body(_GroupRange(b.add(a, start), b.add(k, start), b.add(c, start), LANES))
            if rest:
                start = whole * LANES
                body(_GroupRange(b.add(a, start), b.add(k, start), b.add(c, start), rest))

    def _work(self) -> Operand:
        axes = [*self.rows, *self.terms]
        return self.b.mul(count_of(self.b, (*[a.extent for a in axes],)), self.groups)

    def _clear(self, run: _GroupRange) -> None:
        self.b.fill(self.out.array, run.out, run.count)

    def _few_terms(self, run: _GroupRange) -> None:
        b, type_ = self.b, self.out.type
        with b.loop(0, run.count) as lane:
            total: Operand = 0.0
            for index in all_indices([number_of(axis.extent) for axis in self.terms]):
                step = sum(i * axis.step for i, axis in zip(index, self.terms, strict=True))
                other = sum(i * axis.other for i, axis in zip(index, self.terms, strict=True))
                x = b.load(self.source.array, b.add(b.add(run.source, step), lane))
                y = b.load(self.kernel.array, b.add(b.add(run.kernel, other), lane))
                total = accumulated(b, type_, total, x, y)
            b.store(self.out.array, b.add(run.out, lane), total)

    def _many_terms(self, run: _GroupRange, terms: list[Axis]) -> None:
        b, type_ = self.b, self.out.type
        totals = b.local(type_, LANES)  # of this run, and so of its thread
        with b.loop(0, run.count) as lane:
            b.store(totals, lane, b.load(self.out.array, b.add(run.out, lane)))
        with loops_over(b, [axis.extent for axis in terms]) as index:
            a, k = run.source, run.kernel
            for axis, i in zip(terms, index, strict=True):
                a, k = b.add(a, b.mul(i, axis.step)), b.add(k, b.mul(i, axis.other))
            with b.loop(0, run.count) as lane:
                x, y = b.load(self.source.array, b.add(a, lane)), b.load(self.kernel.array, b.add(k, lane))
                b.store(totals, lane, accumulated(b, type_, b.load(totals, lane), x, y))
        with b.loop(0, run.count) as lane:
            b.store(self.out.array, b.add(run.out, lane), b.load(totals, lane))


class _GroupRange(NamedTuple):
    """Some groups side by side: where they begin, and how many."""

    source: Operand
    kernel: Operand
    out: Operand
    count: int


__all__ = ["Lanes"]
