"""`Watch` and its kinds: a value that a trace has read at one place (a name, an attribute, a cell, a container's item).

Each says whether the place holds that value still. Values are compared by identity first; where that fails, numbers,
strings and tuples of them by value. Each knows the text of its comparison, too, as part of the guard that compares all
of it at once (`guard.py`).
"""

from __future__ import annotations

import keyword
from abc import get_cache_token
from collections.abc import Sequence
from operator import attrgetter, is_
from types import CellType, FunctionType
from typing import Any, Protocol

import numpy as np

from ..._core import system
from ..._core.argument_types import ArrayLike
from ..._core.kinds import SEQUENCES

MISSING: Any = type("Missing", (), {"__repr__": lambda self: "nothing"})()
FEW = 16  # elements that are compared one by one in a guard's text


class Bind(Protocol):
    """Gives a value a name in the guard; `home` are globals that the guard reads as its own."""

    home: dict[str, Any]

    def __call__(self, value: Any) -> str: ...


class Looks(Protocol):
    """Takes what machine code can look at by itself (`run/looks.py` of the native engine); each says whether it can."""

    def type_of(self, value: object) -> bool: ...
    def cell(self, cell: CellType, value: object) -> bool: ...
    def function(self, f: FunctionType, name: str, value: object) -> bool: ...
    def elements(self, values: list[Any], held: Sequence[Any]) -> bool: ...
    def element(self, values: Any, place: int, value: object) -> bool: ...
    def entry(self, owner: Any, key: object, value: object) -> bool: ...
    def no_entry(self, owner: Any, key: object) -> bool: ...
    def entries(self, owner: Any, held: Sequence[Any]) -> bool: ...
    def hold(self) -> bool: ...


