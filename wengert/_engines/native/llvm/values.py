"""Writes instructions on values as LLVM IR: for one iteration, or for `width` iterations side by side.

What computes, chooses, converts, reads and writes is written here once. Whoever writes a function (`codegen.py`, one
iteration at a time) or the body of `Lanes` (`lanes.py`, vectors) says what an operand is called and where an element of
an array stands.
"""

from __future__ import annotations

import math
import struct
from abc import ABC, abstractmethod
from typing import Any

from ..ir.loops import (
    FLOATS,
    ITEM,
    UNSIGNED,
    WIDTHS,
    Array,
    Convert,
    Fill,
    Get,
    Let,
    Load,
    Operand,
    Reg,
    Select,
    Set,
    Store,
    Var,
)

REGISTER = {
    "f32": "float", "f64": "double", "bool": "i1", **{f"{s}{w}": f"i{w}" for s in "iu" for w in (8, 16, 32, 64)},
}  # fmt: skip
MEMORY_TYPE = {
    **REGISTER, "bool": "i8", "f16": "i16", "bf16": "i16", "c64": "{ float, float }", "c128": "{ double, double }",
}  # fmt: skip
INTRINSICS = {
    "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint", "abs": "fabs",
    "copysign": "copysign", "fma": "fma", "maximum": "maximum", "minimum": "minimum",
}  # fmt: skip
_HALF_OF_U64 = 2.0**63
_FLOAT_OPS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv", "sum": "fadd reassoc"}
_INT_OPS = {"add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor", "shl": "shl"}
_COMPARE = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}


def constant(value: Any, type_: str) -> str:
    """A number as LLVM writes it."""
    if type_ in FLOATS:
        value = float(value)
        if type_ == "f32" and math.isfinite(value):
            value = struct.unpack("f", struct.pack("f", value))[0]
        return f"0x{struct.unpack('Q', struct.pack('d', value))[0]:016X}"
    if type_ == "bool":
        return "true" if value else "false"
    bits = WIDTHS[type_] * 8
    value &= (1 << bits) - 1
    return str(value - (1 << bits) if value >> (bits - 1) else value)


