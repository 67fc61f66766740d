"""What TensorFlow records of ours outside of graphs is made once, and costs little more than its own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.profiled import python_calls

tf: Any = pytest.importorskip("tensorflow", reason="tensorflow is not installed")

X = np.linspace(0.2, 1.4, 5)


@wg.custom_gradient
def doubled(x: Any) -> Any:
    return wg.sin(x), lambda ct: 2 * ct * wg.cos(x)


@wg.custom_gradient
def pair(x: Any, y: Any) -> Any:
    return (x * y, wg.exp(y)), lambda a, b: (a * y, a * x + b * wg.exp(y))


def gradients(f: Callable[..., Any], *values: Any) -> tuple[Any, Any]:
    """The first derivative of the sum, and the derivative of its sum."""
    operands = [*map(tf.constant, values)]
    with tf.GradientTape() as outer:
        outer.watch(operands)
        with tf.GradientTape() as inner:
            inner.watch(operands)
            loss = sum(map(tf.reduce_sum, tf.nest.flatten(f(*operands))))
        first = inner.gradient(loss, operands)
        total = sum(map(tf.reduce_sum, first))
    return [*map(np.asarray, first)], [*map(np.asarray, outer.gradient(total, operands))]


def test_warm_custom_gradients_of_first_and_second_order() -> None:
    for _ in range(4):
        (first,), (second,) = gradients(doubled, X)
        np.testing.assert_allclose(first, 2 * np.cos(X))
        np.testing.assert_allclose(second, -2 * np.sin(X))
        (dx, dy), (dxx, dyy) = gradients(pair, X, X[::-1].copy())
        np.testing.assert_allclose(dx, X[::-1])
        np.testing.assert_allclose(dy, X + np.exp(X[::-1]))
        np.testing.assert_allclose(dxx, np.ones(5))
        np.testing.assert_allclose(dyy, 1 + np.exp(X[::-1]))


def test_tapes_that_are_asked_more_than_once() -> None:
    x = tf.Variable(X)
    for _ in range(3):
        with tf.GradientTape(persistent=True) as tape:
            y = doubled(x)
            z = doubled(y)
        slope = 2 * np.cos(X)
        for _ in range(2):
            np.testing.assert_allclose(tape.gradient(y, x), slope)
            np.testing.assert_allclose(tape.gradient(z, x), slope * 2 * np.cos(np.sin(X)))
        np.testing.assert_allclose(tape.jacobian(y, x), np.diag(slope))


def test_functions_of_tensorflow_are_differentiated_in_warm_calls() -> None:
    v = tf.Variable(X)
    inner = wg.from_tensorflow(lambda x: tf.sin(x) * v)
    f = wg.function(lambda x: inner(x) * x)
    for g, wanted in ((inner, X * np.cos(X)), (f, X * X * np.cos(X) + X * np.sin(X))):
        for _ in range(3):
            x = tf.constant(X)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = g(x)
            np.testing.assert_allclose(tape.gradient(y, x), wanted)


def test_the_cost_of_a_warm_custom_gradient_in_python_calls() -> None:
    @tf.custom_gradient
    def own(x: Any) -> Any:
        return tf.sin(x), lambda ct: ct * tf.cos(x)

    def count(f: Callable[[Any], Any]) -> int:
        x, calls = tf.constant(X), 0

        def note(frame: object, event: str, what: object) -> None:
            nonlocal calls
            calls += event == "call"

        for turn in range(4):
            sys.setprofile(note if turn == 3 else None)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            tape.gradient(y, x)
            sys.setprofile(None)
        return calls

    assert count(doubled) <= 1.45 * count(own)


def test_the_cost_of_a_warm_call_that_nobody_follows_in_python_calls() -> None:
    x = tf.constant(X)
    for f, most in ((doubled, 140), (wg.function(lambda x: wg.sin(x) * wg.exp(x) + x), 40)):
        for _ in range(4):
            f(x)
        assert len(python_calls(f, x)) <= most


def test_errors_of_warm_calls_name_the_line_and_effects_come_once(capfd: pytest.CaptureFixture[str]) -> None:
    def inverse(x: Any) -> Any:
        return wg.linalg.inv(x)

    def told(x: Any) -> Any:
        wg.debug_print("seen")
        return wg.linalg.inv(x)

    for f, seen in ((wg.function(inverse), 0), (wg.function(told), 1)):
        for x in (tf.eye(2), tf.eye(2), tf.zeros((2, 2)), tf.zeros((2, 2))):
            if x[0, 0] == 1:
                np.testing.assert_array_equal(f(x), np.eye(2))
            else:
                with pytest.raises(tf.errors.InvalidArgumentError, match=r"test_calls\.py") as caught:
                    f(x)
                assert "not invertible" in str(caught.value)
            found = "".join(capfd.readouterr()).count("seen")
            assert found <= seen and (found == seen or x[0, 0] == 0)  # an error may come before it


def test_variables_that_a_function_of_tensorflows_reads_in_warm_calls() -> None:
    held = tf.Variable(2.0)
    own = wg.from_tensorflow(lambda x: x * held)
    f, x = wg.function(lambda x: own(x) * 2), tf.constant(3.0)
    for value in (1.0, 2.0, 3.0, 4.0):
        held.assign(value)
        assert float(f(x)) == 6.0 * value
        with tf.GradientTape() as tape:
            y = f(x)
        assert float(tape.gradient(y, held)) == 6.0


@pytest.mark.parametrize("first", ["graph", "eager", "none"])
@pytest.mark.parametrize("persistent", [False, True])
def test_the_halves_of_a_loop_in_a_branch_run_alike(first: str, persistent: bool) -> None:
    """Whatever ran before, and also where the branch with the loop is not taken: its history is empty then."""

    def branched(x: Any) -> Any:
        return wg.cond(wg.sum(x) > 1.0, lambda: x, lambda: wg.fori_loop(0, 3, lambda i, c: wg.sin(c), x))

    own = [lambda x: tf.sin(tf.sin(tf.sin(x))), tf.identity]
    points = [tf.constant(values, tf.float64) for values in ([0.1, 0.2], [0.9, 0.8])]
    for start in (0, 1):
        f = wg.function(branched)
        before = {"graph": tf.function(f.__call__), "eager": f, "none": lambda x: None}[first]
        before(points[start])
        for place in (start, 1 - start):
            x = points[place]
            with tf.GradientTape(persistent=persistent) as tape, tf.GradientTape() as theirs:
                tape.watch(x)
                theirs.watch(x)
                y, wanted = f(x), own[place](x)
            np.testing.assert_allclose(y, wanted, rtol=1e-12)
            expected = theirs.gradient(wanted, x)
            for _ in range(2 if persistent else 1):
                np.testing.assert_allclose(tape.gradient(y, x), expected, rtol=1e-12)
