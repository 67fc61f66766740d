"""The stub's parts that make results, in IR: memory for them before the code runs, Python's objects of it afterwards.

Small arrays are NumPy's own from the start. Large ones lie in memory that is kept from call to call (`memory.py`), as
those do that the code takes itself: they become arrays whose base is a capsule, which gives the memory back. Scalars
are computed in cells of the call. `stub.py` puts the parts around the call of the code.
"""

from __future__ import annotations

from ...._core import blocks

LARGE = 1 << 17  # bytes from which on results lie in memory that is kept from call to call ...
HUGE = 1 << 40  # ... but for those that no machine has, which NumPy refuses

BLOCK_NAME = f'@block.name = private constant [{len(blocks.NAME) + 1} x i8] c"{blocks.NAME.decode()}\\00"'

HELPERS = """\
define private void @dropped.data(ptr %capsule) {
  %data = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr @block.name)
  call void @wengert_drop(ptr %data)
  ret void
}

; The extents of a result into %dims; %axes are its (mode, value) pairs. Gives their product times a width, -1 if that
; is beyond 64 bits.
define private i64 @extents(ptr %axes, i64 %rank, ptr %sizes, ptr %dims, i64 %width) {
start:
  br label %each
each:
  %k = phi i64 [ 0, %start ], [ %k.next, %put ]
  %bytes = phi i64 [ %width, %start ], [ %bytes.next, %put ]
  %more = icmp slt i64 %k, %rank
  br i1 %more, label %take, label %done
take:
  %p.pair = getelementptr [2 x i64], ptr %axes, i64 %k
  %mode = load i64, ptr %p.pair
  %p.value = getelementptr i64, ptr %p.pair, i64 1
  %value = load i64, ptr %p.value
  %is.fixed = icmp eq i64 %mode, MODE_FIXED
  br i1 %is.fixed, label %put, label %told
told:
  %p.size = getelementptr i64, ptr %sizes, i64 %value
  %size = load i64, ptr %p.size
  br label %put
put:
  %extent = phi i64 [ %value, %take ], [ %size, %told ]
  %p.dim = getelementptr i64, ptr %dims, i64 %k
  store i64 %extent, ptr %p.dim
  %k.next = add i64 %k, 1
  %both = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %bytes, i64 %extent)
  %product = extractvalue { i64, i1 } %both, 0
  %is.beyond = extractvalue { i64, i1 } %both, 1
  %bytes.next = select i1 %is.beyond, i64 -1, i64 %product
  br label %each
done:
  ret i64 %bytes
}
"""

ROOM = """\
; -- results
out.start:
  %outs = getelementptr ptr, ptr %buffers, i64 %bo
  br label %out
out:
  %o = phi i64 [ 0, %out.start ], [ %o.next, %out.put ]
  %r = phi ptr [ %p.preset, %out.start ], [ %r.next, %out.put ]
  %out.more = icmp slt i64 %o, %results
  br i1 %out.more, label %out.take, label %run
out.take:
  %o.word = load i64, ptr %r
  %o.kind = and i64 %o.word, 255
  %p.o.dtype = getelementptr i64, ptr %r, i64 1
  %o.dtype = load ptr, ptr %p.o.dtype
  %p.o.rank = getelementptr i64, ptr %r, i64 2
  %o.rank = load i64, ptr %p.o.rank
  %o.axes = getelementptr i64, ptr %r, i64 3
  %r.next = getelementptr [2 x i64], ptr %o.axes, i64 %o.rank
  %p.object = getelementptr ptr, ptr %objects, i64 %o
  store ptr null, ptr %p.object
  %o.place = add i64 %o, %arguments
  %o.cell = getelementptr [2 x i64], ptr %cells, i64 %o.place
  switch i64 %o.kind, label %out.put [
    i64 RESULT_FRESH, label %out.fresh
    i64 RESULT_NUMBER, label %out.number
  ]
out.fresh:
  %o.width = lshr i64 %o.word, 8
  %o.bytes = call i64 @extents(ptr %o.axes, i64 %o.rank, ptr %sizes, ptr %dims, i64 %o.width)
  %is.large = icmp uge i64 %o.bytes, LARGE
  %is.possible = icmp ult i64 %o.bytes, HUGE
  %is.kept = and i1 %is.large, %is.possible
  br i1 %is.kept, label %out.taken, label %out.made
out.taken:
  %taken.data = call ptr @wengert_take(i64 %o.bytes)
  %has.taken = icmp ne ptr %taken.data, null
  br i1 %has.taken, label %out.put, label %out.lacks
out.lacks:
  %p.lack = getelementptr i8, ptr %context, i64 CONTEXT_FAILING
  %lack = sub i64 -1, %o
  store i64 %lack, ptr %p.lack
  br label %drop.start
out.made:
  call void @Py_IncRef(ptr %o.dtype)
  %o.rank.short = trunc i64 %o.rank to i32
  %fresh = call ptr @PyArray_NewFromDescr(ptr %ndarray, ptr %o.dtype, i32 %o.rank.short, ptr %dims, ptr null,
                                          ptr null, i32 0, ptr null)
  store ptr %fresh, ptr %p.object
  %has.fresh = icmp ne ptr %fresh, null
  br i1 %has.fresh, label %out.fresh.data, label %out.fails
out.fails:
  call void @PyErr_Clear()  ; of a want of memory, which the handler words
  br label %out.lacks
out.fresh.data:
  %p.fresh.data = getelementptr i8, ptr %fresh, i64 OBJECT_DATA
  %fresh.data = load ptr, ptr %p.fresh.data
  br label %out.put
out.number:
  br label %out.put
out.put:
  %o.data = phi ptr [ null, %out.take ], [ %fresh.data, %out.fresh.data ], [ %o.cell, %out.number ],
                  [ %taken.data, %out.taken ]
  %p.out = getelementptr ptr, ptr %outs, i64 %o
  store ptr %o.data, ptr %p.out
  %o.next = add i64 %o, 1
  br label %out
"""

