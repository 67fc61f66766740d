"""The NumPy engine: kernels on ndarrays and NumPy scalars.

Joins the kernel tables of its files. A kernel takes natives and attribute values and returns a fresh array or a
view; 0-d results may be NumPy scalars.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.engine import Engine, register_engine
from . import (
    conv,
    cumulative,
    decompositions,
    elementwise,
    fourier,
    incomplete,
    indexing,
    linalg,
    piecewise,
    random,
    reductions,
    sorting,
    special,
    structural,
    windows,
)
from .execute import executable

NUMPY = Engine(
    "numpy",
    (np.ndarray, np.generic, *(t for t in np.sctypeDict.values() if isinstance(t, type))),
    to_numpy=np.asarray,
    from_numpy=lambda array: array,
)
for _family in (
    structural, elementwise, piecewise, special, incomplete, reductions, cumulative, sorting, indexing, linalg,
    decompositions, conv, fourier, windows, random,
):  # fmt: skip
    NUMPY.kernels.update(_family.KERNELS)


def _call(*operands_and_program: Any) -> tuple[Any, ...]:
    *natives, program = operands_and_program
    return executable(program, NUMPY.kernels)(*natives)


NUMPY.kernels["call"] = _call
register_engine(NUMPY)
