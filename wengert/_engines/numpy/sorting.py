"""NumPy kernels of `_prims/sorting.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .common import in_float32, widened


def _argsort(x: Any, axis: int, descending: bool) -> Any:
    x = widened(x)
    if not descending:
        return np.argsort(x, axis, kind="stable")
    # turned round twice, so that equal elements keep their order
    order = np.argsort(np.flip(x, axis), axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(order, axis)


def _sort(x: Any, axis: int, descending: bool) -> Any:
    if not descending:
        return np.sort(x, axis, kind="stable")
    return np.flip(np.sort(np.flip(x, axis), axis, kind="stable"), axis)


KERNELS: dict[str, Any] = {
    "argsort": _argsort,
    "sort": in_float32(_sort),
    "permute_along": lambda x, index, axis: np.take_along_axis(x, index, axis),
}
