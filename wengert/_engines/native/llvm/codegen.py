"""Loops in, LLVM IR as text out.

A module has two functions, and one for each loop that may run in threads; none is inlined into another, for LLVM would
do its work twice. The entry, of the ABI `i32 (ptr buffers, ptr sizes, ptr context)`, loads the addresses of the arrays
and calls the kernel, whose parameters carry what LLVM must know of them: operands are only read, and no array overlaps
another. Variables are stack slots, which LLVM's first pass turns into registers. Floating-point arithmetic is IEEE's to
the letter but for `sum`, which may be reordered.

Where arrays lie is in `arrays.py`, what LLVM is told of a loop in `loop_shapes.py`, values are written in `values.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from ..ir.accesses import Watch, is_on
from ..ir.loops import (
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
from ..ir.renaming import reads
from ..ir.shared_work import WORTH, nanoseconds
from ..ir.sharing import may_fail
from ..ir.signal_checks import MOST
from ..run import context
from . import lanes, masked_lanes
from .arrays import LONGEST_BLOCK, Arrays
from .call_rows import Row, Table, rows_of
from .jit import GATHERS, SCATTERED
from .loop_shapes import (
    FEW,
    FREE_METADATA,
    LEAST_CALLED,
    count_of,
    fills_no_vector,
    finds_places,
    group_of,
    has_rows_of_bytes,
    is_apart,
    is_dear,
    is_row_of_pairs,
    is_short,
    is_vector_of_calls,
    side_by_side,
)
from .values import MEMORY_TYPE, REGISTER, accumulating

_OF_PLACES = ("add", "sub", "mul")  # what places are made of beside quotients
ENDLESS = 2**62  # nanoseconds
STRAYED = "-1"  # what a part that would reach beyond an array puts where the number of an array that failed goes


def module_text(function: Function, entry: str) -> str:
    """The LLVM module of a function, its entry under the name given."""
    kernel = _Kernel(function, entry)
    text = kernel.text()
    kernel.watch = None  # which knows the kernel: a cycle
    return text


class _Kernel(Arrays):
    """The text of one function under construction."""

    def __init__(self, function: Function, entry: str) -> None:
        super().__init__()
        self.function = function
        self.entry = entry
        self.known: set[Operand] = set()  # the indices of loops that are written out
        self.made: dict[Operand, Let] = {}  # sums and products of whole numbers
        self.declared: dict[str, str] = {}
        self.vars: set[Var] = set()
        self.tables = 0  # of calls
        self.around: list[For] = []  # the loops around what is being written
        self.temps = 0
        self.has_poll = False
        self.parallel: dict[For, Captured] = {}
        self.parts: list[str] = []  # the functions of parallel loops and of pieces
        self.pieces: set[Piece] = set()  # those that have a function
        self.emitters = EMITTERS
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
        self.widths |= lanes_of(items)
        given = _only_given(items)
        made = Counter(item.array for item in items if type(item) is Alloc)
        self.made_once = {array for array, times in made.items() if times == 1} - moved - given
        for item in items:
            kind = type(item)
            if kind is Local:
                self.on_stack(item.array, item.count * self.widths.get(item.array, 1))
            elif kind is Alloc and type(item.count) is int and item.array not in moved:
                self.settle(item, item.count * self.widths.get(item.array, 1), item.array in given)
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

    def var(self, var: Var) -> None:
        if var not in self.vars:
            self.vars.add(var)
            self.top.append(f"  %x{var.number} = alloca {REGISTER[var.type]}")

    def gone_astray(self) -> list[str]:
        """Ends the function, which would reach beyond an array."""
        return [f"  store i32 {Status.ASTRAY}, ptr %status", "  br label %exit"]

    def declare(self, name: str, text: str) -> None:
        self.declared.setdefault(name, text)

    def temp(self) -> str:
        self.temps += 1
        return f"%t{self.temps}"

    # -- instructions ---------------------------------------------------------------------------------------------

    def block(self, block: Block) -> None:
        began = len(self.lines)
        outer = len(self.standing)
        rows, left = rows_of(self, block), 0  # instructions of a table that has been written
        for place, item in enumerate(block):
            if place in rows:
                self.row(rows[place])
                left = rows[place].length
            left -= 1
            if left >= 0:
                continue
            if len(self.lines) - began > LONGEST_BLOCK:
                began = self.cut(self.lines)
            if self.watch is not None:
                self.watch.look(item)
            self.emitters[type(item)](self, item)
        while len(self.standing) > outer:  # behind the block their addresses are in their cells only
            del self.pointers[self.standing.pop()]

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

    # -- results --------------------------------------------------------------------------------------------------

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
        """Calls the function of a piece."""
        moved = {*moved_by(item)}
        given = [("ptr", self.pointer(array)) for array in item.arrays if array not in moved]
        given += [
            (REGISTER[r.type], self.operand(x, r.type)) for x, r in zip(item.numbers, item.piece.registers, strict=True)
        ]
        given += [("ptr", self.slot(var)) for var in item.variables]
        for array in item.arrays:
            if array in moved:
                given += [("i64", self.told(array)), *(("ptr", slot) for slot, _ in self.slots_of(array))]
        self.run_piece(item.piece, given)

    def run_piece(self, piece: Piece, given: list[tuple[str, str]]) -> None:
        """Calls a function with arguments, each with its type; the first call makes it."""
        name, fails = f"piece{self.entry}{piece.number}", may_fail(piece)
        if piece not in self.pieces:
            self.pieces.add(piece)
            made = _PieceKernel(self.function, name)
            self.parts += [made.text_of(piece), *made.parts]
            self.declared.update({k: v for k, v in made.declared.items() if k not in self.declared})
        given = [*given, *(("ptr", x) for x in (("%polls", "%context") if fails else ("null", "null")))]
        status = self.line(f"call i32 @{name}({', '.join(f'{kind} {x}' for kind, x in given)})")
        if fails:
            ended = self.temp()
            self.lines.append(f"  {ended} = icmp ne i32 {status}, 0")
            self.end_if(ended, [f"  store i32 {status}, ptr %status", "  br label %exit"])

    def row(self, row: Row) -> None:
        """Instructions that are a table."""
        began = len(self.lines)
        for item in row.before:
            if len(self.lines) - began > LONGEST_BLOCK:
                began = self.cut(self.lines)
            self.emitters[type(item)](self, item)
        self.tables += 1
        Table(self, self.tables).write(row.steps)

    def run_step(self, item: Apply | Call | Copy | Alloc, given: list[tuple[str, str]]) -> None:
        """An instruction with arguments that a table has."""
        if isinstance(item, Apply):
            self.run_piece(item.piece, given)
        elif isinstance(item, Call):
            self.call_with(item, given)
        elif isinstance(item, Alloc):
            (_, cell), (_, number), (_, count) = given
            self.make(cell, self.size_of(item, count), number)
        else:
            (_, target), (_, source) = given
            self.move(target, source, str(cast(int, item.count) * WIDTHS[item.target.type]))

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
        if len(self.around) > 1 and is_dear(item):
            self.lines.append(GATHERS.rstrip())
        begin = len(self.lines)
        self.block(item.body)
        if is_apart(item):
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
        would cost LLVM as much time as all else that it does with such a loop. Nor are they made along a loop whose
        rows multiply bytes: where LLVM writes the rows out, it makes vectors of these."""
        if self.is_written_out(item):
            return self.wish(item, '"llvm.loop.unroll.full"')
        wishes = [f'"llvm.loop.parallel_accesses", !{group_of(item)}'] if is_apart(item) else []
        if is_vector_of_calls(item) or (len(self.around) > 1 and is_row_of_pairs(item)):
            wishes.append('"llvm.loop.unroll.disable"')
        if count := side_by_side(item):
            wishes.append(f'"llvm.loop.interleave.count", i32 {count}')
        if fills_no_vector(item) or has_rows_of_bytes(item):
            wishes.append('"llvm.loop.vectorize.enable", i1 false')
        return self.wish(item, *wishes) if wishes else ""

    def is_written_out(self, item: For) -> bool:
        """Whether LLVM is told to write a loop out: a short one in a long one, of which vectors are made then. Of one
        with few iterations they would be vectors of elements that lie apart, unless all lie apart anyway."""
        if len(self.around) < 2 or not is_short(item):
            return False
        outer = count_of(self.around[-2])
        return outer is None or not LEAST_CALLED < outer < FEW or finds_places(item)

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
        group = group_of(item)
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
        given: list[tuple[str, str]] = []
        for argument in item.args:
            if isinstance(argument, Address):
                given.append(("ptr", self.place(argument.array, argument.index)))
                continue
            kind = MEMORY_TYPE[argument.type]
            value = self.operand(argument.value, argument.type)
            if argument.by_address:
                slot = self.temp()
                self.top.append(f"  {slot} = alloca {kind}")
                self.lines.append(f"  store {kind} {value}, ptr {slot}")
                kind, value = "ptr", slot
            given.append((kind, value))
        self.call_with(item, given)

    def call_with(self, item: Call, given: list[tuple[str, str]]) -> None:
        """Calls a function outside with arguments, each with its type."""
        result = "void" if item.out is None else REGISTER[item.out.type]
        self.declare(item.name, f"declare {result} @{item.name}({', '.join(kind for kind, _ in given)})")
        out = "" if item.out is None else f"%v{item.out.number} = "
        self.lines.append(f"  {out}call {result} @{item.name}({', '.join(f'{kind} {x}' for kind, x in given)})")

    def side_by_side(self, item: Lanes) -> None:
        (masked_lanes if item.is_masked else lanes).emit(self, item)


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
    While: _Kernel.repeat, If: _Kernel.branch, Lanes: _Kernel.side_by_side,
    Local: _Kernel.local, Alloc: _Kernel.alloc, Reserve: _Kernel.reserve, Fill: _Kernel.fill, Copy: _Kernel.copy,
    Extent: _Kernel.extent,
    Swap: _Kernel.swap,
    Call: _Kernel.call, Give: _Kernel.give, SetSize: _Kernel.set_size, Poll: _Kernel.poll, Return: _Kernel.leave,
}  # fmt: skip
