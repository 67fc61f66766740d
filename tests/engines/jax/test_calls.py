"""Calls like the last one go straight to XLA's program; others must not be taken for one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.profiled import python_calls
from tests.support.threads import in_threads
from tests.support.wide_jax import x64

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy

X = np.array([0.3, 0.4], np.float32)


def warm(f: Callable[..., Any], *arguments: Any) -> None:
    for _ in range(3):
        f(*arguments)


@wg.custom_gradient
def tenfold(x: Any) -> Any:
    return x * x, lambda upstream: upstream * x * 10


def test_transforms_after_calls_outside() -> None:
    f, x = wg.function(lambda x: tenfold(x).sum()), jnp.asarray(X)
    warm(f, x)
    for _ in range(2):
        np.testing.assert_allclose(jax.grad(f)(x), 10 * X, rtol=1e-6)
        np.testing.assert_allclose(jax.jit(jax.grad(f))(x), 10 * X, rtol=1e-6)
        np.testing.assert_allclose(jax.vmap(f)(jnp.stack([x, x])), [np.sum(X * X)] * 2, rtol=1e-6)
        np.testing.assert_allclose(jax.jvp(f, (x,), (x,))[1], np.sum(10 * X * X), rtol=1e-6)
        np.testing.assert_allclose(jax.jit(lambda y: f(x) * y)(2.0), 2 * np.sum(X * X), rtol=1e-6)
        warm(f, x)


def test_a_gradient_of_ours_after_calls_outside() -> None:
    f, x = wg.function(lambda x: tenfold(x).sum()), jnp.asarray(X)
    warm(f, x)
    np.testing.assert_allclose(wg.grad(f)(x), 10 * X, rtol=1e-6)
    np.testing.assert_allclose(wg.function(lambda x: f(x) * 2)(x), 2 * np.sum(X * X), rtol=1e-6)


def test_other_shapes_dtypes_and_kinds_after_a_warm_call() -> None:
    f = wg.function(lambda x: wg.exp(x) * 2)
    warm(f, jnp.asarray(X))
    for x in (X[:1], X.astype(np.float16), np.stack([X, X])):
        found = f(jnp.asarray(x))
        assert found.dtype == x.dtype and found.shape == x.shape
        np.testing.assert_allclose(found, np.exp(x) * 2, rtol=2e-3)
    assert type(f(X)) is np.ndarray
    with pytest.raises(TypeError):
        f(jnp.asarray(X), jnp.asarray(X))
    np.testing.assert_allclose(f(jnp.asarray(X)), np.exp(X) * 2, rtol=1e-6)


def test_weak_types_after_strong_ones_and_back() -> None:
    f = wg.function(lambda x: x * 2)
    strong = jnp.asarray(np.float32(1.5))
    weak = jnp.asarray(1.5)
    assert weak.weak_type and not strong.weak_type
    for x in (strong, weak, strong, weak):
        warm(f, x)
        assert float(f(x)) == 3.0 and f(x).dtype == x.dtype


def test_the_64_bit_switch() -> None:
    weights = np.array([1.0 + 1e-12, 3.0])
    for f in (wg.function(lambda x: x * 2), wg.function(lambda x: x * weights)):
        for is_on in (False, True, False, True):
            with x64(is_on):
                x = jnp.asarray(np.array([0.3, 0.4]))
                warm(f, x)
                assert f(x).dtype == x.dtype == (np.float64 if is_on else np.float32)
    f, x = wg.function(lambda x: x * weights), jnp.asarray(X)
    for is_on in (False, True, False, True):
        with x64(is_on):
            warm(f, x)
            assert f(x).dtype == (np.float64 if is_on else np.float32)


def test_what_a_function_reads_is_read_at_each_call() -> None:
    scale, weights, own, held = {"by": 2.0}, np.ones(2, np.float32), [jnp.ones(2)], wg.Variable(np.float32(1.0))
    f = wg.function(lambda x: x * scale["by"] * weights * own[0] * held)
    x = jnp.asarray(X)
    expected = 2 * X
    for change in (
        lambda: None, lambda: scale.update(by=4.0), lambda: weights.__setitem__(slice(None), 5.0),
        lambda: own.__setitem__(0, jnp.full(2, 3.0)), lambda: held.assign(np.float32(0.5)),
    ):  # fmt: skip
        change()
        expected = X * scale["by"] * weights * np.asarray(own[0]) * held.numpy()
        for _ in range(4):
            np.testing.assert_allclose(f(x), expected, rtol=1e-6)


def _captured(kind: str) -> Any:
    return {"numpy": X, "jax": jnp.asarray(X)}[kind]


@pytest.mark.parametrize("kind", ["numpy", "jax"])
def test_a_captured_array_replaced_by_another(kind: str) -> None:
    class Held:
        scale = _captured(kind)

    f, x = wg.function(lambda x: x * Held.scale), jnp.asarray(X)
    for factor in (1.0, 2.0, 3.0):
        Held.scale = _captured(kind) * np.float32(factor)
        for _ in range(4):
            np.testing.assert_allclose(f(x), X * X * factor, rtol=1e-6)
    assert kind == "jax" or f.trace_count == 1
    Held.scale = _captured(kind)[:1]
    for _ in range(4):
        np.testing.assert_allclose(f(x), X * X[:1], rtol=1e-6)


def test_a_captured_array_written_to_in_place() -> None:
    weights = np.ones(2, np.float32)
    f, x = wg.function(wg.grad(lambda x: (x * x * weights).sum())), jnp.asarray(X)
    for factor in (1.0, 2.0, 3.0):
        weights *= factor
        for _ in range(4):
            np.testing.assert_allclose(f(x), 2 * X * weights, rtol=1e-6)


def test_transforms_and_numpys_arrays_beside_captured_arrays() -> None:
    own = jnp.asarray(X)
    f, x = wg.function(lambda x: (tenfold(x) * own).sum()), jnp.asarray(X)
    for _ in range(2):
        warm(f, x)
        np.testing.assert_allclose(jax.grad(f)(x), 10 * X * X, rtol=1e-6)
        np.testing.assert_allclose(jax.jit(f)(x), np.sum(X**3), rtol=1e-6)
        np.testing.assert_allclose(f(X), np.sum(X**3), rtol=1e-6)
        np.testing.assert_allclose(f(X), np.sum(X**3), rtol=1e-6)


def test_a_captured_tracer_is_not_kept() -> None:
    x = jnp.asarray(X)

    def loss(w: Any) -> Any:
        f = wg.function(lambda x: (x * w).sum())
        return f(x) + f(x) + f(x)

    np.testing.assert_allclose(jax.grad(loss)(x), 3 * X, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.grad(loss))(x), 3 * X, rtol=1e-6)


def test_deleted_arrays_raise_as_jax_does() -> None:
    f = wg.function(lambda x: x * 2)
    gone = jnp.asarray(X) + 0
    warm(f, gone)
    gone.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        f(gone)
    np.testing.assert_allclose(f(jnp.asarray(X)), 2 * X)


def test_an_error_of_a_warm_call_names_the_users_line() -> None:
    f = wg.function(lambda x, y: x + y)
    x = jnp.asarray(X)
    warm(f, x, x)
    with pytest.raises(ValueError, match=r"test_calls\.py"):
        f(x, jnp.ones(3))


@pytest.mark.parametrize("kind", ["numpy", "jax"])
def test_threads(kind: str) -> None:
    scale = _captured(kind)
    f = wg.function(lambda x, y: {"sum": x + y * scale, "pair": (x * y, [y])})
    wrong: list[Any] = []

    def run(seed: int) -> None:
        a, b = np.random.default_rng(seed).random((2, 2), np.float32)
        for _ in range(50):
            found = f(jnp.asarray(a), jnp.asarray(b))
            if not np.allclose(found["sum"], a + b * X) or not np.allclose(found["pair"][0], a * b):
                wrong.append(found)

    in_threads(run, 4)
    assert not wrong


DEVICES = """
import jax, numpy as np, wengert as wg
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
jnp, (first, second, *_) = jax.numpy, jax.devices()
weights, own = np.arange(8.0, dtype=np.float32), jnp.arange(8.0)
fs = {"alone": wg.function(lambda x: x * 2), "numpy": wg.function(lambda x: x * weights),
      "jax": wg.function(lambda x: x * own)}
