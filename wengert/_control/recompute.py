"""The rule of `wg.recompute_grad`: keeps a computation's inputs only, and runs it again to differentiate it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core import dtypes
from .._core.dims import Dim, DimLike
from .._core.op import ZERO, Op, batch_size, linear, repeat
from .._core.state import STATE, recording
from .._core.tensor import Tensor
from .._core.types import type_of
from .._prims.structural import alias, zeros_of
from .._transforms.forward import Tangents
from .._transforms.reverse import sweep
from .._transforms.tape import Tape
from .call import marked
from .closed import Closed
from .custom import CustomRule, Tensors

Run = Callable[[Sequence[Tensor]], "Sequence[Tensor]"]


def _after_batch(op: Op, operands: tuple[Tensor, ...], batched: tuple[bool, ...], attrs: tuple[Any, ...]) -> Tensor:
    x, token = operands
    return op(x if batched[0] else repeat(x, batch_size(operands, batched)), token)


after = linear(
    "after", "x token", transpose=(lambda ct: ct, None), type=lambda x, token: type_of(x), batch=_after_batch,
    moves="all",
    dtypes="any", samples=[(((3,), (2, 2)), ())],
    doc="x, available once token is: keeps a repeated computation apart from the first one, and behind token",
)  # fmt: skip


class RecomputeRule(CustomRule):
    """Differentiates by running the computation again on the inputs, which are all it keeps.

    Args:
        name: the user's function.
        run: repeats the computation, from its inputs to its results.
        arguments: how many inputs are the user's arguments: those count as connected.
        held: how many inputs `run` takes; the rest are tensors that it captured, which it uses as they are.
        inputs: how many inputs there are.
        outputs: how many results there are.
    """

    __slots__ = ("arguments", "held", "run")
    takes_missing = True

    def __init__(self, name: str, run: Run, arguments: int, held: int, inputs: int, outputs: int) -> None:
        super().__init__(name, inputs, outputs, inputs)
        self.run = run
        self.arguments = arguments
        self.held = held

    def pull(
        self, cotangents: list[Any], kept: Tensors, may_hold_zeros: bool, needed: Sequence[bool]
    ) -> Sequence[Any]:  # fmt: skip
        token = next(ct for ct in cotangents if isinstance(ct, Tensor))
        # two arguments may be one tensor, and each must get its own part
        sources = [*(self._apart(x, token) for x in kept[: self.held]), *kept[self.held :]]
        # the others are constants again, to custom gradients inside, too
        floats = [i for i, x in enumerate(sources) if needed[i] and dtypes.is_inexact(x.dtype)]
        tape = Tape(sources[i]._key for i in floats)
        with recording(tape):
            results = self.run(sources[: self.held])
        # what nothing reads is no seed: a rule inside that belongs to such a result alone is not asked
        seeds = [
            (y._key, ct)
            for y, ct in zip(results, cotangents, strict=True)
            if isinstance(ct, Tensor) and dtypes.is_inexact(y.dtype)
        ]
        found = sweep(tape.entries, seeds, [sources[i]._key for i in floats], [may_hold_zeros] * len(seeds))
        pulled: list[Any] = [None] * self.inputs
        for i, ct in zip(floats, found, strict=True):
            pulled[i] = ZERO if ct is None and i < self.arguments else ct
        if STATE.builder is not None:  # a trace of this rule has tensors for results
            pulled = [zeros_of(type_of(x)) if ct is ZERO else ct for x, ct in zip(kept, pulled, strict=True)]
        return pulled

    def push(
        self, primals: Tensors, tangents: Sequence[Any], outs: Tensors, kept: Tensors, may_hold_zeros: bool
    ) -> Any:  # fmt: skip
        recorder = Tangents()
        sources = [*map(alias, primals[: self.held]), *primals[self.held :]]
        with recording(recorder):
            for source, tangent in zip(sources, tangents, strict=True):
                if tangent is not None:
                    recorder.set(source, tangent, may_hold_zeros)
            results = self.run(sources[: self.held])
        is_connected = any(t is not None for t in tangents[: self.arguments])
        found = [(recorder.of(y), recorder.may_hold_zeros(y)) for y in results]
        return (*[ZERO if t is None and is_connected else marked(t, flag) for t, flag in found],)

    def with_dims(self, change: Callable[[Dim], DimLike]) -> CustomRule:
        run = self.run
        if not isinstance(run, ClosedRun):
            return self
        moved = ClosedRun(run.closed.with_dims(change), run.outputs)
        return RecomputeRule(self.name, moved, self.arguments, self.held, self.inputs, self.outputs)

    def _apart(self, x: Tensor, token: Tensor) -> Tensor:
        return alias(x) if STATE.builder is None else after(x, token)


class ClosedRun:
    """A traced computation to be repeated; what it assigned to Variables stays assigned and is not repeated."""

    __slots__ = ("closed", "outputs")

    def __init__(self, closed: Closed, outputs: int) -> None:
        self.closed = closed
        self.outputs = outputs

    def __call__(self, inputs: Sequence[Tensor]) -> Sequence[Tensor]:
        return self.closed.values(inputs)[: self.outputs]
