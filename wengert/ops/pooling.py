"""Pooling: the largest element, or the mean, of windows that slide over one to three spatial axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

from .._core import dims, dtypes
from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import structural as S
from .._prims import windows as W
from . import promotion
from .convolution import padding_pairs, per_axis
from .elementwise import divide
from .indexing import take
from .linalg import tensordot
from .promotion import as_tensor, public
from .shapes import known_extent, moved, permuted, reshaped


def _prepared(
    inputs: ArrayLike,
    pool_size: SupportsIndex | Sequence[SupportsIndex],
    strides: Any,
    padding: str,
    data_format: str | None,
    what: str,
) -> Any:
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
    to = tuple(range(x.ndim)) if data_format == "channels_first" else (0, x.ndim - 1, *range(1, x.ndim - 1))
    a = permuted(x, to)
    ones = (1,) * rank
    pads = padding_pairs(padding, a.shape[2:], window, steps, ones, what)
    for size, n, (low, high) in zip(a.shape[2:], window, pads):
        if type(size) is int and size + low + high < n:
            raise ValueError(at_user_line(f"{what}: inputs has shape {x.shape}, smaller than pool_size {window}"))
    return a, {"window": window, "strides": steps, "padding": pads, "dilation": ones}, S.inverse(to)


@public
def max_pool(
    inputs: ArrayLike, pool_size: Any, strides: Any = None, padding: str = "valid", data_format: str | None = None
) -> Any:
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
    inputs: ArrayLike, pool_size: Any, strides: Any = None, padding: str = "valid", data_format: str | None = None
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
    sums = permuted(W.window_sum(a, **geometry), back)
    if all(type(p) is int and p == 0 for pair in geometry["padding"] for p in pair):
        means = S.times_number(sums, number=1 / math.prod(geometry["window"]))
    else:
        ones = S.full(shape=(1, 1, *a.shape[2:]), value=1, dtype=a.dtype)
        means = divide(sums, permuted(W.window_sum(ones, **geometry), back))
    return means


# -- as many windows as are wanted ---------------------------------------------------------------------------------


def _adapted(
    inputs: ArrayLike, output_size: SupportsIndex | Sequence[SupportsIndex], data_format: str | None, what: str
) -> Any:
    """The inputs with channels first, for each spatial axis the (start, end) of its windows, and the way back."""
    a, geometry, back = _prepared(inputs, 1, 1, "valid", data_format, what)
    counts = per_axis(output_size, len(geometry["window"]), what, "output_size")
    windows: list[Any] = []
    for axis, count in enumerate(counts, start=2):
        size, number = known_extent(a, axis, what), np.arange(count)
        windows.append((number * size // count, -(-(number + 1) * size // count)))
    return a, windows, back


@public
def adaptive_average_pool(inputs: Any, output_size: Any, data_format: Any = None) -> Any:
    """The mean of each of as many windows as are wanted: window i of m goes from floor(i n / m) to ceil((i + 1) n / m).

    Args:
        inputs: an array (batch, *spatial, channels), or (batch, channels, *spatial) with "channels_first".
        output_size: how many windows, one number or one for each spatial axis.
        data_format: "channels_last" (also None) or "channels_first".

    Returns:
        An array laid out as `inputs`, in the kind that came in; integers give floats.

    Raises:
        ValueError: for numbers or words that do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.nn.adaptive_average_pool([[[1.0], [3.0], [5.0]]], 2)
        array([[[2.],
                [4.]]])
    """
    a, windows, back = _adapted(inputs, output_size, data_format, "adaptive_average_pool")
    if not dtypes.is_inexact(a.dtype):
        a = promotion.cast(a, dtypes.default_float())
    for axis, (start, end) in enumerate(windows, start=2):
        place = np.arange(known_extent(a, axis, "adaptive_average_pool"))
        is_inside = (place >= start[:, None]) & (place < end[:, None])
        shares = promotion.cast(as_tensor(is_inside / (end - start)[:, None]), a.dtype)
        a = moved(tensordot(a, shares, axes=([axis], [1])), a.ndim - 1, axis)
    return permuted(a, back)


@public
def adaptive_max_pool(
    inputs: ArrayLike, output_size: SupportsIndex | Sequence[SupportsIndex], data_format: str | None = None
) -> Any:
    """The largest element of each of as many windows as are wanted, which lie as those of `adaptive_average_pool`.

    At kinks: of equal elements the first, row-major, has the whole gradient.

    Args:
        inputs: an array of real values (batch, *spatial, channels), or (batch, channels, *spatial) with
            "channels_first".
        output_size: how many windows, one number or one for each spatial axis.
        data_format: "channels_last" (also None) or "channels_first".

    Returns:
        An array laid out as `inputs`, in the kind that came in.

    Raises:
        ValueError: for numbers or words that do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.nn.adaptive_max_pool([[[1.0], [5.0], [3.0]]], 2)
        array([[[5.],
                [5.]]])
    """
    a, windows, back = _adapted(inputs, output_size, data_format, "adaptive_max_pool")
    # the last axis first: of equal elements the first in the first row that has one
    for axis, (start, end) in reversed([*enumerate(windows, start=2)]):
        # shorter windows repeat their last element, which never comes first
        places = np.minimum(start[:, None] + np.arange((end - start).max()), end[:, None] - 1)
        a = take(moved(a, axis, a.ndim - 1), places, axis=-1)
        one = {"window": (a.shape[-1],), "strides": (1,), "padding": ((0, 0),), "dilation": (1,)}
        best = W.take_along(a, W.window_argmax(a, **one))
        a = moved(reshaped(best, (*best.shape[:-1],)), best.ndim - 2, axis)
    return permuted(a, back)


__all__ = ["adaptive_average_pool", "adaptive_max_pool", "average_pool", "max_pool"]
