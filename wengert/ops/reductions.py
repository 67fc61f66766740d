"""Ops that fold axes away: sums, products, extremes, moments, truth; and their running forms.

Arguments are Keras's; `dtype`, `initial`, `where` and `ddof` are NumPy's, by keyword. Sums of booleans and small
integers are in int64, means of integers in the default float, and float16 and bfloat16 accumulate in float32.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core import dims, dtypes
from .._core.apply import apply
from .._core.argument_types import ArrayLike, Axes, DTypeLike
from .._core.dims import Dim
from .._core.engine import ndarray_of
from .._core.op import Op
from .._core.state import STATE
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import cumulative as C
from .._prims import discrete as D
from .._prims import elementwise as E
from .._prims import reductions as R
from .._prims import structural as S
from . import lexicographic, promotion
from .elementwise import _truth, divide, subtract
from .promotion import (
    MOST_COUNTED,
    as_float,
    as_tensor,
    broadcast_shapes,
    count_of,
    normal_axes,
    normal_axis,
    number_of,
    public,
)
from .shapes import flat, joined, part, permuted, reshaped
from .triangles import diagonal

# -- on tensors ----------------------------------------------------------------------------------------------


def _kept(result: Tensor, x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    return reshaped(result, S.kept(x.shape, axes)) if keepdims else result


def _axes(axis: Axes, x: Tensor, name: str) -> tuple[int, ...]:
    """The axes to fold; of a number, NumPy lets axis 0 and -1 pass."""
    if x.ndim == 0 and type(axis) is int and axis in (0, -1):
        return ()
    return normal_axes(axis, x.ndim, name)


def _folded(op: Op, x: Tensor, axis: Axes, keepdims: bool, name: str) -> Tensor:
    axes = _axes(axis, x, name)
    return _kept(apply(op, (x,), (axes,)), x, axes, keepdims)


def _sum_dtype(dtype: np.dtype[Any], wanted: object) -> np.dtype[Any]:
    """The dtype of a sum or product: booleans and integers narrower than 64 bits widen, as in NumPy."""
    if wanted is not None:
        return dtypes.as_dtype(wanted)
    if dtype == dtypes.bool_:
        return dtypes.int64
    if dtypes.is_integer(dtype) and dtype.itemsize < 8:
        return dtypes.int64 if dtype.kind == "i" else np.dtype(np.uint64)
    return dtype


def _chosen(x: Tensor, where: object, neutral: bool | float, name: str) -> Tensor:
    """x with a neutral value where `where` is false."""
    if where is None or where is True:
        return x
    mask = as_tensor(where, name)
    shape = broadcast_shapes(x.shape, mask.shape, name)
    x = promotion.broadcast(x, shape)
    return S.select(promotion.broadcast(_truth(mask), shape), x, S.fill(x, neutral))


def _with_initial(result: Tensor, initial: ArrayLike | None, op: Op, name: str) -> Tensor:
    if initial is None:
        return result
    start = promotion.held(initial, result.dtype, name)
    return apply(op, (result, promotion.broadcast(start, result.shape)))


def _count(x: Tensor, axes: tuple[int, ...]) -> Any:
    return dims.size_of([x.shape[i] for i in axes])


def _divided(x: Tensor, count: Any) -> Tensor:
    """x over a number that a trace may not know."""
    if type(count) is not Dim:
        return E.div(x, S.fill(x, count))
    return E.div(x, promotion.broadcast(promotion.cast(S.dim_value(dim=count), x.dtype), x.shape))


# -- sums and products ---------------------------------------------------------------------------------------


@public
def sum(
    x: ArrayLike,
    axis: Axes = None,
    keepdims: bool = False,
    *,
    dtype: Any = None,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Any:
    """The sum over axes.

    Args:
        x: an array or a number.
        axis: an axis or a tuple of them; None means all.
        keepdims: whether the axes stay, with extent 1.
        dtype: the dtype in which to sum; None means x's, and int64 for booleans and small integers.
        initial: a number to start from.
        where: booleans that broadcast with x: which elements count.

    Returns:
        The sums in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.sum([[1.0, 2.0], [3.0, 4.0]], axis=0)
        array([4., 6.])
    """
    a = as_tensor(x, "sum")
    if axis is dtype is initial is where is None and not keepdims and a._data.dtype.kind in "fc":
        return apply(S.reduce_sum, (a,), ((*range(len(a._data.shape)),),))  # the everyday sum, without the questions
    a = _chosen(promotion.cast(a, _sum_dtype(a.dtype, dtype)), where, 0, "sum")
    if a.dtype == dtypes.bool_:
        return _folded(R.reduce_any, a, axis, keepdims, "sum")
    return _with_initial(_folded(S.reduce_sum, a, axis, keepdims, "sum"), initial, S.add, "sum")


@public
def prod(
    x: ArrayLike,
    axis: Axes = None,
    keepdims: bool = False,
    dtype: DTypeLike | None = None,
    *,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Any:
    """The product over axes; its gradient is exact where elements are 0.

    Args:
        x: an array or a number.
        axis: an axis or a tuple of them; None means all.
        keepdims: whether the axes stay, with extent 1.
        dtype: the dtype in which to multiply; None means x's, and int64 for booleans and small integers.
        initial: a number to start from.
        where: booleans that broadcast with x: which elements count.

    Returns:
        The products in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.prod([[1.0, 2.0], [3.0, 4.0]], axis=0)
        array([3., 8.])
    """
    a = as_tensor(x, "prod")
    a = _chosen(promotion.cast(a, _sum_dtype(a.dtype, dtype)), where, 1, "prod")
    if a.dtype == dtypes.bool_:
        return _folded(R.reduce_all, a, axis, keepdims, "prod")
    return _with_initial(_folded(R.reduce_prod, a, axis, keepdims, "prod"), initial, S.mul, "prod")


@public
def trace(x: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The sum along a diagonal.

    Args:
        x: an array of at least two axes.
        offset: which diagonal; 0 is the main one, positive ones lie above.
        axis1: the axis of the rows.
        axis2: the axis of the columns.

    Returns:
        The sums in x's kind; of small integers in int64.

    Example:
        >>> import wengert as wg
        >>> print(wg.ops.trace([[1, 2], [3, 4]]))
        5
    """
    return sum(diagonal(as_tensor(x, "trace"), offset, axis1, axis2), axis=-1)


