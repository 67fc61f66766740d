"""Determinants, factorisations and what is made of them (pseudo-inverses, least squares, ranks, condition numbers),
under Keras's names. `wengert/linalg.py` has the functions that bear NumPy's names and signatures.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.apply import apply
from .._core.argument_types import ArrayLike
from .._core.dims import Dim
from .._core.tensor import Tensor
from .._core.types import tensor_type
from .._core.user_line import at_user_line
from .._prims import decompositions as F
from .._prims import discrete as D
from .._prims import eigen as G
from .._prims import linalg as L
from .._prims import matrix_functions as M
from .._prims import reductions as R
from .._prims import structural as S
from .._prims.limits import limit_value
from . import promotion
from .elementwise import divide, multiply
from .joining import concatenate
from .linalg import matmul, norm, solvable
from .promotion import as_tensor, names_errors, outward, public
from .reductions import max as largest
from .reductions import sum as total
from .shapes import part, reshaped
from .splitting import unstack


def matrices(x: ArrayLike, what: str) -> tuple[Tensor, np.dtype[Any]]:
    """An argument that holds matrices, in a dtype to compute in, and the dtype that results are to have."""
    a, dtype = solvable(as_tensor(x, what))
    if a.ndim < 2:
        raise np.linalg.LinAlgError(at_user_line(f"{what}: wanted matrices on the last two axes, got shape {a.shape}"))
    return a, dtype


def square_matrices(x: ArrayLike, what: str) -> tuple[Tensor, np.dtype[Any]]:
    """As `matrices`, for square ones."""
    a, dtype = matrices(x, what)
    if a.shape[-1] != a.shape[-2] and not (isinstance(a.shape[-1], Dim) or isinstance(a.shape[-2], Dim)):
        raise np.linalg.LinAlgError(
            at_user_line(f"{what}: wanted square matrices on the last two axes, got shape {a.shape}")
        )
    return a, dtype


def _static(a: Tensor, what: str) -> tuple[int, int]:
    """The extents of matrices whose form decides what is computed."""
    m, n = a.shape[-2:]
    if type(m) is not int or type(n) is not int:
        raise ValueError(at_user_line(f"{what}: the extents of the matrices must be known in a trace, got {a.shape}"))
    return m, n


def by_lower_triangle(x: ArrayLike, what: str) -> Tensor:
    """The Hermitian matrices that have x's lower triangles; the gradient is Hermitian, as that of `eigh`."""
    a, dtype = square_matrices(x, what)
    mean = S.times_number(S.add(a, L.adjoint(a)), number=0.5)
    # the mean is what is differentiated, the lower triangle what is read
    found = S.add(mean, S.stop_gradient(S.sub(F.hermitian_of_upper(L.adjoint(a)), mean)))
    return promotion.cast(found, dtype)


# -- determinants ------------------------------------------------------------------------------------------------------


@public
def det(x: ArrayLike) -> Any:
    """The determinant of square matrices.

    At kinks: none; the gradient is the matrix of cofactors, exact at singular matrices too, and so is its
    derivative; up to 8 rows so are derivatives of every order, beyond the third needs distinct singular values.

    Args:
        x: matrices (..., n, n).

    Returns:
        The determinants (...) in x's kind.

    Raises:
        numpy.linalg.LinAlgError: if x is not square.

    Example:
        >>> import wengert as wg
        >>> wg.grad(wg.ops.det)(wg.numpy.array([[1.0, 2.0], [2.0, 4.0]])).numpy().round(12) + 0.0
        array([[ 4., -2.],
               [-2.,  1.]])
    """
    a, dtype = square_matrices(x, "det")
    return promotion.cast(F.det(a), dtype)


