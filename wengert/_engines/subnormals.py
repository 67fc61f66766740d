"""Functions on the host that have subnormal numbers, though the thread that calls them has them flushed to zero.

XLA and TensorFlow set their threads so, for speed, and what they call back runs with these settings. SciPy's functions
need such numbers where results are nowhere near them (I_2(700) is 0.14 % off without), and so may anybody's. Settings
are those of a thread: it gets the first ones for the time of a call, and its own back.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from .._core.system import SYSTEM, System

_ROOM = 256  # bytes for the settings of a thread; no system has as many


@cache
def _settings(system: System) -> tuple[Any, Any] | None:
    """The library with C's functions for settings, and the first ones; None where they are not known."""
    first = system.first_float_settings()
    if first is None:
        return None
    library = next((found for found in system.c_libraries() if hasattr(found, "fesetenv")), None)
    return None if library is None else (library, ctypes.c_void_p(first))


def with_subnormals(run: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs another with the settings which each program begins with."""
    known = _settings(SYSTEM)
    if known is None:
        return run
    library, first = known

    def called(*arguments: Any) -> Any:
        own = ctypes.create_string_buffer(_ROOM)
        library.fegetenv(own)
        library.fesetenv(first)
        try:
            return run(*arguments)
        finally:
            library.fesetenv(own)

    return called


__all__ = ["with_subnormals"]
