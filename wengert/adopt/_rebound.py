"""Copies of functions that no module can give anew: nested ones, lambdas, those of `__main__` and of notebooks.

The copy has the same code, and a namespace in which NumPy and its like are recorded. It is a snapshot: what the
original's module binds anew later, the copy does not see.
"""

from __future__ import annotations

from types import CellType, FunctionType
from typing import Any

from ._builtins import adoption_of
from ._stand_ins import replacement


class Rebinding:
    """Copies functions, and those that they call in the same way, each once."""

    def __init__(self, adoption: Any) -> None:
        self.adoption = adoption
        self._copies: dict[int, tuple[Any, Any]] = {}  # the original is kept, so that its number stays its own
        self._namespaces: dict[int, tuple[Any, dict[str, Any]]] = {}

    def copy(self, f: FunctionType) -> FunctionType:
        if id(f) in self._copies:
            return self._copies[id(f)][1]
        cells = tuple(CellType() for _ in f.__closure__ or ())
        namespace = self._namespace(f.__globals__)
        copied = FunctionType(f.__code__, namespace, f.__name__, f.__defaults__, cells or None)
        copied.__kwdefaults__, copied.__qualname__, copied.__module__ = f.__kwdefaults__, f.__qualname__, f.__module__
        copied.__doc__, copied.__annotations__ = f.__doc__, f.__annotations__
        vars(copied).update(vars(f))
        self._copies[id(f)] = (f, copied)
        for cell, old in zip(cells, f.__closure__ or ()):
            try:
                cell.cell_contents = self._followed(old.cell_contents)
            except ValueError:  # a name that has no value yet
                continue
        return copied

    def _namespace(self, names: dict[str, Any]) -> dict[str, Any]:
        known = self._namespaces.get(id(names))
        if known is not None:
            return known[1]
        namespace: dict[str, Any] = {}
        self._namespaces[id(names)] = (names, namespace)
        home = names.get("__name__")
        for name, value in names.items():
            belongs = isinstance(value, FunctionType) and value.__module__ == home
            namespace[name] = self._followed(value) if belongs or not isinstance(value, FunctionType) else value
        namespace["__builtins__"] = self.adoption.builtins
        return namespace

    def _followed(self, value: Any) -> Any:
        if isinstance(value, FunctionType) and not value.__module__.startswith(("wengert", "numpy", "scipy")):
            return value if adoption_of(value.__globals__) is not None else self.copy(value)
        return replacement(value)
