"""Python's integers beside arrays of an integer dtype that does not hold them, where NumPy has an answer.

Arithmetic refuses them with `OverflowError`. Comparisons, functions that work in floats (`promotion.float_operands`),
choices and bounds know what is meant, as they do in NumPy: any uint8 is below 300 and above -1.
"""

from __future__ import annotations

from typing import Any

from .._core.argument_types import ArrayLike
from .._core.op import Op
from .._core.tensor import Tensor
from .._prims import discrete as D
from .promotion import EVERY, binary, bounds_beside, for_two

_SWAPPED = {D.lt: D.gt, D.gt: D.lt, D.le: D.ge, D.ge: D.le}
# which comparison with a bound of the dtype answers as that with any number beyond it does
_ABOVE = {D.lt: D.le, D.le: D.le, D.ne: D.le, D.gt: D.gt, D.ge: D.gt, D.eq: D.gt}
_BELOW = {D.lt: D.lt, D.le: D.lt, D.eq: D.lt, D.gt: D.ge, D.ge: D.ge, D.ne: D.ge}


@for_two(EVERY)
def compare(op: Op, x: ArrayLike, y: ArrayLike) -> Any:
    """Applies a comparison, also to Python's integers that the other operand's dtype does not hold."""
    held = bounds_beside(y, x, op.name)
    if held is not None:
        least, most = held
        return binary(_ABOVE[op], x, most) if y > most else binary(_BELOW[op], x, least)  # pyright: ignore[reportOperatorIssue]
    if bounds_beside(x, y, op.name) is not None:
        return compare(_SWAPPED.get(op, op), y, x)
    return binary(op, x, y)


def in_floats(value: Any) -> Any:
    """What works in floats takes Python's integers beyond 64 bits as floats; anything else as it is."""
    return float(value) if type(value) is int and not -(2**63) <= value < 2**64 else value


def chosen_beside(value: Any, partner: Any, what: str) -> Any:
    """A value to choose beside an array: of a Python integer that does not fit, NumPy keeps the lowest bits."""
    if type(partner) in (float, complex):
        return in_floats(value)
    held = bounds_beside(value, partner, what)
    if held is None or not -(2**63) <= value < 2**64:
        return value
    least, most = held
    return (value - least) % (most - least + 1) + least


def bound_or_none(value: Any, x: Tensor, is_upper: bool) -> Any:
    """A bound of `clip`; None for a Python integer that bounds nothing which the dtype holds."""
    held = bounds_beside(value, x, "clip")
    return None if held is not None and (value > held[1] if is_upper else value < held[0]) else value
