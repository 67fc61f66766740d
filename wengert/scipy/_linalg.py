"""The functions of `scipy.linalg` with SciPy's signatures, by those of `wengert.linalg`.

What says how SciPy computes (`overwrite_a`, `check_finite`, `lapack_driver`, `lwork`) is accepted, and not used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import linalg
from .._core import dtypes
from .._core.argument_types import ArrayLike, Axes
from .._core.tensor import Tensor
from ..ops import promotion
from ..ops.complex_parts import conj, imag, real
from ..ops.creation import eye
from ..ops.elementwise import abs as magnitude
from ..ops.indexing import take, where
from ..ops.promotion import as_float, as_tensor, cast, outward
from ..ops.reductions import sum as total
from ..ops.shapes import flat, joined, known_extent, matrix_transpose, part, reshaped
from ..ops.triangles import tril, triu
from . import _matrix_equations
from ._matrix_equations import adjoint, found
from ._namespace import listed_in, only

OURS: dict[str, Any] = {
    "block_diag": linalg.block_diag, "circulant": linalg.circulant, "toeplitz": linalg.toeplitz,
    "solve_sylvester": linalg.solve_sylvester, "polar": linalg.polar,
    "fractional_matrix_power": linalg.fractional_matrix_power,
}  # fmt: skip
_FLAG: Any = object()  # SciPy's mark of an argument not given, where it has one
_ours = listed_in(OURS)


def _matrix(a: ArrayLike, name: str) -> Any:
    x = as_tensor(a, name)
    return x if dtypes.is_inexact(x.dtype) else as_float(x)


def _met(name: str, *values: ArrayLike) -> list[Any]:
    tensors = [_matrix(v, name) for v in values]
    dtype = promotion.common_dtype(tensors)
    return [cast(t, dtype) for t in tensors]


def _is_complex(x: Any) -> bool:
    return dtypes.is_complex(x.dtype)


def _mirrored(a: Any, lower: bool, is_hermitian: bool = True) -> Any:
    """The symmetric (Hermitian) matrix that one triangle says."""
    half = tril(a, -1) if lower else triu(a, 1)
    other = adjoint(half) if is_hermitian else matrix_transpose(half)
    main = a - tril(a, -1) - triu(a, 1)
    return half + other + (cast(real(main), a.dtype) if is_hermitian and _is_complex(a) else main)


# -- basics ----------------------------------------------------------------------------------------------------------


@_ours
def inv(
    a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True, *, assume_a: Any = None, lower: bool = False
) -> Any:  # fmt: skip
    """The inverse; for `assume_a` "sym", "her" and "pos" one triangle is read."""
    x = _matrix(a, "inv")
    return outward(linalg.inv(_assumed(x, assume_a, lower, "inv")), a)


@_ours
def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The determinant."""
    return linalg.det(a)


@_ours
def norm(a: ArrayLike, ord: object = None, axis: Axes = None, keepdims: bool = False, check_finite: bool = True) -> Any:
    """The norm of vectors or matrices."""
    return linalg.norm(a, ord, axis, keepdims)


_KINDS = (
    None, "general", "gen", "diagonal", "tridiagonal", "banded", "symmetric", "sym", "hermitian", "her",
    "positive definite", "pos", "upper triangular", "lower triangular",
)  # fmt: skip


def _assumed(a: ArrayLike, kind: str | None, lower: bool, name: str) -> Any:
    """The matrix that SciPy would read, of which `assume_a` says what it is."""
    only(f"linalg.{name}", assume_a=(kind, *_KINDS))
    if kind in ("symmetric", "sym"):
        return _mirrored(a, lower, False)
    if kind in ("hermitian", "her", "positive definite", "pos"):
        return _mirrored(a, lower)
    return tril(a) if kind == "lower triangular" else triu(a) if kind == "upper triangular" else a


