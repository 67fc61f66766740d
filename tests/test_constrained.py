"""Constrained minimisation: sparse derivatives that come by themselves, and Ipopt by cyipopt's interface."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

import wengert as wg
from wengert import optimize

N = 40
X0 = np.linspace(0.2, 0.8, N)
GOAL = np.linspace(0.0, 1.0, N)


def cost(x: Any, goal: Any = GOAL) -> Any:
    return ((x - goal) ** 2).sum() + 0.1 * (x[1:] * x[:-1]).sum()


def bent(x: Any) -> Any:
    """One constraint for each tenth of the chain."""
    return 0.1 * x[::10] ** 2 + x[1::10] - 0.5


def by_values(x: Any) -> Any:
    """Cannot be traced: it asks for a number."""
    assert np.isfinite(wg.stop_gradient(x).numpy().sum())
    return bent(x)


def solution(goal: Any = GOAL) -> Any:
    """Newton's method on the conditions of the optimum, by plain NumPy."""
    x, weights = X0.copy(), np.zeros(4)
    coupling = 0.1 * (np.eye(N, k=1) + np.eye(N, k=-1))
    for _ in range(30):
        slopes = np.zeros((4, N))
        slopes[np.arange(4), np.arange(0, N, 10)] = 0.2 * x[::10]
        slopes[np.arange(4), np.arange(1, N, 10)] = 1
        curvature = 2 * np.eye(N) + coupling
        curvature[np.arange(0, N, 10), np.arange(0, N, 10)] += 0.2 * weights
        gradient = 2 * (x - goal) + coupling @ x + slopes.T @ weights
        whole = np.block([[curvature, slopes.T], [slopes, np.zeros((4, 4))]])
        step = np.linalg.solve(whole, -np.concatenate([gradient, 0.1 * x[::10] ** 2 + x[1::10] - 0.5]))
        x, weights = x + step[:N], weights + step[N:]
    return x


