"""Counting sort of integers of one and two bytes, and of their places: what `sorting.py` calls for such keys.

It takes the bytes of a key one after the other, and counts where the elements of each byte begin. NumPy sorts integers
of one and two bytes so, too, and those of two bytes without their places by vectors, where the processor can. Two
passes over bytes need no table larger than the first cache.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir.builder import Builder
from ..ir.loops import Array, Operand
from ..llvm import numpy_functions
from .nests import poll_often
from .standalone import is_alone

_BYTES = {"i8": 1, "u8": 1, "i16": 2, "u16": 2}
_DIGITS = 256
_FEWEST = 64  # keys that are counted in less time than merged: the table is gone through for each byte


def counts_keys(type_: str, n: Operand, has_places: bool) -> bool:
    """Whether keys of a type are sorted by counting, with their places or alone."""
    if type_ not in _BYTES or (type(n) is int and n < _FEWEST):
        return False
    return has_places or _BYTES[type_] == 1 or is_alone() or not numpy_functions.sorts_short_keys()


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


def is_one_digit(b: Builder, n: Operand, digit: Callable[[Operand], Operand]) -> Operand:
    """Whether all elements have the same digit: a pass of vectors, where counting equal ones would wait for each."""
    most, least = b.var("i64", 0), b.var("i64", _DIGITS - 1)  # bits of any and of all
    with b.loop(0, n) as i:
        value = digit(i)
        b.set(most, b.let("or", "i64", b.get(most), value))
        b.set(least, b.let("and", "i64", b.get(least), value))
    return b.let("eq", "i64", b.get(most), b.get(least))
