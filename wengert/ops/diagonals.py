"""Diagonals and slices written into arrays, with torch's names (`diag_embed`, `select_scatter`, ...)."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import structural as S
from . import promotion
from .promotion import as_tensor, names_errors, normal_axes, normal_axis, outward
from .shapes import known_extent, moved


@names_errors
def diag_embed(x: ArrayLike, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Matrices with the elements of the last axis on a diagonal, and zeros beside them.

    Args:
        x: an array (..., n).
        offset: which diagonal; 0 is the main one, positive ones lie above.
        dim1: the axis of the result for the rows.
        dim2: that for the columns.

    Returns:
        An array with one axis more, in x's kind.

    Raises:
        ValueError: for axes that are one.

    Example:
        >>> import wengert as wg
        >>> wg.ops.diag_embed([1.0, 2.0], offset=1)
        array([[0., 1., 0.],
               [0., 0., 2.],
               [0., 0., 0.]])
    """
    a = as_tensor(x, "diag_embed")
    if a.ndim == 0:
        raise ValueError(at_user_line("diag_embed: x is a number, wanted at least one axis"))
    rows, columns = normal_axes((dim1, dim2), a.ndim + 1, "diag_embed")
    shift = operator.index(offset)
    n = known_extent(a, a.ndim - 1, "diag_embed")
    size = n + abs(shift)
    empty = S.full(shape=(*a.shape[:-1], size, size), value=0, dtype=a.dtype)
    places = np.arange(n)
    found = empty.at[..., places + max(-shift, 0), places + max(shift, 0)].set(a)
    first, second = sorted((rows, columns))
    swapped = moved(moved(found, a.ndim - 1, first), a.ndim, second)
    return outward(swapped if rows < columns else _exchanged(swapped, first, second), x)


def _exchanged(x: Tensor, first: int, second: int) -> Tensor:
    order = [*range(x.ndim)]
    order[first], order[second] = second, first
    return S.transpose(x, perm=tuple(order))


@names_errors
def select_scatter(x: ArrayLike, src: ArrayLike, axis: int, index: int) -> Any:
    """An array with one slice along an axis replaced.

    Args:
        x: an array.
        src: the slice, without the axis.
        axis: the axis.
        index: the place along it; negative ones count from the end.

    Returns:
        The new array in the kind that came in.

    Raises:
        IndexError: for a place out of range.
        ValueError: for a slice of another shape.

    Example:
        >>> import wengert as wg
        >>> wg.ops.select_scatter([[1.0, 2.0], [3.0, 4.0]], [8.0, 9.0], 1, 0)
        array([[8., 2.],
               [9., 4.]])
    """
    a = as_tensor(x, "select_scatter")
    place = normal_axis(axis, a.ndim, "select_scatter")
    key = (*[operator.index(index) if i == place else slice(None) for i in range(a.ndim)],)
    return outward(a.at[key].set(_of_shape(src, a, a[key].shape, "select_scatter")), x, src)


def _of_shape(src: Any, a: Tensor, shape: Any, what: str) -> Tensor:
    values = promotion.cast(as_tensor(src, what), a.dtype)
    if tuple(values.shape) != tuple(shape):
        raise ValueError(at_user_line(f"{what}: src has shape {values.shape}, wanted {tuple(shape)}"))
    return values


@names_errors
def slice_scatter(
    x: ArrayLike, src: ArrayLike, axis: int = 0, start: ArrayLike | None = None, end: object = None, step: int = 1
) -> Any:
    """An array with a slice along an axis replaced: ``x[..., start:end:step, ...]``.

    Args:
        x: an array.
        src: what comes there, in the slice's shape.
        axis: the axis.
        start: where the slice begins.
        end: where it ends.
        step: how far apart its elements are.

    Returns:
        The new array in the kind that came in.

    Raises:
        ValueError: for a slice of another shape.

    Example:
        >>> import wengert as wg
        >>> wg.ops.slice_scatter([1.0, 2.0, 3.0, 4.0], [8.0, 9.0], start=1, step=2)
        array([1., 8., 3., 9.])
    """
    a = as_tensor(x, "slice_scatter")
    place = normal_axis(axis, a.ndim, "slice_scatter")
    key = (*[slice(start, end, step) if i == place else slice(None) for i in range(a.ndim)],)
    return outward(a.at[key].set(_of_shape(src, a, a[key].shape, "slice_scatter")), x, src)


@names_errors
def diagonal_scatter(x: ArrayLike, src: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """An array with a diagonal replaced.

    Args:
        x: an array of at least two axes.
        src: what comes there, in the shape of ``wg.diagonal(x, offset, axis1, axis2)``.
        offset: which diagonal; 0 is the main one, positive ones lie above.
        axis1: the axis of the rows.
        axis2: the axis of the columns.

    Returns:
        The new array in the kind that came in.

    Raises:
        ValueError: for another shape, or axes that are one.

    Example:
        >>> import wengert as wg
        >>> wg.ops.diagonal_scatter([[1.0, 2.0], [3.0, 4.0]], [8.0, 9.0])
        array([[8., 2.],
               [3., 9.]])
    """
    a = as_tensor(x, "diagonal_scatter")
    first, second = normal_axes((axis1, axis2), a.ndim, "diagonal_scatter")
    rest = [i for i in range(a.ndim) if i not in (first, second)]
    order = (*rest, first, second)
    front = S.transpose(a, perm=order)
    shift = operator.index(offset)
    height, width = (known_extent(a, i, "diagonal_scatter") for i in (first, second))
    places = np.arange(max(min(height + min(shift, 0), width - max(shift, 0)), 0))
    values = _of_shape(src, a, (*front.shape[:-2], len(places)), "diagonal_scatter")
    written = front.at[..., places + max(-shift, 0), places + max(shift, 0)].set(values)
    return outward(S.transpose(written, perm=S.inverse(order)), x, src)


__all__ = ["diag_embed", "diagonal_scatter", "select_scatter", "slice_scatter"]
