"""NumPy kernels of `_prims/indexing.py`."""

from __future__ import annotations

from contextlib import nullcontext
from math import prod
from typing import Any

import numpy as np

from ..._core import dtypes


def _gather(x: Any, *indices: Any) -> Any:
    return x[indices]


def _flat_places(x: Any, indices: Any) -> Any:
    """The positions that whole updates go to, in x laid out as one vector."""
    lead = x.shape[: len(indices)]
    place: Any = np.int64(0)
    for axis, (index, size) in enumerate(zip(indices, lead, strict=True)):
        index = np.asarray(index)
        if index.size and not (-size <= index.min() and index.max() < size):
            outside = index[(index < -size) | (index >= size)].flat[0]
            raise IndexError(f"index {outside} is out of bounds for axis {axis} of extent {size}")
        place = place * size + np.where(index < 0, index + size, index)
    rest = prod(x.shape[len(indices) :])
    if rest == 1:
        return np.ravel(place)
    return (np.ravel(place)[:, None] * rest + np.arange(rest)).ravel()


def _scatter(ufunc: np.ufunc, sums: bool = False) -> Any:
    """A kernel that combines updates by a ufunc. One flat index vector is NumPy's fast path, rows are not."""

    def kernel(x: Any, updates: Any, *indices: Any) -> Any:
        dtype = x.dtype
        wide = np.dtype(np.float32) if sums and dtypes.is_half(dtype) else dtype
        out = np.array(x, wide, order="C")
        places = _flat_places(out, indices)
        # maximum.at warns of the NaNs that maximum itself takes in silence
        with np.errstate(invalid="ignore") if ufunc in (np.maximum, np.minimum) else nullcontext():
            ufunc.at(out.reshape(-1), places, np.ravel(updates).astype(wide, copy=False))
        return out.astype(dtype, copy=False)

    return kernel


def _scatter_set(x: Any, updates: Any, *indices: Any) -> Any:
    out = np.array(x, order="C")
    out[indices] = updates
    return out


KERNELS: dict[str, Any] = {
    "gather": _gather,
    "scatter_add": _scatter(np.add, sums=True),
    "scatter_set": _scatter_set,
    "scatter_mul": _scatter(np.multiply),
    "scatter_max": _scatter(np.maximum),
    "scatter_min": _scatter(np.minimum),
}
