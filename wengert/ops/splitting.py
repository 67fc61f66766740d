"""Arrays taken apart along an axis: split and its kin, unstack."""

from __future__ import annotations

import builtins
import itertools
import operator
from typing import Any

import numpy as np

from .._core import dims
from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from .._core.types import same_dim
from .._core.user_line import at_user_line
from .._prims import structural as S
from .promotion import MOST_COUNTED, as_tensor, count_of, normal_axis, public
from .shapes import known_extent, part, reshaped


@public
def split(x: ArrayLike, indices_or_sections: int, axis: int = 0) -> Any:
    """x cut into parts along an axis.

    Args:
        x: an array.
        indices_or_sections: the number of equal parts, or the positions of the cuts.
        axis: the axis.

    Returns:
        A list of arrays in x's kind.

    Raises:
        ValueError: if the axis does not divide into so many equal parts.

    Example:
        >>> import wengert as wg
        >>> wg.ops.split([1, 2, 3, 4], 2)
        [array([1, 2]), array([3, 4])]
    """
    a = as_tensor(x, "split")
    place = normal_axis(axis, a.ndim, "split")
    sections = _section_count(indices_or_sections)
    size = a.shape[place]
    if sections and type(size) is int and size % sections:
        raise ValueError(
            at_user_line(f"split: axis {place} of shape {a.shape} does not divide into {sections} equal parts")
        )
    if sections is not None and sections < 1:
        raise ValueError(at_user_line(f"split: wanted at least one part, got {sections}"))
    if sections is None:
        return _cut(a, place, indices_or_sections)
    step = dims.floordiv(size, sections)
    if not same_dim(step * sections, size):
        raise ValueError(at_user_line(f"split: axis {place} does not divide into {sections} equal parts"))
    return [part(a, place, step * i, step * (i + 1)) for i in range(sections)]


@public
def array_split(x: ArrayLike, indices_or_sections: int, axis: int = 0) -> Any:
    """x cut into parts along an axis, the first ones longer by one where they cannot be equal.

    Args:
        x: an array.
        indices_or_sections: the number of parts, or the positions of the cuts.
        axis: the axis, whose extent is known while tracing.

    Returns:
        A list of arrays in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.array_split([1, 2, 3], 2)
        [array([1, 2]), array([3])]
    """
    a = as_tensor(x, "array_split")
    place = normal_axis(axis, a.ndim, "array_split")
    sections = _section_count(indices_or_sections)
    if sections is None:
        return _cut(a, place, indices_or_sections)
    if sections < 1:
        raise ValueError(at_user_line(f"array_split: wanted at least one part, got {sections}"))
    count_of(sections, "array_split: indices_or_sections", most=MOST_COUNTED)
    each, longer = divmod(known_extent(a, place, "array_split"), sections)
    ends = np.cumsum([each + (i < longer) for i in range(sections)]).tolist()
    return [part(a, place, start, end) for start, end in zip([0, *ends], ends)]


def _section_count(indices_or_sections: int) -> int | None:
    if isinstance(indices_or_sections, (list, tuple)) or getattr(indices_or_sections, "ndim", 0):
        return None
    return operator.index(indices_or_sections)


def _cut(x: Tensor, axis: int, positions: Any) -> list[Tensor]:
    size = known_extent(x, axis, "split")
    bounds = [0, *(operator.index(p) for p in positions), size]
    ranges = (builtins.slice(a, b).indices(size) for a, b in itertools.pairwise(bounds))
    return [part(x, axis, start, builtins.max(start, stop)) for start, stop, _ in ranges]


@public
def hsplit(x: ArrayLike, indices_or_sections: Any) -> Any:
    """x cut along axis 1, a vector along axis 0.

    Args:
        x: an array.
        indices_or_sections: the number of equal parts, or the positions of the cuts.

    Returns:
        A list of arrays in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.hsplit([1, 2], 2)
        [array([1]), array([2])]
    """
    a = as_tensor(x, "hsplit")
    return split(a, indices_or_sections, 1 if a.ndim > 1 else 0)


@public
def vsplit(x: ArrayLike, indices_or_sections: Any) -> Any:
    """x cut along axis 0.

    Args:
        x: an array of at least two axes.
        indices_or_sections: the number of equal parts, or the positions of the cuts.

    Returns:
        A list of arrays in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.vsplit([[1], [2]], 2)
        [array([[1]]), array([[2]])]
    """
    a = as_tensor(x, "vsplit")
    if a.ndim < 2:
        raise ValueError(at_user_line(f"vsplit: x has shape {a.shape}, wanted at least two axes"))
    return split(a, indices_or_sections, 0)


@public
def dsplit(x: ArrayLike, indices_or_sections: Any) -> Any:
    """x cut along axis 2.

    Args:
        x: an array of at least three axes.
        indices_or_sections: the number of equal parts, or the positions of the cuts.

    Returns:
        A list of arrays in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.dsplit([[[1, 2]]], 2)
        [array([[[1]]]), array([[[2]]])]
    """
    a = as_tensor(x, "dsplit")
    if a.ndim < 3:
        raise ValueError(at_user_line(f"dsplit: x has shape {a.shape}, wanted at least three axes"))
    return split(a, indices_or_sections, 2)


@public
def unstack(x: ArrayLike, num: int | None = None, axis: int = 0) -> Any:
    """The slices of x along an axis.

    Args:
        x: an array of at least one axis.
        num: how many there are, if it should be checked.
        axis: the axis, whose extent is known while tracing or given by `num`.

    Returns:
        A list of arrays in x's kind.

    Raises:
        ValueError: if the axis has another extent than `num`.

    Example:
        >>> import wengert as wg
        >>> wg.ops.unstack([[1, 2], [3, 4]])
        [array([1, 2]), array([3, 4])]
    """
    a = as_tensor(x, "unstack")
    place = normal_axis(axis, a.ndim, "unstack")
    if num is not None and not same_dim(a.shape[place], num):
        raise ValueError(at_user_line(f"unstack: axis {place} of shape {a.shape} has not extent {num}"))
    count = known_extent(a, place, "unstack") if num is None else num
    shape = S.without(a.shape, (place,))
    return [reshaped(part(a, place, i, i + 1), shape) for i in range(count)]


__all__ = ["array_split", "dsplit", "hsplit", "split", "unstack", "vsplit"]
