"""NaN and infinities among many elements, where engines have vector code: every engine gives what NumPy's does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.engines import every_users_engine, native, ndarray

LINES: dict[str, Callable[[Any], Any]] = {
    "max": lambda x: wg.max(x),
    "max of rows": lambda x: wg.max(x, axis=1),
    "max of columns": lambda x: wg.max(x, axis=0),
    "min": lambda x: wg.min(x),
    "min of rows": lambda x: wg.min(x, axis=1),
    "ptp": lambda x: wg.ptp(x, axis=0),
    "norm": lambda x: wg.linalg.norm(x, np.inf),
    "argmax": lambda x: wg.argmax(x, axis=1),
    "argmin": lambda x: wg.argmin(x),
    "nanmax": lambda x: wg.nanmax(x, axis=1),
    "maximum": lambda x: wg.maximum(x, wg.flip(x, 0)),
    "minimum": lambda x: wg.minimum(x, 0.0),
    "clip": lambda x: wg.clip(x, -1.0, 1.0),
    "relu": wg.ops.relu,
    "running max": lambda x: wg.ops.associative_scan(wg.maximum, x, axis=-1),
    "pool": lambda x: wg.ops.max_pool(x[None, ..., None], 2),
    "sort": lambda x: wg.sort(x, axis=0),
    "median": lambda x: wg.ops.median(x, axis=1),
    "logsumexp": lambda x: wg.ops.logsumexp(x, axis=1),
    "softmax": lambda x: wg.nn.softmax(x),
    "mean": lambda x: wg.mean(x, axis=0),
    "cumsum": wg.cumsum,
    "prod": lambda x: wg.prod(x, axis=1),
    "rows by segments": lambda x: wg.ops.segment_max(x, np.arange(80) % 7, 7),
}


def sample(dtype: str) -> np.ndarray[Any, Any]:
    x = np.random.default_rng(0).normal(size=(80, 90)).astype(dtype)
    x[3, 5], x[7, 0], x[-1, -1], x[11, 2], x[11, 50], x[20, 20] = np.nan, np.nan, np.nan, np.inf, -np.inf, -np.inf
    return x


@every_users_engine
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", LINES)
def test_lines_of_many(name: str, dtype: str, engine: str) -> None:
    x = sample(dtype)
    f = LINES[name]
    with np.errstate(all="ignore"):
        wanted = ndarray(f(x))
    for found in (f(native(engine, x)), wg.function(f)(native(engine, x))):
        np.testing.assert_allclose(ndarray(found), wanted, rtol=1e-4, atol=1e-5)
