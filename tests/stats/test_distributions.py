"""Distributions against SciPy, their gradients against differences, and what lies outside of their support.

`CASES` holds for each distribution sets of shape parameters, and points in standard form that lie in the support.
"""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

import wengert as wg
from wengert import stats

LINE = np.array([-30.0, -5.0, -1.3, -0.2, 0.0, 1e-3, 0.4, 1.0, 2.5, 40.0])
HALF = np.array([1e-8, 0.05, 0.4, 1.0, 2.5, 7.0, 30.0])
UNIT = np.array([1e-6, 0.05, 0.3, 0.5, 0.77, 0.999])
COUNTS = np.array([0.0, 1.0, 2.0, 5.0, 9.0])
CASES: dict[str, tuple[list[tuple[float, ...]], np.ndarray[Any, Any]]] = {
    "norm": ([()], LINE),
    "uniform": ([()], UNIT),
    "expon": ([()], HALF),
    "gamma": ([(0.5,), (1.0,), (3.7,), (60.0,)], HALF),
    "beta": ([(0.5, 0.5), (1.0, 1.0), (2.0, 5.5), (30.0, 2.0)], UNIT),
    "chi2": ([(1.0,), (2.0,), (7.5,)], HALF),
    "t": ([(0.5,), (1.0,), (4.2,), (200.0,)], LINE),
    "cauchy": ([()], LINE),
    "laplace": ([()], LINE),
    "logistic": ([()], LINE),
    "lognorm": ([(0.3,), (1.5,)], HALF),
    "weibull_min": ([(0.5,), (1.0,), (2.5,)], HALF),
    "pareto": ([(0.7,), (3.0,)], 1.0 + HALF[1:]),
    "truncnorm": ([(-1.0, 2.0), (2.0, 5.0), (-6.0, -3.0), (-np.inf, 1.0), (0.5, np.inf)], UNIT[1:]),
    "vonmises": ([(0.1,), (2.0,), (30.0,)], np.array([-3.0, -1.0, 0.0, 0.5, 2.2, 3.1])),
    "poisson": ([(0.3,), (4.0,), (30.0,)], COUNTS),
    "binom": ([(9.0, 0.3), (9.0, 0.9), (40.0, 0.5)], COUNTS),
    "bernoulli": ([(0.3,), (0.9,)], np.array([0.0, 1.0])),
    "nbinom": ([(3.0, 0.3), (0.7, 0.8)], COUNTS),
}
DISCRETE = {"poisson", "binom", "bernoulli", "nbinom"}
ROWS = [(name, shapes) for name, (sets, _) in CASES.items() for shapes in sets]
IDS = [f"{name}{shapes}" for name, shapes in ROWS]


def points(name: str, shapes: tuple[float, ...]) -> np.ndarray[Any, Any]:
    x = CASES[name][1]
    if name == "truncnorm":
        low = shapes[0] if np.isfinite(shapes[0]) else shapes[1] - 4
        high = shapes[1] if np.isfinite(shapes[1]) else low + 4
        return low + x * (high - low)
    return x


def placed(name: str) -> dict[str, Any]:
    return {"loc": 2} if name in DISCRETE else {"loc": -0.7, "scale": 1.9}


def reference(name: str, method: str) -> Any:
    return getattr(getattr(scipy.stats, name), method)


