"""Names of one module that other modules have: the first that knows a name gives it."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any


def names_in(own: str, *modules: ModuleType) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of the module of this name."""

    def find(name: str) -> Any:
        for module in modules:
            if hasattr(module, name):
                return getattr(module, name)
        raise AttributeError(f"module {own!r} has no attribute {name!r}, and NumPy has none")

    def names() -> list[str]:
        return sorted({name for module in modules for name in dir(module)})

    return find, names
