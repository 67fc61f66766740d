"""`wg.stop_gradient` of a framework's own arrays, outside of functions of ours: the framework's derivative ends there."""

from __future__ import annotations

from typing import Any

import pytest

import wengert as wg
from tests.support.engines import NAMES


def stopped(x: Any) -> Any:
    return wg.stop_gradient(x) * x


def needs(framework: str) -> Any:
    if framework not in NAMES:
        pytest.skip(f"{framework} is not asked for")
    return pytest.importorskip(framework, reason=f"{framework} is not installed")


@pytest.mark.parametrize("way", ["grad", "jit", "array", "jvp", "vmap", "scan"])
def test_on_jax(way: str) -> None:
    jax = needs("jax")
    jnp, grad = jax.numpy, jax.grad(stopped)
    ways: dict[str, Any] = {
        "grad": lambda: grad(3.0), "jit": lambda: jax.jit(grad)(3.0), "array": lambda: grad(jnp.array(3.0)),
        "jvp": lambda: jax.jvp(stopped, (3.0,), (1.0,))[1], "vmap": lambda: jax.vmap(grad)(jnp.array([3.0]))[0],
        "scan": lambda: jax.grad(lambda x: jax.lax.scan(lambda c, _: (c + stopped(x), None), 0.0, length=1)[0])(3.0),
    }  # fmt: skip
    assert float(ways[way]()) == 3.0


@pytest.mark.parametrize("way", ["eager", "graph", "tape outside", "variable", "tf.gradients"])
def test_on_tensorflow(way: str) -> None:
    tf = needs("tensorflow")
    v = tf.Variable(3.0)

    def gradient(f: Any, x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    x = tf.constant(3.0)
    ways: dict[str, Any] = {
        "eager": lambda: gradient(stopped, x), "graph": lambda: tf.function(lambda x: gradient(stopped, x))(x),
        "tape outside": lambda: gradient(tf.function(stopped), x), "variable": lambda: gradient(stopped, v),
        "tf.gradients": lambda: tf.function(lambda x: tf.gradients(stopped(x), [x])[0])(x),
    }  # fmt: skip
    assert float(ways[way]()) == 3.0


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
@pytest.mark.parametrize("way", ["backward", "func", "jvp", "vmap"])
def test_on_torch(way: str) -> None:
    torch = needs("torch")
    x = torch.tensor(3.0, requires_grad=True)
    y = x.detach()
    ways: dict[str, Any] = {
        "backward": lambda: torch.autograd.grad(stopped(x), x)[0], "func": lambda: torch.func.grad(stopped)(y),
        "jvp": lambda: torch.func.jvp(stopped, (y,), (torch.ones(()),))[1],
        "vmap": lambda: torch.func.vmap(torch.func.grad(stopped))(y[None])[0],
    }  # fmt: skip
    assert float(ways[way]()) == 3.0
