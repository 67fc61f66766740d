"""One training step of a perceptron 784-512-512-10 on 128 images, float32: loss, gradients, new weights."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

TITLE = "MLP 784-512-512-10, batch 128, float32, one training step"
CASES = {"batch 128": {"batch": 128}}
TOLERANCE = 1e-3  # float32
SIZES = (784, 512, 512, 10)
RATE = 0.1


def arguments(parameters: dict[str, Any]) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    found: list[np.ndarray] = []
    for before, after in itertools.pairwise(SIZES):
        found += [rng.normal(size=(before, after)) / np.sqrt(before), np.zeros(after)]
    return tuple(a.astype(np.float32) for a in found)


def data(parameters: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    images = rng.random((parameters["batch"], SIZES[0]), dtype=np.float32)
    return images, np.eye(SIZES[-1], dtype=np.float32)[rng.integers(0, SIZES[-1], parameters["batch"])]


def program(library: Any, parameters: dict[str, Any]) -> Any:
    xp = library.np
    images, labels = map(library.constant, data(parameters))

    def loss(w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
        h = xp.relu(xp.matmul(images, w1) + b1)
        h = xp.relu(xp.matmul(h, w2) + b2)
        scores = xp.matmul(h, w3) + b3
        return xp.mean(xp.logsumexp(scores, axis=1) - xp.sum(labels * scores, axis=1))

    return loss


def differentiated(library: Any, parameters: dict[str, Any]) -> Any:
    """The loss and the weights after a step."""
    if library.name == "pytensor":
        return None
    both = library.value_and_grad(program(library, parameters), 6)

    def step(*weights: Any) -> Any:
        value, gradients = both(*weights)
        return (value, tuple(w - RATE * g for w, g in zip(weights, gradients, strict=True)))

    return step


def c_call(parameters: dict[str, Any], arrays: tuple[np.ndarray, ...]) -> Any:
    return None
