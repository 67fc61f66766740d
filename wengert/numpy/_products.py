"""NumPy's products of arrays, and the sums of products that statistics and polynomials are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from .._core import dtypes
from .._core.argument_types import ArrayLike, Axes, DTypeLike, Out
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..ops.memory.sharing import view_of
from ..ops.promotion import as_tensor, cast, doubled, normal_axis, strong
from ..ops.signals import convolved
from ..ops.trapezoids import trapezoids
from ._decorators import accept, as_numpy, named_dtype
from ._reductions import average


@as_numpy
def dot(a: ArrayLike, b: ArrayLike, out: Out | None = None) -> Any:
    """NumPy's dot product: the last axis of a with the last but one of b."""
    return ops.dot(a if type(a) is Tensor else strong(a), b if type(b) is Tensor else strong(b))


@as_numpy
def vdot(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The product of two arrays in one row each, the first conjugated."""
    return ops.vdot(strong(a), strong(b))


@as_numpy
def inner(a: ArrayLike, b: ArrayLike, /) -> Any:
    """Products over the last axes of both."""
    return ops.inner(strong(a), strong(b))


@as_numpy
def outer(a: ArrayLike, b: ArrayLike, out: Out | None = None) -> Any:
    """All products of an element of a with one of b."""
    return ops.outer(strong(a), strong(b))


@as_numpy
def tensordot(a: ArrayLike, b: ArrayLike, axes: Axes = 2) -> Any:
    """Products summed over the given axes of both."""
    return ops.tensordot(strong(a), strong(b), axes)


@as_numpy
def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Any:
    """Products of vectors along an axis, the first conjugated."""
    return ops.vecdot(x1, x2, axis)


@as_numpy
def matvec(x1: ArrayLike, x2: ArrayLike, /) -> Any:
    """Products of matrices with vectors, over stacks of both.

    Example:
        >>> import wengert.numpy as np
        >>> np.matvec([[1.0, 2.0]], [3.0, 4.0])
        array([11.])
    """
    return ops.squeeze(ops.matmul(as_tensor(x1, "matvec"), ops.expand_dims(as_tensor(x2, "matvec"), -1)), -1)


@as_numpy
def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> Any:
    """Products of vectors, conjugated, with matrices, over stacks of both.

    Example:
        >>> import wengert.numpy as np
        >>> np.vecmat([1.0, 2.0], [[3.0], [4.0]])
        array([11.])
    """
    rows = ops.expand_dims(ops.conj(as_tensor(x1, "vecmat")), -2)
    return ops.squeeze(ops.matmul(rows, as_tensor(x2, "vecmat")), -2)


@as_numpy
def einsum(*operands: Any, out: Out | None = None, optimize: Any = False, **kwargs: Any) -> Any:
    """Einstein's summation, with the letters in one string or with lists of axes."""
    dtype = kwargs.pop("dtype", None)
    order = kwargs.pop("order", None)
    accept("np.einsum", order="of results: F" if order == "F" else order, casting=kwargs.pop("casting", None))
    if dtype is not None:
        operands = (*[cast(x, named_dtype(dtype)) if isinstance(x, Tensor) else x for x in operands],)
    operands = (*map(strong, operands),)
    result = ops.einsum(*operands, optimize=optimize, **kwargs)
    return result if out is not None else _shared(operands, result)


def _shared(operands: tuple[Any, ...], result: Any) -> Any:
    """What NumPy gives as a view: the axes of one operand in another order, its diagonals."""
    text = isinstance(operands[0], str)
    x = operands[1 if text else 0]
    if not isinstance(x, Tensor) or len(operands) > (2 if text else 3):
        return result

    def again(a: Any) -> Any:
        return np.einsum(operands[0], a) if text else np.einsum(a, *operands[1:])

    small = np.empty((1,) * x.ndim)
    return view_of(x, result, again) if np.may_share_memory(again(small), small) else result


@as_numpy
def kron(a: ArrayLike, b: ArrayLike) -> Any:
    """The Kronecker product: a with each element replaced by its product with b."""
    return ops.kron(strong(a), strong(b))


@as_numpy
def cross(a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Axes = None) -> Any:
    """The cross product of vectors of three components; of two, the third one is 0."""
    return ops.cross(a, b, axisa, axisb, axisc, axis)


# -- statistics ------------------------------------------------------------------------------------------------------


@as_numpy
def cov(
    m: ArrayLike, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: float | None = None,
    fweights: Any = None, aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    """The covariances of variables, which are rows.

    Example:
        >>> import wengert.numpy as np
        >>> float(np.cov([1.0, 3.0]))
        2.0
    """
    x = _variables(m, y, rowvar, dtype, "cov")
    if ddof is None:
        ddof = 0 if bias else 1
    weights = _weights(fweights, aweights)
    if weights is None:
        center, norm = ops.mean(x, axis=1, keepdims=True), x.shape[1] - ddof
        off = ops.subtract(x, center)
        weighted = off
    else:
        total = ops.sum(weights)
        off = ops.subtract(x, average(x, 1, weights, keepdims=True))
        weighted = ops.multiply(off, weights)
        norm = total if ddof == 0 else ops.subtract(total, ddof * 1.0)
        if ddof != 0 and aweights is not None:
            share = ops.divide(ops.sum(ops.multiply(weights, as_tensor(aweights))), total)
            norm = ops.subtract(total, ops.multiply(share, ddof * 1.0))
    return ops.squeeze(ops.divide(ops.matmul(weighted, ops.conj(ops.transpose(off))), norm))


def _variables(m: ArrayLike, y: ArrayLike | None, rowvar: bool, dtype: DTypeLike | None, name: str) -> Tensor:
    """The variables of one array or of two, as rows."""
    if y is not None:
        return ops.concatenate([_variables(v, None, rowvar, dtype, name) for v in (m, y)], axis=0)
    x = as_tensor(m, name)
    x = doubled(x) if dtype is None else cast(x, named_dtype(dtype))
    if x.ndim > 2:
        raise ValueError(at_user_line(f"np.{name}: at most two axes, got shape {x.shape}"))
    if x.ndim < 2:
        return ops.reshape(x, (1, -1))
    return x if rowvar or x.shape[0] == 1 else ops.transpose(x)


def _weights(fweights: Any, aweights: Any) -> Tensor | None:
    given = [as_tensor(w, "cov") for w in (fweights, aweights) if w is not None]
    if not given:
        return None
    return ops.cast(given[0], "float64") if len(given) == 1 else ops.multiply(given[0], given[1])


@as_numpy
def corrcoef(x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, *, dtype: DTypeLike | None = None) -> Any:
    """The correlation coefficients of variables, which are rows."""
    return ops.squeeze(ops.corrcoef(_variables(x, y, rowvar, dtype, "corrcoef")))


@as_numpy
def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1) -> Any:
    """The integral of samples by the trapezoidal rule; differentiable in the samples and their places."""
    values = as_tensor(y, "trapezoid")
    axis = normal_axis(axis, values.ndim, "trapezoid")
    return ops.sum(trapezoids(values, x, dx, axis, "trapezoid"), axis=axis)


@as_numpy
def gradient(f: Callable[..., Any], *varargs: object, axis: Axes = None, edge_order: int = 1) -> Any:
    """Central differences of samples (NumPy's `gradient`; for derivatives of functions see `wg.grad`).

    The spacings are numbers or coordinates, one for all axes or one for each; edges take one-sided differences of
    first or second order. Differentiable in samples and spacings.

    Example:
        >>> import wengert.numpy as np
        >>> np.gradient([1.0, 2.0, 4.0])
        array([1. , 1.5, 2. ])
    """
    values = as_tensor(f, "gradient")
    values = values if dtypes.is_inexact(values.dtype) else ops.cast(values, "float64")
    axes = tuple(range(values.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = (*[normal_axis(i, values.ndim, "gradient") for i in axes],)
    spacings: Any = varargs * len(axes) if len(varargs) == 1 else varargs or (1.0,) * len(axes)
    if len(spacings) != len(axes):
        raise TypeError(at_user_line(f"np.gradient: {len(axes)} axes take one spacing or {len(axes)}"))
    if edge_order not in (1, 2):
        raise ValueError(at_user_line(f"np.gradient: edge_order is {edge_order}; wanted 1 or 2"))
    steps = [_spacing(h, values.dtype) for h in spacings]
    # coordinates say where, not how precisely: the slopes have the samples' dtype
    found = (*[cast(_slopes(values, h, i, edge_order), values.dtype) for h, i in zip(steps, axes)],)
    return found[0] if len(found) == 1 else found


def _spacing(value: Any, dtype: np.dtype[Any]) -> Tensor:
    """A spacing, or coordinates, in floats: differences of unsigned integers have no sign."""
    spacing = as_tensor(float(value) if type(value) is int else value, "gradient")
    if dtypes.is_inexact(spacing.dtype):
        return spacing
    return cast(spacing, dtypes.float64 if spacing.ndim else dtype)


def _slopes(values: Tensor, spacing: Tensor, axis: int, edge_order: int) -> Tensor:
    """The slopes along an axis: central inside, one-sided at the two ends."""
    before, after = (slice(None),) * axis, (1,) * (values.ndim - axis - 1)

    def part(places: Any) -> Tensor:
        return values[(*before, places)]

    if spacing.ndim > 1 or (spacing.ndim == 1 and spacing.shape[0] != values.shape[axis]):
        raise ValueError(
            at_user_line(
                f"np.gradient: axis {axis} has {values.shape[axis]} samples, but coordinates of shape {spacing.shape}"
            )
        )
    count = values.shape[axis]
    if type(count) is int and count <= edge_order:
        raise ValueError(
            at_user_line(
                f"np.gradient: axis {axis} of shape {values.shape} has extent {count}, and edge_order={edge_order} "
                f"wants {edge_order + 1} samples or more"
            )
        )

    def step(places: Any) -> Tensor:
        """Steps between neighbours, along the axis; a lone spacing is all of them."""
        return spacing if spacing.ndim == 0 else ops.reshape(steps[places], (-1, *after))

    if spacing.ndim:
        steps = ops.subtract(spacing[1:], spacing[:-1])
        left, right = step(slice(None, -1)), step(slice(1, None))
        inside = _three_point(part(slice(None, -2)), part(slice(1, -1)), part(slice(2, None)), left, right)
    else:
        inside = ops.divide(ops.divide(ops.subtract(part(slice(2, None)), part(slice(None, -2))), 2.0), spacing)
    ends = [[_one(i, count) for i in places] for places in ((0, 1, 2), (-1, -2, -3))]
    edges: list[Tensor] = []
    for places in ends:
        near, far = (_one(i, count - 1) for i in ((0, 1) if places is ends[0] else (-1, -2)))
        h = step(near) if places is ends[0] else ops.negative(step(near))
        slope = ops.divide(ops.subtract(part(places[1]), part(places[0])), h)
        if edge_order == 2:
            k = step(far) if places is ends[0] else ops.negative(step(far))
            next_slope = ops.divide(ops.subtract(part(places[2]), part(places[1])), k)
            slope = slope - ops.divide(ops.multiply(next_slope - slope, h), h + k)
        edges.append(slope)
    return ops.concatenate([edges[0], inside, edges[1]], axis=axis)


def _one(place: int, count: Any) -> Any:
    """The index of one of so many samples, from the end if negative, that keeps the axis: as an array where a trace
    does not know how many there are, since a slice might then have none."""
    if type(count) is not int:
        return np.array([place])
    start = place % count
    return slice(start, start + 1)


def _three_point(low: Tensor, middle: Tensor, high: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """The slope in the middle of three points of a parabola, `left` and `right` apart."""
    rising, falling = ops.divide(high - middle, right), ops.divide(middle - low, left)
    return ops.divide(rising * left + falling * right, left + right)


# -- polynomials and filters -----------------------------------------------------------------------------------------


@as_numpy
def convolve(a: ArrayLike, v: ArrayLike, mode: str = "full") -> Any:
    """The convolution of two rows.

    Example:
        >>> import wengert.numpy as np
        >>> np.convolve([1.0, 2.0], [1.0, 1.0])
        array([1., 3., 2.])
    """
    return convolved(as_tensor(a, "convolve"), as_tensor(v, "convolve"), mode, "np.convolve")


@as_numpy
def correlate(a: ArrayLike, v: ArrayLike, mode: str = "valid") -> Any:
    """The correlation of two rows, the second conjugated."""
    return ops.correlate(as_tensor(a, "correlate"), as_tensor(v, "correlate"), mode)


@as_numpy
def unwrap(p: ArrayLike, discont: Any = None, axis: int = -1, *, period: Any = 6.283185307179586) -> Any:
    """Angles without jumps of a period or more; what is added is a constant to the gradient.

    Example:
        >>> import wengert.numpy as np
        >>> np.unwrap([0.0, 6.283185307179586])
        array([0., 0.])
    """
    x = as_tensor(p, "unwrap")
    axis = normal_axis(axis, x.ndim, "unwrap")
    before = (slice(None),) * axis
    step = ops.stop_gradient(ops.subtract(x[(*before, slice(1, None))], x[(*before, slice(None, -1))]))
    limit = period / 2 if discont is None else discont
    is_whole = dtypes.is_integer(x.dtype) and isinstance(period, (int, np.integer))
    half = period // 2 if is_whole else period / 2
    turns = ops.subtract(ops.mod(ops.add(step, half), period), half)
    if not is_whole or period % 2 == 0:
        turns = ops.where(ops.logical_and(ops.equal(turns, -half), ops.greater(step, 0)), half, turns)
    fix = ops.where(ops.less(ops.abs(step), limit), 0, ops.subtract(turns, step))
    moved = ops.add(x[(*before, slice(1, None))], ops.cumsum(fix, axis=axis))
    moved = cast(moved, x.dtype) if is_whole else moved
    return ops.concatenate([x[(*before, slice(None, 1))], moved], axis=axis)


@as_numpy
def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Any:
    """Values whose ratios are equal. Negative ends keep their sign, complex ones go round in a spiral.

    Example:
        >>> import wengert.numpy as np
        >>> np.geomspace(1.0, 100.0, 3)
        array([  1.,  10., 100.])
    """
    first, last = as_tensor(start, "geomspace"), as_tensor(stop, "geomspace")
    for end in (first, last):
        if not end.is_symbolic and np.any(ops.stop_gradient(end).numpy() == 0):
            raise ValueError(at_user_line("np.geomspace: an end is 0, from or to which no ratio leads"))
    return ops.geomspace(
        doubled(first), doubled(last), num, endpoint, None if dtype is None else named_dtype(dtype), axis
    )


__all__ = [
    "convolve", "corrcoef", "correlate", "cov", "cross", "dot", "einsum", "geomspace", "gradient", "inner", "kron",
    "matvec", "outer", "tensordot", "trapezoid", "unwrap", "vdot", "vecdot", "vecmat",
]  # fmt: skip
