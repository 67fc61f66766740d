"""`either`: calls SciPy's function where no box is among the arguments, ours where one is."""

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
    def chosen(*args: object, **kwargs: object) -> Any:
        return (ours if any(map(boxes_in, (*args, *kwargs.values()))) else theirs)(*args, **kwargs)

    return chosen


def finder(home: dict[str, Any], theirs: object, ours: object) -> Callable[[str], Any]:
    """A module's `__getattr__`: functions of a module of SciPy's, each beside ours of the name, put in the module."""

    def find(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(importlib.import_module(theirs) if isinstance(theirs, str) else theirs, name)
        mine = getattr(ours, name, None)
        home[name] = either(found, mine) if mine is not None and callable(found) else found
        return home[name]

    return find


def distribution(home: str, name: str, theirs: object, ours: object) -> types.ModuleType:
    """A distribution's functions, each SciPy's or ours; a module, as autograd's are."""
    module = types.ModuleType(f"{home}.{name}", theirs.__doc__)
    sys.modules[module.__name__] = module
    vars(module)["__getattr__"] = finder(vars(module), theirs, ours)
    return module
