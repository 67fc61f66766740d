"""Linear systems of banded matrices, given by their diagonals."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.argument_types import ArrayLike
from .._core.constant import constant
from .._core.dims import size_of
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import sparse as X
from . import promotion
from .indexing import take
from .promotion import as_tensor, names_errors, outward
from .shapes import expand_dims, joined, known_extent, part, reshaped


def _floats(values: tuple[Any, ...], what: str) -> list[Tensor]:
    """Values in one dtype that can be divided."""
    tensors = [as_tensor(v, what) for v in values]
    dtype = promotion.common_dtype(tensors)
    dtype = dtypes.default_float() if not dtypes.is_inexact(dtype) else dtype
    return [promotion.cast(t, dtypes.float32 if dtypes.is_half(dtype) else dtype) for t in tensors]


@names_errors
def solve_banded(l_and_u: Any, ab: ArrayLike, b: ArrayLike) -> Any:
    """The x with A @ x = b for a banded matrix, as `scipy.linalg.solve_banded`.

    Args:
        l_and_u: how many diagonals A has below and above the main one.
        ab: its diagonals as rows (l + u + 1, n), the uppermost first: ``ab[u + i - j, j]`` is ``A[i, j]``; elements
            that lie outside of A are not read.
        b: a vector (n,) or a matrix (n, k).

    Returns:
        The solution in b's shape, in the kind of array that came in, with gradients in `ab` and b.

    Raises:
        LinAlgError: for a singular matrix.
        ValueError: for shapes that do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.linalg.solve_banded((0, 1), [[0.0, 1.0], [2.0, 4.0]], [4.0, 4.0])
        array([1.5, 1. ])
    """
    below, above = map(operator.index, l_and_u)
    bands, right = _floats((ab, b), "solve_banded")
    fits = bands.ndim == 2 and right.ndim in (1, 2) and bands.shape[1] == right.shape[0]
    if min(below, above) < 0 or not fits or bands.shape[0] != below + above + 1:
        raise ValueError(at_user_line(
            f"solve_banded: shapes {bands.shape} and {right.shape} do not fit together for {below} diagonals below "
            f"and {above} above"
        ))  # fmt: skip
    n = known_extent(bands, 1, "solve_banded")
    height = below + above + 1
    band, column = np.divmod(np.arange(height * n), max(n, 1))
    row = band - above + column
    inside = (row >= 0) & (row < n)
    values = take(reshaped(bands, (height * n,)), np.flatnonzero(inside))
    flat = right if right.ndim == 2 else expand_dims(right, -1)
    result = X.sparse_solve(values, constant(row[inside]), constant(column[inside]), flat)
    return outward(reshaped(result, right.shape), ab, b)


@names_errors
def tridiagonal_solve(dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike) -> Any:
    """The x with A @ x = b for tridiagonal matrices.

    Args:
        dl: the diagonals (..., n) below the main one; their first elements are not read.
        d: the main diagonals (..., n).
        du: those above it; their last elements are not read.
        b: right-hand sides (..., n, k); leading axes broadcast.

    Returns:
        The solutions (..., n, k) in the kind of array that came in, with gradients in all four.

    Raises:
        LinAlgError: for a singular matrix.
        ValueError: for shapes that do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.linalg.tridiagonal_solve([0.0, 1.0], [2.0, 2.0], [0.0, 0.0], [[4.0], [4.0]])
        array([[2.],
               [1.]])
    """
    what = "tridiagonal_solve"
    *bands, right = _floats((dl, d, du, b), what)
    if right.ndim < 2 or any(t.ndim < 1 or t.shape[-1] != right.shape[-2] for t in bands):
        raise ValueError(at_user_line(f"{what}: shapes {[t.shape for t in bands]} and {right.shape} do not fit"))
    lead = tuple(right.shape[:-2])
    for t in bands:
        lead = promotion.broadcast_shapes(lead, tuple(t.shape[:-1]), what)
    n, systems = known_extent(right, right.ndim - 2, what), size_of(lead)
    if not isinstance(systems, int):
        raise ValueError(at_user_line(f"{what}: the number of systems must be known in a trace; use wg.vmap"))
    count: int = systems
    low, middle, high = (reshaped(promotion.broadcast(t, (*lead, n)), (count, n)) for t in bands)
    wide = promotion.broadcast(right, (*lead, *right.shape[-2:]))
    # all systems are blocks of one, row by row
    places = np.arange(count * n).reshape(count, n)
    parts = [(part(low, 1, min(1, n), n), places[:, 1:], places[:, :-1]), (middle, places, places)]
    parts.append((part(high, 1, 0, max(n - 1, 0)), places[:, :-1], places[:, 1:]))
    values = joined([reshaped(v, (rows.size,)) for v, rows, _ in parts], 0)
    rows, columns = (constant(np.concatenate([p[i].ravel() for p in parts])) for i in (1, 2))
    result = X.sparse_solve(values, rows, columns, reshaped(wide, (count * n, right.shape[-1])))
    return outward(reshaped(result, tuple(wide.shape)), dl, d, du, b)


__all__ = ["solve_banded", "tridiagonal_solve"]
