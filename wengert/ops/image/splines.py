"""Values between elements by splines of order 2 to 5, with the edges of `scipy.ndimage.map_coordinates`.

A spline through the elements is a sum of bells, one around each element. Their heights are the solution of a banded
system, linear in the elements; beyond the edges they go on as the mode says.
"""

from __future__ import annotations

import functools
import itertools
from fractions import Fraction
from typing import Any

import numpy as np

from ..._core import dtypes
from ..._core.constant import constant
from ..._core.dims import size_of
from ..._core.tensor import Tensor
from ..._core.user_line import at_user_line
from ..._prims import discrete as D
from ..._prims import indexing as I
from ..._prims import sparse as X
from .. import promotion
from ..elementwise import abs as magnitude
from ..elementwise import add, greater_equal, less_equal, logical_and, multiply, subtract
from ..indexing import where
from ..padding import pad
from ..piecewise import clip, mod
from ..promotion import as_float, as_tensor, names_errors
from ..shapes import known_extent, moved, reshaped

_MARGIN = 12  # elements put beyond the edges where no symmetry says how bells go on, as in SciPy


def _mirrored(index: Any, size: int) -> Any:
    turn = size - 1
    return np.abs((index + turn) % (2 * turn) - turn) if turn else index * 0


def _reflected(index: Any, size: int) -> Any:
    turned = index % (2 * size)
    return np.where(turned < size, turned, 2 * size - 1 - turned)


# how the heights of bells go on beyond the edges: by the edge element, by half the distance beyond it, round a circle
_FOLDS: dict[str, Any] = {"mirror": _mirrored, "reflect": _reflected, "circle": lambda index, size: index % size}
_FOLD_OF = {
    "mirror": "mirror", "constant": "mirror", "wrap": "mirror", "grid-constant": "mirror", "reflect": "reflect",
    "grid-mirror": "reflect", "nearest": "reflect", "grid-wrap": "circle",
}  # fmt: skip
MODES = tuple(_FOLD_OF)


# -- bells -------------------------------------------------------------------------------------------------------------


@functools.cache
def _at_elements(order: int) -> tuple[Fraction, ...]:
    """The bell at the elements that it covers."""
    half = Fraction(order % 2 == 0, 2)
    values = [Fraction(1)]
    for degree in range(1, order + 1):
        values = [
            ((half + degree - j) * (values[j - 1] if j else 0) + (1 + j - half) * (values[j] if j < degree else 0))
            / degree for j in range(degree + 1)
        ]  # fmt: skip
    return tuple(v for v in values if v)


def _weights(share: Tensor, order: int) -> list[Any]:
    """The bells that cover a place, by its share of the way to the next knot: de Boor's recurrence on even knots."""
    values: list[Any] = [None]  # 1
    for degree in range(1, order + 1):
        found = []
        for j in range(degree + 1):
            terms = []
            if j:
                rise = multiply(add(share, float(degree - j)), 1.0 / degree)
                terms.append(rise if degree == 1 else multiply(rise, values[j - 1]))
            if j < degree:
                fall = multiply(subtract(float(1 + j), share), 1.0 / degree)
                terms.append(fall if degree == 1 else multiply(fall, values[j]))
            found.append(terms[0] if len(terms) == 1 else add(*terms))
        values = found
    return values


@functools.lru_cache(maxsize=64)
def _system(size: int, order: int, fold: str) -> tuple[Any, Any, Any]:
    """The sparse matrix from heights of bells to elements: values, rows, columns."""
    bell = _at_elements(order)
    reach = len(bell) // 2
    rows = np.repeat(np.arange(size), len(bell))
    columns = _FOLDS[fold](rows + np.tile(np.arange(-reach, reach + 1), size), size)
    return np.tile(np.array([float(v) for v in bell]), size), rows, columns


def _heights(x: Tensor, axes: int, order: int, fold: str, what: str) -> Tensor:
    """The heights of the bells of which the elements are made, along the first axes."""
    for axis in range(axes):
        size = known_extent(x, axis, what)
        if size < 2:
            continue  # one element is its own height: the bells around its images add up to 1
        values, rows, columns = map(constant, _system(size, order, fold))
        front = moved(x, axis, 0)
        flat = reshaped(front, (size, size_of(front.shape[1:])))
        solved = X.sparse_solve(promotion.cast(values, x.dtype), rows, columns, flat)
        x = moved(reshaped(solved, front.shape), 0, axis)
    return x


