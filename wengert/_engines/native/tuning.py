"""What is made better of a whole function, before machine code is made of it.

Only functions with loops that ask for signals are looked at: in other code, the length of a chain of values matters
less than the time that looking takes.
"""

from __future__ import annotations

from collections.abc import Callable

from .loops import FLOATS, For, Function, Let, Poll, Reg
from .moderate import with_versions
from .renaming import walk
from .signs import Signs, without_zeros


def tuned(function: Function, fresh: Callable[[str], Reg]) -> None:
    """Changes a function in place. `fresh` makes registers that it does not have yet, by type."""
    if any(type(item) is For and _is_slowed(item) for item in walk(function.body)):
        signs = Signs(function)
        without_zeros(function, signs, fresh)
        with_versions(function, signs, fresh)


def _is_slowed(loop: For) -> bool:
    """Whether a loop of steps has something that can go."""
    return any(type(item) is Poll for item in loop.body) and any(map(_may_go, loop.body))


def _may_go(item: object) -> bool:
    return type(item) is Let and item.type in FLOATS and (item.op == "scale" or (item.op == "add" and 0.0 in item.args))
