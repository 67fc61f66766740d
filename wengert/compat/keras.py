"""`jvp` with Keras's names of arguments (`fun`, `primals`, `tangents`, `has_aux`), as `wengert.ops` has it."""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.public import public
from ..differentiation import derivatives

__all__ = ["jvp"]


@public
def jvp(fun: Callable[..., Any], primals: object, tangents: object, has_aux: bool = False) -> tuple[Any, ...]:
    """As `wengert.jvp`, with Keras's names of the arguments.

    Args:
        fun: takes the primals and returns an array or a nested structure of arrays.
        primals: the list or tuple of its arguments.
        tangents: the list or tuple of directions, each in its primal's structure.
        has_aux: `fun` returns `(y, aux)`; then the result is `(y, dy, aux)`.

    Returns:
        `(y, dy)`: the value, and its derivative along the tangents.

    Raises:
        TypeError, ValueError, DisconnectedError, LookupError: as `wengert.jvp`.

    Example:
        >>> import wengert as wg
        >>> wg.ops.jvp(fun=lambda x: x * x, primals=(3.0,), tangents=(1.0,))
        (np.float64(9.0), np.float64(6.0))
    """
    return derivatives.jvp(fun, primals, tangents, has_aux)
