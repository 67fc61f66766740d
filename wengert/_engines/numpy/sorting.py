"""NumPy kernels of `_prims/sorting.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .common import in_float32, widened


def _argsort(x: np.ndarray[Any, Any], axis: int, descending: bool) -> Any:
    x = widened(x)
    if not descending:
        return np.argsort(x, axis, kind="stable")
    # turned round twice, so that equal elements keep their order
    order = np.argsort(np.flip(x, axis), axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(order, axis)


def _sort(x: np.ndarray[Any, Any], axis: int, descending: bool) -> Any:
    if not descending:
        return np.sort(x, axis, kind="stable")
    return np.flip(np.sort(np.flip(x, axis), axis, kind="stable"), axis)


def _searchsorted(sequence: np.ndarray[Any, Any], values: np.ndarray[Any, Any], right: bool) -> Any:
    side = "right" if right else "left"
    sequence, values = widened(sequence), widened(values)
    if sequence.ndim == 1:
        return np.searchsorted(sequence, values, side).astype(np.int64, copy=False)
    out = np.empty(values.shape, np.int64)
    for row in np.ndindex(values.shape[:-1]):
        out[row] = np.searchsorted(sequence[row], values[row], side)
    return out


KERNELS: dict[str, Any] = {
    "argsort": _argsort,
    "sort": in_float32(_sort),
    "searchsorted": _searchsorted,
    "permute_along": lambda x, index, axis: np.take_along_axis(x, index, axis),
}
