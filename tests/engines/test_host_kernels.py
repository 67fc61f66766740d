"""NumPy's kernels on the host, for arrays of any kind: one function makes them for JAX and TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert._core.types import type_of
from wengert._engines.on_host import host_kernel

A = np.array([[2.0, 1.0], [0.0, 3.0]])


def test_attributes_and_the_types_of_results_come_from_the_declaration() -> None:
    asked: list[Any] = []

    def host_call(run: Any, operands: Any, types: Any) -> Any:
        asked.append([(t.shape, t.dtype.name) for t in types])
        return run(*operands)

    values, vectors = host_kernel("eig", host_call, type_of)(A)
    np.testing.assert_allclose(A @ vectors, vectors * values)
    np.testing.assert_array_equal(host_kernel("transpose", host_call, type_of)(A, (1, 0)), A.T)
    assert asked == [[((2,), "complex128"), ((2, 2), "complex128")], [((2, 2), "float64")]]
