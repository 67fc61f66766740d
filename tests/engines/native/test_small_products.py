"""Products of few terms: their zeros have the signs of sums that begin at zero, as those of BLAS do."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

SHAPES = {
    "vectors": lambda n: ((n,), (n,)),
    "matrix and vector": lambda n: ((3, n), (n,)),
    "vector and matrix": lambda n: ((n,), (n, 3)),
    "matrices": lambda n: ((3, n), (n, 3)),
    "batch": lambda n: ((4, 3, n), (4, n, 2)),
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
@pytest.mark.parametrize("name", SHAPES)
def test_sums_of_negative_zeros_are_positive(name: str, dtype: str) -> None:
    for n in (1, 2, 5, 8):
        first, second = SHAPES[name](n)
        compiled = wg.function(lambda x, y: x @ y)
        for a, b in ((0.0, -0.0), (1.0, -0.0), (-1.0, 0.0), (2.0, 3.0)):
            x, y = np.full(first, a, dtype), np.full(second, b, dtype)
            found, eager = np.asarray(compiled(x, y)), np.asarray(wg.tensor(x) @ y)
            np.testing.assert_array_equal(found, eager)
            if dtype.startswith("float"):
                np.testing.assert_array_equal(np.signbit(found), np.signbit(eager))
