"""Fewer searches for cyclic garbage while programs are traced and compiled.

Both make many objects that stay. Python's collector, which looks again and again whether some of them are garbage,
finds none and takes a fifth of the time.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any

SELDOM = 10_000  # objects that are made between two looks at the youngest


class _Eased:
    """A context manager for all threads: the first block that is open eases the collector, the last one restores it."""

    def __init__(self, ease: Callable[[], Any], restore: Callable[[Any], None]) -> None:
        self._ease = ease
        self._restore = restore
        self._lock = threading.Lock()
        self._open = 0
        self._before: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._open:
                self._before = self._ease()
            self._open += 1

    def __exit__(self, *exc: object) -> None:
        with self._lock:
            self._open -= 1
            if not self._open:
                self._restore(self._before)


def _switch_off() -> bool:
    was_on = gc.isenabled()
    gc.disable()
    return was_on


def _switch_on(was_on: bool) -> None:
    if was_on:
        gc.enable()


def _look_less_often() -> tuple[int, ...] | None:
    young, *others = gc.get_threshold()
    if not 0 < young < SELDOM:
        return None
    gc.set_threshold(SELDOM, *others)
    return (young, *others)


def _look_as_often(before: tuple[int, ...] | None) -> None:
    if before is not None and gc.get_threshold()[0] == SELDOM:
        gc.set_threshold(*before)


uncollected = _Eased(_switch_off, _switch_on)
"""For code of our own that makes no garbage: the collector rests."""

seldom_collected = _Eased(_look_less_often, _look_as_often)
"""For code of users', too, which may make garbage: the collector looks less often."""
