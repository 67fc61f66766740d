"""Translates NumPy's views of a blank array to places of a buffer (`_prims/buffer.py`), for views of tensors.

A view of an array in row-major order is an offset, extents and strides. Where each of its axes runs along one axis of
the array, that is a template of slices; where several run along the same one, as those of sliding windows do, it is
read at a grid of positions along that axis; a view that is made otherwise (diagonals, several axes as one) is read and
written at the numbers of its elements. Each costs the view, not the array. Used by the other files of this folder and
by `memory_methods.py`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..._core.argument_types import Index
from ..._core.constant import constant
from ..._core.tensor import Tensor
from ..._prims import structural as S
from ..._prims.buffer import buffer_get, buffer_set
from .. import buffer_indexing, complex_parts
from ..grids import at_grids
from ..promotion import broadcast
from ..shapes import part as part_of
from ..shapes import permuted, reshaped
from ..subscript import is_known, look_of_index, take_index

_SCALES = {"c": np.complex64}  # a dtype with parts for NumPy to make views of; one byte for all others

_Get = Callable[[Tensor, tuple[Any, ...]], Tensor]  # what stands at a template of integers and slices

_LARGE = 2**20  # elements from which on a blank array has no memory until somebody reads it


def blank_of(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any] | None:
    """An array whose elements nobody asks for, though functions that find no view copy them: it lies in real memory.

    Where it is large the system only reserves its addresses, and a read finds zeros. None where there are not as many.
    """
    kind = np.dtype(_SCALES.get(dtype.kind, np.bool_))
    if prod(shape) < _LARGE:
        return np.empty(shape, kind)
    import mmap  # loaded with the first of them

    try:
        reserved = mmap.mmap(-1, prod(shape) * kind.itemsize)
    except (OSError, OverflowError):
        return None
    return np.frombuffer(reserved, kind).reshape(shape)


def indexed(layout: np.ndarray[Any, Any] | None, index: Any) -> np.ndarray[Any, Any] | None:
    """The view at an index that NumPy takes for a view; None where it would be a copy, or NumPy cannot know it."""
    if layout is None:
        return None
    if look_of_index(index) is None:  # else it is plain
        items = index if type(index) is tuple else (index,)
        index = (*[operator.index(i) if isinstance(i, Tensor) and _is_integer(i) else i for i in items],)
        if not all(map(_is_plain, index)):
            return None
    items = index if type(index) is tuple else (index,)
    has_dots = Ellipsis in [i for i in items if i is Ellipsis]
    return layout[index if has_dots else (*items, Ellipsis)]  # without dots a full index would read the element


def laid_out(blank: Any, template: tuple[Any, ...]) -> Any:
    """The view of an array that is a place of integers and slices."""
    return None if blank is None else blank[(*[slice(*e) if type(e) is tuple else e for e in template], ...)]


def with_extents(layout: np.ndarray[Any, Any], shape: Any) -> np.ndarray[Any, Any]:
    """The same elements in order with other extents; an AttributeError, as NumPy's, where only a copy would do."""
    if np.lib.NumpyVersion(np.__version__) < "2.1.0":  # `reshape` has no `copy` there; setting warns from 2.5 on
        view = layout.view()
        view.shape = shape
        return view
    try:
        return layout.reshape(shape, copy=False)
    except ValueError as error:
        if "copy" not in str(error):
            raise  # the numbers of elements differ
        raise AttributeError(f"{error} Use x.reshape(shape), which copies where it must.") from None


def _is_plain(item: Index) -> bool:
    if type(item) is slice:
        return _is_known(item)
    return item is None or item is Ellipsis or type(item) is int or isinstance(item, np.integer)


def _is_integer(item: Tensor) -> bool:
    return not item.is_symbolic and not item.ndim and item.dtype.kind in "iu"


def _is_known(item: slice) -> bool:
    return all(x is None or isinstance(x, (int, np.integer)) for x in (item.start, item.stop, item.step))


