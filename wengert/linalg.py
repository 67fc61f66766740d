"""Linear algebra with the names and signatures of `numpy.linalg`; `wg.ops` has Keras's.

Matrices lie on the last two axes, axes before them are a batch. Results come in the kind of array that went in.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.linalg import LinAlgError

from ._core import dtypes
from ._core.argument_types import ArrayLike, Axes, DTypeLike
from ._core.dims import Dim, size_of
from ._core.faces import documented, parameters_of
from ._core.lazy_modules import names_loaded_later
from ._core.tensor import Tensor
from ._core.user_line import at_user_line
from .ops import complex_parts, creation, decompositions, elementwise, linalg, reductions, shapes, triangles
from .ops.decompositions import condition_number as cond
from .ops.decompositions import expm, lu_factor
from .ops.linalg import matmul, norm, solve, solve_triangular
from .ops.lu_factors import lu, lu_solve
from .ops.matrix_equations import solve_sylvester
from .ops.matrix_powers import logm, sqrtm
from .ops.promotion import as_tensor, broadcast, cast, names_errors, normal_axes, outward, public
from .ops.sparse import sparse_matmul, spsolve
from .ops.structured_matrices import block_diag, circulant, toeplitz
from .ops.tensor_equations import tensorinv, tensorsolve

if TYPE_CHECKING:
    from .ops.banded import solve_banded, tridiagonal_solve
    from .ops.matrix_powers import fractional_matrix_power, polar
else:
    __getattr__, __dir__ = names_loaded_later(__name__, {
        "solve_banded": f"{__package__}.ops.banded", "tridiagonal_solve": f"{__package__}.ops.banded",
        "fractional_matrix_power": f"{__package__}.ops.matrix_powers", "polar": f"{__package__}.ops.matrix_powers",
    })  # fmt: skip

__all__ = [
    "LinAlgError", "block_diag", "cholesky", "cholesky_solve", "circulant", "cond", "cross", "det", "diagonal", "eig",
    "eigh", "eigvals", "eigvalsh", "expm", "fractional_matrix_power", "inv", "logm", "lstsq", "lu", "lu_factor",
    "lu_solve", "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm",
    "outer", "pinv", "polar", "qr", "slogdet", "solve", "solve_banded", "solve_sylvester", "solve_triangular",
    "sparse_matmul", "spsolve", "sqrtm", "svd", "svdvals", "tensordot", "tensorinv", "tensorsolve", "toeplitz",
    "trace", "tridiagonal_solve", "vecdot", "vector_norm",
]  # fmt: skip

P = ParamSpec("P")
R = TypeVar("R")


class EigResult(NamedTuple):
    """Eigenvalues and eigenvectors as columns, complex."""

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """Eigenvalues, ascending, and eigenvectors as columns."""

    eigenvalues: Any
    eigenvectors: Any


class SVDResult(NamedTuple):
    """The factors of A = U @ diag(S) @ Vh."""

    U: Any
    S: Any
    Vh: Any


class QRResult(NamedTuple):
    """The factors of A = Q @ R."""

    Q: Any
    R: Any


class SlogdetResult(NamedTuple):
    """The sign of a determinant and the logarithm of its magnitude."""

    sign: Any
    logabsdet: Any


def _face_of(target: Callable[..., Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Gives a function what the docstring of the one that it calls says, under its own names."""

    def decorate(f: Callable[P, R]) -> Callable[P, R]:
        f.__doc__ = documented(
            f.__doc__, parameters_of(f), target.__doc__, known={}, otherwise="", returns="",
            example=lambda text: text.replace("wg.ops.", "wg.linalg."),
        )  # fmt: skip
        return f

    return decorate


@names_errors
@_face_of(linalg.inv)
def inv(a: ArrayLike) -> Any:
    """The inverse of square matrices."""
    return linalg.inv(a)


@names_errors
@_face_of(decompositions.det)
def det(a: ArrayLike) -> Any:
    """The determinants of matrices. The gradient is right at singular ones, too."""
    return decompositions.det(a)


@names_errors
@_face_of(decompositions.eig)
def eig(a: ArrayLike) -> EigResult:
    """Eigenvalues and eigenvectors of general square matrices.

    Returns:
        `eigenvalues` (..., n) in no order and `eigenvectors` as columns in a's kind, complex also where NumPy's happen
        to be real. Vectors have length 1; the phase of each is free.

    Example:
        >>> import wengert as wg
        >>> wg.linalg.eig([[2.0, 1.0], [0.0, 3.0]]).eigenvalues
        array([2.+0.j, 3.+0.j])
    """
    return EigResult(*decompositions.eig(a))


