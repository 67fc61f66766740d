"""The stub's first part, in IR: looks at the arguments of a call and gets the numbers that the code will need.

First it compares what looks tell of Python's objects (`looks.py`). Then it goes over the records of `records.py` with
the arguments beside them, refuses what does not fit, and leaves in `%buffers` where the data lie and in `%sizes` the
extents. Of arrays that fit but for where their elements lie it makes copies, once it is known that all else fits.
`stub.py` puts it where its function begins.
"""

from __future__ import annotations

LOOKS = """\
; -- what the program has read beside its arguments
watched:
  %has.looks = icmp ne ptr %looks, null
  br i1 %has.looks, label %watch, label %args.start
watch:
  %p.watches = getelementptr i64, ptr %looks, i64 1
  %watches = load i64, ptr %p.watches
  %watch.first = getelementptr i64, ptr %looks, i64 2
  br label %watch.next
watch.next:
  %at = phi i64 [ 0, %watch ], [ %at.next, %watch.one ]
  %watch.more = icmp slt i64 %at, %watches
  br i1 %watch.more, label %watch.one, label %args.start
watch.one:
  %p.watch = getelementptr [3 x i64], ptr %watch.first, i64 %at
  %watch.at = load ptr, ptr %p.watch
  %watch.word = load i64, ptr %watch.at
  %p.watch.mask = getelementptr i64, ptr %p.watch, i64 1
  %watch.mask = load i64, ptr %p.watch.mask
  %watch.bits = and i64 %watch.word, %watch.mask
  %p.watch.wanted = getelementptr i64, ptr %p.watch, i64 2
  %watch.wanted = load i64, ptr %p.watch.wanted
  %watch.holds = icmp eq i64 %watch.bits, %watch.wanted
  %at.next = add i64 %at, 1
  br i1 %watch.holds, label %watch.next, label %watch.failed
watch.failed:
  store i64 1, ptr %looks
  br label %refuse
args.start:
  br label %arg
"""

