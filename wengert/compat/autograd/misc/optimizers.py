"""Three optimisers: `optimize(grad, x0, callback, num_iters, ...)`, with `grad(x, i)`, on any structure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as onp

from ...._core.argument_types import ArrayLike
from .flatten import flatten


def _on_structures(optimize: Callable[..., Any]) -> Callable[..., Any]:
    """An optimiser of vectors as one of structures."""

    def on_structure(
        grad: Callable[..., Any], x0: ArrayLike, callback: Any = None, *args: object, **kwargs: object
    ) -> Any:
        vector, unflatten = flatten(x0)

        def flat_grad(x: Any, i: int) -> Any:
            return flatten(grad(unflatten(x), i))[0]

        def flat_callback(x: Any, i: int, g: Any) -> None:
            if callback:
                callback(unflatten(x), i, unflatten(g))

        return unflatten(optimize(flat_grad, vector, flat_callback, *args, **kwargs))

    on_structure.__name__ = optimize.__name__
    on_structure.__doc__ = optimize.__doc__
    return on_structure


@_on_structures
def sgd(
    grad: Any, x: Any, callback: Any = None, num_iters: int = 200, step_size: float = 0.1, mass: float = 0.9
) -> Any:
    """Gradient descent with momentum."""
    velocity = onp.zeros(len(x))
    for i in range(num_iters):
        g = grad(x, i)
        callback(x, i, g)
        velocity = mass * velocity - (1.0 - mass) * g
        x = x + step_size * velocity
    return x


@_on_structures
def rmsprop(
    grad: Any, x: Any, callback: Any = None, num_iters: int = 100, step_size: float = 0.1, gamma: float = 0.9,
    eps: float = 1e-8,
) -> Any:  # fmt: skip
    """Steps divided by the root of a moving mean of squared gradients."""
    mean_square = onp.ones(len(x))
    for i in range(num_iters):
        g = grad(x, i)
        callback(x, i, g)
        mean_square = gamma * mean_square + (1 - gamma) * g**2
        x = x - step_size * g / (onp.sqrt(mean_square) + eps)
    return x


@_on_structures
def adam(
    grad: Any, x: Any, callback: Any = None, num_iters: int = 100, step_size: float = 0.001, b1: float = 0.9,
    b2: float = 0.999, eps: float = 1e-8,
) -> Any:  # fmt: skip
    """Adam: moving means of gradients and of their squares, both corrected for their start at zero."""
    mean, square = onp.zeros(len(x)), onp.zeros(len(x))
    for i in range(num_iters):
        g = grad(x, i)
        callback(x, i, g)
        mean = (1 - b1) * g + b1 * mean
        square = (1 - b2) * g**2 + b2 * square
        x = x - step_size * (mean / (1 - b1 ** (i + 1))) / (onp.sqrt(square / (1 - b2 ** (i + 1))) + eps)
    return x


__all__ = ["adam", "rmsprop", "sgd"]
