"""Counter-based keyed random bits on NumPy arrays: Threefry-2x32 with 20 rounds.

Owns the block function and the scheme that turns a key into bits, into child keys, and into a key that has
an integer folded in. The plain-Python twin among the tests gives the same bits and states the same scheme;
every other engine must agree with both.

Source: Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

The scheme. A block maps a key (k0, k1) and a 64-bit counter (c0 low word, c1 high word) to two words. The
top two bits of c1 say what the block is for, so that bits, children and folded keys never share a block:

    purpose   counter                          gives
    bits      i                                elements 2i and 2i + 1 of the row-major result
    split     j + 2**62                        child key j
    fold_in   (data mod 2**62) + 2**63         the new key

An element's bits depend on its flat index alone, hence a longer draw begins with the shorter one, and
child j does not depend on how many children were asked for. A negative integer folds in as its two's
complement: equal integers give equal keys whatever their width.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..threefry import PARITY, ROTATIONS

_PARITY = np.uint32(PARITY)
_SPLIT = 1 << 62
_FOLD_IN = 1 << 63
_LOW_62_BITS = (1 << 62) - 1
# Blocks computed at once: their few working arrays stay in the cache.
_CHUNK = 1 << 14


def threefry2x32(key: object, counter: object):
    """The block function: 64 bits of `counter` scrambled by `key`.

    Args:
        key: uint32 array (..., 2).
        counter: uint32 array (..., 2); its leading axes broadcast against the key's.

    Returns:
        uint32 array (..., 2).

    Example:
        >>> [hex(word) for word in threefry2x32(np.zeros(2, np.uint32), np.zeros(2, np.uint32)).tolist()]
        ['0x6b200159', '0x99ba4efe']
    """
    key, counter = np.asarray(key), np.asarray(counter)
    shape = np.broadcast_shapes(key.shape[:-1], counter.shape[:-1])
    # One axis in front keeps everything an array: NumPy warns when a uint32 scalar wraps around.
    k0, k1 = key[None, ..., 0], key[None, ..., 1]
    x0 = np.empty((1, *shape), np.uint32)
    x1 = np.empty((1, *shape), np.uint32)
    x0[...] = counter[None, ..., 0]
    x1[...] = counter[None, ..., 1]
    _scramble(k0, k1, x0, x1)
    return np.stack((x0[0], x1[0]), -1)


def random_bits(key: np.ndarray[Any, Any], shape: tuple[int, ...]):
    """Independent uniform 32-bit words.

    Args:
        key: uint32 array (..., 2), one key or a batch of them.
        shape: shape of the draw from each key.

    Returns:
        uint32 array (..., *shape). For 64 bits an element draw ``(*shape, 2)`` and take the first word low.
    """
    key = np.asarray(key)
    size = prod(shape)
    blocks = (size + 1) // 2
    words = np.empty((*key.shape[:-1], blocks, 2), np.uint32)
    k0, k1 = key[..., None, 0], key[..., None, 1]
    for start in range(0, blocks, _CHUNK):
        index = np.arange(start, min(start + _CHUNK, blocks), dtype=np.uint64)
        _fill(words[..., start : start + len(index), :], k0, k1, index)
    flat = words.reshape(*key.shape[:-1], 2 * blocks)
    return flat[..., :size].reshape((*key.shape[:-1], *shape))


def split(key, n=2):
    """`n` child keys of each key: uint32 array (..., n, 2). Child j is the same for every n > j."""
    key = np.asarray(key)
    children = np.empty((*key.shape[:-1], n, 2), np.uint32)
    index = np.arange(n, dtype=np.uint64) + np.uint64(_SPLIT)
    _fill(children, key[..., None, 0], key[..., None, 1], index)
    return children


def fold_in(key: object, data: object):
    """The key that belongs to `key` and the integer(s) `data`, such as a step number.

    Args:
        key: uint32 array (..., 2).
        data: integer or integer array that broadcasts against the key's leading axes; taken modulo 2**62.

    Returns:
        uint32 array (..., 2).
    """
    if isinstance(data, int):
        data = np.uint64(data & _LOW_62_BITS)
    data = np.asarray(data)
    if data.dtype.kind not in "iu":
        raise TypeError(f"fold_in: data has dtype {data.dtype}, wanted integers")
    # Signed integers are widened with their sign first, so that -1 is -1 at every width.
    wide = data.astype(np.int64 if data.dtype.kind == "i" else np.uint64).astype(np.uint64)
    counter = (wide & np.uint64(_LOW_62_BITS)) | np.uint64(_FOLD_IN)
    return threefry2x32(key, np.stack(_words(counter), -1))


def _words(counter: np.ndarray[Any, Any]):
    return (counter & np.uint64(0xFFFFFFFF)).astype(np.uint32), (counter >> np.uint64(32)).astype(np.uint32)


def _fill(
    target: np.ndarray[Any, Any], k0: np.ndarray[Any, Any], k1: np.ndarray[Any, Any], counter: np.ndarray[Any, Any]
):
    """Write the blocks of 64-bit counters (n,) to target (..., n, 2) for keys (..., 1)."""
    low, high = _words(counter)
    x0 = np.empty(target.shape[:-1], np.uint32)
    x1 = np.empty_like(x0)
    x0[...] = low
    x1[...] = high
    _scramble(k0, k1, x0, x1)
    target[..., 0] = x0
    target[..., 1] = x1


def _scramble(k0: np.ndarray[Any, Any], k1: np.ndarray[Any, Any], x0: np.ndarray[Any, Any], x1: np.ndarray[Any, Any]):
    """Twenty rounds in place on x0, x1 (arrays of rank 1 or more, so that wrapping around is silent)."""
    keys = (k0, k1, k0 ^ k1 ^ _PARITY)
    carried = np.empty_like(x1)
    x0 += k0
    x1 += k1
    for group in range(5):
        for rotation in ROTATIONS[group % 2]:
            x0 += x1
            np.right_shift(x1, np.uint32(32 - rotation), out=carried)
            np.left_shift(x1, np.uint32(rotation), out=x1)
            x1 |= carried
            x1 ^= x0
        # One key word of three enters each half after every fourth round, with the count of injections.
        x0 += keys[(group + 1) % 3]
        x1 += keys[(group + 2) % 3]
        x1 += np.uint32(group + 1)
