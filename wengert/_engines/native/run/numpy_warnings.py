"""Gives the floating-point warnings and errors that NumPy would have given, where a call set the processor's flags.

Flags alone would say too much: code computes lanes that nobody sees, and both sides of selections. So NumPy's kernels
of the same graph run once more under the caller's error state, and their results are dropped. Errors, callbacks and
logs come from NumPy itself. Warnings are collected and given at the user's line, where Python's filters decide; once
these would show nothing more there, and when the flags of many calls have meant nothing, or to look has taken long,
there are no more runs, or ever fewer. Called by `engine.py`.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...._core.graph import Graph
from ...._core.time_limit import TimeLimitReached, time_limit
from ...._core.user_line import user_frame, warn
from .flags import KINDS, state

SECONDS = 1.0  # how long loops may take to find what to warn of; errors that were asked for may take longer
OFTEN = 8  # runs that find nothing to tell, after which only the 16th, 32nd, 64th, ... call is looked at

Run = Callable[..., tuple[Any, ...]]


class Kinds(NamedTuple):
    """What flags ask for under an error state: kinds to warn of, their flags, and whether others do something else."""

    warned: tuple[str, ...]
    flags: int
    has_others: bool

    @classmethod
    def of(cls, state: dict[str, str], flags: int) -> Kinds:
        wanted = {kind: how for kind, how in state.items() if how != "ignore" and KINDS[kind] & flags}
        warned = (*[kind for kind, how in wanted.items() if how == "warn"],)
        return cls(warned, sum(KINDS[kind] for kind in warned), len(warned) < len(wanted))


class Teller:
    """Tells what NumPy's kernels say of the arguments that a compiled function was called with."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._told: set[tuple[Any, ...]] = set()  # places and flags of which Python's filters show no more
        # The filters of which that was true. Python forgets what it has shown when they change, and when its
        # `catch_warnings` puts equal ones in their place.
        self._filters: tuple[Any, list[Any]] = (None, [])
        self._kinds: tuple[Any, dict[int, Kinds]] = (None, {})  # by flags, under the error state of the last call
        self._in_vain: dict[int, _Vain] = {}  # by flags

    def __call__(self, flags: int, *natives: np.ndarray[Any, Any]) -> None:
        now = state()
        known, by_flags = self._kinds
        if known is not now:
            self._kinds = now, (by_flags := {})
        kinds = by_flags.get(flags)
        if kinds is None:
            kinds = by_flags[flags] = Kinds.of(now, flags)
        if kinds.has_others:
            silent: dict[str, Any] = dict.fromkeys(kinds.warned, "ignore")
            with np.errstate(**silent):
                self._run(*natives)
        if kinds.warned:
            self._warn(kinds, natives)

    def _warn(self, kinds: Kinds, natives: tuple[Any, ...]) -> None:
        frame = user_frame()
        place = (kinds.flags, None, 0) if frame is None else (kinds.flags, frame.f_code, frame.f_lasti)
        held, filters = self._filters
        if held is not warnings.filters or filters != held:
            self._told.clear()
            self._filters = warnings.filters, [*warnings.filters]
        if place in self._told or not self._is_due(kinds.flags):
            return
        began = time.monotonic()
        messages = self._messages(kinds.warned, natives)
        if not messages:
            self._in_vain[kinds.flags].seconds += time.monotonic() - began
            return
        self._in_vain.pop(kinds.flags, None)
        module, line = ("", 0) if frame is None else (frame.f_globals.get("__name__", ""), frame.f_lineno)
        if all(_is_shown_once(message, module, line) for message in messages):
            self._told.add(place)
        for message in messages:
            warn(message, RuntimeWarning)

    def _is_due(self, flags: int) -> bool:
        """Whether to look what flags mean that have meant nothing so far."""
        vain = self._in_vain.setdefault(flags, _Vain())
        vain.runs += 1
        if vain.runs <= OFTEN:
            return vain.seconds < SECONDS
        return not vain.runs & (vain.runs - 1)

    def _messages(self, kinds: tuple[str, ...], natives: tuple[Any, ...]) -> tuple[str, ...]:
        """The warnings of one run, each once, in their order."""
        log = _Log()
        logged: dict[str, Any] = dict.fromkeys(kinds, "log")
        try:
            with np.errstate(all="ignore"), np.errstate(call=log, **logged), time_limit(SECONDS):
                self._run(*natives)
        except (TimeLimitReached, MemoryError):
            pass  # many steps, or arrays that the code never made; what was said until now is true
        return (*log.messages,)


@dataclass
class _Vain:
    """How often flags came that meant nothing, or were not looked at, and how long looking has taken."""

    runs: int = 0
    seconds: float = 0.0


def _is_shown_once(text: str, module: str, line: int) -> bool:
    """Whether Python's filters show a warning once at its place, or never."""
    for action, message, category, of_module, of_line in warnings.filters:
        if (
            (message is None or message.match(text)) and issubclass(RuntimeWarning, category)
            and (of_module is None or of_module.match(module)) and of_line in (0, line)
        ):  # fmt: skip
            return action not in ("always", "all", "error")
    return True


class _Log:
    """What NumPy writes its messages to."""

    def __init__(self) -> None:
        self.messages: dict[str, None] = {}

    def write(self, text: str) -> None:
        """Takes a message like "Warning: divide by zero encountered in log"."""
        self.messages[text.removeprefix("Warning: ").strip()] = None


class Noted(threading.local):
    """Keeps a call's flags for whoever knows what to do."""

    flags = 0

    def __call__(self, flags: int, *arguments: object) -> None:
        self.flags |= flags

    def taken(self) -> int:
        """The flags noted since the last time."""
        found, self.flags = self.flags, 0
        return found


def is_quiet(graph: Graph) -> bool:
    """Whether nothing that a graph does is ever told: reverse sweeps are quiet."""
    return all(node.is_quiet for node in graph.nodes)
