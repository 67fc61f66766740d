"""What engines without checks of their own look at where the values are at hand, and kernels that ask the host in some
cases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.engine import Kernel


def require_inside(known: Sequence[np.ndarray[Any, Any]] | None, extents: Sequence[int]) -> None:
    """Raises on an index out of range; None where the values are not known yet."""
    for axis, (index, size) in enumerate(zip(known or (), extents, strict=False)):
        if index.size and not (-size <= index.min() and index.max() < size):
            outside = index[(index < -size) | (index >= size)].flat[0]
            raise IndexError(f"index {outside} is out of bounds for axis {axis} of extent {size}")


def require_not_negative(known: Sequence[np.ndarray[Any, Any]] | None) -> None:
    """Raises on an iteration count below zero; None where the value is not known yet."""
    if known is not None and np.any(known[0] < 0):
        raise ValueError(f"wanted an integer that is not negative, got {np.min(known[0])}")


def unless_derived(host: Kernel, plain: Callable[..., Any], orders: int) -> Kernel:
    """An engine's own function; the derivatives in its parameters, which the orders ask for, come from the host."""

    def kernel(*operands_and_orders: object) -> Any:
        operands = operands_and_orders[:-orders]
        return host(*operands_and_orders) if any(operands_and_orders[-orders:]) else plain(*operands)

    kernel.on_host_when = "derivatives in the parameters"
    return kernel
