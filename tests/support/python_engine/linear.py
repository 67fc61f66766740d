"""Products, linear algebra and convolution of the plain-Python engine, by their definitions.

Owns contractions and the dense solvers. Matrices are the last two axes; what stands before them is a batch.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import reduce as fold
from math import prod
from typing import Any, cast

from tests.support.python_engine.array import PyArray, indices, make, offsets, strides, take_flat, transpose
from tests.support.python_engine.interop import LinAlgError
from wengert._core.conv_shape import Ints, Padding, conv_out_shape

Matrix = list[list[Any]]


def dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Sum of products, 0 for empty vectors."""
    return sum(map(operator.mul, a, b))


def matmul(x: PyArray, y: PyArray) -> PyArray:
    """The product of matrices with equal leading axes."""
    *lead, m, k = x.shape
    n = y.shape[-1]
    if y.shape != (*lead, k, n):
        raise ValueError(f"shapes {x.shape} and {y.shape} do not fit together")
    rank = len(lead)
    columns = transpose(y, (*range(rank), rank + 1, rank))
    pairs = zip(_matrices(x, prod(lead), m, k), _matrices(columns, prod(lead), n, k), strict=True)
    return make((*lead, m, n), x.dtype, (dot(row, column) for left, right in pairs for row in left for column in right))


def einsum(*xs_labels_out: Any) -> PyArray:
    """Sums of products over labelled axes: every assignment of the labels in turn, those of `out` outermost."""
    *xs, labels, out = xs_labels_out
    extents = {name: n for x, names in zip(xs, labels, strict=True) for name, n in zip(names, x.shape, strict=True)}
    summed = [name for name in extents if name not in out]
    everything = [extents[name] for name in (*out, *summed)]
    read = []
    for x, names in zip(xs, labels, strict=True):
        step = dict(zip(names, strides(x.shape), strict=True))
        read.append([x.flat[i] for i in offsets(everything, [step.get(name, 0) for name in (*out, *summed)])])
    products = [fold(operator.mul, factors) for factors in zip(*read, strict=True)]
    shape, block = tuple(extents[name] for name in out), prod(extents[name] for name in summed)
    return make(shape, xs[0].dtype, (sum(products[i * block : (i + 1) * block]) for i in range(prod(shape))))


def make_diagonal(x: PyArray) -> PyArray:
    """Square matrices with x as their main diagonals."""
    n = x.shape[-1]
    rows = range(n)
    values = (v if i == j else 0 for at, v in enumerate(x.flat) for i in (at % n,) for j in rows)
    return make((*x.shape, n), x.dtype, values)


def diagonal(x: PyArray) -> PyArray:
    """The main diagonals of square matrices."""
    n = x.shape[-1]
    return take_flat(x, offsets((prod(x.shape[:-2]), n), (n * n, n + 1)), x.shape[:-1])


def _triangle(keep: Callable[[int, int], bool]) -> Callable[..., PyArray]:
    def kernel(x: PyArray, k: int) -> PyArray:
        """x with zeros on the other side of the k-th diagonal of the last two axes."""
        places = indices(x.shape)
        values = (v if keep(index[-1] - index[-2], k) else 0 for index, v in zip(places, x.flat, strict=True))
        return make(x.shape, x.dtype, values)

    return kernel


