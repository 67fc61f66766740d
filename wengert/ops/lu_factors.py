"""LU factors as SciPy has them: `lu`, and `lu_solve` by what `lu_factor` gave."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import dtypes
from .._core.apply import apply
from .._core.argument_types import ArrayLike
from .._core.op import Op
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import decompositions as F
from .._prims import structural as S
from . import promotion
from .complex_parts import conj
from .decompositions import matrices
from .elementwise import equal
from .indexing import argsort, take_along_axis, where
from .linalg import solve_triangular
from .promotion import as_tensor, names_errors, outward, public
from .shapes import known_extent, matrix_transpose, part
from .triangles import tril, triu


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


__all__ = ["lu", "lu_solve"]
