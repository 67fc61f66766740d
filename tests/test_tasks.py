"""Functions of ours as tasks of Dask and Ray, each on two worker processes: gradients of partitions add up to the whole's.

`make test-tasks` installs both in an environment of their own; without them these tests are skipped.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.paths import ROOT

PARTITIONS = 4
W = np.linspace(-1.0, 1.0, 5)
ROWS = np.random.default_rng(7).normal(size=(8 * PARTITIONS, 5))
TOLERANCE = 1e-12

Call = tuple[Callable[..., Any], tuple[Any, ...]]
Tasks = Callable[[list[Call]], list[Any]]  # the results of calls, each of which is a task


@wg.custom_gradient
def softened(x: Any) -> Any:
    """Half of the derivative that it has: a worker that lost the rule would give the whole one."""
    return wg.log1p(wg.exp(x)), lambda upstream: upstream * 0.5 / (1 + wg.exp(-x))


def loss(w: Any, X: Any) -> Any:
    return wg.sum(wg.tanh(X @ w) ** 2)


def looped(w: Any, X: Any) -> Any:
    return wg.sum(wg.fori_loop(0, 3, lambda i, h: softened(h) + X @ w, wg.zeros(len(X))))


compiled = wg.function(wg.grad(looped))
scale_of_rows = wg.vmap(lambda w, x: wg.sin(x @ w) * w[0], in_axes=(None, 0))


def by_code() -> Callable[..., Any]:
    """A gradient that no module holds: it goes as code, with what it closes over."""
    scale = 3.0
    return wg.function(wg.grad(lambda w, X: scale * wg.sum(softened(X @ w))))


# functions of the weights and some rows, whose results for partitions add up to that for all rows
SUMS: dict[str, Callable[[], Callable[..., Any]]] = {
    "a gradient": lambda: wg.grad(loss),
    "value and gradient": lambda: wg.value_and_grad(loss),
    "a function's gradient": lambda: wg.grad(wg.function(loss)),
    "compiled, a loop and a rule": lambda: compiled,
    "a Hessian": lambda: wg.hessian(loss),
    "by code": by_code,
}


def with_dask() -> Iterator[Tasks]:
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:

        def run(calls: list[Call]) -> list[Any]:
            # impure: a task whose result Dask still has would not run again
            return client.gather([client.submit(f, *args, pure=False) for f, args in calls])

        yield run


def with_ray() -> Iterator[Tasks]:
    ray = pytest.importorskip("ray", reason="ray is not installed")
    there = {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": there})

    @ray.remote
    def call(f: Callable[..., Any], *args: Any) -> Any:
        return f(*args)

    yield lambda calls: ray.get([call.remote(f, *args) for f, args in calls])
    ray.shutdown()


@pytest.fixture(scope="module", params=[with_dask, with_ray], ids=["dask", "ray"])
def tasks(request: pytest.FixtureRequest) -> Iterator[Tasks]:
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # no secret is written to the home of who runs tests
    yield from request.param()


def test_tasks_run_elsewhere_on_two_processes(tasks: Tasks) -> None:
    found = {*tasks([(busy_pid, (i,)) for i in range(8)])}
    assert len(found) == 2
    assert os.getpid() not in found


def busy_pid(i: int) -> int:
    """The process of a task that takes long enough for the other worker to take the next."""
    time.sleep(0.3)
    return os.getpid()


@pytest.mark.parametrize("name", SUMS)
def test_results_of_partitions_add_up(tasks: Tasks, name: str) -> None:
    f = SUMS[name]()
    found = tasks([(f, (W, part)) for part in np.split(ROWS, PARTITIONS)])
    total = wg.tree.map(lambda *parts: sum(parts), *found)
    wg.tree.map(
        lambda got, want: np.testing.assert_allclose(got, want, rtol=TOLERANCE, atol=TOLERANCE), total, f(W, ROWS)
    )


def test_rows_of_partitions_stand_side_by_side(tasks: Tasks) -> None:
    found = tasks([(scale_of_rows, (W, part)) for part in np.split(ROWS, PARTITIONS)])
    np.testing.assert_allclose(np.concatenate(found), scale_of_rows(W, ROWS), rtol=TOLERANCE)


def test_a_pullback_comes_back_from_a_task(tasks: Tasks) -> None:
    ((value, pull),) = tasks([(wg.vjp, (loss_of_weights, W))])
    np.testing.assert_allclose(value, loss_of_weights(W), rtol=TOLERANCE)
    np.testing.assert_allclose(pull(1.0)[0], wg.grad(loss_of_weights)(W), rtol=TOLERANCE)


def loss_of_weights(w: Any) -> Any:
    return loss(w, ROWS)


def test_an_error_of_ours_arrives_as_what_it_is(tasks: Tasks) -> None:
    with pytest.raises(wg.DisconnectedError, match="does not depend differentiably"):
        tasks([(wg.grad(constant), (W,))])


def constant(w: Any) -> Any:
    return wg.sum(wg.ones(3))
