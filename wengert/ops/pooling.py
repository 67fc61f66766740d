"""Pooling: the largest element, or the mean, of windows that slide over one to three spatial axes."""

from __future__ import annotations

import math
from typing import Any

from .._core import dims, dtypes
from .._core.tensor import Tensor
from .._core.where import at_user_line
from .._prims import structural as S
from .._prims import windows as W
from . import promotion
from .convolution import padding_pairs, per_axis
from .elementwise import divide
from .promotion import as_tensor, public
from .shapes import permuted, reshaped


def _prepared(inputs: Any, pool_size: Any, strides: Any, padding: Any, data_format: Any, what: str) -> Any:
    """The inputs with their channels first, the window's geometry, and the permutation back."""
    x = as_tensor(inputs, what)
    rank = x.ndim - 2
    if rank < 1:
        raise ValueError(at_user_line(f"{what}: inputs has shape {x.shape}, wanted batch, channels and spatial axes"))
    if data_format not in (None, "channels_last", "channels_first"):
        raise ValueError(
            at_user_line(f"{what}: data_format is {data_format!r}, wanted 'channels_last', 'channels_first' or None")
        )
    if padding not in ("valid", "same", "VALID", "SAME"):
        raise ValueError(at_user_line(f"{what}: padding is {padding!r}, wanted 'valid' or 'same'"))
    window = per_axis(pool_size, rank, what, "pool_size")
    steps = window if strides is None else per_axis(strides, rank, what, "strides")
    if min(*window, *steps) < 1:
        raise ValueError(at_user_line(f"{what}: pool_size {window} and strides {steps} must be positive"))
    to = tuple(range(x.ndim)) if data_format == "channels_first" else (0, x.ndim - 1, *range(1, x.ndim - 1))
    a = permuted(x, to)
    ones = (1,) * rank
    pads = padding_pairs(padding, a.shape[2:], window, steps, ones, what)
    for size, n, (low, high) in zip(a.shape[2:], window, pads):
        if type(size) is int and size + low + high < n:
            raise ValueError(at_user_line(f"{what}: inputs has shape {x.shape}, smaller than pool_size {window}"))
    return a, {"window": window, "strides": steps, "padding": pads, "dilation": ones}, S.inverse(to)


@public
def max_pool(inputs: Any, pool_size: Any, strides: Any = None, padding: Any = "valid", data_format: Any = None) -> Any:
    """The largest element of each window.

    At kinks: of equal elements the first, row-major, has the whole gradient. Padding never wins.

    Args:
        inputs: an array of real values (batch, *spatial, channels), or (batch, channels, *spatial) with
            "channels_first"; one, two or three spatial axes, or more.
        pool_size: the window's extents, one number or one for each spatial axis.
        strides: the distance of the windows; None means `pool_size`.
        padding: "valid", or "same": as many windows as strides fit.
        data_format: "channels_last" (also None) or "channels_first".

    Returns:
        An array laid out as `inputs`, in the kind that came in.

    Raises:
        ValueError: for extents or words that do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.nn.max_pool([[[1.0], [3.0], [2.0], [0.0]]], 2)
        array([[[3.],
                [2.]]])
    """
    a, geometry, back = _prepared(inputs, pool_size, strides, padding, data_format, "max_pool")
    places = W.window_argmax(a, **geometry)
    lead = a.shape[:2]
    best = W.take_along(_flat(a), _flat(places))
    return permuted(reshaped(best, (*lead, *places.shape[2:])), back)


def _flat(x: Tensor) -> Tensor:
    """The spatial axes as one."""
    return reshaped(x, (*x.shape[:2], dims.size_of(x.shape[2:])))


@public
def average_pool(
    inputs: Any, pool_size: Any, strides: Any = None, padding: Any = "valid", data_format: Any = None
) -> Any:
    """The mean of each window; padding does not count.

    Args:
        inputs: an array (batch, *spatial, channels), or (batch, channels, *spatial) with "channels_first"; one, two or
            three spatial axes, or more.
        pool_size: the window's extents, one number or one for each spatial axis.
        strides: the distance of the windows; None means `pool_size`.
        padding: "valid", or "same": as many windows as strides fit.
        data_format: "channels_last" (also None) or "channels_first".

    Returns:
        An array laid out as `inputs`, in the kind that came in; integers give floats.

    Raises:
        ValueError: for extents or words that do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.nn.average_pool([[[1.0], [3.0], [2.0]]], 2, strides=1, padding="same")
        array([[[2. ],
                [2.5],
                [2. ]]])
    """
    a, geometry, back = _prepared(inputs, pool_size, strides, padding, data_format, "average_pool")
    if not dtypes.is_inexact(a.dtype):
        a = promotion.cast(a, dtypes.default_float())
    sums = W.window_sum(a, **geometry)
    if all(type(p) is int and p == 0 for pair in geometry["padding"] for p in pair):
        means = S.times_number(sums, number=1 / math.prod(geometry["window"]))
    else:
        ones = S.full(shape=a.shape[2:], value=1, dtype=a.dtype)
        counts = W.window_sum(ones, **geometry)
        means = divide(sums, counts)
    return permuted(means, back)


__all__ = ["average_pool", "max_pool"]
