"""Branches and loops as basic blocks: `switch`, `loop` and `loop_back` without a return to Python.

What goes round a loop is in variables if small, so in registers, else in arrays. Saved values are in *histories*: all
small values of a step side by side in one array that grows, each large one in an array of its own; what does not change
from step to step is not saved at all. A history that outgrows the memory budget ends the function with the status
REFUSED, and NumPy's kernels, which know snapshots, run in its stead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, cast

import numpy as np

from ...._control.call import Program
from ...._control.loop import History, Loop
from ...._control.loop_back import LoopBack
from ...._control.switch import Branches
from ...._core.graph import Graph, Node
from ...._core.tensor import Value
from ..builder import Builder
from ..forms import TYPE_OF, Elements, Extents, Form, Stored, count_of, strides_of
from ..loops import REFUSED, WIDTHS, Alloc, Array, Operand, Reg, Var
from ..prepare import prepared
from ..schedule import is_small, static_size
from . import nests
from .blocks import SINGLES, Block
from .maps import zero_of

# -- what goes round --------------------------------------------------------------------------------------------------


class Carry:
    """A value that each step replaces."""

    def __init__(self, block: Block, start: Form, is_small_: bool) -> None:
        self.block = block
        self.shape = start.shape
        self.type = start.type
        self.vars: list[Var] | None = None
        self.home: Stored | None = None
        self.next: Stored | None = None
        if is_small_:
            self.vars = [block.b.var(start.type, item) for item in block.elements(start).items]
        else:
            self.home = block.fresh(start.shape, start.type)
            nests.copy(block.b, start, self.home)

    def form(self) -> Form:
        """The value now."""
        if self.vars is None:
            assert self.home is not None
            return self.home
        return Elements(self.shape, self.type, [self.block.b.get(v) for v in self.vars])

    def target(self) -> Stored | None:
        """Where the next value is to be computed; None if it is in registers."""
        if self.home is not None and self.next is None:
            self.next = self.block.fresh(self.shape, self.type)
        return self.next

    def compute(self, form: Form) -> None:
        """Sees to it that the next value is not in another carry's array, before any of those changes."""
        if self.home is None or (type(form) is Stored and form.array in self.arrays):
            return
        target = self.target()
        assert target is not None
        nests.copy(self.block.b, form, target)

    def replace(self, form: Form) -> None:
        """Makes a form the value; all that reads the old one has been emitted."""
        b = self.block.b
        if self.vars is not None:
            assert type(form) is Elements
            for var, item in zip(self.vars, form.items, strict=True):
                b.set(var, item)
        elif self.home is not None and not (type(form) is Stored and form.array is self.home.array):
            assert self.next is not None
            b.swap(self.home.array, self.next.array)

    @property
    def arrays(self) -> list[Array]:
        """The arrays in which the value, and the next one, may be."""
        return [x.array for x in (self.home, self.next) if x is not None]


def _replace_all(carries: Sequence[Carry], outs: Sequence[Form]) -> None:
    """Makes the results of a step what goes round."""
    for carry, form in zip(carries, outs, strict=False):
        carry.compute(form)
    for carry, form in zip(carries, outs, strict=False):
        carry.replace(form)


def _step_block(
    block: Block, graph: Graph, forms: Sequence[Form], carries: Sequence[Carry], others: Sequence[Stored | None] = ()
) -> list[Form]:  # fmt: skip
    """Emits a step; what goes round may be overwritten in place. `others`: where results behind the carries may go."""
    inner = Block(block.setting, graph, forms, block.sizes)
    inner.owned = {v.key for v, c in zip(graph.inputs, carries, strict=False) if c.home is not None}
    return inner.run([*(c.target() for c in carries), *others], is_filled=False)


def _zeros(block: Block, like: Form, is_small_: bool) -> Form:
    if is_small_:
        return Elements(like.shape, like.type, [zero_of(like.type)] * prod(like.shape))  # pyright: ignore[reportArgumentType, reportCallIssue]
    array = block.b.alloc(like.type, count_of(block.b, like.shape), zero=True)
    return Stored(like.shape, array, 0, strides_of(block.b, like.shape), True)


def _steady(block: Block, forms: Sequence[Form]) -> list[Form]:
    """Operands that a loop reads in each step: nothing in them is left to compute."""
    return [f if type(f) in (Elements, Stored, Kept) else block.dense(f) for f in forms]


# -- what steps give --------------------------------------------------------------------------------------------------


