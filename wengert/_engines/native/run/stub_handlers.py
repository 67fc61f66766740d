"""The stub's parts that call Python's handlers, in IR: of the processor's flags, and of a status other than OK.

Flags that NumPy's error state does not ask for are passed over in a few instructions; else the handler `self[2]` gets
them, with the arguments, and may raise. Where the call fails, what was made of results is dropped first, and then the
handler `self[1]` gets the status, the number of the buffer that could not be had, and the arguments: what it returns
is the call's result. `stub.py` puts the parts behind the call of the code.
"""

from __future__ import annotations

FLAGS = """\
; -- the processor's flags
look:
  %is.flagged = icmp ne i32 %told.flags, 0
  %has.state = icmp ne ptr %state, null
  %asks = and i1 %is.flagged, %has.state
  br i1 %asks, label %ask, label %take
ask:
  %goes.on = call i1 @wg_warned(ptr %self, ptr %args, i64 %given, ptr %message, ptr %state, i32 %told.flags)
  br i1 %goes.on, label %take, label %drop.start
"""

WARNED = """\
; Whether the call goes on, its flags told to whoever asks for them.
define internal i1 @wg_warned(ptr %self, ptr %args, i64 %given, ptr %message, ptr %state, i32 %told.flags) SELDOM {
ask:
  %p.now = alloca ptr
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
  br i1 %is.silent, label %silent, label %warn
silent:
  ret i1 true
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
  ret i1 %warn.ok
}
"""

FAILURE = """\
; -- failure
drop.start:
  %drop.status = phi i32 [ OUT_OF_MEMORY, %out.lacks ], [ %status, %ran ], [ -1, %take.made ], [ -1, %ask ]
  %drop.stop = phi i64 [ %o, %out.lacks ], [ %results, %ran ], [ %results, %take.made ], [ %results, %ask ]
  %failed = call ptr @wg_failed(ptr %self, ptr %args, i64 %given, ptr %message, ptr %objects, ptr %outs, ptr %p.preset,
                                ptr %context, i32 %drop.status, i64 %drop.stop)
  ret ptr %failed
raise:
  ret ptr null
"""

FAILED = """\
; What the call gives that has failed, of whose results so many are to be dropped.
define internal ptr @wg_failed(ptr %self, ptr %args, i64 %given, ptr %message, ptr %objects, ptr %outs, ptr %p.preset,
                               ptr %context, i32 %drop.status, i64 %drop.stop) SELDOM {
drop.start:
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
  %is.cell = icmp eq i64 %s.kind, RESULT_NUMBER
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
}
"""
