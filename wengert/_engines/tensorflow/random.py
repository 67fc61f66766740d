"""TensorFlow kernels of `_prims/random.py`: Threefry-2x32 with 20 rounds, bit-equal to the twins on the other engines.

`_engines/numpy/threefry.py` states the scheme; here a 64-bit counter is a pair of 32-bit words from the start.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import tensorflow as tf

from .common import as_shape

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_LOW_30_BITS = 0x3FFFFFFF
_SPLIT = 0x40000000  # the high words that say what a block is for
_FOLD_IN = 0x80000000


def _word(value: int) -> Any:
    return tf.constant(np.uint32(value))


def _turned(x: tf.Tensor, rotation: int) -> Any:
    bits = tf.bitwise
    return bits.bitwise_or(bits.left_shift(x, _word(rotation)), bits.right_shift(x, _word(32 - rotation)))


def _blocks(key: Any, low: Any, high: Any) -> Any:
    """The blocks of counters, two words each along a new last axis; the key's leading axes broadcast."""
    exclusive = tf.bitwise.bitwise_xor
    k0, k1 = key
    keys = (k0, k1, exclusive(exclusive(k0, k1), _word(_PARITY)))
    x0, x1 = low + k0, high + k1
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = exclusive(_turned(x1, rotation), x0)
        x0 = x0 + keys[(group + 1) % 3]
        x1 = x1 + keys[(group + 2) % 3] + _word(group + 1)
    return tf.stack([x0, x1], -1)


def _of_numbers(key: Any, count: int, high: int) -> Any:
    if count >= 1 << 32:
        raise ValueError(f"wanted less than 2**32 blocks of random bits in one draw, got {count}")
    low = tf.cast(tf.range(count, dtype=tf.int64), tf.uint32)
    return _blocks((key[..., None, 0], key[..., None, 1]), low, tf.fill([count], _word(high)))


def _random_bits(key: Any, shape: Any) -> Any:
    size, lead = prod(shape), key.shape.as_list()[:-1]
    words = _of_numbers(key, (size + 1) // 2, 0)
    flat = tf.reshape(words, [*lead, words.shape[-2] * 2])
    return tf.reshape(flat[..., :size], as_shape([*lead, *shape]))  # pyright: ignore[reportArgumentType]  # the stubs know less than TensorFlow


def _random_split(key: Any, count: int) -> Any:
    return _of_numbers(key, count, _SPLIT)


def _fold_in(key: Any, data: Any) -> Any:
    wide = tf.bitcast(data, tf.int64) if data.dtype == tf.uint64 else tf.cast(data, tf.int64)  # -1 is -1 at every width
    low = tf.cast(tf.bitwise.bitwise_and(wide, tf.constant(0xFFFFFFFF, tf.int64)), tf.uint32)
    high = tf.bitwise.right_shift(wide, tf.constant(32, tf.int64))
    high = tf.bitwise.bitwise_and(high, tf.constant(_LOW_30_BITS, tf.int64))
    return _blocks((key[..., 0], key[..., 1]), low, tf.bitwise.bitwise_or(tf.cast(high, tf.uint32), _word(_FOLD_IN)))


KERNELS: dict[str, Any] = {
    "random_bits": _random_bits,
    "random_split": _random_split,
    "random_fold_in": _fold_in,
}
