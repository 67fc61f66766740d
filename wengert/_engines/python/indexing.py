"""Shape, gather and scatter kernels of the plain-Python engine.

Owns reads and functional updates at integer indices. A negative index counts from the end; one outside the
axis raises IndexError. Updates are applied in row-major order of the indices, so the last of equal indices
wins where values are set.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from math import prod
from typing import Any

from wengert._engines.python import array as a
from wengert._engines.python import threefry
from wengert._engines.python.array import PyArray
from wengert._engines.python.dtypes import INT64, UINT32
from wengert._engines.python.elementwise import maximum, minimum

REDUCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "set": lambda old, new: new,
    "add": operator.add,
    "multiply": operator.mul,
    "max": maximum,
    "min": minimum,
}


def wrap_index(index: int, length: int, name: str = "index") -> int:
    """The index counted from the front.

    Raises:
        IndexError: if it lies outside an axis of `length`.
    """
    if not -length <= index < length:
        raise IndexError(f"{name}: index {index} is out of bounds for an axis of length {length}")
    return index % length


def take(x: PyArray, indices: PyArray, axis: int) -> PyArray:
    """Slices of x at `indices` along `axis`, whose place the index array's axes take."""
    return a.take_flat(x, *_take_places(x, indices, axis))


def take_update(x: PyArray, indices: PyArray, updates: PyArray, axis: int, reduction: str = "add") -> PyArray:
    """x with the slices that `take` reads combined with `updates` (of take's shape)."""
    return _update(x, _take_places(x, indices, axis)[0], updates, reduction)


def _take_places(x: PyArray, indices: PyArray, axis: int) -> tuple[list[int], tuple[int, ...]]:
    axis %= x.ndim
    step = a.strides(x.shape)[axis]
    length = x.shape[axis]
    inside = [wrap_index(i, length, "take") * step for i in indices.flat]
    outer = range(0, x.size, step * length) if x.size else ()
    places = [o + i + rest for o in outer for i in inside for rest in range(step)]
    return places, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])


def take_along_axis(x: PyArray, indices: PyArray, axis: int) -> PyArray:
    """``x[..., indices, ...]`` with every other axis running along; those axes broadcast."""
    return a.take_flat(x, *_along_places(x, indices, axis))


def scatter_along_axis(
    x: PyArray, indices: PyArray, updates: PyArray, axis: int, reduction: str = "add"
) -> PyArray:
    """x with the elements that `take_along_axis` reads combined with `updates`."""
    return _update(x, _along_places(x, indices, axis)[0], updates, reduction)


def _along_places(x: PyArray, indices: PyArray, axis: int) -> tuple[list[int], tuple[int, ...]]:
    axis %= x.ndim
    others = [1 if i == axis else n for i, n in enumerate(x.shape)]
    shape = list(a.broadcast_shapes(tuple(others), (*indices.shape[:axis], 1, *indices.shape[axis + 1 :])))
    shape[axis] = indices.shape[axis]
    steps = a.strides(x.shape)
    jumps = [0 if i == axis else step for i, step in enumerate(steps)]
    found = a.broadcast_to(indices, shape).flat
    length = x.shape[axis]
    bases = a.offsets(shape, jumps)
    places = [
        b + wrap_index(i, length, "take_along_axis") * steps[axis] for b, i in zip(bases, found, strict=True)
    ]
    return places, tuple(shape)


def gather_nd(x: PyArray, indices: PyArray) -> PyArray:
    """Rows of x: `indices (..., k)` address the first k axes; result (..., *x.shape[k:])."""
    return a.take_flat(x, *_nd_places(x, indices))


def scatter_nd(x: PyArray, indices: PyArray, updates: PyArray, reduction: str = "add") -> PyArray:
    """x with the rows that `gather_nd` reads combined with `updates`."""
    return _update(x, _nd_places(x, indices)[0], updates, reduction)


