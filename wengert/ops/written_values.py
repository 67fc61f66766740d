"""Values as they go into an array: in its dtype, in the shape of their place."""

from __future__ import annotations

import builtins

from .._core import dtypes
from .._core.dims import Shape
from .._core.tensor import Tensor
from .._core.types import same_dim
from .._core.user_line import at_user_line
from . import promotion
from .shapes import reshaped


def fitting(value: Tensor, x: Tensor, what: str) -> Tensor:
    """A value in x's dtype; one that x cannot hold without loss of its kind is a `TypeError`."""
    kinds = "biufc"
    of_value, of_x = (("f" if dtypes.is_float(t.dtype) else t.dtype.kind).replace("u", "i") for t in (value, x))
    if kinds.index(of_value) > kinds.index(of_x):
        raise TypeError(
            at_user_line(
                f"{what}: {value.dtype.name} values do not go into an array of {x.dtype.name}; cast one of the two"
            )
        )
    return promotion.cast(value, x.dtype)


def filling(value: Tensor, shape: Shape, what: str) -> Tensor:
    """A value broadcast to the shape of the place that it goes to."""
    if value.shape == shape:
        return value
    if not _broadcasts(value.shape, shape):
        raise ValueError(
            at_user_line(
                f"{what}: the value has shape {value.shape}, which does not broadcast to {shape}, the shape of x[index]"
            )
        )
    lead = value.ndim - len(shape)
    return promotion.broadcast(reshaped(value, value.shape[lead:]) if lead > 0 else value, shape)


def _broadcasts(shape: Shape, goal: Shape) -> bool:
    """Whether a value goes into a place: as `broadcast_to`, and spare leading axes of extent 1 are let pass."""
    lead = len(shape) - len(goal)
    if lead > 0 and builtins.any(d != 1 for d in shape[:lead]):
        return False
    tail = shape[builtins.max(lead, 0) :]
    return all(d == 1 or same_dim(d, g) for d, g in zip(reversed(tail), reversed(goal)))
