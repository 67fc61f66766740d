"""NumPy's reductions and accumulations, with NumPy's arguments."""

from __future__ import annotations

from typing import Any

from .. import ops
from .._core.argument_types import ArrayLike, Axes, DTypeLike, Out
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..ops.promotion import as_tensor, cast, normal_axes, number_of
from ._decorators import NO_VALUE, as_numpy, is_kept, named_dtype

_Reduced = Any


def _or_none(x: ArrayLike) -> Any:
    return None if x is NO_VALUE else x


def _mask_or_none(where: ArrayLike) -> Any:
    return None if where is NO_VALUE or where is True else where


@as_numpy
def sum(
    a: ArrayLike, axis: Axes = None, dtype: DTypeLike | None = None, out: Out | None = None, keepdims: bool = NO_VALUE,
    initial: ArrayLike = NO_VALUE, where: ArrayLike = NO_VALUE,
) -> _Reduced:  # fmt: skip
    """The sum of elements."""
    if keepdims is initial is where is NO_VALUE:
        return ops.sum(a, axis=axis, dtype=dtype)
    return ops.sum(
        a, axis=axis, keepdims=is_kept(keepdims), dtype=dtype, initial=_or_none(initial), where=_mask_or_none(where)
    )


@as_numpy
def prod(
    a: ArrayLike, axis: Axes = None, dtype: DTypeLike | None = None, out: Out | None = None, keepdims: bool = NO_VALUE,
    initial: ArrayLike = NO_VALUE, where: ArrayLike = NO_VALUE,
) -> _Reduced:  # fmt: skip
    """The product of elements; its gradient is exact where some of them are zero."""
    return ops.prod(
        a, axis=axis, keepdims=is_kept(keepdims), dtype=dtype, initial=_or_none(initial), where=_mask_or_none(where)
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
    return ops.max(a, axis=axis, keepdims=is_kept(keepdims), initial=_or_none(initial), where=_mask_or_none(where))


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
    return ops.min(a, axis=axis, keepdims=is_kept(keepdims), initial=_or_none(initial), where=_mask_or_none(where))


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
    return ops.mean(a, axis=axis, keepdims=is_kept(keepdims), dtype=dtype, where=_mask_or_none(where))


def _divisor_offset(ddof: float, correction: float) -> Any:
    if correction is NO_VALUE:
        return number_of(ddof, "ddof")
    if ddof != 0:
        raise ValueError(at_user_line("ddof and correction are the same argument: give one of them"))
    return number_of(correction, "correction")


@as_numpy
def var(
    a: ArrayLike, axis: Axes = None, dtype: DTypeLike | None = None, out: Out | None = None, ddof: float = 0,
    keepdims: bool = NO_VALUE, *, where: ArrayLike = NO_VALUE, mean: ArrayLike = NO_VALUE, correction: float = NO_VALUE,
) -> _Reduced:  # fmt: skip
    """The variance; of complex elements, that of their distances."""
    ddof, center = _divisor_offset(ddof, correction), _or_none(mean)
    return ops.var(a, axis, is_kept(keepdims), dtype=dtype, ddof=ddof, where=_mask_or_none(where), mean=center)


@as_numpy
def std(
    a: Any, axis: Any = None, dtype: Any = None, out: Out | None = None, ddof: Any = 0, keepdims: Any = NO_VALUE, *,
    where: Any = NO_VALUE, mean: Any = NO_VALUE, correction: float = NO_VALUE,
) -> _Reduced:  # fmt: skip
    """The standard deviation."""
    ddof, center = _divisor_offset(ddof, correction), _or_none(mean)
    return ops.std(a, axis, is_kept(keepdims), dtype=dtype, ddof=ddof, where=_mask_or_none(where), mean=center)


@as_numpy
def any(
    a: ArrayLike, axis: Axes = None, out: Out | None = None, keepdims: bool = NO_VALUE, *, where: ArrayLike = NO_VALUE
) -> _Reduced:  # fmt: skip
    """Whether some element is true."""
    return ops.any(a, axis=axis, keepdims=is_kept(keepdims), where=_mask_or_none(where))


@as_numpy
def all(
    a: ArrayLike, axis: Axes = None, out: Out | None = None, keepdims: bool = NO_VALUE, *, where: ArrayLike = NO_VALUE
) -> _Reduced:  # fmt: skip
    """Whether every element is true."""
    return ops.all(a, axis=axis, keepdims=is_kept(keepdims), where=_mask_or_none(where))


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


@as_numpy
def nansum(
    a: ArrayLike, axis: Axes = None, dtype: DTypeLike | None = None, out: Out | None = None, keepdims: bool = NO_VALUE,
    initial: ArrayLike = NO_VALUE, where: ArrayLike = NO_VALUE,
) -> _Reduced:  # fmt: skip
    """The sum of the elements that are not NaN; the others have gradient zero."""
    start, mask = _or_none(initial), _mask_or_none(where)
    return ops.nansum(a, axis, is_kept(keepdims), dtype=dtype, initial=start, where=mask)


@as_numpy
def nanprod(
    a: ArrayLike, axis: Axes = None, dtype: DTypeLike | None = None, out: Out | None = None, keepdims: bool = NO_VALUE,
    initial: ArrayLike = NO_VALUE, where: ArrayLike = NO_VALUE,
) -> _Reduced:  # fmt: skip
    """The product of the elements that are not NaN; the others have gradient zero."""
    start, mask = _or_none(initial), _mask_or_none(where)
    return ops.nanprod(a, axis, is_kept(keepdims), dtype=dtype, initial=start, where=mask)


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
    return ops.nanmean(a, axis, is_kept(keepdims), dtype=dtype, where=_mask_or_none(where))


@as_numpy
def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: Out | None = None, ddof: Any = 0, keepdims: Any = NO_VALUE, *,
    where: Any = NO_VALUE, mean: Any = NO_VALUE, correction: Any = NO_VALUE,
) -> _Reduced:  # fmt: skip
    """The variance of the elements that are not NaN; the others have gradient zero."""
    ddof, center = _divisor_offset(ddof, correction), _or_none(mean)
    return ops.nanvar(a, axis, is_kept(keepdims), dtype=dtype, ddof=ddof, where=_mask_or_none(where), mean=center)


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
    ddof, center = _divisor_offset(ddof, correction), _or_none(mean)
    return ops.nanstd(a, axis, is_kept(keepdims), dtype=dtype, ddof=ddof, where=_mask_or_none(where), mean=center)


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
    return ops.nanmax(a, axis, is_kept(keepdims), _or_none(initial), where=_mask_or_none(where))


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
    return ops.nanmin(a, axis, is_kept(keepdims), _or_none(initial), where=_mask_or_none(where))


