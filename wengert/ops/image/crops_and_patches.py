"""Crops, borders, patches and Gaussian blur of images."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

from ..._core.argument_types import ArrayLike, ShapeLike
from ..._core.tensor import Tensor
from ..._core.user_line import at_user_line
from ..._prims import structural as S
from .. import promotion
from ..convolution import depthwise_conv, padding_pairs, per_axis
from ..indexing import take
from ..padding import pad
from ..promotion import as_float, as_tensor, names_errors, outward
from ..shapes import known_extent, part, permuted, reshaped
from .layout import laid_out


def _ends(size: int, low: Any, high: Any, target: Any, sign: int, what: str) -> tuple[int, int]:
    """How many elements at either end of an axis: two of three numbers say it; `sign` is 1 for more, -1 for less."""
    if [low, high, target].count(None) != 1:
        raise ValueError(at_user_line(f"{what}: of the two ends and the target of an axis two are to be given"))
    low, high, target = (None if v is None else operator.index(v) for v in (low, high, target))
    if target is not None:
        rest = sign * (target - size)
        low, high = (rest - high, high) if low is None else (low, rest - low)
    if low < 0 or high < 0 or (sign < 0 and low + high >= size):
        raise ValueError(at_user_line(f"{what}: {low} and {high} elements do not fit an axis of {size}"))
    return low, high


def _image_ends(x: Tensor, given: tuple[Any, ...], sign: int, what: str) -> list[tuple[int, int]]:
    top, left, bottom, right, height, width = given
    return [
        _ends(known_extent(x, 1, what), top, bottom, height, sign, what),
        _ends(known_extent(x, 2, what), left, right, width, sign, what),
    ]


@names_errors
def crop_images(
    images: ArrayLike,
    top_cropping: int | None = None,
    left_cropping: int | None = None,
    bottom_cropping: object = None,
    right_cropping: object = None,
    target_height: int | None = None,
    target_width: int | None = None,
    data_format: str | None = None,
) -> Any:
    """Images without some rows and columns at their borders.

    Args:
        images: images.
        top_cropping: how many rows to leave out above.
        left_cropping: how many columns to leave out on the left.
        bottom_cropping: how many rows to leave out below.
        right_cropping: how many columns to leave out on the right.
        target_height: the height that is left; of it and the two ends two are given.
        target_width: the width that is left, likewise.
        data_format: "channels_last" (also None) or "channels_first".

    Returns:
        The smaller images in the kind that came in.

    Raises:
        ValueError: unless two of three numbers are given for each axis, or if they do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.ops.image.crop_images(wg.ones((4, 5, 1)), 1, 1, 1, 2).shape
        (2, 2, 1)
    """
    x, layout = laid_out(images, data_format, "crop_images")
    given = (top_cropping, left_cropping, bottom_cropping, right_cropping, target_height, target_width)
    for axis, (low, high) in enumerate(_image_ends(x, given, -1, "crop_images"), start=1):
        x = part(x, axis, low, x.shape[axis] - high)
    return outward(layout.back(x), images)


@names_errors
def pad_images(
    images: ArrayLike,
    top_padding: object = None,
    left_padding: object = None,
    bottom_padding: object = None,
    right_padding: object = None,
    target_height: object = None,
    target_width: object = None,
    data_format: str | None = None,
) -> Any:
    """Images with rows and columns of zeros around them.

    Args:
        images: images.
        top_padding: how many rows to add above.
        left_padding: how many columns to add on the left.
        bottom_padding: how many rows to add below.
        right_padding: how many columns to add on the right.
        target_height: the height that results; of it and the two ends two are given.
        target_width: the width that results, likewise.
        data_format: "channels_last" (also None) or "channels_first".

    Returns:
        The larger images in the kind that came in.

    Raises:
        ValueError: unless two of three numbers are given for each axis, or if they do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.ops.image.pad_images(wg.ones((2, 2, 1)), 1, 1, target_height=4, target_width=5).shape
        (4, 5, 1)
    """
    x, layout = laid_out(images, data_format, "pad_images")
    given = (top_padding, left_padding, bottom_padding, right_padding, target_height, target_width)
    rows, columns = _image_ends(x, given, 1, "pad_images")
    return outward(layout.back(pad(x, ((0, 0), rows, columns, (0, 0)))), images)


@names_errors
def extract_patches(
    images: ArrayLike,
    size: ShapeLike,
    strides: SupportsIndex | Sequence[SupportsIndex] | None = None,
    dilation_rate: SupportsIndex | Sequence[SupportsIndex] = 1,
    padding: str = "valid",
    data_format: str | None = None,
) -> Any:
    """The patches of images, each as one vector of its rows, columns and channels.

    Args:
        images: images.
        size: the height and width of a patch, or one number for both.
        strides: how far apart patches begin; `size` if None.
        dilation_rate: how far apart the pixels of a patch are.
        padding: "valid", or "same": zeros around the image.
        data_format: "channels_last" (also None) or "channels_first".

    Returns:
        An array with the patches in the place of pixels and their elements in that of channels.

    Raises:
        ValueError: for sizes that do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.ops.image.extract_patches(wg.ones((1, 4, 6, 3)), 2).shape
        (1, 2, 3, 12)
    """
    what = "extract_patches"
    x, layout = laid_out(images, data_format, what)
    extents = per_axis(size, 2, what, "size")
    steps = extents if strides is None else per_axis(strides, 2, what, "strides")
    gaps = per_axis(dilation_rate, 2, what, "dilation_rate")
    shape = (known_extent(x, 1, what), known_extent(x, 2, what))
    pairs = padding_pairs(padding, shape, extents, steps, gaps, what)
    x = pad(x, ((0, 0), *pairs, (0, 0)))
    counts = []
    for axis, (extent, step, gap) in ((1, (extents[0], steps[0], gaps[0])), (3, (extents[1], steps[1], gaps[1]))):
        count = (x.shape[axis] - (extent - 1) * gap - 1) // step + 1
        if count < 1:
            raise ValueError(at_user_line(f"{what}: patches of {extents} do not fit images of {shape}"))
        places = (np.arange(count) * step)[:, None] + np.arange(extent) * gap
        x = take(x, places, axis=axis)
        counts.append(count)
    x = permuted(x, (0, 1, 3, 2, 4, 5))
    depth = extents[0] * extents[1] * x.shape[5]
    return outward(layout.back(reshaped(x, (x.shape[0], *counts, depth))), images)


def _bell(size: int, sigma: Any, dtype: np.dtype[Any]) -> Tensor:
    from_center = np.arange(size) - (size - 1) / 2
    weights = np.exp(-0.5 * (from_center / float(sigma)) ** 2)
    return promotion.cast(as_tensor(weights / weights.sum()), dtype)


@names_errors
def gaussian_blur(
    images: ArrayLike,
    kernel_size: SupportsIndex | Sequence[SupportsIndex] = (3, 3),
    sigma: ArrayLike = (1.0, 1.0),
    data_format: str | None = None,
) -> Any:
    """Images blurred by a bell curve, with zeros around them.

    Args:
        images: images.
        kernel_size: the width and the height of the window.
        sigma: the standard deviations, along the width and along the height.
        data_format: "channels_last" (also None) or "channels_first".

    Returns:
        Images of the same shape in the kind that came in.

    Example:
        >>> import wengert as wg
        >>> wg.ops.image.gaussian_blur(wg.ones((3, 3, 1)))[1, 1].numpy().round(12)
        array([1.])
    """
    x, layout = laid_out(images, data_format, "gaussian_blur")
    x = as_float(x)
    width, height = per_axis(kernel_size, 2, "gaussian_blur", "kernel_size")
    spread = tuple(sigma) if isinstance(sigma, (tuple, list)) else (sigma, sigma)
    channels = known_extent(x, 3, "gaussian_blur")
    for shape, weights in (
        ((1, width, 1, 1), _bell(width, spread[0], x.dtype)), ((height, 1, 1, 1), _bell(height, spread[1], x.dtype))
    ):  # fmt: skip
        kernel = promotion.broadcast(S.reshape(weights, shape=shape), (*shape[:2], channels, 1))
        x = depthwise_conv(x, kernel, padding="same", data_format="channels_last")
    return outward(layout.back(x), images)


__all__ = ["crop_images", "extract_patches", "gaussian_blur", "pad_images"]
