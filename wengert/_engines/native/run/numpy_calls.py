"""Calls of NumPy's kernels from machine code: `i32 kernel.N(ptr words, ptr extents, ptr array 0, ..., array N - 1)`.

The arrays are operands and, behind them, results, without gaps; `extents` holds theirs, one array's behind another's.
`words` says what the process knows them as: it is an operand of the code, for objects that are kept on disk hold no
addresses. The function takes the GIL, makes NumPy's arrays over the memory, and calls a Python function with the
processor's flags that are set and these arrays. It fills the results and tells the flags that NumPy found beside those
(NumPy clears all of them). An error that it raises stays set, and ends the code with the status INTERRUPTED.
"""

from __future__ import annotations

import functools
import threading
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.loops import Status
from ..llvm import numpy_functions
from ..llvm.jit import WRITTEN, library
from ..llvm.symbols import Table
from .flags import ALL, KINDS, VARIABLE, flags_ir

_READ, _WRITTEN = 0x101, 0x501  # NumPy's flags: C-contiguous and aligned; writable, too
_HEAD, _RECORD = 2, 3  # words before the arrays' records, and of a record: dtype, rank, flags

_IR = """
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare ptr @PyArray_NewFromDescr(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyLong_FromLongLong(i64)
declare i64 @PyLong_AsLongLong(ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)

define i32 @wg_kernel(ptr %words, ptr %extents, PARAMETERS) {
start:
  %before = call i32 @flags.found()
  %state = call i32 @PyGILState_Ensure()
  %objects = alloca [GIVEN x ptr]
  %data = alloca [COUNT x ptr]
STORES
  %function = load ptr, ptr %words
  %p.ndarray = getelementptr i64, ptr %words, i64 1
  %ndarray = load ptr, ptr %p.ndarray
  %records = getelementptr i64, ptr %words, i64 HEAD
  %before.wide = zext i32 %before to i64
  %py.before = call ptr @PyLong_FromLongLong(i64 %before.wide)  ; a small number, which Python has already
  store ptr %py.before, ptr %objects
  %arrays = getelementptr ptr, ptr %objects, i64 1
  br label %make
make:
  %i = phi i64 [ 0, %start ], [ %i.next, %made ]
  %dims = phi ptr [ %extents, %start ], [ %dims.next, %made ]
  %more = icmp slt i64 %i, COUNT
  br i1 %more, label %one, label %run
one:
  %record = getelementptr [RECORD x i64], ptr %records, i64 %i
  %dtype = load ptr, ptr %record
  %p.rank = getelementptr i64, ptr %record, i64 1
  %rank = load i64, ptr %p.rank
  %rank.short = trunc i64 %rank to i32
  %p.flags = getelementptr i64, ptr %record, i64 2
  %flags = load i64, ptr %p.flags
  %flags.short = trunc i64 %flags to i32
  %p.data = getelementptr ptr, ptr %data, i64 %i
  %memory = load ptr, ptr %p.data
  call void @Py_IncRef(ptr %dtype)
  %array = call ptr @PyArray_NewFromDescr(ptr %ndarray, ptr %dtype, i32 %rank.short, ptr %dims, ptr null,
                                          ptr %memory, i32 %flags.short, ptr null)
  %p.object = getelementptr ptr, ptr %arrays, i64 %i
  store ptr %array, ptr %p.object
  %is.there = icmp ne ptr %array, null
  br i1 %is.there, label %made, label %drop
made:
  %dims.next = getelementptr i64, ptr %dims, i64 %rank
  %i.next = add i64 %i, 1
  br label %make
run:
  %answer = call ptr @PyObject_Vectorcall(ptr %function, ptr %objects, i64 GIVEN, ptr null)
  %has.answer = icmp ne ptr %answer, null
  br i1 %has.answer, label %look, label %drop
look:
  %told = call i64 @PyLong_AsLongLong(ptr %answer)
  %told.short = trunc i64 %told to i32
  call void @Py_DecRef(ptr %answer)
  br label %drop
drop:
  %status = phi i32 [ FAILED, %one ], [ FAILED, %run ], [ 0, %look ]
  %found = phi i32 [ 0, %one ], [ 0, %run ], [ %told.short, %look ]
  %end = phi i64 [ %i, %one ], [ COUNT, %run ], [ COUNT, %look ]
  call void @Py_DecRef(ptr %py.before)
  br label %each
each:
  %j = phi i64 [ 0, %drop ], [ %j.next, %gone ]
  %some = icmp slt i64 %j, %end
  br i1 %some, label %gone, label %done
gone:
  %p.gone = getelementptr ptr, ptr %arrays, i64 %j
  %object = load ptr, ptr %p.gone
  call void @Py_DecRef(ptr %object)
  %j.next = add i64 %j, 1
  br label %each
done:
  call void @PyGILState_Release(i32 %state)
  %both = or i32 %before, %found
  call void @flags.set(i32 %both)
  ret i32 %status
}
"""


_ARRAYS = Table(dict.fromkeys(numpy_functions.PLACES, numpy_functions.address), {})


