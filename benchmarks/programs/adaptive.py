"""A while loop: Bogacki and Shampine's adaptive Runge-Kutta method on van der Pol's oscillator, steps accepted or not.

The step size is a variable of the loop and is differentiated, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "van der Pol, adaptive RK3(2) in a while loop, gradient to state and parameters"
CASES = {"to t = 20": {"end": 20.0}}
TOLERANCE = 1e-6  # accepted steps meet the tolerance of the method exactly alike, their sizes do not
ACCURACY = 1e-6
FIRST_STEP = 0.01
BOUND = 4000  # attempts; the run takes about 2,500
LEFT_OUT = {
    "autograd": "some seconds a call",
    "pytensor": "its scans have no reverse mode of a while with a carried step size that it compiles in minutes",
}


def arguments(parameters: dict[str, Any]) -> tuple[np.ndarray, ...]:
    return np.array([2.0, 0.0]), np.array([1.5, 1.0, 1.0])


def program(library: Any, parameters: dict[str, Any]) -> Any:
    if library.while_loop is None:
        return None
    xp, end = library.np, parameters["end"]

    def slope(y: Any, p: Any) -> Any:
        return xp.stack([y[1], p[0] * (1.0 - p[1] * y[0] * y[0]) * y[1] - p[2] * y[0]])

    def last(state: Any, p: Any) -> Any:
        def unfinished(t: Any, h: Any, y: Any) -> Any:
            return t < end

        def attempt(t: Any, h: Any, y: Any) -> Any:
            used = xp.minimum(h, end - t)
            k1 = slope(y, p)
            k2 = slope(y + 0.5 * used * k1, p)
            k3 = slope(y + 0.75 * used * k2, p)
            found = y + used * (2.0 / 9.0 * k1 + 1.0 / 3.0 * k2 + 4.0 / 9.0 * k3)
            k4 = slope(found, p)
            apart = used * (-5.0 / 72.0 * k1 + 1.0 / 12.0 * k2 + 1.0 / 9.0 * k3 - 0.125 * k4)
            error = xp.sqrt(0.5 * xp.sum(apart * apart) + 1e-40) / ACCURACY
            is_good = error <= 1.0
            factor = 0.9 * xp.exp(xp.log(error) * (-1.0 / 3.0))
            factor = xp.minimum(xp.maximum(factor, _like(xp, t, 0.2)), _like(xp, t, 5.0))
            # the end is met exactly: t + (end - t) may fall short of it by a rounding error
            after = xp.where(used < h, _like(xp, t, end), t + used)
            return xp.where(is_good, after, t), used * factor, xp.where(is_good, found, y)

        zero = xp.sum(state) * 0.0
        _, _, y = library.while_loop(unfinished, attempt, (zero, zero + FIRST_STEP, state), BOUND)
        return xp.sum(y)

    return last


def _like(xp: Any, t: Any, value: float) -> Any:
    """A constant that every library takes beside a scalar of its own."""
    return t * 0.0 + value


def c_call(parameters: dict[str, Any], arrays: tuple[np.ndarray, ...]) -> Any:
    state, p = arrays
    results = np.empty(()), np.empty(2), np.empty(3)
    workspace = np.empty((BOUND, 4))
    numbers = (parameters["end"], FIRST_STEP, ACCURACY, BOUND)
    return "adaptive", "adaptive", (*numbers, state, p, workspace, *results), (7, 8, 9)
