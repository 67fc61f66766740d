"""Programs and single operations among JAX's typed arrays: in a `shard_map` that checks what varies, and on explicit axes.

One program holds what makes types of its own: constants, a rule, a loop, a call of the host.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest

PROGRAM = """
import os

import jax, numpy as np, wengert as wg
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

X, w = np.linspace(0.2, 1.5, 16).reshape(8, 2), np.array([0.3, -0.7])


@wg.custom_gradient
def halved(x):
    return wg.tanh(x), lambda upstream: 0.5 * upstream


def rows(x, w):
    h = wg.fori_loop(0, 3, lambda i, c: halved(c) + x * w, wg.zeros_like(x))
    return wg.where(h > 0.5, h, 1.0) + wg.special.erfcx(x) * np.arange(2.0)


def loss(x, w):
    return wg.sum(rows(x, w) ** 2)


def near(got, want):
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-10)


whole, total, d_both = wg.function(rows), wg.function(loss), wg.grad(loss, argnums=(0, 1))
value, (d_x, d_w) = rows(X, w), d_both(X, w)

# each device has rows; the weights are whole on each, so that their gradient is summed over all of them
devices = jax.make_mesh((4,), ("b",), axis_types=(AxisType.Auto,))
split = dict(mesh=devices, in_specs=(P("b"), P()))
near(jax.jit(jax.shard_map(whole, out_specs=P("b"), **split))(X, w), value)
near(jax.jit(jax.shard_map(jax.grad(total, argnums=1), out_specs=P(), **split))(X, w), d_w)
near(jax.shard_map(wg.grad(loss), out_specs=P("b"), **split)(X, w), d_x)
sums = jax.shard_map(lambda x, w: jax.lax.psum(total(x, w), "b"), out_specs=P(), **split)
near(jax.jit(jax.grad(sums, argnums=1))(X, w), d_w)

# single operations whose insides do not agree on what varies, by themselves or with what is the same on all devices
a, b = X[:, 0] + 0.5, X[:, 1]
among, whole_numbers = b / 2, np.arange(8)
beta_of = lambda a, b, among: wg.sum(wg.special.betainc(a, b, among))
steps = lambda x, w: wg.fori_loop(0, 3, lambda i, c: c * 0.5 + x * w, wg.zeros_like(w))
taken = lambda x, w: wg.cond(x[0] > 1.0, lambda: x * w, lambda: wg.ones(2))


def alone(f, *args, varying=1, out=P("b")):
    specs = (*[P("b")] * varying, *[P()] * (len(args) - varying))
    return jax.jit(jax.shard_map(f, mesh=devices, in_specs=specs, out_specs=out))(*args)


near(alone(wg.special.betainc, a, b, among, varying=3), wg.special.betainc(a, b, among))
for got, want in zip(
    alone(jax.grad(beta_of, argnums=(0, 1, 2)), a, b, among, varying=3), wg.grad(beta_of, argnums=(0, 1, 2))(a, b, among)
):
    near(got, want)
near(alone(wg.numpy.gcd, whole_numbers, np.array([4, 6])), np.gcd(whole_numbers, np.tile([4, 6], 4)))
near(alone(steps, a, w), steps(a, np.tile(w, 4)))
near(alone(taken, a, w), np.concatenate([taken(a[k : k + 2], w) for k in range(0, 8, 2)]))
d_weights = jax.grad(lambda x, w: wg.sum(steps(x, w) ** 2), argnums=1)
near(alone(d_weights, a, w, out=P()), wg.grad(lambda w: wg.sum(steps(a, wg.tile(w, 4)) ** 2))(w))

# XLA lays out what is inside; what has an operand's shape lies as that does
laid_out = jax.make_mesh((2, 2), ("b", "c"), axis_types=(AxisType.Explicit,) * 2)
x = jax.device_put(X, NamedSharding(laid_out, P("b", "c")))
for run in (whole, jax.jit(whole)):
    near(run(x, w), value)
    assert run(x, w).sharding.spec == P("b", "c")
for run in (jax.jit(jax.grad(total, argnums=(0, 1))), wg.function(d_both)):
    for got, want in zip(run(x, w), (d_x, d_w)):
        near(got, want)
    assert run(x, w)[0].sharding.spec == P("b", "c")

# single operations: each of these families has some that JAX refuses on a sharded axis, as it cannot lay out the result
def families(x, i):
    found = [
        x.T @ x, wg.sort(x, axis=0), wg.reshape(x, (4, 4)), x[1:4] * x[:1], x[i], wg.linalg.inv(x[:, :1, None] + 1.0),
        wg.ops.segment_sum(x[:, 0], i, 8),
    ]
    return sum(wg.sum(wg.sin(r)) for r in found)


i = np.array([3, 0, 0, 7, 1, 2, 5, 5])
on_mesh = jax.device_put(i, NamedSharding(laid_out, P("b")))
near(jax.jit(wg.grad(families))(x, on_mesh), wg.grad(families)(X, i))
near(wg.grad(lambda x: wg.sum(x[::2].T @ x[::2]))(x), wg.grad(lambda x: wg.sum(x[::2].T @ x[::2]))(X))
assert wg.sort(x, axis=0).sharding.spec == P("b", "c")
near(wg.tensor(x)[wg.tensor(x) > 0.7].native, X[X > 0.7])

# a function of JAX's in one of ours, traced in the context of one mesh and run again in that of another, and in none
bridged = wg.function(wg.from_jax(lambda x: jax.numpy.sin(x) * x))
slope = lambda x: jax.grad(lambda x: bridged(x).sum())(x)
for context in (laid_out, devices, laid_out):
    with jax.set_mesh(context):
        given = jax.device_put(X, NamedSharding(context, P("b")))
        near(bridged(given), np.sin(X) * X)
        near(slope(given), np.cos(X) * X + np.sin(X))
near(slope(jax.numpy.asarray(X)), np.cos(X) * X + np.sin(X))
print("done", flush=True)
os._exit(0)  # XLA's threads for four devices may end the process with an abort while it exits
"""


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")
def test_typed_arrays() -> None:
    jax = pytest.importorskip("jax")
    if not hasattr(jax, "shard_map") or not hasattr(jax.sharding, "auto_axes"):
        pytest.skip("this JAX has no checked shard_map or no explicit axes")
    told = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "1"}
    flags = os.environ | told | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=flags, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"