def address(count: str) -> int:
    """The address of the function `kernel.COUNT`, for compiled code."""
    n = int(count)
    stores = [
        f"  %p{i}.data = getelementptr ptr, ptr %data, i64 {i}\n  store ptr %p{i}, ptr %p{i}.data" for i in range(n)
    ]
    ir = _IR.replace("PARAMETERS", ", ".join(f"ptr %p{i}" for i in range(n))).replace("STORES", "\n".join(stores))
    numbers = {"COUNT": n, "GIVEN": n + 1, "HEAD": _HEAD, "RECORD": _RECORD, "FAILED": Status.INTERRUPTED}
    for word, number in numbers.items():
        ir = ir.replace(word, str(number))
    return library(flags_ir() + ir, "wg_kernel", effort=WRITTEN, table=_ARRAYS).address


# -- what is called ---------------------------------------------------------------------------------------------------

_FLAG = {1: KINDS["divide"], 2: KINDS["over"], 4: KINDS["under"], 8: KINDS["invalid"]}  # by NumPy's own number
_found: dict[int, int] = {}  # by thread, NumPy's numbers of what it has found there since somebody looked


def _note(kind: str, number: int) -> None:
    thread = threading.get_ident()
    _found[thread] = _found.get(thread, 0) | number


def _taken() -> int:
    """The flags of what NumPy has found in this thread."""
    number = _found.pop(threading.get_ident(), 0)
    return sum(flag for bit, flag in _FLAG.items() if number & bit)


@functools.cache
def _states(is_quiet: bool) -> tuple[Any, ...]:
    """By the flags that are set, values of the variable in which NumPy keeps its error state: others are noted.

    To set such a value costs less than `numpy.errstate`, and to be told of the same flag in each step of a loop would
    cost more than many a kernel.
    """
    found: list[Any] = []
    for flags in range(ALL + 1):
        kinds: dict[str, Any] = {k: "ignore" if is_quiet or flags & flag else "call" for k, flag in KINDS.items()}
        with np.errstate(call=_note, **kinds):
            found.append(None if VARIABLE is None else VARIABLE.get())
    return (*found,)


# Written out for so many arrays: a loop over them costs as much as all the rest.
_OURS = """
def bound(run, states, get, put, found, taken, forget):
    def function(flags, {arrays}):
        before = get()
        try:  # first of all: the handler of a signal may raise behind any call
            put(states[flags])
            {filled} = run({operands})
        except BaseException as error:
            {arrays} = {nothing}
            forget(error)
            taken()
            raise
        finally:
            put(before)
        return taken() if found else 0
    return function
"""
_USERS = """
def bound(run):
    def function(flags, {arrays}):
        try:
            {filled} = run({copies})
        except BaseException:
            {arrays} = {nothing}  # an error keeps this frame, and their memory goes
            raise
        return 0
    return function
"""


@functools.lru_cache(maxsize=64)
def _binder(form: str, operands: int, results: int) -> Callable[..., Callable[..., int]]:
    """What makes the function of one of these forms for so many arrays."""
    ins, outs = [f"x{i}" for i in range(operands)], [f"y{i}" for i in range(results)]
    names = [*ins, *outs]
    source = form.format(
        arrays=_listed(names), nothing=_listed(["None"] * len(names)), filled=_listed([f"{y}[...]" for y in outs]),
        operands=_listed(ins), copies=_listed([f"{x}.copy()" for x in ins]),
    )  # fmt: skip
    namespace: dict[str, Any] = {}
    exec(compile(source, "<wengert kernel>", "exec"), namespace)
    return namespace["bound"]


def _listed(names: Sequence[str]) -> str:
    return "".join(f"{name}, " for name in names)


def function_of(
    run: Callable[..., tuple[Any, ...]], operands: int, results: int, is_quiet: bool, is_ours: bool
) -> Callable[..., int]:  # fmt: skip
    """The Python function that is called: with the flags that are set, operands, and the results that it fills.

    Args:
        run: from operands to results.
        operands: how many there are.
        results: how many there are.
        is_quiet: whether nothing is told of what NumPy finds.
        is_ours: whether the kernel is one of the library's. One of the user's gets arrays of its own, which it may
            keep, and runs in the caller's error state, as it does everywhere.
    """
    if not is_ours:
        return _binder(_USERS, operands, results)(run)
    get, put = (_no_state, _nothing) if VARIABLE is None else (VARIABLE.get, VARIABLE.set)
    return _binder(_OURS, operands, results)(run, _states(is_quiet), get, put, _found, _taken, _forget_arrays)


def _no_state() -> None:
    pass


def _nothing(state: object) -> None:
    pass


def _forget_arrays(error: BaseException) -> None:
    """Clears the frames that an error keeps: the memory of the arrays in them goes with the call of machine code."""
    link: BaseException | None = error
    while link is not None:
        traceback.clear_frames(link.__traceback__)
        link = link.__cause__


class _Words(np.ndarray[Any, Any]):
    """Words that keep alive what they point to."""

    kept: Any = None


def words_of(function: Callable[..., int], arrays: Sequence[tuple[np.dtype[Any], int]], operands: int) -> Any:
    """What `kernel.N` is told of a function and its arrays, given by dtype and rank."""
    dtypes = [np.dtype(dtype.type) for dtype, _ in arrays]  # the very objects of NumPy's own arrays
    words = [id(function), id(np.ndarray)]
    for place, (dtype, (_, rank)) in enumerate(zip(dtypes, arrays, strict=True)):
        words += [id(dtype), rank, _READ if place < operands else _WRITTEN]
    found = np.array(words, np.int64).view(_Words)
    found.kept = function, dtypes
    return found
