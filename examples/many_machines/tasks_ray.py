"""A loss that is a sum over rows, as Ray tasks: each takes a partition from the store that a machine's processes share.

python examples/many_machines/tasks_ray.py  (after pip install ray)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import ray
from processes_numpy import rows, value_and_gradient

PARTITIONS = 3


@ray.remote
def of_a_part(w: Any, X: Any) -> Any:
    return value_and_gradient(w, X)


def main() -> None:
    w = np.linspace(-1, 1, 5)
    ray.init(num_cpus=2, include_dashboard=False)
    partitions = [ray.put(rows(part)) for part in range(PARTITIONS)]
    for _ in range(3):
        found = ray.get([of_a_part.remote(w, X) for X in partitions])
        value, gradient = sum(v for v, _ in found), sum(g for _, g in found)
        alone = value_and_gradient(w, np.concatenate([rows(part) for part in range(PARTITIONS)]))
        np.testing.assert_allclose(value, alone.value, rtol=1e-12)
        np.testing.assert_allclose(gradient, alone.grad, rtol=1e-12)
        w = w - 1e-4 * gradient
    ray.shutdown()
    print("the same as in one process")


if __name__ == "__main__":
    main()
