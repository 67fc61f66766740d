"""The table of functions that the machine code of graphs may call: NumPy's, BLAS's, our tiles, the run-time library.

`engine`, `calls` and `entry` link modules with it. What is not listed is a function of a C library (`llvm/symbols.py`).
"""

from __future__ import annotations

from ..ir import accesses
from ..llvm import (
    lane_transforms,
    libraries,
    microtiles,
    multiply,
    numpy_functions,
    numpy_transforms,
    reflections,
    runtime,
    transposes,
)
from ..llvm.symbols import Family, Table
from . import formulas, memory, numpy_calls, rotations

CALLABLE = Table(
    {
        "wengert_astray": accesses.address,
        **dict.fromkeys(numpy_functions.PLACES, numpy_functions.address),
        **dict.fromkeys(runtime.NAMES, runtime.address),
        **dict.fromkeys(memory.NAMES, memory.address),
    },
    {
        "fourier": Family(numpy_transforms.address, is_compiled=True),
        "kernel": Family(numpy_calls.address, is_compiled=True),
        "lines": Family(lane_transforms.address, is_compiled=True),
        "numpy": Family(numpy_functions.sorting),
        "product": Family(multiply.address, is_compiled=True),
        "reflections": Family(reflections.address, is_compiled=True),
        "rotations": Family(rotations.address, is_compiled=True),
        "tile": Family(microtiles.address, is_compiled=True),
        "turned": Family(transposes.address, is_compiled=True),
        **formulas.FAMILIES,
        **libraries.FAMILIES,
    },
)
