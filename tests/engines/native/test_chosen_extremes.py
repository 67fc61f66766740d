"""Largest and smallest of what is chosen, and of what is not NaN: NumPy's, in vectors as those of all are."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._engines.native.ir import accesses

RNG = np.random.default_rng(0)
CHOSEN: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "nanmax": (np.nanmax, np.max),
    "nanmin": (np.nanmin, np.min),
    "max": (lambda x, axis: np.max(np.where(x > 2.0, -np.inf, x), axis=axis), np.max),
    "min": (lambda x, axis: np.min(np.where(x > 2.0, x, np.inf), axis=axis), np.min),
}


@pytest.mark.parametrize("name", CHOSEN)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_values_are_those_of_numpy(name: str, dtype: str) -> None:
    f, _ = CHOSEN[name]
    x = RNG.normal(size=(40, 70)).astype(dtype)
    x[RNG.random(x.shape) < 0.2] = np.inf
    x[RNG.random(x.shape) < 0.2] = -np.inf
    if name.startswith("nan"):
        x[RNG.random(x.shape) < 0.2] = np.nan
    for axis in (None, 0, 1):
        compiled = wg.function(lambda x, axis=axis: f(x, axis=axis))
        np.testing.assert_array_equal(compiled(x), f(x, axis=axis))


@pytest.mark.skipif(accesses.is_on(), reason="code that checks each access is slower")
@pytest.mark.parametrize("name", CHOSEN)
@pytest.mark.parametrize("axis", [None, 1])
def test_they_take_about_as_long_as_of_all(name: str, axis: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_NUM_THREADS", "1")
    x = RNG.normal(size=(200, 500))

    def seconds(f: Callable[..., Any]) -> float:
        call = wg.function(lambda x: f(x, axis=axis))
        call(x)
        spent: list[float] = []
        for _ in range(15):
            began = time.thread_time()
            for _ in range(10):
                call(x)
            spent.append(time.thread_time() - began)
        return min(spent)

    assert seconds(CHOSEN[name][0]) < 5 * seconds(CHOSEN[name][1])  # 1.5 in vectors, 15 without them
