"""The plain-Python engine: every primitive on `PyArray`s, computed by Python alone. For tests.

`import wengert` does not load it; importing this package registers it. A kernel takes arrays of exactly the types that
the op's type rule admits, and the attributes in their declared order.
"""

from __future__ import annotations

from typing import Any

from ..._core.engine import Engine, register_engine
from ..interpret import compile_instructions
from . import buffer, decompositions, elementwise, fourier, indexing, linear, random, reductions, structural, windows
from .array import PyArray
from .interop import from_numpy, to_numpy

PYTHON = Engine("python", (PyArray,), to_numpy=to_numpy, from_numpy=from_numpy)
for _family in (structural, elementwise, reductions, indexing, linear, decompositions, fourier, windows, random, buffer):
    PYTHON.kernels.update(_family.KERNELS)


def _call(*operands_and_program: Any) -> tuple[Any, ...]:
    """A traced program, its graph run as it is: what the passes fold is folded by NumPy."""
    *natives, program = operands_and_program
    with program.lock:
        run = program.executables.get(PYTHON.name)
        if run is None:
            run = program.executables[PYTHON.name] = compile_instructions(program.graph, PYTHON.kernels)
    return run(*natives)


PYTHON.kernels["call"] = _call
register_engine(PYTHON)