ARGUMENTS = """\
; -- arguments
arg:
  %i = phi i64 [ 0, %args.start ], [ %i.next, %arg.done ]
  %b = phi i64 [ 0, %args.start ], [ %b.next, %arg.done ]
  %c = phi ptr [ %records, %args.start ], [ %c.next, %arg.done ]
  %arg.more = icmp slt i64 %i, %arguments
  br i1 %arg.more, label %arg.take, label %constant
arg.take:
  %is.given = icmp slt i64 %i, %given
  %i.kept = sub i64 %i, %given
  %i.own = select i1 %is.given, i64 %i, i64 %i.kept
  %x.from = select i1 %is.given, ptr %args, ptr %kept
  %p.x = getelementptr ptr, ptr %x.from, i64 %i.own
  %x = load ptr, ptr %p.x
  %p.type = getelementptr i8, ptr %x, i64 HEAD_TYPE
  %type = load ptr, ptr %p.type
  %kind = load i64, ptr %c
  %c1 = getelementptr i64, ptr %c, i64 1
  %c2 = getelementptr i64, ptr %c, i64 2
  %c3 = getelementptr i64, ptr %c, i64 3
  %c4 = getelementptr i64, ptr %c, i64 4
  %p.cell = getelementptr [2 x i64], ptr %cells, i64 %i
  switch i64 %kind, label %refuse [
    i64 ARGUMENT_ARRAY, label %array
    i64 ARGUMENT_FLOAT64, label %float64
    i64 ARGUMENT_FLOAT32, label %float32
    i64 ARGUMENT_SCALAR, label %scalar
    i64 ARGUMENT_STATIC, label %static
  ]
array:
  %is.array = icmp eq ptr %type, %ndarray
  br i1 %is.array, label %array.looked, label %array.other
array.other:
  %type.too = load ptr, ptr %c3
  %is.scalar = icmp eq ptr %type, %type.too
  %x.number = getelementptr i8, ptr %x, i64 OBJECT_DATA
  br i1 %is.scalar, label %arg.put, label %refuse
array.looked:
  %p.dtype = getelementptr i8, ptr %x, i64 OBJECT_DTYPE
  %dtype = load ptr, ptr %p.dtype
  %dtype.wanted = load ptr, ptr %c1
  %is.same.dtype = icmp eq ptr %dtype, %dtype.wanted
  br i1 %is.same.dtype, label %array.typed, label %array.equal
array.equal:  ; of arrays that come from a pickle, or of another name for as many bits
  %equal = call i8 @PyArray_EquivTypes(ptr %dtype, ptr %dtype.wanted)
  %is.equal = icmp ne i8 %equal, 0
  br i1 %is.equal, label %array.typed, label %refuse
array.typed:
  %p.flags = getelementptr i8, ptr %x, i64 OBJECT_FLAGS
  %flags = load i32, ptr %p.flags
  %flags.both = and i32 %flags, 257  ; C-contiguous and aligned
  %flags.fit = icmp eq i32 %flags.both, 257
  %p.rank = getelementptr i8, ptr %x, i64 OBJECT_RANK
  %rank.short = load i32, ptr %p.rank
  %rank = sext i32 %rank.short to i64
  %rank.wanted = load i64, ptr %c2
  %rank.fits = icmp eq i64 %rank, %rank.wanted
  %p.extents = getelementptr i8, ptr %x, i64 OBJECT_DIMS
  %p.data = getelementptr i8, ptr %x, i64 OBJECT_DATA
  br i1 %rank.fits, label %array.fits, label %refuse
array.fits:
  %x.extents = load ptr, ptr %p.extents
  %x.data = load ptr, ptr %p.data
  br label %axis
axis:
  %k = phi i64 [ 0, %array.fits ], [ %k.next, %axis.done ]
  %axis.more = icmp slt i64 %k, %rank
  br i1 %axis.more, label %axis.take, label %array.done
axis.take:
  %p.extent = getelementptr i64, ptr %x.extents, i64 %k
  %extent = load i64, ptr %p.extent
  %p.pair = getelementptr [2 x i64], ptr %c4, i64 %k
  %mode = load i64, ptr %p.pair
  %p.value = getelementptr i64, ptr %p.pair, i64 1
  %value = load i64, ptr %p.value
  %is.fixed = icmp eq i64 %mode, MODE_FIXED
  br i1 %is.fixed, label %axis.check, label %axis.size
axis.size:
  %p.size = getelementptr i64, ptr %sizes, i64 %value
  %is.told = icmp eq i64 %mode, MODE_TOLD
  br i1 %is.told, label %axis.tell, label %axis.known
axis.tell:
  store i64 %extent, ptr %p.size
  br label %axis.done
axis.known:
  %known = load i64, ptr %p.size
  br label %axis.check
axis.check:
  %wanted = phi i64 [ %value, %axis.take ], [ %known, %axis.known ]
  %extent.fits = icmp eq i64 %extent, %wanted
  br i1 %extent.fits, label %axis.done, label %refuse
axis.done:
  %k.next = add i64 %k, 1
  br label %axis
array.done:
  %c.array = getelementptr [2 x i64], ptr %c4, i64 %rank
  br i1 %flags.fit, label %arg.put, label %array.apart
array.apart:
  call void @Py_IncRef(ptr %x)
  %mark = load i64, ptr %copies
  %marks = getelementptr i64, ptr %copies, i64 1
  %p.mark = getelementptr [2 x i64], ptr %marks, i64 %mark
  store ptr %x, ptr %p.mark
  %p.mark.buffer = getelementptr i64, ptr %p.mark, i64 1
  store i64 %b, ptr %p.mark.buffer
  %mark.next = add i64 %mark, 1
  store i64 %mark.next, ptr %copies
  br label %arg.put
float64:
  %is.float = icmp eq ptr %type, %float
  br i1 %is.float, label %float64.fits, label %refuse
float64.fits:
  %v64 = call double @PyFloat_AsDouble(ptr %x)
  store double %v64, ptr %p.cell
  br label %arg.put
float32:
  %is.float.too = icmp eq ptr %type, %float
  br i1 %is.float.too, label %float32.fits, label %refuse
float32.fits:
  %v32.wide = call double @PyFloat_AsDouble(ptr %x)
  %v32 = fptrunc double %v32.wide to float
  store float %v32, ptr %p.cell
  br label %arg.put
scalar:
  %type.wanted = load ptr, ptr %c1
  %type.fits = icmp eq ptr %type, %type.wanted
  %x.value = getelementptr i8, ptr %x, i64 OBJECT_DATA
  br i1 %type.fits, label %arg.put, label %refuse
static:
  %same = load ptr, ptr %c1
  %is.same = icmp eq ptr %x, %same
  br i1 %is.same, label %arg.done, label %refuse
arg.put:
  %c.put = phi ptr [ %c.array, %array.done ], [ %c.array, %array.apart ], [ %c4, %array.other ],
                   [ %c1, %float64.fits ], [ %c1, %float32.fits ], [ %c2, %scalar ]
  %data = phi ptr [ %x.data, %array.done ], [ %x.data, %array.apart ], [ %x.number, %array.other ],
                  [ %p.cell, %float64.fits ], [ %p.cell, %float32.fits ], [ %x.value, %scalar ]
  %p.buffer = getelementptr ptr, ptr %buffers, i64 %b
  store ptr %data, ptr %p.buffer
  %b.put = add i64 %b, 1
  br label %arg.done
arg.done:
  %b.next = phi i64 [ %b.put, %arg.put ], [ %b, %static ]
  %c.next = phi ptr [ %c.put, %arg.put ], [ %c2, %static ]
  %i.next = add i64 %i, 1
  br label %arg
"""

