"""Loops in, LLVM IR as text out.

A module has two functions, and one for each loop that may run in threads; none is inlined into another, for LLVM would
do its work twice. The entry, of the ABI `i32 (ptr buffers, ptr sizes, ptr context)`, loads the addresses of the arrays
and calls the kernel, whose parameters carry what LLVM must know of them: operands are only read, and no array overlaps
another. Variables are stack slots, which LLVM's first pass turns into registers. Floating-point
arithmetic is IEEE's to the letter but for `sum`, which may be reordered.

Memory: arrays whose count is a number are allocated when the kernel starts (on the stack if small; small ones that only
pieces use share a block beyond that), others where they stand. All are freed at the one exit, where failures go, too.
Their addresses are computed, or read from a table, where they are needed: each that stays known all through a function
of thousands of calls costs LLVM time in all of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from ..ir.accesses import Watch, is_on
from ..ir.loops import (
    COMPLEX,
    NESTING,
    WIDTHS,
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
    Piece,
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
    blocks_of,
    moved_by,
)
from ..ir.outlining import Captured, captured, lanes_of, var_uses
from ..ir.renaming import reads, walk
from ..ir.shared_work import WORTH, nanoseconds
from ..ir.sharing import may_fail
from ..ir.signal_checks import MOST
from ..run import context
from . import lanes
from .jit import GATHERS, SCATTERED
from .target import vector_bits
from .values import MEMORY_TYPE, REGISTER, Values, accumulating
from .vectormath import ONE_OPERAND, TWO_OPERANDS

FEW = 16  # iterations of a loop, fewer than which may not fill a vector ...
MUCH = 80  # ... and the instructions of one from which on most of a vector is better than none
WRITTEN_OUT = 128  # items of all iterations of a loop in another one, up to which it is written out ...
FILLING = 8  # ... unless it has so many iterations, which make vectors themselves as fast as the loop around would
LEAST_CALLED = 4  # iterations that a vector function is called for: the fewest that there is one for
MOST_SIDE_BY_SIDE = 4  # vectors of iterations
WITH_REST = 16  # iterations at a time from which on LLVM makes shorter vectors, not calls of each, of those left
_OF_PLACES = ("add", "sub", "mul")  # what places are made of beside quotients
_PLAIN = (Let, Select, Convert, Get, Set, Load, Store)
FREE_METADATA = 10  # the number of the first metadata of a loop of its own
ABSURD = 2**62  # bytes that no machine has: `memory` gives none
ON_STACK = 2048  # bytes up to which an array of known count is on the stack ...
STACK = 16 * 1024  # ... while they are no more than this together
TOGETHER = 16 * 1024  # bytes up to which arrays that only pieces use lie in one block
ALIGNED = 64  # bytes: where each of them begins
# As many arrays as may have a variable each for an address that changes. Loops that swap arrays run a fifth slower
# where these addresses are read from a table, since LLVM takes each write for one that may change them.
FEW_CELLS = 64
ENDLESS = 2**62  # nanoseconds
STRAYED = "-1"  # what a part that would reach beyond an array puts where the number of an array that failed goes
LONGEST_BLOCK = 4_000  # lines without a jump (more than jit.STRAIGHT): LLVM takes quadratic time in longer ones


def module_text(function: Function, entry: str) -> str:
    """The LLVM module of a function, its entry under the name given."""
    kernel = _Kernel(function, entry)
    text = kernel.text()
    kernel.watch = None  # which knows the kernel: a cycle
    return text


class _Kernel(Values):
    """The text of one function under construction."""

    def __init__(self, function: Function, entry: str) -> None:
        self.function = function
        self.entry = entry
        self.top: list[str] = []  # of the first block: stack slots
        self.known: set[Operand] = set()  # the indices of loops that are written out
        self.made: dict[Operand, Let] = {}  # sums and products of whole numbers
        self.lines: list[str] = []
        self.declared: dict[str, str] = {}
        self.frees: list[str] = []  # at the exit
        self.pointers: dict[Array, str] = {}  # arrays whose address never changes
        self.cells: dict[Array, str] = {}  # slots that hold the addresses of others
        self.lent: frozenset[Array] = frozenset()  # of these, arrays of the function that runs this one
        self.together: dict[Array, int] = {}  # where in their block small arrays begin
        self.standing: list[Array] = []  # those with cells whose addresses are known where code is being written
        self.room = 0  # the bytes of that block
        self.vars: set[Var] = set()
        self.labels = 0
        self.around: list[For] = []  # the loops around what is being written
        self.temps = 0
        self.stack = 0
        self.has_poll = False
        self.checks: list[str] = []
        self.parallel: dict[For, Captured] = {}
        self.parts: list[str] = []  # the functions of parallel loops and of pieces
        self.pieces: set[Piece] = set()  # those that have a function
        self.emitters = EMITTERS
        self.widths: dict[Array, int] = {}  # of arrays made in `Lanes`: for how many lanes
        self.watch = Watch(self) if is_on() else None

    # -- the module -----------------------------------------------------------------------------------------------

    def text(self) -> str:
        function = self.function
        parameters = []
        loads = []
        for slot, array in enumerate([*function.inputs, *function.outputs]):
            if array is None:
                continue
            name = self.pointers[array] = f"%a{array.number}"
            kind = "readonly " if slot < len(function.inputs) else ""
            parameters.append(f"ptr noalias nocapture {kind}{name}")
            loads.append(f"  %s{slot} = getelementptr ptr, ptr %buffers, i64 {slot}")
            loads.append(f"  %p{slot} = load ptr, ptr %s{slot}")
        arguments = [line.split(" = ")[0].strip() for line in loads if " load " in line]
        sizes = [
            f"  %z{i} = getelementptr i64, ptr %sizes, i64 {i}\n  %v{r.number} = load i64, ptr %z{i}"
            for i, r in enumerate(function.sizes)
        ]
        self.find_parallel(function.body, var_uses(function.body))
        self.plan(function.body)
        self.allocate()
        self.block(function.body)
        common = ["ptr noalias nocapture %buffers", "ptr noalias nocapture %sizes", "ptr %context"]
        body = [
            f"define internal i32 @kernel({', '.join([*parameters, *common])}) #0 {{",
            "entry:",
            "  %status = alloca i32",
            "  store i32 0, ptr %status",
            *self.top,
            *sizes,
            *self.checks,
            *self.lines,
            "  br label %exit",
            "exit:",
            *self.frees,
            "  %result = load i32, ptr %status",
            "  ret i32 %result",
            "}",
        ]
        given = ", ".join([*(f"ptr {a}" for a in arguments), "ptr %buffers, ptr %sizes, ptr %context"])
        head = [
            f"define i32 @{self.entry}(ptr %buffers, ptr %sizes, ptr %context) #0 {{",
            *loads,
            f"  %status = call i32 @kernel({given})",
            "  ret i32 %status",
            "}",
        ]
        attributes = "attributes #0 = { nounwind noinline alignstack=64 }"
        if function.is_scattered:
            head.insert(0, SCATTERED)
        return "\n".join([*head, *body, *self.parts, *self.declared.values(), attributes, ""])

    def taken(self, arrays: list[Array], registers: list[Reg], written: set[Array]) -> list[str]:
        """The parameters of a function that gets arrays, some of which it writes to, and numbers from another one."""
        parameters: list[str] = []
        for array in arrays:
            name = self.pointers[array] = f"%a{array.number}"
            parameters.append(f"ptr noalias nocapture {'' if array in written else 'readonly '}{name}")
        return parameters + [f"{REGISTER[r.type]} %v{r.number}" for r in registers]

    def find_parallel(self, block: Block, uses: Counter[Var]) -> None:
        """Finds the loops whose bodies become functions for threads; `uses` are those of variables, everywhere."""
        for item in self.inside(block):
            if type(item) is For and item.work is not None and item not in self.parallel:
                found = captured(item, uses)
                if found is not None:
                    self.parallel[item] = found

    def inside(self, block: Block) -> Iterator[Any]:
        """The instructions of this function: not those of bodies that are functions of their own."""
        for item in block:
            yield item
            if type(item) in NESTING and item not in self.parallel:
                for inner in blocks_of(item):
                    yield from self.inside(inner)

    def plan(self, block: Block) -> None:
        """Finds the arrays and variables, before anything is emitted."""
        # arrays whose address changes have slots for it
        items = [*self.inside(block)]
        moved = {array for item in items for array in moved_by(item)}
        self.statics: list[Alloc] = []
        self.widths |= lanes_of(items)
        given = _only_given(items)
        made = Counter(item.array for item in items if type(item) is Alloc)
        self.made_once = {array for array, times in made.items() if times == 1} - moved - given
        for item in items:
            kind = type(item)
            if kind is Local:
                self.on_stack(item.array, item.count * self.widths.get(item.array, 1))
            elif kind is Alloc and type(item.count) is int and item.array not in moved:
                count = item.count * self.widths.get(item.array, 1)
                size = count * WIDTHS[item.array.type]
                if size <= ON_STACK and self.stack + size <= STACK:
                    self.on_stack(item.array, count)
                elif size <= TOGETHER and item.array in given:
                    self.together.setdefault(item.array, self.room)
                    self.room += -(-size // ALIGNED) * ALIGNED
                else:
                    self.statics.append(item)
            elif kind is Alloc:
                self.cell(item.array)
            elif kind is Get or kind is Set:
                self.var(item.var)
            elif kind is Poll or (kind is Apply and may_fail(item.piece)):
                self.count_polls()
            if kind is Apply:
                for var in item.variables:
                    self.var(var)
            for array in moved_by(item):
                self.cell(array)

    def count_polls(self) -> None:
        """Makes the counter of the iterations between two looks at signals."""
        if not self.has_poll:
            self.has_poll = True
            self.top += ["  %polls = alloca i32", f"  store i32 {MOST}, ptr %polls"]

    def on_stack(self, array: Array, count: int) -> None:
        if array in self.pointers:
            return
        self.stack += count * WIDTHS[array.type]
        self.pointers[array] = f"%a{array.number}"
        self.top.append(f"  %a{array.number} = alloca [{max(count, 1)} x {MEMORY_TYPE[array.type]}], align 64")

    def cell(self, array: Array) -> None:
        if array in self.cells:
            return
        name = self.cells[array] = f"%c{array.number}"
        if array.place == "grown":
            self.top += [f"  {name}.room = alloca i64", f"  store i64 0, ptr {name}.room"]

    def slots_of(self, array: Array) -> list[tuple[str, str]]:
        """What is known of an array whose address changes, by type: where it lies, and its room if it grows."""
        name = self.cells[array]
        return [(name, "ptr"), *([(f"{name}.room", "i64")] if array.place == "grown" else [])]

    def make_cells(self) -> None:
        """Makes the slots of addresses: variables, which LLVM holds in registers, or one table where there are many."""
        own = [name for array, name in self.cells.items() if array not in self.lent]
        if not own:
            return
        self.declare("drop", "declare void @wengert_drop(ptr nocapture)")
        if len(own) > FEW_CELLS:
            self.tabulate(own)
            return
        for name in own:
            self.top += [f"  {name} = alloca ptr", f"  store ptr null, ptr {name}"]
            held = self.temp()
            self.frees += [f"  {held} = load ptr, ptr {name}", f"  call void @wengert_drop(ptr {held})"]

    def tabulate(self, names: list[str]) -> None:
        """Makes the table of cells, and the loop that frees what they hold: variables would meet at the exit, each with
        a value for each failure that leads there."""
        self.declare("memset", "declare void @llvm.memset.p0.i64(ptr nocapture, i8, i64, i1)")
        count = len(names)
        self.top[:0] = [
            f"  %cells = alloca [{count} x ptr]",
            f"  call void @llvm.memset.p0.i64(ptr %cells, i8 0, i64 {count * 8}, i1 false)",
            *(f"  {name} = getelementptr ptr, ptr %cells, i64 {i}" for i, name in enumerate(names)),
        ]
        self.frees += [
            "  br label %drop",
            "drop:",
            "  %dropped = phi i64 [ 0, %exit ], [ %dropped.next, %drop ]",
            "  %dropped.cell = getelementptr ptr, ptr %cells, i64 %dropped",
            "  %dropped.held = load ptr, ptr %dropped.cell",
            "  call void @wengert_drop(ptr %dropped.held)",
            "  %dropped.next = add i64 %dropped, 1",
            f"  %dropped.all = icmp eq i64 %dropped.next, {count}",
            "  br i1 %dropped.all, label %dropped.end, label %drop",
            "dropped.end:",
        ]

    def var(self, var: Var) -> None:
        if var not in self.vars:
            self.vars.add(var)
            self.top.append(f"  %x{var.number} = alloca {REGISTER[var.type]}")

    def allocate(self) -> None:
        """The arrays of known size, all at the start, with one check for all."""
        self.make_cells()
        taken: list[tuple[str, int, int]] = []  # names, the numbers that a want of memory tells, bytes
        for item in self.statics:
            if item.array not in self.pointers:
                name = self.pointers[item.array] = f"%a{item.array.number}"
                count = cast(int, item.count) * self.widths.get(item.array, 1)
                taken.append((name, cast(int, item.array.number), max(count * WIDTHS[item.array.type], 1)))
        if self.together:
            taken.append(("%together", cast(int, next(iter(self.together)).number), self.room))
        if not taken:
            return
        self.declare("take", "declare noalias ptr @wengert_take(i64)")
        self.declare("drop", "declare void @wengert_drop(ptr nocapture)")
        failed, began = "-1", len(self.checks)
        for name, number, size in taken:
            is_null, chosen = self.temp(), self.temp()
            self.checks += [
                f"  {name} = call noalias ptr @wengert_take(i64 {min(size, ABSURD)})",
                f"  {is_null} = icmp eq ptr {name}, null",
                f"  {chosen} = select i1 {is_null}, i64 {number}, i64 {failed}",
            ]
            self.frees.append(f"  call void @wengert_drop(ptr {name})")
            failed = chosen
            if len(self.checks) - began > LONGEST_BLOCK // 2:  # what is on the stack stands before them
                began = self.cut(self.checks)
        bad = self.temp()
        self.checks.append(f"  {bad} = icmp ne i64 {failed}, -1")
        self.checks += [f"  br i1 {bad}, label %no.memory, label %start", "no.memory:", *self.out_of_memory(failed)]
        self.checks.append("start:")

    def out_of_memory(self, number: str) -> list[str]:
        place = self.temp()
        return [
            f"  {place} = getelementptr i8, ptr %context, i64 {context.FAILING}",
            f"  store i64 {number}, ptr {place}",
            f"  store i32 {Status.MEMORY}, ptr %status",
            "  br label %exit",
        ]

    def gone_astray(self) -> list[str]:
        """Ends the function, which would reach beyond an array."""
        return [f"  store i32 {Status.ASTRAY}, ptr %status", "  br label %exit"]

    def declare(self, name: str, text: str) -> None:
        self.declared.setdefault(name, text)

    def temp(self) -> str:
        self.temps += 1
        return f"%t{self.temps}"

    def label(self) -> str:
        self.labels += 1
        return f"b{self.labels}"

    def cut(self, lines: list[str]) -> int:
        """Ends a block of code without a jump, and gives where the next one begins: just behind."""
        label = self.label()
        lines += [f"  br label %{label}", f"{label}:"]
        return len(lines)

    # -- operands -------------------------------------------------------------------------------------------------

    def pointer(self, array: Array) -> str:
        known = self.pointers.get(array)
        if known is not None:
            return known
        start = self.together.get(array)
        if start is not None:
            return self.line(f"getelementptr inbounds i8, ptr %together, i64 {start}")
        return self.line(f"load ptr, ptr {self.cells[array]}")

    def place(self, array: Array, index: Operand, part: int = 0) -> str:
        base = self.pointer(array)
        if type(index) is int and index == part == 0:
            return base
        place = self.temp()
        type_, at = MEMORY_TYPE[array.type], self.operand(index, "i64")
        inner = f", i32 {part}" if part else ""
        self.lines.append(f"  {place} = getelementptr inbounds {type_}, ptr {base}, i64 {at}{inner}")
        return place

    # -- instructions ---------------------------------------------------------------------------------------------

    def block(self, block: Block) -> None:
        began = len(self.lines)
        outer = len(self.standing)
        for item in block:
            if len(self.lines) - began > LONGEST_BLOCK:
                began = self.cut(self.lines)
            if self.watch is not None:
                self.watch.look(item)
            self.emitters[type(item)](self, item)
        while len(self.standing) > outer:  # behind the block their addresses are in their cells only
            del self.pointers[self.standing.pop()]

    def bytes_of(self, count: str, width: int) -> str:
        """The bytes of so many elements; if they are too many for 64 bits, a number that no machine has."""
        pair, both = self.overflowing("umul", count, str(width))
        product = self.line(f"extractvalue {both} {pair}, 0")
        wraps = self.line(f"extractvalue {both} {pair}, 1")
        return self.line(f"select i1 {wraps}, i64 {ABSURD}, i64 {product}")

    def slot(self, var: Var) -> str:
        return f"%x{var.number}"

    def accumulate(self, item: Accumulate) -> None:
        type_ = item.array.type
        self.add(item, self.in_memory(self.operand(item.value, type_), type_))

    def add(self, item: Accumulate, value: str) -> None:
        """Adds a value, as memory has it, to an element's first slot."""
        place, type_ = self.first_slot(item), item.array.type
        kind = MEMORY_TYPE[type_]
        held = self.line(f"load {kind}, ptr {place}")
        total = self.line(f"{accumulating(type_)} {kind} {held}, {value}")
        self.lines.append(f"  store {kind} {total}, ptr {place}")

    def first_slot(self, item: Accumulate) -> str:
        """The address of the first of an element's slots."""
        if item.slots == 1 or type(item.index) is int:
            return self.place(item.array, item.index * item.slots if type(item.index) is int else item.index)
        start = self.line(f"mul i64 {self.operand(item.index, 'i64')}, {item.slots}")
        kind = MEMORY_TYPE[item.array.type]
        return self.line(f"getelementptr inbounds {kind}, ptr {self.pointer(item.array)}, i64 {start}")

    # -- memory ---------------------------------------------------------------------------------------------------

    def local(self, item: Local) -> None:
        """Made at the start."""

    def extent(self, item: Extent) -> None:
        """For those who check accesses."""

    def alloc(self, item: Alloc) -> None:
        array, width = item.array, WIDTHS[item.array.type]
        if array not in self.cells:
            if item.zero:
                self.zero(self.pointer(array), str(item.count * width if type(item.count) is int else 0))
            return
        self.declare("take", "declare noalias ptr @wengert_take(i64)")
        cell, old, made = self.cells[array], self.temp(), self.temp()
        self.lines += [f"  {old} = load ptr, ptr {cell}", f"  call void @wengert_drop(ptr {old})"]
        if type(item.count) is int:
            size = str(min(item.count * width, ABSURD))
        else:
            size = self.bytes_of(self.operand(item.count, "i64"), width)
        self.lines.append(f"  {made} = call noalias ptr @wengert_take(i64 {size})")
        self.lines.append(f"  store ptr {made}, ptr {cell}")
        self.check(made, array)
        if array in self.made_once:
            self.pointers[array] = made
            self.standing.append(array)
        if item.zero:
            self.zero(made, size)

    def check(self, made: str, array: Array) -> None:
        """Goes on if memory was there."""
        is_null = self.temp()
        self.lines.append(f"  {is_null} = icmp eq ptr {made}, null")
        self.end_if(is_null, self.out_of_memory(self.told(array)))

    def told(self, array: Array) -> str:
        """The number that a want of memory tells of an array: that of the one outside where it is lent."""
        return f"%told{array.number}" if array in self.lent else str(array.number)

    def end_if(self, is_bad: str, end: list[str]) -> None:
        """Goes on unless a condition holds, which is rare; then the function ends so."""
        bad, good = self.label(), self.label()
        self.lines += [f"  br i1 {is_bad}, label %{bad}, label %{good}, !prof !0", f"{bad}:", *end, f"{good}:"]
        self.declare("!0", '!0 = !{!"branch_weights", i32 1, i32 100000}')

    def reserve(self, item: Reserve) -> None:
        self.declare("grow", "declare noalias ptr @wengert_grow(ptr nocapture, i64)")
        self.declare("!0", '!0 = !{!"branch_weights", i32 1, i32 100000}')
        cell, width = self.cells[item.array], WIDTHS[item.array.type]
        count = self.operand(item.count, "i64")
        room, lacks, twice, more, wanted, old, made = (self.temp() for _ in range(7))
        grow, done = self.label(), self.label()
        self.lines += [
            f"  {room} = load i64, ptr {cell}.room",
            f"  {lacks} = icmp slt i64 {room}, {count}",
            f"  br i1 {lacks}, label %{grow}, label %{done}, !prof !0",
            f"{grow}:",
            f"  {twice} = shl i64 {room}, 1",
            f"  {more} = icmp sgt i64 {twice}, {count}",
            f"  {wanted} = select i1 {more}, i64 {twice}, i64 {count}",
        ]
        size = self.bytes_of(wanted, width)
        self.lines += [
            f"  {old} = load ptr, ptr {cell}",
            f"  {made} = call ptr @wengert_grow(ptr {old}, i64 {size})",
        ]
        self.check(made, item.array)
        self.lines += [
            f"  store ptr {made}, ptr {cell}",
            f"  store i64 {wanted}, ptr {cell}.room",
            f"  br label %{done}",
            f"{done}:",
        ]

    def copy(self, item: Copy) -> None:
        self.declare("memcpy", "declare void @llvm.memcpy.p0.p0.i64(ptr nocapture, ptr nocapture, i64, i1)")
        target = self.place(item.target, item.target_start)
        source = self.place(item.source, item.source_start)
        size = self.temp()
        self.lines += [
            f"  {size} = mul i64 {self.operand(item.count, 'i64')}, {WIDTHS[item.target.type]}",
            f"  call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, i1 false)",
        ]

    def swap(self, item: Swap) -> None:
        x, y = self.pointer(item.x), self.pointer(item.y)
        self.lines += [f"  store ptr {y}, ptr {self.cells[item.x]}", f"  store ptr {x}, ptr {self.cells[item.y]}"]

    def give(self, item: Give) -> None:
        held, place = self.pointer(item.array), self.temp()
        self.lines += [
            f"  {place} = getelementptr ptr, ptr %buffers, i64 {len(self.function.inputs) + item.slot}",
            f"  store ptr {held}, ptr {place}",
            f"  store ptr null, ptr {self.cells[item.array]}",
        ]

    def set_size(self, item: SetSize) -> None:
        place = self.temp()
        self.lines += [
            f"  {place} = getelementptr i64, ptr %sizes, i64 {item.place}",
            f"  store i64 {self.operand(item.value, 'i64')}, ptr {place}",
        ]

    # -- control --------------------------------------------------------------------------------------------------

    def loop(self, item: For) -> None:
        found = self.parallel.get(item)
        if found is None:
            self.iterations(item)
        else:
            self.in_threads(item, found)

    def in_threads(self, item: For, found: Captured) -> None:
        """A loop whose body is a function: called here, or in pieces, by threads too, if there is much to do."""
        number = len(self.parts)
        name = f"part{self.entry}{number}"
        part = _Part(self.function, name)
        self.parts.append(part.text_of(item, found))
        part.watch = None
        self.declared.update({k: v for k, v in part.declared.items() if k not in self.declared})
        self.declare("wengert_parallel", "declare i32 @wengert_parallel(ptr, ptr, ptr, i64, i64, i64, i64)")
        values = [("ptr", self.pointer(a)) for a in found.arrays]
        values += [(REGISTER[r.type], f"%v{r.number}") for r in found.registers]
        if self.watch is not None:
            values += [("i64", self.watch.extent(a)) for a in found.arrays]
        data = f"%data{number}"
        self.top.append(f"  {data} = alloca [{len(values) + 1} x i64]")
        failing = self.temp()
        self.lines += [
            f"  {failing} = getelementptr i64, ptr {data}, i64 {len(values)}",
            f"  store i64 0, ptr {failing}",
        ]
        threads, place, told, stops = (self.temp() for _ in range(4))
        stop_here, here, after = (self.label() for _ in range(3))
        start, stop = self.operand(item.start, "i64"), self.operand(item.stop, "i64")
        cost = self.cost(item)
        if type(item.work) is not int:  # else it is worth it
            self.if_worth(cost, here)
        self.lines += [
            f"  {place} = getelementptr i8, ptr %context, i64 {context.THREADS}",
            f"  {threads} = load i64, ptr {place}",
        ]
        for slot, (kind, value) in enumerate(values):
            cell = self.temp()
            self.lines.append(f"  {cell} = getelementptr i64, ptr {data}, i64 {slot}")
            self.lines.append(f"  store {kind} {value}, ptr {cell}")
        given = "".join(f"{kind} {value}, " for kind, value in values)
        shared = f"ptr %context, ptr @{name}, ptr {data}, i64 {start}, i64 {stop}, i64 {threads}, i64 {cost}"
        self.lines += [
            f"  {told} = call i32 @wengert_parallel({shared})",
            f"  {stops} = icmp ne i32 {told}, 0",
            f"  br i1 {stops}, label %{stop_here}, label %{after}",
            f"{stop_here}:",
            f"  store i32 {told}, ptr %status",
            "  br label %exit",
        ]
        if type(item.work) is not int:
            self.lines += [
                f"{here}:",
                f"  call void @{name}.range({given}ptr {failing}, i64 {start}, i64 {stop}, ptr null)",
                f"  br label %{after}",
            ]
        self.lines.append(f"{after}:")
        if part.statics or self.watch is not None:
            self.check_parts(failing)

    def cost(self, item: For) -> int | str:
        """The nanoseconds that a loop takes in one thread."""
        assert item.work is not None
        if type(item.work) is int:
            return min(int(item.work * nanoseconds(item)), ENDLESS)
        sixteenths = self.line(f"mul i64 {self.operand(item.work, 'i64')}, {max(1, round(16 * nanoseconds(item)))}")
        return self.line(f"lshr i64 {sixteenths}, 4")

    def if_worth(self, cost: int | str, here: str) -> None:
        """Goes on where threads may share a loop, and elsewhere where it runs here."""
        large, split = self.temp(), self.label()
        self.lines += [
            f"  {large} = icmp sge i64 {cost}, {WORTH}",
            f"  br i1 {large}, label %{split}, label %{here}",
            f"{split}:",
        ]

    def check_parts(self, failing: str) -> None:
        """Goes on if all parts had the memory that they needed, and none reached beyond an array."""
        number, has_failed, bad, good = self.temp(), self.temp(), self.label(), self.label()
        self.lines += [
            f"  {number} = load i64, ptr {failing}",
            f"  {has_failed} = icmp ne i64 {number}, 0",
            f"  br i1 {has_failed}, label %{bad}, label %{good}",
            f"{bad}:",
        ]
        if self.watch is not None:
            is_astray, astray, other = self.temp(), self.label(), self.label()
            self.lines += [
                f"  {is_astray} = icmp eq i64 {number}, {STRAYED}",
                f"  br i1 {is_astray}, label %{astray}, label %{other}",
                f"{astray}:",
                *self.gone_astray(),
                f"{other}:",
            ]
        self.lines += [*self.out_of_memory(number), f"{good}:"]

    def apply(self, item: Apply) -> None:
        """Calls the function of a piece, which the first call makes."""
        piece, fails = item.piece, may_fail(item.piece)
        name = f"piece{self.entry}{piece.number}"
        if piece not in self.pieces:
            self.pieces.add(piece)
            made = _PieceKernel(self.function, name)
            self.parts += [made.text_of(piece), *made.parts]
            self.declared.update({k: v for k, v in made.declared.items() if k not in self.declared})
        moved = {*moved_by(item)}
        given = [f"ptr {self.pointer(array)}" for array in item.arrays if array not in moved]
        given += [
            f"{REGISTER[r.type]} {self.operand(x, r.type)}" for x, r in zip(item.numbers, piece.registers, strict=True)
        ]
        given += [f"ptr %x{var.number}" for var in item.variables]
        for array in item.arrays:
            if array in moved:
                given += [f"i64 {self.told(array)}", *(f"ptr {slot}" for slot, _ in self.slots_of(array))]
        given += ["ptr %polls", "ptr %context"] if fails else ["ptr null", "ptr null"]
        status = self.temp()
        self.lines.append(f"  {status} = call i32 @{name}({', '.join(given)})")
        if fails:
            ended = self.temp()
            self.lines.append(f"  {ended} = icmp ne i32 {status}, 0")
            self.end_if(ended, [f"  store i32 {status}, ptr %status", "  br label %exit"])

    def iterations(self, item: For) -> None:
        before, head, body, latch, after = (self.label() for _ in range(5))
        index = f"%v{item.index.number}"
        stop = self.operand(item.stop, "i64")
        self.lines += [
            f"  br label %{before}",
            f"{before}:",
            f"  br label %{head}",
            f"{head}:",
            f"  {index} = phi i64 [ {self.operand(item.start, 'i64')}, %{before} ], [ {index}.next, %{latch} ]",
            f"  {index}.more = icmp slt i64 {index}, {stop}",
            f"  br i1 {index}.more, label %{body}, label %{after}",
            f"{body}:",
        ]
        self.around.append(item)
        if self.is_written_out(item):
            self.known.add(item.index)
        if len(self.around) > 1 and _is_dear(item):
            self.lines.append(GATHERS.rstrip())
        begin = len(self.lines)
        self.block(item.body)
        if _is_apart(item):
            self.set_apart(item, begin)
        self.lines += [
            f"  br label %{latch}",
            f"{latch}:",
            f"  {index}.next = add nuw nsw i64 {index}, 1",
            f"  br label %{head}{self.wishes(item)}",
            f"{after}:",
        ]
        self.around.pop()

    def wishes(self, item: For) -> str:
        """What LLVM is told of a loop. Where functions are called of what others gave, each waits for the one before,
        and several vectors side by side use the time. Functions that wait for none keep the machine busy themselves:
        as each call saves all that is in registers, one vector at a time is best, or two where iterations are left
        that LLVM would compute one by one. With one call, sums in parts gain more than that costs. A short loop in
        another one is written out, as vectors are made of innermost loops only; but one that calls is kept from it, as
        of calls in straight code LLVM seldom makes vectors, and so is one of rows of complex numbers, of whose parts
        LLVM would make vectors along the loop around, by gathers. Of what fills no vector none are made: the masks
        would cost LLVM as much time as all else that it does with such a loop."""
        if self.is_written_out(item):
            return self.wish(item, '"llvm.loop.unroll.full"')
        wishes = [f'"llvm.loop.parallel_accesses", !{_group_of(item)}'] if _is_apart(item) else []
        if _is_vector_of_calls(item) or (len(self.around) > 1 and _is_row_of_pairs(item)):
            wishes.append('"llvm.loop.unroll.disable"')
        if count := _side_by_side(item):
            wishes.append(f'"llvm.loop.interleave.count", i32 {count}')
        if _fills_no_vector(item):
            wishes.append('"llvm.loop.vectorize.enable", i1 false')
        return self.wish(item, *wishes) if wishes else ""

    def is_written_out(self, item: For) -> bool:
        """Whether LLVM is told to write a loop out: a short one in a long one, of which vectors are made then. Of one
        with few iterations they would be vectors of elements that lie apart, unless all lie apart anyway."""
        if len(self.around) < 2 or not _is_short(item):
            return False
        outer = _count_of(self.around[-2])
        return outer is None or not LEAST_CALLED < outer < FEW or _finds_places(item)

    def let(self, item: Let) -> None:
        if item.type == "i64" and item.op in _OF_PLACES:
            self.made[item.out] = item
        super().let(item)

    def quotient(self, item: Let, text: str, dividend: str) -> str:
        """A quotient that LLVM does not know to be the same for iterations in a row.

        Where it knows, it has two estimates of what vectors of such iterations cost. They differ now and then, and
        builds of it with assertions, as llvmlite's are, end the process then. Vectors hold iterations in powers of two.
        """
        by = item.args[1]
        if type(by) is not int or by % 2 or self.is_found_out(item.args[0], by):
            return text
        nothing = self.line(f"and i64 {dividend}, {self.hidden(0, 'i64')}")
        return f"or i64 {self.line(text)}, {nothing}"

    def is_found_out(self, place: Operand, by: int, depth: int = 8) -> bool:
        """Whether nothing is left to divide where short loops are written out: all else in a sum are multiples."""
        if type(place) is int or place in self.known:
            return True
        made = self.made.get(place) if depth else None
        if made is None:
            return False
        if made.op == "mul" and any(type(x) is int and x % by == 0 for x in made.args):
            return True
        return all(self.is_found_out(x, by, depth - 1) for x in made.args)

    def wish(self, item: For, *texts: str) -> str:
        """What is written at a loop's end to tell LLVM something of it."""
        number = FREE_METADATA + cast(int, item.index.number)
        told = ", ".join(f"!{{!{text}}}" for text in texts)
        self.declare(f"!{number}", f"!{number} = distinct !{{!{number}, {told}}}")
        return f", !llvm.loop !{number}"

    def set_apart(self, item: For, begin: int) -> None:
        """Tells LLVM of what a loop's body reads and writes that no iteration needs what another writes: arrays whose
        memory is swapped it would compare, which it does not for a few iterations, and in vain where the two parts of
        complex numbers lie side by side."""
        group = _group_of(item)
        self.declare(f"!{group}", f"!{group} = distinct !{{}}")
        for place in range(begin, len(self.lines)):
            line = self.lines[place]
            if " = load " in line or line.startswith("  store "):
                self.lines[place] = f"{line}, !llvm.access.group !{group}"

    def repeat(self, item: While) -> None:
        head, body, after = self.label(), self.label(), self.label()
        self.lines += [f"  br label %{head}", f"{head}:"]
        self.block(item.test)
        self.lines += [
            f"  br i1 {self.operand(item.cond, 'bool')}, label %{body}, label %{after}",
            f"{body}:",
        ]
        self.block(item.body)
        self.lines += [f"  br label %{head}", f"{after}:"]

    def branch(self, item: If) -> None:
        then, other, after = self.label(), self.label(), self.label()
        otherwise = other if item.other else after
        weights = ", !prof !1" if item.is_likely else ""
        if weights:
            self.declare("!1", '!1 = !{!"branch_weights", i32 1000, i32 1}')
        self.lines += [
            f"  br i1 {self.operand(item.cond, 'bool')}, label %{then}, label %{otherwise}{weights}",
            f"{then}:",
        ]
        self.block(item.then)
        self.lines.append(f"  br label %{after}")
        if item.other:
            self.lines.append(f"{other}:")
            self.block(item.other)
            self.lines.append(f"  br label %{after}")
        self.lines.append(f"{after}:")

    def leave(self, item: Return) -> None:
        self.lines += [f"  store i32 {item.status}, ptr %status", "  br label %exit", f"{self.label()}:"]

    def poll(self, item: Poll) -> None:
        """Counts down, all loops of a function together: each by its share of the time between two looks."""
        left, now, is_due, found, stops = (self.temp() for _ in range(5))
        ask, stop, again, after = (self.label() for _ in range(4))
        counted = [
            f"  {left} = load i32, ptr %polls",
            f"  {now} = add i32 {left}, -{MOST // item.every}",
            f"  store i32 {now}, ptr %polls",
            f"  {is_due} = icmp slt i32 {now}, 0",
            f"  br i1 {is_due}, label %{ask}, label %{after}",
        ]
        self.lines += [
            *(counted if item.every > 1 else [f"  br label %{ask}"]),
            f"{ask}:",
            f"  {found} = {self.asked()}",
            f"  {stops} = icmp ne i32 {found}, 0",
            f"  br i1 {stops}, label %{stop}, label %{again}",
            f"{stop}:",
            *self.interrupted(),
            f"{again}:",
            f"  store i32 {MOST}, ptr %polls",
            f"  br label %{after}",
            f"{after}:",
        ]

    def asked(self) -> str:
        """The call that tells whether to stop."""
        self.declare("wengert_poll", "declare i32 @wengert_poll(ptr)")
        return "call i32 @wengert_poll(ptr %context)"

    def interrupted(self) -> list[str]:
        return [f"  store i32 {Status.INTERRUPTED}, ptr %status", "  br label %exit"]

    def call(self, item: Call) -> None:
        given, types = [], []
        for argument in item.args:
            if isinstance(argument, Address):
                types.append("ptr")
                given.append(f"ptr {self.place(argument.array, argument.index)}")
                continue
            kind = MEMORY_TYPE[argument.type]
            value = self.operand(argument.value, argument.type)
            if argument.by_address:
                slot = self.temp()
                self.top.append(f"  {slot} = alloca {kind}")
                self.lines.append(f"  store {kind} {value}, ptr {slot}")
                kind, value = "ptr", slot
            types.append(kind)
            given.append(f"{kind} {value}")
        result = "void" if item.out is None else REGISTER[item.out.type]
        self.declare(item.name, f"declare {result} @{item.name}({', '.join(types)})")
        out = "" if item.out is None else f"%v{item.out.number} = "
        self.lines.append(f"  {out}call {result} @{item.name}({', '.join(given)})")


