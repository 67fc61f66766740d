"""The op that stands on tapes for a whole loop that ran as plain Python with snapshots, and its backward pass.

`eager_loop.py` records it. The backward pass runs steps again, a segment at a time and the last one first, records each
segment on a tape of its own, and sweeps it into the sums of the sweep that it is a part of. So the terms of every
cotangent are added up in the order in which a tape that has recorded all steps adds them, and the results are the same
to the last bit. If somebody follows the sweep itself (second order) or traces it, all steps are one segment, recorded
from the loop's operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core.apply import apply
from .._core.constant import with_weak
from .._core.op import ZERO, Facts, Op, Rule
from .._core.state import STATE, next_serial, pausing, pinning, recording
from .._core.tensor import Tensor
from .._core.types import TensorType, type_of
from .._prims.structural import cast, stop_gradient, unstack
from .._transforms.reverse import Cotangents, sweep
from .._transforms.snapshots import EvenSnapshots
from .._transforms.tape import Entry, Tape
from .eager_history import State
from .operand_dependence import lines_of, sources
from .outside_tensors import Captures, Followed, passive_recorders

_MOST_MASKED = 4096  # marks of cotangents that are gone, kept before they are swept up


class Replay:
    """The attribute of the op: all that is needed to run the loop again.

    Attributes:
        name: the public function.
        inputs: how many operands there are: the loop variables at the start, the arrays consumed, the captures.
        keys: theirs.
        outputs: how many results: the loop variables at the end, the stacks.
    """

    __slots__ = (
        "block", "carries", "inputs", "keys", "name", "outputs", "pins", "snapshots", "start", "steps", "taken", "xs",
    )  # fmt: skip

    def __init__(self, steps: Any, keeper: Any, taken: int, keys: Sequence[int], outputs: int) -> None:
        self.name = steps.name
        self.steps = steps
        self.snapshots = keeper.snapshots
        self.block: int = keeper.block
        self.pins: dict[int, Tensor] = keeper.pins
        self.start: int = keeper.captures.start
        self.taken = taken
        self.xs: Sequence[Tensor] = steps.xs
        self.carries = len(steps.carried.given.tensors)
        self.keys = keys
        self.inputs = len(keys)
        self.outputs = outputs

    @property
    def nbytes(self) -> int:
        """The size of the snapshots."""
        first = self.steps.carried.given.tensors
        return self.snapshots.kept * sum(getattr(x._data, "nbytes", 8) for x in first)

    def read_by(self, wanted: Sequence[int]) -> list[int]:
        """The places of the operands that some results depend on, which the steps tell when they run once more."""
        tape = Tape(self.keys)
        with pausing(), recording(tape), pinning({**self.pins}):
            slices = [unstack(x, size=x.shape[0]) for x in self.xs]
            tensors, given = self.steps.replay(self.steps.carried.given.tensors, 0, self.taken, slices)
        ends = {tensors[i]._key for i in wanted if i < self.carries}
        ends |= {ys[i - self.carries]._key for i in wanted if i >= self.carries for ys in given}
        needed = sources(lines_of(tape.entries), ends)
        return [i for i, key in enumerate(self.keys) if key in needed]

    def walk_back(self, entry: Entry, found: Sequence[Any], cts: Cotangents) -> None:
        """Adds what the loop contributes, given the cotangents of its results (a tensor, ZERO or None each)."""
        tracked = {key for key, flag in zip(entry.in_keys, entry.plan.tracked, strict=True) if flag}
        seeds = [(ct, key in cts.masked) for ct, key in zip(found, entry.out_keys, strict=True)]
        _Walk(self, tracked, seeds, cts).run()

    def __repr__(self) -> str:
        return f"<{self.name}, {self.taken} steps to run again>"


class _Walk:
    """One backward pass through a loop."""

    def __init__(self, replay: Replay, tracked: set[int], seeds: Sequence[Any], cts: Cotangents) -> None:
        self.replay = replay
        self.tracked = tracked
        self.finals = seeds[: replay.carries]
        self.stacks = [(_rows(ct), is_masked) for ct, is_masked in seeds[replay.carries :]]
        self.cts = cts
        self.behind: Sequence[Tensor] | None = None  # the state at the end of the next segment, as cotangents know it

    def run(self) -> None:
        """Walks through all steps."""
        replay = self.replay
        tape = Tape(self.tracked)
        with recording(tape):
            self.slices = [unstack(x, size=x.shape[0]) for x in replay.xs]
        self.is_tracked = [x._key in self.tracked for x in replay.xs]
        snapshots = replay.snapshots
        if STATE.builder is not None or not all(r.is_passive for r in STATE.recorders):
            given = replay.steps.carried.given.tensors
            self._pull_segment(State((*given,), (False,) * len(given)), 0, replay.taken)
        elif isinstance(snapshots, EvenSnapshots):
            snapshots.reverse(replay.taken, self._pull_segment, again=True)
        else:
            snapshots.reverse(-(-replay.taken // replay.block), self._advance, self._pull, again=True)
        sweep(tape.entries, (), (), cts=self.cts)

    def _advance(self, state: State, start: int, stop: int) -> State:
        """The state before block `stop`, from the one before block `start`."""
        start, stop = start * self.replay.block, stop * self.replay.block
        outer = passive_recorders()
        if all(state.flags):
            with pausing(outer), pinning({**self.replay.pins}):
                tensors, _ = self.replay.steps.replay(state.tensors, start, stop, self.slices)
            return State((*tensors,), state.flags)
        # which loop variables are followed may change from step to step
        watch = Followed(Captures(self.replay.start, (Tape(self.tracked),)))
        for x, flag in zip(state.tensors, state.flags, strict=True):
            if flag:
                watch.follow(x)
        for column, is_tracked in zip(self.slices, self.is_tracked, strict=True):
            for step in range(start, stop) if is_tracked else ():
                watch.follow(column[self.replay.steps.place(step)])
        with pausing((*outer, watch)), pinning({**self.replay.pins}):
            tensors, _ = self.replay.steps.replay(state.tensors, start, stop, self.slices)
        return State((*tensors,), (*[watch.tracks(x._key) for x in tensors],))

    def _pull(self, state: State, index: int) -> None:
        start = index * self.replay.block
        self._pull_segment(state, start, min(start + self.replay.block, self.replay.taken))

    def _pull_segment(self, state: State, start: int, stop: int) -> None:
        """Runs some steps again, recorded, and sweeps them."""
        steps, cts = self.replay.steps, self.cts
        tape = Tape(self.tracked)
        if start:  # at step 0 the operands are all there is to follow
            tape.tracked.update(x._key for x, flag in zip(state.tensors, state.flags, strict=True) if flag)
        for column, is_tracked in zip(self.slices, self.is_tracked, strict=True):
            for step in range(start, stop) if is_tracked else ():
                tape.tracked.add(column[steps.place(step)]._key)
        serial = next_serial()
        with recording(tape), pinning({**self.replay.pins}):
            tensors, results = steps.replay(state.tensors, start, stop, self.slices)
        self._seed(tensors, results, start)
        del results
        sweep(tape.entries, (), (), cts=cts)
        for x in tensors:  # a cotangent that no entry took
            if x._key > serial:
                cts.terms.pop(x._key, None)
        self.behind = state.tensors
        if len(cts.masked) > _MOST_MASKED + 2 * len(cts.terms):
            cts.masked.intersection_update(cts.terms)

    def _seed(self, tensors: Sequence[Tensor], results: Sequence[Sequence[Tensor]], start: int) -> None:
        """Hands the cotangents behind a segment to the values that the segment ends with."""
        cts = self.cts
        if self.behind is None:
            for x, (ct, is_masked) in zip(reversed(tensors), reversed(self.finals), strict=True):
                if ct is not None:
                    cts.add(x._key, ct, is_masked)
        else:
            for x, y in zip(tensors, self.behind, strict=True):
                if x._key != y._key and y._key in cts.terms:
                    cts.add(x._key, cts.terms.pop(y._key), y._key in cts.masked)
        for place in range(len(self.stacks) - 1, -1, -1):
            rows, is_masked = self.stacks[place]
            if rows is None:
                continue
            for step, given in enumerate(results, start):
                y = given[place]
                ct = ZERO if rows is ZERO else cast(rows[self.replay.steps.place(step)], y.dtype)
                cts.add(y._key, ct, is_masked)


def _rows(ct: object) -> Any:
    return unstack(ct, size=ct.shape[0]) if isinstance(ct, Tensor) else ct


# -- the op -----------------------------------------------------------------------------------------------------------


def _type_rule(operands: tuple[Any, ...], rule: Replay) -> tuple[TensorType, ...]:
    return (*map(type_of, operands[rule.inputs :]),)


def _no_batch(op: object, operands: object, batched: object, attrs: object) -> Any:
    raise NotImplementedError("a loop that ran as plain Python is in no graph, and has no batch rule")


_op = Op(
    name="custom", operands=("operands",), attrs=("rule",), outs=("outs",), kind="custom", type_rule=_type_rule,
    batch_rule=_no_batch, is_variadic=True, has_many_outs=True, takes_missing=True, walks=True,
    facts=Facts(doc="the results of a loop whose steps are run again in the backward pass", dtypes="any"),
)  # fmt: skip
_op.joint = Rule(lambda rule: rule, _op.reverse_layout(), "custom", ["rule"])


def follow_replay(replay: Replay, operands: Sequence[Tensor], results: Sequence[Tensor]) -> Sequence[Tensor]:
    """The results of a loop that ran while the tapes paused, followed by them as results of its operands."""
    with pausing(passive_recorders()):
        sealed = [stop_gradient(y) for y in results]
    return with_weak(apply(_op, (*operands, *sealed), (replay,)), [y._weak for y in results])


__all__ = ["Replay", "follow_replay"]
