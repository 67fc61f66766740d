"""Linear algebra under Keras's names: products of vectors, matrices and arrays, solving, factors, norms.

`wengert/linalg.py` has the functions that bear NumPy's names and signatures; they stand on these.
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core import dims, dtypes
from .._core.apply import apply
from .._core.argument_types import ArrayLike, Axes
from .._core.engine import KERNELS_OF
from .._core.state import STATE
from .._core.tensor import Tensor
from .._core.types import same_dim
from .._core.user_line import at_user_line
from .._prims import decompositions as F
from .._prims import discrete as D
from .._prims import elementwise as E
from .._prims import linalg as L
from .._prims import piecewise as W
from .._prims import structural as S
from . import promotion
from .contraction import einsum
from .creation import eye
from .elementwise import divide, multiply, negative, power, subtract
from .joining import stack
from .piecewise import maximum
from .promotion import (
    as_tensor,
    broadcast_shapes,
    common_dtype,
    names_errors,
    normal_axes,
    normal_axis,
    outward,
    public,
)
from .reductions import max as largest
from .reductions import min as smallest
from .reductions import sum as total
from .shapes import flat, matrix_transpose, moved, part, permuted, reshaped
from .sparse import is_sparse, product, right_product

# -- products ----------------------------------------------------------------------------------------------------------


def _met(x1: ArrayLike, x2: ArrayLike, what: str) -> tuple[Tensor, Tensor]:
    """Two operands in their common dtype; their shapes stay."""
    a = x1 if type(x1) is Tensor else as_tensor(x1, what)
    b = x2 if type(x2) is Tensor else as_tensor(x2, what)
    if a._data.dtype is b._data.dtype:
        return a, b
    dtype = common_dtype([a, b])
    return promotion.cast(a, dtype), promotion.cast(b, dtype)


@names_errors
def matmul(x1: ArrayLike, x2: ArrayLike) -> Any:
    """The product of matrices on the last two axes.

    Args:
        x1: an array of shape (..., m, k), or a vector (k,). One of the two may be a SciPy sparse matrix, a constant.
        x2: an array of shape (..., k, n), or a vector (k,); leading axes broadcast.

    Returns:
        The products (..., m, n) in the kind of array that came in; an axis that a vector lacks is left out.

    Raises:
        ValueError: for numbers, and if the inner extents differ.

    Example:
        >>> import wengert as wg
        >>> wg.ops.matmul([[1.0, 2.0]], [[3.0], [4.0]])
        array([[11.]])
    """
    if is_sparse(x1) or is_sparse(x2):
        dense = as_tensor(x2 if is_sparse(x1) else x1, "matmul")
        return outward(product(x1, dense, None, "matmul") if is_sparse(x1) else right_product(x2, dense), x1, x2)
    a, b = _met(x1, x2, "matmul")
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError(at_user_line(f"matmul: shapes {a.shape} and {b.shape}: numbers are multiplied by multiply"))
    inner_a, inner_b = a.shape[-1], b.shape[0 if b.ndim == 1 else -2]
    if not same_dim(inner_a, inner_b):
        raise ValueError(
            at_user_line(f"matmul: x1 has shape {a.shape} and x2 has {b.shape}: {inner_a} is not {inner_b}")
        )
    return outward(_product(a, b), x1, x2)


def _product(a: Tensor, b: Tensor) -> Tensor:
    """The product of operands of one dtype whose inner extents agree."""
    if a._data.dtype.kind == "b":
        wide = _product(promotion.cast(a, dtypes.int64), promotion.cast(b, dtypes.int64))
        return apply(D.ne, (wide, S.fill(wide, 0)))
    if a.ndim == 2 and b.ndim == 2:
        return apply(L.matmul, (a, b))
    if a.ndim == 1:
        result = _product(reshaped(a, (1, *a.shape)), b)
        return reshaped(result, result.shape[1:] if b.ndim == 1 else (*result.shape[:-2], result.shape[-1]))
    if b.ndim == 1:
        result = _product(a, reshaped(b, (*b.shape, 1)))
        return reshaped(result, result.shape[:-1])
    if b.ndim == 2:  # one matrix for all: one large product
        rows = reshaped(a, (dims.size_of(a.shape[:-1]), a.shape[-1]))
        return reshaped(apply(L.matmul, (rows, b)), (*a.shape[:-1], b.shape[-1]))
    lead = broadcast_shapes(a.shape[:-2], b.shape[:-2], "matmul")
    wide = (promotion.broadcast(t, (*lead, *t.shape[-2:])) for t in (a, b))
    return apply(L.matmul, tuple(wide))


@names_errors
def dot(x1: ArrayLike, x2: ArrayLike) -> Any:
    """The sum of products over the last axis of x1 and the second to last (of a vector, the only one) of x2.

    Args:
        x1: an array or a number.
        x2: the same; a number multiplies.

    Returns:
        An array with the other axes of x1 and then those of x2, in the kind that came in.

    Raises:
        ValueError: if the two extents differ.

    Example:
        >>> import wengert as wg
        >>> print(wg.ops.dot([1.0, 2.0], [3.0, 4.0]))
        11.0
    """
    a, b = _met(x1, x2, "dot")
    m, n = a._data.shape, b._data.shape
    if not m or not n:
        return outward(multiply(a, b), x1, x2)
    # a product of matrices as it is
    if len(m) == 2 and len(n) == 2 and type(m[1]) is int and m[1] == n[0]:
        found = _product(a, b)
    else:
        found = _contracted(a, b, (len(m) - 1,), (builtins.max(len(n) - 2, 0),), "dot")
    return found if type(x1) is Tensor or type(x2) is Tensor else outward(found, x1, x2)


@names_errors
def inner(x1: ArrayLike, x2: ArrayLike) -> Any:
    """The sum of products over the last axes.

    Args:
        x1: an array or a number.
        x2: the same; a number multiplies.

    Returns:
        An array with the other axes of x1 and then those of x2, in the kind that came in.

    Raises:
        ValueError: if the two extents differ.

    Example:
        >>> import wengert as wg
        >>> print(wg.ops.inner([1.0, 2.0], [3.0, 4.0]))
        11.0
    """
    a, b = _met(x1, x2, "inner")
    if a.ndim == 0 or b.ndim == 0:
        return outward(multiply(a, b), x1, x2)
    return outward(_contracted(a, b, (a.ndim - 1,), (b.ndim - 1,), "inner"), x1, x2)


@names_errors
def outer(x1: ArrayLike, x2: ArrayLike) -> Any:
    """All products of an element of x1 and one of x2, both flattened.

    Args:
        x1: an array or a number.
        x2: the same.

    Returns:
        A matrix in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.ops.outer([1.0, 2.0], [3.0, 4.0])
        array([[3., 4.],
               [6., 8.]])
    """
    a, b = map(flat, _met(x1, x2, "outer"))
    return outward(multiply(reshaped(a, (*a.shape, 1)), reshaped(b, (1, *b.shape))), x1, x2)


@names_errors
def vdot(x1: ArrayLike, x2: ArrayLike) -> Any:
    """The sum of conj(x1) x2 over the flattened arrays.

    Args:
        x1: an array or a number.
        x2: one of as many elements.

    Returns:
        A number in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> print(wg.ops.vdot([1j, 2.0], [3j, 4.0]))
        (11+0j)
    """
    a, b = map(flat, _met(x1, x2, "vdot"))
    return outward(_contracted(S.conj_of(a), b, (0,), (0,), "vdot"), x1, x2)


@names_errors
def vecdot(x1: ArrayLike, x2: ArrayLike, axis: int = -1) -> Any:
    """The sum of conj(x1) x2 along an axis.

    Args:
        x1: an array.
        x2: the same; shapes broadcast.
        axis: the axis.

    Returns:
        An array without the axis, in the kind that came in.

    Example:
        >>> import wengert as wg
        >>> wg.ops.vecdot([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0])
        array([3., 7.])
    """
    a, b = (moved(t, normal_axis(axis, t.ndim, "vecdot"), t.ndim - 1) for t in _met(x1, x2, "vecdot"))
    if not same_dim(a.shape[-1], b.shape[-1]):
        raise ValueError(at_user_line(f"vecdot: the axis has extent {a.shape[-1]} in x1 and {b.shape[-1]} in x2"))
    products = multiply(S.conj_of(a), b)
    return outward(promotion.cast(total(products, axis=-1), products.dtype), x1, x2)  # as NumPy: integers stay small


@names_errors
def tensordot(x1: ArrayLike, x2: ArrayLike, axes: Any = 2) -> Any:
    """The sum of products over axes of x1 and as many of x2.

    Args:
        x1: an array.
        x2: an array.
        axes: how many of the last axes of x1 and the first of x2; or the axes of x1 and those of x2, in pairs.

    Returns:
        An array with the other axes of x1 and then those of x2, in the kind that came in.

    Raises:
        ValueError: if the axes differ in number or extent.

    Example:
        >>> import wengert as wg
        >>> wg.ops.tensordot([[1.0, 2.0]], [3.0, 4.0], axes=1)
        array([11.])
    """
    a, b = _met(x1, x2, "tensordot")
    left, right = _pairs_of_axes(a, b, axes)
    if len(left) != len(right):
        raise ValueError(at_user_line(f"tensordot: axes {axes} name {len(left)} axes of x1 and {len(right)} of x2"))
    return outward(_contracted(a, b, left, right, "tensordot"), x1, x2)


def _pairs_of_axes(a: Tensor, b: Tensor, axes: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if isinstance(axes, (tuple, list)):
        left, right = ((tuple(s) if isinstance(s, (tuple, list)) else (s,)) for s in axes)
        return normal_axes(left, a.ndim, "tensordot"), normal_axes(right, b.ndim, "tensordot")
    count = operator.index(axes)
    if not 0 <= count <= builtins.min(a.ndim, b.ndim):
        raise ValueError(at_user_line(f"tensordot: axes is {count}, x1 has {a.ndim} axes and x2 has {b.ndim}"))
    return tuple(range(a.ndim - count, a.ndim)), tuple(range(count))


def _contracted(a: Tensor, b: Tensor, left: tuple[int, ...], right: tuple[int, ...], what: str) -> Tensor:
    """The sum of products over paired axes."""
    m, n = a._data.shape, b._data.shape
    for i, j in zip(left, right):
        if m[i] is not n[j] and not same_dim(m[i], n[j]):
            raise ValueError(
                at_user_line(f"{what}: x1 has shape {a.shape} and x2 has {b.shape}: axes {i} and {j} differ in extent")
            )
    kernels = KERNELS_OF[np.ndarray]
    is_numpys = KERNELS_OF.get(type(a._data)) is kernels and KERNELS_OF.get(type(b._data)) is kernels
    if is_numpys and STATE.builder is None and a._data.dtype.kind != "b":
        labels = _labels(left, right, len(m), len(n))
        if labels is not None:
            return apply(L.einsum, (a, b), labels)
    return _by_matrices(a, b, left, right)


@functools.lru_cache(512)
def _labels(
    left: tuple[int, ...], right: tuple[int, ...], rank_a: int, rank_b: int
) -> tuple[tuple[str, str], str] | None:
    """The attributes of the one op that contracts paired axes; None where there are not letters enough."""
    if rank_a + rank_b - len(left) > len(L.LETTERS):
        return None
    a, b = L.LETTERS[:rank_a], [*L.LETTERS[rank_a : rank_a + rank_b]]
    for i, j in zip(left, right):
        b[j] = a[i]
    out = [a[i] for i in range(rank_a) if i not in left] + [b[j] for j in range(rank_b) if j not in right]
    return (a, "".join(b)), "".join(out)


def _by_matrices(a: Tensor, b: Tensor, left: tuple[int, ...], right: tuple[int, ...]) -> Tensor:
    """The same by both operands as matrices, one product, and back: passes and engines know products of matrices."""
    rest_a = (*[i for i in range(a.ndim) if i not in left],)
    rest_b = (*[j for j in range(b.ndim) if j not in right],)
    shape_a, shape_b = (*[a.shape[i] for i in rest_a],), (*[b.shape[j] for j in rest_b],)
    depth = dims.size_of([a.shape[i] for i in left])
    rows = reshaped(permuted(a, (*rest_a, *left)), (dims.size_of(shape_a), depth))
    columns = reshaped(permuted(b, (*right, *rest_b)), (depth, dims.size_of(shape_b)))
    return reshaped(_product(rows, columns), (*shape_a, *shape_b))


@names_errors
def kron(x1: ArrayLike, x2: ArrayLike) -> Any:
    """The Kronecker product: x2 multiplied by each element of x1, in blocks.

    Args:
        x1: an array or a number.
        x2: the same; the one of fewer axes gets leading ones.

    Returns:
        An array whose extents are the products of those of x1 and x2, in the kind that came in.

    Example:
        >>> import wengert as wg
        >>> wg.ops.kron([1.0, 10.0], [1.0, 2.0])
        array([ 1.,  2., 10., 20.])
    """
    a, b = _met(x1, x2, "kron")
    rank = builtins.max(a.ndim, b.ndim)
    left, right = ((1,) * (rank - t.ndim) + tuple(t.shape) for t in (a, b))
    wide_a = reshaped(a, (*[d for n in left for d in (n, 1)],))
    wide_b = reshaped(b, (*[d for n in right for d in (1, n)],))
    return outward(reshaped(multiply(wide_a, wide_b), (*[m * n for m, n in zip(left, right)],)), x1, x2)


@names_errors
def cross(x1: ArrayLike, x2: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    """The cross product of vectors of three components; of two, the third one is 0.

    Args:
        x1: an array of vectors.
        x2: the same; shapes broadcast.
        axisa: the axis of x1 along which the components lie.
        axisb: that of x2.
        axisc: that of the result.
        axis: if given, stands for all three.

    Returns:
        The products in the kind of array that came in; of two plane vectors the third component alone.

    Raises:
        ValueError: if an axis has neither two nor three components.

    Example:
        >>> import wengert as wg
        >>> wg.ops.cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
        array([0., 0., 1.])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = _met(x1, x2, "cross")
    left, right = (_components(t, i) for t, i in ((a, axisa), (b, axisb)))
    u, v = ([*c, None] if len(c) == 2 else c for c in (left, right))
    z = _minus(_times(u[0], v[1]), _times(u[1], v[0]))
    assert z is not None
    if u[2] is None and v[2] is None:
        return outward(z, x1, x2)
    x = _minus(_times(u[1], v[2]), _times(u[2], v[1]))
    y = _minus(_times(u[2], v[0]), _times(u[0], v[2]))
    assert x is not None
    assert y is not None
    result = stack([x, y, z], axis=-1)
    return outward(moved(result, result.ndim - 1, normal_axis(axisc, result.ndim, "cross")), x1, x2)


