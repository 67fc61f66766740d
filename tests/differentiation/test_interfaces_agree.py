"""Smooth functions through every functional interface, plain and compiled, to order 3, against differences.

Each order is compared along one direction with eighth-order central differences of the order before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

S = wg.special
Array = Any
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "exp": np.exp, "tanh": np.tanh, "sinh": np.sinh, "cosh": np.cosh,
    "arctan": np.arctan, "arcsinh": np.arcsinh, "expm1": np.expm1, "exp2": np.exp2, "sinc": np.sinc,
    "log": lambda x: np.log(x + 2.5), "sqrt": lambda x: np.sqrt(x + 2.5), "log1p": lambda x: np.log1p(x + 1.5),
    "cbrt": lambda x: np.cbrt(x + 2), "reciprocal": lambda x: 1 / (x + 3), "power": lambda x: (x + 2) ** 2.5,
    "power of x": lambda x: np.power(x + 2, x), "arcsin": lambda x: np.arcsin(x / 3),
    "hypot": lambda x: np.hypot(x, x * x + 1), "logaddexp": lambda x: np.logaddexp(x, 2 * x),
    "arctan2": lambda x: np.arctan2(x, x * x + 1), "sigmoid": wg.sigmoid, "softplus": wg.nn.softplus,
    "gelu": wg.ops.gelu, "erf": S.erf, "gammaln": lambda x: S.gammaln(x + 3), "i0": S.i0,
    "logsumexp": lambda x: S.logsumexp(np.stack([x, x * x, x * 3]), axis=0),
    "softmax": lambda x: wg.nn.softmax(np.stack([x, x * x]), axis=0)[0], "cumprod": np.cumprod,
    "prod": lambda x: x * np.prod(x), "var": lambda x: x * np.var(x), "norm": lambda x: np.linalg.norm(x) * x,
}  # fmt: skip
X, DY, V = np.array([0.31, -0.62, 1.13]), np.array([0.7, -1.3, 0.4]), np.array([0.5, 1.0, -0.8])
STENCIL = (4 / 5, -1 / 5, 4 / 105, -1 / 280)


def along(f: Callable[[Array], Array], h: float = 2e-3) -> float:
    """The derivative of sum(f * DY) along V."""
    total = sum(c * np.sum((f(X + k * h * V) - f(X - k * h * V)) * DY) for k, c in enumerate(STENCIL, 1))
    return float(total / h)


def of_variable(f: Any, x: Any) -> Any:
    w = wg.Variable(x, name="w")
    return wg.variable_grads(lambda: wg.sum(f(w) * DY), [w]).grads["w"].numpy()


def saving(f: Any) -> Any:
    def run(x: Any, save: Any) -> Any:
        save(x)
        return {"value": f(x), "grad_func": lambda dy, saved: [wg.grad(f)(saved[0], dy=dy)]}

    return wg.custom_grad(run)


def in_keras_way(f: Any) -> Any:
    return wg.custom_gradient(lambda x: (f(x), lambda *args, upstream: wg.grad(f)(args[0], dy=upstream)))


INTERFACES: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda f, x: wg.grad(f)(x, dy=DY),
    "value_and_grad": lambda f, x: wg.value_and_grad(f)(x, dy=DY).grad,
    "grads": lambda f, x: wg.grads(f)([x], dy=DY)[0],
    "value_and_grads": lambda f, x: wg.value_and_grads(f)([x], dy=DY).grads[0],
    "custom_grad": lambda f, x: wg.grad(saving(f))(x, dy=DY),
    "custom_gradient": lambda f, x: wg.grad(
        wg.custom_gradient(lambda x: (f(x), lambda upstream: wg.grad(f)(x, dy=upstream)))
    )(x, dy=DY),
    "Keras's way": lambda f, x: wg.grad(in_keras_way(f))(x, dy=DY),
    "recompute_grad": lambda f, x: wg.grad(wg.recompute_grad(f))(x, dy=DY),
    "of a compiled function": lambda f, x: wg.grad(wg.function(f))(x, dy=DY),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_interface_agrees_with_differences(name: str) -> None:
    f = FUNCTIONS[name]
    first = INTERFACES["grad"]
    second: Any = lambda x: wg.grad(lambda x: wg.sum(first(f, x) * DY))(x)
    wanted = [along(lambda x: f(wg.tensor(x)).numpy()), along(lambda x: first(f, x)), along(second)]
    assert of_variable(f, X) @ V == pytest.approx(wanted[0], rel=1e-7, abs=1e-8)
    for interface, derive in INTERFACES.items():
        g1: Any = lambda x, derive=derive: derive(f, x)
        g2: Any = wg.grad(lambda x, g1=g1: wg.sum(g1(x) * DY))
        g3: Any = wg.grad(lambda x, g2=g2: wg.sum(g2(x) * DY))
        for order, g in enumerate((g1, g2, g3)):
            for run in (g, wg.function(g)):
                assert run(X) @ V == pytest.approx(wanted[order], rel=1e-6, abs=1e-7), (interface, order + 1)
