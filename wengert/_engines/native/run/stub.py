"""The function that Python calls: checks arguments, allocates results, runs compiled code, hands results over.

One function in LLVM IR serves all signatures: `self` is a tuple whose first item is a `bytes` of 64-bit words that
describe arguments and results (`entry.py` makes it). It is what a C extension would do in `METH_FASTCALL`; written as
IR it needs no compiler on the user's machine and lands in the object cache once. In words:

    refuse where the code needs more stack than the thread has left (`stack.py`)
    for each argument: refuse unless it is what its record says; note where its data lies and what it tells of sizes
    work out derived sizes (a function of the compiled module), which also checks the guards
    for each result: an array of NumPy's, or a scratch cell for a scalar, or an empty slot that the code will fill
    run the code, without the GIL if the record says so
    if the processor's flags say that an operation was invalid, divided by zero or overflowed, and NumPy's error state
    asks for that: call the second handler (`self[2]`) with the flags and the arguments, which may raise
    on a status other than OK: drop the results, call the handler (`self[1]`) with the status and the arguments
    scalars become NumPy scalars, filled slots become arrays that free them; one result alone, or a tuple

Refusing means to return NotImplemented, before anything was allocated: the caller then takes the general path.
"""

from __future__ import annotations

import re
from enum import IntEnum

from ..ir.loops import Status
from . import context
from .flags import flags_ir
from .stack import left_ir


class Word(IntEnum):
    """The words of the description; records follow.

    FORM is 0 for a tuple, 1 for the only result itself, else where a named tuple's type lies. STATE is 0 where nobody
    asks for the processor's flags, else where three words lie: the context variable that holds NumPy's error state
    (0: not known), one value of it, and the flags that matter under that value. STACK is how many bytes of stack the
    code needs, 0 where it is little.
    """

    N_ARGUMENTS = 0
    N_RESULTS = 1
    N_SIZES = 2
    ENTRY = 3
    SIZES_FUNCTION = 4
    NDARRAY = 5
    FLOAT = 6
    REFUSED = 7
    FORM = 8
    N_THREADS = 9
    FREES_GIL = 10
    N_CONSTANTS = 11
    N_PRESETS = 12
    STATE = 13
    STACK = 14


# Behind the arguments' records are those of constants (an address each: more buffers, behind the arguments') and of
# presets (a place among the sizes and the address of the number that it gets), then those of the results.

# Kinds of arguments: what the record holds after its kind.
ARRAY = 0  # dtype object, rank, the type of NumPy scalars that will do, too (0: none), then (mode, value) for each axis
FLOAT64 = 1  # a Python float, passed as float64
FLOAT32 = 2  # a Python float, passed as float32
SCALAR = 3  # a NumPy scalar: its type
STATIC = 4  # exactly this object, which is not passed on

# Kinds of results; all hold dtype object, rank, then (mode, value) for each axis.
FRESH = 0  # an array that the stub makes; 256 times the bytes of an element are added to the kind
NUMBER = 1  # a NumPy scalar
FILLED = 2  # taken by the code (`memory.py`); its extents are sizes when the call ends

LARGE = 1 << 17  # bytes from which on results lie in memory that is kept from call to call ...
HUGE = 1 << 40  # ... but for those that no machine has, which NumPy refuses

# Modes of an axis.
FIXED = 0  # the extent is the value
TOLD = 1  # an argument's extent becomes sizes[value]; a result's is sizes[value]
CHECKED = 2  # an argument's extent must be sizes[value], told by an axis before it

NAME = "wg_stub"


