"""What a gradient costs as a task of Dask and Ray, for docs/many_machines.md: `python benchmarks/tasks.py`.

Two worker processes on this machine. A step is the gradient of a sum over rows in two partitions, of several sizes, in
one process and as two tasks; a function goes to the workers by its name, or as code, with what it closes over. Times
are the wall's, the least over rounds: what is waited for counts, and other work of the machine only adds.
`make test-tasks` makes an environment that has both.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg

sys.path.insert(0, str(Path(__file__).parent))
PARTS = 2
FEATURES = 50
Run = Callable[[Callable[..., Any], list[tuple[Any, ...]]], list[Any]]  # the results of tasks of one function


@wg.function
def by_name(w: Any, X: Any) -> Any:
    return wg.grad(lambda w: wg.sum(wg.tanh(X @ w) ** 2))(w)


def as_code() -> Callable[..., Any]:
    scale = 1.0
    return wg.function(lambda w, X: wg.grad(lambda w: scale * wg.sum(wg.tanh(X @ w) ** 2))(w))


def rows_of(part: int, count: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(part).normal(size=(count, FEATURES))


def nothing(w: Any, X: Any) -> Any:
    return w


@contextmanager
def dask(tasks: Any) -> Iterator[tuple[Run, Callable[[int, int], Any]]]:
    from distributed import Client

    with Client(n_workers=PARTS, threads_per_worker=1, dashboard_address=None) as client:
        workers = itertools.cycle(client.scheduler_info()["workers"])

        def put(part: int, count: int) -> Any:  # a task goes to where its rows are
            return client.submit(tasks.rows_of, part, count, workers=[next(workers)])

        yield lambda f, calls: client.gather([client.submit(f, *args, pure=False) for args in calls]), put


@contextmanager
def ray(tasks: Any) -> Iterator[tuple[Run, Callable[[int, int], Any]]]:
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    import ray

    ray.init(num_cpus=PARTS, include_dashboard=False, log_to_driver=False)
    made: dict[Any, Any] = {}

    def run(f: Callable[..., Any], calls: list[tuple[Any, ...]]) -> list[Any]:
        if f not in made:
            made[f] = ray.remote(lambda *args: f(*args))
        return ray.get([made[f].remote(*args) for args in calls])

    yield run, lambda part, count: ray.put(tasks.rows_of(part, count))
    ray.shutdown()


def least(call: Callable[[], object], rounds: int) -> float:
    """The seconds of a call that has been made before."""
    call(), call()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description="What a gradient costs as a task of Dask and Ray.")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--rows", default="1000,100000,1000000", help="of both partitions together, with commas")
    options = parser.parse_args()
    import tasks  # by the name under which workers find it

    w = np.linspace(-1, 1, FEATURES)
    for engine in (dask, ray):
        with engine(tasks) as (run, put):
            empty = least(lambda: run(tasks.nothing, [(w, 0)]), options.rounds)
            print(f"{engine.__name__}: a task that does nothing {1e3 * empty:.1f} ms", flush=True)
            for rows in map(int, options.rows.split(",")):
                print(f"{rows:>9,} rows: {step(tasks, run, put, rows // PARTS, options.rounds)}", flush=True)


def step(tasks: Any, run: Run, put: Callable[[int, int], Any], count: int, rounds: int) -> str:
    """What a step on partitions of so many rows takes."""
    w = np.linspace(-1, 1, FEATURES)
    parts = [tasks.rows_of(part, count) for part in range(PARTS)]
    placed = [put(part, count) for part in range(PARTS)]
    code = as_code()

    def summed(f: Callable[..., Any]) -> Any:
        return sum(run(f, [(w, part) for part in placed]))

    alone = least(lambda: sum(tasks.by_name(w, part) for part in parts), rounds)
    named, sent = least(lambda: summed(tasks.by_name), rounds), least(lambda: summed(code), rounds)
    return f"one process {1e3 * alone:.1f} ms, two tasks by name {1e3 * named:.1f} ms, as code {1e3 * sent:.1f} ms"


if __name__ == "__main__":
    main()
