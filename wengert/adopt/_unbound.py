"""Keeps what stands for a built-in function from becoming a method inside a class, as in `__getitem__ = np.array`.

Used by `_math.py` and `_stand_ins.py`.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any


class Unbound(functools.partial[Any]):
    """A function that does not bind; a partial object, because a call of one costs less than one of Python's."""

    __name__: str

    def __get__(self, instance: object, owner: object = None) -> Any:
        return self

    def __reduce__(self) -> Any:
        return _found, (self.__module__, self.__name__)

    def __repr__(self) -> str:
        return f"<function {self.__name__}>"


def as_real(ours: Callable[..., Any], real: object) -> Any:
    """A function of ours in the place of a real one: unbound where that is built in."""
    if not isinstance(real, BuiltinFunctionType):
        return ours
    made = Unbound(ours)
    functools.update_wrapper(made, real)
    return made


def _found(module: str, name: str) -> Any:
    return getattr(importlib.import_module("wengert.adopt._stand_ins").stand_in(module), name)


__all__ = ["as_real"]