def given_to_scipy(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What SciPy's `minimize` is called with."""
    seen: dict[str, Any] = {}
    original = scipy.optimize.minimize

    def noting(*args: Any, **kwargs: Any) -> Any:
        seen.update(kwargs)
        return original(*args, **kwargs)

    monkeypatch.setattr(scipy.optimize, "minimize", noting)
    return seen


@pytest.mark.parametrize("constraint", [{"type": "eq", "fun": bent}, scipy.optimize.NonlinearConstraint(bent, 0, 0)])
def test_trust_constr_gets_sparse_matrices(constraint: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = given_to_scipy(monkeypatch)
    sparse_one = scipy.optimize.LinearConstraint(sp.csr_array(np.eye(N)), -9.0, 9.0)
    found = optimize.minimize(cost, X0, method="trust-constr", constraints=[constraint, sparse_one], tol=1e-8)
    np.testing.assert_allclose(found.x, solution(), atol=1e-5)  # the solver's tolerance
    (made, linear) = seen["constraints"]
    assert linear is sparse_one
    assert sp.issparse(made.jac(X0))
    assert sp.issparse(made.hess(X0, np.ones(4)))
    assert sp.issparse(seen["hess"](X0))
    np.testing.assert_allclose(made.jac(X0).toarray(), wg.jacobian(bent)(X0), rtol=1e-13)
    np.testing.assert_allclose(seen["hess"](X0).toarray(), wg.hessian(cost)(X0), rtol=1e-13)


def test_slsqp_gets_arrays_and_untraceable_ones_are_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = given_to_scipy(monkeypatch)
    found = optimize.minimize(cost, X0, constraints={"type": "eq", "fun": bent}, tol=1e-10)
    np.testing.assert_allclose(found.x, solution(), atol=1e-4)  # the solver's tolerance
    assert type(seen["constraints"][0]["jac"](X0)) is np.ndarray
    found = optimize.minimize(cost, X0, method="trust-constr", constraints={"type": "eq", "fun": by_values}, tol=1e-8)
    np.testing.assert_allclose(found.x, solution(), atol=1e-5)  # the solver's tolerance
    assert type(seen["constraints"][0].jac(X0)) is np.ndarray


class FakeProblem:
    """cyipopt's `Problem`: Newton's method for equations, by what the object given says of the problem."""

    last: Any = None  # that was solved

    def __init__(self, n: int, m: int, problem_obj: Any, lb: Any, ub: Any, cl: Any, cu: Any) -> None:
        assert (len(lb), len(ub), len(cl), len(cu)) == (n, n, m, m)
        np.testing.assert_array_equal(cl, cu)
        self.n, self.m, self.asked, self.target, self.bounds = n, m, problem_obj, cl, (lb, ub)
        self.options: dict[str, Any] = {}

    def add_option(self, name: str, value: Any) -> None:
        self.options[name] = value

    def _matrices(self, x: Any, weights: Any) -> tuple[Any, Any]:
        slopes, curvature = np.zeros((self.m, self.n)), np.zeros((self.n, self.n))
        slopes[self.asked.jacobianstructure()] = self.asked.jacobian(x)
        rows, columns = self.asked.hessianstructure()
        assert np.all(rows >= columns)
        values = self.asked.hessian(x, weights, 1.0)
        curvature[rows, columns] = curvature[columns, rows] = values
        return slopes, curvature

    def solve(self, x: Any) -> tuple[Any, dict[str, Any]]:
        weights, stopped = np.zeros(self.m), False
        for step in range(self.options.get("max_iter", 20)):
            slopes, curvature = self._matrices(x, weights)
            residual = self.asked.constraints(x) - self.target
            gradient = self.asked.gradient(x) + slopes.T @ weights
            whole = np.block([[curvature, slopes.T], [slopes, np.zeros((self.m, self.m))]])
            change = np.linalg.solve(whole, -np.concatenate([gradient, residual]))
            x, weights = x + change[: self.n], weights + change[self.n :]
            value = self.asked.objective(x)
            stopped = not self.asked.intermediate(0, step, value, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0)
            if stopped:
                break
        message = b"stopped" if stopped else b"solved"
        FakeProblem.last = self
        return x, {"status": 5 if stopped else 0, "status_msg": message, "obj_val": self.asked.objective(x)}


@pytest.fixture
def ipopt(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("cyipopt")
    module.Problem = FakeProblem
    monkeypatch.setitem(sys.modules, "cyipopt", module)


@pytest.mark.parametrize("function", [bent, by_values])
def test_ipopt(function: Any, ipopt: None) -> None:
    def best(goal: Any) -> Any:
        constraints = {"type": "eq", "fun": function}
        options = {"maxiter": 12, "mu_strategy": "adaptive"}
        return optimize.minimize(
            cost, X0, (goal,), "IPOPT", constraints=constraints, bounds=[(None, 5)] * N, tol=1e-9, options=options
        )

    result = best(GOAL)
    assert isinstance(result, scipy.optimize.OptimizeResult)
    assert (result.success, result.message, result.nit) == (True, "solved", 11)
    np.testing.assert_allclose(result.x, solution(), atol=1e-9)
    last: Any = FakeProblem.last
    assert last.options == {"sb": "yes", "print_level": 0, "tol": 1e-9, "max_iter": 12, "mu_strategy": "adaptive"}
    assert (last.bounds[0][0], last.bounds[1][0]) == (-2e19, 5)
    if function is bent:
        assert len(last.asked.jacobianstructure()[0]) == 8
        assert len(last.asked.hessianstructure()[0]) == 2 * N - 1
        slope = wg.grad(lambda goal: best(goal).x[3])(GOAL)
        by_difference = (solution(GOAL + 1e-6 * np.eye(N)[3])[3] - solution(GOAL - 1e-6 * np.eye(N)[3])[3]) / 2e-6
        np.testing.assert_allclose(slope[3], by_difference, rtol=1e-5)


def test_ipopt_without_constraints_in_a_structure_with_a_callback_that_stops(ipopt: None) -> None:
    seen: list[Any] = []

    def stops(z: Any) -> None:
        seen.append(z)
        if len(seen) == 2:
            raise StopIteration

    fun = lambda z: (z["u"] ** 4).sum() + (z["v"] - 1) ** 2
    result = optimize.minimize(fun, {"u": np.ones(2), "v": 0.5}, method="ipopt", callback=stops)
    assert (result.success, result.message, result.nit, len(seen)) == (False, "stopped", 1, 2)
    assert seen[0].keys() == result.x.keys() == {"u", "v"}
    np.testing.assert_allclose(result.x["v"], 1.0)


def test_ipopt_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cyipopt", None)
    with pytest.raises(ModuleNotFoundError, match="conda install -c conda-forge cyipopt"):
        optimize.minimize(cost, X0, method="ipopt")
