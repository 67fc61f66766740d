"""The run-time library of compiled code: functions in IR, compiled once, that modules call by name.

- `i32 wengert_poll(ptr context)`: whether to stop with INTERRUPTED. Cheap but for a look at the clock: Python's signal
  handlers run at most every 20 ms, with the GIL, and only in the thread that holds the call. Code calls it often
  enough that no more than 30 ms pass between two calls: each iteration of a loop whose body is long, each thousandth of
  one whose body is not.
- `i32 wengert_ask(ptr task)`: the same for parts of a parallel loop. The part that runs in the thread of the call asks
  for signals, the others look whether it was told to stop.
- `i32 wengert_parallel(ptr context, ptr f, ptr data, i64 start, i64 stop, i64 threads)`: calls `f(data, first, last,
  task)` for ranges that make up start to stop, some of them in this thread, the others in threads that live as long as
  the call. This thread asks for signals between two ranges; an answer other than 0 ends the work and is returned.
  Threads are not kept: a child of `fork` has none to miss, and starting one takes less than what is worth splitting.
"""

from __future__ import annotations

import functools

from ...._core import system
from ..run import context
from ..run.flags import flags_ir
from .jit import FINISHED, Loaded, library

NAMES = ("wengert_poll", "wengert_ask", "wengert_parallel")

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

_ASK = """
define i32 @wengert_ask(ptr %task) {
start:
  %is.alone = icmp eq ptr %task, null
  br i1 %is.alone, label %go.on, label %look
look:
  %p.flag = getelementptr i64, ptr %task, i64 6
  %flag = load ptr, ptr %p.flag
  %told = load atomic i32, ptr %flag monotonic, align 4
  %is.told = icmp ne i32 %told, 0
  br i1 %is.told, label %stop, label %mine
mine:
  %p.context = getelementptr i64, ptr %task, i64 7
  %context = load ptr, ptr %p.context
  %asks = icmp ne ptr %context, null
  br i1 %asks, label %ask, label %go.on
ask:
  %answer = call i32 @wengert_poll(ptr %context)
  %stops = icmp ne i32 %answer, 0
  br i1 %stops, label %tell, label %go.on
tell:
  store atomic i32 %answer, ptr %flag monotonic, align 4
  br label %stop
stop:
  ret i32 1
go.on:
  ret i32 0
}
"""

MOST_THREADS = 64

PIECES = 1024  # in which a thread does its share, so that it can stop between two of them

# A task: f, data, first, last, the thread, whether there is one (if it could not be had, the caller does it itself),
# where all tasks look whether to stop, the context with which to ask (only the caller's own task has one), and the
# processor's flags that the task has set, if it had a thread of its own.
_TASKS = """
define private void @do(ptr %task) {
entry:
  %f = load ptr, ptr %task
  %p.data = getelementptr i64, ptr %task, i64 1
  %data = load ptr, ptr %p.data
  %p.first = getelementptr i64, ptr %task, i64 2
  %first = load i64, ptr %p.first
  %p.last = getelementptr i64, ptr %task, i64 3
  %last = load i64, ptr %p.last
  %p.flag = getelementptr i64, ptr %task, i64 6
  %flag = load ptr, ptr %p.flag
  %p.context = getelementptr i64, ptr %task, i64 7
  %context = load ptr, ptr %p.context
  %asks = icmp ne ptr %context, null
  %iterations = sub i64 %last, %first
  %rounded = add i64 %iterations, PIECES_LESS_ONE
  %piece = sdiv i64 %rounded, PIECES
  br label %next
next:
  %from = phi i64 [ %first, %entry ], [ %to, %done ]
  %more = icmp slt i64 %from, %last
  br i1 %more, label %look, label %end
look:
  %told = load atomic i32, ptr %flag monotonic, align 4
  %goes.on = icmp eq i32 %told, 0
  br i1 %goes.on, label %work, label %end
work:
  %whole = add i64 %from, %piece
  %fits = icmp slt i64 %whole, %last
  %to = select i1 %fits, i64 %whole, i64 %last
  call void %f(ptr %data, i64 %from, i64 %to, ptr %task)
  br i1 %asks, label %ask, label %done
ask:
  %answer = call i32 @wengert_poll(ptr %context)
  %stops = icmp ne i32 %answer, 0
  br i1 %stops, label %tell, label %done
tell:
  store atomic i32 %answer, ptr %flag monotonic, align 4
  br label %done
done:
  br label %next
end:
  ret void
}
"""

