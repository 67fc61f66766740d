"""Memory for the arrays of compiled code: blocks that calls have given back are kept for the next ones.

Fresh memory costs the system a fault a page, and a program that is called again and again would pay it in each call,
more than for its arithmetic where arrays are large. So blocks of `LEAST` bytes and more wait in a few slots; everything
else goes to the C library (`_engines/numpy/heap.py` says what that one keeps). The blocks kept together take no more
than `bound()`: where another one has no room, those go that waited longest. When a function of machine code goes, the
blocks kept shrink to `ALWAYS`; when memory runs out, all of them go. Blocks are aligned to 64 bytes; in front of them
are their size and what the C library gave. Large ones ask Linux for large pages, as NumPy's arrays do.

The slots have one lock, for which nobody waits: who does not get it goes to the C library. A child of `fork` that finds
it taken, by a thread that it has not got, begins with empty slots.

- `ptr wengert_take(i64 size)`: a block of at least so many bytes; null if there is none.
- `void wengert_drop(ptr block)`: gives a block back, or nothing if null.
- `ptr wengert_grow(ptr block, i64 size)`: a block of at least so many bytes that begins with what was in another one,
  which is given back; null if there is none, and the other one stays.
- `void wengert_trim(i64 most)`: lets go of blocks until those kept take at most so many bytes.
- `void wengert_bound(i64 most)`: how many bytes they may take from now on.
- `void wengert_mend()`: what such a child does first.
- `i64 wengert_watch(i32 on)`: counts from now on, or no more, what blocks taken and not given back since take together;
  the most that it was since the last call.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable

from ...._core import forking, system
from ...._core.headroom import allowance
from ..llvm.jit import FINISHED, Loaded, library

NAMES = (
    "wengert_take", "wengert_drop", "wengert_grow", "wengert_trim", "wengert_bound", "wengert_mend", "wengert_watch",
)  # fmt: skip
LEAST = 16 * 1024
ALWAYS = 64 * 1024 * 1024  # bytes that may be kept on any machine, and when functions go
MOST = 1024 * 1024 * 1024  # bytes that are kept on none
SHARE = 16  # of the memory that this process may have, one part in so many may be kept
SLOTS = 64
LARGE = 4 * 1024 * 1024  # bytes from which on large pages are asked for
_MADV_HUGEPAGE = 14

_IR = """
@memory.lock = internal global i32 0
@memory.held = internal global i64 0
@memory.most = internal global i64 ALWAYS
@memory.clock = internal global i64 0
@memory.slots = internal global [SLOTS x ptr] zeroinitializer
@memory.stamps = internal global [SLOTS x i64] zeroinitializer
@memory.watched = internal global i32 0
@memory.used = internal global i64 0
@memory.peak = internal global i64 0

