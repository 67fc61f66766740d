"""A scan: a recurrent net over 500 rows of input, whose outputs are kept."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "recurrent net by a scan, 500 steps of batch 16 and width 64"
CASES = {"500 steps": {"steps": 500}}
TOLERANCE = 1e-9
BATCH, WIDTH = 16, 64
LEFT_OUT = {"autograd": "it has no scan", "pytensor": "its scan takes its arguments in another form"}


def arguments(parameters: dict[str, Any]) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    inner, outer = (rng.normal(size=(WIDTH, WIDTH)) / np.sqrt(WIDTH) for _ in range(2))
    return inner, outer, np.zeros(WIDTH)


def data(parameters: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return rng.normal(size=(parameters["steps"], BATCH, WIDTH)), np.zeros((BATCH, WIDTH))


def program(library: Any, parameters: dict[str, Any]) -> Any:
    if library.scan is None:
        return None
    xp = library.np
    rows, start = map(library.constant, data(parameters))

    def loss(inner: Any, outer: Any, bias: Any) -> Any:
        def step(state: Any, row: Any) -> Any:
            state = xp.tanh(xp.matmul(state, inner) + xp.matmul(row, outer) + bias)
            return state, xp.sum(state * state, axis=1)

        last, sizes = library.scan(step, start, rows)
        return xp.mean(last * last) + xp.mean(sizes)

    return loss


def c_call(parameters: dict[str, Any], arrays: tuple[np.ndarray, ...]) -> Any:
    return None
