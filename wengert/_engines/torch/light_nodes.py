"""Generates the `torch.autograd.Function` node of a small program as Python source, which costs little by itself.

What `bridge.py` asks of a node at every call is known beforehand from the program and from operands like the last: how
many there are, which of them and of the results the backward pass reads, that all lie on the CPU. What only the
backward pass knows it asks there, and takes the general path where anything but a plain first derivative is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import forward_ad

from ..._control.call import RowsAt
from ..._core.torch_compile import left_out
from .programs import Form

if TYPE_CHECKING:
    from .bridge import _Held

_functorch = torch._C._functorch  # pyright: ignore[reportAttributeAccessIssue]  # not in torch's stubs


Apply = Callable[..., tuple[Any, ...]]
_alive = _functorch.unwrap_if_dead  # what a transform that has ended has left behind as what it stood for


class LightNode:
    """What makes a node of a light program, from operands to its results.

    What is kept beside these is no result of the node, each of which costs torch as much as a kernel does. A second
    derivative takes it for one afterwards, for which it needs the operands, or at least where their cotangents go:
    that is known of those which the node keeps, and of leaves. For other operands the node has more results.
    """

    def __init__(self, held: _Held, makes: Callable[[bool], Apply]) -> None:
        self._count = held.count
        self._unkept = [i for i, is_active in enumerate(held.active) if is_active and i not in held.saved]
        self._has_more = held.count < len(held.forward.graph.outputs)
        self._lean = makes(True)
        self._full = self._lean
        if self._has_more and self._unkept:
            self._full = _when_called(lambda: makes(False))

    def __call__(self, *operands: torch.Tensor) -> tuple[Any, ...]:
        operands = (*map(_alive, operands),)
        apply = self._lean if all(operands[i].is_leaf for i in self._unkept) else self._full
        return apply(*operands)[: self._count]

    def written(self, operands: Sequence[str], bind: Callable[[object], str], is_one: bool) -> str:
        """The same as source, for code that is generated around it: of operands as source, with what names values.

        None of them is of a transform: the code looks at what torch dispatches by.
        """
        given = f"({', '.join(operands)})"
        if self._full is self._lean:
            return f"{bind(self._lean)}{given}"
        are_leaves = " and ".join(f"{operands[i]}.is_leaf" for i in self._unkept)
        cut = "" if is_one else f"[:{self._count}]"
        return f"({bind(self._lean)} if {are_leaves} else {bind(self._full)}){given}{cut}"


def _when_called(make: Callable[[], Apply]) -> Apply:
    """A function that is made when it is called first."""
    made: list[Apply] = []

    def call(*operands: torch.Tensor) -> tuple[Any, ...]:
        if not made:
            made.append(make())
        return made[0](*operands)

    return call


def light_node(
    held: _Held, forms: tuple[Form, Form], slow: Callable[..., Any], placed: Callable[..., Any]
) -> LightNode:
    """What makes a node of a light program, from operands on the CPU to its results.

    Args:
        held: the program.
        forms: of both its halves.
        slow: the backward pass in general, from a node and the cotangents.
        placed: the cotangent of an operand of gathered rows.
    """
    return LightNode(held, lambda is_lean: _made(held, forms, slow, placed, is_lean))


def _made(
    held: _Held, forms: tuple[Form, Form], slow: Callable[..., Any], placed: Callable[..., Any], is_lean: bool
) -> Apply:
    forward, backward = forms
    names: dict[str, Any] = {
        "Function": torch.autograd.Function, "follows": torch.is_grad_enabled,
        "transform": _functorch.peek_interpreter_stack, "is_batch": _functorch.is_legacy_batchedtensor,
        "modes": forward_ad, "run": forward.compiled(), "own": forward.own, "slow": slow, "placed": placed,
        "held": held, "left_out": left_out,
    }  # fmt: skip

    def back(*operands: torch.Tensor) -> tuple[Any, ...]:
        names["back"] = run = backward.compiled()
        return run(*operands)

    names["back"] = back
    text = "\n".join(_source(held, forward, held.count if is_lean else len(held.forward.graph.outputs)))
    exec(compile(text, f"<wengert node of {held.forward.graph.name}>", "exec"), names)
    return names["apply"]


def _source(held: _Held, form: Form, count: int) -> list[str]:
    """The class of a node.

    Args:
        held: the program.
        form: of its forward half.
        count: how many of its outputs are results of the node.
    """
    stage = held.stage
    assert stage is not None
    operands = [f"x{i}" for i in range(len(held.active))]
    outs = [f"y{i}" for i in range(len(held.forward.graph.outputs))]
    cts = [f"ct{i}" for i in range(count)]
    values = [*operands, *outs]
    apart = [y for y, is_reached in zip(outs[:count], held.reached, strict=False) if not is_reached]
    are_others = [f"{y}._is_view()" for y, may_be in zip(outs, form.may_be_views(), strict=True) if may_be]
    if not form.are_owned:
        are_others = ["True"]
    kept = [f"s{i}" for i in range(len(held.saved))]
    seeds = [
        f"{cts[i]}.resolve_conj()" if held.forward.graph.outputs[i].dtype.kind == "c" else cts[i] for i in stage.seeded
    ]
    asked = [
        "follows()", "transform() is not None", "modes._current_level >= 0",
        *[f"{cts[i]} is None or is_batch({cts[i]})" for i in stage.seeded],
        *[f"{ct} is not None" for ct in cts[held.count :]],
    ]  # fmt: skip
    found = [f"g{i}" for i in range(len(held.backward.graph.outputs))]
    gradients = [_gradient(place, i, found) for i, place in enumerate(stage.results)]
    return [
        "class Node(Function):",
        "    @staticmethod",
        f"    def forward(ctx, {_listed(operands)}):",
        f"        {_listed(outs)} = run({_listed(operands)})",
        *([f"        if {' or '.join(are_others)}: {_listed(outs)} = own(({_listed(outs)}))"] if are_others else []),
        # what torch's methods for these note, which are calls of Python's
        "        ctx.materialize_grads = False",
        *([f"        ctx.non_differentiable = {_listed(apart)}"] if apart else []),
        f"        ctx.to_save = ({_listed([values[place] for place in held.saved])})",
        f"        return {_listed(outs[:count])}",
        "    @staticmethod",
        "    @left_out",
        f"    def backward(ctx, {_listed(cts)}):",
        f"        if {' or '.join(asked)}: return slow(held, ctx, {_listed(cts)})",
        *([f"        {_listed(kept)} = ctx.saved_tensors"] if kept else []),
        f"        {_listed(found)} = back({_listed([*[kept[place] for place in held.order], *seeds])})",
        f"        return {_listed(gradients)}",
        "Node._backward_cls.apply = Node.backward",  # which torch looks up at each call, with the names it may have
        "apply = super(Function, Node).apply",  # torch's own without what it asks there: whether a transform is at work
    ]


def _listed(names: list[str]) -> str:
    return "".join(f"{name}, " for name in names)


def _gradient(place: object, operand: int, found: list[str]) -> str:
    """The cotangent of an operand as source."""
    if type(place) is int:
        return found[place]
    if type(place) is RowsAt:
        rows = f"held.stage.results[{operand}], ({_listed(found)}), held.likes[{operand}]"
        return f"placed({rows})"
    return "None"
