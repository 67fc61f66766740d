"""TensorFlow kernels of `_prims/structural.py` and `_prims/reductions.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from ..._core import dtypes
from ..._core.dtypes import HISTORY
from ..regions import as_object
from ..shared_kernels import PASSING, over_axes
from .common import (
    TensorHistory,
    any_integer,
    as_shape,
    count_of,
    dtype_of,
    extents,
    in_float32,
    in_wider_integers,
    is_eager,
    is_empty,
    is_half,
    numpy_dtype,
)


def _absent(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return _no_history() if dtype == HISTORY else tf.zeros(as_shape(shape), dtype_of(dtype))


def _no_history() -> Any:
    """A history that nobody reads, of a graph or of a run op by op: what takes it runs as what made it did."""
    return as_object(None) if tf.executing_eagerly() else TensorHistory((), is_whole=False)


def _constant(value: np.ndarray[Any, Any]) -> Any:
    return _no_history() if value.dtype == HISTORY else tf.constant(value)


def _full(shape: tuple[int | tf.Tensor, ...], value: int, dtype: np.dtype[Any]) -> Any:
    return tf.fill(as_shape(shape), tf.constant(np.asarray(value, dtype)))


def _iota(size: int, dtype: np.dtype[Any]) -> Any:
    wanted = dtype_of(dtype)
    return tf.cast(tf.range(size, dtype=tf.int64) if not isinstance(size, tf.Tensor) else tf.range(size), wanted)


def _dim_value(dim: int | tf.Tensor) -> Any:
    return tf.cast(dim, tf.int64)


def _reduce_sum(x: tf.Tensor, axes: tuple[int, ...]) -> Any:
    if x.dtype == tf.bool:
        return tf.reduce_any(x, axes)
    if not axes:
        return x
    if is_half(x):
        return tf.cast(tf.reduce_sum(tf.cast(x, tf.float32), axes), x.dtype)
    return _whole_sum(x, axes)


_whole_sum = any_integer(lambda x, axes: tf.reduce_sum(x, axes))


_LARGE = 4096  # elements


def _slice(
    x: tf.Tensor, starts: tuple[int | tf.Tensor, ...], limits: tuple[int | tf.Tensor, ...], strides: tuple[int, ...]
) -> Any:
    if not starts:
        return x
    if any(isinstance(limit, tf.Tensor) for limit in (*starts, *limits)):
        # of one such limit TensorFlow infers that it knows no extent of the result
        found = x[(*map(slice, starts, limits, strides),)]
        found.set_shape([*map(_known_count, starts, limits, strides)])
        return found
    if all(s == 1 for s in strides) or not x.shape.is_fully_defined() or x.shape.num_elements() < _LARGE:
        return x[(*map(slice, starts, limits, strides),)]
    return _skipping(x, starts, limits, strides)


def _known_count(start: int | tf.Tensor, limit: int | tf.Tensor, stride: int) -> int | None:
    """How many elements a slice within an axis has, where that is known beforehand."""
    if isinstance(start, tf.Tensor) or isinstance(limit, tf.Tensor):
        return None
    return -(-(limit - start) // stride)


def sliced(x: tf.Tensor, index: Any) -> Any:
    """x[index], for an index of slices that have no negative numbers."""
    whole = [*index, *[slice(None)] * (len(x.shape) - len(index))]
    if all(e.step in (None, 1) for e in whole) or not x.shape.is_fully_defined():
        return x[(*whole,)]
    bounds = [e.indices(n) for e, n in zip(whole, x.shape, strict=True)]
    return _slice(x, *zip(*bounds, strict=True))


def _skipping(x: tf.Tensor, starts: Any, limits: Any, strides: tuple[int, ...]) -> Any:
    """A slice with strides as the first of each group of elements: TensorFlow's own is ten times as slow."""
    counts = [-(-(limit - start) // stride) for start, limit, stride in zip(starts, limits, strides, strict=True)]
    wanted = [start + n * stride for start, n, stride in zip(starts, counts, strides, strict=True)]
    missing = [max(last - size, 0) for last, size in zip(wanted, x.shape, strict=True)]
    if any(missing):
        x = tf.pad(x, [(0, n) for n in missing])
    x = x[(*map(slice, starts, wanted),)]
    split = [n for pair in zip(counts, strides, strict=True) for n in (pair if pair[1] > 1 else pair[:1])]
    firsts = [e for s in strides for e in ((slice(None), 0) if s > 1 else (slice(None),))]
    return tf.reshape(x, split)[(*firsts,)]


def _pad(x: tf.Tensor, low: Any, high: Any, interior: object) -> Any:
    """Zeros between elements first; a negative margin crops."""
    x = _spaced(x, interior)
    if any(isinstance(n, tf.Tensor) for n in (*low, *high)):
        return tf.pad(x, tf.stack([as_shape(low), as_shape(high)], 1))
    crop = (*[slice(max(-lo, 0), n - max(-hi, 0) if hi < 0 else None)
              for lo, hi, n in zip(low, high, extents(x), strict=True)],)  # fmt: skip
    if any(n < 0 for n in (*low, *high)):
        x = x[crop]
    margins = [(max(lo, 0), max(hi, 0)) for lo, hi in zip(low, high, strict=True)]
    return tf.pad(x, margins) if any(map(any, margins)) else x


def _spaced(x: tf.Tensor, interior: Any) -> Any:
    for axis, count in enumerate(interior):
        if count and x.shape[axis] != 0:
            shape = extents(x)
            gaps = tf.zeros(as_shape([*shape[: axis + 1], count, *shape[axis + 1 :]]), x.dtype)
            wide = tf.concat([tf.expand_dims(x, axis + 1), gaps], axis + 1)
            x = tf.reshape(wide, as_shape([*shape[:axis], shape[axis] * (count + 1), *shape[axis + 1 :]]))
            x = x[(*[slice(None)] * axis, slice(None, -count))]
    return x


def _convert(x: tf.Tensor, dtype: np.dtype[Any]) -> Any:
    wanted = dtype_of(dtype)
    if x.dtype == wanted:
        return x
    if x.dtype.is_complex and not wanted.is_complex and wanted != tf.bool:
        x = tf.math.real(x)
    if wanted == tf.bool:
        return tf.not_equal(x, tf.zeros((), x.dtype))
    if x.dtype.is_floating and wanted in (tf.uint8, tf.uint16, tf.uint32, tf.int8, tf.int16):
        return tf.cast(tf.cast(x, tf.int64), wanted)  # as NumPy: what does not fit wraps
    if wanted.is_complex and not x.dtype.is_complex:
        return tf.cast(tf.cast(x, tf.float32 if wanted == tf.complex64 else tf.float64), wanted)
    return tf.cast(x, wanted)


def _add(x: tf.Tensor, y: tf.Tensor) -> Any:
    return tf.logical_or(x, y) if x.dtype == tf.bool else tf.add(x, y)


def _mul(x: tf.Tensor, y: tf.Tensor) -> Any:
    return tf.logical_and(x, y) if x.dtype == tf.bool else _product(x, y)


_product = any_integer(tf.multiply)


def _concatenate(*xs_and_axis: Any) -> Any:
    *xs, axis = xs_and_axis
    return tf.concat(xs, axis)


def _add_n(*xs: tf.Tensor) -> Any:
    dtype = xs[0].dtype
    if is_half(xs[0]):  # summed in float32
        return tf.cast(_add_n(*[tf.cast(x, tf.float32) for x in xs]), dtype)
    total = xs[0]
    for x in xs[1:]:
        total = _add(total, x)
    return total


def _scale(x: tf.Tensor, y: tf.Tensor) -> Any:
    return tf.math.multiply_no_nan(y, x)  # 0 where x is 0, whatever y is


def _as_complex(x: tf.Tensor, y: tf.Tensor) -> Any:
    real = dtype_of(dtypes.real_of(dtypes.complex_of(numpy_dtype(x))))
    return tf.complex(tf.cast(x, real), tf.cast(y, real))


def _debug_print(*xs_and_text: Any) -> tuple[Any, ...]:
    *xs, text = xs_and_text

    def show(*values: object) -> Any:
        print(text.format(*[np.asarray(v)[()] for v in values]), flush=True)
        return np.int32(0)

    if all(map(is_eager, xs)):
        show(*xs)
    else:  # kept by the graph, for it is stateful
        tf.numpy_function(show, xs, tf.int32)
    return ()


def _number(x: Any, number: Any) -> Any:
    return tf.constant(number, x.dtype) if not x.dtype.is_integer else tf.constant(np.asarray(number, numpy_dtype(x)))


def _finite_peak(x: tf.Tensor, axes: tuple[int, ...]) -> Any:
    """The largest over axes, kept as axes of extent 1; 0 in place of -inf and inf, which cannot be subtracted."""
    peak = tf.reduce_max(x, axes, keepdims=True)
    return tf.where(tf.math.is_inf(peak), tf.zeros((), x.dtype), peak)


def _logsumexp(x: tf.Tensor, axes: tuple[int, ...]) -> Any:
    if not axes:
        return x
    peak = _finite_peak(x, axes)
    total = tf.math.log(tf.reduce_sum(tf.exp(x - peak), axes, keepdims=True)) + peak
    return tf.squeeze(total, axes)


def _softmax(x: tf.Tensor, axis: int) -> Any:
    grown = tf.exp(x - tf.reduce_max(x, axis, keepdims=True))
    return grown / tf.reduce_sum(grown, axis, keepdims=True)


def _log_softmax(x: tf.Tensor, axis: int) -> Any:
    shifted = x - tf.reduce_max(x, axis, keepdims=True)
    return shifted - tf.math.log(tf.reduce_sum(tf.exp(shifted), axis, keepdims=True))


def _extreme(function: Callable[..., Any]) -> Any:
    """The largest or the smallest; bools as integers."""

    def kernel(x: tf.Tensor, axes: tuple[int, ...]) -> Any:
        if not axes:
            return x
        if x.dtype == tf.bool:
            return tf.cast(function(tf.cast(x, tf.int32), axes), tf.bool)
        if any(x.shape[a] == 0 for a in axes):
            raise ValueError("zero-size array to reduction operation which has no identity")
        return _plain_extreme(function)(x, axes)

    return kernel


def _plain_extreme(function: Callable[..., Any]) -> Any:
    def kernel(x: tf.Tensor, axes: tuple[int, ...]) -> Any:
        if x.dtype == tf.uint64:  # in the order of signed integers
            top = tf.constant(-(2**63), tf.int64)
            moved = tf.bitwise.bitwise_xor(tf.bitcast(x, tf.int64), top)
            return tf.bitcast(tf.bitwise.bitwise_xor(function(moved, axes), top), tf.uint64)
        found = in_wider_integers(function)(x, axes)
        if tf.executing_eagerly() or not x.dtype.is_floating:
            return found
        # XLA, which may compile the graph, passes over NaN
        return tf.where(tf.reduce_any(tf.math.is_nan(x), axes), tf.constant(np.nan, x.dtype), found)

    return kernel


def _place_of(function: Callable[..., Any], is_max: bool) -> Any:
    """The lowest index of the extreme; that of the first NaN if there is one."""

    def kernel(x: tf.Tensor, axis: int) -> Any:
        if x.shape[axis] == 0:
            raise ValueError("attempt to get the place of an extreme of an empty sequence")
        if x.dtype == tf.uint64:
            x = tf.bitwise.bitwise_xor(tf.bitcast(x, tf.int64), tf.constant(-(2**63), tf.int64))
        elif x.dtype in (tf.uint32, tf.bool, tf.uint16):
            x = tf.cast(x, tf.int64)
        elif x.dtype.is_floating:
            x = tf.where(tf.math.is_nan(x), tf.constant(np.inf if is_max else -np.inf, x.dtype), x)
        return function(x, axis, tf.int64)

    return kernel


def _place_or_nan(function: Callable[..., Any], is_max: bool) -> Any:
    plain = _place_of(function, is_max)

    def kernel(x: tf.Tensor, axis: int) -> Any:
        found = plain(x, axis)
        if x.dtype.is_floating:  # a NaN comes before the infinity that stands for it
            is_nan = tf.math.is_nan(x)
            first = tf.argmax(tf.cast(is_nan, tf.int32), axis, tf.int64)
            found = tf.where(tf.reduce_any(is_nan, axis), first, found)
        return found

    return kernel


def _flip(x: tf.Tensor, axes: tuple[int, ...]) -> Any:
    if not axes:
        return x
    if len(x.shape) <= 8 and x.dtype not in (tf.uint32, tf.uint64):
        return tf.reverse(x, axes)
    return x[(*[slice(None, None, -1) if a in axes else slice(None) for a in range(len(x.shape))],)]


def _select(cond: tf.Tensor, x: tf.Tensor, y: tf.Tensor) -> Any:
    return tf.where(cond, x, y)


def _reshape(x: tf.Tensor, shape: tuple[int | tf.Tensor, ...]) -> Any:
    return tf.reshape(x, as_shape(shape))


def _broadcast_to(x: tf.Tensor, shape: tuple[int | tf.Tensor, ...]) -> Any:
    if x.dtype in (tf.uint32, tf.uint64):
        signed = tf.int32 if x.dtype == tf.uint32 else tf.int64
        return tf.bitcast(tf.broadcast_to(tf.bitcast(x, signed), as_shape(shape)), x.dtype)
    return tf.broadcast_to(x, as_shape(shape))


def _unstack(x: tf.Tensor, size: int) -> tuple[Any, ...]:
    return (*tf.unstack(x, None if x.shape[0] is not None else size),) if x.shape[0] != 0 else ()


def _neg(x: tf.Tensor) -> Any:
    return tf.zeros((), x.dtype) - x if x.dtype.is_unsigned else tf.negative(x)


def _reduce_prod(x: tf.Tensor, axes: tuple[int, ...]) -> Any:
    if x.dtype == tf.bool:
        return tf.reduce_all(x, axes) if axes else x
    return any_integer(tf.reduce_prod)(x, axes) if axes else x


KERNELS: dict[str, Any] = {
    **PASSING,
    "constant": _constant,
    "full": _full,
    "unstack": _unstack,
    "absent": _absent,
    "iota": _iota,
    "dim_value": _dim_value,
    "add": _add,
    "add_n": _add_n,
    "barrier": lambda *xs: xs,
    "neg": _neg,
    "sub": tf.subtract,
    "mul": _mul,
    "scale": _scale,
    "times_number": lambda x, number: _mul(x, _number(x, number)),
    "add_number": lambda x, number: _add(x, _number(x, number)),
    "convert": _convert,
    "conj": lambda x: tf.math.conj(x) if x.dtype.is_complex else x,
    "real": tf.math.real,
    "imag": tf.math.imag,
    "as_complex": _as_complex,
    "reshape": _reshape,
    "transpose": lambda x, perm: tf.transpose(x, perm) if perm else x,
    "broadcast_to": _broadcast_to,
    "reduce_sum": _reduce_sum,
    "slice": _slice,
    "pad": _pad,
    "flip": _flip,
    "concatenate": _concatenate,
    "select": _select,
    "stop_gradient": tf.stop_gradient,
    "debug_print": _debug_print,
    "reduce_prod": in_float32(_reduce_prod),
    "reduce_max": _extreme(tf.reduce_max),
    "reduce_min": _extreme(tf.reduce_min),
    "argmax": _place_or_nan(tf.argmax, True),
    "argmin": _place_or_nan(tf.argmin, False),
    "reduce_any": over_axes(tf.reduce_any),
    "reduce_all": over_axes(tf.reduce_all),
    "logsumexp": in_float32(_logsumexp),
    "softmax": in_float32(_softmax),
    "log_softmax": in_float32(_log_softmax),
}

__all__ = ["KERNELS", "count_of", "is_empty", "sliced"]
