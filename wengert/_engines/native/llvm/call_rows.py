"""Long rows of calls as loops over tables, so that LLVM's time does not grow with how many there are.

What `ir/sharing.py` leaves of a long function is hardly more than calls of a few pieces, thousands of them one after
another. As code, each takes LLVM more time than a loop of a piece does: where all that it is given lies at the time. As
data it takes none. A table has a row for each call: what kind of call it is, then a word for each argument. A loop
goes over the table, and calls of one kind are one call in it.

A word is a number, or tells where behind an address that all calls know the argument lies: an operand's, that of the
block that small arrays share, or that of the addresses and registers which were put on the stack before the loop.
"""

from __future__ import annotations

import struct
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..ir.loops import (
    FLOATS,
    WIDTHS,
    Address,
    Alloc,
    Apply,
    Argument,
    Array,
    Block,
    Call,
    Convert,
    Copy,
    Extent,
    Let,
    Load,
    Local,
    Operand,
    Reg,
    Select,
    moved_by,
)
from ..ir.renaming import reads, walk
from .values import REGISTER

if TYPE_CHECKING:
    from .codegen import _Kernel

LEAST = 32  # calls of a table: of fewer, code is as good
ALIKE = 4  # calls of one kind that a block has at least, or they are code


GIVEN = "given"  # what is put on the stack


class Word(NamedTuple):
    """An argument of a call.

    Attributes:
        base: the address from which it is found, as LLVM calls it; empty where the word is the argument.
        reads: how often something is read to find it: behind the base there is itself, where it lies, or where that is
            told.
        type: of the argument, as LLVM writes it.
        value: the number, or the bytes from the base on; what is put on the stack, as LLVM calls it.
    """

    base: str
    reads: int
    type: str
    value: Any


class Step(NamedTuple):
    """A call in a table.

    Attributes:
        item: the instruction.
        words: its arguments, in the order of its parameters.
        kind: what all calls have in common that one place in the code makes.
    """

    item: Apply | Call | Copy | Alloc
    words: list[Word]
    kind: tuple[Any, ...]


class Row(NamedTuple):
    """Instructions one after another that become a table.

    Attributes:
        steps: its calls.
        before: what stands among them and may as well be computed before.
        length: how many instructions they are, with those that are no code.
    """

    steps: list[Step]
    before: list[Any]
    length: int


def rows_of(kernel: _Kernel, block: Block) -> dict[int, Row]:
    """The rows of a block, by the place of the first instruction."""
    if kernel.watch is not None or sum(type(item) in _CALLS for item in block) < LEAST:
        return {}
    seen = {item.out: item for item in block if type(item) is Load and _is_element(kernel, item)}
    steps = [_step(kernel, item, seen) for item in block]
    alike = Counter(step.kind for step in steps if step is not None)
    found: dict[int, Row] = {}
    row: Row | None = None
    begin = 0
    for place, (item, step) in enumerate(zip(block, steps, strict=True)):
        is_step = step is not None and alike[step.kind] >= ALIKE
        if not is_step and not (row and (_is_nothing(kernel, item) or _is_known(kernel, item))):
            row = None
            continue
        if row is None:
            row, begin = Row([], [], 0), place
        if is_step:
            row.steps.append(cast(Step, step))
        elif not _is_nothing(kernel, item):
            row.before.append(item)
        row = found[begin] = row._replace(length=place + 1 - begin)
    found = {place: row for place, row in found.items() if len(row.steps) >= LEAST}
    if seen and found:
        tabulated = {id(step.item) for row in found.values() for step in row.steps}
        read = {x for item in walk(block) if id(item) not in tabulated for x in reads(item)}
        for row in found.values():
            row.before[:] = [item for item in row.before if item.out not in seen or item.out in read]
    return found


_CALLS = (Apply, Call, Copy, Alloc)


def _is_nothing(kernel: _Kernel, item: Any) -> bool:
    """Whether an instruction is no code where it stands."""
    return type(item) in (Local, Extent) or (type(item) is Alloc and item.array not in kernel.cells and not item.zero)