class _Part(_Kernel):
    """The body of a parallel loop as a function of a range of iterations."""

    def text_of(self, loop: For, found: Captured) -> str:
        """Two functions: one of values, and one that threads call, which finds the values in memory."""
        parameters = self.taken(found.arrays, found.registers, found.written)
        extents = found.arrays if self.watch is not None else []
        if self.watch is not None:
            self.watch.known = {a: f"%n{a.number}" for a in found.arrays}
        parameters += [f"i64 %n{a.number}" for a in extents]
        self.plan(loop.body)
        self.allocate()
        first, last = Reg("i64", "first"), Reg("i64", "last")
        self.iterations(For(loop.index, first, last, loop.body))
        loads: list[str] = []
        kinds = ["ptr"] * len(found.arrays) + [REGISTER[r.type] for r in found.registers] + ["i64"] * len(extents)
        for slot, kind in enumerate(kinds):
            loads.append(f"  %c{slot} = getelementptr i64, ptr %data, i64 {slot}")
            loads.append(f"  %d{slot} = load {kind}, ptr %c{slot}")
        loads.append(f"  %failing = getelementptr i64, ptr %data, i64 {len(kinds)}")
        parameters.append("ptr %failing")
        given = "".join(f"{kind} %d{slot}, " for slot, kind in enumerate(kinds))
        last_parameters = "i64 %vfirst, i64 %vlast, ptr %task"
        return "\n".join([
            f"define internal void @{self.entry}.range({', '.join([*parameters, last_parameters])}) #0 {{",
            "entry:", *self.top, *self.checks, *self.lines, "  br label %exit", "exit:", *self.frees, "  ret void", "}",
            f"define internal void @{self.entry}(ptr %data, i64 %first, i64 %last, ptr %task) #0 {{",
            *loads, f"  call void @{self.entry}.range({given}ptr %failing, i64 %first, i64 %last, ptr %task)",
            "  ret void", "}",
        ])  # fmt: skip

    def out_of_memory(self, number: str) -> list[str]:
        """The part ends; the function that it is part of looks whether that has happened."""
        return [f"  store i64 {number}, ptr %failing", "  br label %exit"]

    def gone_astray(self) -> list[str]:
        return self.out_of_memory(STRAYED)

    def asked(self) -> str:
        self.declare("wengert_ask", "declare i32 @wengert_ask(ptr)")
        return "call i32 @wengert_ask(ptr %task)"

    def interrupted(self) -> list[str]:
        """The part ends; `wengert_parallel` tells the function that it is part of."""
        return ["  br label %exit"]


