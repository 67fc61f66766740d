"""Arrays made from shapes and numbers: zeros, full, eye, arange, linspace, geomspace, one_hot, vander.

Without an array among the arguments they are Wengert tensors.
"""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex

import numpy as np

from .._core import dims, dtypes
from .._core.apply import apply
from .._core.argument_types import ArrayLike, DTypeLike, ShapeLike
from .._core.constant import constant, is_number, number_dtype, scalar_array
from .._core.dims import Dim, DimLike, Shape
from .._core.engine import ndarray_of
from .._core.moving import beside
from .._core.tensor import Tensor, held_now
from .._core.user_line import at_user_line
from .._prims import discrete as D
from .._prims import elementwise as E
from .._prims import structural as S
from . import promotion
from .elementwise import add, divide, exp, log, multiply, power, subtract
from .outside_numbers import in_floats
from .promotion import as_tensor, common_dtype, count_of, names_errors, normal_axis, outward, public
from .reductions import max as largest
from .shapes import extent, joined, moved, new_shape, part, reshaped, with_axis
from .triangles import step_times


def _dtype(dtype: DTypeLike | None) -> np.dtype[Any]:
    return dtypes.default_float() if dtype is None else dtypes.as_dtype(dtype)


def _filled(shape: Shape, value: ArrayLike, dtype: DTypeLike | None) -> Tensor:
    """A shape filled with a number, or with an array that broadcasts to it."""
    if is_number(value):
        wanted = number_dtype(value) if dtype is None else dtypes.as_dtype(dtype)
        if type(value) is int:
            scalar_array(value, wanted)  # an integer that does not fit is the user's error, said here
        return S.full(shape=shape, value=value, dtype=wanted)
    return promotion.broadcast(promotion.converted(value, dtype, "full"), shape)


# -- one number ----------------------------------------------------------------------------------------------


