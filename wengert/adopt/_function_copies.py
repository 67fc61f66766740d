"""Copies of functions that cannot be had by executing a module again: nested ones, lambdas, those of notebooks.

The copy has the same code, and a namespace in which NumPy and its like are recorded. It is a snapshot: what the
original's module binds anew later, the copy does not see. Classes of the same module are copied with their methods,
an object of one that the function finds there shares its attributes with the copy, and what it uses of other modules
that compute comes from their copies.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any

from ._arrays import Named
from ._bracketing import checked_function
from ._builtins import COPIED_FROM, adoption_of
from ._casts import without_casts
from ._importer import is_numerical
from ._stand_ins import RECORDED, replacement

_LEFT = (tuple, BaseException, type)  # whose objects go to code that knows the original


class Rebinding:
    """Copies functions, and those that they call in the same way, each once."""

    def __init__(self, adoption: Any) -> None:
        self.adoption = adoption
        self._copies: dict[int, tuple[Any, Any]] = {}  # the original is kept, so that its number stays its own
        self._namespaces: dict[int, tuple[Any, dict[str, Any]]] = {}
        self._homes: set[Any] = set()
        self._named = Named()

    def copy(self, f: FunctionType) -> FunctionType:
        if id(f) in self._copies:
            return self._copies[id(f)][1]
        cells = tuple(CellType() for _ in f.__closure__ or ())
        namespace = self._namespace(f.__globals__)
        self._bring_in(f.__code__, namespace)
        copied = FunctionType(checked_function(f.__code__), namespace, f.__name__, f.__defaults__, cells or None)
        copied.__kwdefaults__, copied.__qualname__, copied.__module__ = f.__kwdefaults__, f.__qualname__, f.__module__
        copied.__doc__, copied.__annotations__ = f.__doc__, f.__annotations__
        vars(copied).update(vars(f))
        self._copies[id(f)] = (f, copied)
        for cell, old in zip(cells, f.__closure__ or ()):
            try:
                found = self._from_elsewhere(old.cell_contents)
                cell.cell_contents = self._followed(found) if found is old.cell_contents else found
            except ValueError:  # a name that has no value yet
                continue
        return copied

    def _namespace(self, names: dict[str, Any]) -> dict[str, Any]:
        known = self._namespaces.get(id(names))
        if known is not None:
            return known[1]
        namespace: dict[str, Any] = {"__builtins__": self.adoption.builtins}  # a function looks for it when it is made
        self._namespaces[id(names)] = (names, namespace)
        home = names.get("__name__")
        self._homes.add(home)
        for name, value in names.items():
            belongs = isinstance(value, FunctionType) and value.__module__ == home
            ours = belongs or not isinstance(value, FunctionType)
            if name != "__builtins__":
                namespace[name] = self._followed(value) if ours else replacement(value)
        return namespace

    def _bring_in(self, code: CodeType, namespace: dict[str, Any]) -> None:
        """Puts copies in the place of what code names of other modules that compute."""
        for name in _names_in(code):
            if name in namespace:
                namespace[name] = self._from_elsewhere(namespace[name])

    def _from_elsewhere(self, value: object) -> Any:
        home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if not isinstance(value, (ModuleType, FunctionType, type)) or not isinstance(home, str) or home in self._homes:
            return value
        top = home.partition(".")[0]
        if top in RECORDED or top == self.adoption.top or home not in sys.modules or not is_numerical(top):
            return value
        found: Any = self.adoption.module(home)
        for part in () if isinstance(value, ModuleType) else value.__qualname__.split("."):
            found = getattr(found, part, None)
        return value if found is None else found

    def _followed(self, value: object) -> Any:
        value = uncompiled(value)
        if isinstance(value, FunctionType) and not value.__module__.startswith(("wengert", "numpy", "scipy")):
            return value if adoption_of(value.__globals__) is not None else self.copy(value)
        if isinstance(value, type):
            return self._class(value) if self._is_plain(value) else replacement(value)
        if self._is_plain(type(value)) and type(value).__dictoffset__ and hasattr(value, "__dict__"):
            return self._sharing(value)
        return replacement(self._named(value))

    # -- classes -----------------------------------------------------------------------------------------------

    def _is_plain(self, cls: type) -> bool:
        """Whether a class is one of the function's module that may have a copy."""
        return cls.__module__ in self._homes and type(cls) is type and not issubclass(cls, _LEFT)

    def _class(self, cls: Any) -> Any:
        if id(cls) in self._copies:
            return self._copies[id(cls)][1]
        given = {name: value for name, value in vars(cls).items() if not _is_made(value)}
        bases = (*[self._class(base) if self._is_plain(base) else replacement(base) for base in cls.__bases__],)
        copied: Any = type(cls.__name__, without_casts(bases), given | {COPIED_FROM: cls})
        self._copies[id(cls)] = (cls, copied)  # before its methods, whose `super()` means it
        for name, value in given.items():
            anew = self._member(value)
            if anew is not value:
                setattr(copied, name, anew)
        return copied

    def _member(self, value: Any) -> Any:
        if isinstance(value, FunctionType):
            return self._followed(value)
        if isinstance(value, (staticmethod, classmethod)):
            return type(value)(self._member(value.__func__))
        if type(value) is property:
            return property(*[self._member(f) for f in (value.fget, value.fset, value.fdel)], doc=value.__doc__)
        return replacement(value)

    def _sharing(self, value: Any) -> Any:
        """An object of a class that is copied, as one of the copy: what is written to one, the other has."""
        if id(value) not in self._copies:
            anew = object.__new__(self._class(type(value)))
            anew.__dict__ = value.__dict__
            self._copies[id(value)] = (value, anew)
        return self._copies[id(value)][1]


def uncompiled(value: object) -> object:
    """The function that numba has compiled; anything else is itself."""
    if type(value).__module__.partition(".")[0] != "numba":
        return value
    plain = getattr(value, "py_func", None)
    return plain if isinstance(plain, FunctionType) else value


def _is_made(value: object) -> bool:
    """Whether Python makes a class's entry by itself: slots, `__dict__`, `__weakref__`."""
    return isinstance(value, (GetSetDescriptorType, MemberDescriptorType))


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if inspect.iscode(constant):
            yield from _names_in(constant)
