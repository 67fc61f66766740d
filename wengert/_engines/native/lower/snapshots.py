"""Loops that keep snapshots of their state instead of what every step saves, and their backward passes.

A loop whose number of steps is known beforehand keeps states where `_transforms/snapshots.py` says: at even distances
("sqrt"), or where a binomial schedule has them. Any other loop keeps them at even distances that double, with every
other state dropped, each time there are too many: for "sqrt" as many as a distance has steps, twice over; for a number
of snapshots half of them, so that the backward pass has the other half for the stretches between.

The backward pass copies the snapshots, for it takes new ones in the place of those that it no longer needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isqrt
from typing import Any, cast

from ..ir.builder import Builder
from ..ir.loops import WIDTHS, Array, Operand, Var
from . import nests
from .blocks import Block
from .forms import Elements, Form, Stored, count_of, strides_of
from .histories import HistoryForm, Snapshots
from .history_keepers import Anchor
from .history_templates import Big, Item, Number, Out, Place, Slot, Small, Template

FRUGAL = "frugal"  # the policy of an "auto" loop whose history would take too much memory
NEVER = 2**62  # a step that no loop reaches
LEAST_AUTO, MOST_AUTO = 8, 1024  # snapshots of an "auto" loop that has given its history up


class States:
    """Rows of an array or more: in each a step's number and the carries before it.

    Args:
        block: where they are needed.
        forms: carries, for their types.
        moving: which of the carries change from step to step; the others are kept once.
        base: the row before the first.
    """

    def __init__(self, block: Block, forms: Sequence[Form], moving: Sequence[bool], base: Operand = 0) -> None:
        self.b = block.b
        self.block = block
        self.base = base
        self.arrays: list[Array] = []
        self.outside: list[Any] = [base]
        self.columns: dict[str, tuple[int, int]] = {}  # by type, the array and how many values a row has
        self.places: list[Place] = [self._small((), "i64", 1)]
        self.sizes: dict[int, Operand] = {}  # of the rows of arrays with one value each
        for form, is_moving in zip(forms, moving, strict=True):
            self.places.append(self._place(form) if is_moving else self._same(form))
        columns = (*[(t, array, width) for t, (array, width) in self.columns.items()],)
        self.kept = HistoryForm(Template((*self.places,), columns), self.arrays, self.outside)

    def _array(self, type_: str) -> int:
        self.arrays.append(self.b.array(type_, "grown"))
        return len(self.arrays) - 1

    def _small(self, shape: Any, type_: str, count: int) -> Small:
        array, width = self.columns.get(type_) or (self._array(type_), 0)
        self.columns[type_] = array, width + count
        return Small(shape, type_, (*[Slot(type_, width + k) for k in range(count)],))

    def _place(self, form: Form) -> Place:
        if type(form) is Elements:
            return self._small(form.shape, form.type, len(form.items))
        array = self._array(form.type)
        self.sizes[array] = count_of(self.b, form.shape)
        return Big((*[self._extent(n) for n in form.shape],), form.type, array)

    def _extent(self, extent: Operand) -> Item:
        return Number(extent) if type(extent) is int else self._same(extent)

    def _same(self, x: object) -> Out:
        self.outside.append(x)
        return Out(len(self.outside) - 1)

    def bytes(self) -> Operand:
        """How many bytes a row takes."""
        b = self.b
        total: Operand = sum(width * WIDTHS[t] for t, (_, width) in self.columns.items())
        for array, size in self.sizes.items():
            total = b.add(total, b.mul(size, WIDTHS[self.arrays[array].type]))
        return total

    def _rows(self) -> list[tuple[Array, Operand]]:
        """Each array with how many elements of it a row has."""
        columns = [(self.arrays[array], cast(Operand, width)) for array, width in self.columns.values()]
        return [*columns, *[(self.arrays[array], size) for array, size in self.sizes.items()]]

    def put(self, row: Operand, step: Operand, forms: Sequence[Form]) -> None:
        """Stores a state."""
        b = self.b
        row = b.add(self.base, row)
        for array, size in self._rows():
            end = b.mul(b.add(row, 1), size)
            b.reserve(array, end)
            b.set(self.block.setting.length(array), end)
        for place, form in zip(self.places, [Elements((), "i64", [step]), *forms], strict=True):
            if type(place) is Small:
                assert type(form) is Elements
                array, width = self.columns[place.type]
                start = b.mul(row, width)
                for slot, item in zip(place.items, form.items, strict=True):
                    b.store(self.arrays[array], b.add(start, cast(Slot, slot).place), item)
            elif type(place) is Big:
                start = b.mul(row, self.sizes[place.array])
                target = Stored(form.shape, self.arrays[place.array], start, strides_of(b, form.shape), True)
                nests.copy(b, form, target)

    def get(self, row: Operand) -> list[Form]:
        """The carries of a state."""
        return self.kept.saved(self.b, row)[1:]

    def step(self, row: Operand) -> Operand:
        """The step of a state."""
        array, width = self.columns["i64"]
        return self.b.load(self.arrays[array], self.b.mul(self.b.add(self.base, row), width))

    def move(self, target: Operand, source: Operand) -> None:
        """Copies a row to another."""
        b = self.b
        for array, size in self._rows():
            to, at = (b.mul(b.add(self.base, row), size) for row in (target, source))
            b.copy(array, to, array, at, size)

    def read(self, kept: HistoryForm) -> None:
        """Takes a history of the same states for its own, to be read."""
        self.kept, self.base, self.arrays = kept, kept.outside[0], kept.arrays

    def take(self, kept: HistoryForm, live: Operand) -> None:
        """Copies the first rows of a history of the same states."""
        b = self.b
        for (array, size), source in zip(self._rows(), self._sources(kept), strict=True):
            count = b.mul(live, size)
            b.reserve(array, b.add(count, 1))
            b.copy(array, 0, source, b.mul(kept.outside[0], size), count)

    def _sources(self, kept: HistoryForm) -> list[Array]:
        columns = [kept.arrays[array] for array, _ in self.columns.values()]
        return [*columns, *[kept.arrays[array] for array in self.sizes]]


# -- schedules --------------------------------------------------------------------------------------------------------


def first_stretch(b: Builder, length: Operand, slots: Operand) -> Operand:
    """Where the next snapshot is best taken in `length` > 1 steps, with so many slots (at least 2), the first's too."""
    t, shorter, short = b.var("i64", 1), b.var("i64", 0), b.var("i64", 1)
    reach = b.var("i64", b.add(slots, 1))

    def grow() -> None:
        after = b.add(b.get(t), 1)
        b.set(t, after)
        b.set(shorter, b.get(short))
        b.set(short, b.get(reach))
        b.set(reach, b.divided(b.mul(b.get(reach), b.add(slots, after)), after))

    b.repeat(lambda: b.let("lt", "i64", b.get(reach), length), grow)
    rest = b.divided(b.mul(b.get(reach), slots), b.add(slots, b.get(t)))
    found = _larger(b, b.get(shorter), b.sub(length, rest))
    return _larger(b, found, 1)


