"""Normalisation with Keras's names, arguments and defaults."""

from __future__ import annotations

from typing import Any

from .._core.argument_types import ArrayLike, Axes
from .._core.tensor import Tensor
from .._prims import elementwise as E
from .._prims import structural as S
from . import promotion
from .elementwise import multiply
from .promotion import as_float, as_tensor, names_errors, normal_axes, normal_axis, number_of, outward
from .reductions import mean as average_of
from .reductions import var
from .shapes import reshaped


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


__all__ = ["batch_normalization", "rms_normalization", "layer_normalization"]
