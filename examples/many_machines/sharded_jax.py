"""Rows over eight devices: the compiled gradient of a loss runs where its arrays lie.

pip install '.[jax]'
XLA_FLAGS=--xla_force_host_platform_device_count=8 python examples/many_machines/sharded_jax.py
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import wengert as wg


def loss(w: Any, X: Any) -> Any:
    return wg.mean(wg.log(1 + wg.exp(X @ w)))


def main() -> None:
    mesh = Mesh(np.array(jax.devices()), ("device",))
    X = np.random.default_rng(0).normal(size=(64, 5)).astype(np.float32)
    w = np.linspace(-1, 1, 5, dtype=np.float32)
    rows = jax.device_put(X, NamedSharding(mesh, PartitionSpec("device")))  # each device has its rows
    same = jax.device_put(w, NamedSharding(mesh, PartitionSpec()))  # each has all of w
    gradient = wg.function(wg.grad(loss))
    found = gradient(same, rows)
    np.testing.assert_allclose(found, wg.grad(loss)(w, X), rtol=1e-5, atol=1e-6)  # float32
    program = jax.jit(gradient.to_jax()).lower(same, rows).compile().as_text()
    print(f"{len(jax.devices())} devices, all-reduce in the program: {'all-reduce' in program}")


if __name__ == "__main__":
    main()