@pytest.mark.parametrize(("name", "shapes"), ROWS, ids=IDS)
def test_values_are_scipys(name: str, shapes: tuple[float, ...]) -> None:
    distribution = getattr(stats, name)
    # SciPy's own mass on the circle is exact to about 1e-13 of the whole: it is tested below
    for method in distribution.methods[: 2 if name == "vonmises" else None]:
        for where in ({}, placed(name)):
            x = points(name, shapes)
            if method in ("ppf", "isf"):
                x = np.array([1e-5, 0.2, 0.5, 0.8])
                if name == "truncnorm" and method == "isf":
                    x = x[1:]  # SciPy's is that of 1 - q, which has lost digits
            else:
                x = x * where.get("scale", 1) + where.get("loc", 0)
            with np.errstate(all="ignore"):
                wanted = reference(name, method)(x, *shapes, **where)
                found = getattr(distribution, method)(x, *shapes, **where)
            # a logarithm near 0 is as exact as the mass beside it
            np.testing.assert_allclose(
                found, wanted, rtol=2e-13, atol=1e-14 if "log" in method or method in ("ppf", "isf") else 1e-300,
                err_msg=f"{method} {where}",
            )  # fmt: skip


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize(("name", "shapes"), ROWS, ids=IDS)
def test_nothing_warns_where_scipy_does_not(name: str, shapes: tuple[float, ...], is_compiled: bool) -> None:
    for method in getattr(stats, name).methods:
        x = np.array([1e-5, 0.2, 0.5, 0.8]) if method in ("ppf", "isf") else points(name, shapes)
        ours = getattr(getattr(stats, name), method)
        messages = []
        for call in (wg.function(ours) if is_compiled else ours, reference(name, method)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                call(x, *shapes)
            messages.append({str(warning.message) for warning in caught})
        assert messages[0] <= messages[1], method


@pytest.mark.parametrize(("name", "shapes"), ROWS, ids=IDS)
def test_gradients_are_those_of_differences(name: str, shapes: tuple[float, ...]) -> None:
    distribution, x = getattr(stats, name), points(name, shapes)
    x = (
        x[(np.abs(x) > 0.01) & (np.abs(x) < 20)]
        if name not in DISCRETE
        else x[x < (shapes[0] if name == "binom" else 1e9)]
    )
    x = x[:1] if name == "bernoulli" else x  # at the last count a logarithm is -inf
    whole = {"binom": (0,)}.get(name, ())
    moving = [i for i, s in enumerate(shapes) if i not in whole and np.isfinite(s)]
    for method in [m for m in distribution.methods if m not in ("ppf", "isf")]:
        if name == "laplace" and not x.all():
            continue

        def f(x: Any, scale: Any, *moved: Any, method: str = method) -> Any:
            given = [*shapes]
            for i, value in zip(moving, moved, strict=True):
                given[i] = value
            if name in DISCRETE:
                return getattr(distribution, method)(x, *given)
            return getattr(distribution, method)(x * scale, *given, scale=scale)

        arguments = [np.array(shapes[i]) for i in moving]
        if name in DISCRETE:
            wg.check_gradients(lambda *moved: f(x, 1.0, *moved), *arguments, order=1)
        else:
            wg.check_gradients(lambda x, *moved: f(x, 1.3, *moved), x, *arguments, order=1)


OUTSIDE = {
    "uniform": [-0.5, 1.5], "expon": [-1.0], "gamma": [-1.0], "beta": [-0.1, 1.1], "chi2": [-2.0], "lognorm": [-1.0, 0.0],
    "weibull_min": [-0.3], "pareto": [0.5, -1.0], "truncnorm": [-99.0, 99.0], "poisson": [-1.0, 0.5],
    "binom": [-1.0, 99.0, 1.5], "bernoulli": [-1.0, 2.0, 0.5], "nbinom": [-2.0, 2.5],
}  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE)
def test_outside_of_the_support(name: str) -> None:
    x = np.array(OUTSIDE[name])
    distribution, shapes = getattr(stats, name), CASES[name][0][0]
    dense = ("logpmf", "pmf") if name in DISCRETE else ("logpdf", "pdf")
    for method in distribution.methods:
        if method in ("ppf", "isf"):
            continue
        f = getattr(distribution, method)
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(f(x, *shapes), reference(name, method)(x, *shapes), rtol=1e-13)
        if name in DISCRETE and method not in dense:
            continue  # between counts a mass is what it is at the count below
        gradients = wg.grad(f, argnums=tuple(range(1 + len(shapes))))(x, *shapes)
        for gradient in gradients:
            np.testing.assert_array_equal(gradient, np.zeros_like(gradient))


@pytest.mark.parametrize(("name", "shapes"), ROWS, ids=IDS)
def test_no_gradient_is_nan(name: str, shapes: tuple[float, ...]) -> None:
    distribution = getattr(stats, name)
    places = [
        -1e300,
        -50.0,
        -1.0,
        -0.0,
        0.0,
        1e-300,
        0.5,
        1.0,
        2.0,
        3.0,
        100.0,
        1e4,
        1e300,
        *[s for s in shapes if np.isfinite(s)],
    ]
    for method in distribution.methods:
        x = np.array([0.0, 1e-12, 0.5, 1.0]) if method in ("ppf", "isf") else np.array(places)
        f = getattr(distribution, method)
        arguments = (x, *shapes, *placed(name).values())
        gradients = wg.grad(f, argnums=tuple(i for i in range(len(arguments)) if name not in DISCRETE or i))(
            x, *map(float, arguments[1:])
        )
        for i, gradient in enumerate(gradients):
            assert not np.isnan(gradient).any(), (method, i, x[np.isnan(gradient)] if gradient.shape else None)


