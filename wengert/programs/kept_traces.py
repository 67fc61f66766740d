"""`KeptTraces`: keeps traces of functions that are called again and again on a framework's tracers or followed arrays.

Custom gradients (`rules/custom.py`) and functions of frameworks (`rules/frameworks.py`) ask for it. `function` keeps
the traces and checks what they have read; here is what must not be kept.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._compile.bridge import has_tracers
from .._compile.cache import Compiled
from .._core.state import STATE
from .._core.structure import flatten
from .graph import Function

_NUMBERS = (float, complex, np.generic, list, tuple, dict)
MOST = 32  # traces; what is traced still more often gains nothing


class KeptTraces:
    """The traces of a function.

    What it draws from a generator, what changes by itself, and what a framework follows is another one at each call: a
    function that reads any of these is traced at each call.
    """

    __slots__ = ("_calls", "_f", "_is_open", "_program")

    def __init__(self, f: Callable[..., Any]) -> None:
        self._f = f
        self._calls = 0
        self._is_open = True
        self._program: Function[..., Any] | None = None

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a call, or NotImplemented where this one is to be traced by itself."""
        self._calls += 1  # one that is called but once, as a closure made in a step is, does not pay for what is kept
        if self._calls == 1 or not self._is_open or STATE.eager_functions or not _are_arrays(args, kwargs):
            return NotImplemented
        program = self._program
        if program is None:
            program = self._program = Function(self._f, None, None, None)
            program.be_quiet()
        count = program.trace_count
        result = program(*args, **kwargs)
        if program.trace_count != count and not (
            program.trace_count < MOST and all(_can_be_kept(compiled) for _, compiled in program.traces)
        ):
            self._is_open, self._program = False, None
        return result


def _are_arrays(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether `function` takes all arguments for what they are here: floats it would take for arrays, too."""
    leaves = args if not kwargs else flatten((args, kwargs))[0]
    return not any(isinstance(leaf, _NUMBERS) for leaf in leaves)


def _can_be_kept(compiled: Compiled) -> bool:
    captures = compiled.captures
    return captures is not None and not captures.warnings and not has_tracers(compiled.captured)
