"""Triangles and diagonals of matrices, and matrices with a given diagonal."""

from __future__ import annotations

import builtins
import operator
from typing import Any

from .._core import dims, dtypes
from .._core.argument_types import ArrayLike
from .._core.dims import Dim, DimLike
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import linalg as L
from .._prims import structural as S
from .._prims.indexing import gather
from . import promotion
from .promotion import as_tensor, normal_axes, public
from .shapes import flat, moved, permuted, reshaped


def _triangle(x: ArrayLike, k: int, upper: bool, name: str) -> Tensor:
    a = as_tensor(x, name)
    if a.ndim == 0:
        raise ValueError(at_user_line(f"{name}: wanted at least one axis, got a number"))
    if a.ndim == 1:  # as NumPy: every row is the vector
        a = promotion.broadcast(a, (a.shape[0], a.shape[0]))
    return (L.triu if upper else L.tril)(a, k=operator.index(k))


@public
def tril(x: ArrayLike, k: int = 0) -> Any:
    """x with zeros above a diagonal.

    Args:
        x: an array of matrices on the last two axes.
        k: which diagonal is the last that is kept; 0 is the main one, positive ones lie above.

    Returns:
        An array of x's shape and kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.tril([[1, 2], [3, 4]])
        array([[1, 0],
               [3, 4]])
    """
    return _triangle(x, k, False, "tril")


@public
def triu(x: ArrayLike, k: int = 0) -> Any:
    """x with zeros below a diagonal.

    Args:
        x: an array of matrices on the last two axes.
        k: which diagonal is the first that is kept; 0 is the main one, positive ones lie above.

    Returns:
        An array of x's shape and kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.triu([[1, 2], [3, 4]])
        array([[1, 2],
               [0, 4]])
    """
    return _triangle(x, k, True, "triu")


def _diagonal_extent(height: DimLike, width: DimLike, offset: int) -> DimLike:
    length = dims.minimum(height + builtins.min(offset, 0), width - builtins.max(offset, 0))
    return builtins.max(length, 0) if type(length) is int else length


@public
def diagonal(x: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonals of x in the plane of two axes, as a new last axis.

    Args:
        x: an array of at least two axes.
        offset: which diagonal; 0 is the main one, positive ones lie above.
        axis1: the axis of the rows.
        axis2: the axis of the columns.

    Returns:
        The diagonals in x's kind.

    Raises:
        ValueError: if x has fewer than two axes, or the two axes are one.

    Example:
        >>> import wengert as wg
        >>> wg.ops.diagonal([[1, 2], [3, 4]])
        array([1, 4])
    """
    a = as_tensor(x, "diagonal")
    if a.ndim < 2:
        raise ValueError(at_user_line(f"diagonal: x has shape {a.shape}, wanted at least two axes"))
    first, second = normal_axes((axis1, axis2), a.ndim, "diagonal")
    rest = (*[i for i in range(a.ndim) if i not in (first, second)],)
    offset = operator.index(offset)
    if offset == 0 and a.shape[first] == a.shape[second]:
        return L.diagonal(permuted(a, (*rest, first, second)))
    a = permuted(a, (first, second, *rest))
    height, width = a.shape[:2]
    length = _diagonal_extent(height, width, offset)
    # on the flattened plane the diagonal's elements lie at one distance, width + 1
    plane = reshaped(a, (height * width, *a.shape[2:]))
    step = S.iota(size=length, dtype=dtypes.int64)
    start = offset if offset >= 0 else -offset * width
    positions = step_times(step, width + 1, start)
    taken = gather(plane, positions)
    return moved(taken, 0, taken.ndim - 1)


def step_times(step: Tensor, factor: DimLike, start: DimLike) -> Tensor:
    """start + step * factor in int64, where the two numbers may be dimensions of a trace."""
    for op, by in ((S.mul, factor), (S.add, start)):
        amount = S.dim_value(dim=by) if type(by) is Dim else S.full(shape=(), value=by, dtype=dtypes.int64)
        step = op(step, promotion.broadcast(amount, step.shape))
    return step


def _with_diagonal(v: Tensor, k: int) -> Tensor:
    """The square matrix that has v on its k-th diagonal and zeros elsewhere."""
    square = L.make_diagonal(v)
    above, below = builtins.max(k, 0), builtins.max(-k, 0)
    return S.pad(square, low=(below, above), high=(above, below), interior=(0, 0)) if k else square


@public
def diag(x: ArrayLike, k: int = 0) -> Any:
    """The matrix that has a vector on a diagonal; the diagonal of a matrix.

    Args:
        x: a vector or a matrix.
        k: which diagonal; 0 is the main one, positive ones lie above.

    Returns:
        A matrix or a vector in x's kind.

    Raises:
        ValueError: if x is neither a vector nor a matrix.

    Example:
        >>> import wengert as wg
        >>> wg.ops.diag([1, 2])
        array([[1, 0],
               [0, 2]])
    """
    a = as_tensor(x, "diag")
    if a.ndim == 1:
        return _with_diagonal(a, operator.index(k))
    if a.ndim == 2:
        return diagonal(a, k)
    raise ValueError(at_user_line(f"diag: x has shape {a.shape}, wanted a vector or a matrix"))


@public
def diagflat(x: ArrayLike, k: int = 0) -> Any:
    """The matrix that has the elements of x, flattened, on a diagonal.

    Args:
        x: an array or a number.
        k: which diagonal; 0 is the main one, positive ones lie above.

    Returns:
        A square matrix in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.diagflat([[1, 2]])
        array([[1, 0],
               [0, 2]])
    """
    return _with_diagonal(flat(as_tensor(x, "diagflat")), operator.index(k))


__all__ = ["diag", "diagflat", "diagonal", "tril", "triu"]
