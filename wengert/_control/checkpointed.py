"""Loops in fixed memory, for engines that compile loops: which states are kept, and how a backward pass uses them.

Written once, as a graph of loops and of rows that are read and written; an engine (`Builder`) says how it builds these.

A stack of what the steps give has one row a step. A history is the saved values of every step where the number of steps
has a known bound and they fit the memory budget. Else it is states before some blocks of steps, in a fixed number of
slots: before every block where there are slots for all, else before those that the binomial schedule names where the
number of steps is known, else at distances that double each time the slots are full. The backward pass fills free slots
by the same schedule, as a stack of states, and pulls a block at once: it runs its steps again, keeps what they save in
rows, and goes back over these. Compilers run such loops without copies and branches: what depends on a condition is a
loop of no steps, or a row that nobody reads.

Engines whose loops are Python's, or machine code of our own, run the same schedules (`_transforms/snapshots.py`) on
states that they keep one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import isqrt
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from .._core.budget import limit
from .._core.tensor import Value
from .._transforms.snapshots import NEVER, Snapshots
from .call import Program
from .loop import History, Loop
from .loop_back import LoopBack

Array: TypeAlias = Any  # an array of the engine's, symbolic or not, or a history
Number: TypeAlias = Any  # an integer of the engine's, of no axes
Example: TypeAlias = Any  # of a value: tells its type
Extent: TypeAlias = Any  # an integer, or one of the engine's
Rows: TypeAlias = Any  # room for values of some types, as many of each

AUTO_SLOTS = 64
ROOM = 1 << 25  # bytes that the rows of a block may take in any case
UNKNOWN_BLOCK = 256  # steps in a block of a loop whose length has no bound


class Kept(Protocol):
    """What an engine makes of a history: a value that passes where arrays do.

    Attributes:
        is_whole: whether every step's values are kept.
        budget: how many slots the backward pass may fill.
        block: how many steps are a block.
    """

    is_whole: bool
    budget: int
    block: int


class Builder(Protocol):
    """What an engine supplies to `checkpointed`: how it builds loops, and how it keeps rows.

    States of `repeat` are nests of lists and tuples of arrays, numbers and rows.

    Attributes:
        grows: whether rows may be added as a loop runs. Else there is room for as many as there may be steps, and the
            stacks of a loop that ran shorter are longer than it.
        likely: the steps that a loop without a bound is taken to have, where memory is shared out; None if it must not
            be kept in memory that depends on them.
    """

    @property
    def grows(self) -> bool: ...
    @property
    def likely(self) -> int | None: ...

    def run_of(self, program: Program) -> Callable[..., tuple[Array, ...]]:
        """The executable of a program."""
        ...

    def integer(self, value: Number) -> Number:
        """An integer as step counters are."""
        ...

    def known(self, count: Number) -> int | None:
        """An integer's value, where that is known beforehand."""
        ...

    def place(self, step: Number) -> Number:
        """The number of a step as `slice`, `row` and `put` take it."""
        ...

    def is_true(self, x: Array) -> Array:
        """An array of one truth value, without axes."""
        ...

    def either(self, flag: Array, yes: Number, no: Number) -> Number:
        """One of two integers."""
        ...

    def entry(self, numbers: np.ndarray[Any, Any], place: Number) -> Number:
        """One of some integers that are known beforehand."""
        ...

    def repeat(
        self,
        goes_on: Callable[[Array], Array],
        step: Callable[[Array], object],
        state: Sequence[object],
        types: Sequence[Value] = (),
    ) -> Array:
        """The state after the last step; `types` are of the arrays behind its first one, where these may change."""
        ...

    def extent(self, x: Array | Rows) -> int | None:
        """How many slices a consumed array has, or how many rows there are, where that is known beforehand."""
        ...

    def slice(self, x: Array, place: Number) -> Array:
        """A slice of a consumed array."""
        ...

    def examples(self, program: Program, carries: Sequence[Array], xs: Sequence[Array], rest: Sequence[Array]) -> Any:
        """What a step gives: of the carries, the arrays of which it takes slices, and the invariants."""
        ...

    def like(self, carries: Sequence[Array], types: Sequence[Value]) -> Sequence[Example]:
        """Examples of carries, whose types may be wider than these arrays tell."""
        ...

    def size(self, example: Example) -> int:
        """Its bytes, as far as they are known beforehand."""
        ...

    def room(self, examples: Sequence[Example], count: int | None, what: str = "") -> Rows:
        """Room for `count` values like each example; None if that is not known. `what` names it in errors."""
        ...

    def room_for_slices(self, x: Array, lanes: Sequence[Extent]) -> Rows:
        """Room for the cotangents of all slices of a consumed array."""
        ...

    def row(self, rows: Rows, place: Number) -> list[Array]:
        """One value of each type."""
        ...

    def put(self, rows: Rows, place: Number, values: Sequence[Array]) -> Rows:
        """Rows with one of them replaced."""
        ...

    def stacked(self, rows: Rows, count: int | None) -> Array:
        """The rows of one type as one value, so many where that is known."""
        ...

    def zeros(self, lanes: Sequence[Extent], x: Array) -> Array:
        """Zeros like an array, with leading axes."""
        ...

    def history(self, arrays: object, is_whole: bool, budget: int, block: int) -> Any:
        """A history of what a recorder has kept."""
        ...

    def opened(self, history: Any) -> Any:
        """What a recorder has kept."""
        ...