def _components(x: Tensor, axis: int) -> list[Any]:
    place = normal_axis(axis, x.ndim, "cross")
    if x.shape[place] not in (2, 3):
        raise ValueError(at_user_line(f"cross: axis {place} of shape {x.shape} has {x.shape[place]} components"))
    shape = S.without(x.shape, (place,))
    return [reshaped(part(x, place, i, i + 1), shape) for i in range(x.shape[place])]


def _times(x: Tensor | None, y: Tensor | None) -> Tensor | None:
    """The product; None stands for 0."""
    return None if x is None or y is None else multiply(x, y)


def _minus(x: Tensor | None, y: Tensor | None) -> Tensor | None:
    return x if y is None else negative(y) if x is None else subtract(x, y)


# -- solving and factors -----------------------------------------------------------------------------------------------


def solvable(x: Tensor) -> tuple[Tensor, np.dtype[Any]]:
    """x in a dtype in which equations are solved, and the dtype that results are to have."""
    if dtypes.is_half(x.dtype):
        return promotion.cast(x, dtypes.float32), x.dtype
    dtype = x.dtype if dtypes.is_inexact(x.dtype) else dtypes.default_float()
    return promotion.cast(x, dtype), dtype


def _square(x: Tensor, what: str) -> Tensor:
    if x.ndim < 2 or not same_dim(x.shape[-1], x.shape[-2]):
        raise np.linalg.LinAlgError(
            at_user_line(f"{what}: wanted square matrices on the last two axes, got shape {x.shape}")
        )
    return x