@public
def slogdet(x: ArrayLike) -> Any:
    """The sign of the determinant and the logarithm of its magnitude, which neither overflows nor vanishes.

    At kinks: at a singular matrix the sign is 0, the logarithm -inf and the gradient infinite or NaN.

    Args:
        x: matrices (..., n, n).

    Returns:
        A pair of arrays (...) in x's kind; of complex matrices the sign is a complex number of magnitude 1.

    Raises:
        numpy.linalg.LinAlgError: if x is not square.

    Example:
        >>> import wengert as wg
        >>> sign, size = wg.ops.slogdet([[0.0, 1.0], [1.0, 0.0]])
        >>> print(sign, size)
        -1.0 0.0
    """
    a, dtype = square_matrices(x, "slogdet")
    sign, size = F.slogdet(a)
    return promotion.cast(sign, dtype), promotion.cast(size, dtypes.real_of(dtype))


@public
def logdet(x: ArrayLike) -> Any:
    """The logarithm of the determinant; the matrices need not be symmetric.

    At kinks: NaN, and so the gradient, for a negative determinant; -inf for a singular matrix.

    Args:
        x: real matrices (..., n, n).

    Returns:
        The logarithms (...) in x's kind.

    Raises:
        numpy.linalg.LinAlgError: if x is not square.

    Example:
        >>> import wengert as wg
        >>> print(wg.ops.logdet([[2.0, 1.0], [0.0, 0.5]]).round(12) + 0.0)
        0.0
    """
    sign, size = slogdet(as_tensor(x, "logdet"))
    if dtypes.is_complex(sign.dtype):
        raise TypeError(at_user_line(f"logdet: wanted real matrices, got {sign.dtype.name}; see slogdet"))
    is_negative = apply(D.lt, (sign, S.fill(sign, 0)))
    return multiply(size, S.select(is_negative, S.fill(size, math.nan), S.fill(size, 1)))


# -- factorisations ----------------------------------------------------------------------------------------------------


@public
def eigh(x: ArrayLike) -> Any:
    """Eigenvalues and eigenvectors of symmetric (Hermitian) matrices.

    At kinks: the lower triangle is read, and the gradient is symmetric (Hermitian). For equal eigenvalues smooth
    functions of values and vectors have their gradient, other functions of the vectors NaN.

    Args:
        x: matrices (..., n, n).

    Returns:
        The real eigenvalues (..., n), ascending, and the matrices of eigenvectors as columns, in x's kind. The sign
        (of complex ones the phase) of each vector is free.

    Raises:
        numpy.linalg.LinAlgError: if x is not square.
        numpy.linalg.LinAlgError: if the computation does not converge.

    Example:
        >>> import wengert as wg
        >>> values, vectors = wg.ops.eigh([[2.0, 1.0], [1.0, 2.0]])
        >>> values
        array([1., 3.])
    """
    return triangular_eigh(x, True)


def triangular_eigh(x: ArrayLike, lower: bool) -> tuple[Tensor, Tensor]:
    """`eigh`, reading the lower or the upper triangle."""
    a, dtype = square_matrices(x, "eigh")
    values, vectors = F.eigh(a, lower=lower)
    return promotion.cast(values, dtypes.real_of(dtype)), promotion.cast(vectors, dtype)


@public
def eig(x: ArrayLike) -> Any:
    """Eigenvalues and eigenvectors of general square matrices.

    At kinks: for equal eigenvalues smooth functions of values and vectors have their gradient, other functions of the
    vectors NaN. A matrix without a basis of eigenvectors has no derivative: the gradient raises, or is huge.

    Args:
        x: matrices (..., n, n), real or complex.

    Returns:
        The eigenvalues (..., n) in no order and the matrices of eigenvectors as columns, complex, in x's kind. Vectors
        have length 1; the phase of each is free, and gradients are right for functions that do not depend on it.

    Raises:
        numpy.linalg.LinAlgError: if x is not square.
        numpy.linalg.LinAlgError: if the computation does not converge.

    Example:
        >>> import wengert as wg
        >>> values, vectors = wg.ops.eig([[0.0, 1.0], [-1.0, 0.0]])
        >>> values.round(12) + 0
        array([0.+1.j, 0.-1.j])
    """
    a, dtype = square_matrices(x, "eig")
    values, vectors = G.eig(a)
    dtype = dtypes.complex_of(dtype)
    return promotion.cast(values, dtype), promotion.cast(vectors, dtype)


