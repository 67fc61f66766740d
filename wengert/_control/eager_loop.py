"""Loops that run as plain Python: how they step, and what the tapes that follow them keep.

With `checkpoint="all"` the tapes keep what they see. Otherwise `Keeper` (`eager_history.py`) has them pause, keeps
snapshots, and one op (`eager_back.py`) stands on the tapes for the whole loop; its backward pass runs the user's
functions again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core import dtypes
from .._core.budget import BUDGET
from .._core.constant import renamed
from .._core.state import STATE, next_serial
from .._core.tensor import Tensor
from .._prims.structural import unstack
from .._transforms.tape import Tape
from .eager_back import Replay, follow_replay
from .eager_history import Keeper, RunsOnceMore
from .outside_tensors import Captures
from .values import Carried, Leaves, connected, require_same_structure

OnEvent = Callable[[int, Sequence[Tensor]], int]
Slices = Sequence[Sequence[Tensor]]


class Ran:
    """The results of a loop that ran eagerly.

    Attributes:
        steps: how many steps ran.
        tensors: the loop variables at the end.
        columns: for each result of a step its values, in the order of the steps.
    """

    __slots__ = ("columns", "steps", "tensors")

    def __init__(self, steps: int, tensors: Sequence[Tensor], columns: Sequence[list[Tensor]] = ()) -> None:
        self.steps = steps
        self.tensors = tensors
        self.columns = columns


class WhileSteps:
    """The steps of a conditional loop.

    Args:
        carried: the loop variables.
        test: whether another step follows, from the loop variables.
        take: the next loop variables, as the user's function returns them.
        most: the largest number of steps, or None.
    """

    __slots__ = ("carried", "most", "take", "test")
    name = "while_loop"
    xs: Sequence[Tensor] = ()
    count: int | None = None

    def __init__(self, carried: Carried, test: Any, take: Callable[..., Any], most: int | None) -> None:
        self.carried = carried
        self.test = test
        self.take = take
        self.most = most

    def run(self, slices: Slices, on_event: OnEvent | None) -> Ran:
        """Runs the loop. `on_event` is called before step 0 and before each step that it asks for."""
        accept, test, take, most = self.carried.accept, self.test, self.take, self.most
        value, tensors = self.carried.given.value, self.carried.given.tensors
        step, event = 0, -1 if on_event is None else 0
        while step != most and test(value):
            if step == event:
                assert on_event is not None
                event = on_event(step, tensors)
            value, tensors = accept(tensors, take(value))
            step += 1
        return Ran(step, tensors)

    def replay(
        self, tensors: Sequence[Tensor], start: int, stop: int, slices: Slices
    ) -> tuple[Sequence[Tensor], list[Sequence[Tensor]]]:
        """Runs some steps again, from the loop variables before them; the results of each step are none here."""
        value: Any = self.carried.given.rebuilt(tensors)
        accept, take = self.carried.accept, self.take
        for _ in range(start, stop):
            value, tensors = accept(tensors, take(value))
        return tensors, []


class ScanSteps:
    """The steps of a loop over slices.

    Args:
        carried: the loop variables.
        take: from loop variables and slices to the next loop variables and what the step gives.
        rows: the arrays that are consumed slice by slice.
        count: the number of steps.
        is_reversed: whether the last slice comes first.

    Attributes:
        example: what the first step gave.
        of_numbers: how many steps there were until loop variables that were Python numbers had taken another dtype.
    """

    __slots__ = ("carried", "count", "example", "is_reversed", "of_numbers", "rows", "take", "xs")
    name = "scan"

    def __init__(self, carried: Carried, take: Callable[..., Any], rows: Leaves, count: int, is_reversed: bool) -> None:
        self.carried = carried
        self.take = take
        self.rows = rows
        self.xs: Sequence[Tensor] = rows.tensors
        self.count = count
        self.is_reversed = is_reversed
        self.example: Leaves | None = None
        self.of_numbers = 0

    def run(self, slices: Slices, on_event: OnEvent | None) -> Ran:
        """Runs the loop, as that of `WhileSteps`."""
        value, tensors = self.carried.given.value, self.carried.given.tensors
        columns: list[list[Tensor]] = []
        has_numbers = any(x._weak for x in tensors)
        self.of_numbers, event = 0, -1 if on_event is None else 0
        for step in range(self.count):
            if step == event:
                assert on_event is not None
                event = on_event(step, tensors)
            before = tensors
            value, tensors, given = self._step(value, tensors, step, slices)
            if has_numbers:
                has_numbers = any(x._weak for x in tensors)
                if any(x._weak and x.dtype is not y.dtype for x, y in zip(before, tensors, strict=True)):
                    self.of_numbers = step + 1
            if not step:
                columns = [[y] for y in given]
                continue
            for column, y in zip(columns, given, strict=True):
                column.append(y)
        if self.of_numbers and all(
            x.dtype == y.dtype for x, y in zip(self.carried.given.tensors, tensors, strict=True)
        ):
            self.of_numbers = 0
        return Ran(self.count, tensors, columns)

    def replay(
        self, tensors: Sequence[Tensor], start: int, stop: int, slices: Slices
    ) -> tuple[Sequence[Tensor], list[Sequence[Tensor]]]:
        """Runs some steps again, from the loop variables before them; also gives the results of each step."""
        value: Any = self.carried.given.rebuilt(tensors)
        results: list[Sequence[Tensor]] = []
        for step in range(start, stop):
            value, tensors, given = self._step(value, tensors, step, slices)
            results.append(given)
        return tensors, results

    def place(self, step: int) -> int:
        """The position of a step's slice, and of its results in the stacks."""
        return self.count - 1 - step if self.is_reversed else step

    def _step(
        self, value: Tensor | dict[str, Any] | None, tensors: Sequence[Tensor], step: int, slices: Slices
    ) -> tuple[Any, Sequence[Tensor], Sequence[Tensor]]:
        serial = next_serial()
        index = self.place(step)
        following, y = self.take(value, self.rows.rebuilt([column[index] for column in slices]))
        value, tensors = self.carried.accept(tensors, following)
        given = self._results(y)
        if STATE.recorders:
            # what a step gives is its own: the cotangents of the stacks and of the loop variables meet at one place
            given = [_aliased(y) if y._key < serial or any(y._key == x._key for x in tensors) else y for y in given]
        return value, tensors, given

    def _results(self, y: Tensor) -> Sequence[Tensor]:
        example = self.example
        if type(y) is Tensor and example is not None and example.is_one_tensor:
            return (y.__copy__(),)  # as `Leaves` does: what a later step writes to is another tensor
        leaves = Leaves(y, "y")
        if example is None:
            self.example = leaves
        else:
            require_same_structure("scan", example, leaves, ("a step", "another one"))
        return leaves.tensors


