"""The function that Python calls: checks arguments, allocates results, runs compiled code, hands results over.

One function in LLVM IR serves all signatures: `self` is a tuple whose first item is a `bytes` of 64-bit words that
describe arguments and results (`records.py`; `entry.py` writes it). It is what a C extension would do in
`METH_FASTCALL`; written as IR it needs no compiler on the user's machine and lands in the object cache once. In words:

    refuse where the code needs more stack than the thread has left (`stack.py`)
    refuse where what the program has read beside its arguments may have changed (`looks.py`)
    for each argument: refuse unless it is what its record says; note where its data lies and what it tells of sizes
    work out derived sizes (a function of the compiled module), which also checks the guards
    copy arguments whose elements do not lie side by side in C's order
    for each result: an array of NumPy's, or a scratch cell for a scalar, or an empty slot that the code will fill
    run the code, without the GIL if the record says so
    if the processor's flags say that an operation was invalid, divided by zero or overflowed, and NumPy's error state
    asks for that: call the second handler (`self[2]`) with the flags and the arguments, which may raise
    on a status other than OK: drop the results, call the handler (`self[1]`) with the status and the arguments
    scalars become NumPy scalars, filled slots become arrays that free them; one result alone, or a tuple

Refusing means to return NotImplemented, before anything was allocated: the caller then takes the general path.
Here are the frame and the call; `stub_arguments`, `stub_results` and `stub_handlers` have the parts around it.
"""

from __future__ import annotations

import re

from ..ir.loops import Status
from . import context, stub_arguments, stub_handlers, stub_results
from .flags import flags_ir
from .records import Argument, Mode, Result, Word
from .stack import left_ir

NAME = "wg_stub"

# Of functions that few calls need, a quick code generator makes code: it takes a sixth of the time for each line.
_SELDOM = "noinline optnone"

_RECORDS = {"WORD": Word, "ARGUMENT": Argument, "RESULT": Result, "MODE": Mode}
_NAMES = re.compile(rf"({'|'.join(_RECORDS)})_(\w+)")


def stub_ir(header: int) -> str:
    """The stub as IR.

    Args:
        header: the size of the head of a Python object, behind which NumPy's fields and values lie.
    """
    parts = [
        _DECLARATIONS, stub_results.BLOCK_NAME, stub_results.HELPERS, _SPACE, _COPIES_DROPPED, _BEGINNING,
        stub_arguments.LOOKS, stub_arguments.ARGUMENTS, stub_arguments.SIZES, stub_arguments.COPIES, stub_results.ROOM,
        _CALL, stub_handlers.FLAGS, stub_handlers.FAILURE, stub_results.HANDED_OVER, stub_arguments.COPIED,
        stub_results.OVER, stub_handlers.WARNED, stub_handlers.FAILED,
    ]  # fmt: skip
    text = _NAMES.sub(_number_of, "\n".join(parts))
    numbers = {
        "HEAD_TYPE": header - 8, "OBJECT_DATA": header, "OBJECT_RANK": header + 8, "OBJECT_DIMS": header + 16,
        "OBJECT_DTYPE": header + 40, "OBJECT_FLAGS": header + 48, "CONTEXT_SIZE": context.SIZE,
        "CONTEXT_THREADS": context.THREADS, "CONTEXT_FAILING": context.FAILING, "LARGE": stub_results.LARGE,
        "HUGE": stub_results.HUGE, "OUT_OF_MEMORY": Status.MEMORY,
    }  # fmt: skip
    for name, number in numbers.items():
        text = text.replace(name, str(int(number)))
    text = text.replace("SELDOM", _SELDOM)
    return flags_ir() + left_ir() + text


def _number_of(name: re.Match[str]) -> str:
    records = _RECORDS[name[1]]
    return str(len(records) if name[2] == "COUNT" else records[name[2]].value)


_DECLARATIONS = """\
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
declare ptr @PyArray_NewCopy(ptr, i32)
declare i8 @PyArray_EquivTypes(ptr, ptr)
declare ptr @wengert_take(i64)
declare void @PyErr_Clear()
declare void @wengert_drop(ptr)
declare ptr @PyErr_NoMemory()
declare i32 @PyContextVar_Get(ptr, ptr, ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)
"""

_SPACE = """\
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
  %copies.place = add i64 %with.message, 2
  %with.count = add i64 %copies.place, 1
  %pairs = shl i64 %arguments, 1
  %words = add i64 %with.count, %pairs
  %is.little = icmp ult i64 %words, 512
  br i1 %is.little, label %near, label %far
near:
  %near.space = alloca i64, i64 %words, align 16
  %near.copies = getelementptr i64, ptr %near.space, i64 %copies.place
  %near.answer = call ptr @wg_call(ptr %self, ptr %args, i64 %given, ptr %near.space, ptr %near.copies)
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
  %far.copies = getelementptr i64, ptr %far.space, i64 %copies.place
  %far.answer = call ptr @wg_call(ptr %self, ptr %args, i64 %given, ptr %far.space, ptr %far.copies)
  call void @wengert_drop(ptr %far.space)
  ret ptr %far.answer
}
"""

_COPIES_DROPPED = """\
; a call, and what it needs no more: its number of pairs is at %copies, then arrays that are ours and places of buffers
define internal ptr @wg_call(ptr %self, ptr %args, i64 %given, ptr %cells, ptr %copies) {
start:
  store i64 0, ptr %copies
  %answer = call ptr @wg_run(ptr %self, ptr %args, i64 %given, ptr %cells, ptr %copies)
  %count = load i64, ptr %copies
  %first = getelementptr i64, ptr %copies, i64 1
  br label %each
each:
  %k = phi i64 [ 0, %start ], [ %k.next, %drop ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %drop, label %done
drop:
  %p = getelementptr [2 x i64], ptr %first, i64 %k
  %array = load ptr, ptr %p
  call void @Py_DecRef(ptr %array)
  %k.next = add i64 %k, 1
  br label %each
done:
  ret ptr %answer
}
"""

_BEGINNING = """\
define internal ptr @wg_run(ptr %self, ptr %args, i64 %given, ptr %cells, ptr %copies) {
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
  %p.looks = getelementptr i64, ptr %d, i64 WORD_LOOKS
  %looks = load ptr, ptr %p.looks
  %p.nkept = getelementptr i64, ptr %d, i64 WORD_N_KEPT
  %nkept = load i64, ptr %p.nkept
  %p.kept = getelementptr i64, ptr %d, i64 WORD_KEPT
  %kept = load ptr, ptr %p.kept
  %all.given = add i64 %given, %nkept
  %fits = icmp eq i64 %arguments, %all.given
  br i1 %fits, label %watched, label %refuse

refuse:
  call void @Py_IncRef(ptr %refused)
  ret ptr %refused
"""

_CALL = """\
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
"""
