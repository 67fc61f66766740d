"""The NumPy engine: kernels on ndarrays and NumPy scalars.

Joins the kernel tables of its files. A kernel takes natives and attribute values and returns a fresh array or a
view; 0-d results may be NumPy scalars.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._core.engine import Engine, register_engine
from ..regions import Arrays, region_kernels
from . import (
    buffer,
    conv,
    cumulative,
    decompositions,
    elementwise,
    fourier,
    incomplete,
    indexing,
    linalg,
    piecewise,
    quantiles,
    random,
    reductions,
    sorting,
    sparse,
    special,
    structural,
    windows,
)
from .execute import executable
from .heap import teach_c_library

teach_c_library()

NUMPY = Engine(
    "numpy",
    (np.ndarray, np.generic, buffer.BufferArray, *(t for t in np.sctypeDict.values() if isinstance(t, type))),
    to_numpy=np.asarray,
    from_numpy=lambda array: array,
)
for _family in (
    structural, elementwise, piecewise, special, incomplete, reductions, cumulative, sorting, indexing, linalg,
    decompositions, conv, fourier, windows, random, buffer, sparse, quantiles,
):  # fmt: skip
    NUMPY.kernels.update(_family.KERNELS)


def _call(*operands_and_program: Any) -> tuple[Any, ...]:
    *natives, program = operands_and_program
    return executable(program)(*natives)


def _stack(rows: Sequence[Any]) -> Any:
    """Rows as one array; rows whose shape varies from step to step stay apart."""
    first = np.shape(rows[0])
    if all(np.shape(row) == first for row in rows):
        return np.array(rows) if first == () else np.stack(rows)
    apart = np.empty(len(rows), object)
    for index, row in enumerate(rows):
        apart[index] = row
    return apart


NUMPY.kernels["call"] = _call
NUMPY.kernels.update(region_kernels(Arrays(
    run=executable, number=lambda x: x.item(), row=lambda x, i: x[i],
    stack=_stack, zeros=np.zeros, like=np.zeros_like,
)))  # fmt: skip
register_engine(NUMPY)
