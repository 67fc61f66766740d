"""Where arrays lie, and what makes, grows, swaps and copies them.

Arrays whose count is a number are allocated when the kernel starts (on the stack if small; small ones that only
pieces use share a block beyond that), others where they stand. All are freed at the one exit, where failures go, too.
Their addresses are computed, or read from a table, where they are needed: each that stays known all through a function
of thousands of calls costs LLVM time in all of it.
"""

from __future__ import annotations

from typing import cast

from ..ir.loops import ITEM, WIDTHS, Alloc, Array, Copy, Extent, Local, Operand, Reg, Reserve, Status, Swap
from ..run import context
from .values import MEMORY_TYPE, Values

ABSURD = 2**62  # bytes that no machine has: `memory` gives none
ON_STACK = 2048  # bytes up to which an array of known count is on the stack ...
STACK = 16 * 1024  # ... while they are no more than this together
TOGETHER = 16 * 1024  # bytes up to which arrays that only pieces use lie in one block
ALIGNED = 64  # bytes: where each of them begins
# As many arrays as may have a variable each for an address that changes. Loops that swap arrays run a fifth slower
# where these addresses are read from a table, since LLVM takes each write for one that may change them.
FEW_CELLS = 64
LONGEST_BLOCK = 4_000  # lines without a jump (more than jit.STRAIGHT): LLVM takes quadratic time in longer ones