def _solved(a: ArrayLike, b: ArrayLike, what: str, solve_with: Callable[..., Any]) -> Any:
    matrix, right = _met(a, b, what)
    _square(matrix, what)
    (matrix, dtype), (right, _) = solvable(matrix), solvable(right)
    is_vector = right.ndim == 1
    if right.ndim == 0:
        raise ValueError(at_user_line(f"{what}: b is a number, wanted a vector or matrices"))
    right = reshaped(right, (*right.shape, 1)) if is_vector else right
    if not same_dim(matrix.shape[-1], right.shape[-2]):
        raise ValueError(at_user_line(f"{what}: a has shape {matrix.shape} and b has shape {right.shape}"))
    lead = broadcast_shapes(matrix.shape[:-2], right.shape[:-2], what)
    wide = (promotion.broadcast(t, (*lead, *t.shape[-2:])) for t in (matrix, right))
    result = promotion.cast(solve_with(*wide), dtype)
    return outward(reshaped(result, result.shape[:-1]) if is_vector else result, a, b)


@names_errors
def solve(a: ArrayLike, b: ArrayLike) -> Any:
    """The x with a @ x = b.

    Args:
        a: square matrices (..., n, n).
        b: a vector (n,) or matrices (..., n, k); leading axes broadcast.

    Returns:
        The solutions, in the kind of array that came in.

    Raises:
        numpy.linalg.LinAlgError: for a singular matrix.
        ValueError: if a is not square or the extents differ.

    Example:
        >>> import wengert as wg
        >>> wg.ops.solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 2.0])
        array([1. , 0.5])
    """
    return _solved(a, b, "solve", L.solve)


