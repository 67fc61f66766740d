"""`KeptTraces`: lets a function that is called again on frameworks' tracers or on followed arrays use its traces again.

It decides when such a function must be traced anew: where it draws random numbers, or reads what changes by itself or
what a framework follows. Used by `rules/custom.py` and `rules/frameworks.py`.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._compile.bridge import has_tracers
from .._compile.cache import Compiled
from .._core import dtypes
from .._core.engine import PLAIN_TYPES
from .._core.state import STATE
from .._core.structure import flatten
from .graph import Function

_NUMBERS = (float, complex, np.generic, list, tuple, dict)
MOST = 32  # traces; what is traced still more often gains nothing


class KeptTraces:
    """The traces of a function.

    What it draws from a generator, what changes by itself, and what a framework follows is another one at each call: a
    function that reads any of these is traced at each call. Frameworks' variables and parameters are the same ones.
    """

    __slots__ = ("_calls", "_f", "_has_values", "_is_open", "_program")

    def __init__(self, f: Callable[..., Any]) -> None:
        self._f = f
        self._calls = 0
        self._is_open = True
        self._has_values = True  # whether calls that nobody follows come from the traces, too
        self._program: Function[..., Any] | None = None

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a call, or NotImplemented where this one is to be traced by itself."""
        program = self._program_for(args, kwargs)
        if program is None:
            return NotImplemented
        count = program.trace_count
        result = program(*args, **kwargs)
        if program.trace_count != count:
            self._look_at(program)
        return result

    def again(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a call like the last one, which may go straight to its program, or NotImplemented."""
        program = self._program
        if program is None or STATE.builder is not None or STATE.recorders or STATE.eager_functions:
            return NotImplemented
        last = program._last_named if kwargs else program._last
        return last[1](*args, **kwargs) if last is not None and last[0] is dtypes._default_float else NotImplemented

    def value(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a call on a framework's arrays that nobody follows, if there is a trace for it by now.

        One that is made now serves the next call. What cannot be traced, as it asks for values, runs as it is.
        """
        if not self._has_values or STATE.builder is not None or STATE.recorders:
            return NotImplemented
        program = self._program_for(args, kwargs)
        if program is None:
            return NotImplemented
        count = program.trace_count
        try:
            program._resolved(args, kwargs)
        except Exception:  # the call as it is says what is wrong, if anything is
            self._has_values = False
            return NotImplemented
        if program.trace_count != count:
            self._look_at(program)
            return NotImplemented
        return program(*args, **kwargs)

    def note_value(self, result: object) -> None:
        """Looks at what a call gave that was no trace's: numbers and names would be arrays, or one for all calls."""
        if not all(type(leaf) in PLAIN_TYPES for leaf in flatten(result)[0]):
            self._has_values = False

    def _program_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Function[..., Any] | None:
        self._calls += 1  # one that is called but once, as a closure made in a step is, does not pay for what is kept
        if self._calls == 1 or not self._is_open or STATE.eager_functions or not _are_arrays(args, kwargs):
            return None
        if self._program is None:
            self._program = Function(self._f, None, None, None)
            self._program.be_quiet()
        return self._program

    def _look_at(self, program: Function[..., Any]) -> None:
        """After a trace: whether it may be kept."""
        if program.trace_count >= MOST or not all(_can_be_kept(compiled) for _, compiled in program.traces):
            self._is_open, self._program = False, None


def _are_arrays(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether `function` takes all arguments for what they are here: floats it would take for arrays, too."""
    leaves = args if not kwargs else flatten((args, kwargs))[0]
    return not any(isinstance(leaf, _NUMBERS) for leaf in leaves)


def _can_be_kept(compiled: Compiled) -> bool:
    captures = compiled.captures
    if captures is None or captures.warnings:
        return False
    return not has_tracers(compiled.constants)
