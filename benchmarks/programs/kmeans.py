"""GradBench's kmeans: Newton's step for the sum of distances to the nearest centre, by the Hessian's diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "k-means: gradient over the diagonal of the Hessian (GradBench kmeans)"
CASES = {
    "k=10 n=1,000 d=8": {"k": 10, "n": 1000, "d": 8},
    "k=100 n=10,000 d=8": {"k": 100, "n": 10_000, "d": 8},
    "k=1,000 n=10,000 d=16": {"k": 1000, "n": 10_000, "d": 16},
}
TOLERANCE = 1e-9


def points(parameters: dict[str, Any]) -> np.ndarray:
    return np.random.default_rng(31337).random((parameters["n"], parameters["d"]))


def arguments(parameters: dict[str, Any]) -> tuple[np.ndarray, ...]:
    return (points(parameters)[-parameters["k"] :].copy(),)


def objective(library: Any, x: Any) -> Any:
    """The cost as a function of the centres."""
    xp = library.np

    def cost(centres: Any) -> Any:
        distances = (
            xp.sum(x * x, axis=1)[:, None] + xp.sum(centres * centres, axis=1)[None, :]
            - 2.0 * xp.matmul(x, xp.transpose(centres))
        )  # fmt: skip
        return xp.sum(xp.min(distances, axis=1))

    return cost


def program(library: Any, parameters: dict[str, Any]) -> Any:
    return objective(library, library.constant(points(parameters)))


def differentiated(library: Any, parameters: dict[str, Any]) -> Any:
    """From centres to gradient / Hessian diagonal; the Hessian is diagonal, so a product with ones is its diagonal."""
    cost = program(library, parameters)
    if library.name == "wengert":
        import wengert as wg

        def direction(centres: Any) -> Any:
            slope, curvature = wg.jvp(wg.grad(cost), (centres,), (wg.ops.ones_like(centres),))
            return slope / curvature

        return direction
    if library.name == "jax":
        import jax

        def direction_of_jax(centres: Any) -> Any:
            slope, curvature = jax.jvp(jax.grad(cost), (centres,), (jax.numpy.ones_like(centres),))
            return slope / curvature

        return direction_of_jax
    if library.name.startswith("torch"):
        import torch

        def direction_of_torch(centres: Any) -> Any:
            leaf = centres.detach().requires_grad_()
            (slope,) = torch.autograd.grad(cost(leaf), leaf, create_graph=True)
            (curvature,) = torch.autograd.grad(slope, leaf, torch.ones_like(leaf))
            return (slope / curvature).detach()

        return direction_of_torch
    if library.name == "tensorflow":
        import tensorflow as tf

        def direction_of_tensorflow(centres: Any) -> Any:
            with tf.GradientTape() as outer:
                outer.watch(centres)
                with tf.GradientTape() as inner:
                    inner.watch(centres)
                    value = cost(centres)
                slope = inner.gradient(value, centres)
            return slope / outer.gradient(slope, centres)

        return direction_of_tensorflow
    return None


def c_call(parameters: dict[str, Any], arrays: tuple[np.ndarray, ...]) -> Any:
    (centres,) = arrays
    direction = np.empty_like(centres)
    given = (parameters["n"], parameters["k"], parameters["d"], points(parameters), centres, np.empty(len(centres)))
    return "kmeans", "kmeans", (*given, direction), (6,)
