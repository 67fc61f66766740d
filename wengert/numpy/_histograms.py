"""NumPy's histograms. Counts are constants to a gradient; sums of weights, edges and densities have theirs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import ops
from .._core import dtypes
from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..ops.histograms import bins_of, edges_between
from ..ops.promotion import as_tensor, doubled, is_symbolic, with_doubles
from ..ops.shapes import known_extent
from ._decorators import as_numpy
from ._shapes import diff, ravel


def _edges(x: Tensor, bins: ArrayLike, bounds: Any, weights: Any, name: str) -> Tensor:
    """The edges of bins: those given, or of one width between the bounds."""
    if not isinstance(bins, (str, int, np.integer)):
        edges = as_tensor(bins, name)
        if edges.ndim == 0:
            return _edges(x, int(edges), bounds, weights, name)
        if edges.ndim != 1:
            raise ValueError(at_user_line(f"np.{name}: bins have shape {edges.shape}; wanted a number or one axis"))
        if not is_symbolic(edges) and np.any(np.diff(ops.stop_gradient(edges).numpy()) < 0):
            raise ValueError(at_user_line(f"np.{name}: the edges of bins must ascend"))
        return edges
    if isinstance(bins, str):
        x._require_concrete(f"np.{name}(bins={bins!r})")
        bins = len(np.histogram_bin_edges(ops.stop_gradient(x).numpy(), bins, bounds, weights)) - 1
    if bins < 1:
        raise ValueError(at_user_line(f"np.{name}: bins must be positive, got {bins}"))
    low, high = _bounds(x, bounds, name)
    return edges_between(low, high, int(bins))


def _bounds(x: Tensor, bounds: Sequence[Any] | None, name: str) -> tuple[Tensor, Tensor]:
    """The lowest and the highest edge: given ones, or the least and the largest element."""
    if bounds is None and x.size == 0:
        bounds = (0.0, 1.0)
    low, high = (ops.min(x), ops.max(x)) if bounds is None else (as_tensor(bound, name) for bound in bounds)
    if bounds is not None and not (is_symbolic(low) or is_symbolic(high)) and bool(low > high):
        raise ValueError(at_user_line(f"np.{name}: range {bounds} does not ascend"))
    return with_doubles(low), with_doubles(high)


def _added_up(places: Tensor, weights: Any, count: int, name: str) -> Tensor:
    """How many elements, or which weight, each bin has."""
    if weights is None:
        return ops.segment_sum(ops.ones(places.shape, "int64"), places, num_segments=count)
    heavy = ravel(as_tensor(weights, name))
    if heavy.shape != places.shape:
        raise ValueError(at_user_line(f"np.{name}: weights have shape {heavy.shape}; wanted that of a, {places.shape}"))
    heavy = ops.cast(heavy, dtypes.int64) if heavy.dtype == dtypes.bool_ else heavy
    return ops.segment_sum(heavy, places, num_segments=count)


@as_numpy
def histogram_bin_edges(
    a: ArrayLike, bins: ArrayLike = 10, range: Sequence[Any] | None = None, weights: ArrayLike | None = None
) -> Any:
    """The edges of a histogram's bins, from the least to the largest element unless they are given.

    Example:
        >>> import wengert.numpy as np
        >>> np.histogram_bin_edges([0.0, 4.0], 2)
        array([0., 2., 4.])
    """
    heavy = None if weights is None else ops.stop_gradient(as_tensor(weights, "histogram_bin_edges")).numpy()
    return _edges(ravel(as_tensor(a, "histogram_bin_edges")), bins, range, heavy, "histogram_bin_edges")


@as_numpy
def histogram(
    a: ArrayLike,
    bins: ArrayLike = 10,
    range: Sequence[Any] | None = None,
    density: bool | None = None,
    weights: ArrayLike | None = None,
) -> Any:
    """How many elements lie in each bin, or the sum of their weights, and the edges. Differentiable in the weights;
    the edges are differentiable in the bounds, or in the extreme elements.

    Example:
        >>> import wengert.numpy as np
        >>> [part.tolist() for part in np.histogram([0.0, 1.0, 4.0], 2)]
        [[2, 1], [0.0, 2.0, 4.0]]
    """
    x = ravel(as_tensor(a, "histogram"))
    edges = _edges(x, bins, range, None, "histogram")
    counts = _added_up(bins_of(x, edges), weights, known_extent(edges, 0, "np.histogram") - 1, "histogram")
    if density:
        counts = ops.divide(ops.divide(counts, diff(edges)), ops.sum(counts))
    return counts, edges


@as_numpy
def histogramdd(
    sample: ArrayLike,
    bins: Any = 10,
    range: Sequence[Any] | None = None,
    density: bool | None = None,
    weights: ArrayLike | None = None,
) -> Any:
    """The histogram of points in several dimensions, the columns of `sample`. Differentiable in the weights.

    Example:
        >>> import wengert.numpy as np
        >>> np.histogramdd([[0.0, 0.0], [1.0, 1.0]], 2)[0].tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    points = _points(sample)
    count, width = points.shape
    many = [bins] * width if isinstance(bins, (int, np.integer)) else [*bins]
    bounds = [None] * width if range is None else [*range]
    if len(many) != width or len(bounds) != width:
        raise ValueError(
            at_user_line(f"np.histogramdd: {width} coordinates, got bins for {len(many)} and ranges for {len(bounds)}")
        )
    edges = [
        _edges(points[:, i], number, bound, None, "histogramdd")
        for i, (number, bound) in enumerate(zip(many, bounds, strict=True))
    ]
    shape = (*[known_extent(line, 0, "np.histogramdd") - 1 for line in edges],)
    place, is_inside = ops.zeros((count,), "int64"), ops.ones((count,), "bool")
    for i, line in enumerate(edges):
        along = bins_of(points[:, i], line)
        is_inside = ops.logical_and(is_inside, along >= 0)
        place = ops.add(ops.multiply(place, shape[i]), along)
    sums = _added_up(ops.where(is_inside, place, -1), weights, math.prod(shape), "histogramdd")
    if not dtypes.is_inexact(sums.dtype):
        sums = ops.cast(sums, dtypes.float64)
    sums = ops.reshape(sums, shape)
    if density:
        for i, line in enumerate(edges):
            extents = [1] * width
            extents[i] = shape[i]
            sums = ops.divide(sums, ops.reshape(diff(line), extents))
        sums = ops.divide(sums, ops.sum(_added_up(ops.where(is_inside, 0, -1), weights, 1, "histogramdd")))
    return sums, (*edges,)


