"""The processor's floating-point flags, and what NumPy's error state has to do with them.

Operations that were invalid, divided by zero, overflowed or underflowed leave a flag set until somebody clears it. The
stub clears the flags before a call and looks at them afterwards, which takes a few nanoseconds; threads of a call hand
theirs over (`llvm/runtime.py`). Flags are those of x86; other processors' are turned into them.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ...._core import forking
from ...._core.error_state import VARIABLE
from ..llvm.target import is_arm, is_x86

KINDS = {"invalid": 1, "divide": 4, "over": 8, "under": 16}
ALL = sum(KINDS.values())

_X86 = f"""
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
define private i32 @flags.found() {{
  %word = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %word)
  %all = load i32, ptr %word
  %flags = and i32 %all, {ALL}
  ret i32 %flags
}}
define private void @flags.set(i32 %flags) {{
  %word = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %word)
  %all = load i32, ptr %word
  %rest = and i32 %all, {-1 - ALL}
  %new = or i32 %rest, %flags
  store i32 %new, ptr %word
  call void @llvm.x86.sse.ldmxcsr(ptr %word)
  ret void
}}
"""

# The flags are bits 0 (invalid), 1 (division by zero), 2 (overflow) and 3 (underflow) of FPSR.
_ARM = """
declare i64 @llvm.aarch64.get.fpsr()
declare void @llvm.aarch64.set.fpsr(i64)
define private i32 @flags.found() {
  %wide = call i64 @llvm.aarch64.get.fpsr()
  %all = trunc i64 %wide to i32
  %invalid = and i32 %all, 1
  %others = and i32 %all, 14
  %moved = shl i32 %others, 1
  %flags = or i32 %invalid, %moved
  ret i32 %flags
}
define private void @flags.set(i32 %flags) {
  %all = call i64 @llvm.aarch64.get.fpsr()
  %rest = and i64 %all, -16
  %invalid = and i32 %flags, 1
  %others = lshr i32 %flags, 1
  %moved = and i32 %others, 14
  %both = or i32 %invalid, %moved
  %wide = zext i32 %both to i64
  %new = or i64 %rest, %wide
  call void @llvm.aarch64.set.fpsr(i64 %new)
  ret void
}
"""

_NONE = """
define private i32 @flags.found() {
  ret i32 0
}
define private void @flags.set(i32 %flags) {
  ret void
}
"""

_X86_SETTINGS = """
define private i32 @settings.found() {
  %word = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %word)
  %all = load i32, ptr %word
  %settings = and i32 %all, -64
  ret i32 %settings
}
define private void @settings.set(i32 %settings) {
  %word = alloca i32
  store i32 %settings, ptr %word
  call void @llvm.x86.sse.ldmxcsr(ptr %word)
  ret void
}
"""

_ARM_SETTINGS = """
declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)
define private i32 @settings.found() {
  %wide = call i64 @llvm.aarch64.get.fpcr()
  %settings = trunc i64 %wide to i32
  ret i32 %settings
}
define private void @settings.set(i32 %settings) {
  %wide = zext i32 %settings to i64
  call void @llvm.aarch64.set.fpcr(i64 %wide)
  call void @flags.set(i32 0)
  ret void
}
"""

_NO_SETTINGS = """
define private i32 @settings.found() {
  ret i32 0
}
define private void @settings.set(i32 %settings) {
  ret void
}
"""

# To write the register takes longer than to read it, and mostly nothing is to be cleared.
_CLEAR = """
define private void @flags.clear() {
  %flags = call i32 @flags.found()
  %is.clear = icmp eq i32 %flags, 0
  br i1 %is.clear, label %done, label %clear
clear:
  call void @flags.set(i32 0)
  br label %done
done:
  ret void
}
"""


def flags_ir() -> str:
    """`i32 flags.found()`, `void flags.set(i32)` and `void flags.clear()` for this machine."""
    return (_X86 if is_x86() else _ARM if is_arm() else _NONE) + _CLEAR


def settings_ir() -> str:
    """`i32 settings.found()` and `void settings.set(i32)`: how this thread rounds, and if it keeps subnormal numbers.

    To set them clears the flags. Beside `flags_ir()`.
    """
    return _X86_SETTINGS if is_x86() else _ARM_SETTINGS if is_arm() else _NO_SETTINGS


# -- NumPy's error state ----------------------------------------------------------------------------------------------


_WORDS = (ctypes.c_int64 * 3)(0 if VARIABLE is None else id(VARIABLE), 0, 0)
_LOCK = forking.short_lock()
_known: tuple[Any, dict[str, str]] = (_WORDS, {})  # a value of the variable, which this keeps, and what it says

ADDRESS = ctypes.addressof(_WORDS)  # of what the stub reads: the variable, one value of it, the flags that matter then


def state() -> dict[str, str]:
    """What is to happen, by kind; the stub knows from now on which flags matter in this state."""
    global _known
    value = None if VARIABLE is None else VARIABLE.get()
    held, found = _known
    if value is held:
        return found
    found = {**np.geterr()}
    if value is not None:
        with _LOCK:
            _WORDS[1] = 0  # another thread may look meanwhile
            _WORDS[2] = sum(bit for kind, bit in KINDS.items() if found[kind] != "ignore")
            _known = value, found
            _WORDS[1] = id(value)
    return found
