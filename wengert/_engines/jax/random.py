"""JAX kernels of `_prims/random.py`: Threefry-2x32 with 20 rounds, bit-equal to the twins on the other engines.

`_engines/numpy/threefry.py` states the scheme; here a 64-bit counter is a pair of 32-bit words from the start, since
JAX may run without 64-bit integers.
"""

from __future__ import annotations

from math import prod
from typing import Any

import jax.numpy as jnp
import numpy as np

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_LOW_30_BITS = 0x3FFFFFFF
_SPLIT = 0x40000000  # the high words that say what a block is for
_FOLD_IN = 0x80000000


def _word(value: int) -> Any:
    return np.uint32(value)


def _blocks(key: Any, low: Any, high: Any) -> Any:
    """The blocks of counters, two words each along a new last axis; the key's leading axes broadcast."""
    k0, k1 = key
    keys = (k0, k1, k0 ^ k1 ^ _word(_PARITY))
    x0, x1 = low + k0, high + k1
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = ((x1 << _word(rotation)) | (x1 >> _word(32 - rotation))) ^ x0
        x0 = x0 + keys[(group + 1) % 3]
        x1 = x1 + keys[(group + 2) % 3] + _word(group + 1)
    return jnp.stack(jnp.broadcast_arrays(x0, x1), -1)


def _of_numbers(key: Any, count: int, high: int) -> Any:
    if count >= 1 << 32:
        raise ValueError(f"wanted less than 2**32 blocks of random bits in one draw, got {count}")
    low = jnp.arange(count, dtype=jnp.uint32)
    return _blocks((key[..., None, 0], key[..., None, 1]), low, jnp.full_like(low, high))


def _random_bits(key: Any, shape: tuple[int, ...]) -> Any:
    size = prod(shape)
    words = _of_numbers(key, (size + 1) // 2, 0)
    flat = words.reshape((*key.shape[:-1], words.shape[-2] * 2))
    return flat[..., :size].reshape((*key.shape[:-1], *shape))


def _fold_in(key: Any, data: Any) -> Any:
    low = data.astype(jnp.uint32)
    if data.dtype.itemsize == 8:
        high = (data >> np.asarray(32, data.dtype)).astype(jnp.uint32)
    elif data.dtype.kind == "i":  # widened with its sign, so that -1 is -1 at every width
        high = jnp.where(data < 0, _word(0xFFFFFFFF), _word(0))
    else:
        high = jnp.zeros_like(low)
    high = (high & _word(_LOW_30_BITS)) | _word(_FOLD_IN)
    return _blocks((key[..., 0], key[..., 1]), low, high)


KERNELS: dict[str, Any] = {
    "random_bits": _random_bits,
    "random_split": lambda key, count: _of_numbers(key, count, _SPLIT),
    "random_fold_in": _fold_in,
}