# -- loop --------------------------------------------------------------------------------------------------------------


def run_loop(builder: Builder, spec: Loop, operands: Sequence[Array]) -> tuple[Array, ...]:
    """The results of a loop."""
    return _LoopRun(builder, spec, operands).results()


class _LoopRun:
    """One run: what it carries is the number of the step, the carries, the stacks, and the histories."""

    def __init__(self, builder: Builder, spec: Loop, operands: Sequence[Array]) -> None:
        self.builder = builder
        self.spec = spec
        self.count = None
        if spec.is_counted:
            self.count, operands = builder.integer(operands[0]), operands[1:]
        first = spec.invariants_from()
        self.carries = [*operands[: spec.carries]]
        self.xs = operands[spec.carries : first]
        self.invariants = operands[first:]
        self.types = spec.body.graph.inputs[: spec.carries]
        self.trips, self.bound = self._lengths()
        self.stacked = [e for e in spec.emits if isinstance(e, int)]
        self.block = 0  # steps between two looks at whether a state is to be kept; 0 where none is
        self.recorders = _recorders([e for e in spec.emits if isinstance(e, History)], self)
        is_thin = all(e < spec.carries + spec.own for e in self.stacked) and not any(r.is_whole for r in self.recorders)
        self.body = builder.run_of(spec.thin if is_thin else spec.body)

    def _lengths(self) -> tuple[int | None, int | None]:
        """The number of steps, and the most that there can be, where these are known beforehand."""
        spec, builder = self.spec, self.builder
        if self.count is None:
            return spec.length if isinstance(spec.length, int) else None, spec.most
        slices = builder.extent(self.xs[0]) if self.xs else None
        trips = spec.length if isinstance(spec.length, int) else builder.known(self.count)
        if trips is None and builder.grows:
            trips = slices  # else arrays may have more rows than there are steps
        return trips, slices if slices is not None else trips

    @cached_property
    def examples(self) -> Any:
        """Examples of what a step gives."""
        return self.builder.examples(self.spec.body, self.carries, self.xs, self.invariants)

    @cached_property
    def states(self) -> Sequence[Example]:
        """Examples of the carries."""
        return self.builder.like(self.carries, self.types)

    def results(self) -> tuple[Array, ...]:
        spec, builder, body = self.spec, self.builder, self.body
        rows = self.trips if builder.grows else self.bound
        stacks = [builder.room([self.examples[e]], rows, "checkpoint='all'") for e in self.stacked]
        kept = [r.start() for r in self.recorders]
        condition = None if spec.condition is None else builder.run_of(spec.condition)
        last = self.count

        def goes_on(state: Array) -> Array:
            step, carries = state[:2]
            return step < last if condition is None else builder.is_true(condition(*carries, *self.invariants)[0])

        def one(state: Array) -> object:
            step, carries, stacks, kept = state
            place = builder.place(last - 1 - step if spec.is_reversed else step)  # pyright: ignore[reportOptionalOperand]  # counted if reversed
            outs = body(*carries, *[builder.slice(x, place) for x in self.xs], *self.invariants)
            stacks = [builder.put(s, place, [outs[e]]) for s, e in zip(stacks, self.stacked, strict=True)]
            kept = [r.after(step, outs, k) for r, k in zip(self.recorders, kept, strict=True)]
            return step + 1, [*outs[: spec.carries]], stacks, kept

        def some(state: Array) -> object:
            step, carries, stacks, kept = state
            number, stop = step // self.block, step + self.block
            kept = [r.before(number, carries, k) for r, k in zip(self.recorders, kept, strict=True)]
            return builder.repeat(lambda s: (s[0] < stop) & goes_on(s), one, (step, carries, stacks, kept))

        state = (builder.integer(0), self.carries, stacks, kept)
        if self.bound != 0:  # a step could not even be traced where there is no row to read or to write
            state = builder.repeat(goes_on, some if self.block else one, state, self.types)
        steps, carries, stacks, kept = state
        between = [] if spec.is_counted else [steps]
        given, histories = iter(stacks), iter(zip(self.recorders, kept, strict=True))
        emitted = [
            _finished(builder, *next(histories)) if isinstance(e, History) else builder.stacked(next(given), self.trips)
            for e in spec.emits
        ]
        return (*carries, *between, *emitted)


