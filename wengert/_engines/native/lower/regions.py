"""Lowers branches and loops to basic blocks: `switch`, `loop` and `loop_back` without a return to Python.

A loop's carries are in variables if small, so in registers, else in arrays. Saved values are in *histories*
(`histories.py`, filled by `history_keepers.py`), or states from which steps run again (`snapshots.py`). A history that
outgrows the memory budget ends the function with the status OVER_BUDGET, and code whose loops keep snapshots runs in
its stead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ...._control.loop import History, Loop
from ...._control.loop_back import LoopBack
from ...._control.switch import Branches
from ...._core.dims import Dim
from ...._core.graph import Graph, Node
from ...._core.op import stated
from ...._core.tensor import Value
from ..ir.builder import Builder
from ..ir.loops import WIDTHS, Array, Operand, Reg, Status, Var
from ..plan.schedule import is_small
from ..plan.support import prepared
from . import nests
from .blocks import Block, singles
from .forms import TYPE_OF, Elements, Extents, Form, Nothing, Stored, count_of, strides_of
from .histories import HistoryForm, OneOf, Piled, Snapshots
from .history_keepers import Anchor, Keeper, Rows, histories_of
from .invariants import hoisted
from .maps import zero_of
from .snapshots import FRUGAL, States, Taker, first_stretch

SHORT = 512  # bytes of a value that goes round, up to which it is copied where it is replaced

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

    def restore(self, form: Form) -> None:
        """Makes a form from elsewhere the value."""
        if self.vars is None:
            assert self.home is not None
            nests.copy(self.block.b, form, self.home)
        else:
            self.replace(form)

    def replace(self, form: Form) -> None:
        """Makes a form the value; all that reads the old one has been emitted."""
        b = self.block.b
        if self.vars is not None:
            assert type(form) is Elements
            for var, item in zip(self.vars, form.items, strict=True):
                b.set(var, item)
        elif self.home is not None and not (type(form) is Stored and form.array is self.home.array):
            assert self.next is not None
            if self._is_short():
                nests.copy(b, self.next, self.home)
            else:
                b.swap(self.home.array, self.next.array)

    def _is_short(self) -> bool:
        """Whether to copy the value takes as little time as to exchange addresses, which code must look up then."""
        size = count_of(self.block.b, self.shape)
        return type(size) is int and size * WIDTHS[self.type] <= SHORT

    @property
    def arrays(self) -> list[Array]:
        """The arrays in which the value, and the next one, may be."""
        return [x.array for x in (self.home, self.next) if x is not None]


def _make_room(carries: Sequence[Carry]) -> None:
    """Makes the arrays for what goes round next, before the loop: what is made in a step is made in each."""
    for carry in carries:
        carry.target()


def _replace_all(carries: Sequence[Carry], outs: Sequence[Form]) -> None:
    """Makes the results of a step what goes round."""
    for carry, form in zip(carries, outs, strict=False):
        carry.compute(form)
    for carry, form in zip(carries, outs, strict=False):
        carry.replace(form)


def _step_block(
    block: Block, graph: Graph, forms: Sequence[Form], carries: Sequence[Carry], others: Sequence[Stored | None] = (),
    lasting: dict[int, Anchor] | None = None,
) -> list[Form]:  # fmt: skip
    """Emits a step; what goes round may be overwritten in place.

    Args:
        block: the one that the loop is in.
        graph: the step.
        forms: its operands.
        carries: what goes round.
        others: where results behind the carries may go.
        lasting: the histories that a later step must not overwrite, by key, and where the loop that keeps them begins.
    """
    inner = Block(block.setting, graph, forms, block.sizes)
    inner.lasting = lasting or {}
    inner.owned = {v.key for v, c in zip(graph.inputs, carries, strict=False) if c.home is not None}
    return inner.run([*(c.target() for c in carries), *others], is_filled=False)


def _zeros(block: Block, value: Value, shape: Extents, type_: str) -> Form:
    """What a value starts as. Its own shape may be known where that of what it is the cotangent of is not."""
    if is_small(value):
        return Elements(value.shape, type_, [zero_of(type_)] * prod(value.shape))
    array = block.b.alloc(type_, count_of(block.b, shape), zero=True)
    return Stored(shape, array, 0, strides_of(block.b, shape), True)


def _sliced(block: Block, form: Form) -> Any:
    """An operand of which each step reads a slice."""
    return form if form.type == "history" else block.stored(form)


def _check_count(block: Block, count: Operand, xs: Sequence[Any], length: object) -> None:
    """Ends the function with the status INDEX if there are not as many rows as steps: a row would be read that is none.

    Args:
        block: where the loop is.
        count: the number of steps, which is data.
        xs: what steps take slices of.
        length: the number of steps that types say, or None.
    """
    b = block.b
    rows = [x.shape[0] for x in xs if x.type != "history"]
    if length is not None and (not isinstance(length, Dim) or length.atoms <= block.sizes.keys()):
        rows.append(block.extent(length))
    bad: Operand = b.let("lt", "i64", count, 0)
    for extent in dict.fromkeys(rows):
        bad = b.either(bad, b.let("ne", "i64", extent, count))
    if bad is not False:
        with b.when(bad):
            b.leave(Status.INDEX)


def _invariant_forms(block: Block, forms: Sequence[Form]) -> list[Form]:
    """Operands that a loop reads in each step: nothing in them is left to compute."""
    return [f if type(f) in (Elements, Stored) or f.type == "history" else block.dense(f) for f in forms]


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
        self.node = node
        self.spec = spec
        self.count: Operand | None = None
        if spec.is_counted:
            self.count = self.b.convert("i64", forms[0].type, block.number(forms[0]))
            forms = forms[1:]
        first = spec.invariants_from()
        self.emits = _emits(spec, block.setting.is_frugal)
        self.graph = prepared(spec.body if _saves(spec, self.emits) else spec.thin)
        self.xs = [_sliced(block, x) for x in forms[spec.carries : first]]
        self.invariants = _invariant_forms(block, forms[first:])
        if self.count is not None:
            _check_count(block, self.count, self.xs, spec.length)
        values = self.graph.inputs[: spec.carries]
        self.carries = [Carry(block, f, is_small(v)) for f, v in zip(forms[: spec.carries], values, strict=True)]
        self.graph, self.hoisted = hoisted(block, self.graph, self.carries, self.invariants)
        # numbers that carries start with
        self.starts = {i: f.items[0] for i, f in enumerate(forms[: spec.carries]) if type(f) is Elements and f.items}
        self.rows: dict[int, Rows] = {}
        if self.count is not None:
            self.make_rows(self.count)
        self.keeper: Keeper | None = None
        self.taker: Taker | None = None

    def make_rows(self, count: Operand | None) -> None:
        inner = Block(self.block.setting, self.graph, self.inputs(0, is_typed=True), self.block.sizes)
        for emit in self.spec.emits:
            if isinstance(emit, int) and emit not in self.rows:
                value = self.graph.outputs[emit]
                if value.is_history:
                    continue
                self.rows[emit] = Rows(self.block, inner.shape(value), TYPE_OF[value.dtype], count)

    def inputs(self, step: Operand, is_typed: bool = False) -> list[Form]:
        """The operands of a step; `is_typed`: only their types matter."""
        if is_typed:  # nothing may be read: there may be no step, and then no row
            carries = [Form(c.shape, c.type) for c in self.carries]
            slices = [Form(x.shape[1:], x.type) for x in self.xs]
        else:
            row = 0 if self.count is None else _row(self.b, self.spec, self.count, step)
            carries = [c.form() for c in self.carries]
            slices = [x.row(self.b, row) for x in self.xs]
        return [*carries, *slices, *self.invariants, *self.hoisted]

    def run(self) -> list[Form]:
        b, spec = self.b, self.spec
        count = self.count
        if count is None:
            count = self.trips()
            self.make_rows(count)
        lasting = self.lasting()
        self.taker = self.snapshots(count, lasting)
        self.keeper = Keeper(self.block, self.emits, self.arrays, len(self.carries), self.graph, count, lasting)
        self.anchor = lasting or Anchor.here(b)
        _make_room(self.carries)
        if count is not None:
            steps: Operand = count
            with b.loop(0, steps) as step:
                self.step(step)
        else:
            counter = b.var("i64", 0)
            b.repeat(self.condition, lambda: self.while_step(counter))
            steps = b.get(counter)
        self.keeper.end(steps)
        emitted = self.emitted(steps)
        between = [] if spec.is_counted else [Elements((), "i64", [steps])]
        return [*(c.form() for c in self.carries), *between, *emitted]

    def snapshots(self, count: Operand | None, lasting: Anchor | None) -> Taker | None:
        """What takes snapshots, if a history is of that kind."""
        policy = next((e.policy for e in self.emits if isinstance(e, History) and e.policy != "auto"), None)
        if policy is None:
            return None
        moving = moving_of(self.spec)
        return Taker(self.block, lambda: [c.form() for c in self.carries], moving, policy, count, lasting)

    def emitted(self, steps: Operand) -> list[Form]:
        """The results behind the carries and the number of steps."""
        assert self.keeper is not None
        kept = iter(self.keeper.kept)
        taken = None if self.taker is None else self.taker.end()
        found: list[Any] = []
        for emit in self.emits:
            if isinstance(emit, History):
                found.append(next(kept) if emit.policy == "auto" else taken)
            else:
                found.append(self.rows[emit].stacked(steps) if emit in self.rows else Piled(next(kept), steps))
        return found

    def arrays(self) -> set[Array]:
        """The arrays in which what goes round is."""
        return {array for carry in self.carries for array in carry.arrays}

    def lasting(self) -> Anchor | None:
        """Where the loop begins that keeps a history of this one; None if none does."""
        return next((a for v in self.node.outputs if (a := self.block.lasting.get(v.key))), None)

    def kept_inside(self) -> dict[int, Anchor]:
        """The histories that steps give and that a history of this loop keeps."""
        outs = [self.graph.outputs[p] for e in histories_of(self.emits, self.graph) for p in e.positions]
        return {v.key: self.anchor for v in outs if v.is_history}

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
        left = b.sub(self.block.number(self.invariants[limit - spec.carries]), first)
        return b.select("i64", b.let("gt", "i64", left, 0), left, 0)

    def condition(self) -> Operand:
        assert self.spec.condition is not None
        forms = [*(c.form() for c in self.carries), *self.invariants]
        (holds,) = Block(self.block.setting, prepared(self.spec.condition), forms, self.block.sizes).run()
        return self.block.number(holds)

    def while_step(self, counter: Var) -> None:
        step = self.b.get(counter)
        self.step(step)
        self.b.set(counter, self.b.add(step, 1))

    def step(self, step: Operand) -> None:
        b = self.b
        b.poll()
        if self.taker is not None:
            self.taker.offer(step)
        forms = self.inputs(step)
        assert self.keeper is not None
        targets = self.keeper.targets(step)
        outs = _step_block(self.block, self.graph, forms, self.carries, targets, self.kept_inside())
        row = step if self.count is None else _row(b, self.spec, self.count, step)
        for emit, rows in self.rows.items():
            rows.put(row, outs[emit])
        self.keeper.keep(outs, step, row)
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
    value = None if maker is None else stated(maker.op, maker.attrs)
    return value is not None and bool(np.all(np.asarray(value) == 1))


def _emits(spec: Loop, is_frugal: bool) -> list[Any]:
    """What a loop gives behind the carries; if frugal, snapshots where it might have kept everything."""
    return [
        e._replace(policy=FRUGAL) if is_frugal and isinstance(e, History) and e.policy == "auto" else e
        for e in spec.emits
    ]


def _saves(spec: Loop, emits: Sequence[Any]) -> bool:
    """Whether a step gives more than the user's own results."""
    own = spec.carries + spec.own
    return any(e.policy == "auto" if isinstance(e, History) else e >= own for e in emits)


