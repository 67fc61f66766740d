"""Powers of matrices that are no integers, roots and logarithms, and the polar decomposition."""

from __future__ import annotations

from typing import Any

from .._core.argument_types import ArrayLike
from .._core.user_line import at_user_line
from .._prims import decompositions as F
from .._prims import linalg as L
from .._prims import matrix_functions as M
from . import promotion
from .complex_parts import conj
from .decompositions import matrices, square_matrices
from .elementwise import multiply
from .promotion import public
from .shapes import matrix_transpose


@public
def fractional_matrix_power(A: ArrayLike, t: ArrayLike) -> Any:
    """The power of square matrices, e^(t log(A)).

    Args:
        A: matrices (..., n, n), real or complex.
        t: the power, a number; differentiable.

    Returns:
        The powers in A's kind and dtype.

    Raises:
        LinAlgError: for a singular matrix, and for a real one with a negative eigenvalue, whose powers are complex.
        ValueError: if A is not square.

    Example:
        >>> import wengert as wg
        >>> wg.linalg.fractional_matrix_power([[4.0, 0.0], [0.0, 9.0]], 0.5).round(12)
        array([[2., 0.],
               [0., 3.]])
    """
    a, dtype = square_matrices(A, "fractional_matrix_power")
    return promotion.cast(M.expm(promotion.cast(multiply(M.logm(a), t), a.dtype)), dtype)


@public
def polar(a: ArrayLike, side: str = "right") -> Any:
    """Matrices as a product of one with orthonormal rows or columns and a positive semidefinite one.

    At kinks: the gradient exists for full rank, at equal singular values, too.

    Args:
        a: matrices (..., m, n).
        side: "right": a = u @ p; "left": a = p @ u.

    Returns:
        u (..., m, n) and p, symmetric (Hermitian), (..., n, n) or for "left" (..., m, m), in a's kind.

    Raises:
        ValueError: for another side, or fewer than two axes.

    Example:
        >>> import wengert as wg
        >>> u, p = wg.linalg.polar([[0.0, -2.0], [3.0, 0.0]])
        >>> p.round(12) + 0
        array([[3., 0.],
               [0., 2.]])
    """
    if side not in ("right", "left"):
        raise ValueError(at_user_line(f"polar: side must be 'right' or 'left', got {side!r}"))
    x, dtype = matrices(a, "polar")
    left, sizes, right = F.svd(x)
    base = right if side == "right" else conj(matrix_transpose(left))
    scaled = multiply(base, promotion.cast(sizes, x.dtype)[..., None])
    found = L.matmul(left, right), L.matmul(conj(matrix_transpose(base)), scaled)
    return tuple([promotion.cast(v, dtype) for v in found])


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


__all__ = ["fractional_matrix_power", "logm", "polar", "sqrtm"]