class _PieceKernel(_Kernel):
    """A piece as a function, which gives a status."""

    def text_of(self, piece: Piece) -> str:
        self.lent = piece.moved
        self.cells |= {array: f"%c{array.number}" for array in piece.arrays if array in self.lent}
        parameters = self.taken([a for a in piece.arrays if a not in self.lent], piece.registers, piece.written)
        self.has_poll = True  # the counter is that of the function around it
        uses = var_uses(piece.body)
        for var in piece.variables:
            uses[var] += 1  # outside: no thread has it for itself
        self.find_parallel(piece.body, uses)
        self.plan(piece.body)
        self.allocate()
        slots = [(self.slot(var), REGISTER[var.type]) for var in piece.variables]
        parameters += [self.outer(slot) for slot, _ in slots]
        for array in (a for a in piece.arrays if a in self.lent):
            own = self.slots_of(array)
            self.top += [f"  {slot} = alloca {kind}" for slot, kind in own]
            parameters += [f"i64 {self.told(array)}", *(self.outer(slot) for slot, _ in own)]
            slots += own
        loads, stores = [], []
        for slot, kind in slots:
            held, now, outer = self.temp(), self.temp(), self.outer(slot).split()[-1]
            loads += [f"  {held} = load {kind}, ptr {outer}", f"  store {kind} {held}, ptr {slot}"]
            stores += [f"  {now} = load {kind}, ptr {slot}", f"  store {kind} {now}, ptr {outer}"]
        self.block(piece.body)
        parameters += ["ptr noalias nocapture %polls", "ptr %context"]
        return "\n".join([
            f"define internal i32 @{self.entry}({', '.join(parameters)}) #0 {{",
            "entry:", "  %status = alloca i32", "  store i32 0, ptr %status",
            *self.top, *loads, *self.checks, *self.lines, "  br label %exit", "exit:", *stores, *self.frees,
            "  %result = load i32, ptr %status", "  ret i32 %result", "}",
        ])  # fmt: skip

    def outer(self, slot: str) -> str:
        """The parameter for what a slot holds outside: where that function has it."""
        return f"ptr noalias nocapture %outer.{slot[1:]}"


