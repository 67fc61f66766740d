"""Helpers for bodies of primitives; a body is a program of other primitives (`_core/op.py`)."""

from __future__ import annotations

from collections.abc import Callable

from .._core import dtypes
from .._core.tensor import Tensor
from .structural import cast

Body = Callable[..., Tensor]


def in_float32(body: Body) -> Body:
    """A body that computes half floats in float32 and rounds once, at the end."""

    def wide(*operands_and_attrs: Tensor) -> Tensor:
        dtype = operands_and_attrs[0].dtype
        if not dtypes.is_half(dtype):
            return body(*operands_and_attrs)
        widened = [cast(x, dtypes.float32) if isinstance(x, Tensor) else x for x in operands_and_attrs]
        return cast(body(*widened), dtype)

    return wide
