"""Elements along an axis at a grid of positions, each the sum of one number of every row: sliding windows, for one.

In a trace, windows of few elements are slices that are joined, as somebody who knows NumPy well would write them: loops
read them side by side, and gradients are sums of what is written where it belongs. Elsewhere, and where the slices were
many, elements are looked up by number. Called for views by strides (`memory/layouts.py`) and for known index arrays.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from .._core.constant import constant
from .._core.tensor import Tensor, Value
from .._prims.indexing import gather
from .promotion import broadcast
from .repeating import run_of
from .shapes import joined, moved, permuted, reshaped, with_axis

_MOST_SLICES = 64  # beyond, gradients by number are as fast
_LONG_ROW = 16  # positions of a slice, from which on it is worth it

Row = np.ndarray[Any, np.dtype[np.int64]]


def at_grids(x: Tensor, grids: Mapping[int, Sequence[Row]]) -> Tensor:
    """What stands, along each of some axes, at the sums of one position of each row; the rows' axes take its place."""
    if type(x._data) is Value and max(grids, default=0) == x.ndim - 1 and _are_sliced([*grids.values()]):
        return _joined_slices(x, grids)
    for axis in sorted(grids, reverse=True):
        x = _looked_up(x, axis, grids[axis])
    return x


def _looked_up(x: Tensor, axis: int, rows: Sequence[Row]) -> Tensor:
    taken = gather(moved(x, axis, 0), _grid_of(rows, type(x._data) is Value))
    before, own = range(len(rows), len(rows) + axis), range(len(rows))
    return permuted(taken, (*before, *own, *range(len(rows) + axis, taken.ndim)))


def _grid_of(rows: Sequence[Row], is_traced: bool) -> Tensor:
    """The sums of the rows; a program computes them where it looks up, rather than hold them."""
    if not is_traced:
        return constant(np.asarray(functools.reduce(np.add.outer, rows), np.int64))
    shape = (*map(len, rows),)
    wide = [
        broadcast(constant(np.reshape(np.asarray(row, np.int64), (-1, *(1,) * (len(rows) - k - 1)))), shape)
        for k, row in enumerate(rows)
    ]
    return functools.reduce(operator.add, wide)


def rows_of(positions: np.ndarray[Any, Any], size: int) -> list[Row] | None:
    """The rows of a grid that positions form, of which slices can be made; None where they form none or leave the axis.

    Args:
        positions: of at least two axes.
        size: of the axis that they address.
    """
    if not positions.size or positions.min() < 0 or positions.max() >= size:
        return None
    first = positions[(0,) * positions.ndim]
    lines = [
        positions[(*[slice(None) if i == k else 0 for i in range(positions.ndim)],)] for k in range(positions.ndim)
    ]
    rows = [np.asarray(line, np.int64) - (first if k else 0) for k, line in enumerate(lines)]
    if not _are_sliced([rows]) or not np.array_equal(functools.reduce(np.add.outer, rows), positions):
        return None
    return rows


def _longest(rows: Sequence[Row]) -> int:
    return max(range(len(rows)), key=lambda k: len(rows[k]))


def _are_sliced(grids: Sequence[Sequence[Row]]) -> bool:
    """Whether the longest rows have even steps, and the others are few elements together."""
    longest = [rows[_longest(rows)] for rows in grids]
    shares = [prod(map(len, rows)) // len(long) for rows, long in zip(grids, longest, strict=True)]
    is_long = prod(map(len, longest)) >= _LONG_ROW
    return prod(shares) <= _MOST_SLICES and is_long and not any(np.diff(long, 2).any() for long in longest)


def _joined_slices(x: Tensor, grids: Mapping[int, Sequence[Row]]) -> Tensor:
    """Along each axis the longest row as a slice for each sum of the others, which are joined along a last axis."""
    rank = x.ndim
    places: dict[tuple[int, int], int] = {}
    for axis, rows in grids.items():
        long = _longest(rows)
        others = [k for k in range(len(rows)) if k != long]
        offsets = functools.reduce(np.add.outer, [rows[k] for k in others], np.int64(0))
        slices = [with_axis(run_of(x, axis, rows[long] + offset), x.ndim) for offset in np.ravel(offsets)]
        places |= {(axis, k): x.ndim + i for i, k in enumerate(others)} | {(axis, long): axis}
        x = joined(slices, x.ndim)
        x = reshaped(x, (*x.shape[:-1], *[len(rows[k]) for k in others]))
    return permuted(
        x, (*[places.get((axis, k), axis) for axis in range(rank) for k in range(len(grids.get(axis, "1")))],)
    )


__all__ = ["at_grids", "rows_of"]
