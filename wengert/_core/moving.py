"""Moves of tensors between engines. A gradient flows through a move, and comes back on the engine of its source."""

from __future__ import annotations

from ..errors import LostGradientError
from .apply import apply
from .constant import renamed
from .engine import ENGINE_OF, Engine, transferred
from .op import REGISTRY
from .tensor import Tensor, Value
from .user_line import at_user_line


def moved(x: Tensor, engine: Engine, partner: object = None) -> Tensor:
    """x on an engine, on the device of a native of it if one is given; x itself if it is there already, or symbolic."""
    data = x._data
    if type(data) is Value or ENGINE_OF[type(data)] is engine:
        return x
    out = renamed(x)  # recorded under its own identity
    if type(out._data) is not Value:
        out._data = transferred(data, engine, partner)
    return out


def require_movable(x: Tensor, engine: Engine) -> None:
    """Raises `LostGradientError` where a user's array that its framework differentiates would leave that framework."""
    home = ENGINE_OF[type(x._data)]
    if home is not engine and home.is_framework and home.is_followed(x._data):
        raise LostGradientError(at_user_line(
            f"an array that {home.name} itself differentiates or traces cannot move to {engine.name}: that gradient "
            f"would be lost; stay on {home.name}, or detach the array first"
        ))  # fmt: skip


def beside(x: Tensor, partner: Tensor) -> Tensor:
    """x on the engine of another tensor, and in its dtype where x's own engine has none as wide."""
    data = partner._data
    if type(data) is Value or type(data) is type(x._data):
        return x
    out = moved(x, ENGINE_OF[type(data)], data)
    own, dtype = x._data, data.dtype
    if out is x or type(own) is Value or own.dtype == dtype or ENGINE_OF[type(own)].canonical_dtype(dtype) != own.dtype:
        return out
    return apply(REGISTRY["convert"], (out,), (dtype,))