@public
def expm(x: ArrayLike) -> Any:
    """The exponential of square matrices, the sum of x^k / k!.

    Args:
        x: matrices (..., n, n), real or complex.

    Returns:
        Matrices (..., n, n) in x's kind.

    Raises:
        numpy.linalg.LinAlgError: if x is not square.

    Example:
        >>> import wengert as wg
        >>> wg.linalg.expm([[0.0, 1.0], [0.0, 0.0]])
        array([[1., 1.],
               [0., 1.]])
    """
    a, dtype = square_matrices(x, "expm")
    return promotion.cast(M.expm(a), dtype)


@public
def svd(x: ArrayLike, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Singular values and vectors: x = u @ diag(s) @ vh.

    At kinks: at equal singular values, or ones of 0, smooth functions of values and vectors have their gradient, other
    functions of the vectors NaN. The vectors of the null space (`full_matrices=True` of a matrix that is not square)
    are a matter of choice: a gradient through them is a `LookupError`.

    Args:
        x: matrices (..., m, n).
        full_matrices: whether u and vh are square; else they have min(m, n) columns and rows.
        compute_uv: whether to return the vectors.

    Returns:
        u, s (descending) and vh, or s alone, in x's kind. The sign of each pair of vectors is free.

    Raises:
        numpy.linalg.LinAlgError: for fewer than two axes.
        numpy.linalg.LinAlgError: if the computation does not converge.

    Example:
        >>> import wengert as wg
        >>> wg.ops.svd([[3.0, 0.0], [0.0, 4.0]], compute_uv=False)
        array([4., 3.])
    """
    a, dtype = matrices(x, "svd")
    u, s, vh = F.svd(a)
    s = promotion.cast(s, dtypes.real_of(dtype))
    if not compute_uv:
        return s
    if full_matrices:
        m, n = _static(a, "svd")
        if m > n:
            u = concatenate([u, F.complement(u)], axis=-1)
        elif m < n:
            vh = concatenate([vh, L.adjoint(F.complement(L.adjoint(vh)))], axis=-2)
    return promotion.cast(u, dtype), s, promotion.cast(vh, dtype)


@public
def qr(x: ArrayLike, mode: str = "reduced") -> Any:
    """Orthonormal Q and upper triangular R with x = Q @ R.

    At kinks: the gradient exists for full rank; without it, it raises `numpy.linalg.LinAlgError`. The
    columns that `mode="complete"` adds are a matter of choice: a gradient through them is a `LookupError`.

    Args:
        x: matrices (..., m, n).
        mode: "reduced": Q has min(m, n) columns; "complete": Q is square.

    Returns:
        Q and R in x's kind.

    Raises:
        ValueError: for another mode.

    Example:
        >>> import wengert as wg
        >>> q, r = wg.ops.qr([[3.0, 1.0], [4.0, 2.0]])
        >>> (q @ r).round(12)
        array([[3., 1.],
               [4., 2.]])
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(at_user_line(f"qr: mode must be 'reduced' or 'complete', got {mode!r}"))
    a, dtype = matrices(x, "qr")
    if type(a.shape[-2]) is int and type(a.shape[-1]) is int and a.shape[-2] < a.shape[-1]:
        q, r = _wide_qr(a)
    else:
        q, r = F.qr(a)
    if mode == "complete":
        m, n = _static(a, "qr")
        if m > n:
            q = concatenate([q, F.complement(q)], axis=-1)
            r = concatenate([r, S.zeros_of(tensor_type((*r.shape[:-2], m - n, n), r.dtype))], -2)
    return promotion.cast(q, dtype), promotion.cast(r, dtype)


def _wide_qr(a: Tensor) -> tuple[Tensor, Tensor]:
    """More columns than rows: the first ones make Q, and the others are seen in its basis."""
    m, n = _static(a, "qr")
    q, r = F.qr(part(a, a.ndim - 1, 0, m))
    return q, concatenate([r, L.matmul(L.adjoint(q), part(a, a.ndim - 1, m, n))], axis=-1)


@public
def lu_factor(x: ArrayLike) -> Any:
    """The triangular factors of matrices with their rows exchanged, as `scipy.linalg.lu_factor`.

    At kinks: the gradient exists where the leading square block of the exchanged rows is regular; else it raises
    `numpy.linalg.LinAlgError`. The exchanges themselves are constants.

    Args:
        x: matrices (..., m, n).

    Returns:
        L (its unit diagonal is not stored) and U in one matrix (..., m, n), and the integer pivots (..., min(m, n)):
        row i was exchanged with row pivots[i], in turn. In x's kind.

    Raises:
        numpy.linalg.LinAlgError: for fewer than two axes.

    Example:
        >>> import wengert as wg
        >>> packed, pivots = wg.ops.lu_factor([[2.0, 3.0], [4.0, 3.0]])
        >>> packed
        array([[4. , 3. ],
               [0.5, 1.5]])
        >>> pivots
        array([1, 1], dtype=int32)
    """
    a, dtype = matrices(x, "lu_factor")
    packed, pivots, _ = F.lu(a)
    return promotion.cast(packed, dtype), pivots


# -- what is made of singular values -------------------------------------------------------------------------------


def _default_rcond(a: Tensor, factor: int = 10) -> float:
    sizes = [d for d in a.shape[-2:] if type(d) is int]
    return factor * max(sizes, default=1) * float(np.finfo(a.dtype).eps)


@public
def pinv(x: ArrayLike, rcond: Any = None) -> Any:
    """The pseudo-inverse of matrices.

    At kinks: where the rank changes the pseudo-inverse jumps; the gradient is that at constant rank.

    Args:
        x: matrices (..., m, n).
        rcond: singular values up to this times the largest count as 0; a small multiple of the rounding unit if None.
            A number, or an array of one per matrix.

    Returns:
        Matrices (..., n, m) in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.pinv([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
        array([[1. , 0. , 0. ],
               [0. , 0.5, 0. ]])
    """
    a, dtype = matrices(x, "pinv")
    if rcond is None:
        rcond = _default_rcond(a)
    elif as_tensor(rcond, "pinv").size != 1:
        return promotion.cast(_pinv_by_matrix(a, as_tensor(rcond, "pinv")), dtype)
    return promotion.cast(F.pinv(a, rcond=float(rcond)), dtype)


def _pinv_by_matrix(a: Tensor, rcond: Tensor) -> Tensor:
    """Each matrix with a bound of its own; the bounds are constants."""
    bounds = np.asarray(rcond)  # refuses what is under differentiation
    batch = np.broadcast_shapes(a.shape[:-2], bounds.shape)
    m, n = a.shape[-2:]
    rows = unstack(reshaped(promotion.broadcast(a, (*batch, m, n)), (math.prod(batch), m, n)))
    limits = np.broadcast_to(bounds, batch).flat
    inverses = [F.pinv(row, rcond=float(bound)) for row, bound in zip(rows, limits, strict=True)]
    if not inverses:
        return as_tensor(np.zeros((*batch, n, m), a.dtype))
    return reshaped(promotion.stack_rows(inverses), (*batch, n, m))


@names_errors
def lstsq(a: ArrayLike, b: ArrayLike, rcond: ArrayLike | None = None) -> Any:
    """The x of least length that makes ``a @ x - b`` shortest.

    At kinks: the gradient is that at constant rank of a.

    Args:
        a: matrices (..., m, n).
        b: a vector (m,) or matrices (..., m, k).
        rcond: singular values of a up to this times the largest count as 0; the rounding unit times the larger extent
            if None, and the rounding unit alone where this is not between 0 and 1, as in LAPACK.

    Returns:
        The solutions (n,) or (..., n, k), in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.ops.lstsq([[1.0], [1.0]], [1.0, 3.0]).round(12)
        array([2.])
    """
    matrix = as_tensor(a, "lstsq")
    inverse = pinv(matrix, lapack_rcond(matrix, rcond))
    return outward(matmul(inverse, as_tensor(b, "lstsq")), a, b)


def lapack_rcond(a: Tensor, rcond: Any) -> float:
    """The bound that LAPACK's least squares makes of `rcond`."""
    solved = solvable(a)[0]
    if rcond is None:
        return _default_rcond(solved, 1)
    return float(rcond) if 0 < float(rcond) < 1 else float(np.finfo(solved.dtype).eps)


@public
def matrix_rank(x: ArrayLike, tol: ArrayLike | None = None, rtol: ArrayLike | None = None) -> Any:
    """The number of singular values above a tolerance: integers, constants to a gradient.

    Args:
        x: matrices (..., m, n); a vector has rank 1 unless it is zero.
        tol: the tolerance; that of `numpy.linalg.matrix_rank` if None.
        rtol: the tolerance as a multiple of the largest singular value, in place of `tol`.

    Returns:
        The ranks in x's kind.

    Raises:
        ValueError: for both tolerances.

    Example:
        >>> import wengert as wg
        >>> print(wg.ops.matrix_rank([[1.0, 2.0], [2.0, 4.0]]))
        1
    """
    a, _ = solvable(as_tensor(x, "matrix_rank"))
    if a.ndim < 2:
        a = reshaped(a, (1, *a.shape) if a.ndim else (1, 1))
    s = F.svd(a)[1]
    if tol is not None and rtol is not None:
        raise ValueError(at_user_line("matrix_rank: tol and rtol are both given; one of them is wanted"))
    if tol is None:
        m, n = _static(a, "matrix_rank")
        if rtol is None:
            rtol = max(m, n) * float(np.finfo(s.dtype).eps)
        elif not promotion.is_number(rtol):
            rtol = reshaped(as_tensor(rtol), (*as_tensor(rtol).shape, 1))
        tol = multiply(largest(s, axis=-1, keepdims=True, initial=0.0), rtol)
    elif not promotion.is_number(tol):
        tol = reshaped(as_tensor(tol), (*as_tensor(tol).shape, 1))
    return total(promotion.cast(promotion.binary(D.gt, s, tol), dtypes.int64), axis=-1)


@public
def condition_number(x: ArrayLike, p: ArrayLike | None = None) -> Any:
    """The condition number of matrices: the norm times the norm of the inverse.

    Args:
        x: matrices (..., m, n), square unless p is None, 2 or -2.
        p: the order of the norm; None means 2, the ratio of the largest singular value to the smallest.

    Returns:
        The numbers in x's kind; inf for a singular matrix, whose gradient is infinite or NaN.

    Example:
        >>> import wengert as wg
        >>> print(wg.linalg.cond([[4.0, 0.0], [0.0, 2.0]]))
        2.0
    """
    a, dtype = matrices(x, "cond")
    if p is None or p in (2, -2):
        s = F.svd(a)[1]
        first, last = part(s, s.ndim - 1, 0, 1), part(s, s.ndim - 1, s.shape[-1] - 1, s.shape[-1])
        found = reshaped(divide(last, first) if p == -2 else divide(first, last), s.shape[:-1])
    else:
        square_matrices(a, "cond")
        found = multiply(norm(a, p, (-2, -1)), norm(F.inv_or_inf(a), p, (-2, -1)))
    # 0 / 0 and 0 * inf are those of singular matrices, but what is NaN in x stays
    is_known = D.logical_not(R.reduce_any(D.isnan(a), axes=(a.ndim - 2, a.ndim - 1)))
    is_singular = D.logical_and(D.isnan(found), is_known)
    known = S.select(is_singular, S.fill(found, np.inf), found)
    return promotion.cast(limit_value(known, is_singular, found), dtypes.real_of(dtype))


__all__ = ["det", "eig", "eigh", "logdet", "lstsq", "lu_factor", "matrix_rank", "pinv", "qr", "slogdet", "svd"]
