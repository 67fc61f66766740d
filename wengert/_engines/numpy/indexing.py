"""NumPy kernels of `_prims/indexing.py`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from math import prod
from typing import Any

import numpy as np

from ..._core import dtypes
from ..checks import require_inside

_GATHERED = 1 << 20  # elements that one call of NumPy's gathers, which nobody can interrupt


def _gather(x: np.ndarray[Any, Any], *indices: np.ndarray[Any, Any]) -> Any:
    lead, width = indices[0].shape, prod(x.shape[len(indices) :])
    try:
        if not lead or prod(lead) * width <= _GATHERED:
            return _elements(x, indices)
        out = np.empty((*lead, *x.shape[len(indices) :]), x.dtype)
        step = max(1, _GATHERED // max(1, prod(lead[1:]) * width))
        for start in range(0, lead[0], step):
            part = slice(start, start + step)
            out[part] = _elements(x, (*[index[part] for index in indices],))
        return out
    except IndexError:
        require_all_inside(indices, x.shape)
        raise


def _elements(x: np.ndarray[Any, Any], indices: tuple[Any, ...]) -> Any:
    """What stands at some places. `take` needs a fifth of the time for short rows; others than C's order it copies."""
    if len(indices) == 1 and x.ndim > 1 and x.flags.c_contiguous:
        return x.take(indices[0], axis=0)
    return x[indices]


def require_all_inside(indices: tuple[Any, ...], extents: Sequence[int]) -> None:
    """`require_inside`, of arrays and numbers."""
    require_inside([*map(np.asarray, indices)], extents)


_AT_ONCE = 1 << 18  # elements whose places are written out at a time
_SEQUENCE = 64  # so many updates of one place may be added one after the other in float32


def _rows(x: np.ndarray[Any, Any], indices: tuple[Any, ...]) -> Any:
    """Which row of x each update goes to, x laid out as rows of what k indices address."""
    row: Any = np.int64(0)
    require_all_inside(indices, x.shape)
    for axis, (index, size) in enumerate(zip(indices, x.shape[: len(indices)], strict=True)):
        index = np.asarray(index)
        place = np.where(index < 0, index + size, index) if index.size and index.min() < 0 else index
        row = place if axis == 0 else row * size + place
    return row


def _wide(dtype: np.dtype[Any], rows: np.ndarray[Any, Any], count: int) -> Any:
    """The dtype in which updates are added up: twice the width where many of them meet in one place."""
    if dtypes.is_half(dtype):
        dtype = np.dtype(np.float32)
    if dtype not in (np.float32, np.complex64) or rows.size <= _SEQUENCE:
        return dtype
    if np.bincount(rows.ravel(), minlength=count).max() <= _SEQUENCE:
        return dtype
    return np.result_type(dtype, np.float64)


def _scatter(ufunc: np.ufunc, sums: bool = False) -> Any:
    """A kernel that combines updates by a ufunc. A flat index vector is NumPy's fast path, rows are not: so the places
    of single elements are written out, a stretch at a time."""

    def kernel(x: np.ndarray[Any, Any], updates: np.ndarray[Any, Any], *indices: np.ndarray[Any, Any]) -> Any:
        rows, width = _rows(x, indices), prod(x.shape[len(indices) :])
        count = prod(x.shape[: len(indices)])
        out = np.array(x, _wide(x.dtype, rows, count) if sums else x.dtype, order="C")
        # maximum.at warns of the NaNs that maximum itself takes in silence
        with np.errstate(invalid="ignore") if ufunc in (np.maximum, np.minimum) else nullcontext():
            for places, values in _stretches(rows, np.asarray(updates), width):
                ufunc.at(out.reshape(-1), places, values.astype(out.dtype, copy=False))
        return out.astype(x.dtype, copy=False)

    return kernel


def _stretches(rows: np.ndarray[Any, Any], updates: np.ndarray[Any, Any], width: int) -> Any:
    """Vectors of flat places and of the updates that go there, in their order."""
    if rows.ndim != 1:
        updates = updates.reshape((rows.size, *updates.shape[rows.ndim :]))
        rows = rows.reshape(-1)
    step = max(1, _AT_ONCE // max(width, 1))
    for start in range(0, len(rows), step):
        own = rows[start : start + step]
        places = own if width == 1 else (own[:, None] * width + np.arange(width)).reshape(-1)
        yield places, updates[start : start + step].reshape(-1)


def _scatter_set(x: np.ndarray[Any, Any], updates: np.ndarray[Any, Any], *indices: np.ndarray[Any, Any]) -> Any:
    out = np.array(x, order="C")
    try:
        out[indices] = updates
    except IndexError:
        require_all_inside(indices, x.shape)
        raise
    return out


KERNELS: dict[str, Any] = {
    "gather": _gather,
    "scatter_add": _scatter(np.add, sums=True),
    "scatter_set": _scatter_set,
    "scatter_mul": _scatter(np.multiply),
    "scatter_max": _scatter(np.maximum),
    "scatter_min": _scatter(np.minimum),
}
