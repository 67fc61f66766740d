"""geomspace, vander, trapezoid, corrcoef, cdist: samples of functions, statistics of variables, distances."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, SupportsIndex

from .._core import dtypes
from .._core.argument_types import ArrayLike, DTypeLike
from .._core.tensor import Tensor
from .._core.where import at_user_line
from .._prims import structural as S
from . import promotion
from .choices import conj
from .choices import real as real_part
from .creation import linspace
from .elementwise import add, divide, exp, multiply, power, sqrt, subtract
from .elementwise import log as logarithm
from .linalg import matmul, norm
from .promotion import as_float, as_tensor, common_dtype, count_of, names_errors, normal_axis, outward, public
from .reductions import cumsum, mean
from .reductions import sum as total
from .shapes import diagonal, joined, matrix_transpose, moved, part, reshaped, with_axis


@names_errors
def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Any:
    """Numbers whose ratios are equal, between two ends.

    Args:
        start: the first number, or an array of them; not 0.
        stop: the last number (or the first left out, without `endpoint`), of start's sign if both are real.
        num: how many.
        endpoint: whether `stop` is one of them.
        dtype: the dtype; None means a float that holds the ends.
        axis: where the new axis goes.

    Returns:
        A tensor (or an array, if an end is one). Gradients flow to both ends; between real ends of different signs
        everything but the ends is NaN.

    Raises:
        ValueError: if `num` is negative.

    Example:
        >>> import wengert as wg
        >>> wg.ops.geomspace(1.0, 100.0, 3).numpy()
        array([  1.,  10., 100.])
    """
    first, last = as_tensor(start, "geomspace"), as_tensor(stop, "geomspace")
    met = common_dtype([first, last])
    met = met if dtypes.is_inexact(met) else dtypes.default_float()
    shape = promotion.broadcast_shapes(first.shape, last.shape, "geomspace")
    first, last = (promotion.broadcast(promotion.cast(t, met), shape) for t in (first, last))
    count = operator.index(num)
    # the ratio alone is raised to powers, so that the first number is `start` itself, and signs and phases are kept
    steps = linspace(S.fill(first, 0), logarithm(divide(last, first)), count, endpoint)
    points = multiply(first, exp(steps))
    if endpoint and count > 1:  # the last point is `stop` itself, not what rounding makes of it
        points = joined([part(points, 0, 0, count - 1), reshaped(last, (1, *shape))], 0)
    if dtype is not None:
        points = promotion.cast(points, dtypes.as_dtype(dtype))
    points = moved(points, 0, normal_axis(axis, points.ndim, "geomspace"))
    return points if promotion.is_number(start) and promotion.is_number(stop) else outward(points, start, stop)


@public
def vander(x: ArrayLike, N: SupportsIndex | None = None, increasing: bool = False) -> Any:
    """The Vandermonde matrix: powers of a vector in columns.

    Args:
        x: a vector.
        N: how many columns; None means as many as rows.
        increasing: whether powers ascend from 0; else they descend to it.

    Returns:
        A matrix (len(x), N) in x's kind.

    Raises:
        ValueError: if x is not a vector, or for a negative N.

    Example:
        >>> import wengert as wg
        >>> wg.ops.vander([2.0, 3.0], 3)
        array([[4., 2., 1.],
               [9., 3., 1.]])
    """
    a = as_tensor(x, "vander")
    if a.ndim != 1:
        raise ValueError(at_user_line(f"vander: x has shape {a.shape}, wanted a vector"))
    a = promotion.cast(a, dtypes.int64) if a.dtype == dtypes.bool_ else a
    count: Any = a.shape[0] if N is None else count_of(N, "vander: N")
    if count == 0:
        return S.full(shape=(*a.shape, 0), value=0, dtype=a.dtype)
    columns = [S.fill(a, 1) if k == 0 else a if k == 1 else power(a, k) for k in range(operator.index(count))]
    columns = columns if increasing else columns[::-1]
    return joined([with_axis(c, 1) for c in columns], 1)


@public
def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1) -> Any:
    """The integral of samples by the trapezoidal rule.

    Args:
        y: the samples.
        x: their places, a vector or an array that broadcasts with y; None means `dx` apart. Differentiable.
        dx: the distance of places; differentiable.
        axis: the axis along which to integrate.

    Returns:
        The integrals in the kind of array that came in; integers give floats.

    Example:
        >>> import wengert as wg
        >>> float(wg.ops.trapezoid([1.0, 2.0, 3.0]))
        4.0
    """
    values = as_float(as_tensor(y, "trapezoid"))
    place = normal_axis(axis, values.ndim, "trapezoid")
    return total(trapezoids(values, x, dx, place, "trapezoid"), axis=place)


def trapezoids(values: Tensor, x: ArrayLike | None, dx: ArrayLike, place: int, what: str) -> Tensor:
    """The areas between neighbouring samples."""
    gaps = dx
    if x is not None:
        places = as_tensor(x, what)
        own = 0 if places.ndim == 1 else normal_axis(place - values.ndim, places.ndim, what)
        gaps = _paired(subtract, places, own)
        if places.ndim == 1:
            gaps = reshaped(gaps, (*[gaps.shape[0] if i == place else 1 for i in range(values.ndim)],))
    return divide(multiply(gaps, _paired(add, values, place)), 2.0)


@public
def cumulative_trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: Any = 1.0, axis: int = -1, initial: ArrayLike | None = None
) -> Any:
    """The running integral of samples by the trapezoidal rule, as `scipy.integrate.cumulative_trapezoid`.

    Args:
        y: the samples.
        x: their places, a vector or an array that broadcasts with y; None means `dx` apart. Differentiable.
        dx: the distance of places; differentiable.
        axis: the axis along which to integrate.
        initial: a number to put before all, which makes the result as long as y; None means nothing.

    Returns:
        The integrals from the first sample to each later one, in the kind of array that came in; integers give floats.

    Example:
        >>> import wengert as wg
        >>> wg.ops.cumulative_trapezoid([1.0, 2.0, 3.0], initial=0)
        array([0. , 1.5, 4. ])
    """
    values = as_float(as_tensor(y, "cumulative_trapezoid"))
    place = normal_axis(axis, values.ndim, "cumulative_trapezoid")
    found = cumsum(trapezoids(values, x, dx, place, "cumulative_trapezoid"), axis=place)
    if initial is None:
        return found
    first = promotion.cast(as_tensor(initial, "cumulative_trapezoid"), found.dtype)
    shape = (*[1 if i == place else d for i, d in enumerate(found.shape)],)
    return joined([promotion.broadcast(first, shape), found], place)


def _paired(combine: Callable[..., Any], x: Tensor, axis: int) -> Tensor:
    """Each element combined with the one before it."""
    before = (slice(None),) * axis  # slices, which a length of 0 that only a call tells suits as well
    return combine(x[(*before, slice(1, None))], x[(*before, slice(None, -1))])


@public
def corrcoef(x: ArrayLike) -> Any:
    """The correlation coefficients of variables, which are rows.

    At kinks: a variable that does not vary has coefficients NaN.

    Args:
        x: an array (variables, samples), or a vector.

    Returns:
        A matrix (variables, variables) in x's kind, or one number for a vector.

    Raises:
        ValueError: for more than two axes.

    Example:
        >>> import wengert as wg
        >>> wg.ops.corrcoef([[1.0, 2.0, 3.0], [2.0, 1.0, 0.0]]).round(12)
        array([[ 1., -1.],
               [-1.,  1.]])
    """
    a = as_float(as_tensor(x, "corrcoef"))
    if a.ndim > 2:
        raise ValueError(at_user_line(f"corrcoef: x has shape {a.shape}, wanted at most two axes"))
    rows = a if a.ndim == 2 else reshaped(a, (1, a.size))
    centred = subtract(rows, mean(rows, axis=1, keepdims=True))
    products = matmul(centred, conj(matrix_transpose(centred)))
    spread = sqrt(real_part(diagonal(products)))
    result = divide(divide(products, with_axis(spread, 1)), with_axis(spread, 0))
    return result if a.ndim == 2 else reshaped(result, ())


@names_errors
def cdist(x: ArrayLike, y: ArrayLike) -> Any:
    """The Euclidean distances of all pairs of points.

    At kinks: where two points are the same, the gradient is 0.

    Args:
        x: points (..., m, k).
        y: points (..., n, k); leading axes broadcast.

    Returns:
        The distances (..., m, n) in the kind of array that came in.

    Raises:
        ValueError: for points of different dimensions.

    Example:
        >>> import wengert as wg
        >>> wg.ops.cdist([[0.0, 0.0], [3.0, 0.0]], [[0.0, 4.0]])
        array([[4.],
               [5.]])
    """
    a, b = (as_float(t) for t in promotion.tensors_of(x, y, "cdist"))
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-1]:
        raise ValueError(at_user_line(f"cdist: points have shapes {a.shape} and {b.shape}"))
    apart = subtract(with_axis(a, a.ndim - 1), with_axis(b, b.ndim - 2))
    return outward(norm(apart, axis=-1), x, y)


__all__ = ["cdist", "corrcoef", "cumulative_trapezoid", "geomspace", "trapezoid", "vander"]
