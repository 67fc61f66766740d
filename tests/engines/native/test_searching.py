"""Places in sorted numbers: NumPy's for all lengths, types and sides, and no slower in an order that nobody can guess."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.sizes_at_run_time import any_sizes

RNG = np.random.default_rng(0)
SIDES: tuple[Any, ...] = ("left", "right")


def numbers(dtype: str, *shape: int) -> np.ndarray[Any, Any]:
    """Few different ones, so that many are equal; of floats zeros of both signs, infinities and NaN among them."""
    x = RNG.integers(-4, 5, shape).astype(dtype) if dtype != "bool" else RNG.integers(0, 2, shape).astype(dtype)
    if x.dtype.kind == "f" and x.size > 20:
        x.reshape(-1)[RNG.integers(0, x.size, 9)] = [-0.0, 0.0, np.nan, np.nan, np.inf, -np.inf, -0.0, np.nan, -np.inf]
    return x


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int8", "uint8", "uint64", "bool"])
@pytest.mark.parametrize("side", SIDES)
def test_places_are_those_of_numpy(side: Any, dtype: str) -> None:
    if dtype[0] == "u":
        RNG.integers(0, 9, 3)
    for n in (0, 1, 2, 3, 7, 8, 9, 100):
        for count in (0, 1, 2, 511, 513, 1100):
            sequence, values = np.sort(numbers(dtype, n)), numbers(dtype, count)
            found = wg.function(lambda s, v: np.searchsorted(s, v, side=side))(sequence, values)
            np.testing.assert_array_equal(found, np.searchsorted(sequence, values, side=side))
