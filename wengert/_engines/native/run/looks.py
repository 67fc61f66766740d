"""Looks: words of memory that say whether objects of Python still hold what they did, for the stub to compare.

A variable of a module, a cell or an element of a list is read by a call of Python in some tens of nanoseconds, and by
machine code in one. A `Look` is an address, the bits that matter of the eight bytes there, and what these are to be;
looks are compared in order, and each may lie where those before it have said that something does: a dictionary's
entries are read only where its table of keys is the one that they were found in.

It is known where CPython 3.11 to 3.14 keeps all this, and tried out on objects made for it; where an interpreter keeps
it otherwise there are no looks, and Python's own code has to compare (`captures/guard.py`).
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from types import CellType, FunctionType
from typing import Any, NamedTuple

_HEAD = object.__basicsize__
_TYPE = _HEAD - 8
_CONTENT = _HEAD  # of a cell
_LENGTH, _ITEMS = _HEAD, _HEAD + 8  # of a list
_USED, _KEYS, _VALUES = _HEAD, _HEAD + 16, _HEAD + 24  # of a dictionary
_KIND, _COUNT, _INDICES = 8, 24, 32  # of its table of keys
_ALL, _SIZES = -1, 0xFFFFFF  # bits: of the table's kind, those that say what lies where, beside a version
_STRIDES = {0: 3, 1: 2}  # words of an entry, by the kind of the table: with a hash, and of strings alone
_MOST_KEYS = 128  # of a dictionary, to say that another one is not there


class Look(NamedTuple):
    """What the bits of `mask` are to be in the eight bytes at an address."""

    address: int
    mask: int
    word: int

    def holds(self) -> bool:
        return _word(self.address) & self.mask == self.word & self.mask


class Looks:
    """The looks of one function, as they are added; each method says whether there are such looks.

    Attributes:
        held: all objects whose memory is looked at, which must stay as long as it is.
    """

    def __init__(self) -> None:
        self.held: list[Any] = []
        self._looks: list[Look] = []
        self._tables: dict[int, _Table | None] = {}
        self._words: Any = None

    @property
    def address(self) -> int:
        """Where the stub finds them: whether one failed, how many there are, and each."""
        if self._words is None:
            parts = [part for x in self._looks for part in (x.address, x.mask, x.word & x.mask)]
            words = [0, len(self._looks), *parts]
            self._words = (ctypes.c_int64 * len(words))(*words)
        return ctypes.addressof(self._words)

    def hold(self) -> bool:
        """Whether none has failed, or all hold again; where one does not they are of no use any more."""
        if self._words is None or not self._words[0]:
            return True
        if not all(look.holds() for look in self._looks):  # in order: it ends where the next address means nothing
            return False
        self._words[0] = 0
        return True

    # -- what is looked at ------------------------------------------------------------------------------------------

    def type_of(self, value: object) -> bool:
        """That an object stays of its class."""
        return self._at(id(value) + _TYPE, type(value), value)

    def cell(self, cell: CellType, value: object) -> bool:
        """That a cell holds a value."""
        return self._at(id(cell) + _CONTENT, value, cell)

    def function(self, f: FunctionType, name: str, value: object) -> bool:
        """That a function has this code, or these defaults."""
        slot = _function_slots().get(name)
        return slot is not None and self._at(id(f) + slot, value, f)

    def elements(self, values: list[Any], held: Sequence[Any]) -> bool:
        """That a list holds these values and no others."""
        start = self._items(values)
        return len(values) == len(held) and all(self._at(start + 8 * k, value, values) for k, value in enumerate(held))

    def element(self, values: Any, place: int, value: object) -> bool:
        """That a list, or a tuple, holds a value at a place."""
        if type(values) is tuple:  # it always does
            return True
        return type(values) is list and self._at(self._items(values) + 8 * (place % len(values)), value, values)

    def entry(self, owner: Any, key: object, value: object) -> bool:
        """That a dictionary has a value under a key."""
        table = self._table(owner)
        found = None if table is None else table.entry_of(key)
        if found is None or table is None:
            return False
        address, own = found
        return self._at(address, own, owner) and self._at(address + 8, value, owner)

    def no_entry(self, owner: Any, key: object) -> bool:
        """That a dictionary does not have a key: by the version of its keys, where it has one, or by all of them."""
        table = self._table(owner)
        if table is None or key in owner:
            return False
        if table.kind >> 32:
            self._looks.append(Look(table.address + _KIND, _ALL, table.kind))
            return True
        if table.count > _MOST_KEYS:
            return False
        self.held += [*owner]
        self._looks.append(Look(table.address + _COUNT, _ALL, table.count))
        self._looks += [Look(address, _ALL, word) for address, word in table.places_of_keys()]
        return True

    def entries(self, owner: Any, held: Sequence[Any]) -> bool:
        """That a dictionary has these keys and values by turns, and no others."""
        if self._table(owner) is None or 2 * len(owner) != len(held):
            return False
        self._looks.append(Look(id(owner) + _USED, _ALL, len(owner)))
        return all(self.entry(owner, key, value) for key, value in zip(held[::2], held[1::2], strict=True))

    def _items(self, values: list[Any]) -> int:
        """Where a list's elements lie; that they do and how many there are is looked at."""
        start = _word(id(values) + _ITEMS) if _are_known() else 0
        self._looks.append(Look(id(values) + _LENGTH, _ALL, len(values)))
        self._looks.append(Look(id(values) + _ITEMS, _ALL, start))
        return start

    def _table(self, owner: Any) -> _Table | None:
        """The keys of a dictionary, if its values lie beside them; whether it has other ones is looked at once."""
        if id(owner) in self._tables:
            return self._tables[id(owner)]
        found = self._tables[id(owner)] = _table_of(owner) if type(owner) is dict and _are_known() else None
        if found is not None:
            self.held.append(owner)
            self._looks.append(Look(id(owner) + _KEYS, _ALL, found.address))
            self._looks.append(Look(found.address + _KIND, _SIZES, found.kind))
        return found

    def _at(self, address: int, value: object, owner: object) -> bool:
        """That a pointer to a value lies at an address in an object's memory, as it does now."""
        if not _are_known():
            return False
        look = Look(address, _ALL, id(value))
        self.held += [owner, value]
        self._looks.append(look)
        return look.holds()