def _is_short(item: For) -> bool:
    """Whether a loop has few iterations of few plain items: too few to fill vectors of their own."""
    count = _count_of(item)
    if count is None or count * len(item.body) > WRITTEN_OUT or not all(type(x) in _PLAIN for x in item.body):
        return False
    is_filling = count >= FILLING and 2 * count > _lanes_of(item) and _goes_in_a_row(item)
    return not (is_filling or _is_vector_of_calls(item))


def _steps_of(item: For) -> set[Reg]:
    """What goes up by one with each iteration of a loop."""
    return {item.index, *[x.out for x in item.body if type(x) is Let and x.op == "add" and item.index in x.args]}


def _goes_in_a_row(item: For) -> bool:
    """Whether iterations read and write elements that lie side by side, and need one another for sums alone."""
    beside = _steps_of(item)
    moving, sums = _made_of({item.index}, item), {x.out for x in item.body if type(x) is Let and x.op == "sum"}
    return all(place in beside or place not in moving for place in _places_of(item)) and all(
        x.value in sums for x in item.body if type(x) is Set
    )


def _finds_places(item: For) -> bool:
    """Whether where a loop reads or writes depends on what it reads."""
    found = _made_of({x.out for x in item.body if type(x) is Load}, item)
    return any(place in found for place in _places_of(item))


