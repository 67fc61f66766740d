"""Products, linear algebra and convolution of the plain-Python engine, by their definitions.

Owns contractions and the dense solvers. Matrices are the last two axes; what stands before them is a batch.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from itertools import accumulate
from math import prod
from typing import Any

from wengert._core.conv_shape import Ints, Padding, conv_out_shape
from wengert._engines.python.array import (
    PyArray,
    broadcast_shapes,
    broadcast_to,
    indices,
    make,
    offsets,
    reshape,
    strides,
    transpose,
)

Matrix = list[list[Any]]


def dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Sum of products, 0 for empty vectors."""
    return sum(map(operator.mul, a, b))


def dot_general(x: PyArray, y: PyArray, contract: Any, batch: Any = ((), ())) -> PyArray:
    """Products summed over the contracted axes: shape (batch, free axes of x, free axes of y).

    Args:
        x: left operand.
        y: right operand.
        contract: pair (axes of x, axes of y) that are summed together.
        batch: pair (axes of x, axes of y) that run together.
    """
    free_x = [i for i in range(x.ndim) if i not in contract[0] and i not in batch[0]]
    free_y = [i for i in range(y.ndim) if i not in contract[1] and i not in batch[1]]
    pick = lambda a, axes: [a.shape[i] for i in axes]  # noqa: E731
    b, m, n, k = (prod(pick(*p)) for p in ((x, batch[0]), (x, free_x), (y, free_y), (x, contract[0])))
    left = _matrices(transpose(x, (*batch[0], *free_x, *contract[0])), b, m, k)
    right = _matrices(transpose(y, (*batch[1], *free_y, *contract[1])), b, n, k)
    values = (
        dot(row, column)
        for rows, columns in zip(left, right, strict=True)
        for row in rows
        for column in columns
    )
    return make((*pick(x, batch[0]), *pick(x, free_x), *pick(y, free_y)), x.dtype, values)


def matmul(x: PyArray, y: PyArray) -> PyArray:
    """Matrix product over the last two axes, the axes before them broadcast; vectors are rows or columns."""
    if y.ndim == 1:
        out = matmul(x, reshape(y, (*y.shape, 1)))
        return reshape(out, out.shape[:-1])
    if x.ndim == 1:
        out = matmul(reshape(x, (1, *x.shape)), y)
        return reshape(out, (*out.shape[:-2], *out.shape[-1:]))
    if x.shape[-1] != y.shape[-2]:
        raise ValueError(f"matmul: shapes {x.shape} and {y.shape} do not fit together")
    lead = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x, y = broadcast_to(x, (*lead, *x.shape[-2:])), broadcast_to(y, (*lead, *y.shape[-2:]))
    rank = len(lead)
    axes = tuple(range(rank))
    return dot_general(x, y, ((rank + 1,), (rank,)), (axes, axes))


def cholesky(x: PyArray) -> PyArray:
    """Lower factor of Hermitian positive definite matrices (the lower triangle is read).

    Raises:
        ValueError: if a matrix is not positive definite.
    """
    return _map_matrices(_cholesky, x)


def _cholesky(a: Matrix) -> Matrix:
    n = len(a)
    factor = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i):
            rest = a[i][j] - dot(factor[i][:j], [v.conjugate() for v in factor[j][:j]])
            factor[i][j] = rest / factor[j][j]
        pivot = a[i][i].real - sum(abs(v) ** 2 for v in factor[i][:i])
        if not pivot > 0:
            raise ValueError("cholesky: the matrix is not positive definite")
        factor[i][i] = math.sqrt(pivot)
    return factor


def solve(a: PyArray, b: PyArray) -> PyArray:
    """x with ``a @ x = b``; b holds columns (..., n, k), or is one vector (n,).

    Raises:
        ValueError: if a matrix is singular.
    """
    return _solve_columns(_solve, a, b)


def triangular_solve(
    a: PyArray,
    b: PyArray,
    lower: bool = True,
    transpose: bool = False,
    conjugate: bool = False,
    unit_diagonal: bool = False,
) -> PyArray:
    """x with ``op(a) @ x = b``, of which one triangle is read.

    Args:
        a: matrices (..., n, n).
        b: columns (..., n, k), or one vector (n,).
        lower: whether the lower triangle of a (before transposing) is read.
        transpose: whether op transposes.
        conjugate: whether op conjugates.
        unit_diagonal: whether the diagonal is taken as ones.
    """

    def one(matrix: Matrix, columns: Matrix) -> Matrix:
        rows = [[v.conjugate() for v in row] for row in matrix] if conjugate else matrix
        if transpose:
            rows = _transposed(rows)
        return _substitute(rows, columns, lower != transpose, unit_diagonal)

    return _solve_columns(one, a, b)


def _solve(a: Matrix, b: Matrix) -> Matrix:
    upper, permuted, _ = _eliminate(a, b)
    if any(row[i] == 0 for i, row in enumerate(upper)):
        raise ValueError("solve: the matrix is singular")
    return _substitute(upper, permuted, lower=False, unit_diagonal=False)


def _eliminate(a: Matrix, b: Matrix) -> tuple[Matrix, Matrix, int]:
    """Row echelon form with partial pivoting, b carried along; and the sign of the row exchanges."""
    a, b, sign = [list(row) for row in a], [list(row) for row in b], 1
    for j in range(len(a)):
        pivot = max(range(j, len(a)), key=lambda i: abs(a[i][j]))
        if a[pivot][j] == 0:
            continue
        if pivot != j:
            a[j], a[pivot], b[j], b[pivot], sign = a[pivot], a[j], b[pivot], b[j], -sign
        for i in range(j + 1, len(a)):
            factor = a[i][j] / a[j][j]
            a[i] = [
                0 * v if k <= j else v - factor * w for k, (v, w) in enumerate(zip(a[i], a[j], strict=True))
            ]
            b[i] = [v - factor * w for v, w in zip(b[i], b[j], strict=True)]
    return a, b, sign


