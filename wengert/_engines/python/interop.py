"""The plain-Python engine's only meeting with ndarrays: values go in and out as Python lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert._engines.python.array import PyArray, make


def from_numpy(x: Any) -> PyArray:
    """A PyArray of an ndarray's values.

    Example:
        >>> from_numpy(np.array([[1, 2]], "int8"))
        PyArray([[1, 2]], int8)
    """
    return make(x.shape, x.dtype, x.ravel().tolist())


def to_numpy(x: PyArray) -> Any:
    """A new ndarray of a PyArray's values."""
    return np.array(x.flat, x.dtype).reshape(x.shape)