def stub_ir(header: int) -> str:
    """The stub as IR.

    Args:
        header: the size of the head of a Python object, behind which NumPy's fields and values lie.
    """
    text = re.sub(r"WORD_(\w+)", lambda m: str(len(Word) if m[1] == "COUNT" else Word[m[1]].value), _STUB)
    beside = flags_ir() + left_ir()
    return beside + text.replace("HEAD_TYPE", str(header - 8)).replace("OBJECT_DATA", str(header)).replace(
        "OBJECT_RANK", str(header + 8)).replace("OBJECT_DIMS", str(header + 16)).replace(
        "OBJECT_DTYPE", str(header + 40)).replace("OBJECT_FLAGS", str(header + 48)).replace(
        "CONTEXT_SIZE", str(context.SIZE)).replace("CONTEXT_THREADS", str(context.THREADS)).replace(
        "CONTEXT_FAILING", str(context.FAILING)).replace("LARGE", str(LARGE)).replace("HUGE", str(HUGE)).replace(
        "OUT_OF_MEMORY", str(Status.MEMORY))  # fmt: skip


_STUB = """
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyTuple_New(i64)
declare ptr @PyType_GenericAlloc(ptr, i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyBytes_AsString(ptr)
declare double @PyFloat_AsDouble(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyErr_Occurred()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyCapsule_New(ptr, ptr, ptr)
declare ptr @PyCapsule_GetPointer(ptr, ptr)
declare ptr @PyArray_NewFromDescr(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare ptr @PyArray_Scalar(ptr, ptr, ptr)
declare i32 @PyArray_SetBaseObject(ptr, ptr)
declare ptr @wengert_take(i64)
declare void @PyErr_Clear()
declare void @wengert_drop(ptr)
declare ptr @PyErr_NoMemory()
declare i32 @PyContextVar_Get(ptr, ptr, ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)

define private void @dropped.data(ptr %capsule) {
  %data = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr null)
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
  %is.fixed = icmp eq i64 %mode, 0
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

; what a call needs of memory by number of arguments and results is on the stack only if it is little
define ptr @wg_stub(ptr %self, ptr %args, i64 %given) {
start:
  %held = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %d = call ptr @PyBytes_AsString(ptr %held)
  %p.stack = getelementptr i64, ptr %d, i64 WORD_STACK
  %stack = load i64, ptr %p.stack
  %is.deep = icmp ne i64 %stack, 0
  br i1 %is.deep, label %deep, label %shallow
deep:
  %left = call i64 @stack.left()
  %is.too.deep = icmp slt i64 %left, %stack
  br i1 %is.too.deep, label %refuse, label %shallow
refuse:
  %p.refused = getelementptr i64, ptr %d, i64 WORD_REFUSED
  %refused = load ptr, ptr %p.refused
  call void @Py_IncRef(ptr %refused)
  ret ptr %refused
shallow:
  %arguments = load i64, ptr %d
  %p.results = getelementptr i64, ptr %d, i64 WORD_N_RESULTS
  %results = load i64, ptr %p.results
  %p.nsizes = getelementptr i64, ptr %d, i64 WORD_N_SIZES
  %nsizes = load i64, ptr %p.nsizes
  %p.constants = getelementptr i64, ptr %d, i64 WORD_N_CONSTANTS
  %constants = load i64, ptr %p.constants
  %slots = add i64 %arguments, %results
  %pointers = add i64 %slots, %constants
  %cells = shl i64 %slots, 1
  %with.cells = add i64 %pointers, %cells
  %with.objects = add i64 %with.cells, %results
  %with.sizes = add i64 %with.objects, %nsizes
  %with.message = add i64 %with.sizes, %given
  %words = add i64 %with.message, 2
  %is.little = icmp ult i64 %words, 512
  br i1 %is.little, label %near, label %far
near:
  %near.space = alloca i64, i64 %words, align 16
  %near.answer = call ptr @wg_call(ptr %self, ptr %args, i64 %given, ptr %near.space)
  ret ptr %near.answer
far:
  %bytes = shl i64 %words, 3
  %far.space = call ptr @wengert_take(i64 %bytes)
  %is.none = icmp eq ptr %far.space, null
  br i1 %is.none, label %none, label %some
none:
  %no.memory = call ptr @PyErr_NoMemory()
  ret ptr null
some:
  %far.answer = call ptr @wg_call(ptr %self, ptr %args, i64 %given, ptr %far.space)
  call void @wengert_drop(ptr %far.space)
  ret ptr %far.answer
}

define internal ptr @wg_call(ptr %self, ptr %args, i64 %given, ptr %cells) {
start:
  %held = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %d = call ptr @PyBytes_AsString(ptr %held)
  %arguments = load i64, ptr %d
  %p.results = getelementptr i64, ptr %d, i64 WORD_N_RESULTS
  %results = load i64, ptr %p.results
  %p.nsizes = getelementptr i64, ptr %d, i64 WORD_N_SIZES
  %nsizes = load i64, ptr %p.nsizes
  %p.entry = getelementptr i64, ptr %d, i64 WORD_ENTRY
  %entry = load ptr, ptr %p.entry
  %p.derive = getelementptr i64, ptr %d, i64 WORD_SIZES_FUNCTION
  %derive = load ptr, ptr %p.derive
  %p.ndarray = getelementptr i64, ptr %d, i64 WORD_NDARRAY
  %ndarray = load ptr, ptr %p.ndarray
  %p.float = getelementptr i64, ptr %d, i64 WORD_FLOAT
  %float = load ptr, ptr %p.float
  %p.refused = getelementptr i64, ptr %d, i64 WORD_REFUSED
  %refused = load ptr, ptr %p.refused
  %p.form = getelementptr i64, ptr %d, i64 WORD_FORM
  %form = load i64, ptr %p.form
  %p.threads = getelementptr i64, ptr %d, i64 WORD_N_THREADS
  %threads = load i64, ptr %p.threads
  %p.frees = getelementptr i64, ptr %d, i64 WORD_FREES_GIL
  %frees = load i64, ptr %p.frees
  %p.constants = getelementptr i64, ptr %d, i64 WORD_N_CONSTANTS
  %constants = load i64, ptr %p.constants
  %p.presets = getelementptr i64, ptr %d, i64 WORD_N_PRESETS
  %presets = load i64, ptr %p.presets
  %p.state = getelementptr i64, ptr %d, i64 WORD_STATE
  %state = load ptr, ptr %p.state
  %records = getelementptr i64, ptr %d, i64 WORD_COUNT
  %slots = add i64 %arguments, %results
  %pointers = add i64 %slots, %constants
  %buffers = getelementptr [2 x i64], ptr %cells, i64 %slots
  %objects = getelementptr ptr, ptr %buffers, i64 %pointers
  %sizes = getelementptr ptr, ptr %objects, i64 %results
  %message = getelementptr i64, ptr %sizes, i64 %nsizes
  %dims = alloca [64 x i64]
  %context = alloca [CONTEXT_SIZE x i8], align 8
  %p.now = alloca ptr
  %fits = icmp eq i64 %arguments, %given
  br i1 %fits, label %arg, label %refuse

refuse:
  call void @Py_IncRef(ptr %refused)
  ret ptr %refused

; -- arguments
arg:
  %i = phi i64 [ 0, %start ], [ %i.next, %arg.done ]
  %b = phi i64 [ 0, %start ], [ %b.next, %arg.done ]
  %c = phi ptr [ %records, %start ], [ %c.next, %arg.done ]
  %arg.more = icmp slt i64 %i, %arguments
  br i1 %arg.more, label %arg.take, label %constant
arg.take:
  %p.x = getelementptr ptr, ptr %args, i64 %i
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
    i64 0, label %array
    i64 1, label %float64
    i64 2, label %float32
    i64 3, label %scalar
    i64 4, label %static
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
  %dtype.fits = icmp eq ptr %dtype, %dtype.wanted
  %p.flags = getelementptr i8, ptr %x, i64 OBJECT_FLAGS
  %flags = load i32, ptr %p.flags
  %flags.both = and i32 %flags, 257  ; C-contiguous and aligned
  %flags.fit = icmp eq i32 %flags.both, 257
  %p.rank = getelementptr i8, ptr %x, i64 OBJECT_RANK
  %rank.short = load i32, ptr %p.rank
  %rank = sext i32 %rank.short to i64
  %rank.wanted = load i64, ptr %c2
  %rank.fits = icmp eq i64 %rank, %rank.wanted
  %two.fit = and i1 %dtype.fits, %flags.fit
  %all.fit = and i1 %two.fit, %rank.fits
  %p.extents = getelementptr i8, ptr %x, i64 OBJECT_DIMS
  %p.data = getelementptr i8, ptr %x, i64 OBJECT_DATA
  br i1 %all.fit, label %array.fits, label %refuse
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
  %is.fixed = icmp eq i64 %mode, 0
  br i1 %is.fixed, label %axis.check, label %axis.size
axis.size:
  %p.size = getelementptr i64, ptr %sizes, i64 %value
  %is.told = icmp eq i64 %mode, 1
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
  %c.put = phi ptr [ %c.array, %array.done ], [ %c4, %array.other ], [ %c1, %float64.fits ],
                   [ %c1, %float32.fits ], [ %c2, %scalar ]
  %data = phi ptr [ %x.data, %array.done ], [ %x.number, %array.other ], [ %p.cell, %float64.fits ],
                  [ %p.cell, %float32.fits ], [ %x.value, %scalar ]
  %p.buffer = getelementptr ptr, ptr %buffers, i64 %b
  store ptr %data, ptr %p.buffer
  %b.put = add i64 %b, 1
  br label %arg.done
arg.done:
  %b.next = phi i64 [ %b.put, %arg.put ], [ %b, %static ]
  %c.next = phi ptr [ %c.put, %arg.put ], [ %c2, %static ]
  %i.next = add i64 %i, 1
  br label %arg

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
  br i1 %has.derive, label %derive.them, label %out.start
derive.them:
  %guard = call i32 %derive(ptr %buffers, ptr %sizes, ptr %context)
  %guard.fits = icmp eq i32 %guard, 0
  br i1 %guard.fits, label %out.start, label %refuse

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
    i64 0, label %out.fresh
    i64 1, label %out.number
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

; -- the call
run:
  call void @llvm.memset.p0.i64(ptr %context, i8 0, i64 CONTEXT_SIZE, i1 false)
  %p.context.threads = getelementptr i8, ptr %context, i64 CONTEXT_THREADS
  store i64 %threads, ptr %p.context.threads
  call void @flags.clear()
  %keeps = icmp eq i64 %frees, 0
  br i1 %keeps, label %run.held, label %run.free
run.held:
  %status.held = call i32 %entry(ptr %buffers, ptr %sizes, ptr %context)
  %flags.held = call i32 @flags.found()
  br label %ran
run.free:
  %thread = call ptr @PyEval_SaveThread()
  %status.free = call i32 %entry(ptr %buffers, ptr %sizes, ptr %context)
  %flags.free = call i32 @flags.found()
  call void @PyEval_RestoreThread(ptr %thread)
  br label %ran
ran:
  %status = phi i32 [ %status.held, %run.held ], [ %status.free, %run.free ]
  %told.flags = phi i32 [ %flags.held, %run.held ], [ %flags.free, %run.free ]
  %is.ok = icmp eq i32 %status, 0
  br i1 %is.ok, label %look, label %drop.start

; -- the processor's flags
look:
  %is.flagged = icmp ne i32 %told.flags, 0
  %has.state = icmp ne ptr %state, null
  %asks = and i1 %is.flagged, %has.state
  br i1 %asks, label %ask, label %take
ask:
  %var = load ptr, ptr %state
  %has.var = icmp ne ptr %var, null
  br i1 %has.var, label %ask.var, label %warn
ask.var:
  store ptr null, ptr %p.now
  %var.failed = call i32 @PyContextVar_Get(ptr %var, ptr null, ptr %p.now)
  %now = load ptr, ptr %p.now
  call void @Py_DecRef(ptr %now)
  %p.known = getelementptr i64, ptr %state, i64 1
  %known.state = load ptr, ptr %p.known
  %is.known = icmp eq ptr %now, %known.state
  %p.mask = getelementptr i64, ptr %state, i64 2
  %mask = load i32, ptr %p.mask
  %masked = and i32 %told.flags, %mask
  %is.masked = icmp eq i32 %masked, 0
  %is.silent = and i1 %is.known, %is.masked
  br i1 %is.silent, label %take, label %warn
warn:
  %warner = call ptr @PyTuple_GetItem(ptr %self, i64 2)
  %warned.count = add i64 %given, 1
  %flags.wide = sext i32 %told.flags to i64
  %py.flags = call ptr @PyLong_FromLongLong(i64 %flags.wide)
  store ptr %py.flags, ptr %message
  br label %warn.copy
warn.copy:
  %wm = phi i64 [ 0, %warn ], [ %wm.next, %warn.one ]
  %warn.more = icmp slt i64 %wm, %given
  br i1 %warn.more, label %warn.one, label %warn.call
warn.one:
  %p.wfrom = getelementptr ptr, ptr %args, i64 %wm
  %wfrom = load ptr, ptr %p.wfrom
  %wm.next = add i64 %wm, 1
  %p.wto = getelementptr ptr, ptr %message, i64 %wm.next
  store ptr %wfrom, ptr %p.wto
  br label %warn.copy
warn.call:
  %warn.answer = call ptr @PyObject_Vectorcall(ptr %warner, ptr %message, i64 %warned.count, ptr null)
  call void @Py_DecRef(ptr %py.flags)
  call void @Py_DecRef(ptr %warn.answer)
  %warn.ok = icmp ne ptr %warn.answer, null
  br i1 %warn.ok, label %take, label %drop.start

; -- failure
drop.start:
  %drop.status = phi i32 [ OUT_OF_MEMORY, %out.lacks ], [ %status, %ran ], [ -1, %take.made ], [ -1, %warn.call ]
  %drop.stop = phi i64 [ %o, %out.lacks ], [ %results, %ran ], [ %results, %take.made ], [ %results, %warn.call ]
  br label %drop
drop:
  %q = phi i64 [ 0, %drop.start ], [ %q.next, %drop.done ]
  %s = phi ptr [ %p.preset, %drop.start ], [ %s.next, %drop.done ]
  %drop.more = icmp slt i64 %q, %drop.stop
  br i1 %drop.more, label %drop.take, label %dropped
drop.take:
  %p.drop = getelementptr ptr, ptr %objects, i64 %q
  %drop.object = load ptr, ptr %p.drop
  call void @Py_DecRef(ptr %drop.object)  ; which takes null
  %s.word = load i64, ptr %s
  %s.kind = and i64 %s.word, 255
  %p.s.rank = getelementptr i64, ptr %s, i64 2
  %s.rank = load i64, ptr %p.s.rank
  %s.axes = getelementptr i64, ptr %s, i64 3
  %s.next = getelementptr [2 x i64], ptr %s.axes, i64 %s.rank
  %is.whole.array = icmp ne ptr %drop.object, null  ; whose memory goes with it
  %is.cell = icmp eq i64 %s.kind, 1
  %is.nothing = or i1 %is.whole.array, %is.cell
  br i1 %is.nothing, label %drop.done, label %drop.taken
drop.taken:
  %p.taken = getelementptr ptr, ptr %outs, i64 %q
  %taken.back = load ptr, ptr %p.taken
  call void @wengert_drop(ptr %taken.back)
  br label %drop.done
drop.done:
  %q.next = add i64 %q, 1
  br label %drop
dropped:
  %is.python = icmp slt i32 %drop.status, 0
  br i1 %is.python, label %raise, label %failed
failed:
  %error = call ptr @PyErr_Occurred()
  %is.raised = icmp ne ptr %error, null
  br i1 %is.raised, label %raise, label %tell
raise:
  ret ptr null
tell:
  %handler = call ptr @PyTuple_GetItem(ptr %self, i64 1)
  %told = add i64 %given, 2
  %wide = sext i32 %drop.status to i64
  %py.status = call ptr @PyLong_FromLongLong(i64 %wide)
  %p.failing = getelementptr i8, ptr %context, i64 CONTEXT_FAILING
  %failing = load i64, ptr %p.failing
  %py.failing = call ptr @PyLong_FromLongLong(i64 %failing)
  store ptr %py.status, ptr %message
  %p.message.1 = getelementptr ptr, ptr %message, i64 1
  store ptr %py.failing, ptr %p.message.1
  br label %copy
copy:
  %m = phi i64 [ 0, %tell ], [ %m.next, %copy.one ]
  %copy.more = icmp slt i64 %m, %given
  br i1 %copy.more, label %copy.one, label %copied
copy.one:
  %p.from = getelementptr ptr, ptr %args, i64 %m
  %from = load ptr, ptr %p.from
  %m.place = add i64 %m, 2
  %p.to = getelementptr ptr, ptr %message, i64 %m.place
  store ptr %from, ptr %p.to
  %m.next = add i64 %m, 1
  br label %copy
copied:
  %answer = call ptr @PyObject_Vectorcall(ptr %handler, ptr %message, i64 %told, ptr null)
  call void @Py_DecRef(ptr %py.status)
  call void @Py_DecRef(ptr %py.failing)
  ret ptr %answer

; -- success
take:
  %t = phi i64 [ 0, %look ], [ 0, %ask.var ], [ 0, %warn.call ], [ %t.next, %take.next ]
  %u = phi ptr [ %p.preset, %look ], [ %p.preset, %ask.var ], [ %p.preset, %warn.call ], [ %u.next, %take.next ]
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
    i64 0, label %take.fresh
    i64 1, label %take.number
    i64 2, label %take.filled
  ]
take.fresh:
  %u.object = load ptr, ptr %p.u.object
  %is.whole = icmp ne ptr %u.object, null  ; else it is to be made of memory that was taken
  br i1 %is.whole, label %take.next, label %take.filled
take.number:
  %number = call ptr @PyArray_Scalar(ptr %u.data, ptr %u.dtype, ptr null)
  br label %take.made
take.filled:
  %u.bytes = call i64 @extents(ptr %u.axes, i64 %u.rank, ptr %sizes, ptr %dims, i64 1)
  call void @Py_IncRef(ptr %u.dtype)
  %u.rank.short = trunc i64 %u.rank to i32
  %over = call ptr @PyArray_NewFromDescr(ptr %ndarray, ptr %u.dtype, i32 %u.rank.short, ptr %dims, ptr null,
                                         ptr %u.data, i32 1281, ptr null)  ; C-contiguous, aligned, writable
  %has.over = icmp ne ptr %over, null
  %has.memory = icmp ne ptr %u.data, null  ; of nothing there may be none
  %is.owned = and i1 %has.over, %has.memory
  br i1 %is.owned, label %take.owner, label %take.made
take.owner:
  %owner = call ptr @PyCapsule_New(ptr %u.data, ptr null, ptr @dropped.data)
  %has.owner = icmp ne ptr %owner, null
  br i1 %has.owner, label %take.own, label %take.lost
take.lost:
  call void @Py_DecRef(ptr %over)
  br label %take.made
take.own:
  %ignored = call i32 @PyArray_SetBaseObject(ptr %over, ptr %owner)
  store ptr null, ptr %p.u.data  ; the capsule has it now
  br label %take.made
take.made:
  %made = phi ptr [ %number, %take.number ], [ %over, %take.filled ], [ %over, %take.own ],
                [ null, %take.lost ]
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
