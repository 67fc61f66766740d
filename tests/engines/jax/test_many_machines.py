"""One compiled gradient over many devices: eight simulated ones, two processes, and NumPy processes that add up.

Each runs in processes of its own: how many devices there are is said before JAX starts.
"""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.paths import ROOT, SUPPORT

needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")

SHARDED = """
import jax, numpy as np, wengert as wg
from jax.sharding import Mesh, NamedSharding, PartitionSpec

mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("rows", "columns"))
rng = np.random.default_rng(0)
X, w, b = rng.normal(size=(64, 6)), rng.normal(size=(6, 4)), rng.normal(size=4)
place = lambda a, *axes: jax.device_put(a, NamedSharding(mesh, PartitionSpec(*axes)))
arrays = place(w, None, "columns"), place(b, "columns"), place(X, "rows")


@wg.custom_gradient
def clipped(x):
    return wg.tanh(x), lambda upstream: wg.clip(upstream, -1e-3, 1e-3)


def loss(w, b, X):
    h = wg.nn.relu(X @ w + b)
    h = wg.fori_loop(0, 3, lambda i, h: clipped(h) + 0.1 * h, h)
    return wg.mean(wg.cond(wg.sum(w) > 0, lambda: h * h, lambda: h))


def same(got, want):
    for a, c in zip(got, want, strict=True):
        assert np.abs(np.asarray(a) - c).max() < 1e-12
        assert len(a.sharding.device_set) == 8


gradient = wg.function(wg.grad(loss, argnums=(0, 1)))
want = wg.grad(loss, argnums=(0, 1))(w, b, X)
same(gradient(*arrays), want)
same(wg.grad(loss, argnums=(0, 1))(*arrays), want)
same(jax.jit(jax.grad(wg.function(loss), argnums=(0, 1)))(*arrays), want)
text = jax.jit(gradient.to_jax()).lower(*arrays).compile().as_text()
assert "all-reduce" in text
assert "f64[16,2]" in text and "f64[64,4]" not in text  # each device has a part of the rows and of the columns
assert wg.tensor(arrays[2]).device == "cpu (8 devices)"
print("done")
"""


def environment(**more: str) -> dict[str, str]:
    return os.environ | {"JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "1", "PYTHONPATH": os.pathsep.join(sys.path), **more}


@needs_jax
def test_eight_devices() -> None:
    flags = environment(XLA_FLAGS="--xla_force_host_platform_device_count=8")
    done = subprocess.run([sys.executable, "-c", SHARDED], env=flags, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def results_of(commands: list[list[str]], seconds: float, **more: str) -> list[Any]:
    """What processes that run at the same time print, as JSON; all end if one fails or time is over."""
    running = [
        subprocess.Popen(c, env=environment(**more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for c in commands
    ]
    try:
        end = time.monotonic() + seconds
        told = [p.communicate(timeout=max(end - time.monotonic(), 1)) for p in running]
    finally:
        for process in running:
            process.kill()
    for process, (_, errors) in zip(running, told, strict=True):
        assert process.returncode == 0, errors
    return [json.loads(printed.strip().splitlines()[-1]) for printed, _ in told]


@needs_jax
def test_two_processes() -> None:
    """Each has its own rows only; both get the gradient of the whole."""
    address = f"127.0.0.1:{free_port()}"
    program = str(SUPPORT / "many_processes.py")
    found = results_of([[sys.executable, program, str(i), "2", address] for i in range(2)], seconds=300, XLA_FLAGS="")
    from_file = importlib.util.spec_from_file_location("many_processes", program)
    assert from_file is not None
    assert from_file.loader is not None
    module = importlib.util.module_from_spec(from_file)
    from_file.loader.exec_module(module)
    X, w = module.data()
    for one in found:
        assert one["processes"] == 2
        assert not one["addressable"]
        assert one["all-reduce"]
        np.testing.assert_allclose(one["gradient"], wg.grad(module.loss)(w, X), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(one["hessian"], wg.hessian(module.loss)(w, X), rtol=1e-12, atol=1e-12)


# -- the scripts of the page "Many machines" -----------------------------------------------------------------------------


def run_example(name: str, **more: str) -> str:
    script = ROOT / "examples" / "many_machines" / f"{name}.py"
    done = subprocess.run(
        [sys.executable, str(script)], env=environment(**more), capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_numpy_processes() -> None:
    assert run_example("processes_numpy") == "the same as in one process\n"


@needs_jax
def test_the_example_on_jax() -> None:
    printed = run_example("sharded_jax", XLA_FLAGS="--xla_force_host_platform_device_count=8")
    assert printed == "8 devices, all-reduce in the program: True\n"


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.skipif(
    importlib.util.find_spec("wengert._engines.torch") is None, reason="the engine of torch is not in this package"
)
def test_data_parallel_torch() -> None:
    assert (
        run_example("data_parallel_torch", GLOO_SOCKET_IFNAME="lo", OMP_NUM_THREADS="1")
        == "the same as in one process\n"
    )


@pytest.mark.parametrize(("engine", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_tasks_of_two_worker_processes(engine: str, package: str) -> None:
    pytest.importorskip(package, reason=f"{package} is not installed")
    assert run_example(f"tasks_{engine}").splitlines()[-1] == "the same as in one process"
