"""JAX's weak arrays give way to others, as numbers do, and what JAX narrows is one dtype in every mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.wide_jax import x64

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy


scaled = wg.custom_gradient(lambda x, s: (x * s, lambda dy: (3 * dy * s, wg.sum(dy * x))))
grown = wg.custom_gradient(
    lambda x, s: (wg.fori_loop(0, 3, lambda i, c: c * s, x), lambda dy: (3 * dy * s, wg.sum(dy)))
)
chosen = wg.custom_gradient(
    lambda x, s: (wg.cond(wg.sum(x) > 0, lambda: x * s, lambda: x), lambda dy: (3 * dy * s, wg.sum(dy)))
)
WAYS: dict[str, Callable[..., Any]] = {
    "ours": lambda f: wg.grads(lambda *a: wg.sum(f(*a))),
    "function": lambda f: wg.function(wg.grads(lambda *a: wg.sum(f(*a)))),
    "jax": lambda f: lambda a: jax.grad(lambda *a: f(*a).sum().astype("float32"), argnums=(0, 1))(*a),
    "jit": lambda f: jax.jit(lambda a: jax.grad(lambda *a: f(*a).sum().astype("float32"), argnums=(0, 1))(*a)),
}
ONE: dict[str, Callable[..., Any]] = {
    "ours": lambda f, x: wg.grad(lambda x: wg.sum(f(x)))(x),
    "function": lambda f, x: wg.function(wg.grad(lambda x: wg.sum(f(x))))(x),
    "jax": lambda f, x: jax.grad(lambda x: f(x).sum())(x),
    "jit": lambda f, x: jax.jit(jax.grad(lambda x: f(x).sum()))(x),
}
with_rules = pytest.mark.parametrize("rule", [scaled, grown, chosen], ids=["scaled", "grown", "chosen"])
with_ways = pytest.mark.parametrize("way", WAYS)


@pytest.mark.sampled(6)
@with_ways
@with_rules
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("is_wide", [False, True], ids=["narrow", "x64"])
def test_a_weak_array_gives_way(is_wide: bool, dtype: str, rule: Callable[..., Any], way: str) -> None:
    with x64(is_wide):
        x, s = jnp.asarray([0.5, 2.0], dtype), jnp.asarray(0.5)
        assert s.weak_type
        assert rule(x, s).dtype == wg.function(rule)(x, s).dtype == jax.jit(rule)(x, s).dtype == x.dtype
        assert jax.jit(rule)(x, 0.5).dtype == x.dtype
        slopes = WAYS[way](rule)([x, s])
        assert [y.dtype for y in slopes] == [x.dtype, s.dtype]
        np.testing.assert_array_equal(np.asarray(slopes[0], np.float32), [1.5, 1.5])


def test_strong_after_weak_arrays_and_back() -> None:
    with x64(True):
        x, f = jnp.asarray([0.5, 2.0], "float32"), wg.function(lambda x, s: wg.multiply(x, s))
        weak, strong = jnp.asarray(0.5), jnp.asarray(np.float64(0.5))
        for _ in range(3):
            assert (f(x, weak).dtype, f(x, strong).dtype, wg.multiply(x, weak).dtype) == (*map(np.dtype, "fdf"),)


@pytest.mark.sampled(6)
@with_ways
@with_rules
@pytest.mark.parametrize("s", [np.int32(2), np.float64(2.0), np.ones((), "int32")], ids=["int", "wide", "array"])
def test_what_jax_narrows_is_one_dtype(rule: Callable[..., Any], s: Any, way: str) -> None:
    with x64(False):
        x = jnp.asarray([0.5, 2.0], "float32")
        found = ONE[way](lambda x: rule(x, s), x)
        assert found.dtype == "float32"
        np.testing.assert_array_equal(found, 3 * np.float32(s) * np.ones(2))


def test_a_trace_of_narrow_arrays_is_for_them_alone() -> None:
    f = wg.function(wg.grad(lambda x: wg.sum(scaled(x, np.arange(1, 3)))))
    with x64(False):
        for _ in range(2):
            assert f(jnp.asarray([0.5, 2.0], "float32")).dtype == "float32"
            with pytest.raises(TypeError, match="dtype float64, wanted float32"):
                f(np.asarray([0.5, 2.0], "float32"))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_numbers_gradient_may_have_the_dtype_of_the_array_beside_it(dtype: str) -> None:
    x = np.asarray([0.5, 2.0], dtype)
    for gradients in (wg.grads, lambda f: wg.function(wg.grads(f))):
        slopes = gradients(lambda x, s: wg.sum(scaled(x, s)))([x, 0.5])
        assert [y.dtype for y in slopes] == [dtype, "float64"]
