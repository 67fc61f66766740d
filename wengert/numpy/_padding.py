"""The ways of `np.pad` beyond those that take elements of the array: statistics of its ends, ramps, odd reflections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from .. import ops
from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..ops.padding import pairs_of
from ..ops.promotion import as_tensor, doubled
from ..ops.shapes import joined, known_extent, moveaxis, part

_STATISTICS: dict[str, Callable[..., Any]] = {
    "maximum": ops.max, "minimum": ops.min, "mean": ops.mean, "median": ops.median,
}  # fmt: skip
_WANTED = {
    "linear_ramp": ("end_values", 0), "reflect": ("reflect_type", "even"), "symmetric": ("reflect_type", "even"),
    **dict.fromkeys(_STATISTICS, ("stat_length", None)), "empty": ("", None),
}  # fmt: skip


def padded(array: ArrayLike, pad_width: Any, mode: str, options: dict[str, Any]) -> Any:
    """An array with its axes padded one after the other.

    Args:
        array: anything that is an array.
        pad_width: as `np.pad` takes it.
        mode: one of those that this module has.
        options: those of the mode.
    """
    name, value = _WANTED[mode]
    unknown = options.keys() - {name}
    if unknown:
        raise ValueError(at_user_line(f"np.pad: mode {mode!r} takes no {', '.join(sorted(unknown))}"))
    x = as_tensor(array, "pad")
    value = options.get(name, value)
    if mode == "empty" or (name == "reflect_type" and value == "even"):
        return ops.pad(x, pad_width, "constant" if mode == "empty" else mode)
    widths = pairs_of(pad_width, x.ndim, "pad")
    for axis, (pair, options_here) in enumerate(zip(widths, pairs_of(value, x.ndim, "pad"), strict=True)):
        if tuple(pair) != (0, 0):
            x = _along(x, axis, pair, mode, name, options_here)
    return x


def _along(x: Tensor, axis: int, pair: tuple[int, int], mode: str, name: str, options: tuple[Any, Any]) -> Tensor:
    extent = known_extent(x, axis, f"pad with mode {mode!r}")
    if mode in _STATISTICS:
        return _by_statistics(x, axis, extent, pair, _STATISTICS[mode], options)
    if name == "reflect_type":
        return _mapped(x, axis, numpy.pad(numpy.eye(extent), (pair, (0, 0)), mode, reflect_type="odd"))  # pyright: ignore[reportArgumentType,reportCallIssue]  # NumPy's overloads are of one literal each
    left = _ramp(part(x, axis, 0, 1), axis, pair[0], options[0])
    right = ops.flip(_ramp(part(x, axis, extent - 1, extent), axis, pair[1], options[1]), axis)
    return joined([left, x, right], axis)


def _ramp(edge: Tensor, axis: int, width: int, end: float) -> Tensor:
    """The steps from an end value to the edge, which is not among them: in doubles, of integers rounded down."""
    steps = (numpy.arange(width) / max(width, 1)).reshape(-1, *(1,) * (edge.ndim - 1 - axis))
    ramp = end + steps * (doubled(edge) - end)
    ramp = ops.floor(ramp) if edge.dtype.kind in "biu" else ramp
    return ops.cast(ramp, edge.dtype)


def _mapped(x: Tensor, axis: int, matrix: Any) -> Tensor:
    """What a matrix makes of an axis: all of these are linear."""
    return moveaxis(ops.tensordot(matrix.astype(x.dtype), x, axes=((1,), (axis,))), 0, axis)


def _by_statistics(
    x: Tensor, axis: int, extent: int, pair: tuple[int, int], statistic: Callable[..., Any], lengths: tuple[Any, Any]
) -> Tensor:  # fmt: skip
    blocks = [x]
    for side, (width, length) in enumerate(zip(pair, lengths, strict=True)):
        length = extent if length is None else min(int(length), extent)
        if length < 1:
            raise ValueError(at_user_line("np.pad: stat_length of 0 yields no value for padding"))
        end = part(x, axis, 0, length) if side == 0 else part(x, axis, extent - length, extent)
        value = statistic(end, axis=axis, keepdims=True)
        if x.dtype.kind in "iu" and value.dtype != x.dtype:
            value = ops.rint(value)
        block = ops.repeat(ops.cast(value, x.dtype), int(width), axis=axis)
        blocks.insert(0 if side == 0 else len(blocks), block)
    return joined(blocks, axis)


PADDED_HERE = frozenset(_WANTED)

__all__ = ["PADDED_HERE", "padded"]
