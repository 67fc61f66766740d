"""What the steps of programs may call beside the library: custom gradients and implicit solves around a block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg

Block = Callable[..., Any]


# -- custom gradients: the block's own derivative, told by a rule -------------------------------------------------------


def _pull_back(f: Block, xs: Any) -> tuple[Any, Callable[..., Any]]:
    """f's value and backward pass, zero where f uses no input: an error would come where forward mode asks, and only there."""
    return wg.vjp(f, *xs, unconnected_gradients="zero")


def ruled(f: Block) -> Block:
    """f with its own derivative as a custom gradient."""

    def g(*xs: Any) -> Any:
        return f(*xs), lambda ct: _pull_back(f, xs)[1](ct)

    return wg.custom_gradient(g)


def kept(f: Block) -> Block:
    """The same, with what the backward pass needs found in the forward pass."""

    def g(*xs: Any) -> Any:
        y, pull = _pull_back(f, xs)
        return y, lambda ct: pull(ct)

    return wg.custom_gradient(g)


def saved(f: Block) -> Block:
    """The same by `custom_grad`, which saves what it is told to."""

    def g(*xs: Any, save: Any) -> Any:
        save(*xs)
        return f(*xs), lambda ct, tensors: [*_pull_back(f, tensors)[1](ct)]

    return wg.custom_grad(g)


def both_ways(f: Block) -> Block:
    """A rule for each mode."""

    def g(*xs: Any) -> Any:
        return f(*xs), lambda ct: _pull_back(f, xs)[1](ct)

    return wg.custom_gradient(g, jvp=lambda xs, ts: wg.jvp(f, (*xs,), (*ts,), unconnected_gradients="zero"))


def scaled(f: Block) -> Block:
    """A rule that is twice the derivative: differences do not see it."""

    def g(*xs: Any) -> Any:
        return f(*xs), lambda ct: (*[2.0 * t for t in _pull_back(f, xs)[1](ct)],)

    return wg.custom_gradient(g)


# -- implicit solves ----------------------------------------------------------------------------------------------------

TURNS = 60


def _equation(f: Block) -> Block:
    return lambda x, a: x - a - 0.1 * wg.tanh(f(x))


def gap(f: Block, a: Any, x: Any) -> float:
    """How far x is from the fixed point of `a + 0.1 tanh(f(x))`, at most in an element."""
    return float(np.max(np.abs(_equation(f)(x, a).numpy()), initial=0.0))


def fixed_point(f: Block, a: Any) -> Any:
    """The x with `x = a + 0.1 tanh(f(x))`, found by iteration."""

    def solver(g: Block, x0: Any, a: Any) -> Any:
        return wg.fori_loop(0, TURNS, lambda i, x: x - g(x, a), x0)

    return wg.custom_root(_equation(f), solver)(wg.stop_gradient(a), a)


def root(f: Block, a: Any) -> Any:
    """The same by SciPy's solver."""
    start = np.zeros(a.shape)
    return wg.optimize.root(_equation(f), start, (a,), tol=1e-13).x


def least(f: Block, a: Any) -> Any:
    """The x nearest to a in a sum of squares with `0.1 tanh(f(x))`."""
    residual = _equation(f)
    options = {"xtol": 1e-14, "ftol": 1e-14, "gtol": 1e-14}
    return wg.optimize.least_squares(residual, np.zeros(a.shape), (a,), **options).x


def lowest(f: Block, a: Any) -> Any:
    """The x where `sum((x - a)^2) + 0.1 sum(tanh(f(x)))` is least."""

    def total(x: Any, a: Any) -> Any:
        return wg.sum((x - a) ** 2) + 0.1 * wg.sum(wg.tanh(f(x)))

    return wg.optimize.minimize(total, np.zeros(a.shape), (a,), tol=1e-12).x


def linear(f: Block, a: Any) -> Any:
    """The x with `(2 + cos(f(a))) x - roll(x) / 2 = a`, found by a dense solve."""
    weight = 2.0 + wg.cos(f(a))

    def matvec(x: Any) -> Any:
        return weight * x - 0.5 * wg.roll(x, 1)

    def solve(matvec: Block, b: Any) -> Any:
        matrix = wg.jacobian(matvec)(wg.zeros_like(b))
        return wg.linalg.solve(matrix, b)

    return wg.custom_linear_solve(matvec, a, solve)


def by_iteration(f: Block, a: Any) -> Any:
    """The same equation, found by a loop."""
    weight = 2.0 + wg.cos(f(a))

    def matvec(x: Any) -> Any:
        return x - 0.3 * wg.roll(x, 1) / weight

    def solve(matvec: Block, b: Any) -> Any:
        return wg.fori_loop(0, TURNS, lambda i, x: x - (matvec(x) - b), b)

    return wg.custom_linear_solve(matvec, a, solve)


# -- transforms -----------------------------------------------------------------------------------------------------------


def scalar(f: Block) -> Block:
    """The sum of what f gives, weighted so that no two elements count alike."""

    def total(*xs: Any) -> Any:
        y = f(*xs)
        return wg.sum(wg.sin(y) * (0.5 + wg.arange(y.size, dtype=y.dtype).reshape(y.shape) / (1.0 + y.size)))

    return total
