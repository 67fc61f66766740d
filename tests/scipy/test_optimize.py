"""`wengert.scipy.optimize`: solutions are SciPy's, and follow what their equations depend on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize

import wengert as wg
from tests.scipy.against import agrees_with_scipy
from tests.support.scipy_rows import check_slope
from wengert.scipy import optimize


def cubic(x: Any, a: Any) -> Any:
    return x**3 + x - a


@pytest.mark.parametrize("name", ["brentq", "brenth", "ridder", "bisect", "toms748"])
def test_roots_in_a_bracket(name: str) -> None:
    slope = wg.grad(lambda a: getattr(optimize, name)(cubic, 0.0, 3.0, (a,)))(2.0)
    np.testing.assert_allclose(slope, 0.25, rtol=1e-9)  # at x = 1
    captured = wg.grad(lambda a: getattr(optimize, name)(lambda x: cubic(x, a), 0, 3, full_output=True)[1].root)(2.0)
    np.testing.assert_allclose(captured, 0.25, rtol=1e-9)
    assert getattr(optimize, name)(cubic, 0.0, 3.0, (2.0,)) == getattr(scipy.optimize, name)(cubic, 0.0, 3.0, (2.0,))


def test_newton_and_root_scalar() -> None:
    np.testing.assert_allclose(wg.grad(lambda a: optimize.newton(cubic, 0.5, args=(a,)))(2.0), 0.25, rtol=1e-7)
    many = wg.grad(lambda a: optimize.newton(cubic, np.full(3, 0.5), args=(a,)).sum())(np.array([2.0, 10.0, 30.0]))
    np.testing.assert_allclose(many, 1 / (3 * np.array([1.0, 4.0, 9.0]) + 1), rtol=1e-7)
    for options in ({"bracket": (0, 3)}, {"x0": 0.5}, {"x0": 0.5, "x1": 0.7}, {"x0": 0.5, "method": "halley"}):
        found = wg.grad(lambda a, options=options: optimize.root_scalar(cubic, (a,), **options).root)(2.0)
        np.testing.assert_allclose(found, 0.25, rtol=1e-7)
    np.testing.assert_allclose(wg.grad(wg.grad(lambda a: optimize.brentq(cubic, 0, 3, (a,))))(2.0), -6 / 64, rtol=1e-8)


def test_fsolve_and_root_of_lists() -> None:
    def system(x, a):
        return [x[0] ** 2 + x[1] - a, x[0] - x[1]]

    x = (np.sqrt(13.0) - 1) / 2  # of x^2 + x = 3
    for solve in (lambda a: optimize.fsolve(system, [1.0, 1.0], a), lambda a: optimize.root(system, [1, 1], (a,)).x):
        np.testing.assert_allclose(wg.grad(lambda a, solve=solve: solve(a)[0])(3.0), 1 / (2 * x + 1), rtol=1e-7)
    found = wg.value_and_grad(lambda a: optimize.fsolve(system, [1.0, 1.0], a, full_output=True)[0].sum())(3.0)
    np.testing.assert_allclose(found, (2 * x, 2 / (2 * x + 1)), rtol=1e-7)


def test_minima() -> None:
    def valley(x, a):
        return (x[0] - a) ** 2 + 10 * (x[1] - x[0] ** 2) ** 2

    for jac in (None, lambda x, a: x):  # what is given is not used
        slope = wg.grad(lambda a, jac=jac: optimize.minimize(valley, [0.5, 0.5], (a,), "BFGS", jac=jac, tol=1e-9).x[1])(
            1.2
        )
        np.testing.assert_allclose(slope, 2.4, rtol=1e-5)
    paired = wg.grad(lambda a: optimize.minimize(lambda x: (valley(x, a), None), [0.5, 0.5], jac=True, tol=1e-9).x[0])
    np.testing.assert_allclose(paired(1.2), 1.0, rtol=1e-5)
    held = wg.grad(lambda a: optimize.minimize(valley, [0.5, 0.5], (a,), bounds=[(0, 1), (None, None)]).x.sum())
    np.testing.assert_allclose(held(1.2), 0.0, atol=1e-8)


def test_minima_of_one_number() -> None:
    def f(x, a):
        return (x - a) ** 2 + 0.1 * x**4

    def best(a, **options):
        return optimize.minimize_scalar(f, args=(a,), **options)

    x = float(scipy.optimize.minimize_scalar(f, args=(1.0,)).x)
    np.testing.assert_allclose(wg.grad(lambda a: best(a).x)(1.0), 2 / (2 + 1.2 * x * x), rtol=1e-6)
    np.testing.assert_allclose(wg.grad(lambda a: best(a).fun)(1.0), -2 * (x - 1), rtol=1e-5)
    np.testing.assert_allclose(wg.grad(lambda a: best(a, bounds=(0, 0.3)).fun)(1.0), -2 * (0.3 - 1), rtol=1e-4)


T = np.linspace(0, 2, 9)
DATA = 2.0 * np.exp(-0.7 * T) + 0.05 * np.sin(9 * T)


def decay(t, a, k):
    return a * np.exp(-k * t)


@pytest.mark.parametrize("options", [{}, {"sigma": 0.1 + 0.02 * T}, {"sigma": 0.1 + 0.02 * T, "absolute_sigma": True},
                                     {"sigma": 0.1 * np.eye(9) + 0.01}, {"p0": [1.0, 1.0], "bounds": ([0, 0], [9, 9])}])  # fmt: skip
def test_curve_fit_and_its_covariance(options: dict[str, Any]) -> None:
    popt, pcov = scipy.optimize.curve_fit(decay, T, DATA, **options)
    found, matrix = optimize.curve_fit(decay, T, wg.tensor(DATA), **options)
    np.testing.assert_allclose(found.numpy(), popt, rtol=1e-5)
    np.testing.assert_allclose(matrix.numpy(), pcov, rtol=1e-3)

    def f(x, y):
        a, b = optimize.curve_fit(decay, x, y, **options, ftol=1e-13, xtol=1e-13, gtol=1e-13)
        return a.sum() + 10 * b.sum()

    check_slope(f, [T, DATA], 1e-4, e=1e-4)  # nearer, the fits differ by what their solver leaves


def test_least_squares_with_scipys_arguments() -> None:
    def fit(y, kind="linear"):
        return optimize.least_squares(
            lambda p, t, scale: scale * (decay(t, *p) - y), [1.0, 1.0], loss=kind, args=(T,), kwargs={"scale": 2.0},
            ftol=1e-14, xtol=1e-14, gtol=1e-14,
        ).x.sum()  # fmt: skip

    check_slope(fit, [DATA], 1e-4)
    check_slope(lambda y: fit(y, "soft_l1"), [DATA], 1e-4)
    with pytest.raises(wg.LostGradientError, match="loss"):
        wg.grad(lambda y: fit(y, lambda z: np.stack([z, z, z])))(DATA)


def test_nnls() -> None:
    A = np.array([[1.0, 2.0, 0.5], [0.3, 1.0, -1.0], [0.0, 1.0, 2.0], [1.0, 0.0, 0.0]])
    b = np.array([1.0, 2.0, -1.0, 0.5])
    x, norm = optimize.nnls(wg.tensor(A), b)
    expected, distance = scipy.optimize.nnls(A, b)
    np.testing.assert_allclose(x.numpy(), expected, atol=1e-12)
    np.testing.assert_allclose(norm.numpy(), distance)
    assert (expected == 0).any()
    check_slope(lambda A, b: (optimize.nnls(A, b)[0] ** 2).sum() + optimize.nnls(A, b)[1], [A, b])


def test_an_assignment_is_a_constant() -> None:
    cost = np.array([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]])

    def total(cost):
        rows, columns = optimize.linear_sum_assignment(cost)
        return cost[rows, columns].sum()

    np.testing.assert_array_equal(wg.grad(total)(cost), [[0, 1, 0], [1, 0, 0], [0, 0, 1]])


@pytest.mark.parametrize("method", ["trf", "bvls"])
@pytest.mark.parametrize("argument", range(4))
def test_linear_least_squares_between_bounds(method: str, argument: int) -> None:
    rng = np.random.default_rng(0)
    args = [rng.normal(size=(8, 4)), rng.normal(size=8), np.array([-0.1, -0.05, -1.0, -0.2]), np.full(4, 0.1)]

    def solved(module: Any, value: Any, **options: Any) -> Any:
        A, b, low, high = [value if i == argument else given for i, given in enumerate(args)]
        return module.lsq_linear(A, b, (low, high), method=method, **options)

    want, got = solved(scipy.optimize, args[argument], tol=1e-14), solved(optimize, wg.tensor(args[argument]))
    assert {*np.sign(want.active_mask)} == {-1, 0, 1} and got.status > 0
    np.testing.assert_allclose(got.x, want.x, atol=1e-8)
    np.testing.assert_allclose(got.fun, want.fun, atol=1e-8)
    np.testing.assert_allclose(float(got.cost), want.cost, rtol=1e-8)
    agrees_with_scipy(
        lambda v: solved(optimize, v).x, lambda v: solved(scipy.optimize, v, tol=1e-14).x, (args[argument],),
        rtol=1e-7, slope_rtol=1e-5,
    )  # fmt: skip


def test_linear_least_squares_without_bounds_and_of_a_sparse_matrix() -> None:
    A, b = np.random.default_rng(1).normal(size=(2, 3, 3))[:, :, :2], np.array([1.0, 2.0, 4.0])
    for matrix in (A[0], scipy.sparse.csr_array(A[0])):
        slope = wg.grad(lambda b, matrix=matrix: wg.sum(optimize.lsq_linear(matrix, b).x))(b)
        np.testing.assert_allclose(slope, np.linalg.pinv(A[0]).sum(axis=0), rtol=1e-9)
    held = wg.grad(lambda b: wg.sum(optimize.lsq_linear(A[0], b, (-1e-9, 1e-9)).x))(b)
    np.testing.assert_array_equal(held, np.zeros(3))


def test_leastsq_follows_its_arguments_and_gives_what_scipys_does() -> None:
    t = np.linspace(0.0, 1.0, 7)
    y = 2 * np.exp(-1.3 * t) + 0.1 * np.sin(9 * t)

    def gap(p: Any, y: Any) -> Any:
        return p[0] * wg.exp(-p[1] * t) - y

    want = scipy.optimize.leastsq(lambda p, y: p[0] * np.exp(-p[1] * t) - y, [1.0, 1.0], (y,), full_output=True)
    got = optimize.leastsq(gap, [1.0, 1.0], (wg.tensor(y),), full_output=True)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-7)
    np.testing.assert_allclose(got[1], want[1], rtol=1e-5)
    assert {*got[2]} == {*want[2]} and got[3:] == want[3:]
    x, ier = optimize.leastsq(gap, [1.0, 1.0], (wg.tensor(y),))
    assert (x.shape, ier) == ((2,), want[4])

    def fitted(y: Any) -> Any:
        return optimize.leastsq(gap, [1.0, 1.0], (y,))[0]

    def exactly(y: Any) -> Any:
        def slope(p: Any, y: Any) -> Any:
            return np.stack([np.exp(-p[1] * t), -p[0] * t * np.exp(-p[1] * t)])

        return scipy.optimize.leastsq(
            lambda p, y: p[0] * np.exp(-p[1] * t) - y, [1.0, 1.0], (y,), slope, col_deriv=True, ftol=1e-15, xtol=1e-15
        )[0]

    agrees_with_scipy(fitted, exactly, (y,), rtol=1e-7, slope_rtol=1e-5)


def test_leastsq_shows_frameworks_arrays_as_tensors() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    y = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)
    found = optimize.leastsq(lambda p, y: p[0] * np.ones(3) - y, [1.0], (y,))[0]
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found, [7.0 / 3.0], rtol=1e-7)