def moving_of(spec: Loop) -> list[bool]:
    """Which carries change from step to step."""
    graph = prepared(spec.thin)
    return [x.key != y.key for x, y in zip(graph.inputs[: spec.carries], graph.outputs, strict=False)]


def _loop_back(block: Block, node: Node, forms: list[Form]) -> list[Form]:
    return _LoopBackRun(block, node, forms).run()


class _LoopBackRun:
    """The backward pass through a history, under construction."""

    def __init__(self, block: Block, node: Node, forms: list[Form]) -> None:
        back: LoopBack = node.attrs[0]
        spec, step = back.spec, back.step
        self.back = back
        self.block = block
        self.b = block.b
        self.spec = spec
        self.kept: Any = forms[0]
        self.count = self.b.convert("i64", forms[1].type, block.number(forms[1]))
        self.inputs = forms[2 : 2 + back.inputs]
        rest = forms[2 + back.inputs :]
        width = len(step.carries)
        self.graph = prepared(step.program)
        small = [is_small(v) for v in self.graph.inputs]
        lanes = back.lane_shape(rest)
        sums = [
            _zeros(block, value, (*lanes, *self.inputs[i].shape), self.inputs[i].type)
            for value, i in zip(self.graph.inputs[width:], step.sums, strict=False)
        ]  # fmt: skip
        starts = [*rest[:width], *sums]
        self.state = [Carry(block, f, s) for f, s in zip(starts, small, strict=False)]
        self.read = [_sliced(block, x) for x in (*(self.inputs[i] for i in step.xs), *rest[width:])]
        self.invariants = _invariant_forms(block, [self.inputs[i] for i in step.invariants])
        rows = [_sliced(block, x) for x in self.inputs[spec.carries : spec.invariants_from()]]
        _check_count(block, self.count, [*rows, *self.read], spec.length)
        self.graph, found = hoisted(block, self.graph, self.state, self.invariants)
        self.invariants += found
        self.slices = [
            Rows(block, (*lanes, *self.inputs[i].shape[1:]), self.inputs[i].type, self.count) for i in step.slices
        ]

    def run(self) -> list[Form]:
        _make_room(self.state)
        if type(self.kept) is Snapshots:
            again = _Again(self, self.kept)
            again.stretches() if self.kept.is_even else again.steps()
        elif type(self.kept) is not Nothing:  # which it is where no step ran, and where another branch did
            self.walk(self.kept, self.count)
        return [*(c.form() for c in self.state), *(rows.stacked(self.count) for rows in self.slices)]

    def walk(self, kept: HistoryForm, stop: Operand, start: Operand = 0) -> None:
        """Back from one step to another, through what they have saved."""
        b = self.b
        with b.loop(0, b.sub(stop, start)) as iteration:
            place = b.sub(b.sub(b.sub(stop, start), 1), iteration)
            self.pull(b.add(start, place), lambda: kept.saved(b, place))

    def pull(self, step: Operand, saved: Callable[[], Sequence[Form]]) -> None:
        """One step back."""
        b = self.b
        b.poll()
        row = _row(b, self.spec, self.count, step)
        forms = [*(c.form() for c in self.state), *saved(), *(x.row(b, row) for x in self.read), *self.invariants]
        outs = _step_block(self.block, self.graph, forms, self.state)
        for rows, form in zip(self.slices, outs[len(self.state) :], strict=True):
            rows.put(row, form)
        _replace_all(self.state, outs)


