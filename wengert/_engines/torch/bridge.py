"""Programs in torch's own differentiation: one `torch.autograd.Function` node with our rule.

The node's results are the program's and, behind them, what its backward half reads. The backward pass runs that half as
a node of its own, so that second derivatives come from our rules, too; a cotangent of what was kept (which only a
second derivative has) is pulled back by a further split of the program. Under `torch.func` the same node has our
forward derivative and our batch rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

from ..._control.call import CallBackward, Program, RowsAt
from ..._control.executables import once_per_program
from ..._core.dtypes import is_inexact
from .common import Array, torch_dtype
from .programs import device_of, form_for
from .structural import OPAQUE

Tensors = Sequence[Any]
_functorch = torch._C._functorch  # pyright: ignore[reportAttributeAccessIssue]  # not in torch's stubs


def is_followed(x: Any) -> bool:
    """Whether torch differentiates or batches what happens to a tensor."""
    x = x.tensor if type(x) is Array else x
    return isinstance(x, torch.Tensor) and (
        (x.requires_grad and torch.is_grad_enabled()) or is_wrapped(x) or _has_tangent(x)
    )


def is_wrapped(x: torch.Tensor) -> bool:
    """Whether a tensor belongs to a transform of `torch.func`."""
    return _functorch.peek_interpreter_stack() is not None and _functorch.is_functorch_wrapped_tensor(x)


def _has_tangent(x: torch.Tensor) -> bool:
    return forward_ad._current_level >= 0 and forward_ad.unpack_dual(x).tangent is not None


class _Held:
    """What a node is of: a program, and the form of it that is split for the operands with derivatives.

    Attributes:
        count: how many results the program itself has; what the backward pass reads is behind them.
        stage: that backward pass; None if no operand has a derivative.
        reached: the results that have cotangents, kept ones included.
    """

    def __init__(self, program: Program, active: tuple[bool, ...]) -> None:
        self.active = active
        self.count = len(program.graph.outputs)
        self.divided = program.split(active) if any(active) else program
        self.stage: CallBackward | None = self.divided.stages[-1] if any(active) else None
        outputs = self.divided.graph.outputs
        stage = self.stage
        places = set() if stage is None else {*stage.seeded, *range(stage.stop, len(outputs))}
        self.reached = [place in places and is_inexact(v.dtype) for place, v in enumerate(outputs)]


@once_per_program
def _held(program: Program, active: tuple[bool, ...]) -> _Held:
    """The one node's kind for a program and these operands, made on first use."""
    return _Held(program, active)


def bound(program: Program, tensors: Tensors) -> tuple[Any, ...]:
    """The results of a program as torch's transformations see them."""
    followed = [*map(is_followed, tensors)]
    if True not in followed:
        return form_for(program, tensors).run(*tensors)
    active = (*[flag and _carries(x) for flag, x in zip(followed, tensors, strict=True)],)
    held = _held(program, active)
    node = _Direct if _functorch.peek_interpreter_stack() is None else _Node
    return node.apply(held, *tensors)[: held.count]


