"""`wg.optimize` beside SciPy, formulas and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

import wengert as wg
from wengert import optimize

A, B = np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([1.0, -2.0])


def quartic(x: Any, a: Any, b: Any) -> Any:
    return 0.5 * (x * (a @ x)).sum() - (b * x).sum() + 0.1 * (x**4).sum()


def rosenbrock(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def by_differences(f: Any, x: Any, eps: float = 1e-5) -> Any:
    columns = [(f(x + eps * e) - f(x - eps * e)) / (2 * eps) for e in np.eye(len(x))]
    return np.stack(columns, axis=-1)


METHODS = [
    None, "CG", "BFGS", "L-BFGS-B", "Newton-CG", "TNC", "SLSQP", "trust-ncg", "trust-krylov", "trust-exact", "dogleg",
    "trust-constr", "Nelder-Mead", "Powell", "COBYLA",
]  # fmt: skip

# -- minimize ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_minima_and_their_derivatives(method: Any) -> None:
    def best(a: Any, b: Any) -> Any:
        return optimize.minimize(quartic, np.zeros(2), (a, b), method, tol=1e-9).x

    x = best(A, B)
    np.testing.assert_allclose(A @ x - B + 0.4 * x**3, 0, atol=1e-5)  # the solvers' tolerances
    inverse = np.linalg.inv(A + np.diag(1.2 * x**2))
    np.testing.assert_allclose(wg.jacobian(best, 1)(A, B), inverse, rtol=1e-12)  # at the x found the formula is exact
    np.testing.assert_allclose(wg.jacobian(best, 0)(A, B), -np.einsum(
        "im,mjk->ijk", inverse, 0.5 * (np.einsum("mj,k->mjk", np.eye(2), x) + np.einsum("mk,j->mjk", np.eye(2), x))
    ), rtol=1e-12)  # fmt: skip


def test_second_derivatives() -> None:
    def total(b: Any) -> Any:
        return optimize.minimize(quartic, np.zeros(2), (A, b), "trust-exact", options={"gtol": 1e-13}).x.sum()

    np.testing.assert_allclose(wg.hessian(total)(B), by_differences(wg.grad(total), B), rtol=1e-7)  # of differences
    np.testing.assert_allclose(wg.jvp(total, (B,), (B,))[1], wg.grad(total)(B) @ B, rtol=1e-12)  # another order


def count_calls(monkeypatch: pytest.MonkeyPatch, method: str, start: float = 0.5, **options: Any) -> dict[str, Any]:
    """What SciPy is given by name."""
    seen: dict[str, Any] = {}
    original = scipy.optimize.minimize

    def spy(fun: Any, x0: Any, **keywords: Any) -> Any:
        seen.update(keywords)
        for name in ("hess", "hessp"):
            if keywords.get(name) is not None:

                def counted(*args: Any, _given: Any = keywords[name], _name: str = name) -> Any:
                    seen.setdefault("calls", []).append((_name, result := _given(*args)))
                    return result

                keywords[name] = counted
        return original(fun, x0, **keywords)

    monkeypatch.setattr(scipy.optimize, "minimize", spy)
    seen["result"] = optimize.minimize(rosenbrock, np.full(4, start), method=method, **options)
    return seen


@pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg", "trust-krylov", "trust-constr"])
def test_hessian_products_are_used(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = count_calls(monkeypatch, method)
    assert {name for name, _ in seen["calls"]} == {"hessp"}
    np.testing.assert_allclose(seen["result"].x, np.ones(4), atol=1e-3)  # the solver's tolerance


@pytest.mark.parametrize("method", ["trust-exact", "dogleg"])
def test_hessians_are_used(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = count_calls(monkeypatch, method, start=0.999)  # dogleg wants a positive definite Hessian all along
    assert {name for name, _ in seen["calls"]} == {"hess"}
    np.testing.assert_allclose(seen["result"].x, np.ones(4), atol=1e-3)  # the solver's tolerance


@pytest.mark.parametrize("method", ["Newton-CG", "trust-constr"])
def test_sparse_hessians_are_used(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = count_calls(monkeypatch, method, sparsity="detect")
    assert all(type(found) is sp.csr_array for name, found in seen["calls"] if name == "hess")
    assert {name for name, _ in seen["calls"]} == {"hess"}
    np.testing.assert_allclose(seen["result"].x, np.ones(4), atol=1e-3)  # the solver's tolerance


def test_structures_kinds_and_fields() -> None:
    def fun(z: Any, a: Any) -> Any:
        return ((z["u"] - a) ** 2).sum() + (z["v"] * z["u"].sum() - 1) ** 2 + z["v"] ** 2

    seen: list[Any] = []
    x0 = {"u": np.zeros(2, np.float32), "v": 0.5}
    result = optimize.minimize(fun, x0, (B,), callback=lambda z: seen.append(z))
    assert isinstance(result, scipy.optimize.OptimizeResult)
    assert result.x.keys() == x0.keys() == seen[0].keys()
    assert (result.x["u"].dtype, result.x["u"].shape, np.shape(result.x["v"])) == (np.float32, (2,), ())
    assert result.success
    assert result.jac.shape == (3,)
    tensors = optimize.minimize(fun, x0, (wg.tensor(B),)).x
    assert type(tensors["u"]) is type(tensors["v"]) is wg.Tensor
    x0 = {"u": np.zeros(2), "v": 0.5}
    wg.check_gradients(
        lambda a: optimize.minimize(fun, x0, (a,), "trust-exact", options={"gtol": 1e-13}).x["u"], B, rtol=1e-5
    )


def test_what_the_function_uses_from_outside_counts() -> None:
    v = wg.Variable(3.0, name="v")
    value, grads = wg.variable_grads(lambda: optimize.minimize(lambda x: (x - v) ** 2, 0.0).x * 1.0)
    assert (round(value.item(), 5), grads["v"].item()) == (3.0, 1.0)
    found = wg.grad(lambda a: optimize.minimize(lambda x: (x - a) ** 2, 0.0).x ** 2)(2.0)
    assert found == pytest.approx(4.0, rel=1e-6)  # the solver's tolerance


def test_the_value_at_the_minimum_follows() -> None:
    x = optimize.minimize(quartic, np.zeros(2), (A, B)).x
    found = wg.grad(lambda b: optimize.minimize(quartic, np.zeros(2), (A, b)).fun)(B)
    np.testing.assert_allclose(found, -x, atol=1e-5)  # the envelope theorem, but for the gradient that is left


@pytest.mark.parametrize("method", [None, "TNC", "SLSQP", "trust-constr"])
def test_bounds(method: Any) -> None:
    def best(b: Any, bounds: Any) -> Any:
        return optimize.minimize(quartic, np.zeros(2), (A, b), method, bounds=bounds, tol=1e-10).x

    for bounds in ([(0, None), (0, None)], scipy.optimize.Bounds([0, 0], [np.inf, np.inf])):
        x = best(B, bounds)
        np.testing.assert_allclose(x[1], 0, atol=1e-6)  # the solver's tolerance
        wanted = np.diag([1 / (A[0, 0] + 1.2 * x[0] ** 2), 0])
        np.testing.assert_allclose(wg.jacobian(best)(B, bounds), wanted, atol=1e-6)
    nested = optimize.minimize(
        lambda z: quartic(np.stack([z[0], z[1]]), A, B), (0.0, 0.0), bounds=((0.0, 0.0), (np.inf, np.inf))
    )  # fmt: skip
    np.testing.assert_allclose(nested.x, best(B, [(0, None), (0, None)]), atol=1e-5)  # the solver's tolerance


def test_constraints() -> None:
    def on_line(b: Any, c: Any) -> Any:
        constraint = {"type": "eq", "fun": lambda x, c: x.sum() - c, "args": (c,)}
        return optimize.minimize(quartic, np.zeros(2), (A, b), constraints=constraint, tol=1e-12).x

    c = np.array([1.0])
    np.testing.assert_allclose(wg.jacobian(on_line)(B, c), by_differences(lambda b: on_line(b, c), B), rtol=1e-5)
    np.testing.assert_allclose(wg.jacobian(on_line, 1)(B, c), by_differences(lambda c: on_line(B, c), c), rtol=1e-5)

    def in_disk(b: Any) -> Any:
        inside = {"type": "ineq", "fun": lambda x: 1 - (x**2).sum()}
        return optimize.minimize(quartic, np.full(2, 0.1), (A, b), "SLSQP", constraints=[inside], tol=1e-15).x

    outer = np.array([4.0, -3.0])
    np.testing.assert_allclose(wg.jacobian(in_disk)(outer), by_differences(in_disk, outer, 1e-3), rtol=1e-2)  # SLSQP's
    np.testing.assert_allclose(np.linalg.norm(in_disk(outer)), 1, atol=1e-6)
    assert np.linalg.norm(in_disk(B / 9)) < 1  # not active: as without
    np.testing.assert_allclose(
        wg.jacobian(in_disk)(B / 9), wg.jacobian(lambda b: optimize.minimize(quartic, np.zeros(2), (A, b)).x)(B / 9),
        rtol=1e-4,  # two solvers' tolerances
    )  # fmt: skip

    def by_object(b: Any, constraint: Any) -> Any:
        return optimize.minimize(quartic, B + 2, (A, b), "trust-constr", constraints=constraint, tol=1e-11).x

    for constraint in (
        scipy.optimize.LinearConstraint(np.ones((1, 2)), 1, 1),
        scipy.optimize.NonlinearConstraint(lambda x: x.sum() ** 3, 1, 1),
    ):
        np.testing.assert_allclose(wg.jacobian(by_object)(B, constraint), wg.jacobian(on_line)(B, c), atol=1e-6)


# -- least_squares ----------------------------------------------------------------------------------------------------

T = np.linspace(0, 1, 12)
Y = 2 * np.exp(-1.3 * T) + 0.1 * np.sin(30 * T)


def decay(p: Any, y: Any) -> Any:
    return p["a"] * np.exp(-T * p["k"]) - y


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm", None])
@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy"])
def test_fits_and_their_derivatives(method: Any, loss: str) -> None:
    if method == "lm" and loss != "linear":
        with pytest.raises(ValueError, match="lm"):
            optimize.least_squares(decay, {"a": 1.0, "k": 1.0}, (Y,), method, loss=loss)
        return
    tight = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15, "max_nfev": 400}

    def rate(y: Any) -> Any:
        return optimize.least_squares(decay, {"a": 2.0, "k": 1.3}, (y,), method, loss=loss, f_scale=0.3, **tight).x["k"]

    np.testing.assert_allclose(wg.grad(rate)(Y), by_differences(rate, Y, 1e-4), atol=2e-4)  # of differences


def test_least_squares_fields_bounds_and_cost() -> None:
    result = optimize.least_squares(
        decay, {"a": 1.0, "k": 1.0}, (Y,), bounds=({"a": 0.0, "k": 0.0}, {"a": 1.5, "k": 9})
    )
    assert result.x["a"] == pytest.approx(1.5, abs=1e-6)  # trf stays inside
    assert result.jac.shape == (12, 2)

    def fitted(y: Any) -> Any:
        return optimize.least_squares(
            decay, {"a": 1.0, "k": 1.0}, (y,), "dogbox", bounds=({"a": 0.0, "k": 0.0}, {"a": 1.5, "k": 9.0})
        )  # fmt: skip

    assert np.all(wg.grad(lambda y: fitted(y).x["a"])(Y) == 0)
    found = wg.grad(lambda y: fitted(y).cost)(Y)
    x = fitted(Y).x
    np.testing.assert_allclose(found, -(x["a"] * np.exp(-T * x["k"]) - Y), atol=1e-5)  # the envelope theorem


def test_sparse_jacobians_go_to_least_squares() -> None:
    def residuals(x: Any) -> Any:
        return np.concatenate([10 * (x[1:] - x[:-1] ** 2), 1 - x[:-1]])

    for given in ("detect", wg.sparsity(residuals)(np.ones(500))):
        result = optimize.least_squares(residuals, np.full(500, 0.9), sparsity=given)
        assert sp.issparse(result.jac)
        np.testing.assert_allclose(result.x, 1, atol=1e-6)  # the solver's tolerance


# -- root -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [None, "hybr", "lm", "broyden1"])
def test_roots_and_their_derivatives(method: Any) -> None:
    def cube_root(a: Any) -> Any:
        return optimize.root(lambda x, a: x**3 - a, np.ones(2), (a,), method, tol=1e-10).x

    a = np.array([2.0, 3.0])
    np.testing.assert_allclose(cube_root(a), a ** (1 / 3), rtol=1e-8)  # the solvers' tolerances
    np.testing.assert_allclose(wg.jacobian(cube_root)(a), np.diag(a ** (-2 / 3) / 3), rtol=1e-7)
    second = wg.hessian(lambda a: cube_root(a).sum())(a)
    np.testing.assert_allclose(second, np.diag(-2 / 9 * a ** (-5 / 3)), rtol=1e-6, atol=1e-12)


def test_the_jacobian_is_supplied_to_root() -> None:
    result = optimize.root(lambda x: x**2 - 2, np.array([1.0]))
    assert result.njev >= 1
    assert "fjac" in result


# -- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("x0", [[3, 4], np.array([3, 4]), np.array([3, 4], np.uint8)])
def test_a_start_of_integers_counts_as_floats(x0) -> None:
    found = optimize.minimize(lambda x: ((x - 0.5) ** 2).sum(), x0)
    np.testing.assert_allclose(found.x, [0.5, 0.5], atol=1e-6)
    assert found.x.dtype == np.float64
    assert optimize.root(lambda x: x**2 - 2, np.int64(1)).x == pytest.approx(2**0.5)
    np.testing.assert_allclose(optimize.least_squares(lambda x: x - 0.5, x0).x, [0.5, 0.5], atol=1e-6)


def test_errors() -> None:
    with pytest.raises(TypeError, match="must be callable"):
        optimize.minimize(3, np.zeros(2))
    with pytest.raises(TypeError, match="not floating"):
        optimize.minimize(rosenbrock, np.array([True, False]))
    with pytest.raises(TypeError, match="complex"):
        optimize.minimize(rosenbrock, np.array([1j, 2]))
    with pytest.raises(ValueError, match="must return a scalar"):
        optimize.minimize(lambda x: x, np.zeros(2))
    with pytest.raises(wg.TracingError, match="use wg.custom_root"):
        wg.function(lambda b: optimize.minimize(quartic, np.zeros(2), (A, b)).x)(B)
    with pytest.raises(ValueError, match="Newton-CG and trust-constr"):
        optimize.minimize(rosenbrock, np.ones(3), method="BFGS", sparsity="detect")
    with pytest.raises(ValueError, match="type 'eq' or 'ineq'"):
        optimize.minimize(rosenbrock, np.ones(3), constraints={"type": "equal", "fun": np.sum})
    with pytest.raises(ValueError, match="1 pairs of bounds for 3 unknowns"):
        optimize.minimize(rosenbrock, np.ones(3), bounds=[(0, 1)])
    with pytest.raises(ValueError, match="unknown loss"):
        optimize.least_squares(lambda x: x, np.ones(3), loss="absolute")
    with pytest.raises(TypeError, match="the Jacobian is exact"):
        optimize.least_squares(lambda x: x, np.ones(3), jac="3-point")
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        wg.grad(lambda a: optimize.minimize(lambda x: (x[0] - a) ** 2, np.zeros(2)).x[0])(1.0)
    with pytest.raises(ValueError, match="wanted as many as x, 2"):
        wg.grad(lambda a: optimize.root(lambda x: np.stack([x[0], x[1], a]), np.zeros(2), method="lm").x.sum())(0.0)
