"""How much of a thread's stack compiled code takes, and how much is left of it.

A program of thousands of ops keeps thousands of values at a time: what no register holds is on the stack, tens of
kilobytes of it, and a thread may have been given less (`threading.stack_size`). The stub refuses calls of such code
where the stack is too small for it; they run by NumPy's kernels then. Main threads have megabytes and are not asked.
"""

from __future__ import annotations

import platform
import re

from ...._core import system

LITTLE = 16 * 1024  # bytes: a thread that runs Python has so many
SPARE = 16 * 1024  # for what compiled code calls, and for signals
_DEEP = 4  # functions that are open at a time: the entry, the kernel, a piece of it and a part of that
_TAKES = re.compile(rb"\x48\x81\xec(.{4})", re.DOTALL)  # sub $number, %rsp: how a function of x86-64 takes its frame
_MOST = 1 << 26


def taken(image: bytes) -> int:
    """The bytes of stack that the functions of an object file take at most; 0 where it is little.

    Read from the code itself: nothing else tells what LLVM has kept in registers.
    """
    found = sorted((int.from_bytes(frame, "little") for frame in _TAKES.findall(image)), reverse=True)
    frames = [frame for frame in found if frame < _MOST and frame % 8 == 0][:_DEEP]
    return sum(frames) if sum(frames) >= LITTLE else 0


_LEFT = """
declare i32 @getpid()
declare i64 @syscall(i64, ...)
declare i64 @pthread_self()
declare i32 @pthread_getattr_np(i64, ptr)
declare i32 @pthread_attr_getstack(ptr, ptr, ptr)
declare i32 @pthread_attr_destroy(ptr)
declare ptr @llvm.frameaddress.p0(i32)
define private i64 @stack.left() {
start:
  %process.short = call i32 @getpid()
  %process = sext i32 %process.short to i64
  %thread = call i64 (i64, ...) @syscall(i64 186)  ; gettid, which old C libraries have no function for
  %is.main = icmp eq i64 %process, %thread
  br i1 %is.main, label %much, label %ask
ask:
  %attributes = alloca [8 x i64]
  %p.low = alloca i64
  %p.size = alloca i64
  %self = call i64 @pthread_self()
  %unknown = call i32 @pthread_getattr_np(i64 %self, ptr %attributes)
  %is.unknown = icmp ne i32 %unknown, 0
  br i1 %is.unknown, label %much, label %known
known:
  %ignored = call i32 @pthread_attr_getstack(ptr %attributes, ptr %p.low, ptr %p.size)
  %ignored.too = call i32 @pthread_attr_destroy(ptr %attributes)
  %low = load i64, ptr %p.low
  %frame = call ptr @llvm.frameaddress.p0(i32 0)
  %here = ptrtoint ptr %frame to i64
  %left = sub i64 %here, %low
  ret i64 %left
much:
  ret i64 9223372036854775807
}
"""
_UNKNOWN = """
define private i64 @stack.left() {
  ret i64 9223372036854775807
}
"""


def left_ir() -> str:
    """The function `i64 @stack.left()` as IR: the bytes left on this thread's stack, the largest number if unknown."""
    return _LEFT if system.SYSTEM.knows_stacks and platform.machine() == "x86_64" else _UNKNOWN
