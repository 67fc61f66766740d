"""Gradients through what TensorFlow vectorises: `tf.vectorized_map`, `tape.jacobian` within another tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
pfor = pytest.importorskip("tensorflow.python.ops.parallel_for.pfor", reason="TensorFlow is not installed")

F = tf.float64


@wg.custom_gradient
def tenfold(x: Any) -> Any:
    return wg.sin(x), lambda upstream: 10 * upstream * wg.cos(x)


@wg.custom_gradient
def weighted(w: Any, x: Any) -> Any:
    return w * x, lambda upstream: (7 * upstream * x, 3 * upstream * w)


looped = wg.function(lambda x: wg.fori_loop(0, 3, lambda i, c: wg.sin(c), x))
at_kink = wg.function(lambda x: wg.where(wg.greater(x, 0), wg.log(x), 0.0))

CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "custom gradient": (tenfold, lambda x: 10 * np.cos(x)),
    "function": (wg.function(lambda x: wg.sin(x) * x), lambda x: np.cos(x) * x + np.sin(x)),
    "loop": (looped, lambda x: np.cos(np.sin(np.sin(x))) * np.cos(np.sin(x)) * np.cos(x)),
    "kink": (lambda x: at_kink(x - 1.0), lambda x: np.where(x > 1, 1 / np.where(x > 1, x - 1, 1), 0)),
}  # fmt: skip
at = np.array([1.0, 1.5, 2.5])


def graph(f: Callable[..., Any]) -> Any:
    return tf.function(f, autograph=False)


@pytest.mark.parametrize("within", [lambda f: f, graph], ids=["eager", "graph"])
@pytest.mark.parametrize("name", CASES)
def test_a_tape_around_vectorized_map_finds_our_gradient(name: str, within: Any) -> None:
    f, slope = CASES[name]

    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.vectorized_map(f, x) ** 2)
        return tape.gradient(y, x)

    values = np.asarray(f(tf.constant(at)))
    np.testing.assert_allclose(within(run)(tf.constant(at)), 2 * values * slope(at), rtol=1e-12)


def test_what_does_not_move_has_the_sum_of_the_gradients() -> None:
    w, x = tf.Variable(2.0, dtype=F), tf.constant(at)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.vectorized_map(lambda row: weighted(w, row), x))
    to_w, to_x = tape.gradient(y, [w, x])
    np.testing.assert_allclose(to_w, 7 * at.sum())
    np.testing.assert_allclose(to_x, np.full(3, 6.0))


@pytest.mark.parametrize("within", [lambda f: f, graph], ids=["eager", "graph"])
def test_a_jacobian_by_a_tape_is_differentiated(within: Any) -> None:
    f = wg.function(lambda x: wg.sin(x) * x)

    def run(x: Any) -> Any:
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            penalty = tf.reduce_sum(inner.jacobian(y, x) ** 2)
        return outer.gradient(penalty, x)

    slope, curvature = np.cos(at) * at + np.sin(at), 2 * np.cos(at) - np.sin(at) * at
    np.testing.assert_allclose(within(run)(tf.constant(at)), 2 * slope * curvature, rtol=1e-12)


def test_the_derivative_of_a_hessian_by_a_tape() -> None:
    x = tf.constant(at)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as middle:
            middle.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(looped(x))
            slope = inner.gradient(y, x)
        total = tf.reduce_sum(middle.jacobian(slope, x))
    third = wg.grad(lambda x: wg.sum(wg.grad(lambda x: wg.sum(wg.grad(lambda x: wg.sum(looped(x)))(x)))(x)))(at)
    np.testing.assert_allclose(outer.gradient(total, x), third, rtol=1e-10)


def test_maps_within_maps() -> None:
    x = tf.constant([[0.5, 1.0], [1.5, 2.0], [2.5, 3.0]], F)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.vectorized_map(lambda row: tf.vectorized_map(tenfold, row), x))
    np.testing.assert_allclose(tape.gradient(y, x), 10 * np.cos(x), rtol=1e-12)


def test_sizes_that_are_not_known_are_refused() -> None:
    @tf.function(autograph=False, input_signature=[tf.TensorSpec([None], F)])
    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.vectorized_map(tenfold, x))
        return tape.gradient(y, x)

    with pytest.raises(wg.LostGradientError, match="vectorized_map"):
        run(tf.constant(at))


def test_values_of_unknown_size_are_mapped() -> None:
    run = tf.function(lambda x: tf.vectorized_map(tenfold, x), autograph=False,
                      input_signature=[tf.TensorSpec([None], F)])  # fmt: skip
    np.testing.assert_allclose(run(tf.constant(at)), np.sin(at))


def test_tensorflows_own_nodes_keep_their_rule() -> None:
    own = tf.custom_gradient(lambda x: (tf.sin(x), lambda upstream: upstream))
    np.testing.assert_allclose(tf.vectorized_map(own, tf.constant(at)), np.sin(at))
    assert "IdentityN" in pfor._pfor_converter_registry, "TensorFlow has its rules somewhere else"
    names: list[bytes] = []

    @tf.function(autograph=False)
    def look(x: Any) -> Any:
        y = tenfold(x)
        names.append(y.op.get_attr("_gradient_op_type"))
        assert y.op.type == "IdentityN", "TensorFlow makes another node of a custom gradient"
        return y

    look(tf.constant(at))
    assert len(names) == 1, "TensorFlow notes the gradient of a node elsewhere"