class Rows:
    """Results of the steps, stacked. The number of steps is known (`count`), or the array grows."""

    def __init__(self, block: Block, shape: Extents, type_: str, count: Operand | None) -> None:
        self.block = block
        self.shape = shape
        self.size = count_of(block.b, shape)
        self.is_growing = count is None
        self.array = (
            block.b.grown(type_, 1) if count is None else block.b.alloc(type_, block.b.mul(count, self.size))
        )

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


class Kept(Form):
    """A history: for each value that steps save, where it is."""

    __slots__ = ("big", "places", "slots", "widths")

    def __init__(self) -> None:
        super().__init__((), "history")
        self.places: list[Any] = []  # a form that is the same in all steps; (shape, type, items); or Rows
        self.slots: dict[str, Array] = {}  # by type, the small values of all steps
        self.widths: dict[str, int] = {}

    def saved(self, b: Builder, step: Operand) -> list[Form]:
        """What a step has saved."""
        starts = {t: b.mul(step, width) for t, width in self.widths.items()}
        found: list[Form] = []
        for place in self.places:
            if isinstance(place, Form):
                found.append(place)
            elif isinstance(place, Rows):
                found.append(place.stacked(0).row(b, step))
            else:
                shape, type_, items = place
                loaded = [
                    b.load(self.slots[type_], b.add(starts[type_], item.place)) if type(item) is _Slot else item
                    for item in items
                ]
                found.append(Elements(shape, type_, loaded))
        return found


class _Slot:
    """One of the small values that a step saves, by its place among those of its type."""

    __slots__ = ("place",)

    def __init__(self, place: int) -> None:
        self.place = place


ROOM = 1 << 25  # bytes up to which a history's memory is taken before the loop


def _just_made(b: Builder) -> Alloc:
    """The allocation that was emitted last."""
    made = b.block[-1]
    assert type(made) is Alloc
    return made


