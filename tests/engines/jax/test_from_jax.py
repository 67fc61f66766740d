"""JAX's functions on arrays of 64 bits, which JAX itself narrows unless a process asks for more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.wide_jax import x64

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy

X = np.array([0.1, 0.2])


@pytest.fixture(autouse=True)
def narrow() -> Any:
    """JAX as it is where nobody asks for 64 bits; other tests do."""
    with x64(False):
        yield


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


@pytest.mark.parametrize("how", ["function", "branch", "loop", "recomputed"])
@pytest.mark.parametrize("way", ["both", "jit", "vmap", "scan", "checkpoint", "cond", "hessian", "jvp"])
def test_what_a_function_closes_over_is_differentiated_in_functions_of_ours(how: str, way: str) -> None:
    def made(w: Any) -> Any:
        bridge = wg.from_jax(lambda x: jnp.sin(x) * w)
        ways: dict[str, Any] = {
            "function": wg.function(bridge), "loop": lambda x: wg.fori_loop(0, 1, lambda i, c: bridge(c), x),
            "recomputed": wg.recompute_grad(bridge), "branch": lambda x: wg.cond(True, lambda: bridge(x), lambda: x),
        }  # fmt: skip
        return ways[how]

    w, x = jnp.array(2.0), jnp.array([1.0, 2.0, 3.0])

    def results(make: Any) -> Any:
        def total(w: Any, x: Any) -> Any:
            return make(w * w)(x).sum()

        ways: dict[str, Any] = {
            "both": lambda: jax.grad(total, (0, 1))(w, x), "jit": lambda: jax.jit(jax.grad(total, (0, 1)))(w, x),
            "vmap": lambda: jax.vmap(jax.grad(total, (0, 1)), (0, None))(jnp.array([1.0, 2.0]), x),
            "scan": lambda: jax.grad(
                lambda w, x: jax.lax.scan(lambda c, y: (c + make(w)(c * y), None), jnp.ones(3), x)[0].sum(), (0, 1)
            )(w, x),
            "checkpoint": lambda: jax.grad(lambda w: jax.checkpoint(lambda x: total(w, x))(x))(w),
            "cond": lambda: jax.grad(lambda w: jax.lax.cond(True, lambda x: total(w, x), lambda x: x.sum(), x))(w),
            "hessian": lambda: jax.hessian(total, (0, 1))(w, x), "jvp": lambda: jax.jvp(total, (w, x), (w, x)),
        }  # fmt: skip
        return jax.tree.leaves(ways[way]())

    for found, want in zip(results(made), results(lambda w: lambda x: jnp.sin(x) * w), strict=True):
        np.testing.assert_allclose(found, want, rtol=2e-5)


BRIDGED: dict[str, tuple[Any, Any]] = {
    "bridge": (lambda b: b, lambda f: f),
    "function": (wg.function, lambda f: f),
    "recomputed": (wg.recompute_grad, lambda f: f),
    "loop": (
        lambda b: lambda x: wg.scan(lambda c, _: (b(c), None), x, None, length=2)[0], lambda f: lambda x: f(f(x)),
    ),
    "op of ours": (lambda b: lambda x: wg.sin(b(x)), lambda f: lambda x: jnp.sin(f(x))),
}  # fmt: skip
BATCHES: dict[str, Any] = {
    "value": lambda make, x, ws: jax.vmap(lambda w: make(w)(x))(ws),
    "inner gradient": lambda make, x, ws: jax.vmap(lambda w: jax.grad(lambda x: jnp.sum(make(w)(x)))(x))(ws),
    "inner tangent": lambda make, x, ws: jax.vmap(lambda w: jax.jvp(make(w), (x,), (x,))[1])(ws),
    "inner hessian": lambda make, x, ws: jax.vmap(lambda w: jax.hessian(lambda x: jnp.sum(make(w)(x)))(x))(ws),
    "inner batch": lambda make, x, ws: jax.grad(lambda x: jnp.sum(jax.vmap(lambda w: make(w)(x))(ws)))(x),
    "NumPy's argument": lambda make, x, ws: jax.vmap(lambda w: make(w)(np.asarray(x)))(ws),
    "gradient with it": lambda make, x, ws: jax.grad(lambda w: jnp.sum(make(w)(np.asarray(x))))(ws[0]),
}


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("how", BRIDGED)
def test_what_a_function_closes_over_may_be_batched_where_the_argument_is_differentiated(how: str, batch: str) -> None:
    x, ws = jnp.array([1.0, 2.0]), jnp.array([[3.0, 4.0], [5.0, 6.0]])
    ours, plain = BRIDGED[how]
    want = BATCHES[batch](lambda w: plain(lambda x: jnp.sin(x) * w), x, ws)
    np.testing.assert_allclose(
        BATCHES[batch](lambda w: ours(wg.from_jax(lambda x: jnp.sin(x) * w)), x, ws), want, rtol=1e-5
    )
