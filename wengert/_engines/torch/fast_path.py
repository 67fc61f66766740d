"""The fast path of a compiled function on torch tensors: runs the program at once when a call is like the last one.

`looks` gives what must be the same: types, shapes, devices, whether gradients are wanted. What a call has to find out
of its operands was found out by the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import torch
from torch.autograd import forward_ad

from ..._control.call import Program
from ..._core.engine import Ready
from .bridge import followed_among, held_for, is_transforming, node_of
from .common import is_traced
from .light_nodes import LightNode
from .programs import device_of, form_for

_ATTRIBUTES = ("__class__", "shape", "dtype", "device", "requires_grad")
_ON_CPU = ("__class__", "shape", "dtype", "is_cpu", "requires_grad")
_look = attrgetter(*_ATTRIBUTES)
_interpreter: Callable[[], object] = torch._C._functorch.peek_interpreter_stack  # pyright: ignore[reportAttributeAccessIssue]  # not in torch's stubs


def looks(arguments: Sequence[Any]) -> tuple[Any, ...] | None:
    """What decides how a program runs on tensors; None where something is no tensor, or a transform or a trace of
    torch's is at work.
    """
    if is_transforming() or is_traced():
        return None
    try:
        return torch.is_grad_enabled(), *map(_look, arguments)
    except AttributeError:
        return None


def ready(program: Program, tensors: Sequence[torch.Tensor]) -> Ready:
    """A program as a function of tensors, or as the node that torch makes of it.

    The conditions are what `looks` asks.
    """
    followed = followed_among(tensors)
    if True in followed:
        run, own = node_of(held_for(program, (*followed,)), device_of(tensors)), None
    else:
        form = form_for(program, tensors)
        run, own = form.compiled(), None if form.are_owned else form.own
    conditions = (
        ("{}._current_level < 0", forward_ad), ("{}() is None", _interpreter),
        ("{}() is None", torch._C._get_tracing_state),
        (f"{{}}() is {torch.is_grad_enabled()}", torch.is_grad_enabled),
    )  # fmt: skip
    on_cpu = all(x.is_cpu for x in tensors)  # which costs less to ask than whether two devices are the same
    attributes, changing = (_ON_CPU, _ON_CPU[1:]) if on_cpu else (_ATTRIBUTES, _ATTRIBUTES[1:])
    return Ready(run, attributes, changing, conditions, own, run.written if isinstance(run, LightNode) else None)


__all__ = ["looks", "ready"]