def _nd_places(x: PyArray, indices: PyArray) -> tuple[list[int], tuple[int, ...]]:
    *lead, k = indices.shape
    steps = a.strides(x.shape)[:k]
    block = prod(x.shape[k:])
    rows = [indices.flat[i * k : (i + 1) * k] for i in range(prod(lead))]
    starts = [
        sum(wrap_index(i, n, "gather_nd") * step for i, n, step in zip(row, x.shape, steps, strict=False))
        for row in rows
    ]
    return [s + rest for s in starts for rest in range(block)], (*lead, *x.shape[k:])


def _update(x: PyArray, places: Sequence[int], updates: PyArray, reduction: str) -> PyArray:
    combine = REDUCTIONS[reduction]
    if len(places) != updates.size:
        raise ValueError(f"scatter: updates of shape {updates.shape} do not fill {len(places)} places")
    values = list(x.flat)
    for place, new in zip(places, updates.flat, strict=True):
        values[place] = combine(values[place], new)
    return a.make(x.shape, x.dtype, values)


def slice_update(
    x: PyArray, updates: PyArray, starts: Sequence[int], steps: Sequence[int], reduction: str = "set"
) -> PyArray:
    """x with the box of updates' shape at `starts`, at steps `steps`, combined with `updates`."""
    jumps = a.strides(x.shape)
    origin = sum(map(operator.mul, starts, jumps))
    places = a.offsets(updates.shape, list(map(operator.mul, steps, jumps)), origin)
    return _update(x, places, updates, reduction)


def dynamic_slice(x: PyArray, starts: PyArray, sizes: Sequence[int]) -> PyArray:
    """The box of `sizes` at `starts` (a vector), moved inside x where it sticks out."""
    first = _clamped(x, starts, sizes)
    return a.slice_(x, first, list(map(operator.add, first, sizes)), [1] * x.ndim)


def dynamic_update_slice(x: PyArray, updates: PyArray, starts: PyArray, reduction: str = "set") -> PyArray:
    """x with the box that `dynamic_slice` reads combined with `updates`."""
    return slice_update(x, updates, _clamped(x, starts, updates.shape), [1] * x.ndim, reduction)


def _clamped(x: PyArray, starts: PyArray, sizes: Sequence[int]) -> list[int]:
    return [min(max(s, 0), n - size) for s, n, size in zip(starts.flat, x.shape, sizes, strict=True)]


def pad(x: PyArray, value: Any, padding: Sequence[tuple[int, int, int]]) -> PyArray:
    """x among `value`: for each axis (low, high, interior) elements before, after and between.

    A negative low or high crops, after the interior elements have been put in.
    """
    fill = value.item() if isinstance(value, PyArray) else value
    spread = [n + max(n - 1, 0) * gap for n, (_, _, gap) in zip(x.shape, padding, strict=True)]
    shape = tuple(n + low + high for n, (low, high, _) in zip(spread, padding, strict=True))
    shape = tuple(max(n, 0) for n in shape)
    values = [fill] * prod(shape)
    steps = a.strides(shape)
    for index, v in zip(a.indices(x.shape), x.flat, strict=True):
        target = [i * (gap + 1) + low for i, (low, _, gap) in zip(index, padding, strict=True)]
        if all(0 <= t < n for t, n in zip(target, shape, strict=True)):
            values[sum(map(operator.mul, target, steps))] = v
    return a.make(shape, x.dtype, values)


def concatenate(*arrays: PyArray, axis: int) -> PyArray:
    """The arrays one after the other along `axis`."""
    return a.concatenate(arrays, axis)


def split(x: PyArray, sizes: Sequence[int], axis: int) -> tuple[PyArray, ...]:
    """Pieces of `sizes` along `axis`."""
    axis %= x.ndim
    ends = accumulate(sizes)
    return tuple(_piece(x, axis, end - size, end) for end, size in zip(ends, sizes, strict=True))


def _piece(x: PyArray, axis: int, start: int, stop: int) -> PyArray:
    starts, stops = [0] * x.ndim, list(x.shape)
    starts[axis], stops[axis] = start, stop
    return a.slice_(x, starts, stops, [1] * x.ndim)


