"""Kernels that are the same on all engines, since they only hand on operands."""

from __future__ import annotations

from typing import Any


def _of_rule(*operands: Any) -> tuple[Any, ...]:
    """The results of a custom gradient's function, which come as operands behind its inputs, before the rule."""
    rule = operands[-1]
    return operands[rule.inputs :][: rule.outputs]


PASSING: dict[str, Any] = {
    "alias": lambda x: x,
    "rarely": lambda x: x,
    "attach": lambda x, *sources: x,
    "limit_value": lambda value, where, x: value,
    "stop_gradient": lambda x: x,
    "after": lambda x, token: x,
    "custom": _of_rule,
    "reassign": lambda x, held: x,
}