def _is_known(kernel: _Kernel, item: Any) -> bool:
    """Whether an instruction gives the same before the calls that stand before it, none of which gives a register."""
    is_operand = type(item) is Load and item.array.place == "in" and item.array in kernel.pointers
    return is_operand or type(item) in (Let, Select, Convert)


def _is_element(kernel: _Kernel, item: Load) -> bool:
    """Whether an instruction reads an element of an operand that calls can read as well."""
    array = item.array
    is_plain = array.type in REGISTER and array.type != "bool" and type(item.index) is int
    return is_plain and array.place == "in" and array in kernel.pointers


def _step(kernel: _Kernel, item: Any, seen: dict[Reg, Load]) -> Step | None:
    kind = type(item)
    words: list[Word | None]
    if kind is Apply:
        words, what = _words_of_apply(kernel, item, seen), item.piece
    elif kind is Call and item.out is None:
        words, what = [_argument(kernel, argument) for argument in item.args], item.name
    elif kind is Copy and type(item.count) is int:
        words = [_place(kernel, item.target, item.target_start), _place(kernel, item.source, item.source_start)]
        what = item.count * WIDTHS[item.target.type]
    elif kind is Alloc and item.array in kernel.cells and not item.zero:
        words = [_slot(kernel, kernel.cells[item.array]), _told(kernel, item.array), _number(kernel, item.count, "i64")]
        what = ("alloc", WIDTHS[item.array.type], type(item.count) is int and item.count)
    else:
        return None
    known = [word for word in words if word is not None]
    if len(known) < len(words):
        return None
    return Step(item, known, (what, *[word[:3] for word in known]))


def _argument(kernel: _Kernel, argument: Argument) -> Word | None:
    """That of a function outside."""
    if isinstance(argument, Address):
        return _place(kernel, argument.array, argument.index)
    is_plain = not argument.by_address and argument.type != "bool"
    return _number(kernel, argument.value, argument.type) if is_plain else None


def _place(kernel: _Kernel, array: Array, index: Operand) -> Word | None:
    """The address of an element, where no code is needed to find it."""
    word = _array(kernel, array)
    if type(index) is int and not word.reads:
        return word._replace(value=word.value + index * WIDTHS[array.type])
    return word if type(index) is int and index == 0 else None


def _words_of_apply(kernel: _Kernel, item: Apply, seen: dict[Reg, Load]) -> list[Word | None]:
    moved = {*moved_by(item)}
    words: list[Word | None] = [_array(kernel, array) for array in item.arrays if array not in moved]
    words += [_number(kernel, x, r.type, seen) for x, r in zip(item.numbers, item.piece.registers, strict=True)]
    words += [Word(GIVEN, 1, "ptr", kernel.slot(var)) for var in item.variables]
    for array in item.arrays:
        if array in moved:
            words.append(_told(kernel, array))
            words += [_slot(kernel, slot) for slot, _ in kernel.slots_of(array)]
    return words


def _told(kernel: _Kernel, array: Array) -> Word:
    """What a want of memory tells of an array."""
    told = kernel.told(array)
    return Word("", 0, "i64", int(told)) if told.isdecimal() else Word(GIVEN, 1, "i64", told)


def _array(kernel: _Kernel, array: Array) -> Word:
    if array in kernel.pointers:
        return Word(GIVEN, 1, "ptr", kernel.pointers[array])
    start = kernel.together.get(array)
    if start is not None:
        return Word("%together", 0, "ptr", start)
    slot = _slot(kernel, kernel.cells[array])
    return slot._replace(reads=slot.reads + 1)


def _slot(kernel: _Kernel, name: str) -> Word:
    """The address of what holds an address."""
    place = kernel.tabulated.get(name)
    return Word(GIVEN, 1, "ptr", name) if place is None else Word("%cells", 0, "ptr", 8 * place)


