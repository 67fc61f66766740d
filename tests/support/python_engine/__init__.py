"""The plain-Python engine: every primitive on `PyArray`s, computed by Python alone. For tests.

`import wengert` does not load it; importing this package registers it. A kernel takes arrays of exactly the types that
the op's type rule admits, and the attributes in their declared order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert._control.call import Program
from wengert._control.executables import once_per_program
from wengert._core.engine import Engine, register_engine
from wengert._engines.interpret import compile_instructions
from wengert._engines.regions import Arrays, region_kernels

from . import (
    buffer,
    decompositions,
    elementwise,
    fourier,
    indexing,
    linear,
    random,
    reductions,
    sparse,
    structural,
    windows,
)
from .array import PyArray
from .interop import from_numpy, row, stack, to_numpy, zeros

PYTHON = Engine("python", (PyArray,), to_numpy=to_numpy, from_numpy=from_numpy)
for _family in (
    structural, elementwise, reductions, indexing, buffer, linear, decompositions, fourier, windows, random, sparse,
):  # fmt: skip
    PYTHON.kernels.update(_family.KERNELS)


@once_per_program
def _run_of(program: Program) -> Callable[..., tuple[Any, ...]]:
    """A traced program, its graph run as it is: what the passes fold is folded by NumPy."""
    return compile_instructions(program.graph, PYTHON.kernels)


def _call(*operands_and_program: Any) -> tuple[Any, ...]:
    *natives, program = operands_and_program
    return _run_of(program)(*natives)


PYTHON.kernels["call"] = _call
PYTHON.kernels.update(region_kernels(Arrays(
    run=_run_of, number=lambda x: to_numpy(x).item() if isinstance(x, PyArray) else x.item(),
    row=row, stack=stack, zeros=zeros, like=lambda x: zeros(x.shape, x.dtype),
)))  # fmt: skip
register_engine(PYTHON)
