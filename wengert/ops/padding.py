"""Padding: `pad`, by constants and by the array's own elements."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.argument_types import ArrayLike
from .._core.dims import Dim
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import structural as S
from . import promotion
from .outside_numbers import chosen_beside
from .promotion import as_tensor, normal_axis, public
from .repeating import picked
from .shapes import _GATHERED_MODES, extent, joined, known_extent


def pairs_of(width: Any, rank: int, what: str) -> list[tuple[Any, Any]]:
    """What NumPy takes for widths as one (before, after) pair for each axis."""
    if isinstance(width, dict):
        pairs = [(0, 0)] * rank
        for axis, value in width.items():
            pairs[normal_axis(axis, rank, what)] = pairs_of(value, 1, what)[0]
        return pairs
    if isinstance(width, (tuple, list)) or getattr(width, "ndim", 0):
        entries = [tuple(w) if isinstance(w, (tuple, list)) or getattr(w, "ndim", 0) else w for w in width]
    else:
        return [(width, width)] * rank
    if len(entries) == 2 and not builtins.any(isinstance(e, tuple) for e in entries):
        return [(entries[0], entries[1])] * rank
    pairs = [(e if len(e) == 2 else e * 2) if isinstance(e, tuple) else (e, e) for e in entries]
    if len(pairs) == 1:
        pairs = pairs * rank
    if len(pairs) != rank or builtins.any(len(p) != 2 for p in pairs):
        raise ValueError(at_user_line(f"{what}: {width} is not one pair for each of {rank} axes"))
    return pairs


@public
def pad(x: ArrayLike, pad_width: Sequence[Any], mode: str = "constant", constant_values: Any = None) -> Any:
    """x with elements put before and after along each axis.

    Args:
        x: an array.
        pad_width: how many: a number, a (before, after) pair, or one pair for each axis.
        mode: "constant", "edge", "reflect", "symmetric" or "wrap".
        constant_values: the number for "constant" (0 if None), or numbers in the forms of `pad_width`.

    Returns:
        The larger array in x's kind and dtype.

    Raises:
        ValueError: for another mode, negative widths, or `constant_values` with another mode.

    Example:
        >>> import wengert as wg
        >>> wg.ops.pad([1, 2], (1, 2))
        array([0, 1, 2, 0, 0])
    """
    a = as_tensor(x, "pad")
    widths: list[Any] = [(*[extent(w, "pad") for w in pair],) for pair in pairs_of(pad_width, a.ndim, "pad")]
    if builtins.any(type(w) is not Dim and w < 0 for pair in widths for w in pair):
        raise ValueError(at_user_line(f"pad: pad_width {pad_width} has a negative number"))
    if mode == "constant":
        return _pad_constant(a, widths, constant_values)
    if constant_values is not None:
        raise ValueError(at_user_line(f"pad: constant_values is for mode 'constant', not {mode!r}"))
    if mode not in _GATHERED_MODES:
        raise ValueError(at_user_line(f"pad: mode is {mode!r}, wanted 'constant' or one of {_GATHERED_MODES}"))
    for axis, pair in enumerate(widths):
        if pair != (0, 0):
            positions = np.arange(known_extent(a, axis, f"pad with mode {mode!r}"))
            a = picked(a, axis, np.pad(positions, pair, mode=mode))
    return a


def _pad_constant(x: Tensor, widths: list[Any], values: ArrayLike) -> Tensor:
    if values is None or (type(values) in (int, float) and values == 0):
        if builtins.all(pair == (0, 0) for pair in widths):
            return x
        low, high = ((*[pair[side] for pair in widths],) for side in (0, 1))
        return S.pad(x, low=low, high=high, interior=(0,) * x.ndim)
    single = as_tensor(values, "pad") if isinstance(values, Tensor) and values.ndim == 0 else values
    for axis, (pair, fills) in enumerate(zip(widths, pairs_of(single, x.ndim, "pad"))):
        blocks = [x]
        for side, (width, value) in enumerate(zip(pair, fills)):
            if width != 0:
                if x.dtype.kind == "u":
                    value = chosen_beside(value, x, "pad")
                shape = (*x.shape[:axis], width, *x.shape[axis + 1 :])
                block = promotion.broadcast(promotion.converted(value, x.dtype, "pad: constant_values"), shape)
                blocks.insert(0 if side == 0 else len(blocks), block)
        x = joined(blocks, axis)
    return x


__all__ = ["pad"]
