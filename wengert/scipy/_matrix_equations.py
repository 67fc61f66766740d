"""Schur, Hessenberg, LDL, Lyapunov and Riccati: SciPy's results with derivatives by the equations that they solve.

SciPy's result is a constant; two steps of Newton's method from there leave the value as it is and make its first three
derivatives right.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from .. import linalg
from .._core.argument_types import ArrayLike, ShapeLike
from .._core.tensor import Tensor
from .._prims.structural import stop_gradient
from ..ops.complex_parts import conj, real
from ..ops.creation import eye
from ..ops.elementwise import abs as magnitude
from ..ops.elementwise import equal, logical_or, sqrt
from ..ops.indexing import where
from ..ops.linalg import kron
from ..ops.promotion import cast
from ..ops.reductions import sum as total
from ..ops.shapes import joined, known_extent, matrix_transpose, reshaped
from ..ops.triangles import diagonal, tril, triu
from ..programs.specs import TensorSpec
from ..rules.extend import not_differentiable, primitive

STEPS = 2


def adjoint(x: ArrayLike) -> Any:
    """The conjugate transpose."""
    return conj(matrix_transpose(x))


# -- what the host finds ---------------------------------------------------------------------------------------------


def _found(*arrays: object, function: str, index: int, options: tuple[Any, ...], dtype: str, shape: ShapeLike) -> Any:
    results = getattr(import_module("scipy.linalg"), function)(*arrays, **dict(options))
    is_one = not isinstance(results, (tuple, list))  # of batches SciPy makes lists
    return np.asarray(results if is_one else results[index]).astype(dtype)


def _spec(*inputs: Any, function: str, index: int, options: tuple[Any, ...], dtype: str, shape: Any) -> TensorSpec:
    spec = TensorSpec((), np.dtype(dtype))
    spec.shape = inputs[0].shape if shape is None else shape
    return spec


_scipy_matrices = primitive("scipy_matrices", spec=_spec, numpy=_found)
not_differentiable("scipy_matrices")


def found(
    function: str, index: int, *arrays: Any, dtype: Any = None, shape: ShapeLike | None = None, **options: object
) -> Tensor:
    """A result of a function of `scipy.linalg`, as a constant.

    Args:
        function: its name.
        index: which of several results.
        arrays: the arguments.
        dtype: of the result; None for the first argument's.
        shape: the same.
        options: further arguments.
    """
    arrays = tuple(stop_gradient(a) for a in arrays)
    return _scipy_matrices(
        *arrays, function=function, index=index, options=tuple(sorted(options.items())),
        dtype=str(arrays[0].dtype if dtype is None else dtype), shape=shape,
    )  # fmt: skip


# -- eigenvectors ----------------------------------------------------------------------------------------------------


def eigenpairs(a: Tensor, b: Tensor | None = None) -> tuple[Any, Any, Any]:
    """The eigenvalues of a matrix, or of a pair, its left and its right eigenvectors, of length 1."""
    given, dtype = (a,) if b is None else (a, b), np.result_type(a.dtype, np.complex64)
    vectors = found("eig", 2, *given, dtype=dtype, left=True)
    known = found("eig", 1, *given, dtype=dtype, left=True)
    matrix = cast(a if b is None else linalg.solve(b, a), dtype)
    for _ in range(STEPS):
        turned = linalg.solve(vectors, matrix @ vectors)
        values = diagonal(turned, axis1=-2, axis2=-1)
        gaps = values[..., None, :] - values[..., :, None]
        is_same = equal(gaps, 0.0)  # itself, and what has no derivative
        vectors = vectors + vectors @ where(is_same, 0.0, turned / where(is_same, 1.0, gaps))
    values = diagonal(linalg.solve(vectors, matrix @ vectors), axis1=-2, axis2=-1)
    right = _of_length_one(vectors)
    left = _of_length_one(adjoint(linalg.inv(right if b is None else cast(b, dtype) @ right)))
    turn = stop_gradient(total(conj(left) * known, axis=-2, keepdims=True))  # as LAPACK has turned them
    return values, left * (turn / magnitude(turn)), right


def _of_length_one(vectors: Tensor) -> Any:
    return vectors / sqrt(total(real(conj(vectors) * vectors), axis=-2, keepdims=True))


# -- similar matrices ------------------------------------------------------------------------------------------------


def _columns(x: Tensor, columns: list[Any], n: int) -> Any:
    """Columns, of which each begins below the diagonal, as a matrix."""
    full = []
    for j, column in enumerate(columns):
        head = x[: n - column.shape[0], j] * 0.0
        full.append(joined([head, column], 0)[:, None])
    return joined(full, 1) if full else x * 0.0


def _schur_turn(t: Tensor, m: Tensor) -> Any:
    """The strictly lower X for which X t - t X has the part of m below the diagonal; column by column."""
    n = known_extent(t, 0, "schur")
    columns: list[Any] = []
    for j in range(n - 1):
        right = m[j + 1 :, j]
        for k, earlier in enumerate(columns):
            right = right - earlier[j - k :] * t[k, j]
        block = t[j, j] * eye(n - j - 1, dtype=t.dtype) - t[j + 1 :, j + 1 :]
        columns.append(linalg.solve_triangular(block, right, lower=False))
    return _columns(t, [*columns, t[:0, n - 1]], n)


def _hessenberg_turn(h: Any, m: Any) -> Any:
    """The same for Hessenberg's form: below the first diagonal; the first row and column stay."""
    n = known_extent(h, 0, "hessenberg")
    x = h * 0.0
    for j in range(n - 2):
        rest = (m[:, j] - x @ h[:, j] + h @ x[:, j]) / h[j + 1, j]
        column = where(np.arange(n) > j + 1, rest, 0.0)
        x = x + column[:, None] * (np.arange(n) == j + 1).astype(h.dtype)
    return x