@names_errors
def zeros(shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
    """A tensor of zeros.

    Args:
        shape: an integer or a sequence of them.
        dtype: the dtype; None means the default float.

    Returns:
        A tensor.

    Raises:
        ValueError: for a negative extent.

    Example:
        >>> import wengert as wg
        >>> wg.ops.zeros(2)
        Tensor([0., 0.], shape=(2,), dtype=float64)
    """
    return S.full(shape=new_shape(shape, "zeros"), value=0, dtype=_dtype(dtype))


@names_errors
def ones(shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
    """A tensor of ones.

    Args:
        shape: an integer or a sequence of them.
        dtype: the dtype; None means the default float.

    Returns:
        A tensor.

    Raises:
        ValueError: for a negative extent.

    Example:
        >>> import wengert as wg
        >>> wg.ops.ones(2)
        Tensor([1., 1.], shape=(2,), dtype=float64)
    """
    return S.full(shape=new_shape(shape, "ones"), value=1, dtype=_dtype(dtype))


@names_errors
def empty(shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
    """A tensor whose values do not matter; they are zeros, for tensors cannot be filled afterwards.

    Args:
        shape: an integer or a sequence of them.
        dtype: the dtype; None means the default float.

    Returns:
        A tensor.

    Example:
        >>> import wengert as wg
        >>> wg.ops.empty((2, 3)).shape
        (2, 3)
    """
    return S.full(shape=new_shape(shape, "empty"), value=0, dtype=_dtype(dtype))


@names_errors
def full(shape: ShapeLike, fill_value: ArrayLike, dtype: DTypeLike | None = None) -> Any:
    """One value repeated.

    Args:
        shape: an integer or a sequence of them.
        fill_value: a number, or an array that broadcasts to the shape; a gradient flows to it.
        dtype: the dtype; None means that of the value.

    Returns:
        A tensor, or a NumPy array if the value is one.

    Example:
        >>> import wengert as wg
        >>> wg.ops.full(2, 7)
        Tensor([7, 7], shape=(2,), dtype=int64)
    """
    result = _filled(new_shape(shape, "full"), fill_value, dtype)
    return result if is_number(fill_value) else outward(result, fill_value)


def _like(x: ArrayLike, value: ArrayLike, dtype: DTypeLike | None, name: str) -> Tensor:
    a = as_tensor(x, name)
    return beside(_filled(a.shape, value, a.dtype if dtype is None else dtype), a)


@public
def zeros_like(x: ArrayLike, dtype: DTypeLike | None = None) -> Any:
    """Zeros in the shape of x.

    Args:
        x: an array or a number.
        dtype: the dtype; None means that of x.

    Returns:
        An array in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.zeros_like([1.5, 2.5])
        array([0., 0.])
    """
    return _like(x, 0, dtype, "zeros_like")


@public
def ones_like(x: ArrayLike, dtype: DTypeLike | None = None) -> Any:
    """Ones in the shape of x.

    Args:
        x: an array or a number.
        dtype: the dtype; None means that of x.

    Returns:
        An array in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.ones_like([1.5, 2.5])
        array([1., 1.])
    """
    return _like(x, 1, dtype, "ones_like")


@public
def empty_like(x: ArrayLike, dtype: DTypeLike | None = None) -> Any:
    """An array in the shape of x whose values do not matter; they are zeros.

    Args:
        x: an array or a number.
        dtype: the dtype; None means that of x.

    Returns:
        An array in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.empty_like([1.5, 2.5]).shape
        (2,)
    """
    return _like(x, 0, dtype, "empty_like")


@public
def full_like(x: ArrayLike, fill_value: ArrayLike, dtype: DTypeLike | None = None) -> Any:
    """One value repeated in the shape of x.

    Args:
        x: an array or a number.
        fill_value: a number, or an array that broadcasts to x's shape; a gradient flows to it.
        dtype: the dtype; None means that of x.

    Returns:
        An array in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.full_like([1, 2], 7)
        array([7, 7])
    """
    return _like(x, fill_value, dtype, "full_like")


# -- matrices ------------------------------------------------------------------------------------------------


def _band(height: int, width: object, k: int, name: str) -> tuple[DimLike, DimLike, int]:
    (rows,) = new_shape(height, name)
    return rows, rows if width is None else new_shape(width, name)[0], operator.index(k)


@names_errors
def eye(N: Any, M: ArrayLike | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Tensor:
    """A matrix with ones on a diagonal and zeros elsewhere.

    Args:
        N: the number of rows.
        M: the number of columns; None means as many.
        k: which diagonal; 0 is the main one, positive ones lie above.
        dtype: the dtype; None means the default float.

    Returns:
        A tensor.

    Example:
        >>> import wengert as wg
        >>> wg.ops.eye(2)
        Tensor([[1., 0.], [0., 1.]], shape=(2, 2), dtype=float64)
    """
    rows, columns, k = _band(N, M, k, "eye")
    row = reshaped(step_times(S.iota(size=rows, dtype=dtypes.int64), 1, k), (rows, 1))
    column = reshaped(S.iota(size=columns, dtype=dtypes.int64), (1, columns))
    shape = (rows, columns)
    is_one = apply(D.eq, (promotion.broadcast(row, shape), promotion.broadcast(column, shape)))
    return promotion.cast(is_one, _dtype(dtype))


@names_errors
def identity(n: int, dtype: DTypeLike | None = None) -> Tensor:
    """The square matrix with ones on its main diagonal.

    Args:
        n: the number of rows and columns.
        dtype: the dtype; None means the default float.

    Returns:
        A tensor.

    Example:
        >>> import wengert as wg
        >>> wg.ops.identity(2)
        Tensor([[1., 0.], [0., 1.]], shape=(2, 2), dtype=float64)
    """
    return eye(n, dtype=dtype)


def _band_mask(height: DimLike, width: DimLike, k: int) -> Tensor:
    """Where a matrix has its k-th diagonal and what lies below it."""
    row = reshaped(S.iota(size=height, dtype=dtypes.int64), (height, 1))
    column = reshaped(S.iota(size=width, dtype=dtypes.int64), (1, width))
    row = S.add_number(row, number=k) if k else row
    wide = (promotion.broadcast(row, (height, width)), promotion.broadcast(column, (height, width)))
    return apply(D.ge, wide)


@names_errors
def tri(N: Any, M: Any = None, k: int = 0, dtype: DTypeLike | None = None) -> Tensor:
    """A matrix with ones on and below a diagonal and zeros above.

    Args:
        N: the number of rows.
        M: the number of columns; None means as many.
        k: which diagonal; 0 is the main one, positive ones lie above.
        dtype: the dtype; None means the default float.

    Returns:
        A tensor.

    Example:
        >>> import wengert as wg
        >>> wg.ops.tri(2)
        Tensor([[1., 0.], [1., 1.]], shape=(2, 2), dtype=float64)
    """
    rows, columns, k = _band(N, M, k, "tri")
    return promotion.cast(_band_mask(rows, columns, k), _dtype(dtype))


# -- ranges --------------------------------------------------------------------------------------------------


@names_errors
def arange(start: Any, stop: Any = None, step: Any = None, dtype: DTypeLike | None = None) -> Tensor:
    """Evenly spaced numbers, the end excluded.

    Args:
        start: the first number; the end, if `stop` is None and the first is 0.
        stop: the end, which is not reached.
        step: the distance, 1 if None.
        dtype: the dtype; None means that of the arguments.

    Returns:
        A tensor with one axis. The arguments are numbers known while tracing (or dimensions). Start and step have
        gradients; how many numbers there are is a constant.

    Raises:
        ZeroDivisionError: if `step` is 0.
        OverflowError: if an argument is an integer beyond int64 and no dtype is given.

    Example:
        >>> import wengert as wg
        >>> wg.ops.arange(3)
        Tensor([0, 1, 2], shape=(3,), dtype=int64)
    """
    first, end, by = (0, start, step) if stop is None else (start, stop, step)
    by = 1 if by is None else by
    if any(type(v) is Dim for v in (first, end, by)):
        return _dim_range(first, end, operator.index(by), dtype)
    numbers = [_plain(v) for v in (first, end, by)]
    if numbers[2] == 0:
        raise ZeroDivisionError(at_user_line(f"arange: the step from {numbers[0]} to {numbers[1]} is 0"))
    if any(isinstance(v, Tensor) and v.is_followed and dtypes.is_inexact(v.dtype) for v in (first, by)):
        return _followed_range(as_tensor(first), as_tensor(by), np.arange(*numbers), dtype)
    if dtype is None:
        _require_int64(*numbers)
    made = np.arange(*numbers)
    if dtype is not None:
        return constant(np.arange(*numbers, dtype=dtypes.as_dtype(dtype)))
    if made.dtype.kind == "f" and all(type(v) in (int, float) for v in numbers):
        made = made.astype(dtypes.default_float())
    return constant(made)


def _require_int64(start: ArrayLike, stop: ArrayLike, step: float) -> None:
    """NumPy would count in floats, in which the step is lost, and give no or other numbers without a word."""
    for name, value in (("start", start), ("stop", stop), ("step", step)):
        if type(value) is int and not -(2**63) <= value < 2**63:
            raise OverflowError(at_user_line(f"arange: {name} is {value}, out of bounds for int64; give a dtype"))


def _plain(value: ArrayLike) -> Any:
    """A number without array clothes: what NumPy computes ranges of."""
    if not isinstance(value, Tensor):
        return value
    if value.is_symbolic and value.dtype.kind in "iu":
        return float(value)  # which refuses, and says what to do about counts
    value._require_concrete("arange")
    return ndarray_of(held_now(value)._data).item()


def _followed_range(first: Tensor, by: Tensor, found: np.ndarray[Any, Any], dtype: DTypeLike | None) -> Tensor:
    """A range whose first number or step is followed; NumPy, too, takes the step from the first two numbers."""
    step = subtract(add(first, by), first)
    numbers = add(first, multiply(constant(np.arange(len(found), dtype=found.dtype)), step))
    return promotion.cast(numbers, found.dtype if dtype is None else dtypes.as_dtype(dtype))


def _dim_range(first: Any, end: Any, by: int, dtype: DTypeLike | None) -> Tensor:
    size = dims.maximum(dims.floordiv(end - first + (by - (1 if by > 0 else -1)), by), 0)
    if first == 0 and by == 1:
        size = end
    steps = step_times(S.iota(size=size, dtype=dtypes.int64), by, first)
    return steps if dtype is None else promotion.cast(steps, dtypes.as_dtype(dtype))


@names_errors
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Any:
    """Evenly spaced numbers between two ends.

    Args:
        start: the first number, or an array of them.
        stop: the last number (or the first left out, without `endpoint`); shapes broadcast.
        num: how many.
        endpoint: whether `stop` is one of them.
        retstep: whether to return the distance, too.
        dtype: the dtype; None means a float that holds the ends.
        axis: where the new axis goes.

    Returns:
        A tensor (or an array, if an end is one), and the distance with `retstep`. Gradients flow to both ends.

    Raises:
        ValueError: if `num` is negative.

    Example:
        >>> import wengert as wg
        >>> wg.ops.linspace(0, 1, 3)
        Tensor([0. , 0.5, 1. ], shape=(3,), dtype=float64)
    """
    count = operator.index(num)
    if count < 0:
        raise ValueError(at_user_line(f"linspace: num is {num}, wanted a number that is not negative"))
    first, last = (as_tensor(in_floats(end), "linspace") for end in (start, stop))
    points, step = _spaced(first, last, count, bool(endpoint))
    if dtype is not None:
        points = promotion.cast(points, dtypes.as_dtype(dtype))
    points = moved(points, 0, normal_axis(axis, points.ndim, "linspace"))
    result = (points, step) if retstep else points
    return result if is_number(start) and is_number(stop) else outward(result, start, stop)


def _spaced(start: Tensor, stop: Tensor, count: int, endpoint: bool) -> tuple[Tensor, Tensor]:
    """The points along a new first axis, and their distance."""
    dtype = common_dtype([start, stop])
    dtype = dtype if dtypes.is_inexact(dtype) else dtypes.default_float()
    shape = promotion.broadcast_shapes(start.shape, stop.shape, "linspace")
    first, last = (promotion.broadcast(promotion.cast(t, dtype), shape) for t in (start, stop))
    gaps = count - 1 if endpoint else count
    if gaps < 1:
        only = promotion.broadcast(reshaped(first, (1, *shape)), (count, *shape))
        return only, S.full(shape=shape, value=float("nan"), dtype=dtype)
    step = _divided(S.sub(last, first), gaps)
    inner = gaps if endpoint else count
    numbers = promotion.cast(S.iota(size=inner, dtype=dtypes.int64), dtype)
    wide = (inner, *shape)
    numbers = promotion.broadcast(reshaped(numbers, (inner, *(1,) * len(shape))), wide)
    rise = S.mul(numbers, promotion.broadcast(reshaped(step, (1, *shape)), wide))
    points = S.add(rise, promotion.broadcast(reshaped(first, (1, *shape)), wide))
    if endpoint:  # the last point is `stop` itself, not what rounding makes of it
        points = joined([points, reshaped(last, (1, *shape))], 0)
    return points, step


def _divided(x: Tensor, by: int) -> Tensor:
    return E.div(x, S.fill(x, by))


@names_errors
def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Any:
    """Powers of a base whose exponents are evenly spaced.

    Args:
        start: the first exponent, or an array of them.
        stop: the last exponent; shapes broadcast.
        num: how many.
        endpoint: whether `stop` is one of the exponents.
        base: the base.
        dtype: the dtype; None means a float that holds the ends.
        axis: where the new axis goes.

    Returns:
        A tensor (or an array, if an end is one). Gradients flow to both ends and to the base.

    Example:
        >>> import wengert as wg
        >>> wg.ops.logspace(0, 2, 3)
        Tensor([  1.,  10., 100.], shape=(3,), dtype=float64)
    """
    exponents = linspace(as_tensor(start, "logspace"), as_tensor(stop, "logspace"), num, endpoint, axis=axis)
    points = power(as_tensor(base, "logspace"), exponents)
    if dtype is not None:
        points = promotion.cast(points, dtypes.as_dtype(dtype))
    return points if all(map(is_number, (start, stop, base))) else outward(points, start, stop, base)


# -- classes as vectors --------------------------------------------------------------------------------------


@public
def one_hot(
    x: ArrayLike, num_classes: SupportsIndex, axis: int = -1, dtype: DTypeLike | None = None, sparse: bool = False
) -> Any:
    """For each class number a vector with a one at its place and zeros elsewhere.

    Args:
        x: an array of integers; numbers outside 0 to num_classes - 1 give zeros only.
        num_classes: the length of the vectors.
        axis: where the new axis goes.
        dtype: the dtype; None means the default float.
        sparse: must be False: results are dense.

    Returns:
        An array of one more axis in x's kind.

    Raises:
        TypeError: if x does not hold integers.
        ValueError: for `sparse=True`.

    Example:
        >>> import wengert as wg
        >>> wg.ops.one_hot([1, 0], 2)
        array([[0., 1.],
               [1., 0.]])
    """
    if sparse:
        raise ValueError(at_user_line("one_hot: results are dense; sparse must be False"))
    a = as_tensor(x, "one_hot")
    if not dtypes.is_integer(a.dtype) and a.dtype != dtypes.bool_:
        raise TypeError(at_user_line(f"one_hot: x has dtype {a.dtype.name}, wanted integers"))
    place = normal_axis(axis, a.ndim + 1, "one_hot")
    size = extent(num_classes, "one_hot")
    shape = (*a.shape, size)
    number = promotion.broadcast(reshaped(promotion.cast(a, dtypes.int64), (*a.shape, 1)), shape)
    classes = promotion.broadcast(S.iota(size=size, dtype=dtypes.int64), shape)
    hot = promotion.cast(apply(D.eq, (number, classes)), _dtype(dtype))
    return moved(hot, a.ndim, place)


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
    steps = linspace(S.fill(first, 0), log(divide(last, first)), count, endpoint)
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


@names_errors
def multi_hot(
    inputs: ArrayLike,
    num_classes: Any = None,
    axis: int = -1,
    dtype: DTypeLike | None = None,
    sparse: bool = False,
    **kwargs: Any,
) -> Any:
    """For each set of class numbers a vector with ones at their places and zeros elsewhere.

    Args:
        inputs: integers (batch, numbers), or (numbers,) for one set; numbers out of range add nothing.
        num_classes: the length of the vectors.
        axis: where the axis of classes goes.
        dtype: the dtype; None means the default float.
        sparse: must be False: results are dense.
        **kwargs: `num_tokens`, an old name of `num_classes`.

    Returns:
        The vectors (batch, num_classes) in the kind of array that came in.

    Raises:
        ValueError: without `num_classes`, or for `sparse=True`.

    Example:
        >>> import wengert as wg
        >>> wg.ops.multi_hot([[0, 2], [1, 1]], 3)
        array([[1., 0., 1.],
               [0., 1., 0.]])
    """
    size = kwargs.pop("num_tokens", num_classes)
    if kwargs:
        raise TypeError(at_user_line(f"multi_hot: unexpected arguments {', '.join(kwargs)}"))
    if size is None:
        raise ValueError(at_user_line("multi_hot: num_classes is needed"))
    x = as_tensor(inputs, "multi_hot")
    hot = one_hot(x, size, axis, dtype, sparse)
    return outward(largest(hot, axis=1 if x.ndim > 1 else 0), inputs)


__all__ = [
    "arange",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "geomspace",
    "identity",
    "linspace",
    "logspace",
    "multi_hot",
    "one_hot",
    "ones",
    "ones_like",
    "tri",
    "vander",
    "zeros",
    "zeros_like",
]
