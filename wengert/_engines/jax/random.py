"""JAX kernels of `_prims/random.py`: Threefry-2x32 with 20 rounds, bit-equal to the twins on the other engines.

`_engines/numpy/threefry.py` states the scheme; here a 64-bit counter is a pair of 32-bit words from the start, since
JAX may run without 64-bit integers.
"""

from __future__ import annotations

from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..threefry import FOLD_IN, LOW_30_BITS, SPLIT, drawn, scrambled


def _word(value: int) -> Any:
    return np.uint32(value)


def _rotated(x: jax.Array, by: int) -> Any:
    return (x << _word(by)) | (x >> _word(32 - by))


def _blocks(key: tuple[jax.Array, jax.Array], low: jax.Array, high: jax.Array) -> jax.Array:
    """The blocks of counters, two words each along a new last axis; the key's leading axes broadcast."""
    return jnp.stack(jnp.broadcast_arrays(*scrambled(key, (low, high), _rotated, _word)), -1)


def _of_numbers(key: jax.Array, count: int, high: int) -> Any:
    if isinstance(count, int) and count >= 1 << 32:  # else it is an extent that only JAX knows
        raise ValueError(f"wanted less than 2**32 blocks of random bits in one draw, got {count}")
    low = jnp.arange(count, dtype=jnp.uint32)
    return _blocks((key[..., None, 0], key[..., None, 1]), low, jnp.full_like(low, high))


def _random_bits(key: jax.Array, shape: tuple[int, ...]) -> Any:
    return drawn(_of_numbers(key, (prod(shape) + 1) // 2, 0), key.shape[:-1], shape)


def _fold_in(key: jax.Array, data: jax.Array) -> Any:
    low = data.astype(jnp.uint32)
    if data.dtype.itemsize == 8:
        high = (data >> np.asarray(32, data.dtype)).astype(jnp.uint32)
    elif data.dtype.kind == "i":  # widened with its sign, so that -1 is -1 at every width
        high = jnp.where(data < 0, _word(0xFFFFFFFF), _word(0))
    else:
        high = jnp.zeros_like(low)
    high = (high & _word(LOW_30_BITS)) | _word(FOLD_IN)
    return _blocks((key[..., 0], key[..., 1]), low, high)


KERNELS: dict[str, Any] = {
    "random_bits": _random_bits,
    "random_split": lambda key, count: _of_numbers(key, count, SPLIT),
    "random_fold_in": _fold_in,
}
