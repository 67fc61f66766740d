"""Sums of complex numbers, which are added up as the real numbers that they are in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._engines.native.ir import loops
from wengert._engines.native.ir.outlining import walk
from wengert._engines.native.lower.functions import lowered
from wengert._engines.native.lower.pair_sums import SIDE_BY_SIDE
from wengert._engines.native.plan.prepare import ready
from wengert._passes import optimise

RNG = np.random.default_rng(0)
LENGTHS = (1, 2 * SIDE_BY_SIDE - 1, 2 * SIDE_BY_SIDE, 3 * SIDE_BY_SIDE - 1, 1003)


def _numbers(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    return (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(dtype)


def _views(x: np.ndarray) -> list[np.ndarray]:
    """The same shape in other places of memory."""
    wide = np.zeros((*x.shape[:-1], x.shape[-1] + 3), x.dtype)
    wide[..., 2:-1] = x
    steps = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
    steps[..., ::2] = x
    return [x, wide[..., 2:-1], steps[..., ::2], x[::-1].copy()[::-1]]


def _close(found: Any, x: np.ndarray, axes: Any) -> None:
    room = 1e-6 if x.dtype == np.complex64 else 1e-14
    expected = np.sum(x.astype(np.complex128), axes)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=room, atol=room * x.size)
    assert np.asarray(found).dtype == x.dtype


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("length", LENGTHS)
def test_sums_of_any_length_over_any_axes(dtype: Any, length: int) -> None:
    """Of known and of unknown extents, of rows that lie apart too."""
    cases: list[tuple[tuple[int, ...], Any]] = [
        ((length,), None), ((3, length), None), ((3, length), 0), ((3, length), 1), ((length, 3), 0), ((2, length, 5), 1),
        ((2, 3, length), (1, 2)), ((2, 3, length), (0, 2)),
    ]  # fmt: skip
    for shape, axis in cases:
        any_size, known = (wg.function(lambda x, axis=axis: np.sum(x, axis)) for _ in range(2))
        any_size(_numbers(tuple(n + 1 for n in shape), dtype))
        for x in _views(_numbers(shape, dtype)):
            _close(any_size(x), x, axis)
            _close(known(x), x, axis)


@pytest.mark.parametrize("shape", [(200_000,), (400, 500), (8, 30_000), (30_000, 8)])
def test_large_sums_go_in_parts(shape: tuple[int, ...]) -> None:
    x = _numbers(shape, np.complex64)
    for axis in (None, *range(len(shape))):
        _close(wg.function(lambda x, axis=axis: np.sum(x, axis))(x), x, axis)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_special_values_are_those_of_eager_sums(axis: int | None) -> None:
    """A part that is infinite or no number says nothing of the other; of negative zeros alone the sum is as eager ones."""
    for number in (complex(np.inf, 1), complex(1, -np.inf), complex(np.nan, 2), complex(3, np.nan), -0.0 - 0.0j):
        x = _numbers((40, 50), np.complex64) if number else np.full((40, 50), complex(-0.0, -0.0), np.complex64)
        x[3, 45] = number if number else complex(-0.0, -0.0)
        found = np.asarray(wg.function(lambda x: np.sum(x, axis))(x))
        with wg.eager():
            eager = np.asarray(np.sum(wg.tensor(x), axis))
        for part in ("real", "imag"):
            ours, theirs = getattr(found, part), getattr(eager, part)
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-4)
            if not number:
                np.testing.assert_array_equal(np.signbit(ours), np.signbit(theirs))


@pytest.mark.parametrize("form", ["vmap", "scan", "gradient"])
def test_sums_in_batches_loops_and_gradients(form: str) -> None:
    x = _numbers((6, 70), np.complex64)
    if form == "vmap":
        found = wg.function(wg.vmap(lambda row: np.sum(row)))(x)
        _close(found, x, 1)
    elif form == "scan":
        step = lambda total, row: (total + np.sum(row), np.sum(row))
        last, rows = wg.function(lambda x: wg.scan(step, np.complex64(0), x))(x)
        _close(rows, x, 1)
        _close(last, x, None)
    else:
        loss = lambda x: np.sum(np.abs(np.sum(x, 0)) ** 2) + np.sum(np.abs(np.sum(x, 1)) ** 2)
        with wg.eager():
            expected = np.asarray(wg.grad(loss)(x))
        np.testing.assert_allclose(np.asarray(wg.function(wg.grad(loss))(x)), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_parts_are_read_as_they_lie(axis: int | None) -> None:
    f = wg.function(lambda x: np.sum(x, axis))
    f(_numbers((50, 60), np.complex64))
    ((_, form),) = f.traces
    function = lowered(ready(optimise(form.graph)), "test").function
    assert any(type(item) is loops.Load and type(item.part) is loops.Reg for item in walk(function.body))
