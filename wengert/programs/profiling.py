"""`profiled`: which compiled functions a program calls, how often, and how long they take."""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .._core import forking
from .._core.state import STATE
from .graph import Function, _BoundFunction

__all__ = ["Calls", "profiled"]


class Calls:
    """The calls of one function.

    Attributes:
        function: it.
        count: how many calls there were.
        seconds: what they took together, the first one's compiling with them.
        first: what the first one took.
    """

    def __init__(self, function: Function[..., Any]) -> None:
        self.function = function
        self.count = 0
        self.seconds = 0.0
        self.first = 0.0
        self._last: tuple[tuple[Any, ...], dict[str, Any], int] = ((), {}, 0)

    def note(self, seconds: float, args: tuple[Any, ...], kwargs: dict[str, Any], bound: int) -> None:
        """Takes note of a call that has ended; `bound` of its arguments are not in the signature (self)."""
        self.first = self.first if self.count else seconds
        self.count += 1
        self.seconds += seconds
        self._last = (args, kwargs, bound)

    def report(self) -> Any:
        """The report of a call like the last one."""
        return self.function._report(*self._last)


class profiled:
    """Context manager: gives a list that has, after the block, the calls of each compiled function in it, the one that
    took longest first. Calls in other threads count, those in traces do not.
    """

    def __init__(self) -> None:
        self._calls: dict[int, Calls] = {}
        self._lock = forking.short_lock()

    def __enter__(self) -> list[Calls]:
        # as plain callables: what they take is the program's matter
        plain: Callable[..., Any] = vars(Function)["__call__"]
        bound: Callable[..., Any] = vars(_BoundFunction)["__call__"]
        self._before = (plain, bound)

        def call(function: object, *args: object, **kwargs: object) -> Any:
            return self._timed(lambda: plain(function, *args, **kwargs), function, args, kwargs, 0)

        def call_bound(method: Any, *args: Any, **kwargs: Any) -> Any:
            given = (method.__self__, *args)
            return self._timed(lambda: bound(method, *args, **kwargs), method._inner, given, kwargs, 1)

        self._set(call, call_bound)
        self._found: list[Calls] = []
        return self._found

    def __exit__(self, *error: object) -> None:
        self._set(*self._before)
        self._found += sorted(self._calls.values(), key=lambda calls: -calls.seconds)

    @staticmethod
    def _set(call: Callable[..., Any], call_bound: Callable[..., Any]) -> None:
        setattr(Function, "__call__", call)  # noqa: B010  # a checker would compare the signatures
        setattr(_BoundFunction, "__call__", call_bound)  # noqa: B010  # the same

    def _timed(self, run: Callable[[], Any], function: Any, args: Any, kwargs: dict[str, Any], bound: int) -> Any:
        if STATE.builder is not None or STATE.eager_functions:
            return run()
        began = time.perf_counter()
        found = run()
        seconds = time.perf_counter() - began
        with self._lock:
            self._calls.setdefault(id(function), Calls(function)).note(seconds, args, kwargs, bound)
        return found
