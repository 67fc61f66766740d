"""Makes the module copies of `wg.adopt` importable by name, so that pickle finds their functions and classes.

What pickle finds by its name is sent by that name; a package's name means the original. So the copy of `package.part`
is importable as `wengert.adopt._copies.package:part`, here and in a process in which nothing has been adopted yet.
"""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType
from typing import Any

from .._core.adopted_names import COPIES, WITHIN, WITHOUT, home_of

__path__: list[str] = []  # no folder: the finder makes what is below


class Copy(ModuleType):
    """A copy of a module, which is pickled by its name here."""

    def __reduce__(self) -> Any:
        alias = vars(self).get("__wengert_alias__")
        return super().__reduce__() if alias is None else (importlib.import_module, (alias,))


def alias_of(name: str, top: str, skip: frozenset[str]) -> str:
    """The name of a module's copy in the adoption of a package."""
    alias = COPIES + name.replace(".", ":")
    if skip or not f"{name}.".startswith(f"{top}."):
        alias += WITHIN + top.replace(".", ":")
    return alias + "".join(WITHOUT + skipped.replace(".", ":") for skipped in sorted(skip))


def publish(module: ModuleType, alias: str) -> None:
    """Makes a copy importable under its alias, and has what is defined in it say that it comes from there."""
    vars(module)["__wengert_alias__"] = alias
    sys.modules[alias] = module
    for name, value in [*vars(module).items()]:
        _tell_home(value, name, vars(module).get("__name__"), alias)


def _tell_home(value: Any, path: str, name: Any, alias: str) -> None:
    kind = type(value)
    if kind in (staticmethod, classmethod):
        value = value.__func__
    is_ones_own = isinstance(value, (FunctionType, type)) or "__module__" in getattr(value, "__dict__", ())
    if not is_ones_own or value.__module__ != name or getattr(value, "__qualname__", None) != path:
        return
    if _found(sys.modules.get(name), path) is value:  # compiled code's, which the copy shares with the original
        return
    try:
        value.__module__ = alias
    except (AttributeError, TypeError):
        return
    if isinstance(value, type):
        for inner, part in [*vars(value).items()]:
            _tell_home(part, f"{path}.{inner}", name, alias)


def _found(module: ModuleType | None, path: str) -> Any:
    found: Any = module
    for part in path.split("."):
        found = getattr(found, "__dict__", {}).get(part)
    return found


class _Finder:
    """Answers `import wengert.adopt._copies.package:part`, by adopting the package where that has not been done."""

    @staticmethod
    def find_spec(fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, _Finder) if fullname.startswith(COPIES) else None  # pyright: ignore[reportArgumentType]  # a class with the two methods that importlib calls

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        return None

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        alias = module.__name__
        home, within, whose = alias.partition(WITHIN)
        top, *skipped = (whose if within else home_of(home).partition(".")[0]).replace(":", ".").split(WITHOUT)
        sys.modules[alias] = _copy(home_of(home), top, frozenset(skipped))


def _copy(name: str, top: str, skip: frozenset[str]) -> ModuleType:
    if top == "scipy":
        return importlib.import_module("wengert.adopt._scipy_source").source().module(name)
    importer: Any = importlib.import_module("wengert.adopt._importer")  # which stands above this module
    if top in importer.RECORDED:
        return importer.stand_in(name)
    return importer.adoption_for(top, skip).module(name)


sys.meta_path.append(_Finder)