Steps = WhileSteps | ScanSteps
NeverRan = tuple[Sequence[Tensor], Sequence[Tensor], Sequence[Tensor]]


def _aliased(y: Tensor) -> Tensor:
    return renamed(y) if dtypes.is_inexact(y.dtype) else y


def run_eagerly(
    steps: Steps, policy: object, stack: Callable[[Sequence[list[Tensor]]], list[Tensor]],
    never_ran: Callable[[], NeverRan],
) -> tuple[Sequence[Tensor], Sequence[Tensor]]:  # fmt: skip
    """Runs a loop as plain Python.

    Args:
        steps: what it runs.
        policy: what the reverse pass keeps: "all", "sqrt", "auto" or a number of snapshots.
        stack: stacks the results of the steps.
        never_ran: for a loop without steps: its loop variables, its stacks, and its captures.

    Returns:
        The loop variables at the end and the stacks; all of them count as connected to whatever the loop uses.
    """
    outer = STATE.recorders
    if all(r.is_watch for r in outer):
        ran = steps.run(_slices(steps), None)
        return (ran.tensors, stack(ran.columns)) if ran.steps else never_ran()[:2]
    captures = Captures(next_serial(), outer)
    keeper = _keeper(steps, policy, captures)
    try:
        return _run_followed(steps, captures, keeper, stack, never_ran)
    except RunsOnceMore as end:
        if end.keeper is not keeper:
            raise
    return _run_followed(steps, Captures(next_serial(), outer), None, stack, never_ran)


def _run_followed(
    steps: Steps, captures: Captures, keeper: Keeper | None,
    stack: Callable[[Sequence[list[Tensor]]], list[Tensor]], never_ran: Callable[[], NeverRan],
) -> tuple[Sequence[Tensor], Sequence[Tensor]]:  # fmt: skip
    """Runs a loop that somebody follows; without a keeper the tapes keep everything."""
    outer = STATE.recorders
    before, depth = STATE.effects, BUDGET.depth
    try:
        STATE.recorders = (*outer, captures)
        if keeper is not None:
            keeper.open()
            STATE.effects = (*before, keeper)
        slices = _slices(steps)
        if keeper is not None:
            keeper.slices = slices
        ran = steps.run(slices, None if keeper is None else keeper.on_event)
        del slices
        stacks = stack(ran.columns) if ran.steps else []
    finally:
        STATE.recorders, STATE.effects = outer, before
        BUDGET.depth = depth  # in place: an interrupt may come as `close` begins
        if not depth:
            BUDGET.used, BUDGET.meter = 0, None
        if keeper is not None:
            keeper.close()
    sources = [*steps.carried.given.tensors, *steps.xs]
    if not ran.steps:
        finals, stacks, found = never_ran()
        return connected(finals, [*sources, *found]), connected(stacks, [*sources, *found])
    finals, sources = ran.tensors, [*sources, *captures.found.values()]
    if keeper is not None and keeper.is_paused:
        replay = Replay(steps, keeper, ran.steps, [x._key for x in sources], len(finals) + len(stacks))
        outs = follow_replay(replay, sources, [*finals, *stacks])
        finals, stacks = outs[: len(finals)], outs[len(finals) :]
    return connected(finals, sources), connected(stacks, sources)


def _slices(steps: Steps) -> Slices:
    """The arrays that a loop consumes, cut."""
    return [unstack(x, size=steps.count) for x in steps.xs] if steps.count else []


def _keeper(steps: Steps, policy: object, captures: Captures) -> Keeper | None:
    """What looks after snapshots; None if the tapes are to keep everything, or there is none."""
    tapes = [r for r in captures.outer if isinstance(r, Tape)]
    if policy == "all" or not tapes or not all(isinstance(r, Tape) or r.is_passive for r in captures.outer):
        return None
    return Keeper(policy, steps.count, tapes, captures)


__all__ = ["NeverRan", "ScanSteps", "Steps", "WhileSteps", "run_eagerly"]