X = np.arange(8.0, dtype=np.float32)
laid_out = jax.make_mesh((4,), ("b",), axis_types=(AxisType.Explicit,))
auto = jax.make_mesh((4,), ("b",), axis_types=(AxisType.Auto,))
places = [first, second, NamedSharding(auto, P("b")), NamedSharding(laid_out, P("b"))]
for name, f in fs.items():
    by = {"alone": 2, "numpy": weights, "jax": np.asarray(own)}[name]
    for place in [*places, *reversed(places)]:
        x = jax.device_put(X, place)
        for _ in range(4):
            found = f(x)
            assert np.array_equal(found, X * by), (name, place)
            assert found.sharding.device_set == x.sharding.device_set, (name, place, found.sharding)
import os
print("right", flush=True)
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(jax.sharding, "AxisType"), reason="this release of JAX has no explicit meshes")
def test_devices_and_meshes() -> None:
    told = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", DEVICES],
        env=os.environ | told | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "right", done.stderr[-3000:]


@pytest.mark.parametrize("kind", ["none", "numpy", "jax"])
def test_the_cost_of_a_warm_call_in_python_calls(kind: str) -> None:
    scale = np.float32(2.0) if kind == "none" else _captured(kind)
    f = wg.function(wg.value_and_grad(lambda x, y: wg.sum(wg.sin(x) * y * scale), argnums=(0, 1)))
    x = jnp.asarray(X)
    warm(f, x, x)
    assert len(python_calls(f, x, x)) <= {"none": 4, "numpy": 16, "jax": 5}[kind]


