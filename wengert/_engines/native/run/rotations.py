"""The functions of `lower/rotations.py` and `lower/bidiagonal_rotations.py` as machine code in memory.

They are compiled once, and kept on disk as programs are.
"""

from __future__ import annotations

from ..ir.loops import Function
from ..llvm.codegen import module_text
from ..llvm.jit import TIDIED, library
from ..lower import bidiagonal_rotations, rotations
from .formulas import stored

_MAKERS = {"tridiagonal": rotations.leaves_function, "bidiagonal": bidiagonal_rotations.leaves_function}


def address(name: str) -> int:
    """The address of the function `rotations.NAME`, for compiled code; 0 where there is none."""
    make = _MAKERS.get(name)
    if make is None:
        return 0
    function = make(name)
    # to divide takes as long as all else: LLVM's passes make nothing faster, and take ten times as long
    text = "\n".join([module_text(function, name), _called(function)])
    return library(text, "called", effort=TIDIED).address


def _called(function: Function) -> str:
    """The function of its arrays and numbers that calls the one of lists of them."""
    arrays = [f"%a{i}" for i in range(len(function.inputs) + len(function.outputs))]
    numbers = [f"%n{i}" for i in range(len(function.sizes))]
    given = ", ".join([*(f"ptr {x}" for x in arrays), *(f"i64 {x}" for x in numbers)])
    return "\n".join([
        f"define i32 @called({given}) {{",
        f"  %buffers = alloca [{len(arrays)} x ptr]", f"  %sizes = alloca [{len(numbers)} x i64]",
        *stored("buffers", "ptr", arrays), *stored("sizes", "i64", numbers),
        f"  %status = call i32 @{function.name}(ptr %buffers, ptr %sizes, ptr null)", "  ret i32 %status", "}",
    ])  # fmt: skip
