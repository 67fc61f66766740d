"""torch kernels of `_prims/random.py`: Threefry-2x32 with 20 rounds, bit-equal to the twins on the other engines.

`_engines/numpy/threefry.py` states the scheme. torch adds no unsigned integers, so that words are the 32-bit integers
of the same bits here: sums wrap alike, and a shift to the right masks the sign that it drags along.
"""

from __future__ import annotations

from math import prod
from typing import Any

import torch

from ..threefry import FOLD_IN, LOW_30_BITS, SPLIT, drawn, scrambled
from .common import TableKernel, of_unsigned

_FOLD_IN = FOLD_IN - (1 << 32)  # as a signed word


def _rotated(x: torch.Tensor, by: int) -> Any:
    return (x << by) | ((x >> (32 - by)) & ((1 << by) - 1))


def _blocks(key: tuple[torch.Tensor, torch.Tensor], low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    """The blocks of counters, two words each along a new last axis; the key's leading axes broadcast."""
    words = scrambled(key, (low, high), _rotated, int)
    return torch.stack(torch.broadcast_tensors(*words), -1).view(torch.uint32)


def _of_numbers(key: torch.Tensor, count: int, high: int) -> Any:
    if count >= 1 << 31:
        raise ValueError(f"wanted less than 2**31 blocks of random bits in one draw, got {count}")
    key = key.contiguous().view(torch.int32)
    low = torch.arange(count, dtype=torch.int32, device=key.device)
    return _blocks((key[..., None, 0], key[..., None, 1]), low, torch.full_like(low, high))


def _random_bits(key: torch.Tensor, shape: tuple[int, ...]) -> Any:
    return drawn(_of_numbers(key, (prod(shape) + 1) // 2, 0), key.shape[:-1], shape)


def _fold_in(key: torch.Tensor, data: torch.Tensor) -> Any:
    if data.dtype is torch.uint64:
        data = data.view(torch.int64)
    wide = data.to(torch.int64)  # with its sign, so that -1 is -1 at every width
    low = (wide & 0xFFFFFFFF).to(torch.uint32).view(torch.int32)
    high = ((wide >> 32) & LOW_30_BITS).to(torch.int32) | _FOLD_IN
    key = key.contiguous().view(torch.int32)
    return _blocks((key[..., 0], key[..., 1]), low, high)


KERNELS: dict[str, TableKernel] = {
    "random_bits": of_unsigned(_random_bits),
    "random_split": of_unsigned(lambda key, count: _of_numbers(key, count, SPLIT)),
    "random_fold_in": of_unsigned(_fold_in),
}