def test_the_cost_of_parameters_in_a_dictionary_in_python_calls() -> None:
    step = wg.function(wg.value_and_grad(lambda p, x: wg.sum(wg.sin(x @ p["w"][0]) + p["b"])))
    p, x = {"w": [jnp.ones((2, 3), np.float32)], "b": jnp.asarray(X[:1])}, jnp.asarray(X)
    warm(step, p, x)
    assert len(python_calls(step, p, x)) <= 5  # one more than for arrays by themselves
    assert type(step(p, x).grad["w"]) is list


def test_the_cost_of_an_eager_custom_gradient_in_python_calls() -> None:
    own: Any = jax.custom_vjp(lambda x: x * x)
    own.defvjp(lambda x: (x * x, x), lambda x, upstream: (upstream * x * 10,))
    x = jnp.asarray(X)
    ours, theirs = (lambda f=f: jax.grad(lambda x: f(x).sum())(x) for f in (tenfold, own))
    warm(ours)
    warm(theirs)
    np.testing.assert_array_equal(ours(), theirs())
    assert len(python_calls(ours)) - len(python_calls(theirs)) <= 510


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_cotangents_have_the_dtype_and_the_strength_of_their_operand(dtype: str) -> None:
    rule = wg.custom_gradient(lambda x: (x * x, lambda upstream: upstream * 2.0))
    x = jnp.asarray(X, dtype)
    found = jax.grad(lambda x: (rule(x).astype("float32") * 1.5).sum())(x)
    assert found.dtype == x.dtype and not found.weak_type
    np.testing.assert_array_equal(found, np.full(2, 3.0))
    weak = jax.grad(lambda x: rule(x) * 1.5)(jnp.asarray(0.5))
    assert float(weak) == 3.0
