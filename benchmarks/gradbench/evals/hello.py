"""The square of a number, and its derivative."""

from typing import Any

import wengert as wg

_square = wg.function(lambda x: x * x)
_double = wg.function(wg.grad(lambda x: x * x))


def square(x: float) -> Any:
    return lambda: _square(float(x)), float


def double(x: float) -> Any:
    return lambda: _double(float(x)), float
