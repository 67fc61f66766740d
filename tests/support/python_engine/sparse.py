"""Sparse kernels of the plain-Python engine: products place by place, and systems through the dense solver."""

from __future__ import annotations

from typing import Any

from tests.support.python_engine import linear
from tests.support.python_engine.array import PyArray, make


def sparse_matmul(data: PyArray, rows: PyArray, columns: PyArray, x: PyArray, height: int) -> PyArray:
    """Each stored value times a row of x, added to a row of the result."""
    width = x.shape[1]
    values: list[Any] = [0 * v for v in data.flat[:1] or [0.0]] * (height * width)
    for value, row, column in zip(data.flat, rows.flat, columns.flat, strict=True):
        for j in range(width):
            values[row * width + j] += value * x.flat[column * width + j]
    return make((height, width), x.dtype, values)


def sparse_solve(data: PyArray, rows: PyArray, columns: PyArray, b: PyArray) -> PyArray:
    """The solutions of the dense system."""
    n = b.shape[0]
    values: list[Any] = [0 * v for v in data.flat[:1] or [0.0]] * (n * n)
    for value, row, column in zip(data.flat, rows.flat, columns.flat, strict=True):
        values[row * n + column] += value
    return linear.KERNELS["solve"](make((n, n), data.dtype, values), b)


KERNELS = {"sparse_matmul": sparse_matmul, "sparse_solve": sparse_solve}
