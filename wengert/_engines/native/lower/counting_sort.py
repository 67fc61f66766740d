"""What sorting by counting needs: the bytes of short integers, and where the elements of each byte begin.

NumPy sorts integers of one and two bytes so, too. Two passes over bytes need no table larger than the first cache.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir.builder import Builder
from ..ir.loops import Array, Operand
from .nests import poll_often

_BYTES = {"i8": 1, "u8": 1, "i16": 2, "u16": 2}
_DIGITS = 256
_FEWEST = 64  # keys that are counted in less time than merged: the table is gone through for each byte


def counts_keys(type_: str, n: Operand) -> bool:
    """Whether keys of a type are sorted by counting."""
    return type_ in _BYTES and (type(n) is not int or n >= _FEWEST)


def passes(type_: str) -> range:
    """How far the keys are shifted for each of their bytes."""
    return range(0, 8 * _BYTES[type_], 8)


def digit_of(b: Builder, type_: str, key: Operand, shift: int, is_descending: bool) -> Operand:
    """A byte of a key, in whose order keys stand."""
    value = b.convert("i64", type_, key)
    if type_[0] == "i":
        value = b.add(value, 1 << (8 * _BYTES[type_] - 1))  # the least is 0
    if shift:
        value = b.let("shr", "i64", value, shift)
    value = b.let("and", "i64", value, _DIGITS - 1)
    return b.sub(_DIGITS - 1, value) if is_descending else value


def places_of_digits(b: Builder, n: Operand, digit: Callable[[Operand], Operand]) -> Array:
    """Where the elements of each digit begin, in the order of digits."""
    starts = b.alloc("i64", _DIGITS)
    with b.loop(0, _DIGITS) as i:
        b.store(starts, i, 0)
    with b.loop(0, n) as i:
        value = digit(i)
        b.store(starts, value, b.add(b.load(starts, value), 1))
        poll_often(b, n)
    place = b.var("i64", 0)
    with b.loop(0, _DIGITS) as i:
        first = b.get(place)
        b.set(place, b.add(first, b.load(starts, i)))
        b.store(starts, i, first)
    return starts
