"""SciPy's function where no box is among the arguments, ours where one is."""

from __future__ import annotations

import functools
import importlib
import sys
import types
from collections.abc import Callable
from typing import Any

from .._boxes import boxes_in


def either(theirs: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is one of two."""

    @functools.wraps(theirs)
    def chosen(*args: Any, **kwargs: Any) -> Any:
        follows = any(map(boxes_in, args)) or (kwargs and any(map(boxes_in, kwargs.values())))
        return (ours if follows else theirs)(*args, **kwargs)

    return chosen


def finder(home: dict[str, Any], theirs: str, ours: object) -> Callable[[str], Any]:
    """A module's `__getattr__`: functions of a module of SciPy's, each beside ours of the name, put in the module."""

    def find(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(importlib.import_module(theirs), name)
        mine = getattr(ours, name, None)
        home[name] = either(found, mine) if mine is not None and callable(found) else found
        return home[name]

    return find


class Distribution(types.ModuleType):
    """A distribution's functions, each SciPy's or ours; a module, as autograd's are."""

    def __init__(self, home: str, name: str, theirs: object, ours: object) -> None:
        super().__init__(f"{home}.{name}", theirs.__doc__)
        self._theirs, self._ours = theirs, ours
        sys.modules[f"{home}.{name}"] = self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found, mine = getattr(self._theirs, name), getattr(self._ours, name, None)
        made = either(found, mine) if mine is not None and callable(found) else found
        setattr(self, name, made)
        return made


__all__ = ["Distribution", "either", "finder"]
