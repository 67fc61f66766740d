"""NumPy kernels of `_prims/sparse.py`, by SciPy's sparse matrices, which are loaded at the first call."""

from __future__ import annotations

from typing import Any

import numpy as np

from .common import in_float32


def _matrix(
    data: np.ndarray[Any, Any], rows: np.ndarray[Any, Any], columns: np.ndarray[Any, Any], shape: tuple[int, int]
) -> Any:
    from scipy.sparse import coo_array

    return coo_array((data, (rows, columns)), shape=shape)


def _matmul(
    data: np.ndarray[Any, Any],
    rows: np.ndarray[Any, Any],
    columns: np.ndarray[Any, Any],
    x: np.ndarray[Any, Any],
    height: int,
) -> Any:
    return np.asarray(_matrix(data, rows, columns, (height, x.shape[0])).tocsr() @ x)


def _solve(
    data: np.ndarray[Any, Any], rows: np.ndarray[Any, Any], columns: np.ndarray[Any, Any], b: np.ndarray[Any, Any]
) -> Any:
    from scipy.sparse.linalg import splu

    if b.size == 0:
        return b.copy()
    matrix = _matrix(data, rows, columns, (b.shape[0], b.shape[0])).tocsc()
    try:
        return splu(matrix).solve(np.asarray(b, order="F"))
    except RuntimeError as error:  # SciPy's word for a singular factor
        raise np.linalg.LinAlgError(f"Singular matrix: {error}") from None


KERNELS: dict[str, Any] = {"sparse_matmul": in_float32(_matmul), "sparse_solve": in_float32(_solve)}