@names_errors
def eigvals(a: ArrayLike) -> Any:
    """Eigenvalues of general square matrices.

    At kinks: at a matrix without a basis of eigenvectors the gradient raises, or is huge.

    Args:
        a: matrices (..., n, n), real or complex.

    Returns:
        The eigenvalues (..., n) in no order, complex, in a's kind.

    Raises:
        LinAlgError: if the computation does not converge.
        numpy.linalg.LinAlgError: if a is not square.

    Example:
        >>> import wengert as wg
        >>> wg.linalg.eigvals([[2.0, 1.0], [0.0, 3.0]])
        array([2.+0.j, 3.+0.j])
    """
    return eig(a).eigenvalues


@names_errors
@_face_of(decompositions.eigh)
def eigh(a: ArrayLike, UPLO: str = "L") -> EighResult:
    """Eigenvalues and eigenvectors of symmetric (Hermitian) matrices.

    At kinks: the gradient is symmetric (Hermitian); for equal eigenvalues smooth functions of values and vectors have
    theirs, other functions of the vectors NaN.

    Args:
        UPLO: "L" or "U": the triangle that is read.

    Returns:
        `eigenvalues` (..., n), ascending, and `eigenvectors` as columns, in a's kind. The sign of each is free.

    Raises:
        LinAlgError: if the computation does not converge.
        ValueError: if a is not square, or for another UPLO.

    Example:
        >>> import wengert as wg
        >>> wg.linalg.eigh([[2.0, 1.0], [1.0, 2.0]]).eigenvalues
        array([1., 3.])
    """
    if UPLO not in ("L", "U", "l", "u"):
        raise ValueError(at_user_line(f"eigh: UPLO must be 'L' or 'U', got {UPLO!r}"))
    return outward(EighResult(*decompositions.triangular_eigh(a, UPLO.upper() == "L")), a)


@names_errors
def eigvalsh(a: ArrayLike, UPLO: str = "L") -> Any:
    """Eigenvalues of symmetric (Hermitian) matrices.

    At kinks: the gradient is symmetric (Hermitian).

    Args:
        a: matrices (..., n, n).
        UPLO: "L" or "U": the triangle that is read.

    Returns:
        The real eigenvalues (..., n), ascending, in a's kind.

    Raises:
        LinAlgError: if the computation does not converge.
        ValueError: if a is not square, or for another UPLO.

    Example:
        >>> import wengert as wg
        >>> wg.linalg.eigvalsh([[2.0, 1.0], [1.0, 2.0]])
        array([1., 3.])
    """
    return eigh(a, UPLO).eigenvalues


@names_errors
@_face_of(decompositions.slogdet)
def slogdet(a: ArrayLike) -> SlogdetResult:
    """The sign of the determinant and the logarithm of its magnitude.

    Returns:
        `sign` and `logabsdet`, arrays (...) in a's kind.
    """
    return SlogdetResult(*decompositions.slogdet(a))


