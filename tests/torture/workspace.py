"""The workspace of machine code between guard pages: each block that it takes ends at a protected page.

In place of the functions of `_engines/native/run/memory.py`, by the same names, so no compiled code knows of it. Blocks are
counted, and those that are told to are not had.
"""

from __future__ import annotations

import ctypes
import functools
import sys

from wengert._engines.native.llvm.jit import FINISHED, Loaded, load
from wengert._engines.native.run import memory

# Pages: one that holds the size, a protected one, the block, a protected one. Blocks are aligned to 64 bytes.
_IR = """
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare i32 @mprotect(ptr, i64, i32)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

@taken = internal global i64 0
@first.failing = internal global i64 0
@failing = internal global i64 0
@held = internal global i64 0

; Counts from 0 again: so many blocks from the first one on are not had.
define void @torture_fail(i64 %first, i64 %many) {
  store i64 %first, ptr @first.failing
  store i64 %many, ptr @failing
  store i64 0, ptr @taken
  ret void
}

define i64 @torture_taken() {
  %taken = load i64, ptr @taken
  ret i64 %taken
}

define i64 @torture_held() {
  %held = load i64, ptr @held
  ret i64 %held
}

define ptr @wengert_take(i64 %size) {
start:
  %number = atomicrmw add ptr @taken, i64 1 monotonic
  %first.failing = load i64, ptr @first.failing
  %failing = load i64, ptr @failing
  %place = sub i64 %number, %first.failing
  %is.failing = icmp ult i64 %place, %failing
  %is.absurd = icmp ugt i64 %size, 1073741824
  %fails = or i1 %is.failing, %is.absurd
  br i1 %fails, label %fail, label %ask
ask:
  %is.none = icmp eq i64 %size, 0
  %some = select i1 %is.none, i64 1, i64 %size
  %up = add i64 %some, 63
  %used = and i64 %up, -64
  %more = add i64 %used, 4095
  %room = and i64 %more, -4096
  %whole = add i64 %room, 12288
  %p = call ptr @mmap(ptr null, i64 %whole, i32 3, i32 34, i32 -1, i64 0)
  %address = ptrtoint ptr %p to i64
  %is.bad = icmp eq i64 %address, -1
  br i1 %is.bad, label %fail, label %made
fail:
  ret ptr null
made:
  %before = atomicrmw add ptr @held, i64 1 monotonic
  store i64 %size, ptr %p
  %p.room = getelementptr i8, ptr %p, i64 8
  store i64 %room, ptr %p.room
  %front = getelementptr i8, ptr %p, i64 4096
  %a = call i32 @mprotect(ptr %front, i64 4096, i32 0)
  %first = getelementptr i8, ptr %p, i64 8192
  %behind = getelementptr i8, ptr %first, i64 %room
  %b = call i32 @mprotect(ptr %behind, i64 4096, i32 0)
  %back = sub i64 0, %used
  %block = getelementptr i8, ptr %behind, i64 %back
  ret ptr %block
}

define private ptr @head(ptr %block) {
  %number = ptrtoint ptr %block to i64
  %page = and i64 %number, -4096
  %head = sub i64 %page, 8192
  %p = inttoptr i64 %head to ptr
  ret ptr %p
}

define void @wengert_drop(ptr %block) {
start:
  %is.null = icmp eq ptr %block, null
  br i1 %is.null, label %done, label %some
done:
  ret void
some:
  %before = atomicrmw sub ptr @held, i64 1 monotonic
  %p = call ptr @head(ptr %block)
  %p.room = getelementptr i8, ptr %p, i64 8
  %room = load i64, ptr %p.room
  %whole = add i64 %room, 12288
  %a = call i32 @munmap(ptr %p, i64 %whole)
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
  %p = call ptr @head(ptr %block)
  %held = load i64, ptr %p
  %is.enough = icmp uge i64 %held, %size
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
  call void @llvm.memcpy.p0.p0.i64(ptr %larger, ptr %block, i64 %held, i1 false)
  call void @wengert_drop(ptr %block)
  ret ptr %larger
}

; no block is kept here, so there is nothing to let go, to bound or to mend
define void @wengert_trim(i64 %most) {
  ret void
}

define void @wengert_bound(i64 %most) {
  ret void
}

define void @wengert_mend() {
  ret void
}

; what is taken is counted above
define i64 @wengert_watch(i32 %on) {
  ret i64 0
}
"""


class Workspace:
    """The blocks that machine code takes, counted."""

    def __init__(self, library: Loaded) -> None:
        number = ctypes.c_int64
        self._fail = ctypes.CFUNCTYPE(None, number, number)(library.symbol("torture_fail"))
        self._taken = ctypes.CFUNCTYPE(number)(library.symbol("torture_taken"))
        self._held = ctypes.CFUNCTYPE(number)(library.symbol("torture_held"))

    def fail(self, first: int, many: int = 1) -> None:
        """Has so many of the blocks that are asked for from now on not be had, the first after so many others."""
        self._fail(first, many)

    @property
    def taken(self) -> int:
        """How often a block was asked for since `fail`."""
        return self._taken()

    @property
    def held(self) -> int:
        """How many blocks were taken and not given back."""
        return self._held()


def guard_workspace() -> Workspace | None:
    """Has machine code take its blocks between guard pages from now on; does nothing where mmap has other numbers."""
    if not sys.platform.startswith("linux"):
        return None
    own = ("torture_fail", "torture_taken", "torture_held")
    library = load(FINISHED + _IR, memory.NAMES[0], exports=(*memory.NAMES, *own))
    memory._library = functools.cache(lambda: library)
    return Workspace(library)