# -- moments -------------------------------------------------------------------------------------------------


def _moment_dtypes(x: Tensor, dtype: DTypeLike | None) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """The dtype in which a moment is computed, and that of its result."""
    wanted = x.dtype if dtype is None else dtypes.as_dtype(dtype)
    if not dtypes.is_inexact(wanted):
        wanted = dtypes.default_float()
    return (dtypes.float32 if dtypes.is_half(wanted) else wanted), wanted


def _mean(x: Tensor, axes: tuple[int, ...], where: ArrayLike | None) -> Tensor:
    """The mean with its axes kept."""
    if where is None or where is True:
        total = reshaped(apply(S.reduce_sum, (x,), (axes,)), S.kept(x.shape, axes))
        return _divided(total, _count(x, axes))
    mask = promotion.broadcast(_truth(as_tensor(where, "mean")), x.shape)
    total = reshaped(apply(S.reduce_sum, (_chosen(x, mask, 0, "mean"),), (axes,)), S.kept(x.shape, axes))
    return E.div(total, _number_chosen(mask, axes, x))


def _number_chosen(mask: Tensor, axes: tuple[int, ...], x: Tensor) -> Tensor:
    count = apply(S.reduce_sum, (promotion.cast(mask, dtypes.int64),), (axes,))
    return promotion.cast(reshaped(count, S.kept(x.shape, axes)), x.dtype)


@public
def mean(
    x: ArrayLike,
    axis: Axes = None,
    keepdims: bool = False,
    *,
    dtype: DTypeLike | None = None,
    where: ArrayLike | None = None,
) -> Any:
    """The arithmetic mean over axes.

    Args:
        x: an array or a number.
        axis: an axis or a tuple of them; None means all.
        keepdims: whether the axes stay, with extent 1.
        dtype: the dtype of the mean; None means x's, and the default float for integers. In a dtype of integers it is
            cut off, as NumPy does, and constant to gradients.
        where: booleans that broadcast to x: which elements count.

    Returns:
        The means in x's kind; NaN over no elements, with NumPy's warning.

    Example:
        >>> import wengert as wg
        >>> wg.ops.mean([[1, 2], [3, 4]], axis=0)
        array([2., 3.])
    """
    a = as_tensor(x, "mean")
    if axis is dtype is where is None and not keepdims and STATE.builder is None and a._data.dtype.char in "dfDF":
        axes = (*range(len(a._data.shape)),)
        count = _count(a, axes)
        if count:  # the everyday mean, without the questions
            return _divided(apply(S.reduce_sum, (a,), (axes,)), count)
    if _is_whole(dtype):
        return _whole(a, a, axis, keepdims, dtypes.as_dtype(dtype), where, 0)
    inner, outer = _moment_dtypes(a, dtype)
    axes = normal_axes(axis, a.ndim, "mean")
    result = promotion.cast(_mean(promotion.cast(a, inner), axes, where), outer)
    return result if keepdims else reshaped(result, S.without(a.shape, axes))


