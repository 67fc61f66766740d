"""Checks of operand values (an index in range, finite results), for kernels of engines that make none themselves, or
say what users do not know: the axes that indices address stand in front there, wherever the user's array has them.

Values are looked at where they are at hand; in a framework's trace there are none. Also kernels that fall back on
NumPy's on the host where an engine's own function fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.engine import Kernel


def require_inside(known: Sequence[np.ndarray[Any, Any]] | None, extents: Sequence[int]) -> None:
    """Raises on an index out of range; None where the values are not known yet."""
    for index, size in zip(known or (), extents, strict=False):
        if index.size and not (-size <= index.min() and index.max() < size):
            raise outside(index[(index < -size) | (index >= size)].flat[0], size)


def outside(index: Any, size: int) -> IndexError:
    """The error of an index out of range; which axis it is in the user's array kernels do not know."""
    return IndexError(f"index {index} is out of bounds for an axis of extent {size}")


def require_not_negative(known: Sequence[np.ndarray[Any, Any]] | None) -> None:
    """Raises on an iteration count below zero; None where the value is not known yet."""
    if known is not None and np.any(known[0] < 0):
        raise ValueError(f"wanted an integer that is not negative, got {np.min(known[0])}")


def require_found(known: Sequence[np.ndarray[Any, Any]] | None) -> None:
    """Raises where a place says that there is no number to find; None where the value is not known yet."""
    if known is not None and np.any(known[0] < 0):
        raise ValueError("all elements of a slice are NaN")


def unless_derived(host: Kernel, plain: Callable[..., Any], orders: int) -> Kernel:
    """An engine's own function; the derivatives in its parameters, which the orders ask for, come from the host."""

    def kernel(*operands_and_orders: object) -> Any:
        operands = operands_and_orders[:-orders]
        return host(*operands_and_orders) if any(operands_and_orders[-orders:]) else plain(*operands)

    kernel.on_host_when = "derivatives in the parameters"
    return kernel


def all_finite(known: Sequence[np.ndarray[Any, Any]] | None) -> bool:
    """Whether results stay as they are: they are finite, or their values are not known yet."""
    return known is None or all(np.isfinite(x).all() for x in known)


def never(error: Exception, given: Sequence[object]) -> bool:
    """Of an engine whose functions fail for good only."""
    return False


def unless_finite(
    host: Kernel, plain: Callable[..., Any], are_final: Callable[[tuple[Any, ...]], bool],
    either: Callable[[Any, Any], Any], refuses: Callable[[Exception, Sequence[object]], bool] = never,
) -> Callable[..., Any]:  # fmt: skip
    """An engine's own function of matrices, of whose failures and infinities NumPy's kernel has the last word.

    Args:
        host: NumPy's kernel, which raises or gives numbers.
        plain: the engine's function.
        are_final: whether its results stay: they are finite, or a trace has no values yet.
        either: its result where that is finite, else the host's, element by element: so the engine's own derivatives
            know of it.
        refuses: whether an error of its says no more than that the host is to be asked.
    """

    def kernel(*operands_and_attrs: Any) -> Any:
        try:
            found = plain(*operands_and_attrs)
        except Exception as error:
            if not refuses(error, operands_and_attrs):
                raise
            return host(*operands_and_attrs)
        results = found if isinstance(found, tuple) else (found,)
        if are_final(results):
            return found
        others = host(*operands_and_attrs)
        pairs = zip(results, others if isinstance(others, tuple) else (others,), strict=True)
        met = (*[either(x, other) for x, other in pairs],)
        return met if isinstance(found, tuple) else met[0]

    return kernel
