"""Calls on few numbers on a framework's arrays beside the framework's own: rows of `engines.py`.

What a library author pays: an eager custom gradient, the value of a `function`, a backward pass through one, an MLP of
width 8. The programs of `engines.py` have a size at which arithmetic counts. The two take turns, as `harness.py`
has it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import harness
import numpy as np

import wengert as wg

WIDTH = 8
X = np.linspace(0.1, 1.0, 10)
RNG = np.random.default_rng(0)
WARM = 5
LAYERS = [RNG.normal(size=(WIDTH, WIDTH)) / WIDTH for _ in range(3)]
UNFOLLOWED = "custom gradient that nobody differentiates"
BATCH = RNG.normal(size=(4, WIDTH))


class Row(NamedTuple):
    """A call of ours and the framework's own for it, and the most that their ratio may be."""

    title: str
    limit: float
    theirs: Callable[[], Any]
    ours: Callable[[], Any]


def softened(x: Any) -> Any:
    e = wg.exp(x)
    return wg.log(1.0 + e), lambda upstream: upstream * (1.0 - 1.0 / (1.0 + e))


def mlp_of(tanh: Callable[[Any], Any]) -> Callable[..., Any]:
    def loss(x: Any, *layers: Any) -> Any:
        for w in layers:
            x = tanh(x @ w)
        return (x * x).sum()

    return loss


def torch_rows() -> Iterator[Row]:
    import torch

    class Softened(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            e = torch.exp(x)
            ctx.save_for_backward(e)
            return torch.log(1.0 + e)

        @staticmethod
        def backward(ctx: Any, upstream: Any) -> Any:
            (e,) = ctx.saved_tensors
            return upstream * (1.0 - 1.0 / (1.0 + e))

    def back(f: Callable[..., Any], *sources: Any) -> Callable[[], Any]:
        return lambda: torch.autograd.grad(f(*sources).sum(), sources)

    x = torch.tensor(X, requires_grad=True)
    plain = torch.tensor(X)
    layers = [torch.tensor(w, requires_grad=True) for w in LAYERS]
    batch = torch.tensor(BATCH)
    rule, chain = wg.custom_gradient(softened), wg.function(lambda x: wg.sin(x) * wg.exp(x) + x)

    def own_chain(x: Any) -> Any:
        return torch.sin(x) * torch.exp(x) + x

    own_mlp, mlp = mlp_of(torch.tanh), wg.function(mlp_of(wg.tanh))
    yield Row("eager custom gradient", 1.5, back(Softened.apply, x), back(rule, x))
    yield Row(UNFOLLOWED, 1.5, lambda: Softened.apply(plain), lambda: rule(plain))
    yield Row("value of a function", 1.1, lambda: own_chain(plain), lambda: chain(plain))
    yield Row("backward through a function", 1.2, back(own_chain, x), back(chain, x))
    own_layers, our_layers = (lambda *w, f=f: f(batch, *w) for f in (own_mlp, mlp))
    yield Row("backward through an MLP", 1.1, back(own_layers, *layers), back(our_layers, *layers))
    for title, own, our in _kinked():
        yield Row(f"backward through {title}", 1.2, back(own, x), back(wg.function(our), x))
    bridged = wg.from_jax(_jax_sine())
    yield Row("from_jax under torch.func", 1.1, _torch_grad(_by_dlpack(), plain), _torch_grad(bridged, plain))


def _kinked() -> Iterator[tuple[str, Callable[[Any], Any], Callable[[Any], Any]]]:
    """Functions of which torch has each op, its derivative included, as one piece of code."""
    import torch

    yield "sin(relu(x))", lambda x: torch.sin(torch.relu(x)), lambda x: wg.sin(wg.nn.relu(x))
    yield "clip", lambda x: torch.sin(torch.clip(x, 0.3, 0.7)), lambda x: wg.sin(wg.clip(x, 0.3, 0.7))
    yield "where", lambda x: torch.where(x > 0.5, torch.sin(x), x * x), lambda x: wg.where(x > 0.5, wg.sin(x), x * x)
    yield "softmax", lambda x: torch.softmax(x, -1) ** 2, lambda x: wg.nn.softmax(x, axis=-1) ** 2


def _jax_sine() -> Callable[[Any], Any]:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    return jax.jit(lambda x: jnp.sin(x) * x)


def _torch_grad(f: Callable[[Any], Any], x: Any) -> Callable[[], Any]:
    import torch

    return lambda: torch.func.grad(lambda x: f(x).sum())(x)


def _by_dlpack() -> Callable[[Any], Any]:
    """JAX's function as users bridge it by hand: a node whose two halves are compiled by JAX."""
    import jax
    import torch

    function = _jax_sine()
    pull = jax.jit(lambda x, ct: jax.vjp(function, x)[1](ct)[0])

    def there(x: Any) -> Any:
        return jax.dlpack.from_dlpack(x.detach().contiguous())

    class Bridge(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return torch.from_dlpack(function(there(x)))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, ct: Any) -> Any:
            (x,) = ctx.saved_tensors
            return Pull.apply(x, ct)

    class Pull(torch.autograd.Function):
        @staticmethod
        def forward(x: Any, ct: Any) -> Any:
            return torch.from_dlpack(pull(there(x), there(ct)))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, ct: Any) -> Any:
            raise NotImplementedError("second derivatives are not measured")

    return Bridge.apply


