"""The loop language: what plans are lowered to and machine code is made from. Instructions, printer and verifier.

A `Function` is one block of instructions; loops and branches hold blocks. There are

- *registers* (`Reg`), set once, by the instruction that has them as `out`, and seen by what follows in their block and
  in the blocks inside it;
- *variables* (`Var`), scalars that may be set again: what goes round a loop, and accumulators;
- *arrays* (`Array`), rows of elements, read and written at an index that counts elements: operands, results, and
  arrays that the function makes (`Local` on the stack, `Alloc` on the heap, `Reserve` for ones that grow).

An operand is a register or a Python number, which has the type that its place asks for. Types are `f64`, `f32`, `i8` to
`i64`, `u8` to `u64` and `bool` (one byte in arrays). Arrays may hold half floats (`f16`, `bf16`), which are read and
written as their bits (`u16`), and complex numbers (`c64`, `c128`), of which each access reads or writes one part:
`part` 0 is the real one. Where the part that is read is a register, it counts real numbers from the element's first on,
also beyond the element: 3 is the next one's imaginary part. There are no registers of these types
(`half_floats.py`, `complex_numbers.py`).

Integers wrap round; division and remainder of integers are C's
and undefined for zero, so who emits them guards them. No two arrays overlap, except operands that are only read.

Frees are never needed: what a function has allocated is freed when it returns, whatever its status. `Alloc` with a
number as count inside a loop makes one array, used in each iteration.

A function gives a status. `node` of an instruction says what accesses an array, in code that checks that
(`accesses.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple, cast


class Status(IntEnum):
    """How a call ended; all but OK discard its results."""

    OK = 0
    MEMORY = 1
    """A buffer could not be had: `context.FAILING` says which."""
    LINALG = 2
    """A factorisation failed."""
    INDEX = 3
    """An index was out of range."""
    INTERRUPTED = 4
    """A Python signal handler raised; the exception is set."""
    REFUSED = 5
    """What only NumPy's kernels can do or say: they run in the function's stead."""
    OVER_BUDGET = 6
    """Histories of loops are beyond the memory budget."""
    ASTRAY = 7
    """An access beyond an array, in code that checks them."""
    RARE = 8
    """Flags are set that seldom are, and the code has nothing of what they need: another form of it has."""


FLOATS = ("f32", "f64")
HALVES = ("f16", "bf16")
COMPLEX = ("c64", "c128")
FRACTIONS = (*FLOATS, *HALVES, *COMPLEX)  # what is not counted in whole numbers
SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("u8", "u16", "u32", "u64")
INTEGERS = (*SIGNED, *UNSIGNED)
TYPES = (*FLOATS, *INTEGERS, "bool")  # of registers
# of what one access to an element of an array reads or writes, by the array's type
ITEM = {**{t: t for t in TYPES}, "f16": "u16", "bf16": "u16", "c64": "f32", "c128": "f64"}
# in bytes, as elements of arrays
WIDTHS = {
    **{t: 1 if t == "bool" else int(t[1:]) // 8 for t in TYPES}, "f16": 2, "bf16": 2, "c64": 8, "c128": 16,
}  # fmt: skip


class Reg:
    """A value, set once."""

    __slots__ = ("number", "type")

    def __init__(self, type: str, number: int | str) -> None:
        self.type = type
        self.number = number

    def __repr__(self) -> str:
        return f"%{self.number}"


class Var:
    """A scalar that may be set many times; undefined before the first."""

    __slots__ = ("number", "type")

    def __init__(self, type: str, number: int) -> None:
        self.type = type
        self.number = number

    def __repr__(self) -> str:
        return f"${self.number}"


class Array:
    """Elements of one type. `place` says what it is: "in", "out", "local", "heap" or "grown"."""

    __slots__ = ("number", "place", "type")

    def __init__(self, type: str, number: int, place: str) -> None:
        self.type = type
        self.number = number
        self.place = place

    def __repr__(self) -> str:
        return f"{self.place}{self.number}"


Operand = Reg | int | float | bool


class OpInfo(NamedTuple):
    """An operation of `Let`: how many operands, and the result's type ("" for that of the operands)."""

    arity: int
    result: str = ""
    types: tuple[str, ...] = TYPES


