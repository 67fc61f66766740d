"""The run-time library of compiled code: functions in IR, compiled once, that modules call by name.

- `i32 wengert_poll(ptr context)`: whether to stop with INTERRUPTED. Cheap but for a look at the clock: Python's signal
  handlers run at most every 20 ms, with the GIL, and only in the thread that holds the call. Code calls it often
  enough that no more than 30 ms pass between two calls: each turn of a loop whose body is long, each thousandth of
  one whose body is not.
"""

from __future__ import annotations

import functools
import sys

from . import context, symbols
from .jit import Loaded, load

NAMES = ("wengert_poll",)

_LOOK_EVERY = 20_000_000  # nanoseconds

_CLOCK = """
declare i32 @clock_gettime(i32, ptr)
define private i64 @now() {
  %time = alloca [2 x i64]
  %ignored = call i32 @clock_gettime(i32 MONOTONIC, ptr %time)
  %seconds = load i64, ptr %time
  %p.rest = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %p.rest
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}
"""

_CLOCK_ON_WINDOWS = """
declare i64 @GetTickCount64()
define private i64 @now() {
  %ticks = call i64 @GetTickCount64()
  %now = mul i64 %ticks, 1000000
  ret i64 %now
}
"""

_POLL = """
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyErr_CheckSignals()

define i32 @wengert_poll(ptr %context) {
start:
  %p.looked = getelementptr i8, ptr %context, i64 LOOKED_AT
  %looked = load i64, ptr %p.looked
  %now = call i64 @now()
  %is.first = icmp eq i64 %looked, 0
  br i1 %is.first, label %first, label %later
first:
  store i64 %now, ptr %p.looked
  ret i32 0
later:
  %since = sub i64 %now, %looked
  %is.due = icmp sgt i64 %since, LOOK_EVERY
  br i1 %is.due, label %look, label %go.on
go.on:
  ret i32 0
look:
  store i64 %now, ptr %p.looked
  %state = call i32 @PyGILState_Ensure()
  %raised = call i32 @PyErr_CheckSignals()
  call void @PyGILState_Release(i32 %state)
  %stops = icmp ne i32 %raised, 0
  %answer = zext i1 %stops to i32
  ret i32 %answer
}
"""


def runtime_ir() -> str:
    """The library as one module."""
    clock = _CLOCK_ON_WINDOWS if sys.platform == "win32" else _CLOCK
    clock = clock.replace("MONOTONIC", "6" if sys.platform == "darwin" else "1")
    return clock + _POLL.replace("LOOKED_AT", str(context.LOOKED)).replace("LOOK_EVERY", str(_LOOK_EVERY))


@functools.cache
def _library() -> Loaded:
    return load(runtime_ir(), NAMES[0], exports=NAMES)


def _address(name: str) -> int:
    return _library().symbol(name)


for _name in NAMES:
    symbols.register(_name, functools.partial(_address, _name))
