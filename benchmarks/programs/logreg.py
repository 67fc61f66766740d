"""Logistic regression of 100,000 rows and 100 columns, float32."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "logistic regression, 100,000 x 100, float32"
CASES = {"100,000 x 100": {"n": 100_000, "d": 100}}
TOLERANCE = 1e-3  # float32, sums of 100,000


def data(parameters: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(parameters["n"], parameters["d"])).astype(np.float32)
    return x, np.where(rng.random(parameters["n"]) < 0.5, -1, 1).astype(np.float32)


def arguments(parameters: dict[str, Any]) -> tuple[np.ndarray, ...]:
    return (np.linspace(-0.1, 0.1, parameters["d"], dtype=np.float32),)


def program(library: Any, parameters: dict[str, Any]) -> Any:
    xp = library.np
    x, y = map(library.constant, data(parameters))

    def loss(w: Any) -> Any:
        margins = y * xp.matmul(x, w)
        # softplus(-margins), written so that no library overflows
        return xp.mean(xp.relu(-margins) + xp.log(1.0 + xp.exp(-xp.abs(margins))))

    return loss


def c_call(parameters: dict[str, Any], arrays: tuple[np.ndarray, ...]) -> Any:
    return None
