"""Runs loops in plain Python, instruction by instruction, for tests: what machine code must agree with."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from wengert._engines.native.ir.loops import (
    COMPLEX,
    HALVES,
    ITEM,
    Accumulate,
    Address,
    Alloc,
    Apply,
    Array,
    Block,
    Call,
    Convert,
    Copy,
    Extent,
    Fill,
    For,
    Function,
    Get,
    Give,
    If,
    Lanes,
    Let,
    Load,
    Local,
    Operand,
    Poll,
    Reg,
    Reserve,
    Return,
    Select,
    Set,
    SetSize,
    Status,
    Store,
    Swap,
    While,
)

NUMPY: dict[str, Any] = {
    "f32": np.float32, "f64": np.float64, "bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32,
    "i64": np.int64, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    # of arrays only
    "f16": np.float16, "bf16": np.uint16, "c64": np.complex64, "c128": np.complex128,
}  # fmt: skip


def _divided(x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        return x / y
    quotient = abs(int(x)) // abs(int(y))
    return x.dtype.type(quotient if (x < 0) == (y < 0) else -quotient)


def _remainder(x: Any, y: Any) -> Any:
    left = abs(int(x)) % abs(int(y))
    return x.dtype.type(-left if x < 0 else left)


def _scaled(x: Any, y: Any) -> Any:
    return x * y if x else x.dtype.type(0)


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "sum": operator.add, "div": _divided,
    "rem": _remainder, "fma": lambda x, y, z: x * y + z, "neg": np.negative, "abs": np.abs, "copysign": np.copysign,
    "scale": _scaled, "sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil,
    "trunc": np.trunc, "rint": np.rint, "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge, "and": operator.and_, "or": operator.or_, "xor": operator.xor,
    "not": np.invert, "shl": operator.lshift, "shr": operator.rshift, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "pow": np.power,
    "atan2": np.arctan2,
    "add_wraps": lambda x, y: not -(2**63) <= int(x) + int(y) < 2**63,
    "mul_wraps": lambda x, y: not -(2**63) <= int(x) * int(y) < 2**63,
    "half_to": lambda x: np.float16(x).view(np.uint16), "half_from": lambda x: np.float32(x.view(np.float16)),
    "erf": lambda x: x.dtype.type(math.erf(x)), "erfc": lambda x: x.dtype.type(math.erfc(x)),
}  # fmt: skip


class _Left(Exception):
    """The function returns."""


def run(
    function: Function, inputs: Sequence[Any], outputs: Sequence[Any], sizes: Sequence[int] = (),
    externs: Mapping[str, Callable[..., Any]] | None = None,
) -> tuple[int, list[Any]]:  # fmt: skip
    """Runs a function on flat NumPy arrays.

    Args:
        function: what to run.
        inputs: operands, flat.
        outputs: for each result a flat array that is written to, or None where the function allocates it.
        sizes: the sizes at entry.
        externs: the functions that it calls, by name; they are given arrays (from the address on) and numbers.

    Returns:
        The status, and the results; with the sizes that the function has set written to `sizes`, if that is a list.
    """
    machine = _Machine(outputs, sizes, externs or {})
    for array, data in [*zip(function.inputs, inputs, strict=True), *zip(function.outputs, outputs, strict=True)]:
        if array is not None:
            machine.arrays[array] = data
    for register, size in zip(function.sizes, sizes, strict=False):
        machine.values[register] = np.int64(size)
    with np.errstate(all="ignore"):
        try:
            machine.block(function.body)
        except _Left as left:
            return left.args[0], machine.outputs
    return Status.OK, machine.outputs


class _Machine:
    def __init__(
        self, outputs: Sequence[Any], sizes: Sequence[int], externs: Mapping[str, Callable[..., Any]]
    ) -> None:  # fmt: skip
        self.outputs = [*outputs]
        self.sizes = sizes
        self.externs = externs
        self.values: dict[Any, Any] = {}
        self.arrays: dict[Array, Any] = {}
        self.adds_nothing = False  # in an iteration of `Lanes` that others have done, too

    def value(self, operand: Operand, type_: str) -> Any:
        return self.values[operand] if type(operand) is Reg else NUMPY[type_](operand)

    def index(self, operand: Operand) -> int:
        return int(self.value(operand, "i64"))

    def block(self, block: Block) -> None:
        for item in block:
            getattr(self, type(item).__name__.lower())(item)

    # -- values ---------------------------------------------------------------------------------------------------

    def let(self, item: Let) -> None:
        operate = _OPERATIONS.get(item.op) or getattr(np, item.op)
        found = operate(*[self.value(x, item.type) for x in item.args])
        self.values[item.out] = NUMPY[item.out.type](found)

    def select(self, item: Select) -> None:
        chosen = item.x if self.value(item.cond, "bool") else item.y
        self.values[item.out] = self.value(chosen, item.out.type)

    def convert(self, item: Convert) -> None:
        x, target = self.value(item.x, item.type), np.dtype(NUMPY[item.out.type])
        self.values[item.out] = np.asarray(x).view(target)[()] if item.bits else np.asarray(x).astype(target)[()]

    def get(self, item: Get) -> None:
        self.values[item.out] = self.values[item.var]

    def set(self, item: Set) -> None:
        self.values[item.var] = self.value(item.value, item.var.type)

    def load(self, item: Load) -> None:
        self.values[item.out] = self.items(item)[self.place(item.index)]

    def store(self, item: Store) -> None:
        self.items(item)[self.place(item.index)] = self.value(item.value, ITEM[item.array.type])

    def items(self, item: Load | Store) -> Any:
        """What accesses to an array read and write: its elements, their bits, or a part of each."""
        held = self.arrays[item.array]
        if item.array.type in COMPLEX:
            return held.imag if item.part else held.real
        return held.view(np.uint16) if item.array.type in HALVES else held

    def accumulate(self, item: Accumulate) -> None:
        if self.adds_nothing:
            return
        held, place = self.arrays[item.array], self.place(item.index) * item.slots
        value = self.value(item.value, item.array.type)
        held[place] = held[place] | value if item.array.type == "bool" else held[place] + value

    def place(self, operand: Operand) -> int:
        index = self.index(operand)
        if index < 0:
            raise IndexError(f"an index of {index}")
        return index

    # -- memory ---------------------------------------------------------------------------------------------------

    def local(self, item: Local) -> None:
        self.arrays[item.array] = np.empty(item.count, NUMPY[item.array.type])

    def alloc(self, item: Alloc) -> None:
        self.arrays[item.array] = np.zeros(self.index(item.count), NUMPY[item.array.type])

    def reserve(self, item: Reserve) -> None:
        count = self.index(item.count)
        held = self.arrays.get(item.array, np.empty(0, NUMPY[item.array.type]))
        if len(held) < count:
            grown = np.empty(max(count, 2 * len(held)), NUMPY[item.array.type])
            grown[: len(held)] = held
            self.arrays[item.array] = grown

    def fill(self, item: Fill) -> None:
        start = self.place(item.start)
        self.arrays[item.array][start : start + self.index(item.count)] = 0

    def copy(self, item: Copy) -> None:
        count, target, source = self.index(item.count), self.place(item.target_start), self.place(item.source_start)
        self.arrays[item.target][target : target + count] = self.arrays[item.source][source : source + count]

    def extent(self, item: Extent) -> None:
        """NumPy's arrays know it."""

    def swap(self, item: Swap) -> None:
        arrays = self.arrays
        arrays[item.x], arrays[item.y] = arrays[item.y], arrays[item.x]

    def give(self, item: Give) -> None:
        self.outputs[item.slot] = self.arrays.pop(item.array)

    def setsize(self, item: SetSize) -> None:
        if isinstance(self.sizes, list):
            self.sizes[item.place] = self.index(item.value)

    # -- control --------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        # the instructions that are Python's own words
        return {"for": self.loop, "while": self.repeat, "if": self.branch, "return": self.leave}[name]

    def loop(self, item: For) -> None:
        for index in range(self.index(item.start), self.index(item.stop)):
            self.values[item.index] = np.int64(index)
            self.block(item.body)

    def lanes(self, item: Lanes) -> None:
        for index in range(item.count):
            self.values[item.index] = np.int64(index)
            self.adds_nothing = index < item.again
            self.block(item.body)
        self.adds_nothing = False

    def repeat(self, item: While) -> None:
        while True:
            self.block(item.test)
            if not self.value(item.cond, "bool"):
                return
            self.block(item.body)

    def branch(self, item: If) -> None:
        self.block(item.then if self.value(item.cond, "bool") else item.other)

    def call(self, item: Call) -> None:
        args = [
            self.arrays[a.array][self.place(a.index) :] if isinstance(a, Address) else self.value(a.value, a.type)
            for a in item.args
        ]
        found = self.externs[item.name](*args)
        if item.out is not None:
            self.values[item.out] = NUMPY[item.out.type](found)

    def apply(self, item: Apply) -> None:
        piece, arrays, values = item.piece, self.arrays, self.values
        given = [*zip(item.arrays, piece.arrays, strict=True)]
        others = {array: data for array, data in arrays.items() if array not in piece.moved}  # those outside
        self.arrays = {**others, **{inner: arrays[outer] for outer, inner in given if outer in arrays}}
        numbers = {r: self.value(x, r.type) for x, r in zip(item.numbers, piece.registers, strict=True)}
        variables = [*zip(item.variables, piece.variables, strict=True)]
        self.values = {**values, **numbers, **{inner: values[outer] for outer, inner in variables}}
        self.block(piece.body)
        values.update({outer: self.values[inner] for outer, inner in variables})
        arrays.update({outer: self.arrays[inner] for outer, inner in given if inner in piece.moved})
        self.arrays, self.values = arrays, values

    def poll(self, item: Poll) -> None:
        """Nobody interrupts a test."""

    def leave(self, item: Return) -> None:
        raise _Left(item.status)


__all__ = ["NUMPY", "run"]
