"""The block function of keyed random bits, Threefry-2x32 with 20 rounds, in whatever words an engine has.

NumPy's kernels (`numpy/threefry.py`, which state the scheme of counters) work in place and have rounds of their own;
JAX, PyTorch, TensorFlow and machine code give the operations on their 32-bit words, which wrap around.

Source: Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

W = TypeVar("W")

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA

# What a block is for, as the two highest bits of its counter say, and the bits that are left for the count.
SPLIT = 1 << 62
FOLD_IN = 1 << 63
LOW_62_BITS = (1 << 62) - 1

# The same where a counter is a pair of 32-bit words: of the high word.
SPLIT_WORD = SPLIT >> 32
FOLD_IN_WORD = FOLD_IN >> 32
LOW_30_BITS = LOW_62_BITS >> 32


class Words(NamedTuple, Generic[W]):
    """Operations on 32-bit words.

    Attributes:
        word: a Python integer as a word.
        add: a sum modulo 2**32.
        xor: bitwise exclusive or.
        rotated: a word whose bits are moved to the left in a circle, by a Python integer from 1 to 31.
    """

    word: Callable[[int], W]
    add: Callable[[W, W], W]
    xor: Callable[[W, W], W]
    rotated: Callable[[W, int], W]


def scrambled(words: Words[W], key: tuple[W, W], low: W, high: W) -> tuple[W, W]:
    """The two words that belong to a key and a counter, which is given as its two words."""
    word, add, xor, rotated = words
    keys = (*key, xor(xor(*key), word(PARITY)))
    x0, x1 = add(low, keys[0]), add(high, keys[1])
    for group in range(5):
        for rotation in ROTATIONS[group % 2]:
            x0 = add(x0, x1)
            x1 = xor(rotated(x1, rotation), x0)
        # One key word of three enters each half after every fourth round, with the count of injections.
        x0 = add(x0, keys[(group + 1) % 3])
        x1 = add(add(x1, keys[(group + 2) % 3]), word(group + 1))
    return x0, x1