def _finished(builder: Builder, recorder: _Slots | _Whole, kept: object) -> Any:
    return builder.history(kept, recorder.is_whole, recorder.budget, recorder.block)


# -- histories ---------------------------------------------------------------------------------------------------------


def _recorders(histories: Sequence[History], run: _LoopRun) -> list[Any]:
    """What keeps the histories of a run as their policies say: blocks of one length serve them all."""
    slots = [_slots_for(history, run) for history in histories]
    blocks = [_block_for(h, n, run) for h, n in zip(histories, slots, strict=True) if n is not None]
    run.block = min(blocks, default=0)
    return [_Whole(h, run) if n is None else _keeper(n, run) for h, n in zip(histories, slots, strict=True)]


def _slots_for(history: History, run: _LoopRun) -> int | None:
    """How many states a policy lets be kept; None where all that the steps save is."""
    policy = history.policy
    if policy not in ("auto", "sqrt"):
        return policy
    most = run.builder.likely if run.bound is None else run.bound
    if policy == "auto":
        return None if most is not None and most * _saved_size(history, run) <= limit() else AUTO_SLOTS
    if most is None:
        run.builder.room((), None, "checkpoint='sqrt'")  # which says what is needed
        raise AssertionError
    return isqrt(most) + 1


def _saved_size(history: History, run: _LoopRun) -> int:
    """The bytes that a step saves for a history."""
    return sum(run.builder.size(run.examples[p]) for p in history.positions)


