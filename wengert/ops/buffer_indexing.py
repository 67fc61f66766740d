"""Reading and writing a buffer at an index: turns what stands in the brackets into a template of `_prims/buffer.py`.

The index is read as every subscript is. What the primitives give and take lies in an order of their own, the axes of
index arrays first and no axis backwards; from there to NumPy's order, and back, is a matter of the slice alone.
"""

from __future__ import annotations

import builtins
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .._core.apply import apply
from .._core.argument_types import ArrayLike, Index
from .._core.constant import constant
from .._core.dims import Shape
from .._core.engine import ndarray_of
from .._core.op import Op
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import structural as S
from .._prims.buffer import buffer_add, buffer_get, buffer_set
from . import promotion
from .shapes import permuted, reshaped
from .subscript import BOUNDS, NewAxis, Single, Whole, addressed, has_arrays, index_place, read
from .written_values import filling, fitting


class PlaceInBuffer(NamedTuple):
    """Where b[index] lies, and how it gets there from the order of the primitives."""

    template: tuple[Any, ...]
    indices: tuple[Tensor, ...]
    core: Shape  # as the primitives have it
    flipped: tuple[int, ...]  # axes of it that are read backwards
    wide: Shape  # with new axes
    perm: tuple[int, ...]  # and the axes of index arrays at their place


def take(b: Tensor, index: Index, what: str, place: PlaceInBuffer | None = None) -> Tensor:
    """What stands at b[index], a copy; or at a place that stands for the index."""
    plain = plain_place(b.shape, index) if place is None else None
    if plain is not None:
        return apply(buffer_get, (b, *plain[2]), (plain[0],))
    place = place_of(b, index, what) if place is None else place
    taken = buffer_get(b, *place.indices, template=place.template)
    if place.flipped:
        taken = S.flip(taken, axes=place.flipped)
    return permuted(reshaped(taken, place.wide), place.perm)


def put(b: Tensor, index: Index, value: ArrayLike, what: str, place: PlaceInBuffer | None = None) -> Tensor:
    """The version of b with a value at b[index], or at a place that stands for the index."""
    return _written(buffer_set, b, index, value, what, place)


def add(b: Tensor, index: Index, value: ArrayLike, what: str, place: PlaceInBuffer | None = None) -> Tensor:
    """The version of b with a value added at b[index], as often as the index addresses an element."""
    return _written(buffer_add, b, index, value, what, place)


def _written(op: Op, b: Tensor, index: Index, value: ArrayLike, what: str, place: PlaceInBuffer | None) -> Tensor:
    if type(value) is not Tensor or value.dtype != b.dtype:
        value = fitting(promotion.tensors_of(b, value, what)[1], b, what)
    updates: Tensor = value
    plain = plain_place(b.shape, index) if place is None else None
    if plain is not None:
        template, core, arrays = plain
        updates = updates if updates.shape == core else filling(updates, core, what)
        return apply(op, (updates, b, *arrays), (template,))
    place = place_of(b, index, what) if place is None else place
    updates = filling(updates, (*[place.wide[p] for p in place.perm],), what)
    updates = reshaped(permuted(updates, S.inverse(place.perm)), place.core)
    if place.flipped:
        updates = S.flip(updates, axes=place.flipped)
    return op(updates, b, *place.indices, template=place.template)


# A place that lies in NumPy's order as the primitives have it: template, extents, index arrays.
Plain = tuple[tuple[Any, ...], Shape, tuple[Tensor, ...]]


def plain_place(shape: Shape, index: Index) -> Plain | None:
    """The place of integers, slices forward and known index arrays, without the steps of other indices.

    None where there is more in an index: new axes, extents that are not known, what is out of bounds, or index arrays
    whose axes NumPy does not put in front.
    """
    items: Any = index if type(index) is tuple else () if index is Ellipsis else (index,)
    if len(items) > len(shape):
        return None
    template: list[Any] = []
    core: list[int] = []
    arrays: list[Tensor] = []
    for item in items:
        kind, size = type(item), shape[len(template)] if len(template) < len(shape) else None
        if type(size) is not int:
            return None
        if kind is int or kind is np.int64:
            if not -size <= item < size:
                return None
            template.append(int(item) if item >= 0 else int(item) + size)
        elif kind is slice and BOUNDS.issuperset((type(item.start), type(item.stop), type(item.step))):
            start, stop, step = item.indices(size)
            if step < 1 or start >= stop:
                return None
            count = (stop - start + step - 1) // step
            template.append((start, start + (count - 1) * step + 1, step))
            core.append(count)
        elif item is Ellipsis:
            return _place_without_dots(shape, items)
        else:
            found = _arrays_of(item, shape[len(template) :])
            if found is None:
                return None
            arrays += found
            template += [None] * len(found)
    for size in shape[len(template) :]:
        if type(size) is not int or not size:
            return None
        template.append((0, size, 1))
        core.append(size)
    if not arrays:
        return (*template,), (*core,), ()
    if type(template[0]) is tuple:
        return None
    shape = arrays[0]._data.shape
    for array in arrays:
        if array._data.shape != shape:
            wide = _broadcast(arrays)
            return None if wide is None else ((*template,), (*wide[0]._data.shape, *core), wide)
    return (*template,), (*shape, *core), (*arrays,)