class _Again:
    """A loop run again from snapshots, stretch by stretch, for its backward pass."""

    def __init__(self, back: _LoopBackRun, taken: Snapshots) -> None:
        spec, block = back.spec, back.block
        first = spec.invariants_from()
        self.back, self.block, self.b, self.spec, self.taken = back, block, back.b, spec, taken
        self.thin, self.full = prepared(spec.thin), prepared(spec.body)
        self.positions = back.back.reading.saved
        starts, values = back.inputs[: spec.carries], self.thin.inputs[: spec.carries]
        self.carries = [Carry(block, f, is_small(v)) for f, v in zip(starts, values, strict=True)]
        _make_room(self.carries)  # several loops use it, of which any may run no step
        self.xs = [_sliced(block, x) for x in back.inputs[spec.carries : first]]
        self.invariants = _invariant_forms(block, back.inputs[first:])
        self.moving = taken.moving
        self.states = States(block, [c.form() for c in self.carries], self.moving)

    def arrays(self) -> set[Array]:
        """The arrays in which what goes round is."""
        return {array for carry in self.carries for array in carry.arrays}

    def load(self, states: States, row: Operand) -> None:
        """Goes to a state that was kept."""
        for carry, form, is_moving in zip(self.carries, states.get(row), self.moving, strict=True):
            if is_moving:
                carry.restore(form)

    def run(
        self, graph: Graph, step: Operand, targets: Sequence[Stored | None] = (),
        lasting: dict[int, Anchor] | None = None,
    ) -> list[Form]:  # fmt: skip
        """Emits a step from where it is; the carries stay."""
        b = self.b
        row = _row(b, self.spec, self.back.count, step)
        forms = [*(c.form() for c in self.carries), *(x.row(b, row) for x in self.xs), *self.invariants]
        return _step_block(self.block, graph, forms, self.carries, targets, lasting)

    def advance(self, start: Operand, stop: Operand) -> None:
        """Runs steps that save nothing."""
        b = self.b
        with b.loop(start, stop) as step:
            b.poll()
            _replace_all(self.carries, self.run(self.thin, step))

    def stretches(self) -> None:
        """From each snapshot to the next one, the last first: all that the steps save, then back through it."""
        b = self.b
        states = self._of_history()
        end = b.var("i64", self.back.count)
        history = History(self.positions, "auto")
        keeper = Keeper(self.block, [history], self.arrays, len(self.carries), self.full, None, None)
        with b.loop(0, self.taken.live) as iteration:
            row = b.sub(b.sub(self.taken.live, 1), iteration)
            start, stop = states.step(row), b.get(end)
            self.load(states, row)
            anchor = Anchor.here(b)
            outs = self.full.outputs
            lasting = {outs[p].key: anchor for p in self.positions if outs[p].is_history}
            with b.loop(start, stop) as step:
                b.poll()
                place = b.sub(step, start)
                found = self.run(self.full, step, keeper.targets(place), lasting)
                keeper.keep(found, place, place)
                _replace_all(self.carries, found)
            (kept,) = keeper.kept
            assert type(kept) is HistoryForm
            self.back.walk(kept, stop, start)
            b.set(end, start)

    def _of_history(self) -> States:
        """The states as the history has them; they are only read."""
        states = self.states
        states.read(self.taken.states)
        return states

    def steps(self) -> None:
        """Step by step: snapshots are taken anew in the places of those that are used up."""
        b, states = self.b, self.states
        states.take(self.taken.states, self.taken.live)
        live, end = b.var("i64", self.taken.live), b.var("i64", self.back.count)

        def iteration() -> None:
            count, last = b.get(live), b.sub(b.get(end), 1)
            row = b.sub(count, 1)
            start, free = states.step(row), b.sub(self.taken.budget, count)
            self.load(states, row)
            length = b.sub(b.add(last, 1), start)
            is_long = b.both(b.let("gt", "i64", length, 1), b.let("gt", "i64", free, 0))
            stop = b.var("i64", last)
            with b.when(is_long):
                b.set(stop, b.add(start, first_stretch(b, length, b.add(free, 1))))
            self.advance(start, b.get(stop))
            with b.when(is_long) as branch:
                states.put(count, b.get(stop), [c.form() for c in self.carries])
                b.set(live, b.add(count, 1))
            with b.inside(branch.other):
                found = self.run(self.full, last)
                self.back.pull(last, lambda: [found[p] for p in self.positions])
                b.set(end, last)
                with b.when(b.let("eq", "i64", start, last)):
                    b.set(live, row)

        b.repeat(lambda: b.let("gt", "i64", b.get(end), 0), iteration)


