"""The native engine: graphs compiled to machine code through LLVM, for NumPy arrays.

A graph passes `plan` (segments, buffers), `loops` (a small typed loop language), `codegen` (LLVM IR as text) and
`jit` (machine code in memory). `WENGERT_DUMP=graph,loops,llvm,asm` prints what the stages make (`dumps.py`).
llvmlite is imported on first use only; without it, or with `WENGERT_JIT=0`, programs run by NumPy's kernels.
"""

# these tell `symbols` of the functions that compiled code may call
from . import engine
from . import libraries as libraries
from . import memory as memory
from . import runtime as runtime
from .engine import refine as refine

__all__ = ["engine", "refine"]
