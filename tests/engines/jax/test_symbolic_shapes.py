"""Programs for JAX's symbolic extents, with their gradients: `jax.export` and, by `jax2tf`, the export of Keras models."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.plain_calls import PLAIN
from tests.support.wide_jax import x64

jax = pytest.importorskip("jax", reason="JAX is not installed")
export = pytest.importorskip("jax.export")
jnp = jax.numpy

W = np.linspace(-0.3, 0.4, 9).reshape(3, 3)


@wg.custom_gradient
def product(x: Any, w: Any) -> Any:
    y = wg.tanh(x @ w)

    def rule(upstream: Any) -> Any:
        slope = 2 * upstream * (1 - y * y)
        return slope @ wg.transpose(w), wg.transpose(x) @ slope

    return y, rule


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "custom gradient": product,
    "loop": lambda x, w: wg.fori_loop(0, 3, lambda _, c: wg.tanh(c @ w), x),
    "loop in fixed memory": lambda x, w: wg.fori_loop(0, 30, lambda _, c: wg.tanh(c @ w), x, checkpoint=4),
    "while loop": lambda x, w: wg.while_loop(lambda c: wg.sum(c) < 20.0, lambda c: (c * 1.5 + wg.sum(w) ** 2,), (x,))[0],
    "scan": lambda x, w: wg.scan(lambda c, t: (wg.tanh(c @ w + t), c), x, np.ones((4, 3)))[1],
    "branch": lambda x, w: wg.cond(wg.sum(x) > 0, lambda: x @ w, lambda: x),
    "recomputation": wg.recompute_grad(lambda x, w: wg.tanh(x @ w)),
    "means and deviations": lambda x, w: (x - wg.mean(x, axis=0)) / wg.std(x, axis=0) @ w,
    "numbers of rows": lambda x, w: x @ w * x.shape[0] + wg.arange(x.shape[0])[:, None],
    "shapes": lambda x, w: wg.reshape(x, (-1,))[::-1] * wg.broadcast_to(wg.sum(w), (x.size,)) + wg.zeros(x.shape[:1])[0],
    "diagonal": lambda x, w: x @ w * wg.sum(wg.numpy.diagonal(x)),
    "softplus": lambda x, w: wg.nn.softplus(x @ w),
    "random numbers": lambda x, w: x * wg.random.uniform(wg.random.key(0), x.shape) @ w,
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_exported_and_run_at_any_size(name: str) -> None:
    with x64(True):
        f = PROGRAMS[name] if name in ("custom gradient", "recomputation") else wg.function(PROGRAMS[name])
        run = jax.value_and_grad(lambda x, w: (f(x, w) ** 2).sum(), (0, 1))
        rows = jax.ShapeDtypeStruct(export.symbolic_shape("rows, 3"), jnp.float64)
        made = export.export(jax.jit(run))(rows, jax.ShapeDtypeStruct((3, 3), jnp.float64))
        for size in (1, 4) if name != "means and deviations" else (2, 4):
            x = np.sin(np.arange(3.0 * size)).reshape(size, 3) + 0.5
            wanted = wg.value_and_grad(lambda x, w: wg.sum(f(x, w) ** 2), (0, 1))(x, W)
            for got, want in zip(jax.tree.leaves(made.call(x, W)), jax.tree.leaves(wanted), strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


X = np.linspace(0.1, 0.9, 12, dtype=np.float32).reshape(4, 3)


def _elementwise() -> dict[str, Callable[..., Any]]:
    """Our functions of one or two arrays that give an array of floats of their shape, by name."""
    found: dict[str, Callable[..., Any]] = {}
    for module in (wg.ops, wg.special):
        for name in module.__all__:
            f = getattr(module, name)
            try:
                needed = [p for p in inspect.signature(f).parameters.values() if p.default is p.empty]
                with np.errstate(all="ignore"):
                    y = f(*[X] * len(needed)) if len(needed) in (1, 2) else None
            except Exception:  # which takes something else than arrays
                continue
            if type(y) is np.ndarray and y.shape == X.shape and y.dtype == X.dtype and y is not X:
                found[f"{module.__name__.split('.')[-1]}.{name}"] = f
    return found


ELEMENTWISE = _elementwise()
# these take constants, or give arrays of NumPy's; take rows apart, or write one array of so many rows into another
NOT_FOR_SYMBOLS = {"ops.convert_to_numpy", "ops.roll", "ops.stack", "ops.vstack", "ops.slice_scatter"}


@pytest.mark.parametrize("name", sorted(ELEMENTWISE.keys() - NOT_FOR_SYMBOLS))
def test_elementwise_for_any_number_of_rows(name: str) -> None:
    f = ELEMENTWISE[name]
    needed = sum(p.default is p.empty for p in inspect.signature(f).parameters.values())
    rows = jax.ShapeDtypeStruct(export.symbolic_shape("rows, 3"), jnp.float32)
    found = jax.eval_shape(wg.function(f), *[rows] * needed)
    assert (found.shape, found.dtype) == (rows.shape, rows.dtype)


@pytest.mark.parametrize("name", PLAIN)
def test_functions_called_alone_for_any_size(name: str) -> None:
    """Most of them compute with sizes, which are none of ours there."""
    f = PLAIN[name]
    made = export.export(jax.jit(f))(jax.ShapeDtypeStruct(export.symbolic_shape("n"), jnp.float32))
    for size in (2, 5):
        x = np.linspace(0.5, 3.0, size).astype("float32")
        np.testing.assert_allclose(made.call(x), f(x), rtol=1e-4)


def test_what_the_host_computes_is_refused() -> None:
    with pytest.raises(TypeError, match=r"on the host.*jax\.export"):
        export.export(jax.jit(wg.function(wg.special.erfcx)))(
            jax.ShapeDtypeStruct(export.symbolic_shape("n"), jnp.float32)
        )


def test_what_is_wrong_in_a_call_for_any_size_is_told() -> None:
    with pytest.raises(ValueError, match="axis 3 is out of bounds"):
        export.export(jax.jit(lambda x: wg.mean(x, axis=3)))(
            jax.ShapeDtypeStruct(export.symbolic_shape("n"), jnp.float32)
        )
