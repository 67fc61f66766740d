"""What a custom gradient closes over, where TensorFlow differentiates."""

from __future__ import annotations

from typing import Any

import pytest

import wengert as wg

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")


def _times(w: Any, x: Any) -> Any:
    return wg.custom_gradient(lambda c: (c * w, lambda upstream: upstream * 2.0))(x) + w


def test_what_a_tape_watches_is_refused_and_what_it_does_not_is_a_constant() -> None:
    w, x = tf.constant(3.0), tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = _times(w, x)
    assert float(tape.gradient(y, x)) == 2.0
    with tf.GradientTape() as tape:
        tape.watch([w, x])
        with pytest.raises(wg.DisconnectedError, match="depends on w "):
            _times(w, x)


def test_in_a_graph_a_constant_does_no_harm() -> None:
    @tf.function
    def gradient(w: Any, x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = _times(w, x)
        return tape.gradient(y, x)

    assert float(gradient(tf.constant(3.0), tf.constant(1.0))) == 2.0
