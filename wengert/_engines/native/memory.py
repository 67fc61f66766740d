"""Memory of compiled code: large blocks are kept from call to call, for the system takes its time to give pages anew.

- `ptr wengert_take(i64 size)`: a block at a multiple of 64, null if there is no memory.
- `ptr wengert_grow(ptr block, i64 size)`: a block of at least that size that begins as the one given, which is put
  back.
- `void wengert_put(ptr block)`: a block is no longer needed; null is none.

In front of a block are its size and the address that `malloc` gave. Blocks of `LARGE` bytes or more go into `SLOTS`
slots, each exchanged atomically, and together hold at most `MOST` bytes; what is more is freed. All else is `malloc`.
"""

from __future__ import annotations

NAMES = ("wengert_take", "wengert_grow", "wengert_put")

LARGE = 1 << 15
SLOTS = 32
MOST = 1 << 28

DECLARATIONS = {
    "wengert_take": "declare noalias align 64 ptr @wengert_take(i64) nounwind willreturn "
    'allockind("alloc,uninitialized") allocsize(0) "alloc-family"="wengert"',
    "wengert_grow": "declare noalias align 64 ptr @wengert_grow(ptr nocapture, i64) nounwind willreturn",
    "wengert_put": 'declare void @wengert_put(ptr allocptr nocapture) nounwind willreturn allockind("free")'
    ' "alloc-family"="wengert"',
}

