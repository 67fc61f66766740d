"""Counter-based keyed random bits in plain Python integers: the twin of `_engines/numpy/threefry.py`.

Owns the same block function (Threefry-2x32, 20 rounds; Salmon et al., SC 2011) and the same scheme: the top
two bits of the 64-bit counter keep bits (00), children (01) and folded keys (10) apart, block i holds
elements 2i and 2i + 1. A key is a pair of 32-bit words.
"""

from __future__ import annotations

from math import prod

Key = tuple[int, int]

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_WORD = 0xFFFFFFFF
_SPLIT = 1 << 62
_FOLD_IN = 1 << 63
_LOW_62_BITS = (1 << 62) - 1


def threefry2x32(key: Key, counter: Key) -> Key:
    """The block function: two words of counter scrambled by two words of key.

    Example:
        >>> [hex(word) for word in threefry2x32((0, 0), (0, 0))]
        ['0x6b200159', '0x99ba4efe']
    """
    keys = (*key, key[0] ^ key[1] ^ _PARITY)
    x0, x1 = (counter[0] + key[0]) & _WORD, (counter[1] + key[1]) & _WORD
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x0 = (x0 + x1) & _WORD
            x1 = ((x1 << rotation | x1 >> 32 - rotation) & _WORD) ^ x0
        x0 = (x0 + keys[(group + 1) % 3]) & _WORD
        x1 = (x1 + keys[(group + 2) % 3] + group + 1) & _WORD
    return x0, x1


def random_bits(key: Key, shape: tuple[int, ...]) -> list[int]:
    """The flat row-major list of 32-bit words of a draw of `shape`."""
    size = prod(shape)
    words = [word for i in range((size + 1) // 2) for word in _block(key, i)]
    return words[:size]


def split(key: Key, n: int = 2) -> list[Key]:
    """`n` child keys; child j is the same for every n > j."""
    return [_block(key, _SPLIT + j) for j in range(n)]


def fold_in(key: Key, data: int) -> Key:
    """The key that belongs to `key` and the integer `data` (taken modulo 2**62)."""
    return _block(key, _FOLD_IN | (data & _LOW_62_BITS))


def _block(key: Key, counter: int) -> Key:
    return threefry2x32(key, (counter & _WORD, counter >> 32))
