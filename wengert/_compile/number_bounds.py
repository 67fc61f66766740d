"""Between which bounds results of Python's arithmetic lie, and where Python's own numbers would give something else.

Bounds of whole numbers are ints, those of floats ints or floats, and those of complex numbers bounds of their size.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

from .._core import dtypes
from .._core.graph import Node

LEAST, MOST = -(2**63), 2**63 - 1
_WIDEST = 63  # bits by which anything is shifted, and the most that a power of two can have

Bounds = tuple[int, int]
NumberBounds = tuple[float, float]


class Unfit(Exception):
    """For some inputs within the bounds Python's integers would give another value."""


def bounds_of(node: Node, operands: list[NumberBounds]) -> NumberBounds | None:
    """The bounds of what a node computes of numbers alone; None where that is no arithmetic of Python's.

    Raises:
        Unfit: Python's numbers would grow further, become complex or raise an error.
    """
    dtype = node.outputs[0].dtype
    rules = _WHOLE if dtypes.is_integer(dtype) else _COMPLEX if dtypes.is_complex(dtype) else _FLOAT
    name = node.op.name
    if name in _BY_NUMBER and isinstance(node.attrs[0], (int, float)):
        name, operands = _BY_NUMBER[name], [*operands, (node.attrs[0], node.attrs[0])]
    rule = rules.get(name)
    if rule is None:
        if rules is _WHOLE:
            raise Unfit
        return None
    if rules is _COMPLEX:
        values = [value.dtype for value in node.inputs]
        operands = [b if dtypes.is_complex(d) else _size(b) for b, d in zip(operands, values, strict=True)]
    try:
        low, high = rule(*operands)
    except ArithmeticError:
        raise Unfit from None
    least, most = (LEAST, MOST) if rules is _WHOLE else (-sys.float_info.max, sys.float_info.max)
    if not (least <= low and high <= most):
        raise Unfit
    return low, high


def _corners(of: Callable[[float, float], float]) -> Callable[[NumberBounds, NumberBounds], NumberBounds]:
    def bounds(a: NumberBounds, b: NumberBounds) -> NumberBounds:
        found = [of(x, y) for x in a for y in b]
        return min(found), max(found)

    return bounds


def _divided(of: Callable[[float, float], float]) -> Callable[[NumberBounds, NumberBounds], NumberBounds]:
    corners = _corners(of)

    def bounds(a: NumberBounds, b: NumberBounds) -> NumberBounds:
        _require_divisor(b)
        return corners(a, b)

    return bounds


def _remainder(a: Bounds, b: Bounds) -> Bounds:
    _require_divisor(b)
    return (0, b[1] - 1) if b[0] > 0 else (b[0] + 1, 0)


def _float_remainder(a: NumberBounds, b: NumberBounds) -> NumberBounds:
    _require_divisor(b)
    return (0, b[1]) if b[0] > 0 else (b[0], 0)


def _require_divisor(b: NumberBounds) -> None:
    if b[0] <= 0 <= b[1]:
        raise Unfit


def _power(a: Bounds, b: Bounds) -> NumberBounds:
    most = max(abs(a[0]), abs(a[1]))
    if b[0] < 0 or (most > 1 and b[1] > _WIDEST):
        raise Unfit
    near = (min(b[0], _WIDEST), min(b[1], _WIDEST))  # further powers are those of 0 and 1
    return _signed(a, b, _corners(lambda x, y: x**y)(_size(a), near))


def _float_power(a: NumberBounds, b: NumberBounds) -> NumberBounds:
    is_whole = all(isinstance(x, int) for x in b) or (b[0] == b[1] and float(b[0]).is_integer())
    if a[0] < 0 and not is_whole:  # complex
        raise Unfit
    return _signed(a, b, _size_power(_size(a), b))