def _substitute(a: Matrix, b: Matrix, lower: bool, unit_diagonal: bool) -> Matrix:
    n = len(a)
    x: Matrix = [[]] * n
    for i in range(n) if lower else range(n - 1, -1, -1):
        known = range(i) if lower else range(i + 1, n)
        row = [v - sum(a[i][j] * x[j][k] for j in known) for k, v in enumerate(b[i])]
        x[i] = row if unit_diagonal else [_divide(v, a[i][i]) for v in row]
    return x


def _divide(v: Any, pivot: Any) -> Any:
    if pivot == 0:
        raise ValueError("triangular_solve: the matrix is singular")
    return v / pivot


def inv(x: PyArray) -> PyArray:
    """Inverse matrices."""
    return _map_matrices(lambda a: _solve(a, _eye(len(a))), x)


def det(x: PyArray) -> PyArray:
    """Determinants."""
    n = x.shape[-1]
    values = []
    for matrix in _matrices(x, prod(x.shape[:-2]), n, n):
        upper, _, sign = _eliminate(matrix, [[] for _ in matrix])
        *_, value = accumulate((upper[i][i] for i in range(n)), operator.mul, initial=sign)
        values.append(value)
    return make(x.shape[:-2], x.dtype, values)


def conv(
    lhs: PyArray,
    rhs: PyArray,
    strides: Ints,
    padding: Padding,
    lhs_dilation: Ints,
    rhs_dilation: Ints,
    groups: int = 1,
    batch_groups: int = 1,
) -> PyArray:
    """Cross-correlation, product by product; layout and parameters as in `_core/conv_shape.py`."""
    shape = conv_out_shape(
        lhs.shape, rhs.shape, strides, padding, lhs_dilation, rhs_dilation, groups, batch_groups
    )
    out_block = rhs.shape[0] // (groups * batch_groups)
    values = []
    for n, o, *position in indices(shape):
        entry = n + (o // out_block * shape[0] if batch_groups > 1 else 0)
        channel = o // out_block * rhs.shape[1] if groups > 1 else 0
        pairs = [
            _axis_pairs(p * s - low, taps, rd, ld, size)
            for p, s, (low, _), taps, rd, ld, size in zip(
                position,
                strides,
                padding,
                rhs.shape[2:],
                rhs_dilation,
                lhs_dilation,
                lhs.shape[2:],
                strict=True,
            )
        ]
        values.append(_windowed_sum(lhs, rhs, (entry, channel), o, pairs))
    return make(shape, lhs.dtype, values)


def _axis_pairs(
    start: int, taps: int, rhs_dilation: int, lhs_dilation: int, size: int
) -> list[tuple[int, int]]:
    """The pairs (index in lhs, tap) of one axis whose product counts."""
    hits = ((start + k * rhs_dilation, k) for k in range(taps))
    return [
        (at // lhs_dilation, k) for at, k in hits if at % lhs_dilation == 0 and 0 <= at < size * lhs_dilation
    ]


def _windowed_sum(lhs: PyArray, rhs: PyArray, first: tuple[int, int], o: int, pairs: list[Any]) -> Any:
    steps, jumps = strides(lhs.shape), strides(rhs.shape)
    entry, channel = first
    places = [
        (entry * steps[0] + (channel + c) * steps[1], o * jumps[0] + c * jumps[1])
        for c in range(rhs.shape[1])
    ]
    for axis, axis_pairs in enumerate(pairs, start=2):
        places = [(i + a * steps[axis], j + k * jumps[axis]) for i, j in places for a, k in axis_pairs]
    return sum(lhs.flat[i] * rhs.flat[j] for i, j in places)


def _eye(n: int) -> Matrix:
    return [[float(i == j) for j in range(n)] for i in range(n)]


def _transposed(a: Matrix) -> Matrix:
    return [list(column) for column in zip(*a, strict=True)]


def _matrices(x: PyArray, count: int, rows: int, columns: int) -> list[Matrix]:
    """`count` matrices from the row-major values."""
    row_starts = offsets((count, rows), (rows * columns, columns))
    flat_rows = [x.flat[i : i + columns] for i in row_starts]
    return [flat_rows[i * rows : (i + 1) * rows] for i in range(count)]


def _map_matrices(fn: Callable[[Matrix], Matrix], x: PyArray) -> PyArray:
    n, m = x.shape[-2:]
    results = map(fn, _matrices(x, prod(x.shape[:-2]), n, m))
    return make(x.shape, x.dtype, (v for matrix in results for row in matrix for v in row))


def _solve_columns(fn: Callable[[Matrix, Matrix], Matrix], a: PyArray, b: PyArray) -> PyArray:
    if b.ndim == 1:
        out = _solve_columns(fn, a, reshape(b, (*b.shape, 1)))
        return reshape(out, out.shape[:-1])
    lead = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = broadcast_to(a, (*lead, *a.shape[-2:])), broadcast_to(b, (*lead, *b.shape[-2:]))
    n, k = b.shape[-2:]
    pairs = zip(_matrices(a, prod(lead), n, n), _matrices(b, prod(lead), n, k), strict=True)
    return make(
        b.shape, b.dtype, (v for matrix, columns in pairs for row in fn(matrix, columns) for v in row)
    )


KERNELS: dict[str, Callable[..., PyArray]] = {
    "dot_general": dot_general,
    "matmul": matmul,
    "cholesky": cholesky,
    "solve": solve,
    "triangular_solve": triangular_solve,
    "inv": inv,
    "det": det,
    "conv": conv,
}