# -- branches ---------------------------------------------------------------------------------------------------------


def _switch(block: Block, node: Node, forms: list[Form]) -> list[Form]:
    b = block.b
    branches: Branches = node.attrs[0]
    index, *operands = forms
    number = block.number(index)
    count = len(branches.programs)
    results = [_result(block, v, count) for v in node.outputs]
    operands = _invariant_forms(block, operands)

    def run(branch: int) -> None:
        given = [(f.histories[branch] or Nothing()) if type(f) is OneOf else f for f in operands]
        inner = Block(block.setting, prepared(branches.programs[branch]), given, block.sizes)
        pairs = zip(inner.graph.outputs, node.outputs, strict=True)
        inner.lasting = {own.key: block.lasting[v.key] for own, v in pairs if v.key in block.lasting}
        outs = inner.run([r.home for r in results])
        for result, form in zip(results, outs, strict=True):
            result.put(form, branch)

    if index.type == "bool":
        _chain(b, [(number, lambda: run(0))], lambda: run(1))
    else:
        whole = b.convert("i64", index.type, number)
        cases = [(b.let("eq", "i64", whole, k), lambda k=k: run(k)) for k in range(count - 1)]
        _chain(b, cases, lambda: run(count - 1))
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
        self.block = block
        self.b = block.b
        self.shape: Any = block.shape(value)
        self.type = TYPE_OF[value.dtype]
        self.vars = [self.b.var(self.type) for _ in range(prod(value.shape))] if is_small(value) else None
        self.home = block.fresh(self.shape, self.type) if self.vars is None else None

    def put(self, form: Form, branch: int) -> None:
        """Makes what a branch has computed the result. A branch may not know the extents of what it only passes on."""
        if self.vars is not None:
            for var, item in zip(self.vars, self.block.elements(form, self.shape).items, strict=True):
                self.b.set(var, item)

    def form(self) -> Form:
        """The result, behind all branches."""
        if self.vars is None:
            assert self.home is not None
            return self.home
        return Elements(self.shape, self.type, [self.b.get(v) for v in self.vars])