class Keeper:
    """Fills histories, step by step.

    Where the number of steps is known and they take little memory, all of it is there before the first step, and
    values are computed where they are kept; else it grows, and values are copied.
    """

    def __init__(
        self, block: Block, emits: Sequence[Any], mark: int, carries: Sequence[Carry], graph: Graph,
        count: Operand | None,
    ) -> None:  # fmt: skip
        self.block = block
        self.carries = carries
        self.emits = [e for e in emits if isinstance(e, History)]
        self.kept = [Kept() for _ in self.emits]
        self.mark = mark  # registers with lower numbers were there before the loop
        # before the loop, so that they are there in each step
        self.count = self._known(graph, count)
        self.columns: dict[Array, Alloc] = {}
        self.rows: dict[int, Rows] = {}  # by position, of large values that are computed where they are kept
        self.made: dict[int, Alloc] = {}
        if self.count is None:
            self.arrays = [{t: block.b.array(t, "grown") for t in WIDTHS} for _ in self.emits]
            return
        self.arrays = [{t: self._column(t) for t in WIDTHS} for _ in self.emits]
        for place, value in self.placed(graph):
            self.rows[place] = Rows(block, (*map(int, value.shape),), TYPE_OF[value.dtype], self.count)
            self.made[place] = _just_made(block.b)

    def _known(self, graph: Graph, count: Operand | None) -> int | None:
        """The number of steps, if it is known now and they take little memory."""
        size = 0
        for place in {p for e in self.emits for p in e.positions}:
            value = graph.outputs[place]
            if value.dtype == object or not all(type(n) is int for n in value.shape):
                return None
            size += prod(value.shape) * value.dtype.itemsize
        return count if type(count) is int and 0 < count * size <= ROOM else None

    def _column(self, type_: str) -> Array:
        """The small values of a type; how many there are is seen when the first step has been emitted."""
        found = self.block.b.alloc(type_, 0)
        self.columns[found] = _just_made(self.block.b)
        return found

    def placed(self, graph: Graph) -> list[tuple[int, Value]]:
        """The large results behind the carries that are kept, by position."""
        first = len(self.carries)
        seen = {v.key for v in (*graph.inputs, *graph.outputs[:first])}
        found: list[tuple[int, Value]] = []
        for position in (p for history in self.emits for p in history.positions if p >= first):
            value = graph.outputs[position]
            if value.key not in seen and not is_small(value) and static_size(value.shape) is not None:
                seen.add(value.key)
                found.append((position, value))
        return found

    def targets(self, graph: Graph, step: Operand) -> list[Stored | None]:
        """Where the step's results behind the carries are to be computed: those that are kept, in their rows."""
        first = len(self.carries)
        found: list[Stored | None] = [None] * (len(graph.outputs) - first)
        for position, value in self.placed(graph):
            if self.count is None:
                self.rows[position] = Rows(self.block, (*map(int, value.shape),), TYPE_OF[value.dtype], None)
            found[position - first] = self.rows[position].place(step)
        return found

    def keep(self, outs: Sequence[Form], step: Operand) -> None:
        """Saves what a step has computed."""
        for kept, history, arrays in zip(self.kept, self.emits, self.arrays, strict=True):
            self._keep(kept, [(p, outs[p]) for p in history.positions], arrays, step)
        used = {place.array for kept in self.kept for place in kept.places if type(place) is Rows}
        for position, made in self.made.items():
            if made.array not in used:
                made.count = 0
                del self.rows[position]

    def _keep(
        self, kept: Kept, forms: Sequence[tuple[int, Form]], arrays: dict[str, Array], step: Operand
    ) -> None:  # fmt: skip
        b = self.block.b
        columns: dict[str, dict[Reg, _Slot]] = {}
        size = 0
        for position, form in forms:
            if type(form) is Elements:
                items = [self._slot(columns, form.type, item) for item in form.items]
                kept.places.append((form.shape, form.type, items))
                continue
            assert type(form) is Stored
            if self._is_steady(form):
                kept.places.append(form)
                continue
            rows = self.rows.get(position) or Rows(self.block, form.shape, form.type, None)
            if form.array is not rows.array:
                rows.put(step, form)
            kept.places.append(rows)
            if type(rows.size) is int:
                size += rows.size * WIDTHS[form.type]
        for type_, column in columns.items():
            width = kept.widths[type_] = len(column)
            array = kept.slots[type_] = arrays[type_]
            start = b.mul(step, width)
            if self.count is None:
                b.reserve(array, b.add(start, width))
            else:
                self.columns[array].count = self.count * width
            for register, slot in column.items():
                b.store(array, b.add(start, slot.place), register)
            size += width * WIDTHS[type_]
        self._limit(size, step)

    def _slot(self, columns: dict[str, dict[Reg, _Slot]], type_: str, item: Operand) -> Any:
        if not isinstance(item, Reg) or cast(int, item.number) < self.mark:
            return item
        column = columns.setdefault(type_, {})
        return column.setdefault(item, _Slot(len(column)))

    def _is_steady(self, form: Stored) -> bool:
        if any(form.array in carry.arrays for carry in self.carries):
            return False
        offset = form.offset
        return form.array.number < self.mark and (not isinstance(offset, Reg) or cast(int, offset.number) < self.mark)

    def _limit(self, size: int, step: Operand) -> None:
        """Ends the function where a history takes more than there is for it."""
        if size:
            b = self.block.b
            taken = b.mul(b.add(step, 1), size)
            with b.when(b.let("gt", "i64", taken, self.block.setting.memory_budget())):
                b.leave(REFUSED)


# -- loops ------------------------------------------------------------------------------------------------------------


def _row(b: Builder, spec: Loop, count: Operand, step: Operand) -> Operand:
    """Which slice belongs to a step."""
    return b.sub(b.sub(count, 1), step) if spec.is_reversed else step


def _loop(block: Block, node: Node, forms: list[Form]) -> list[Form]:
    return _Loop(block, node, forms).run()