def _place_without_dots(shape: Shape, items: tuple[Any, ...]) -> Plain | None:
    """The place of an index in which dots stand for whole axes; None where there are two of them, or masks."""
    at = next(i for i, item in enumerate(items) if item is Ellipsis)
    others = (*items[:at], *items[at + 1 :])
    if any(item is Ellipsis or getattr(item, "dtype", None) == np.bool_ for item in others):
        return None
    return plain_place(shape, (*items[:at], *[slice(None)] * (len(shape) - len(others)), *items[at + 1 :]))


def _broadcast(arrays: list[Tensor]) -> tuple[Tensor, ...] | None:
    """Index arrays broadcast to one shape; None where they have none, or a trace does not know them."""
    known = [array._data for array in arrays if type(array._data) is np.ndarray]
    try:
        wide = np.broadcast_arrays(*known)
    except ValueError:
        return None
    return (*[constant(np.ascontiguousarray(array)) for array in wide],) if len(known) == len(arrays) else None


def _arrays_of(item: Any, shape: Shape) -> list[Tensor] | None:
    """The index arrays that one entry of an index comes to: integers, or where a mask of the first extents is true."""
    if type(item) is list:
        return [constant(np.array(item, np.int64))] if item and {int}.issuperset(map(type, item)) else None
    if type(item) is Tensor:
        if type(item._data) is not np.ndarray:
            return None
        item._note_exit("an index")
        item = item._data
    if type(item) is not np.ndarray or not item.ndim:
        return None
    if item.dtype == np.bool_:
        return [constant(part) for part in item.nonzero()] if item.shape == shape[: item.ndim] else None
    return [constant(item.astype(np.int64))] if item.dtype.kind in "iu" else None


def place_within(window: tuple[Any, ...], inner: Plain) -> Plain | None:
    """The place, of the whole, of a place in a window, which is itself a place of integers and slices.

    None where index arrays reach beyond the window.
    """
    template, core, given = inner
    items, arrays = iter(template), iter(given)
    found: list[Any] = []
    indices: list[Tensor] = []
    for entry in window:
        if type(entry) is tuple:
            start, limit, step = entry
            item = next(items)
            if type(item) is tuple:
                first, last, stride = item
                entry = (start + first * step, start + (last - 1) * step + 1, step * stride)
            elif item is None:
                number = from_the_front(next(arrays), (limit - start + step - 1) // step)
                if number is None:
                    return None
                indices.append(constant(start + number * step))
                entry = None
            else:
                entry = start + item * step
        found.append(entry)
    return (*found,), core, (*indices,)


def from_the_front(index: Tensor, size: int) -> np.ndarray[Any, Any] | None:
    """A known index array counted from the front of an axis; None where it reaches beyond."""
    number = ndarray_of(index._data)
    if not number.size:
        return number
    least = number.min()
    if least < -size or number.max() >= size:
        return None
    return number if least >= 0 else np.where(number < 0, number + size, number)


def place_of(b: Tensor, index: Index, what: str) -> PlaceInBuffer:
    """Where b[index] lies."""
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
    return PlaceInBuffer(tuple(template), tuple(arrays), tuple(core), tuple(flipped), tuple(wide), perm)


def elements_of(place: PlaceInBuffer, strides: tuple[int, ...], offset: int = 0) -> np.ndarray[Any, Any]:
    """The numbers of a place's elements, in its own order, in an array of which it knows what a step along an axis is.

    Its index arrays must be known.
    """
    numbers: Any = offset
    indices, slices = iter(place.indices), list[Any]()
    for stride, entry in zip(strides, place.template, strict=True):
        if type(entry) is tuple:
            slices.append(np.arange(*entry) * stride)
        else:
            numbers = numbers + (ndarray_of(next(indices)._data) if entry is None else entry) * stride
    numbers = np.reshape(numbers, (*np.shape(numbers), *(1,) * len(slices)))
    for axis, along in enumerate(slices):
        numbers = numbers + along.reshape((-1, *(1,) * (len(slices) - axis - 1)))
    return numbers


def counted_from_the_front(place: PlaceInBuffer, shape: Shape, what: str) -> PlaceInBuffer:
    """A place of known index arrays with none of them negative; an IndexError where one is out of bounds."""
    axes = [axis for axis, entry in enumerate(place.template) if entry is None]
    found: list[Tensor] = []
    for axis, index in zip(axes, place.indices, strict=True):
        size: Any = shape[axis]
        array = from_the_front(index, size)
        if array is None:
            raise IndexError(
                at_user_line(f"{what}: an index is out of bounds for axis {axis} of an x of shape {shape}")
            )
        found.append(constant(array))
    return place._replace(indices=(*found,))


def numbers_of(x: Tensor, index: Index, what: str) -> np.ndarray[Any, Any]:
    """The numbers, in row-major order, of the elements that x[index] addresses; the index must be known."""
    shape: Any = x.shape
    place = counted_from_the_front(place_of(x, index, what), shape, what)
    numbers = elements_of(place, (*[prod(shape[axis + 1 :]) for axis in range(len(shape))],))
    return np.flip(numbers, place.flipped).reshape(place.wide).transpose(place.perm)


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