def similar(a: ArrayLike, basis: Any, turn: Callable[..., Any], below: int) -> tuple[Any, Any]:
    """The form q^H a q with zeros below a diagonal, and q, from a basis that the host found."""
    form = adjoint(basis) @ a @ basis
    for _ in range(STEPS):
        x = turn(triu(form, below), form)
        basis = basis @ linalg.expm(x - adjoint(x))
        form = adjoint(basis) @ a @ basis
    return triu(form, below), basis


def schur(a: Any) -> tuple[Any, Any]:
    """Schur's triangular form and basis."""
    if a.dtype.kind == "c":
        return similar(a, found("schur", 1, a, output="complex"), _schur_turn, 0)
    form, basis = similar(a, found("schur", 1, a, output="real"), _schur_turn, 0)
    # a pair of complex eigenvalues is a block, which is not triangular: NaN, never a finite wrong number
    below = tril(found("schur", 0, a, output="real"), -1)
    blocks = where(equal(below, 0).all(), 0.0, float("nan")).astype(form.dtype)
    return form + blocks, basis + blocks


def hessenberg(a: ArrayLike) -> tuple[Any, Any]:
    """Hessenberg's form and basis."""
    return similar(a, found("hessenberg", 1, a, calc_q=True), _hessenberg_turn, -1)


# -- symmetric factors -----------------------------------------------------------------------------------------------


def ldl(a: Any, hermitian: bool) -> tuple[Any, Any, Any]:
    """The lower factor, its block diagonal and the order of rows, of a matrix read as it is."""
    turned = adjoint if hermitian else matrix_transpose
    lower, block = (found("ldl", i, a, lower=True, hermitian=hermitian) for i in (0, 1))
    order = found("ldl", 2, a, dtype="int64", shape=a.shape[:1], lower=True, hermitian=hermitian)
    rows = lower[order]
    matrix = a[order][:, order]
    one = eye(known_extent(a, 0, "ldl"), dtype=a.dtype)
    inside = logical_or(equal(one, 1), block != 0)
    for _ in range(STEPS):
        half = linalg.solve_triangular(rows, matrix, lower=True)
        block = turned(linalg.solve_triangular(rows, turned(half), lower=True))
        outside = where(inside, 0.0, tril(block))
        diagonal = where(inside, block, 0.0)
        step = matrix_transpose(linalg.solve(matrix_transpose(diagonal), matrix_transpose(outside)))
        rows = rows + rows @ step
    half = linalg.solve_triangular(rows, matrix, lower=True)
    block = where(inside, turned(linalg.solve_triangular(rows, turned(half), lower=True)), 0.0)
    return rows, block, order


# -- equations -------------------------------------------------------------------------------------------------------


def discrete_lyapunov(a: Any, q: Any) -> Any:
    """The x with x = a x a^H + q, as one linear system."""
    n = known_extent(a, 0, "solve_discrete_lyapunov")
    system = eye(n * n, dtype=a.dtype) - kron(a, conj(a))
    return reshaped(linalg.solve(system, reshaped(q, (n * n,))), (n, n))


def continuous_riccati(a: ArrayLike, b: ArrayLike, q: ArrayLike, r: ArrayLike) -> Any:
    """Kleinman's steps, each a Lyapunov equation."""
    x = found("solve_continuous_are", 0, a, b, q, r)
    gain = b @ linalg.solve(r, adjoint(b))
    for _ in range(STEPS):
        closed = a - gain @ x
        x = linalg.solve_sylvester(adjoint(closed), closed, -(q + x @ gain @ x))
    return x


def discrete_riccati(a: ArrayLike, b: ArrayLike, q: ArrayLike, r: ArrayLike) -> Any:
    """The same steps for discrete time."""
    x = found("solve_discrete_are", 0, a, b, q, r)
    for _ in range(STEPS):
        feedback = linalg.solve(r + adjoint(b) @ x @ b, adjoint(b) @ x @ a)
        closed = a - b @ feedback
        x = discrete_lyapunov(adjoint(closed), q + adjoint(feedback) @ r @ feedback)
    return x


__all__ = [
    "adjoint", "continuous_riccati", "discrete_lyapunov", "discrete_riccati", "found", "hessenberg", "ldl",
    "schur",
]  # fmt: skip