class _Loop:
    """A loop under construction."""

    def __init__(self, block: Block, node: Node, forms: list[Form]) -> None:
        spec: Loop = node.attrs[0]
        self.block = block
        self.b = block.b
        self.spec = spec
        self.count: Operand | None = None
        if spec.is_counted:
            self.count = self.b.convert("i64", forms[0].type, block.number(forms[0]))
            forms = forms[1:]
        first = spec.invariants_from()
        body = spec.body if _saves(spec) else spec.thin
        self.graph = prepared(body)
        self.xs = [block.stored(x) for x in forms[spec.carries : first]]
        self.steady = _steady(block, forms[first:])
        values = self.graph.inputs[: spec.carries]
        self.carries = [Carry(block, f, is_small(v)) for f, v in zip(forms[: spec.carries], values, strict=True)]
        # numbers that carries start with
        self.starts = {i: f.items[0] for i, f in enumerate(forms[: spec.carries]) if type(f) is Elements and f.items}
        self.rows: dict[int, Rows] = {}
        if self.count is not None:
            self.make_rows(self.count)
        self.keeper: Keeper | None = None

    def make_rows(self, count: Operand | None) -> None:
        inner = Block(self.block.setting, self.graph, self.inputs(0, is_typed=True), self.block.sizes)
        for emit in self.spec.emits:
            if isinstance(emit, int) and emit not in self.rows:
                value = self.graph.outputs[emit]
                self.rows[emit] = Rows(self.block, inner.shape(value), TYPE_OF[value.dtype], count)

    def inputs(self, step: Operand, is_typed: bool = False) -> list[Form]:
        """The operands of a step; `is_typed`: only their types matter."""
        row = 0 if is_typed or self.count is None else _row(self.b, self.spec, self.count, step)
        carries = [Form(c.shape, c.type) if is_typed else c.form() for c in self.carries]
        return [*carries, *(x.row(self.b, row) for x in self.xs), *self.steady]

    def run(self) -> list[Form]:
        b, spec = self.b, self.spec
        count = self.count
        if count is None:
            count = self.trips()
            self.make_rows(count)
        self.keeper = Keeper(self.block, spec.emits, b.mark(), self.carries, self.graph, count)
        if count is not None:
            steps: Operand = count
            with b.loop(0, steps) as step:
                self.step(step)
        else:
            counter = b.var("i64", 0)
            b.repeat(self.condition, lambda: self.while_step(counter))
            steps = b.get(counter)
        histories = iter(self.keeper.kept)
        emitted = [
            next(histories) if isinstance(e, History) else self.rows[e].stacked(steps) for e in spec.emits
        ]
        between = [] if spec.is_counted else [Elements((), "i64", [steps])]
        return [*(c.form() for c in self.carries), *between, *emitted]

    def trips(self) -> Operand | None:
        """The number of steps of a loop that counts up by one to a limit that stays."""
        spec, b = self.spec, self.b
        assert spec.condition is not None
        test = prepared(spec.condition)
        if len(test.nodes) != 1 or test.nodes[0].op.name != "lt":
            return None
        place, limit = (next(i for i, v in enumerate(test.inputs) if v.key == x.key) for x in test.nodes[0].inputs)
        if place >= spec.carries or limit < spec.carries or test.inputs[place].dtype != np.int64:
            return None
        if not _counts_up(self.graph, place):
            return None
        first = self.starts.get(place)
        if first is None:
            first = self.block.number(self.carries[place].form())
        left = b.sub(self.block.number(self.steady[limit - spec.carries]), first)
        return b.select("i64", b.let("gt", "i64", left, 0), left, 0)

    def condition(self) -> Operand:
        assert self.spec.condition is not None
        forms = [*(c.form() for c in self.carries), *self.steady]
        (holds,) = Block(self.block.setting, prepared(self.spec.condition), forms, self.block.sizes).run()
        return self.block.number(holds)

    def while_step(self, counter: Var) -> None:
        step = self.b.get(counter)
        self.step(step)
        self.b.set(counter, self.b.add(step, 1))

    def step(self, step: Operand) -> None:
        b = self.b
        b.poll()
        forms = self.inputs(step)
        assert self.keeper is not None
        outs = _step_block(self.block, self.graph, forms, self.carries, self.keeper.targets(self.graph, step))
        row = step if self.count is None else _row(b, self.spec, self.count, step)
        for emit, rows in self.rows.items():
            rows.put(row, outs[emit])
        self.keeper.keep(outs, step)
        _replace_all(self.carries, outs)


def _counts_up(graph: Graph, place: int) -> bool:
    """Whether a step adds one to a carry."""
    makers = {v.key: node for node in graph.nodes for v in node.outputs}
    carried, node = graph.inputs[place], makers.get(graph.outputs[place].key)
    if node is None or carried.key not in {v.key for v in node.inputs}:
        return False
    if node.op.name == "add_number":
        return node.attrs[0] == 1
    if node.op.name != "add":
        return False
    (other,) = [v for v in node.inputs if v.key != carried.key] or [carried]
    maker = makers.get(other.key)
    if maker is None:
        return False
    if maker.op.name == "constant":
        return bool(np.all(np.asarray(maker.attrs[0]) == 1))
    return maker.op.name == "full" and type(maker.attrs[1]) is int and maker.attrs[1] == 1


def _saves(spec: Loop) -> bool:
    """Whether a step gives more than the user's own results."""
    return any(isinstance(e, History) or e >= spec.carries + spec.own for e in spec.emits)