def _is_whole(dtype: DTypeLike | None) -> bool:
    """Whether a moment is asked for in integers or booleans."""
    return dtype is not None and not dtypes.is_inexact(dtypes.as_dtype(dtype))


def _whole(
    x: Tensor, counted: Tensor, axis: Axes, keepdims: bool, dtype: np.dtype[Any], where: Any, ddof: float
) -> Tensor:  # fmt: skip
    """The mean as NumPy computes it in a dtype of integers: it adds in that dtype, divides and cuts off."""
    total = sum(x, axis=axis, keepdims=keepdims, dtype=dtype, where=where)
    axes = normal_axes(axis, counted.ndim, "mean")
    wide = promotion.cast(total, dtypes.float64)
    if where is None or where is True:
        count = _count(counted, axes)
        freedom = builtins.max(count - ddof, 0) if type(count) is int else count - ddof
        return promotion.cast(_divided(wide, freedom), dtype)
    mask = promotion.broadcast(_truth(as_tensor(where, "mean")), counted.shape)
    number = sum(mask, axis=axis, keepdims=keepdims, dtype=dtypes.float64)
    return promotion.cast(E.div(wide, _at_least_zero(S.add_number(number, number=-ddof))), dtype)


def _whole_variance(x: Tensor, axis: Axes, keepdims: bool, dtype: np.dtype[Any], where: object, ddof: float) -> Tensor:
    """As NumPy computes it in a dtype of integers: the mean is cut off, too; booleans have no differences."""
    axes = normal_axes(axis, x.ndim, "var")  # a wrong axis is told first
    if x.dtype == dtypes.bool_ and dtype == dtypes.bool_:
        raise TypeError(at_user_line("var: booleans have no difference; wanted dtype=int or a dtype of floats"))
    away = promotion.binary_number(S.sub, x, _whole(x, x, axes, True, dtype, where, 0))
    square = _square_magnitude(away) if away.dtype.kind in "fc" else promotion.binary_number(S.mul, away, away)
    return _whole(square, x, axis, keepdims, dtype, where, ddof)


def _variance(x: Tensor, axes: tuple[int, ...], ddof: float, where: ArrayLike, is_real: bool) -> Tensor:
    """The variance with its axes kept; in a real dtype it is taken about the mean's real part, as in NumPy."""
    middle = _mean(x, axes, where)
    if is_real and x.dtype.kind == "c":
        middle = promotion.cast(S.real(middle), x.dtype)
    deviation = S.sub(x, promotion.broadcast(middle, x.shape))
    square = _square_magnitude(deviation)
    if where is not None and where is not True:
        mask = promotion.broadcast(_truth(as_tensor(where, "var")), x.shape)
        total = reshaped(apply(S.reduce_sum, (_chosen(square, mask, 0, "var"),), (axes,)), S.kept(x.shape, axes))
        freedom = S.add_number(_number_chosen(mask, axes, square), number=-ddof)
        return E.div(total, _at_least_zero(freedom))
    total = reshaped(apply(S.reduce_sum, (square,), (axes,)), S.kept(x.shape, axes))
    count = _count(x, axes)
    return _divided(total, builtins.max(count - ddof, 0) if type(count) is int else count - ddof)


def _at_least_zero(x: Tensor) -> Tensor:
    zero = S.fill(x, 0)
    return S.select(apply(D.gt, (x, zero)), x, zero)


def _square_magnitude(x: Tensor) -> Tensor:
    if x.dtype.kind != "c":
        return E.square(x)
    return S.add(E.square(S.real(x)), E.square(S.imag(x)))


