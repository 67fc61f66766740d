"""Conversions that functions of this package share: arguments to tensors, and results to the caller's kind of array.

`followed_place` makes a known root a function of what its equation follows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy

from .. import numpy as np
from .._compile.bridge import bridged
from .._core import dtypes
from .._core.argument_types import ArrayLike
from .._core.caller import NUMPY, caller_of
from .._core.engine import is_native
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..errors import LostGradientError
from ..ops.promotion import as_tensor

Array = numpy.ndarray[Any, Any]


def recorded(ours: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors and NumPy's arrays as one that takes frameworks' arrays, too, and gives them back."""
    return bridged(_of_any_arrays(ours))


def _of_any_arrays(ours: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(ours)
    def call(*args: Any, **kwargs: Any) -> Any:
        caller = caller_of((*args, *kwargs.values()))
        found = ours(*map(entered, args), **{key: entered(value) for key, value in kwargs.items()})
        # with NumPy's arrays alone a function among the arguments is followed, so that tensors stay
        return found if caller is NUMPY else caller.result(found)

    return call


def entered(x: ArrayLike) -> Any:
    """An argument as our functions take it: a framework's array or a Variable as a tensor, anything else as it is."""
    kind = type(x)
    if kind is Tensor or kind is numpy.ndarray:
        return x
    if hasattr(kind, "__wengert_tensor__") or is_native(kind):
        return as_tensor(x)
    if isinstance(x, list):
        return np.asarray(x) if caller_of((x,)) is not NUMPY else x
    return x


def floats(x: ArrayLike) -> Tensor:
    """An array as a tensor of floating or complex numbers."""
    found = as_tensor(np.asarray(x))
    return found if dtypes.is_inexact(found.dtype) else found.astype(dtypes.float64)


def meeting(*xs: ArrayLike) -> list[Tensor]:
    """Arrays as tensors of floating or complex numbers of one dtype."""
    tensors = [floats(x) for x in xs]
    dtype = numpy.result_type(*(t.dtype for t in tensors))
    return [t.astype(dtype) for t in tensors]


def followed_place(place: Any, residual: Callable[[Any], Any], slope: Callable[[Any], Any]) -> Any:
    """Known roots as functions of what their equation follows: three steps of Newton's method, which go nowhere.

    Each step doubles the orders of derivatives that are right, to seven.
    """
    for _ in range(3):
        place = place - residual(place) / slope(place)
    return place


def fixed(x: ArrayLike, name: str, what: str) -> Any:
    """An argument that must be a constant."""
    if type(x) is Tensor:
        raise LostGradientError(
            at_user_line(f"{what}: {name} cannot be followed; give a NumPy array, or cut it by {name}.numpy()")
        )
    return x


__all__ = ["Array", "entered", "fixed", "floats", "meeting", "recorded"]
