"""Boundary modes of `scipy.ndimage` and `scipy.signal` (reflect, wrap, constant, ...): elements beyond the ends."""

from __future__ import annotations

from typing import Any

import numpy

from .. import numpy as np
from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor

# beyond "constant" lies a number; every other mode takes elements of the array, at the place that these find
_REACHED = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap",
    "grid-wrap": "wrap",
}  # fmt: skip
MODES = (*_REACHED, "constant", "grid-constant")


def checked(mode: str) -> str:
    if mode not in MODES:
        raise RuntimeError(f"boundary mode not supported: {mode!r}; wanted one of {', '.join(sorted(MODES))}")
    return mode


def places(size: int, before: int, behind: int, mode: str) -> Any:
    """Which element lies at each place of an axis that is made longer."""
    index = numpy.arange(-before, size + behind)
    kind = _REACHED[mode]
    if kind == "edge" or size == 1:
        return numpy.clip(index, 0, size - 1)
    if kind == "wrap":
        return index % size
    if kind == "symmetric":
        turned = index % (2 * size)
        return numpy.where(turned < size, turned, 2 * size - 1 - turned)
    turn = size - 1
    return numpy.abs((index + turn) % (2 * turn) - turn)


def beyond(x: Tensor, axis: int, before: int, behind: int, mode: str, cval: ArrayLike = 0.0) -> Tensor:
    """An array with an axis made longer at both ends."""
    if not before and not behind:
        return x
    axis = axis % x.ndim
    if mode in ("constant", "grid-constant"):

        def side(count: int) -> Any:
            shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
            return np.broadcast_to(np.asarray(cval).astype(x.dtype), shape)

        return np.concatenate([side(before), x, side(behind)], axis=axis)
    return np.take(x, places(int(x.shape[axis]), before, behind, checked(mode)), axis=axis)


__all__ = ["MODES", "beyond", "checked", "places"]
