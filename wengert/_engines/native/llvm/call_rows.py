"""Long rows of calls as loops over tables, so that LLVM's time does not grow with how many there are.

What `ir/sharing.py` leaves of a long function is hardly more than calls of a few pieces, thousands of them one after
another. As code, each takes LLVM more time than a loop of a piece does: where all that it is given lies at the time. As
data it takes none. A table has a row for each call: what kind of call it is, then a word for each argument. A loop
goes over the table, and calls of one kind are one call in it.

A word is a number, or where an array lies in the block that small arrays share, or a place among the addresses and
registers that were put on the stack before the loop.
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
    Copy,
    Extent,
    Local,
    Operand,
    Reg,
    moved_by,
)
from .values import REGISTER

if TYPE_CHECKING:
    from .codegen import _Kernel

LEAST = 32  # calls of a table: of fewer, code is as good
ALIKE = 4  # calls of one kind that a block has at least, or they are code


class Word(NamedTuple):
    """An argument of a call.

    Attributes:
        kind: "number" where the word is the argument, "together" where it is its distance from the shared block's
            beginning, "given" where it is the place of what was put on the stack, "cell" where the argument lies where
            that points to.
        type: of the argument, as LLVM writes it.
        value: what the word is, or what was put on the stack, as LLVM calls it.
    """

    kind: str
    type: str
    value: Any


class Step(NamedTuple):
    """A call in a table.

    Attributes:
        item: the instruction.
        words: its arguments, in the order of its parameters.
        kind: what all calls have in common that one place in the code makes.
    """

    item: Apply | Call | Copy
    words: list[Word]
    kind: tuple[Any, ...]


def tables_of(kernel: _Kernel, block: Block) -> dict[int, list[Step]]:
    """The calls of a block that become tables, by the place of the first; what is no code may stand between them."""
    if kernel.watch is not None or sum(type(item) in (Apply, Call) for item in block) < LEAST:
        return {}
    steps = [_step(kernel, item) for item in block]
    alike = Counter(step.kind for step in steps if step is not None)
    found: dict[int, list[Step]] = {}
    row: list[Step] = []
    for place, (item, step) in enumerate(zip(block, steps, strict=True)):
        if step is not None and alike[step.kind] >= ALIKE:
            row = row or found.setdefault(place, [])
            row.append(step)
        elif not is_nothing(kernel, item):
            row = []
    return {place: row for place, row in found.items() if len(row) >= LEAST}


def is_nothing(kernel: _Kernel, item: Any) -> bool:
    """Whether an instruction is no code where it stands."""
    return type(item) in (Local, Extent) or (type(item) is Alloc and item.array not in kernel.cells and not item.zero)


def _step(kernel: _Kernel, item: Any) -> Step | None:
    kind = type(item)
    words: list[Word | None]
    if kind is Apply:
        words, what = _words_of_apply(kernel, item), item.piece
    elif kind is Call and item.out is None:
        words, what = [_argument(kernel, argument) for argument in item.args], item.name
    elif kind is Copy and type(item.count) is int:
        words = [_place(kernel, item.target, item.target_start), _place(kernel, item.source, item.source_start)]
        what = item.count * WIDTHS[item.target.type]
    else:
        return None
    known = [word for word in words if word is not None]
    if len(known) < len(words):
        return None
    return Step(item, known, (what, *[(word.kind, word.type) for word in known]))


def _argument(kernel: _Kernel, argument: Argument) -> Word | None:
    """That of a function outside."""
    if isinstance(argument, Address):
        return _place(kernel, argument.array, argument.index)
    is_plain = not argument.by_address and argument.type != "bool"
    return _number(argument.value, argument.type) if is_plain else None


def _place(kernel: _Kernel, array: Array, index: Operand) -> Word | None:
    """The address of an element, where no code is needed to find it."""
    word = _array(kernel, array)
    if type(index) is int and word.kind == "together":
        return word._replace(value=word.value + index * WIDTHS[array.type])
    return word if type(index) is int and index == 0 else None


def _words_of_apply(kernel: _Kernel, item: Apply) -> list[Word | None]:
    moved = {*moved_by(item)}
    words: list[Word | None] = [_array(kernel, array) for array in item.arrays if array not in moved]
    words += [_number(x, r.type) for x, r in zip(item.numbers, item.piece.registers, strict=True)]
    words += [Word("given", "ptr", kernel.slot(var)) for var in item.variables]
    for array in item.arrays:
        if array in moved:
            told = kernel.told(array)
            words.append(Word("number", "i64", int(told)) if told.isdecimal() else Word("given", "i64", told))
            words += [Word("given", "ptr", slot) for slot, _ in kernel.slots_of(array)]
    return words


def _array(kernel: _Kernel, array: Array) -> Word:
    if array in kernel.pointers:
        return Word("given", "ptr", kernel.pointers[array])
    start = kernel.together.get(array)
    return Word("cell", "ptr", kernel.cells[array]) if start is None else Word("together", "ptr", start)


def _number(x: Operand, type_: str) -> Word:
    kind = REGISTER[type_]
    if type(x) is Reg:
        return Word("given", kind, f"%v{x.number}")
    if type_ in FLOATS:
        return Word("number", kind, int.from_bytes(struct.pack("<f" if type_ == "f32" else "<d", x), "little"))
    return Word("number", kind, int(cast(int, x)))


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
        if word.kind in ("given", "cell"):
            return self.given.setdefault((word.type, word.value), len(self.given))
        return word.value

    def argument(self, word: Word, row: str, place: int) -> str:
        """Writes what finds an argument in a row."""
        line = self.kernel.line
        found = line(f"load i64, ptr {line(f'getelementptr i64, ptr {row}, i64 {place}')}")
        if word.kind == "together":
            return line(f"getelementptr inbounds i8, ptr %together, i64 {found}")
        if word.kind == "number":
            return self.converted(found, word.type)
        cell = line(f"getelementptr i64, ptr %{self.name}.given, i64 {found}")
        found = line(f"load {word.type}, ptr {cell}")
        return line(f"load ptr, ptr {found}") if word.kind == "cell" else found

    def converted(self, word: str, type_: str) -> str:
        """A word of 64 bits as a number of another type."""
        if type_ == "double":
            return self.kernel.line(f"bitcast i64 {word} to double")
        if type_ == "i64":
            return word
        bits = self.kernel.line(f"trunc i64 {word} to {'i32' if type_ == 'float' else type_}")
        return self.kernel.line(f"bitcast i32 {bits} to float") if type_ == "float" else bits
