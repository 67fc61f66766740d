"""Integer arithmetic on extents and loop bounds that may be plain numbers or registers known only at run time."""

from __future__ import annotations

from ..ir.builder import Builder
from ..ir.loops import Operand


def smaller(b: Builder, x: Operand, y: Operand) -> Operand:
    """The smaller of two integers."""
    if type(x) is int and type(y) is int:
        return min(x, y)
    return b.select("i64", b.let("lt", "i64", x, y), x, y)


def clamped(b: Builder, x: Operand, most: Operand) -> Operand:
    """An integer moved to where it is neither negative nor larger than the most."""
    if type(x) is int:
        x = max(x, 0)
    else:
        x = b.select("i64", b.let("lt", "i64", x, 0), 0, x)
    return smaller(b, x, most)


def divided_up(b: Builder, x: Operand, step: int) -> Operand:
    """x / step, rounded up, where x is positive; where it is not, no more than 0."""
    if step == 1:
        return x
    if type(x) is int:
        return -(-x // step)
    positive = b.select("i64", b.let("lt", "i64", x, 0), 0, x)
    return b.divided(b.add(positive, step - 1), step)


def number_of(x: Operand) -> int:
    """An extent or step that is known now."""
    assert type(x) is int
    return x


def is_one(n: Operand) -> bool:
    """Whether an extent is known to be 1."""
    return type(n) is int and n == 1