def cholesky(x: PyArray) -> PyArray:
    """Lower factor of Hermitian positive definite matrices (the lower triangle is read).

    Raises:
        LinAlgError: if a matrix is not positive definite.
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
            raise LinAlgError("the matrix is not positive definite")
        factor[i][i] = math.sqrt(pivot)
    return factor


def solve(a: PyArray, b: PyArray) -> PyArray:
    """x with ``a @ x = b``; b holds columns (..., n, k).

    Raises:
        LinAlgError: if a matrix is singular.
    """
    return _solve_columns(_solve, a, b)


def triangular_solve(a: PyArray, b: PyArray, lower: bool, trans: int, unit_diagonal: bool) -> PyArray:
    """x with ``op(a) @ x = b``, of which one triangle is read.

    Args:
        a: matrices (..., n, n).
        b: columns (..., n, k).
        lower: whether the lower triangle of a (before transposing) is read.
        trans: 0, 1 or 2 for op the identity, the transpose or the adjoint.
        unit_diagonal: whether the diagonal is taken as ones.
    """

    def one(matrix: Matrix, columns: Matrix) -> Matrix:
        rows = [[v.conjugate() for v in row] for row in matrix] if trans == 2 else matrix
        if trans:
            rows = [list(column) for column in zip(*rows, strict=True)]
        return _substitute(rows, columns, lower != bool(trans), unit_diagonal)

    return _solve_columns(one, a, b)


def _solve(a: Matrix, b: Matrix) -> Matrix:
    upper, permuted = _eliminate(a, b)
    if any(row[i] == 0 for i, row in enumerate(upper)):
        raise LinAlgError("the matrix is singular")
    return _substitute(upper, permuted, lower=False, unit_diagonal=False)


def _eliminate(a: Matrix, b: Matrix) -> tuple[Matrix, Matrix]:
    """Row echelon form with partial pivoting, b carried along."""
    a, b = [list(row) for row in a], [list(row) for row in b]
    for j in range(len(a)):
        pivot = max(range(j, len(a)), key=lambda i: abs(a[i][j]))
        if a[pivot][j] == 0:
            continue
        if pivot != j:
            a[j], a[pivot], b[j], b[pivot] = a[pivot], a[j], b[pivot], b[j]
        for i in range(j + 1, len(a)):
            factor = a[i][j] / a[j][j]
            a[i] = [0 * v if k <= j else v - factor * w for k, (v, w) in enumerate(zip(a[i], a[j], strict=True))]
            b[i] = [v - factor * w for v, w in zip(b[i], b[j], strict=True)]
    return a, b


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
        raise LinAlgError("the matrix is singular")
    return v / pivot


def inv(x: PyArray) -> PyArray:
    """Inverse matrices."""
    return _map_matrices(lambda a: _solve(a, _eye(len(a))), x)


def conv(
    lhs: PyArray,
    rhs: PyArray,
    strides: Ints,
    padding: Padding,
    lhs_dilation: Ints,
    rhs_dilation: Ints,
    groups: int,
    batch_groups: int,
) -> PyArray:
    """Cross-correlation, product by product; layout and parameters as in `_core/conv_shape.py`."""
    window = (strides, padding, lhs_dilation, rhs_dilation)
    shape = cast(Ints, conv_out_shape(lhs.shape, rhs.shape, *window, groups, batch_groups))
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


def _axis_pairs(start: int, taps: int, rhs_dilation: int, lhs_dilation: int, size: int) -> list[tuple[int, int]]:
    """The pairs (index in lhs, tap) of one axis whose product counts."""
    hits = ((start + k * rhs_dilation, k) for k in range(taps))
    return [(at // lhs_dilation, k) for at, k in hits if at % lhs_dilation == 0 and 0 <= at < size * lhs_dilation]


def _windowed_sum(lhs: PyArray, rhs: PyArray, first: tuple[int, int], o: int, pairs: list[Any]) -> Any:
    steps, jumps = strides(lhs.shape), strides(rhs.shape)
    entry, channel = first
    places = [(entry * steps[0] + (channel + c) * steps[1], o * jumps[0] + c * jumps[1]) for c in range(rhs.shape[1])]
    for axis, axis_pairs in enumerate(pairs, start=2):
        places = [(i + a * steps[axis], j + k * jumps[axis]) for i, j in places for a, k in axis_pairs]
    return sum(lhs.flat[i] * rhs.flat[j] for i, j in places)


def _eye(n: int) -> Matrix:
    return [[float(i == j) for j in range(n)] for i in range(n)]


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
    *lead, n, k = b.shape
    if a.shape != (*lead, n, n):
        raise ValueError(f"shapes {a.shape} and {b.shape} do not fit together")
    pairs = zip(_matrices(a, prod(lead), n, n), _matrices(b, prod(lead), n, k), strict=True)
    return make(b.shape, b.dtype, (v for matrix, columns in pairs for row in fn(matrix, columns) for v in row))


KERNELS: dict[str, Callable[..., PyArray]] = {
    "matmul": matmul,
    "einsum": einsum,
    "tril": _triangle(operator.le),
    "triu": _triangle(operator.ge),
    "diagonal": diagonal,
    "make_diagonal": make_diagonal,
    "cholesky": cholesky,
    "solve": solve,
    "triangular_solve": triangular_solve,
    "inv": inv,
    "conv": conv,
}