def test_ends_of_the_support_belong_to_it() -> None:
    for name, x, shapes, slope in (
        ("gamma", 0.0, (1.0,), -1.0), ("gamma", 0.0, (2.0,), 1.0), ("gamma", 0.0, (3.5,), 0.0),
        ("chi2", 0.0, (2.0,), -0.25), ("weibull_min", 0.0, (1.0,), -1.0), ("weibull_min", 0.0, (2.0,), 2.0),
        ("beta", 0.0, (1.0, 1.0), 0.0), ("beta", 1.0, (2.0, 2.0), -6.0), ("beta", 0.0, (2.0, 1.0), 2.0),
        ("expon", 0.0, (), -1.0), ("uniform", 1.0, (), 0.0),
    ):  # fmt: skip
        f = getattr(stats, name).pdf
        np.testing.assert_allclose(f(x, *shapes), getattr(scipy.stats, name).pdf(x, *shapes), err_msg=name)
        np.testing.assert_allclose(wg.grad(lambda x, f=f, s=shapes: f(x, *s))(x), slope, atol=1e-15, err_msg=name)


@pytest.mark.parametrize("kappa", [0.1, 2.0, 30.0, 700.0])
def test_mass_on_the_circle(kappa: float) -> None:
    x = np.array([-3.0, -1.0, -0.1, -1e-3, 0.0, 0.02, 0.5, 2.2, 3.1])
    if kappa < 50:  # beyond it SciPy's is a normal approximation
        np.testing.assert_allclose(stats.vonmises.cdf(x, kappa), scipy.stats.vonmises.cdf(x, kappa), atol=1e-13)
    density = stats.vonmises(kappa).pdf
    for place in x[:4]:
        # beyond 60 units of the exponent there is nothing left
        end = np.arcsin(np.sqrt(min(1.0, np.sin(place / 2) ** 2 + 30 / kappa))) * -2
        area = scipy.integrate.quad(density, end, place, epsabs=0, epsrel=1e-13, limit=200)[0]
        np.testing.assert_allclose(stats.vonmises.cdf(place, kappa), area, rtol=1e-11)
        np.testing.assert_allclose(stats.vonmises.sf(-place, kappa), area, rtol=1e-11)
        np.testing.assert_allclose(stats.vonmises.logcdf(place, kappa), np.log(area), rtol=1e-11)
    np.testing.assert_allclose(stats.vonmises.cdf(x + 4 * np.pi, kappa), 2 + stats.vonmises.cdf(x, kappa), rtol=1e-13)
    np.testing.assert_allclose(wg.grad(lambda x: stats.vonmises.cdf(x, kappa))(x), density(x), rtol=1e-9)


def test_students_distribution_of_one_degree_is_cauchys() -> None:
    x = np.array([-1e300, -1e71, -1e69, -1e20, -30.0, -1.0, -0.5, -1e-3, -1e-9, 0.0, 1e-9, 2e-3, 1.5, 1e5])
    np.testing.assert_allclose(stats.t.cdf(x, 1.0), stats.cauchy.cdf(x), rtol=1e-14)
    np.testing.assert_allclose(wg.grad(lambda x: stats.t.cdf(x, 1.0))(x[2:]), stats.cauchy.pdf(x[2:]), rtol=1e-12)


def test_students_middle_is_smooth() -> None:
    def cdf(x: Any) -> Any:
        return stats.t.cdf(x, 3.3)

    # the density at 0 is even, and its second derivative is -(df + 1) / df of it
    height = scipy.stats.t.pdf(0.0, 3.3)
    slope, bend, third = wg.grad(cdf), wg.grad(wg.grad(cdf)), wg.grad(wg.grad(wg.grad(cdf)))
    np.testing.assert_allclose([slope(0.0), bend(0.0), third(0.0)], [height, 0.0, -height * 4.3 / 3.3], rtol=1e-12)
    np.testing.assert_allclose(slope(2e-3), scipy.stats.t.pdf(2e-3, 3.3), rtol=1e-9)


