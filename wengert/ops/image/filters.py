"""Filters of images and volumes: Sobel's edges, structural similarity (SSIM), patches of volumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

from ..._core.argument_types import ArrayLike, ShapeLike
from ..._core.tensor import Tensor
from ..._core.user_line import at_user_line
from ..._prims import structural as S
from .. import promotion
from ..convolution import depthwise_conv, padding_pairs, per_axis
from ..elementwise import add, divide, multiply, subtract
from ..indexing import take
from ..joining import stack
from ..padding import pad
from ..promotion import as_float, as_tensor, names_errors, outward
from ..reductions import mean
from ..shapes import known_extent, permuted, reshaped
from .layout import laid_out


def _filtered(x: Tensor, weights: np.ndarray[Any, Any]) -> Tensor:
    """Each channel of (batch, height, width, channels) correlated with one window, where it fits."""
    kernel = promotion.cast(as_tensor(weights), x.dtype)
    height, width = weights.shape
    kernel = promotion.broadcast(reshaped(kernel, (height, width, 1, 1)), (height, width, x.shape[3], 1))
    return depthwise_conv(x, kernel, padding="valid", data_format="channels_last")


_SLOPE = np.array([[-1.0, -2.0, -1.0], [0.0, 0.0, 0.0], [1.0, 2.0, 1.0]])


@names_errors
def sobel_edges(images: ArrayLike, data_format: str | None = None) -> Any:
    """The slopes of brightness down and across, by Sobel's windows; images are mirrored at their borders.

    Args:
        images: images of at least two pixels in each direction.
        data_format: "channels_last" (also None) or "channels_first".

    Returns:
        An array with the images' shape and a last axis of two: the slope down and the slope across, in the kind that
        came in.

    Raises:
        ValueError: for another layout or shape.

    Example:
        >>> import wengert as wg
        >>> image = [[[0.0], [1.0], [2.0]]] * 3
        >>> wg.ops.image.sobel_edges(image)[1, 1, 0]
        array([0., 8.])
    """
    x, layout = laid_out(images, data_format, "sobel_edges")
    wide = pad(as_float(x), ((0, 0), (1, 1), (1, 1), (0, 0)), mode="reflect")
    slopes = [_filtered(wide, w) for w in (_SLOPE, _SLOPE.T)]
    return outward(stack([layout.back(s) for s in slopes], axis=-1), images)


@names_errors
def ssim(
    image1: ArrayLike,
    image2: ArrayLike,
    max_val: ArrayLike = 1.0,
    filter_size: int = 11,
    filter_sigma: Any = 1.5,
    k1: object = 0.01,
    k2: object = 0.03,
    data_format: str | None = None,
) -> Any:
    """The structural similarity of images: 1 for equal ones, less the less they have in common.

    Args:
        image1: images (batch, height, width, channels), or one image.
        image2: images of the same shape.
        max_val: the largest possible value.
        filter_size: the side of the bell-shaped window of local means and variances.
        filter_sigma: the standard deviation of its bell.
        k1: the constant beside the means.
        k2: the constant beside the variances.
        data_format: "channels_last" (also None) or "channels_first".

    Returns:
        One number for each image, in the kind that came in.

    Raises:
        ValueError: for images of different shapes, or smaller than the window.

    Example:
        >>> import wengert as wg
        >>> float(wg.ops.image.ssim(wg.ones((12, 12, 1)), wg.ones((12, 12, 1))))
        1.0
    """
    a, layout = laid_out(image1, data_format, "ssim")
    b, _ = laid_out(image2, data_format, "ssim")
    if a.shape != b.shape:
        raise ValueError(at_user_line(f"ssim: image1 has shape {a.shape} and image2 has shape {b.shape}"))
    if min(known_extent(a, 1, "ssim"), known_extent(a, 2, "ssim")) < filter_size:
        raise ValueError(at_user_line(f"ssim: images of shape {a.shape} are smaller than filter_size, {filter_size}"))
    a, b = map(as_float, promotion.meet(a, b, "ssim"))
    bell = np.exp(-0.5 * ((np.arange(filter_size) - (filter_size - 1) / 2) / float(filter_sigma)) ** 2)
    window = np.outer(bell, bell) / bell.sum() ** 2
    peak = promotion.cast(as_tensor(max_val, "ssim"), a.dtype)
    c1, c2 = (multiply(multiply(k, peak), multiply(k, peak)) for k in (k1, k2))
    mean_a, mean_b = _filtered(a, window), _filtered(b, window)
    product, squares = multiply(S.mul(mean_a, mean_b), 2), add(S.mul(mean_a, mean_a), S.mul(mean_b, mean_b))
    both = multiply(_filtered(S.mul(a, b), window), 2)
    each = _filtered(S.add(S.mul(a, a), S.mul(b, b)), window)
    luminance = divide(add(product, c1), add(squares, c1))
    contrast = divide(add(subtract(both, product), c2), add(subtract(each, squares), c2))
    result = mean(multiply(luminance, contrast), axis=(1, 2, 3))
    result = reshaped(result, ()) if layout.rank == 3 else result
    return outward(result, image1, image2, max_val)


@names_errors
def extract_patches_3d(
    volumes: ArrayLike,
    size: ShapeLike,
    strides: SupportsIndex | Sequence[SupportsIndex] | None = None,
    dilation_rate: SupportsIndex | Sequence[SupportsIndex] = 1,
    padding: str = "valid",
    data_format: str | None = None,
) -> Any:
    """The patches of volumes, each as one vector of its depth, rows, columns and channels.

    Args:
        volumes: an array (batch, depth, height, width, channels), or without the batch; or with channels first.
        size: the depth, height and width of a patch, or one number for all.
        strides: how far apart patches begin; `size` if None.
        dilation_rate: how far apart the elements of a patch are.
        padding: "valid", or "same": zeros around the volume.
        data_format: "channels_last" (also None) or "channels_first".

    Returns:
        An array with the patches in the place of elements and their elements in that of channels.

    Raises:
        ValueError: for sizes that do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.ops.image.extract_patches_3d(wg.ones((1, 2, 4, 6, 3)), 2).shape
        (1, 1, 2, 3, 24)
    """
    what = "extract_patches_3d"
    x = as_tensor(volumes, what)
    if data_format not in (None, "channels_last", "channels_first"):
        raise ValueError(at_user_line(f"{what}: data_format is {data_format!r}"))
    if x.ndim not in (4, 5):
        raise ValueError(at_user_line(f"{what}: volumes has shape {x.shape}, wanted four axes, or five with a batch"))
    has_batch, is_first = x.ndim == 5, data_format == "channels_first"
    x = x if has_batch else reshaped(x, (1, *x.shape))
    x = permuted(x, (0, 2, 3, 4, 1)) if is_first else x
    extents = per_axis(size, 3, what, "size")
    steps = extents if strides is None else per_axis(strides, 3, what, "strides")
    gaps = per_axis(dilation_rate, 3, what, "dilation_rate")
    sizes = (*[known_extent(x, i, what) for i in (1, 2, 3)],)
    x = pad(x, ((0, 0), *padding_pairs(padding, sizes, extents, steps, gaps, what), (0, 0)))
    counts: list[int] = []
    for i, (extent, step, gap) in enumerate(zip(extents, steps, gaps)):
        count = (known_extent(x, 1 + 2 * i, what) - (extent - 1) * gap - 1) // step + 1
        if count < 1:
            raise ValueError(at_user_line(f"{what}: patches of {extents} do not fit volumes of {sizes}"))
        x = take(x, (np.arange(count) * step)[:, None] + np.arange(extent) * gap, axis=1 + 2 * i)
        counts.append(count)
    x = permuted(x, (0, 1, 3, 5, 2, 4, 6, 7))
    x = reshaped(x, (x.shape[0], *counts, extents[0] * extents[1] * extents[2] * x.shape[7]))
    x = permuted(x, (0, 4, 1, 2, 3)) if is_first else x
    return outward(x if has_batch else reshaped(x, x.shape[1:]), volumes)


__all__ = ["extract_patches_3d", "sobel_edges", "ssim"]
