"""`public` makes a function one that users call: errors that leave it show the user's lines, and nothing stays open.

Its message names the function and the arguments that came; `names_errors` does only that.

Contexts close in their `__exit__`, but an interrupt may come as that begins, and nothing would close them then. So a
public function puts back what was open in the thread when it was entered.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, cast

from . import error_state
from .state import STATE
from .torch_compile import left_out
from .tracebacks import fold
from .wrong_calls import Symbolic, Varying, explained

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=Callable[..., Any])

# rooms of functions that call functions of users; the others' are ops, which `torch.compile` follows down to torch's
_CALL_USERS = (["differentiation"], ["programs"], ["rules"], ["integrate"])


Bridge = tuple[Callable[[Any], bool], Callable[..., Any], str]


def public(f: Callable[P, R], bridge: Bridge | None = None) -> Callable[P, R]:
    """f as a public function; one that returns a function makes that one, too.

    Signature, docstring, name and module stay f's. Functions in which a Python call more is felt (the hot calls that
    tests/core/test_call_counts.py counts) have the same handler written out.

    Args:
        f: a plain function or method.
        bridge: what says whether arguments are to be traced, what runs the call then, and the program's name (see
            `_compile/bridge.py`). It is asked here, since branches lie in one another as deep as Python's stack is.
    """

    # closed over, since the globals below are others
    state, put_back, fold_it, told_of, name = STATE, reopen, fold, explained, called(f)
    again, symbolic, varying = public, Symbolic, Varying

    def enter(*args: P.args, **kwargs: P.kwargs) -> R:
        before = state.__dict__.copy()
        try:
            if bridge is not None and bridge[0]((args, kwargs)):
                return bridge[1](f, args, kwargs, bridge[2])
            return f(*args, **kwargs)
        except BaseException as error:
            put_back(before)
            if isinstance(error, symbolic):
                # anew: a function that held itself would be a cycle
                return error.answer(again(f, bridge), args, kwargs)
            found = varying.answer(error, f, args, kwargs)
            if found is not NotImplemented:
                return found
            told: BaseException = error
            if isinstance(error, Exception) and not isinstance(error, AttributeError):  # which is a fault of ours
                told = told_of(error, name, f, args, kwargs)
            fold_it(told)
            if told is error:
                raise
            raise told from error

    # with f's globals, for by those doctest tells the functions of a module from imported ones
    entered = FunctionType(enter.__code__, f.__globals__, enter.__name__, None, enter.__closure__)
    functools.update_wrapper(entered, f)
    if f.__module__.split(".")[1:2] in _CALL_USERS:
        left_out(entered)
    return unconverted(cast("Callable[P, R]", entered))


def names_errors(f: Callable[P, R], name: str = "") -> Callable[P, R]:
    """Wraps a function so that errors about its arguments say which function (or `name`) and which arguments it was."""
    name = name or called(f)

    @functools.wraps(f)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return f(*args, **kwargs)
        except Exception as error:
            if isinstance(error, Symbolic):
                return error.answer(names_errors(f, name), args, kwargs)
            found = Varying.answer(error, f, args, kwargs)
            if found is not NotImplemented:
                return found
            told = explained(error, name, f, args, kwargs)
            if told is error:
                raise
            raise told from error

    return unconverted(wrapper)


def at_home(f: Callable[P, R], module: str, name: str) -> Callable[P, R]:
    """f, to be found (by pickle, above all) as that name of that module, whatever it wraps and wherever that lies."""
    f.__module__, f.__qualname__ = module, name
    return f


def called(f: Callable[..., Any]) -> str:
    """What users call a function: a class's name for what makes its objects, `vmap(f)` for what `vmap` returned."""
    owner, _, name = f.__qualname__.rpartition(".")
    if name == "__init__":
        return owner.rpartition(".")[2]
    maker, inside, _ = f.__code__.co_qualname.partition(".<locals>")
    if not inside or not maker.startswith("_"):
        return f"{maker}(f)" if inside and maker.isidentifier() else f.__name__
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    return f"{cells['name'].cell_contents}(f)" if "name" in cells else f.__name__  # the public function's, handed on


def unconverted(f: C) -> C:
    """f, marked for TensorFlow: `tf.function` rewrites the source of what it calls, ours is to run as it is."""
    setattr(f, "autograph_info__", {})  # noqa: B010 - TensorFlow's name, which no type of ours has
    return f


def reopen(before: dict[str, Any]) -> None:
    """Puts the thread's state back to `vars(STATE).copy()` of before, and NumPy's warnings with it."""
    now = vars(STATE)
    known = before.get("silences", ())
    begun = now.get("silences", ())[len(known) :]
    if begun:
        error_state.put(begun[0])
    now.clear()
    now.update(before)


__all__ = ["at_home", "called", "names_errors", "public", "reopen", "unconverted"]
