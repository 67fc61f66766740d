"""NumPy kernels of `_prims/linalg.py`: NumPy's own where it has one, BLAS's for triangular systems."""

from __future__ import annotations

import functools
from math import prod
from typing import Any

import numpy as np

from .common import in_float32, some_at_once


def _einsum(*xs_labels_out: Any) -> Any:
    *xs, labels, out = xs_labels_out
    if len(xs) == 2:
        (x, y), (x_labels, y_labels) = xs, labels
        return _contract(x, y, _contraction(x_labels, y_labels, out))
    return np.einsum(f"{','.join(labels)}->{out}", *xs, optimize=len(xs) > 2)


class _Contraction:
    """Two operands as one batched matrix product: the orders of their axes, and how many are of which group."""

    __slots__ = ("back", "batch", "left", "right", "rows", "summed")

    def __init__(self, x_labels: str, y_labels: str, out: str) -> None:
        # every label is shared and kept, summed, or of one side
        shared = [c for c in x_labels if c in y_labels]
        batch = [c for c in shared if c in out]
        summed = [c for c in shared if c not in out]
        rows = [c for c in x_labels if c not in shared]
        columns = [c for c in y_labels if c not in shared]
        self.left = [x_labels.index(name) for name in (*batch, *rows, *summed)]
        self.right = [y_labels.index(name) for name in (*batch, *summed, *columns)]
        self.batch, self.rows, self.summed = len(batch), len(batch) + len(rows), len(batch) + len(summed)
        names = [*batch, *rows, *columns]
        self.back = None if names == [*out] else [names.index(name) for name in out]


_contraction = functools.lru_cache(maxsize=4096)(_Contraction)


def _contract(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], how: _Contraction) -> Any:
    left, right = x.transpose(how.left), y.transpose(how.right)
    m, n = left.shape, right.shape
    batch, across = m[: how.batch], n[how.summed :]
    height, depth, width = prod(m[how.batch : how.rows]), prod(m[how.rows :]), prod(across)
    # into an array of the final shape: a view of the product would be copied for the caller
    product = np.empty(m[: how.rows] + across, x.dtype)
    a, b = left.reshape((*batch, height, depth)), right.reshape((*batch, depth, width))
    np.matmul(a, b, product.reshape((*batch, height, width)))
    return product if how.back is None else product.transpose(how.back)


def _diagonal(x: np.ndarray[Any, Any]) -> Any:
    return np.diagonal(x, axis1=-2, axis2=-1)


def _make_diagonal(x: np.ndarray[Any, Any]) -> Any:
    n = x.shape[-1]
    out = np.zeros((*x.shape, n), x.dtype)
    np.einsum("...ii->...i", out)[...] = x
    return out


def _triangular_solve(
    a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], lower: bool, trans: int, unit_diagonal: bool
) -> Any:
    out = np.array(b, order="C")
    if not out.size:
        return out
    if not unit_diagonal:
        _require_pivots(a)
    (n, k), trsm = b.shape[-2:], _trsm(b.dtype.char)
    for target, matrix in zip(out.reshape(-1, n, k), a.reshape(-1, n, n), strict=True):
        # by columns, as BLAS sees what lies there: the transposes, of which the solution takes the place of the other
        trsm(1.0, matrix.T, target.T, side=1, lower=not lower, trans_a=trans, diag=unit_diagonal, overwrite_b=1)
    return out


def _require_pivots(a: np.ndarray[Any, Any]) -> None:
    pivots = np.diagonal(a, axis1=-2, axis2=-1)
    if not pivots.all():
        place = np.argwhere(pivots == 0)[0, -1]
        raise np.linalg.LinAlgError(f"singular matrix: resolution failed at diagonal {place}")


@functools.cache
def _trsm(dtype: str) -> Any:
    """BLAS's triangular systems. LAPACK's, which SciPy's `solve_triangular` calls, ask all of OpenBLAS's threads
    whatever the size, which takes milliseconds where the machine has other work."""
    from scipy.linalg import get_blas_funcs

    return get_blas_funcs("trsm", dtype=dtype)


KERNELS: dict[str, Any] = {
    "matmul": in_float32(np.matmul),
    "einsum": in_float32(_einsum),
    "tril": np.tril,
    "triu": np.triu,
    "diagonal": _diagonal,
    "make_diagonal": _make_diagonal,
    "solve": in_float32(some_at_once(np.linalg.solve)),
    "triangular_solve": in_float32(_triangular_solve),
    "inv": in_float32(some_at_once(np.linalg.inv)),
    "cholesky": in_float32(some_at_once(np.linalg.cholesky)),
}
