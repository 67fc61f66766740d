"""Elements in another order along their axes: flip, rot90, roll."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .._core import dims
from .._core.argument_types import ArrayLike, Axes
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import structural as S
from .promotion import as_ndarray, as_tensor, normal_axes, normal_axis, public
from .shapes import flat, joined, part, reshaped, swapaxes


@public
def flip(x: ArrayLike, axis: Axes = None) -> Any:
    """x with its elements in opposite order along axes.

    Args:
        x: an array.
        axis: an axis or a tuple of them; None means all.

    Returns:
        The rearranged array in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.flip([1, 2, 3])
        array([3, 2, 1])
    """
    a = as_tensor(x, "flip")
    axes = normal_axes(axis, a.ndim, "flip")
    return S.flip(a, axes=axes) if axes else a


@public
def fliplr(x: ArrayLike) -> Any:
    """x with its elements in opposite order along axis 1.

    Args:
        x: an array of at least two axes.

    Returns:
        The rearranged array in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.fliplr([[1, 2]])
        array([[2, 1]])
    """
    return flip(as_tensor(x, "fliplr"), 1)


@public
def flipud(x: ArrayLike) -> Any:
    """x with its elements in opposite order along axis 0.

    Args:
        x: an array of at least one axis.

    Returns:
        The rearranged array in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.flipud([1, 2])
        array([2, 1])
    """
    return flip(as_tensor(x, "flipud"), 0)


@public
def rot90(array: ArrayLike, k: int = 1, axes: Any = (0, 1)) -> Any:
    """An array turned by quarters, from the first of two axes towards the second.

    Args:
        array: an array of at least two axes.
        k: how many quarters; negative ones turn the other way.
        axes: the two axes of the plane.

    Returns:
        The rearranged array in the kind that came in.

    Raises:
        ValueError: if `axes` are not two different axes.
        TypeError: if `k` is not an integer.

    Example:
        >>> import wengert as wg
        >>> wg.ops.rot90([[1, 2], [3, 4]])
        array([[2, 4],
               [1, 3]])
    """
    a = as_tensor(array, "rot90")
    plane = normal_axes(tuple(axes), a.ndim, "rot90")
    if len(plane) != 2:
        raise ValueError(at_user_line(f"rot90: wanted two axes, got {axes}"))
    try:
        quarters = operator.index(k) % 4
    except TypeError as error:  # of a traced tensor a LostGradientError
        told = f"rot90: k counts quarters and must be an integer, got {k!r}: {error}"
        raise type(error)(at_user_line(told)) from None
    if quarters == 2:
        return S.flip(a, axes=plane)
    if quarters == 1:
        return swapaxes(S.flip(a, axes=plane[1:]), *plane)
    return S.flip(swapaxes(a, *plane), axes=plane[1:]) if quarters else a


@public
def roll(x: ArrayLike, shift: ArrayLike, axis: Axes = None) -> Any:
    """x with its elements moved along; those that leave at the end come back at the front.

    Args:
        x: an array.
        shift: by how many places, or one number for each axis; negative ones move to the front.
        axis: the axis or axes; None moves the elements of the flattened array.

    Returns:
        The rearranged array in x's kind.

    Raises:
        ValueError: if `shift` and `axis` do not match in number.

    Example:
        >>> import wengert as wg
        >>> wg.ops.roll([1, 2, 3], 1)
        array([3, 1, 2])
    """
    a = as_tensor(x, "roll")
    if axis is None:
        total = int(np.sum(as_ndarray(shift, "roll")))
        return reshaped(_rolled(flat(a), total, 0), tuple(a.shape))
    shifts, axes = np.broadcast_arrays(as_ndarray(shift, "roll"), np.asarray(axis))
    if shifts.ndim > 1:
        raise ValueError(at_user_line("roll: shift and axis are numbers or flat sequences"))
    for by, along in zip(shifts.ravel().tolist(), axes.ravel().tolist()):
        a = _rolled(a, by, normal_axis(along, a.ndim, "roll"))
    return a


def _rolled(x: Tensor, shift: int, axis: int) -> Tensor:
    size = x.shape[axis]
    if type(size) is int and (size == 0 or shift % size == 0):
        return x
    full_turns = dims.floordiv(shift, size if type(size) is int else dims.maximum(size, 1))
    start = (full_turns + 1) * size - shift  # what is there now begins here
    return joined([part(x, axis, start, size), part(x, axis, 0, start)], axis)


__all__ = ["flip", "fliplr", "flipud", "roll", "rot90"]