@as_numpy
def nancumsum(a: ArrayLike, axis: Axes = None, dtype: DTypeLike | None = None, out: Out | None = None) -> Any:
    """The running sum in which NaN counts as zero."""
    return ops.nancumsum(a, axis, dtype)


@as_numpy
def nancumprod(a: ArrayLike, axis: Axes = None, dtype: DTypeLike | None = None, out: Out | None = None) -> Any:
    """The running product in which NaN counts as one."""
    return ops.nancumprod(a, axis, dtype)


@as_numpy
def nanargmax(a: ArrayLike, axis: Axes = None, out: Out | None = None, *, keepdims: bool = NO_VALUE) -> _Reduced:
    """Where the largest element that is not NaN is: integers, constants to a gradient."""
    return ops.nanargmax(a, axis, is_kept(keepdims))


@as_numpy
def nanargmin(a: ArrayLike, axis: Axes = None, out: Out | None = None, *, keepdims: bool = NO_VALUE) -> _Reduced:
    """Where the smallest element that is not NaN is: integers, constants to a gradient."""
    return ops.nanargmin(a, axis, is_kept(keepdims))


__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "average", "count_nonzero", "cumprod", "cumsum",
    "cumulative_prod", "cumulative_sum", "max", "mean", "min", "nanargmax", "nanargmin", "nancumprod", "nancumsum",
    "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum", "nanvar", "prod", "ptp", "std", "sum", "var",
]  # fmt: skip
