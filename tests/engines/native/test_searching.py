"""Places in sorted numbers: NumPy's for all lengths, types and sides, and as fast in an order that nobody can guess."""

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
SIDES: tuple[Any, ...] = ("left", "right")
SPECIAL = [-0.0, 0.0, np.nan, np.nan, np.inf, -np.inf, -0.0, np.nan, -np.inf]


def numbers(dtype: str, *shape: int) -> np.ndarray[Any, Any]:
    """Few different ones, so that many are equal; of floats zeros of both signs, infinities and NaN among them."""
    x = RNG.integers(0, 9, shape).astype(dtype)
    if x.dtype.kind != "u":
        x -= 4
    if x.dtype.kind == "f" and x.size > 20:
        x.reshape(-1)[RNG.integers(0, x.size, len(SPECIAL))] = SPECIAL
    return x


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int8", "uint8", "uint64"])
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("has_open_sizes", [False, True])
def test_places_are_those_of_numpy(has_open_sizes: bool, side: Any, dtype: str) -> None:
    spec = [wg.TensorSpec((None,), dtype)] * 2 if has_open_sizes else None
    find = wg.function(lambda s, v: wg.ops.searchsorted(s, v, side), input_signature=spec)
    sizes = [(0, 3), (1, 600), (2, 2), (3, 511), (8, 0), (8, 513), (9, 1), (100, 1100)]
    for n, count in sizes if has_open_sizes else RNG.permutation(sizes)[:4]:
        sequence, values = np.sort(numbers(dtype, n)), numbers(dtype, count)
        np.testing.assert_array_equal(find(sequence, values), np.searchsorted(sequence, values, side=side))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "uint64"])
@pytest.mark.parametrize("side", SIDES)
def test_places_of_numbers_in_order(side: Any, dtype: str) -> None:
    """They are looked for in parts, also where a few of them are out of order."""
    for n, count in ((700, 1100), (90, 513), (2000, 65), (2000, 1025)):
        sequence, values = np.sort(numbers(dtype, n)), np.sort(numbers(dtype, count))
        find = wg.function(lambda s, v: wg.ops.searchsorted(s, v, side))
        for start in (0, count // 2):
            values[start : start + 2] = values[start : start + 2][::-1]
            np.testing.assert_array_equal(find(sequence, values), np.searchsorted(sequence, values, side=side))
    wide = np.sort(RNG.normal(size=3000))
    find = wg.function(lambda s, v: wg.ops.searchsorted(s, v, side))
    for values in (np.sort(RNG.normal(size=3000)), wide[::-1].copy(), np.roll(wide, 7)):
        np.testing.assert_array_equal(find(wide, values), np.searchsorted(wide, values, side=side))


@pytest.mark.parametrize("side", SIDES)
def test_values_of_several_axes_and_rows_of_sequences(side: Any) -> None:
    find = wg.function(lambda s, v: wg.ops.searchsorted(s, v, side))
    sequence, values = np.sort(numbers("float64", 60))[::2], numbers("float64", 40, 30).T
    np.testing.assert_array_equal(find(sequence, values), np.searchsorted(sequence, values, side=side))
    rows, wanted = np.sort(numbers("float64", 2, 3, 50)), numbers("float64", 2, 3, 600)
    for values in (wanted, wanted[..., ::7], wanted[..., :1]):
        found = find(rows, values)
        for i in np.ndindex(*values.shape[:2]):
            np.testing.assert_array_equal(found[i], np.searchsorted(rows[i], values[i], side=side))


@pytest.mark.skipif(accesses.is_on(), reason="code that checks each access is slower")
def test_numbers_in_any_order_take_less_than_half_of_numpys_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_NUM_THREADS", "1")
    find = wg.function(lambda s, v: wg.ops.searchsorted(s, v))
    sequence, values = np.sort(RNG.random(1000)), RNG.random(100_000)

    def seconds(call: Callable[..., Any]) -> float:
        call(sequence, values)
        spent: list[float] = []
        for _ in range(9):
            began = time.thread_time()
            call(sequence, values)
            spent.append(time.thread_time() - began)
        return min(spent)

    assert seconds(find) < 0.5 * seconds(
        np.searchsorted
    )  # 0.13; as long as NumPy where the processor guesses each step
