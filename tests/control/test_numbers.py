"""Python numbers in branches, loops and calls: one dtype in every mode.

Where nothing is recorded, a call with Python numbers alone gives NumPy's scalars, which have a dtype as arrays have; so
its result has one on a tape and in a trace as well. Beside a tensor numbers stay weak.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

Function = Callable[..., Any]


def nested(y: wg.Tensor) -> Any:
    return wg.fori_loop(0, 3, lambda i, v: wg.fori_loop(0, 2, lambda j, w: w * 2.0, v), 1.0) * y


OF_NUMBERS: dict[str, Function] = {
    "fori_loop": lambda y: wg.fori_loop(0, 3, lambda i, v: v * 2.0, 1.0) * y,
    "fori_loop, ints": lambda y: wg.fori_loop(0, 3, lambda i, v: v + i, 1) * y,
    "fori_loop, no step": lambda y: wg.fori_loop(0, 0, lambda i, v: v * 2.0, 1.0) * y,
    "fori_loop, beside an array of NumPy's": lambda y: (
        wg.fori_loop(0, 3, lambda i, v: (v[0] * 2.0, v[1] + 1), (1.0, np.ones(2, np.float32)))[0] * y
    ),
    "nested": nested,
    "while_loop": lambda y: wg.while_loop(lambda v: v < 8.0, lambda v: v * 2.0, 1.0) * y,
    "while_loop, several": lambda y: wg.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2.0), (0, 1.0))[1] * y,
    "cond": lambda y: wg.cond(True, lambda v: v * 2.0, lambda v: v, 1.5) * y,
    "cond, constants": lambda y: wg.cond(True, lambda: 2.0, lambda: 3.0) * y,
    "switch": lambda y: wg.switch(1, [lambda v: v * 2.0, lambda v: v * 3.0], 1.5) * y,
    "scan, carry": lambda y: wg.scan(lambda c, x: (c * 2.0, c), 1.0, length=3)[0] * y,
    "scan, stack": lambda y: wg.sum(wg.scan(lambda c, x: (c * 2.0, c), 1.0, length=3)[1] * y),
    "scan, of a list": lambda y: wg.scan(lambda c, x: (c * 2.0, x), 1.0, [1.0, 2.0])[0] * y,
    "map": lambda y: wg.sum(wg.map(lambda x: x * 2.0, [1.0, 2.0]) * y),
    "function": lambda y: wg.function(lambda v: v * 2.0)(1.5) * y,
    "value_and_grad": lambda y: wg.value_and_grad(lambda v: v * v)(1.5).value * y,
    "vjp": lambda y: wg.vjp(lambda v: v * v, 1.5)[0] * y,
    "jvp": lambda y: wg.jvp(lambda v: v * v, (1.5,), (1.0,))[0] * y,
    "linearize": lambda y: wg.linearize(lambda v: v * v, 1.5)[0] * y,
}
BESIDE_TENSORS: dict[str, Function] = {
    "fori_loop": lambda y: wg.fori_loop(0, 3, lambda i, v: (v[0] * 2.0, v[1]), (1.0, y))[0] * y,
    "while_loop": lambda y: wg.while_loop(lambda v, w: v < 8.0, lambda v, w: (v * 2.0, w), (1.0, y))[0] * y,
    "cond": lambda y: wg.cond(y > 0, lambda: 2.0, lambda: 3.0) * y,
    "cond, results": lambda y: wg.cond(True, lambda: (y, 2.0), lambda: (y, 3.0))[1] * y,
    "switch": lambda y: wg.switch(1, [lambda v, w: v, lambda v, w: v * 3.0], 1.5, y) * y,
    "scan, carry": lambda y: wg.scan(lambda c, x: (c * 2.0, c), 1.0, wg.stack([y, y]))[0] * y,
    "scan, stack": lambda y: wg.sum(wg.scan(lambda c, x: (c * 2.0, c), 1.0, wg.stack([y, y]))[1] * y),
}


def taped(f: Function, y: wg.Tensor) -> Any:
    with wg.GradientTape() as tape:
        tape.watch(y)
        return f(y)


def in_a_loop(f: Function, y: wg.Tensor) -> Any:
    return wg.fori_loop(0, 1, lambda i, v: (v[0], f(v[0])), (y, wg.zeros_like(f(y))))[1]


MODES: dict[str, Callable[[Function, wg.Tensor], Any]] = {
    "eager": lambda f, y: f(y),
    "grad": lambda f, y: wg.value_and_grad(f)(y).value,
    "tape": taped,
    "jvp": lambda f, y: wg.jvp(f, (y,), (y,))[1],
    "linearize": lambda f, y: wg.linearize(f, y)[0],
    "vmap": lambda f, y: wg.vmap(f)(wg.stack([y, y]))[0],
    "function": lambda f, y: wg.function(f)(y),
    "compiled gradient": lambda f, y: wg.function(wg.value_and_grad(f))(y).value,
    "in a loop": lambda f, y: wg.function(lambda y: in_a_loop(f, y))(y),
}


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "eager"])
@pytest.mark.parametrize(
    ("f", "dtype"),
    [*[(f, np.float64) for f in OF_NUMBERS.values()], *[(f, np.float32) for f in BESIDE_TENSORS.values()]],
    ids=[*OF_NUMBERS, *[f"{name}, beside a tensor" for name in BESIDE_TENSORS]],
)
def test_results_of_numbers_have_one_dtype_in_every_mode(f: Function, dtype: type, mode: str) -> None:
    y = wg.tensor(np.float32(1.5))
    expected, found = f(y), MODES[mode](f, y)
    assert expected.dtype == found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)


SCANS: dict[str, Function] = {
    "a state": lambda x: wg.scan(lambda c, v: (c * 0.9 + v, wg.tanh(c)), 0.5, x)[1],
    "NumPy's function": lambda x: wg.scan(lambda c, v: (c * 0.9 + v, np.tanh(c) * v), 0.0, x)[1],
    "the last first": lambda x: wg.scan(lambda c, v: (c * 0.9 + v, np.tanh(c) * v), 0.0, x, reverse=True)[1],
    "an integer": lambda x: wg.scan(lambda c, v: (c + v, np.sqrt(c)), 1, x)[1],
    "one step": lambda x: wg.scan(lambda c, v: (c * 0.9 + v, np.tanh(c) * v), 0.0, x[:1])[1],
    "snapshots": lambda x: wg.scan(lambda c, v: (c * 0.9 + v, np.tanh(c) * v), 0.5, x, checkpoint="sqrt")[1],
    "one later, one never": lambda x: wg.stack(
        wg.scan(lambda c, v: ((c[1], v, c[2] * 0.5), (np.exp(c[0]), np.exp(c[1]) * c[2])), (0.0, 0.5, 1.0), x)[1]
    ),
    "complex": lambda x: abs(wg.scan(lambda c, v: (c * 0.9 + v * 1j, np.cos(c)), 0.5, x)[1]),
}


@pytest.mark.parametrize("name", SCANS)
def test_steps_give_what_they_would_if_numbers_had_a_dtype_from_the_start(name: str) -> None:
    f, x = SCANS[name], np.linspace(0.1, 1, 5, dtype=np.float32)

    def total(x: Any) -> Any:
        return wg.sum(f(x))

    wanted = wg.function(f)(x)
    assert f(x).dtype == wanted.dtype == np.float32
    np.testing.assert_allclose(f(x), wanted, rtol=1e-5)
    for g in (wg.grad(total), lambda x: wg.jvp(total, (x,), (x,))[1]):
        found, wanted = g(x), wg.function(g)(x)
        assert found.dtype == wanted.dtype == np.float32
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


OF_ARGUMENTS: dict[str, Function] = {
    "cond": lambda x, y: wg.cond(True, lambda v: v * 2.0, lambda v: v, x) * y,
    "cond, chosen by it": lambda x, y: wg.cond(x > 0, lambda: 2.0, lambda: 3.0) * x * y,
    "fori_loop": lambda x, y: wg.fori_loop(0, 3, lambda i, v: v * 2.0, x) * y,
    "fori_loop, captured": lambda x, y: wg.fori_loop(0, 3, lambda i, v: v * x, 1.0) * y,
    "scan": lambda x, y: wg.scan(lambda c, _: (c * x, c), 1.0, length=3)[0] * y,
    "function": lambda x, y: wg.function(lambda v: v * 2.0)(x) * y,
    "value_and_grad": lambda x, y: wg.value_and_grad(lambda v: v * v)(x).value * y,
    "vjp": lambda x, y: wg.vjp(lambda v, w: v * v, x, y, unconnected_gradients="zero")[0] * y,
    "recompute_grad": lambda x, y: wg.recompute_grad(lambda v: v * 2.0)(x) * y,
    "custom_gradient": lambda x, y: wg.custom_gradient(lambda v: (v * 2.0, lambda up: up * 2.0))(x) * y,
}
ARGUMENTS_BESIDE_TENSORS: dict[str, Function] = {
    "recompute_grad": lambda x, y: wg.recompute_grad(lambda v, w: (v * 2.0, w))(x, y)[0] * y,
    "custom_gradient": lambda x, y: (
        wg.custom_gradient(lambda v, w: ((v * 2.0, w), lambda up, of_w: (up * 2.0, of_w)))(x, y)[0] * y
    ),
    "fori_loop": lambda x, y: wg.fori_loop(0, 3, lambda i, c: (c[0] * 2.0, c[1]), (x, y))[0] * y,
    "cond": lambda x, y: wg.cond(True, lambda v, w: v * 2.0, lambda v, w: v, x, y) * y,
}


@pytest.mark.parametrize(
    ("f", "dtype"),
    [*[(f, np.float64) for f in OF_ARGUMENTS.values()], *[(f, np.float32) for f in ARGUMENTS_BESIDE_TENSORS.values()]],
    ids=[*OF_ARGUMENTS, *[f"{name}, beside a tensor" for name in ARGUMENTS_BESIDE_TENSORS]],
)
def test_an_argument_that_is_a_python_number_counts_as_one(f: Function, dtype: type) -> None:
    y = wg.tensor(np.float32(1.5))
    found = [
        f(2.0, y), wg.value_and_grad(f, argnums=(0, 1))(2.0, y).value,
        wg.value_and_grad(f, argnums=1)(2.0, y).value, wg.function(f)(2.0, y),
        wg.function(wg.value_and_grad(f, argnums=(0, 1)))(2.0, y).value,
    ]  # fmt: skip
    assert {v.dtype for v in found} == {np.dtype(dtype)}
    np.testing.assert_allclose(found, [float(found[0])] * len(found), rtol=1e-6)