def _points(sample: ArrayLike) -> Tensor:
    """Points as rows; a sequence of arrays holds coordinates, as NumPy reads it."""
    x = as_tensor(sample, "histogramdd")
    if isinstance(sample, (list, tuple)) and x.ndim == 2 and any(getattr(row, "ndim", 0) == 1 for row in sample):
        x = ops.transpose(x)
    if x.ndim == 1:
        x = ops.reshape(x, (-1, 1))
    if x.ndim != 2:
        raise ValueError(at_user_line(f"np.histogramdd: sample has shape {x.shape}; wanted points as rows"))
    return x


@as_numpy
def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: Any = 10,
    range: Sequence[Any] | None = None,
    density: bool | None = None,
    weights: ArrayLike | None = None,
) -> Any:
    """The histogram of points in the plane, and the edges in x and in y. Differentiable in the weights.

    Example:
        >>> import wengert.numpy as np
        >>> np.histogram2d([0.0, 1.0], [0.0, 1.0], 2)[0].tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    first, second = as_tensor(x, "histogram2d"), as_tensor(y, "histogram2d")
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(
            at_user_line(
                f"np.histogram2d: x has shape {first.shape} and y {second.shape}; wanted vectors of one length"
            )
        )
    given: list[Any] = [bins] if isinstance(bins, (int, np.integer, str)) or len(bins) not in (1, 2) else [*bins]
    both = given * (3 - len(given))
    sums, (along_x, along_y) = histogramdd(ops.stack([first, second], axis=1), both, range, density, weights)
    return doubled(sums), along_x, along_y


__all__ = ["histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]
