"""Fills histories while a loop runs: which results each step keeps, their memory, and its limit.

`regions.py` has a `Keeper` for a loop that saves histories and `Rows` for results that are stacked.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

from ...._control.loop import History
from ...._core.graph import Graph
from ..ir.builder import Builder
from ..ir.loops import HALVES, TYPES, WIDTHS, Alloc, Array, Operand, Reserve, Set, Status, Var
from ..plan.schedule import is_small, static_size
from . import nests
from .blocks import Block
from .forms import TYPE_OF, Extents, Form, Stored, count_of, strides_of
from .histories import HistoryForm
from .history_records import Record
from .history_templates import Big


class Anchor(NamedTuple):
    """A place before a loop, for what must be done once before it starts."""

    block: list[Any]
    place: int

    @classmethod
    def here(cls, b: Builder) -> Anchor:
        """The place where the next instruction goes."""
        return cls(b.block, len(b.block))

    def set(self, var: Var, value: Operand) -> None:
        """Has a variable set there."""
        self.block.insert(self.place, Set(var, value))


class Rows:
    """Results of the steps, stacked. The number of steps is known (`count`), or the array grows."""

    def __init__(self, block: Block, shape: Extents, type_: str, count: Operand | None) -> None:
        self.block = block
        self.shape = shape
        self.size = count_of(block.b, shape)
        self.is_growing = count is None
        self.array = block.b.grown(type_, 1) if count is None else block.b.alloc(type_, block.b.mul(count, self.size))

    def place(self, row: Operand) -> Stored:
        """Where the result of a step goes."""
        b = self.block.b
        start = b.mul(row, self.size)
        if self.is_growing:
            b.reserve(self.array, b.add(start, self.size))
        return Stored(self.shape, self.array, start, strides_of(b, self.shape), True)

    def foresee(self, count: Operand) -> Reserve:
        """Makes room for so many rows of an array that grows: each time that it grew, all that is there would move."""
        b = self.block.b
        b.reserve(self.array, b.mul(count, self.size))
        made = b.block[-1]
        assert type(made) is Reserve
        return made

    def put(self, row: Operand, form: Form) -> None:
        """Stores the result of a step."""
        nests.copy(self.block.b, form, self.place(row))

    def stacked(self, count: Operand) -> Stored:
        """All rows."""
        shape = (count, *self.shape)
        return Stored(shape, self.array, 0, strides_of(self.block.b, shape), True)


ROOM = 1 << 25  # bytes up to which a history's memory is taken before the loop


def _just_made(b: Builder) -> Alloc:
    """The allocation that was emitted last."""
    made = b.block[-1]
    assert type(made) is Alloc
    return made


def histories_of(emits: Sequence[Any], graph: Graph) -> list[History]:
    """What a loop's steps save in histories: also histories of loops inside, where they are stacked."""
    found = [e if isinstance(e, History) else History((e,), "all") for e in emits]
    return [
        e for e in found
        if e.policy == "auto" or (e.policy == "all" and graph.outputs[e.positions[0]].is_history)
    ]  # fmt: skip


