"""Writes to known places of buffers, and elements put between others, are parts of the loops around them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._engines.native.lower.functions import lowered
from wengert._engines.native.plan.prepare import ready
from wengert._passes import optimise

LARGE = 140_000  # elements of arrays that are computed in parts
SHAPES = [(9001,), (LARGE,), (LARGE + 3,), (390, 421), (21, 20, 31)]
DTYPES = ["float64", "float32", "float16", "complex64", "int8", "bool"]


def numbers(shape: tuple[int, ...], dtype: str) -> Any:
    rng = np.random.default_rng(len(shape))
    x = rng.normal(size=shape) * 20
    return (x > 0) if dtype == "bool" else (x + 1j * x[::-1]).astype(dtype) if dtype[0] == "c" else x.astype(dtype)


def inner(x: Any, first: int, step: int = 1) -> tuple[slice, ...]:
    """All but some at the ends, along each axis; every `step`-th along the last."""
    return (*[slice(1, -1)] * (x.ndim - 1), slice(first, -first, step))


def stencil(x: Any) -> Any:
    y = wnp.zeros_like(x)
    y[inner(x, 1)] = x[inner(x, 1)] - x[(*[slice(1, -1)] * (x.ndim - 1), slice(2, None))]
    return y


def steps(x: Any) -> Any:
    u = x.copy()
    for _ in range(3):
        u[inner(x, 1)] += u[(*[slice(1, -1)] * (x.ndim - 1), slice(None, -2))]
    return u


def colours(x: Any) -> Any:
    u = x.copy()
    for first in (1, 2):
        new = u[..., first + 1 :: 2]
        u[..., first : first + 2 * new.shape[-1] : 2] = new
    return u


def interleaved(x: Any) -> Any:
    y = wnp.zeros((*x.shape[:-1], 3 * x.shape[-1]), x.dtype)
    y[..., ::3] = x
    y[..., 1::3] = x[..., ::-1]
    return y


def borders(x: Any) -> Any:
    y = x + x
    y[0] = x[1]
    y[..., -1] = y[..., 1]
    y[-1] += y[0]
    return y


def read_before_written(x: Any) -> Any:
    u = x.copy()
    old = u[2:]
    u[1:] = u[:-1] + x[1:]
    u[:2] = x[:2]
    return u[2:] + old


def halved(x: Any) -> Any:
    return x[: x.shape[0] // 2 * 2 : 2] + x[1::2]


PROGRAMS = [stencil, steps, colours, interleaved, borders, read_before_written, halved]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_values_are_those_of_eager_code(program: Any, shape: tuple[int, ...], dtype: str) -> None:
    if dtype == "bool" and program is stencil:
        pytest.skip("NumPy subtracts no booleans")
    x = numbers(shape, dtype)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(wg.function(program)(x), np.asarray(program(wg.tensor(x))))


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_gradients_are_those_of_eager_code(program: Any, shape: tuple[int, ...], dtype: str) -> None:
    def loss(x: Any) -> Any:
        y = program(x)
        return wnp.sum(wnp.real(y * y * wnp.arange(y.shape[-1])))

    x = numbers(shape, dtype)
    eager, compiled = wg.grad(loss)(x), wg.function(wg.grad(loss))(x)
    np.testing.assert_allclose(compiled, eager, rtol=1e-5, atol=1e-5 * np.abs(eager).max())


def test_zeros_keep_their_signs_outside_of_what_is_added() -> None:
    x = np.full(9000, -0.0)

    def added(x: Any) -> Any:
        y = x.copy()
        y[1:-1] += 0.0
        return y

    np.testing.assert_array_equal(np.signbit(wg.function(added)(x)), np.signbit(np.asarray(added(wg.tensor(x)))))


def loops_of(function: Any, *arguments: Any) -> str:
    return str(lowered(ready(optimise(wg.function(function).trace(*arguments))), "f").function)


def test_what_is_written_is_computed_in_one_loop_without_conditions() -> None:

    def pairs(x: Any) -> Any:
        y = wnp.zeros(2 * x.size)
        y[::2] = x
        y[1::2] = x[::-1]
        return y

    for program in (stencil, pairs):
        loops = loops_of(program, numbers((LARGE,), "float64"))
        assert "alloc" not in loops
        assert loops.count("parallel") == 1
        assert not re.search(r": f64 = %\d+ if %", loops)


def test_each_step_of_a_stencil_is_stored_once() -> None:
    """What its neighbours read is not computed for each of them."""
    loops = loops_of(steps, numbers((LARGE,), "float64"))
    assert loops.count("parallel") == 3


def test_a_small_write_costs_what_it_writes() -> None:
    def written(x: Any) -> Any:
        y = x.copy()
        for k in range(3):
            y[10 * k : 10 * k + 10] = y[5:15] * 2
        return y

    assert "parallel" not in loops_of(written, numbers((LARGE,), "float64"))


def test_a_gradient_of_halves_stores_no_padded_arrays() -> None:
    loops = loops_of(wg.grad(lambda x: wnp.sum(halved(x) ** 3)), numbers((LARGE,), "float64"))
    assert "fill" not in loops
    assert loops.count("parallel") == 2
    assert not re.search(r": f64 = %\d+ if %", loops)
