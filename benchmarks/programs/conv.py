"""A small convolutional network, batch 32 of 28 x 28, float32: two convolutions, pooling, two dense layers."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "two 3 x 3 convolutions, pooling, two dense layers, batch 32 of 28 x 28, float32"
CASES = {"batch 32": {"batch": 32}}
TOLERANCE = 1e-3  # float32
LEFT_OUT = {"autograd": "no convolution of images with channels", "pytensor": "no convolution of images any more"}


def arguments(parameters: dict[str, Any]) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    shapes = ((3, 3, 1, 32), (3, 3, 32, 64), (14 * 14 * 64, 128), (128, 10))
    return tuple((rng.normal(size=s) / np.sqrt(np.prod(s[:-1]))).astype(np.float32) for s in shapes)


def data(parameters: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    batch = parameters["batch"]
    images = rng.random((batch, 28, 28, 1), dtype=np.float32)
    return images, np.eye(10, dtype=np.float32)[rng.integers(0, 10, batch)]


def program(library: Any, parameters: dict[str, Any]) -> Any:
    xp = library.np
    if xp.conv is None:
        return None
    images, labels = map(library.constant, data(parameters))

    def loss(c1: Any, c2: Any, d1: Any, d2: Any) -> Any:
        h = xp.relu(xp.conv(images, c1))
        h = xp.max_pool(xp.relu(xp.conv(h, c2)))
        h = xp.relu(xp.matmul(xp.reshape(h, (parameters["batch"], -1)), d1))
        scores = xp.matmul(h, d2)
        return xp.mean(xp.logsumexp(scores, axis=1) - xp.sum(labels * scores, axis=1))

    return loss


def c_call(parameters: dict[str, Any], arrays: tuple[np.ndarray, ...]) -> Any:
    return None
