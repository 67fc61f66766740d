"""Detects users' functions that call themselves endlessly through `grad` or custom gradients.

The error names the cycle, long before the traces of the nested calls fill the memory.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from .user_line import at_user_line

DEEPEST = 32  # calls of one function inside one another: derivatives of derivatives take a few, a cycle any number
SEVERAL = 4  # calls inside one another where the stack ends: not by accident
_open = threading.local()


def _named(message: str) -> RecursionError:
    error = RecursionError(message)
    error.names_cycle = True  # pyright: ignore[reportAttributeAccessIssue]  # those outside are not to name it again
    return error


@contextlib.contextmanager
def under_way(function: Callable[..., Any], cycle: str) -> Iterator[None]:
    """Counts the calls of a function that are under way on this thread.

    Args:
        function: what is called; anything that is compared by identity.
        cycle: for the error: what needs itself, and what to do.
    """
    counts: dict[int, int] = _open.__dict__.setdefault("counts", {})
    key = id(function)  # which is alive as long as its calls are
    count = counts.get(key, 0) + 1
    if count > DEEPEST:
        raise _named(at_user_line(f"{cycle} ({DEEPEST} calls of it are inside one another)"))
    counts[key] = count
    try:
        yield
    except RecursionError as error:  # a cycle through several functions ends the stack before any is called so often
        if count < SEVERAL or getattr(error, "names_cycle", False):
            raise
        raise _named(at_user_line(cycle)) from None
    finally:
        if count == 1:
            del counts[key]
        else:
            counts[key] = count - 1