def _made_of(given: set[Reg], item: For) -> set[Any]:
    """What a loop's body computes from these, and they themselves."""
    made: set[Any] = {*given}
    for x in item.body:
        if isinstance(x, Let | Select | Convert) and any(y in made for y in reads(x)):
            made.add(x.out)
    return made


def _places_of(item: For) -> list[Operand]:
    return [x.index for x in item.body if isinstance(x, Load | Store)]


def _lanes_of(item: For) -> int:
    """How many elements the widest vector holds of what a loop reads and writes."""
    widths = [WIDTHS[x.array.type] for x in item.body if type(x) is Load or type(x) is Store]
    return vector_bits() // (8 * max(widths, default=8))


def _is_vector_of_calls(item: For) -> bool:
    """Whether a loop has few iterations, but enough for a vector, none of which needs another, and which call functions
    that there are for vectors."""
    count = _count_of(item)
    is_few = count is not None and LEAST_CALLED <= count <= FEW
    return is_few and any(map(_is_function, item.body)) and _is_apart(item)


def _is_row_of_pairs(item: For) -> bool:
    """Whether a loop goes over complex numbers that lie side by side, and fills vectors: a part of one is for masks."""
    count = _count_of(item)
    if not count or count % FILLING or not all(type(x) in _PLAIN for x in item.body):
        return False
    arrays = [x.array for x in item.body if isinstance(x, Load | Store)]
    return any(x.type in COMPLEX for x in arrays) and _goes_in_a_row(item)