@public
def var(
    x: ArrayLike,
    axis: Axes = None,
    keepdims: bool = False,
    *,
    dtype: DTypeLike | None = None,
    ddof: float = 0,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Any:
    """The variance over axes: the mean square distance from the mean.

    Args:
        x: an array or a number.
        axis: an axis or a tuple of them; None means all.
        keepdims: whether the axes stay, with extent 1.
        dtype: the dtype of the result; None means x's, and the default float for integers.
        ddof: what is taken off the number of elements before dividing by it.
        where: booleans that broadcast to x: which elements count.
        mean: the mean, if it is known already, with the folded axes kept.

    Returns:
        The variances in x's kind: real, unless dtype is complex. Of complex elements in a real dtype they are taken
        about the real part of the mean, as NumPy takes them.

    Example:
        >>> import wengert as wg
        >>> wg.ops.var([[1, 2], [3, 4]], axis=0)
        array([1., 1.])
    """
    a, ddof = as_tensor(x, "var"), number_of(ddof, "var: ddof")
    if mean is not None:
        return _variance_about(mean, a, axis, keepdims, dtype, ddof, where)
    if _is_whole(dtype):
        return _whole_variance(a, axis, keepdims, dtypes.as_dtype(dtype), where, ddof)
    return _spread(a, axis, keepdims, dtype, ddof, where, "var")


def _variance_about(
    center: ArrayLike, x: Tensor, axis: Axes, keepdims: bool, dtype: DTypeLike | None, ddof: float, where: Any
) -> Tensor:
    """The mean square distance from a centre that the caller knows."""
    x = x if dtype is None else promotion.cast(x, dtypes.as_dtype(dtype))
    away = subtract(x, center)
    square = _square_magnitude(away) if away.dtype.kind in "fc" else promotion.binary_number(S.mul, away, away)
    total = sum(square, axis, keepdims, where=where)
    number = _count(x, normal_axes(axis, x.ndim, "var"))
    if where is not None and where is not True:
        number = count_nonzero(promotion.broadcast(as_tensor(where, "var"), x.shape), axis, keepdims=keepdims)
    return divide(total, promotion.cast(as_tensor(subtract(number, ddof)), total.dtype))


def _spread(
    a: Tensor, axis: Axes, keepdims: bool, dtype: DTypeLike | None, ddof: float, where: Any, name: str
) -> Tensor:
    """The variance or deviation in a float dtype: real, unless a complex one is asked for."""
    inner, outer = _moment_dtypes(a, dtype)
    axes = normal_axes(axis, a.ndim, name)
    taken = promotion.cast(a, dtypes.complex_of(inner) if a.dtype.kind == "c" else dtypes.real_of(inner))
    result = _variance(taken, axes, ddof, where, is_real=inner.kind != "c")
    if name == "std":
        result = E.root_flat(result, number=0.5)
    result = promotion.cast(result, dtypes.real_of(outer) if dtype is None else outer)
    return result if keepdims else reshaped(result, S.without(a.shape, axes))


@public
def std(
    x: ArrayLike,
    axis: Axes = None,
    keepdims: bool = False,
    *,
    dtype: DTypeLike | None = None,
    ddof: Any = 0,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Any:
    """The standard deviation over axes: the root of the variance.

    At kinks: the gradient is 0 where all elements are equal.

    Args:
        x: an array or a number.
        axis: an axis or a tuple of them; None means all.
        keepdims: whether the axes stay, with extent 1.
        dtype: the dtype of the result; None means x's, and the default float for integers.
        ddof: what is taken off the number of elements before dividing by it.
        where: booleans that broadcast to x: which elements count.
        mean: the mean, if it is known already, with the folded axes kept.

    Returns:
        The deviations in x's kind: real, unless dtype is complex.

    Raises:
        TypeError: for several deviations in a dtype of integers.

    Example:
        >>> import wengert as wg
        >>> wg.ops.std([[1, 2], [3, 4]], axis=0)
        array([1., 1.])
    """
    a, ddof = as_tensor(x, "std"), number_of(ddof, "std: ddof")
    if mean is not None:
        return E.root_flat(as_float(_variance_about(mean, a, axis, keepdims, dtype, ddof, where)), number=0.5)
    if _is_whole(dtype):
        square = _whole_variance(a, axis, keepdims, dtypes.as_dtype(dtype), where, ddof)
        if square.ndim:  # NumPy refuses arrays, and cuts the root of a number off
            raise TypeError(at_user_line(f"std: dtype {square.dtype.name} holds no roots; wanted a dtype of floats"))
        return promotion.cast(E.sqrt(promotion.cast(square, dtypes.float64)), square.dtype)
    return _spread(a, axis, keepdims, dtype, ddof, where, "std")


@public
def moments(x: ArrayLike, axes: Axes, keepdims: bool = False, synchronized: bool = False) -> Any:
    """The mean and the variance over axes.

    Args:
        x: an array of floats.
        axes: an axis or a tuple of them; None means all.
        keepdims: whether the axes stay, with extent 1.
        synchronized: must be False: there is one device.

    Returns:
        The pair (mean, variance) in x's kind.

    Raises:
        ValueError: for `synchronized=True`.

    Example:
        >>> import wengert as wg
        >>> wg.ops.moments([[1.0, 2.0], [3.0, 4.0]], 0)
        (array([2., 3.]), array([1., 1.]))
    """
    if synchronized:
        raise ValueError(at_user_line("moments: there is one device; synchronized must be False"))
    a = as_tensor(x, "moments")
    axes = tuple(axes) if isinstance(axes, list) else axes
    return mean(a, axes, keepdims), var(a, axes, keepdims)


@public
def average(
    x: ArrayLike, axis: Axes = None, weights: ArrayLike | None = None, *, returned: bool = False, keepdims: bool = False
) -> Any:
    """The weighted mean over axes.

    Args:
        x: an array or a number.
        axis: an axis or a tuple of them; None means all.
        weights: an array of x's shape, or a vector along the one axis; None means equal weights.
        returned: whether to return the sum of the weights, too.
        keepdims: whether the axes stay, with extent 1.

    Returns:
        The means in x's kind; with `returned` the pair (means, sums of weights). Gradients flow to both arguments.

    Raises:
        ValueError: if the weights' shape does not fit.
        ZeroDivisionError: if weights that are known sum to zero.

    Example:
        >>> import wengert as wg
        >>> wg.ops.average([1.0, 2.0], weights=[3.0, 1.0]).item()
        1.25
    """
    a = as_tensor(x, "average")
    if weights is None:
        result = mean(a, axis, keepdims)
        axes = normal_axes(axis, a.ndim, "average")
        return (result, _like_count(result, _count(a, axes))) if returned else result
    w = _spread_weights(a, as_tensor(weights, "average"), axis)
    dtype = dtypes.promote(
        promotion.common_dtype([a, w]), dtypes.float64 if not dtypes.is_inexact(a.dtype) else a.dtype
    )
    a, w = promotion.cast(a, dtype), promotion.cast(w, dtype)
    scale = sum(w, axis, keepdims)
    _refuse_zero_weights(scale)
    result = E.div(sum(S.mul(a, w), axis, keepdims), scale)
    return (result, scale) if returned else result


def _like_count(result: Tensor, count: ArrayLike) -> Tensor:
    ones = S.fill(result, 1)
    return S.mul(ones, promotion.broadcast(promotion.cast(as_tensor(count), result.dtype), result.shape))


def _refuse_zero_weights(scale: Tensor) -> None:
    if not scale.is_symbolic and np.any(np.equal(ndarray_of(scale._data), 0)):
        raise ZeroDivisionError(at_user_line("average: the weights sum to zero"))


def _spread_weights(x: Tensor, w: Tensor, axis: Axes) -> Tensor:
    if w.shape == x.shape:
        return w
    axes = normal_axes(axis, x.ndim, "average") if axis is not None else ()
    if len(w.shape) != len(axes) or builtins.any(x.shape[i] != d for i, d in zip(axes, w.shape)):
        raise ValueError(
            at_user_line(f"average: weights of shape {w.shape} fit neither shape {x.shape} nor its axis {axis}")
        )
    order = sorted(range(len(axes)), key=axes.__getitem__)
    narrow = (*[x.shape[i] if i in axes else 1 for i in range(x.ndim)],)
    return promotion.broadcast(reshaped(permuted(w, tuple(order)), narrow), x.shape)


# -- extremes ------------------------------------------------------------------------------------------------


def _lowest(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "c":
        return complex(-math.inf, -math.inf)
    return -math.inf if dtypes.is_float(dtype) else False if dtype == dtypes.bool_ else int(np.iinfo(dtype).min)


def _highest(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "c":
        return complex(math.inf, math.inf)
    return math.inf if dtypes.is_float(dtype) else True if dtype == dtypes.bool_ else int(np.iinfo(dtype).max)


def _extreme(
    op: Op,
    of_bool: Op,
    x: ArrayLike,
    axis: Axes,
    keepdims: bool,
    initial: ArrayLike | None,
    where: object,
    neutral: Callable[..., Any],
    name: str,
) -> Tensor:
    a = as_tensor(x, name)
    if where is not None and where is not True and initial is None:
        raise ValueError(at_user_line(f"{name}: where= leaves out elements, so initial= must say what to start from"))
    a = _chosen(a, where, neutral(a.dtype), name)
    axes = _axes(axis, a, name)
    if initial is not None:
        a, axes, full_shape = _with_entry(a, axes, initial, name)
    else:
        full_shape = a.shape
        if builtins.any(type(a.shape[i]) is int and a.shape[i] == 0 for i in axes):
            raise ValueError(at_user_line(f"{name}: x has shape {a.shape}: no elements, and no initial= to return"))
    if a.dtype.kind == "c":
        result = lexicographic.extreme(a, axes, op is R.reduce_max)
    else:
        result = apply(of_bool if a.dtype == dtypes.bool_ else op, (a,), (axes,))
    if not keepdims:
        return result
    folded = axes if initial is None or not full_shape else normal_axes(axis, len(full_shape), name)
    return reshaped(result, S.kept(full_shape, folded))


def _with_entry(x: Tensor, axes: tuple[int, ...], initial: ArrayLike, name: str) -> tuple[Tensor, tuple[int, ...], Any]:
    """x with the folded axes as one last axis, and on it one more entry: so it shares in ties like any other."""
    rest = (*[i for i in range(x.ndim) if i not in axes],)
    lead = (*[x.shape[i] for i in rest],)
    line = reshaped(permuted(x, (*rest, *sorted(axes))), (*lead, _count(x, axes)))
    entry = promotion.broadcast(promotion.held(initial, x.dtype, name), (*lead, 1))
    return joined([line, entry], len(lead)), (len(lead),), x.shape


@public
def max(
    x: ArrayLike,
    axis: Axes = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    *,
    where: ArrayLike | None = None,
) -> Any:
    """The largest element over axes; NaN if one is.

    At kinks: equal largest elements share the gradient evenly, `initial` as one of them; of complex ones, which are
    ordered by real parts and then by imaginary parts, the first has it.

    Args:
        x: an array of real values, or a number.
        axis: an axis or a tuple of them; None means all.
        keepdims: whether the axes stay, with extent 1.
        initial: one more entry for each result.
        where: booleans that broadcast with x: which elements count; needs `initial`.

    Returns:
        The largest elements in x's kind.

    Raises:
        ValueError: over no elements without `initial`.

    Example:
        >>> import wengert as wg
        >>> wg.ops.max([[1.0, 4.0], [3.0, 2.0]], axis=0)
        array([3., 4.])
    """
    return _extreme(R.reduce_max, R.reduce_any, x, axis, keepdims, initial, where, _lowest, "max")


@public
def min(
    x: ArrayLike,
    axis: Axes = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    *,
    where: ArrayLike | None = None,
) -> Any:
    """The smallest element over axes; NaN if one is.

    At kinks: equal smallest elements share the gradient evenly, `initial` as one of them; of complex ones, which are
    ordered by real parts and then by imaginary parts, the first has it.

    Args:
        x: an array of real values, or a number.
        axis: an axis or a tuple of them; None means all.
        keepdims: whether the axes stay, with extent 1.
        initial: one more entry for each result.
        where: booleans that broadcast with x: which elements count; needs `initial`.

    Returns:
        The smallest elements in x's kind.

    Raises:
        ValueError: over no elements without `initial`.

    Example:
        >>> import wengert as wg
        >>> wg.ops.min([[1.0, 4.0], [3.0, 2.0]], axis=0)
        array([1., 2.])
    """
    return _extreme(R.reduce_min, R.reduce_all, x, axis, keepdims, initial, where, _highest, "min")


amax, amin = max, min


@public
def ptp(x: ArrayLike, axis: Axes = None, keepdims: bool = False) -> Any:
    """The distance from the smallest to the largest element over axes.

    At kinks: equal extremes share the gradient evenly.

    Args:
        x: an array of real values.
        axis: an axis or a tuple of them; None means all.
        keepdims: whether the axes stay, with extent 1.

    Returns:
        The distances in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.ptp([[1.0, 4.0], [3.0, 2.0]], axis=0)
        array([2., 2.])
    """
    a = as_tensor(x, "ptp")
    return S.sub(max(a, axis, keepdims), min(a, axis, keepdims))


def _place(op: Op, x: ArrayLike, axis: Axes, keepdims: bool, name: str) -> Tensor:
    a = as_tensor(x, name)
    if a.dtype == dtypes.bool_:
        a = promotion.cast(a, np.dtype(np.uint8))
    if axis is None or (a.ndim == 0 and axis in (0, -1)):
        result = _place_along(op, flat(a), 0)
        return reshaped(result, (1,) * a.ndim) if keepdims else result
    place = normal_axis(axis, a.ndim, name)
    return _kept(_place_along(op, a, place), a, (place,), keepdims)


def _place_along(op: Op, x: Tensor, axis: int) -> Tensor:
    if x.dtype.kind == "c":
        return lexicographic.place_of_extreme(x, axis, op is R.argmax)
    return apply(op, (x,), (axis,))


@public
def argmax(x: ArrayLike, axis: Axes = None, keepdims: bool = False) -> Any:
    """The index of the largest element, the first of equal ones, or of the first NaN.

    Args:
        x: an array of real values.
        axis: the axis; None means the flattened array.
        keepdims: whether the axis stays, with extent 1.

    Returns:
        Integers (int64) in x's kind, constants to a gradient.

    Raises:
        ValueError: along an axis without elements.

    Example:
        >>> import wengert as wg
        >>> wg.ops.argmax([[1, 4], [3, 2]], axis=0)
        array([1, 0])
    """
    return _place(R.argmax, x, axis, keepdims, "argmax")


@public
def argmin(x: ArrayLike, axis: Axes = None, keepdims: bool = False) -> Any:
    """The index of the smallest element, the first of equal ones, or of the first NaN.

    Args:
        x: an array of real values.
        axis: the axis; None means the flattened array.
        keepdims: whether the axis stays, with extent 1.

    Returns:
        Integers (int64) in x's kind, constants to a gradient.

    Raises:
        ValueError: along an axis without elements.

    Example:
        >>> import wengert as wg
        >>> wg.ops.argmin([[1, 4], [3, 2]], axis=0)
        array([0, 1])
    """
    return _place(R.argmin, x, axis, keepdims, "argmin")


# -- truth ---------------------------------------------------------------------------------------------------


@public
def any(x: ArrayLike, axis: Axes = None, keepdims: bool = False, *, where: ArrayLike | None = None) -> Any:
    """Whether some element over axes is not zero.

    Args:
        x: an array or a number.
        axis: an axis or a tuple of them; None means all.
        keepdims: whether the axes stay, with extent 1.
        where: booleans that broadcast with x: which elements count.

    Returns:
        Booleans in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.any([[0, 1], [0, 0]], axis=0)
        array([False,  True])
    """
    return _folded(R.reduce_any, _chosen(_truth(as_tensor(x, "any")), where, False, "any"), axis, keepdims, "any")


@public
def all(x: ArrayLike, axis: Axes = None, keepdims: bool = False, *, where: ArrayLike | None = None) -> Any:
    """Whether every element over axes is not zero.

    Args:
        x: an array or a number.
        axis: an axis or a tuple of them; None means all.
        keepdims: whether the axes stay, with extent 1.
        where: booleans that broadcast with x: which elements count.

    Returns:
        Booleans in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.all([[0, 1], [0, 1]], axis=0)
        array([False,  True])
    """
    return _folded(R.reduce_all, _chosen(_truth(as_tensor(x, "all")), where, True, "all"), axis, keepdims, "all")


@public
def count_nonzero(x: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """How many elements over axes are not zero.

    Args:
        x: an array or a number.
        axis: an axis or a tuple of them; None means all.
        keepdims: whether the axes stay, with extent 1.

    Returns:
        Integers (int64) in x's kind, constants to a gradient.

    Example:
        >>> import wengert as wg
        >>> wg.ops.count_nonzero([[0, 1], [0, 2]], axis=0)
        array([0, 2])
    """
    return sum(_truth(as_tensor(x, "count_nonzero")), axis, keepdims)


# -- sums of exponentials ------------------------------------------------------------------------------------


@public
def logsumexp(x: ArrayLike, axis: Axes = None, keepdims: bool = False) -> Any:
    """log(sum(exp(x))) over axes, without overflow.

    Args:
        x: an array of real values, or a number.
        axis: an axis or a tuple of them; None means all.
        keepdims: whether the axes stay, with extent 1.

    Returns:
        The values in x's kind; -inf where all elements are.

    Example:
        >>> import wengert as wg
        >>> print(wg.ops.logsumexp([1000.0, 1000.0]).round(6))
        1000.693147
    """
    return _folded(R.logsumexp, as_float(as_tensor(x, "logsumexp")), axis, keepdims, "logsumexp")


# -- running sums and products -------------------------------------------------------------------------------


def _running(op: Op, x: ArrayLike, axis: Axes, dtype: DTypeLike | None, name: str) -> Tensor:
    a = as_tensor(x, name)
    if op in (C.cumsum, C.cumprod) or dtype is not None:
        a = promotion.cast(a, _sum_dtype(a.dtype, dtype))
    if a.dtype == dtypes.bool_:  # the order of numbers is that of truth values: "or" is the larger one
        op = {C.cumsum: C.cummax, C.cumprod: C.cummin}.get(op, op)
        return promotion.cast(_running(op, promotion.cast(a, dtypes.int32), axis, None, name), dtypes.bool_)
    if axis is None or (a.ndim == 0 and axis in (0, -1)):
        return apply(op, (flat(a),), (0, False))
    return apply(op, (a,), (normal_axis(axis, a.ndim, name), False))


@public
def cumsum(x: ArrayLike, axis: Axes = None, dtype: DTypeLike | None = None) -> Any:
    """The running sum along an axis.

    Args:
        x: an array.
        axis: the axis; None means the flattened array.
        dtype: the dtype in which to sum; None means x's, and int64 for booleans and small integers.

    Returns:
        The sums in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.cumsum([1.0, 2.0, 3.0])
        array([1., 3., 6.])
    """
    return _running(C.cumsum, x, axis, dtype, "cumsum")


@public
def cumprod(x: ArrayLike, axis: Axes = None, dtype: DTypeLike | None = None) -> Any:
    """The running product along an axis; its gradient is exact where elements are 0.

    Args:
        x: an array.
        axis: the axis; None means the flattened array.
        dtype: the dtype in which to multiply; None means x's, and int64 for booleans and small integers.

    Returns:
        The products in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.cumprod([1.0, 2.0, 3.0])
        array([1., 2., 6.])
    """
    return _running(C.cumprod, x, axis, dtype, "cumprod")


@public
def cummax(x: ArrayLike, axis: Axes = None) -> Any:
    """The largest element so far along an axis.

    At kinks: the element that attained it first has the gradient.

    Args:
        x: an array of real values.
        axis: the axis; None means the flattened array.

    Returns:
        The running maxima in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.cummax([1.0, 3.0, 2.0])
        array([1., 3., 3.])
    """
    return _running(C.cummax, x, axis, None, "cummax")


@public
def cummin(x: ArrayLike, axis: Axes = None) -> Any:
    """The smallest element so far along an axis.

    At kinks: the element that attained it first has the gradient.

    Args:
        x: an array of real values.
        axis: the axis; None means the flattened array.

    Returns:
        The running minima in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.cummin([3.0, 1.0, 2.0])
        array([3., 1., 1.])
    """
    return _running(C.cummin, x, axis, None, "cummin")


@public
def cumlogsumexp(x: ArrayLike, axis: Axes = None) -> Any:
    """The running log(sum(exp(x))) along an axis, without overflow.

    Args:
        x: an array of real values.
        axis: the axis; None means the flattened array.

    Returns:
        The running values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.cumlogsumexp([0.0, 0.0]).round(6)
        array([0.      , 0.693147])
    """
    return _running(C.cumlogsumexp, as_float(as_tensor(x, "cumlogsumexp")), axis, None, "cumlogsumexp")


@public
def diff(a: ArrayLike, n: int = 1, axis: int = -1) -> Any:
    """The differences of neighbours along an axis.

    Args:
        a: an array.
        n: how many times.
        axis: the axis.

    Returns:
        An array in a's kind, shorter by n along the axis; of booleans, whether neighbours differ.

    Raises:
        ValueError: if n is negative or a has no axis.

    Example:
        >>> import wengert as wg
        >>> wg.ops.diff([1.0, 3.0, 6.0])
        array([2., 3.])
    """
    x = as_tensor(a, "diff")
    n = count_of(n, "diff: n", most=MOST_COUNTED)
    if x.ndim == 0:
        raise ValueError(at_user_line("diff: a is a number, wanted at least one axis"))
    place = normal_axis(axis, x.ndim, "diff")
    extent = x.shape[place]
    for _ in range(builtins.min(n, extent) if type(extent) is int else n):  # then nothing is left
        later, sooner = _neighbours(x, place)
        x = apply(D.ne if x.dtype == dtypes.bool_ else S.sub, (later, sooner))
    return x


def _neighbours(x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    size = x.shape[axis]
    if type(size) is int and size == 0:
        return x, x
    return part(x, axis, 1, size), part(x, axis, 0, size - 1)


__all__ = [
    "sum", "prod", "trace", "mean", "var", "std", "moments", "average", "max", "min", "amax", "amin", "ptp", "argmax",
    "argmin", "any", "all", "count_nonzero", "logsumexp", "cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp",
    "diff",
]  # fmt: skip