@_ours
def solve(
    a: ArrayLike, b: ArrayLike, lower: bool = False, overwrite_a: bool = False, overwrite_b: bool = False,
    check_finite: bool = True, assume_a: Any = None, transposed: bool = False,
) -> Any:  # fmt: skip
    """The x with a @ x = b; for `assume_a` "sym", "her" and "pos" one triangle is read."""
    x, right = _met("solve", a, b)
    x = _assumed(x, assume_a, lower, "solve")
    x = matrix_transpose(x) if transposed else x
    if assume_a in ("lower triangular", "upper triangular"):
        is_lower = (assume_a == "lower triangular") != transposed
        return outward(linalg.solve_triangular(x, right, lower=is_lower), a, b)
    return outward(linalg.solve(x, right), a, b)


@_ours
def solve_triangular(
    a: ArrayLike, b: ArrayLike, trans: object = 0, lower: bool = False, unit_diagonal: bool = False,
    overwrite_b: bool = False, check_finite: bool = True,
) -> Any:  # fmt: skip
    """The x with a @ x = b for triangular a, its transpose (`trans` 1) or its adjoint (2)."""
    only("linalg.solve_triangular", trans=(trans, 0, 1, 2, "N", "T", "C"))
    x, right = _met("solve_triangular", a, b)
    if unit_diagonal:
        x = where(np.eye(known_extent(x, x.ndim - 1, "solve_triangular"), dtype=bool), 1.0, x)
    if trans in (1, "T", 2, "C"):
        x, lower = (matrix_transpose if trans in (1, "T") else adjoint)(x), not lower
    return outward(linalg.solve_triangular(x, right, lower=lower), a, b)