def _is_apart(item: For) -> bool:
    """Whether a loop reads and writes, and no iteration of it what another one writes."""
    steps = _steps_of(item)
    written = {id(x.array): x.index for x in item.body if type(x) is Store}
    return (
        bool(written)
        and any(type(x) is Load for x in item.body)
        and all(
            type(x) in (Let, Select, Convert)
            or (type(x) is Load and written.get(id(x.array), x.index) == x.index)
            or (type(x) is Store and x.index in steps and written[id(x.array)] == x.index)
            for x in item.body
        )
    )


def _group_of(item: For) -> int:
    """The number of what a loop reads and writes, a free one: that of what it reads first."""
    return FREE_METADATA + next(cast(int, x.out.number) for x in item.body if type(x) is Load)


def _count_of(item: For) -> int | None:
    """The iterations of a loop, where they are known."""
    return item.stop - item.start if type(item.start) is int and type(item.stop) is int else None


def _is_dear(item: For) -> bool:
    """Whether a loop has few iterations, each with much to do: LLVM makes vectors of such only with masks, and where
    their elements lie apart only by gathers."""
    if type(item.start) is not int or type(item.stop) is not int or not 1 < item.stop - item.start < FEW:
        return False
    inner = [*walk(item.body)]
    return len(inner) >= MUCH or any(map(_is_function, inner))


