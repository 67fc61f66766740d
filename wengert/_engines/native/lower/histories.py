"""Histories: what the steps of a loop save for their backward pass, and where it lies.

All small values of a step lie side by side in one array a type that grows (its *columns*), each large one in an array
of its own; what does not change from step to step is not saved at all. A `Template` says so without naming arrays, so
that a history can be handed from one function of machine code to another (`shared_histories.py` has it in between); a
`HistoryForm` is a template with its arrays, and with the values that it takes from *outside*: what was the same in all
steps.

A history may lie in another one: the inner loop of two appends what it saves to the same arrays each time that it
runs, and the outer one saves where its part begins, and whatever else was outside for the inner one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple, cast

from ...._control.loop import History
from ...._core.graph import Graph
from ...._core.tensor import Value
from ..ir.builder import Builder
from ..ir.loops import COMPLEX, HALVES, ITEM, TYPES, WIDTHS, Alloc, Array, Operand, Reg, Set, Status, Var
from ..ir.pairs import Pair, pair_of
from ..plan.schedule import is_small, static_size
from . import nests
from .blocks import Block
from .forms import TYPE_OF, Elements, Extents, Form, Nothing, Stored, count_of, strides_of

# -- what a template says ---------------------------------------------------------------------------------------------


class Slot(NamedTuple):
    """A small value that each step saves: its place among those of its type."""

    type: str
    place: int


class Out(NamedTuple):
    """Something from outside, by number."""

    number: int


class Number:
    """A number of the program; equal to others to the sign of zeros and to the type, NaN to itself."""

    __slots__ = ("_key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._key = (type(value), repr(value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"Number({self.value!r})"


class Both(NamedTuple):
    """A complex number, by its parts."""

    re: Any
    im: Any


Item = Slot | Out | Number | Both


class Small(NamedTuple):
    """A small value: an item for each element."""

    shape: tuple[int, ...]
    type: str
    items: tuple[Item, ...]


class Big(NamedTuple):
    """A large value: a row of an array for each step. `start` is where the row begins, None if all are of one size."""

    shape: tuple[Item, ...]
    type: str
    array: int
    start: Item | None = None


class Inner(NamedTuple):
    """A history: its template, which of the arrays are its, and what it has from outside."""

    template: Template
    arrays: tuple[int, ...]
    outside: tuple[Any, ...]  # items, and places of forms


class Either(NamedTuple):
    """A history of one of several branches, and which."""

    chosen: Item
    histories: tuple[Inner | None, ...]


class Pile(NamedTuple):
    """Histories of one kind, one for each step of a loop that gives them as a stack."""

    histories: Inner
    count: Item


class Snaps(NamedTuple):
    """The history of a loop that keeps snapshots: its states, each with its step, and how many of how many at most."""

    states: Inner
    live: Item
    budget: Item
    is_even: bool


Place = Out | Small | Big | Inner | Either | Pile | Snaps


class Template(NamedTuple):
    """What a step saves: the places of its values; for each type of small ones the array and how many there are."""

    places: tuple[Place, ...]
    columns: tuple[tuple[str, int, int], ...]

    def column(self, type_: str) -> tuple[int, int]:
        """The array of the small values of a type, and how many a step has."""
        return next((array, width) for t, array, width in self.columns if t == type_)


# -- histories as forms -----------------------------------------------------------------------------------------------


class HistoryForm(Form):
    """A history. Its first value from outside is where it begins in its arrays, in rows."""

    __slots__ = ("arrays", "outside", "template")

    def __init__(self, template: Template, arrays: list[Array], outside: list[Any]) -> None:
        super().__init__((), "history")
        self.template = template
        self.arrays = arrays
        self.outside = outside  # operands and forms

    def saved(self, b: Builder, step: Operand) -> list[Form]:
        """What a step has saved."""
        row = b.add(self.outside[0], step)
        return [self._form(b, place, row) for place in self.template.places]

    def _item(self, b: Builder, item: Item, row: Operand) -> Operand:
        if type(item) is Slot:
            array, width = self.template.column(item.type)
            return b.load(self.arrays[array], b.add(b.mul(row, width), item.place))
        if type(item) is Both:
            return cast(Any, Pair(self._item(b, item.re, row), self._item(b, item.im, row)))
        return self.outside[item.number] if type(item) is Out else cast(Number, item).value

    def _form(self, b: Builder, place: Place, row: Operand) -> Any:
        kind = type(place)
        if kind is Out:
            return self.outside[cast(Out, place).number]
        if kind is Small:
            assert type(place) is Small
            return Elements(place.shape, place.type, [self._item(b, i, row) for i in place.items])
        if kind is Big:
            return self._big(b, cast(Big, place), row)
        if kind is Inner:
            return self._inner(b, cast(Inner, place), row)
        if kind is Snaps:
            assert type(place) is Snaps
            live, budget = self._item(b, place.live, row), self._item(b, place.budget, row)
            return Snapshots(self._inner(b, place.states, row), live, budget, place.is_even)
        if kind is Pile:
            assert type(place) is Pile
            return Piled(self._inner(b, place.histories, row), self._item(b, place.count, row))
        assert type(place) is Either
        if not place.histories:
            return Nothing()
        histories = [None if h is None else self._form(b, h, row) for h in place.histories]
        return OneOf(self._item(b, place.chosen, row), histories)

    def _big(self, b: Builder, place: Big, row: Operand) -> Stored:
        shape = (*[self._item(b, n, row) for n in place.shape],)
        start = b.mul(row, count_of(b, shape)) if place.start is None else self._item(b, place.start, row)
        return Stored(shape, self.arrays[place.array], start, strides_of(b, shape), True)

    def _inner(self, b: Builder, place: Inner, row: Operand) -> HistoryForm:
        outside = [self._item(b, x, row) if type(x) in (Slot, Number) else self._form(b, x, row) for x in place.outside]
        return HistoryForm(place.template, [self.arrays[i] for i in place.arrays], outside)


class Piled(Form):
    """A stack of histories."""

    __slots__ = ("kept",)

    def __init__(self, kept: HistoryForm, count: Operand) -> None:
        super().__init__((count,), "history")
        self.kept = kept

    def row(self, b: Builder, number: Operand) -> Any:
        """One of them."""
        return self.kept.saved(b, number)[0]


class Snapshots(Form):
    """A history of snapshots: as rows of a `HistoryForm` the number of a step and the carries before it.

    Attributes:
        states: the rows.
        live: how many there are.
        budget: how many there may be.
        is_even: whether each stretch between two is to be run again as a whole.
    """

    __slots__ = ("budget", "is_even", "live", "states")

    def __init__(self, states: HistoryForm, live: Operand, budget: Operand, is_even: bool) -> None:
        super().__init__((), "history")
        self.states = states
        self.live = live
        self.budget = budget
        self.is_even = is_even


class OneOf(Form):
    """The history of a branch; the backward pass takes the same branch, and knows which history is its own."""

    __slots__ = ("chosen", "histories")

    def __init__(self, chosen: Operand, histories: Sequence[Any]) -> None:
        super().__init__((), "history")
        self.chosen = chosen
        self.histories = histories


# -- filling them -----------------------------------------------------------------------------------------------------


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


class Record:
    """One row of a history under construction: what is to be saved, and the template that says so.

    Args:
        b: the builder.
        mark: registers and arrays with lower numbers are outside.
        base: where the history begins in its arrays, in rows.
        make: makes the array of the small values of a type.
        changing: arrays that hold something else in the next row, though they are outside.
    """

    def __init__(
        self, b: Builder, mark: int, base: Operand, make: Callable[[str], Array], changing: set[Array]
    ) -> None:  # fmt: skip
        self.b = b
        self.mark = mark
        self.make = make
        self.changing = changing
        self.places: list[Any] = []
        self.arrays: list[Array] = []
        self.outside: list[Any] = [base]
        self.columns: dict[str, dict[Reg, Slot]] = {}
        self.numbers: dict[str, int] = {}  # of the columns' arrays
        self._outs: dict[Any, Out] = {}

    def item(self, type_: str, x: Operand) -> Item:
        """An operand to be found again."""
        if type_ in COMPLEX:
            z = pair_of(x)
            return Both(self.item(ITEM[type_], z.re), self.item(ITEM[type_], z.im))
        if not isinstance(x, Reg):
            return Number(x)
        if cast(int, x.number) < self.mark:
            return self.out(x)
        if type_ not in self.columns:
            self.columns[type_] = {}
            self.numbers[type_] = self.array(self.make(type_))
        column = self.columns[type_]
        return column.setdefault(x, Slot(type_, len(column)))

    def out(self, x: object) -> Out:
        """Something that is outside."""
        if x not in self._outs:
            self._outs[x] = Out(len(self.outside))
            self.outside.append(x)
        return self._outs[x]

    def array(self, array: Array) -> int:
        """The number of an array."""
        if array not in self.arrays:
            self.arrays.append(array)
        return self.arrays.index(array)

    def extents(self, shape: Extents) -> tuple[Item, ...]:
        """A shape to be found again."""
        return (*[self.item("i64", n) for n in shape],)

    def is_outside(self, form: Stored) -> bool:
        """Whether an array is there, and the same, in all rows."""
        operands = (form.offset, *form.shape, *form.strides)
        return (
            form.array.number < self.mark
            and form.array not in self.changing
            and all(not isinstance(x, Reg) or cast(int, x.number) < self.mark for x in operands)
        )

    def place(self, form: Form, stored: Callable[[Stored], Place]) -> Place:
        """A form to be found again; `stored` sees to large ones."""
        if type(form) is Elements:
            return Small(cast(Any, form.shape), form.type, (*[self.item(form.type, x) for x in form.items],))
        if type(form) is Stored:
            return self.out(form) if self.is_outside(form) else stored(form)
        if type(form) is HistoryForm:
            return self._inner(form, stored)
        if type(form) is Snapshots:
            live, budget = self.item("i64", form.live), self.item("i64", form.budget)
            return Snaps(self._inner(form.states, stored), live, budget, form.is_even)
        if type(form) is Piled:
            return Pile(self._inner(form.kept, stored), self.item("i64", form.shape[0]))
        if type(form) is Nothing:
            return Either(Number(-1), ())
        assert type(form) is OneOf
        histories = (*[None if h is None else self.place(h, stored) for h in form.histories],)
        return Either(self.item("i64", form.chosen), cast(Any, histories))

    def _inner(self, form: HistoryForm, stored: Callable[[Stored], Place]) -> Inner:
        outside = (*[
            self.place(x, stored) if isinstance(x, Form) else self.item("i64" if not isinstance(x, Reg) else x.type, x)
            for x in form.outside
        ],)  # fmt: skip
        return Inner(form.template, (*map(self.array, form.arrays),), outside)

    def template(self) -> Template:
        """What was said so far."""
        columns = (*[(t, self.numbers[t], len(c)) for t, c in self.columns.items()],)
        return Template((*self.places,), columns)

    def store(self, row: Operand, reserve: Callable[[Array, Operand, int], None]) -> None:
        """Stores the small values; `reserve(array, start, width)` sees to it that there is room."""
        b = self.b
        for type_, column in self.columns.items():
            array, width = self.arrays[self.numbers[type_]], len(column)
            start = b.mul(row, width)
            reserve(array, start, width)
            for register, slot in column.items():
                b.store(array, b.add(start, slot.place), register)

    def kept(self) -> HistoryForm:
        """The history."""
        return HistoryForm(self.template(), self.arrays, self.outside)


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
        if e.policy == "auto" or (e.policy == "all" and graph.outputs[e.positions[0]].dtype == object)
    ]  # fmt: skip


class Keeper:
    """Fills the histories of a loop, step by step.

    Where the number of steps is known and they take little memory, all of it is there before the first step, and
    values are computed where they are kept; else it grows, and values are copied. A history that another one will
    hold (`lasting` says where that one's loop begins) goes on where the last run of its loop has left off.
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
        self.rows: dict[int, Rows] = {}  # by position, of large values that are computed where they are kept
        self.made: dict[int, Alloc] = {}
        self.arrays: list[dict[str, Array]] = []
        if self.count is None:
            return
        self.arrays = [{t: self._column(t) for t in (*TYPES, *HALVES)} for _ in self.emits]
        for place, value in self.placed():
            self.rows[place] = Rows(block, (*map(int, value.shape),), TYPE_OF[value.dtype], self.count)
            made = _just_made(block.b)
            self.made[place] = block.setting.allocs[made.array] = made

    def _known(self, count: Operand | None) -> int | None:
        """The number of steps, if it is known now and they take little memory."""
        size = 0
        for place in {p for e in self.emits for p in e.positions}:
            value = self.graph.outputs[place]
            if value.dtype == object or not all(type(n) is int for n in value.shape):
                return None
            size += prod(value.shape) * value.dtype.itemsize
        return count if self.top is None and type(count) is int and 0 < count * size <= ROOM else None

    def _column(self, type_: str) -> Array:
        """The small values of a type; how many there are is seen when the first step has been emitted."""
        found = self.block.b.alloc(type_, 0)
        self.columns[found] = self.block.setting.allocs[found] = _just_made(self.block.b)
        return found

    def placed(self) -> list[tuple[int, Value]]:
        """The large results behind the carries that are kept, by position."""
        graph, first = self.graph, self.carries
        seen = {v.key for v in (*graph.inputs, *graph.outputs[:first])}
        found: list[tuple[int, Value]] = []
        for position in (p for history in self.emits for p in history.positions if p >= first):
            value = graph.outputs[position]
            if value.dtype == object or value.key in seen or is_small(value) or static_size(value.shape) is None:
                continue
            seen.add(value.key)
            found.append((position, value))
        return found

    def targets(self, step: Operand) -> list[Stored | None]:
        """Where the step's results behind the carries are to be computed: those that are kept, in their rows."""
        first = self.carries
        found: list[Stored | None] = [None] * (len(self.graph.outputs) - first)
        for position, value in self.placed():
            if self.count is None:
                self.rows[position] = Rows(self.block, (*map(int, value.shape),), TYPE_OF[value.dtype], None)
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


__all__ = [
    "Anchor", "Big", "Both", "Either", "Inner", "Item", "Keeper", "HistoryForm", "Number", "OneOf", "Out", "Pile",
    "Piled", "Place", "Record", "Rows", "Slot", "Small", "Snaps", "Snapshots", "Template", "histories_of",
]  # fmt: skip
