"""Memory for the arrays of compiled code: blocks that calls have given back are kept for the next ones.

Fresh memory costs the system a fault a page, and a program that is called again and again would pay it in each call. So
blocks of `LEAST` bytes and more wait in a few slots, no more than `MOST` bytes together; everything else goes to the C
library. Blocks are aligned to 64 bytes; in front of them are their size and what the C library gave.

The slots have one lock, for which nobody waits: who does not get it goes to the C library. A child of `fork` that finds
it taken, by a thread that it has not got, begins with empty slots.

- `ptr wengert_take(i64 size)`: a block of at least so many bytes; null if there is none.
- `void wengert_drop(ptr block)`: gives a block back, or nothing if null.
- `ptr wengert_grow(ptr block, i64 size)`: a block of at least so many bytes that begins with what was in another one,
  which is given back; null if there is none, and the other one stays.
- `void wengert_mend()`: what such a child does first.
"""

from __future__ import annotations

import ctypes
import functools

from ..._core import forking
from . import symbols
from .jit import FINISHED, Loaded, library

NAMES = ("wengert_take", "wengert_drop", "wengert_grow", "wengert_mend")
LEAST = 16 * 1024
MOST = 64 * 1024 * 1024
SLOTS = 64

_IR = """
@memory.lock = internal global i32 0
@memory.held = internal global i64 0
@memory.slots = internal global [SLOTS x ptr] zeroinitializer

declare ptr @malloc(i64)
declare void @free(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define private i64 @memory.size(ptr %block) {
  %p = getelementptr i8, ptr %block, i64 -16
  %size = load i64, ptr %p
  ret i64 %size
}

define ptr @wengert_take(i64 %size) {
start:
  %is.large = icmp uge i64 %size, LEAST
  br i1 %is.large, label %try, label %fresh
try:
  %got = cmpxchg ptr @memory.lock, i32 0, i32 1 acquire monotonic
  %is.mine = extractvalue { i32, i1 } %got, 1
  br i1 %is.mine, label %scan, label %fresh
scan:
  %i = phi i64 [ 0, %try ], [ %i.next, %next ]
  %p.slot = getelementptr [SLOTS x ptr], ptr @memory.slots, i64 0, i64 %i
  %kept = load ptr, ptr %p.slot
  %is.empty = icmp eq ptr %kept, null
  br i1 %is.empty, label %next, label %look
look:
  %room = call i64 @memory.size(ptr %kept)
  %is.enough = icmp uge i64 %room, %size
  %twice = shl i64 %size, 1
  %is.near = icmp ule i64 %room, %twice
  %fits = and i1 %is.enough, %is.near
  br i1 %fits, label %found, label %next
next:
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, SLOTS
  br i1 %more, label %scan, label %none
found:
  store ptr null, ptr %p.slot
  %held = load i64, ptr @memory.held
  %rest = sub i64 %held, %room
  store i64 %rest, ptr @memory.held
  store atomic i32 0, ptr @memory.lock release, align 4
  ret ptr %kept
none:
  store atomic i32 0, ptr @memory.lock release, align 4
  br label %fresh
fresh:
  %is.absurd = icmp ugt i64 %size, 1125899906842624
  br i1 %is.absurd, label %fail, label %ask
ask:
  %whole = add i64 %size, 128
  %raw = call ptr @malloc(i64 %whole)
  %is.null = icmp eq ptr %raw, null
  br i1 %is.null, label %fail, label %made
fail:
  ret ptr null
made:
  %address = ptrtoint ptr %raw to i64
  %behind = add i64 %address, 128
  %aligned = and i64 %behind, -64
  %offset = sub i64 %aligned, %address
  %block = getelementptr i8, ptr %raw, i64 %offset
  %p.size = getelementptr i8, ptr %block, i64 -16
  store i64 %size, ptr %p.size
  %p.raw = getelementptr i8, ptr %block, i64 -8
  store ptr %raw, ptr %p.raw
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
  %is.large = icmp uge i64 %size, LEAST
  br i1 %is.large, label %try, label %give
try:
  %got = cmpxchg ptr @memory.lock, i32 0, i32 1 acquire monotonic
  %is.mine = extractvalue { i32, i1 } %got, 1
  br i1 %is.mine, label %count, label %give
count:
  %held = load i64, ptr @memory.held
  %all = add i64 %held, %size
  %is.much = icmp ugt i64 %all, MOST
  br i1 %is.much, label %full, label %scan
scan:
  %i = phi i64 [ 0, %count ], [ %i.next, %next ]
  %p.slot = getelementptr [SLOTS x ptr], ptr @memory.slots, i64 0, i64 %i
  %kept = load ptr, ptr %p.slot
  %is.empty = icmp eq ptr %kept, null
  br i1 %is.empty, label %keep, label %next
next:
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, SLOTS
  br i1 %more, label %scan, label %full
keep:
  store ptr %block, ptr %p.slot
  store i64 %all, ptr @memory.held
  store atomic i32 0, ptr @memory.lock release, align 4
  ret void
full:
  store atomic i32 0, ptr @memory.lock release, align 4
  br label %give
give:
  %p.raw = getelementptr i8, ptr %block, i64 -8
  %raw = load ptr, ptr %p.raw
  call void @free(ptr %raw)
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


def memory_ir() -> str:
    """The functions above as IR."""
    return _IR.replace("SLOTS", str(SLOTS)).replace("LEAST", str(LEAST)).replace("MOST", str(MOST))


@functools.cache
def _library() -> Loaded:
    made = library(FINISHED + memory_ir(), NAMES[0], exports=NAMES)
    forking.mend_in_child(ctypes.CFUNCTYPE(None)(made.symbol("wengert_mend")))
    return made


def _address(name: str) -> int:
    return _library().symbol(name)


for _name in NAMES:
    symbols.register(_name, functools.partial(_address, _name))
