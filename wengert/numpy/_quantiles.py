"""What NumPy's quantiles have beyond `wg.ops.quantile`: the methods of Hyndman and Fan, and weights.

Each method names a place among the sorted elements; a place between two is interpolated by `wg.ops.quantile`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from .._core.argument_types import ArrayLike, Axes
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..ops.ordering import in_columns, interpolated
from ..ops.promotion import as_float, as_ndarray, as_tensor, is_tensor_like, normal_axes
from ..ops.shapes import known_extent

# alpha and beta of Hyndman and Fan's continuous methods, numbers 4 to 9 (7 is "linear")
_CONTINUOUS = {
    "interpolated_inverted_cdf": (0.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
}  # fmt: skip
_STEPPED = ("inverted_cdf", "averaged_inverted_cdf", "closest_observation")
FURTHER = (*_CONTINUOUS, *_STEPPED)


def quantile_by(method: str, x: Tensor, q: ArrayLike, axis: Axes, keepdims: bool, skip: bool) -> Any:
    """The quantiles by one of the further methods; `skip` leaves NaN out."""
    axes = normal_axes(axis, x.ndim, "quantile")
    if skip:
        return _without_missing(method, x, q, axes, keepdims)
    count = math.prod([known_extent(x, i, "np.quantile") for i in axes])
    share = as_float(as_tensor(q, "quantile"))
    return _by_places(method, share, q, count, lambda place, way: _at_place(x, place, count, axes, keepdims, way))


def _by_places(method: str, share: Tensor, q: ArrayLike, count: Any, at: Callable[[Tensor, str], Any]) -> Any:
    """The quantiles, where `at` gives what lies at a place among the sorted elements."""
    if method in _CONTINUOUS:
        alpha, beta = _CONTINUOUS[method]
        return at(share * (count + 1 - alpha - beta) + (alpha - 1), "linear")
    # The steps are constant in q between jumps, which are no place to differentiate at.
    shares = np.reshape(_shares(q, "quantile"), share.shape)
    exact = count * shares - (1.5 if method == "closest_observation" else 1.0)
    below = np.floor(exact)
    is_jump = exact == below
    if method == "closest_observation":
        is_jump = is_jump & (below % 2 == 1)
    first = at(as_tensor(np.where(is_jump, below, below + 1)), "nearest")
    if method != "averaged_inverted_cdf":
        return first
    return (first + at(as_tensor(below + 1), "nearest")) / 2


def _without_missing(method: str, x: Tensor, q: ArrayLike, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The quantiles of what is not NaN, which sorts last: each column has its own number of elements."""
    share, line = as_float(as_tensor(q, "nanquantile")), in_columns(as_float(x), axes)
    rest = tuple(line.shape[1:])
    ordered = ops.sort(line, axis=0)
    count = ops.sum(ops.logical_not(ops.isnan(line)), axis=0)
    top = ops.maximum(count - 1, 0)

    def at(place: Tensor, way: str) -> Tensor:
        tops = ops.broadcast_to(top, place.shape)
        inside = ops.maximum(ops.minimum(place, ops.cast(tops, place.dtype)), 0.0)
        return interpolated(inside, tops, way, lambda i: ops.take_along_axis(ordered, i, axis=0))

    rows = ops.reshape(share, (-1, *(1,) * len(rest)))
    result = _by_places(method, rows, q, ops.cast(count, share.dtype), at)
    kept = tuple(1 if i in axes else x.shape[i] for i in range(x.ndim)) if keepdims else rest
    return ops.reshape(result, (*share.shape, *kept))


def _at_place(x: Tensor, place: Tensor, count: int, axes: Axes, keepdims: bool, method: str) -> Any:
    share = ops.clip(place, 0, count - 1) / max(count - 1, 1)
    return ops.quantile(x, ops.clip(share, 0.0, 1.0), axes, method, keepdims)


def weighted(
    name: str, x: Tensor, q: ArrayLike, axis: Axes, method: str, weights: ArrayLike, keepdims: bool, skip: bool
) -> Any:
    """The least elements whose share of the weight, with all before them, reaches q. They have the gradient.

    `skip` leaves NaN out; otherwise a NaN makes the result NaN.
    """
    if method != "inverted_cdf":
        raise ValueError(at_user_line(f"np.{name}: method is {method!r}; with weights it has to be 'inverted_cdf'"))
    heavy, axes = as_tensor(weights, name), normal_axes(axis, x.ndim, name)
    if heavy.shape != x.shape:
        if heavy.ndim != 1 or len(axes) != 1 or heavy.shape[0] != x.shape[axes[0]]:
            raise ValueError(
                at_user_line(
                    f"np.{name}: weights have shape {heavy.shape}; wanted that of a, {x.shape}, or one weight for each "
                    f"place along one axis"
                )
            )
        heavy = ops.broadcast_to(ops.reshape(heavy, (-1, *(1,) * (x.ndim - axes[0] - 1))), x.shape)
    line, heavy = in_columns(as_float(x), axes), ops.stop_gradient(in_columns(as_float(heavy), axes))
    is_missing = ops.isnan(line)
    if skip:
        heavy = ops.where(is_missing, 0.0, heavy)
    order = ops.argsort(line, axis=0)
    ordered, heavy = ops.take_along_axis(line, order, axis=0), ops.take_along_axis(heavy, order, axis=0)
    reached = ops.cumsum(heavy, axis=0)
    reached = reached / reached[-1:]
    shares = _shares(q, name)
    rows: list[Tensor] = []
    for share in shares.flat:
        is_before = ops.logical_or(reached < float(share), reached == 0.0)
        place = ops.minimum(ops.sum(is_before, axis=0, keepdims=True), line.shape[0] - 1)
        rows.append(ops.take_along_axis(ordered, place, axis=0)[0])
    result = ops.stack(rows)
    if not skip:
        result = ops.where(ops.any(is_missing, axis=0), np.nan, result)
    rest = [1 if i in axes else x.shape[i] for i in range(x.ndim)] if keepdims else result.shape[1:]
    return ops.reshape(result, (*shares.shape, *rest))


def _shares(q: ArrayLike, name: str) -> np.ndarray[Any, Any]:
    """The shares as numbers between 0 and 1; the result does not change with them but at jumps."""
    if is_tensor_like(q):
        share = as_tensor(q, name)
        share._require_concrete(f"np.{name}")
        values = ops.stop_gradient(share).numpy()
    else:
        values = as_ndarray(q, name).astype(float)
    if not np.all((values >= 0) & (values <= 1)):
        raise ValueError(at_user_line(f"np.{name}: q must lie between 0 and 1"))
    return values
