"""`loop_back`: the reverse pass of a loop whose steps were kept in a history, as a policy said.

The engine walks the steps from the last to the first: what a step saved is in the history, or the steps since a
snapshot are run again. Results are those of `checkpoint="all"` to the last bit, since both run the same programs in
the same order. Its own derivative is that of the same computation with everything kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core import dtypes
from .._core.apply import apply
from .._core.dims import Dim, DimLike
from .._core.domains import require_equal_extents
from .._core.graph import quietly
from .._core.op import ZERO, batch_size, general, repeat, tensor_type
from .._core.state import recording
from .._core.tensor import Tensor
from .._core.types import TensorType, type_of
from .._prims.structural import alias, zeros_of
from .._transforms.batch import batched_graph
from .._transforms.forward import Tangents
from .._transforms.pushing import Masked
from .._transforms.reverse import Cotangents, sweep
from .._transforms.tape import Tape
from .call import Program, marked
from .loop import BACK, BackwardStep, Loop, LoopBackward, Reading, check_steps, loop, run_in_lanes, run_loop
from .masked_execution import size_inside, swapped
from .per_example import batched as batched_function


class LoopBack:
    """The attribute of a `loop_back`: the programs of the steps back, and the loop that they belong to.

    Operands: the history, the number of steps, the inputs of the loop (carries at the start, xs, invariants), the
    cotangents of the active carries at the end, the cotangents of stacked results.

    Attributes:
        lanes: how many leading axes the cotangents have: each lane is a backward pass of its own through the same run.
            Stacks of cotangents have them behind their first axis.
    """

    __slots__ = ("lanes", "reading", "spec", "step")

    def __init__(self, spec: Loop, reading: Reading, step: BackwardStep, lanes: int = 0) -> None:
        self.lanes = lanes
        self.spec = spec
        self.reading = reading
        self.step = step

    @property
    def inputs(self) -> int:
        """How many inputs the loop has."""
        return len(self.spec.thin.graph.inputs)

    @property
    def inner(self) -> tuple[Any, ...]:
        """The programs, for listings."""
        return (self.step.program,)

    def lane_shape(self, cotangents: Sequence[Any]) -> tuple[Any, ...]:
        """The leading axes that the cotangents (of carries, then of stacks) have."""
        if not self.lanes:
            return ()
        first = int(not self.step.carries)
        return (*cotangents[0].shape[first : first + self.lanes],)

    def again(self, operands: Sequence[Tensor]) -> list[Tensor]:
        """The results anew, from a loop that keeps everything."""
        if self.lanes:
            return self._again_in_lanes(operands)
        inputs, rest = operands[2 : 2 + self.inputs], operands[2 + self.inputs :]
        spec = Loop(
            self.spec.condition, self.spec.thin, carries=self.spec.carries, xs=self.spec.xs,
            is_reversed=self.spec.is_reversed, length=self.spec.length, varying=[*self.spec.varying],
            most=self.spec.most,
        )  # fmt: skip
        places = [*self.step.carries, *self.step.sums, *self.step.slices]
        tape = Tape(inputs[i]._key for i in {*self.reading.carries, *places} if dtypes.is_inexact(inputs[i].dtype))
        with recording(tape):
            outs = run_loop([*([operands[1]] if spec.is_counted else []), *inputs], spec)
        finals = [outs[i]._key for i in self.step.carries]
        # what is stacked among the user's results has the same place behind the carries here
        stacks = [outs[spec.carries + i - self.spec.first_emit]._key for i in self.step.stacked]
        seeds = [*zip([*finals, *stacks], rest, strict=True)]
        found = sweep(tape.entries, seeds, [inputs[i]._key for i in places], self.step.masked)
        wanted = [inputs[i] for i in places]
        return [g if isinstance(g, Tensor) else zeros_of(type_of(x)) for g, x in zip(found, wanted, strict=True)]

    def _again_in_lanes(self, operands: Sequence[Tensor]) -> list[Tensor]:
        """The results anew, the outermost lanes by batching those of one lane."""
        one = LoopBack(self.spec, self.reading, self.step, self.lanes - 1)
        start = 1 + self.inputs
        last = start + len(self.step.carries)
        given = [swapped(x) if i >= last else x for i, x in enumerate(operands[1:])]
        flags = [i >= start for i in range(len(given))]
        outs = _all_again(one, given, flags, self.lane_shape(operands[2 + self.inputs :])[0])
        return [*outs[: self.summed], *map(swapped, outs[self.summed :])]

    @property
    def summed(self) -> int:
        """How many results are no stacks."""
        return len(self.step.carries) + len(self.step.sums)

    def __wengert_map_dims__(self, change: Callable[[Dim], DimLike]) -> LoopBack:
        spec = self.spec.__wengert_map_dims__(change)
        return self if spec is self.spec else LoopBack(spec, self.reading, self.step, self.lanes)

    def __repr__(self) -> str:
        return f"<back through {self.spec}>"


def _back(
    spec: Loop, stage: LoopBackward, step: BackwardStep, history: Tensor, steps: Tensor, inputs: Sequence[Tensor],
    finals: Sequence[Tensor], of_stacks: Sequence[Tensor],
) -> tuple[Tensor, ...]:  # fmt: skip
    attr = LoopBack(spec, stage.reading, step)
    return apply(loop_back, (history, steps, *inputs, *finals, *of_stacks), (attr,))


BACK.append(_back)


def _check(operands: tuple[Any, ...], back: LoopBack) -> None:
    """The loop takes the operands, and its backward pass what the steps have saved and the cotangents."""
    if not isinstance(back, LoopBack):
        raise ValueError("loop_back: wanted the backward pass of a loop")
    spec, step = back.spec, back.step
    last = 2 + back.inputs
    if len(operands) != last + len(step.carries) + len(step.stacked):
        raise ValueError("loop_back: there is another number of operands than the backward pass says")
    history, steps, *rest = operands
    if history.dtype != dtypes.HISTORY or tuple(steps.shape) or not dtypes.is_integer(steps.dtype):
        raise ValueError("loop_back: wanted a history and a number of steps")
    check_steps("loop_back", rest[: back.inputs], spec)
    _require_step(back, rest[: back.inputs], rest[back.inputs :])


def _require_step(back: LoopBack, inputs: Sequence[Any], cotangents: Sequence[Any]) -> None:
    spec, step, lanes = back.spec, back.step, back.lane_shape(cotangents)
    first = spec.invariants_from()
    places_fit = (
        all(i < spec.carries for i in step.carries) and all(i >= first for i in (*step.sums, *step.invariants))
        and all(spec.carries <= i < first for i in (*step.xs, *step.slices))
    )  # fmt: skip
    if not places_fit:
        raise ValueError("loop_back: a carry, a slice or an invariant is none")
    width = len(step.carries)
    if any(len(x.shape) <= back.lanes for x in cotangents[width:]):
        raise ValueError("loop_back: the cotangent of a stack has no rows")
    slices = [tensor_type(x.shape[1:], x.dtype) for x in (*(inputs[i] for i in step.xs), *cotangents[width:])]
    saved = [type_of(spec.body.graph.outputs[p]) for p in back.reading.saved]
    totals = [tensor_type((*lanes, *inputs[i].shape), inputs[i].dtype) for i in step.sums]
    given = [*cotangents[:width], *totals, *saved, *slices, *(inputs[i] for i in step.invariants)]
    graph = step.program.graph
    if len(graph.inputs) != len(given) or len(graph.outputs) != width + len(totals) + len(step.slices):
        raise ValueError("loop_back: the program of a step back has another number of operands or results")
    for value, wanted in zip(graph.inputs, given, strict=True):
        if value.dtype != wanted.dtype or len(value.shape) != len(wanted.shape):
            raise ValueError("loop_back: an operand of a step back has another type than it wants")
        for x, y in zip(value.shape, wanted.shape, strict=True):
            require_equal_extents("loop_back", "an extent", x, y)
    rows = [tensor_type((*lanes, *inputs[i].shape[1:]), inputs[i].dtype) for i in step.slices]
    for value, wanted in zip(graph.outputs, [*given[: width + len(totals)], *rows], strict=True):
        if value.dtype != wanted.dtype or len(value.shape) != len(wanted.shape):
            raise ValueError("loop_back: a result of a step back has another type than it should")
        for x, y in zip(value.shape, wanted.shape, strict=True):
            require_equal_extents("loop_back", "an extent", x, y)


def _types(operands: tuple[Any, ...], back: LoopBack) -> tuple[TensorType, ...]:
    inputs = operands[2 : 2 + back.inputs]
    cotangents = operands[2 + back.inputs :]
    step, lanes = back.step, back.lane_shape(cotangents)
    return (
        *[tensor_type((*lanes, *inputs[i].shape), inputs[i].dtype) for i in (*step.carries, *step.sums)],
        *[tensor_type((inputs[i].shape[0], *lanes, *inputs[i].shape[1:]), inputs[i].dtype) for i in step.slices],
    )


def _apart(operands: Sequence[Tensor]) -> list[Tensor]:
    """Operands under identities of their own: one tensor may be several of them."""
    return [alias(x) if dtypes.is_inexact(x.dtype) else x for x in operands]


def _pull_back(
    ct: tuple[Any, ...], needed: tuple[bool, ...], operands: tuple[Tensor, ...], masked: Sequence[bool], back: LoopBack
) -> Any:  # fmt: skip
    sources = _apart(operands)
    keys = [x._key for x in sources]
    tape = Tape(k for k, x, flag in zip(keys, sources, needed, strict=True) if flag and dtypes.is_inexact(x.dtype))
    with recording(tape):
        outs = back.again(sources)
    cts = Cotangents()
    for out, c, is_masked in zip(outs, ct, masked, strict=True):
        if isinstance(c, Tensor):
            cts.add(out._key, c, is_masked)
    found = sweep(tape.entries, (), keys, cts=cts)
    return (
        (
            *[
                None if not (flag and dtypes.is_inexact(x.dtype)) else _marked(g, x._key in cts.masked)
                for g, x, flag in zip(found, sources, needed, strict=True)
            ],
        ),
    )


def _marked(cotangent: Any, is_masked: bool) -> Any:
    if not isinstance(cotangent, Tensor):
        return ZERO
    return Masked(cotangent) if is_masked else cotangent


def _push(
    operands: tuple[Tensor, ...], operands_dot: tuple[Any, ...], masked: Sequence[bool], back: LoopBack
) -> tuple[Any, ...]:  # fmt: skip
    recorder = Tangents()
    sources = _apart(operands)
    with recording(recorder):
        for source, dot, flag in zip(sources, operands_dot, masked, strict=True):
            if isinstance(dot, Tensor):
                recorder.set(source, dot, flag)
        outs = back.again(sources)
    return (*[marked(recorder.of(out), recorder.may_hold_zeros(out)) for out in outs],)


def _batch(op: object, operands: tuple[Tensor, ...], batched: tuple[bool, ...], attrs: tuple[Any, ...]) -> Any:
    (back,) = attrs
    size = batch_size(operands, batched)
    start = 2 + back.inputs
    if not any(batched[:start]):
        return _in_lanes(back, operands, batched, size)
    if back.lanes:
        outs = _all_again(back, operands[1:], batched[1:], size)
    else:
        outs = _own_way(back, operands, batched, size)
    return (*outs,)


def _all_again(back: LoopBack, operands: Sequence[Tensor], flags: Sequence[bool], size: DimLike) -> list[Tensor]:
    """The batched form of the same computation with everything kept; `operands` begin with the number of steps."""
    return batched_function(lambda xs: back.again([xs[0], *xs]), operands, flags, size, "loop_back")


def _in_lanes(back: LoopBack, operands: Sequence[Tensor], flags: Sequence[bool], size: DimLike) -> tuple[Tensor, ...]:
    """Many backward passes through one run, whose history serves them all."""
    start, step = 2 + back.inputs, back.step
    last = start + len(step.carries)
    cotangents = [x if flag else repeat(x, size) for x, flag in zip(operands[start:], flags[start:], strict=True)]
    given = [*cotangents[: len(step.carries)], *map(swapped, cotangents[last - start :])]
    count = len(step.program.graph.inputs)
    read = count - len(step.invariants) - len(step.stacked)
    wide = [i < back.summed or read <= i < count - len(step.invariants) for i in range(count)]
    everything = (True,) * len(step.program.graph.outputs)
    many = step._replace(program=Program(batched_graph(step.program.graph, wide, everything, size_inside(size))))
    attr = LoopBack(back.spec, back.reading, many, back.lanes + 1)
    outs = apply(loop_back, (*operands[:start], *given), (attr,))
    return (*outs[: back.summed], *map(swapped, outs[back.summed :]))


def _own_way(back: LoopBack, operands: Sequence[Tensor], flags: Sequence[bool], size: DimLike) -> list[Tensor]:
    """The run of many lanes again, and a backward pass of its own, by the loop's policy.

    Every input whose cotangent is wanted gets lanes of its own, so that theirs are not added up.
    """
    spec, step, start = back.spec, back.step, 2 + back.inputs
    places = [*step.carries, *step.sums, *step.slices]
    wanted = {*places, *back.reading.carries}
    have = flags[2:start]
    inputs = [
        alias(repeat(x, size) if i in wanted and not flag else x) if i in wanted else x
        for i, (x, flag) in enumerate(zip(operands[2:start], have, strict=True))
    ]
    wide = [flag or i in wanted for i, flag in enumerate(have)]
    counts = [operands[1]] if spec.is_counted else []
    # without stacks nothing may tell how many steps a conditional loop has taken
    stacks = zip(operands[start + len(step.carries) :], flags[start + len(step.carries) :], strict=True)
    length = next((x.shape[int(flag)] for x, flag in stacks), spec.length)
    thin = Loop(
        spec.condition, spec.thin, carries=spec.carries, xs=spec.xs, is_reversed=spec.is_reversed, policy=spec.policy,
        length=length, varying=[*spec.varying], most=spec.most,
    )  # fmt: skip
    tape = Tape(inputs[i]._key for i in wanted if dtypes.is_inexact(inputs[i].dtype))
    with recording(tape):
        outs = run_in_lanes(loop, (*counts, *inputs), (*flags[1 : 1 + len(counts)], *wide), (thin,))
    cotangents = [x if flag else repeat(x, size) for x, flag in zip(operands[start:], flags[start:], strict=True)]
    targets = [*(outs[i] for i in step.carries), *(outs[thin.first_emit + i - spec.first_emit] for i in step.stacked)]
    seeds = [(y._key, ct) for y, ct in zip(targets, cotangents, strict=True)]
    with quietly():
        found = sweep(tape.entries, seeds, [inputs[i]._key for i in places], step.masked)
    return [g if isinstance(g, Tensor) else zeros_of(type_of(inputs[i])) for g, i in zip(found, places, strict=True)]


loop_back = general(
    "loop_back", "*operands", attrs="back", outs="*outs", vjp=_pull_back, jvp=_push, type=_types, check=_check,
    holds="a loop's backward pass",
    batch=_batch,
    takes_missing=True, dtypes="any", can_raise=True, doc="the reverse pass of a loop, from its history",
)  # fmt: skip