_IR = """
declare ptr @malloc(i64)
declare void @free(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr nocapture, ptr nocapture, i64, i1)

@slots = private global [SLOTS x ptr] zeroinitializer
@kept = private global i64 0
@next = private global i64 0

define private i64 @size(ptr %block) {
  %p = getelementptr i8, ptr %block, i64 -16
  %size = load i64, ptr %p
  ret i64 %size
}

define private void @drop(ptr %block) {
  %p = getelementptr i8, ptr %block, i64 -8
  %raw = load ptr, ptr %p
  call void @free(ptr %raw)
  ret void
}

define private ptr @fresh(i64 %size) {
start:
  %whole = add i64 %size, 80
  %is.sane = icmp ult i64 %size, 9223372036854775728
  br i1 %is.sane, label %ask, label %none
ask:
  %raw = call ptr @malloc(i64 %whole)
  %failed = icmp eq ptr %raw, null
  br i1 %failed, label %none, label %got
none:
  ret ptr null
got:
  %address = ptrtoint ptr %raw to i64
  %behind = add i64 %address, 79
  %even = and i64 %behind, -64
  %step = sub i64 %even, %address
  %block = getelementptr i8, ptr %raw, i64 %step
  %p.size = getelementptr i8, ptr %block, i64 -16
  store i64 %size, ptr %p.size
  %p.raw = getelementptr i8, ptr %block, i64 -8
  store ptr %raw, ptr %p.raw
  ret ptr %block
}

; What is in a slot is taken out of it; null if nothing is.
define private ptr @pulled(i64 %i) {
start:
  %slot = getelementptr ptr, ptr @slots, i64 %i
  %seen = load atomic ptr, ptr %slot monotonic, align 8
  %empty = icmp eq ptr %seen, null
  br i1 %empty, label %none, label %pull
pull:
  %block = atomicrmw xchg ptr %slot, ptr null acq_rel
  %gone = icmp eq ptr %block, null
  br i1 %gone, label %none, label %count
count:
  %size = call i64 @size(ptr %block)
  %before = atomicrmw sub ptr @kept, i64 %size monotonic
  ret ptr %block
none:
  ret ptr null
}

define ptr @wengert_take(i64 %size) {
start:
  %is.large = icmp uge i64 %size, LARGE
  br i1 %is.large, label %look, label %anew
look:
  %i = phi i64 [ 0, %start ], [ %i.next, %on ]
  %more = icmp ult i64 %i, SLOTS
  br i1 %more, label %try, label %anew
try:
  %slot = getelementptr ptr, ptr @slots, i64 %i
  %seen = load atomic ptr, ptr %slot monotonic, align 8
  %empty = icmp eq ptr %seen, null
  br i1 %empty, label %on, label %pull
pull:
  %block = call ptr @pulled(i64 %i)
  %gone = icmp eq ptr %block, null
  br i1 %gone, label %on, label %measure
measure:
  %has = call i64 @size(ptr %block)
  %is.enough = icmp uge i64 %has, %size
  %half = lshr i64 %has, 1
  %is.near = icmp ule i64 %half, %size
  %fits = and i1 %is.enough, %is.near
  br i1 %fits, label %found, label %back
found:
  ret ptr %block
back:
  call void @keep(ptr %block, i64 %i)
  br label %on
on:
  %i.next = add i64 %i, 1
  br label %look
anew:
  %made = call ptr @fresh(i64 %size)
  ret ptr %made
}

; Puts a large block into a slot; what was there is freed.
define private void @keep(ptr %block, i64 %i) {
start:
  %size = call i64 @size(ptr %block)
  %before = atomicrmw add ptr @kept, i64 %size monotonic
  %slot = getelementptr ptr, ptr @slots, i64 %i
  %other = atomicrmw xchg ptr %slot, ptr %block acq_rel
  %none = icmp eq ptr %other, null
  br i1 %none, label %end, label %out
out:
  %other.size = call i64 @size(ptr %other)
  %before.out = atomicrmw sub ptr @kept, i64 %other.size monotonic
  call void @drop(ptr %other)
  br label %end
end:
  ret void
}

define void @wengert_put(ptr %block) {
start:
  %is.none = icmp eq ptr %block, null
  br i1 %is.none, label %end, label %some
some:
  %size = call i64 @size(ptr %block)
  %is.large = icmp uge i64 %size, LARGE
  %is.held = icmp ule i64 %size, MOST
  %is.kept = and i1 %is.large, %is.held
  br i1 %is.kept, label %room, label %free
free:
  call void @drop(ptr %block)
  br label %end
room:
  %i = phi i64 [ 0, %some ], [ %i.next, %freed ]
  %kept = load atomic i64, ptr @kept monotonic, align 8
  %then = add i64 %kept, %size
  %is.much = icmp ugt i64 %then, MOST
  %is.left = icmp ult i64 %i, SLOTS
  %frees = and i1 %is.much, %is.left
  br i1 %frees, label %make.room, label %find
make.room:
  %old = call ptr @pulled(i64 %i)
  %no.old = icmp eq ptr %old, null
  br i1 %no.old, label %freed, label %drop.old
drop.old:
  call void @drop(ptr %old)
  br label %freed
freed:
  %i.next = add i64 %i, 1
  br label %room
find:
  %j = phi i64 [ 0, %room ], [ %j.next, %not.empty ]
  %more = icmp ult i64 %j, SLOTS
  br i1 %more, label %look, label %replace
look:
  %slot = getelementptr ptr, ptr @slots, i64 %j
  %seen = load atomic ptr, ptr %slot monotonic, align 8
  %empty = icmp eq ptr %seen, null
  br i1 %empty, label %into, label %not.empty
not.empty:
  %j.next = add i64 %j, 1
  br label %find
into:
  call void @keep(ptr %block, i64 %j)
  br label %end
replace:
  ; all slots are taken: each in its turn gives way, so that sizes no longer asked for do not stay
  %turn = atomicrmw add ptr @next, i64 1 monotonic
  %victim = urem i64 %turn, SLOTS
  call void @keep(ptr %block, i64 %victim)
  br label %end
end:
  ret void
}

define ptr @wengert_grow(ptr %block, i64 %size) {
start:
  %is.none = icmp eq ptr %block, null
  br i1 %is.none, label %only, label %some
only:
  %first = call ptr @wengert_take(i64 %size)
  ret ptr %first
some:
  %has = call i64 @size(ptr %block)
  %is.enough = icmp uge i64 %has, %size
  br i1 %is.enough, label %same, label %larger
same:
  ret ptr %block
larger:
  %made = call ptr @wengert_take(i64 %size)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %out, label %copy
out:
  ret ptr null
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr align 64 %made, ptr align 64 %block, i64 %has, i1 false)
  call void @wengert_put(ptr %block)
  ret ptr %made
}
"""


def memory_ir() -> str:
    """The functions, as a part of the run-time library's module."""
    return _IR.replace("SLOTS", str(SLOTS)).replace("LARGE", str(LARGE)).replace("MOST", str(MOST))