declare ptr @malloc(i64)
declare void @free(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define private i64 @memory.size(ptr %block) {
  %p = getelementptr i8, ptr %block, i64 -16
  %size = load i64, ptr %p
  ret i64 %size
}

define private void @memory.give(ptr %block) {
  %p.raw = getelementptr i8, ptr %block, i64 -8
  %raw = load ptr, ptr %p.raw
  call void @free(ptr %raw)
  ret void
}

define private i1 @memory.enter() {
  %got = cmpxchg ptr @memory.lock, i32 0, i32 1 acquire monotonic
  %is.mine = extractvalue { i32, i1 } %got, 1
  ret i1 %is.mine
}

define private void @memory.leave() {
  store atomic i32 0, ptr @memory.lock release, align 4
  ret void
}

define private void @memory.note(i64 %change) {
  %on = load i32, ptr @memory.watched
  %is.on = icmp ne i32 %on, 0
  br i1 %is.on, label %count, label %done
count:
  %before = atomicrmw add ptr @memory.used, i64 %change monotonic
  %now = add i64 %before, %change
  %ignored = atomicrmw max ptr @memory.peak, i64 %now monotonic
  br label %done
done:
  ret void
}

define i64 @wengert_watch(i32 %on) {
  store i32 %on, ptr @memory.watched
  store i64 0, ptr @memory.used
  %most = atomicrmw xchg ptr @memory.peak, i64 0 monotonic
  ret i64 %most
}

; Empties a slot; the block that was there.
define private ptr @memory.out(i64 %i) {
  %p.slot = getelementptr [SLOTS x ptr], ptr @memory.slots, i64 0, i64 %i
  %kept = load ptr, ptr %p.slot
  store ptr null, ptr %p.slot
  %size = call i64 @memory.size(ptr %kept)
  %held = load i64, ptr @memory.held
  %rest = sub i64 %held, %size
  store i64 %rest, ptr @memory.held
  ret ptr %kept
}

; Frees the blocks that waited longest until at most so many bytes are kept, and a slot is free.
define private void @memory.shrink(i64 %most) {
start:
  br label %again
again:
  br label %scan
scan:
  %i = phi i64 [ 0, %again ], [ %i.next, %next ]
  %oldest = phi i64 [ -1, %again ], [ %oldest.next, %next ]
  %stamp = phi i64 [ -1, %again ], [ %stamp.next, %next ]
  %empty = phi i1 [ false, %again ], [ %empty.next, %next ]
  %p.slot = getelementptr [SLOTS x ptr], ptr @memory.slots, i64 0, i64 %i
  %kept = load ptr, ptr %p.slot
  %is.empty = icmp eq ptr %kept, null
  %empty.next = or i1 %empty, %is.empty
  %p.stamp = getelementptr [SLOTS x i64], ptr @memory.stamps, i64 0, i64 %i
  %own = load i64, ptr %p.stamp
  %is.older = icmp ult i64 %own, %stamp
  %is.full = xor i1 %is.empty, true
  %is.first = and i1 %is.older, %is.full
  %oldest.next = select i1 %is.first, i64 %i, i64 %oldest
  %stamp.next = select i1 %is.first, i64 %own, i64 %stamp
  br label %next
next:
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, SLOTS
  br i1 %more, label %scan, label %look
look:
  %held = load i64, ptr @memory.held
  %is.little = icmp ule i64 %held, %most
  %is.done = and i1 %is.little, %empty.next
  %is.none = icmp slt i64 %oldest.next, 0
  %ends = or i1 %is.done, %is.none
  br i1 %ends, label %done, label %free
free:
  %block = call ptr @memory.out(i64 %oldest.next)
  call void @memory.give(ptr %block)
  br label %again
done:
  ret void
}

define void @wengert_trim(i64 %most) {
start:
  %is.mine = call i1 @memory.enter()
  br i1 %is.mine, label %shrink, label %done
shrink:
  call void @memory.shrink(i64 %most)
  call void @memory.leave()
  br label %done
done:
  ret void
}

define void @wengert_bound(i64 %most) {
  store i64 %most, ptr @memory.most
  call void @wengert_trim(i64 %most)
  ret void
}

define ptr @wengert_take(i64 %size) {
start:
  %is.large = icmp uge i64 %size, LEAST
  %twice = shl i64 %size, 1
  %beyond = add i64 %twice, 1
  br i1 %is.large, label %try, label %fresh
try:
  %is.mine = call i1 @memory.enter()
  br i1 %is.mine, label %scan, label %fresh
scan:
  %i = phi i64 [ 0, %try ], [ %i.next, %next ]
  %best = phi i64 [ -1, %try ], [ %best.next, %next ]
  %least = phi i64 [ %beyond, %try ], [ %least.next, %next ]
  %p.slot = getelementptr [SLOTS x ptr], ptr @memory.slots, i64 0, i64 %i
  %kept = load ptr, ptr %p.slot
  %is.empty = icmp eq ptr %kept, null
  br i1 %is.empty, label %next, label %look
look:
  %room = call i64 @memory.size(ptr %kept)
  %is.enough = icmp uge i64 %room, %size
  %is.near = icmp ult i64 %room, %least
  %fits = and i1 %is.enough, %is.near
  %best.fit = select i1 %fits, i64 %i, i64 %best
  %least.fit = select i1 %fits, i64 %room, i64 %least
  br label %next
next:
  %best.next = phi i64 [ %best, %scan ], [ %best.fit, %look ]
  %least.next = phi i64 [ %least, %scan ], [ %least.fit, %look ]
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, SLOTS
  br i1 %more, label %scan, label %scanned
scanned:
  %is.none = icmp slt i64 %best.next, 0
  br i1 %is.none, label %none, label %found
found:
  %again = call ptr @memory.out(i64 %best.next)
  call void @memory.leave()
  %again.size = call i64 @memory.size(ptr %again)
  call void @memory.note(i64 %again.size)
  ret ptr %again
none:
  call void @memory.leave()
  br label %fresh
fresh:
  %is.absurd = icmp ugt i64 %size, 1125899906842624
  br i1 %is.absurd, label %fail, label %ask
ask:
  %whole = add i64 %size, 128
  %raw.first = call ptr @malloc(i64 %whole)
  %is.null = icmp eq ptr %raw.first, null
  br i1 %is.null, label %pressure, label %made
pressure:
  call void @wengert_trim(i64 0)
  %raw.second = call ptr @malloc(i64 %whole)
  %is.null.too = icmp eq ptr %raw.second, null
  br i1 %is.null.too, label %fail, label %made
fail:
  ret ptr null
made:
  %raw = phi ptr [ %raw.first, %ask ], [ %raw.second, %pressure ]
  %address = ptrtoint ptr %raw to i64
  %behind = add i64 %address, 128
  %aligned = and i64 %behind, -64
  %offset = sub i64 %aligned, %address
  %block = getelementptr i8, ptr %raw, i64 %offset
  %p.size = getelementptr i8, ptr %block, i64 -16
  store i64 %size, ptr %p.size
  %p.raw = getelementptr i8, ptr %block, i64 -8
  store ptr %raw, ptr %p.raw
PAGES
  call void @memory.note(i64 %size)
  ret ptr %block
}

define void @wengert_drop(ptr %block) {
start:
  %is.null = icmp eq ptr %block, null
  br i1 %is.null, label %done, label %some
done:
  ret void
some:
  %size = call i64 @memory.size(ptr %block)
  %less = sub i64 0, %size
  call void @memory.note(i64 %less)
  %is.large = icmp uge i64 %size, LEAST
  br i1 %is.large, label %measure, label %give
measure:
  %most = load i64, ptr @memory.most
  %is.much = icmp ugt i64 %size, %most
  br i1 %is.much, label %give, label %try
try:
  %is.mine = call i1 @memory.enter()
  br i1 %is.mine, label %room, label %give
room:
  %left = sub i64 %most, %size
  call void @memory.shrink(i64 %left)
  br label %scan
scan:
  %i = phi i64 [ 0, %room ], [ %i.next, %next ]
  %p.slot = getelementptr [SLOTS x ptr], ptr @memory.slots, i64 0, i64 %i
  %kept = load ptr, ptr %p.slot
  %is.empty = icmp eq ptr %kept, null
  %i.next = add i64 %i, 1
  br i1 %is.empty, label %keep, label %next
next:
  br label %scan  ; one is free
keep:
  store ptr %block, ptr %p.slot
  %held = load i64, ptr @memory.held
  %all = add i64 %held, %size
  store i64 %all, ptr @memory.held
  %time = load i64, ptr @memory.clock
  %now = add i64 %time, 1
  store i64 %now, ptr @memory.clock
  %p.stamp = getelementptr [SLOTS x i64], ptr @memory.stamps, i64 0, i64 %i
  store i64 %now, ptr %p.stamp
  call void @memory.leave()
  ret void
give:
  call void @memory.give(ptr %block)
  ret void
}

define ptr @wengert_grow(ptr %block, i64 %size) {
start:
  %is.null = icmp eq ptr %block, null
  br i1 %is.null, label %first, label %again
first:
  %one = call ptr @wengert_take(i64 %size)
  ret ptr %one
again:
  %room = call i64 @memory.size(ptr %block)
  %is.enough = icmp uge i64 %room, %size
  br i1 %is.enough, label %same, label %move
same:
  ret ptr %block
move:
  %larger = call ptr @wengert_take(i64 %size)
  %failed = icmp eq ptr %larger, null
  br i1 %failed, label %none, label %copy
none:
  ret ptr null
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr %larger, ptr %block, i64 %room, i1 false)
  call void @wengert_drop(ptr %block)
  ret ptr %larger
}

