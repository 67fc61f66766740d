"""Equations whose unknown is a matrix: Sylvester's."""

from __future__ import annotations

from typing import Any

from .._core.argument_types import ArrayLike
from .._core.types import type_of
from .._core.user_line import at_user_line
from .._prims import matrix_functions as M
from . import promotion
from .linalg import solvable
from .promotion import as_tensor, names_errors, outward


@names_errors
def solve_sylvester(a: ArrayLike, b: ArrayLike, q: ArrayLike) -> Any:
    """The x with a @ x + x @ b = q.

    Args:
        a: matrices (..., m, m).
        b: matrices (..., n, n).
        q: matrices (..., m, n); leading axes broadcast.

    Returns:
        The solutions (..., m, n) in the kind of array that came in.

    Raises:
        LinAlgError: if an eigenvalue of a is the negative of one of b.
        ValueError: for shapes that do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.linalg.solve_sylvester([[1.0]], [[2.0]], [[6.0]])
        array([[2.]])
    """
    tensors = [solvable(as_tensor(v, "solve_sylvester"))[0] for v in (a, b, q)]
    dtype = promotion.common_dtype(tensors)
    lead: Any = ()
    for t in tensors:
        if t.ndim < 2:
            raise ValueError(at_user_line(f"solve_sylvester: wanted matrices, got shape {t.shape}"))
        lead = promotion.broadcast_shapes(lead, tuple(t.shape[:-2]), "solve_sylvester")
    wide = [promotion.broadcast(promotion.cast(t, dtype), (*lead, *t.shape[-2:])) for t in tensors]
    M.sylvester.type_rule(*map(type_of, wide), False)  # kernels refuse nothing of what has no elements
    return outward(M.sylvester(*wide, or_nan=False), a, b, q)


__all__ = ["solve_sylvester"]