@names_errors
def solve_triangular(a: ArrayLike, b: ArrayLike, lower: bool = False) -> Any:
    """The x with a @ x = b for triangular a.

    Args:
        a: square matrices (..., n, n), of which one triangle is read; the other has gradient 0.
        b: a vector (n,) or matrices (..., n, k); leading axes broadcast.
        lower: whether the lower triangle is read.

    Returns:
        The solutions, in the kind of array that came in.

    Raises:
        numpy.linalg.LinAlgError: for a zero on the diagonal.

    Example:
        >>> import wengert as wg
        >>> wg.ops.solve_triangular([[2.0, 0.0], [2.0, 4.0]], [2.0, 2.0], lower=True)
        array([1., 0.])
    """
    return _solved(
        a, b, "solve_triangular",
        lambda m, right: L.triangular_solve(m, right, lower=bool(lower), trans=0, unit_diagonal=False),
    )  # fmt: skip


@public
def inv(x: ArrayLike) -> Any:
    """The inverse of square matrices.

    Args:
        x: matrices (..., n, n).

    Returns:
        The inverses in x's kind.

    Raises:
        numpy.linalg.LinAlgError: for a singular matrix.
        numpy.linalg.LinAlgError: if x is not square.

    Example:
        >>> import wengert as wg
        >>> wg.ops.inv([[2.0, 0.0], [0.0, 4.0]])
        array([[0.5 , 0.  ],
               [0.  , 0.25]])
    """
    a, dtype = solvable(_square(as_tensor(x, "inv"), "inv"))
    return promotion.cast(L.inv(a), dtype)


