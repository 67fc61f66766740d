"""What kernels of several files share: SciPy on first call, and arithmetic in a wider dtype."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ..._core import dtypes

Kernel = Callable[..., Any]


def lazy(module: str, name: str, call: Kernel | None = None) -> Kernel:
    """A kernel that is a function of a module which loads at the first call; half floats go through float32.

    Args:
        call: `call(function, *natives, *attrs)`, where the function takes them in another order.
    """
    function: Any = None

    def kernel(x: Any, *rest: Any) -> Any:
        nonlocal function
        if function is None:
            function = getattr(importlib.import_module(module), name)
        operands = (widened(x), *map(widened, rest))
        result = function(*operands) if call is None else call(function, *operands)
        return result.astype(x.dtype, copy=False)

    return kernel


def widened(x: np.ndarray[Any, Any]) -> Any:
    """A half float array in float32; anything else as it is."""
    return x.astype(np.float32) if dtypes.is_half(getattr(x, "dtype", dtypes.float64)) else x


def in_float32(function: Kernel) -> Kernel:
    """A kernel that computes half floats in float32 and rounds once, at the end."""

    def kernel(x: Any, *rest: Any) -> Any:
        if not dtypes.is_half(x.dtype):
            return function(x, *rest)
        return function(widened(x), *map(widened, rest)).astype(x.dtype)

    return kernel


AT_ONCE = 1 << 23  # multiplications of one call of LAPACK: some hundredths of a second, which nobody can cut


def some_at_once(function: Kernel) -> Kernel:
    """A kernel that calls LAPACK for some matrices of a large batch after the other, so that the user can interrupt.

    The matrices are the last axes of its array operands, which share the others; so it is with its results.
    """

    def kernel(*operands: np.ndarray[Any, Any]) -> Any:
        first = operands[0]
        if first.ndim == 2:
            return function(*operands)
        *lead, m, n = first.shape
        count, step = prod(lead), max(1, AT_ONCE // max(1, m * n * min(m, n)))
        if count <= step:
            return function(*operands)
        flat = [x.reshape(count, *x.shape[len(lead) :]) if isinstance(x, np.ndarray) else x for x in operands]
        parts = [
            function(*(x[start : start + step] if isinstance(x, np.ndarray) else x for x in flat))
            for start in range(0, count, step)
        ]
        if isinstance(parts[0], tuple):
            return (*(_joined(results, lead) for results in zip(*parts, strict=True)),)
        return _joined(parts, lead)

    return kernel


def _joined(parts: Any, lead: Any) -> Any:
    return np.concatenate(parts).reshape(*lead, *parts[0].shape[1:])