class _Table:
    """A dictionary's table of keys."""

    def __init__(self, owner: dict[Any, Any], address: int) -> None:
        self.owner = owner
        self.address = address
        self.kind = _word(address + _KIND)
        self.count = _word(address + _COUNT)
        self._stride = _STRIDES[self.kind >> 16 & 255]
        self._first = address + _INDICES + (1 << (self.kind >> 8 & 255))
        words = [*(ctypes.c_int64 * (self.count * self._stride)).from_address(self._first)]
        self._own = words[self._stride - 2 :: self._stride]
        self._places = {word: place for place, word in enumerate(self._own)}

    def entry_of(self, key: object) -> tuple[int, Any] | None:
        """Where the entry of a key lies, and the dictionary's own object that is equal to it."""
        if id(key) not in self._places:
            key = next((own for own in self.owner if own == key and type(own) is type(key)), None)
        place = self._places.get(id(key))
        return None if place is None else (self._address(place), key)

    def places_of_keys(self) -> list[tuple[int, int]]:
        """Where pointers to keys lie, and these; of an entry that was deleted, it is null."""
        return [(self._address(place), word) for place, word in enumerate(self._own)]

    def _address(self, place: int) -> int:
        return self._first + 8 * (place * self._stride + self._stride - 2)


def _table_of(owner: dict[Any, Any]) -> _Table | None:
    address = _word(id(owner) + _KEYS)
    is_apart = _word(id(owner) + _VALUES) != 0
    return None if is_apart or _word(address + _KIND) >> 16 & 255 not in _STRIDES else _Table(owner, address)


def _word(address: int) -> int:
    return ctypes.c_int64.from_address(address).value


@functools.cache
def _function_slots() -> dict[str, int]:
    """Where a function's object has its code and its defaults."""

    def probe(x: float = 1.5, *, y: float = 2.5) -> None: ...

    words = [*(ctypes.c_int64 * (FunctionType.__basicsize__ // 8)).from_address(id(probe))]
    names = ("__code__", "__defaults__", "__kwdefaults__")
    held = {name: id(getattr(probe, name)) for name in names}
    return {name: 8 * words.index(word) for name, word in held.items() if words.count(word) == 1}


@functools.cache
def _are_known() -> bool:
    """Whether this interpreter keeps things where looks go."""
    if _HEAD != 16 or ctypes.sizeof(ctypes.c_void_p) != 8:  # another one where threads run without a lock
        return False
    first, second = object(), object()
    names: dict[Any, Any] = {"a": 1, "b": 2}
    others: dict[Any, Any] = {1: 3, "b": 4}
    names["c"], others[2.5] = first, second
    del names["a"]
    values = [first, second]
    cell = CellType(first)
    if _word(id(cell) + _CONTENT) != id(first) or _word(id(first) + _TYPE) != id(object):
        return False
    if _word(id(values) + _LENGTH) != 2 or _word(_word(id(values) + _ITEMS) + 8) != id(second):
        return False
    return all(map(_is_found, (names, others), ("c", 2.5), (first, second)))


def _is_found(owner: dict[Any, Any], key: object, value: object) -> bool:
    if _word(id(owner) + _USED) != len(owner) or _word(id(owner) + _VALUES):
        return False
    address = _word(id(owner) + _KEYS)
    if _word(address + _COUNT) != 3 or _word(address + _KIND) >> 16 & 255 not in _STRIDES:
        return False
    found = _Table(owner, address).entry_of(key)
    return found is not None and _word(found[0]) == id(found[1]) and _word(found[0] + 8) == id(value)


__all__ = ["Look", "Looks"]
