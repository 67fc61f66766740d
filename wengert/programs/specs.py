"""`TensorSpec`: shape and dtype of an argument of a compiled function, where extents may be unknown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.argument_types import DTypeLike
from .._core.kinds import SEQUENCES
from .._core.public import public
from .._core.user_line import at_user_line


class TensorSpec:
    """The shape and dtype of an argument; None for a dimension that may vary.

    Args:
        shape: a tuple of ints and Nones.
        dtype: the data type (default: the default float).
        name: names the argument in messages.

    Raises:
        TypeError: the shape is not a tuple of ints and Nones, or the dtype is not supported.
        ValueError: an extent is negative.

    Example:
        >>> import wengert as wg
        >>> wg.TensorSpec((None, 3), "float32")
        TensorSpec(shape=(None, 3), dtype=float32)
    """

    __slots__ = ("dtype", "name", "shape")

    @public
    def __init__(self, shape: Sequence[int | None], dtype: DTypeLike | None = None, name: str | None = None) -> None:
        self.shape = _checked_shape(shape)
        self.dtype = dtypes.default_float() if dtype is None else dtypes.as_dtype(dtype)
        self.name = name

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype.name})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorSpec):
            return NotImplemented
        return (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))


def _checked_shape(shape: Any) -> tuple[int | None, ...]:
    if not isinstance(shape, SEQUENCES) or not all(d is None or isinstance(d, (int, np.integer)) for d in shape):
        raise TypeError(at_user_line(f"TensorSpec: wanted a tuple of ints and Nones as shape, got {shape!r}"))
    if any(d is not None and d < 0 for d in shape):
        raise ValueError(at_user_line(f"TensorSpec: an extent is negative: {shape!r}; None says that it may vary"))
    return (*[None if d is None else int(d) for d in shape],)


__all__ = ["TensorSpec"]
