"""`WENGERT_CHECK_ACCESS=1`: machine code that checks each access to an array, for whoever works on the compiler.

Each load and store, each zeroing and copying, and what called functions reach (`reaches.py`) is compared with the
number of elements that the array has; an access beyond it ends the call with the status `ASTRAY`, which is an
`AccessError` that names the array, the node, the index and the number of elements. Lowerings say how long operands
and results are (`Extent`), and which node an instruction belongs to, only where this is on. Code that checks is other
code: it has keys of its own in the caches, in memory and on disk. What leaves Python (`export`) never checks: it would
have nobody to tell.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from string import ascii_letters
from typing import Any

from ..run.owners import Owner
from .loops import (
    Accumulate,
    Address,
    Alloc,
    Array,
    Call,
    Copy,
    Extent,
    Fill,
    Give,
    Load,
    Local,
    Operand,
    Reg,
    Reserve,
    Store,
    Swap,
    Typed,
)
from .reaches import Axis, Number, reaches

VARIABLE = "WENGERT_CHECK_ACCESS"
UNKNOWN = "-1"  # the number of elements of an array of which nothing says it: unsigned, more than any


def is_on() -> bool:
    """Whether code that is compiled now checks its accesses."""
    return os.environ.get(VARIABLE, "0") not in ("", "0") and not _leaves.get()


_leaves: ContextVar[bool] = ContextVar("wengert_leaves", default=False)


@contextmanager
def unchecked() -> Generator[None]:
    """What is lowered or compiled inside leaves Python, and checks nothing."""
    token = _leaves.set(True)
    try:
        yield
    finally:
        _leaves.reset(token)


class AccessError(AssertionError):
    """Machine code reached beyond an array: a fault of a lowering, never a user's mistake."""


# -- what a run tells -------------------------------------------------------------------------------------------------

_told: list[tuple[str, int, int]] = []  # by threads, too: the access, the index, the number of elements


@functools.cache
def _note() -> Any:
    """What code calls before it ends: it may stand in any thread, and without the GIL."""

    def note(access: bytes, index: int, extent: int) -> None:
        _told.append((access.decode(), index, extent))

    return ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64)(note)


def address(name: str) -> int:
    """The address of `wengert_astray`, for compiled code."""
    return ctypes.cast(_note(), ctypes.c_void_p).value or 0


def error_of(graph: str, owners: Mapping[int, Owner]) -> AccessError:
    """The error for the access that was noted first.

    Args:
        graph: the name of the graph.
        owners: what arrays on the heap hold, by number.
    """
    access, index, extent = _told[0]
    _told.clear()
    array, _, does = access.partition(" ")
    holds = owners.get(int(array.lstrip(ascii_letters)))
    name = array if holds is None else f"{array} ({holds})"
    return AccessError(
        f"the machine code of {graph} reaches beyond an array: {does} of {name}, which has {extent} elements, at "
        f"index {index}"
    )


# -- what is checked --------------------------------------------------------------------------------------------------


