"""Names of a package whose modules load when they are first asked for: few programs use them, and each takes time."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def names_loaded_later(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:  # fmt: skip
    """The `__getattr__` and `__dir__` of a package.

    Args:
        package: its full name.
        modules: for each name the module that has it: one of the package, a path below it (with a dot in front), or
            a full name; a module under its own name is meant itself.
    """

    def load(name: str) -> Any:
        module = modules.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        loaded = importlib.import_module(module if "." in module else f".{module}", package)
        found = loaded if module == name else getattr(loaded, name)
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return load, names
