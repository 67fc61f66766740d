"""TensorFlow kernels of `_prims/indexing.py`, `sorting.py` and `buffer.py`. A buffer is a plain tensor here: TensorFlow
writes in place where nobody reads the older version.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from ..checks import require_inside
from .common import any_integer, as_shape, count_of, extents, in_float32, is_half, values_of, widened


def _require_inside(sizes: Sequence[int], indices: Sequence[Any]) -> None:
    """Raises on an index out of range, where the values are at hand; in graphs TensorFlow itself says so."""
    require_inside(values_of(*indices), sizes)


def _signed(index: Any) -> Any:
    return index if index.dtype in (tf.int32, tf.int64) else tf.cast(index, tf.int64)


def _counted(index: tf.Tensor, size: int | tf.Tensor) -> Any:
    """Indices from the front, in TensorFlow's own integers."""
    index = _signed(index)
    return tf.where(index < 0, index + tf.cast(size, index.dtype), index)


def _as_it_is(index: tf.Tensor, size: int | tf.Tensor) -> Any:
    """In place of `_counted`, for indices that are known to count from the front."""
    return _signed(index)


def _together(sizes: Any, indices: Any, counted: Any = _counted) -> Any:
    """The places that index arrays name: their numbers along a new last axis."""
    return tf.stack([tf.cast(counted(i, n), tf.int64) for i, n in zip(indices, sizes, strict=False)], -1)


def _flat_place(sizes: Any, indices: Any) -> Any:
    """The row-major number of each place."""
    place: Any = tf.zeros((), tf.int64)
    for index, size in zip(indices, sizes, strict=False):
        place = place * tf.cast(size, tf.int64) + tf.cast(_counted(index, size), tf.int64)
    return place


def _gather(x: tf.Tensor, *indices: object, counted: Callable[..., Any] = _counted) -> Any:
    if not indices:
        return x
    sizes = extents(x)
    _require_inside(sizes, indices)
    if len(indices) == 1:
        return tf.gather(x, counted(indices[0], sizes[0]))
    if 0 in sizes[len(indices) :]:  # which `gather_nd` refuses
        return tf.zeros([*extents(indices[0]), *sizes[len(indices) :]], x.dtype)
    return tf.gather_nd(x, _together(sizes, indices, counted))


def _scatter(function: Callable[..., Any], plain: Callable[..., Any]) -> Any:
    def kernel(x: tf.Tensor, updates: tf.Tensor, *indices: tf.Tensor, counted: Callable[..., Any] = _counted) -> Any:
        sizes = extents(x)
        _require_inside(sizes, indices)
        wide, more = widened(x), widened(updates)
        if not indices:
            return tf.cast(plain(wide, more), x.dtype)
        if 0 in x.shape.as_list():  # TensorFlow refuses updates of nothing
            return x
        places = _together(sizes, indices, counted)
        if not indices[0].shape.rank:  # one update
            places, more = places[None], more[None]
        found = any_integer(function)(wide, places, more)
        if plain is not tf.add and found.dtype.is_floating:
            found = _with_nan(found, wide, places, more)
        return tf.cast(found, x.dtype)

    return kernel


def _with_nan(found: tf.Tensor, x: tf.Tensor, places: tf.Tensor, updates: tf.Tensor) -> Any:
    """The largest or smallest at places, NaN where one of them is: TensorFlow's functions pass over it."""
    marks = tf.cast(tf.math.is_nan(x), tf.int32)
    marks = tf.tensor_scatter_nd_max(marks, places, tf.cast(tf.math.is_nan(updates), tf.int32))
    return tf.where(marks > 0, tf.constant(np.nan, found.dtype), found)


def _scatter_add_of(x: tf.Tensor, places: tf.Tensor, updates: tf.Tensor) -> Any:
    return tf.tensor_scatter_nd_add(x, places, updates)


def _by_rows(x: tf.Tensor, updates: Any, indices: Any) -> tuple[Any, Any, Any, Any]:
    """The tensor as rows of places, the updates as rows, and for each of them which row it goes to."""
    sizes = extents(x)
    count = len(indices)
    total, width = count_of(sizes[:count]), count_of(sizes[count:])
    flat = tf.reshape(_flat_place(sizes, indices), [-1])
    return tf.reshape(x, as_shape([total, width])), tf.reshape(updates, as_shape([_size(flat), width])), flat, total


def _size(x: tf.Tensor) -> Any:
    return count_of(extents(x))


def _scatter_mul(x: tf.Tensor, updates: object, *indices: object) -> Any:
    sizes = extents(x)
    _require_inside(sizes, indices)
    if not indices:
        return any_integer(tf.multiply)(x, updates)
    rows, more, flat, total = _by_rows(x, updates, indices)
    factors = any_integer(lambda v: tf.math.unsorted_segment_prod(v, flat, total))(more)
    return tf.reshape(any_integer(tf.multiply)(rows, factors), as_shape(sizes))


