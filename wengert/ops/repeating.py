"""Elements repeated: tile, repeat."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from .._core.argument_types import ArrayLike, Axes
from .._core.constant import constant
from .._core.dims import Dim, DimLike
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import structural as S
from .._prims.indexing import gather
from . import promotion
from .promotion import as_ndarray, as_tensor, normal_axis, public
from .shapes import flat, joined, known_extent, moved, new_shape, part, reshaped, with_axis

_LONG_RUN = 4  # elements of one, on average
_FEW_RUNS = 6  # of which each is taken by itself: as many parts are read from where they are by one loop
_GLANCE = 64  # positions by which most others are told from runs


@public
def tile(x: ArrayLike, repeats: ArrayLike) -> Any:
    """x laid side by side.

    Args:
        x: an array or a number.
        repeats: how many times along each of the last axes; more numbers than axes add leading axes.

    Returns:
        The larger array in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.tile([1, 2], 2)
        array([1, 2, 1, 2])
    """
    a = as_tensor(x, "tile")
    counts = new_shape(repeats, "tile")
    rank = builtins.max(a.ndim, len(counts))
    counts = (1,) * (rank - len(counts)) + counts
    sizes = (1,) * (rank - a.ndim) + tuple(a.shape)
    narrow = (*[d for size in sizes for d in (1, size)],)
    wide = (*[d for pair in zip(counts, sizes) for d in pair],)
    repeated = promotion.broadcast(reshaped(a, narrow), wide)
    return reshaped(repeated, (*[c * s for c, s in zip(counts, sizes)],))


@public
def repeat(x: ArrayLike, repeats: ArrayLike, axis: Axes = None) -> Any:
    """Each element of x, or each slice along an axis, several times in succession.

    Args:
        x: an array or a number.
        repeats: how many times, for all or for each; known while tracing.
        axis: the axis; None repeats the elements of the flattened array.

    Returns:
        The larger array in x's kind.

    Raises:
        ValueError: if there are several `repeats` and not one for each slice.

    Example:
        >>> import wengert as wg
        >>> wg.ops.repeat([1, 2], 2)
        array([1, 1, 2, 2])
    """
    a = as_tensor(x, "repeat")
    a, place = (flat(a), 0) if axis is None else (a, normal_axis(axis, a.ndim, "repeat"))
    if isinstance(repeats, Dim):
        return _repeated_evenly(a, repeats, place)
    counts = as_ndarray(repeats, "repeat")
    if counts.size == 1:
        return _repeated_evenly(a, int(counts.item()), place)
    size = known_extent(a, place, "repeat")
    if counts.shape != (size,):
        raise ValueError(
            at_user_line(f"repeat: repeats has shape {counts.shape}, wanted one number for each of {size} slices")
        )
    return picked(a, place, np.repeat(np.arange(size), counts))


def _repeated_evenly(x: Tensor, count: DimLike, axis: int) -> Tensor:
    if type(count) is int and count < 0:
        raise ValueError(at_user_line(f"repeat: repeats is {count}, wanted a number that is not negative"))
    before, size, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    wide = promotion.broadcast(with_axis(x, axis + 1), (*before, size, count, *after))
    return reshaped(wide, (*before, size * count, *after))


def picked(x: Tensor, axis: int, positions: np.ndarray[Any, Any]) -> Tensor:
    """The slices of x at known positions along an axis.

    Where the positions form few runs of one step each, as those of paddings do, every run is taken as a whole: that
    copies memory where elements by number would be looked up one by one, and its gradient pads and adds where theirs
    would scatter.
    """
    found = runs(positions)
    if found is not None:
        return _joined_runs(x, axis, found)
    taken = gather(moved(x, axis, 0), constant(positions.astype(np.int64)))
    return moved(taken, 0, axis)


def taken_in_long_runs(x: Tensor, axis: int, positions: np.ndarray[Any, Any]) -> Tensor | None:
    """The slices of x at an index's positions, which may count from the end, each run as a whole; None if there are
    more than a few, if they are short, which are looked up one by one as fast, or a position lies outside."""
    size = x.shape[axis]
    if type(size) is not int or positions.ndim != 1 or positions.size == 0:
        return None
    if not -size <= positions.min() <= positions.max() < size:
        return None
    found = runs(np.where(positions < 0, positions + size, positions))
    if found is None or (len(found) > 1 and positions.size < _LONG_RUN * len(found)):
        return None
    return _joined_runs(x, axis, found)


def runs(positions: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]] | None:
    """Positions in pieces of one step each, from the first to the last; None for none, or for more than a few."""
    if positions.size > _GLANCE and runs(positions[:_GLANCE]) is None:  # as soon seen of an order of a million
        return None
    found: list[np.ndarray[Any, Any]] = []
    changes = np.flatnonzero(np.diff(positions, 2)) + 2  # from there on the step is another one
    start = 0
    while start < positions.size and len(found) <= _FEW_RUNS:
        later = int(np.searchsorted(changes, start + 2))
        stop = int(changes[later]) if later < changes.size else positions.size
        found.append(positions[start:stop])
        start = stop
    return found if 0 < len(found) <= _FEW_RUNS else None


def _joined_runs(x: Tensor, axis: int, found: list[np.ndarray[Any, Any]]) -> Tensor:
    return joined([run_of(x, axis, run) for run in found], axis)


def run_of(x: Tensor, axis: int, run: np.ndarray[Any, Any]) -> Tensor:
    """The slices of x at positions of one step, which is forward, backward or none."""
    first, last = int(run[0]), int(run[-1])
    step = int(run[1]) - first if run.size > 1 else 1
    if step == 0:
        wide = (*x.shape[:axis], run.size, *x.shape[axis + 1 :])
        return promotion.broadcast(part(x, axis, first, first + 1), wide)
    low, high = sorted((first, last))
    taken = part(x, axis, low, high + 1, abs(step))
    return S.flip(taken, axes=(axis,)) if step < 0 else taken


__all__ = ["repeat", "tile"]
