"""A block of attention: eight heads over 128 places, projections, residual and a layer of normalisation, float32."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

TITLE = "attention block, 8 heads, 128 places of width 256, batch 4, float32"
CASES = {"batch 4": {"batch": 4}}
TOLERANCE = 1e-3  # float32
PLACES, WIDTH, HEADS = 128, 256, 8
LEFT_OUT = {"pytensor": "its matmul of four axes is written otherwise"}


def arguments(parameters: dict[str, Any]) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    weights = (rng.normal(size=(WIDTH, WIDTH)) / np.sqrt(WIDTH) for _ in range(4))
    return (*[w.astype(np.float32) for w in weights],)


def data(parameters: dict[str, Any]) -> tuple[np.ndarray]:
    rng = np.random.default_rng(1)
    return (rng.normal(size=(parameters["batch"], PLACES, WIDTH)).astype(np.float32),)


def program(library: Any, parameters: dict[str, Any]) -> Any:
    xp, batch = library.np, parameters["batch"]
    (x,) = map(library.constant, data(parameters))

    def heads(rows: Any) -> Any:
        return xp.swapaxes(xp.reshape(rows, (batch, PLACES, HEADS, WIDTH // HEADS)), 1, 2)

    def loss(query: Any, key: Any, value: Any, out: Any) -> Any:
        q, k, v = heads(xp.matmul(x, query)), heads(xp.matmul(x, key)), heads(xp.matmul(x, value))
        scores = xp.matmul(q, xp.swapaxes(k, 2, 3)) * (1 / math.sqrt(WIDTH // HEADS))
        weights = xp.exp(scores - xp.max(scores, axis=3, keepdims=True))
        weights = weights / xp.sum(weights, axis=3, keepdims=True)
        mixed = xp.reshape(xp.swapaxes(xp.matmul(weights, v), 1, 2), (batch, PLACES, WIDTH))
        y = x + xp.matmul(mixed, out)
        centred = y - xp.mean(y, axis=2, keepdims=True)
        normal = centred / xp.sqrt(xp.mean(centred * centred, axis=2, keepdims=True) + 1e-5)
        return xp.mean(xp.tanh(normal) * x)

    return loss


def c_call(parameters: dict[str, Any], arrays: tuple[np.ndarray, ...]) -> Any:
    return None
