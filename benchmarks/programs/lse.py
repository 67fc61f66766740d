"""GradBench's lse: log-sum-exp by its parts, and its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "log-sum-exp (GradBench lse)"
CASES = {"4e4": {"n": 40_000}, "1.28e6": {"n": 1_280_000}}
TOLERANCE = 1e-9


def arguments(parameters: dict[str, Any]) -> tuple[np.ndarray, ...]:
    return (np.random.default_rng(31337).random(parameters["n"]),)


def program(library: Any, parameters: dict[str, Any]) -> Any:
    xp = library.np

    def log_sum_exp(x: Any) -> Any:
        largest = xp.max(x)
        return xp.log(xp.sum(xp.exp(x - largest))) + largest

    return log_sum_exp


def c_call(parameters: dict[str, Any], arrays: tuple[np.ndarray, ...]) -> Any:
    (x,) = arrays
    return "lse", "lse", (x.size, x, np.empty(()), np.empty_like(x)), (2, 3)