def _fills_no_vector(item: For) -> bool:
    """Whether a loop has few iterations, an odd number, with little to do in each: LLVM would make one vector of them,
    with masks, and they take no longer one by one."""
    count = _count_of(item)
    is_odd = count is not None and 0 < count < FEW and count % 2 == 1
    return is_odd and not _is_dear(item) and not any(type(x) is For for x in item.body)


def _side_by_side(item: For) -> int:
    """How many vectors of iterations are best computed side by side: 1, 2 or 4; 0 where LLVM may choose."""
    calls = [x for x in item.body if type(x) is Let and _is_function(x)]
    if len(calls) < 2:
        return 0
    lanes = vector_bits() // (8 * WIDTHS[calls[0].type])
    count = _count_of(item)
    if _calls_in_a_row(item.body) < 2:
        leaves_rest = count is None or (count >= WITH_REST and count % lanes)
        return 2 if leaves_rest and 2 * lanes == WITH_REST else 1
    vectors = MOST_SIDE_BY_SIDE if count is None else count // lanes
    return MOST_SIDE_BY_SIDE if vectors >= MOST_SIDE_BY_SIDE else 2 if vectors >= 2 else 1


def _is_function(item: Any) -> bool:
    """Whether an instruction is a mathematical function, which is a call."""
    return type(item) is Let and item.op in (*ONE_OPERAND, *TWO_OPERANDS)


