"""Functions that call themselves as deeply as programs are long: Python's stack ends at a thousand calls.

Such a function is a generator that yields what it would call and is sent what that returns:
`found = yield self._of(x)`.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

_Result = TypeVar("_Result")

Deep = Generator["Deep[Any]", Any, _Result]
"""A call that has not been run yet, and what it returns."""


def run_deep(call: Deep[_Result]) -> _Result:
    """What a call returns, with the calls that it waits for in a list."""
    waiting: list[Deep[Any]] = [call]
    returned: Any = None
    while waiting:
        try:
            waiting.append(waiting[-1].send(returned))
            returned = None
        except StopIteration as end:
            waiting.pop()
            returned = end.value
    return returned