def _result(block: Block, value: Value, count: int) -> Any:
    """Where one of so many branches puts a result."""
    if value.is_history:
        return _Histories(block.b, count)
    is_told = all(not isinstance(d, Dim) or d.atoms <= block.sizes.keys() for d in value.shape)
    return _Result(block, value) if is_told else _Grown(block.b, value)


class _Grown:
    """A result whose extents the branch tells."""

    home = None

    def __init__(self, b: Builder, value: Value) -> None:
        self.b = b
        self.array = b.array(TYPE_OF[value.dtype], "grown")
        self.extents = [b.var("i64", 0) for _ in value.shape]

    def put(self, form: Form, branch: int) -> None:
        """Makes what a branch has computed the result."""
        b, count = self.b, count_of(self.b, form.shape)
        b.reserve(self.array, b.add(count, 1))
        nests.copy(b, form, Stored(form.shape, self.array, 0, strides_of(b, form.shape), True))
        for var, extent in zip(self.extents, form.shape, strict=True):
            b.set(var, extent)

    def form(self) -> Form:
        """The result, behind all branches."""
        shape = (*map(self.b.get, self.extents),)
        return Stored(shape, self.array, 0, strides_of(self.b, shape), True)


class _Histories:
    """The histories that branches give in one place: each of its own kind, of which one is there."""

    home = None

    def __init__(self, b: Builder, count: int) -> None:
        self.b = b
        self.chosen = b.var("i64", 0)
        self.branches: list[Any] = [None] * count
        self.count = count

    def put(self, form: Form, branch: int) -> None:
        """Takes note of the history of a branch; it is None where there is none."""
        if type(form) is not Nothing:
            self.b.set(self.chosen, branch)
            self.branches[branch] = _through_variables(self.b, form)

    def form(self) -> Form:
        """The history of the branch that ran."""
        histories = [None if read is None else read() for read in self.branches]
        return OneOf(self.b.get(self.chosen), histories)


