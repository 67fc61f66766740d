"""The fast path of a compiled function on torch tensors: runs the program at once when a call is like the last one.

`looks` gives what must be the same: types, shapes, what torch dispatches by, whether gradients are wanted. A call
compares it by the guard of torch's own compiler, which is one function of C for all operands. What a call has to find
out of its operands was found out by the one before.
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

_C: Any = torch._C  # torch's stubs know none of these names
_look = attrgetter("__class__", "shape", "dtype", "device", "requires_grad")


def looks(arguments: Sequence[Any]) -> tuple[Any, ...] | None:
    """What decides how a program runs on tensors; None where something is no tensor, or where a transform or a trace of
    torch's is at work or has left a tensor behind.
    """
    if is_transforming() or is_traced() or any(map(_was_transformed, arguments)):
        return None
    try:
        same = [*map(id, arguments)]  # which are one: the guard of torch's is for tensors of which none is another one
        ones = (*map(same.index, same),)
        return torch.is_grad_enabled(), *_modes(), ones, *map(_look, arguments), *map(_keys, arguments)
    except (AttributeError, TypeError):
        return None


def _was_transformed(x: object) -> bool:
    return isinstance(x, torch.Tensor) and _C._functorch.is_functorch_wrapped_tensor(x)


def _keys(x: torch.Tensor) -> int:
    """What torch dispatches by for a tensor: its device, whether it is conjugated or in inference mode."""
    return _C._dispatch_keys(x).raw_repr()


def _modes() -> tuple[int, int]:
    """The modes that torch dispatches by, whatever the tensors: of a user's, of automatic casts."""
    return _C._dispatch_tls_local_include_set().raw_repr(), _C._dispatch_tls_local_exclude_set().raw_repr()


def _looking(tensors: Sequence[torch.Tensor]) -> Callable[..., bool]:
    """Whether tensors look like these in all that `looks` tells, but for whether gradients are wanted."""
    sizes, strides = [[*x.shape] for x in tensors], [[None] * x.ndim for x in tensors]
    return _C._dynamo.guards.TensorGuards(*tensors, dynamic_dims_sizes=sizes, dynamic_dims_strides=strides).check


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
        ("{}._current_level < 0", forward_ad), (f"{{}}() is {torch.is_grad_enabled()}", torch.is_grad_enabled),
    )  # fmt: skip
    written = run.written if isinstance(run, LightNode) else None
    return Ready(run, looking=_looking, conditions=conditions, own=own, written=written)


__all__ = ["looks", "ready"]