@pytest.mark.parametrize("name", ["gamma", "norm", "t", "binom"])
def test_parameters_that_make_no_distribution_give_nan(name: str) -> None:
    distribution, shapes = getattr(stats, name), CASES[name][0][0]
    wrong = {"scale": -1.0} if name == "norm" else {}
    bad = shapes if name == "norm" else (-1.5, *shapes[1:])
    for method in distribution.methods:
        value = getattr(distribution, method)(0.5, *bad, **wrong)
        assert np.isnan(value), method
        assert (
            wg.grad(lambda *a, m=method: getattr(distribution, m)(0.5, *a, **wrong), argnums=0)(*bad) == 0
            if bad
            else True
        )


def test_methods_have_scipys_signatures() -> None:
    assert [*inspect.signature(stats.beta.logpdf).parameters] == ["x", "a", "b", "loc", "scale"]
    assert [*inspect.signature(stats.binom.pmf).parameters] == ["k", "n", "p", "loc"]
    assert stats.gamma.logpdf.__doc__
    frozen = stats.gamma(2.0, scale=3.0)
    np.testing.assert_allclose(frozen.sf(1.0), scipy.stats.gamma(2.0, scale=3.0).sf(1.0))
    with pytest.raises(TypeError, match="a"):
        stats.gamma.logpdf(1.0)
    with pytest.raises(TypeError, match="two values"):
        stats.norm.logpdf(1.0, 0.0, loc=1.0)
    with pytest.raises(AttributeError, match="rvs"):
        stats.t.rvs(0.5, 1.0)


def test_kinds_and_dtypes() -> None:
    narrow = np.float32([0.5, 1.5])
    assert stats.gamma.logpdf(narrow, 2.0).dtype == np.float32
    assert stats.norm.cdf(2).dtype == np.float64
    assert isinstance(stats.norm.pdf(wg.tensor([0.5])), wg.Tensor)
    assert stats.norm.logpdf(np.zeros((0, 2)), np.zeros(2)).shape == (0, 2)
    compiled = wg.function(lambda x, a: stats.gamma.logcdf(x, a, scale=2.0))
    np.testing.assert_allclose(compiled(HALF, 1.7), scipy.stats.gamma.logcdf(HALF, 1.7, scale=2.0), rtol=1e-12)


COVARIANCE = np.array([[2.0, 0.4, 0.1], [0.4, 1.5, -0.3], [0.1, -0.3, 0.9]])


def test_multivariate_normal_is_scipys() -> None:
    rng = np.random.default_rng(3)
    x, mean = rng.normal(size=(2, 4, 3)), rng.normal(size=3)
    for args in (
        (x, mean, COVARIANCE),
        (x[0], mean, np.diag(COVARIANCE)),
        (x[0, 0], mean, 2.5),
        (x[0, 0], None, COVARIANCE),
    ):
        np.testing.assert_allclose(
            stats.multivariate_normal.logpdf(*args), scipy.stats.multivariate_normal.logpdf(*args), rtol=1e-12
        )
    for args in ((0.5,), (x[0, 0], 1.0, 2.0)):
        np.testing.assert_allclose(
            stats.multivariate_normal.pdf(*args), scipy.stats.multivariate_normal.pdf(*args), rtol=1e-12
        )
    factor = np.linalg.cholesky(COVARIANCE)
    wg.check_gradients(lambda x, m, f: stats.multivariate_normal.logpdf(x, m, f @ f.T), x[0, 0], mean, factor)
    with pytest.raises(ValueError, match="components"):
        stats.multivariate_normal.logpdf(np.zeros(2), mean, COVARIANCE)


def test_dirichlet_is_scipys() -> None:
    alpha, x = np.array([0.5, 2.0, 3.0]), np.array([[0.2, 0.3], [0.3, 0.6], [0.5, 0.1]])
    np.testing.assert_allclose(stats.dirichlet.logpdf(x, alpha), scipy.stats.dirichlet.logpdf(x, alpha), rtol=1e-12)
    np.testing.assert_allclose(stats.dirichlet.pdf(x[:2], alpha), scipy.stats.dirichlet.pdf(x, alpha), rtol=1e-12)
    wg.check_gradients(lambda x, a: stats.dirichlet.logpdf(x, a), x[:2, 0], alpha)
    gradient = wg.grad(lambda x: stats.dirichlet.logpdf(x, alpha))(np.array([0.5, 0.7, -0.2]))
    np.testing.assert_array_equal(gradient, np.zeros(3))