def _through_variables(b: Builder, form: Any) -> Callable[[], Any]:
    """Has a form at hand behind the block in which it was made: what is in registers goes into variables."""
    if type(form) is Reg:
        var = b.var(form.type, form)
        return lambda: b.get(var)
    if type(form) is Elements:
        items = [_through_variables(b, x) for x in form.items]
        return lambda: Elements(form.shape, form.type, [read() for read in items])
    if type(form) is Stored:
        operands = [_through_variables(b, x) for x in (form.offset, *form.shape, *form.strides)]
        return lambda: _again(form, [read() for read in operands])
    if type(form) is HistoryForm:
        outside = [_through_variables(b, x) for x in form.outside]
        return lambda: HistoryForm(form.template, form.arrays, [read() for read in outside])
    if type(form) is Piled:
        kept, count = _through_variables(b, form.kept), _through_variables(b, form.shape[0])
        return lambda: Piled(kept(), count())
    if type(form) is Snapshots:
        states, live = _through_variables(b, form.states), _through_variables(b, form.live)
        budget = _through_variables(b, form.budget)
        return lambda: Snapshots(states(), live(), budget(), form.is_even)
    if type(form) is OneOf:
        chosen, histories = _through_variables(b, form.chosen), [_through_variables(b, h) for h in form.histories]
        return lambda: OneOf(chosen(), [read() for read in histories])
    return lambda: form


def _again(form: Stored, operands: Sequence[Operand]) -> Stored:
    offset, *others = operands
    rank = len(form.shape)
    return Stored((*others[:rank],), form.array, offset, (*others[rank:],), form.is_dense)


LOWERED = singles({"loop": _loop, "loop_back": _loop_back, "switch": _switch}, of_complex=True, of_halves=True)
