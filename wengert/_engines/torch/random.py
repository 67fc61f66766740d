"""torch kernels of `_prims/random.py`: Threefry-2x32 with 20 rounds, bit-equal to the twins on the other engines.

`_engines/numpy/threefry.py` states the scheme. torch adds no unsigned integers, so that words are the 32-bit integers
of the same bits here: sums wrap alike, and a shift to the right masks the sign that it drags along.
"""

from __future__ import annotations

from math import prod
from typing import Any

import torch

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_LOW_30_BITS = 0x3FFFFFFF
_SPLIT = 0x40000000  # the high words that say what a block is for
_FOLD_IN = -0x80000000


def _rotated(x: torch.Tensor, by: int) -> Any:
    return (x << by) | ((x >> (32 - by)) & ((1 << by) - 1))


def _blocks(key: Any, low: Any, high: Any) -> Any:
    """The blocks of counters, two words each along a new last axis; the key's leading axes broadcast."""
    k0, k1 = key
    keys = (k0, k1, k0 ^ k1 ^ _PARITY)
    x0, x1 = low + k0, high + k1
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = _rotated(x1, rotation) ^ x0
        x0 = x0 + keys[(group + 1) % 3]
        x1 = x1 + (keys[(group + 2) % 3] + (group + 1))
    return torch.stack(torch.broadcast_tensors(x0, x1), -1).view(torch.uint32)


def _of_numbers(key: Any, count: int, high: int) -> Any:
    if count >= 1 << 31:
        raise ValueError(f"wanted less than 2**31 blocks of random bits in one draw, got {count}")
    key = key.contiguous().view(torch.int32)
    low = torch.arange(count, dtype=torch.int32, device=key.device)
    return _blocks((key[..., None, 0], key[..., None, 1]), low, torch.full_like(low, high))


def _random_bits(key: Any, shape: tuple[int, ...]) -> Any:
    size = prod(shape)
    words = _of_numbers(key, (size + 1) // 2, 0)
    flat = words.reshape((*key.shape[:-1], words.shape[-2] * 2))
    return flat[..., :size].reshape((*key.shape[:-1], *shape))


def _fold_in(key: Any, data: Any) -> Any:
    if data.dtype is torch.uint64:
        data = data.view(torch.int64)
    wide = data.to(torch.int64)  # with its sign, so that -1 is -1 at every width
    low = (wide & 0xFFFFFFFF).to(torch.uint32).view(torch.int32)
    high = ((wide >> 32) & _LOW_30_BITS).to(torch.int32) | _FOLD_IN
    key = key.contiguous().view(torch.int32)
    return _blocks((key[..., 0], key[..., 1]), low, high)


KERNELS: dict[str, Any] = {
    "random_bits": _random_bits,
    "random_split": lambda key, count: _of_numbers(key, count, _SPLIT),
    "random_fold_in": _fold_in,
}
