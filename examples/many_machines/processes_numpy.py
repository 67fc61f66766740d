"""A loss that is a sum over rows, added up over processes: values and gradients of parts are just added.

python examples/many_machines/processes_numpy.py
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

import wengert as wg

WORKERS = 2


def rows(part: int) -> np.ndarray[Any, Any]:
    """The rows of one part; a real program reads its own file here."""
    return np.random.default_rng(part).normal(size=(1000, 5))


@wg.function
def value_and_gradient(w: Any, X: Any) -> Any:
    return wg.value_and_grad(lambda w: wg.log(1 + wg.exp(X @ w)).sum())(w)


def of_a_part(w: np.ndarray[Any, Any], part: int) -> Any:
    return value_and_gradient(w, rows(part))


def main() -> None:
    w = np.linspace(-1, 1, 5)
    # "spawn": each worker begins with an interpreter of its own
    with ProcessPoolExecutor(WORKERS, multiprocessing.get_context("spawn")) as pool:
        found = [*pool.map(of_a_part, [w] * WORKERS, range(WORKERS))]
    value, gradient = sum(v for v, _ in found), sum(g for _, g in found)
    alone = value_and_gradient(w, np.concatenate([rows(part) for part in range(WORKERS)]))
    np.testing.assert_allclose(value, alone.value, rtol=1e-12)
    np.testing.assert_allclose(gradient, alone.grad, rtol=1e-12)
    print("the same as in one process")


if __name__ == "__main__":
    main()
