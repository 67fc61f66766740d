"""Whether what a function reads beside its arguments is as it was, for code of a framework that we have not traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .guard import guard_of
from .reach import Reach
from .watch import Contents, bytes_of, same_bytes


class Surroundings:
    """What a function reads beside its arguments, as it is now: names, attributes, containers, NumPy's arrays.

    What variables and arrays of frameworks hold is not looked at: the framework's own code reads that at each call.
    """

    def __init__(self, f: Callable[..., Any]) -> None:
        reach = Reach(f, (), ())
        arrays = [(slot.path, slot.value) for slot in reach.slots.values() if isinstance(slot.value, np.ndarray)]
        self._watches = [
            *reach.watches, *[Contents(array, same_bytes, path, bytes_of(array)) for path, array in arrays]
        ]  # fmt: skip
        self._guard = guard_of(self._watches)
        reach.forget()

    def hold(self) -> bool:
        """Whether all of it is as it was."""
        if self._guard(()):
            return True
        if not all(watch.holds(watch.now(())) for watch in self._watches):
            return False
        self._guard = guard_of(self._watches)
        return True


__all__ = ["Surroundings"]