class Keeper:
    """Fills the histories of a loop, step by step.

    Where the number of steps is known and they take little memory, arrays of that size are there before the first step.
    Else they grow; room for large values is made before the loop if it is known to be within the budget. A history that
    another one will hold (`lasting` says where that one's loop begins) goes on where the last run of its loop has left
    off.
    """

    def __init__(
        self, block: Block, emits: Sequence[Any], changing: Callable[[], set[Array]], carries: int, graph: Graph,
        count: Operand | None, lasting: Anchor | None,
    ) -> None:  # fmt: skip
        self.block = block
        self.graph = graph
        self.carries = carries
        self.changing = changing
        self.emits = histories_of(emits, graph)
        self.kept: list[HistoryForm] = []
        self.top: Var | None = None
        self.base: Operand = 0
        if lasting is not None and self.emits:
            self.top = block.b.var("i64")
            lasting.set(self.top, 0)
            self.base = block.b.get(self.top)
        self.count = self._known(count)
        self.mark = block.b.mark()  # registers with lower numbers were there before the loop
        # before the loop, so that they are there in each step
        self.columns: dict[Array, Alloc] = {}
        self.rows: dict[int, Rows] = {}  # by position, of large values
        self.made: dict[int, Alloc | Reserve] = {}
        self.arrays: list[dict[str, Array]] = []
        if self.count is None:
            self._foresee(count)
            return
        self.arrays = [{t: self._column(t) for t in (*TYPES, *HALVES)} for _ in self.emits]
        for place in self._large():
            self.rows[place] = self._rows(place, self.count)
            made = _just_made(block.b)
            self.made[place] = block.setting.allocs[made.array] = made

    def _known(self, count: Operand | None) -> int | None:
        """The number of steps, if it is known now and they take little memory."""
        size = self._bytes()
        if size is None or self.top is not None or type(count) is not int:
            return None
        return count if 0 < count * size <= ROOM else None

    def _bytes(self) -> int | None:
        """What a step saves at most, if that is known now."""
        size = 0
        for place in {p for e in self.emits for p in e.positions}:
            value = self.graph.outputs[place]
            if value.is_history or not all(type(n) is int for n in value.shape):
                return None
            size += prod(value.shape) * value.dtype.itemsize
        return size

    def _foresee(self, count: Operand | None) -> None:
        """Makes room for all rows of large values, if they are within the budget."""
        b, size, large = self.block.b, self._bytes(), self._large()
        if count is None or not size or not large or self.top is not None:
            return
        is_within = b.let("le", "i64", count, b.divided(self.block.setting.memory_budget(), size))
        foreseen = b.select("i64", is_within, count, 0)
        for place in large:
            rows = self.rows[place] = self._rows(place, None)
            self.made[place] = rows.foresee(foreseen)

    def _large(self) -> list[int]:
        """The positions of what each step saves by itself."""
        outs = self.graph.outputs
        return sorted({p for e in self.emits for p in e.positions if not outs[p].is_history and not is_small(outs[p])})

    def _rows(self, place: int, count: Operand | None) -> Rows:
        value = self.graph.outputs[place]
        return Rows(self.block, (*map(int, value.shape),), TYPE_OF[value.dtype], count)

    def _column(self, type_: str) -> Array:
        """The small values of a type; how many there are is seen when the first step has been emitted."""
        found = self.block.b.alloc(type_, 0)
        self.columns[found] = self.block.setting.allocs[found] = _just_made(self.block.b)
        return found

    def placed(self) -> list[int]:
        """The positions of large results behind the carries that are kept."""
        graph, first = self.graph, self.carries
        seen = {v.key for v in (*graph.inputs, *graph.outputs[:first])}
        found: list[int] = []
        for position in (p for history in self.emits for p in history.positions if p >= first):
            value = graph.outputs[position]
            if value.is_history or value.key in seen or is_small(value) or static_size(value.shape) is None:
                continue
            seen.add(value.key)
            found.append(position)
        return found

    def targets(self, step: Operand) -> list[Stored | None]:
        """Where the step's results behind the carries are to be computed: those that are kept, in their rows."""
        first = self.carries
        found: list[Stored | None] = [None] * (len(self.graph.outputs) - first)
        for position in self.placed():
            if position not in self.rows:
                self.rows[position] = self._rows(position, None)
            found[position - first] = self.rows[position].place(self.row(step))
        return found

    def row(self, step: Operand) -> Operand:
        """The row of a step."""
        return self.block.b.add(self.base, step)

    def keep(self, outs: Sequence[Form], step: Operand, iteration: Operand) -> None:
        """Saves what a step has computed; a stack in the place of the step's slice, `iteration`."""
        used: set[Array] = set()
        for number, history in enumerate(self.emits):
            arrays = self.arrays[number] if self.arrays else {}
            row = self.row(iteration if history.policy == "all" else step)
            made = self._keep([(p, outs[p]) for p in history.positions], arrays, row)
            self.kept.append(made)
            used.update(made.arrays)
        for position, made in self.made.items():
            if made.array not in used:
                made.count = 0
                del self.rows[position]

    def _keep(self, forms: Sequence[tuple[int, Form]], arrays: dict[str, Array], row: Operand) -> HistoryForm:
        b = self.block.b

        def make(type_: str) -> Array:
            return arrays[type_] if self.count is not None else b.array(type_, "grown")

        record = Record(b, self.mark, self.base, make, self.changing())
        sizes: list[Operand] = []
        for position, form in forms:
            record.places.append(record.place(form, lambda f, p=position: self._big(record, f, p, row, sizes)))
        record.store(row, self._reserve)
        small = sum(len(c) * WIDTHS[t] for t, c in record.columns.items())
        self._limit([small, *sizes], row)
        return record.kept()

    def _big(self, record: Record, form: Stored, position: int, row: Operand, sizes: list[Operand]) -> Big:
        """A large value as a row of an array."""
        rows = self.rows.get(position)
        if rows is None or (form.array is not rows.array and rows.array in record.arrays):
            rows = Rows(self.block, form.shape, form.type, None)
        if form.array is not rows.array:
            rows.put(row, form)
        sizes.append(self.block.b.mul(rows.size, WIDTHS[form.type]))
        self._note_length(rows.array, row, rows.size)
        return Big(record.extents(form.shape), form.type, record.array(rows.array))

    def _reserve(self, array: Array, start: Operand, width: int) -> None:
        b = self.block.b
        if self.count is not None:
            self.columns[array].count = self.count * width
        else:
            b.reserve(array, b.add(start, width))
            self._note_length(array, start, width, is_start=True)

    def _note_length(self, array: Array, row: Operand, size: Operand, is_start: bool = False) -> None:
        """Has it noted how much of an array is filled, for those who take the history elsewhere."""
        b = self.block.b
        if array.place == "grown":
            end = b.add(row if is_start else b.mul(row, size), size)
            length = self.block.setting.length(array)
            before = b.get(length)  # a loop that goes backwards fills its last row first
            b.set(length, b.select("i64", b.let("gt", "i64", end, before), end, before))

    def _limit(self, sizes: Sequence[Operand], row: Operand) -> None:
        """Ends the function where a history, whose rows take so many bytes, is more than there is room for."""
        b = self.block.b
        size = functools.reduce(b.add, sizes)
        if size != 0:
            taken = b.mul(b.add(row, 1), size)
            with b.when(b.let("gt", "i64", taken, self.block.setting.memory_budget())):
                b.leave(Status.OVER_BUDGET)

    def end(self, steps: Operand) -> None:
        """The loop is over; the next run of it appends to what was saved."""
        b = self.block.b
        if self.top is not None:
            b.set(self.top, b.add(self.base, steps))


__all__ = ["Anchor", "Keeper", "Rows", "histories_of"]
