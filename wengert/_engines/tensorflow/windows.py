"""TensorFlow kernels of `_prims/windows.py`, `conv.py`, `cumulative.py` and `fourier.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from ..._core.conv_shape import conv_out_shape
from ..windows import count_of, places_of, tap
from .common import any_integer, as_shape, extents, in_float32, keeping_nan, widened
from .structural import KERNELS as STRUCTURAL
from .structural import sliced

_pad = STRUCTURAL["pad"]

# -- windows -----------------------------------------------------------------------------------------------------------


def _padded(x: tf.Tensor, padding: Any) -> Any:
    lead = len(x.shape) - len(padding)
    low, high = [0] * lead, [0] * lead
    return _pad(x, (*low, *[p[0] for p in padding]), (*high, *[p[1] for p in padding]), (0,) * len(x.shape))


def _window_sum(
    x: tf.Tensor, window: tuple[int, ...], strides: tuple[int, ...], padding: object, dilation: tuple[int, ...]
) -> Any:
    """Axis by axis, as the sum of strided views."""
    ndim = len(x.shape)
    out = _padded(x, padding)
    for axis, (n, stride, gap) in enumerate(zip(window, strides, dilation, strict=True), start=ndim - len(window)):
        count = count_of(out.shape[axis], n, stride, gap)
        total = sliced(out, tap(axis, ndim, 0, count, stride))
        for k in range(1, n):
            total = total + sliced(out, tap(axis, ndim, k * gap, count, stride))
        out = total
    return out


def _window_spread(
    x: Any, sizes: Any, window: Sequence[int], strides: Sequence[int], padding: Any, dilation: Sequence[int]
) -> Any:
    out, ndim = x, len(x.shape)
    first = ndim - len(window)
    for i, (n, stride, gap) in enumerate(zip(window, strides, dilation, strict=True)):
        axis = first + i
        low, high = padding[i]
        whole, reach = low + sizes[i] + high, (out.shape[axis] - 1) * stride + 1
        total: Any = None
        for k in range(n):
            ahead = k * gap
            margins = (ahead, whole - reach - ahead, stride - 1)
            part = _pad(out, *[_at(axis, ndim, n) for n in margins])
            total = part if total is None else total + part
        out = total[tap(axis, ndim, low, sizes[i], 1)]
    return out


def _at(axis: int, ndim: int, value: int) -> tuple[int, ...]:
    return (*[value if i == axis else 0 for i in range(ndim)],)


_FEW_TAPS = 32  # windows of more elements are gathered


def _place(choose: Callable[..., Any], is_better: Callable[..., Any], worst: Callable[..., Any]) -> Any:
    def kernel(x: Any, window: Sequence[int], strides: Sequence[int], padding: Any, dilation: Sequence[int]) -> Any:
        x = widened(x)
        if x.dtype.is_integer or x.dtype == tf.bool:
            x = tf.cast(x, tf.int64)
        lead = len(x.shape) - len(window)
        places = places_of(x.shape.as_list()[lead:], window, strides, padding, dilation)
        is_inside = places >= 0
        if is_inside.all() and places.size and places.shape[-1] <= _FEW_TAPS:
            return _place_by_taps(x, places, window, strides, dilation, is_better)
        flat = tf.reshape(x, as_shape([*extents(x)[:lead], prod(x.shape[lead:])]))
        values = tf.gather(flat, np.where(is_inside, places, 0), axis=-1)
        values = tf.where(is_inside, values, tf.constant(worst(x.dtype), x.dtype))
        best = choose(values, len(values.shape) - 1)  # NaN is the best there, too
        # all in a window as bad as the padding: the first place that is not padding
        first = np.take_along_axis(places, np.argmax(is_inside, -1)[..., None], -1)[..., 0]
        rows = np.arange(prod(places.shape[:-1])).reshape(places.shape[:-1]) * places.shape[-1]
        chosen = tf.gather(places.reshape(-1), best + rows)
        return tf.where(chosen < 0, tf.constant(first, tf.int64), tf.cast(chosen, tf.int64))

    return kernel


def _place_by_taps(
    x: tf.Tensor, places: Any, window: Sequence[int], strides: Sequence[int], dilation: Sequence[int], is_better: Any
) -> Any:
    """One element of all windows after the other: the first of the best stays, and NaN beats all.

    The axis before those of the windows goes last: slices that skip are then of whole rows.
    """
    rank, counts = len(window), places.shape[:-1]
    lead = len(x.shape) - rank
    turn = [*range(lead - 1), *range(lead, lead + rank), lead - 1] if lead else [*range(rank)]
    ahead = [slice(None)] * max(lead - 1, 0)
    turned = tf.transpose(x, turn)
    first = places[(0,) * rank]
    best = chosen = None
    for place, offsets in enumerate(np.ndindex(*window)):
        starts = [o * gap for o, gap in zip(offsets, dilation, strict=True)]
        value = sliced(turned, (*ahead, *[
            slice(start, start + (n - 1) * stride + 1, stride)
            for start, n, stride in zip(starts, counts, strides, strict=True)
        ]))  # fmt: skip
        offset = tf.fill(tf.shape(value), tf.constant(first[place] - first[0], tf.int32))
        if best is None:
            best, chosen = value, offset
            continue
        takes = is_better(value, best)
        if x.dtype.is_floating:  # asked outright: TensorFlow's graphs take "not less or equal" for "greater"
            is_first_nan = tf.logical_and(tf.math.is_nan(value), tf.logical_not(tf.math.is_nan(best)))
            takes = tf.logical_or(takes, is_first_nan)
        best, chosen = tf.where(takes, value, best), tf.where(takes, offset, chosen)
    begun = tf.constant(places[..., 0][..., None] if lead else places[..., 0], tf.int32)
    return tf.cast(tf.transpose(chosen + begun, np.argsort(turn)), tf.int64)  # pyright: ignore[reportOptionalOperand]  # the stubs know less than TensorFlow


def _lowest(dtype: Any) -> Any:
    return -np.inf if dtype.is_floating else dtype.min


def _highest(dtype: Any) -> Any:
    return np.inf if dtype.is_floating else dtype.max


# -- convolution -------------------------------------------------------------------------------------------------------

_NATIVE = (tf.float32, tf.float64, tf.float16, tf.bfloat16)  # dtypes of TensorFlow's own convolutions


def _conv(
    lhs: Any, rhs: Any, strides: Any, padding: Any, lhs_dilation: Any, rhs_dilation: Any, groups: int, batch_groups: int
) -> Any:  # fmt: skip
    shape = conv_out_shape((*extents(lhs),), (*extents(rhs),), strides, padding, lhs_dilation, rhs_dilation, groups,
                           batch_groups)  # fmt: skip
    if 0 in (*shape, *lhs.shape, *rhs.shape):
        return tf.zeros(as_shape(shape), lhs.dtype)
    place = _Place(strides, padding, lhs_dilation, rhs_dilation)
    if groups == batch_groups == 1:
        return _conv_of_group(lhs, rhs, place, shape)
    # each group apart; the group is the major part of every axis that is split
    count, axis = (groups, 1) if groups > 1 else (batch_groups, 0)
    pairs = zip(tf.split(lhs, count, axis), tf.split(rhs, count, 0), strict=True)
    part = (shape[0], shape[1] // count, *shape[2:])
    return tf.concat([_conv_of_group(x, k, place, part) for x, k in pairs], 1)


class _Place(NamedTuple):
    """How a convolution moves; an entry for each spatial axis."""

    strides: Any
    padding: Any
    lhs_dilation: Any
    rhs_dilation: Any

    def padded(self, x: tf.Tensor, first: int) -> Any:
        """The lhs with its zeros, its spatial axes from number `first` on."""
        if not self.strides:
            return x
        around = ((0,) * first, (0,) * (len(x.shape) - first - len(self.strides)))
        low, high = zip(*self.padding, strict=True)
        gaps = (n - 1 for n in self.lhs_dilation)
        return _pad(x, *[(*around[0], *values, *around[1]) for values in (low, high, gaps)])

    def in_two(self) -> _Place:
        """With a second spatial axis, before the one that there is."""
        return _Place((1, *self.strides), ((0, 0), *self.padding), (1, *self.lhs_dilation), (1, *self.rhs_dilation))


def _conv_of_group(lhs: tf.Tensor, rhs: Any, place: _Place, shape: Any) -> Any:
    rank = len(place.strides)
    if lhs.dtype not in _NATIVE or rank not in (1, 2):
        return _conv_of_windows(place.padded(lhs, 2), rhs, place, shape)
    if rank == 1:
        in_two = (*shape[:2], 1, *shape[2:])
        return tf.squeeze(_conv_of_group(lhs[:, :, None], rhs[:, :, None], place.in_two(), in_two), 2)
    if prod(shape[2:]) < prod(rhs.shape[2:]) and set(place.strides) == {1} and isinstance(shape[0], int):
        return _conv_over_positions(lhs, rhs, place, shape)
    # turned before anything else, so that TensorFlow finds two turns, here and in what gave lhs, that undo each other
    images, kernel = place.padded(tf.transpose(lhs, (0, 2, 3, 1)), 1), tf.transpose(rhs, (2, 3, 1, 0))
    out = tf.nn.conv2d(images, kernel, (1, *place.strides, 1), "VALID", dilations=(1, *place.rhs_dilation, 1))
    return tf.transpose(out, (0, 3, 1, 2))


def _conv_over_positions(lhs: tf.Tensor, rhs: Any, place: _Place, shape: Any) -> Any:
    """A convolution with few positions and many taps, as a gradient with respect to a kernel is: TensorFlow's own of
    that, where the taps are positions and the dilation is a stride."""
    images = place.padded(tf.transpose(lhs, (1, 2, 3, 0)), 1)
    steps = place.rhs_dilation
    reach = [(taps - 1) * step + n for taps, step, n in zip(rhs.shape[2:], steps, shape[2:], strict=True)]
    if images.shape.as_list()[1:3] != reach:
        images = images[:, : reach[0], : reach[1]]
    out = tf.raw_ops.Conv2DBackpropFilter(
        input=images, filter_sizes=[*shape[2:], shape[0], shape[1]], out_backprop=tf.transpose(rhs, (1, 2, 3, 0)),
        strides=[1, *steps, 1], padding="VALID",
    )  # fmt: skip
    return tf.transpose(out, (2, 3, 0, 1))


def _conv_of_windows(lhs: Any, rhs: Any, place: _Place, shape: Any) -> Any:
    """The elements of all windows, then one matrix product."""
    strides, dilation = place.strides, place.rhs_dilation
    taps, sizes, kernel = shape[2:], lhs.shape.as_list()[2:], rhs.shape.as_list()[2:]
    places = np.zeros((), np.int64)
    for n, size, count, stride, gap in zip(kernel, sizes, taps, strides, dilation, strict=True):
        along = np.arange(n)[:, None] * gap + np.arange(count) * stride
        places = np.add.outer(places * size, along)
    rank = len(strides)
    # axes come in pairs of tap and position: taps first
    places = places.transpose([*range(0, 2 * rank, 2), *range(1, 2 * rank, 2)]).reshape(prod(kernel), prod(taps))
    n, c = extents(lhs)[:2]
    flat = tf.reshape(lhs, as_shape([n, c, prod(sizes)]))
    windows = tf.reshape(tf.gather(flat, places, axis=2), as_shape([n, c * prod(kernel), prod(taps)]))
    weights = tf.reshape(rhs, [rhs.shape[0], c * prod(kernel)])
    return tf.reshape(any_integer(tf.matmul)(weights, windows), as_shape(shape))


# -- scans -------------------------------------------------------------------------------------------------------------


def _directed(function: Callable[..., Any]) -> Any:
    return in_float32(any_integer(lambda x, axis, reverse: function(x, axis=axis, reverse=reverse)))


def _doubling(function: Callable[..., Any]) -> Any:
    """A scan by an associative function, in steps of one, two, four, ... places."""

    def kernel(x: Any, axis: int, reverse: bool) -> Any:
        ndim, size, step = len(x.shape), x.shape[axis], 1
        if reverse:
            x = tf.reverse(x, [axis])
        while step < size:
            head = x[tap(axis, ndim, 0, step, 1)]
            tail = function(x[tap(axis, ndim, step, size - step, 1)], x[tap(axis, ndim, 0, size - step, 1)])
            x = tf.concat([head, tail], axis)
            step *= 2
        return tf.reverse(x, [axis]) if reverse else x

    return in_float32(any_signed(kernel))


def any_signed(function: Callable[..., Any]) -> Any:
    """Unsigned 64-bit integers in the order of signed ones."""

    def kernel(x: tf.Tensor, *rest: object) -> Any:
        if x.dtype == tf.uint64:
            top = tf.constant(-(2**63), tf.int64)
            found = function(tf.bitwise.bitwise_xor(tf.bitcast(x, tf.int64), top), *rest)
            return tf.bitcast(tf.bitwise.bitwise_xor(found, top), tf.uint64)
        return any_integer(function)(x, *rest)

    return kernel


def _recurrence(product: Callable[..., Any]) -> Any:
    """s_i = product(factor_i, s_(i-1)) + term_i."""

    def along(factor: Any, term: Any, axis: int, reverse: bool) -> Any:
        if 0 in term.shape.as_list():
            return term
        perm = [axis, *[i for i in range(len(term.shape)) if i != axis]]
        factor, term = tf.transpose(factor, perm), tf.transpose(term, perm)
        states = tf.scan(
            lambda state, pair: product(pair[0], state) + pair[1],
            (factor, term),
            tf.zeros_like(term[0]),
            reverse=reverse,
        )
        return tf.transpose(states, sorted(range(len(perm)), key=perm.__getitem__))

    return along


def _times_unless_zero(factor: Any, state: Any) -> Any:
    return tf.where(tf.equal(factor, 0), tf.zeros((), state.dtype), factor * state)


_linear = _recurrence(_times_unless_zero)
_masked = _recurrence(lambda restart, state: tf.where(restart, tf.zeros((), state.dtype), state))


def _linear_recurrence(factor: object, term: object, axis: int, reverse: bool) -> Any:
    return _linear(factor, term, axis, reverse)


def _segmented_cumsum(x: tf.Tensor, restart: object, axis: int, reverse: bool) -> Any:
    return any_integer(lambda v: _masked(restart, v, axis, reverse))(x)


# -- Fourier transforms ------------------------------------------------------------------------------------------------


def _along(function: Callable[..., Any], x: tf.Tensor, axis: int) -> Any:
    """A function of the last axis along another one."""
    perm = [i for i in range(len(x.shape)) if i != axis] + [axis]
    if axis == len(perm) - 1:
        return function(x)
    return tf.transpose(function(tf.transpose(x, perm)), sorted(range(len(perm)), key=perm.__getitem__))


def _dft(x: tf.Tensor, axes: tuple[int, ...], inverse: bool) -> Any:
    if 0 in x.shape.as_list():
        return x
    for axis in axes:
        if inverse:
            size = tf.cast(extents(x)[axis], x.dtype)
            x = _along(tf.signal.ifft, x, axis) * size
        else:
            x = _along(tf.signal.fft, x, axis)
    return x


def _rfft(x: tf.Tensor, axis: int) -> Any:
    return _along(tf.signal.rfft, widened(x), axis)


def _irfft(x: tf.Tensor, axis: int, size: int) -> Any:
    found = _along(lambda v: tf.signal.irfft(v, [size]), x, axis)
    return found * tf.cast(size, found.dtype)


def _paired_scale(x: Any, axis: int, size: int, factor: float) -> Any:
    n = x.shape[axis]
    weight = np.ones(n)
    weight[1 : (size + 1) // 2] = factor
    shape = [1] * len(x.shape)
    shape[axis] = n
    return x * tf.constant(weight.reshape(shape), x.dtype)


KERNELS: dict[str, Any] = {
    "window_sum": in_float32(any_integer(_window_sum)),
    "window_spread": in_float32(any_integer(_window_spread)),
    "window_argmax": _place(STRUCTURAL["argmax"], tf.greater, _lowest),
    "window_argmin": _place(STRUCTURAL["argmin"], tf.less, _highest),
    "conv": in_float32(_conv),
    "linear_recurrence": in_float32(any_integer(_linear_recurrence)),
    "segmented_cumsum": in_float32(_segmented_cumsum),
    "cumsum": _directed(tf.cumsum),
    "cumprod": _directed(tf.math.cumprod),
    "cummax": _doubling(keeping_nan(tf.maximum)),
    "cummin": _doubling(keeping_nan(tf.minimum)),
    "cumlogsumexp": _directed(tf.math.cumulative_logsumexp),
    "dft": _dft,
    "rfft": _rfft,
    "irfft": _irfft,
    "paired_scale": _paired_scale,
}
