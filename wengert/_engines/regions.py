"""Kernels of the ops that hold programs: `switch`, `loop`, `loop_back`. One definition for every engine without native
control flow; an engine says how it runs a program and how it reads, cuts and stacks its arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._control.call import Program
from .._control.loop import History, Loop
from .._control.loop_back import LoopBack
from .._control.switch import Branches
from .._core.budget import BUDGET, limit, tell
from .._core.dims import Dim
from .._core.engine import Kernel
from .._core.tensor import Value
from .._core.time_limit import go_on
from .._transforms.snapshots import EvenSnapshots, Snapshots

_MOST_AUTO = 1024  # snapshots kept beside the history of an "auto" loop
_LEAST_AUTO = 8


class Arrays(NamedTuple):
    """How an engine reads, cuts and stacks its arrays, and runs a program.

    Attributes:
        run: the executable of a program.
        number: an array of one element as a Python number.
        row: `row(array, i)`, one slice along the first axis.
        stack: arrays of one shape as one array (of another: as a list that `row` understands).
        zeros: `zeros(shape, dtype)`.
        like: zeros of an array's type.
        integer: a Python integer as an array of no axes.
        rows: an array as what `row` takes, if slice after slice of it is read.
    """

    run: Callable[[Program], Callable[..., tuple[Any, ...]]]
    number: Callable[[Any], Any]
    row: Callable[[Any, int], Any]
    stack: Callable[[Sequence[Any]], Any]
    zeros: Callable[[Any, Any], Any]
    like: Callable[[Any], Any]
    integer: Callable[[int], Any] = np.int64
    rows: Callable[[Any], Any] = lambda x: x


def region_kernels(arrays: Arrays) -> dict[str, Kernel]:
    """The kernels for an engine."""

    def switch(index: object, *operands_and_branches: Any) -> tuple[Any, ...]:
        *operands, branches = operands_and_branches
        return arrays.run(_chosen(arrays.number(index), branches))(*operands)

    def loop(*operands_and_spec: Any) -> tuple[Any, ...]:
        *operands, spec = operands_and_spec
        return _LoopRun(arrays, spec, operands).results()

    def loop_back(history: Any, steps: Any, *operands_and_back: Any) -> tuple[Any, ...]:
        *operands, back = operands_and_back
        return _LoopBackRun(arrays, back, int(arrays.number(steps)), operands).results(history[()])

    return {"switch": switch, "loop": loop, "loop_back": loop_back}


def _chosen(index: int, branches: Branches) -> Program:
    """True is the first branch; an index out of range is the last."""
    programs = branches.programs
    if isinstance(index, bool):
        return programs[not index]
    return programs[index] if 0 <= index < len(programs) else programs[-1]


class _LoopRun:
    """One run of a loop."""

    def __init__(self, arrays: Arrays, spec: Loop, operands: Sequence[Any]) -> None:
        self.arrays = arrays
        self.spec = spec
        if spec.is_counted:
            self.count: int | None = int(arrays.number(operands[0]))
            operands = operands[1:]
        else:
            self.count = None
        first = spec.invariants_from()
        self.carries: Any = operands[: spec.carries]
        self.xs = operands[spec.carries : first]
        if self.count is not None:
            _require_count(self.count, self.xs)
        self.sliced = [_rows(arrays, x) for x in self.xs]
        self.invariants = operands[first:]
        self.stacks: list[tuple[int, list[Any]]] = [(e, []) for e in spec.emits if isinstance(e, int)]
        self.kept = [SavedHistory(e, spec, arrays, self.count) for e in spec.emits if isinstance(e, History)]

    def results(self) -> tuple[Any, ...]:
        base, BUDGET.depth = BUDGET.used, BUDGET.depth + 1
        try:
            for kept in self.kept:
                kept.base = base
            self._run_steps()
        finally:
            BUDGET.depth -= 1
            if not BUDGET.depth:
                BUDGET.used = 0
        steps = self.steps
        stacks = iter(self.stacks)
        histories = iter(self.kept)
        emitted = [
            as_object(next(histories)) if isinstance(e, History) else self._stacked(*next(stacks), steps)
            for e in self.spec.emits
        ]
        between = [] if self.spec.is_counted else [self.arrays.integer(steps)]
        return (*self.carries, *between, *emitted)

    def _run_steps(self) -> None:
        """Runs steps until the count is reached or the condition fails; `self.steps` tells how many ran."""
        spec, number = self.spec, self.arrays.number
        condition = None if spec.condition is None else self.arrays.run(spec.condition)
        kept, invariants, count, carries = self.kept, self.invariants, self.count, self.carries
        width = spec.carries
        body = self.arrays.run(self._body())
        step = 0
        while step != count if condition is None else number(condition(*carries, *invariants)[0]):
            go_on()
            for history in kept:
                if step == history.next_step:
                    history.offer(step, carries)
            outs = body(*carries, *self._slices(step), *invariants)
            for position, rows in self.stacks:
                rows.append(outs[position])
            carries = outs[:width]
            step += 1
            for history in kept:
                if history.steps is not None and history.keeps(step, outs):
                    body = self.arrays.run(self._body())  # it gave its history up: nothing to save any more
        self.steps, self.carries = step, carries

    def _body(self) -> Program:
        """The body, in its thin form if nothing reads what the other one saves."""
        is_thin = all(e < self.spec.carries + self.spec.own for e, _ in self.stacks)
        return self.spec.thin if is_thin and all(k.steps is None for k in self.kept) else self.spec.body

    def _slices(self, step: int) -> Sequence[Any]:
        if not self.xs:
            return ()
        index = _row_of(step, self.spec, self.count or 0)
        return [self.arrays.row(x, index) for x in self.sliced]

    def _stacked(self, position: int, rows: list[Any], steps: int) -> Any:
        if not steps:
            value = self.spec.body.graph.outputs[position]
            return self.arrays.zeros((0, *_extents(value, self.spec, self._inputs())), value.dtype)
        if position in self.spec.even:
            _require_even(rows)
        return self.arrays.stack(rows[::-1] if self.spec.is_reversed else rows)

    def _inputs(self) -> list[Any]:
        return [*self.carries, *self.xs, *self.invariants]


def _require_count(count: int, xs: Sequence[Any]) -> None:
    """Raises unless each step has a slice: the number of steps is data, and may come from a file."""
    rows = [x.shape[0] for x in xs if hasattr(x, "shape") and x.shape]
    if count < 0 or any(count > n for n in rows):
        raise ValueError(f"loop: {count} steps are to take slices of arrays of {rows} rows")


def _require_even(rows: list[Any]) -> None:
    """Raises where what the user stacks has not the same shape in all steps."""
    shapes = dict.fromkeys((*row.shape,) for row in rows)
    if len(shapes) > 1:
        first, other, *_ = shapes
        raise TypeError(f"scan: y differs in shape: it is {first} in one step, and {other} in another")


def _extents(value: Value, spec: Loop, inputs: Sequence[Any]) -> list[int]:
    """The shape of a value of the body where no step has run: what varies is 0."""
    sizes: dict[Any, int] = {}
    first, last = spec.carries, spec.invariants_from()
    for place, (known, x) in enumerate(zip(spec.body.graph.inputs, inputs, strict=True)):
        shape = x.shape[1:] if first <= place < last else x.shape
        sizes.update({d.atom: n for d, n in zip(known.shape, shape, strict=True) if isinstance(d, Dim) and d.is_atom})
    return [d if not isinstance(d, Dim) else d.evaluate(sizes) if d.atoms <= sizes.keys() else 0 for d in value.shape]


def _row_of(step: int, spec: Loop, count: int) -> int:
    """Which slice of the arrays that a loop consumes and stacks belongs to a step."""
    return count - 1 - step if spec.is_reversed else step


def _rows(arrays: Arrays, x: Any) -> Any:
    """An operand of which each step takes a slice; a stack of histories may be an object of a compiler's."""
    if type(x) is not np.ndarray or x.dtype.kind != "O" or x.ndim:
        return arrays.rows(x)
    held: Any = x[()]
    return held.piled()