def _block_for(history: History, slots: int, run: _LoopRun) -> int:
    """How many steps the backward pass runs again at once: so many that there is a slot for each block, if the rows
    that these steps save take no more room than the slots, or `ROOM`.
    """
    if run.bound == 0:
        return 1
    wanted = UNKNOWN_BLOCK if run.bound is None else max(-(-run.bound // slots), isqrt(run.bound - 1) + 1)
    state = sum(map(run.builder.size, run.states))
    room = max(slots * state, ROOM) // max(_saved_size(history, run), 1)
    return max(min(wanted, room), 1)


def _keeper(slots: int, run: _LoopRun) -> Any:
    """What keeps the states before some blocks."""
    if run.bound is not None:
        blocks = max(-(-run.bound // run.block), 1)
        if blocks <= slots:
            return _Scheduled(np.arange(blocks), blocks, run)
    if run.trips is not None:
        return _Scheduled(_schedule(Snapshots(slots, -(-run.trips // run.block))), slots, run)
    # half of the slots are left for the backward pass, which would run stretches again and again without
    half = max(slots // 2, 1)
    return _Doubling(half - half % 2 or 1, slots, run)


def _schedule(plan: Snapshots) -> np.ndarray[Any, Any]:
    """The blocks before which a plan for a known number of blocks keeps a state."""
    steps = []
    while plan.next_step != NEVER:
        steps.append(plan.next_step)
        plan.offer(plan.next_step, None)
    return np.array(steps)


class _Whole:
    """Keeps what every step saves."""

    is_whole = True
    budget = block = 0

    def __init__(self, history: History, run: _LoopRun) -> None:
        self.positions = history.positions
        self.run = run

    def start(self) -> Rows:
        return self.run.builder.room([self.run.examples[p] for p in self.positions], self.run.bound, "a history")

    def before(self, block: Number, carries: Sequence[Array], kept: Rows) -> Rows:
        return kept

    def after(self, step: Number, outs: Sequence[Array], kept: Rows) -> Rows:
        builder = self.run.builder
        return builder.put(kept, builder.place(step), [outs[p] for p in self.positions])


class _Slots:
    """Keeps states in slots, with the numbers of the blocks that they are before, which ascend; how many are filled,
    and the distance between them. The last slot takes what is written when there is nothing to keep.
    """

    is_whole = False

    def __init__(self, budget: int, run: _LoopRun) -> None:
        self.budget = budget
        self.block = run.block
        self.builder = run.builder
        self.examples = run.states

    def start(self) -> Any:
        room, integer = self.builder.room, self.builder.integer
        count = self.budget + 1
        return room(self.examples, count), room([integer(0)], count), integer(0), integer(1)

    def after(self, step: Number, outs: Sequence[Array], kept: Array) -> Any:
        return kept

    def keep(self, is_due: Array, block: Number, carries: Sequence[Array], kept: Array) -> Any:
        builder = self.builder
        slots, blocks, filled, distance = kept
        place = builder.place(builder.either(is_due, filled, builder.integer(self.budget)))
        slots, blocks = builder.put(slots, place, carries), builder.put(blocks, place, [block])
        return slots, blocks, builder.either(is_due, filled + 1, filled), distance


class _Scheduled(_Slots):
    """Keeps states before the blocks that a schedule, made beforehand, names."""

    def __init__(self, blocks: np.ndarray[Any, Any], budget: int, run: _LoopRun) -> None:
        super().__init__(max(budget, len(blocks)), run)
        self.schedule = np.append(blocks, np.iinfo(np.int32).max)

    def before(self, block: Number, carries: Sequence[Array], kept: Array) -> Any:
        filled = kept[2]
        return self.keep(block >= self.builder.entry(self.schedule, filled), block, carries, kept)


class _Doubling(_Slots):
    """At even distances; each time the slots are full every other state goes, and the distance doubles."""

    def __init__(self, most: int, budget: int, run: _LoopRun) -> None:
        super().__init__(max(budget, most), run)
        self.most = most

    def before(self, block: Number, carries: Sequence[Array], kept: Array) -> Any:
        if self.most == 1:
            return self.keep(block <= 0, block, carries, kept)
        _, _, filled, distance = kept
        is_due = block >= filled * distance
        kept = self._halved(is_due & (filled >= self.most), kept)
        return self.keep(is_due, block, carries, kept)

    def _halved(self, flag: Array, kept: Array) -> Any:
        """Every other state alone, where a flag says so."""
        builder = self.builder
        slots, blocks, filled, distance = kept

        def one(state: Array) -> object:
            number, *both = state
            place, source = builder.place(number), builder.place(number * 2)
            return number + 1, *[builder.put(rows, place, builder.row(rows, source)) for rows in both]

        half = builder.either(flag, builder.integer(self.most // 2), builder.integer(0))
        _, slots, blocks = builder.repeat(lambda state: state[0] < half, one, (builder.integer(0), slots, blocks))
        return slots, blocks, builder.either(flag, half, filled), builder.either(flag, distance * 2, distance)


# -- the backward pass -------------------------------------------------------------------------------------------------


def run_loop_back(
    builder: Builder, back: LoopBack, history: Kept, steps: Number, operands: Sequence[Array]
) -> tuple[Array, ...]:
    """The reverse pass of a loop, from its history."""
    return _LoopBackRun(builder, back, builder.integer(steps), operands).results(history)


class _Way(NamedTuple):
    """What the backward pass carries: cotangents and sums, then the rows of cotangents of consumed arrays."""

    state: Sequence[Array]
    slices: Sequence[Rows]


class _LoopBackRun:
    """The backward pass through one run."""

    def __init__(self, builder: Builder, back: LoopBack, count: Number, operands: Sequence[Array]) -> None:
        spec, step = back.spec, back.step
        self.builder, self.spec, self.count = builder, spec, count
        inputs, rest = operands[: back.inputs], operands[back.inputs :]
        lanes = back.lane_shape(rest)
        width = len(step.carries)
        first = spec.invariants_from()
        self.xs, self.invariants = inputs[spec.carries : first], inputs[first:]
        self.consumed = [inputs[i] for i in step.slices]
        totals = [builder.zeros(lanes, inputs[i]) for i in step.sums]
        self.start = _Way((*rest[:width], *totals), (*[builder.room_for_slices(x, lanes) for x in self.consumed],))
        self.read = [*(inputs[i] for i in step.xs), *rest[width:]]
        self.back_invariants = [inputs[i] for i in step.invariants]
        self.positions = back.reading.saved
        self.pull_step, self.full, self.thin = map(builder.run_of, (step.program, spec.body, spec.thin))

    def results(self, history: Kept) -> tuple[Array, ...]:
        whole = [self.builder.opened(history)] if history.is_whole else []
        if any(self.builder.extent(x) == 0 for x in (*self.xs, *self.read, *whole)):
            way = self.start  # there are no steps, for which there would be no row to read
        elif whole:
            way = self._back_over(whole[0], self.builder.integer(0), self.count, self.start)
        else:
            way = self._from_slots(history)
        slices = map(self.builder.stacked, way.slices, map(self.builder.extent, self.consumed))
        return (*way.state, *slices)

    def _place(self, step: Number) -> Number:
        return self.builder.place(self.count - 1 - step if self.spec.is_reversed else step)

    def _back_over(self, rows: Rows, start: Number, stop: Number, way: _Way) -> _Way:
        """Back from the step `stop` to `start`, whose saved values are in the first rows."""
        builder = self.builder

        def one(state: Array) -> object:
            step, (carried, slices) = state
            step = step - 1
            place = self._place(step)
            saved = builder.row(rows, builder.place(step - start))
            outs = self.pull_step(
                *carried, *saved, *[builder.slice(x, place) for x in self.read], *self.back_invariants
            )
            width = len(carried)
            slices = [builder.put(s, place, [row]) for s, row in zip(slices, outs[width:], strict=True)]
            return step, ((*outs[:width],), (*slices,))

        return _Way(*builder.repeat(lambda state: state[0] > start, one, (stop, (way.state, way.slices)))[1])

    def _from_slots(self, history: Kept) -> _Way:
        """A stack of states before blocks, the latest on top: from it either to the middle of what is left, where a
        slot is free to keep the state there, or to the last block, which is pulled.
        """
        builder, budget, length = self.builder, history.budget, history.block
        slots, blocks, filled, _ = builder.opened(history)
        either = builder.either

        def one(state: Array) -> object:
            end, slots, blocks, filled, rows, way = state
            top, free = builder.place(filled - 1), budget - filled
            (start,) = builder.row(blocks, top)
            is_kept = (end - start > 1) & (free > 0)
            stretch = _first_stretch(builder, either(is_kept, end - start, builder.integer(1)), free + 1)
            target = either(is_kept, start + stretch, end - 1)
            first = target * length
            carries = self._advanced(builder.row(slots, top), start * length, first)
            spot = builder.place(either(is_kept, filled, builder.integer(budget)))
            slots, blocks = builder.put(slots, spot, carries), builder.put(blocks, spot, [target])
            # no step is pulled where the state is kept: a loop of none, since a branch would copy what goes through it
            whole = either(first + length > self.count, self.count, first + length)
            last = either(is_kept, first, whole)
            rows = self._saved_again(rows, carries, first, last)
            way = self._back_over(rows, first, last, _Way(*way))
            end = either(is_kept, end, target)
            is_used = (end <= start) & (end > 0)
            filled = either(is_kept, filled + 1, either(is_used, filled - 1, filled))
            return end, slots, blocks, filled, rows, (way.state, way.slices)

        end = (self.count + (length - 1)) // length
        state = (end, slots, blocks, filled, self._room(slots, length), (self.start.state, self.start.slices))
        return _Way(*builder.repeat(lambda state: state[0] > 0, one, state)[-1])

    def _room(self, slots: Rows, length: int) -> Rows:
        """Rows for what the steps of a block save."""
        builder = self.builder
        state = builder.row(slots, builder.place(builder.integer(0)))
        examples = builder.examples(self.spec.body, state, self.xs, self.invariants)
        return builder.room([examples[p] for p in self.positions], length)

    def _saved_again(self, rows: Rows, carries: Sequence[Array], first: Number, last: Number) -> Rows:
        """What the steps of a block save, which are run again from the state before them."""
        builder, width = self.builder, self.spec.carries

        def one(state: Array) -> object:
            step, carries, rows = state
            outs = self._stepped(self.full, step, carries)
            rows = builder.put(rows, builder.place(step - first), [outs[p] for p in self.positions])
            return step + 1, [*outs[:width]], rows

        return builder.repeat(lambda state: state[0] < last, one, (first, [*carries], rows))[2]

    def _advanced(self, carries: Sequence[Array], start: Number, stop: Number) -> Any:
        """The state before the step `stop`, from that before `start`."""

        def one(state: Array) -> object:
            step, carries = state
            return step + 1, [*self._stepped(self.thin, step, carries)[: self.spec.carries]]

        return self.builder.repeat(lambda state: state[0] < stop, one, (start, [*carries]))[1]

    def _stepped(self, body: Callable[..., Any], step: Number, carries: Sequence[Array]) -> Any:
        place = self._place(step)
        return body(*carries, *[self.builder.slice(x, place) for x in self.xs], *self.invariants)


def _first_stretch(builder: Builder, length: Number, slots: Number) -> Any:
    """Where the next snapshot is best taken: `_transforms/snapshots.py` has the formula, which counts up to the number
    of repetitions that `length` steps need."""
    one = builder.integer(1)

    def more(state: Array) -> object:
        t, _, short, reach = state
        t = t + 1
        return t, short, reach, reach * (slots + t) // t

    state = (one, builder.integer(0), one, builder.integer(slots + 1))
    t, shorter, _, reach = builder.repeat(lambda state: state[3] < length, more, state)
    found = length - reach * slots // (slots + t)
    found = builder.either(found > shorter, found, shorter)
    return builder.either(length <= slots + 1, one, found)


__all__ = ["Builder", "run_loop", "run_loop_back"]