@public
def cholesky(x: ArrayLike, upper: bool = False) -> Any:
    """The lower triangular L with L @ L^H = x.

    At kinks: the lower triangle of x is read, and the gradient is symmetric (Hermitian).

    Args:
        x: positive definite matrices (..., n, n).
        upper: whether to return L^H.

    Returns:
        The factors in x's kind.

    Raises:
        numpy.linalg.LinAlgError: for a matrix that is not positive definite.
        numpy.linalg.LinAlgError: if x is not square.

    Example:
        >>> import wengert as wg
        >>> wg.ops.cholesky([[4.0, 2.0], [2.0, 5.0]])
        array([[2., 0.],
               [1., 2.]])
    """
    a, dtype = solvable(_square(as_tensor(x, "cholesky"), "cholesky"))
    factor = promotion.cast(L.cholesky(a), dtype)
    return S.conj_of(matrix_transpose(factor)) if upper else factor


@public
def cholesky_inverse(x: ArrayLike, upper: bool = False) -> Any:
    """The inverse of the positive definite matrices whose Cholesky factors are given.

    Args:
        x: triangular matrices (..., n, n) with a nonzero diagonal; the other triangle is not read and has gradient 0.
        upper: whether the factors are upper triangular.

    Returns:
        The matrices (x @ x^H)^-1, or (x^H @ x)^-1 with `upper`, in x's kind.

    Raises:
        numpy.linalg.LinAlgError: for a zero on the diagonal.
        numpy.linalg.LinAlgError: if x is not square.

    Example:
        >>> import wengert as wg
        >>> wg.ops.cholesky_inverse([[2.0, 0.0], [0.0, 4.0]])
        array([[0.25  , 0.    ],
               [0.    , 0.0625]])
    """
    a, dtype = solvable(_square(as_tensor(x, "cholesky_inverse"), "cholesky_inverse"))
    unit = promotion.broadcast(promotion.cast(eye(a.shape[-1]), a.dtype), a.shape)
    inverse = L.triangular_solve(a, unit, lower=not upper, trans=0, unit_diagonal=False)
    other = S.conj_of(matrix_transpose(inverse))
    return promotion.cast(matmul(inverse, other) if upper else matmul(other, inverse), dtype)