def _larger(b: Builder, x: Operand, y: Operand) -> Operand:
    return b.select("i64", b.let("gt", "i64", x, y), x, y)


def root(b: Builder, n: Operand) -> Operand:
    """The square root of a number that is not negative, cut to an integer."""
    if type(n) is int:
        return isqrt(n)
    return b.convert("i64", "f64", b.let("sqrt", "f64", b.convert("f64", "i64", n)))


class Taker:
    """Takes the snapshots of a loop while it runs.

    Args:
        block: the one that the loop is in.
        carries: gives the carries as they are.
        moving: which of them change from step to step.
        policy: "sqrt", a number, or `FRUGAL` for as many as the memory budget has room for.
        count: the number of steps, if it is known.
        lasting: where the loop begins that keeps the history, if one does.
    """

    def __init__(
        self, block: Block, carries: Callable[[], Sequence[Form]], moving: Sequence[bool], policy: Any,
        count: Operand | None, lasting: Anchor | None,
    ) -> None:  # fmt: skip
        b = self.b = block.b
        self.carries = carries
        self.count = count
        self.is_even = policy == "sqrt"
        self.top: Var | None = None
        if lasting is not None:
            self.top = b.var("i64")
            lasting.set(self.top, 0)
        self.states = States(block, carries(), moving, 0 if self.top is None else b.get(self.top))
        self.budget = self._budget(block, policy)
        self.live, self.due = b.var("i64", 0), b.var("i64", 0)
        self.distance = b.var("i64", 1)
        if self.is_even and count is not None:
            b.set(self.distance, b.add(root(b, _larger(b, b.sub(count, 1), 0)), 1))

    def _budget(self, block: Block, policy: Any) -> Operand:
        if policy != FRUGAL:
            return 0 if self.is_even else int(policy)
        b = self.b
        room = b.divided(block.setting.memory_budget(), _larger(b, b.mul(self.states.bytes(), 4), 1))
        most = b.select("i64", b.let("lt", "i64", room, MOST_AUTO), room, MOST_AUTO)
        return _larger(b, most, LEAST_AUTO)

    def offer(self, step: Operand) -> None:
        """Keeps the state before a step, if it is to be kept."""
        b = self.b
        with b.when(b.let("eq", "i64", step, b.get(self.due))):
            row = b.get(self.live)
            self.states.put(row, step, self.carries())
            live = b.add(row, 1)
            b.set(self.live, live)
            if self.count is None:
                self._doubling(step, live)
            elif self.is_even:
                b.set(self.due, b.add(step, b.get(self.distance)))
            else:
                self._binomial(step, live)

    def _binomial(self, step: Operand, live: Operand) -> None:
        b, assumed = self.b, self.count
        assert assumed is not None
        rest, slots = b.sub(b.add(assumed, 1), step), b.sub(b.add(self.budget, 1), live)
        b.set(self.due, NEVER)
        with b.when(b.both(b.let("gt", "i64", rest, 2), b.let("gt", "i64", slots, 1))):
            b.set(self.due, b.add(step, first_stretch(b, rest, slots)))

    def _doubling(self, step: Operand, live: Operand) -> None:
        b = self.b
        distance = b.get(self.distance)
        b.set(self.due, b.add(step, distance))
        half = b.divided(b.add(self.budget, 1), 2)
        most = b.mul(distance, 2) if self.is_even else half
        with b.when(b.let("ge", "i64", live, most)):
            kept = b.divided(b.add(live, 1), 2)
            with b.loop(1, kept) as row:
                self.states.move(row, b.mul(row, 2))
            b.set(self.live, kept)
            wide = b.mul(distance, 2)
            b.set(self.distance, wide)
            due = b.add(step, distance)
            b.set(self.due, b.add(due, b.remainder(due, wide)))
            if not self.is_even:
                with b.when(b.let("le", "i64", self.budget, 2)):
                    b.set(self.due, NEVER)  # one state, the first

    def end(self) -> Snapshots:
        """The loop is over."""
        b = self.b
        live = b.get(self.live)
        if self.top is not None:
            b.set(self.top, b.add(self.states.base, live))
        return Snapshots(self.states.kept, live, self.budget, self.is_even)


__all__ = ["FRUGAL", "LEAST_AUTO", "MOST_AUTO", "States", "Taker", "first_stretch"]
