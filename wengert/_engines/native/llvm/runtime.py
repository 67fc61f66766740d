"""The run-time library of compiled code: functions in IR, compiled once, that modules call by name.

- `i32 wengert_poll(ptr context)`: whether to stop with INTERRUPTED. Cheap but for a look at the clock: Python's signal
  handlers run at most every 20 ms, with the GIL, and only in the thread that holds the call. Code calls it often
  enough that no more than 30 ms pass between two calls: each iteration of a loop whose body is long, each thousandth of
  one whose body is not.
- `i32 wengert_ask(ptr task)`: the same for parts of a parallel loop. The part that runs in the thread of the call asks
  for signals, the others look whether it was told to stop.
- `i32 wengert_parallel(ptr context, ptr f, ptr data, i64 start, i64 stop, i64 threads, i64 cost)`: calls
  `f(data, first, last, task)` for ranges that make up start to stop, some of them in this thread, the others in
  `workers`. This thread asks for signals between two ranges. It returns the status that the call is to end with, or OK.
  `cost` is about how many nanoseconds it takes in one thread: little work is not shared.
- `i64 wengert_now()`: nanoseconds of a monotonic clock, for code that reports are made of.
- `void wengert_forget()`: what a child of `fork` does first, which has no workers: it ends the jobs that they were at.
"""

from __future__ import annotations

import ctypes
import functools

from ...._core import forking, system
from ..run import context
from ..run.flags import flags_ir, settings_ir
from .jit import FINISHED, Loaded, library
from .workers import workers_ir

NAMES = ("wengert_poll", "wengert_ask", "wengert_parallel", "wengert_now", "wengert_forget")

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

_NOW = """
define i64 @wengert_now() {
  %now = call i64 @now()
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

_ASK = """
define i32 @wengert_ask(ptr %task) {
start:
  %is.alone = icmp eq ptr %task, null
  br i1 %is.alone, label %go.on, label %look
look:
  %job = load ptr, ptr %task
  %p.told = getelementptr i8, ptr %job, i64 32
  %told = load atomic i32, ptr %p.told monotonic, align 4
  %is.told = icmp ne i32 %told, 0
  br i1 %is.told, label %stop, label %mine
mine:
  %p.context = getelementptr i8, ptr %task, i64 8
  %context = load ptr, ptr %p.context
  %asks = icmp ne ptr %context, null
  br i1 %asks, label %ask, label %go.on
ask:
  %answer = call i32 @stopped(ptr %job, ptr %context)
  %stops = icmp ne i32 %answer, 0
  br i1 %stops, label %tell, label %go.on
tell:
  store atomic i32 %answer, ptr %p.told monotonic, align 4
  br label %stop
stop:
  ret i32 1
go.on:
  ret i32 0
}
"""


def runtime_ir() -> str:
    """The library as one module."""
    workers = workers_ir(_LOOK_EVERY, context.SHORT_SUM, context.SHORT_AT)
    clock = _CLOCK_ON_WINDOWS if system.SYSTEM.clock is None else _CLOCK.replace("MONOTONIC", str(system.SYSTEM.clock))
    poll = _POLL.replace("LOOKED_AT", str(context.LOOKED)).replace("LOOK_EVERY", str(_LOOK_EVERY))
    return flags_ir() + settings_ir() + workers + clock + _NOW + poll + _ASK


@functools.cache
def _library() -> Loaded:
    made = library(FINISHED + runtime_ir(), NAMES[0], exports=NAMES)
    forking.mend_in_child(ctypes.CFUNCTYPE(None)(made.symbol("wengert_forget")))
    return made


def address(name: str) -> int:
    """The address of one of `NAMES`, for compiled code."""
    return _library().symbol(name)
