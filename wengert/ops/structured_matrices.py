"""Matrices made of a few vectors or blocks: toeplitz, circulant, block_diag."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.argument_types import ArrayLike
from .._core.user_line import at_user_line
from . import promotion
from .complex_parts import conj
from .flips_and_rolls import flip
from .indexing import take
from .joining import concatenate
from .padding import pad
from .promotion import as_tensor, names_errors, outward
from .shapes import atleast_1d, known_extent


@names_errors
def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Any:
    """The matrix with constant diagonals: its first column is c, its first row r.

    Args:
        c: the first column, a vector; of more axes the last has columns, and those before it number matrices.
        r: the first row, whose first element is not read; None means the conjugate of c.

    Returns:
        The matrix (..., len(c), len(r)) in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.linalg.toeplitz([1, 2, 3], [0, 8])
        array([[1, 8],
               [2, 1],
               [3, 2]])
    """
    column = atleast_1d(as_tensor(c, "toeplitz"))
    row = conj(column) if r is None else atleast_1d(as_tensor(r, "toeplitz"))
    height, width = known_extent(column, -1, "toeplitz"), known_extent(row, -1, "toeplitz")
    lead = promotion.broadcast_shapes(column.shape[:-1], row.shape[:-1], "toeplitz")
    column = promotion.broadcast(column, (*lead, height))
    after = promotion.broadcast(row, (*lead, width))[..., 1:]
    line = concatenate([flip(after, -1), column], axis=-1)
    places = np.arange(height)[:, None] - np.arange(width) + max(width - 1, 0)
    return outward(take(line, places, axis=-1), c, r)


@names_errors
def circulant(c: ArrayLike) -> Any:
    """The matrix whose columns are c, each turned one further.

    Args:
        c: the first column, a vector; of more axes the last has columns, and those before it number matrices.

    Returns:
        The square matrix, or a stack of them, in c's kind.

    Example:
        >>> import wengert as wg
        >>> wg.linalg.circulant([1, 2, 3])
        array([[1, 3, 2],
               [2, 1, 3],
               [3, 2, 1]])
    """
    column = atleast_1d(as_tensor(c, "circulant"))
    n = known_extent(column, -1, "circulant")
    places = (np.arange(n)[:, None] - np.arange(n)) % n if n else np.zeros((0, 0), int)
    return outward(take(column, places, axis=-1), c)


@names_errors
def block_diag(*arrs: object) -> Any:
    """Matrices along the diagonal of a larger one, with zeros beside them.

    Args:
        *arrs: matrices; a vector counts as one row.

    Returns:
        The matrix in the kind of array that came in.

    Raises:
        ValueError: for more than two axes.

    Example:
        >>> import wengert as wg
        >>> wg.linalg.block_diag([[1.0]], [[2.0, 3.0]])
        array([[1., 0., 0.],
               [0., 2., 3.]])
    """
    blocks = [as_tensor(a, "block_diag") for a in arrs] or [as_tensor(np.zeros((1, 0)))]
    if any(b.ndim > 2 for b in blocks):
        raise ValueError(at_user_line(f"block_diag: wanted matrices, got shapes {[b.shape for b in blocks]}"))
    blocks = [b.reshape((1, b.size)) if b.ndim < 2 else b for b in blocks]
    width, left, rows = sum(known_extent(b, 1, "block_diag") for b in blocks), 0, []
    for block in blocks:
        own = known_extent(block, 1, "block_diag")
        rows.append(pad(block, ((0, 0), (left, width - left - own))))
        left += own
    return outward(concatenate(rows, axis=0), *arrs)


__all__ = ["block_diag", "circulant", "toeplitz"]