def _number(kernel: _Kernel, x: Operand, type_: str, seen: dict[Reg, Load] | None = None) -> Word:
    kind = REGISTER[type_]
    if type(x) is Reg:
        load = seen.get(x) if seen else None
        if load is None:
            return Word(GIVEN, 1, kind, f"%v{x.number}")
        return Word(kernel.pointers[load.array], 1, kind, cast(int, load.index) * WIDTHS[load.array.type])
    if type_ in FLOATS:
        return Word("", 0, kind, int.from_bytes(struct.pack("<f" if type_ == "f32" else "<d", x), "little"))
    return Word("", 0, kind, int(cast(int, x)))


class Table:
    """A table under construction, and the code that makes its calls."""

    def __init__(self, kernel: _Kernel, number: int) -> None:
        self.kernel = kernel
        self.name = f"calls{kernel.entry}{number}"
        self.given: dict[tuple[str, str], int] = {}  # places on the stack, by type and name
        self.kinds: dict[tuple[Any, ...], int] = {}
        self.numbers: list[int] = []

    def write(self, steps: list[Step]) -> None:
        """Writes the loop that makes calls."""
        examples: list[Step] = []
        for step in steps:
            kind = self.kinds.setdefault(step.kind, len(examples))
            if kind == len(examples):
                examples.append(step)
            self.numbers += [kind, *map(self.number, step.words)]
        self.numbers.append(len(examples))  # the end
        kernel = self.kernel
        row, given = f"%{self.name}.row", f"%{self.name}.given"
        kernel.top += [f"  {row} = alloca ptr", f"  {given} = alloca [{len(self.given) + 1} x i64]"]
        for (type_, name), place in self.given.items():
            cell = kernel.line(f"getelementptr i64, ptr {given}, i64 {place}")
            kernel.lines.append(f"  store {type_} {name}, ptr {cell}")
        head, after, *labels = (kernel.label() for _ in range(2 + len(examples)))
        kernel.lines += [f"  store ptr @{self.name}, ptr {row}", f"  br label %{head}", f"{head}:"]
        here = kernel.line(f"load ptr, ptr {row}")
        kind = kernel.line(f"load i64, ptr {here}")
        cases = " ".join(f"i64 {number}, label %{label}" for number, label in enumerate(labels))
        kernel.lines.append(f"  switch i64 {kind}, label %{after} [ {cases} ]")
        for step, label in zip(examples, labels, strict=True):
            kernel.lines.append(f"{label}:")
            kernel.run_step(
                step.item, [(w.type, self.argument(w, here, place)) for place, w in enumerate(step.words, 1)]
            )
            following = kernel.line(f"getelementptr i64, ptr {here}, i64 {1 + len(step.words)}")
            kernel.lines += [f"  store ptr {following}, ptr {row}", f"  br label %{head}"]
        kernel.lines.append(f"{after}:")
        words = ", ".join(f"i64 {number}" for number in self.numbers)
        kernel.declare(
            self.name, f"@{self.name} = internal unnamed_addr constant [{len(self.numbers)} x i64] [{words}]"
        )

    def number(self, word: Word) -> int:
        """What stands in the table for an argument."""
        if word.base != GIVEN:
            return word.value
        return 8 * self.given.setdefault((word.type if word.reads == 1 else "ptr", word.value), len(self.given))

    def argument(self, word: Word, row: str, place: int) -> str:
        """Writes what finds an argument in a row."""
        line = self.kernel.line
        found = line(f"load i64, ptr {line(f'getelementptr i64, ptr {row}, i64 {place}')}")
        if not word.base:
            return self.converted(found, word.type)
        base = f"%{self.name}.given" if word.base == GIVEN else word.base
        found = line(f"getelementptr inbounds i8, ptr {base}, i64 {found}")
        for left in reversed(range(word.reads)):
            found = line(f"load {'ptr' if left else word.type}, ptr {found}")
        return found

    def converted(self, word: str, type_: str) -> str:
        """A word of 64 bits as a number of another type."""
        if type_ == "double":
            return self.kernel.line(f"bitcast i64 {word} to double")
        if type_ == "i64":
            return word
        bits = self.kernel.line(f"trunc i64 {word} to {'i32' if type_ == 'float' else type_}")
        return self.kernel.line(f"bitcast i32 {bits} to float") if type_ == "float" else bits
