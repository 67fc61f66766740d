"""The plain-Python engine's only meeting with ndarrays: values go in and out as Python lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from tests.support.python_engine.array import PyArray, make

__all__ = ["LinAlgError", "from_numpy", "row", "stack", "to_numpy", "to_text", "zeros"]


def from_numpy(x: Any) -> PyArray:
    """A PyArray of the values of an ndarray or a NumPy scalar.

    Example:
        >>> from_numpy(np.array([[1, 2]], "int8"))
        PyArray([[1, 2]], int8)
    """
    return make(x.shape, x.dtype, x.ravel().tolist())


def to_numpy(x: PyArray) -> Any:
    """A new ndarray of a PyArray's values."""
    out = np.empty(x.shape, x.dtype)
    out.ravel()[...] = x.flat
    return out


def to_text(text: str, xs: Iterable[PyArray]) -> str:
    """A format text filled with arrays, as NumPy writes them."""
    return text.format(*(to_numpy(x)[()] for x in xs))


def zeros(shape: Sequence[int], dtype: Any) -> PyArray:
    """Zeros; of NumPy's making, since a shape may come from it."""
    return from_numpy(np.zeros(shape, dtype))


def row(x: PyArray, index: int) -> PyArray:
    """One slice along the first axis."""
    return from_numpy(to_numpy(x)[index])


def stack(rows: Sequence[PyArray]) -> PyArray:
    """Arrays of one shape along a new first axis."""
    return from_numpy(np.stack([*map(to_numpy, rows)]))
