"""The memory budget for the histories of loops: beyond it, loops keep snapshots instead of every step's values.

Read by all that runs loops (eager loops, each engine's `loop`); users set it by `programs/control.py`.
"""

from __future__ import annotations

import threading
from array import array
from typing import Any

DEFAULT = 2 * 1024**3  # bytes


class Budget(threading.local):
    """The bytes that histories may take, and those that the histories of the sweep under way take (of this thread)."""

    used: int = 0
    depth: int = 0
    meter: Any = None  # counts what tapes keep of the loops under way that run as plain Python


LIMIT = array("q", [DEFAULT])  # one number, at an address that never changes: compiled code reads it at each call
BUDGET = Budget()


def limit() -> int:
    """The bytes that the histories of one outermost sweep may take."""
    return LIMIT[0]


def tell(message: str, *values: object) -> None:
    """Says to the logger "wengert" that a history was given up."""
    import logging  # takes longer to load than most of this package, and few programs come here

    logging.getLogger("wengert").info(message, *values)


def set_limit(size: int) -> None:
    """Changes the limit, for all threads."""
    LIMIT[0] = size