def _calls_in_a_row(block: Block) -> int:
    """The most calls of functions of which each waits for the one before."""
    waits: dict[Any, int] = {}
    for item in block:
        out = getattr(item, "out", None)
        if out is not None:
            waits[out] = max((waits.get(x, 0) for x in reads(item)), default=0) + _is_function(item)
    return max(waits.values(), default=0)


def _only_given(items: Iterable[Any]) -> set[Array]:
    """The arrays that nothing but pieces uses."""
    given: set[Array] = set()
    used: set[Array] = set()
    for item in items:
        kind = type(item)
        if kind is Apply:
            given.update(item.arrays)
        elif kind is not Alloc:
            used.update(x for x in reads(item) if type(x) is Array)
    return given - used


EMITTERS: dict[type, Callable[[_Kernel, Any], None]] = {
    Let: _Kernel.let, Select: _Kernel.select, Convert: _Kernel.convert, Get: _Kernel.get, Set: _Kernel.set,
    Load: _Kernel.load, Store: _Kernel.store, Accumulate: _Kernel.accumulate, For: _Kernel.loop, Apply: _Kernel.apply,
    While: _Kernel.repeat, If: _Kernel.branch, Lanes: lanes.emit,
    Local: _Kernel.local, Alloc: _Kernel.alloc, Reserve: _Kernel.reserve, Fill: _Kernel.fill, Copy: _Kernel.copy,
    Extent: _Kernel.extent,
    Swap: _Kernel.swap,
    Call: _Kernel.call, Give: _Kernel.give, SetSize: _Kernel.set_size, Poll: _Kernel.poll, Return: _Kernel.leave,
}  # fmt: skip