# -- norms -------------------------------------------------------------------------------------------------------------


def _magnitudes(x: Tensor) -> Tensor:
    a, _ = solvable(x)
    return W.abs_(a)


def _vector_norm(x: Tensor, axes: tuple[int, ...], order: Any) -> Tensor:
    """The norm of the elements along axes, which stay with extent 1."""
    if order is None or order == 2:
        return _euclidean(x, axes)
    size = _magnitudes(x)
    if order in (math.inf, -math.inf):
        return (largest if order > 0 else smallest)(size, axes, keepdims=True)
    if order == 0:
        return total(promotion.cast(apply(D.ne, (size, S.fill(size, 0))), size.dtype), axes, keepdims=True)
    if order == 1:
        return total(size, axes, keepdims=True)
    return E.root_flat(total(_raised(size, order), axes, keepdims=True), number=1 / order)


def _raised(size: Tensor, order: Any) -> Tensor:
    """Magnitudes to a power. Below 1 it is infinitely steep at 0, where the magnitude is flat: that counts as flat."""
    if order >= 1:
        return power(size, order)
    is_zero = D.eq(size, S.fill(size, 0))
    raised = power(S.select(is_zero, S.fill(size, 1), size), order)
    return S.select(is_zero, size if order > 0 else S.fill(size, math.inf), raised)


