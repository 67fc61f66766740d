"""Kernels of buffers on the plain-Python engine, whose arrays never change: every write makes a new one."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import product
from typing import Any

from tests.support.python_engine import array as a
from tests.support.python_engine.array import PyArray
from tests.support.python_engine.dtypes import BOOL
from tests.support.python_engine.indexing import wrap_index


def _places(b: PyArray, indices: tuple[PyArray, ...], template: tuple[Any, ...]) -> tuple[tuple[int, ...], list[int]]:
    """The shape of a place and the flat positions of its elements in row-major order, index arrays first."""
    steps = a.strides(b.shape)
    start = sum(e * step for e, step in zip(template, steps, strict=True) if isinstance(e, int))
    slices = [([*range(*e)], step) for e, step in zip(template, steps, strict=True) if isinstance(e, tuple)]
    inner = [sum(offsets) for offsets in product(*([i * step for i in along] for along, step in slices))]
    shape = tuple(len(along) for along, _ in slices)
    addressed = [(n, step) for e, n, step in zip(template, b.shape, steps, strict=True) if e is None]
    if not indices:
        return shape, [start + offset for offset in inner]
    leads = [
        start + sum(wrap_index(i, n) * step for i, (n, step) in zip(row, addressed, strict=True))
        for row in zip(*(index.flat for index in indices), strict=True)
    ]
    return (*indices[0].shape, *shape), [lead + offset for lead in leads for offset in inner]


def get(b: PyArray, *indices_and_template: Any) -> PyArray:
    """What stands at a place."""
    *indices, template = indices_and_template
    shape, places = _places(b, tuple(indices), template)
    return a.take_flat(b, places, shape)


def _write(combine: Callable[[Any, Any], Any]) -> Callable[..., PyArray]:
    def kernel(value: PyArray, b: PyArray, *indices_and_template: Any) -> PyArray:
        """b with the elements at a place combined with a value, one after the other."""
        *indices, template = indices_and_template
        values = list(b.flat)
        for place, new in zip(_places(b, tuple(indices), template)[1], value.flat, strict=True):
            values[place] = combine(values[place], new)
        return a.make(b.shape, b.dtype, values)

    return kernel


def last_writes(*indices_and_extents: Any) -> PyArray:
    """Whether each position is not addressed again by a later one."""
    *indices, extents = indices_and_extents
    rows = zip(*(index.flat for index in indices), strict=True)
    positions = [tuple(map(wrap_index, row, extents)) for row in rows]
    last = {position: number for number, position in enumerate(positions)}
    flags = [last[position] == number for number, position in enumerate(positions)]
    return a.make(indices[0].shape, BOOL, flags)


def _first(x: PyArray) -> PyArray:
    return x


KERNELS: dict[str, Callable[..., PyArray]] = {
    "buffer_new": _first,
    "buffer_value": _first,
    "buffer_get": get,
    "buffer_set": _write(lambda old, new: new),
    "buffer_add": _write(operator.add),
    "last_writes": last_writes,
}
