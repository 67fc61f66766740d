"""Small ops of Keras that are made of others: histogram, multi_hot, saturate_cast, psnr, argpartition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.argument_types import ArrayLike, Axes, DTypeLike, ShapeLike
from .._core.tensor import Tensor
from .._core.where import at_user_line
from .._prims import elementwise as E
from .._prims import structural as S
from . import promotion
from .creation import linspace, one_hot
from .elementwise import add, equal, greater_equal, less_equal, logical_and, subtract
from .indexing import argsort, where
from .ordering import searchsorted, segment_sum
from .piecewise import clip
from .promotion import as_float, as_tensor, names_errors, outward, public
from .reductions import max as largest
from .reductions import mean
from .reductions import min as smallest
from .shapes import flat
from .subscript import known_places


@names_errors
def histogram(x: ArrayLike, bins: int = 10, range: tuple[Any, ...] | None = None) -> Any:
    """How many elements lie in each of a number of bins of one width.

    Args:
        x: an array of real values.
        bins: the number of bins.
        range: the pair (lowest edge, highest edge), both inside; the smallest and the largest element if None.

    Returns:
        The counts (bins,) as floats, and the edges (bins + 1,), constants to a gradient, in x's kind.

    Raises:
        ValueError: if `bins` is not a positive integer, or for a range that does not ascend.

    Example:
        >>> import wengert as wg
        >>> wg.ops.histogram([0.0, 1.0, 1.5, 4.0], bins=2)
        (array([3., 1.]), array([0., 2., 4.]))
    """
    if not isinstance(bins, (int, np.integer)) or bins < 1:
        raise ValueError(at_user_line(f"histogram: bins must be a positive integer, got {bins!r}"))
    a = S.stop_gradient(flat(as_float(as_tensor(x, "histogram"))))
    if range is not None and (not isinstance(range, (tuple, list)) or len(range) != 2):
        raise TypeError(at_user_line(f"histogram: range is {range!r}, wanted a pair of numbers"))
    if range is not None and not range[0] <= range[1]:
        raise ValueError(at_user_line(f"histogram: range {range} does not ascend"))
    low, high = (smallest(a), largest(a)) if range is None else (as_tensor(v, "histogram") for v in range)
    low, high = promotion.cast(low, a.dtype), promotion.cast(high, a.dtype)
    edges = edges_between(low, high, int(bins))
    counts = segment_sum(S.fill(a, 1), bins_of(a, edges), num_segments=int(bins))
    return outward((counts, edges), x)


def edges_between(low: Tensor, high: Tensor, count: int) -> Tensor:
    """The edges of bins of one width; a single value has bins around it."""
    is_point = equal(low, high)
    return linspace(where(is_point, subtract(low, 0.5), low), where(is_point, add(high, 0.5), high), count + 1)


def bins_of(x: Tensor, edges: Tensor) -> Tensor:
    """The number of the bin of each element, -1 outside; the last bin has its upper edge."""
    low, high = edges[0], edges[-1]
    place = subtract(searchsorted(edges, x, side="right"), 1)
    place = where(equal(x, high), edges.shape[0] - 2, place)
    return where(logical_and(greater_equal(x, low), less_equal(x, high)), place, -1)


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


@public
def saturate_cast(x: ArrayLike, dtype: DTypeLike) -> Any:
    """x in another dtype, with what lies beyond that dtype's range at its nearest bound.

    At kinks: the gradient is 0 for what was moved, and on the bounds themselves it passes.

    Args:
        x: an array of real values.
        dtype: the dtype.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.saturate_cast([-1.0, 300.0], "uint8")
        array([  0, 255], dtype=uint8)
    """
    a, wanted = as_tensor(x, "saturate_cast"), dtypes.as_dtype(dtype)
    if dtypes.bool_ in (a.dtype, wanted) or dtypes.is_complex(a.dtype) or dtypes.is_complex(wanted):
        return promotion.cast(a, wanted)
    low, high = (_inward(a.dtype, bound) for bound in _range_of(wanted))
    ours = _range_of(a.dtype)
    if low > ours[0] or high < ours[1]:
        a = clip(a, max(low, ours[0]), min(high, ours[1]))
    return promotion.cast(a, wanted)


def _range_of(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    if dtypes.is_integer(dtype):
        return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    top = (2 - 2.0**-7) * 2.0**127 if dtype == dtypes.bfloat16 else float(np.finfo(dtype).max)
    return -top, top


def _inward(dtype: np.dtype[Any], bound: Any) -> Any:
    """The bound, or the float next to it on the inner side where a float dtype has no such number."""
    if dtypes.is_integer(dtype):
        return bound if isinstance(bound, int) else math.trunc(bound)
    with np.errstate(over="ignore"):
        near = np.asarray(bound).astype(dtype)
    if abs(int(near) if np.isfinite(near) and isinstance(bound, int) else float(near)) > abs(bound):
        near = np.nextafter(near, np.asarray(0, dtype))
    return float(near)


@names_errors
def psnr(x1: ArrayLike, x2: ArrayLike, max_val: ArrayLike) -> Any:
    """The peak signal-to-noise ratio of two images in decibels: 20 log10(max_val) - 10 log10(mean square difference).

    At kinks: of equal images the ratio is inf, and the gradient NaN.

    Args:
        x1: an array of real values.
        x2: an array of the same shape.
        max_val: the largest possible value.

    Returns:
        One number in the kind of array that came in.

    Raises:
        ValueError: for arrays of different shapes.

    Example:
        >>> import wengert as wg
        >>> print(wg.ops.psnr([0.0, 1.0], [0.0, 0.0], 1.0).round(4))
        3.0103
    """
    a, b = as_float(as_tensor(x1, "psnr")), as_float(as_tensor(x2, "psnr"))
    if a.shape != b.shape:
        raise ValueError(at_user_line(f"psnr: x1 has shape {a.shape} and x2 has shape {b.shape}"))
    a, b = promotion.meet(a, b, "psnr")
    noise = E.log10(mean(E.square(S.sub(a, b))))
    peak = E.log10(promotion.cast(as_tensor(max_val, "psnr"), a.dtype))
    ratio = promotion.binary(S.sub, S.times_number(peak, number=20.0), S.times_number(noise, number=10.0))
    return outward(ratio, x1, x2, max_val)


@public
def argpartition(x: ArrayLike, kth: Any, axis: Axes = -1) -> Any:
    """An order of elements in which the kth is where sorting puts it, those before are not larger and those after not
    smaller. Here it is the stable order of sorting.

    Args:
        x: an array of real values.
        kth: the place, or several.
        axis: the axis; None means the flattened array.

    Returns:
        Positions (int64) in x's kind, constants to a gradient.

    Raises:
        ValueError: for a place out of range.

    Example:
        >>> import wengert as wg
        >>> wg.ops.argpartition([3.0, 1.0, 2.0], 0)[0]
        np.int64(1)
    """
    a = as_tensor(x, "argpartition")
    require_places(kth, a, axis, "argpartition")
    return argsort(a, axis)


def require_places(kth: ShapeLike, x: Tensor, axis: Axes, what: str) -> None:
    """Refuses a place beyond the elements."""
    size = x.size if axis is None else x.shape[promotion.normal_axis(axis, x.ndim, what)]
    if type(size) is int and any(not -size <= k < size for k in np.ravel(known_places(kth, what)).tolist()):
        raise ValueError(at_user_line(f"{what}: kth is {kth}, out of range for {size} elements along axis {axis}"))


__all__ = ["argpartition", "histogram", "multi_hot", "psnr", "saturate_cast"]