HANDED_OVER = """\
; -- success
take:
  %t = phi i64 [ 0, %look ], [ 0, %ask ], [ %t.next, %take.next ]
  %u = phi ptr [ %p.preset, %look ], [ %p.preset, %ask ], [ %u.next, %take.next ]
  %take.more = icmp slt i64 %t, %results
  br i1 %take.more, label %take.one, label %taken
take.one:
  %u.word = load i64, ptr %u
  %u.kind = and i64 %u.word, 255
  %p.u.dtype = getelementptr i64, ptr %u, i64 1
  %u.dtype = load ptr, ptr %p.u.dtype
  %p.u.rank = getelementptr i64, ptr %u, i64 2
  %u.rank = load i64, ptr %p.u.rank
  %u.axes = getelementptr i64, ptr %u, i64 3
  %u.next = getelementptr [2 x i64], ptr %u.axes, i64 %u.rank
  %p.u.object = getelementptr ptr, ptr %objects, i64 %t
  %p.u.data = getelementptr ptr, ptr %outs, i64 %t
  %u.data = load ptr, ptr %p.u.data
  switch i64 %u.kind, label %take.next [
    i64 RESULT_FRESH, label %take.fresh
    i64 RESULT_NUMBER, label %take.number
    i64 RESULT_FILLED, label %take.filled
  ]
take.fresh:
  %u.object = load ptr, ptr %p.u.object
  %is.whole = icmp ne ptr %u.object, null  ; else it is to be made of memory that was taken
  br i1 %is.whole, label %take.next, label %take.filled
take.number:
  %number = call ptr @PyArray_Scalar(ptr %u.data, ptr %u.dtype, ptr null)
  br label %take.made
take.filled:
  %over = call ptr @wg_over(ptr %ndarray, ptr %p.u.dtype, ptr %sizes, ptr %dims, ptr %p.u.data)
  br label %take.made
take.made:
  %made = phi ptr [ %number, %take.number ], [ %over, %take.filled ]
  store ptr %made, ptr %p.u.object
  %has.made = icmp ne ptr %made, null
  br i1 %has.made, label %take.next, label %drop.start
take.next:
  %t.next = add i64 %t, 1
  br label %take
taken:
  switch i64 %form, label %give.named [
    i64 0, label %give.plain
    i64 1, label %give.leaf
  ]
give.leaf:
  %only = load ptr, ptr %objects
  ret ptr %only
give.named:
  %named.type = inttoptr i64 %form to ptr
  %named = call ptr @PyType_GenericAlloc(ptr %named.type, i64 %results)
  br label %give
give.plain:
  %plain = call ptr @PyTuple_New(i64 %results)
  br label %give
give:
  %tuple = phi ptr [ %named, %give.named ], [ %plain, %give.plain ]
  %has.tuple = icmp ne ptr %tuple, null
  br i1 %has.tuple, label %fill, label %raise
fill:
  %w = phi i64 [ 0, %give ], [ %w.next, %fill.one ]
  %fill.more = icmp slt i64 %w, %results
  br i1 %fill.more, label %fill.one, label %filled.all
fill.one:
  %p.w = getelementptr ptr, ptr %objects, i64 %w
  %item = load ptr, ptr %p.w
  %zero = call i32 @PyTuple_SetItem(ptr %tuple, i64 %w, ptr %item)
  %w.next = add i64 %w, 1
  br label %fill
filled.all:
  ret ptr %tuple
}
"""

OVER = """\
; An array over memory that was taken, which goes with it then; %p.dtype is where its record has its dtype.
define internal ptr @wg_over(ptr %ndarray, ptr %p.dtype, ptr %sizes, ptr %dims, ptr %p.data) SELDOM {
take.filled:
  %data = load ptr, ptr %p.data
  %dtype = load ptr, ptr %p.dtype
  %p.rank = getelementptr i64, ptr %p.dtype, i64 1
  %rank = load i64, ptr %p.rank
  %axes = getelementptr i64, ptr %p.dtype, i64 2
  %bytes = call i64 @extents(ptr %axes, i64 %rank, ptr %sizes, ptr %dims, i64 1)
  call void @Py_IncRef(ptr %dtype)
  %rank.short = trunc i64 %rank to i32
  %over = call ptr @PyArray_NewFromDescr(ptr %ndarray, ptr %dtype, i32 %rank.short, ptr %dims, ptr null,
                                         ptr %data, i32 1281, ptr null)  ; C-contiguous, aligned, writable
  %has.over = icmp ne ptr %over, null
  %has.memory = icmp ne ptr %data, null  ; of nothing there may be none
  %is.owned = and i1 %has.over, %has.memory
  br i1 %is.owned, label %take.owner, label %take.whole
take.owner:
  %owner = call ptr @PyCapsule_New(ptr %data, ptr @block.name, ptr @dropped.data)
  %has.owner = icmp ne ptr %owner, null
  br i1 %has.owner, label %take.own, label %take.lost
take.lost:
  call void @Py_DecRef(ptr %over)
  ret ptr null
take.own:
  %ignored = call i32 @PyArray_SetBaseObject(ptr %over, ptr %owner)
  store ptr null, ptr %p.data  ; the capsule has it now
  br label %take.whole
take.whole:
  ret ptr %over
}
"""
