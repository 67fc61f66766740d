"""How a module of this package is made: a table of what is ours, and SciPy's own for every other name.

A function of ours has SciPy's signature, and is recorded; on arguments without tensors it is SciPy's very function, so
that every option and every kind of array is what it was. SciPy's other functions take tensors that nobody follows as
NumPy's arrays, and refuse those whose gradient they would lose. Classes, constants, exceptions and modules are SciPy's.
"""

from __future__ import annotations

import copy
import functools
import importlib
import inspect
import re
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, TypeVar, cast

from .._core.engine import is_native
from .._core.kinds import ARRAYS
from .._core.public import names_errors
from .._core.state import STATE
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..errors import LostGradientError
from ..numpy._protocols import _on_values, _plain, is_followed  # the walk of NumPy's protocols
from ..ops.conversion import stop_gradient
from ._followed import Counting, Followed

C = TypeVar("C", bound=Callable[..., Any])

_EXAMPLES = re.compile(r"\n[ \t]*Examples?\n[ \t]*-+[ \t]*\n.*", re.DOTALL)
_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)


def namespace(
    module: str, ours: Mapping[str, Any], submodules: tuple[str, ...] = (), near: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a module that stands for one of SciPy's.

    Args:
        module: its full name, `wengert.` and SciPy's.
        ours: what we have, by SciPy's names: functions with SciPy's signatures; other objects stand as they are.
        submodules: the modules below it that are ours, too.
        near: for names of SciPy's that are not ours, what to use instead, for the refusal.
    """
    home = module.removeprefix("wengert.")

    def load(name: str) -> Any:
        if name == "__all__":
            return public_names(home, ours)
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        found = (
            importlib.import_module(f"{module}.{name}") if name in submodules
            else _recorded(_by_source(ours[name], home, name), home, name) if name in ours
            else _theirs(home, name, (near or {}).get(name, ""))
        )  # fmt: skip
        setattr(sys.modules[module], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[module]), *ours, *submodules, *dir(importlib.import_module(home))})

    return load, names


def public_names(home: str, ours: Iterable[str] = ()) -> list[str]:
    """What a module of SciPy's gives to `import *`, and what we have beside it."""
    theirs = importlib.import_module(home)
    listed = getattr(theirs, "__all__", None) or [name for name in dir(theirs) if not name.startswith("_")]
    return sorted({*listed, *ours})


# -- ours ------------------------------------------------------------------------------------------------------------


def _by_source(entry: object, home: str, name: str) -> object:
    """A table's entry; one that is followed by its source as a class, or as a function that is so where something is
    recorded, and SciPy's own elsewhere.
    """
    if isinstance(entry, Counting):
        return _of_values(entry.theirs, home, name)
    if not isinstance(entry, Followed):
        return entry
    theirs = entry.theirs
    if isinstance(theirs, type):
        return entry.copy()
    unrecorded = guarded(theirs, home, name, "")

    @functools.wraps(theirs)
    def function(*args: object, **kwargs: object) -> Any:
        is_written = isinstance(kwargs.get("output"), Tensor)  # SciPy's own would find a read-only array
        is_recorded = bool(STATE.recorders) or STATE.builder is not None or is_written
        return (entry.copy() if is_recorded else unrecorded)(*args, **kwargs)

    return function


def _of_values(theirs: Callable[..., Any], home: str, name: str) -> Callable[..., Any]:
    """SciPy's function on the values."""

    @functools.wraps(theirs)
    def function(*args: object, **kwargs: object) -> Any:
        return _on_values(theirs, f"{home}.{name}", args, kwargs)

    return function


def _recorded(ours: object, home: str, name: str) -> Any:
    """Our function where tensors are among the arguments, else SciPy's; what is no function stays as it is."""
    if not isinstance(ours, types.FunctionType):
        return ours
    spoken = names_errors(ours, f"{home}.{name}")

    @functools.wraps(ours)
    def function(*args: object, **kwargs: object) -> Any:
        if is_for_us(args, kwargs):
            return spoken(*args, **kwargs)
        return getattr(importlib.import_module(home), name)(*args, **kwargs)

    return _at_home(function, ours.__doc__, home, name)


def _at_home(function: Callable[..., Any], doc: str | None, home: str, name: str) -> Any:
    function.__module__, function.__name__, function.__qualname__ = f"wengert.{home}", name, name
    # SciPy's examples show SciPy's, and some of them change what is printed later or load data
    is_theirs = ">>>" in (doc or "") and "wg." not in (doc or "")
    function.__doc__ = (
        _EXAMPLES.sub(f"\n\n    Examples: see `{home}.{name}`.\n", doc or "").replace(">>>", ">") if is_theirs else doc
    )
    return function


def is_for_us(*arguments: object) -> bool:
    """Whether a call is ours to answer: a tensor is among its arguments, or a function that may give one now."""
    return any(_is_ours(leaf) for leaf in _leaves(arguments))


def _is_ours(leaf: Any) -> bool:
    kind = type(leaf)
    if kind is Tensor or hasattr(kind, "__wengert_tensor__") or hasattr(kind, "__wengert_sparse__"):
        return True
    if isinstance(leaf, ARRAYS):
        return leaf.dtype == object and any(isinstance(item, Tensor) for item in leaf.flat)
    if _may_give_tensors(leaf):
        return bool(STATE.recorders) or STATE.builder is not None
    return is_native(kind)


def _may_give_tensors(leaf: object) -> bool:
    return isinstance(leaf, _FUNCTIONS) or (callable(leaf) and type(leaf).__module__.startswith("wengert"))


def _leaves(tree: tuple[Any, ...]) -> Iterable[Any]:
    waiting = [tree]
    while waiting:
        item = waiting.pop()
        if isinstance(item, (list, tuple)):
            waiting.extend(item)
        elif isinstance(item, dict):
            waiting.extend(item.values())
        else:
            yield item


def listed_in(table: dict[str, Any]) -> Callable[[C], C]:
    """A decorator that enters functions into a module's table of what is ours."""

    def ours(f: C) -> C:
        table[f.__name__] = f
        return f

    return ours


def only(function: str, **arguments: tuple[Any, ...]) -> None:
    """Refuses what our function does not do: `only("linalg.qr", pivoting=(pivoting, False))`.

    Args:
        function: the name for the message, without "scipy.".
        arguments: for each argument the value that came and those that are supported.

    Raises:
        TypeError: a value is none of them.
    """
    for key, (value, *supported) in arguments.items():
        if not any(value is known or (type(value) is type(known) and value == known) for known in supported):
            wanted = " or ".join(map(repr, supported))
            raise TypeError(
                at_user_line(
                    f"scipy.{function}: {key}={value!r:.60} is not supported for tensors, wanted {wanted}; SciPy's own "
                    f"function, which is called on NumPy arrays, takes it"
                )
            )


# -- SciPy's own -----------------------------------------------------------------------------------------------------


def _theirs(home: str, name: str, near: str) -> Any:
    try:
        found: Any = getattr(importlib.import_module(home), name)
    except AttributeError:
        raise AttributeError(f"module 'wengert.{home}' has no attribute {name!r}, and SciPy has none") from None
    is_function: bool = (
        callable(found) and not isinstance(found, (type, types.ModuleType)) and hasattr(found, "__name__")
    )
    if not is_function:
        return _guarded_object(found, home, name, near) if _has_methods(found) else found
    return guarded(cast(Callable[..., Any], found), home, name, near)


def _has_methods(found: object) -> bool:
    """Whether something is an object that computes, as a distribution is."""
    is_object = not isinstance(found, (type, types.ModuleType)) and callable(found)
    return is_object and type(found).__module__.startswith("scipy.stats")


def _guarded_object(theirs: Any, home: str, name: str, near: str) -> Any:
    """SciPy's object, whose methods refuse tensors that are followed; to SciPy it is one of the same class."""
    kind: Any = type(theirs)
    methods = [m for m in dir(kind) if m == "__call__" or not m.startswith("_")]
    body: dict[str, Any] = {
        m: guarded(getattr(kind, m), f"{home}.{name}", m, near)
        for m in methods if isinstance(getattr(kind, m), types.FunctionType)
    }  # fmt: skip
    body |= {"__module__": kind.__module__, "__reduce__": lambda self: (_theirs, (home, name, near))}
    found = copy.copy(theirs)
    found.__class__ = type(kind.__name__, (kind,), body)
    return found


def guarded(theirs: Callable[..., Any], home: str, name: str, near: str) -> Callable[..., Any]:
    """SciPy's function, which refuses tensors that are followed."""

    @functools.wraps(theirs)
    def function(*args: object, **kwargs: object) -> Any:
        for key, value in (*enumerate(args), *kwargs.items()):
            if is_followed(value):
                _refuse(f"{home}.{name}", f"the argument {_argument(theirs, key)} holds", near)
        watched = functools.partial(_watched, name=f"{home}.{name}", near=near)
        return theirs(*[_given(a, watched) for a in args], **{k: _given(v, watched) for k, v in kwargs.items()})

    return _at_home(function, theirs.__doc__, home, name)


def _argument(theirs: Callable[..., Any], key: int | str) -> str:
    """How the message calls an argument: by its name where the signature tells it."""
    if isinstance(key, str):
        return repr(key)
    try:
        return repr([*inspect.signature(theirs).parameters][key])
    except (TypeError, ValueError, IndexError):
        return f"number {key + 1}"


def _watched(f: Callable[..., Any], name: str, near: str) -> Callable[..., Any]:
    """A function that SciPy is given: what it returns must not be followed."""

    @functools.wraps(f)
    def call(*args: Any, **kwargs: object) -> Any:
        result = f(*args, **kwargs)
        if is_followed(result):
            _refuse(name, f"the function {getattr(f, '__name__', type(f).__name__)} that it was given returned", near)
        return _given(result)

    return call


def plain(argument: object) -> Any:
    """An argument that SciPy's own function gets, whatever derivative it has."""
    return _given(stop_gradient(argument) if isinstance(argument, Tensor) else argument)


def _given(tree: Any, watched: Callable[..., Any] | None = None) -> Any:
    """Arguments with NumPy's arrays for tensors and watched functions; what holds neither stays the very object."""
    if isinstance(tree, Tensor) or any(
        hasattr(type(tree), mark) for mark in ("__wengert_tensor__", "__wengert_sparse__")
    ):
        return _plain(tree)
    if type(tree) in (list, tuple):
        items = [_given(item, watched) for item in tree]
        return tree if all(a is b for a, b in zip(items, tree, strict=True)) else type(tree)(items)
    if type(tree) is dict:
        return {key: _given(value, watched) for key, value in tree.items()}
    return watched(tree) if watched is not None and _may_give_tensors(tree) else tree


def _refuse(name: str, what: str, near: str) -> NoReturn:
    nearest = f"use {near}; or " if near else ""
    raise LostGradientError(
        at_user_line(
            f"{name}: {what} a tensor that is under differentiation or being traced, and SciPy's own function, which "
            f"is what wengert.{name} is, would lose its gradient; {nearest}give it a gradient of its own with "
            f"wg.primitive or wg.custom_gradient, or cut the gradient on purpose with .numpy()"
        )
    )


__all__ = ["guarded", "is_followed", "is_for_us", "listed_in", "namespace", "only", "plain", "public_names"]
