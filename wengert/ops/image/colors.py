"""Colours: grey, and hue, saturation and value."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.apply import apply
from ..._core.argument_types import ArrayLike
from ..._core.tensor import Tensor
from ..._core.user_line import at_user_line
from ..._prims import discrete as D
from ..._prims import elementwise as E
from ..._prims import piecewise as W
from ..._prims import structural as S
from .. import promotion
from ..joining import stack
from ..linalg import matmul
from ..piecewise import clip
from ..promotion import as_float, names_errors, outward
from ..reductions import max as largest
from ..reductions import min as smallest
from ..shapes import part, reshaped
from .layout import laid_out


def _channels(images: ArrayLike, data_format: str | None, what: str) -> tuple[list[Tensor], Any]:
    x, layout = laid_out(images, data_format, what)
    if x.shape[3] != 3:
        raise ValueError(at_user_line(f"{what}: wanted three channels, got {x.shape[3]}"))
    x = as_float(x)
    return [reshaped(part(x, 3, i, i + 1), x.shape[:3]) for i in range(3)], layout


@names_errors
def rgb_to_grayscale(images: ArrayLike, data_format: str | None = None) -> Any:
    """The brightness of colours: 0.2989 red + 0.587 green + 0.114 blue.

    Args:
        images: images of three channels.
        data_format: "channels_last" (also None) or "channels_first".

    Returns:
        Images of one channel in the kind that came in.

    Raises:
        ValueError: for another number of channels or axes.

    Example:
        >>> import wengert as wg
        >>> wg.ops.image.rgb_to_grayscale([[[1.0, 0.0, 0.0]]])
        array([[[0.2989]]])
    """
    x, layout = laid_out(images, data_format, "rgb_to_grayscale")
    if x.shape[3] != 3:
        raise ValueError(at_user_line(f"rgb_to_grayscale: wanted three channels, got {x.shape[3]}"))
    x = as_float(x)
    weights = promotion.cast(promotion.as_tensor(np.array([[0.2989], [0.5870], [0.1140]])), x.dtype)
    return outward(layout.back(matmul(x, weights)), images)


@names_errors
def rgb_to_hsv(images: ArrayLike, data_format: str | None = None) -> Any:
    """Hue, saturation and value, each from 0 to 1, of red, green and blue.

    At kinks: grey has hue 0 and no gradient of it; where two channels are largest, red goes before green before blue.

    Args:
        images: images of three channels from 0 to 1.
        data_format: "channels_last" (also None) or "channels_first".

    Returns:
        Images of three channels in the kind that came in.

    Raises:
        ValueError: for another number of channels or axes.

    Example:
        >>> import wengert as wg
        >>> wg.ops.image.rgb_to_hsv([[[0.0, 1.0, 0.0]]]).round(4)
        array([[[0.3333, 1.    , 1.    ]]])
    """
    (r, g, b), layout = _channels(images, data_format, "rgb_to_hsv")
    whole = stack([r, g, b], axis=0)
    value, span = largest(whole, axis=0), S.sub(largest(whole, axis=0), smallest(whole, axis=0))
    zero, one = S.fill(value, 0), S.fill(value, 1)
    is_black, is_grey = apply(D.le, (value, zero)), apply(D.eq, (span, zero))
    saturation = S.select(is_black, zero, E.div(span, S.select(is_black, one, value)))
    sixth = S.times_number(S.select(is_grey, one, span), number=6.0)
    red = E.div(S.sub(g, b), sixth)
    green = S.add_number(E.div(S.sub(b, r), sixth), number=2 / 6)
    blue = S.add_number(E.div(S.sub(r, g), sixth), number=4 / 6)
    hue = S.select(apply(D.eq, (r, value)), red, S.select(apply(D.eq, (g, value)), green, blue))
    hue = S.select(is_grey, zero, hue)
    hue = S.select(apply(D.lt, (hue, zero)), S.add_number(hue, number=1.0), hue)
    return outward(layout.back(stack([hue, saturation, value], axis=3)), images)


@names_errors
def hsv_to_rgb(images: ArrayLike, data_format: str | None = None) -> Any:
    """Red, green and blue of hue, saturation and value.

    Args:
        images: images of three channels from 0 to 1.
        data_format: "channels_last" (also None) or "channels_first".

    Returns:
        Images of three channels in the kind that came in.

    Raises:
        ValueError: for another number of channels or axes.

    Example:
        >>> import wengert as wg
        >>> wg.ops.image.hsv_to_rgb([[[0.5, 1.0, 1.0]]])
        array([[[0., 1., 1.]]])
    """
    (hue, saturation, value), layout = _channels(images, data_format, "hsv_to_rgb")
    turn = S.times_number(hue, number=6.0)

    def away(center: float) -> Tensor:
        return W.abs_(S.add_number(turn, number=-center))

    strength = [
        S.add_number(away(3.0), number=-1.0),
        S.add_number(S.neg(away(2.0)), number=2.0),
        S.add_number(S.neg(away(4.0)), number=2.0),
    ]
    white = S.add_number(S.neg(saturation), number=1.0)
    mixed = [S.mul(S.add(white, S.mul(saturation, clip(x, 0.0, 1.0))), value) for x in strength]
    return outward(layout.back(stack(mixed, axis=3)), images)


__all__ = ["hsv_to_rgb", "rgb_to_grayscale", "rgb_to_hsv"]
