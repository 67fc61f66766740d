"""What a call costs: value and gradient of sum(x * sin(x)) for ten elements."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "value and gradient of sum(x sin x), float64: the cost of a call"
CASES = {"10 elements": {"n": 10}, "1,000 elements": {"n": 1000}}
TOLERANCE = 1e-12


def arguments(parameters: dict[str, Any]) -> tuple[np.ndarray, ...]:
    return (np.linspace(0.1, 1.0, parameters["n"]),)


def program(library: Any, parameters: dict[str, Any]) -> Any:
    return lambda x: library.np.sum(x * library.np.sin(x))


def c_call(parameters: dict[str, Any], arrays: tuple[np.ndarray, ...]) -> Any:
    (x,) = arrays
    value, gradient = np.empty(()), np.empty_like(x)
    return "x_sin_x", "x_sin_x_f64", (x.size, x, value, gradient), (2, 3)
