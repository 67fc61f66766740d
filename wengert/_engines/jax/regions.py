"""Branches and loops as XLA's own: `switch`, `loop` and `loop_back` inside what JAX compiles.

XLA wants all sizes beforehand. A stack of what the steps give has one row a step of a bound: the number of steps where
it is known, else `maximum_iterations`; a loop that ran shorter leaves the rest. A history is the saved values of every
step where that bound exists and fits the memory budget. Else it is states before some blocks of steps, in a buffer of a
fixed number of slots: before every block where there are slots for all, else before those that the binomial schedule
names where the number of steps is known, else at distances that double each time the slots are full. The backward pass
fills free slots by the same schedule, as a stack of states, and pulls a block at once: it runs its steps again, keeps
what they save in rows, and goes back over these. XLA runs such loops without copies and branches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isqrt, prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._control.loop import History, Loop
from ..._control.loop_back import LoopBack
from ..._control.switch import Branches
from ..._core.budget import limit
from ..._transforms.snapshots import NEVER, Snapshots
from .common import XlaHistory, canonical, is_concrete
from .programs import run_of

AUTO_SLOTS = 64
ROOM = 1 << 25  # bytes that the rows of a block may take in any case
UNKNOWN_BLOCK = 256  # steps in a block of a loop whose length has no bound


def integer(value: object) -> Any:
    """An integer of the width that step counters have."""
    return jnp.asarray(value, canonical(np.int64))


def strong(x: Any) -> Any:
    """An array that is not weakly typed, as what a loop carries must stay what it is."""
    return x if isinstance(x, XlaHistory) else lax.convert_element_type(x, x.dtype)


# -- switch ------------------------------------------------------------------------------------------------------------


def switch(index: Any, *operands_and_branches: Any) -> tuple[Any, ...]:
    """`lax.switch` over the branches; slots that a branch leaves empty are filled up with zeros."""
    *operands, branches = operands_and_branches
    runs = [run_of(program) for program in branches.programs]
    return lax.switch(_number(index, branches), _alike([lambda *xs, run=run: run(*xs) for run in runs], operands),
                      *operands)  # fmt: skip


def _number(index: Any, branches: Branches) -> Any:
    """True is the first branch; an index out of range is the last."""
    count = len(branches.programs)
    if index.dtype == bool:
        return jnp.where(index, 0, 1).astype(jnp.int32)
    return jnp.where((index < 0) | (index >= count), count - 1, index).astype(jnp.int32)


def _alike(functions: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
    """Branches whose results have one structure and one set of shapes: what differs is a slot that one leaves empty."""
    found = [jax.eval_shape(f, *operands) for f in functions]
    wanted = [_largest(column) for column in zip(*found, strict=True)]

    def filled(f: Callable[..., Any]) -> Any:
        return lambda *xs: (*map(_filled, f(*xs), wanted),)

    return [*map(filled, functions)]


def _largest(column: Sequence[Any]) -> Any:
    """What a slot must hold: the history, if a branch has one, else the largest extents of all."""
    histories = [x for x in column if isinstance(x, XlaHistory) and x.arrays]
    if histories or isinstance(column[0], XlaHistory):
        return histories[0] if histories else column[0]
    shape = (*map(max, zip(*[x.shape for x in column], strict=True)),) if column[0].shape else ()
    return jax.ShapeDtypeStruct(shape, column[0].dtype)


def _filled(x: Any, wanted: Any) -> Any:
    if isinstance(wanted, XlaHistory):
        return x if x.arrays or not wanted.arrays else jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), wanted)
    if x.shape != wanted.shape:
        x = jnp.pad(x, [(0, want - have) for have, want in zip(x.shape, wanted.shape, strict=True)])
    return strong(x)


# -- loop --------------------------------------------------------------------------------------------------------------


def loop(*operands_and_spec: Any) -> tuple[Any, ...]:
    """One run of a loop, as `lax.while_loop`."""
    *operands, spec = operands_and_spec
    return _LoopRun(spec, operands).results()


class _LoopRun:
    """One run: what it carries is the number of the step, the carries, the stacks, and the histories."""

    def __init__(self, spec: Loop, operands: Sequence[Any]) -> None:
        self.spec = spec
        self.count = None
        if spec.is_counted:
            self.count, operands = operands[0], operands[1:]
        first = spec.invariants_from()
        self.carries = (*map(strong, operands[: spec.carries]),)
        self.xs = operands[spec.carries : first]
        self.invariants = operands[first:]
        self.bound = self._bound()
        self.trips = self._trips()
        self.stacked = [e for e in spec.emits if isinstance(e, int)]
        self.block = 0  # steps between two looks at whether a state is to be kept; 0 where none is
        self.recorders = recorders([e for e in spec.emits if isinstance(e, History)], self)
        is_thin = all(e < spec.carries + spec.own for e in self.stacked) and not any(r.is_whole for r in self.recorders)
        self.body = run_of(spec.thin if is_thin else spec.body)

    def _bound(self) -> int | None:
        """The most steps that there can be, where that is known when the program is compiled."""
        if self.xs:
            return self.xs[0].shape[0]
        if isinstance(self.spec.length, int):
            return self.spec.length
        if self.count is not None and is_concrete(self.count):
            return int(self.count)
        return self.spec.most

    def _trips(self) -> int | None:
        """The number of steps, where that is known."""
        if self.count is None:
            return None
        if isinstance(self.spec.length, int):
            return self.spec.length
        return int(self.count) if is_concrete(self.count) else None

    def rows(self, example: object, what: str) -> Any:
        """Room for one value a step."""
        if self.bound is None:
            raise ValueError(
                f"{what} of a loop whose number of steps is not known beforehand needs maximum_iterations where JAX "
                f"compiles it (or checkpoint= a number of snapshots)"
            )
        return jax.tree.map(lambda s: jnp.zeros((self.bound, *s.shape), s.dtype), example)

    def example(self, body: Callable[..., Any]) -> Any:
        """The types of what a step gives."""
        return jax.eval_shape(body, *self.carries, *map(_type_of_row, self.xs), *self.invariants)

    def results(self) -> tuple[Any, ...]:
        spec, body = self.spec, self.body
        example = self.example(body) if self.stacked or any(r.is_whole for r in self.recorders) else ()
        stacks = [self.rows(example[e], "checkpoint='all'") for e in self.stacked]
        kept = [r.start(example) for r in self.recorders]
        condition = None if spec.condition is None else run_of(spec.condition)
        last = None if self.count is None else integer(self.count)

        def goes_on(state: jax.Array) -> Any:
            step, carries, _, _ = state
            return step < last if condition is None else jnp.reshape(condition(*carries, *self.invariants)[0], ())

        def one(state: jax.Array) -> Any:
            step, carries, stacks, kept = state
            row = last - 1 - step if spec.is_reversed else step  # pyright: ignore[reportOptionalOperand]  # counted if reversed
            outs = body(*carries, *[_row(x, row) for x in self.xs], *self.invariants)
            stacks = [_with_row(s, row, outs[e]) for s, e in zip(stacks, self.stacked, strict=True)]
            kept = [r.after(step, outs, k) for r, k in zip(self.recorders, kept, strict=True)]
            return step + 1, (*map(_like, outs[: spec.carries], carries),), stacks, kept

        def some(state: jax.Array) -> Any:
            step, carries, stacks, kept = state
            number, stop = lax.div(step, integer(self.block)), step + self.block
            kept = [r.before(number, carries, k) for r, k in zip(self.recorders, kept, strict=True)]
            return lax.while_loop(lambda s: (s[0] < stop) & goes_on(s), one, (step, carries, stacks, kept))

        state = (integer(0), self.carries, stacks, kept)
        if self.bound != 0:  # a step could not even be traced where there is no row to read or to write
            state = lax.while_loop(goes_on, some if self.block else one, state)
        steps, carries, stacks, kept = state
        between = [] if spec.is_counted else [steps]
        given, histories = iter(stacks), iter(zip(self.recorders, kept, strict=True))
        emitted = [_finished(*next(histories)) if isinstance(e, History) else next(given) for e in spec.emits]
        return (*carries, *between, *emitted)


def _finished(recorder: _Doubling | _Scheduled | _Whole, kept: jax.Array) -> XlaHistory:
    return XlaHistory(kept, recorder.is_whole, recorder.budget, recorder.block)


def _like(x: jax.Array, carry: jax.Array) -> Any:
    return strong(x) if isinstance(x, XlaHistory) else lax.convert_element_type(x, carry.dtype)


def _row(x: object, index: jax.Array) -> Any:
    return jax.tree.map(lambda a: lax.dynamic_index_in_dim(a, index, keepdims=False), x)


def _with_row(stack: object, index: jax.Array, value: object) -> Any:
    return jax.tree.map(
        lambda s, v: lax.dynamic_update_index_in_dim(s, lax.convert_element_type(v, s.dtype), index, 0), stack, value
    )


# -- histories ---------------------------------------------------------------------------------------------------------


def recorders(histories: Sequence[History], run: _LoopRun) -> list[Any]:
    """What keeps the histories of a run as their policies say: blocks of one length serve them all."""
    slots = [_slots_for(history, run) for history in histories]
    blocks = [_block_for(h, n, run) for h, n in zip(histories, slots, strict=True) if n is not None]
    run.block = min(blocks, default=0)
    return [_Whole(h, run) if n is None else _keeper(n, run) for h, n in zip(histories, slots, strict=True)]


def _slots_for(history: History, run: _LoopRun) -> int | None:
    """How many states a policy lets be kept; None where all that the steps save is."""
    policy, bound = history.policy, run.bound
    if policy == "auto":
        return None if bound is not None and bound * _size_of(_saved(history, run)) <= limit() else AUTO_SLOTS
    if policy == "sqrt":
        if bound is None:
            run.rows((), "checkpoint='sqrt'")
        assert bound is not None
        return isqrt(bound) + 1
    return policy


def _saved(history: History, run: _LoopRun) -> Any:
    """The types of what a step saves for a history."""
    found = run.example(run_of(run.spec.body))
    return [found[p] for p in history.positions]


def _size_of(tree: object) -> int:
    return sum(prod(x.shape) * x.dtype.itemsize for x in jax.tree.leaves(tree))


def _block_for(history: History, slots: int, run: _LoopRun) -> int:
    """How many steps the backward pass runs again at once: so many that there is a slot for each block, if the rows
    that these steps save take no more room than the slots, or `ROOM`.
    """
    if run.bound == 0:
        return 1
    wanted = UNKNOWN_BLOCK if run.bound is None else max(-(-run.bound // slots), isqrt(run.bound - 1) + 1)
    room = max(slots * _size_of(run.carries), ROOM) // max(_size_of(_saved(history, run)), 1)
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

    def start(self, example: tuple[jax.ShapeDtypeStruct, ...]) -> Any:
        return [self.run.rows(example[p], "a history") for p in self.positions]

    def before(self, block: object, carries: object, kept: object) -> Any:
        return kept

    def after(self, step: jax.Array, outs: jax.Array, kept: jax.Array) -> Any:
        return [_with_row(s, step, outs[p]) for s, p in zip(kept, self.positions, strict=True)]


class _Slots:
    """Keeps states in slots; the last one takes what is written when there is nothing to keep."""

    is_whole = False

    def __init__(self, budget: int, run: _LoopRun) -> None:
        self.budget = budget
        self.block = run.block
        self.carries = run.carries

    def start(self, example: tuple[jax.ShapeDtypeStruct, ...]) -> Any:
        slots = jax.tree.map(lambda x: jnp.zeros((self.budget + 1, *x.shape), x.dtype), self.carries)
        return slots, jnp.zeros(self.budget + 1, canonical(np.int64)), integer(0), integer(1)

    def after(self, step: jax.Array, outs: jax.Array, kept: jax.Array) -> Any:
        return kept

    def keep(
        self,
        is_due: jax.Array,
        block: jax.Array,
        carries: object,
        slots: jax.Array,
        blocks: jax.Array,
        filled: jax.Array,
    ) -> Any:
        place = jnp.where(is_due, filled, self.budget)
        return _with_row(slots, place, carries), blocks.at[place].set(block), filled + is_due


class _Scheduled(_Slots):
    """Before the blocks of a schedule that was made beforehand."""

    def __init__(self, blocks: np.ndarray[Any, Any], budget: int, run: _LoopRun) -> None:
        super().__init__(max(budget, len(blocks)), run)
        self.schedule = np.append(blocks, np.iinfo(np.int32).max)

    def before(self, block: jax.Array, carries: jax.Array, kept: jax.Array) -> Any:
        slots, blocks, filled, distance = kept
        is_due = block == jnp.asarray(self.schedule, blocks.dtype)[filled]
        return (*self.keep(is_due, block, carries, slots, blocks, filled), distance)


class _Doubling(_Slots):
    """At even distances; each time the slots are full every other state goes, and the distance doubles."""

    def __init__(self, most: int, budget: int, run: _LoopRun) -> None:
        super().__init__(max(budget, most), run)
        self.most = most

    def before(self, block: jax.Array, carries: jax.Array, kept: jax.Array) -> Any:
        slots, blocks, filled, distance = kept
        if self.most == 1:
            return (*self.keep(block == 0, block, carries, slots, blocks, filled), distance)
        is_due = block == filled * distance
        slots, blocks, filled, distance = lax.cond(
            is_due & (filled == self.most), self._halved, lambda *x: x, slots, blocks, filled, distance
        )
        return (*self.keep(is_due, block, carries, slots, blocks, filled), distance)

    def _halved(self, slots: jax.Array, blocks: jax.Array, filled: jax.Array, distance: jax.Array) -> Any:
        chosen = np.minimum(np.arange(self.budget + 1) * 2, self.budget)
        return jax.tree.map(lambda s: s[chosen], slots), blocks[chosen], filled // 2, distance * 2


# -- the backward pass -------------------------------------------------------------------------------------------------


def loop_back(history: Any, steps: Any, *operands_and_back: Any) -> tuple[Any, ...]:
    """The reverse pass of a loop, from its history."""
    *operands, back = operands_and_back
    return _LoopBackRun(back, integer(steps), operands).results(history)


class _Way(NamedTuple):
    """What the backward pass carries: cotangents and sums, then the rows of cotangents of consumed arrays."""

    state: tuple[Any, ...]
    slices: tuple[Any, ...]


class _LoopBackRun:
    """The backward pass through one run."""

    def __init__(self, back: LoopBack, count: jax.Array, operands: Sequence[Any]) -> None:
        spec, step = back.spec, back.step
        self.spec, self.step, self.count = spec, step, count
        inputs = operands[: back.inputs]
        rest = operands[back.inputs :]
        lanes = back.lane_shape(rest)
        width = len(step.carries)
        totals = [jnp.zeros((*lanes, *inputs[i].shape), inputs[i].dtype) for i in step.sums]
        first = spec.invariants_from()
        slices = [jnp.zeros((inputs[i].shape[0], *lanes, *inputs[i].shape[1:]), inputs[i].dtype) for i in step.slices]
        self.start = _Way((*map(strong, (*rest[:width], *totals)),), (*slices,))
        self.xs, self.invariants = inputs[spec.carries : first], inputs[first:]
        self.read = [*(inputs[i] for i in step.xs), *rest[width:]]
        self.back_invariants = [inputs[i] for i in step.invariants]
        self.positions = back.stage.saved
        self.pull_step, self.full, self.thin = run_of(step.program), run_of(spec.body), run_of(spec.thin)

    def results(self, kept: XlaHistory) -> tuple[Any, ...]:
        if self._is_empty(kept):
            way = self.start
        else:
            way = self._from_whole(kept.arrays) if kept.is_whole else self._from_slots(kept)
        return (*way.state, *way.slices)

    def _is_empty(self, kept: XlaHistory) -> bool:
        """Whether there are no steps, for which there would be no row to read."""
        rows = [*self.xs, *self.read, *(jax.tree.leaves(kept.arrays) if kept.is_whole else ())]
        return any(x.shape[0] == 0 for x in rows)

    def _index(self, step: jax.Array) -> Any:
        return self.count - 1 - step if self.spec.is_reversed else step

    def _pulled(self, state: Any, saved: Any, step: jax.Array) -> tuple[Any, Any]:
        """The state before a step, and the rows that it adds."""
        index = self._index(step)
        outs = self.pull_step(*state, *saved, *[_row(x, index) for x in self.read], *self.back_invariants)
        after = (*[lax.convert_element_type(x, s.dtype) for x, s in zip(outs, state, strict=False)],)
        return after, (*outs[len(state) :],)

    def _from_whole(self, stacks: object) -> _Way:
        return self._back_over(stacks, integer(0), self.count, self.start)

    def _back_over(self, stacks: Any, start: object, stop: jax.Array, way: _Way) -> _Way:
        """Back from the step `stop` to `start`, whose saved values are in the first rows."""

        def one(place: Any) -> Any:
            step, way = place
            step = step - 1
            state, rows = self._pulled(way.state, [_row(s, step - start) for s in stacks], step)
            return step, _Way(state, (*map(lambda s, v: _with_row(s, self._index(step), v), way.slices, rows),))

        return lax.while_loop(lambda place: place[0] > start, one, (stop, way))[1]

    def _from_slots(self, kept: XlaHistory) -> _Way:
        """A stack of states before blocks, the latest on top: from it either to the middle of what is left, where a
        slot is free to keep the state there, or to the last block, which is pulled.
        """
        slots, blocks, filled, _ = kept.arrays
        budget, length = kept.budget, kept.block
        end = lax.div(self.count + (length - 1), integer(length))
        is_past = blocks >= jnp.maximum(end, 1)
        filled = jnp.minimum(filled, jnp.sum(~is_past & (jnp.arange(budget + 1) < filled)).astype(filled.dtype))

        def one(place: jax.Array) -> Any:
            end, slots, blocks, filled, rows, way = place
            top = filled - 1
            start, free = blocks[top], budget - filled
            is_kept = (end - start > 1) & (free > 0)
            target = jnp.where(is_kept, start + first_stretch(end - start, free + 1), end - 1)
            state = self._advanced(_row(slots, top), start * length, target * length)
            spot = jnp.where(is_kept, filled, budget)
            slots, blocks = _with_row(slots, spot, state), blocks.at[spot].set(target)
            first = target * length
            # no step is pulled where the state is kept: a loop of none, since a branch would copy what goes through it
            last = jnp.where(is_kept, first, jnp.minimum(first + length, self.count))
            rows = self._saved_again(rows, state, first, last)
            way = self._back_over(rows, first, last, way)
            end = jnp.where(is_kept, end, target)
            filled = jnp.where(is_kept, filled + 1, jnp.where((end == start) & (end > 0), filled - 1, filled))
            return end, slots, blocks, filled, rows, way

        begin = (end, slots, blocks, filled, self._room(kept), self.start)
        return lax.while_loop(lambda place: place[0] > 0, one, begin)[-1]

    def _room(self, kept: XlaHistory) -> list[Any]:
        """Rows for what the steps of a block save."""
        state = jax.tree.map(_type_of_row, kept.arrays[0])
        found = jax.eval_shape(self.full, *state, *map(_type_of_row, self.xs), *self.invariants)
        return [jax.tree.map(lambda s: jnp.zeros((kept.block, *s.shape), s.dtype), found[p]) for p in self.positions]

    def _saved_again(self, rows: list[Any], state: jax.Array, first: jax.Array, last: jax.Array) -> list[Any]:
        """What the steps of a block save, which are run again from the state before them."""
        width = self.spec.carries

        def one(place: jax.Array) -> Any:
            step, carries, rows = place
            outs = self.full(*carries, *[_row(x, self._index(step)) for x in self.xs], *self.invariants)
            rows = [_with_row(r, step - first, outs[p]) for r, p in zip(rows, self.positions, strict=True)]
            return step + 1, (*map(_like, outs[:width], carries),), rows

        return lax.while_loop(lambda place: place[0] < last, one, (first, state, rows))[2]

    def _advanced(self, state: jax.Array, start: jax.Array, stop: jax.Array) -> Any:
        width = self.spec.carries

        def one(place: jax.Array) -> Any:
            step, carries = place
            outs = self.thin(*carries, *[_row(x, self._index(step)) for x in self.xs], *self.invariants)
            return step + 1, (*map(_like, outs[:width], carries),)

        return lax.while_loop(lambda place: place[0] < stop, one, (start, state))[1]


def _type_of_row(x: jax.Array) -> Any:
    return jax.ShapeDtypeStruct(x.shape[1:], x.dtype)


def first_stretch(length: jax.Array, slots: jax.Array) -> Any:
    """Where the next snapshot is best taken: `_transforms/snapshots.py` has the formula, which counts up to the number
    of repetitions that `length` steps need."""
    one = jnp.ones_like(length)

    def more(place: jax.Array) -> Any:
        t, _, short, reach = place
        t = t + 1
        return t, short, reach, reach * (slots + t) // t

    t, shorter, _, reach = lax.while_loop(
        lambda place: place[3] < length, more, (one, jnp.zeros_like(length), one, (slots + 1).astype(length.dtype))
    )
    found = jnp.maximum(shorter, length - reach * slots // (slots + t))
    return jnp.where(length <= slots + 1, one, found)


__all__ = ["loop", "loop_back", "switch"]
