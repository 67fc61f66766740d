"""The native engine: graphs compiled to machine code through LLVM, for NumPy arrays.

A graph goes through the rooms `plan/` (segments, groups), `lower/` (to a small typed loop language), `ir/` (that
language), `llvm/` (machine code) and `run/` (calls of it); `engine.py` leads it through them.
`WENGERT_DUMP=graph,loops,llvm,asm` prints what the stages make (`dumps.py`). A part of a graph that becomes one
function is one `compiled` node of the graph that the source generator gets (`refine.py`), so that NumPy's kernels
can run the rest, and this part too where its code refuses. llvmlite is imported on first use only; without it, or
with `WENGERT_JIT=0`, programs run by NumPy's kernels.
"""

from .engine import refine as refine
