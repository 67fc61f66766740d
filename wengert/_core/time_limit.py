"""A time limit for loops that run only to find out something, such as which warnings NumPy would give.

Nobody waits for their results, so they end with `TimeLimitReached` when they take longer than that is worth. The native
engine sets the limit (`_engines/native/run/numpy_warnings.py`); loops run by kernels look at it before each step.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class TimeLimitReached(Exception):
    """A loop has run for longer than its results are worth."""


class _Limit(threading.local):
    until: float | None = None


_LIMIT = _Limit()


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Loops of this thread that run for longer inside end with `TimeLimitReached`."""
    before = _LIMIT.until
    ends = time.monotonic() + seconds
    _LIMIT.until = ends if before is None else min(before, ends)
    try:
        yield
    finally:
        _LIMIT.until = before


def is_short() -> bool:
    """Whether nobody waits for what this thread computes."""
    return _LIMIT.until is not None


def go_on() -> None:
    """Loops call this before each step."""
    if _LIMIT.until is not None and time.monotonic() > _LIMIT.until:
        raise TimeLimitReached
