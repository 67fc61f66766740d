"""Refuses masked arrays and `np.matrix`, whose arithmetic is not that of plain arrays, and says what to write instead.

A masked array leaves elements out, and a matrix multiplies by `*`. Taken for the plain array that they hold, both would
give other numbers, and other gradients, than the user means. Called wherever an array becomes a tensor.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..errors import LostGradientError
from .user_line import at_user_line

_CURES = {
    "MaskedArray": (
        "a masked array (np.ma) is not differentiated: its mask would be lost; "
        "fill it, and leave elements out by wg.where(m.mask, 0.0, m.filled(0.0) * x)"
    ),
    "matrix": (
        "np.matrix is not differentiated: its * is the matrix product, which an array's is not; "
        "pass np.asarray(M), and write A @ B for the matrix product"
    ),
}


@functools.cache
def _cure(kind: type[Any]) -> str | None:
    """What to say to arrays of a class, or None if they are taken as they are. (`np.ma` may not be loaded.)"""
    for base in kind.__mro__:
        if base.__name__ in _CURES and base.__module__.partition(".")[0] == "numpy":
            return _CURES[base.__name__]
    return None


def require_plain(kind: type[Any]) -> None:
    """Raises `LostGradientError` for masked arrays and matrices."""
    if kind is not np.ndarray:
        cure = _cure(kind)
        if cure is not None:
            raise LostGradientError(at_user_line(cure))


def _refuse(_x: object, *_: object, **__: object) -> Any:
    raise LostGradientError(at_user_line(_CURES["MaskedArray"]))


# `np.ma` takes the data of its operands by their attribute `_data`, then looks for their masks
no_mask = property(_refuse, doc="Raises where a masked array's own functions take a tensor.")
no_masked_ufunc = _refuse
