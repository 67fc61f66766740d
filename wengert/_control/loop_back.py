"""`loop_back`: the reverse pass of a loop whose steps were kept in a history, as a policy said.

The engine walks the steps from the last to the first: what a step saved is in the history, or the steps since a
snapshot are run again. Results are those of `checkpoint="all"` to the last bit, since both run the same programs in
the same order. Its own derivative is that of the same computation with everything kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import dtypes
from .._core.apply import apply
from .._core.dims import DimLike
from .._core.op import ZERO, general, tensor_type
from .._core.state import recording
from .._core.tensor import Tensor
from .._core.types import TensorType, type_of
from .._prims.structural import alias, zeros_of
from .._transforms.forward import Tangents
from .._transforms.reverse import Masked, Tape, sweep
from .loop import BACK, Loop, Stage, Step, run_loop


class LoopBack:
    """What a `loop_back` runs.

    Operands: the history, the number of steps, the inputs of the loop (carries at the start, xs, invariants), the
    cotangents of the active carries at the end, the cotangents of stacked results.
    """

    __slots__ = ("length", "spec", "stage", "step", "wanted")

    def __init__(self, spec: Loop, stage: Stage, step: Step, length: DimLike, wanted: tuple[bool, ...]) -> None:
        self.spec = spec
        self.stage = stage
        self.step = step
        self.length = length
        self.wanted = wanted

    @property
    def inputs(self) -> int:
        """How many inputs the loop has."""
        return len(self.spec.thin.graph.inputs)

    @property
    def inner(self) -> tuple[Any, ...]:
        """The programs, for listings."""
        return (self.step.program,)

    def again(self, operands: Sequence[Tensor]) -> list[Tensor]:
        """The results anew, from a loop that keeps everything."""
        inputs, rest = operands[2 : 2 + self.inputs], operands[2 + self.inputs :]
        spec = Loop(
            self.spec.condition, self.spec.thin, carries=self.spec.carries, xs=self.spec.xs,
            is_reversed=self.spec.is_reversed, length=self.spec.length, varying=[*self.spec.varying],
        )  # fmt: skip
        places = [*self.step.carries, *self.step.sums, *self.step.slices]
        tape = Tape(inputs[i]._key for i in {*self.stage.carries, *places} if dtypes.is_inexact(inputs[i].dtype))
        with recording(tape):
            outs = run_loop([*([operands[1]] if spec.is_counted else []), *inputs], spec)
        finals = [outs[i]._key for i in self.step.carries]
        # what is stacked among the user's results has the same place behind the carries here
        stacks = [outs[spec.carries + i - self.spec.first_emit]._key for i in self.step.stacked]
        seeds = [*zip([*finals, *stacks], rest, strict=True)]
        found = sweep(tape.entries, seeds, [inputs[i]._key for i in places], [ct.shape != () for _, ct in seeds])
        return [g if isinstance(g, Tensor) else zeros_of(type_of(inputs[i])) for g, i in zip(found, places, strict=True)]

    def __repr__(self) -> str:
        return f"<back through {self.spec}>"


def _back(
    spec: Loop, stage: Stage, step: Step, history: Tensor, steps: Tensor, inputs: Sequence[Tensor],
    finals: Sequence[Tensor], of_stacks: Sequence[Tensor],
) -> tuple[Tensor, ...]:  # fmt: skip
    wanted = (*[dtypes.is_inexact(x.dtype) for x in inputs],)
    attr = LoopBack(spec, stage, step, spec.steps(inputs), wanted)
    return apply(loop_back, (history, steps, *inputs, *finals, *of_stacks), (attr,))


BACK.append(_back)


def _types(operands: tuple[Any, ...], back: LoopBack) -> tuple[TensorType, ...]:
    inputs = operands[2 : 2 + back.inputs]
    step = back.step
    places = (*step.carries, *step.sums, *step.slices)
    return (*[tensor_type(inputs[i].shape, inputs[i].dtype) for i in places],)


def _apart(operands: Sequence[Tensor]) -> list[Tensor]:
    """Operands under identities of their own: one tensor may be several of them."""
    return [alias(x) if dtypes.is_inexact(x.dtype) else x for x in operands]


def _pull_back(ct: tuple[Any, ...], needed: tuple[bool, ...], operands: tuple[Tensor, ...], back: LoopBack) -> Any:
    sources = _apart(operands)
    keys = [x._key for x in sources]
    tape = Tape(k for k, x, flag in zip(keys, sources, needed, strict=True) if flag and dtypes.is_inexact(x.dtype))
    with recording(tape):
        outs = back.again(sources)
    seeds = [(out._key, c) for out, c in zip(outs, ct, strict=True) if isinstance(c, Tensor)]
    found = sweep(tape.entries, seeds, keys, [c.shape != () for _, c in seeds])
    return ((*[
        None if not (flag and dtypes.is_inexact(x.dtype)) else Masked(g) if isinstance(g, Tensor) else ZERO
        for g, x, flag in zip(found, sources, needed, strict=True)
    ],),)


def _push(operands: tuple[Tensor, ...], operands_dot: tuple[Any, ...], back: LoopBack) -> tuple[Any, ...]:
    recorder = Tangents()
    sources = _apart(operands)
    with recording(recorder):
        for source, dot in zip(sources, operands_dot, strict=True):
            if isinstance(dot, Tensor):
                recorder.set(source, dot)
        outs = back.again(sources)
    return (*[recorder.of(out) for out in outs],)


def _batch(op: Any, operands: tuple[Tensor, ...], batched: tuple[bool, ...], attrs: tuple[Any, ...]) -> Any:
    raise NotImplementedError("loop_back has no batch rule")


loop_back = general(
    "loop_back", "*operands", attrs="back", outs="*outs", vjp=_pull_back, jvp=_push, type=_types, batch=_batch,
    takes_missing=True, dtypes="any", can_raise=True, doc="the reverse pass of a loop, from its history",
)  # fmt: skip