class StaticAt:
    """Stands for an argument that belongs to the signature by value: the call's own is looked at."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


class Watch:
    """A value that a trace has found at one place; it says whether the place holds it still.

    Attributes:
        path: how the user calls the place.
        value: what was there.
    """

    __slots__ = ("key", "owner", "path", "value")

    def __init__(self, owner: Any, key: Any, path: str, value: Any) -> None:
        self.owner = owner
        self.key = key
        self.path = path
        self.value = value

    def now(self, statics: Sequence[Any]) -> Any:
        """What is there now."""
        try:
            return self._read(statics[self.owner.index] if type(self.owner) is StaticAt else self.owner)
        except (NameError, AttributeError, LookupError, ValueError):
            return MISSING

    def holds(self, value: Any) -> bool:
        """Whether a value that is there now will do; then it is the one to be found from here on."""
        if not same(value, self.value):
            return False
        self.value = value
        return True

    def text(self, bind: Bind) -> str:
        """The comparison as an expression."""
        return f"{self.place(bind)} is {bind(self.value)}"

    def look(self, looks: Looks) -> bool:
        """Has machine code look at the place; False if it cannot."""
        return False

    def place(self, bind: Bind) -> str:
        """The place as an expression."""
        raise NotImplementedError

    def _read(self, owner: Any) -> Any:
        raise NotImplementedError

    def _owner(self, bind: Bind) -> str:
        return f"statics[{self.owner.index}]" if type(self.owner) is StaticAt else bind(self.owner)


class Cell(Watch):
    """A variable of an enclosing function."""

    __slots__ = ()

    def look(self, looks: Looks) -> bool:
        return looks.cell(self.owner, self.value)

    def place(self, bind: Bind) -> str:
        return bind(self.owner)  # a cell is bound as a variable

    def _read(self, owner: Any) -> Any:
        return owner.cell_contents


class Item(Watch):
    """A global, or an entry of a dictionary; MISSING where the name was not there."""

    __slots__ = ()

    def look(self, looks: Looks) -> bool:
        if isinstance(self.owner, SEQUENCES):
            return looks.element(self.owner, self.key, self.value)
        if self.value is MISSING:
            return looks.no_entry(self.owner, self.key)
        return looks.entry(self.owner, self.key, self.value)

    def text(self, bind: Bind) -> str:
        if self.value is MISSING:
            return f"{bind(self.key)} not in {self._owner(bind)}"
        return super().text(bind)

    def place(self, bind: Bind) -> str:
        if self.owner is bind.home and _is_plain(self.key) and not self.key.startswith("_wg"):
            return self.key
        return f"{self._owner(bind)}[{bind(self.key)}]"

    def _read(self, owner: dict[str, Any]) -> Any:
        return owner[self.key]


def _is_plain(name: object) -> bool:
    """Whether a key can stand in code as a name."""
    return isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)


class Attribute(Watch):
    """An attribute of an object."""

    __slots__ = ()

    def look(self, looks: Looks) -> bool:
        return type(self.owner) is FunctionType and looks.function(self.owner, self.key, self.value)

    def place(self, bind: Bind) -> str:
        if not _is_plain(self.key):
            return f"{bind(getattr)}({self._owner(bind)}, {bind(self.key)})"
        return f"{self._owner(bind)}.{self.key}"

    def _read(self, owner: Any) -> Any:
        return getattr(owner, self.key)


class Whole(Watch):
    """All that an object holds: the place is the object itself."""

    __slots__ = ()

    def place(self, bind: Bind) -> str:
        return self._owner(bind)


class Elements(Whole):
    """All of a list (or of a deque)."""

    __slots__ = ()

    def look(self, looks: Looks) -> bool:
        return type(self.owner) is list and looks.elements(self.owner, self.value)

    def text(self, bind: Bind) -> str:
        place, held = self.place(bind), self.value
        if len(held) > FEW or type(self.owner) is StaticAt:
            return f"{bind(all_same)}({place}, {bind(held)})"
        parts = [f"{bind(len)}({place}) == {len(held)}"]
        return " and ".join([*parts, *[f"{place}[{i}] is {bind(value)}" for i, value in enumerate(held)]])

    def holds(self, value: Any) -> bool:
        if value is MISSING or len(value) != len(self.value) or not all(map(same, value, self.value)):
            return False
        self.value = value
        return True

    def _read(self, owner: Any) -> Any:
        return (*owner,)


class Entries(Elements):
    """All of a dictionary: keys and values, in order."""

    __slots__ = ()

    def look(self, looks: Looks) -> bool:
        return looks.entries(self.owner, self.value)

    def text(self, bind: Bind) -> str:
        keys, values = self.value[::2], self.value[1::2]
        place = self.place(bind)
        if len(keys) > FEW or type(self.owner) is StaticAt:
            compare = bind(all_same)
            return f"{compare}({place}, {bind(keys)}) and {compare}({place}.values(), {bind(values)})"
        parts = [f"(*{place},) == {bind(keys)}"]
        parts += [f"{place}[{bind(key)}] is {bind(value)}" for key, value in zip(keys, values, strict=True)]
        return " and ".join(parts)

    def _read(self, owner: Any) -> Any:
        return flat(owner)


class Attributes(Entries):
    """All attributes of an object."""

    __slots__ = ()

    def look(self, looks: Looks) -> bool:
        return False  # where they lie is another dictionary after another was assigned

    def place(self, bind: Bind) -> str:
        return f"{self._owner(bind)}.__dict__"

    def _read(self, owner: Any) -> Any:
        return flat(owner.__dict__)


class Contents(Whole):
    """What an object holds, compared with a copy: sets, byte arrays, data frames, arrays that NumPy may have read."""

    __slots__ = ()

    def text(self, bind: Bind) -> str:
        return f"{bind(self.key)}({self.place(bind)}, {bind(self.value)})"

    def holds(self, value: Any) -> bool:
        return self.key(value, self.value)

    def _read(self, owner: Any) -> Any:
        return owner


class ShapeAndDtype(Whole):
    """The shape and the dtype of an array, which `a.shape = ...` changes in place; `owner` is its slot."""

    __slots__ = ()

    def text(self, bind: Bind) -> str:
        array = bind(self.owner.value)
        return f"{array}.shape == {bind(self.value[0])} and {array}.dtype is {bind(self.value[1])}"

    def holds(self, value: ArrayLike | None) -> bool:
        return value == self.value

    def _read(self, owner: Any) -> Any:
        return owner.value.shape, owner.value.dtype


class Names(Whole):
    """Names that an object, or a class, does not hold: where it comes to hold one, it hides what was found elsewhere.

    `key` are the names; `value` is how many attributes there are, which may grow by others.
    """

    __slots__ = ()

    def text(self, bind: Bind) -> str:
        return f"{bind(len)}({self.place(bind)}.__dict__) == {self.value}"

    def holds(self, value: Any) -> bool:
        if not self.key.isdisjoint(value):
            return False
        self.value = len(value)
        return True

    def _read(self, owner: Any) -> Any:
        return owner.__dict__


def flat(entries: Any) -> tuple[Any, ...]:
    """Keys and values of a dictionary by turns."""
    return (*[part for entry in entries.items() for part in entry],)


def all_same(found: Any, held: tuple[Any, ...]) -> bool:
    """Whether a sequence holds these very objects."""
    return len(found) == len(held) and all(map(is_, found, held))


def same(value: Any, before: Any) -> bool:
    """Whether a value is the one before: the object itself, or for immutable data an equal one of the same type."""
    if value is before:
        return True
    kind = type(value)
    if kind is not type(before):
        return False
    if kind is float:
        return value.hex() == before.hex()
    if kind is complex:
        return same(value.real, before.real) and same(value.imag, before.imag)
    if isinstance(value, np.generic):
        return value.dtype == before.dtype and value.tobytes() == before.tobytes()
    if isinstance(value, tuple):
        return len(value) == len(before) and all(map(same, value, before))
    if kind.__name__ in ("method", "builtin_function_or_method"):
        return value == before
    return kind in _BY_VALUE and value == before


_BY_VALUE = frozenset({int, bool, str, bytes, frozenset, range, slice, np.dtype})


def same_buffer(value: Any, kept: bytes) -> bool:
    """Whether the memory that an object shows is as it was."""
    return memoryview(value).tobytes() == kept


def same_bytes(array: np.ndarray[Any, Any], kept: tuple[Any, ...]) -> bool:
    """Whether an array holds what it did: `kept` is its type, how it lies in memory, and its bytes."""
    looks, held = kept
    if LOOKS(array) != looks:
        return False
    if len(held) > COPIED and array.flags.c_contiguous:
        return _memcmp()(array.ctypes.data, held, len(held)) == 0
    return array.tobytes() == held


def bytes_of(array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    """What `same_bytes` compares with."""
    return LOOKS(array), array.tobytes()


LOOKS = attrgetter("shape", "dtype", "strides", "flags.writeable")  # all in one call: it is asked at each call
COPIED = 1 << 14  # bytes; for fewer a copy is made sooner than a call by ctypes


def _memcmp() -> Any:
    global _compare
    if _compare is None:
        import ctypes  # only large arrays need it

        _compare = system.SYSTEM.c_memory().memcmp
        _compare.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)
    return _compare


_compare: Any = None


def same_context(variable: Any, before: Any) -> bool:
    """Whether a variable of the context stands for what it did."""
    return same(variable.get(MISSING), before)


def same_printing(_: object, before: object) -> bool:
    """Whether NumPy's arrays are written as they were."""
    return np.get_printoptions() == before


def same_token(_: object, before: object) -> bool:
    """Whether no class was registered with an abstract one meanwhile."""
    return get_cache_token() == before


def same_data(found: object, copy: object) -> bool:
    """Whether a set or byte array equals its copy, which is a plain one where the class is a user's or a library's."""
    return bool(found == copy)


def same_frame(found: Any, copy: Any) -> bool:
    """Whether a data frame, its labels and its dtypes are as they were."""
    compare = getattr(found, "identical", None) or found.equals
    return type(found) is type(copy) and bool(compare(copy)) and _labels(found) == _labels(copy)


def _labels(frame: object) -> Any:
    return [repr(getattr(frame, name, None)) for name in ("columns", "index", "dtypes", "name")]


__all__ = [
    "COPIED", "MISSING", "Attribute", "Attributes", "Cell", "Contents", "Elements", "Entries", "Item", "Looks",
    "ShapeAndDtype", "StaticAt", "Watch", "all_same", "bytes_of", "flat", "same", "same_bytes", "same_context",
    "same_data", "same_frame", "same_printing", "same_token",
]  # fmt: skip
