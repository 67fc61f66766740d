"""Functions of torch and TensorFlow in JAX's transformations: XLA calls them, and their frameworks differentiate them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

jax = pytest.importorskip("jax", reason="jax is not installed")

X = np.linspace(0.3, 1.4, 4).astype(np.float32)


def of_torch() -> Callable[[Any], Any]:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    return wg.from_torch(lambda x: torch.sin(x) * x**2)


def of_tensorflow() -> Callable[[Any], Any]:
    tf = pytest.importorskip("tensorflow", reason="tensorflow is not installed")
    return wg.from_tensorflow(lambda x: tf.sin(x) * x**2)


TRANSFORMED: dict[str, Callable[[Callable[[Any], Any]], Callable[[Any], Any]]] = {
    "grad": lambda f: jax.grad(lambda x: f(x).sum()),
    "jvp": lambda f: lambda x: jax.jvp(f, (x,), (x,))[1],
    "hessian": lambda f: jax.jit(jax.hessian(lambda x: f(x).sum())),
    "gradients of a batch": lambda f: jax.jit(lambda x: jax.vmap(jax.grad(f))(x)),
    "scan": lambda f: jax.jit(lambda x: jax.lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0]),
    "in a function": lambda f: wg.function(lambda x: f(x) * 1.0),
}


@pytest.mark.parametrize("make", [of_torch, of_tensorflow])
def test_under_transformations(make: Callable[[], Callable[[Any], Any]]) -> None:
    f, same = make(), wg.from_jax(lambda x: jax.numpy.sin(x) * x**2)
    for name, transform in TRANSFORMED.items():
        want = transform(same)(jax.numpy.asarray(X))
        found = transform(f)(jax.numpy.asarray(X))
        assert isinstance(found, jax.Array), name
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5, err_msg=name)
