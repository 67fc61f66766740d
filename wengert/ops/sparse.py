"""SciPy's sparse matrices, which are constants, beside tensors: products and linear systems."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import dims, dtypes
from .._core.argument_types import ArrayLike
from .._core.constant import constant
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import sparse as X
from . import promotion
from .promotion import as_tensor, names_errors, outward
from .shapes import matrix_transpose, moved, reshaped


def is_sparse(x: object) -> bool:
    """Whether a value is one of SciPy's sparse matrices or arrays of two axes."""
    return hasattr(x, "tocoo") and hasattr(x, "nnz") and len(getattr(x, "shape", ())) == 2


def stored(matrix: Any, data: ArrayLike | None, what: str) -> tuple[Tensor, Tensor, Tensor]:
    """The values, rows and columns of a sparse matrix; the values may be given apart, in the order of `tocoo`."""
    if not is_sparse(matrix):
        raise TypeError(at_user_line(f"{what}: wanted a SciPy sparse matrix, got {type(matrix).__name__}"))
    parts = matrix.tocoo()
    rows, columns = (constant(np.array(p, dtype=np.int64)) for p in (parts.row, parts.col))
    if data is None:
        held = parts.data  # a tensor in the sparse matrices of wengert.scipy
        return held if isinstance(held, Tensor) else constant(np.array(held)), rows, columns
    values = as_tensor(data, what)
    if tuple(values.shape) != (parts.nnz,):
        raise ValueError(at_user_line(f"{what}: data has shape {values.shape} for {parts.nnz} stored values"))
    return values, rows, columns


def _followed(matrix: ArrayLike) -> Tensor | None:
    """The values of a matrix of `wengert.scipy`, by which it counts as a tensor."""
    held = getattr(matrix, "data", None)
    return held if isinstance(held, Tensor) else None


def _met(values: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    dtype = promotion.common_dtype([values, x])
    dtype = dtype if dtypes.is_inexact(dtype) else dtypes.default_float()
    return promotion.cast(values, dtype), promotion.cast(x, dtype)


def product(matrix: Any, x: Tensor, data: ArrayLike | None, what: str) -> Tensor:
    """A sparse matrix times a vector, or matrices on the last two axes."""
    values, rows, columns = stored(matrix, data, what)
    values, x = _met(values, x)
    height, width = matrix.shape
    axis = 0 if x.ndim == 1 else x.ndim - 2
    if x.ndim == 0 or x.shape[axis] != width:
        raise ValueError(at_user_line(f"{what}: shapes {matrix.shape} and {x.shape} do not fit together"))
    front = moved(x, axis, 0)
    flat = reshaped(front, (width, dims.size_of(front.shape[1:])))
    result = X.sparse_matmul(values, rows, columns, flat, height=height)
    return moved(reshaped(result, (height, *front.shape[1:])), 0, axis)


@names_errors
def sparse_matmul(A: ArrayLike, x: ArrayLike, data: ArrayLike | None = None) -> Any:
    """A constant SciPy sparse matrix times a tensor; `A @ x` and `x @ A` with a tensor come here, too.

    Args:
        A: a SciPy sparse matrix or array (m, n).
        x: a vector (n,), or matrices (..., n, k).
        data: the values that A stores, in the order of `A.tocoo()`, where they are to be differentiable; None means
            those that it holds.

    Returns:
        The product (m,) or (..., m, k) in the kind of array that came in, with gradients in x and in `data`.

    Raises:
        TypeError: if A is not a SciPy sparse matrix.
        ValueError: for shapes that do not fit.

    Example:
        >>> import scipy.sparse
        >>> import wengert as wg
        >>> A = scipy.sparse.csr_array([[1.0, 0.0], [0.0, 3.0]])
        >>> wg.linalg.sparse_matmul(A, [1.0, 2.0])
        array([1., 6.])
    """
    return outward(product(A, as_tensor(x, "sparse_matmul"), data, "sparse_matmul"), x, data, _followed(A))


@names_errors
def spsolve(A: Any, b: ArrayLike, permc_spec: object = None, use_umfpack: bool = True, *, data: Any = None) -> Any:
    """The x with A @ x = b for a SciPy sparse matrix A; SciPy's `spsolve`, differentiable.

    Args:
        A: a square SciPy sparse matrix or array (n, n).
        b: a vector (n,) or a matrix (n, k).
        permc_spec: accepted for SciPy's sake, and not used.
        use_umfpack: accepted for SciPy's sake, and not used.
        data: the values that A stores, in the order of `A.tocoo()`, where they are to be differentiable; None means
            those that it holds.

    Returns:
        The solution in b's shape, in the kind of array that came in, with gradients in b and in `data`.

    Raises:
        TypeError: if A is not a SciPy sparse matrix.
        ValueError: for shapes that do not fit.
        numpy.linalg.LinAlgError: for a singular matrix.

    Example:
        >>> import scipy.sparse
        >>> import wengert as wg
        >>> A = scipy.sparse.csr_array([[2.0, 0.0], [0.0, 4.0]])
        >>> wg.linalg.spsolve(A, [1.0, 2.0])
        array([0.5, 0.5])
    """
    values, rows, columns = stored(A, data, "spsolve")
    values, right = _met(values, as_tensor(b, "spsolve"))
    if A.shape[0] != A.shape[1] or right.ndim not in (1, 2) or right.shape[0] != A.shape[0]:
        raise ValueError(at_user_line(f"spsolve: shapes {A.shape} and {right.shape} do not fit together"))
    result = X.sparse_solve(values, rows, columns, right if right.ndim == 2 else reshaped(right, (A.shape[0], 1)))
    return outward(reshaped(result, right.shape), b, data, _followed(A))


def right_product(A: Any, x: Tensor) -> Any:
    """x @ A."""
    if x.ndim == 1:
        return product(A.T, x, None, "matmul")
    return matrix_transpose(product(A.T, matrix_transpose(x), None, "matmul"))


__all__ = ["sparse_matmul", "spsolve"]
