"""Calls of the host from compiled programs end, also where XLA has one thread."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest

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