def _euclidean(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    a, _ = solvable(x)
    squares = multiply(a, a) if a.dtype.kind != "c" else S.add(*(multiply(p, p) for p in (S.real(a), S.imag(a))))
    return E.root_flat(total(squares, axes, keepdims=True), number=0.5)


def _matrix_norm(x: Tensor, axes: tuple[int, ...], order: Any) -> Tensor:
    """The norm of matrices in the plane of two axes, which stay with extent 1."""
    if order is None or order == "fro":
        return _euclidean(x, axes)
    if order in (1, -1, math.inf, -math.inf):
        summed, compared = axes if abs(order) == 1 else axes[::-1]
        sums = total(_magnitudes(x), summed, keepdims=True)
        return (largest if order > 0 else smallest)(sums, compared, keepdims=True)
    if order in (2, -2, "nuc"):
        rest = (*[i for i in range(x.ndim) if i not in axes],)
        values = F.svd(solvable(permuted(x, (*rest, *axes)))[0])[1]
        folded = total(values, -1) if order == "nuc" else (largest if order > 0 else smallest)(values, -1)
        return reshaped(folded, (*[1 if i in axes else d for i, d in enumerate(x.shape)],))
    raise ValueError(at_user_line(f"norm: {order!r} is not the order of a norm of matrices"))


@names_errors
def norm(x: Any, ord: object = None, axis: Axes = None, keepdims: bool = False) -> Any:
    """The norm of vectors or matrices.

    At kinks: the gradient is 0 at the zero vector and the zero matrix; equal largest elements share it evenly.

    Args:
        x: an array; with `axis=None` a vector or a matrix, or of any shape if `ord` is None.
        ord: for vectors any number, inf or -inf (None means 2); for matrices "fro" (also None), 1, -1, inf, -inf, or
            of their singular values 2 (the largest), -2 (the smallest), "nuc" (the sum).
        axis: the axis of vectors, or the two axes of matrices.
        keepdims: whether the axes stay, with extent 1.

    Returns:
        The norms, real, in x's kind.

    Raises:
        ValueError: for an order that does not exist, or more than two axes.

    Example:
        >>> import wengert as wg
        >>> print(wg.ops.norm([3.0, 4.0]))
        5.0
    """
    a = as_tensor(x, "norm")
    _, dtype = solvable(a)
    if axis is None:
        axes = tuple(range(a.ndim))
        if ord is not None and a.ndim not in (1, 2):
            raise ValueError(at_user_line(f"norm: ord={ord!r} wants a vector or a matrix, got shape {a.shape}"))
        is_matrix = a.ndim == 2 and ord is not None
    else:
        axes = normal_axes(tuple(axis) if isinstance(axis, (tuple, list)) else axis, a.ndim, "norm")
        if len(axes) not in (1, 2):
            raise ValueError(at_user_line(f"norm: axis {axis} names {len(axes)} axes, wanted one or two"))
        is_matrix = len(axes) == 2
    if not is_matrix and isinstance(ord, str):
        raise ValueError(at_user_line(f"norm: {ord!r} is not the order of a norm of vectors"))
    result = _matrix_norm(a, axes, ord) if is_matrix else _vector_norm(a, axes, ord)
    result = promotion.cast(result, dtypes.real_of(dtype))
    return outward(result if keepdims else reshaped(result, S.without(a.shape, axes)), x)


@public
def normalize(x: ArrayLike, axis: Axes = -1, order: object = 2, epsilon: ArrayLike | None = None) -> Any:
    """x divided by its norm along an axis.

    Args:
        x: an array of real values.
        axis: the axis or axes of the vectors.
        order: the order of the norm.
        epsilon: the smallest norm to divide by; 1e-7 if None.

    Returns:
        The scaled array in x's kind; vectors whose norm is below `epsilon` are divided by it.

    Example:
        >>> import wengert as wg
        >>> wg.ops.normalize([3.0, 4.0])
        array([0.6, 0.8])
    """
    a, dtype = solvable(as_tensor(x, "normalize"))
    axes = normal_axes(axis, a.ndim, "normalize")
    length = _vector_norm(a, axes, order)
    floor = 1e-7 if epsilon is None else epsilon
    return promotion.cast(divide(a, maximum(length, floor)), dtype)


__all__ = [
    "matmul", "dot", "inner", "outer", "vdot", "vecdot", "tensordot", "einsum", "kron", "cross", "solve",
    "solve_triangular", "inv", "cholesky", "cholesky_inverse", "norm", "normalize",
]  # fmt: skip