SHARES = np.array(
    [1e-300, 1e-100, 1e-20, 1e-5, 0.01, 0.2, 0.4, 0.4999, 0.5, 0.5 + 1e-9, 0.51, 0.75, 0.76, 0.9, 0.99999]
)
QUANTILES = [
    *[("t", (df,)) for df in (0.1, 0.5, 1.0, 3.3, 30.0, 1e3)],
    *[("truncnorm", ab) for ab in ((-1.0, 2.0), (2.0, 5.0), (-6.0, -3.0), (-np.inf, 1.0), (0.5, np.inf), (30.0, 40.0))],
    *[("vonmises", (kappa,)) for kappa in (1e-3, 0.1, 2.0, 30.0, 500.0, 1e5)],
]  # fmt: skip


@pytest.mark.parametrize(("name", "shapes"), QUANTILES, ids=map(str, QUANTILES))
def test_quantiles_solve_for_the_mass(name: str, shapes: tuple[float, ...]) -> None:
    distribution = getattr(stats, name)(*shapes)
    for find, mass in ((distribution.ppf, distribution.cdf), (distribution.isf, distribution.sf)):
        found = find(SHARES)
        shares, found = SHARES[np.isfinite(found)], found[np.isfinite(found)]  # one or two lie beyond the floats
        assert len(shares) >= len(SHARES) - 2
        # a rounding error or two of the place, and what they make of the mass
        step = 8e-16 * np.abs(found) * distribution.pdf(found)
        error = np.abs(mass(found) - shares)
        assert np.all(error <= 4e-13 * shares + step), (shares[error > 4e-13 * shares + step], find)


@pytest.mark.parametrize(
    ("name", "shapes"), [("t", (3.3,)), ("t", (0.7,)), ("truncnorm", (-1.0, 2.0)), ("vonmises", (2.0,))]
)
def test_gradients_of_quantiles(name: str, shapes: tuple[float, ...]) -> None:
    distribution, q = getattr(stats, name), np.array([1e-5, 0.2, 0.4, 0.7, 0.99])
    wg.check_gradients(
        lambda q, *s: distribution.ppf(q, *s, loc=0.3, scale=1.7), q[1:], *map(np.array, shapes), order=2
    )
    x = distribution.ppf(q, *shapes)
    np.testing.assert_allclose(
        wg.grad(lambda q: wg.sum(distribution.ppf(q, *shapes)))(q), 1 / distribution.pdf(x, *shapes), rtol=1e-10
    )
    moved = wg.grad(lambda *s: wg.sum(distribution.ppf(q[1], *s)))(*shapes)
    slope = wg.grad(lambda *s: distribution.cdf(x[1], *s))(*shapes)
    np.testing.assert_allclose(moved, -slope / distribution.pdf(x[1], *shapes), rtol=1e-10)
    np.testing.assert_allclose(wg.function(distribution.ppf)(q, *shapes), x, rtol=1e-14)


COUNTED = [
    ("poisson", (0.3,)), ("poisson", (400.0,)), ("binom", (9.0, 0.3)), ("binom", (4000.0, 0.9)), ("bernoulli", (0.3,)),
    ("nbinom", (3.0, 0.3)), ("nbinom", (0.7, 0.001)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "shapes"), COUNTED, ids=map(str, COUNTED))
def test_quantiles_of_counts(name: str, shapes: tuple[float, ...]) -> None:
    q = np.array([0.0, 1e-10, 1e-3, 0.1, 0.3, 0.5, 0.9, 0.999, 1 - 1e-12, 1.0])
    for method in ("ppf", "isf"):
        f = getattr(getattr(stats, name), method)
        np.testing.assert_array_equal(f(q, *shapes, loc=2), reference(name, method)(q, *shapes, loc=2))
        assert wg.grad(lambda p, f=f: f(0.4, *shapes[:-1], p))(shapes[-1]) == 0
        np.testing.assert_array_equal(wg.function(f)(q, *shapes), f(q, *shapes))
    assert np.isnan(getattr(stats, name).ppf([-0.1, 1.1, np.nan], *shapes)).all()


COV2, MEAN2 = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([0.5, -0.2])


