"""Reductions that leave NaN out, with Keras's signatures; elements left out have gradient zero."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ParamSpec

from .._core import dims, dtypes
from .._core.apply import apply
from .._core.argument_types import ArrayLike, Axes, DTypeLike
from .._core.faces import documented, parameters_of
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import discrete as D
from .._prims import sorting as O
from .._prims import structural as S
from . import promotion, reductions
from .elementwise import logical_and, multiply
from .indexing import take_along_axis
from .ordering import at_shares, in_columns, interpolated, middle, of_nothing, require_method, require_shares
from .promotion import as_float, as_tensor, named, names_errors, normal_axes, outward, public
from .shapes import reshaped


def numbers_in(x: Tensor) -> Tensor | bool:
    """Which elements are not NaN; True where the dtype has none."""
    return apply(D.logical_not, (apply(D.isnan, (x,)),)) if dtypes.is_inexact(x.dtype) else True


def replaced(x: Tensor, value: Any) -> Tensor:
    """x with a number where it is NaN."""
    return S.select(apply(D.isnan, (x,)), S.fill(x, value), x) if dtypes.is_inexact(x.dtype) else x


def _among(x: Tensor, where: ArrayLike | None) -> Any:
    """Which elements are not NaN and, of these, which the caller asks for."""
    mask = numbers_in(x)
    return mask if where is None or where is True else logical_and(mask, where)


P = ParamSpec("P")


def _leaving_nan_out(empty: str, example: str) -> Callable[[Callable[P, Any]], Callable[P, Any]]:
    """Makes a function public that is the one of `reductions` without "nan" in its name, whose arguments it has.

    Args:
        empty: what it gives where all elements are NaN.
        example: what it gives for 1, NaN and 3.
    """

    def decorate(f: Callable[P, Any]) -> Callable[P, Any]:
        function = public(f)
        shown = (
            f'    >>> import wengert as wg\n    >>> print(wg.ops.{f.__name__}([1.0, float("nan"), 3.0]))\n    {example}'
        )
        function.__doc__ = documented(
            f.__doc__, parameters_of(f), vars(reductions)[f.__name__[3:]].__doc__, known={}, otherwise="",
            returns=f"The results in x's kind; {empty} where all elements are NaN.", example=lambda _: shown,
        )  # fmt: skip
        return function

    return decorate


@_leaving_nan_out("0", "4.0")
def nansum(
    x: ArrayLike, axis: Axes = None, keepdims: bool = False, *, dtype: DTypeLike | None = None,
    initial: ArrayLike | None = None, where: ArrayLike | None = None,
) -> Any:  # fmt: skip
    """The sum of the elements that are not NaN; the others have gradient zero."""
    a = as_tensor(x, "nansum")
    return reductions.sum(a, axis, keepdims, dtype=dtype, initial=initial, where=_among(a, where))


@_leaving_nan_out("1", "3.0")
def nanprod(
    x: ArrayLike, axis: Axes = None, keepdims: bool = False, *, dtype: DTypeLike | None = None,
    initial: ArrayLike | None = None, where: ArrayLike | None = None,
) -> Any:  # fmt: skip
    """The product of the elements that are not NaN; the others have gradient zero."""
    a = as_tensor(x, "nanprod")
    return reductions.prod(a, axis, keepdims, dtype, initial=initial, where=_among(a, where))


def _prepared(x: ArrayLike, axis: Axes, dtype: DTypeLike | None, name: str) -> tuple[Tensor, Axes]:
    """The operand of a moment that leaves NaN out, and its axis; as in NumPy, floats are not folded in integers."""
    a = as_tensor(x, name)
    if not dtypes.is_inexact(a.dtype):
        return a, axis
    if dtype is not None and not dtypes.is_inexact(dtypes.as_dtype(dtype)):
        raise TypeError(at_user_line(f"{name}: of {a.dtype.name}, dtype must be one of floats, too, got {dtype!r}"))
    # of a number, NumPy lets axis 0 and -1 pass here
    return a, None if a.ndim == 0 and type(axis) is int and axis in (0, -1) else axis


@_leaving_nan_out("NaN", "2.0")
def nanmean(
    x: ArrayLike, axis: Axes = None, keepdims: bool = False, *, dtype: DTypeLike | None = None,
    where: ArrayLike | None = None,
) -> Any:  # fmt: skip
    """The mean of the elements that are not NaN; the others have gradient zero."""
    a, axis = _prepared(x, axis, dtype, "nanmean")
    return reductions.mean(a, axis, keepdims, dtype=dtype, where=_among(a, where))


@_leaving_nan_out("NaN", "1.0")
def nanvar(
    x: ArrayLike, axis: Axes = None, keepdims: bool = False, *, dtype: DTypeLike | None = None, ddof: float = 0,
    where: ArrayLike | None = None, mean: ArrayLike | None = None,
) -> Any:  # fmt: skip
    """The variance of the elements that are not NaN; the others have gradient zero."""
    a, axis = _prepared(x, axis, dtype, "nanvar")
    return reductions.var(a, axis, keepdims, dtype=dtype, ddof=ddof, where=_among(a, where), mean=mean)


@_leaving_nan_out("NaN", "1.0")
def nanstd(
    x: ArrayLike, axis: Axes = None, keepdims: bool = False, *, dtype: DTypeLike | None = None, ddof: float = 0,
    where: ArrayLike | None = None, mean: ArrayLike | None = None,
) -> Any:  # fmt: skip
    """The standard deviation of the elements that are not NaN; the others have gradient zero."""
    a, axis = _prepared(x, axis, dtype, "nanstd")
    return reductions.std(a, axis, keepdims, dtype=dtype, ddof=ddof, where=_among(a, where), mean=mean)


def _extreme(
    fold: Callable[..., Tensor], neutral: float, x: Tensor, axis: Axes, keepdims: bool, initial: Any, where: Any
) -> Tensor:  # fmt: skip
    mask = numbers_in(x)
    result = fold(replaced(x, neutral), axis, keepdims, initial, where=where)
    if mask is True or initial is not None:
        return result
    return S.select(reductions.any(mask, axis, keepdims), result, S.fill(result, math.nan))


@_leaving_nan_out("NaN", "3.0")
def nanmax(
    x: ArrayLike, axis: Axes = None, keepdims: bool = False, initial: ArrayLike | None = None, *,
    where: ArrayLike | None = None,
) -> Any:  # fmt: skip
    """The largest of the elements that are not NaN; the others have gradient zero."""
    return _extreme(reductions.max, -math.inf, as_tensor(x, "nanmax"), axis, keepdims, initial, where)


@_leaving_nan_out("NaN", "1.0")
def nanmin(
    x: ArrayLike, axis: Axes = None, keepdims: bool = False, initial: ArrayLike | None = None, *,
    where: ArrayLike | None = None,
) -> Any:  # fmt: skip
    """The smallest of the elements that are not NaN; the others have gradient zero."""
    return _extreme(reductions.min, math.inf, as_tensor(x, "nanmin"), axis, keepdims, initial, where)


@names_errors
def nancumsum(x: ArrayLike, axis: Axes = None, dtype: DTypeLike | None = None) -> Any:
    """The running sum along an axis in which NaN counts as 0 and has gradient zero.

    Args:
        x: an array.
        axis: the axis; None means the flattened array.
        dtype: the dtype in which to sum.

    Returns:
        The sums in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.nancumsum([1.0, float("nan"), 3.0])
        array([1., 1., 4.])
    """
    return outward(reductions.cumsum(replaced(as_tensor(x, "nancumsum"), 0), axis, dtype), x)


@names_errors
def nancumprod(x: ArrayLike, axis: Axes = None, dtype: DTypeLike | None = None) -> Any:
    """The running product along an axis in which NaN counts as 1 and has gradient zero.

    Args:
        x: an array.
        axis: the axis; None means the flattened array.
        dtype: the dtype in which to multiply.

    Returns:
        The products in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.nancumprod([2.0, float("nan"), 3.0])
        array([2., 2., 6.])
    """
    return outward(reductions.cumprod(replaced(as_tensor(x, "nancumprod"), 1), axis, dtype), x)


def _place(name: str, word: str, find: Callable[..., Tensor], neutral: float, at: int) -> Callable[..., Any]:
    def function(x: ArrayLike, axis: Axes = None, keepdims: bool = False) -> Any:
        a = as_tensor(x, name)
        mask = numbers_in(a)
        places = find(replaced(a, neutral), axis, keepdims)
        if mask is not True:
            places = D.place_of_number(S.select(reductions.any(mask, axis, keepdims), places, S.fill(places, -1)))
        return outward(places, x)

    named(function, name)
    function = names_errors(function)
    function.__doc__ = f"""The index of the {word} element that is not NaN, the first of equal ones.

    Args:
        x: an array of real values.
        axis: the axis; None means the flattened array.
        keepdims: whether the axis stays, with extent 1.

    Returns:
        Integers (int64) in x's kind, constants to a gradient.

    Raises:
        ValueError: where all elements of a slice are NaN (where JAX or XLA compile, -1 stands there).

    Example:
        >>> import wengert as wg
        >>> print(wg.ops.{name}([float("nan"), 1.0, 3.0]))
        {at}
    """
    return function


nanargmax = _place("nanargmax", "largest", reductions.argmax, -math.inf, 2)
nanargmin = _place("nanargmin", "smallest", reductions.argmin, math.inf, 1)

# -- quantiles ---------------------------------------------------------------------------------------------------------


@names_errors
def nanquantile(x: ArrayLike, q: ArrayLike, axis: Axes = None, method: str = "linear", keepdims: bool = False) -> Any:
    """The q-th quantiles of the elements that are not NaN.

    At kinks: as `quantile`.

    Args:
        x: an array of real values.
        q: numbers between 0 and 1.
        axis: the axis or axes; None means all.
        method: "linear", "lower", "higher", "midpoint" or "nearest" (halves to the even place).
        keepdims: whether the axes stay, with extent 1.

    Returns:
        The quantiles in x's kind, with the axes of q first; NaN where all elements are NaN.

    Raises:
        ValueError: for an unknown method, or q outside of 0 to 1.

    Example:
        >>> import wengert as wg
        >>> print(wg.ops.nanquantile([1.0, 2.0, float("nan"), 4.0], 0.25))
        1.5
    """
    require_method(method, "nanquantile")
    a, share = promotion.with_doubles(as_tensor(x, "nanquantile")), as_tensor(q, "nanquantile")
    require_shares(q, "nanquantile")
    none = of_nothing(a, axis, keepdims, "nanquantile")
    if none is not None:
        return outward(promotion.broadcast(none, (*share.shape, *none.shape)), x, q)
    axes = normal_axes(axis, a.ndim, "nanquantile")
    line = in_columns(a, axes)
    result = at_shares(share, a.dtype, lambda share: _at_shares_of_columns(line, share, method))
    return outward(reshaped(result, (*share.shape, *S.kept(a.shape, axes))) if keepdims else result, x, q)


def _ordered(line: Tensor) -> tuple[Tensor, Tensor]:
    """The columns of an array in ascending order, NaN last, and the last place of a number in each."""
    ordered = O.sort(line, axis=0, descending=False)
    if type(line.shape[0]) is dims.Dim:  # which may be 0 in a run
        nothing = S.full(shape=(1, *line.shape[1:]), value=math.nan, dtype=line.dtype)
        ordered = S.concatenate(ordered, nothing, axis=0)
    count = reductions.count_nonzero(numbers_in(line), axis=0)
    return ordered, reductions.max(S.sub(count, S.fill(count, 1)), axis=(), initial=0)


def _at_shares_of_columns(line: Tensor, share: Tensor, method: str) -> Tensor:
    """The quantiles of the columns of an array, each of its own number of elements."""
    ordered, last = _ordered(line)
    rest = tuple(line.shape[1:])
    shape = (dims.size_of(tuple(share.shape)), *rest)
    top = promotion.broadcast(last, shape)
    shares = promotion.broadcast(reshaped(share, (shape[0], *(1,) * len(rest))), shape)
    place = multiply(shares, promotion.cast(top, share.dtype))
    result = interpolated(place, top, method, lambda i: take_along_axis(ordered, i, axis=0))
    return reshaped(result, (*share.shape, *rest))


@names_errors
def nanpercentile(x: ArrayLike, q: ArrayLike, axis: Axes = None, method: str = "linear", keepdims: bool = False) -> Any:
    """The q-th percentiles of the elements that are not NaN: quantiles of q / 100.

    At kinks: as `quantile`.

    Args:
        x: an array of real values.
        q: numbers between 0 and 100.
        axis: the axis or axes; None means all.
        method: as in `quantile`.
        keepdims: whether the axes stay, with extent 1.

    Returns:
        The percentiles in x's kind, with the axes of q first; NaN where all elements are NaN.

    Example:
        >>> import wengert as wg
        >>> print(wg.ops.nanpercentile([1.0, 2.0, float("nan"), 4.0], 25))
        1.5
    """
    require_shares(q, "nanpercentile", 100)
    share = S.times_number(as_float(as_tensor(q, "nanpercentile")), number=0.01)
    return outward(nanquantile(as_tensor(x, "nanpercentile"), share, axis, method, keepdims), x, q)


@names_errors
def nanmedian(x: ArrayLike, axis: Axes = None, keepdims: bool = False) -> Any:
    """The median of the elements that are not NaN.

    At kinks: of equal elements one has the gradient, as a stable sort orders them.

    Args:
        x: an array of real values.
        axis: the axis or axes; None means all.
        keepdims: whether the axes stay, with extent 1.

    Returns:
        The medians in x's kind; NaN where all elements are NaN.

    Example:
        >>> import wengert as wg
        >>> print(wg.ops.nanmedian([3.0, float("nan"), 2.0]))
        2.5
    """
    a = as_tensor(x, "nanmedian")
    a = a if dtypes.is_inexact(a.dtype) else promotion.cast(a, dtypes.default_float())
    none = of_nothing(a, axis, keepdims, "nanmedian")
    if none is not None:
        return outward(none, x)
    axes = normal_axes(axis, a.ndim, "nanmedian")
    ordered, last = _ordered(in_columns(a, axes))
    found = middle(reshaped(last, (1, *last.shape)), lambda i: take_along_axis(ordered, i, axis=0))
    return outward(reshaped(found, S.kept(a.shape, axes) if keepdims else tuple(last.shape)), x)


__all__ = [
    "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile",
    "nanprod", "nanquantile", "nanstd", "nansum", "nanvar",
]  # fmt: skip
