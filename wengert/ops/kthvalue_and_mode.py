"""`kthvalue` and `mode`: elements by their rank, and the most frequent ones."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from .._core import dtypes
from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import structural as S
from . import promotion
from .elementwise import equal
from .indexing import argsort, take, take_along_axis
from .promotion import as_tensor, names_errors, normal_axis, outward
from .reductions import argmax
from .reductions import sum as total
from .shapes import expand_dims, known_extent, reshaped


class ValueAndIndex(NamedTuple):
    """Elements, and where along an axis they stood.

    Example:
        >>> import wengert as wg
        >>> wg.ops.kthvalue([5.0, 1.0, 3.0], 1).indices
        np.int64(1)
    """

    values: Any
    indices: Any


@names_errors
def kthvalue(x: ArrayLike, k: int, axis: int = -1, keepdims: bool = False) -> ValueAndIndex:
    """The k-th smallest elements along an axis, counted from 1.

    At kinks: of equal elements the first ones come first, and have the gradient.

    Args:
        x: an array of real values.
        k: which one, from 1 on.
        axis: the axis.
        keepdims: whether the axis stays, with extent 1.

    Returns:
        `values`, and `indices` along the axis, in x's kind.

    Raises:
        ValueError: for a k that is not there.

    Example:
        >>> import wengert as wg
        >>> wg.ops.kthvalue([5.0, 1.0, 3.0], 2)
        ValueAndIndex(values=np.float64(3.0), indices=np.int64(2))
    """
    a = as_tensor(x, "kthvalue")
    promotion.require_order(a, "kthvalue")
    place = normal_axis(axis, a.ndim, "kthvalue")
    size, number = known_extent(a, place, "kthvalue"), operator.index(k)
    if not 1 <= number <= size:
        raise ValueError(at_user_line(f"kthvalue: k is {k!r} for {size} elements"))
    index = take(argsort(a, axis=place), np.array([number - 1]), axis=place)
    return _picked(a, index, place, keepdims, x)


def _picked(a: Tensor, index: Tensor, axis: int, keepdims: bool, x: ArrayLike) -> ValueAndIndex:
    values = take_along_axis(a, index, axis)
    if not keepdims:
        rest = (*a.shape[:axis], *a.shape[axis + 1 :])
        values, index = reshaped(values, rest), reshaped(index, rest)
    return outward(ValueAndIndex(values, promotion.cast(index, dtypes.int64)), x)


@names_errors
def mode(x: ArrayLike, axis: int = -1, keepdims: bool = False) -> ValueAndIndex:
    """The most frequent elements along an axis; of equally frequent ones the smallest.

    At kinks: the gradient goes to the element that `indices` names, the first of its kind.

    Args:
        x: an array of real values.
        axis: the axis; its elements are compared with each other in pairs.
        keepdims: whether the axis stays, with extent 1.

    Returns:
        `values`, and `indices` along the axis, in x's kind.

    Raises:
        ValueError: for an empty axis.

    Example:
        >>> import wengert as wg
        >>> wg.ops.mode([5.0, 1.0, 5.0])
        ValueAndIndex(values=np.float64(5.0), indices=np.int64(0))
    """
    a = as_tensor(x, "mode")
    promotion.require_order(a, "mode")
    place = normal_axis(axis, a.ndim, "mode")
    if known_extent(a, place, "mode") == 0:
        raise ValueError(at_user_line(f"mode: shape {a.shape} is empty along axis {place}"))
    order = argsort(a, axis=place)  # equal elements in their places' order
    rising = S.stop_gradient(take_along_axis(a, order, place))
    alike = equal(expand_dims(rising, place), expand_dims(rising, place + 1))
    counts = total(promotion.cast(alike, dtypes.int64), axis=place + 1)
    return _picked(a, take_along_axis(order, argmax(counts, axis=place, keepdims=True), place), place, keepdims, x)


__all__ = ["ValueAndIndex", "kthvalue", "mode"]
