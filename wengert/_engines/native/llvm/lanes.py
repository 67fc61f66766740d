"""Writes `Lanes` as LLVM IR: a loop whose iterations run side by side, each operation one of vectors.

LLVM's own vectorisers look at innermost loops only. An iteration here may hold loops, running totals and arrays of its
own: it is what one row of a matrix goes through, say, and 16 rows go through it together. Of a register it is known
whether it is the same for all iterations, a number that grows by a fixed step from one iteration to the next (then only
the first iteration's is computed, and arrays are read at neighbouring places), or a vector. An array of the iterations'
own holds for each place the numbers of all iterations side by side, so that it is read and written a vector at a time.

A body may hold arithmetic, choices, arrays, loops whose bounds all iterations share, and branches on what all
iterations share. A branch on what differs may only `Accumulate`: it is taken if any iteration takes it, and the others
add nothing. `suits` says whether a body is of that kind.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from math import gcd
from typing import Any, ClassVar

from ..ir.loops import (
    FLOATS,
    TYPES,
    WIDTHS,
    Accumulate,
    Alloc,
    Array,
    Block,
    Convert,
    Fill,
    For,
    Get,
    If,
    Lanes,
    Let,
    Load,
    Local,
    Operand,
    Reg,
    Select,
    Set,
    Store,
    Var,
)
from ..ir.outlining import walk
from . import vectormath
from .jit import SIDE_BY_SIDE
from .values import MEMORY_TYPE, REGISTER, Values, accumulating, constant

ALIGNED = 64  # bytes: arrays of the iterations' own


class Unsuited(Exception):
    """A body that cannot run side by side."""


class Classes:
    """What of a body differs from one iteration to the next.

    Attributes:
        steps: registers that grow by a fixed step, and the step.
        vectors: registers that differ in any other way.
        varying: variables that differ.
        own: arrays of which each iteration has one.
        products: registers that are products and only terms of sums: they may be added without being rounded.

    Raises:
        Unsuited: the body is not one for lanes.
    """

    def __init__(self, item: Lanes) -> None:
        self.steps: dict[Reg, Operand] = {}
        self.vectors: set[Reg] = set()
        self.varying: set[Var] = set()
        self.own: set[Array] = set()
        self.products = _products(item.body)
        while True:
            count = len(self.varying)
            self.steps, self.vectors = {item.index: 1}, set()
            self.block(item.body, False)
            if len(self.varying) == count:
                return

    def differs(self, operand: object) -> bool:
        """Whether an operand may not be the same for all iterations."""
        return type(operand) is Reg and (operand in self.vectors or operand in self.steps)

    def block(self, block: Block, is_masked: bool) -> None:
        for item in block:
            look = _LOOKS.get(type(item))
            if look is None or (is_masked and type(item) in (Set, Store, Fill)):
                raise Unsuited(type(item).__name__)
            look(self, item, is_masked)

    def let(self, item: Let, is_masked: bool) -> None:
        if any(map(self.differs, item.args)):
            self.note(item.out, self.step_of(item) if item.type == "i64" else None)

    def note(self, out: Reg, step: Operand | None) -> None:
        if step is None:
            self.vectors.add(out)
        elif not (type(step) is int and step == 0):
            self.steps[out] = step

    def step_of(self, item: Let) -> Operand | None:
        """By how much the result of an operation on such numbers grows; None if by no fixed step."""
        if item.op not in ("add", "sub", "mul") or any(x in self.vectors for x in item.args):
            return None
        x, y = item.args
        p, q = (self.steps.get(v, 0) if type(v) is Reg else 0 for v in (x, y))
        if item.op == "mul":
            return None if p and q else _times(p, y) if p else _times(q, x)
        if type(q) is int and q == 0:
            return p
        if type(q) is int and item.op == "sub":
            q = -q
        elif item.op == "sub":
            return None
        if type(p) is int and type(q) is int:
            return p + q
        return q if type(p) is int and p == 0 else None

    def value(self, item: Any, is_masked: bool) -> None:
        operands = (item.cond, item.x, item.y) if type(item) is Select else (item.x,)
        if any(map(self.differs, operands)):
            self.vectors.add(item.out)

    def get(self, item: Get, is_masked: bool) -> None:
        if item.var in self.varying:
            self.vectors.add(item.out)

    def set(self, item: Set, is_masked: bool) -> None:
        if self.differs(item.value):
            self.varying.add(item.var)

    def load(self, item: Load, is_masked: bool) -> None:
        if item.array.type not in TYPES:
            raise Unsuited("half floats and complex numbers")
        if item.array in self.own or self.differs(item.index):
            self.vectors.add(item.out)

    def store(self, item: Store, is_masked: bool) -> None:
        if item.array.type not in TYPES:
            raise Unsuited("half floats and complex numbers")
        if item.array not in self.own and not self.differs(item.index):
            raise Unsuited("several iterations write to one place")

    def accumulate(self, item: Accumulate, is_masked: bool) -> None:
        if item.array in self.own or self.differs(item.index):
            raise Unsuited("sums at places that differ")

    def array(self, item: Any, is_masked: bool) -> None:
        if type(item.count) is not int:
            raise Unsuited("an array whose size only the run tells")
        self.own.add(item.array)

    def fill(self, item: Fill, is_masked: bool) -> None:
        if item.array not in self.own or self.differs(item.start) or self.differs(item.count):
            raise Unsuited("zeros in an array of all iterations")

    def loop(self, item: For, is_masked: bool) -> None:
        if self.differs(item.start) or self.differs(item.stop):
            raise Unsuited("loops that differ")
        self.block(item.body, is_masked)

    def branch(self, item: If, is_masked: bool) -> None:
        is_own = self.differs(item.cond)
        if is_own and item.other:
            raise Unsuited("branches that differ")
        self.block(item.then, is_masked or is_own)
        self.block(item.other, is_masked)


_LOOKS: dict[type, Callable[[Classes, Any, bool], None]] = {
    Let: Classes.let, Select: Classes.value, Convert: Classes.value, Get: Classes.get, Set: Classes.set,
    Load: Classes.load, Store: Classes.store, Accumulate: Classes.accumulate, Local: Classes.array,
    Alloc: Classes.array, Fill: Classes.fill, For: Classes.loop, If: Classes.branch,
}  # fmt: skip


def _times(step: Operand, factor: Operand) -> Operand | None:
    if type(step) is int and type(factor) is int:
        return step * factor
    return factor if type(step) is int and step == 1 else step if type(factor) is int and factor == 1 else None


def _products(body: Block) -> set[Reg]:
    products: set[Reg] = set()
    terms: set[Reg] = set()
    for item in walk(body):
        if type(item) is Let and item.type in FLOATS:
            if item.op == "mul":
                products.add(item.out)
            elif item.op == "sum":
                terms.update(x for x in item.args if type(x) is Reg)
        elif type(item) is Accumulate and type(item.value) is Reg:
            terms.add(item.value)
    return products & terms


def suits(item: Lanes) -> bool:
    """Whether a body can run side by side."""
    try:
        Classes(item)
    except Unsuited:
        return False
    return True


class SideBySide(Values):
    """Writes the instructions of one body into the function that they are part of.

    Attributes:
        classes_of: finds what differs between iterations.
        writes: by kind of instruction, what writes one.
    """

    classes_of: ClassVar[type[Classes]] = Classes
    writes: ClassVar[dict[type, Callable[[Any, Any], None]]] = {}

    def __init__(self, kernel: Any, item: Lanes) -> None:
        self.kernel = kernel
        self.width = item.count
        self.lines = kernel.lines
        self.classes = self.classes_of(item)
        self.index = item.index
        self.mask = self.all_but(item.again)
        self.made: list[dict[Any, str]] = []  # by block, the vectors made of what all iterations share
        self.slots: set[Var] = set()

    def temp(self) -> str:
        return self.kernel.temp()

    def declare(self, name: str, text: str) -> None:
        self.kernel.declare(name, text)

    def run(self, body: Block) -> None:
        kernel = self.kernel
        before = kernel.emitters
        kernel.emitters = {kind: self.bound(emit) for kind, emit in self.writes.items()}
        if kernel.watch is not None:
            kernel.watch.lanes = self
        kernel.lines.append(SIDE_BY_SIDE.rstrip())
        kernel.lines.append(f"  %v{self.index.number} = add i64 0, 0")
        self.block(body)
        kernel.emitters = before
        if kernel.watch is not None:
            kernel.watch.lanes = None

    def bound(self, emit: Callable[[SideBySide, Any], None]) -> Callable[[Any, Any], None]:
        return lambda kernel, item: emit(self, item)

    def block(self, body: Block) -> None:
        with self.scope():
            self.kernel.block(body)

    @contextmanager
    def scope(self) -> Any:
        """What is made of shared numbers inside is not there afterwards."""
        self.made.append({})
        try:
            yield
        finally:
            self.made.pop()

    # -- operands -------------------------------------------------------------------------------------------------

    def operand(self, operand: Operand, type_: str) -> str:
        """An operand as a vector."""
        if type(operand) is not Reg:
            return self.constant(operand, type_)
        if operand in self.classes.vectors:
            return f"%v{operand.number}"
        for made in reversed(self.made):
            if operand in made:
                return made[operand]
        found = self.repeated(f"%v{operand.number}", type_)
        step = self.classes.steps.get(operand)
        if step is not None:
            found = self.line(f"add {self.kind('i64')} {found}, {self.ramp(step)}")
        self.made[-1][operand] = found
        return found

    def ramp(self, step: Operand) -> str:
        """By how much the iterations' numbers are above that of the first."""
        factor = step if type(step) is int else 1
        numbers = f"<{', '.join(f'i64 {iteration * factor}' for iteration in range(self.width))}>"
        if type(step) is int:
            return numbers
        return self.line(f"mul {self.kind('i64')} {self.operand(step, 'i64')}, {numbers}")

    def all_but(self, again: int) -> str:
        """Which iterations add something, if the first so many do not; nothing where all do."""
        bits = ("true" if iteration >= again else "false" for iteration in range(self.width))
        return f"<{', '.join(f'i1 {bit}' for bit in bits)}>" if again else ""

    def reduced(self, word: str, vector: str) -> str:
        """What `umax`, say, makes of the i64 of all iterations."""
        name, kind = f"llvm.vector.reduce.{word}.v{self.width}i64", self.kind("i64")
        self.declare(name, f"declare i64 @{name}({kind})")
        return self.line(f"call i64 @{name}({kind} {vector})")

    def repeated(self, scalar: str, type_: str) -> str:
        kind = self.kind(type_)
        one = self.line(f"insertelement {kind} poison, {REGISTER[type_]} {scalar}, i64 0")
        return self.line(f"shufflevector {kind} {one}, {kind} poison, <{self.width} x i32> zeroinitializer")

    # -- values ---------------------------------------------------------------------------------------------------

    def flags(self, item: Let) -> str:
        return " contract" if item.op == "sum" or item.out in self.classes.products else ""

    def mathematics(self, op: str, type_: str, args: list[str]) -> str:
        """A function's vector forms on parts of the vectors, the rest by the function itself."""
        kind, scalar = self.kind(type_), REGISTER[type_]
        found, done = "poison", 0
        for width in vectormath.widths(op, type_):
            while self.width - done >= width:
                parts = [self.part(a, type_, done, width) for a in args]
                part = f"<{width} x {scalar}>"
                value = self.line(f"call {part} @wg.{op}.{type_}.{width}({', '.join(f'{part} {p}' for p in parts)})")
                found, done = self.joined(found, value, type_, done, width), done + width
        for iteration in range(done, self.width):
            ones = [self.line(f"extractelement {kind} {a}, i64 {iteration}") for a in args]
            value = self.line(f"call {scalar} @wg.{op}.{type_}({', '.join(f'{scalar} {x}' for x in ones)})")
            found = self.line(f"insertelement {kind} {found}, {scalar} {value}, i64 {iteration}")
        return f"bitcast {kind} {found} to {kind}"

    def part(self, x: str, type_: str, start: int, width: int) -> str:
        if width == self.width:
            return x
        kind, part = self.kind(type_), f"<{width} x {REGISTER[type_]}>"
        name = f"llvm.vector.extract.v{width}{type_}.v{self.width}{type_}"
        self.declare(name, f"declare {part} @{name}({kind}, i64)")
        return self.line(f"call {part} @{name}({kind} {x}, i64 {start})")

    def joined(self, whole: str, x: str, type_: str, start: int, width: int) -> str:
        if width == self.width:
            return x
        kind, part = self.kind(type_), f"<{width} x {REGISTER[type_]}>"
        name = f"llvm.vector.insert.v{self.width}{type_}.v{width}{type_}"
        self.declare(name, f"declare {kind} @{name}({kind}, {part}, i64)")
        return self.line(f"call {kind} @{name}({kind} {whole}, {part} {x}, i64 {start})")

    def set(self, item: Set) -> None:
        Values.set(self if item.var in self.classes.varying else self.kernel, item)

    def slot(self, var: Var) -> str:
        name = f"%x{var.number}.lanes"
        if var not in self.slots:
            self.slots.add(var)
            self.kernel.top.append(f"  {name} = alloca {self.kind(var.type)}")
        return name

    # -- arrays ---------------------------------------------------------------------------------------------------

    def place(self, array: Array, index: Operand, part: Operand = 0) -> str:
        """Of an array of the iterations' own, the address of the elements of all of them."""
        if array not in self.classes.own:
            return self.kernel.place(array, index)
        base, kind = self.kernel.pointer(array), MEMORY_TYPE[array.type]
        if type(index) is int:
            return self.line(f"getelementptr inbounds {kind}, ptr {base}, i64 {index * self.width}")
        start = self.line(f"mul i64 {self.shared(index, 'i64')}, {self.width}")
        return self.line(f"getelementptr inbounds {kind}, ptr {base}, i64 {start}")

    def places(self, array: Array, index: Operand) -> list[str]:
        """The addresses for all iterations, where they are not side by side."""
        kind = MEMORY_TYPE[array.type]
        step = self.classes.steps.get(index) if type(index) is Reg else None
        if array not in self.classes.own and type(step) is int:
            base = self.place(array, index)
            return [
                self.line(f"getelementptr inbounds {kind}, ptr {base}, i64 {iteration * step}")
                for iteration in range(self.width)
            ]
        vector = self.operand(index, "i64")
        if array in self.classes.own:
            scaled = self.line(f"mul {self.kind('i64')} {vector}, splat (i64 {self.width})")
            vector = self.line(f"add {self.kind('i64')} {scaled}, {self.ramp(1)}")
        base = self.kernel.pointer(array)
        found: list[str] = []
        for iteration in range(self.width):
            number = self.line(f"extractelement {self.kind('i64')} {vector}, i64 {iteration}")
            found.append(self.line(f"getelementptr inbounds {kind}, ptr {base}, i64 {number}"))
        return found

    def is_beside(self, array: Array, index: Operand) -> bool:
        """Whether the iterations' elements lie side by side."""
        if array in self.classes.own:
            return not self.classes.differs(index)
        step = self.classes.steps.get(index) if type(index) is Reg else None
        return type(step) is int and step == 1

    def aligned(self, array: Array) -> str:
        width = WIDTHS[array.type]
        return f", align {gcd(self.width * width, ALIGNED) if array in self.classes.own else width}"

    def accumulate(self, item: Accumulate) -> None:
        type_ = item.array.type
        value = self.operand(item.value, type_)
        kind, one = self.kind(type_), REGISTER[type_]
        if self.mask:
            none = self.constant(-0.0 if type_ in FLOATS else 0, type_)
            value = self.line(f"select {self.kind('bool')} {self.mask}, {kind} {value}, {kind} {none}")
        if item.slots > 1 and self.width % item.slots == 0:
            self.add_parts(item, value)
            return
        word = accumulating(type_).split()[0]
        name = f"llvm.vector.reduce.{word}.v{self.width}{type_ if type_ in FLOATS else one}"
        if type_ in FLOATS:
            self.declare(name, f"declare {one} @{name}({one}, {kind})")
            start = f"{one} {constant(-0.0, type_)}"
            total = self.line(f"call reassoc contract {one} @{name}({start}, {kind} {value})")
        else:
            self.declare(name, f"declare {one} @{name}({kind})")
            total = self.line(f"call {one} @{name}({kind} {value})")
        self.kernel.add(item, self.kernel.in_memory(total, type_))

    def add_parts(self, item: Accumulate, value: str) -> None:
        """Adds to all slots at once."""
        type_, width = item.array.type, item.slots
        place, kind = self.kernel.first_slot(item), f"<{width} x {REGISTER[type_]}>"
        align = gcd(width * WIDTHS[type_], ALIGNED)
        total = self.line(f"load {kind}, ptr {place}, align {align}")
        for start in range(0, self.width, width):
            part = self.part(value, type_, start, width)
            total = self.line(f"fadd contract {kind} {total}, {part}")
        self.lines.append(f"  store {kind} {total}, ptr {place}, align {align}")

    def local(self, item: Any) -> None:
        """Made at the start, for all iterations."""
        if getattr(item, "zero", False):
            self.fill(Fill(item.array, 0, item.count))

    # -- control --------------------------------------------------------------------------------------------------

    def loop(self, item: For) -> None:
        with self.scope():
            self.kernel.iterations(item)

    def branch(self, item: If) -> None:
        if not self.classes.differs(item.cond):
            with self.scope():
                self.kernel.branch(item)
            return
        before = self.mask
        mask, kind = self.operand(item.cond, "bool"), self.kind("bool")
        if before:
            mask = self.line(f"and {kind} {before}, {mask}")
        name = f"llvm.vector.reduce.or.v{self.width}i1"
        self.declare(name, f"declare i1 @{name}({kind})")
        taken = self.line(f"call i1 @{name}({kind} {mask})")
        then, after = self.kernel.label(), self.kernel.label()
        self.lines += [f"  br i1 {taken}, label %{then}, label %{after}", f"{then}:"]
        self.mask = mask
        self.block(item.then)
        self.mask = before
        self.lines += [f"  br label %{after}", f"{after}:"]


def _where_it_differs(emit: Callable[[Values, Any], None]) -> Callable[[SideBySide, Any], None]:
    """Writes an instruction on vectors if its result differs between iterations, else on what all share."""
    return lambda lanes, item: emit(lanes if item.out in lanes.classes.vectors else lanes.kernel, item)


SideBySide.writes = {
    Let: _where_it_differs(Values.let), Select: _where_it_differs(Values.select),
    Convert: _where_it_differs(Values.convert), Get: _where_it_differs(Values.get),
    Load: _where_it_differs(Values.load), Set: SideBySide.set, Store: SideBySide.store,
    Accumulate: SideBySide.accumulate, Local: SideBySide.local, Alloc: SideBySide.local, Fill: SideBySide.fill,
    For: SideBySide.loop, If: SideBySide.branch,
}  # fmt: skip


def emit(kernel: Any, item: Lanes) -> None:
    """Writes the iterations into a function: `codegen` lists it among its emitters."""
    if item.count > 1:
        SideBySide(kernel, item).run(item.body)
    else:
        kernel.lines.append(f"  %v{item.index.number} = add i64 0, 0")
        kernel.block(item.body)
