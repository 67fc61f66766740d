"""NumPy kernels of `_prims/linalg.py`: NumPy's own where it has one, BLAS's for triangular systems."""

from __future__ import annotations

import functools
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .common import in_float32, some_at_once


def _einsum(*xs_labels_out: Any) -> Any:
    if len(xs_labels_out) == 4 and xs_labels_out[0].dtype.itemsize > 2:
        x, y, labels, out = xs_labels_out
        return _contract(x, y, labels, out)
    return _einsum_of_any(*xs_labels_out)


@in_float32
def _einsum_of_any(*xs_labels_out: Any) -> Any:
    *xs, labels, out = xs_labels_out
    if len(xs) == 2:
        return _contract(xs[0], xs[1], labels, out)
    return np.einsum(f"{','.join(labels)}->{out}", *xs, optimize=len(xs) > 2)


class _Contraction(NamedTuple):
    """Two operands as one product of matrices, or of a batch of them.

    Attributes:
        swaps: whether the second operand comes first.
        left: the order of the axes of what comes first; None as they are.
        right: the same of what comes second.
        rows: the shape of what comes first, as a matrix, or as a vector where it has no rows.
        columns: the same of what comes second.
        flat: the shape of the product of these.
        shape: that of the result, before its axes get their order.
        back: this order; None as they are.
        is_batch: whether they are many matrices.
    """

    swaps: bool
    left: list[int] | None
    right: list[int] | None
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    flat: tuple[int, ...]
    shape: tuple[int, ...]
    back: list[int] | None
    is_batch: bool


@functools.lru_cache(maxsize=4096)
def _contraction(labels: tuple[str, str], out: str, *shapes: tuple[int, ...]) -> _Contraction:
    """How two operands are contracted: every label is shared and kept, summed, or of one side."""
    x, y = labels
    extents = dict(zip(x + y, shapes[0] + shapes[1]))
    batch = [c for c in out if c in x and c in y]
    summed = [c for c in x if c in y and c not in out]
    rows, columns = [c for c in out if c in x and c not in y], [c for c in out if c in y and c not in x]
    swaps = [*batch, *rows, *columns] != [*out] == [*batch, *columns, *rows]  # the result is at once as it is wanted
    if swaps:
        x, y, rows, columns = y, x, columns, rows
    left, right = _order(x, [*batch, *rows, *summed]), _order(y, [*batch, *summed, *columns])
    many, shape = [[extents[c] for c in names] for names in (batch, [*batch, *rows, *columns])]
    height, depth, width = [prod(extents[c] for c in names) for names in (rows, summed, columns)]
    high, wide = [[n] if names or batch else [] for n, names in ((height, rows), (width, columns))]
    flat = (*many, *high, *wide)
    back = _order("".join([*batch, *rows, *columns]), [*out])
    return _Contraction(
        swaps, left, right, (*many, *high, depth), (*many, depth, *wide), flat, (*shape,), back, bool(batch)
    )


def _order(names: str, wanted: list[str]) -> list[int] | None:
    """From axes with these names to those that are wanted; None where they are the same."""
    return None if [*names] == wanted else [names.index(name) for name in wanted]


def _contract(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], labels: tuple[str, str], out: str) -> Any:
    swaps, left, right, rows, columns, flat, shape, back, is_batch = _contraction(labels, out, x.shape, y.shape)
    if swaps:
        x, y = y, x
    a = (x if left is None else x.transpose(left)).reshape(rows)
    b = (y if right is None else y.transpose(right)).reshape(columns)
    if flat == shape:
        product = np.matmul(a, b) if is_batch else a.dot(b)
    else:  # into an array of the final shape: a view of the product would be copied for the caller
        product = np.empty(shape, x.dtype)
        room = product.reshape(flat)
        np.matmul(a, b, room) if is_batch else a.dot(b, room)
    return product if back is None else product.transpose(back)


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
    "einsum": _einsum,
    "tril": np.tril,
    "triu": np.triu,
    "diagonal": _diagonal,
    "make_diagonal": _make_diagonal,
    "solve": in_float32(some_at_once(np.linalg.solve)),
    "triangular_solve": in_float32(_triangular_solve),
    "inv": in_float32(some_at_once(np.linalg.inv)),
    "cholesky": in_float32(some_at_once(np.linalg.cholesky)),
}
