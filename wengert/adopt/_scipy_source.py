"""SciPy's own modules of plain Python, executed anew with recorded functions in the place of their imports.

Filters are designed, rational functions expanded and samples compared in Python on top of NumPy and of other functions
of SciPy's: that source, followed as a package's is, is differentiable as it stands. `wengert.scipy` says which
functions are (`Followed` in its tables). In the copies SciPy's public modules are those of `wengert.scipy`, its private
ones are copies, and what is ours stands there in the place of theirs, too. Compiled modules are SciPy's.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from .._core import forking
from ._importer import Adoption, code_of
from ._stand_ins import stand_in

_LOCK = forking.long_lock()
_LIBRARY = "scipy._lib"
# what chooses the namespace of arrays and converts them; the library's other modules do not compute
_FOLLOWED_LIBRARY = {f"{_LIBRARY}.{name}" for name in ("_array_api", "_array_api_override", "_util")}
_LIBRARIES = (_LIBRARY, "scipy._external")  # SciPy 1.18 has what others wrote in a package of its own
# SciPy's NumPy under the standard's names, which NumPy has by now
_COMPATS = (*[f"{library}.array_api_compat" for library in _LIBRARIES],)
_INNER = (*[f"{library}." for library in _LIBRARIES],)

# modules with a compiled way for NumPy's arrays, and one in Python for any library's
_FOR_ANY_ARRAYS = ("scipy.interpolate._rbfinterp",)

# compiled modules, and ours in their places
_COMPILED = {
    "scipy.ndimage._nd_image": "wengert.scipy._morphology", "scipy.signal._peak_finding_utils": "wengert.scipy._peaks",
}  # fmt: skip


class Source(Adoption):
    """The copies of SciPy's private modules, each made when a copy or a function that is followed asks for it."""

    is_known = True

    def module(self, name: str) -> ModuleType:
        if name.partition(".")[0] != "scipy":
            return super().module(name)
        with _LOCK:
            if name not in self.modules:
                self.modules[name] = self._made(name)
            return self.modules[name]

    def _made(self, name: str) -> ModuleType:
        if name in {f"{compat}.numpy" for compat in _COMPATS}:
            return stand_in("numpy")
        if name in (*_LIBRARIES, *_COMPATS):
            return _View(name, importlib.import_module(name), self)
        if name.startswith(_INNER) and name not in _FOLLOWED_LIBRARY:
            return importlib.import_module(name)
        if not any(part.startswith("_") for part in name.split(".")):
            return _View(name, stand_in(name), self)
        if name in _COMPILED:
            return importlib.import_module(_COMPILED[name])
        real = importlib.import_module(name)
        code = None if real.__spec__ is None else code_of(real.__spec__)
        if real.__spec__ is None or code is None:
            return real
        copy = self._executed(name, real.__spec__, code, None, "")
        _take_ours(copy)
        return copy

    def _load_named(self, module: ModuleType, name: str, wanted: object) -> None:
        """A view finds the modules below it by itself."""


class _View(ModuleType):
    """A package of SciPy's as its copies see it: ours, with the copies of its private modules."""

    def __init__(self, name: str, shown: ModuleType, source: Source) -> None:
        super().__init__(name)
        vars(self).update(_shown=shown, _source=source, __path__=getattr(shown, "__path__", []))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        full = f"{self.__name__}.{name}"
        if name.startswith("_") and not self.__name__.startswith(_LIBRARIES):
            try:
                return self._source.module(full)
            except ModuleNotFoundError:  # a private function of a public module
                return getattr(importlib.import_module(self.__name__), name)
        found = getattr(self._shown, name)
        return self._source.module(full) if isinstance(found, ModuleType) else found


def _take_ours(copy: ModuleType) -> None:
    """Puts our functions in the place of SciPy's in a copy of the private module that defines them."""
    public = copy.__name__.partition("._")[0]
    tables = importlib.import_module("wengert.scipy._followed")
    ours = getattr(stand_in(public), "OURS", {})
    for name, value in [*vars(copy).items()]:
        if isinstance(value, FunctionType) and name in ours and not isinstance(ours[name], tables.Followed):
            found = getattr(stand_in(public), name)
            vars(copy)[name] = _undecorated(found) if public == "scipy.stats" else found
    if copy.__name__ in _FOR_ANY_ARRAYS:
        vars(copy)["is_numpy"] = lambda _namespace: False


def _undecorated(ours: Callable[..., Any]) -> Callable[..., Any]:
    """A function of ours as SciPy's statistics call theirs: they may leave out what a decorator does."""

    @functools.wraps(ours)
    def function(*args: object, **kwargs: object) -> Any:
        kwargs.pop("_no_deco", None)
        return ours(*args, **kwargs)

    return function


@functools.cache
def source() -> Source:
    """The one registry of such copies."""
    return Source("scipy")


__all__ = ["source"]
