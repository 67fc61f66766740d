"""Calls NumPy's own functions for arrays that no tensor can be: of strings, dates, records and objects.

Nothing of them can be differentiated but tensors among objects, whose own operators NumPy calls, so nothing is lost.
A function of ours refuses them; then it is asked here whether NumPy's own is meant. So programs that sort names or
subtract dates beside what is differentiated run as they are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

import numpy as np

from .._core.tensor import tensor_in
from ._objects import objects_in

P = ParamSpec("P")
R = TypeVar("R")

_KINDS = "OSUMmV"  # NumPy's letters of such dtypes


def numpys_own(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any] | None:
    """What NumPy's function gives for arguments of which no tensor can be made; None if they are not of that sort.

    Args:
        name: the function's.
        args: its arguments.
        kwargs: those by name.
    """
    theirs = getattr(np, name, None)
    try:
        leaves = [*_leaves((args, kwargs))]
    except RecursionError:  # a list that holds itself has no end
        return None
    if theirs is None or any(tensor_in(x) is not None or _is_called(x) for x in leaves):
        return None
    try:
        found = theirs(*args, **kwargs)
    except Exception:
        return None
    if any(map(_is_foreign, (*leaves, *_leaves(found)))) or any(map(_is_text, _inside((*args, *kwargs.values())))):
        return (objects_in(found),)
    return None


def or_numpys(f: Callable[P, R]) -> Callable[P, R]:
    """f, and NumPy's function of its name for what no tensor can be."""
    name = f.__name__

    @functools.wraps(f)
    def function(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return f(*args, **kwargs)
        except TypeError:
            own = numpys_own(name, args, kwargs)
            if own is None:
                raise
            return own[0]

    return function


def _leaves(tree: object) -> Iterator[Any]:
    """What is in nested lists, tuples, dictionaries and arrays of objects, those arrays included.

    Not tensors in such an array: NumPy hands them to their own operators, and what it would cast they refuse.
    """
    if isinstance(tree, dict):
        tree = [*tree.values()]
    elif isinstance(tree, np.ndarray) and tree.dtype == object:
        yield tree
        tree = [item for item in tree.ravel().tolist() if tensor_in(item) is None]
    if isinstance(tree, (list, tuple)):
        for item in tree:
            yield from _leaves(item)
    else:
        yield tree


def _inside(arguments: tuple[Any, ...]) -> Iterator[Any]:
    """What is in lists that are arguments: strings there are data, while others are names of options."""
    for x in arguments:
        if isinstance(x, (list, tuple)):
            yield from _leaves(x)


def _is_foreign(x: object) -> bool:
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in _KINDS


def _is_called(x: object) -> bool:
    """Whether it is a function of the user's, which is not to run a second time."""
    return callable(x) and not isinstance(x, type)


def _is_text(x: object) -> bool:
    return isinstance(x, (str, bytes))
