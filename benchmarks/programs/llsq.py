"""GradBench's llsq: least squares of a polynomial of 128 terms against a step."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "least squares of a polynomial of 128 terms (GradBench llsq)"
CASES = {"n=16": {"n": 16}, "n=1,024": {"n": 1024}, "n=16,392": {"n": 16392}}
TOLERANCE = 1e-9
TERMS = 128


def arguments(parameters: dict[str, Any]) -> tuple[np.ndarray, ...]:
    return (np.random.default_rng(31337).random(TERMS),)


def objective(library: Any, n: int, terms: int) -> Any:
    """Half the sum of squared differences as a function of the coefficients."""
    xp = library.np

    def half_squares(x: Any) -> Any:
        t = -1.0 + xp.cast(xp.arange(n), xp.float64) * (2.0 / (n - 1.0))
        ones = xp.ones((n, 1))
        powers = xp.cumprod(xp.concatenate([ones, ones * t[:, None] * xp.ones((1, terms - 1))], axis=1), axis=1)
        apart = xp.sign(t) - xp.matmul(powers, x)
        return 0.5 * xp.sum(apart * apart)

    return half_squares


def program(library: Any, parameters: dict[str, Any]) -> Any:
    return objective(library, parameters["n"], TERMS)


def c_call(parameters: dict[str, Any], arrays: tuple[np.ndarray, ...]) -> Any:
    (x,) = arrays
    return "llsq", "llsq", (parameters["n"], TERMS, x, np.empty(()), np.empty_like(x)), (3, 4)
