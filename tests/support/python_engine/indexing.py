"""Gather and scatter kernels of the plain-Python engine, and permutations along an axis.

Owns reads and functional updates at integer indices. The k index arrays address the first k axes. A negative index
counts from the end; one outside the axis raises IndexError. Updates are applied in row-major order of the indices,
so the last of equal indices wins where values are set.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import prod
from typing import Any

from tests.support.python_engine import array as a
from tests.support.python_engine.array import PyArray
from tests.support.python_engine.elementwise import maximum, minimum


def wrap_index(index: int, length: int) -> int:
    """The index counted from the front.

    Raises:
        IndexError: if it lies outside an axis of `length`.
    """
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of bounds for an axis of extent {length}")
    return index % length


def gather(x: PyArray, *indices: PyArray) -> PyArray:
    """``x[indices]``: the elements, or rows, at positions of the first axes."""
    return a.take_flat(x, _places(x, indices), (*indices[0].shape, *x.shape[len(indices) :]))


def _places(x: PyArray, indices: tuple[PyArray, ...]) -> list[int]:
    """The flat positions of all addressed elements, in the row-major order of what `gather` gives."""
    steps = a.strides(x.shape)
    block = prod(x.shape[len(indices) :])
    starts = [
        sum(wrap_index(i, n) * step for i, n, step in zip(row, x.shape, steps, strict=False))
        for row in zip(*(index.flat for index in indices), strict=True)
    ]
    return [start + rest for start in starts for rest in range(block)]


def _scatter(combine: Callable[[Any, Any], Any]) -> Callable[..., PyArray]:
    def kernel(x: PyArray, updates: PyArray, *indices: PyArray) -> PyArray:
        """x with the elements that `gather` reads combined with updates, one after the other."""
        values = list(x.flat)
        for place, new in zip(_places(x, indices), updates.flat, strict=True):
            values[place] = combine(values[place], new)
        return a.make(x.shape, x.dtype, values)

    return kernel


def permute_along(x: PyArray, index: PyArray, axis: int) -> PyArray:
    """The elements along `axis` in the order of an index of x's shape."""
    step, length = a.strides(x.shape)[axis], x.shape[axis]
    jumps = [0 if i == axis else s for i, s in enumerate(a.strides(x.shape))]
    bases = a.offsets(x.shape, jumps)
    places = [b + wrap_index(i, length) * step for b, i in zip(bases, index.flat, strict=True)]
    return a.take_flat(x, places, x.shape)


KERNELS: dict[str, Callable[..., PyArray]] = {
    "gather": gather,
    "scatter_set": _scatter(lambda old, new: new),
    "scatter_add": _scatter(operator.add),
    "scatter_mul": _scatter(operator.mul),
    "scatter_max": _scatter(maximum),
    "scatter_min": _scatter(minimum),
    "permute_along": permute_along,
}