@names_errors
@_face_of(decompositions.svd)
def svd(a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Singular values and vectors: a = U @ diag(S) @ Vh.

    Args:
        full_matrices: whether U and Vh are square.
        hermitian: whether a is Hermitian: then its lower triangle is read, and the gradient is Hermitian.

    Returns:
        `U`, `S` (descending) and `Vh`, or S alone, in a's kind. The sign of each pair of vectors is free.
    """
    given = decompositions.by_lower_triangle(a, "svd") if hermitian else a
    result = outward(decompositions.svd(given, full_matrices, compute_uv), a)
    return SVDResult(*result) if compute_uv else result


@names_errors
def svdvals(x: ArrayLike, /) -> Any:
    """Singular values, descending.

    Args:
        x: matrices (..., m, n).

    Returns:
        The values (..., min(m, n)) in x's kind.

    Raises:
        LinAlgError: if the computation does not converge.

    Example:
        >>> import wengert as wg
        >>> wg.linalg.svdvals([[3.0, 0.0], [0.0, 4.0]])
        array([4., 3.])
    """
    return decompositions.svd(x, compute_uv=False)


@names_errors
@_face_of(decompositions.qr)
def qr(a: ArrayLike, mode: str = "reduced") -> Any:
    """Orthonormal Q and upper triangular R with a = Q @ R.

    Args:
        mode: "reduced", "complete", or "r" for R alone.

    Returns:
        `Q` and `R`, or R alone, in a's kind.

    Example:
        >>> import wengert as wg
        >>> abs(wg.linalg.qr([[3.0, 1.0], [4.0, 2.0]], mode="r")).round(12)
        array([[5. , 2.2],
               [0. , 0.4]])
    """
    q, r = decompositions.qr(a, "reduced" if mode == "r" else mode)
    return r if mode == "r" else QRResult(q, r)


@names_errors
@_face_of(decompositions.pinv)
def pinv(
    a: ArrayLike, rcond: ArrayLike | None = None, hermitian: bool = False, *, rtol: ArrayLike | None = None
) -> Any:
    """The pseudo-inverse of matrices.

    Args:
        hermitian: whether a is Hermitian: then its lower triangle is read, and the gradient is Hermitian.
        rtol: another name of rcond.
    """
    given = decompositions.by_lower_triangle(a, "pinv") if hermitian else a
    return outward(decompositions.pinv(given, rtol if rcond is None else rcond), a)


@public
@_face_of(decompositions.lstsq)
def lstsq(a: ArrayLike, b: ArrayLike, rcond: ArrayLike | None = None) -> Any:
    """The x of least length that makes ``a @ x - b`` shortest.

    Args:
        a: a matrix (m, n).
        b: a vector (m,) or a matrix (m, k).

    Returns:
        x, the sums of squared residuals (empty unless m > n and a has full rank; in a trace, which does not know the
        rank, whenever m > n they are there), the rank and the singular values of a, in the kind of array that came in.

    Raises:
        LinAlgError: if a is not a matrix.

    Example:
        >>> import wengert as wg
        >>> wg.linalg.lstsq([[1.0], [1.0]], [1.0, 3.0])[0].round(12)
        array([2.])
    """
    matrix, right = as_tensor(a, "lstsq"), as_tensor(b, "lstsq")
    if matrix.ndim != 2:
        raise LinAlgError(at_user_line(f"lstsq: a has shape {matrix.shape}, wanted a matrix"))
    x = decompositions.lstsq(matrix, right, rcond)
    values = svdvals(matrix)
    rank = decompositions.matrix_rank(matrix, None, decompositions.lapack_rcond(matrix, rcond))
    m, n = matrix.shape
    if m > n and (rank.is_symbolic or int(rank) == n):
        off = elementwise.subtract(matmul(matrix, x), right)
        squares = reductions.sum(elementwise.square(elementwise.abs(off)), axis=0)
        residuals = shapes.reshaped(squares, (1,)) if squares.ndim == 0 else squares
    else:
        residuals = creation.zeros((0,), dtype=values.dtype)
    return x, residuals, rank, values


@names_errors
@_face_of(decompositions.matrix_rank)
def matrix_rank(
    A: ArrayLike, tol: ArrayLike | None = None, hermitian: bool = False, *, rtol: ArrayLike | None = None
) -> Any:
    """The number of singular values above a tolerance: integers, constants to a gradient.

    Args:
        hermitian: whether A is Hermitian: then its lower triangle is read.
    """
    a = as_tensor(A, "matrix_rank")
    if a.ndim < 2:
        return outward(cast(as_tensor(reductions.any(elementwise.not_equal(a, 0))), dtypes.int64), A)
    given = decompositions.by_lower_triangle(A, "matrix_rank") if hermitian else A
    return outward(decompositions.matrix_rank(given, tol, rtol), A)


@names_errors
@_face_of(linalg.cholesky)
def cholesky(a: ArrayLike, /, *, upper: bool = False) -> Any:
    """The lower triangular L with L @ L^H = a."""
    return linalg.cholesky(a, upper)


@names_errors
def cholesky_solve(b: ArrayLike, L: ArrayLike, *, upper: bool = False) -> Any:
    """The x with ``L @ L^H @ x = b``, from Cholesky's factor.

    Args:
        b: matrices (..., n, k).
        L: the factor, lower triangular matrices (..., n, n), whose other triangle is not read.
        upper: whether L is the upper factor, so that the matrix is ``L^H @ L``.

    Returns:
        The solutions (..., n, k) in the kind of array that came in.

    Raises:
        LinAlgError: for a factor with a zero on its diagonal.
        ValueError: for matrices that do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.linalg.cholesky_solve([[8.0], [8.0]], [[2.0, 0.0], [1.0, 2.0]])
        array([[1.5],
               [1. ]])
    """
    factor, right = as_tensor(L, "cholesky_solve"), as_tensor(b, "cholesky_solve")
    back = complex_parts.conj(matrix_transpose(factor))
    first, second = (back, factor) if upper else (factor, back)
    half = solve_triangular(first, right, lower=True)
    return outward(solve_triangular(second, half, lower=False), b, L)


@names_errors
@_face_of(linalg.cross)
def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Any:
    """The cross product of vectors of three components.

    Args:
        axis: the axis along which the components lie.

    Returns:
        The products in the kind of array that came in.

    Raises:
        ValueError: if the axis has not three components.
    """
    a, b = as_tensor(x1, "cross"), as_tensor(x2, "cross")
    for x in (a, b):
        if x.shape[normal_axes(axis, x.ndim, "cross")[0]] != 3:
            raise ValueError(at_user_line(f"cross: shapes {a.shape} and {b.shape}: axis {axis} must have extent 3"))
    return outward(linalg.cross(a, b, axis=axis), x1, x2)


@names_errors
@_face_of(linalg.outer)
def outer(x1: ArrayLike, x2: ArrayLike, /) -> Any:
    """All products of an element of one vector and one of another.

    Args:
        x1: a vector.
        x2: a vector.

    Raises:
        ValueError: for other shapes.
    """
    a, b = as_tensor(x1, "outer"), as_tensor(x2, "outer")
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(at_user_line(f"outer: wanted vectors, got shapes {a.shape} and {b.shape}"))
    return outward(linalg.outer(a, b), x1, x2)


@names_errors
@_face_of(linalg.tensordot)
def tensordot(x1: ArrayLike, x2: ArrayLike, /, *, axes: Axes = 2) -> Any:
    """The sum of products over axes of x1 and as many of x2."""
    return linalg.tensordot(x1, x2, axes)


@names_errors
@_face_of(linalg.vecdot)
def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Any:
    """The sum of conj(x1) x2 along an axis."""
    return linalg.vecdot(x1, x2, axis)


@public
@_face_of(shapes.matrix_transpose)
def matrix_transpose(x: ArrayLike, /) -> Any:
    """The last two axes exchanged; of a tensor a view.

    Args:
        x: matrices (..., m, n).
    """
    return x.mT if isinstance(x, Tensor) and x.ndim > 1 else shapes.matrix_transpose(x)


@public
@_face_of(triangles.diagonal)
def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Any:
    """The diagonals of matrices, as a new last axis.

    Args:
        x: matrices (..., m, n).
    """
    if isinstance(x, Tensor):  # whose method gives NumPy's view
        return x.diagonal(offset, -2, -1)
    return triangles.diagonal(as_tensor(x, "diagonal"), offset, -2, -1)


@public
@_face_of(reductions.trace)
def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Any:
    """The sums along a diagonal of matrices.

    Args:
        x: matrices (..., m, n).
        dtype: the dtype in which to sum.
    """
    return reductions.sum(triangles.diagonal(as_tensor(x, "trace"), offset, -2, -1), axis=-1, dtype=dtype)


@public
def vector_norm(x: ArrayLike, /, *, axis: Axes = None, keepdims: bool = False, ord: object = 2) -> Any:
    """The norm of vectors.

    At kinks: the gradient is 0 at the zero vector; equal largest elements share it evenly.

    Args:
        x: an array.
        axis: the axis or axes along which a vector lies; None means all.
        keepdims: whether the axes stay, with extent 1.
        ord: any number, inf or -inf.

    Returns:
        The norms, real, in x's kind.

    Example:
        >>> import wengert as wg
        >>> print(wg.linalg.vector_norm([3.0, 4.0]))
        5.0
    """
    a = as_tensor(x, "vector_norm")
    axes = normal_axes(axis, a.ndim, "vector_norm")
    # the axes of a vector become one, so that `norm` does not take two for a matrix
    rest = (*[i for i in range(a.ndim) if i not in axes],)
    line = shapes.permuted(a, (*rest, *axes))
    length = size_of([a.shape[i] for i in axes])
    line = shapes.reshaped(line, (*(a.shape[i] for i in rest), length))
    result = linalg.norm(line, ord, -1)
    return shapes.reshaped(result, (*[1 if i in axes else d for i, d in enumerate(a.shape)],)) if keepdims else result


@public
def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: object = "fro") -> Any:
    """The norm of matrices.

    At kinks: the gradient is 0 at the zero matrix; equal largest sums share it evenly.

    Args:
        x: matrices (..., m, n).
        keepdims: whether the axes stay, with extent 1.
        ord: "fro", 1, -1, inf or -inf; or of the singular values 2, -2 or "nuc".

    Returns:
        The norms, real, in x's kind.

    Example:
        >>> import wengert as wg
        >>> print(wg.linalg.matrix_norm([[3.0, 0.0], [0.0, 4.0]]))
        5.0
    """
    return linalg.norm(as_tensor(x, "matrix_norm"), ord, (-2, -1), keepdims)


@public
def matrix_power(a: ArrayLike, n: int) -> Any:
    """Square matrices to a whole power.

    Args:
        a: matrices (..., n, n).
        n: the power; 0 gives the identity, a negative one powers of the inverse.

    Returns:
        The powers in a's kind.

    Raises:
        LinAlgError: for matrices that are not square, or singular ones with negative n.
        TypeError: if n is not an integer.

    Example:
        >>> import wengert as wg
        >>> wg.linalg.matrix_power([[1, 1], [0, 1]], 3)
        array([[1, 3],
               [0, 1]])
    """
    x = as_tensor(a, "matrix_power")
    try:
        exponent = operator.index(n)
    except TypeError as error:  # of a traced tensor a LostGradientError
        raise type(error)(at_user_line(f"matrix_power: n is {n!r}; wanted an integer: {error}")) from None
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise LinAlgError(at_user_line(f"matrix_power: wanted square matrices on the last two axes, got {x.shape}"))
    if exponent == 0:
        return broadcast(cast(creation.eye(x.shape[-1]), x.dtype), tuple(x.shape))
    base = x if exponent > 0 else inv(x)
    result = None
    exponent = abs(exponent)
    while exponent:
        if exponent & 1:
            result = base if result is None else matmul(result, base)
        exponent >>= 1
        base = matmul(base, base) if exponent else base
    return result


@names_errors
def multi_dot(arrays: Sequence[Any], *, out: Any = None) -> Any:
    """The product of several matrices, in the order of multiplication that takes the fewest operations.

    Args:
        arrays: two or more matrices; the first may be a row and the last a column, given as vectors.
        out: a tensor or an array that takes the result.

    Returns:
        The product in the kind of array that came in.

    Raises:
        ValueError: for fewer than two arrays.
        LinAlgError: for arrays of other than one or two axes.

    Example:
        >>> import wengert as wg
        >>> print(wg.linalg.multi_dot([[1.0, 2.0], [[1.0, 0.0], [0.0, 1.0]], [3.0, 4.0]]))
        11.0
    """
    tensors = [as_tensor(x, "multi_dot") for x in arrays]
    if out is not None:
        return np.linalg.multi_dot(tensors, out=out)
    if len(tensors) < 2:
        raise ValueError(at_user_line("multi_dot: wanted at least two arrays"))
    for i, x in enumerate(tensors):
        if x.ndim != 2 and not (x.ndim == 1 and i in (0, len(tensors) - 1)):
            raise LinAlgError(at_user_line(f"multi_dot: array {i} has shape {x.shape}, wanted a matrix"))
    first, last = tensors[0], tensors[-1]
    matrices = list(tensors)
    if first.ndim == 1:
        matrices[0] = shapes.reshaped(first, (1, *first.shape))
    if last.ndim == 1:
        matrices[-1] = shapes.reshaped(last, (*last.shape, 1))
    product = _multiplied(matrices, _best_splits(matrices), 0, len(matrices) - 1)
    shape = (*product.shape[: 1 if first.ndim == 2 else 0], *product.shape[1 if last.ndim == 2 else 2 :])
    return outward(shapes.reshaped(product, shape), list(arrays))


def _best_splits(matrices: list[Tensor]) -> dict[tuple[int, int], int]:
    """For each run of matrices where the last multiplication is to happen; unknown extents count as large."""
    sizes = [matrices[0].shape[0], *(m.shape[1] for m in matrices)]
    known = [1024 if isinstance(d, Dim) else d for d in sizes]
    cost: dict[tuple[int, int], int] = {(i, i): 0 for i in range(len(matrices))}
    splits: dict[tuple[int, int], int] = {}
    for length in range(1, len(matrices)):
        for i in range(len(matrices) - length):
            j = i + length
            price, at = min(
                (cost[i, k] + cost[k + 1, j] + known[i] * known[k + 1] * known[j + 1], k) for k in range(i, j)
            )
            cost[i, j], splits[i, j] = price, at
    return splits


def _multiplied(matrices: list[Tensor], splits: dict[tuple[int, int], int], i: int, j: int) -> Tensor:
    if i == j:
        return matrices[i]
    k = splits[i, j]
    return matmul(_multiplied(matrices, splits, i, k), _multiplied(matrices, splits, k + 1, j))
