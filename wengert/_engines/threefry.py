"""The rounds of Threefry-2x32 on arrays that are values; `numpy/threefry.py`, which writes in place, states the scheme.

A counter is a pair of 32-bit words. An engine says how its words rotate and how it writes one that is known.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA
LOW_30_BITS = 0x3FFFFFFF
SPLIT = 0x40000000  # the high word of a counter says what its block is for: a child key, or
FOLD_IN = 0x80000000  # a key with an integer folded in


def scrambled(
    key: tuple[Any, Any],
    counter: tuple[Any, Any],
    rotated: Callable[[Any, int], Any],
    word: Callable[[int], Any],
) -> tuple[Any, Any]:
    """The two words of each block; keys and counters broadcast."""
    (k0, k1), (low, high) = key, counter
    keys = (k0, k1, k0 ^ k1 ^ word(PARITY))
    x0, x1 = low + k0, high + k1
    for group in range(5):
        for rotation in ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = rotated(x1, rotation) ^ x0
        x0 = x0 + keys[(group + 1) % 3]
        x1 = x1 + keys[(group + 2) % 3] + word(group + 1)
    return x0, x1


def drawn(blocks: Any, lead: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """The words of a draw, from enough blocks (*lead, count, 2)."""
    flat = blocks.reshape((*lead, blocks.shape[-2] * 2))
    return flat[..., : prod(shape)].reshape((*lead, *shape))
