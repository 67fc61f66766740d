"""`elastic_transform` and `grid_sample`: images bent by random displacements, and sampled at the places of a grid."""

from __future__ import annotations

import operator
import secrets
from typing import Any

import numpy as np

from ..._core import dtypes
from ..._core.argument_types import ArrayLike
from ..._core.constant import constant
from ..._core.tensor import Tensor
from ..._core.user_line import at_user_line
from .. import promotion
from ..draws import key_of, standard_normal
from ..elementwise import add, multiply
from ..joining import stack
from ..promotion import as_float, as_tensor, names_errors, outward
from ..shapes import known_extent, part, reshaped
from .crops_and_patches import gaussian_blur
from .layout import laid_out
from .resampling import between

_ORDERS = {"nearest": 0, "bilinear": 1}


def _order(interpolation: str, what: str) -> int:
    if interpolation not in _ORDERS:
        raise ValueError(at_user_line(f"{what}: interpolation is {interpolation!r}, wanted 'bilinear' or 'nearest'"))
    return _ORDERS[interpolation]


def _seeded(seed: Any) -> Tensor:
    """The key of an integer, or of nothing; a key as it is."""
    if isinstance(seed, (Tensor, np.ndarray)):
        return key_of(seed, "elastic_transform")
    number = secrets.randbits(64) if seed is None else operator.index(seed)
    return constant(np.array([number >> 32 & 0xFFFFFFFF, number & 0xFFFFFFFF], np.uint32))


@names_errors
def elastic_transform(
    images: ArrayLike,
    alpha: ArrayLike = 20.0,
    sigma: Any = 5.0,
    interpolation: str = "bilinear",
    fill_mode: str = "reflect",
    fill_value: Any = 0.0,
    seed: object = None,
    data_format: str | None = None,
) -> Any:
    """Images bent by smooth random displacements.

    Args:
        images: images.
        alpha: how far pixels move; differentiable.
        sigma: how smooth the displacements are: the standard deviation of the bell that blurs them, a number.
        interpolation: "bilinear" or "nearest".
        fill_mode: what lies outside, as in `map_coordinates`.
        fill_value: the value for "constant".
        seed: an integer or a key of `wg.random`; None draws a new one at each call (once, in a trace).
        data_format: "channels_last" (also None) or "channels_first".

    Returns:
        Images of the same shape in the kind that came in.

    Raises:
        ValueError: for another interpolation, mode, or shape.

    Example:
        >>> import wengert as wg
        >>> wg.image.elastic_transform(wg.ones((8, 8, 1)), seed=3).shape
        (8, 8, 1)
    """
    what = "elastic_transform"
    order = _order(interpolation, what)
    x, layout = laid_out(images, data_format, what)
    count, height, width = (known_extent(x, i, what) for i in range(3))
    inner = dtypes.default_float() if not dtypes.is_float(x.dtype) or dtypes.is_half(x.dtype) else x.dtype
    noise = standard_normal(_seeded(seed), (count, height, width, 2), inner)
    size = int(6 * float(sigma)) | 1
    moves = multiply(gaussian_blur(noise, (size, size), (sigma, sigma), "channels_last"), as_tensor(alpha, what))
    rows, columns = (promotion.cast(constant(v.astype(np.int64)), inner) for v in np.mgrid[:height, :width])
    results = []
    for i in range(count):
        move = reshaped(part(moves, 0, i, i + 1), (height, width, 2))
        down, across = (reshaped(part(move, 2, j, j + 1), (height, width)) for j in (0, 1))
        image = reshaped(part(x, 0, i, i + 1), x.shape[1:])
        results.append(between(image, [add(rows, down), add(columns, across)], order, fill_mode, fill_value, what))
    result = promotion.cast(stack(results, axis=0), x.dtype)
    return outward(layout.back(result), images, alpha)


@names_errors
def grid_sample(
    images: ArrayLike, grid: ArrayLike, interpolation: str = "bilinear", fill_mode: str = "constant",
    fill_value: Any = 0.0, align_corners: bool = False, data_format: str | None = None,
) -> Any:  # fmt: skip
    """The values of images at places of a grid, in coordinates from -1 to 1.

    At kinks: the slope in a coordinate is that of the cell, as for `map_coordinates`.

    Args:
        images: images (batch, height, width, channels).
        grid: the places (batch, rows, columns, 2), each (x, y); differentiable.
        interpolation: "bilinear" or "nearest".
        fill_mode: what lies outside, as in `map_coordinates`.
        fill_value: the value for "constant".
        align_corners: whether -1 and 1 are the centres of the border pixels; else they are the borders.
        data_format: "channels_last" (also None) or "channels_first".

    Returns:
        Images (batch, rows, columns, channels), laid out as they came, in the kind that came in.

    Raises:
        ValueError: for another interpolation, mode, or shape.

    Example:
        >>> import wengert as wg
        >>> image = [[[[1.0], [3.0]]]]
        >>> wg.image.grid_sample(image, [[[[0.0, 0.0]]]])[0, 0, 0]
        array([2.])
    """
    what = "grid_sample"
    order = _order(interpolation, what)
    x, layout = laid_out(images, data_format, what)
    places = as_float(as_tensor(grid, what))
    places = reshaped(places, (1, *places.shape)) if places.ndim == 3 else places
    if places.ndim != 4 or places.shape[3] != 2 or places.shape[0] != x.shape[0]:
        raise ValueError(at_user_line(f"{what}: images has shape {x.shape} and grid has shape {places.shape}"))
    sizes = [known_extent(x, i, what) for i in (2, 1)]
    across, down = (_pixels(reshaped(part(places, 3, j, j + 1), places.shape[:3]), n, align_corners)
                    for j, n in enumerate(sizes))  # fmt: skip
    results = []
    for i in range(known_extent(x, 0, what)):
        at = [reshaped(part(v, 0, i, i + 1), v.shape[1:]) for v in (down, across)]
        image = reshaped(part(x, 0, i, i + 1), x.shape[1:])
        results.append(between(image, at, order, fill_mode, fill_value, what))
    return outward(layout.back(promotion.cast(stack(results, axis=0), as_float(x).dtype)), images, grid)


def _pixels(place: Tensor, size: int, align_corners: bool) -> Tensor:
    if align_corners:
        return multiply(add(place, 1.0), (size - 1) / 2)
    return add(multiply(add(place, 1.0), size / 2), -0.5)


__all__ = ["elastic_transform", "grid_sample"]
