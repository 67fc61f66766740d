"""Arrays joined along an axis: concatenate, append, stack and their kin."""

from __future__ import annotations

import builtins
from typing import Any

from .._core.argument_types import ArrayLike, Axes
from .._core.tensor import Tensor
from .._core.types import same_dim
from .._core.user_line import at_user_line
from .promotion import as_tensor, normal_axis, public, strong
from .shapes import _at_least, flat, joined, tensors_in, with_axis


def _arrays_in(xs: ArrayLike, what: str) -> list[Tensor]:
    """The entries of a sequence as `tensors_in` gives them, numbers as arrays: what gives them axes does that first."""
    return tensors_in([*map(strong, xs)] if isinstance(xs, (list, tuple)) else xs, what)


@public
def concatenate(xs: ArrayLike, axis: Axes = 0) -> Any:
    """Arrays joined along an axis that they have.

    Args:
        xs: a sequence of arrays whose shapes differ along the axis only; dtypes promote.
        axis: the axis; None joins the flattened arrays.

    Returns:
        One array in the kind of array that came in.

    Raises:
        ValueError: if there are no arrays, or their shapes do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.ops.concatenate([[1, 2], [3.0]])
        array([1., 2., 3.])
    """
    tensors = tensors_in(xs, "concatenate")
    if axis is None:
        return joined(list(map(flat, tensors)), 0)
    if not builtins.all(t.ndim for t in tensors):
        raise ValueError(at_user_line("concatenate: arrays without axes cannot be joined; use stack"))
    ranks = {t.ndim for t in tensors}
    if len(ranks) > 1:
        raise ValueError(at_user_line(f"concatenate: arrays have shapes {', '.join(str(t.shape) for t in tensors)}"))
    return joined(tensors, normal_axis(axis, tensors[0].ndim, "concatenate"))


@public
def append(x1: ArrayLike, x2: ArrayLike, axis: Axes = None) -> Any:
    """x2 behind x1.

    Args:
        x1: an array.
        x2: an array whose shape differs along the axis only.
        axis: the axis; None joins the flattened arrays.

    Returns:
        One array in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.ops.append([1, 2], [3])
        array([1, 2, 3])
    """
    return concatenate([as_tensor(x1, "append"), as_tensor(x2, "append")], axis)


@public
def stack(x: ArrayLike, axis: int = 0) -> Any:
    """Arrays of one shape joined along a new axis.

    Args:
        x: a sequence of arrays; dtypes promote.
        axis: the place of the new axis in the result.

    Returns:
        One array in the kind of array that came in.

    Raises:
        ValueError: if the shapes differ.

    Example:
        >>> import wengert as wg
        >>> wg.ops.stack([[1, 2], [3, 4]], axis=1)
        array([[1, 3],
               [2, 4]])
    """
    tensors = tensors_in(x, "stack")
    for t in tensors[1:]:
        if len(t.shape) != len(tensors[0].shape) or not builtins.all(map(same_dim, t.shape, tensors[0].shape)):
            raise ValueError(at_user_line(f"stack: arrays have shapes {tensors[0].shape} and {t.shape}"))
    place = normal_axis(axis, tensors[0].ndim + 1, "stack")
    return joined([with_axis(t, place) for t in tensors], place)


@public
def hstack(xs: ArrayLike) -> Any:
    """Arrays joined along axis 1, vectors along axis 0.

    Args:
        xs: a sequence of arrays.

    Returns:
        One array in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.ops.hstack([[1, 2], [3]])
        array([1, 2, 3])
    """
    tensors = [_at_least(t, 1, "hstack") for t in _arrays_in(xs, "hstack")]
    return concatenate(tensors, 0 if tensors[0].ndim == 1 else 1)


@public
def vstack(xs: ArrayLike) -> Any:
    """Arrays joined along axis 0, vectors as rows.

    Args:
        xs: a sequence of arrays.

    Returns:
        One array in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.ops.vstack([[1, 2], [3, 4]])
        array([[1, 2],
               [3, 4]])
    """
    return concatenate([_at_least(t, 2, "vstack") for t in _arrays_in(xs, "vstack")], 0)


@public
def dstack(xs: ArrayLike) -> Any:
    """Arrays joined along axis 2, after `atleast_3d`.

    Args:
        xs: a sequence of arrays.

    Returns:
        One array in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.ops.shape(wg.ops.dstack([[1, 2], [3, 4]]))
        (1, 2, 2)
    """
    return concatenate([_at_least(t, 3, "dstack") for t in _arrays_in(xs, "dstack")], 2)


@public
def column_stack(xs: ArrayLike) -> Any:
    """Vectors as the columns of a matrix; matrices joined along axis 1.

    Args:
        xs: a sequence of arrays.

    Returns:
        One array in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.ops.column_stack([[1, 2], [3, 4]])
        array([[1, 3],
               [2, 4]])
    """
    tensors = [_at_least(t, 1, "column_stack") for t in _arrays_in(xs, "column_stack")]
    return concatenate([with_axis(t, 1) if t.ndim == 1 else t for t in tensors], 1)


__all__ = ["append", "column_stack", "concatenate", "dstack", "hstack", "stack", "vstack"]
