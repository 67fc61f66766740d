"""Calls like the last one: what a program needs to know of its operands was found out then, and is compared now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import torch
from torch.autograd import forward_ad

from ..._control.call import Program
from .bridge import followed_among, held_for, is_transforming, node_of
from .programs import form_for

_look = attrgetter("__class__", "shape", "dtype", "device", "requires_grad")
_interpreter: Callable[[], object] = torch._C._functorch.peek_interpreter_stack  # pyright: ignore[reportAttributeAccessIssue]  # not in torch's stubs


def looks(arguments: Sequence[Any]) -> tuple[Any, ...] | None:
    """What decides how a program runs on tensors; None where something is no tensor, or a transform is at work."""
    if is_transforming():
        return None
    try:
        return torch.is_grad_enabled(), *map(_look, arguments)
    except AttributeError:
        return None


def direct(program: Program, tensors: Sequence[torch.Tensor], rebuild: Callable[..., Any]) -> Callable[..., Any]:
    """A program as a function of tensors that look like these; of others it gives NotImplemented.

    It asks what `looks` asks and does what a form's `own` does without calling them: at ten elements a call of Python
    costs as much as a kernel.
    """
    run, own = _followed(program, tensors) or _plain(program, tensors)
    is_enabled, like = torch.is_grad_enabled(), [*map(_look, tensors)]
    level, enabled, interpreter, look = forward_ad, torch.is_grad_enabled, _interpreter, _look

    def again(*operands: Any) -> Any:
        if level._current_level >= 0 or interpreter() is not None or enabled() is not is_enabled:
            return NotImplemented
        try:
            if [*map(look, operands)] != like:
                return NotImplemented
        except AttributeError:
            return NotImplemented
        outs = run(*operands)
        return rebuild(outs if own is None else own(outs))

    return again


def _plain(program: Program, tensors: Sequence[Any]) -> tuple[Callable[..., tuple[Any, ...]], Any]:
    form = form_for(program, tensors)
    return form.compiled(), None if form.are_owned else form.own


def _followed(program: Program, tensors: Sequence[Any]) -> tuple[Callable[..., tuple[Any, ...]], Any] | None:
    followed = followed_among(tensors)
    if True not in followed:
        return None
    held = held_for(program, (*followed,))
    count = held.count
    return node_of(held), None if count == len(held.forward.graph.outputs) else lambda outs: outs[:count]


__all__ = ["direct", "looks"]
