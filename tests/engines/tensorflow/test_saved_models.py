"""SavedModels of functions with loops, scans and branches: their values, their gradients, and gradients taken later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")


@wg.function
def program(x: Any) -> Any:
    """A counted loop, a scan, a loop whose length a run tells, and a branch."""
    counted = wg.fori_loop(0, 3, lambda i, c: wg.sin(c) + x * 0.5, x)
    sums = wg.scan(lambda c, e: (c * e + x, wg.sum(c)), counted, wg.stack([x, x * 2]))[1]
    grown = wg.while_loop(lambda y: wg.sum(y) < 30, lambda y: y * 1.7 + x, (x,))[0]
    return wg.sum(sums) * wg.cond(wg.sum(x) > 0.5, lambda: wg.exp(grown * 0.1), lambda: grown)


gradient = wg.function(wg.grad(lambda x: wg.sum(program(x) ** 2)))


class Saved(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float64)])
    def value(self, x: Any) -> Any:
        return program(x)


def test_values_and_gradients_of_a_loaded_model(tmp_path: Path) -> None:
    tf.saved_model.save(Saved(), str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    x = tf.constant([0.2, 0.5, 0.1], tf.float64)
    with tf.GradientTape() as tape:  # by the gradient that was saved
        tape.watch(x)
        found = loaded.value(x)
        y = tf.reduce_sum(found**2)
    np.testing.assert_allclose(found, program(x), rtol=1e-12)
    np.testing.assert_allclose(tape.gradient(y, x), gradient(x), rtol=1e-12)