@_ours
def solve_banded(
    l_and_u: ArrayLike, ab: ArrayLike, b: ArrayLike, overwrite_ab: bool = False, overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """The x with a @ x = b for a banded matrix, given by its diagonals."""
    return linalg.solve_banded(l_and_u, ab, b)


@_ours
def solveh_banded(
    ab: ArrayLike, b: ArrayLike, overwrite_ab: bool = False, overwrite_b: bool = False, lower: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """The same for a Hermitian positive definite matrix, of which half of the diagonals are given."""
    bands, right = _met("solveh_banded", ab, b)
    count = known_extent(bands, 0, "solveh_banded") - 1
    return outward(linalg.solve_banded((count, count), _both_halves(bands, lower), right), ab, b)


def _both_halves(bands: Any, lower: bool) -> Any:
    """All diagonals, the uppermost first, from those of one half."""
    count, n = (known_extent(bands, i, "solveh_banded") for i in (0, 1))
    own = [bands[i] for i in range(count)]  # of the lower half the main diagonal is the first, of the upper the last
    below = own if lower else [_shifted(conj(own[count - 1 - d]), -d, n) for d in range(count)]
    above = [_shifted(conj(own[d]), d, n) for d in range(count)] if lower else own[::-1]
    return joined([row[None] for row in (*above[:0:-1], below[0], *below[1:])], 0)


def _shifted(row: Any, by: int, n: int) -> Any:
    """A diagonal as that on the other side is stored: moved to the right, or to the left."""
    if by == 0:
        return row
    gap = row[: abs(by)] * 0.0
    return joined([gap, row[: n - by]], 0) if by > 0 else joined([row[-by:], gap], 0)


@_ours
def lstsq(
    a: ArrayLike, b: ArrayLike, cond: ArrayLike | None = None, overwrite_a: bool = False, overwrite_b: bool = False,
    check_finite: bool = True, lapack_driver: object = None,
) -> Any:  # fmt: skip
    """The shortest least-squares solution, residuals, rank and singular values."""
    x, right = _met("lstsq", a, b)
    rcond = float(np.finfo(x.dtype).eps) if cond is None else cond
    solution, residuals, rank, values = linalg.lstsq(x, right, rcond)
    if right.ndim == 1 and residuals.shape == (1,):
        residuals = residuals[0]
    return outward((solution, residuals, rank, values), a, b)


@_ours
def pinv(
    a: ArrayLike,
    *,
    atol: float | None = None,
    rtol: float | None = None,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any:
    """The pseudo-inverse; singular values up to `rtol` times the largest count as 0."""
    only("linalg.pinv", atol=(atol, None, 0.0), return_rank=(return_rank, False))
    x = _matrix(a, "pinv")
    bound = max(map(int, x.shape[-2:])) * float(np.finfo(x.dtype).eps) if rtol is None else rtol
    return outward(linalg.pinv(x, bound), a)


@_ours
def pinvh(
    a: ArrayLike, atol: float | None = None, rtol: float | None = None, lower: bool = True, return_rank: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """The pseudo-inverse of a Hermitian matrix, of which one triangle is read."""
    return outward(pinv(_mirrored(_matrix(a, "pinvh"), lower), atol=atol, rtol=rtol, return_rank=return_rank), a)


# -- factors ---------------------------------------------------------------------------------------------------------


@_ours
def lu(
    a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True, p_indices: bool = False
) -> Any:  # fmt: skip
    """Triangular factors with the exchanges of rows, which are constants."""
    first, *rest = linalg.lu(_matrix(a, "lu"), permute_l, p_indices)
    return outward((cast(first, np.dtype(np.int32)) if p_indices and not permute_l else first, *rest), a)


@_ours
def lu_factor(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Triangular factors in one matrix, and the exchanges of rows, which are constants."""
    return linalg.lu_factor(a)


@_ours
def lu_solve(
    lu_and_piv: ArrayLike, b: ArrayLike, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """The x with a @ x = b from the factors of a."""
    return linalg.lu_solve(lu_and_piv, b, trans)


@_ours
def cholesky(a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Cholesky's factor, the upper one by default; the triangle of that name is read."""
    x = _matrix(a, "cholesky")
    return outward(linalg.cholesky(x if lower else adjoint(x), upper=not lower), a)


@_ours
def cho_factor(a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Cholesky's factor for `cho_solve`, with zeros in the other triangle, and `lower`."""
    return cholesky(a, lower), lower


@_ours
def cho_solve(c_and_lower: Any, b: ArrayLike, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """The x with a @ x = b from Cholesky's factor of a."""
    factor, lower = c_and_lower
    x, right = _met("cho_solve", factor, b)
    columns = right[:, None] if right.ndim == 1 else right
    x = tril(x) if lower else triu(x)
    result = linalg.cholesky_solve(columns, x, upper=not lower)
    return outward(result[:, 0] if right.ndim == 1 else result, factor, b)


@_ours
def ldl(
    A: ArrayLike, lower: bool = True, hermitian: bool = True, overwrite_a: bool = False, check_finite: bool = True
) -> Any:  # fmt: skip
    """The factor, its block diagonal and the order of rows of a symmetric (Hermitian) matrix."""
    only("linalg.ldl", lower=(lower, True))
    x = _mirrored(_matrix(A, "ldl"), True, hermitian)
    rows, block, order = _matrix_equations.ldl(x, hermitian)
    places = (order[:, None] == np.arange(known_extent(x, 0, "ldl"))).astype(x.dtype)
    return outward((matrix_transpose(places) @ rows, block, order), A)


_MODES = {"full": "complete", "economic": "reduced", "r": "complete"}


@_ours
def qr(
    a: ArrayLike, overwrite_a: bool = False, lwork: object = None, mode: str = "full", pivoting: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """Orthonormal Q and upper triangular R, and the order of columns, a constant, with `pivoting`."""
    only("linalg.qr", mode=(mode, *_MODES))
    x = _matrix(a, "qr")
    order: Any = None
    if pivoting:
        order = found("qr", -1, x, dtype="int64", shape=x.shape[-1:], mode="r", pivoting=True)
        x = x[:, order]
    q, r = linalg.qr(x, _MODES[mode])
    results = (r,) if mode == "r" else (q, r)
    return outward((*results, cast(order, np.dtype(np.int32))) if pivoting else results, a)


@_ours
def qr_multiply(
    a: ArrayLike, c: ArrayLike, mode: str = "right", pivoting: bool = False, conjugate: bool = False,
    overwrite_a: bool = False, overwrite_c: bool = False,
) -> Any:  # fmt: skip
    """The product of c with the Q of a, from the right or from the left, and R."""
    only("linalg.qr_multiply", mode=(mode, "right", "left"), pivoting=(pivoting, False), conjugate=(conjugate, False))
    x, other = _met("qr_multiply", a, c)
    q, r = linalg.qr(x, "reduced")
    return outward((q @ other if mode == "left" else other @ q, r), a, c)


@_ours
def svd(
    a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False,
    check_finite: bool = True, lapack_driver: str = "gesdd",
) -> Any:  # fmt: skip
    """Singular values and vectors; the sign of each pair of vectors is free."""
    result = linalg.svd(a, full_matrices, compute_uv)
    return (*result,) if compute_uv else result


@_ours
def svdvals(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Singular values, descending."""
    return linalg.svdvals(a)


@_ours
def diagsvd(s: ArrayLike, M: int, N: int) -> Any:
    """The matrix of singular values of the shape (M, N)."""
    values = as_tensor(s, "diagsvd")
    square = values * eye(known_extent(values, 0, "diagsvd"), dtype=values.dtype)
    rows, columns = known_extent(values, 0, "diagsvd"), known_extent(values, 0, "diagsvd")
    parts = [square]
    if columns < N:
        parts.append(eye(rows, N - columns, dtype=values.dtype) * 0)
    wide = joined(parts, 1)
    return outward(wide if rows == M else joined([wide, eye(M - rows, N, dtype=values.dtype) * 0], 0), s)


@_ours
def schur(
    a: ArrayLike, output: str = "real", lwork: object = None, overwrite_a: bool = False, sort: str | None = None,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """Schur's form and basis of a matrix with distinct eigenvalues.

    The real form is NaN for a tensor with complex eigenvalues, of which there is no triangular one; ask for
    `output="complex"` then.
    """
    only("linalg.schur", sort=(sort, None), output=(output, "real", "r", "complex", "c"))
    x = _matrix(a, "schur")
    if output in ("complex", "c") and not _is_complex(x):
        x = x + 0j
    return outward(_matrix_equations.schur(x), a)


@_ours
def hessenberg(a: ArrayLike, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Hessenberg's form, and its basis with `calc_q`."""
    h, q = _matrix_equations.hessenberg(_matrix(a, "hessenberg"))
    return outward((h, q) if calc_q else h, a)


@_ours
def orthogonal_procrustes(A: ArrayLike, B: ArrayLike, check_finite: bool = True) -> Any:
    """The orthogonal matrix that takes A nearest to B, and the sum of singular values."""
    x, y = _met("orthogonal_procrustes", A, B)
    u, values, vh = linalg.svd(adjoint(x) @ y)
    return outward((u @ vh, total(values)), A, B)


# -- eigenvalues -----------------------------------------------------------------------------------------------------


@_ours
def eig(
    a: ArrayLike, b: ArrayLike | None = None, left: bool = False, right: bool = True, overwrite_a: bool = False,
    overwrite_b: bool = False, check_finite: bool = True, homogeneous_eigvals: bool = False,
) -> Any:  # fmt: skip
    """Eigenvalues and eigenvectors, complex; with b those of the pair, a @ v = w * b @ v, b being regular."""
    only("linalg.eig", homogeneous_eigvals=(homogeneous_eigvals, False))
    if b is None and not left:
        values, vectors = linalg.eig(_matrix(a, "eig"))
        return outward((values + 0j, vectors) if right else values + 0j, a)
    matrices = _met("eig", a) if b is None else _met("eig", a, b)
    values, on_the_left, on_the_right = _matrix_equations.eigenpairs(*matrices)
    vectors = (*[v for v, is_wanted in ((on_the_left, left), (on_the_right, right)) if is_wanted],)
    return outward((values, *vectors) if vectors else values, a, b)


@_ours
def eigvals(
    a: ArrayLike, b: ArrayLike | None = None, overwrite_a: bool = False, check_finite: bool = True,
    homogeneous_eigvals: bool = False, *, overwrite_b: bool = False,
) -> Any:  # fmt: skip
    """Eigenvalues, complex; those of b^-1 a with b."""
    only("linalg.eigvals", homogeneous_eigvals=(homogeneous_eigvals, False))
    x = _matrix(a, "eigvals")
    x = x if b is None else linalg.solve(*_met("eigvals", b, x))
    return outward(linalg.eigvals(x) + 0j, a, b)


@_ours
def eigh(
    a: ArrayLike, b: ArrayLike | None = None, *, lower: bool = True, eigvals_only: bool = False,
    overwrite_a: bool = False, overwrite_b: bool = False, type: int = 1, check_finite: bool = True,
    subset_by_index: Any = None, subset_by_value: object = None, driver: object = None,
) -> Any:  # fmt: skip
    """Eigenvalues, ascending, and eigenvectors of a symmetric (Hermitian) matrix, or of a pair with b."""
    only("linalg.eigh", type=(type, 1), subset_by_value=(subset_by_value, None))
    x = _matrix(a, "eigh")
    if b is None:
        values, vectors = linalg.eigh(x, "L" if lower else "U")
    else:
        x, y = _met("eigh", x, b)
        factor = linalg.cholesky(y if lower else adjoint(y))
        half = linalg.solve_triangular(factor, _mirrored(x, lower), lower=True)
        values, turned = linalg.eigh(linalg.solve_triangular(factor, adjoint(half), lower=True))
        vectors = linalg.solve_triangular(adjoint(factor), turned, lower=False)
    if subset_by_index is not None:
        low, high = subset_by_index
        values, vectors = values[low : high + 1], vectors[:, low : high + 1]
    return outward(values if eigvals_only else (values, vectors), a, b)


@_ours
def eigvalsh(
    a: ArrayLike, b: ArrayLike | None = None, *, lower: bool = True, overwrite_a: bool = False,
    overwrite_b: bool = False, type: int = 1, check_finite: bool = True, subset_by_index: object = None,
    subset_by_value: object = None, driver: object = None,
) -> Any:  # fmt: skip
    """Eigenvalues of a symmetric (Hermitian) matrix, or of a pair with b."""
    return eigh(
        a, b, lower=lower, eigvals_only=True, type=type, subset_by_index=subset_by_index,
        subset_by_value=subset_by_value,
    )  # fmt: skip


def _tridiagonal(d: ArrayLike, e: ArrayLike, name: str) -> Any:
    main, beside = _met(name, d, e)
    n = known_extent(main, 0, name)
    one = eye(n, dtype=main.dtype)
    if n == 1:
        return main * one
    edge = main[:1] * 0
    below = joined([edge, beside], 0)[:, None] * eye(n, k=-1, dtype=main.dtype)
    return main * one + below + matrix_transpose(below)


@_ours
def eigh_tridiagonal(
    d: ArrayLike, e: ArrayLike, eigvals_only: bool = False, select: str = "a", select_range: object = None,
    check_finite: bool = True, tol: float = 0.0, lapack_driver: str = "auto",
) -> Any:  # fmt: skip
    """Eigenvalues and eigenvectors of a symmetric tridiagonal matrix, by its diagonals."""
    only("linalg.eigh_tridiagonal", select=(select, "a", "i"))
    subset = select_range if select == "i" else None
    found_ = eigh(_tridiagonal(d, e, "eigh_tridiagonal"), eigvals_only=eigvals_only, subset_by_index=subset)
    return outward(found_, d, e)


@_ours
def eigvalsh_tridiagonal(
    d: ArrayLike, e: ArrayLike, select: str = "a", select_range: object = None, check_finite: bool = True,
    tol: float = 0.0, lapack_driver: str = "auto",
) -> Any:  # fmt: skip
    """Eigenvalues of a symmetric tridiagonal matrix, by its diagonals."""
    return eigh_tridiagonal(d, e, True, select, select_range)


# -- functions of matrices -------------------------------------------------------------------------------------------


@_ours
def expm(A: ArrayLike) -> Any:
    """The exponential."""
    return linalg.expm(A)


@_ours
def logm(A: ArrayLike, disp: object = _FLAG) -> Any:
    """The principal logarithm."""
    only("linalg.logm", disp=(disp, _FLAG, True))
    return linalg.logm(A)


@_ours
def sqrtm(A: ArrayLike, disp: object = _FLAG, blocksize: object = _FLAG) -> Any:
    """The principal square root."""
    only("linalg.sqrtm", disp=(disp, _FLAG, True))
    return linalg.sqrtm(A)


@_ours
def expm_frechet(
    A: ArrayLike, E: ArrayLike, method: str | None = None, compute_expm: bool = True, check_finite: bool = True
) -> Any:
    """The exponential and its derivative in the direction E."""
    x, change = _met("expm_frechet", A, E)
    n = known_extent(x, 0, "expm_frechet")
    whole = linalg.expm(joined([joined([x, change], 1), joined([x * 0, x], 1)], 0))
    derivative = part(part(whole, 0, 0, n), 1, n, 2 * n)
    return outward((part(part(whole, 0, 0, n), 1, 0, n), derivative) if compute_expm else derivative, A, E)


def _waves(x: Tensor) -> tuple[Any, Any]:
    """Cosine and sine."""
    forth = linalg.expm(x * 1j)
    if not _is_complex(x):
        return real(forth), imag(forth)
    back = linalg.expm(x * -1j)
    return (forth + back) / 2, (forth - back) * -0.5j


def _hyperbolic(x: Tensor) -> tuple[Any, Any]:
    forth, back = linalg.expm(x), linalg.expm(-x)
    return (forth + back) / 2, (forth - back) / 2


def _of_pair(name: str, pair: Callable[[Any], tuple[Any, Any]], take_: Callable[[Any, Any], Any]) -> None:
    def function(A: ArrayLike) -> Any:
        return outward(take_(*pair(_matrix(A, name))), A)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`scipy.linalg.{name}` of a square matrix."
    OURS[name] = function


for _prefix, _suffix, _pair in (("", "m", _waves), ("", "hm", _hyperbolic)):
    _of_pair(f"cos{_suffix}", _pair, lambda c, s: c)
    _of_pair(f"sin{_suffix}", _pair, lambda c, s: s)
    _of_pair(f"tan{_suffix}", _pair, lambda c, s: linalg.solve(c, s))


# -- equations -------------------------------------------------------------------------------------------------------


@_ours
def solve_continuous_lyapunov(a: ArrayLike, q: ArrayLike) -> Any:
    """The x with a x + x a^H = q."""
    x, right = _met("solve_continuous_lyapunov", a, q)
    return outward(linalg.solve_sylvester(x, adjoint(x), right), a, q)


OURS["solve_lyapunov"] = solve_continuous_lyapunov


@_ours
def solve_discrete_lyapunov(a: ArrayLike, q: ArrayLike, method: str | None = None) -> Any:
    """The x with a x a^H - x + q = 0."""
    only("linalg.solve_discrete_lyapunov", method=(method, None, "direct", "bilinear"))
    return outward(_matrix_equations.discrete_lyapunov(*_met("solve_discrete_lyapunov", a, q)), a, q)


@_ours
def solve_continuous_are(
    a: ArrayLike, b: ArrayLike, q: ArrayLike, r: ArrayLike, e: ArrayLike | None = None, s: ArrayLike | None = None,
    balanced: bool = True,
) -> Any:  # fmt: skip
    """The stabilising solution of Riccati's equation in continuous time."""
    only("linalg.solve_continuous_are", e=(e, None), s=(s, None))
    return outward(_matrix_equations.continuous_riccati(*_met("solve_continuous_are", a, b, q, r)), a, b, q, r)


@_ours
def solve_discrete_are(
    a: ArrayLike, b: ArrayLike, q: ArrayLike, r: ArrayLike, e: ArrayLike | None = None, s: ArrayLike | None = None,
    balanced: bool = True,
) -> Any:  # fmt: skip
    """The stabilising solution of Riccati's equation in discrete time."""
    only("linalg.solve_discrete_are", e=(e, None), s=(s, None))
    return outward(_matrix_equations.discrete_riccati(*_met("solve_discrete_are", a, b, q, r)), a, b, q, r)


# -- matrices of vectors ---------------------------------------------------------------------------------------------


@_ours
def hankel(c: ArrayLike, r: ArrayLike | None = None) -> Any:
    """The matrix with constant antidiagonals, of first column c and last row r (zeros)."""
    first = flat(as_tensor(c, "hankel"))  # as SciPy, which does not take stacks here
    n = known_extent(first, 0, "hankel")
    last = first * 0 if r is None else flat(as_tensor(r, "hankel"))
    values = joined(_common(first, part(last, 0, 1, known_extent(last, 0, "hankel"))), 0)
    places = np.arange(n)[:, None] + np.arange(known_extent(last, 0, "hankel"))
    return outward(take(values, places, axis=0), c, r)


def _common(*tensors: Tensor) -> list[Any]:
    dtype = promotion.common_dtype([*tensors])
    return [cast(t, dtype) for t in tensors]


@_ours
def companion(a: ArrayLike) -> Any:
    """The companion matrix of a polynomial."""
    x = as_float(as_tensor(a, "companion"))
    n = known_extent(x, -1, "companion")
    top = (-x[..., 1:] / x[..., :1])[..., None, :]
    below = promotion.broadcast(eye(n - 2, n - 1, dtype=x.dtype), (*x.shape[:-1], n - 2, n - 1))
    return outward(joined([top, below], x.ndim - 1), a)


@_ours
def leslie(f: Callable[..., Any], s: ArrayLike) -> Any:
    """The Leslie matrix of fecundities and survivals."""
    first, second = _common(as_tensor(f, "leslie"), as_tensor(s, "leslie"))
    n = known_extent(first, 0, "leslie")
    edge = first[:1] * 0
    below = joined([edge, second], 0)[:, None] * eye(n, k=-1, dtype=first.dtype)
    top = (np.arange(n) == 0).astype(first.dtype)
    return outward(below + first * top[:, None], f, s)


@_ours
def fiedler(a: ArrayLike) -> Any:
    """The distances between the elements of a vector."""
    x = as_tensor(a, "fiedler")
    return outward(magnitude(x[..., :, None] - x[..., None, :]), a)


@_ours
def convolution_matrix(a: ArrayLike, n: int, mode: str = "full") -> Any:
    """The matrix whose product with a vector of length n is the convolution with a."""
    only("linalg.convolution_matrix", mode=(mode, "full", "valid", "same"))
    x = as_tensor(a, "convolution_matrix")
    m = known_extent(x, -1, "convolution_matrix")
    places = np.arange(m + n - 1)[:, None] - np.arange(n)
    inside = (places >= 0) & (places < m)
    whole = where(inside, take(x, np.clip(places, 0, m - 1), axis=-1), 0)
    if mode == "same":
        start, size = (min(n, m) - 1) // 2, max(n, m)
        whole = whole[..., start : start + size, :]
    elif mode == "valid":
        start, size = min(n, m) - 1, max(n, m) - min(n, m) + 1
        whole = whole[..., start : start + size, :]
    return outward(cast(whole, x.dtype), a)


@_ours
def khatri_rao(a: ArrayLike, b: ArrayLike) -> Any:
    """Kronecker's products of the columns of a and b."""
    x, y = _common(as_tensor(a, "khatri_rao"), as_tensor(b, "khatri_rao"))
    rows = x[:, None, :] * y[None]
    return outward(reshaped(rows, (x.shape[0] * y.shape[0], x.shape[1])), a, b)


def _toeplitz(c_or_cr: ArrayLike) -> Any:
    return linalg.toeplitz(*c_or_cr) if isinstance(c_or_cr, tuple) else linalg.toeplitz(c_or_cr)


@_ours
def solve_toeplitz(c_or_cr: ArrayLike, b: ArrayLike, check_finite: bool = True) -> Any:
    """The x with t @ x = b for the matrix with these constant diagonals."""
    return outward(linalg.solve(*_met("solve_toeplitz", _toeplitz(c_or_cr), b)), c_or_cr, b)


@_ours
def matmul_toeplitz(c_or_cr: Any, x: ArrayLike, check_finite: bool = False, workers: int | None = None) -> Any:
    """The product with the matrix with these constant diagonals."""
    return outward(as_tensor(_toeplitz(c_or_cr)) @ as_tensor(x), c_or_cr, x)


@_ours
def solve_circulant(
    c: ArrayLike, b: ArrayLike, singular: str = "raise", tol: ArrayLike | None = None, caxis: int = -1, baxis: int = 0,
    outaxis: int = 0,
) -> Any:  # fmt: skip
    """The x with circulant(c) @ x = b."""
    only(
        "linalg.solve_circulant", singular=(singular, "raise"), tol=(tol, None), caxis=(caxis, -1, 0),
        baxis=(baxis, 0), outaxis=(outaxis, 0),
    )  # fmt: skip
    return outward(linalg.solve(*_met("solve_circulant", linalg.circulant(c), b)), c, b)


__all__ = ["OURS"]
