"""Programs inside `torch.func.grad` and its kin: a level of reverse mode goes by a node of our own.

torch takes a node of a user's through its transforms by a path that is the same for all: it makes a class for each
call, binds arguments to signatures, and flattens them as trees of any form half a dozen times. What a program takes and
gives is a tuple of tensors, so the same steps (lift, unwrap, run one level below, wrap) are a few lines here. Levels of
vmap, of forward mode and of what else torch has take torch's path. Called by `bridge.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd.function import _SingleLevelFunction

from ..._core.torch_compile import left_out

Tensors = Sequence[Any]
_C: Any = torch._C  # torch's stubs know none of these names
_functorch: Any = _C._functorch
_GRAD = _functorch.TransformType.Grad
_alive: Callable[[Any], Any] = _functorch.unwrap_if_dead


def is_reverse() -> bool:
    """Whether the innermost level of torch's transforms is one of reverse mode."""
    return _functorch.peek_interpreter_stack().key() == _GRAD


def at_level(node: Any, below: Callable[..., Any], held: Any, tensors: Tensors) -> tuple[Any, ...]:
    """All that a node of a program gives at the innermost level, which is one of reverse mode.

    Args:
        node: tells what is kept for the backward pass, and what that is.
        below: what runs the program one level below.
        held: the program.
        tensors: its operands.
    """
    innermost = _functorch.peek_interpreter_stack()
    level = _functorch.CGradInterpreterPtr(innermost)  # which points into it, and does not keep it
    lifted = [level.lift(_alive(x)) if isinstance(x, torch.Tensor) else x for x in tensors]
    was_allowed = _functorch.get_single_level_autograd_function_allowed()
    _functorch.set_single_level_autograd_function_allowed(True)
    try:
        apply: Any = _Level.apply  # pyright: ignore[reportAttributeAccessIssue]  # of a base class that is C's
        return apply(node, below, innermost.level(), level.prevGradMode(), held, *lifted)
    finally:
        _functorch.set_single_level_autograd_function_allowed(was_allowed)


class _Level(_SingleLevelFunction):
    @staticmethod
    def forward(
        ctx: Any, node: Any, below: Callable[..., Any], level: int, is_followed: bool, held: Any, *operands: Any
    ) -> Any:
        lowered = [_functorch._unwrap_for_grad(x, level) if isinstance(x, torch.Tensor) else x for x in operands]
        found = _one_below(is_followed, below, held, lowered)
        outs = (*[_functorch._wrap_for_grad(y, level) if isinstance(y, torch.Tensor) else y for y in found],)
        ctx.node = node
        node.note(ctx, held, operands, outs, False)
        return outs

    @staticmethod
    @left_out
    def backward(ctx: Any, *cts: object) -> Any:
        return None, None, None, None, *ctx.node.backward(ctx, *cts)


def _one_below(is_followed: bool, below: Callable[..., Any], held: Any, tensors: Tensors) -> tuple[Any, ...]:
    """What a program gives outside of the innermost level, in the modes that hold around that."""
    is_forward = _C._is_fwd_grad_enabled()
    with torch.set_grad_enabled(is_followed):
        _C._set_fwd_grad_enabled(True)
        popped = _functorch.pop_dynamic_layer_stack()
        try:
            return below(held, tensors)
        finally:
            _functorch.push_dynamic_layer_stack(popped)
            _C._set_fwd_grad_enabled(is_forward)


__all__ = ["at_level", "is_reverse"]
