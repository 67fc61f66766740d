"""A chain of n equations, y_0' = x_0, y_i' = x_i y_(i-1), from 0 to 2 by s classical Runge-Kutta steps."""

from functools import cache
from typing import Any

import numpy as np

import wengert as wg

END = 2.0


def final_state(x: Any, s: int) -> Any:
    h = END / s

    def slope(y: Any) -> Any:
        return wg.concatenate([x[:1], x[1:] * y[:-1]])

    def step(_: Any, y: Any) -> Any:
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        return y + h / 6 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)

    return wg.fori_loop(0, s, step, wg.zeros_like(x))


@cache
def _compiled(s: int) -> tuple[Any, Any]:
    return wg.function(lambda x: final_state(x, s)), wg.function(wg.grad(lambda x: final_state(x, s)[-1]))


def primal(given: dict[str, Any]) -> Any:
    x, run = np.array(given["x"], dtype=np.float64), _compiled(given["s"])[0]
    return lambda: run(x), np.ndarray.tolist


def gradient(given: dict[str, Any]) -> Any:
    x, run = np.array(given["x"], dtype=np.float64), _compiled(given["s"])[1]
    return lambda: run(x), np.ndarray.tolist
