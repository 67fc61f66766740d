"""Normalisation: with statistics that are given, of batches, groups, layers, and root mean squares."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._core.argument_types import ArrayLike, Axes
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import elementwise as E
from .._prims import structural as S
from . import promotion
from .elementwise import add, multiply, rsqrt, subtract
from .promotion import as_float, as_tensor, names_errors, normal_axes, normal_axis, number_of, outward
from .reductions import mean as average_of
from .reductions import var
from .shapes import known_extent, reshaped


def _beside(value: ArrayLike, x: Tensor, axes: tuple[int, ...], name: str) -> Tensor:
    """A vector (or array) over some axes of x, repeated along the others."""
    v = promotion.cast(as_tensor(value, name), x.dtype)
    shape = (*[d if i in axes else 1 for i, d in enumerate(x.shape)],)
    return promotion.broadcast(reshaped(v, shape) if v.ndim != x.ndim else v, tuple(x.shape))


@names_errors
def batch_normalization(
    x: ArrayLike,
    mean: ArrayLike,
    variance: ArrayLike,
    axis: int,
    offset: ArrayLike | None = None,
    scale: ArrayLike | None = None,
    epsilon: float = 1e-3,
) -> Any:
    """(x - mean) / sqrt(variance + epsilon), scaled and moved, with statistics that are given.

    Args:
        x: an array.
        mean: a vector along the axis.
        variance: a vector along the axis.
        axis: the axis.
        offset: a vector that is added, or None.
        scale: a vector that multiplies, or None.
        epsilon: what is added to the variance.

    Returns:
        An array of x's shape in the kind that came in. Gradients flow to all arrays.

    Example:
        >>> import wengert as wg
        >>> wg.ops.batch_normalization([[1.0, 2.0]], [1.0, 1.0], [1.0, 1.0], -1, epsilon=0.0)
        array([[0., 1.]])
    """
    a = as_float(as_tensor(x, "batch_normalization"))
    axes = (normal_axis(axis, a.ndim, "batch_normalization"),)
    spread = E.rsqrt(
        S.add_number(
            _beside(variance, a, axes, "batch_normalization"), number=number_of(epsilon, "batch_normalization: epsilon")
        )
    )
    if scale is not None:
        spread = S.mul(spread, _beside(scale, a, axes, "batch_normalization"))
    result = S.mul(S.sub(a, _beside(mean, a, axes, "batch_normalization")), spread)
    if offset is not None:
        result = S.add(result, _beside(offset, a, axes, "batch_normalization"))
    return outward(result, x, mean, variance, offset, scale)


@names_errors
def rms_normalization(
    x: ArrayLike, scale: ArrayLike | None = None, axis: Axes = -1, epsilon: ArrayLike | None = None
) -> Any:
    """x divided by the root of its mean square along axes.

    Args:
        x: an array.
        scale: an array over the axes that multiplies, or None.
        axis: the axis or axes.
        epsilon: what is added to the mean square; 1e-7 if None.

    Returns:
        An array of x's shape in the kind that came in.

    Example:
        >>> import wengert as wg
        >>> wg.ops.rms_normalization([3.0, 3.0]).round(6)
        array([1., 1.])
    """
    a = as_float(as_tensor(x, "rms_normalization"))
    axes = normal_axes(tuple(axis) if isinstance(axis, list) else axis, a.ndim, "rms_normalization")
    square = average_of(E.square(a), axes, keepdims=True)
    added = 1e-7 if epsilon is None else number_of(epsilon, "rms_normalization: epsilon")
    result = multiply(a, E.rsqrt(S.add_number(square, number=added)))
    if scale is not None:
        result = S.mul(result, _beside(scale, a, axes, "rms_normalization"))
    return outward(result, x, scale)


@names_errors
def layer_normalization(
    x: ArrayLike,
    gamma: ArrayLike | None = None,
    beta: ArrayLike | None = None,
    axis: Axes = -1,
    epsilon: ArrayLike | None = None,
) -> Any:
    """x with mean 0 and variance 1 along axes, scaled and moved.

    Args:
        x: an array.
        gamma: an array over the axes that multiplies, or None.
        beta: an array over the axes that is added, or None.
        axis: the axis or axes.
        epsilon: what is added to the variance; 1e-7 if None.

    Returns:
        An array of x's shape in the kind that came in.

    Example:
        >>> import wengert as wg
        >>> wg.ops.layer_normalization([1.0, 3.0], epsilon=0.0)
        array([-1.,  1.])
    """
    a = as_float(as_tensor(x, "layer_normalization"))
    axes = normal_axes(tuple(axis) if isinstance(axis, list) else axis, a.ndim, "layer_normalization")
    added = 1e-7 if epsilon is None else number_of(epsilon, "layer_normalization: epsilon")
    spread = E.rsqrt(S.add_number(var(a, axes, keepdims=True), number=added))
    centred = S.sub(a, promotion.broadcast(average_of(a, axes, keepdims=True), tuple(a.shape)))
    result = multiply(centred, spread)
    if gamma is not None:
        result = S.mul(result, _beside(gamma, a, axes, "layer_normalization"))
    if beta is not None:
        result = S.add(result, _beside(beta, a, axes, "layer_normalization"))
    return outward(result, x, gamma, beta)


def _standardised(a: Tensor, axes: tuple[int, ...], epsilon: ArrayLike) -> Tensor:
    spread = rsqrt(add(var(a, axes, keepdims=True), epsilon))
    return multiply(subtract(a, average_of(a, axes, keepdims=True)), spread)


def _dressed(a: Tensor, gamma: object, beta: ArrayLike | None, axis: int, what: str) -> Tensor:
    """Channels scaled and moved."""
    shape = (*[a.shape[axis] if i == axis else 1 for i in range(a.ndim)],)
    for value, combine in ((gamma, multiply), (beta, add)):
        if value is not None:
            a = combine(a, reshaped(promotion.cast(as_tensor(value, what), a.dtype), shape))
    return a


@names_errors
def group_normalization(
    x: ArrayLike,
    groups: int,
    gamma: ArrayLike | None = None,
    beta: ArrayLike | None = None,
    axis: int = -1,
    epsilon: float = 1e-3,
) -> Any:
    """Each example's channels, in groups, with mean 0 and variance 1 over a group and all places.

    Args:
        x: an array (batch, ..., channels).
        groups: into how many groups the channels are split; with as many as channels each stands alone, which is
            called instance normalisation.
        gamma: a vector over the channels that multiplies, or None.
        beta: a vector over the channels that is added, or None.
        axis: the axis of the channels.
        epsilon: what is added to the variance.

    Returns:
        An array of x's shape in the kind that came in.

    Raises:
        ValueError: if the groups do not divide the channels.

    Example:
        >>> import wengert as wg
        >>> wg.nn.group_normalization([[1.0, 3.0, 10.0, 10.0]], 2, epsilon=0.0001).round(3)
        array([[-1.,  1.,  0.,  0.]])
    """
    a = as_float(as_tensor(x, "group_normalization"))
    axis = normal_axis(axis, a.ndim, "group_normalization")
    channels = known_extent(a, axis, "group_normalization")
    if groups < 1 or channels % groups:
        raise ValueError(at_user_line(f"group_normalization: {groups} groups do not divide {channels} channels"))
    apart = reshaped(a, (*a.shape[:axis], groups, channels // groups, *a.shape[axis + 1 :]))
    axes = (*[i for i in range(1, apart.ndim) if i != axis],)
    result = reshaped(_standardised(apart, axes, epsilon), tuple(a.shape))
    return outward(_dressed(result, gamma, beta, axis, "group_normalization"), x, gamma, beta)


class BatchStatistics(NamedTuple):
    """A batch with mean 0 and variance 1, scaled and moved, beside its own mean and variance.

    `output` is the batch, in its own shape and dtype. `mean` is its mean over all axes but that of the features.
    `variance` is its variance over the same axes, without correction.
    """

    output: Any
    mean: Any
    variance: Any


@names_errors
def batch_statistics_normalization(
    x: ArrayLike, gamma: object = None, beta: ArrayLike | None = None, axis: int = -1, epsilon: float = 1e-3
) -> BatchStatistics:
    """Channels with mean 0 and variance 1 over the batch and all places: batch normalisation as in training, whose
    statistics are those of the batch itself, with gradients through them.

    Args:
        x: an array (batch, ..., channels).
        gamma: a vector over the channels that multiplies, or None.
        beta: a vector over the channels that is added, or None.
        axis: the axis of the channels.
        epsilon: what is added to the variance.

    Returns:
        `output`, and `mean` and `variance` of the channels for running averages, in the kind that came in.

    Example:
        >>> import wengert as wg
        >>> wg.nn.batch_statistics_normalization([[1.0], [3.0]]).mean
        array([2.])
    """
    a = as_float(as_tensor(x, "batch_statistics_normalization"))
    axis = normal_axis(axis, a.ndim, "batch_statistics_normalization")
    axes = (*[i for i in range(a.ndim) if i != axis],)
    centre, spread = average_of(a, axes), var(a, axes)
    result = _dressed(_standardised(a, axes, epsilon), gamma, beta, axis, "batch_statistics_normalization")
    return outward(BatchStatistics(result, centre, spread), x, gamma, beta)


__all__ = [
    "BatchStatistics",
    "batch_normalization",
    "batch_statistics_normalization",
    "group_normalization",
    "layer_normalization",
    "rms_normalization",
]
