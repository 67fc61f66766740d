"""`public` makes a function one that users call: an error that leaves it show the user's lines, and nothing stays open.

Contexts close in their `__exit__`, but an interrupt may come as that begins, and nothing would close them then. So a
public function puts back what was open in the thread when it was entered.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import suppress
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, cast

from .state import STATE
from .tracebacks import fold

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=Callable[..., Any])


def public(f: Callable[P, R]) -> Callable[P, R]:
    """f as a public function; one that returns a function makes that one, too.

    Signature, docstring, name and module stay f's. Functions in which a Python call more is felt (the hot calls that
    tests/core/test_call_counts.py counts) have the same handler written out.

    Args:
        f: a plain function or method.
    """

    state, put_back, fold_it = STATE, reopen, fold  # closed over, since the globals below are others

    def enter(*args: P.args, **kwargs: P.kwargs) -> R:
        before = state.__dict__.copy()
        try:
            return f(*args, **kwargs)
        except BaseException as error:
            put_back(before)
            fold_it(error)
            raise

    # with f's globals, for by those doctest tells the functions of a module from imported ones
    entered = FunctionType(enter.__code__, f.__globals__, enter.__name__, None, enter.__closure__)
    return unconverted(cast("Callable[P, R]", functools.update_wrapper(entered, f)))


def unconverted(f: C) -> C:
    """f, marked for TensorFlow: `tf.function` rewrites the source of what it calls, ours is to run as it is."""
    setattr(f, "autograph_info__", {})  # noqa: B010 - TensorFlow's name, which no type of ours has
    return f


def reopen(before: dict[str, Any]) -> None:
    """Puts the thread's state back to `vars(STATE).copy()` of before, and NumPy's warnings with it."""
    now = vars(STATE)
    known = before.get("silences", ())
    for silence in reversed(now.get("silences", ())[len(known) :]):
        with suppress(RuntimeError, TypeError):  # it has ended already, or has not begun
            silence.__exit__(None, None, None)
    now.clear()
    now.update(before)


__all__ = ["public", "reopen", "unconverted"]
