"""The same elements as arrays that lie in memory in other ways."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def strided(a: Array) -> Array:
    """Every other element of a larger array, on each axis."""
    room = np.zeros((*[2 * n + 1 for n in a.shape],), a.dtype)
    view = room[(*[slice(0, 2 * n, 2) for n in a.shape], ...)]  # of a 0-d array a view, not a number
    view[...] = a
    return view


def backwards(a: Array) -> Array:
    """All strides are negative."""
    return np.array(np.flip(a), order="C")[(*[slice(None, None, -1)] * a.ndim, ...)]


def unaligned(a: Array) -> Array:
    """Elements begin at odd addresses."""
    room = np.zeros(a.nbytes + 1, np.uint8)
    view = room[1:].view(a.dtype).reshape(a.shape)
    view[...] = a
    return view


def read_only(a: Array) -> Array:
    a = a.copy()
    a.flags.writeable = False
    return a


def inner(a: Array) -> Array:
    """The inner part of a larger array."""
    room = np.zeros((*[n + 2 for n in a.shape],), a.dtype)
    view = room[(*[slice(1, n + 1) for n in a.shape], ...)]
    view[...] = a
    return view


def repeated(a: Array) -> Array:
    """The first row, which stands for all of them."""
    return np.broadcast_to(a[:1], a.shape) if a.ndim and a.shape[0] else a


__all__ = ["backwards", "inner", "read_only", "repeated", "strided", "unaligned"]
