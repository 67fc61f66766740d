"""JAX's functions on arrays of 64 bits, which JAX itself narrows unless a process asks for more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy

X = np.array([0.1, 0.2])


@pytest.fixture(autouse=True)
def narrow() -> Any:
    """JAX as it is where nobody asks for 64 bits; other tests do."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", False)
    yield
    jax.config.update("jax_enable_x64", before)


product = wg.from_jax(lambda x, y: jnp.sin(x) * y)


def total(x: Any) -> Any:
    return wg.sum(product(x, x) * 3.0)


@pytest.mark.parametrize("compiled", [False, True])
def test_float64_is_computed_in_float64(compiled: bool) -> None:
    wrap = wg.function if compiled else lambda f: f
    np.testing.assert_allclose(wrap(total)(X), np.sum(np.sin(X) * X * 3), rtol=1e-14)
    np.testing.assert_allclose(wrap(wg.grad(total))(X), 3 * (np.cos(X) * X + np.sin(X)), rtol=1e-14)
    np.testing.assert_allclose(wrap(wg.hessian(total))(X), np.diag(3 * (2 * np.cos(X) - X * np.sin(X))), rtol=1e-13)
    np.testing.assert_allclose(wrap(wg.jvp)(total, (X,), (X,))[1], np.sum(wg.grad(total)(X) * X), rtol=1e-14)
    rows = np.stack([X, 2 * X])
    np.testing.assert_allclose(wrap(wg.vmap(total))(rows), [total(X), total(2 * X)], rtol=1e-14)
    assert not jax.config.jax_enable_x64


def test_complex128_is_computed_in_complex128() -> None:
    f = wg.from_jax(lambda z: jnp.exp(z))
    np.testing.assert_allclose(f(X * (1 + 2j)), np.exp(X * (1 + 2j)), rtol=1e-14)


def test_numbers_take_the_width_of_the_arrays_beside_them() -> None:
    assert product(X.astype("float32"), 0.5).dtype == np.float32
    assert product(X, 0.5).dtype == np.float64
    assert product(0.1, 0.5) == pytest.approx(np.sin(0.1) * 0.5, rel=1e-14)
    assert product(np.arange(2, dtype="int32"), np.float32(0.5)).dtype == np.float32
    assert product(jnp.asarray(X), 0.5).dtype == np.float32
    assert jax.jit(lambda x: product(x, 0.5))(jnp.asarray(X)).dtype == np.float32


def test_derived_functions_are_made_once() -> None:
    from wengert._engines.jax.foreign import JaxFunction  # which imports JAX

    function = JaxFunction(lambda x: (jnp.sin(x),), "sine")
    assert repr(function) == "<JAX function sine>"
    assert function.pushforward((True,)) is function.pushforward((True,))
    assert function.pullback((True,), (True,)) is function.pullback((True,), (True,))
    assert function.batched((True,)) is not function.batched((False,))
