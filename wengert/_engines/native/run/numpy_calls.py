"""Calls of NumPy's kernels from machine code: `i32 kernel.N(ptr words, ptr extents, ptr array 0, ..., array N - 1)`.

The arrays are operands and, behind them, results, without gaps; `extents` holds theirs, one array's behind another's.
`words` says what the process knows them as: it is an operand of the code, for objects that are kept on disk hold no
addresses. The function takes the GIL, makes NumPy's arrays over the memory, and calls a Python function with them,
which fills the results and tells the processor's flags that NumPy found (NumPy clears those that are set). An error
that it raises stays set, and ends the code with the status INTERRUPTED.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.loops import Status
from ..llvm import numpy_functions
from ..llvm.jit import WRITTEN, library
from ..llvm.symbols import Table
from .flags import KINDS, VARIABLE, flags_ir

_READ, _WRITTEN = 0x101, 0x501  # NumPy's flags: C-contiguous and aligned; writable, too
_HEAD, _RECORD = 2, 3  # words before the arrays' records, and of a record: dtype, rank, flags

_IR = """
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare ptr @PyArray_NewFromDescr(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)

define i32 @wg_kernel(ptr %words, ptr %extents, PARAMETERS) {
start:
  %before = call i32 @flags.found()
  %state = call i32 @PyGILState_Ensure()
  %objects = alloca [COUNT x ptr]
  %data = alloca [COUNT x ptr]
STORES
  %function = load ptr, ptr %words
  %p.ndarray = getelementptr i64, ptr %words, i64 1
  %ndarray = load ptr, ptr %p.ndarray
  %records = getelementptr i64, ptr %words, i64 HEAD
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
  %p.object = getelementptr ptr, ptr %objects, i64 %i
  store ptr %array, ptr %p.object
  %is.there = icmp ne ptr %array, null
  br i1 %is.there, label %made, label %drop
made:
  %dims.next = getelementptr i64, ptr %dims, i64 %rank
  %i.next = add i64 %i, 1
  br label %make
run:
  %answer = call ptr @PyObject_Vectorcall(ptr %function, ptr %objects, i64 COUNT, ptr null)
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
  br label %each
each:
  %j = phi i64 [ 0, %drop ], [ %j.next, %gone ]
  %some = icmp slt i64 %j, %end
  br i1 %some, label %gone, label %done
gone:
  %p.gone = getelementptr ptr, ptr %objects, i64 %j
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
    for word, number in (("COUNT", n), ("HEAD", _HEAD), ("RECORD", _RECORD), ("FAILED", Status.INTERRUPTED)):
        ir = ir.replace(word, str(number))
    return library(flags_ir() + ir, "wg_kernel", effort=WRITTEN, table=_ARRAYS).address


# -- what is called ---------------------------------------------------------------------------------------------------

_FLAG = {1: KINDS["divide"], 2: KINDS["over"], 4: KINDS["under"], 8: KINDS["invalid"]}  # by NumPy's own number


class _Noted(threading.local):
    """What NumPy has found in a thread since somebody looked."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def note(self, kind: str, number: int) -> None:
        self.numbers.append(number)

    def taken(self) -> int:
        """The flags of it."""
        numbers, self.numbers = self.numbers, []
        return sum({flag for number in numbers for bit, flag in _FLAG.items() if number & bit})


_noted = _Noted()


def _state(**kinds: Any) -> Any:
    """A value of the variable in which NumPy keeps its error state: to set that costs less than `numpy.errstate`."""
    with np.errstate(**kinds):
        return VARIABLE.get()


if VARIABLE is None:  # this NumPy keeps its state elsewhere: it tells what it finds itself
    _QUIET = _TOLD = None
else:
    _QUIET, _TOLD = _state(all="ignore"), _state(all="call", call=lambda kind, number: _noted.note(kind, number))


def function_of(
    run: Callable[..., tuple[Any, ...]], operands: int, is_quiet: bool, is_ours: bool
) -> Callable[..., int]:  # fmt: skip
    """The Python function that is called with arrays: operands, then the results that it fills.

    Args:
        run: from operands to results.
        operands: how many there are.
        is_quiet: whether nothing is told of what NumPy finds.
        is_ours: whether the kernel is one of the library's. One of the user's gets arrays of its own, which it may
            keep, and runs in the caller's error state, as it does everywhere.
    """
    if not is_ours:
        return _of_the_users(run, operands)
    get, put = (_no_state, _nothing) if VARIABLE is None else (VARIABLE.get, VARIABLE.set)
    state = _QUIET if is_quiet else _TOLD

    def function(*arrays: object) -> int:
        before = get()
        try:  # first of all: the handler of a signal may raise behind any call
            put(state)
            _fill(arrays[operands:], run(*arrays[:operands]))
        except BaseException as error:
            del arrays
            _forget_arrays(error)
            _noted.taken()
            raise
        finally:
            put(before)
        return _noted.taken() if _noted.numbers else 0

    return function


def _of_the_users(run: Callable[..., tuple[Any, ...]], operands: int) -> Callable[..., int]:
    def function(*arrays: Any) -> int:
        try:
            found = run(*[x.copy() for x in arrays[:operands]])
        except BaseException:
            del arrays  # an error keeps this frame, and their memory goes
            raise
        _fill(arrays[operands:], found)
        return 0

    return function


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


def _fill(outs: Sequence[Any], results: Sequence[Any]) -> None:
    for out, found in zip(outs, results, strict=True):
        out[...] = found


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