SIZES = """\
; -- constants and sizes
constant:
  %h = phi i64 [ 0, %arg ], [ %h.next, %constant.put ]
  %constant.more = icmp slt i64 %h, %constants
  br i1 %constant.more, label %constant.put, label %constants.done
constant.put:
  %p.constant = getelementptr ptr, ptr %c, i64 %h
  %constant.address = load ptr, ptr %p.constant
  %h.place = add i64 %b, %h
  %p.constant.buffer = getelementptr ptr, ptr %buffers, i64 %h.place
  store ptr %constant.address, ptr %p.constant.buffer
  %h.next = add i64 %h, 1
  br label %constant
constants.done:
  %bo = add i64 %b, %constants
  %c.presets = getelementptr ptr, ptr %c, i64 %constants
  br label %preset
preset:
  %e = phi i64 [ 0, %constants.done ], [ %e.next, %preset.put ]
  %preset.more = icmp slt i64 %e, %presets
  %p.preset = getelementptr [2 x i64], ptr %c.presets, i64 %e
  br i1 %preset.more, label %preset.put, label %derived
preset.put:
  %preset.place = load i64, ptr %p.preset
  %p.preset.address = getelementptr i64, ptr %p.preset, i64 1
  %preset.address = load ptr, ptr %p.preset.address
  %preset.value = load i64, ptr %preset.address
  %p.preset.size = getelementptr i64, ptr %sizes, i64 %preset.place
  store i64 %preset.value, ptr %p.preset.size
  %e.next = add i64 %e, 1
  br label %preset
derived:
  %has.derive = icmp ne ptr %derive, null
  br i1 %has.derive, label %derive.them, label %copy.start
derive.them:
  %guard = call i32 %derive(ptr %buffers, ptr %sizes, ptr %context)
  %guard.fits = icmp eq i32 %guard, 0
  br i1 %guard.fits, label %copy.start, label %refuse
"""

COPIES = """\
; -- copies of arrays whose elements do not lie side by side
copy.start:
  %copied.count = load i64, ptr %copies
  %is.all.there = icmp eq i64 %copied.count, 0
  br i1 %is.all.there, label %out.start, label %copy.them
copy.them:
  %are.copied = call i1 @wg_copied(ptr %copies, ptr %buffers)
  br i1 %are.copied, label %out.start, label %refuse
"""

COPIED = """\
; Whether there was memory for copies of all that is noted at %copies.
define internal i1 @wg_copied(ptr %copies, ptr %buffers) SELDOM {
copy.start:
  %copied.count = load i64, ptr %copies
  %copied.first = getelementptr i64, ptr %copies, i64 1
  br label %copy.each
copy.each:
  %g = phi i64 [ 0, %copy.start ], [ %g.next, %copy.put ]
  %g.more = icmp slt i64 %g, %copied.count
  br i1 %g.more, label %copy.make, label %copy.done
copy.make:
  %p.apart = getelementptr [2 x i64], ptr %copied.first, i64 %g
  %apart = load ptr, ptr %p.apart
  %whole = call ptr @PyArray_NewCopy(ptr %apart, i32 0)  ; in C's order
  %has.whole = icmp ne ptr %whole, null
  br i1 %has.whole, label %copy.put, label %copy.lacks
copy.lacks:
  call void @PyErr_Clear()  ; of a want of memory: the general path meets it, too, and words it
  ret i1 false
copy.put:
  call void @Py_DecRef(ptr %apart)
  store ptr %whole, ptr %p.apart
  %p.whole.data = getelementptr i8, ptr %whole, i64 OBJECT_DATA
  %whole.data = load ptr, ptr %p.whole.data
  %p.apart.buffer = getelementptr i64, ptr %p.apart, i64 1
  %apart.buffer = load i64, ptr %p.apart.buffer
  %p.whole.buffer = getelementptr ptr, ptr %buffers, i64 %apart.buffer
  store ptr %whole.data, ptr %p.whole.buffer
  %g.next = add i64 %g, 1
  br label %copy.each
copy.done:
  ret i1 true
}
"""
