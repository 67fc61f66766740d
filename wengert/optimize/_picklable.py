"""Makes transformations and schedules picklable: closures that are pickled as the call that made them."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


class Made:
    """An object that was made by a call of a public function."""

    def remember(self, maker: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Notes the call."""
        vars(self)["_call"] = (maker.__module__, maker.__qualname__, args, kwargs)

    def __reduce__(self) -> Any:
        return _again, vars(self)["_call"]


def _again(module: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return getattr(importlib.import_module(module), name)(*args, **kwargs)


def remembered(kind: Callable[[Any], Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorates a maker, so that what it makes remembers the call.

    Args:
        kind: from what the maker gives to a `Made`.
    """
    return functools.partial(_remembering, kind)


def _remembering(kind: Callable[[Any], Any], maker: Callable[P, R]) -> Callable[P, R]:
    def make(*args: Any, **kwargs: Any) -> Any:
        made = kind(maker(*args, **kwargs))
        made.remember(maker, args, kwargs)
        return made

    # with the maker's globals, by which doctest tells the functions of a module from imported ones
    found = FunctionType(make.__code__, cast("Any", maker).__globals__, make.__name__, None, make.__closure__)
    return cast("Callable[P, R]", functools.update_wrapper(found, maker))
