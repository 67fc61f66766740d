"""A loss that is a sum over rows, as Dask tasks: each worker has partitions, and the parts are added where they are.

python examples/many_machines/tasks_dask.py  (after pip install distributed)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from distributed import Client
from processes_numpy import rows, value_and_gradient

import wengert as wg

PARTITIONS = 3


def added(first: Any, *others: Any) -> Any:
    return wg.tree.map(lambda *parts: sum(parts), first, *others)


def main() -> None:
    w = np.linspace(-1, 1, 5)
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        partitions = client.map(rows, range(PARTITIONS))  # they stay where they were made
        for _ in range(3):
            found = client.map(value_and_gradient, [w] * PARTITIONS, partitions)
            value, gradient = client.submit(added, *found).result()
            alone = value_and_gradient(w, np.concatenate([rows(part) for part in range(PARTITIONS)]))
            np.testing.assert_allclose(value, alone.value, rtol=1e-12)
            np.testing.assert_allclose(gradient, alone.grad, rtol=1e-12)
            w = w - 1e-4 * gradient
    print("the same as in one process")


if __name__ == "__main__":
    main()
