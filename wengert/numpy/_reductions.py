"""NumPy's reductions and accumulations, with NumPy's arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from .._core import dtypes
from .._core.argument_types import ArrayLike, Axes, DTypeLike, Out
from .._core.tensor import Tensor
from .._core.where import at_user_line
from ..ops.nans import axis_of_floats
from ..ops.promotion import as_tensor, cast, normal_axes, number_of
from ._writing import NO_VALUE, as_numpy, is_kept, named_dtype

_Reduced = Any


def _prepared(a: ArrayLike, dtype: DTypeLike, name: str) -> Tensor:
    x = as_tensor(a, name)
    return x if dtype is None else cast(x, named_dtype(dtype))


def _or_none(x: ArrayLike) -> Any:
    return None if x is NO_VALUE or x is True else x


def _count(x: Tensor, axis: Axes, keepdims: bool, where: ArrayLike) -> Any:
    """How many elements take part: a number, or an array of them with a mask."""
    size: Any = 1
    for i in normal_axes(axis, x.ndim, "axis"):
        size = size * x.shape[i]
    if _or_none(where) is None:
        return size
    mask = ops.broadcast_to(as_tensor(where, "where"), x.shape)
    return ops.count_nonzero(mask, axis=axis, keepdims=keepdims)


@as_numpy
def sum(
    a: ArrayLike, axis: Axes = None, dtype: DTypeLike | None = None, out: Out | None = None, keepdims: bool = NO_VALUE,
    initial: ArrayLike = NO_VALUE, where: ArrayLike = NO_VALUE,
) -> _Reduced:  # fmt: skip
    """The sum of elements."""
    return ops.sum(
        a, axis=axis, keepdims=is_kept(keepdims), dtype=dtype, initial=_or_none(initial), where=_or_none(where)
    )


@as_numpy
def prod(
    a: ArrayLike, axis: Axes = None, dtype: DTypeLike | None = None, out: Out | None = None, keepdims: bool = NO_VALUE,
    initial: ArrayLike = NO_VALUE, where: ArrayLike = NO_VALUE,
) -> _Reduced:  # fmt: skip
    """The product of elements; its gradient is exact where some of them are zero."""
    return ops.prod(
        a, axis=axis, keepdims=is_kept(keepdims), dtype=dtype, initial=_or_none(initial), where=_or_none(where)
    )


@as_numpy
def max(
    a: ArrayLike,
    axis: Axes = None,
    out: Out | None = None,
    keepdims: bool = NO_VALUE,
    initial: ArrayLike = NO_VALUE,
    where: ArrayLike = NO_VALUE,
) -> _Reduced:
    """The largest element."""
    return ops.max(a, axis=axis, keepdims=is_kept(keepdims), initial=_or_none(initial), where=_or_none(where))


@as_numpy
def min(
    a: ArrayLike,
    axis: Axes = None,
    out: Out | None = None,
    keepdims: bool = NO_VALUE,
    initial: ArrayLike = NO_VALUE,
    where: ArrayLike = NO_VALUE,
) -> _Reduced:
    """The smallest element."""
    return ops.min(a, axis=axis, keepdims=is_kept(keepdims), initial=_or_none(initial), where=_or_none(where))


amax, amin = max, min


@as_numpy
def ptp(a: ArrayLike, axis: Axes = None, out: Out | None = None, keepdims: bool = NO_VALUE) -> _Reduced:
    """The largest element less the smallest."""
    return ops.ptp(a, axis=axis, keepdims=is_kept(keepdims))


@as_numpy
def mean(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    keepdims: bool = NO_VALUE,
    *,
    where: ArrayLike = NO_VALUE,
) -> _Reduced:
    """The arithmetic mean."""
    return ops.mean(a, axis=axis, keepdims=is_kept(keepdims), dtype=dtype, where=_or_none(where))


def _divisor_offset(ddof: float, correction: float) -> Any:
    if correction is NO_VALUE:
        return number_of(ddof, "ddof")
    if ddof != 0:
        raise ValueError(at_user_line("ddof and correction are the same argument: give one of them"))
    return number_of(correction, "correction")


def _variance_about(
    center: Any, a: ArrayLike, axis: Axes, dtype: Any, ddof: float, keepdims: bool, where: ArrayLike
) -> Tensor:  # fmt: skip
    """The mean square distance from a centre that the caller knows."""
    x = _prepared(a, dtype, "var")
    off = ops.subtract(x, center)
    squares = ops.real(ops.multiply(off, ops.conj(off))) if x.dtype.kind == "c" else ops.square(off)
    total = ops.sum(squares, axis=axis, keepdims=is_kept(keepdims), where=_or_none(where))
    freedom = ops.subtract(_count(x, axis, is_kept(keepdims), where), ddof)
    return ops.divide(total, ops.cast(as_tensor(freedom), total.dtype))


@as_numpy
def var(
    a: ArrayLike, axis: Axes = None, dtype: DTypeLike | None = None, out: Out | None = None, ddof: float = 0,
    keepdims: bool = NO_VALUE, *, where: ArrayLike = NO_VALUE, mean: ArrayLike = NO_VALUE, correction: float = NO_VALUE,
) -> _Reduced:  # fmt: skip
    """The variance; of complex elements, that of their distances."""
    ddof = _divisor_offset(ddof, correction)
    if mean is NO_VALUE:
        return ops.var(a, axis=axis, keepdims=is_kept(keepdims), dtype=dtype, ddof=ddof, where=_or_none(where))
    return _variance_about(mean, a, axis, dtype, ddof, keepdims, where)


@as_numpy
def std(
    a: Any, axis: Any = None, dtype: Any = None, out: Out | None = None, ddof: Any = 0, keepdims: Any = NO_VALUE, *,
    where: Any = NO_VALUE, mean: Any = NO_VALUE, correction: float = NO_VALUE,
) -> _Reduced:  # fmt: skip
    """The standard deviation."""
    ddof = _divisor_offset(ddof, correction)
    if mean is NO_VALUE:
        return ops.std(a, axis=axis, keepdims=is_kept(keepdims), dtype=dtype, ddof=ddof, where=_or_none(where))
    return ops.sqrt(_variance_about(mean, a, axis, dtype, ddof, keepdims, where))


@as_numpy
def any(
    a: ArrayLike, axis: Axes = None, out: Out | None = None, keepdims: bool = NO_VALUE, *, where: ArrayLike = NO_VALUE
) -> _Reduced:  # fmt: skip
    """Whether some element is true."""
    return ops.any(a, axis=axis, keepdims=is_kept(keepdims), where=_or_none(where))


@as_numpy
def all(
    a: ArrayLike, axis: Axes = None, out: Out | None = None, keepdims: bool = NO_VALUE, *, where: ArrayLike = NO_VALUE
) -> _Reduced:  # fmt: skip
    """Whether every element is true."""
    return ops.all(a, axis=axis, keepdims=is_kept(keepdims), where=_or_none(where))


@as_numpy
def argmax(a: ArrayLike, axis: Axes = None, out: Out | None = None, *, keepdims: bool = NO_VALUE) -> _Reduced:
    """Where the largest element is: integers, constants to a gradient."""
    return ops.argmax(a, axis=axis, keepdims=is_kept(keepdims))


@as_numpy
def argmin(a: ArrayLike, axis: Axes = None, out: Out | None = None, *, keepdims: bool = NO_VALUE) -> _Reduced:
    """Where the smallest element is: integers, constants to a gradient."""
    return ops.argmin(a, axis=axis, keepdims=is_kept(keepdims))


@as_numpy
def count_nonzero(a: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> _Reduced:
    """How many elements are not zero: integers, constants to a gradient."""
    return ops.count_nonzero(a, axis=axis, keepdims=keepdims)


@as_numpy
def average(
    a: ArrayLike,
    axis: Axes = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    *,
    keepdims: bool = NO_VALUE,
) -> Any:
    """The weighted mean; with `returned`, also the sum of the weights. `ZeroDivisionError` if weights sum to zero."""
    return ops.average(a, axis=axis, weights=weights, returned=returned, keepdims=is_kept(keepdims))


# -- accumulations ---------------------------------------------------------------------------------------------------


@as_numpy
def cumsum(a: ArrayLike, axis: Axes = None, dtype: DTypeLike | None = None, out: Out | None = None) -> Any:
    """The running sum; of all elements in one row, without an axis."""
    return ops.cumsum(a, axis=axis, dtype=dtype)


@as_numpy
def cumprod(a: ArrayLike, axis: Axes = None, dtype: DTypeLike | None = None, out: Out | None = None) -> Any:
    """The running product; of all elements in one row, without an axis. Exact with zeros."""
    return ops.cumprod(a, axis=axis, dtype=dtype)


def _cumulative(running: Any, start: ArrayLike, x: Tensor, axis: Axes, dtype: Any, include_initial: bool) -> Tensor:
    x = ops.reshape(x, (1,)) if x.ndim == 0 else x
    if axis is None:
        if x.ndim > 1:
            raise ValueError(at_user_line("axis must be given for an array of more than one dimension"))
        axis = 0
    result = running(x, axis=axis, dtype=None if dtype is None else named_dtype(dtype))
    if not include_initial:
        return result
    (axis,) = normal_axes(axis, x.ndim, "axis")
    edge = (*[1 if i == axis else n for i, n in enumerate(x.shape)],)
    return ops.concatenate([cast(ops.full(edge, start), result.dtype), result], axis=axis)


@as_numpy
def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    include_initial: bool = False,
) -> Any:
    """The running sum along an axis, as the array API has it.

    Example:
        >>> import wengert.numpy as np
        >>> np.cumulative_sum([1.0, 2.0], include_initial=True)
        array([0., 1., 3.])
    """
    return _cumulative(ops.cumsum, 0, as_tensor(x, "cumulative_sum"), axis, dtype, include_initial)


@as_numpy
def cumulative_prod(
    x: ArrayLike,
    /,
    *,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    include_initial: bool = False,
) -> Any:
    """The running product along an axis, as the array API has it.

    Example:
        >>> import wengert.numpy as np
        >>> np.cumulative_prod([3.0, 2.0], include_initial=True)
        array([1., 3., 6.])
    """
    return _cumulative(ops.cumprod, 1, as_tensor(x, "cumulative_prod"), axis, dtype, include_initial)


# -- leaving NaN out -------------------------------------------------------------------------------------------------


def _numbers(x: Tensor) -> Any:
    """Which elements are not NaN; True where the dtype has none."""
    return ops.logical_not(ops.isnan(x)) if dtypes.is_inexact(x.dtype) else True


def _both(mask: Tensor, where: ArrayLike) -> Any:
    return mask if _or_none(where) is None else ops.logical_and(mask, where)


@as_numpy
def nansum(
    a: ArrayLike, axis: Axes = None, dtype: DTypeLike | None = None, out: Out | None = None, keepdims: bool = NO_VALUE,
    initial: ArrayLike = NO_VALUE, where: ArrayLike = NO_VALUE,
) -> _Reduced:  # fmt: skip
    """The sum of the elements that are not NaN; the others have gradient zero."""
    x = as_tensor(a, "nansum")
    return sum(x, axis, dtype, None, keepdims, initial, _both(_numbers(x), where))


@as_numpy
def nanprod(
    a: ArrayLike, axis: Axes = None, dtype: DTypeLike | None = None, out: Out | None = None, keepdims: bool = NO_VALUE,
    initial: ArrayLike = NO_VALUE, where: ArrayLike = NO_VALUE,
) -> _Reduced:  # fmt: skip
    """The product of the elements that are not NaN; the others have gradient zero."""
    x = as_tensor(a, "nanprod")
    return prod(x, axis, dtype, None, keepdims, initial, _both(_numbers(x), where))


@as_numpy
def nanmean(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    keepdims: bool = NO_VALUE,
    *,
    where: ArrayLike = NO_VALUE,
) -> _Reduced:
    """The mean of the elements that are not NaN; the others have gradient zero."""
    x, axis = _with_nans(a, axis, dtype, "nanmean")
    return mean(x, axis, dtype, None, keepdims, where=_both(_numbers(x), where))


def _with_nans(a: ArrayLike, axis: Axes, dtype: DTypeLike | None, name: str) -> tuple[Tensor, Any]:
    """The operand of a moment that leaves NaN out, and its axis; as in NumPy, floats are not folded in integers."""
    x = as_tensor(a, name)
    if not dtypes.is_inexact(x.dtype):
        return x, axis
    if dtype is not None and not dtypes.is_inexact(named_dtype(dtype)):
        raise TypeError(at_user_line(f"{name}: of {x.dtype.name}, dtype must be one of floats, too, got {dtype!r}"))
    return x, axis_of_floats(x, axis)


@as_numpy
def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: Out | None = None, ddof: Any = 0, keepdims: Any = NO_VALUE, *,
    where: Any = NO_VALUE, mean: Any = NO_VALUE, correction: Any = NO_VALUE,
) -> _Reduced:  # fmt: skip
    """The variance of the elements that are not NaN; the others have gradient zero."""
    x, axis = _with_nans(a, axis, dtype, "nanvar")
    return var(
        x, axis, dtype, None, ddof, keepdims, where=_both(_numbers(x), where), mean=mean, correction=correction
    )  # fmt: skip


@as_numpy
def nanstd(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    ddof: float = 0,
    keepdims: object = NO_VALUE,
    *,
    where: ArrayLike = NO_VALUE,
    mean: ArrayLike = NO_VALUE,
    correction: float = NO_VALUE,
) -> _Reduced:
    """The standard deviation of the elements that are not NaN; the others have gradient zero."""
    x, axis = _with_nans(a, axis, dtype, "nanstd")
    return std(
        x, axis, dtype, None, ddof, keepdims, where=_both(_numbers(x), where), mean=mean, correction=correction
    )  # fmt: skip


def _bound(dtype: np.dtype[Any], name: str) -> Tensor:
    """The value that no element loses against."""
    return cast(as_tensor(-np.inf if name == "max" else np.inf), dtype)


def _nan_extreme(name: str, a: ArrayLike, axis: Axes, keepdims: bool, initial: ArrayLike, where: ArrayLike) -> Tensor:
    x = as_tensor(a, name)
    fold = ops.max if name == "max" else ops.min
    mask = _numbers(x)
    if mask is not True:
        x = ops.where(mask, x, _bound(x.dtype, name))
    result = fold(x, axis=axis, keepdims=is_kept(keepdims), initial=_or_none(initial), where=_or_none(where))
    if mask is True or _or_none(initial) is not None:
        return result
    is_empty = ops.logical_not(ops.any(mask, axis=axis, keepdims=is_kept(keepdims)))
    return ops.where(is_empty, cast(as_tensor(np.nan), x.dtype), result)


@as_numpy
def nanmax(
    a: ArrayLike,
    axis: Axes = None,
    out: Out | None = None,
    keepdims: bool = NO_VALUE,
    initial: ArrayLike = NO_VALUE,
    where: ArrayLike = NO_VALUE,
) -> _Reduced:
    """The largest element that is not NaN. At a tie the gradient is split evenly."""
    return _nan_extreme("max", a, axis, keepdims, initial, where)


@as_numpy
def nanmin(
    a: Any,
    axis: Any = None,
    out: Out | None = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> _Reduced:
    """The smallest element that is not NaN. At a tie the gradient is split evenly."""
    return _nan_extreme("min", a, axis, keepdims, initial, where)


@as_numpy
def nancumsum(a: ArrayLike, axis: Axes = None, dtype: DTypeLike | None = None, out: Out | None = None) -> Any:
    """The running sum in which NaN counts as zero."""
    x = as_tensor(a, "nancumsum")
    return ops.cumsum(ops.where(_numbers(x), x, ops.zeros_like(x)), axis=axis, dtype=dtype)


@as_numpy
def nancumprod(a: ArrayLike, axis: Axes = None, dtype: DTypeLike | None = None, out: Out | None = None) -> Any:
    """The running product in which NaN counts as one."""
    x = as_tensor(a, "nancumprod")
    return ops.cumprod(ops.where(_numbers(x), x, ops.ones_like(x)), axis=axis, dtype=dtype)


@as_numpy
def nanargmax(a: ArrayLike, axis: Axes = None, out: Out | None = None, *, keepdims: bool = NO_VALUE) -> _Reduced:
    """Where the largest element that is not NaN is: integers, constants to a gradient."""
    return ops.nanargmax(as_tensor(a, "nanargmax"), axis, is_kept(keepdims))


@as_numpy
def nanargmin(a: ArrayLike, axis: Axes = None, out: Out | None = None, *, keepdims: bool = NO_VALUE) -> _Reduced:
    """Where the smallest element that is not NaN is: integers, constants to a gradient."""
    return ops.nanargmin(as_tensor(a, "nanargmin"), axis, is_kept(keepdims))


__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "average", "count_nonzero", "cumprod", "cumsum",
    "cumulative_prod", "cumulative_sum", "max", "mean", "min", "nanargmax", "nanargmin", "nancumprod", "nancumsum",
    "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum", "nanvar", "prod", "ptp", "std", "sum", "var",
]  # fmt: skip
