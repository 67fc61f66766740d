"""Fewer searches for cyclic garbage while programs are traced and compiled.

Both make many objects that stay. Python's collector, which looks again and again whether some of them are garbage,
finds none and takes a fifth of the time.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from . import forking

R = TypeVar("R")
SELDOM = 50_000  # objects that are made between two looks at the youngest: of fewer, a look finds next to nothing


class _Eased:
    """Runs functions with the collector eased, for all threads: the first that begins eases it, the last restores it.

    An interrupt may come between any two lines, and as any function is entered. So what is there to be restored is kept
    before anything changes, and what ends a run does no harm when it is done again.
    """

    def __init__(self, look: Callable[[], Any], ease: Callable[[], None], restore: Callable[[Any], None]) -> None:
        self._look = look
        self._ease = ease
        self._restore = restore
        self._lock = forking.short_lock()
        self._runs: dict[object, int] = {}  # and whose they are
        self._before: Any = None
        forking.mend_in_child(self._end_others)

    def run(self, f: Callable[..., R], *args: object) -> R:
        """What f gives, called while the collector is eased."""
        this = object()
        try:
            self._begin(this)
            try:
                return f(*args)
            finally:
                self._end(this)
        finally:  # again, for an interrupt may come as the first begins
            self._end(this)

    def _begin(self, run: object) -> None:
        with self._lock:
            if not self._runs:
                self._before = self._look()
                self._ease()
            self._runs[run] = threading.get_ident()

    def _end(self, run: object) -> None:
        with self._lock:
            self._runs.pop(run, None)
            if not self._runs and self._before is not None:
                self._restore(self._before)
                self._before = None

    def _end_others(self) -> None:
        """In a child of a fork, whose only thread is this one."""
        for run, thread in [*self._runs.items()]:
            if thread != threading.get_ident():
                self._end(run)


def _switch_on(was_on: bool) -> None:
    if was_on:
        gc.enable()


def _look_less_often() -> None:
    young, *others = gc.get_threshold()
    if 0 < young < SELDOM:
        gc.set_threshold(SELDOM, *others)


def _look_as_often(before: tuple[int, ...]) -> None:
    if 0 < before[0] < SELDOM == gc.get_threshold()[0]:
        gc.set_threshold(*before)


uncollected = _Eased(gc.isenabled, gc.disable, _switch_on)
"""For code of our own that makes no garbage: the collector rests."""

seldom_collected = _Eased(gc.get_threshold, _look_less_often, _look_as_often)
"""For code of users', too, which may make garbage: the collector looks less often."""