# -- values ------------------------------------------------------------------------------------------------------------


def _inward(place: Tensor, size: int, mode: str) -> Tensor:
    """The place on the circle, or at the edge, that stands for one."""
    if mode == "wrap":
        return mod(place, float(size - 1)) if size > 1 else multiply(place, 0.0)
    if mode == "grid-wrap":
        return mod(place, float(size))
    if mode == "mirror":
        turn = float(size - 1)
        if size < 2:
            return multiply(place, 0.0)
        return magnitude(subtract(mod(add(place, turn), 2 * turn), turn))
    if mode in ("reflect", "grid-mirror"):
        near = mod(add(place, 0.5), 2.0 * size)
        return subtract(where(near < float(size), near, subtract(2.0 * size, near)), 0.5)
    return clip(place, 0.0, float(size - 1))


@names_errors
def spline_between(x: Tensor, places: list[Tensor], order: int, mode: str, filler: float, what: str) -> Tensor:
    """The values of x at places along its first axes, by splines."""
    if mode not in MODES:
        raise ValueError(at_user_line(f"{what}: fill_mode is {mode!r}, wanted one of {', '.join(MODES)}"))
    x = as_float(x)
    x = promotion.cast(x, dtypes.float32) if dtypes.is_half(x.dtype) else x
    axes = len(places)
    if any(known_extent(x, i, what) == 0 for i in range(axes)):
        raise ValueError(at_user_line(f"{what}: shape {x.shape} is empty along an axis"))
    outside = promotion.cast(as_tensor(filler, what), x.dtype)
    inside = None
    if mode == "constant":
        for i, place in enumerate(places):
            is_here = logical_and(greater_equal(place, 0.0), less_equal(place, float(x.shape[i] - 1)))
            inside = is_here if inside is None else logical_and(inside, is_here)
    if mode in ("nearest", "grid-constant"):
        widths = [(_MARGIN, _MARGIN)] * axes + [(0, 0)] * (x.ndim - axes)
        if mode == "nearest":
            x = pad(x, widths, mode="edge")
        else:  # what goes on for ever is taken off first
            x = pad(subtract(x, outside), widths)
        places = [add(place, float(_MARGIN)) for place in places]
    heights = _heights(x, axes, order, _FOLD_OF[mode], what)
    total = _summed(heights, places, order, mode)
    rest = (1,) * (total.ndim - places[0].ndim) if places else ()
    if inside is not None:
        return where(reshaped(inside, (*inside.shape, *rest)), total, outside)
    return add(total, outside) if mode == "grid-constant" else total


def _summed(heights: Tensor, places: list[Tensor], order: int, mode: str) -> Tensor:
    """The bells that cover each place, times their heights."""
    ways = []
    rest = (1,) * (heights.ndim - len(places))
    for axis, place in enumerate(places):
        size: Any = heights.shape[axis]
        at = promotion.cast(_inward(place, size, mode), heights.dtype)
        shifted = at if order % 2 else add(at, 0.5)
        knot = D.floor(shifted)
        first = promotion.cast(knot, dtypes.int64)
        weights = _weights(subtract(shifted, knot), order)
        ways.append([
            (_folded(add(first, j - order + (order + 1) // 2), size, mode), reshaped(w, (*w.shape, *rest)))
            for j, w in enumerate(weights)
        ])  # fmt: skip
    total: Any = None
    for corner in itertools.product(*ways):
        value = I.gather(heights, *[index for index, _ in corner])
        for _, weight in corner:
            value = multiply(value, weight)
        total = value if total is None else add(total, value)
    return total


def _folded(index: Tensor, size: int, mode: str) -> Tensor:
    """The number of the bell whose height one beyond the edge has."""
    fold = _FOLD_OF[mode]
    if fold == "circle":
        found = mod(index, size)
    elif fold == "reflect":
        turned = mod(index, 2 * size)
        found = where(turned < size, turned, subtract(2 * size - 1, turned))
    elif size < 2:
        found = multiply(index, 0)
    else:
        found = magnitude(subtract(mod(add(index, size - 1), 2 * (size - 1)), size - 1))
    return promotion.cast(found, dtypes.int64)


__all__ = ["MODES", "spline_between"]