def _signed(a: NumberBounds, b: NumberBounds, sizes: NumberBounds) -> NumberBounds:
    """The bounds of powers of which the sizes are known."""
    is_one = b[0] == b[1]
    if a[0] >= 0 or (is_one and b[0] % 2 == 0):
        return sizes
    return (-sizes[1], -sizes[0]) if is_one and a[1] < 0 else (-sizes[1], sizes[1])


def _size_power(a: NumberBounds, b: NumberBounds) -> NumberBounds:
    if a[0] == 0 and b[0] < 0:
        raise Unfit
    return _corners(lambda x, y: float(x) ** y)(a, b)


def _root(a: NumberBounds) -> NumberBounds:
    return _float_power(a, (0.5, 0.5))


def _size_sum(a: NumberBounds, b: NumberBounds) -> NumberBounds:
    return max(0, a[0] - b[1], b[0] - a[1]), a[1] + b[1]


def _shifted(a: Bounds, b: Bounds, of: Callable[[Any, Any], int]) -> NumberBounds:
    if b[0] < 0 or b[1] > _WIDEST:
        raise Unfit
    return _corners(of)(a, b)


def _of_bits(a: Bounds, b: Bounds) -> Bounds:
    if a[0] < 0 or b[0] < 0:
        return LEAST, MOST
    return 0, 2 ** max(a[1].bit_length(), b[1].bit_length()) - 1


def _size(a: NumberBounds) -> NumberBounds:
    most = max(abs(a[0]), abs(a[1]))
    return (0 if a[0] <= 0 <= a[1] else min(abs(a[0]), abs(a[1]))), most


def _same(a: NumberBounds) -> NumberBounds:
    return a


def _each(of: Callable[[float], int]) -> Callable[[NumberBounds], NumberBounds]:
    return lambda a: (of(a[0]), of(a[1]))


_product = _corners(lambda x, y: x * y)
_quotient = _divided(lambda x, y: x / y)
_floored = _divided(lambda x, y: x // y)
_larger, _smaller = _corners(max), _corners(min)

_ALIKE: dict[str, Callable[..., NumberBounds]] = dict.fromkeys(
    ("alias", "regular", "stop_gradient", "convert", "barrier"), _same
)
_REAL: dict[str, Callable[..., NumberBounds]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "mul": _product, "square": lambda a: _product(a, a), "neg": lambda a: (-a[1], -a[0]), "abs": _size,
    "sign": lambda a: (-1, 1), "floor_divide": _floored,
    "maximum": _larger, "fmax": _larger, "minimum": _smaller, "fmin": _smaller, **_ALIKE,
}  # fmt: skip
_WHOLE: dict[str, Callable[..., NumberBounds]] = {
    **_REAL,
    "mod": _remainder, "power": _power, "convert": _each(int),
    "left_shift": lambda a, b: _shifted(a, b, lambda x, y: x << y),
    "right_shift": lambda a, b: _shifted(a, b, lambda x, y: x >> y),
    "bitwise_and": _of_bits, "bitwise_or": _of_bits, "bitwise_xor": _of_bits,
    "bitwise_not": lambda a: (~a[1], ~a[0]),
}  # fmt: skip
_FLOAT: dict[str, Callable[..., NumberBounds]] = {
    **_REAL,
    "mod": _float_remainder, "power": _float_power, "div": _quotient, "sqrt": _root,
    "reciprocal": lambda a: _quotient((1, 1), a), "floor": _each(math.floor), "ceil": _each(math.ceil),
    "rint": _each(round), "trunc": _each(math.trunc),
}  # fmt: skip
_COMPLEX: dict[str, Callable[..., NumberBounds]] = {
    "add": _size_sum, "sub": _size_sum, "mul": _product, "square": lambda a: _product(a, a), "neg": _same,
    "conj": _same, "div": _quotient, "power": _size_power, **_ALIKE,
}  # fmt: skip
_BY_NUMBER = {"times_number": "mul", "add_number": "add", "power_number": "power"}


__all__ = ["LEAST", "MOST", "Bounds", "NumberBounds", "Unfit", "bounds_of"]
