"""Thirty problems through every interface: the functional interface, graphs, functions as ops and sessions give one answer.

An interface takes f and its arguments and returns the gradient of `sum(f(*args))` for each of them, zeros where there is
none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

Interface = Callable[[Callable[..., Any], list[Any]], list[Any]]


def functional(f: Callable[..., Any], args: list[Any]) -> list[Any]:
    return list(wg.grads(f, unconnected_gradients="zero")(args))


def compiled(f: Callable[..., Any], args: list[Any]) -> list[Any]:
    return list(wg.grads(wg.function(f), unconnected_gradients="zero")(args))


def graph(f: Callable[..., Any], args: list[Any], **options: Any) -> list[Any]:
    return wg.function(lambda *xs: wg.gradients(f(*xs), list(xs), unconnected_gradients="zero", **options))(*args)


def gated_graph(f: Callable[..., Any], args: list[Any]) -> list[Any]:
    return graph(f, args, gate_gradients=True, aggregation_method="EXPERIMENTAL_TREE")


def as_an_op(f: Callable[..., Any], args: list[Any]) -> list[Any]:
    return wg.symbolic_gradient([*args, np.ones_like(f(*map(wg.tensor, args)).numpy())], f)


def session(f: Callable[..., Any], args: list[Any]) -> list[Any]:
    v1 = wg.compat.v1
    with v1.Graph().as_default() as built:
        xs = [v1.placeholder(a.dtype, a.shape) for a in args]
        found = v1.gradients(f(*xs), xs, unconnected_gradients="zero")
    return v1.Session(built).run(found, dict(zip(xs, args, strict=True)))


INTERFACES: list[Interface] = [compiled, graph, gated_graph, as_an_op, session]
if hasattr(wg, "GradientTape"):

    def tape(f: Callable[..., Any], args: list[Any]) -> list[Any]:
        xs = [*map(wg.tensor, args)]
        with wg.GradientTape() as followed:
            for x in xs:
                followed.watch(x)
            y = f(*xs)
        return [g.numpy() for g in followed.gradient(y, xs, unconnected_gradients="zero")]

    INTERFACES.append(tape)


@wg.custom_gradient
def clipped(x: Any) -> Any:
    return x * x, lambda dy: wg.clip(dy * 2 * x, -1.0, 1.0)


inner = wg.function(lambda a, b: wg.tanh(a @ b) * a)
kept = wg.recompute_grad(lambda a, b: wg.sin(a) * wg.exp(b))

S, V, W, M, N = (), (4,), (4,), (3, 4), (4, 4)
PROBLEMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "polynomial": (lambda x: 3 * x**3 - 2 * x**2 + x, (S,)),
    "quotient": (lambda x, y: (x - y) / (1 + y * y), (V, W)),
    "fan out": (lambda x: x * x * x + wg.sin(x) * x - x / 2, (V,)),
    "power of two variables": (lambda x, y: wg.abs(x) ** y, (V, W)),
    "transcendental": (lambda x: wg.exp(wg.sin(x)) * wg.log(1 + x * x), (V,)),
    "softmax": (lambda x, w: wg.nn.softmax(x) * w, (V, W)),
    "log of a sum of exponentials": (lambda x: wg.log(wg.sum(wg.exp(x), axis=-1)), (M,)),
    "matrix and vector": (lambda a, x: a @ x, (M, V)),
    "quadratic form": (lambda a, x: x @ a @ x, (N, V)),
    "layers": (lambda a, b, x: wg.tanh(a @ wg.nn.relu(b @ x)), (M, N, V)),
    "broadcasting": (lambda a, x: a * x + x, (M, V)),
    "mean and variance": (lambda x: (x - wg.mean(x, axis=0)) ** 2 / (wg.var(x, axis=0) + 1), (M,)),
    "maximum": (lambda x, y: wg.maximum(x, y) * wg.minimum(x, 0.3), (V, W)),
    "choice": (lambda x: wg.where(x > 0, x * x, wg.sin(x)), (M,)),
    "largest": (lambda x: wg.max(x, axis=1) * wg.min(x), (M,)),
    "sorted": (lambda x: wg.sort(x) * wg.arange(4.0), (V,)),
    "indexed": (lambda x: x[1:] * x[:-1] + x[[0, 2, 0]], (V,)),
    "reshaped and transposed": (lambda a: a.reshape(4, 3) * wg.transpose(a), (M,)),
    "joined": (lambda x, y: wg.concatenate([x, y * x, y]) ** 2, (V, W)),
    "cumulative": (lambda x: wg.cumsum(x) * wg.cumprod(x), (V,)),
    "product": (lambda x: wg.prod(x) * wg.sum(x), (V,)),
    "norm": (lambda a: wg.linalg.norm(a) * a, (M,)),
    "solve": (lambda a, x: wg.linalg.solve(a @ a.T + 5 * wg.eye(4), x), (N, V)),
    "unused argument": (lambda x, y: wg.floor(y) * x, (V, W)),
    "stopped": (lambda x, y: wg.stop_gradient(x * y) * x, (V, W)),
    "custom rule": (lambda x: clipped(x) * x, (V,)),
    "recomputed": (lambda a, b: kept(a, b) * a, (V, W)),
    "function in it": (lambda a, x: inner(a, x).sum() + wg.sum(x), (N, N)),
    "gradient in it": (lambda x: wg.grad(lambda t: t**3 * wg.sin(t))(x) * x, (V,)),
    "complex in between": (lambda x, y: wg.abs((x + 1j * y) ** 2) + wg.real(wg.exp(1j * x)), (V, W)),
    "long chain": (lambda x: functools.reduce(lambda y, _: wg.sin(y) + x, range(60), x), (V,)),
}


def arguments(name: str) -> list[Any]:
    rng = np.random.default_rng(sum(name.encode()))
    return [np.asarray(rng.normal(size=shape)) for shape in PROBLEMS[name][1]]


def test_there_are_thirty() -> None:
    assert len(PROBLEMS) >= 30


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_interface_gives_the_same_gradient(name: str, interface: Interface) -> None:
    f, args = PROBLEMS[name][0], arguments(name)
    expected = functional(f, args)
    found = interface(f, args)
    assert len(found) == len(expected)
    for one, want in zip(found, expected, strict=True):
        assert np.shape(one) == np.shape(want)
        np.testing.assert_allclose(one, want, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(
    "name", [n for n in PROBLEMS if n not in ("solve", "custom rule", "sorted", "unused argument")]
)
def test_second_derivatives_agree(name: str) -> None:
    """Of the sum of squares of the first gradient."""
    f, args = PROBLEMS[name][0], arguments(name)

    def functionally(*xs: Any) -> Any:
        return wg.sum(wg.grad(f, unconnected_gradients="zero")(*xs) ** 2)

    def in_a_graph(*xs: Any) -> Any:
        (g,) = wg.gradients(f(*xs), xs[0])
        return wg.gradients(wg.sum(g**2), list(xs), unconnected_gradients="zero")

    expected = functional(functionally, args)
    for one, want in zip(wg.function(in_a_graph)(*args), expected, strict=True):
        np.testing.assert_allclose(one, want, rtol=1e-10, atol=1e-12)
