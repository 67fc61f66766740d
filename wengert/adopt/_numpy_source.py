"""Copies of NumPy's pure-Python modules, executed anew on recorded functions: `numpy.polynomial`.

Everything there (six families, their classes, fits, roots, quadratures) is arithmetic of arrays, so that NumPy's own
source, executed with recorded functions in the place of its imports, is differentiable as it stands. Used by
`wengert.numpy.polynomial` and by adopted code.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .._core import forking
from .._core.tensor import Tensor
from ._importer import Adoption, code_of
from ._stand_ins import followed_part

_LOCK = forking.long_lock()
_PARTS: dict[str, Part] = {}


class Part(Adoption):
    """The copies of one module of a recorded library and of what is below it."""

    is_known = True

    def __init__(self, top: str) -> None:
        super().__init__(top)
        # what dispatches on the kinds of arrays would come back to NumPy's own function
        self._own["numpy._core.overrides"] = _Overrides("numpy._core.overrides")

    def module(self, name: str) -> ModuleType:
        if name in self._own:
            return self._own[name]
        if followed_part(name) != self.top:
            return super().module(name)
        with _LOCK:
            return self.modules.get(name) or self._loaded(name)

    def _loaded(self, name: str) -> ModuleType:
        if name != self.top:
            module = super()._loaded(name)
            if name.endswith(".polyutils"):
                vars(module)["trimseq"] = _unless_symbolic(vars(module)["trimseq"])
            return module
        spec = importlib.util.find_spec(name)
        code = None if spec is None else code_of(spec)
        if spec is None or code is None:  # an installation without sources
            return importlib.import_module(name)
        return self._executed(name, spec, code, None, "")


def _unless_symbolic(trim: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that drops zeros from the end; a trace does not know them, and leaves them."""

    @functools.wraps(trim)
    def function(seq: object) -> Any:
        return seq if isinstance(seq, Tensor) and seq.is_symbolic else trim(seq)

    return function


class _Overrides(ModuleType):
    """NumPy's decorators that make functions known to `__array_function__`, which leave them as they are."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_args, **_options: lambda f: f


def part(name: str) -> ModuleType:
    """The copy of a module of NumPy's, by its full name."""
    top = followed_part(name)
    with _LOCK:
        if top not in _PARTS:
            _PARTS[top] = Part(top)
    return _PARTS[top].module(name)


__all__ = ["part"]
