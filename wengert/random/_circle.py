"""Draws of angles: von Mises's numbers, the quantile of uniform ones."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from .._core.argument_types import ArrayLike, DTypeLike, ShapeLike
from .._core.tensor import Tensor
from .._prims import structural as S
from ..ops import promotion
from ..ops.draws import key_of, open_unit
from ..ops.elementwise import add, arcsin, divide, exp, multiply, negative, sin, sqrt, subtract
from ..ops.indexing import where
from ..ops.piecewise import clip, maximum, minimum
from ..ops.promotion import as_tensor, names_errors
from ..ops.reductions import sum as total
from ..ops.shapes import expand_dims
from ..special import i0e, ndtri
from ._families import drawn_for

# Halley's steps, by a coarse rule for the mass: enough for every concentration that the next ones start near
_COARSE_STEPS, _COARSE_NODES = 5, 16
# Newton's, by a fine rule, which are recorded: each doubles the order to which derivatives are exact, 3 in the end
_FINE_STEPS, _FINE_NODES = 2, 48
_CONCENTRATED = 1.5  # from here on the guess is that of a normal number
_BEYOND = 20.0  # e^-40 of the density is less than a rounding error of the mass beyond it


@names_errors
def vonmises(
    key: ArrayLike, kappa: ArrayLike, shape: ShapeLike | None = None, dtype: DTypeLike | None = None
) -> Tensor:
    """Von Mises's angles about 0; add a direction to turn them. Their gradient in `kappa` is that of the quantile.

    Derivatives are exact to the third order.

    Args:
        key: a key.
        kappa: the concentration, positive numbers.
        shape: the shape; None means that of `kappa`, which broadcasts to it.
        dtype: a floating dtype; None means that of `kappa`.

    Returns:
        A tensor of angles from -pi to pi.

    Raises:
        TypeError: for a dtype that is not a floating one.
        ValueError: for shapes that do not fit.

    Example:
        >>> import wengert as wg
        >>> x = wg.random.vonmises(wg.random.key(7), 4.0, (2000,))
        >>> abs(wg.cos(x).mean().item() - 0.8635) < 0.01
        True
        >>> g = wg.grad(lambda kappa: wg.sum(wg.cos(wg.random.vonmises(wg.random.key(7), kappa, (100,)))))
        >>> bool(g(4.0) > 0)
        True
    """
    (spread,), wanted = drawn_for((kappa,), shape, dtype, "vonmises")
    u = open_unit(key_of(key, "vonmises"), tuple(spread.shape), spread.dtype)
    share = minimum(u, subtract(1.0, u))  # of the lower half
    low = _quantile(spread, share)
    return promotion.cast(where(u < 0.5, low, negative(low)), wanted)


def _quantile(kappa: Tensor, share: Tensor) -> Tensor:
    """The angle from -pi to 0 below which a share of the distribution lies."""
    fixed = S.stop_gradient(kappa)
    angle = _guess(fixed, share)
    for _ in range(_COARSE_STEPS):
        step = divide(subtract(_mass(angle, fixed, _COARSE_NODES), share), _density(angle, fixed))
        bend = multiply(multiply(fixed, sin(angle)), step)  # of the density, whose slope is -kappa sin(angle) of itself
        angle = _inside(subtract(angle, divide(step, maximum(add(multiply(bend, 0.5), 1.0), 0.5))))
    for _ in range(_FINE_STEPS):
        step = divide(subtract(_mass(angle, kappa, _FINE_NODES), share), _density(angle, kappa))
        angle = _inside(subtract(angle, step))
    return angle


def _inside(angle: Tensor) -> Tensor:
    return minimum(maximum(angle, -math.pi), 0.0)


@functools.cache
def _rule(count: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Nodes and weights of Gauss's rule on (0, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


def _density(angle: Tensor, kappa: Tensor) -> Tensor:
    half = sin(multiply(angle, 0.5))
    height = multiply(i0e(kappa), 2 * math.pi)
    return divide(exp(multiply(multiply(multiply(half, half), kappa), -2.0)), height)


def _mass(angle: Tensor, kappa: Tensor, count: int) -> Tensor:
    """The mass below an angle from -pi to 0: that of the tail, or near the middle a half less what is between."""
    place = S.stop_gradient(angle)
    half = sin(multiply(place, 0.5))
    spread = S.stop_gradient(kappa)
    is_central = multiply(multiply(half, half), spread) < 0.25
    # where the tail has not vanished yet, or the half circle ends
    reach = add(multiply(half, half), divide(_BEYOND, maximum(spread, _BEYOND)))
    is_whole = reach >= 1.0
    end = where(is_whole, -math.pi, multiply(arcsin(sqrt(where(is_whole, 0.25, reach))), -2.0))
    length = where(is_central, negative(angle), subtract(angle, end))
    first = where(is_central, angle, end)
    nodes, weights = (promotion.cast(as_tensor(v), angle.dtype) for v in _rule(count))
    places = add(expand_dims(first, -1), multiply(expand_dims(length, -1), nodes))
    area = multiply(total(multiply(_density(places, expand_dims(kappa, -1)), weights), axis=-1), length)
    return where(is_central, subtract(0.5, area), area)


def _guess(kappa: Tensor, share: Tensor) -> Tensor:
    is_narrow = kappa > _CONCENTRATED
    width = sqrt(where(is_narrow, kappa, _CONCENTRATED))
    sine = clip(divide(multiply(ndtri(share), 0.5), width), -0.9, 0.0)
    even = multiply(subtract(share, 0.5), 2 * math.pi)
    return where(is_narrow, multiply(arcsin(sine), 2.0), even)


__all__ = ["vonmises"]
