"""GradBench's ode: a chain of n equations by the classical Runge-Kutta method, gradient of the last one's end."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "an ODE of n equations, s steps (GradBench ode)"
CASES = {"n=1e3 s=10": {"n": 1000, "s": 10}, "n=1e4 s=100": {"n": 10_000, "s": 100}}
TOLERANCE = 1e-9
END = 2.0


def arguments(parameters: dict[str, Any]) -> tuple[np.ndarray, ...]:
    # near 1, so that the gradient of the last of many equations is not lost below the smallest number
    return (0.9 + 0.2 * np.random.default_rng(31337).random(parameters["n"]),)


def final_state(library: Any, n: int, s: int) -> Any:
    """The state at the end as a function of the coefficients."""
    if library.loop is None:
        return None
    xp, h = library.np, END / s

    def solve(x: Any) -> Any:
        def slope(y: Any) -> Any:
            return xp.concatenate([x[:1], x[1:] * y[:-1]])

        def step(i: Any, carry: Any) -> Any:
            (y,) = carry
            k1 = slope(y)
            k2 = slope(y + (h / 2) * k1)
            k3 = slope(y + (h / 2) * k2)
            k4 = slope(y + h * k3)
            return (y + (h / 6) * (k1 + 2.0 * k2 + 2.0 * k3 + k4),)

        return library.loop(s, step, (xp.zeros((n,)),))[0]

    return solve


def program(library: Any, parameters: dict[str, Any]) -> Any:
    solve = final_state(library, parameters["n"], parameters["s"])
    # all of the state: the end of equation 1,000 alone is about 0, and so would be every gradient
    return None if solve is None else lambda x: library.np.sum(solve(x))


def c_call(parameters: dict[str, Any], arrays: tuple[np.ndarray, ...]) -> Any:
    (x,) = arrays
    n, s = parameters["n"], parameters["s"]
    given = (n, s, END, x, np.empty((s + 9, n)), np.empty(()), np.empty_like(x))
    return "ode_n", "ode_n", given, (5, 6)