class Arrays(Values):
    """Writes instructions on arrays; what a function is, and how it goes on, whoever writes it says."""

    def __init__(self) -> None:
        self.top: list[str] = []  # of the first block: stack slots
        self.lines: list[str] = []
        self.frees: list[str] = []  # at the exit
        self.pointers: dict[Array, str] = {}  # arrays whose address never changes
        self.cells: dict[Array, str] = {}  # slots that hold the addresses of others
        self.lent: frozenset[Array] = frozenset()  # of these, arrays of the function that runs this one
        self.together: dict[Array, int] = {}  # where in their block small arrays begin
        self.tabulated: dict[str, int] = {}  # the places of slots in their table, where there are many
        self.standing: list[Array] = []  # those with cells whose addresses are known where code is being written
        self.room = 0  # the bytes of that block
        self.labels = 0
        self.stack = 0
        self.checks: list[str] = []
        self.widths: dict[Array, int] = {}  # of arrays made in `Lanes`: for how many lanes
        self.statics: list[Alloc] = []  # arrays of known size beyond the stack
        self.made_once: set[Array] = set()  # those with cells that one instruction makes

    def label(self) -> str:
        self.labels += 1
        return f"b{self.labels}"

    def cut(self, lines: list[str]) -> int:
        """Ends a block of code without a jump, and gives where the next one begins: just behind."""
        label = self.label()
        lines += [f"  br label %{label}", f"{label}:"]
        return len(lines)

    def end_if(self, is_bad: str, end: list[str]) -> None:
        """Goes on unless a condition holds, which is rare; then the function ends so."""
        bad, good = self.label(), self.label()
        self.lines += [f"  br i1 {is_bad}, label %{bad}, label %{good}, !prof !0", f"{bad}:", *end, f"{good}:"]
        self.declare("!0", '!0 = !{!"branch_weights", i32 1, i32 100000}')

    def out_of_memory(self, number: str) -> list[str]:
        place = self.temp()
        return [
            f"  {place} = getelementptr i8, ptr %context, i64 {context.FAILING}",
            f"  store i64 {number}, ptr {place}",
            f"  store i32 {Status.MEMORY}, ptr %status",
            "  br label %exit",
        ]

    def told(self, array: Array) -> str:
        """The number that a want of memory tells of an array: that of the one outside where it is lent."""
        return f"%told{array.number}" if array in self.lent else str(array.number)

    # -- where they lie -----------------------------------------------------------------------------------------------

    def settle(self, item: Alloc, count: int, is_given: bool) -> None:
        """Finds a place for an array of known size; `is_given` says that pieces alone use it."""
        size = count * WIDTHS[item.array.type]
        if size <= ON_STACK and self.stack + size <= STACK:
            self.on_stack(item.array, count)
        elif size <= TOGETHER and is_given:
            self.together.setdefault(item.array, self.room)
            self.room += -(-size // ALIGNED) * ALIGNED
        else:
            self.statics.append(item)

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
        self.tabulated = {name: i for i, name in enumerate(names)}
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

    def pointer(self, array: Array) -> str:
        known = self.pointers.get(array)
        if known is not None:
            return known
        start = self.together.get(array)
        if start is not None:
            return self.line(f"getelementptr inbounds i8, ptr %together, i64 {start}")
        return self.line(f"load ptr, ptr {self.cells[array]}")

    def place(self, array: Array, index: Operand, part: Operand = 0) -> str:
        if type(part) is Reg:
            first, kind = self.place(array, index), MEMORY_TYPE[ITEM[array.type]]
            return self.line(f"getelementptr inbounds {kind}, ptr {first}, i64 {self.operand(part, 'i64')}")
        base = self.pointer(array)
        if type(index) is int and index == part == 0:
            return base
        place = self.temp()
        type_, at = MEMORY_TYPE[array.type], self.operand(index, "i64")
        inner = f", i32 {part}" if part else ""
        self.lines.append(f"  {place} = getelementptr inbounds {type_}, ptr {base}, i64 {at}{inner}")
        return place

    def bytes_of(self, count: str, width: int) -> str:
        """The bytes of so many elements; if they are too many for 64 bits, a number that no machine has."""
        pair, both = self.overflowing("umul", count, str(width))
        product = self.line(f"extractvalue {both} {pair}, 0")
        wraps = self.line(f"extractvalue {both} {pair}, 1")
        return self.line(f"select i1 {wraps}, i64 {ABSURD}, i64 {product}")

    # -- instructions -------------------------------------------------------------------------------------------------

    def local(self, item: Local) -> None:
        """Made at the start."""

    def extent(self, item: Extent) -> None:
        """For those who check accesses."""

    def alloc(self, item: Alloc) -> None:
        array = item.array
        if array not in self.cells:
            if item.zero:
                count = item.count * WIDTHS[array.type] if type(item.count) is int else 0
                self.zero(self.pointer(array), str(count))
            return
        size = self.size_of(item, self.operand(item.count, "i64"))
        made = self.make(self.cells[array], size, self.told(array))
        if array in self.made_once:
            self.pointers[array] = made
            self.standing.append(array)
        if item.zero:
            self.zero(made, size)

    def size_of(self, item: Alloc, count: str) -> str:
        """The bytes of an array with so many elements."""
        width = WIDTHS[item.array.type]
        return str(min(item.count * width, ABSURD)) if type(item.count) is int else self.bytes_of(count, width)

    def make(self, cell: str, size: str, number: str) -> str:
        """Makes an array in the place of what its cell holds; `number` is what a want of memory tells."""
        self.declare("take", "declare noalias ptr @wengert_take(i64)")
        old, made = self.temp(), self.temp()
        self.lines += [f"  {old} = load ptr, ptr {cell}", f"  call void @wengert_drop(ptr {old})"]
        self.lines.append(f"  {made} = call noalias ptr @wengert_take(i64 {size})")
        self.lines.append(f"  store ptr {made}, ptr {cell}")
        self.check(made, number)
        return made

    def check(self, made: str, number: str) -> None:
        """Goes on if memory was there."""
        is_null = self.temp()
        self.lines.append(f"  {is_null} = icmp eq ptr {made}, null")
        self.end_if(is_null, self.out_of_memory(number))

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
        self.check(made, self.told(item.array))
        self.lines += [
            f"  store ptr {made}, ptr {cell}",
            f"  store i64 {wanted}, ptr {cell}.room",
            f"  br label %{done}",
            f"{done}:",
        ]

    def copy(self, item: Copy) -> None:
        target = self.place(item.target, item.target_start)
        source = self.place(item.source, item.source_start)
        self.move(target, source, self.line(f"mul i64 {self.operand(item.count, 'i64')}, {WIDTHS[item.target.type]}"))

    def move(self, target: str, source: str, size: str) -> None:
        """Copies bytes."""
        self.declare("memcpy", "declare void @llvm.memcpy.p0.p0.i64(ptr nocapture, ptr nocapture, i64, i1)")
        self.lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, i1 false)")

    def swap(self, item: Swap) -> None:
        x, y = self.pointer(item.x), self.pointer(item.y)
        self.lines += [f"  store ptr {y}, ptr {self.cells[item.x]}", f"  store ptr {x}, ptr {self.cells[item.y]}"]