def is_same(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Whether two views see the same elements in the same order."""
    return a.__array_interface__["data"][0] == b.__array_interface__["data"][0] and (
        (a.shape, a.strides, a.dtype) == (b.shape, b.strides, b.dtype)
    )


class _Slices(NamedTuple):
    """A view as a template of the array: its axes of more than one element in the array's order, and their turns."""

    template: tuple[Any, ...]
    order: tuple[int, ...]  # among the view's axes that have more than one element
    flipped: tuple[int, ...]  # of the template's axes, those that the view reads backwards


class _Along(NamedTuple):
    """What a view sees along one axis of the array: where it starts, and the view's axes that run along it."""

    start: int
    axes: list[int]
    positions: list[np.ndarray[Any, Any]]  # of each of these, counted from the start

    def last(self) -> int:
        return self.start + sum(int(max(row[0], row[-1])) for row in self.positions)

    def entry(self) -> Any:
        """The entry of a template that reads no less."""
        if len(self.axes) != 1:
            return (self.start, self.last() + 1, 1) if self.axes else self.start
        return self.start, self.last() + 1, int(abs(self.positions[0][1] - self.positions[0][0]))


def _geometry(layout: np.ndarray[Any, Any], blank: np.ndarray[Any, Any]) -> tuple[int, tuple[int, ...], int]:
    """Offset and strides in elements, and which part of a complex element is seen."""
    size = blank.itemsize
    distance = layout.__array_interface__["data"][0] - blank.__array_interface__["data"][0]
    return distance // size, (*[s // size for s in layout.strides],), distance % size


def _slices(shape: tuple[int, ...], layout: np.ndarray[Any, Any], offset: int, strides: tuple[int, ...]) -> Any:
    """The template of a view; None where it has none."""
    steps = [prod(shape[k + 1 :]) for k in range(len(shape))]
    axes = [(n, s) for n, s in zip(layout.shape, strides, strict=True) if n > 1]
    first = offset + sum((n - 1) * s for n, s in axes if s < 0)
    starts = [(first // step) % n for step, n in zip(steps, shape, strict=True)]
    template: list[Any] = [*starts]
    found: list[int] = []
    for n, s in axes:
        for k, step in enumerate(steps):
            if s and k not in found and abs(s) % step == 0 and (abs(s) // step) * (n - 1) + starts[k] < shape[k]:
                stride = abs(s) // step
                template[k] = (starts[k], starts[k] + (n - 1) * stride + 1, stride)
                found.append(k)
                break
        else:
            return None
    order = (*sorted(range(len(found)), key=found.__getitem__),)
    flipped = (*[i for i, axis in enumerate(order) if axes[axis][1] < 0],)
    return _Slices((*template,), order, flipped)


def _along(
    shape: tuple[int, ...], layout: np.ndarray[Any, Any], offset: int, strides: tuple[int, ...]
) -> list[_Along] | None:
    """What a view sees along each axis of the array, of which several axes may share one; None where one has none."""
    steps = [prod(shape[k + 1 :]) for k in range(len(shape))]
    first = offset + sum((n - 1) * s for n, s in zip(layout.shape, strides, strict=True) if n > 1 and s < 0)
    found = [_Along((first // step) % n, [], []) for step, n in zip(steps, shape, strict=True)]
    for axis, (n, s) in enumerate(zip(layout.shape, strides, strict=True)):
        if n == 1 or not s:
            continue
        for along, size, step in zip(found, shape, steps, strict=True):
            if abs(s) % step == 0 and along.last() + (n - 1) * (abs(s) // step) < size:
                along.axes.append(axis)
                along.positions.append(np.arange(n)[:: 1 if s > 0 else -1] * (abs(s) // step))
                break
        else:
            return None
    return found


def _on_grids(held: Tensor, found: list[_Along], shape: tuple[int, ...], get: _Get) -> Tensor:
    """A view whose axes share some of the array's: what it reaches, and along each of those the elements on a grid."""
    taken = get(held, (*[along.entry() for along in found],))
    found = [along for along in found if along.axes]
    flipped = (*[k for k, along in enumerate(found) if len(along.axes) == 1 and along.positions[0][0]],)
    taken = S.flip(taken, axes=flipped) if flipped else taken
    taken = at_grids(taken, {k: along.positions for k, along in enumerate(found) if len(along.axes) > 1})
    order = [axis for along in found for axis in along.axes]
    taken = permuted(taken, (*sorted(range(len(order)), key=order.__getitem__),))
    return broadcast(reshaped(taken, (*[n if axis in order else 1 for axis, n in enumerate(shape)],)), shape)


def _numbers(shape: tuple[int, ...], layout: Any, offset: int, strides: tuple[int, ...]) -> tuple[Tensor, ...]:
    """The index arrays of a view's elements."""
    place: Any = np.full(layout.shape, offset)
    for axis, (n, s) in enumerate(zip(layout.shape, strides, strict=True)):
        place = place + (np.arange(n) * s).reshape((-1, *(1,) * (layout.ndim - axis - 1)))
    return (*[constant(np.asarray(i, np.int64)) for i in np.unravel_index(place, shape)],)


def read(held: Tensor, layout: np.ndarray[Any, Any], blank: Any) -> Tensor:
    """What a view sees of a version of a buffer."""
    return _read(held, layout, blank, _of_buffer, _at_numbers)


def read_unwritten(x: Tensor, layout: np.ndarray[Any, Any], blank: Any) -> Tensor:
    """What a view sees of a tensor that nobody has written to."""
    return _read(x, layout, blank, _of_array, _at_grid_of_all)


def _read(held: Tensor, layout: Any, blank: Any, get: _Get, otherwise: Callable[[Tensor, Any, Any], Tensor]) -> Tensor:
    """What a view sees, of which `get` reads a template and `otherwise` what has no axes in common with the array."""
    offset, strides, part = _geometry(layout, blank)
    if not layout.size:
        return _nothing(held, layout)
    found = _slices(blank.shape, layout, offset, strides)
    if found is not None:
        taken = get(held, found.template)
        if found.flipped:
            taken = S.flip(taken, axes=found.flipped)
        taken = reshaped(permuted(taken, S.inverse(found.order)), layout.shape)
    elif (grids := _along(blank.shape, layout, offset, strides)) is not None:
        taken = _on_grids(held, grids, layout.shape, get)
    else:
        taken = otherwise(held, layout, blank)
    if layout.dtype == blank.dtype:
        return taken
    return complex_parts.imag(taken) if part else complex_parts.real(taken)


def _of_buffer(held: Tensor, template: tuple[Any, ...]) -> Tensor:
    return buffer_get(held, template=template)


def _of_array(x: Tensor, template: tuple[Any, ...]) -> Tensor:
    return take_index(x, (*[slice(*entry) if type(entry) is tuple else entry for entry in template],))


def _at_numbers(held: Tensor, layout: np.ndarray[Any, Any], blank: Any) -> Tensor:
    offset, strides, _ = _geometry(layout, blank)
    numbers = _numbers(blank.shape, layout, offset, strides)
    return buffer_get(held, *numbers, template=(None,) * blank.ndim)


def _at_grid_of_all(x: Tensor, layout: np.ndarray[Any, Any], blank: Any) -> Tensor:
    offset, strides, _ = _geometry(layout, blank)
    whole: Any = _along((blank.size,), layout, offset, strides)  # there always is one along all elements in a row
    return _on_grids(reshaped(x, (blank.size,)), whole, layout.shape, _of_array)


def reached(layout: Any, blank: Any, index: Any, what: str) -> buffer_indexing.PlaceInBuffer | None:
    """The place, in the array, of what index arrays address in a view of it: at the cost of what they address.

    None where an index is not known, or is none that a place has.
    """
    if layout is None or layout.dtype != blank.dtype or not (layout.size and layout.ndim and blank.ndim):
        return None  # parts of complex numbers are written with the other part
    if buffer_indexing.is_lone_truth(index):
        return None
    place = buffer_indexing.place_of(Tensor(layout, 0), index, what)
    if not all(map(is_known, place.indices)):
        return None
    place = buffer_indexing.counted_from_the_front(place, layout.shape, what)
    offset, strides, _ = _geometry(layout, blank)
    numbers = np.unravel_index(buffer_indexing.elements_of(place, strides, offset), blank.shape)
    return place._replace(template=(None,) * blank.ndim, indices=(*map(constant, numbers),))


def place_in(layout: Any, blank: Any, plain: buffer_indexing.Plain) -> buffer_indexing.Plain | None:
    """The place, in the array, of a place with index arrays in a view of it.

    None where they reach beyond the view, where nobody may write to it, or where it sees parts of complex numbers.
    """
    template, core, arrays = plain
    if layout.dtype != blank.dtype or not (layout.flags.writeable and layout.size):
        return None
    offset, strides, _ = _geometry(layout, blank)
    given, slices = iter(arrays), list[tuple[Any, int]]()
    numbers: Any = offset
    for size, stride, entry in zip(layout.shape, strides, template, strict=True):
        if type(entry) is tuple:
            slices.append((entry, stride))
            continue
        number = entry if entry is not None else buffer_indexing.from_the_front(next(given), size)
        if number is None:
            return None
        numbers = numbers + number * stride
    for entry, stride in slices:
        numbers = np.add.outer(numbers, np.arange(*entry) * stride)
    indices = (numbers,) if blank.ndim == 1 else np.unravel_index(numbers, blank.shape)
    return (None,) * blank.ndim, core, (*map(constant, indices),)


def _nothing(held: Tensor, layout: Any) -> Tensor:
    is_part = held.dtype.kind == "c" and layout.dtype.kind != "c"
    dtype = np.real(np.zeros(0, held.dtype)).dtype if is_part else held.dtype
    return constant(np.zeros(layout.shape, dtype))


def written(held: Tensor, layout: np.ndarray[Any, Any], blank: Any, value: Tensor) -> Tensor:
    """The version with a value, of the view's shape, where the view lies."""
    if not layout.size:
        return held
    offset, strides, part = _geometry(layout, blank)
    if layout.dtype != blank.dtype:
        now = read(held, _whole_elements(layout, blank, part), blank)
        other = complex_parts.real(now) if part else complex_parts.imag(now)
        value = S.as_complex(*((other, value) if part else (value, other)))
    found = _slices(blank.shape, layout, offset, strides)
    if found is None and not blank.ndim:
        row = reshaped(value, (layout.size,))  # all in one place: what comes last stays
        return buffer_set(reshaped(part_of(row, 0, layout.size - 1, layout.size), ()), held, template=())
    if found is None:
        numbers = _numbers(blank.shape, layout, offset, strides)
        return buffer_set(value, held, *numbers, template=(None,) * blank.ndim)
    value = reshaped(value, (*[n for n in layout.shape if n > 1],))
    value = permuted(value, found.order)
    if found.flipped:
        value = S.flip(value, axes=found.flipped)
    return buffer_set(value, held, template=found.template)


def _whole_elements(layout: np.ndarray[Any, Any], blank: Any, part: int) -> np.ndarray[Any, Any]:
    """The view of the complex elements one part of which a view sees."""
    start = layout.__array_interface__["data"][0] - part - blank.__array_interface__["data"][0]
    return np.ndarray(layout.shape, blank.dtype, blank, start, layout.strides)