define void @wengert_mend() {
  %lock = load atomic i32, ptr @memory.lock acquire, align 4
  %is.taken = icmp ne i32 %lock, 0
  br i1 %is.taken, label %empty, label %done
empty:
  store [SLOTS x ptr] zeroinitializer, ptr @memory.slots
  store i64 0, ptr @memory.held
  store atomic i32 0, ptr @memory.lock release, align 4
  br label %done
done:
  ret void
}
"""


_LARGE_PAGES = """
  %is.worth = icmp uge i64 %size, LARGE
  br i1 %is.worth, label %advise, label %ready
advise:
  %up = add i64 %aligned, 4095
  %page = and i64 %up, -4096
  %p.page = inttoptr i64 %page to ptr
  %lost = sub i64 %page, %aligned
  %rest = sub i64 %size, %lost
  %ignored = call i32 @madvise(ptr %p.page, i64 %rest, i32 HUGEPAGE)
  br label %ready
ready:"""


def memory_ir() -> str:
    """The functions above as IR."""
    pages = _LARGE_PAGES if system.SYSTEM.has_large_pages else ""
    declared = "declare i32 @madvise(ptr, i64, i32)\n" if pages else ""
    numbers = {"SLOTS": SLOTS, "LEAST": LEAST, "ALWAYS": ALWAYS, "LARGE": LARGE, "HUGEPAGE": _MADV_HUGEPAGE}
    text = declared + _IR.replace("PAGES", pages)
    for name, number in numbers.items():
        text = text.replace(name, str(number))
    return text


def bound() -> int:
    """How many bytes may be kept."""
    return max(ALWAYS, min(MOST, allowance() // SHARE))


def trim(most: int = ALWAYS) -> None:
    """Lets go of blocks until those kept take at most so many bytes."""
    if _library.cache_info().currsize:  # else there are none
        _called("wengert_trim", most)


def taken_by(run: Callable[[], object]) -> int:
    """The bytes of blocks that something takes when it runs, at most at any time."""
    if not _library.cache_info().currsize:  # no code is there that takes any
        run()
        return 0
    watch = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int32)(address("wengert_watch"))
    watch(1)
    try:
        run()
    finally:
        most = watch(0)
    return most


def _called(name: str, number: int) -> None:
    ctypes.CFUNCTYPE(None, ctypes.c_int64)(address(name))(number)


@functools.cache
def _library() -> Loaded:
    made = library(FINISHED + memory_ir(), NAMES[0], exports=NAMES)
    ctypes.CFUNCTYPE(None, ctypes.c_int64)(made.symbol("wengert_bound"))(bound())
    forking.mend_in_child(ctypes.CFUNCTYPE(None)(made.symbol("wengert_mend")))
    return made


def address(name: str) -> int:
    """The address of one of `NAMES`, for compiled code."""
    return _library().symbol(name)
