"""NumPy kernels of `_prims/buffer.py`, and `BufferArray`, the native array of a version of a buffer.

All versions of a buffer share one array, which holds the newest. An older version points to the next one and keeps what
the write between the two replaced; it makes itself a copy if it is read again. The links lead from old to new, so what
nobody can ask for any more is freed at once, and a program that goes on from the newest version keeps nothing.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..._core import dtypes, forking
from ..buffer_indices import are_many, front, whole_place
from .indexing import require_all_inside

# A write changes several versions' common array; what takes long (copies of whole arrays) is rare.
_lock = forking.short_lock()

_WIDE = 2**14  # bytes from which on a copy of what is replaced costs more than to find out whether somebody wants it


class _PutOff(NamedTuple):
    """A write that is carried out as soon as somebody needs the array, and the version that it goes on from."""

    older: weakref.ref[BufferArray]
    adds: bool
    template: tuple[Any, ...]
    indices: tuple[Any, ...]
    value: np.ndarray[Any, Any]


class BufferArray(NDArrayOperatorsMixin):
    """The elements of one version; immutable as seen from outside. To other kernels it is the copy that it gives.

    Python asks a class for what operators and `len` mean, never `__getattr__`: the mixin makes each operator a ufunc.
    """

    __slots__ = ("__weakref__", "_array", "_newer", "_put_off", "_replaced", "dtype", "shape")
    # as of whatever has an identity: the mixin, which compares elements, has none
    __hash__ = object.__hash__  # pyright: ignore[reportAssignmentType]

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.shape = array.shape
        self.dtype = array.dtype
        self._array: np.ndarray[Any, Any] | None = array  # None: a newer version has it
        self._newer: BufferArray | None = None
        self._replaced: Any = None  # the place written to next, and what stood there
        self._put_off: _PutOff | None = None  # what has yet to be written to the array

    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        with _lock:
            return np.array(self._elements(), dtype, order="C")

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __getitem__(self, index: Any) -> Any:
        return np.asarray(self)[index]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **options: Any) -> Any:
        arrays = [np.asarray(x) if type(x) is BufferArray else x for x in inputs]
        return getattr(ufunc, method)(*arrays, **options)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(np.asarray(self))

    def __getattr__(self, name: str) -> Any:
        # what a kernel of another op may ask of an array (`astype`, `real`) is asked of a copy
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(np.asarray(self), name)

    def _elements(self) -> np.ndarray[Any, Any]:
        """The array to read, now and under the lock."""
        if self._array is None:
            self._restore()
        elif self._put_off is not None:
            self._carry_out(self._put_off)
        assert self._array is not None
        return self._array

    def _carry_out(self, late: _PutOff) -> None:
        """Writes what was put off; what it replaces is kept where the older version can still be asked for."""
        older, array = late.older(), self._array
        assert array is not None
        if older is not None:
            older._replaced = (late.template, late.indices, _taken(array, late.template, late.indices))
        late.value.flags.writeable = True
        if late.adds:
            view = _view(array, late.template)
            view += late.value
            self._put_off = None  # with no call between the two, no interrupt comes between them either
            return
        _put(array, late.template, late.indices, late.value)
        self._put_off = None

    def _restore(self) -> None:
        """Makes an old version a copy of its own: the newest one with the writes since then undone, the last first."""
        path: list[BufferArray] = []
        at = self
        while at._array is None:
            path.append(at)
            assert at._newer is not None
            at = at._newer
        array = at._elements().copy()
        for version in reversed(path):
            template, indices, old = version._replaced
            _put(array, template, indices, old)
        self._array, self._newer, self._replaced = array, None, None

    def at(self, template: Any, indices: tuple[np.ndarray[Any, Any], ...]) -> Any:
        """A copy of what stands at a place."""
        with _lock:
            return _taken(self._elements(), template, indices)

    def written(
        self,
        write: Callable[..., Any],
        template: tuple[Any, ...],
        indices: tuple[Any, ...],
        value: np.ndarray[Any, Any],
    ) -> BufferArray:
        """The next version; this one remembers what it replaces."""
        with _lock:
            array = self._elements()
            newer = BufferArray(array)
            if (
                value.nbytes >= _WIDE
                and write is _put
                and _may_wait(value)
                and _fits(_view(array, template), indices, value)
            ):
                return self._put_off_to(newer, False, template, indices, value)
            replaced = (template, indices, _taken(array, template, indices))
            # before the write, so that a failure in it leaves this version as it was
            self._array, self._newer, self._replaced = None, newer, replaced
            write(array, template, indices, value)
            return newer

    def _put_off_to(self, newer: BufferArray, adds: bool, template: Any, indices: Any, value: Any) -> BufferArray:
        """Leaves a write to whoever needs the next version's array; until then the value is nobody's to write to.

        A locked array that is handed out as a result is copied, as borrowed ones are (`callers_own`).
        """
        newer._put_off = _PutOff(weakref.ref(self), adds, template, indices, value)
        self._array, self._newer = None, newer
        value.flags.writeable = False
        return newer

    # The two that follow do the same at places without index arrays, in one go: programs write very often.

    def at_place(self, template: tuple[Any, ...], value: Any, adds: bool) -> BufferArray:
        """The next version, with a value written at a place, or added there."""
        place = (*[slice(*e) if type(e) is tuple else e for e in template], ...)
        with _lock:
            array = self._array
            if array is None or self._put_off is not None:
                array = self._elements()
            view = array[place]
            newer = BufferArray(array)
            if view.nbytes >= _WIDE and view.shape == value.shape and _may_wait(value):
                return self._put_off_to(newer, adds, template, (), value)
            self._array, self._newer, self._replaced = None, newer, (template, (), view.copy())
            if adds:
                view += value
            else:
                view[...] = value
            return newer

    def cut(self, template: tuple[Any, ...], indices: tuple[Any, ...] = ()) -> tuple[Any, BufferArray]:
        """What stands at a place, and the next version, with zeros there: a write's backward pass.

        The copy of the place serves both, since this version remembers what it replaces.
        """
        with _lock:
            array = self._array
            if array is None or self._put_off is not None:
                array = self._elements()
            if indices:
                found, view = _taken(array, template, indices), None
            else:
                view = array[(*[slice(*e) if type(e) is tuple else e for e in template], ...)]
                found = view.copy()[()]
            newer = BufferArray(array)
            self._array, self._newer, self._replaced = None, newer, (template, indices, found)
            if view is None:
                _put(array, template, indices, found.dtype.type(0))
            else:
                view[...] = 0
            return found, newer


def _may_wait(value: Any) -> bool:
    """Whether a value is ours, to lock: borrowed arrays are views, and others are locked already."""
    return type(value) is np.ndarray and value.base is None and value.flags.writeable


def _fits(view: np.ndarray[Any, Any], indices: tuple[Any, ...], value: np.ndarray[Any, Any]) -> bool:
    """Whether index arrays with axes reach nothing beyond a view, and a value has their extents: no write can fail."""
    return are_many(indices) and value.shape == indices[0].shape + view.shape[len(indices) :] and all(
        -size <= index.min() and index.max() < size for index, size in zip(indices, view.shape, strict=False)
    )  # fmt: skip


# -- places in an array --------------------------------------------------------------------------------------------


def _view(array: np.ndarray[Any, Any], template: tuple[Any, ...]) -> Any:
    """What the slices and integers of a template leave, the axes of index arrays in front."""
    if template.count(None) == len(template):
        return array
    if None not in template:  # as most writes of programs are, which are many
        return array[whole_place(template, ())]
    static, order = front(template)
    return array[static].transpose(order)


def _taken(array: np.ndarray[Any, Any], template: tuple[Any, ...], indices: tuple[Any, ...]) -> Any:
    view = _view(array, template)
    if not indices:
        return np.array(view, order="C")[()]
    try:
        if are_many(indices):
            return view[indices]
        return np.array(view[(*map(int, indices), ...)], order="C")[()]
    except IndexError:
        require_all_inside(indices, view.shape)
        raise


def _put(
    array: np.ndarray[Any, Any], template: tuple[Any, ...], indices: tuple[Any, ...], value: np.ndarray[Any, Any]
) -> None:
    view = _view(array, template)
    if not indices:
        view[...] = value
        return
    try:
        view[indices if are_many(indices) else (*map(int, indices), ...)] = value
    except IndexError:
        require_all_inside(indices, view.shape)
        raise


_FEW_BESIDE = 16  # as many elements are widened and rounded in the time in which one number is sorted


def _add(
    array: np.ndarray[Any, Any],
    template: tuple[Any, ...],
    indices: tuple[np.ndarray[Any, Any], ...],
    value: np.ndarray[Any, Any],
) -> None:
    view = _view(array, template)
    if not are_many(indices):
        view = view[(*map(int, indices), ...)]
        view += value
        return
    value = np.ravel(value)
    if not value.size:
        return
    if array.ndim == 1:
        flat, numbers = array, np.ravel(indices[0])
    else:
        flat, numbers = array.reshape(-1), _numbers(array, view, indices)
    if not dtypes.is_half(array.dtype):
        np.add.at(flat, numbers, value)  # of one flat index, which is NumPy's fast way
        return
    if flat.size <= _FEW_BESIDE * numbers.size:  # what nothing is added to stays as it is
        sums = flat.astype(np.float32)
        np.add.at(sums, numbers, value.astype(np.float32))
        flat[...] = sums
        return
    places, which = np.unique(numbers, return_inverse=True)
    sums = flat[places].astype(np.float32)
    np.add.at(sums, np.ravel(which), value.astype(np.float32))
    flat[places] = sums.astype(array.dtype)


def _numbers(array: np.ndarray[Any, Any], view: np.ndarray[Any, Any], indices: tuple[np.ndarray[Any, Any], ...]) -> Any:
    """The numbers, in the flattened array, of the elements that index arrays choose from a view of it."""
    width = array.itemsize
    steps = [stride // width for stride in view.strides]
    start = (view.__array_interface__["data"][0] - array.__array_interface__["data"][0]) // width
    count = len(indices)
    rest = view.ndim - count
    numbers: Any = start
    for index, size, step in zip(indices, view.shape, steps, strict=False):
        numbers = numbers + np.where(index < 0, index + size, index) * step
    numbers = np.reshape(numbers, (*indices[0].shape, *(1,) * rest))
    for axis in range(count, view.ndim):
        along = np.arange(view.shape[axis]) * steps[axis]
        numbers = numbers + along.reshape((-1, *(1,) * (view.ndim - axis - 1)))
    return numbers.ravel()


# -- kernels: each takes a plain array for a version, too, which it leaves as it is --------------------------------


def _version(b: object) -> BufferArray:
    return b if type(b) is BufferArray else BufferArray(np.array(b, order="C"))


def _value(b: object) -> Any:
    return np.asarray(b)[()] if type(b) is BufferArray else b


def _get(b: np.ndarray[Any, Any], *indices_and_template: Any) -> Any:
    if type(b) is BufferArray and len(indices_and_template) == 1:
        (template,) = indices_and_template
        place = (*[slice(*e) if type(e) is tuple else e for e in template], ...)
        with _lock:
            return b._elements()[place].copy()[()]
    *indices, template = indices_and_template
    return b.at(template, (*indices,)) if type(b) is BufferArray else _taken(np.asarray(b), template, (*indices,))


def _write(write: Callable[..., Any]) -> Any:
    adds = write is _add

    def kernel(value: np.ndarray[Any, Any], b: Any, *indices_and_template: Any) -> Any:
        version = b if type(b) is BufferArray else _version(b)
        if len(indices_and_template) == 1:
            return version.at_place(indices_and_template[0], value, adds)
        *indices, template = indices_and_template
        return version.written(write, template, (*indices,), value)

    return kernel


def _last_writes(*indices_and_extents: Any) -> Any:
    *indices, extents = indices_and_extents
    place: Any = None
    for index, size in zip(indices, extents, strict=True):
        number = index if index.min(initial=0) >= 0 else np.where(index < 0, index + size, index)
        place = number if place is None else place * size + number
    row = np.ravel(place)
    if (row[1:] > row[:-1]).all():  # as ranges are: none comes again
        return np.ones(np.shape(indices[0]), bool)[()]
    return _are_last(row, prod(extents)).reshape(np.shape(indices[0]))[()]


_SPARSE = 1024  # times as many elements as are written: from there on numbers are sorted, not laid out


def _are_last(row: np.ndarray[Any, Any], size: int) -> np.ndarray[Any, Any]:
    """Whether no number below `size` comes again, for each in a row of them."""
    if (
        size <= _SPARSE * row.size and row.min() >= 0 and row.max() < size
    ):  # each leaves a mark, and the last one's stays
        turns = np.arange(row.size, dtype=np.int32 if row.size < 2**31 else np.int64)
        marks = np.empty(size, turns.dtype)
        marks[row] = turns
        return marks[row] == turns
    order = row.argsort(kind="stable")
    in_order = row[order]
    is_last = np.ones(row.shape, bool)
    is_last[order[:-1]] = in_order[1:] != in_order[:-1]
    return is_last


KERNELS: dict[str, Any] = {
    "buffer_new": _version,
    "buffer_value": _value,
    "buffer_get": _get,
    "buffer_set": _write(_put),
    "buffer_add": _write(_add),
    "last_writes": _last_writes,
}
