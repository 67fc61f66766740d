"""How much memory this process may have, and how much of it is left.

The least of several bounds counts: the process's limits, the groups of processes that it is in, and the machine. Where
a system (`system.py`) does not tell one of them, that one does not bound. The native engine asks before it compiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from . import system

UNBOUNDED = 1 << 60


class Bound(NamedTuple):
    """One bound on memory.

    Attributes:
        most: bytes that may be had in all.
        left: bytes that may be had still.
    """

    most: int
    left: int


def allowance() -> int:
    """The bytes that this process may have at most."""
    told = system.SYSTEM
    return min((b.most for b in _bounds(told.limits, told.machine, told.groups)), default=UNBOUNDED)


def addresses() -> int:
    """The bytes that this process may map beside those that it has mapped."""
    return _least(system.SYSTEM.limits)


def pages() -> int:
    """The bytes of memory that are there for this process beside those that it uses."""
    return _least(system.SYSTEM.machine, system.SYSTEM.groups)


def _least(*finders: Callable[[], Iterator[tuple[int, int]]]) -> int:
    return max(0, min((b.left for b in _bounds(*finders)), default=UNBOUNDED))


def _bounds(*finders: Callable[[], Iterator[tuple[int, int]]]) -> Iterator[Bound]:
    for find in finders:
        try:
            yield from (Bound(most, left) for most, left in find())
        except (OSError, ValueError, LookupError, ImportError, AttributeError):  # a system that does not tell
            continue
