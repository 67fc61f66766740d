"""Partitions of lanes: what belongs before a place stands before it, what belongs behind it behind.

Elements that are smaller than the one at the place, those that equal it and the larger ones each keep their order, so
that a partition is one permutation wherever it is computed. It is the order of small whole numbers, which counting
finds; the element at the place is found by what finds few places of a sort.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.apply import apply
from .._core.state import STATE
from .._core.tensor import Tensor
from .._prims import discrete as D
from .._prims import sorting as O
from .._prims import structural as S
from . import promotion
from .elementwise import less
from .indexing import argsort, sort, take
from .promotion import as_tensor
from .shapes import part

_FEWEST = 512  # elements of a lane, below which it is sorted whole in less time
_MOST_PLACES = 8  # of a partition; for more the lane is sorted


def partition(x: Tensor, places: Sequence[int], axis: int) -> Tensor:
    """The elements in the order of `argpartition`."""
    if _is_sorted(x, places, axis):
        return sort(x, axis)
    return O.permute_along(x, argpartition(x, places, axis), axis=axis)


def argpartition(x: Tensor, places: Sequence[int], axis: int) -> Tensor:
    """The positions that bring the elements of the places there, and others to their sides."""
    if _is_sorted(x, places, axis):
        return argsort(x, axis)
    if x.dtype == dtypes.bool_:
        x = promotion.cast(x, np.dtype(np.uint8))
    sides, n = _sides(x, places, axis), x.shape[axis]
    if type(n) is not int:  # a call tells whether it is sorted
        is_short = promotion.broadcast(less(as_tensor(n), _FEWEST), x.shape)
        sides = S.select(is_short, x, promotion.cast(sides, x.dtype))
    return O.argsort(sides, axis=axis, descending=False)


def _is_sorted(x: Tensor, places: Sequence[int], axis: int) -> bool:
    n: Any = x.shape[axis]
    return x.dtype.kind == "c" or len(places) > _MOST_PLACES or (type(n) is int and n < _FEWEST)


def _sides(x: Tensor, places: Sequence[int], axis: int) -> Tensor:
    """For each element how many of the elements at the places stand before it, and how many do not stand behind it."""
    total = None
    for pivot in _at(x, places, axis):
        other = promotion.broadcast(pivot, x.shape)
        is_behind, is_before = apply(D.gt, (x, other)), apply(D.lt, (x, other))
        if dtypes.is_inexact(x.dtype):  # NaN stand last
            is_none, ends = apply(D.isnan, (x,)), apply(D.isnan, (other,))
            is_behind = apply(D.logical_or, (is_behind, apply(D.logical_and, (is_none, apply(D.logical_not, (ends,))))))
            is_before = apply(D.logical_or, (is_before, apply(D.logical_and, (ends, apply(D.logical_not, (is_none,))))))
        for is_after in (is_behind, apply(D.logical_not, (is_before,))):
            one = promotion.cast(is_after, np.dtype(np.uint8))
            total = one if total is None else S.add(total, one)
    assert total is not None
    return total


def _at(x: Tensor, places: Sequence[int], axis: int) -> list[Tensor]:
    """The elements that sorting puts at places, which it keeps as axes of one."""
    n: Any = x.shape[axis]
    known = x._data
    if STATE.builder is None and type(known) is np.ndarray and known.dtype.kind in "iuf":
        found = np.partition(known, list(places), axis)
        return [as_tensor(np.take(found, [place], axis)) for place in places]
    ordered = O.sort(x, axis=axis, descending=False)
    if type(n) is not int:
        return [take(ordered, [place] if place >= 0 else [n + place], axis) for place in places]
    return [part(ordered, axis, place % n, place % n + 1) for place in places]