def _scatter_set(x: tf.Tensor, updates: Any, *indices: object) -> Any:
    """The last of several updates of one place wins, which TensorFlow's own scatter does not promise."""
    sizes = extents(x)
    _require_inside(sizes, indices)
    if not indices:
        return tf.broadcast_to(updates, as_shape(sizes))
    if 0 in x.shape.as_list() or 0 in updates.shape.as_list():
        return x
    rows, more, flat, total = _by_rows(x, updates, indices)
    latest = tf.math.unsorted_segment_max(tf.range(tf.size(flat)), flat, total)
    is_written = latest >= 0
    chosen = tf.gather(more, tf.maximum(latest, 0))
    return tf.reshape(tf.where(is_written[:, None], chosen, rows), as_shape(sizes))


def _last_writes(*indices_and_extents: Any) -> Any:
    *indices, sizes = indices_and_extents
    flat = tf.reshape(_flat_place(sizes, indices), [-1])
    order = tf.range(tf.size(flat))
    latest = tf.math.unsorted_segment_max(order, flat, tf.maximum(tf.cast(count_of(sizes), tf.int32), 1))
    return tf.reshape(tf.equal(tf.gather(latest, flat), order), tf.shape(indices[0]))


# -- sorting -----------------------------------------------------------------------------------------------------------

_BITS = {tf.float64: tf.int64, tf.float32: tf.int32}


def _key(x: tf.Tensor) -> Any:
    """Integers in the order of the elements: NaN is the largest, the two zeros are equal."""
    x = widened(x)
    if x.dtype.is_floating:
        x = tf.where(tf.math.is_nan(x), tf.constant(np.nan, x.dtype), x + tf.zeros((), x.dtype))
        bits = tf.bitcast(x, _BITS[x.dtype])
        top = tf.constant(np.iinfo(bits.dtype.as_numpy_dtype).max, bits.dtype)
        return tf.where(bits < 0, tf.bitwise.bitwise_xor(bits, top), bits)
    if x.dtype == tf.uint64:
        return tf.bitwise.bitwise_xor(tf.bitcast(x, tf.int64), tf.constant(-(2**63), tf.int64))
    return tf.cast(x, tf.int64)


def _last(x: tf.Tensor, axis: int) -> Any:
    """The tensor with one axis moved to the end, or back from there."""
    ndim = len(x.shape)
    if axis in (ndim - 1, -1):
        return x
    perm = [*range(ndim)]
    perm.append(perm.pop(axis))
    return tf.transpose(x, perm)


def _back(x: tf.Tensor, axis: int) -> Any:
    ndim = len(x.shape)
    if axis in (ndim - 1, -1):
        return x
    perm = [*range(ndim - 1)]
    perm.insert(axis, ndim - 1)
    return tf.transpose(x, perm)


def _order(x: tf.Tensor, descending: bool) -> Any:
    """The stable order along the last axis."""
    key = _key(x)
    if not descending:
        key = tf.bitwise.invert(key)
    return tf.math.top_k(key, extents(x)[-1], index_type=tf.int64).indices


def _argsort(x: tf.Tensor, axis: int, descending: bool) -> Any:
    return _back(_order(_last(x, axis), descending), axis)


def _sort(x: tf.Tensor, axis: int, descending: bool) -> Any:
    turned = _last(x, axis)
    return _back(_along_last(turned, _order(turned, descending)), axis)


def _along_last(x: tf.Tensor, index: tf.Tensor) -> Any:
    return tf.gather(x, index, batch_dims=len(x.shape) - 1, axis=-1)


def _searchsorted(sequence: Any, values: Any, right: bool) -> Any:
    side = "right" if right else "left"
    sequence, values = _key(sequence), _key(values)
    if len(sequence.shape) == 1:
        found = tf.searchsorted(sequence, tf.reshape(values, [-1]), side, tf.int64)
        return tf.reshape(found, tf.shape(values))
    return tf.searchsorted(sequence, values, side, tf.int64)


def _permute_along(x: tf.Tensor, index: object, axis: int) -> Any:
    return _back(_along_last(_last(x, axis), _last(_signed(index), axis)), axis)


def _take_along(x: tf.Tensor, index: Any, counted: Any = _counted) -> Any:
    size = extents(x)[-1]
    _require_inside((size,), (index,))
    return _along_last(x, counted(index, size))


def _add_along(x: tf.Tensor, index: tf.Tensor, size: int, counted: Callable[..., Any] = _counted) -> Any:
    _require_inside((size,), (index,))
    lead, width = extents(x)[:-1], extents(x)[-1]
    rows = count_of(lead)
    first = tf.cast(tf.range(rows), tf.int64)[:, None] * tf.cast(size, tf.int64)
    places = tf.reshape(first + tf.reshape(tf.cast(counted(index, size), tf.int64), as_shape([rows, width])), [-1])
    total = any_integer(lambda v: tf.math.unsorted_segment_sum(v, places, rows * size))(tf.reshape(x, [-1]))
    return tf.reshape(total, as_shape([*lead, size]))


