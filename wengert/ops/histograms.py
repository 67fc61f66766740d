"""Histograms of equal bins, and the bins in which values lie."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import structural as S
from . import promotion
from .creation import linspace
from .elementwise import add, equal, greater_equal, less_equal, logical_and, subtract
from .indexing import where
from .ordering import searchsorted, segment_sum
from .promotion import as_float, as_tensor, names_errors, outward
from .reductions import max as largest
from .reductions import min as smallest
from .shapes import flat


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


__all__ = ["histogram"]