def iota(shape: Iterable[int], dtype: Any, axis: int) -> PyArray:
    """Each element's index along `axis`."""
    shape = tuple(shape)
    return a.make(shape, dtype, (index[axis] for index in a.indices(shape)))


def one_hot(x: PyArray, size: int, dtype: Any) -> PyArray:
    """A new last axis with 1 at the index (nowhere, if the index lies outside)."""
    return a.make((*x.shape, size), dtype, (v == j for v in x.flat for j in range(size)))


def diagonal(x: PyArray, offset: int = 0) -> PyArray:
    """The diagonals of the last two axes, as the last axis."""
    rows, columns = x.shape[-2:]
    length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    first = max(-offset, 0) * columns + max(offset, 0)
    places = a.offsets((prod(x.shape[:-2]), length), (rows * columns, columns + 1), first)
    return a.take_flat(x, places, (*x.shape[:-2], length))


def _triangle(keep: Callable[[int, int], bool]) -> Callable[..., PyArray]:
    def kernel(x: PyArray, offset: int = 0) -> PyArray:
        """x with zeros on the other side of a diagonal of the last two axes."""
        places = a.indices(x.shape)
        values = (
            v if keep(index[-1] - index[-2], offset) else 0 for index, v in zip(places, x.flat, strict=True)
        )
        return a.make(x.shape, x.dtype, values)

    return kernel


def random_bits(keys: PyArray, shape: Sequence[int]) -> PyArray:
    """uint32 words (..., *shape) from keys (..., 2)."""
    words = (word for key in _keys(keys) for word in threefry.random_bits(key, tuple(shape)))
    return a.make((*keys.shape[:-1], *shape), UINT32, words)


def random_split(keys: PyArray, n: int = 2) -> PyArray:
    """Child keys (..., n, 2) of keys (..., 2)."""
    words = (word for key in _keys(keys) for child in threefry.split(key, n) for word in child)
    return a.make((*keys.shape[:-1], n, 2), UINT32, words)


def random_fold_in(keys: PyArray, data: PyArray) -> PyArray:
    """The keys (..., 2) of keys and integers; leading axes broadcast."""
    shape = a.broadcast_shapes(keys.shape[:-1], data.shape)
    keys, data = a.broadcast_to(keys, (*shape, 2)), a.broadcast_to(data, shape)
    folded = map(threefry.fold_in, _keys(keys), data.flat)
    return a.make((*shape, 2), UINT32, (word for key in folded for word in key))


def _keys(keys: PyArray) -> list[threefry.Key]:
    return list(zip(keys.flat[::2], keys.flat[1::2], strict=True))


def shape_of(x: PyArray) -> PyArray:
    """The shape as an int64 vector."""
    return a.make((x.ndim,), INT64, x.shape)


KERNELS: dict[str, Callable[..., Any]] = {
    "reshape": a.reshape,
    "broadcast_to": a.broadcast_to,
    "transpose": a.transpose,
    "flip": a.flip,
    "slice": a.slice_,
    "full": a.full,
    "concatenate": concatenate,
    "split": split,
    "pad": pad,
    "iota": iota,
    "one_hot": one_hot,
    "diagonal": diagonal,
    "tril": _triangle(lambda column_minus_row, offset: column_minus_row <= offset),
    "triu": _triangle(lambda column_minus_row, offset: column_minus_row >= offset),
    "take": take,
    "take_update": take_update,
    "take_along_axis": take_along_axis,
    "scatter_along_axis": scatter_along_axis,
    "gather_nd": gather_nd,
    "scatter_nd": scatter_nd,
    "slice_update": slice_update,
    "dynamic_slice": dynamic_slice,
    "dynamic_update_slice": dynamic_update_slice,
    "random_bits": random_bits,
    "random_split": random_split,
    "random_fold_in": random_fold_in,
    "shape": shape_of,
}
