"""Callables that public functions make of others (`grad(f)`, `vmap(f)`): how they look, and what pickle keeps of them.

A callable is pickled as what it was made of: the public function, f, and the options. Where f's own name in its module
has become the callable (a decorator), it is pickled by that name, as functions are. What was compiled stays behind.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from types import MethodType
from typing import Any, cast

from .torch_compile import left_out

# who pickles functions of `__main__` by value, for processes in which that module is another program; Ray, joblib and
# PySpark have a copy of cloudpickle as a package of their own
_BY_VALUE = frozenset({"cloudpickle", "dill"})


class _Signature:
    """`__signature__`: what `inspect.getfullargspec` asks for, which does not look at what a callable wraps."""

    def __get__(self, instance: object, owner: object = None) -> inspect.Signature:
        wrapped = None if instance is None else getattr(instance, "__wrapped__", None)
        try:
            if wrapped is not None:
                return inspect.signature(wrapped)
        except (TypeError, ValueError):
            pass
        raise AttributeError("__signature__")


SIGNATURE: Any = _Signature()


class Derived(functools.partial[Any]):
    """A function that a public function has made of f; a method where it is defined in a class.

    A partial object, because a call of one costs less than one of an object with a `__call__` in Python.

    Attributes:
        __wrapped__: f, whose signature it has.
    """

    __slots__ = ("_made_by",)
    autograph_info__: Any = None  # TensorFlow's mark of what it is not to rewrite
    __wrapped__: Callable[..., Any]
    __name__: str
    __signature__ = SIGNATURE

    def __get__(self, instance: object, owner: object = None) -> Any:
        return self if instance is None else bound(self, instance)

    def __reduce__(self) -> Any:
        maker, args, options = self._made_by
        return kept(self, args[0], maker, *args, **options)

    def __repr__(self) -> str:
        return f"<function {self.__name__}>"


def derived(function: Callable[..., Any], doc: str, maker: Callable[..., Any], *args: Any, **options: Any) -> Derived:
    """A function as what a public function made of another one.

    Args:
        function: what runs.
        doc: its docstring; "{}" stands for f's name.
        maker: the public function.
        args: its arguments, f the first.
        options: by name.
    """
    f = args[0]
    inner = getattr(f, "__name__", type(f).__name__)
    left_out(function)
    token: Any = function
    token.__dask_tokenize__ = functools.partial(_dask_token, maker, args, options)
    made = Derived(function)
    made._made_by = (maker, args, options)
    made.__wrapped__ = f
    made.__module__ = getattr(f, "__module__", None) or maker.__module__
    vars(made)["__qualname__"] = made.__name__ = f"{maker.__name__}({inner})"
    made.__doc__ = doc.format(inner)
    return made


def alike(function: Callable[..., Any], f: Callable[..., Any], maker: Callable[..., Any], **options: object) -> Derived:
    """A function that a public function has made of f to stand for f, whose name and docstring it has."""
    made = derived(function, "", maker, f, **options)
    made.__name__, vars(made)["__qualname__"], made.__doc__ = f.__name__, f.__qualname__, f.__doc__
    return made


def applied(function: Callable[..., Any], maker: Callable[..., Any], *args: object) -> Derived:
    """A function that a public function has made of another one, and which takes other arguments than that."""
    made = derived(function, "", maker, *args)
    made.__signature__ = inspect.signature(function)
    return made


def _dask_token(maker: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What Dask names a task by: it looks into a partial object and asks the function that it finds there.

    That one is a closure, which it could tell from another one by its code alone.
    """
    normalized: Any = importlib.import_module("dask.base").normalize_token
    return normalized((maker, args, options))


def bound(function: Any, instance: object) -> Derived:
    """A method: not Python's own kind, which is pickled by a name that this one does not have.

    Args:
        function: a `Derived`, or what gives by `method_of(instance)` what runs.
        instance: its first argument.
    """
    made = Derived(function, instance) if isinstance(function, Derived) else Derived(function.method_of(instance))
    vars(made).update(vars(function))
    made.__wrapped__ = MethodType(function.__wrapped__, instance)
    made._made_by = (bound, (function, instance), {})
    return made


def kept(made: object, f: Callable[..., Any], maker: Callable[..., Any], *args: object, **options: object) -> Any:
    """What `__reduce__` gives for a callable made of f: a name, or the call that makes it again."""
    named = _found(f)
    depth = 0
    while named is not None and named is not made:
        named, depth = vars(named).get("__wrapped__") if hasattr(named, "__dict__") else None, depth + 1
    if named is None or (f.__module__ == "__main__" and pickles_by_value()):
        return _again, (maker, args, options)
    return _under, (f.__module__, f.__qualname__, depth)


def _found(f: object) -> Any:
    """What f's module has under f's name, if anything."""
    found = sys.modules.get(getattr(f, "__module__", None) or "")
    for part in (getattr(f, "__qualname__", None) or "").split("."):
        found = getattr(found, part, None)
    return found


def pickles_by_value() -> bool:
    """Whether who pickles now sends functions of `__main__` as code, not by name."""
    frame = sys._getframe(1)
    while frame is not None:
        if not _BY_VALUE.isdisjoint(frame.f_globals.get("__name__", "").split(".")):
            return True
        frame = frame.f_back
    return False


def _again(maker: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    return maker(*args, **options)


def _under(module: str, name: str, depth: int) -> Any:
    """What a module has under a name, or what that wraps."""
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    for _ in range(depth):
        found = found.__wrapped__
    return found


class _Annotations:
    """`__annotations__`: what `typing.get_type_hints` reads, which would take the class's for those of its objects."""

    def __init__(self, of_class: dict[str, Any]) -> None:
        self._of_class = of_class

    def __get__(self, instance: object, owner: object = None) -> dict[str, Any]:
        if instance is None:
            return self._of_class
        try:
            names = {*inspect.signature(cast("Any", instance)).parameters, "return"}
        except (TypeError, ValueError):
            return {}
        said = getattr(getattr(instance, "__wrapped__", None), "__annotations__", {})
        return {name: hint for name, hint in said.items() if name in names}


Derived.__annotations__ = cast("Any", _Annotations(Derived.__annotations__))

# Keras saves a callable of a type of this name as it saves Python's functions: by the callable's name.
Derived.__name__ = "function"


__all__ = ["SIGNATURE", "Derived", "alike", "applied", "bound", "derived", "kept", "pickles_by_value"]
