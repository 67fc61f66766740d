"""`Builder`: makes loops. What lowerings call to emit instructions; constants are folded on the way.

Each method that gives a value returns an operand: a fresh register, or a Python number where all operands are numbers
and the result is certain (integer arithmetic of indices, mostly).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any, cast

from ..run.owners import Owner, owner_of
from . import half_floats
from .complex_numbers import Pair, PairVar, Parts, arithmetic, pair_of
from .edges import Edge, Span
from .loops import (
    COMPLEX,
    FLOATS,
    HALVES,
    ITEM,
    OPS,
    Accumulate,
    Alloc,
    Argument,
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
    Var,
    While,
)

_FOLDED: dict[str, Callable[[int, int], Any]] = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip

# with which number an operation is none, so that LLVM chooses between what it is of and its result; None: with any
_NUMBERS_THAT_CHANGE_NOTHING: dict[str, float | None] = {
    "div": 1.0, "mul": 1.0, "sqrt": None, "maximum": -math.inf, "minimum": math.inf,
}  # fmt: skip

_OF_PARTS = (*HALVES, *COMPLEX)

LONGEST = 1_000_000  # registers and arrays of a function: to compile them takes a quarter of a minute
_LONG_ROW, _FEW_ROWS = 1024, 6  # of which each is a piece of a loop that would divide its index to find it


class TooLong(RuntimeError):
    """A function is too long to be compiled."""


class Builder:
    """A function under construction. `block` is where instructions go now; `depth` tells blocks apart.

    Attributes:
        block: the innermost open block.
        scopes: for each open block, the outermost first, what was computed in it: `memo` remembers values there.
        has_halves: whether the code may convert float16 as processors do (`half_to`), and not by integers.
        has_fma: whether products are added with one rounding at no cost.
        spans: of loops that may be cut in pieces, by index, with the places where a comparison comes out otherwise.
        large: extents that only the run tells, and that are large (`dims.py`).
    """

    def __init__(self, has_halves: bool = False, has_fma: bool = False) -> None:
        self.has_halves = has_halves
        self.has_fma = has_fma
        self.block: Block = []
        self.scopes: list[dict[Any, Any]] = [{}]
        self.spans: dict[Reg, tuple[Span, set[Edge]]] = {}
        self.large: set[Reg] = set()
        self.width = 0  # of the `lanes` around, if any
        self.is_single = False  # whether elements are computed one by one, so that no vector is made of them
        self.plain: dict[Operand, Operand] = {}  # registers that are another one plus 0.0
        self._chosen: dict[Operand, Select] = {}  # registers that are a number or another register
        self._steps: dict[Reg, tuple[Reg, int]] = {}  # an index, a place or a large extent, and a number
        self._places: dict[Operand, tuple[Operand, int, Operand]] = {}  # what `place` made, and of what
        self.prologue: Block = []  # what is done first of all
        self.node = ""  # what is being lowered, where accesses are checked
        self.doing: Any = None  # the node that is being lowered
        self.callers: dict[str, set[str]] = {}  # by function outside, the ops that call it
        self.owners: dict[int, Owner] = {}  # for what arrays on the heap are made, by number
        self._count = 0
        self._body = self.block

    # -- values ---------------------------------------------------------------------------------------------------

    def reg(self, type_: str) -> Reg:
        """A fresh register, for an instruction added by `emit`."""
        self._count += 1
        return Reg(type_, self._count)

    def check_length(self) -> None:
        """Refuses to go on with a function that has become too long to be compiled."""
        if self._count > LONGEST:
            raise TooLong(f"more than {LONGEST:,} values: to compile it takes too long")

    def mark(self) -> int:
        """A number above those of all registers and arrays so far, and below those of all that follow."""
        self._count += 1
        return self._count

    def emit(self, instruction: For) -> None:
        """Adds an instruction as it is."""
        self.block.append(instruction)

    def let(self, op: str, type_: str, *args: Operand) -> Operand:
        """The result of an operation on operands of a type."""
        if type_ in _OF_PARTS:
            return self._let_of_parts(op, type_, args)
        if type_ == "i64" and len(args) == 2 and op in _FOLDED:
            found = _simpler(op, args[0], args[1])
            if found is not None:
                return found
        elif op in _COMPARED and (type_ == "i64" or type(args[1]) is int):
            if type(args[0]) is int and type(args[1]) is int:
                return _COMPARED[op](args[0], args[1])
            if type_ == "i64" and (self.spans or self.large):
                decided = self._decided(op, args[0], args[1])
                if decided is not None:
                    return decided
        elif self.plain and op in _COMPARED:
            args = (*[self.plain.get(x, x) for x in args],)
        elif op == "add" and type_ in FLOATS:
            found = self._with_zero(type_, args[0], args[1])
            if found is not None:
                return found
        elif self._chosen and op in _NUMBERS_THAT_CHANGE_NOTHING:
            wanted = _NUMBERS_THAT_CHANGE_NOTHING[op]
            for arg in args[1:] if op == "div" else args:
                chosen = self._chosen.get(arg)
                if chosen is not None and (wanted is None or wanted in (chosen.x, chosen.y)):
                    chosen.guards = True
        return self._let(op, type_, args)

    def _let_of_parts(self, op: str, type_: str, args: tuple[Operand, ...]) -> Operand:
        """An operation on complex numbers, or on half floats."""
        if type_ in COMPLEX:
            return arithmetic(self, op, type_, *args)
        numbers = [half_floats.rounded_number(type_, x) if not isinstance(x, Reg) else x for x in args]
        found = self.let(op, "f32", *numbers)
        return found if OPS[op].result else half_floats.rounded(self, type_, found)

    def _let(self, op: str, type_: str, args: tuple[Operand, ...]) -> Reg:
        out = self.reg(OPS[op].result or type_)
        self.block.append(Let(out, op, args, type_))
        if type_ == "i64" and op in ("add", "sub") and (self.spans or self._places or self.large):
            self._note_step(out, op, args[0], args[1])
        return out

    def _with_zero(self, type_: str, x: Operand, y: Operand) -> Operand | None:
        """x + 0.0 is x but for the sign of zeros, and sums of it are those of x plus 0.0: so the zero, of which padding
        brings many, goes to the end of a chain of sums, once. None if no operand is of that kind."""
        if _is_zero(x):
            x, y = y, x
        if type(x) is Reg and _is_zero(y):
            if x in self.plain:
                return x
            total = x
        elif x in self.plain or y in self.plain:
            total = self._let("add", type_, (self.plain.get(x, x), self.plain.get(y, y)))
        else:
            return None
        found = self._let("add", type_, (total, 0.0))
        self.plain[found] = total
        return found

    def _note_step(self, out: Reg, op: str, x: Operand, y: Operand) -> None:
        if op == "add" and type(x) is int:
            x, y = y, x
        if type(x) is Reg and type(y) is int:
            index, step = self._steps.get(x, (x, 0))
            if index in self.spans or index in self._places or index in self.large:
                self._steps[out] = index, step + (y if op == "add" else -y)

    def _place_of(self, x: Operand, length: int) -> tuple[Operand, int, Operand]:
        """The row, the length of one and the place in it of an index, or of one that is so many places from it; a
        length of 0 where nothing is known."""
        base, step = self._steps.get(x, (x, 0)) if type(x) is Reg else (x, 0)
        row, found, i = self._places.get(base, (x, 0, 0))
        if not step:
            return row, found, i
        if found != length or type(i) is not int:
            return x, 0, 0
        rows, rest = divmod(i + step, length)
        return self.add(row, rows), length, rest

    def edge(self, x: Operand, end: Reg | None) -> Edge | None:
        """A number, or a register that is an extent and a number, as a place; None if it is no such."""
        if type(x) is int:
            return Edge(False, x)
        base, step = self._steps.get(x, (x, 0)) if type(x) is Reg else (x, 0)
        return Edge(True, step) if base is end else None

    def large_end(self, x: Operand) -> Reg | None:
        """The large extent near which an operand is, if any."""
        base = self._steps.get(x, (x, 0))[0] if type(x) is Reg else x
        return base if type(base) is Reg and base in self.large else None

    def span_of(self, extent: Operand) -> Span | None:
        """The range from 0 to an extent that is known, or large; None of others."""
        end = self.large_end(extent)
        behind = self.edge(extent, end)
        if behind is None or (behind.offset < 0 if end is None else not behind.is_near):
            return None
        return Span(Edge(False, 0), behind, end)

    def at_edge(self, edge: Edge, end: Reg | None) -> Operand:
        """A place as an operand."""
        return self.add(cast(Reg, end), edge.offset) if edge.is_from_end else edge.offset

    def _decided(self, op: str, x: Operand, limit: Operand) -> bool | None:
        """What a comparison comes to for each index of a loop; None, and a note, where it changes on the way."""
        if type(x) is not Reg:
            return None
        index, step = self._steps.get(x, (x, 0))
        known = self.spans.get(index)
        if known is None:
            return self._decided_of_extents(op, x, limit) if index in self.large else None
        span, cuts = known
        edge = self.edge(limit, span.end)
        if edge is None:
            return None
        there = edge.moved(-step)
        changes = [there, there.moved(1)] if op in ("eq", "ne") else [there.moved(op in ("le", "gt"))]
        if not all(map(span.is_comparable, changes)):
            return None
        changes = [c for c in changes if span.first < c < span.behind]
        if not changes:
            return _COMPARED[op](span.first, there)
        cuts.update(changes)
        return None

    def _decided_of_extents(self, op: str, x: Reg, limit: Operand) -> bool | None:
        """What a comparison of a large extent, or of a place near it, comes to."""
        end = self.large_end(x)
        this, other = self.edge(x, end), self.edge(limit, end)
        if this is None or other is None or not (this.is_near and other.is_near):
            return None
        return _COMPARED[op](this, other)

    def add(self, x: Operand, y: Operand) -> Operand:
        """The sum of two i64, such as indices."""
        return self.let("add", "i64", x, y)

    def exact(self, op: str, x: Operand, y: Operand) -> Operand:
        """The sum ("add") or product ("mul") of two i64, such as extents.

        Where 64 bits are too few for it, the function ends, and NumPy's kernels say what there is to say.
        """
        found = self.let(op, "i64", x, y)
        if type(found) is int and not -(2**63) <= found < 2**63:
            self.leave(Status.REFUSED)
            return 0
        if type(found) is Reg and found is not x and found is not y and not self.width:  # no lane leaves by itself
            with self.when(self._let(f"{op}_wraps", "i64", (x, y))):
                self.leave(Status.REFUSED)
        return found

    def sub(self, x: Operand, y: Operand) -> Operand:
        """The difference of two i64."""
        return self.let("sub", "i64", x, y)

    def mul(self, x: Operand, y: Operand) -> Operand:
        """The product of two i64."""
        return self.let("mul", "i64", x, y)

    def place(self, row: Operand, length: Operand, i: Operand) -> Operand:
        """row * length + i of i64 that are not negative, i less than the length: neither takes a division to find."""
        found = self.add(self.mul(row, length), i)
        if type(found) is Reg and found is not row and found is not i:
            if type(length) is int:
                self._places[found] = row, length, i
            else:
                self.remember(("row", found, length), (row, i))
        return found

    def divided(self, x: Operand, y: Operand) -> Operand:
        """x // y of two i64 that are not negative."""
        if type(x) is int and type(y) is int:
            return x // y
        if type(y) is int:
            if y == 1:
                return x
            row, length, i = self._place_of(x, y)
            if length == y:
                return row
            if length and length % y == 0:
                return self.place(row, length // y, self.divided(i, y))
            if length and y % length == 0:
                return self.divided(row, y // length)
            whole = self._quotient(x, y)
            if whole is not None:
                return whole
        known = self.known(("row", x, y))
        return self.let("div", "i64", x, y) if known is None else known[0]

    def remainder(self, x: Operand, y: Operand) -> Operand:
        """x % y of two i64 that are not negative."""
        if type(x) is int and type(y) is int:
            return x % y
        if type(y) is int:
            if y == 1:
                return 0
            row, length, i = self._place_of(x, y)
            if length == y:
                return i
            if length and length % y == 0:
                return self.remainder(i, y)
            if length and y % length == 0:
                return self.place(self.remainder(row, y // length), length, i)
            whole = self._quotient(x, y)
            if whole is not None:
                return self.sub(x, whole * y)
        known = self.known(("row", x, y))
        return self.let("rem", "i64", x, y) if known is None else known[1]

    def _quotient(self, x: Operand, y: int) -> int | None:
        """x // y for each index of a loop, if it is one number; None where it changes, with a note if seldom."""
        if type(x) is not Reg:
            return None
        index, step = self._steps.get(x, (x, 0))
        known = self.spans.get(index)
        if known is None:
            return None
        span, cuts = known
        if span.end is not None or span.first.offset + step < 0:
            return None
        low, high = (span.first.offset + step) // y, (span.behind.offset - 1 + step) // y
        if low == high:
            return low
        if y >= _LONG_ROW and high - low < _FEW_ROWS:
            cuts.update(Edge(False, k * y - step) for k in range(low + 1, high + 1))
        return None

    def both(self, x: Operand, y: Operand) -> Operand:
        """x and y, of booleans."""
        for this, other in ((x, y), (y, x)):
            if type(this) is bool:
                return other if this else False
        return self.let("and", "bool", x, y)

    def either(self, x: Operand, y: Operand) -> Operand:
        """x or y, of booleans."""
        for this, other in ((x, y), (y, x)):
            if type(this) is bool:
                return True if this else other
        return self.let("or", "bool", x, y)

    def negated(self, x: Operand) -> Operand:
        """not x."""
        return (not x) if type(x) is bool else self.let("not", "bool", x)

    def select(self, type_: str, cond: Operand, x: Operand, y: Operand) -> Operand:
        """x where cond, else y."""
        if type(cond) is bool:
            return x if cond else y
        if type_ in COMPLEX:
            return cast(
                Any,
                Parts(self, type_).chosen(cond, pair_of(x), pair_of(y)),
            )
        if type_ in HALVES:
            type_ = "f32"
        out = self.reg(type_)
        chosen = Select(out, cond, x, y)
        self.block.append(chosen)
        if type_ in FLOATS and isinstance(x, Reg) != isinstance(y, Reg):
            self._chosen[out] = chosen
        return out

    def convert(self, target: str, source: str, x: Operand, bits: bool = False) -> Operand:
        """x in another type."""
        if target == source:
            return x
        if target in _OF_PARTS or source in _OF_PARTS:
            return self._convert_parts(target, source, x, bits)
        out = self.reg(target)
        self.block.append(Convert(out, x, source, bits))
        return out

    def _convert_parts(self, target: str, source: str, x: Operand, bits: bool) -> Operand:
        if target in COMPLEX:
            if source in COMPLEX:
                z = pair_of(x)
                return cast(Any, Pair(*[self.convert(ITEM[target], ITEM[source], part) for part in (z.re, z.im)]))
            return cast(Any, Pair(self.convert(ITEM[target], source, x), 0.0))
        if source in COMPLEX:
            z = pair_of(x)
            if target == "bool":
                return arithmetic(self, "ne", source, z, 0)
            return self.convert(target, ITEM[source], z.re)
        if bits:
            return self._convert_half_bits(target, source, x)
        if source in HALVES:  # every half float is a float32
            return self.convert(target, "f32", x)
        if source == "f64" and target == "f16":  # bfloat16s, elsewhere too, are rounded from float32s
            return half_floats.rounded(self, target, half_floats.from_double(self, x))
        return half_floats.rounded(self, target, self.convert("f32", source, x))

    def _convert_half_bits(self, target: str, source: str, x: Operand) -> Operand:
        if source in HALVES:
            return self.convert(target, "u16", half_floats.bits(self, source, x), bits=True)
        return half_floats.widened(self, target, self.convert("u16", source, x, bits=True))

    # -- variables and arrays -------------------------------------------------------------------------------------

    def var(self, type_: str, value: Operand | None = None) -> Var:
        """A fresh variable, set now if a value is given."""
        found: Any
        if type_ in COMPLEX:
            found = PairVar(type_, self.var(ITEM[type_]), self.var(ITEM[type_]))
        else:
            self._count += 1
            found = Var("f32" if type_ in HALVES else type_, self._count)
        if value is not None:
            self.set(found, value)
        return found

    def get(self, var: Var) -> Reg:
        """What a variable holds."""
        if type(var) is PairVar:
            return cast(Any, Pair(self.get(var.re), self.get(var.im)))
        out = self.reg(var.type)
        self.block.append(Get(out, var))
        return out

    def set(self, var: Var, value: Operand) -> None:
        """Sets a variable."""
        if type(var) is PairVar:
            z = pair_of(value)
            self.set(var.re, z.re)
            self.set(var.im, z.im)
            return
        self.block.append(Set(var, value))

    def load(self, array: Array, index: Operand) -> Reg:
        """An element."""
        type_ = array.type
        if type_ in COMPLEX:
            return cast(Any, Pair(self._load(array, index, 0), self._load(array, index, 1)))
        found = self._load(array, index, 0)
        return cast(Any, half_floats.widened(self, type_, found)) if type_ in HALVES else found

    def load_number(self, array: Array, index: Operand, number: Operand) -> Reg:
        """Of complex numbers, the real number so many after the first one of an element."""
        return self._load(array, index, number)

    def _load(self, array: Array, index: Operand, part: Operand) -> Reg:
        out = self.reg(ITEM[array.type])
        self.block.append(Load(out, array, index, self.node, part))
        return out

    def store(self, array: Array, index: Operand, value: Operand) -> None:
        """Sets an element."""
        if array.type in COMPLEX:
            z = pair_of(value)
            for part, x in enumerate((z.re, z.im)):
                self.block.append(Store(array, index, x, self.node, part))
            return
        if array.type in HALVES:
            value = half_floats.bits(self, array.type, value)
        self.block.append(Store(array, index, value, self.node))

    def accumulate(self, array: Array, index: Operand, value: Operand, slots: int = 1) -> None:
        """Adds to an element, in no particular order of `lanes`; to one of its slots, if it has several."""
        self.block.append(Accumulate(array, index, value, slots, self.node))

    def array(self, type_: str, place: str) -> Array:
        """An array without memory yet (operands, results, arrays that grow)."""
        self._count += 1
        return Array(type_, self._count, place)

    def local(self, type_: str, count: int) -> Array:
        """A small array on the stack."""
        found = self.array(type_, "local")
        self.block.append(Local(found, count))
        return found

    def alloc(self, type_: str, count: Operand, zero: bool = False) -> Array:
        """An array on the heap."""
        found = self.array(type_, "heap")
        self.owners[found.number] = owner_of(self.doing, type_, count)
        self.block.append(Alloc(found, count, zero))
        return found

    def grown(self, type_: str, count: Operand = 1) -> Array:
        """An array on the heap that can grow."""
        found = self.array(type_, "grown")
        self.owners[found.number] = owner_of(self.doing, type_, None)
        self.reserve(found, count)
        return found

    def reserve(self, array: Array, count: Operand) -> None:
        """Makes room in an array that can grow."""
        self.block.append(Reserve(array, count))

    def fill(self, array: Array, start: Operand, count: Operand) -> None:
        """Zeros."""
        self.block.append(Fill(array, start, count, self.node))

    def copy(
        self, target: Array, target_start: Operand, source: Array, source_start: Operand, count: Operand
    ) -> None:  # fmt: skip
        """Copies elements."""
        self.block.append(Copy(target, target_start, source, source_start, count, self.node))

    def extent(self, array: Array, count: Operand) -> None:
        """Says how many elements an array of the caller's has."""
        self.block.append(Extent(array, count))

    def swap(self, x: Array, y: Array) -> None:
        """Exchanges two arrays."""
        self.block.append(Swap(x, y))

    def call(self, name: str, args: Sequence[Argument], result: str = "") -> Operand:
        """Calls a function outside; its result, if it has one."""
        out = self.reg(result) if result else None
        if self.doing is not None:
            self.callers.setdefault(name, set()).add(self.doing.op.name)
        self.block.append(Call(out, name, (*args,), self.node))
        return 0 if out is None else out

    # -- control --------------------------------------------------------------------------------------------------

    @contextmanager
    def inside(self, block: Block) -> Any:
        """Instructions go to a block."""
        before, self.block = self.block, block
        self.scopes.append({})
        try:
            yield
        finally:
            self.block = before
            self.scopes.pop()

    @contextmanager
    def apart(self, block: Block) -> Any:
        """Instructions go to a block that knows nothing of what is around it."""
        before, self.scopes = self.scopes, []
        with self.inside(block):
            yield
        self.scopes = before

    @property
    def is_outermost(self) -> bool:
        """Whether instructions go to the function's own block, outside of all loops and branches."""
        return self.block is self._body

    @contextmanager
    def scope(self) -> Any:
        """What is remembered inside is forgotten at the end."""
        self.scopes.append({})
        try:
            yield
        finally:
            self.scopes.pop()

    @contextmanager
    def spanning(self, index: Reg, span: Span) -> Any:
        """Comparisons of an index are decided where its range does; `as cuts:` where their outcomes change."""
        cuts: set[Edge] = set()
        self.spans[index] = span, cuts
        try:
            yield cuts
        finally:
            del self.spans[index]

    @contextmanager
    def loop(self, start: Operand, stop: Operand, work: Operand | None = None) -> Any:
        """`with builder.loop(0, n) as i:` what is emitted inside is the loop's body."""
        made = For(self.reg("i64"), start, stop, [], work)
        self.block.append(made)
        with self.inside(made.body):
            yield made.index

    @contextmanager
    def lanes(self, count: int, is_masked: bool = False, again: int = 0) -> Any:
        """`with builder.lanes(16) as made:` what is emitted inside is done for 16 values of `made.index` at once, each
        on a way of its own if they are masked. The first `again` of them add nothing."""
        made = Lanes(self.reg("i64"), count, [], is_masked, again)
        self.block.append(made)
        before, self.width = self.width, count
        with self.inside(made.body):
            yield made
        self.width = before

    @contextmanager
    def own_memory(self) -> Any:
        """What is allocated inside is the iteration's own, also where iterations run in threads."""
        made = Lanes(self.reg("i64"), 1)
        self.block.append(made)
        with self.inside(made.body):
            yield

    @contextmanager
    def when(self, cond: Operand) -> Any:
        """`with builder.when(cond) as branch:` what is emitted inside runs if cond; `branch.other` is the else. Of what
        is known never to run there is nothing, and its else stands where it would."""
        made = If(cond)
        if cond is False:
            made.other = self.block
        else:
            self.block.append(made)
        with self.inside(made.then):
            yield made

    def repeat(self, test: Callable[[], Operand], body: Callable[[], None]) -> None:
        """A while loop; both functions emit their block."""
        made = While([], False, [])
        with self.inside(made.test):
            made.cond = test()
        with self.inside(made.body):
            body()
        self.block.append(made)

    @contextmanager
    def one_by_one(self) -> Any:
        """What is computed inside is of single elements; of several at once where there are `lanes` around."""
        before, self.is_single = self.is_single, self.width == 0
        try:
            yield
        finally:
            self.is_single = before

    def poll(self, every: int = 1024) -> None:
        """Lets the user interrupt here."""
        self.block.append(Poll(every))

    def leave(self, status: Status) -> None:
        """Returns from the function."""
        self.block.append(Return(status))

    def give(self, array: Array, slot: int) -> None:
        """Makes an array the caller's result."""
        self.block.append(Give(array, slot))

    def set_size(self, place: int, value: Operand) -> None:
        """Tells the caller an extent."""
        self.block.append(SetSize(place, value))

    # -- what is known --------------------------------------------------------------------------------------------

    def known(self, key: tuple[Any, ...]) -> Any:
        """What `remember` was given for a key in this block or one around it; None if nothing."""
        for scope in reversed(self.scopes):
            found = scope.get(key)
            if found is not None:
                return found
        return None

    def remember(self, key: tuple[Any, ...], value: object) -> None:
        """Remembers something until the open block ends."""
        self.scopes[-1][key] = value

    def function(
        self, name: str, inputs: list[Array], outputs: list[Array | None], sizes: list[Reg]
    ) -> Function:  # fmt: skip
        """The finished function."""
        return Function(name, inputs, outputs, sizes, [*self.prologue, *self._body])


def _is_zero(x: Operand) -> bool:
    return type(x) is float and x == 0.0 and math.copysign(1.0, x) > 0.0


def _simpler(op: str, x: Operand, y: Operand) -> Operand | None:
    """The result where one of the operands is a number that makes it plain, else None."""
    if type(x) is int and type(y) is int:
        return _FOLDED[op](x, y)
    if type(y) is int:
        if y == 0:
            return 0 if op == "mul" else x
        if y == 1 and op == "mul":
            return x
    elif type(x) is int:
        if x == 0 and op != "sub":
            return 0 if op == "mul" else y
        if x == 1 and op == "mul":
            return y
    return None
