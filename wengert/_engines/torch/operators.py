"""Programs as a torch operator, which `torch.compile` and `torch.export` keep whole.

One operator, `lib::name(Tensor[] arrays, str call) -> Tensor[]`, runs every program that comes of a function: `call` is
a JSON list whose first entry tells the program, and each further one what is made of that: `["pull", flags]`, the
cotangents of the flagged arrays, `["push", flags]`, the tangents of results, or `["batch", flags, size]`. So what a
compiled or exported graph holds can be run by another process, and derivatives and batches of the operator are calls of
the same operator.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import _disable_current_modes

from ..._control.call import Program
from ..._control.executables import once_per_program
from ..._control.joint_graph import joint_of, live
from ..._core.dims import Dim
from ..._core.graph import Graph
from ..._transforms.replay import bind_dims
from .bridge import are_none, is_differentiable, is_in_transform
from .common import torch_dtype
from .programs import copied, device_of, form_for, on_device

Tensors = Sequence[Any]
SCHEMA = "(Tensor[] arrays, str call) -> Tensor[]"


class Base(NamedTuple):
    """The program that the first entry of an operator's call names, and what it reads beside the call's arrays.

    Attributes:
        program: its first inputs are the arrays of the call, the rest what it reads beside them.
        count: how many arrays a call has.
        read: the values of the rest, now.
    """

    program: Program
    count: int
    read: Tensors


class _Pullback(NamedTuple):
    """The cotangents of a program's inputs as a program, of all inputs that it reads and the cotangents of results.

    Attributes:
        program: the cotangents stand behind the first `count` inputs.
        seeded: which results have cotangents.
        results: for each input where its cotangent is; ZERO or None where there is none.
        reads: for each of the first `count` inputs whether the program reads its values.
    """

    program: Program
    seeded: tuple[int, ...]
    results: tuple[Any, ...]
    reads: tuple[bool, ...]


@once_per_program
def _pullback(program: Program, flags: tuple[bool, ...]) -> _Pullback:
    graph, count = program.graph, len(flags)
    joint = joint_of(graph, (*flags, *[False] * (len(graph.inputs) - count)), sparse=False)
    inputs = [*joint.inputs[:count], *joint.seeds, *joint.inputs[count:]]
    nodes = live([*joint.forward, *joint.backward], joint.gradients)
    read = {v.key for v in (*joint.gradients, *(x for node in nodes for x in node.inputs))}
    pulled = Graph.of(f"{graph.name}.pullback", inputs, nodes, joint.gradients, joint.guards)
    return _Pullback(Program(pulled), joint.seeded, joint.results, (*[v.key in read for v in inputs[:count]],))


class _Pushforward(NamedTuple):
    """The tangents of a program's results as a program, of all inputs that it reads and the tangents of flagged ones.

    Attributes:
        program: the tangents stand behind the first `count` inputs.
        places: for each result where its tangent is; ZERO or None where there is none.
    """

    program: Program
    places: list[Any]


@once_per_program
def _pushforward(program: Program, flags: tuple[bool, ...]) -> _Pushforward:
    count, total = len(flags), len(program.graph.inputs)
    pushed, places, _ = program.jvp((*flags, *[False] * (total - count)))
    graph = pushed.graph
    inputs = [*graph.inputs[:count], *graph.inputs[total:], *graph.inputs[count:total]]
    return _Pushforward(Program(Graph.of(graph.name, inputs, graph.nodes, graph.outputs, graph.guards)), places)


class Operator:
    """An operator for the programs of a function.

    Args:
        name: "lib::name".
        base_of: what the first entry of a call tells, from that entry.
    """

    def __init__(self, name: str, base_of: Callable[[Any], Base]) -> None:
        self._base_of = base_of
        self.op: Any = torch.library.custom_op(name, self._run, mutates_args=(), schema=SCHEMA)
        self.op.register_fake(self._imagined)
        self.op.register_autograd(self._backward, setup_context=self._kept)
        self.op.register_vmap(self._batched)

    def __call__(self, arrays: Tensors, call: str) -> Tensors:
        """The results of a call."""
        if is_in_transform():
            return _InTransform.apply(self, call, *arrays)
        return self.op([*arrays], call)

    def _resolved(self, call: str) -> tuple[Program, Tensors]:
        """The program of a call, and what it reads beside the arrays."""
        first, *steps = json.loads(call)
        with _disable_current_modes():  # who asks may be running code on tensors without values
            base = self._base_of(first)
            program, count = base.program, base.count
            for kind, flags, *rest in steps:
                if kind == "pull":
                    pullback = _pullback(program, (*map(bool, flags),))
                    program, count = pullback.program, count + len(pullback.seeded)
                elif kind == "push":
                    program, count = _pushforward(program, (*map(bool, flags),)).program, count + sum(flags)
                else:
                    everything = (*map(bool, flags), *[False] * (len(program.graph.inputs) - count))
                    program = program.batched(everything, *rest)
        return program, base.read

    def _run(self, arrays: Tensors, call: str) -> list[torch.Tensor]:
        program, read = self._resolved(call)
        operands = on_device([*arrays, *read])
        found: list[torch.Tensor] = []
        for y in form_for(program, operands).run_owned(*operands):
            # a result is nobody else's memory, and lies as `_imagined` says
            found.append(copied(y) if any(y is other for other in found) else y.contiguous())
        return found

    def _imagined(self, arrays: Tensors, call: str) -> list[torch.Tensor]:
        """The results without their values."""
        graph = self._resolved(call)[0].graph
        shapes = [x.shape for x in arrays]
        sizes = bind_dims(graph, [*shapes, *[v.shape for v in graph.inputs[len(shapes) :]]])
        device = device_of(arrays)
        return [
            torch.empty([_extent(d, sizes) for d in v.shape], dtype=torch_dtype(v.dtype), device=device)
            for v in graph.outputs
        ]

    def _backward(self, ctx: Any, cts: Tensors) -> tuple[Any, None]:
        return self.pulled(ctx, cts), None

    def _kept(self, ctx: Any, inputs: Any, output: Tensors) -> None:
        arrays, call = inputs
        self.keep(ctx, arrays, call, output, ctx.needs_input_grad[: len(arrays)])

    def keep(self, ctx: Any, arrays: Tensors, call: str, output: Tensors, needed: Sequence[bool]) -> None:
        """Keeps of a call what its backward pass reads; all else may be written to."""
        ctx.call = call
        ctx.flags = (*[need and is_differentiable(x) for need, x in zip(needed, arrays, strict=True)],)
        reads = self._pullback_of(call, ctx.flags).reads
        ctx.save_for_backward(*[x if is_read else None for x, is_read in zip(arrays, reads, strict=True)])
        ctx.given = [torch.empty_like(x, device="meta") for x in arrays]
        ctx.device = device_of(arrays)
        ctx.likes = [torch.empty_like(y, device="meta") for y in output]
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*[y for y in output if not is_differentiable(y)])

    def _pullback_of(self, call: str, flags: tuple[bool, ...]) -> _Pullback:
        program = self._resolved(call)[0]
        with _disable_current_modes():
            return _pullback(program, flags)

    def pulled(self, ctx: Any, cts: Tensors) -> list[Any]:
        """The cotangents of the arrays of a call, None where there is none."""
        flags, device = ctx.flags, ctx.device
        if are_none(cts):
            return [None] * len(flags)
        pullback = self._pullback_of(ctx.call, flags)
        # one element stands for the shape of an array whose values nothing reads
        arrays = [
            torch.zeros((), dtype=like.dtype, device=device).expand(like.shape) if x is None else x
            for x, like in zip(ctx.saved_tensors, ctx.given, strict=True)
        ]
        seeds = [torch.zeros_like(ctx.likes[i], device=device) if cts[i] is None else cts[i] for i in pullback.seeded]
        wanted = [type(place) is int for place in pullback.results[: len(flags)]]
        if not any(wanted):
            return [None] * len(flags)
        steps = [*json.loads(ctx.call), ["pull", [int(flag) for flag in flags]]]
        found = self([*arrays, *seeds], json.dumps(steps))
        return [found[p] if is_there else None for p, is_there in zip(pullback.results, wanted, strict=False)]

    def pushed(self, ctx: Any, dots: Tensors) -> tuple[Any, ...]:
        """The tangents of the results of a call, None where there is none."""
        flags = [d is not None for d in dots]
        program = self._resolved(ctx.call)[0]
        with _disable_current_modes():
            places = _pushforward(program, (*flags,)).places
        steps = [*json.loads(ctx.call), ["push", [int(flag) for flag in flags]]]
        operands = [*ctx.saved_tensors, *[d for d in dots if d is not None]]
        found = self(operands, json.dumps(steps)) if any(type(place) is int for place in places) else ()
        device = device_of(operands)
        return (*[
            found[place] if type(place) is int else torch.zeros_like(like, device=device) if is_differentiable(like)
            else None
            for place, like in zip(places, ctx.likes, strict=True)
        ],)  # fmt: skip

    def _batched(self, info: Any, in_dims: Any, arrays: Tensors, call: str) -> tuple[Any, Any]:
        found = self.op(*_in_batch(info, in_dims[0], arrays, call))
        return found, [0] * len(found)


def _in_batch(info: Any, axes: Sequence[int | None], arrays: Tensors, call: str) -> tuple[list[Any], str]:
    """A batch of a call as a call."""
    moved = [x if axis is None else x.movedim(axis, 0) for x, axis in zip(arrays, axes, strict=True)]
    step = ["batch", [int(axis is not None) for axis in axes], int(info.batch_size)]
    return moved, json.dumps([*json.loads(call), step])


class _InTransform(torch.autograd.Function):
    """A call in a transform of `torch.func`, which custom operators with derivatives know nothing of."""

    @staticmethod
    def forward(operator: Operator, call: str, *arrays: object) -> Any:
        return (*operator.op([*arrays], call),)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.operator, call, *arrays = inputs
        ctx.operator.keep(ctx, arrays, call, output, ctx.needs_input_grad[2:])
        ctx.save_for_forward(*arrays)

    @staticmethod
    def jvp(ctx: Any, *dots: Any) -> Any:
        return ctx.operator.pushed(ctx, dots[2:])

    @staticmethod
    def backward(ctx: Any, *cts: Any) -> Any:
        return None, None, *ctx.operator.pulled(ctx, cts)

    @staticmethod
    def vmap(info: Any, in_dims: Any, operator: Operator, call: str, *arrays: Any) -> Any:
        found = operator(*_in_batch(info, in_dims[2:], arrays, call))
        return (*found,), (0,) * len(found)


def _extent(dim: int, sizes: dict[Any, Any]) -> Any:
    """A dimension of a result, which may be a symbol of torch's; one that only a run tells is a new one."""
    if not isinstance(dim, Dim):
        return dim
    for atom in dim.atoms - sizes.keys():
        sizes[atom] = torch.library.get_ctx().new_dynamic_size()
    return dim.evaluate(sizes)


__all__ = ["Base", "Operator"]
