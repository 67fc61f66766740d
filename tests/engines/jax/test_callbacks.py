"""Calls of the host from compiled programs end, also where XLA has one thread."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

import wengert as wg

PROGRAM = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import jax, jax.numpy as jnp, numpy as np, wengert as wg

loss = lambda x: wg.sum(wg.special.erfcx(x) * x)
eager, compiled = wg.function(wg.grad(loss)), jax.jit(jax.grad(wg.function(loss)))
x = np.linspace(0.1, 1.0, 100_000)
want = wg.grad(loss)(2 * x)
for gradient in (eager, compiled):
    for _ in range(3):
        late = jnp.asarray(x) * (jnp.ones((300, 300)) @ jnp.ones((300, 300))).sum() * (2 / 300**3)
        found = gradient(late)
    np.testing.assert_allclose(found, want, rtol=1e-10)
print("done")
"""


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system cannot bind a process to one core")
def test_calls_of_the_host_on_one_core() -> None:
    flags = os.environ | {"JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=flags, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"


@pytest.mark.parametrize("name", ["user_checks", "all_checks"])
def test_checkify_passes_through(name: str) -> None:
    """Programs, rules and calls of the host compute in it what they compute without, and checks around them are kept."""
    checkify = pytest.importorskip("jax.experimental.checkify", reason="jax is not installed")
    import jax
    import jax.numpy as jnp

    with_rule = wg.custom_gradient(lambda x: (wg.tanh(x), lambda upstream: 0.5 * upstream))
    loss = wg.function(lambda x: wg.sum(with_rule(wg.special.erfcx(x)) * wg.special.betainc(x, 2.0, 0.3 * x)))
    x = np.linspace(0.5, 1.5, 4)
    want = wg.grad(loss)(x)

    def checked(x: jax.Array) -> jax.Array:
        checkify.check(x[0] < 1.0, "too large")
        return jax.grad(loss)(x)

    for compiled in (lambda f: f, jax.jit):  # errors that stand in a program wait until they are asked for
        run = compiled(checkify.checkify(checked, errors=getattr(checkify, name)))
        error, found = run(jnp.asarray(x))
        error.throw()
        np.testing.assert_allclose(found, want, rtol=1e-5)
        assert "too large" in run(jnp.asarray(x + 1.0))[0].get()


@pytest.mark.parametrize("is_jitted", [False, True], ids=["eager", "jitted"])
def test_checkify_sees_nan_in_programs(is_jitted: bool) -> None:
    checkify = pytest.importorskip("jax.experimental.checkify", reason="jax is not installed")
    import jax
    import jax.numpy as jnp

    root = wg.function(lambda x: wg.sum(wg.sqrt(x) * wg.special.betainc(x, 2.0, 0.3)))
    compiled = jax.jit if is_jitted else lambda f: f
    for f in (lambda x: root(x), jax.grad(lambda x: root(x)), lambda x: root(x) * wg.special.erfcx(x)):
        run = compiled(checkify.checkify(f, errors=checkify.nan_checks))
        assert run(jnp.asarray([0.5, 1.5]))[0].get() is None
        assert "nan generated" in run(jnp.asarray([-0.5, 1.5]))[0].get()