class Values(ABC):
    """Writes instructions on values.

    Attributes:
        width: of how many iterations side by side.
        lines: what has been written.
    """

    width = 1
    lines: list[str]

    # -- what whoever writes says ---------------------------------------------------------------------------------

    @abstractmethod
    def temp(self) -> str:
        """A new name."""

    @abstractmethod
    def declare(self, name: str, text: str) -> None:
        """Adds a declaration to the module, once."""

    @abstractmethod
    def place(self, array: Array, index: Operand, part: Operand = 0) -> str:
        """The address of an element, that of the first iteration."""

    @abstractmethod
    def slot(self, var: Var) -> str:
        """Where a variable is."""

    def operand(self, operand: Operand, type_: str) -> str:
        """An operand of an instruction."""
        return self.shared(operand, type_)

    def is_beside(self, array: Array, index: Operand) -> bool:
        """Whether the iterations' elements lie side by side."""
        return True

    def places(self, array: Array, index: Operand) -> list[str]:
        """The addresses for all iterations, where they are not side by side."""
        return [self.place(array, index)]

    def aligned(self, array: Array) -> str:
        """What an access to elements side by side says of their alignment."""
        return ""

    def flags(self, item: Let) -> str:
        """What an operation on floats says of its rounding."""
        return ""

    # -- words ----------------------------------------------------------------------------------------------------

    def kind(self, type_: str, is_memory: bool = False) -> str:
        """A type as LLVM writes it."""
        one = (MEMORY_TYPE if is_memory else REGISTER)[type_]
        return one if self.width == 1 else f"<{self.width} x {one}>"

    def suffix(self, type_: str) -> str:
        """How an intrinsic on the type ends."""
        return type_ if self.width == 1 else f"v{self.width}{type_}"

    def constant(self, value: Any, type_: str) -> str:
        """A number, for each iteration."""
        one = constant(value, type_)
        return one if self.width == 1 else f"splat ({REGISTER[type_]} {one})"

    def shared(self, operand: Operand, type_: str) -> str:
        """A number that is the same for all iterations, or that of the first."""
        return f"%v{operand.number}" if type(operand) is Reg else constant(operand, type_)

    def line(self, text: str) -> str:
        """Writes what gives a value, and gives its name."""
        found = self.temp()
        self.lines.append(f"  {found} = {text}")
        return found

    # -- computing ------------------------------------------------------------------------------------------------

    def let(self, item: Let) -> None:
        type_, op, kind = item.type, item.op, self.kind(item.type)
        args = [self.operand(x, type_) for x in item.args]
        if op in _COMPARE:
            text = f"{_comparison(op, type_)} {kind} {args[0]}, {args[1]}"
        elif op in _SPECIAL:
            text = _SPECIAL[op](self, item, args)
        elif type_ in FLOATS:
            text = self.float_op(item, kind, args)
        else:
            text = self.integer_op(op, type_, kind, args)
            if op == "div" and type_ == "i64":
                text = self.quotient(item, text, args[0])
        self.lines.append(f"  %v{item.out.number} = {text}")

    def quotient(self, item: Let, text: str, dividend: str) -> str:
        """What is written for a quotient, which `text` computes."""
        return text

    def float_op(self, item: Let, kind: str, args: list[str]) -> str:
        op, type_ = item.op, item.type
        found = _FLOAT_OPS.get(op)
        if found is not None:
            return f"{found}{self.flags(item)} {kind} {args[0]}, {args[1]}"
        if op == "neg":
            return f"fneg {kind} {args[0]}"
        intrinsic = INTRINSICS.get(op)
        if intrinsic is None:
            return self.mathematics(op, type_, args)
        name = f"llvm.{intrinsic}.{self.suffix(type_)}"
        self.declare(name, f"declare {kind} @{name}({', '.join([kind] * len(args))})")
        # which of two zeros is the smaller one NumPy does not say, either; to find out takes as long as all else
        flag = "nsz " if op in ("maximum", "minimum") else ""
        return f"call {flag}{kind} @{name}({', '.join(f'{kind} {a}' for a in args)})"

    def mathematics(self, op: str, type_: str, args: list[str]) -> str:
        """A call of a function of mathematics."""
        kind = self.kind(type_)
        return f"call {kind} @wg.{op}.{type_}({', '.join(f'{kind} {a}' for a in args)})"

    def integer_op(self, op: str, type_: str, kind: str, args: list[str]) -> str:
        found = _INT_OPS.get(op)
        if found is not None:
            return f"{found} {kind} {args[0]}, {args[1]}"
        if op == "neg":
            return f"sub {kind} {self.constant(0, type_)}, {args[0]}"
        if op == "not":
            return f"xor {kind} {args[0]}, {self.constant(-1, type_)}"
        is_unsigned = type_ in UNSIGNED
        if op in ("div", "rem"):
            return f"{'u' if is_unsigned else 's'}{op} {kind} {args[0]}, {args[1]}"
        return f"{'lshr' if is_unsigned else 'ashr'} {kind} {args[0]}, {args[1]}"

    def scale(self, item: Let, args: list[str]) -> str:
        """A product that is 0 where the first factor is, whatever the other."""
        kind, zero = self.kind(item.type), self.constant(0.0, item.type)
        is_zero = self.line(f"fcmp oeq {kind} {args[0]}, {zero}")
        product = self.line(f"fmul {kind} {args[0]}, {args[1]}")
        return f"select {self.kind('bool')} {is_zero}, {kind} {zero}, {kind} {product}"

    def wraps(self, item: Let, args: list[str]) -> str:
        """Whether a sum or product of two i64 is another than the exact one."""
        pair, both = self.overflowing(f"s{item.op.removesuffix('_wraps')}", *args)
        return f"extractvalue {both} {pair}, 1"

    def overflowing(self, op: str, x: str, y: str) -> tuple[str, str]:
        """A sum or product of two i64 with whether it is another than the exact one, and the type of this pair."""
        kind, name = self.kind("i64"), f"llvm.{op}.with.overflow.{self.suffix('i64')}"
        both = f"{{ {kind}, {self.kind('bool')} }}"
        self.declare(name, f"declare {both} @{name}({kind}, {kind})")
        return self.line(f"call {both} @{name}({kind} {x}, {kind} {y})"), both

    def half_to(self, item: Let, args: list[str]) -> str:
        half, bits = self.half(), self.kind("u16")
        rounded = self.line(f"fptrunc {self.kind('f32')} {args[0]} to {half}")
        return f"bitcast {half} {rounded} to {bits}"

    def half_from(self, item: Let, args: list[str]) -> str:
        half, bits = self.half(), self.kind("u16")
        exact = self.line(f"bitcast {bits} {args[0]} to {half}")
        return f"fpext {half} {exact} to {self.kind('f32')}"

    def half(self) -> str:
        return self.kind("f32").replace("float", "half")

    def select(self, item: Select) -> None:
        type_ = item.out.type
        kind, cond = self.kind(type_), self.operand(item.cond, "bool")
        x, y = (
            self.hidden(value, type_) if item.guards and type(value) is not Reg else self.operand(value, type_)
            for value in (item.x, item.y)
        )
        self.lines.append(f"  %v{item.out.number} = select {self.kind('bool')} {cond}, {kind} {x}, {kind} {y}")

    def hidden(self, number: Any, type_: str) -> str:
        """A number that LLVM does not know: with AVX-512, it makes of `x / select(c, 1.0, y)` a division by y
        everywhere and a selection of x, and takes the roots of all numbers where some of them are selected."""
        word = float(number).hex().replace("+", "")
        kind, name = self.kind(type_), f"number.{word}.{self.suffix(type_)}"
        self.declare(name, f"@{name} = internal externally_initialized global {kind} {self.constant(number, type_)}")
        return self.line(f"load {kind}, ptr @{name}, !invariant.load !{{}}")

    # -- converting -----------------------------------------------------------------------------------------------

    def convert(self, item: Convert) -> None:
        x, source, target = self.operand(item.x, item.type), item.type, item.out.type
        text = f"bitcast {self.kind(source)} {x} to {self.kind(target)}" if item.bits else self.cast(x, source, target)
        self.lines.append(f"  %v{item.out.number} = {text}")

    def cast(self, x: str, source: str, target: str) -> str:
        from_, to = self.kind(source), self.kind(target)
        if target == "bool":
            return f"{_comparison('ne', source)} {from_} {x}, {self.constant(0, source)}"
        if source in FLOATS and target not in FLOATS:
            return self.truncated(x, source, target)
        if source == "bool" and target in FLOATS and self.width > 1:
            return f"select {from_} {x}, {to} {self.constant(1.0, target)}, {to} zeroinitializer"
        if source in FLOATS:
            word = "fpext" if WIDTHS[source] < WIDTHS[target] else "fptrunc"
        elif target in FLOATS:
            word = "uitofp" if source in UNSIGNED or source == "bool" else "sitofp"
        elif WIDTHS[source] == WIDTHS[target] and source != "bool":
            word = "bitcast"
        elif source == "bool" or WIDTHS[source] < WIDTHS[target]:
            word = "zext" if source in UNSIGNED or source == "bool" else "sext"
        else:
            word = "trunc"
        return f"{word} {from_} {x} to {to}"

    def truncated(self, x: str, source: str, target: str) -> str:
        """A float as an integer, the fraction cut off; out of range some number, but one, of which tests can be made.

        The machine converts to 32 or 64 bits; what is narrower is cut from that, as compilers of C do.
        """
        if target == "u64":
            return self.truncated_to_u64(x, source)
        wide = "i64" if target in ("i64", "u32") else "i32"
        kind = self.kind(wide)
        found = self.line(f"fptosi {self.kind(source)} {x} to {kind}")
        if REGISTER[wide] == REGISTER[target]:
            return f"freeze {kind} {found}"
        return f"trunc {kind} {self.line(f'freeze {kind} {found}')} to {self.kind(target)}"

    def truncated_to_u64(self, x: str, source: str) -> str:
        """By the signed conversion, from which negative numbers and NaN have the bits that NumPy gives them."""
        from_, kind, flags = self.kind(source), self.kind("i64"), self.kind("bool")
        half, low, high = self.constant(_HALF_OF_U64, source), self.constant(0, "i64"), self.constant(-(2**63), "i64")
        is_large = self.line(f"fcmp oge {from_} {x}, {half}")
        less = self.line(f"fsub {from_} {x}, {half}")
        near = self.line(f"select {flags} {is_large}, {from_} {less}, {from_} {x}")
        found = self.line(f"fptosi {from_} {near} to {kind}")
        whole = self.line(f"freeze {kind} {found}")
        bit = self.line(f"select {flags} {is_large}, {kind} {high}, {kind} {low}")
        return f"xor {kind} {whole}, {bit}"

    # -- variables and arrays -------------------------------------------------------------------------------------

    def get(self, item: Get) -> None:
        self.lines.append(f"  %v{item.out.number} = load {self.kind(item.out.type)}, ptr {self.slot(item.var)}")

    def set(self, item: Set) -> None:
        type_ = item.var.type
        self.lines.append(f"  store {self.kind(type_)} {self.operand(item.value, type_)}, ptr {self.slot(item.var)}")

    def load(self, item: Load) -> None:
        array, kind = item.array, self.kind(ITEM[item.array.type], True)
        if self.is_beside(array, item.index):
            text = f"load {kind}, ptr {self.place(array, item.index, item.part)}{self.aligned(array)}"
        else:
            text = f"bitcast {kind} {self.gathered(item, kind)} to {kind}"
        if array.type == "bool":
            text = f"icmp ne {kind} {self.line(text)}, {self.constant(0, 'u8')}"
        self.lines.append(f"  %v{item.out.number} = {text}")

    def gathered(self, item: Load, kind: str) -> str:
        """Elements that are not side by side."""
        one, found = MEMORY_TYPE[item.array.type], "poison"
        for iteration, address in enumerate(self.places(item.array, item.index)):
            value = self.line(f"load {one}, ptr {address}")
            found = self.line(f"insertelement {kind} {found}, {one} {value}, i64 {iteration}")
        return found

    def store(self, item: Store) -> None:
        array, type_ = item.array, ITEM[item.array.type]
        kind, value = self.kind(type_, True), self.in_memory(self.operand(item.value, type_), type_)
        if self.is_beside(array, item.index):
            place = self.place(array, item.index, item.part)
            self.lines.append(f"  store {kind} {value}, ptr {place}{self.aligned(array)}")
            return
        one = MEMORY_TYPE[type_]
        for iteration, address in enumerate(self.places(array, item.index)):
            element = self.line(f"extractelement {kind} {value}, i64 {iteration}")
            self.lines.append(f"  store {one} {element}, ptr {address}")

    def in_memory(self, value: str, type_: str) -> str:
        """A value as memory has it."""
        if type_ != "bool":
            return value
        return self.line(f"zext {self.kind('bool')} {value} to {self.kind('bool', True)}")

    def fill(self, item: Fill) -> None:
        place = self.place(item.array, item.start)
        size = self.line(f"mul i64 {self.shared(item.count, 'i64')}, {self.width * WIDTHS[item.array.type]}")
        self.zero(place, size)

    def zero(self, place: str, size: str) -> None:
        """Sets so many bytes to zero."""
        self.declare("memset", "declare void @llvm.memset.p0.i64(ptr nocapture, i8, i64, i1)")
        self.lines.append(f"  call void @llvm.memset.p0.i64(ptr {place}, i8 0, i64 {size}, i1 false)")


_SPECIAL = {
    "scale": Values.scale, "add_wraps": Values.wraps, "mul_wraps": Values.wraps,
    "half_to": Values.half_to, "half_from": Values.half_from,
}  # fmt: skip


def accumulating(type_: str) -> str:
    """The instruction that adds to an element."""
    return _FLOAT_OPS["sum"] if type_ in FLOATS else "or" if type_ == "bool" else "add"


def _comparison(op: str, type_: str) -> str:
    if type_ in FLOATS:
        return f"fcmp {_COMPARE[op]}"
    if op in ("eq", "ne"):
        return f"icmp {op}"
    return f"icmp {'u' if type_ in UNSIGNED or type_ == 'bool' else 's'}{op}"