class _Node(torch.autograd.Function):
    """A program among torch's own operations, as the transforms of `torch.func` want it."""

    @staticmethod
    def forward(held: _Held, *tensors: Any) -> Any:
        return form_for(held.divided, tensors).run_owned(*tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        _keep(ctx, inputs[0], inputs[1:], output)

    @staticmethod
    def backward(ctx: Any, *cts: Any) -> Any:
        held = ctx.held
        operands, outs = _kept(ctx)
        return None, *_pulled(held, operands, outs, cts)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        held = ctx.held
        operands, outs = _kept(ctx)
        dots = tangents[1:]
        flags = (*[d is not None for d in dots],)
        pushed, places, _ = held.divided.jvp(flags)
        found = bound(pushed, [*operands, *[d for d in dots if d is not None]])
        return (*[
            None if not is_reached else found[place] if isinstance(place, int) else torch.zeros_like(y)
            for place, y, is_reached in zip(places, outs, held.reached, strict=True)
        ],)  # fmt: skip

    @staticmethod
    def vmap(info: Any, in_dims: Any, held: _Held, *tensors: Any) -> Any:
        axes = in_dims[1:]
        flags = (*[axis is not None for axis in axes],)
        moved = [x if axis is None else x.movedim(axis, 0) for x, axis in zip(tensors, axes, strict=True)]
        outs = bound(held.divided.batched(flags, info.batch_size), moved)
        return outs, (*[0 if isinstance(x, torch.Tensor) else None for x in outs],)


class _Direct(torch.autograd.Function):
    """The same where no transform is at work: torch looks up what `setup_context` takes anew at each call."""

    @staticmethod
    def forward(ctx: Any, held: _Held, *tensors: Any) -> Any:
        output = form_for(held.divided, tensors).run_owned(*tensors)
        _keep(ctx, held, tensors, output)
        return output

    backward = _Node.backward
    jvp = _Node.jvp


def _keep(ctx: Any, held: _Held, tensors: Tensors, output: Tensors) -> None:
    """Notes on a node what its backward pass and its forward derivative read."""
    ctx.held = held
    ctx.count = len(tensors)
    kept = [*tensors, *output]
    ctx.fixed = [None if isinstance(x, torch.Tensor) else x for x in kept]
    saved = [x for x in kept if isinstance(x, torch.Tensor)]
    ctx.save_for_backward(*saved)
    ctx.save_for_forward(*saved)
    ctx.set_materialize_grads(False)
    if False in held.reached:
        ctx.mark_non_differentiable(*[
            y for y, is_reached in zip(output, held.reached, strict=True)
            if not is_reached and isinstance(y, torch.Tensor)
        ])  # fmt: skip


def _kept(ctx: Any) -> tuple[list[Any], list[Any]]:
    """The operands of a node and all its results."""
    saved = iter(ctx.saved_tensors)
    kept = [next(saved) if x is None else x for x in ctx.fixed]
    return kept[: ctx.count], kept[ctx.count :]


def _carries(x: Any) -> bool:
    """Whether a value can carry a derivative."""
    return isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex())


def _pulled(held: _Held, operands: Tensors, outs: Tensors, cts: Tensors) -> list[Any]:
    """The cotangent of each operand; None where there is none."""
    stage = held.stage
    if stage is None:
        return [None] * len(operands)
    if any(ct is not None for ct in cts[stage.stop :]):
        # a second derivative asks for the cotangents of what was kept: they are results of this program
        further = _held(held.divided, held.active)
        inner = further.stage
        assert inner is not None
        return _from(inner, operands, bound(further.divided, operands), cts)
    return _from(stage, operands, outs, cts)


def _from(stage: CallBackward, operands: Tensors, outs: Tensors, cts: Tensors) -> list[Any]:
    residuals = outs[stage.stop : stage.end]
    seeds = [torch.zeros_like(outs[i]) if cts[i] is None else cts[i].resolve_conj() for i in stage.seeded]
    found = bound(stage.backward, [*residuals, *seeds]) if stage.backward.graph.outputs else ()
    return [_placed(place, found, x) for place, x in zip(stage.results, operands, strict=True)]


def _placed(place: Any, found: Tensors, operand: Any) -> Any:
    """The cotangent for one operand; gathered rows are added to where they belong."""
    if type(place) is RowsAt:
        values, indices = found[place.values], found[place.indices]
        rows = values.reshape((indices.numel(), *operand.shape[1:])).to(operand.dtype)
        count = operand.shape[0]
        places = torch.where(indices < 0, indices + count, indices).reshape(-1)
        return torch.zeros_like(operand).index_add(0, places, rows)
    return found[place] if isinstance(place, int) else None


__all__ = ["OPAQUE", "bound", "device_of", "is_followed", "is_wrapped", "torch_dtype"]
