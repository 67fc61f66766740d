"""Optimises whole lowered functions whose loops have many small steps: runs `signs`, `finite_slopes` and `slp`.

Only functions with loops that ask for signals are looked at: in other code, the length of a chain of values matters
less than the time that looking takes. Called by `lower/functions.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from .finite_slopes import with_versions
from .loops import FLOATS, Function, Let, Reg, is_step
from .renaming import walk
from .signs import Signs, without_zeros
from .slp import is_scattered


def tuned(function: Function, fresh: Callable[[str], Reg]) -> None:
    """Changes a function in place. `fresh` makes registers that it does not have yet, by type."""
    steps = [item for item in walk(function.body) if is_step(item)]
    if any(_may_go(item) for step in steps for item in step.body):
        signs = Signs(function)
        without_zeros(function, signs, fresh)
        with_versions(function, signs, fresh)
    function.is_scattered = bool(steps) and is_scattered(function)


def _may_go(item: object) -> bool:
    """Whether an instruction slows steps down, perhaps for nothing."""
    return type(item) is Let and item.type in FLOATS and (item.op == "scale" or (item.op == "add" and 0.0 in item.args))
