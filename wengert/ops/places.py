"""Reading and writing a buffer at an index: turns what stands in the brackets into a template of `_prims/buffer.py`.

The index is read as every subscript is. What the primitives give and take lies in an order of their own, the axes of
index arrays first and no axis backwards; from there to NumPy's order, and back, is a matter of the slice alone.
"""

from __future__ import annotations

import builtins
from typing import Any, NamedTuple

import numpy as np

from .._core.apply import apply
from .._core.argument_types import ArrayLike, Index
from .._core.dims import Shape
from .._core.op import Op
from .._core.tensor import Tensor
from .._core.where import at_user_line
from .._prims import structural as S
from .._prims.buffer import buffer_add, buffer_get, buffer_set
from . import promotion
from .at import filling, fitting
from .shapes import permuted, reshaped
from .subscript import NewAxis, Single, Whole, addressed, has_arrays, index_place, read


class Place(NamedTuple):
    """Where b[index] lies, and how it gets there from the order of the primitives."""

    template: tuple[Any, ...]
    indices: tuple[Tensor, ...]
    core: Shape  # as the primitives have it
    flipped: tuple[int, ...]  # axes of it that are read backwards
    wide: Shape  # with new axes
    perm: tuple[int, ...]  # and the axes of index arrays at their place


def take(b: Tensor, index: Index, what: str) -> Tensor:
    """What stands at b[index], a copy."""
    plain = plain_place(b.shape, index)
    if plain is not None:
        return apply(buffer_get, (b,), (plain[0],))
    place = _place_of(b, index, what)
    taken = buffer_get(b, *place.indices, template=place.template)
    if place.flipped:
        taken = S.flip(taken, axes=place.flipped)
    return permuted(reshaped(taken, place.wide), place.perm)


def put(b: Tensor, index: Index, value: ArrayLike, what: str) -> Tensor:
    """The version of b with a value at b[index]."""
    return _written(buffer_set, b, index, value, what)


def add(b: Tensor, index: Index, value: ArrayLike, what: str) -> Tensor:
    """The version of b with a value added at b[index], as often as the index addresses an element."""
    return _written(buffer_add, b, index, value, what)


def _written(op: Op, b: Tensor, index: Index, value: ArrayLike, what: str) -> Tensor:
    if type(value) is not Tensor or value.dtype != b.dtype:
        value = fitting(promotion.tensors_of(b, value, what)[1], b, what)
    updates: Tensor = value
    plain = plain_place(b.shape, index)
    if plain is not None:
        template, core = plain
        return apply(op, (updates if updates.shape == core else filling(updates, core, what), b), (template,))
    place = _place_of(b, index, what)
    updates = filling(updates, (*[place.wide[p] for p in place.perm],), what)
    updates = reshaped(permuted(updates, S.inverse(place.perm)), place.core)
    if place.flipped:
        updates = S.flip(updates, axes=place.flipped)
    return op(updates, b, *place.indices, template=place.template)


def plain_place(shape: Shape, index: Index) -> tuple[tuple[Any, ...], Shape] | None:
    """The template and the shape of what integers and slices forward address, without the steps of other indices.

    None where there is more in an index: arrays, new axes, extents that are not known, what is out of bounds.
    """
    items: Any = index if type(index) is tuple else () if index is Ellipsis else (index,)
    if len(items) > len(shape):
        return None
    template: list[Any] = []
    core: list[int] = []
    for size, item in zip(shape, items, strict=False):
        kind = type(item)
        if type(size) is not int:
            return None
        if kind is int or kind is np.int64:
            if not -size <= item < size:
                return None
            template.append(int(item) if item >= 0 else int(item) + size)
        elif kind is slice and type(item.start) in _BOUNDS and type(item.stop) in _BOUNDS and type(item.step) in _BOUNDS:
            start, stop, step = item.indices(size)
            if step < 1 or start >= stop:
                return None
            count = (stop - start + step - 1) // step
            template.append((start, start + (count - 1) * step + 1, step))
            core.append(count)
        else:
            return None
    for size in shape[len(items) :]:
        if type(size) is not int or not size:
            return None
        template.append((0, size, 1))
        core.append(size)
    return (*template,), (*core,)


_BOUNDS = frozenset({int, type(None)})


def place_within(window: tuple[Any, ...], inner: tuple[Any, ...]) -> tuple[Any, ...]:
    """The template of a place in a window, which is itself a place of integers and slices."""
    items = iter(inner)
    found: list[Any] = []
    for entry in window:
        if type(entry) is tuple:
            start, _, step = entry
            item = next(items)
            if type(item) is tuple:
                first, limit, stride = item
                entry = (start + first * step, start + (limit - 1) * step + 1, step * stride)
            else:
                entry = start + item * step
        found.append(entry)
    return (*found,)


def _place_of(b: Tensor, index: Index, what: str) -> Place:
    _refuse_lone_truth(index, what)
    _, entries = read(b, index, what)
    arrays: list[Tensor] = []
    axes: list[int] = []
    if has_arrays(entries):
        axes, arrays = addressed(entries, what)
    template: list[Any] = [None] * b.ndim
    lead: Shape = arrays[0].shape if arrays else ()
    rank = len(lead)
    core, wide = list(lead), list(lead)
    flipped: list[int] = []
    for entry in entries:
        if type(entry) is Whole:
            flipped += [len(core)] if entry.is_flipped else []
            template[entry.axis] = (entry.start, entry.limit, entry.step)
            extent = S.slice_extent(entry.start, entry.limit, entry.step)
            core.append(extent)
            wide.append(extent)
        elif type(entry) is NewAxis:
            wide.append(1)
        elif type(entry) is Single and not axes:
            template[entry.axis] = entry.position
    place = index_place(entries) if arrays else 0
    after = range(rank, len(wide))
    perm = (*after[:place], *range(rank), *after[place:])
    return Place(tuple(template), tuple(arrays), tuple(core), tuple(flipped), tuple(wide), perm)


def is_lone_truth(index: Index) -> bool:
    """Whether a True or False stands among the entries of an index."""
    if type(index) is slice or type(index) is int:
        return False
    items = index if isinstance(index, tuple) else (index,)
    return builtins.any(isinstance(i, (bool, np.bool_)) or (isinstance(i, (np.ndarray, Tensor)) and i.shape == ()
                        and i.dtype == np.bool_) for i in items)  # fmt: skip


def _refuse_lone_truth(index: Index, what: str) -> None:
    if is_lone_truth(index):
        raise IndexError(at_user_line(f"{what}: a lone True or False does not index a buffer; index its .value"))