_PARALLEL = """
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)

define private ptr @run(ptr %task) {
  call void @do(ptr %task)
  %flags = call i32 @flags.found()
  %p.flags = getelementptr i64, ptr %task, i64 8
  store i32 %flags, ptr %p.flags
  ret ptr null
}

define i32 @wengert_parallel(ptr %context, ptr %f, ptr %data, i64 %start, i64 %stop, i64 %threads) {
entry:
  %tasks = alloca [MOST x [9 x i64]]
  %flag = alloca i32
  store i32 0, ptr %flag
  %iterations = sub i64 %stop, %start
  %few = icmp slt i64 %iterations, %threads
  %wanted = select i1 %few, i64 %iterations, i64 %threads
  %many = icmp sgt i64 %wanted, MOST
  %count = select i1 %many, i64 MOST, i64 %wanted
  br label %share
share:
  %i = phi i64 [ 0, %entry ], [ %i.next, %shared ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %set, label %mine
set:
  %task = getelementptr [9 x i64], ptr %tasks, i64 %i
  store ptr %f, ptr %task
  %p.data = getelementptr i64, ptr %task, i64 1
  store ptr %data, ptr %p.data
  %low = mul i64 %iterations, %i
  %low.part = sdiv i64 %low, %count
  %first = add i64 %start, %low.part
  %p.first = getelementptr i64, ptr %task, i64 2
  store i64 %first, ptr %p.first
  %i.next = add i64 %i, 1
  %high = mul i64 %iterations, %i.next
  %high.part = sdiv i64 %high, %count
  %last = add i64 %start, %high.part
  %p.last = getelementptr i64, ptr %task, i64 3
  store i64 %last, ptr %p.last
  %p.started = getelementptr i64, ptr %task, i64 5
  store i64 0, ptr %p.started
  %p.flag = getelementptr i64, ptr %task, i64 6
  store ptr %flag, ptr %p.flag
  %is.own = icmp eq i64 %i, 0
  %asker = select i1 %is.own, ptr %context, ptr null
  %p.context = getelementptr i64, ptr %task, i64 7
  store ptr %asker, ptr %p.context
  br i1 %is.own, label %shared, label %begin
begin:
  %p.thread = getelementptr i64, ptr %task, i64 4
  %failed = call i32 @pthread_create(ptr %p.thread, ptr null, ptr @run, ptr %task)
  %is.there = icmp eq i32 %failed, 0
  %started = zext i1 %is.there to i64
  store i64 %started, ptr %p.started
  br label %shared
shared:
  br label %share
mine:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %own, label %end
own:
  call void @do(ptr %tasks)
  br label %wait
wait:
  %j = phi i64 [ 1, %own ], [ %j.next, %waited ]
  %left = icmp slt i64 %j, %count
  br i1 %left, label %look.at, label %end
look.at:
  %other = getelementptr [9 x i64], ptr %tasks, i64 %j
  %p.other.started = getelementptr i64, ptr %other, i64 5
  %other.started = load i64, ptr %p.other.started
  %is.running = icmp ne i64 %other.started, 0
  br i1 %is.running, label %join, label %do.it
join:
  %p.other.thread = getelementptr i64, ptr %other, i64 4
  %other.thread = load i64, ptr %p.other.thread
  %ignored = call i32 @pthread_join(i64 %other.thread, ptr null)
  %p.other.flags = getelementptr i64, ptr %other, i64 8
  %other.flags = load i32, ptr %p.other.flags
  %own.flags = call i32 @flags.found()
  %both.flags = or i32 %own.flags, %other.flags
  call void @flags.set(i32 %both.flags)
  br label %waited
do.it:
  call void @do(ptr %other)
  br label %waited
waited:
  %j.next = add i64 %j, 1
  br label %wait
end:
  %answer = load i32, ptr %flag
  ret i32 %answer
}
"""

_ONE_AFTER_THE_OTHER = """
define i32 @wengert_parallel(ptr %context, ptr %f, ptr %data, i64 %start, i64 %stop, i64 %threads) {
  %flag = alloca i32
  store i32 0, ptr %flag
  %task = alloca [9 x i64]
  store ptr %f, ptr %task
  %p.data = getelementptr i64, ptr %task, i64 1
  store ptr %data, ptr %p.data
  %p.first = getelementptr i64, ptr %task, i64 2
  store i64 %start, ptr %p.first
  %p.last = getelementptr i64, ptr %task, i64 3
  store i64 %stop, ptr %p.last
  %p.flag = getelementptr i64, ptr %task, i64 6
  store ptr %flag, ptr %p.flag
  %p.context = getelementptr i64, ptr %task, i64 7
  store ptr %context, ptr %p.context
  call void @do(ptr %task)
  %answer = load i32, ptr %flag
  ret i32 %answer
}
"""


def runtime_ir() -> str:
    """The library as one module."""
    threads = _PARALLEL.replace("MOST", str(MOST_THREADS)) if system.SYSTEM.has_threads else _ONE_AFTER_THE_OTHER
    tasks = _TASKS.replace("PIECES_LESS_ONE", str(PIECES - 1)).replace("PIECES", str(PIECES))
    clock = _CLOCK_ON_WINDOWS if system.SYSTEM.clock is None else _CLOCK.replace("MONOTONIC", str(system.SYSTEM.clock))
    poll = _POLL.replace("LOOKED_AT", str(context.LOOKED)).replace("LOOK_EVERY", str(_LOOK_EVERY))
    return flags_ir() + tasks + threads + clock + poll + _ASK


@functools.cache
def _library() -> Loaded:
    return library(FINISHED + runtime_ir(), NAMES[0], exports=NAMES)


def address(name: str) -> int:
    """The address of one of `NAMES`, for compiled code."""
    return _library().symbol(name)
