"""Kernels that several engines share: of ops that only pass operands on, of `slice`, and of reductions over no axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def _of_rule(*operands: Any) -> tuple[Any, ...]:
    """The results of a custom gradient's function, which come as operands behind its inputs, before the rule."""
    rule = operands[-1]
    return operands[rule.inputs :][: rule.outputs]


def sliced(x: Any, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int]) -> Any:
    """`slice` of arrays that are indexed as NumPy's are."""
    return x[*map(slice, starts, limits, strides),]


def over_axes(function: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction over some axes: none at all leaves the tensor as it is, where frameworks would take all of them."""
    return lambda x, axes: function(x, axes) if axes else x


PASSING: dict[str, Any] = {
    "alias": lambda x: x,
    "regular": lambda x: x,
    "rarely": lambda x: x,
    "attach": lambda x, *sources: x,
    "limit_value": lambda value, where, x: value,
    "stop_gradient": lambda x: x,  # a framework that differentiates has a kernel of its own
    "after": lambda x, token: x,
    "custom": _of_rule,
    "reassign": lambda x, held: x,
}
