"""`RepeatCache`: a cache that makes an entry only after its key has come several times.

For things whose making takes longer than a few runs without them: the formulas of ops (`op.py`, read by the sweep) and
the compiled pieces of sweeps (`_transforms/{recorded_sweeps,repeated_functions,whole_sweeps}.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Made = TypeVar("Made")

UNKNOWN: Any = type("Unknown", (), {"__repr__": lambda self: "UNKNOWN"})()  # what `get` is asked to give for the rest


class RepeatCache(dict[Any, Made | None]):
    """A bounded cache by key, whose entries are made once a key has come often; None where none could be.

    It keeps a bounded number, of what was made and of what is counted: looks that are new each time would fill the
    memory.
    """

    again = 8  # how often one comes before something is made for it

    def __init__(self, most: int) -> None:
        self.most = most
        self.seen: dict[Any, int] = {}

    def met(self, look: object, make: Callable[[], Made | None]) -> Made | None:
        """Counts a thing for which nothing is known; once it came often enough, makes what is known from then on."""
        often = self.seen.get(look, 0)
        if often < self.again:
            if len(self.seen) >= self.most and not often:
                self.seen.clear()
            self.seen[look] = often + 1
            return None
        if len(self) >= self.most:  # what was made first goes, so that a program that needs few never begins anew
            for old in [*self][: self.most // 4]:
                self.pop(old, None)
        self.seen.pop(look, None)  # another thread may have come first
        made = self[look] = make()
        return made

    def forget(self) -> None:
        """Begins anew."""
        self.clear()
        self.seen.clear()