_NUMBERS = (*FLOATS, *INTEGERS)
_BITS = (*INTEGERS, "bool")
# named as C's library names them
UNARY_MATH = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
    "cosh", "tanh", "asinh", "acosh", "atanh", "cbrt", "erf", "erfc",
)  # fmt: skip
BINARY_MATH = ("pow", "atan2", "hypot", "fmod", "nextafter")

OPS: dict[str, OpInfo] = {
    **{name: OpInfo(2, "", _NUMBERS) for name in ("add", "sub", "mul")},
    "sum": OpInfo(2, "", FLOATS),  # an addition whose order does not matter, of an accumulator
    "scale": OpInfo(2, "", FLOATS),  # the product; 0.0 where the first is zero, whatever the second
    "div": OpInfo(2, "", _NUMBERS),
    "rem": OpInfo(2, "", INTEGERS),
    "fma": OpInfo(3, "", FLOATS),
    "neg": OpInfo(1, "", _NUMBERS),
    "abs": OpInfo(1, "", FLOATS),
    "copysign": OpInfo(2, "", FLOATS),
    **{name: OpInfo(2, "", FLOATS) for name in ("maximum", "minimum")},  # a NaN is the result; of zeros, any
    **{name: OpInfo(1, "", FLOATS) for name in ("sqrt", "floor", "ceil", "trunc", "rint")},
    **{name: OpInfo(1, "", FLOATS) for name in UNARY_MATH},
    **{name: OpInfo(2, "", FLOATS) for name in BINARY_MATH},
    # comparisons are false where an operand is NaN, but for ne
    **{name: OpInfo(2, "bool") for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{name: OpInfo(2, "", _BITS) for name in ("and", "or", "xor")},
    "not": OpInfo(1, "", _BITS),
    # whether the exact result is none of the type: of extents, which must not wrap
    **{f"{name}_wraps": OpInfo(2, "bool", ("i64",)) for name in ("add", "mul")},
    "half_to": OpInfo(1, "u16", ("f32",)),  # the bits of the nearest half float; only where the processor has them
    "half_from": OpInfo(1, "f32", ("u16",)),
    # shifts by less than the width; to the right the sign is kept where there is one
    **{name: OpInfo(2, "", INTEGERS) for name in ("shl", "shr")},
}


# -- instructions -----------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Let:
    """`out = op(args)`. All operands have the type `type`."""

    out: Reg
    op: str
    args: tuple[Operand, ...]
    type: str


@dataclass(slots=True, eq=False)
class Select:
    """`out = x if cond else y`; both are known, so that no branch is taken.

    `guards` says of a divisor or a factor that is 1 or a register, or of what a root is taken of and is a number or a
    register, that where it is the number, nothing may be computed with the register: that would leave a flag of what
    the program guards against. Of an operand of a maximum or minimum that is an infinity or a register: LLVM would make
    a branch of it, of which no vectors are made.
    """

    out: Reg
    cond: Operand
    x: Operand
    y: Operand
    guards: bool = False


@dataclass(slots=True, eq=False)
class Convert:
    """`out = x` in another type, as C casts; `bits` keeps the bits instead, between types of one width."""

    out: Reg
    x: Operand
    type: str  # of x
    bits: bool = False


@dataclass(slots=True, eq=False)
class Get:
    out: Reg
    var: Var


@dataclass(slots=True, eq=False)
class Set:
    var: Var
    value: Operand


@dataclass(slots=True, eq=False)
class Load:
    out: Reg
    array: Array
    index: Operand
    node: str = ""
    part: Operand = 0


@dataclass(slots=True, eq=False)
class Store:
    array: Array
    index: Operand
    value: Operand
    node: str = ""
    part: int = 0


@dataclass(slots=True, eq=False)
class For:
    """For `index` from `start` up to below `stop`. The stop is read once.

    With `work`, about how many elements are computed, the iterations may run in threads where that is worth it: then no
    iteration reads what another writes.
    """

    index: Reg
    start: Operand
    stop: Operand
    body: list[Instruction] = field(default_factory=list)
    work: Operand | None = None


@dataclass(slots=True, eq=False)
class Lanes:
    """`count` iterations side by side, `index` from 0 on: each operation is one of vectors, a number an iteration.

    What the body allocates is each iteration's own. No iteration reads what another writes, and the same place is
    written by one iteration only, but for `Accumulate`. The first `again` iterations do again what others have done:
    what they write is there already, and they add nothing. `lanes.py` says what a body may hold, and
    `masked_lanes.py` what one whose iterations take ways of their own.
    """

    index: Reg
    count: int
    body: list[Instruction] = field(default_factory=list)
    is_masked: bool = False
    again: int = 0


@dataclass(slots=True, eq=False)
class Accumulate:
    """Adds to an element; the order in which the iterations of `Lanes` do so does not matter. Of booleans: or.

    With `slots`, an element is a sum in so many parts, one behind the other: to which of them an iteration adds is
    open.
    """

    array: Array
    index: Operand
    value: Operand
    slots: int = 1
    node: str = ""


@dataclass(slots=True, eq=False)
class While:
    """Runs `test`, then `body` if `cond`, a register of the test, is true; and so on."""

    test: list[Instruction]
    cond: Operand
    body: list[Instruction]


@dataclass(slots=True, eq=False)
class If:
    """Runs `then` if `cond`, else `other`; `is_likely`: nearly always the first."""

    cond: Operand
    then: list[Instruction] = field(default_factory=list)
    other: list[Instruction] = field(default_factory=list)
    is_likely: bool = False


@dataclass(slots=True, eq=False)
class Local:
    """A small array on the stack, not initialised. May stand anywhere; it is made once."""

    array: Array
    count: int


@dataclass(slots=True, eq=False)
class Alloc:
    """An array on the heap, aligned to 64 bytes, not initialised unless `zero`. A number as count: made once."""

    array: Array
    count: Operand
    zero: bool = False


@dataclass(slots=True, eq=False)
class Reserve:
    """Makes room for at least `count` elements in a "grown" array; what it holds stays."""

    array: Array
    count: Operand


@dataclass(slots=True, eq=False)
class Fill:
    """Sets `count` elements from `start` on to zero."""

    array: Array
    start: Operand
    count: Operand
    node: str = ""


@dataclass(slots=True, eq=False)
class Copy:
    """Copies `count` elements of one array to another of its type."""

    target: Array
    target_start: Operand
    source: Array
    source_start: Operand
    count: Operand
    node: str = ""


@dataclass(slots=True, eq=False)
class Extent:
    """Says how many elements an operand or a result has, for code that checks accesses; does nothing."""

    array: Array
    count: Operand


@dataclass(slots=True, eq=False)
class Swap:
    """Exchanges what two arrays on the heap hold, without moving an element."""

    x: Array
    y: Array


class Address(NamedTuple):
    """The argument of a call that is the address of an element of an array."""

    array: Array
    index: Operand = 0


class Typed(NamedTuple):
    """The argument of a call that is a number: an operand with its type. `by_address`: as Fortran takes it."""

    type: str
    value: Operand
    by_address: bool = False


Argument = Address | Typed


@dataclass(slots=True, eq=False)
class Call:
    """Calls a function outside (`symbols.py` finds it by name). `out` is its result, if wanted."""

    out: Reg | None
    name: str
    args: tuple[Argument, ...]
    node: str = ""


@dataclass(slots=True, eq=False)
class Piece:
    """A block that is a function of its own, which one place or several run (`sharing.py`).

    Attributes:
        number: tells it from the others of a function.
        body: the instructions.
        arrays, registers, variables: what it gets from outside, as the body names it. Variables come back changed.
        written: those of the arrays that the body may write to.
        moved: those whose address it may change. They come back elsewhere, as variables come back changed.
    """

    number: int
    body: list[Instruction]
    arrays: list[Array]
    registers: list[Reg]
    variables: list[Var]
    written: set[Array]
    moved: frozenset[Array] = frozenset()


@dataclass(slots=True, eq=False)
class Apply:
    """Runs a piece with other arrays, numbers and variables in the places of those that its body names."""

    piece: Piece
    arrays: tuple[Array, ...]
    numbers: tuple[Operand, ...]
    variables: tuple[Var, ...]


@dataclass(slots=True, eq=False)
class Give:
    """Makes an array on the heap the caller's: the result in place `slot`. It cannot be used afterwards."""

    array: Array
    slot: int


@dataclass(slots=True, eq=False)
class SetSize:
    """Tells the caller an extent: writes it to the sizes at a place."""

    place: int
    value: Operand


@dataclass(slots=True, eq=False)
class Poll:
    """Asks now and then whether the user has interrupted; returns the status 4 if so."""

    every: int = 1024


@dataclass(slots=True, eq=False)
class Return:
    status: Status


Instruction = (
    Let
    | Select
    | Convert
    | Get
    | Set
    | Load
    | Store
    | Accumulate
    | For
    | Lanes
    | While
    | If
    | Local
    | Alloc
    | Reserve
    | Fill
    | Copy
    | Extent
    | Swap
    | Call
    | Apply
    | Give
    | SetSize
    | Poll
    | Return
)
Block = list[Instruction]


@dataclass(slots=True, eq=False)
class Function:
    """A function of the ABI `i32 (ptr buffers, ptr sizes, ptr context)`.

    Attributes:
        inputs, outputs: arrays whose addresses are the buffers, in this order; an output that is None is allocated by
            the function (`Give`).
        sizes: registers that hold the sizes at entry, in order.
        body: the instructions; falling off the end returns 0.
        is_scattered: whether straight code of it is better not made vector code of.
    """

    name: str
    inputs: list[Array]
    outputs: list[Array | None]
    sizes: list[Reg]
    body: Block
    is_scattered: bool = False

    def __str__(self) -> str:
        return function_text(self)


def is_step(item: Any) -> bool:
    """Whether an instruction is a loop that asks for signals: one of many steps, each from the one before."""
    return type(item) in (For, While) and any(type(x) is Poll for x in item.body)


NESTING = (For, Lanes, While, If)  # instructions with blocks inside


def blocks_of(instruction: Instruction) -> tuple[Block, ...]:
    """The blocks inside an instruction, in the order in which they run."""
    if type(instruction) is For or type(instruction) is Lanes:
        return (instruction.body,)
    if type(instruction) is While:
        return (instruction.test, instruction.body)
    if type(instruction) is If:
        return (instruction.then, instruction.other)
    return ()


def stored_by(item: Any) -> Array | None:
    """The array that an instruction itself writes to."""
    if type(item) in (Store, Accumulate, Fill):
        return item.array
    return item.target if type(item) is Copy else None


def written_by(item: object) -> Iterator[Array]:
    """The arrays that an instruction may write to, those included that what it calls is given."""
    stored = stored_by(item)
    if stored is not None:
        yield stored
    if type(item) is Apply:
        yield from (outer for outer, inner in zip(item.arrays, item.piece.arrays) if inner in item.piece.written)
    yield from (a.array for a in getattr(item, "args", ()) if type(a) is Address)


def moved_by(item: object) -> Iterator[Array]:
    """The arrays that lie elsewhere, or are longer, behind an instruction."""
    if type(item) in (Reserve, Give):
        yield cast(Reserve, item).array
    elif type(item) is Swap:
        yield from (item.x, item.y)
    elif type(item) is Apply:
        yield from (outer for outer, inner in zip(item.arrays, item.piece.arrays) if inner in item.piece.moved)


# -- printer ----------------------------------------------------------------------------------------------------------


def function_text(function: Function) -> str:
    """The function as text."""
    arguments = ", ".join(f"{a}: {a.type}[]" for a in [*function.inputs, *function.outputs] if a is not None)
    sizes = ", ".join(map(repr, function.sizes))
    head = f"function {function.name}({arguments}{'; ' + sizes if sizes else ''})"
    lines = [head, *_block_lines(function.body, "  ")]
    for piece in pieces_of(function.body):
        given = ", ".join(
            [*(f"{a}: {a.type}[]" for a in piece.arrays), *map(str, (*piece.registers, *piece.variables))]
        )
        lines += [f"piece {piece.number}({given})", *_block_lines(piece.body, "  ")]
    return "\n".join(lines)


def pieces_of(block: Block) -> list[Piece]:
    """The pieces that a block and the blocks inside it run, each once."""
    found: dict[Piece, None] = {}
    for item in block:
        if type(item) is Apply:
            found.setdefault(item.piece)
        for inner in blocks_of(item):
            found.update(dict.fromkeys(pieces_of(inner)))
    return [*found]


def stored_in(block: Sequence[Any]) -> set[Array]:
    """The arrays that the instructions of a block themselves write to: functions that it calls are left out."""
    found: set[Array] = set()
    for item in block:
        stored = stored_by(item)
        if stored is not None:
            found.add(stored)
        for inner in blocks_of(item):
            found |= stored_in(inner)
    return found


def _block_lines(block: Block, indent: str) -> Iterator[str]:
    for item in block:
        if type(item) is For:
            kind = "for" if item.work is None else f"parallel({item.work}) for"
            yield f"{indent}{kind} {item.index} = {item.start} .. {item.stop}"
            yield from _block_lines(item.body, indent + "  ")
        elif type(item) is Lanes:
            again = f" (the first {item.again} again)" if item.again else ""
            yield f"{indent}lanes {item.index} = 0 .. {item.count}{again}"
            yield from _block_lines(item.body, indent + "  ")
        elif type(item) is While:
            yield f"{indent}while"
            yield from _block_lines(item.test, indent + "    ")
            yield f"{indent}  {item.cond} do"
            yield from _block_lines(item.body, indent + "    ")
        elif type(item) is If:
            yield f"{indent}if {item.cond}"
            yield from _block_lines(item.then, indent + "  ")
            if item.other:
                yield f"{indent}else"
                yield from _block_lines(item.other, indent + "  ")
        else:
            yield indent + _line(item)


def _line(item: Any) -> str:
    kind = type(item)
    if kind is Let:
        return f"{item.out}: {item.out.type} = {item.op}.{item.type} {_list(item.args)}"
    if kind is Select:
        return f"{item.out}: {item.out.type} = {item.x} if {item.cond} else {item.y}"
    if kind is Convert:
        return f"{item.out}: {item.out.type} = {'bits' if item.bits else 'convert'}.{item.type} {item.x}"
    if kind is Get:
        return f"{item.out}: {item.out.type} = {item.var}"
    if kind is Set:
        return f"{item.var} = {item.value}"
    if kind is Load:
        return f"{item.out}: {item.out.type} = {item.array}[{item.index}]{_part(item)}"
    if kind is Store or kind is Accumulate:
        place = item.index if kind is Store or item.slots == 1 else f"{item.index}: {item.slots}"
        sign = f"{_part(item)} =" if kind is Store else " +="
        return f"{item.array}[{place}]{sign} {item.value}"
    if kind is Call:
        return f"{f'{item.out}: {item.out.type} = ' if item.out else ''}{item.name}({_list(map(_argument, item.args))})"
    return _statement(item)


def _statement(item: Any) -> str:
    kind = type(item)
    if kind is Local:
        return f"local {item.array}: {item.array.type}[{item.count}]"
    if kind is Alloc:
        return f"{'zeros' if item.zero else 'alloc'} {item.array}: {item.array.type}[{item.count}]"
    if kind is Reserve:
        return f"reserve {item.array}: {item.array.type}[{item.count}]"
    if kind is Fill:
        return f"fill {item.array}[{item.start} ..+ {item.count}] = 0"
    if kind is Copy:
        return f"copy {item.target}[{item.target_start} ..+ {item.count}] = {item.source}[{item.source_start} ..]"
    if kind is Extent:
        return f"extent {item.array}[{item.count}]"
    if kind is Apply:
        return f"apply {item.piece.number}({_list((*item.arrays, *item.numbers, *item.variables))})"
    if kind is Swap:
        return f"swap {item.x}, {item.y}"
    if kind is Give:
        return f"give {item.array} as {item.slot}"
    if kind is SetSize:
        return f"size {item.place} = {item.value}"
    if kind is Poll:
        return f"poll every {item.every}"
    return f"return {item.status}"


def _part(item: Load | Store) -> str:
    if type(item.part) is Reg:
        return f".number({item.part})"
    return (".im" if item.part else ".re") if item.array.type in COMPLEX else ""


def _list(items: Any) -> str:
    return ", ".join(map(str, items))


def _argument(argument: Argument) -> str:
    if type(argument) is Address:
        return f"&{argument.array}[{argument.index}]"
    assert type(argument) is Typed
    return f"{'&' if argument.by_address else ''}{argument.value}: {argument.type}"


# -- verifier ---------------------------------------------------------------------------------------------------------


def verify(function: Function) -> None:
    """Checks that registers are set once and before they are read, and that types and arrays fit.

    Raises:
        ValueError: they do not; the message has the instruction.
    """
    _Verifier(function).run()


class _Verifier:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.seen: set[Reg] = set(function.sizes)
        self.known = set(function.sizes)
        self.arrays = {a for a in [*function.inputs, *function.outputs] if a is not None}

    def run(self) -> None:
        self.block(self.function.body)
        for piece in pieces_of(self.function.body):
            self.arrays = {*piece.arrays}
            self.known = {*piece.registers}
            self.block(piece.body)

    def block(self, block: Block, inner: Sequence[Reg] = ()) -> None:
        """Checks a block; what it defines is forgotten behind it."""
        before = self.known
        self.known = {*before, *inner} if inner else set(before)
        for item in block:
            try:
                self.item(item)
            except ValueError as error:
                text = "\n".join(_block_lines([item], ""))
                raise ValueError(f"{self.function.name}: {error}: {text}") from None
        self.known = before

    def item(self, item: Instruction) -> None:
        if isinstance(item, For):
            self.operand(item.start, "i64")
            self.operand(item.stop, "i64")
            self.fresh(item.index)
            self.block(item.body, (item.index,))
        elif isinstance(item, Lanes):
            self.fresh(item.index)
            self.block(item.body, (item.index,))
        elif isinstance(item, While):
            before = self.known
            self.known = set(before)
            for inner in item.test:
                self.item(inner)
            self.operand(item.cond, "bool")
            self.known = before
            self.block(item.body)
        elif isinstance(item, If):
            self.operand(item.cond, "bool")
            self.block(item.then)
            self.block(item.other)
        else:
            self.simple(item)
            out = getattr(item, "out", None)
            if out is not None:
                self.fresh(out)
                self.known.add(out)

    def simple(self, item: Any) -> None:
        kind = type(item)
        if kind is Let:
            self.let(item)
        elif kind is Select:
            self.operand(item.cond, "bool")
            self.operand(item.x, item.out.type)
            self.operand(item.y, item.out.type)
        elif kind is Convert:
            self.operand(item.x, item.type)
            if item.bits and WIDTHS[item.type] != WIDTHS[item.out.type]:
                raise ValueError("the widths differ")
        elif kind is Get:
            self.same(item.out.type, item.var.type)
        elif kind is Set:
            self.operand(item.value, item.var.type)
        elif kind is Load:
            self.array(item.array)
            self.same(item.out.type, ITEM[item.array.type])
            self.part(item)
            self.operand(item.index, "i64")
        elif kind in (Store, Accumulate):
            self.array(item.array)
            if item.array.place == "in":
                raise ValueError("an operand is not to be written")
            self.operand(item.index, "i64")
            self.operand(item.value, ITEM[item.array.type] if kind is Store else item.array.type)
            if kind is Store:
                self.part(item)
        else:
            self.memory(item)

    def memory(self, item: Any) -> None:
        kind = type(item)
        if kind in (Local, Alloc, Reserve):
            if item.array.place != {Local: "local", Alloc: "heap", Reserve: "grown"}[kind]:
                raise ValueError("the array is not of this kind")
            self.operand(item.count, "i64")
            self.arrays.add(item.array)
        elif kind is Fill:
            self.array(item.array)
            self.operand(item.start, "i64")
            self.operand(item.count, "i64")
        elif kind is Copy:
            self.array(item.target)
            self.array(item.source)
            self.same(item.target.type, item.source.type)
            for operand in (item.target_start, item.source_start, item.count):
                self.operand(operand, "i64")
        elif kind is Extent:
            self.array(item.array)
            self.operand(item.count, "i64")
        elif kind is Swap:
            for array in (item.x, item.y):
                self.array(array)
                self.same(array.place, "heap")
            self.same(item.x.type, item.y.type)
        elif kind is Call:
            for argument in item.args:
                if type(argument) is Address:
                    self.array(argument.array)
                    self.operand(argument.index, "i64")
                else:
                    self.operand(argument.value, argument.type)
        elif kind is Apply:
            self.apply(item)
        elif kind is Give:
            self.array(item.array)
            if item.array.place not in ("heap", "grown"):
                raise ValueError("only what is on the heap can be given away")
        elif kind is SetSize:
            self.operand(item.value, "i64")

    def apply(self, item: Apply) -> None:
        piece = item.piece
        stored = stored_in(piece.body)
        for array, inner in zip(item.arrays, piece.arrays, strict=True):
            if inner in piece.moved:
                self.same(array.place, inner.place)
            if inner in piece.moved and array.place == "grown":
                self.arrays.add(array)
            self.array(array)
            self.same(array.type, inner.type)
            if array.place == "in" and inner in stored:
                raise ValueError("an operand is not to be written")
        for operand, register in zip(item.numbers, piece.registers, strict=True):
            self.operand(operand, register.type)
        for var, inner in zip(item.variables, piece.variables, strict=True):
            self.same(var.type, inner.type)

    def let(self, item: Let) -> None:
        info = OPS.get(item.op)
        if info is None:
            raise ValueError("an unknown operation")
        if len(item.args) != info.arity or item.type not in info.types:
            raise ValueError("operands that the operation does not take")
        for operand in item.args:
            self.operand(operand, item.type)
        self.same(item.out.type, info.result or item.type)

    def operand(self, operand: Operand, type_: str) -> None:
        if type(operand) is Reg:
            if operand not in self.known:
                raise ValueError(f"{operand} is read where it is not known")
            self.same(operand.type, type_)
        elif type(operand) is bool:
            self.same("bool", type_)
        elif type(operand) is float:
            if type_ not in FLOATS:
                raise ValueError(f"{operand} is no {type_}")
        elif type(operand) is not int or type_ == "bool":
            raise ValueError(f"{operand!r} is no {type_}")

    def fresh(self, register: Reg) -> None:
        if register in self.seen:
            raise ValueError(f"{register} is set twice")
        self.seen.add(register)

    def array(self, array: Array) -> None:
        if array not in self.arrays:
            raise ValueError(f"{array} is used before it is there")

    def part(self, item: Any) -> None:
        if type(item) is Load and type(item.part) is Reg and item.array.type in COMPLEX:
            self.operand(item.part, "i64")
        elif item.part not in ((0, 1) if item.array.type in COMPLEX else (0,)):
            raise ValueError("an element has no such part")

    def same(self, found: str, wanted: str) -> None:
        if found != wanted:
            raise ValueError(f"{found} where {wanted} is wanted")
