"""What tells the arrays that compiled code has made in memory of its own from those that are borrowed from somebody.

Such an array's base is a capsule, which gives the memory back when the array and all its views are gone. No array but
that one has the capsule as its base: a view's base is the array, and a capsule of another library has another name.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

NAME = b"wengert.block"  # of the capsules


def is_block(base: object) -> bool:
    """Whether the base of an array is such a capsule."""
    return base is not None and type(base).__name__ == "PyCapsule" and _validity()(base, NAME) != 0


@functools.cache
def _validity() -> Callable[[Any, bytes], int]:
    # a prototype of its own: the argument types of the shared function are everybody's
    of_types = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
    return of_types(("PyCapsule_IsValid", ctypes.pythonapi))