def _loop_back(block: Block, node: Node, forms: list[Form]) -> list[Form]:
    return _Back(block, node, forms).run()


class _Back:
    """The way back through a history, under construction."""

    def __init__(self, block: Block, node: Node, forms: list[Form]) -> None:
        back: LoopBack = node.attrs[0]
        spec, step = back.spec, back.step
        assert type(forms[0]) is Kept
        self.block = block
        self.b = block.b
        self.spec = spec
        self.step_ = step
        self.kept = forms[0]
        self.count = self.b.convert("i64", forms[1].type, block.number(forms[1]))
        self.inputs = forms[2 : 2 + back.inputs]
        rest = forms[2 + back.inputs :]
        width = len(step.carries)
        self.graph = prepared(step.program)
        small = [is_small(v) for v in self.graph.inputs]
        sums = [
            _zeros(block, self.inputs[i], small[width + k]) for k, i in enumerate(step.sums)
        ]
        starts = [*rest[:width], *sums]
        self.state = [Carry(block, f, s) for f, s in zip(starts, small, strict=False)]
        self.read = [block.stored(x) for x in (*(self.inputs[i] for i in step.xs), *rest[width:])]
        self.steady = _steady(block, [self.inputs[i] for i in step.invariants])
        self.slices = [
            Rows(block, self.inputs[i].shape[1:], self.inputs[i].type, self.count) for i in step.slices
        ]

    def run(self) -> list[Form]:
        b = self.b
        with b.loop(0, self.count) as turn:
            self.turn(b.sub(b.sub(self.count, 1), turn))
        return [*(c.form() for c in self.state), *(rows.stacked(self.count) for rows in self.slices)]

    def turn(self, step: Operand) -> None:
        b = self.b
        b.poll()
        row = _row(b, self.spec, self.count, step)
        forms = [
            *(c.form() for c in self.state), *self.kept.saved(b, step), *(x.row(b, row) for x in self.read),
            *self.steady,
        ]  # fmt: skip
        outs = _step_block(self.block, self.graph, forms, self.state)
        for rows, form in zip(self.slices, outs[len(self.state) :], strict=True):
            rows.put(row, form)
        _replace_all(self.state, outs)


# -- branches ---------------------------------------------------------------------------------------------------------


def _switch(block: Block, node: Node, forms: list[Form]) -> list[Form]:
    b = block.b
    branches: Branches = node.attrs[0]
    index, *operands = forms
    number = block.number(index)
    results = [_Result(block, value) for value in node.outputs]
    operands = _steady(block, operands)

    def run(program: Program) -> None:
        outs = Block(block.setting, prepared(program), operands, block.sizes).run([r.home for r in results])
        for result, form in zip(results, outs, strict=True):
            result.put(form)

    programs = branches.programs
    if index.type == "bool":
        _chain(b, [(number, lambda: run(programs[0]))], lambda: run(programs[1]))
    else:
        whole = b.convert("i64", index.type, number)
        cases = [
            (b.let("eq", "i64", whole, k), lambda program=program: run(program))
            for k, program in enumerate(programs[:-1])
        ]
        _chain(b, cases, lambda: run(programs[-1]))
    return [result.form() for result in results]


def _chain(b: Builder, cases: Sequence[tuple[Operand, Callable[[], None]]], last: Callable[[], None]) -> None:
    """If, else if, ..., else."""
    if not cases:
        last()
        return
    (cond, run), *others = cases
    with b.when(cond) as branch:
        run()
    with b.inside(branch.other):
        _chain(b, others, last)


class _Result:
    """What every branch computes: in variables if small, else in an array."""

    def __init__(self, block: Block, value: Any) -> None:
        self.b = block.b
        self.shape = block.shape(value)
        self.type = TYPE_OF[value.dtype]
        self.vars = [self.b.var(self.type) for _ in range(prod(value.shape))] if is_small(value) else None
        self.home = block.fresh(self.shape, self.type) if self.vars is None else None

    def put(self, form: Form) -> None:
        if self.vars is not None:
            assert type(form) is Elements
            for var, item in zip(self.vars, form.items, strict=True):
                self.b.set(var, item)

    def form(self) -> Form:
        if self.vars is None:
            assert self.home is not None
            return self.home
        return Elements(self.shape, self.type, [self.b.get(v) for v in self.vars])


SINGLES.update({"loop": _loop, "loop_back": _loop_back, "switch": _switch})
