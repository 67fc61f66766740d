"""No search for cyclic garbage while a program is compiled.

Compiling makes many objects that all stay until it ends. Python's collector, which looks again and again whether some
of them are garbage, finds none of it and would take a fifth of the time.
"""

from __future__ import annotations

import gc
import threading

_lock = threading.Lock()
_open = 0  # blocks in all threads
_was_on = False  # the collector, as the first of them began


class uncollected:
    """Context manager: the collector rests inside the block, in all threads, and goes on as it was behind it."""

    __slots__ = ()

    def __enter__(self) -> None:
        global _open, _was_on
        with _lock:
            if not _open:
                _was_on = gc.isenabled()
                gc.disable()
            _open += 1

    def __exit__(self, *exc: object) -> None:
        global _open
        with _lock:
            _open -= 1
            if not _open and _was_on:
                gc.enable()
