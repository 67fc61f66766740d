"""Least squares of a polynomial against the sign of t."""

from functools import cache
from typing import Any

import numpy as np

import wengert as wg


def half_squares(x: Any, n: int) -> Any:
    """Half the sum over n points t in [-1, 1] of (sign t - x_0 - x_1 t - ...)^2."""
    t = -1.0 + wg.arange(n, dtype="float64") * (2.0 / (n - 1))
    powers = wg.ops.vander(t, x.shape[0], increasing=True)
    apart = wg.sign(t) - wg.matmul(powers, x)
    return 0.5 * wg.sum(apart * apart)


@cache
def _compiled(n: int) -> tuple[Any, Any]:
    return wg.function(lambda x: half_squares(x, n)), wg.function(wg.grad(lambda x: half_squares(x, n)))


def primal(given: dict[str, Any]) -> Any:
    x, run = np.array(given["x"], dtype=np.float64), _compiled(given["n"])[0]
    return lambda: run(x), float


def gradient(given: dict[str, Any]) -> Any:
    x, run = np.array(given["x"], dtype=np.float64), _compiled(given["n"])[1]
    return lambda: run(x), np.ndarray.tolist