@pytest.mark.parametrize("shape", [(2,), (1, 2), (3, 2), (2, 3, 2), (1, 3, 2), (3, 1, 2)])
def test_normal_vectors_in_every_mode(shape):
    x = np.linspace(-1.0, 2.0, int(np.prod(shape))).reshape(shape)
    f = lambda x, mean, cov: wg.stats.multivariate_normal.logpdf(x, mean, cov)
    wanted = scipy.stats.multivariate_normal.logpdf(x, MEAN2, COV2)
    for found in (
        f(x, MEAN2, COV2),
        wg.function(f)(x, MEAN2, COV2),
        wg.function(lambda x: f(x, MEAN2, COV2))(x),
        wg.linearize(f, x, MEAN2, COV2)[0],
        wg.vmap(f)(*(np.stack([a, a]) for a in (x, MEAN2, COV2)))[1],
        wg.vmap(lambda x: f(x, MEAN2, COV2))(np.stack([x, x]))[0],
    ):
        assert np.shape(found) == np.shape(wanted)
        np.testing.assert_allclose(found, wanted, rtol=1e-13)
    factor = np.linalg.cholesky(COV2)
    wg.check_gradients(lambda x, mean, a: f(x, mean, a @ a.T), x, MEAN2, factor, order=1)


@pytest.mark.parametrize("x", [0.3, [0.3], [[0.3]], [0.3, 0.4], [[0.3], [0.4]]])
def test_normal_vectors_of_one_component_have_scipys_shapes(x):
    for mean, cov in ((0.0, 1.0), ([0.1], [[2.0]]), ([0.1], [2.0])):
        wanted = scipy.stats.multivariate_normal.logpdf(x, mean, cov)
        found = wg.stats.multivariate_normal.logpdf(x, mean, cov)
        assert np.shape(found) == np.shape(wanted)
        np.testing.assert_allclose(found, wanted)
        np.testing.assert_allclose(
            wg.function(lambda x, mean=mean, cov=cov: wg.stats.multivariate_normal.logpdf(x, mean, cov))(x), wanted
        )


@pytest.mark.parametrize("x", [[0.25, 0.75], [[0.25], [0.75]], [[0.25, 0.5], [0.75, 0.5]], [0.25]])
def test_dirichlet_has_scipys_shapes(x):
    wanted = scipy.stats.dirichlet.logpdf(x, [2.0, 3.0])
    found = wg.stats.dirichlet.logpdf(x, [2.0, 3.0])
    assert np.shape(found) == np.shape(wanted)
    np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize(
    ("x", "a", "b", "value", "slope"),  # by mpmath, 40 digits: of the logarithm of the density, and of it in a
    [
        (0.5, 1e6, 1e6, 7.028537391617382, 2.500000625e-07),
        (0.5, 1e9, 1e9, 10.482415155983452, 2.500000000625e-10),
        (0.50001, 1e9, 1e9, 10.082415156307091, 2.000005000257567e-05),
        (0.5, 1e12, 1e12, 13.936292795599394, 2.500000000000625e-13),
        (0.25, 1e5, 3e5, 6.367658693848445, 3.7500078125e-06),
        (1 - 1e-6, 1e9, 1e3, 16.35036683039208, -9.995287561936047e-13),
    ],
)
def test_the_density_of_beta_of_large_parameters_loses_no_digits(
    x: float, a: float, b: float, value: float, slope: float
) -> None:
    for f in (wg.stats.beta.logpdf, wg.function(wg.stats.beta.logpdf)):
        np.testing.assert_allclose(f(x, a, b), value, rtol=1e-12)
        np.testing.assert_allclose(wg.grad(f, argnums=1)(x, a, b), slope, rtol=1e-9)
    ends = wg.stats.beta.logpdf(np.array([0.0, 1.0, -1.0, 2.0]), a, b)
    np.testing.assert_array_equal(ends, [-np.inf] * 4)


def test_the_two_formulas_of_the_density_of_beta_meet() -> None:
    x = np.linspace(0.01, 0.99, 25)
    below, above = (np.nextafter(100.0, 100.0 + way) for way in (-1, 1))
    for other in (100.5, 1e4):
        values = [wg.stats.beta.logpdf(x, a, other) for a in (below, above)]
        np.testing.assert_allclose(values[0], values[1], rtol=1e-11)
        slope = wg.grad(lambda a, b: wg.sum(wg.stats.beta.logpdf(x, a, b)))
        slopes = [slope(a, other) for a in (below, above)]
        np.testing.assert_allclose(slopes[0], slopes[1], rtol=1e-10)
