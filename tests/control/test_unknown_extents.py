"""Types of frameworks' functions for operands of unknown extents, and calls of them where only a run tells sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert._control.unknown_extents import types_for_unknown
from wengert._core.dims import Dim
from wengert._core.types import TensorType, tensor_type

N, M = Dim.free("n"), Dim.free("m")
F8 = np.dtype(np.float64)


def of_shapes(function: Callable[..., Any]) -> Callable[[Sequence[TensorType]], Sequence[TensorType]]:
    """A function of shapes as one of types, as a framework would answer."""
    return lambda operands: [tensor_type((*function(*[t.shape for t in operands]),), F8)]


def told(function: Callable[..., Any], *shapes: Any) -> Any:
    return types_for_unknown(of_shapes(function), [tensor_type(s, F8) for s in shapes], "f")[0].shape


def same(x: Any, y: Any) -> Any:
    if x != y:
        raise ValueError("the sizes differ")
    return x


def test_extents_of_results_are_polynomials_in_those_of_operands() -> None:
    assert told(lambda x: x, (N, 2)) == (N, 2)
    assert told(lambda x: (x[0] - 1, 2 * x[0] + 3, 7), (N, 2)) == (N - 1, 2 * N + 3, 7)
    assert told(lambda x: (x[0] * x[1], x[0] + x[1]), (N, M)) == (N * M, N + M)
    assert told(lambda x, y: (x[0], y[1]), (N, 3), (3, M)) == (N, M)
    assert told(lambda x: (x[0] + 1,), (N - 4,)) == (N - 3,)


def test_extents_that_a_function_wants_to_be_equal_are_held_to_be() -> None:
    assert told(lambda x, y: [*map(same, x, y)], (N, 2), (M, 2)) == (N, 2)
    assert told(lambda x: (same(*x), 1), (N, M)) == (N, 1)


@pytest.mark.parametrize("extent", [lambda n: (n + 1) // 2, lambda n: min(n, 5), lambda n: min(n, 100), lambda n: n**2])
def test_other_extents_are_refused(extent: Callable[[int], int]) -> None:
    with pytest.raises(TypeError, match="give sizes that are known"):
        told(lambda x: (extent(x[0]),), (N,))


def test_what_takes_no_few_elements_is_not_asked_for_them() -> None:
    def fourth(x: Sequence[int]) -> Sequence[int]:
        if x[0] < 4:
            raise IndexError("too few")
        return (x[0],)

    assert told(fourth, (N,)) == (N,)


X = np.linspace(0.2, 1.5, 6).reshape(3, 2)


def test_torch_in_a_function_of_unknown_extents() -> None:
    torch = pytest.importorskip("torch")
    followed = wg.from_torch(lambda x, y: torch.sin(x) @ y[1:])
    unknown = [wg.TensorSpec((None, 2), "float64"), wg.TensorSpec((3, None), "float64")]
    total = wg.function(lambda x, y: wg.sum(followed(x, y) ** 2), input_signature=unknown)
    slope = wg.function(wg.grad(lambda x, y: wg.sum(followed(x, y) ** 2)), input_signature=unknown)
    for n in (3, 1):
        x, y = X[:n], np.cos(np.arange(3.0 * n)).reshape(3, n)
        inside = np.sin(x) @ y[1:]
        np.testing.assert_allclose(total(x, y), np.sum(inside**2))
        np.testing.assert_allclose(slope(x, y), 2 * (inside @ y[1:].T) * np.cos(x))


@pytest.mark.parametrize("bridge", ["from_jax", "from_torch"])
def test_a_bridge_in_a_tf_function_of_unknown_extents(bridge: str) -> None:
    tf = pytest.importorskip("tensorflow")
    library = pytest.importorskip({"from_jax": "jax.numpy", "from_torch": "torch"}[bridge])
    followed = getattr(wg, bridge)(lambda x: library.sin(x) * library.cumsum(x, 0))

    def own(x: Any) -> Any:
        return tf.sin(x) * tf.cumsum(x, 0)

    def slopes(f: Any, x: Any) -> Any:
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(f(x) ** 2)
            first = tape.gradient(y, x)
            again = tf.reduce_sum(first**2)
        return y, first, outer.gradient(again, x)

    run = tf.function(lambda x: slopes(followed, x), input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    for n in (3, 1):
        x = tf.constant(X[:n], tf.float32)
        for got, want in zip(run(x), slopes(own, x), strict=True):
            np.testing.assert_allclose(got, want, rtol=2e-5)
    lines = tf.function(followed, input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    assert lines.get_concrete_function().structured_outputs.shape.as_list() == [None, 2]


@pytest.mark.parametrize("policy", ["all", "sqrt", "auto", 2])
@pytest.mark.parametrize("outer", ["scan", "while"])
def test_lanes_of_gradients_of_a_loop_inside_a_loop(outer: str, policy: Any) -> None:
    """The inner loop has no stacks, so nothing tells how many steps it takes: no program may need it."""

    def inner(x: Any) -> Any:
        c = 2 * x
        return wg.sum(wg.while_loop(
            lambda i, v: i < 3, lambda i, v: (i + 1, wg.broadcast_to(v, c.shape) * 0.5 + wg.sin(c) * v), [0, x],
            checkpoint=policy,
        )[1])  # fmt: skip

    def of_lanes(m: Any) -> Any:
        return wg.sum(wg.vmap(wg.grad(inner))(m))

    def program(xs: Any) -> Any:
        if outer == "scan":
            return wg.scan(lambda c, m: (0.5 * c + of_lanes(m), c), 0 * wg.sum(xs), xs)[0]
        return wg.while_loop(lambda i, c: i < 2, lambda i, c: (i + 1, 0.5 * c + of_lanes(xs[i])), [0, 0 * wg.sum(xs)])[
            1
        ]

    compiled = wg.function(wg.value_and_grad(program))
    for shape in ((3, 2, 4), (2, 3, 3)):
        xs = np.random.default_rng(0).uniform(0.3, 1.2, shape)
        value, gradient = wg.value_and_grad(program)(xs)
        found = compiled(xs)
        np.testing.assert_allclose(found[0], value, rtol=1e-12)
        np.testing.assert_allclose(found[1], gradient, rtol=1e-10)
