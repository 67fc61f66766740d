"""Jacobians and Hessians for SciPy's solvers, sparse where that pays; the pattern is found at the start.

A derivative has few entries where a pattern says so and it is large enough that a solver gains by it; all others are
dense, those of functions that want values among them. Used by `solvers.py` and `_ipopt.py`.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._core.argument_types import ArrayLike
from .._core.constant import constant
from .._core.engine import ndarray_of
from .._core.scipy_modules import scipy
from ..differentiation.derivatives import hessian, jacobian
from ..differentiation.sparse import sparsity
from ..ops.promotion import as_tensor

Array = np.ndarray[Any, Any]

_FEWEST = 32  # unknowns: below, dense matrices cost solvers less
_FULLEST = 0.25  # of the places, likewise


def numbers(x: ArrayLike) -> Array:
    """Values as doubles, for SciPy."""
    tensor = as_tensor(x)
    return np.array(ndarray_of(tensor._data), np.float64)


def plain(x: ArrayLike) -> Any:
    """A vector of SciPy's as a tensor; SciPy may overwrite its own."""
    return constant(np.array(x))


class Matrix(NamedTuple):
    """A Jacobian or Hessian as a function of vectors of doubles.

    Attributes:
        at: from the vectors to the matrix: a `scipy.sparse.csr_array` with the pattern's entries, or an array.
        pattern: where it has entries; None if it is dense.
    """

    at: Callable[..., Any]
    pattern: Any

    def dense_at(self, *vectors: Array) -> Array:
        """The matrix as an array."""
        found = self.at(*vectors)
        return found if self.pattern is None else found.toarray()


def jacobian_of(f: Callable[..., Any], args: tuple[Any, ...], x: Array) -> Matrix:
    """The Jacobian of a vector by a vector.

    Args:
        f: `f(x, *args)`.
        args: what else f takes.
        x: a place, for the pattern.
    """
    pattern = _pattern(f, (plain(x), *args), order=1)
    return _of_vectors(jacobian(f, sparsity=pattern, unconnected_gradients="zero"), args, pattern)


def hessian_of(f: Callable[..., Any], args: tuple[Any, ...], *vectors: Array) -> Matrix:
    """The Hessian of a number by the first of some vectors.

    Args:
        f: `f(*vectors, *args)`.
        args: what else f takes.
        vectors: a place, for the pattern, without zeros that are not always there.
    """
    pattern = _pattern(f, (*map(plain, vectors), *args), order=2)
    return _of_vectors(hessian(f, sparsity=pattern), args, pattern)


def _of_vectors(derivative: Callable[..., Any], args: tuple[Any, ...], pattern: object) -> Matrix:
    def at(*vectors: Array) -> Any:
        found = derivative(*map(plain, vectors), *args)
        return numbers(found) if pattern is None else found

    return Matrix(at, pattern)


def _pattern(f: Callable[..., Any], args: tuple[Any, ...], order: int) -> Any:
    """Where a derivative has entries, or None if it had better be dense."""
    if args[0].shape[0] < _FEWEST:
        return None
    try:
        found = sparsity(f, order=order)(*args)
    except Exception:  # f wants values, or is wrong: dense derivatives do, or say what is wrong
        return None
    return found if found.nnz <= _FULLEST * found.shape[0] * found.shape[1] else None


def entries(matrix: Matrix, rows: int, columns: int) -> tuple[Any, Callable[..., Array]]:
    """A pattern, full if need be, and the function that gives its entries."""
    if matrix.pattern is not None:
        return matrix.pattern, lambda *vectors: matrix.at(*vectors).data
    pattern = scipy("sparse").csr_array(np.ones((rows, columns), bool))
    return pattern, lambda *vectors: matrix.at(*vectors).reshape(-1)
