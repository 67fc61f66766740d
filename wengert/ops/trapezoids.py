"""Integrals of samples by the trapezoidal rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from . import promotion
from .elementwise import add, divide, multiply, subtract
from .promotion import as_float, as_tensor, normal_axis, public
from .reductions import cumsum
from .reductions import sum as total
from .shapes import joined, reshaped


@public
def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1) -> Any:
    """The integral of samples by the trapezoidal rule.

    Args:
        y: the samples.
        x: their places, a vector or an array that broadcasts with y; None means `dx` apart. Differentiable.
        dx: the distance of places; differentiable.
        axis: the axis along which to integrate.

    Returns:
        The integrals in the kind of array that came in; integers give floats.

    Example:
        >>> import wengert as wg
        >>> float(wg.ops.trapezoid([1.0, 2.0, 3.0]))
        4.0
    """
    values = as_float(as_tensor(y, "trapezoid"))
    place = normal_axis(axis, values.ndim, "trapezoid")
    return total(trapezoids(values, x, dx, place, "trapezoid"), axis=place)


def trapezoids(values: Tensor, x: ArrayLike | None, dx: ArrayLike, place: int, what: str) -> Tensor:
    """The areas between neighbouring samples."""
    gaps = dx
    if x is not None:
        places = as_tensor(x, what)
        own = 0 if places.ndim == 1 else normal_axis(place - values.ndim, places.ndim, what)
        gaps = _paired(subtract, places, own)
        if places.ndim == 1:
            gaps = reshaped(gaps, (*[gaps.shape[0] if i == place else 1 for i in range(values.ndim)],))
    return divide(multiply(gaps, _paired(add, values, place)), 2.0)


@public
def cumulative_trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: Any = 1.0, axis: int = -1, initial: ArrayLike | None = None
) -> Any:
    """The running integral of samples by the trapezoidal rule, as `scipy.integrate.cumulative_trapezoid`.

    Args:
        y: the samples.
        x: their places, a vector or an array that broadcasts with y; None means `dx` apart. Differentiable.
        dx: the distance of places; differentiable.
        axis: the axis along which to integrate.
        initial: a number to put before all, which makes the result as long as y; None means nothing.

    Returns:
        The integrals from the first sample to each later one, in the kind of array that came in; integers give floats.

    Example:
        >>> import wengert as wg
        >>> wg.ops.cumulative_trapezoid([1.0, 2.0, 3.0], initial=0)
        array([0. , 1.5, 4. ])
    """
    values = as_float(as_tensor(y, "cumulative_trapezoid"))
    place = normal_axis(axis, values.ndim, "cumulative_trapezoid")
    found = cumsum(trapezoids(values, x, dx, place, "cumulative_trapezoid"), axis=place)
    if initial is None:
        return found
    first = promotion.cast(as_tensor(initial, "cumulative_trapezoid"), found.dtype)
    shape = (*[1 if i == place else d for i, d in enumerate(found.shape)],)
    return joined([promotion.broadcast(first, shape), found], place)


def _paired(combine: Callable[..., Any], x: Tensor, axis: int) -> Tensor:
    """Each element combined with the one before it."""
    before = (slice(None),) * axis  # slices, which a length of 0 that only a call tells suits as well
    return combine(x[(*before, slice(1, None))], x[(*before, slice(None, -1))])


__all__ = ["cumulative_trapezoid", "trapezoid"]