def jax_rows() -> Iterator[Row]:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    @jax.custom_vjp
    def own_rule(x: Any) -> Any:
        return jnp.log(1.0 + jnp.exp(x))

    def forward(x: Any) -> Any:
        e = jnp.exp(x)
        return jnp.log(1.0 + e), e

    own_rule.defvjp(forward, lambda e, upstream: (upstream * (1.0 - 1.0 / (1.0 + e)),))
    rule = wg.custom_gradient(softened)
    x, batch, layers = jnp.asarray(X), jnp.asarray(BATCH), [*map(jnp.asarray, LAYERS)]
    sources = (1, 2, 3)
    own = jax.jit(jax.value_and_grad(mlp_of(jnp.tanh), argnums=sources))
    ours = wg.function(wg.value_and_grad(mlp_of(wg.tanh), argnums=sources))

    def of_named(tanh: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
        return lambda named, x: mlp_of(tanh)(x, *named["layers"])

    named = {"layers": layers}
    own_named = jax.jit(jax.value_and_grad(of_named(jnp.tanh)))
    our_named = wg.function(wg.value_and_grad(of_named(wg.tanh)))
    yield Row("eager custom gradient", 1.3, lambda: jax.grad(lambda x: own_rule(x).sum())(x),
              lambda: jax.grad(lambda x: rule(x).sum())(x))  # fmt: skip
    yield Row(UNFOLLOWED, 1.3, lambda: own_rule(x).block_until_ready(), lambda: rule(x).block_until_ready())
    yield Row("function(value_and_grad) of an MLP", 1.2, lambda: own(batch, *layers)[0].block_until_ready(),
              lambda: ours(batch, *layers)[0].block_until_ready())  # fmt: skip
    yield Row("the same, its parameters in a dictionary", 1.2, lambda: own_named(named, batch)[0].block_until_ready(),
              lambda: our_named(named, batch)[0].block_until_ready())  # fmt: skip


def tensorflow_rows() -> Iterator[Row]:
    import tensorflow as tf

    @tf.custom_gradient
    def own_rule(x: Any) -> Any:
        e = tf.exp(x)
        return tf.math.log(1.0 + e), lambda upstream: upstream * (1.0 - 1.0 / (1.0 + e))

    rule = wg.custom_gradient(softened)
    x = tf.constant(X)

    def back(f: Callable[[Any], Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(f(x))
        return tape.gradient(y, x)

    yield Row("eager custom gradient", 1.5, lambda: back(own_rule), lambda: back(rule))
    yield Row(UNFOLLOWED, 1.5, lambda: own_rule(x), lambda: rule(x))


ROWS = {"torch": torch_rows, "jax": jax_rows, "tensorflow": tensorflow_rows}


def measured(framework: str, rounds: int, turn: float) -> Iterator[dict[str, Any]]:
    """What a call of theirs and one of ours takes in each row, as `engines.py` has it of its programs."""
    for row in ROWS[framework]():
        calls = ((framework, row.theirs), (f"wengert on {framework}", row.ours))
        for _, call in calls * WARM:  # or the number of calls in a turn would follow from one that compiles
            call()
        contenders = [harness.Contender(name, "eager", call, _arrays) for name, call in calls]
        times = harness.measure(contenders, turn, rounds, 1e-10, time.process_time)
        yield {"program": row.title, "limit": row.limit, "times": [one._asdict() for one in times]}


def _arrays(found: Any) -> list[np.ndarray[Any, Any]]:
    parts = found if isinstance(found, tuple) else (found,)
    return [np.asarray(x.detach() if hasattr(x, "detach") else x) for x in parts]
