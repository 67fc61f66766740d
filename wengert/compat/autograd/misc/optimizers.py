"""Three optimisers: `optimize(grad, x0, callback, num_iters, ...)`, with `grad(x, i)`, on any structure."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as onp

from ..wrap_util import wraps
from .flatten import flatten


def _optimizer(num_iters: int) -> Callable[..., Any]:
    """A generator that is sent gradients of a vector and gives the next point, as an optimiser of structures."""

    def decorate(steps: Callable[..., Iterator[Any]]) -> Callable[..., Any]:
        def optimize(grad: Any, x0: Any, callback: Any = None, num_iters: int = num_iters, *xs: Any, **kw: Any) -> Any:
            x, unflatten = flatten(x0)
            run: Any = steps(x, *xs, **kw)
            next(run)
            for i in range(num_iters):
                g = flatten(grad(unflatten(x), i))[0]
                if callback:
                    callback(unflatten(x), i, unflatten(g))
                x = run.send(g)
            return unflatten(x)

        return wraps(steps)(optimize)

    return decorate


@_optimizer(num_iters=200)
def sgd(x: Any, step_size: float = 0.1, mass: float = 0.9) -> Iterator[Any]:
    """Gradient descent with momentum: `step_size=0.1, mass=0.9`, 200 steps if nothing is said."""
    velocity = onp.zeros(len(x))
    while True:
        g = yield x
        velocity = mass * velocity - (1.0 - mass) * g
        x = x + step_size * velocity


@_optimizer(num_iters=100)
def rmsprop(x: Any, step_size: float = 0.1, gamma: float = 0.9, eps: float = 1e-8) -> Iterator[Any]:
    """Steps divided by the root of a moving mean of squared gradients: `step_size=0.1, gamma=0.9, eps=1e-8`."""
    mean_square = onp.ones(len(x))
    while True:
        g = yield x
        mean_square = gamma * mean_square + (1 - gamma) * g**2
        x = x - step_size * g / (onp.sqrt(mean_square) + eps)


@_optimizer(num_iters=100)
def adam(x: Any, step_size: float = 0.001, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Iterator[Any]:
    """Moving means of gradients and of their squares: `step_size=0.001, b1=0.9, b2=0.999, eps=1e-8`."""
    mean, square = onp.zeros(len(x)), onp.zeros(len(x))
    for i in itertools.count(1):
        g = yield x
        mean = (1 - b1) * g + b1 * mean
        square = (1 - b2) * g**2 + b2 * square
        x = x - step_size * (mean / (1 - b1**i)) / (onp.sqrt(square / (1 - b2**i)) + eps)


__all__ = ["adam", "rmsprop", "sgd"]
