"""`scale_and_translate`: axes scaled and moved by any numbers, which are differentiable, too."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..._core.argument_types import ArrayLike, DTypeLike
from ..._core.tensor import Tensor
from ..._core.user_line import at_user_line
from .. import promotion
from ..elementwise import abs as magnitude
from ..elementwise import add, divide, less, logical_and, multiply, subtract
from ..elementwise import greater_equal as at_least
from ..elementwise import less_equal as at_most
from ..indexing import where
from ..linalg import tensordot
from ..piecewise import maximum, sinc
from ..promotion import as_float, as_tensor, names_errors, normal_axes, outward
from ..reductions import sum as total
from ..shapes import known_extent, moved, part, reshaped


def _triangle(x: Tensor) -> Any:
    return maximum(subtract(1, x), 0)


def _cubic(x: Tensor) -> Any:
    """Keys's kernel, a = -1/2."""
    near = add(multiply(multiply(subtract(multiply(x, 1.5), 2.5), x), x), 1)
    far = add(multiply(subtract(multiply(add(multiply(x, -0.5), 2.5), x), 4), x), 2)
    return where(less(x, 1), near, where(less(x, 2), far, 0.0))


def _lanczos(radius: int) -> Any:
    return lambda x: where(less(x, radius), multiply(sinc(x), sinc(divide(x, radius))), 0.0)


_KERNELS: dict[str, Any] = {
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), _triangle),
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), _cubic),
    "lanczos3": _lanczos(3),
    "lanczos5": _lanczos(5),
}


def _weights(
    size: int, target: int, scale: ArrayLike, shift: Any, kernel: Any, antialias: bool, dtype: DTypeLike
) -> Tensor:
    """The matrix (target, size) that scales and moves an axis."""
    inverse = divide(1, scale)
    number, place = (promotion.cast(as_tensor(np.arange(n)), dtype) for n in (target, size))
    center = reshaped(subtract(multiply(subtract(add(number, 0.5), shift), inverse), 0.5), (target, 1))
    width = maximum(inverse, 1) if antialias else 1
    weights = kernel(divide(magnitude(subtract(center, place)), width))
    sums = total(weights, axis=1, keepdims=True)
    is_empty = less(magnitude(sums), 1000 * float(np.finfo(np.float32).eps))
    is_inside = logical_and(at_least(center, -0.5), at_most(center, size - 0.5))
    is_seen = logical_and(is_inside, where(is_empty, False, True))
    return where(is_seen, divide(weights, where(is_empty, 1.0, sums)), 0.0)


@names_errors
def scale_and_translate(
    images: ArrayLike, output_shape: Any, scale: Any, translation: Any, spatial_dims: Any, method: str,
    antialias: bool = True,
) -> Any:  # fmt: skip
    """Arrays scaled and moved along some axes: what was at x comes to scale * x + translation, pixels measured from
    their borders; what nothing comes to is 0.

    At kinks: "linear" has corners in scale and translation where a pixel's centre meets another's; there the half-way
    slope is given.

    Args:
        images: an array.
        output_shape: the shape of the result; axes that are not in `spatial_dims` keep their extent.
        scale: one factor for each spatial axis; differentiable.
        translation: one shift for each, in pixels of the result; differentiable.
        spatial_dims: the axes.
        method: "linear" (also "bilinear", "trilinear", "triangle"), "cubic" (also "bicubic", "tricubic"), "lanczos3"
            or "lanczos5".
        antialias: whether kernels widen where images get smaller.

    Returns:
        The array in the kind that came in; integers give floats.

    Raises:
        ValueError: for another method, or numbers that do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.ops.image.scale_and_translate([1.0, 3.0], (4,), [2.0], [0.0], [0], "linear")
        array([1. , 1.5, 2.5, 3. ])
    """
    what = "scale_and_translate"
    x = as_float(as_tensor(images, what))
    if method not in _KERNELS:
        raise ValueError(at_user_line(f"{what}: method is {method!r}, wanted one of {', '.join(_KERNELS)}"))
    axes = normal_axes(tuple(spatial_dims), x.ndim, what)
    shape = (*[operator.index(n) for n in output_shape],)
    factors, shifts = (promotion.cast(as_float(as_tensor(v, what)), x.dtype) for v in (scale, translation))
    kept = [i for i in range(x.ndim) if i not in axes]
    if len(shape) != x.ndim or any(shape[i] != x.shape[i] for i in kept):
        raise ValueError(at_user_line(f"{what}: output_shape is {shape} for images of shape {x.shape}, axes {axes}"))
    if tuple(factors.shape) != (len(axes),) or tuple(shifts.shape) != (len(axes),):
        raise ValueError(at_user_line(f"{what}: wanted one scale and one translation for each of the axes {axes}"))
    for i, axis in enumerate(axes):
        factor, shift = (reshaped(part(v, 0, i, i + 1), ()) for v in (factors, shifts))
        size = known_extent(x, axis, what)
        matrix = _weights(size, shape[axis], factor, shift, _KERNELS[method], bool(antialias), x.dtype)
        x = moved(tensordot(x, matrix, axes=([axis], [1])), x.ndim - 1, axis)
    return outward(x, images, scale, translation)


__all__ = ["scale_and_translate"]
