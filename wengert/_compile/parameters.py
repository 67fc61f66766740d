"""The parameter names of a user's function, for messages, listings and the signatures of gradient functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def positional_names(f: Callable[..., Any], count: int, unknown: str = "args[{}]") -> list[str]:
    """What f calls its first arguments; a gradient function calls them what f does that it is the gradient of."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    found: list[str] = []
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            inner = getattr(f, "__wengert_gradient_of__", None)
            if inner is not None:
                return positional_names(inner, count, unknown)
            found += [f"{parameter.name}[{i}]" for i in range(count - len(found))]
        if len(found) >= count or parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            break
        found.append(parameter.name)
    return [*found[:count], *map(unknown.format, range(len(found), count))]


__all__ = ["positional_names"]
