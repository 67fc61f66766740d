"""Programs inside torch's older batching (`is_grads_batched`, `autograd.functional` with `vectorize=True`).

It batches kernels of torch's, and not all of them; so a program that meets a batch there runs as our batched program.
Called by `bridge.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..._control.call import Program

Run = Callable[[Program, Sequence[Any]], tuple[Any, ...]]
_C: Any = torch._C  # torch's stubs know none of these names
_is_batch: Callable[[torch.Tensor], bool] = _C._functorch.is_legacy_batchedtensor
_whole: Any = torch._remove_batch_dim  # pyright: ignore[reportPrivateImportUsage]
_batch_of: Any = torch._add_batch_dim  # pyright: ignore[reportPrivateImportUsage]


def has_lanes(values: Sequence[object]) -> bool:
    """Whether some of these are batches of the older batching."""
    return any(isinstance(x, torch.Tensor) and _is_batch(x) for x in values)


def by_lanes(run: Run, program: Program, values: Sequence[Any]) -> tuple[Any, ...]:
    """The results of a program for values of which some are such batches."""
    level = _C._vmapmode_increment_nesting() - 1  # torch has no other word for it
    _C._vmapmode_decrement_nesting()
    return _at_level(level, run, program, values)


def _at_level(level: int, run: Run, program: Program, values: Sequence[Any]) -> tuple[Any, ...]:
    """The same inside so many batchings, the innermost first."""
    if level == 0:
        return run(program, values)
    # the axis of what is no batch at this level has length 1
    whole = [_whole(x, level, 1, 0) if has_lanes([x]) else None for x in values]
    size = max(1 if x is None else x.shape[0] for x in whole)
    flags = (*[size > 1 and x is not None and x.shape[0] == size for x in whole],)
    moved = [
        x if y is None else y if flag else y[0] for x, y, flag in zip(values, whole, flags, strict=True)
    ]  # fmt: skip
    if size == 1:
        return _at_level(level - 1, run, program, moved)
    outs = _at_level(level - 1, run, program.batched(flags, size), moved)
    return (*[_batch_of(y, 0, level) if isinstance(y, torch.Tensor) else y for y in outs],)


__all__ = ["by_lanes", "has_lanes"]
