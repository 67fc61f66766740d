"""One of several processes that hold an array together; tests/engines/jax/test_many_machines.py starts them.

Arguments: the number of this process, how many there are, the address of the first. Prints the gradient as JSON.
"""

from __future__ import annotations

import json
import sys

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import wengert as wg

ROWS, WIDTH = 48, 5


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(ROWS, WIDTH)), rng.normal(size=WIDTH)


def loss(w, X):
    return wg.mean(wg.log(1 + wg.exp(X @ w))) + 0.1 * wg.sum(wg.maximum(w, 0.0))


def main() -> None:
    number, count = int(sys.argv[1]), int(sys.argv[2])
    jax.config.update("jax_cpu_collectives_implementation", "gloo")  # this program's own choice
    jax.distributed.initialize(sys.argv[3], num_processes=count, process_id=number)
    mesh = Mesh(np.array(jax.devices()), ("machine",))
    X, w = data()
    mine = X[number * (ROWS // count) : (number + 1) * (ROWS // count)]  # a machine has its own rows only
    rows = jax.make_array_from_process_local_data(NamedSharding(mesh, PartitionSpec("machine")), mine)
    same = jax.make_array_from_process_local_data(NamedSharding(mesh, PartitionSpec()), w)
    gradient = wg.function(wg.grad(loss))
    found = gradient(same, rows)
    hessian = wg.function(wg.hessian(loss))(same, rows)
    text = jax.jit(gradient.to_jax()).lower(same, rows).compile().as_text()
    print(json.dumps({
        "processes": jax.process_count(), "addressable": rows.is_fully_addressable, "all-reduce": "all-reduce" in text,
        "gradient": np.asarray(found.addressable_data(0)).tolist(),
        "hessian": np.asarray(hessian.addressable_data(0)).tolist(),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