class Watch:
    """Writes the access checks of one function.

    Attributes:
        kernel: what the function is written by.
        known: arrays whose number of elements never changes, and the number as LLVM writes it. Of arrays made in
            `Lanes`, for each lane.
        lanes: what writes the body of `Lanes`, while it does.
    """

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        self.known: dict[Array, str] = {}
        self.lanes: Any = None
        self._slots: dict[Array, str] = {}

    def look(self, item: object) -> None:
        """Writes what checks an instruction, which comes next."""
        found = _LOOKS.get(type(item))
        if found is not None:
            found(self, item)

    # -- numbers of elements ------------------------------------------------------------------------------------------

    def extent(self, array: Array) -> str:
        """The number of elements, as it is now."""
        known = self.known.get(array)
        if known is None and array in self.kernel.cells:
            return self._line(f"load i64, ptr {self._slot(array)}")
        return known or UNKNOWN

    def _slot(self, array: Array) -> str:
        """Where the number of an array is kept whose address changes."""
        if array not in self._slots:
            self._slots[array] = name = f"{self.kernel.cells[array]}.extent"
            self.kernel.top += [f"  {name} = alloca i64", f"  store i64 0, ptr {name}"]
        return self._slots[array]

    def declare(self, item: Extent) -> None:
        self.known[item.array] = self.kernel.operand(item.count, "i64")

    def make(self, item: Alloc | Local) -> None:
        if item.array in self.kernel.cells:
            self._set(item.array, self.kernel.operand(item.count, "i64"))
        else:
            self.known[item.array] = str(item.count)

    def reserve(self, item: Reserve) -> None:
        """What was asked for, not what there is room for."""
        held, count = self.extent(item.array), self.kernel.operand(item.count, "i64")
        self._set(item.array, str(self.compute("smax", held, count)))

    def swap(self, item: Swap) -> None:
        x, y = self.extent(item.x), self.extent(item.y)
        self._set(item.x, y)
        self._set(item.y, x)

    def give(self, item: Give) -> None:
        self._set(item.array, "0")

    def _set(self, array: Array, count: str) -> None:
        self.kernel.lines.append(f"  store i64 {count}, ptr {self._slot(array)}")

    # -- accesses -----------------------------------------------------------------------------------------------------

    def load(self, item: Load) -> None:
        if type(item.part) is Reg:
            self._number(item)
        else:
            self._element(item.array, item.index, "reads an element", item.node)

    def store(self, item: Store) -> None:
        self._element(item.array, item.index, "sets an element", item.node)

    def accumulate(self, item: Accumulate) -> None:
        extent = self.extent(item.array)
        if item.slots > 1:
            extent = str(self.compute("sdiv", extent, item.slots)) if extent != UNKNOWN else extent
        self._element(item.array, item.index, "adds to an element", item.node, extent)

    def fill(self, item: Fill) -> None:
        self._span(item.array, item.start, item.count, "sets elements to zero", item.node)

    def copy(self, item: Copy) -> None:
        self._span(item.target, item.target_start, item.count, "copies elements to a part", item.node)
        self._span(item.source, item.source_start, item.count, "copies elements from a part", item.node)

    def call(self, item: Call) -> None:
        for reach in reaches(item, self):
            self._box(reach.address, reach.axes, f"calls {item.name} on elements", item.node)

    def _element(self, array: Array, index: Operand, does: str, node: str, extent: str = "") -> None:
        extent = extent or self.extent(array)
        if extent == UNKNOWN or (type(index) is int and extent.isdecimal() and 0 <= index < int(extent)):
            return
        if self.lanes is not None and self.lanes.classes.differs(index):
            vector = self.lanes.operand(index, "i64")
            place = self.lanes.reduced("umax", vector)  # a negative one is the largest
        else:
            place = self.kernel.operand(index, "i64")
        self._require(self._line(f"icmp ult i64 {place}, {extent}"), array, place, extent, does, node)

    def _number(self, item: Load) -> None:
        """Of complex numbers, the one that a real number so many after an element's first is a part of."""
        extent = self.extent(item.array)
        if extent != UNKNOWN:
            further = self._line(f"sdiv i64 {self.kernel.operand(item.part, 'i64')}, 2")
            place = self._line(f"add i64 {self.kernel.operand(item.index, 'i64')}, {further}")
            is_inside = self._line(f"icmp ult i64 {place}, {extent}")
            self._require(is_inside, item.array, place, extent, "reads an element", item.node)

    def _span(self, array: Array, start: Operand, count: Operand, does: str, node: str) -> None:
        extent = self.extent(array)
        if extent == UNKNOWN:
            return
        first, many = self.kernel.operand(start, "i64"), self.kernel.operand(count, "i64")
        is_none = self._line(f"icmp eq i64 {many}, 0")
        fits = self._line(f"icmp ule i64 {many}, {extent}")
        left = self.compute("sub", extent, many)
        begins = self._line(f"icmp ule i64 {first}, {left}")
        is_inside = self._line(f"and i1 {fits}, {begins}")
        last = self.compute("sub", self.compute("add", first, many), 1)
        self._require(self._line(f"or i1 {is_none}, {is_inside}"), array, str(last), extent, does, node)

    def _box(self, address: Address, axes: tuple[Axis, ...], does: str, node: str) -> None:
        """The elements of a box, unless it has none."""
        array, extent = address.array, self.extent(address.array)
        if extent == UNKNOWN:
            return
        low = high = self.kernel.operand(address.index, "i64")
        is_none = "false"
        for axis in axes:
            lacks = self._line(f"icmp sle i64 {axis.count}, 0")
            is_none = self._line(f"or i1 {is_none}, {lacks}")
            reach = self.compute("mul", self.compute("sub", axis.count, 1), axis.step)
            low = self.compute("add", low, self.compute("smin", reach, 0))
            high = self.compute("add", high, self.compute("smax", reach, 0))
        begins = self._line(f"icmp sge i64 {low}, 0")
        ends = self._line(f"icmp slt i64 {high}, {extent}")
        is_inside = self._line(f"and i1 {begins}, {ends}")
        worst = self._line(f"select i1 {begins}, i64 {high}, i64 {low}")
        self._require(self._line(f"or i1 {is_none}, {is_inside}"), array, worst, extent, does, node)

    def _require(self, holds: str, array: Array, index: str, extent: str, does: str, node: str) -> None:
        """Goes on where a check holds; else notes the access, and ends the function."""
        kernel = self.kernel
        text = f"{array} {node or 'some node'} {does}".encode()
        name = f"@access.{hashlib.sha256(text).hexdigest()[:24]}"
        kernel.declare(name, f"{name} = private constant {_chars(text)}")
        kernel.declare("wengert_astray", "declare void @wengert_astray(ptr, i64, i64)")
        bad, good = kernel.label(), kernel.label()
        kernel.lines += [
            f"  br i1 {holds}, label %{good}, label %{bad}",
            f"{bad}:",
            f"  call void @wengert_astray(ptr {name}, i64 {index}, i64 {extent})",
            *kernel.gone_astray(),
            f"{good}:",
        ]

    # -- arithmetic ---------------------------------------------------------------------------------------------------

    def number(self, argument: Typed) -> Number:
        """An argument of a call as an i64."""
        value, type_ = argument.value, argument.type
        if not isinstance(value, Reg):
            return int(value)
        found = self.kernel.operand(value, type_)
        return found if type_ == "i64" else self._line(f"sext {type_} {found} to i64")

    def compute(self, op: str, x: Number, y: Number) -> Number:
        """The result of an operation on two numbers."""
        if op in ("smin", "smax"):
            word = "slt" if op == "smin" else "sgt"
            is_first = self._line(f"icmp {word} i64 {x}, {y}")
            return self._line(f"select i1 {is_first}, i64 {x}, i64 {y}")
        return self._line(f"{op} i64 {x}, {y}")

    def _line(self, text: str) -> str:
        found = self.kernel.temp()
        self.kernel.lines.append(f"  {found} = {text}")
        return found


def _chars(text: bytes) -> str:
    """A text as C has it, as a constant."""
    escaped = "".join(f"\\{byte:02X}" for byte in (*text, 0))
    return f'[{len(text) + 1} x i8] c"{escaped}"'


_LOOKS: dict[type, Callable[[Watch, Any], None]] = {
    Extent: Watch.declare, Alloc: Watch.make, Local: Watch.make, Reserve: Watch.reserve, Swap: Watch.swap,
    Give: Watch.give, Load: Watch.load, Store: Watch.store, Accumulate: Watch.accumulate, Fill: Watch.fill,
    Copy: Watch.copy, Call: Watch.call,
}  # fmt: skip
