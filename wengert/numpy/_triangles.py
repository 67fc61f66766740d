"""`cholesky`, `eigh` and `eigvalsh` as functions of one triangle of a matrix, for adopted code and autograd's API.

Such code may fill that triangle alone. The gradients of ours are symmetric, which is right where the matrix is: half of
what belongs to the triangle that is read comes out in the other one. Adopted code gets the derivative of what it
computes, for ours are given the triangle and its mirror image.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import linalg, ops
from .. import numpy as wnp
from .._core.argument_types import ArrayLike


def _mirrored(a: Any, upper: bool) -> Any:
    x = wnp.asarray(a)
    if x.ndim < 2:  # an error of the function's
        return x
    read, beyond = (ops.triu(x), ops.triu(x, 1)) if upper else (ops.tril(x), ops.tril(x, -1))
    return read + ops.conj(ops.swapaxes(beyond, -1, -2))


def _of_a_triangle(ours: Callable[..., Any], reads_upper: Callable[..., bool]) -> Callable[..., Any]:
    @functools.wraps(ours)
    def function(a: ArrayLike, *args: ArrayLike, **kwargs: object) -> Any:
        return ours(_mirrored(a, reads_upper(*args, **kwargs)), *args, **kwargs)

    return function


def _by_letter(UPLO: str = "L") -> bool:
    return UPLO in ("U", "u")


def _by_flag(upper: bool = False) -> bool:
    return upper


OF_A_TRIANGLE: dict[str, Callable[..., Any]] = {
    "eigh": _of_a_triangle(linalg.eigh, _by_letter),
    "eigvalsh": _of_a_triangle(linalg.eigvalsh, _by_letter),
    "cholesky": _of_a_triangle(linalg.cholesky, _by_flag),
}

__all__ = ["OF_A_TRIANGLE"]
