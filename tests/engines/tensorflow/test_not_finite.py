"""NaN among many elements in graphs that XLA compiles: its maxima pass over NaN in a second operand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.engines.test_many_not_finite import LINES, sample
from tests.support.engines import ndarray

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")

UNSORTED = [name for name in LINES if name not in ("sort", "median")]  # XLA has no sorting for TensorFlow on CPUs


@pytest.mark.parametrize("name", UNSORTED)
def test_lines_in_graphs_that_xla_compiles(name: str) -> None:
    x = sample("float64")
    f = LINES[name]
    with np.errstate(all="ignore"):
        wanted = ndarray(f(x))

    def call(x: Any) -> Any:
        return f(x)

    for is_compiled in (False, True):
        found = tf.function(call, jit_compile=is_compiled)(tf.constant(x))
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-5)
