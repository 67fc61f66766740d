"""A loop of small steps: the Lorenz system by the classical Runge-Kutta method, gradient to state and parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "Lorenz system, RK4, gradient to state and parameters"
CASES = {"1,000 steps": {"steps": 1000}}
TOLERANCE = 1e-7  # the system is chaotic: rounding errors grow by four orders of magnitude on the way
STEP = 0.01
LEFT_OUT = {"autograd": "about 5 s a call, a hundred thousand times what C takes"}


def arguments(parameters: dict[str, Any]) -> tuple[np.ndarray, ...]:
    return np.array([1.0, 1.0, 1.0]), np.array([10.0, 28.0, 8.0 / 3.0])


def program(library: Any, parameters: dict[str, Any]) -> Any:
    if library.loop is None:
        return None

    def slope(y: Any, p: Any) -> Any:
        return library.np.stack([
            p[0] * (y[1] - y[0]),
            y[0] * (p[1] - y[2]) - y[1],
            y[0] * y[1] - p[2] * y[2],
        ])  # fmt: skip

    def last(state: Any, p: Any) -> Any:
        def step(i: Any, carry: Any) -> Any:
            (y,) = carry
            k1 = slope(y, p)
            k2 = slope(y + (0.5 * STEP) * k1, p)
            k3 = slope(y + (0.5 * STEP) * k2, p)
            k4 = slope(y + STEP * k3, p)
            return (y + (STEP / 6) * (k1 + 2.0 * k2 + 2.0 * k3 + k4),)

        return library.np.sum(library.loop(parameters["steps"], step, (state,))[0])

    return last


def c_call(parameters: dict[str, Any], arrays: tuple[np.ndarray, ...]) -> Any:
    state, p = arrays
    results = np.empty(()), np.empty(3), np.empty(3)
    workspace = np.empty((parameters["steps"], 3))
    return "lorenz", "lorenz", (parameters["steps"], STEP, state, p, workspace, *results), (5, 6, 7)
