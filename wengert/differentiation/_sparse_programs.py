"""Compiles sparse Jacobians and Hessians that are asked for again, with their pattern and colouring, outside of traces.

The first call with arrays of some shapes runs op by op. The second one makes a `Function` of the derivative, whose
trace finds the pattern and colours it; from then on a call runs that program. A call is left to the ops where a program
could say something else: where somebody follows, where f reads what changes by itself (a random generator, the clock),
and where the values of other arguments decide the pattern. Called by `sparse.py`.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.state import STATE
from .._core.structure import flatten
from .._core.tensor import Tensor
from .._core.tracebacks import entries_of
from .._core.user_line import is_library_file
from ..errors import TracingError
from ..programs.graph import Function

_MOST_SIGNATURES = 64  # that one derivative remembers; the oldest goes first
_MOST_CHANGES = 4  # of what f reads that are followed by new traces
_WORD_TYPES = (bool, int, str, bytes, type(None))

Key = tuple[Any, ...]


class Unfit(Exception):
    """A trace finds that its program would not do."""


class Repeated:
    """The programs of one sparse derivative.

    Args:
        traced: in a trace, from the derivative's arguments to the results of the program.
    """

    def __init__(self, traced: Callable[..., Any]) -> None:
        self._traced = traced
        self._function: Function[Any, Any] | None = None
        self._seen: OrderedDict[Key, bool] = OrderedDict()  # whether calls with such arguments may be compiled

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The results of the program for these arguments; None if the call is left to the ops."""
        if STATE.builder is not None or STATE.recorders or STATE.eager_functions or STATE.pins is not None:
            return None
        key = _key(args, kwargs)
        if key is None or not self._comes_again(key):
            return None
        if self._function is None:
            self._function = _strict(self._traced)
        try:
            return self._function(*args, **kwargs)
        except Exception as error:
            if not _is_of_the_trace(error):
                raise
            self._seen[key] = False  # the ops do without a program, or say what is wrong
            return None

    def _comes_again(self, key: Key) -> bool:
        """Whether a call is to be compiled; notes one that is the first."""
        known = self._seen.get(key)
        if known is None:
            self._seen[key] = True
            if len(self._seen) > _MOST_SIGNATURES:
                self._seen.popitem(last=False)
            return False
        return known


def _is_of_the_trace(error: Exception) -> bool:
    """Whether a trace failed, as some do of functions that the ops can run: where f, given symbols, fails in its own
    code, and where a size depends on values. A fault of ours is none, nor is what a program finds in its values."""
    if isinstance(error, Unfit | TracingError) or type(error) is ValueError:
        return True
    return not all(is_library_file(entry.tb_frame.f_code.co_filename) for entry in entries_of(error.__traceback__))


def _key(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Key | None:
    """What tells calls with other programs apart, or None if there is an argument of which no program is made."""
    leaves: Sequence[Any] = args
    found: list[Any] = []
    if kwargs or not all(type(a) in (np.ndarray, Tensor, float) for a in args):
        leaves, spec = flatten((args, kwargs))
        found.append(spec)
    for leaf in leaves:
        kind: type[Any] = type(leaf)  # pyright: ignore[reportUnknownVariableType]
        native = leaf._data if kind is Tensor else leaf
        if type(native) is np.ndarray:
            found.append((kind, native.shape, native.dtype))
        elif kind is float or kind is complex or isinstance(leaf, np.generic):
            found.append(kind)
        elif kind in _WORD_TYPES:
            found.append((kind, leaf))
        else:  # arrays of frameworks among them
            return None
    return (*found,)


def _strict(traced: Callable[..., Any]) -> Function[Any, Any]:
    made: Function[Any, Any] = Function(traced, None, None, "sparse derivative")
    watch: Any = _Strict()
    made._watch = watch
    return made


class _Strict:
    """What a function tells its traces to: instead of warnings of causes the end of traces."""

    is_quiet = True  # the values of ints may decide the pattern: none becomes an input

    def __init__(self) -> None:
        self._changes = 0
        self.reasons = list[str]()

    def note(self, spec: object, keys: object, changed: Sequence[str] = ()) -> None:
        """Refuses a trace where what f reads changes again and again."""
        self._changes += any(changed)
        if self._changes > _MOST_CHANGES:
            raise Unfit(f"{changed} changes often")

    def tell(self, warnings: Sequence[str]) -> None:
        """Refuses a program that would hold on to what changes by itself."""
        if warnings:
            raise Unfit(warnings[0])
