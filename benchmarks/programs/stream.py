"""How close to the speed of memory: value and gradient of sum(x * sin(x)) for many float32 numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .call import program as program

TITLE = "value and gradient of sum(x sin x), float32: bandwidth"
CASES = {"1e6 elements": {"n": 1_000_000}, "1e7 elements": {"n": 10_000_000}}
TOLERANCE = 1e-4  # float32: libraries differ in their sines by an ULP or four, and in the order of the sum


def arguments(parameters: dict[str, Any]) -> tuple[np.ndarray, ...]:
    return (np.linspace(0.1, 1.0, parameters["n"], dtype=np.float32),)


def c_call(parameters: dict[str, Any], arrays: tuple[np.ndarray, ...]) -> Any:
    (x,) = arrays
    value, gradient = np.empty((), np.float32), np.empty_like(x)
    return "x_sin_x", "x_sin_x_f32", (x.size, x, value, gradient), (2, 3)
