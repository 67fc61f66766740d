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
        return _contract(x, y, x_labels, y_labels, out)
    return np.einsum(f"{','.join(labels)}->{out}", *xs, optimize=len(xs) > 2)


def _contract(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], x_labels: str, y_labels: str, out: str) -> Any:
    """Two operands as one batched matrix product: every label is shared and kept, summed, or of one side."""
    shared = [c for c in x_labels if c in y_labels]
    batch = [c for c in shared if c in out]
    summed = [c for c in shared if c not in out]
    rows = [c for c in x_labels if c not in shared]
    columns = [c for c in y_labels if c not in shared]
    extents = {**dict(zip(x_labels, x.shape, strict=True)), **dict(zip(y_labels, y.shape, strict=True))}
    b, s, r, c = ((*[extents[name] for name in group],) for group in (batch, summed, rows, columns))
    left = x.transpose([x_labels.index(name) for name in (*batch, *rows, *summed)])
    right = y.transpose([y_labels.index(name) for name in (*batch, *summed, *columns)])
    # into an array of the final shape: a view of the product would be copied for the caller
    product = np.empty((*b, *r, *c), x.dtype)
    target = product.reshape((*b, prod(r), prod(c)))
    np.matmul(left.reshape((*b, prod(r), prod(s))), right.reshape((*b, prod(s), prod(c))), out=target)
    names = [*batch, *rows, *columns]
    return product if names == [*out] else product.transpose([names.index(name) for name in out])


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