def as_object(value: object) -> Any:
    """Anything as an array of no axes, so that it passes where arrays do."""
    box = np.empty((), object)
    box[()] = value
    return box


class SavedHistory:
    """What a run keeps for one backward pass: what every step saved, snapshots, or both until memory runs short."""

    def __init__(self, history: History, spec: Loop, arrays: Arrays, count: int | None) -> None:
        policy = history.policy
        self.positions = history.positions
        self.arrays = arrays
        self.base = 0
        self.own = 0
        self.limit = limit()
        self.steps: list[tuple[Any, ...]] | None = [] if policy == "auto" else None
        self.snapshots: Any = None
        self.next_step = 0
        self.check = 1
        if policy == "sqrt":
            self.snapshots = EvenSnapshots(None, count)
        elif policy != "auto":
            self.snapshots = Snapshots(policy, count)
        self.count = count

    def offer(self, step: int, carries: Sequence[Any]) -> None:
        """Shows the state before a step."""
        if self.snapshots is None:
            size = sum(map(_size_of, carries)) or 1
            self.snapshots = Snapshots(max(_LEAST_AUTO, min(_MOST_AUTO, self.limit // (4 * size))), self.count)
        self.snapshots.offer(step, carries)
        self.next_step = self.snapshots.next_step

    def keeps(self, step: int, outs: Sequence[Any]) -> bool:
        """Adds what a step saved; whether the history was given up now."""
        assert self.steps is not None
        saved = (*[outs[p] for p in self.positions],)
        self.steps.append(saved)
        if step < self.check:
            return False
        # not every step is looked at: each look estimates when the next one is due
        size = sum(map(_size_of, saved))
        grown = size * (step - self.check + 1)
        self.own += grown
        BUDGET.used += grown
        if BUDGET.used > self.limit:
            self._give_up(step)
            return True
        self.check = step + 1 + min((self.limit - BUDGET.used) // (2 * size + 1), step, 10_000)
        return False

    def _give_up(self, step: int) -> None:
        tell(
            "a loop has given up its history of %d bytes after %d steps: the memory budget is %d bytes "
            "(wg.set_memory_budget); the reverse pass runs steps again from %d snapshots", self.own, step, self.limit,
            self.snapshots.kept,
        )  # fmt: skip
        BUDGET.used = self.base
        self.own, self.steps = 0, None

    def segments(
        self,
        steps: int,
        advance: Callable[..., Any],
        pull_saved: Callable[..., Any],
        pull: Callable[..., Any],
        pull_segment: Callable[..., Any],
    ) -> None:
        """Calls back for all steps, the last first."""
        if self.steps is not None:
            for step in range(steps - 1, -1, -1):
                pull_saved(self.steps[step], step)
        elif isinstance(self.snapshots, EvenSnapshots):
            self.snapshots.reverse(steps, pull_segment, again=True)
        elif self.snapshots is not None:  # None: no step has run
            self.snapshots.reverse(steps, advance, pull, again=True)


def _size_of(x: object) -> int:
    return getattr(x, "nbytes", 8)


class _LoopBackRun:
    """The backward pass through one run of a loop."""

    def __init__(self, arrays: Arrays, back: LoopBack, steps: int, operands: Sequence[Any]) -> None:
        spec, step = back.spec, back.step
        self.arrays, self.spec, self.step, self.count = arrays, spec, step, steps
        self.inputs = operands[: back.inputs]
        rest = operands[back.inputs :]
        self.width = len(step.carries)
        self.lanes = back.lane_shape(rest)
        totals = [
            arrays.zeros((*self.lanes, *x.shape), x.dtype) if self.lanes else arrays.like(x)
            for x in map(self.inputs.__getitem__, step.sums)
        ]
        self.state: Sequence[Any] = (*rest[: self.width], *totals)
        stacks = rest[self.width :]
        self.first = spec.invariants_from()
        self.xs = [_rows(arrays, x) for x in self.inputs[spec.carries : self.first]]
        self.invariants = self.inputs[self.first :]
        self.back_invariants = [self.inputs[i] for i in step.invariants]
        self.read = [_rows(arrays, x) for x in (*[self.inputs[i] for i in step.xs], *stacks)]
        self.slices: list[list[Any]] = [[] for _ in step.slices]
        self.positions = back.reading.saved
        self.run = arrays.run(step.program)
        self.full = arrays.run(spec.body)
        self.thin = arrays.run(spec.thin)

    def results(self, kept: SavedHistory) -> tuple[Any, ...]:
        base, BUDGET.depth = BUDGET.used, BUDGET.depth + 1
        try:
            kept.segments(self.count, self._advance, self._pull_saved, self._pull, self._pull_segment)
        finally:
            BUDGET.depth -= 1
            BUDGET.used = base if BUDGET.depth else 0
        slices = [self._stacked(rows, i) for rows, i in zip(self.slices, self.step.slices, strict=True)]
        return (*self.state, *slices)

    def _stacked(self, rows: list[Any], position: int) -> Any:
        if not rows:
            x = self.inputs[position]
            return (
                self.arrays.like(x)
                if not self.lanes
                else self.arrays.zeros((x.shape[0], *self.lanes, *x.shape[1:]), x.dtype)
            )
        return self.arrays.stack(rows if self.spec.is_reversed else rows[::-1])

    def _slices(self, step: int) -> Sequence[Any]:
        index = _row_of(step, self.spec, self.count)
        return [self.arrays.row(x, index) for x in self.xs]

    def _advance(self, state: Any, start: int, stop: int) -> Any:
        width, body, invariants = self.spec.carries, self.thin, self.invariants
        for step in range(start, stop):
            state = body(*state, *self._slices(step), *invariants)[:width]
        return state

    def _pull(self, state: object, step: int) -> None:
        self._pull_saved(self._saved(state, step)[0], step)

    def _saved(self, state: Any, step: int) -> tuple[tuple[Any, ...], Any]:
        """What a step saves, run again, and the state behind it."""
        outs = self.full(*state, *self._slices(step), *self.invariants)
        return (*[outs[p] for p in self.positions],), outs[: self.spec.carries]

    def _pull_segment(self, state: object, start: int, stop: int) -> None:
        saved = []
        for step in range(start, stop):
            kept, state = self._saved(state, step)
            saved.append(kept)
        for step in range(stop - 1, start - 1, -1):
            self._pull_saved(saved.pop(), step)

    def _pull_saved(self, saved: Sequence[Any], step: int) -> None:
        row, index = self.arrays.row, _row_of(step, self.spec, self.count)
        read = [row(x, index) for x in self.read]
        outs = self.run(*self.state, *saved, *read, *self.back_invariants)
        self.state = outs[: len(self.state)]
        for rows, value in zip(self.slices, outs[len(self.state) :], strict=True):
            rows.append(value)


__all__ = ["Arrays", "region_kernels"]
