"""TensorFlow kernels of `_prims/random.py`: Threefry-2x32 with 20 rounds, bit-equal to the twins on the other engines.

`_engines/numpy/threefry.py` states the scheme; here a 64-bit counter is a pair of 32-bit words from the start.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import tensorflow as tf

from ..threefry import FOLD_IN, LOW_30_BITS, SPLIT, scrambled
from .common import as_shape, extents


def _word(value: int) -> Any:
    return tf.constant(np.uint32(value))


def _rotated(x: tf.Tensor, by: int) -> Any:
    bits = tf.bitwise
    return bits.bitwise_or(bits.left_shift(x, _word(by)), bits.right_shift(x, _word(32 - by)))


def _blocks(key: tuple[tf.Tensor, tf.Tensor], low: tf.Tensor, high: tf.Tensor) -> tf.Tensor:
    """The blocks of counters, two words each along a new last axis; the key's leading axes broadcast."""
    return tf.stack([*scrambled(key, (low, high), _rotated, _word)], -1)


def _of_numbers(key: Any, count: Any, high: int) -> Any:
    if isinstance(count, int) and count >= 1 << 32:  # a count that only a run tells fills no memory either
        raise ValueError(f"wanted less than 2**32 blocks of random bits in one draw, got {count}")
    low = tf.cast(tf.range(count, dtype=tf.int64), tf.uint32)
    return _blocks((key[..., None, 0], key[..., None, 1]), low, tf.fill([count], _word(high)))


def _random_bits(key: Any, shape: Any) -> Any:
    size, lead = prod(shape), key.shape.as_list()[:-1]
    words = _of_numbers(key, (size + 1) // 2, 0)
    flat = tf.reshape(words, as_shape([*lead, extents(words)[-2] * 2]))  # pyright: ignore[reportArgumentType]  # the stubs know less than TensorFlow
    return tf.reshape(flat[..., :size], as_shape([*lead, *shape]))  # pyright: ignore[reportArgumentType]  # as above


def _random_split(key: Any, count: int) -> Any:
    return _of_numbers(key, count, SPLIT)


def _fold_in(key: Any, data: Any) -> Any:
    wide = tf.bitcast(data, tf.int64) if data.dtype == tf.uint64 else tf.cast(data, tf.int64)  # -1 is -1 at every width
    low = tf.cast(tf.bitwise.bitwise_and(wide, tf.constant(0xFFFFFFFF, tf.int64)), tf.uint32)
    high = tf.bitwise.right_shift(wide, tf.constant(32, tf.int64))
    high = tf.bitwise.bitwise_and(high, tf.constant(LOW_30_BITS, tf.int64))
    return _blocks((key[..., 0], key[..., 1]), low, tf.bitwise.bitwise_or(tf.cast(high, tf.uint32), _word(FOLD_IN)))


KERNELS: dict[str, Any] = {
    "random_bits": _random_bits,
    "random_split": _random_split,
    "random_fold_in": _fold_in,
}