# -- buffers -----------------------------------------------------------------------------------------------------------


def _place(template: Any, indices: Any, sizes: Any) -> tuple[Any, ...]:
    """The index of a place without index arrays that have axes."""
    following = iter(indices)
    return (*[
        slice(*e) if type(e) is tuple else _counted(next(following), n) if e is None else e
        for e, n in zip(template, sizes, strict=False)
    ],)  # fmt: skip


def _are_many(indices: Any) -> bool:
    """Whether index arrays have axes; without, they are integers."""
    return bool(indices) and indices[0].shape.rank != 0


def _front(template: Any) -> tuple[Any, list[int]]:
    """The static part of a place, with whole axes for index arrays, and the order that puts these axes in front."""
    static = (*[slice(*e) if type(e) is tuple else slice(None) if e is None else e for e in template],)
    kept = [e for e in template if e is None or type(e) is tuple]
    return static, sorted(range(len(kept)), key=lambda axis: kept[axis] is not None)


def _indexed_extents(b: tf.Tensor, template: Any) -> list[Any]:
    return [n for n, e in zip(extents(b), template, strict=False) if e is None]


def _cut(x: tf.Tensor, index: tuple[Any, ...]) -> Any:
    return x[index] if index else x


def _get(b: tf.Tensor, *indices_and_template: object) -> Any:
    *indices, template = indices_and_template
    _require_inside(_indexed_extents(b, template), indices)
    if not _are_many(indices):
        return _cut(b, _place(template, indices, extents(b)))
    static, order = _front(template)
    view = _cut(b, static)
    return _gather(tf.transpose(view, (*order, *range(len(order), len(view.shape)))), *indices)


def _write(name: str) -> Any:
    def kernel(value: object, b: tf.Tensor, *indices_and_template: object) -> Any:
        *indices, template = indices_and_template
        _require_inside(_indexed_extents(b, template), indices)
        if not _are_many(indices):
            return _put(b, _place(template, indices, extents(b)), value, name)
        static, order = _front(template)
        view = _cut(b, static)
        perm = (*order, *range(len(order), len(view.shape)))
        turned = KERNELS[f"scatter_{name}"](tf.transpose(view, perm), value, *indices)
        return _put(b, static, tf.transpose(turned, sorted(range(len(perm)), key=perm.__getitem__)), "set")

    return kernel


def _put(b: tf.Tensor, place: tuple[Any, ...], value: object, name: str) -> Any:
    """b with a slice replaced, or added to."""
    if name == "add":
        value = tf.cast(any_integer(tf.add)(widened(_cut(b, place)), widened(value)), b.dtype)
    if not place:
        return value
    begin, end, strides, from_start, to_end, single = [], [], [], 0, 0, 0
    for axis, e in enumerate(place):
        is_slice = isinstance(e, slice)
        first = e.start if is_slice else e
        last = e.stop if is_slice else first + 1
        from_start |= (first is None) << axis
        to_end |= (last is None) << axis
        single |= (not is_slice) << axis
        begin.append(0 if first is None else first)
        end.append(0 if last is None else last)
        strides.append(1 if not is_slice or e.step is None else e.step)
    return tf.raw_ops.TensorStridedSliceUpdate(
        input=b, begin=_numbers(begin), end=_numbers(end), strides=_numbers(strides), value=value,
        begin_mask=from_start, end_mask=to_end, shrink_axis_mask=single,
    )  # fmt: skip


def _numbers(values: list[Any]) -> Any:
    return tf.stack([tf.cast(v, tf.int64) for v in values])


KERNELS: dict[str, Any] = {
    "gather": _gather,
    "scatter_add": _scatter(_scatter_add_of, tf.add),
    "scatter_set": _scatter_set,
    "scatter_mul": in_float32(_scatter_mul),
    "scatter_max": _scatter(tf.tensor_scatter_nd_max, tf.maximum),
    "scatter_min": _scatter(tf.tensor_scatter_nd_min, tf.minimum),
    "argsort": _argsort,
    "sort": _sort,
    "searchsorted": _searchsorted,
    "permute_along": _permute_along,
    "take_along": _take_along,
    "add_along": in_float32(_add_along),
    "buffer_new": lambda x: x,
    "buffer_value": lambda b: b,
    "buffer_get": _get,
    "buffer_set": _write("set"),
    "buffer_add": _write("add"),
    "last_writes": _last_writes,
}

# for indices that are known to count from the front
FROM_THE_FRONT = {
    "gather": partial(_gather, counted=_as_it_is),
    "scatter_add": partial(KERNELS["scatter_add"], counted=_as_it_is),
    "take_along": partial(_take_along, counted=_as_it_is),
    "add_along": in_float32(partial(_add_along, counted=_as_it_is)),
}

__all__ = ["KERNELS", "is_half"]
