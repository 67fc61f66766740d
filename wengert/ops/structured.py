"""Structured matrices (toeplitz, block_diag), sqrtm and logm, Sylvester's equation, and solving by LU factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import dtypes
from .._core.apply import apply
from .._core.argument_types import ArrayLike
from .._core.op import Op
from .._core.tensor import Tensor
from .._core.types import type_of
from .._core.where import at_user_line
from .._prims import decompositions as F
from .._prims import matrix_functions as M
from .._prims import structural as S
from . import promotion
from .complex_parts import conj
from .decompositions import matrices, square_matrices
from .elementwise import equal
from .indexing import argsort, take, take_along_axis, where
from .linalg import solvable, solve_triangular
from .promotion import as_tensor, names_errors, outward, public
from .shapes import atleast_1d, concatenate, flip, known_extent, matrix_transpose, pad, part, tril, triu


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


@public
def sqrtm(A: ArrayLike) -> Any:
    """The principal square root of square matrices.

    At kinks: a singular matrix has no derivative: the gradient is NaN, and inf of a single 0.

    Args:
        A: matrices (..., n, n), real or complex.

    Returns:
        The roots in A's kind and dtype.

    Raises:
        LinAlgError: for a real matrix with a negative eigenvalue, whose root is complex.
        ValueError: if A is not square.

    Example:
        >>> import wengert as wg
        >>> wg.linalg.sqrtm([[4.0, 0.0], [0.0, 9.0]])
        array([[2., 0.],
               [0., 3.]])
    """
    a, dtype = square_matrices(A, "sqrtm")
    return promotion.cast(M.sqrtm(a), dtype)


@public
def logm(A: ArrayLike) -> Any:
    """The principal logarithm of square matrices.

    Args:
        A: matrices (..., n, n), real or complex.

    Returns:
        The logarithms in A's kind and dtype.

    Raises:
        LinAlgError: for a singular matrix, and for a real one with a negative eigenvalue, whose logarithm is complex.
        ValueError: if A is not square.

    Example:
        >>> import wengert as wg
        >>> wg.linalg.logm([[1.0, 1.0], [0.0, 1.0]]).round(12) + 0
        array([[0., 1.],
               [0., 0.]])
    """
    a, dtype = square_matrices(A, "logm")
    return promotion.cast(M.logm(a), dtype)


@names_errors
def solve_sylvester(a: ArrayLike, b: ArrayLike, q: ArrayLike) -> Any:
    """The x with a @ x + x @ b = q.

    Args:
        a: matrices (..., m, m).
        b: matrices (..., n, n).
        q: matrices (..., m, n); leading axes broadcast.

    Returns:
        The solutions (..., m, n) in the kind of array that came in.

    Raises:
        LinAlgError: if an eigenvalue of a is the negative of one of b.
        ValueError: for shapes that do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.linalg.solve_sylvester([[1.0]], [[2.0]], [[6.0]])
        array([[2.]])
    """
    tensors = [solvable(as_tensor(v, "solve_sylvester"))[0] for v in (a, b, q)]
    dtype = promotion.common_dtype(tensors)
    lead: Any = ()
    for t in tensors:
        if t.ndim < 2:
            raise ValueError(at_user_line(f"solve_sylvester: wanted matrices, got shape {t.shape}"))
        lead = promotion.broadcast_shapes(lead, tuple(t.shape[:-2]), "solve_sylvester")
    wide = [promotion.broadcast(promotion.cast(t, dtype), (*lead, *t.shape[-2:])) for t in tensors]
    M.sylvester.type_rule(*map(type_of, wide), False)  # kernels refuse nothing of what has no elements
    return outward(M.sylvester(*wide, or_nan=False), a, b, q)


@names_errors
def lu_solve(lu_and_piv: object, b: ArrayLike, trans: int = 0) -> Any:
    """The x with A @ x = b, from the factors of `lu_factor`.

    Args:
        lu_and_piv: the pair (packed factors (..., n, n), pivots (..., n)).
        b: a vector (n,) or matrices (..., n, k).
        trans: 0 for A, 1 for its transpose, 2 for the conjugate of that.

    Returns:
        The solutions in the kind of array that came in, with gradients in the factors and in b.

    Raises:
        LinAlgError: for a zero on the diagonal of U.
        ValueError: for another `trans`.

    Example:
        >>> import wengert as wg
        >>> wg.linalg.lu_solve(wg.linalg.lu_factor([[2.0, 3.0], [4.0, 3.0]]), [5.0, 7.0])
        array([1., 1.])
    """
    if trans not in (0, 1, 2):
        raise ValueError(at_user_line(f"lu_solve: trans must be 0, 1 or 2, got {trans!r}"))
    if not isinstance(lu_and_piv, (tuple, list)) or len(lu_and_piv) != 2:
        raise TypeError(at_user_line("lu_solve: lu_and_piv: wanted the pair that lu_factor gave"))
    packed, right = as_tensor(lu_and_piv[0], "lu_solve"), as_tensor(b, "lu_solve")
    n = known_extent(packed, packed.ndim - 1, "lu_solve")
    order = _orders(as_tensor(lu_and_piv[1], "lu_solve"), n)
    is_vector = right.ndim == 1
    columns = right[:, None] if is_vector else right
    unit = promotion.cast(as_tensor(np.eye(n)), packed.dtype)
    lower = where(np.tri(n, k=-1, dtype=bool), packed, unit)  # the unit diagonal is not stored
    if trans == 0:
        half = solve_triangular(lower, _permuted(F.permute_rows, columns, order), lower=True)
        result = solve_triangular(packed, half, lower=False)
    else:
        turn = matrix_transpose if trans == 1 else lambda x: conj(matrix_transpose(x))
        half = solve_triangular(turn(packed), columns, lower=True)
        result = _permuted(F.unpermute_rows, solve_triangular(turn(lower), half, lower=False), order)
    return outward(result[..., 0] if is_vector else result, *lu_and_piv, b)


@public
def lu(a: ArrayLike, permute_l: bool = False, p_indices: bool = False) -> Any:
    """The triangular factors of matrices: a = P @ L @ U, as `scipy.linalg.lu`.

    At kinks: as for `lu_factor`: the gradient exists where the leading square block of the exchanged rows is regular;
    else it raises `numpy.linalg.LinAlgError`. The exchanges are constants.

    Args:
        a: matrices (..., m, n).
        permute_l: whether to return P @ L and U alone.
        p_indices: whether to return P as row numbers (..., m): then a = L[P] @ U.

    Returns:
        P (..., m, m), a matrix of zeros and ones, L (..., m, k) with ones on its diagonal and U (..., k, n), where k
        is the smaller of m and n; in a's kind.

    Raises:
        ValueError: for fewer than two axes.

    Example:
        >>> import wengert as wg
        >>> p, l, u = wg.linalg.lu([[2.0, 3.0], [4.0, 3.0]])
        >>> l
        array([[1. , 0. ],
               [0.5, 1. ]])
        >>> p @ l @ u
        array([[2., 3.],
               [4., 3.]])
    """
    x, dtype = matrices(a, "lu")
    m, n = (known_extent(x, x.ndim - i, "lu") for i in (2, 1))
    k = min(m, n)
    packed, _, order = F.lu(x)
    packed = promotion.cast(packed, dtype)
    lower = where(np.eye(m, k, dtype=bool), 1.0, tril(part(packed, packed.ndim - 1, 0, k), -1))
    upper = triu(part(packed, packed.ndim - 2, 0, k))
    if permute_l:
        return F.unpermute_rows(lower, order), upper
    places = argsort(order, axis=-1)  # where each row of a has come to
    if p_indices:
        return places, lower, upper
    return promotion.cast(equal(places[..., None], np.arange(m)), dtype), lower, upper


def _orders(pivots: Tensor, n: int) -> Tensor:
    """The rows in the order into which exchanges bring them."""
    pivots = promotion.cast(pivots, dtypes.int64)
    place = S.iota(size=n, dtype=dtypes.int64)
    order = promotion.broadcast(place, (*pivots.shape[:-1], n))
    for i in range(known_extent(pivots, pivots.ndim - 1, "lu_solve")):
        other = part(pivots, pivots.ndim - 1, i, i + 1)
        first, second = part(order, order.ndim - 1, i, i + 1), take_along_axis(order, other, -1)
        order = where(equal(place, i), second, where(equal(place, other), first, order))
    return order


def _permuted(op: Op, x: Tensor, order: Tensor) -> Tensor:
    """Rows in an order, one for all matrices or one for each."""
    lead = promotion.broadcast_shapes(tuple(order.shape[:-1]), tuple(x.shape[:-2]), "lu_solve")
    wide = promotion.broadcast(x, (*lead, *x.shape[-2:]))
    return apply(op, (wide, promotion.broadcast(order, (*lead, order.shape[-1]))))


__all__ = ["block_diag", "circulant", "logm", "lu", "lu_solve", "solve_sylvester", "sqrtm", "toeplitz"]
