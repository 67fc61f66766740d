"""`wengert.scipy.stats` against SciPy's: distributions, estimates of densities, statistics."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
import scipy.optimize
import scipy.special
import scipy.stats as reference

import wengert as wg
import wengert.scipy.stats as stats
from tests.scipy.against import agrees_with_scipy
from wengert.scipy._bessel_families import log_i_part, log_k
from wengert.scipy._moments import HIGHER

# shape parameters, and points inside of the support
CONTINUOUS = {
    "norm": (), "lognorm": (0.8,), "truncnorm": (-1.5, 2.0), "uniform": (), "expon": (), "laplace": (), "logistic": (),
    "cauchy": (), "pareto": (3.5,), "weibull_min": (1.7,), "t": (4.5,), "vonmises": (1.3,), "gamma": (2.3,),
    "beta": (1.7, 2.4), "chi2": (3.4,), "gumbel_r": (), "gumbel_l": (), "weibull_max": (1.7,), "invweibull": (2.2,),
    "genextreme": (0.2,), "genpareto": (0.15,), "gompertz": (0.9,), "halfnorm": (), "rayleigh": (), "maxwell": (),
    "chi": (2.7,), "johnsonsu": (0.4, 1.3), "johnsonsb": (0.4, 1.3), "skewnorm": (1.4,), "gennorm": (1.6,), "levy": (),
    "moyal": (), "invgauss": (0.8,), "rice": (0.9,), "invgamma": (3.2,), "f": (3.3, 5.4), "betaprime": (2.2, 3.1),
    "arcsine": (), "powerlaw": (1.8,), "lomax": (3.3,), "fisk": (2.6,), "burr": (2.1, 1.4), "burr12": (2.1, 1.4),
    "exponweib": (1.6, 1.3), "loguniform": (0.5, 4.0), "halfcauchy": (), "halflogistic": (), "hypsecant": (),
    "laplace_asymmetric": (1.4,), "bradford": (1.2,), "semicircular": (), "triang": (0.4,), "truncexpon": (2.1,),
    "erlang": (2.0,), "reciprocal": (0.5, 4.0), "wrapcauchy": (0.4,), "alpha": (1.3,), "exponnorm": (0.8,),
    "fatiguelife": (0.7,), "foldnorm": (0.6,), "foldcauchy": (0.6,), "gibrat": (), "powerlognorm": (1.4, 0.8),
    "powernorm": (1.4,), "recipinvgauss": (0.7,), "wald": (), "norminvgauss": (1.6, 0.5), "levy_l": (),
    "argus": (1.2,), "crystalball": (1.1, 2.3), "dgamma": (1.6,), "dweibull": (1.6,), "gengamma": (1.4, -1.7),
    "halfgennorm": (1.6,), "loggamma": (1.4,), "nakagami": (1.3,), "pearson3": (-0.8,), "rdist": (2.6,),
    "jf_skew_t": (2.2, 1.4), "exponpow": (1.3,), "genexpon": (0.8, 1.2, 0.7), "genhalflogistic": (0.7,),
    "genlogistic": (1.4,), "kappa3": (1.3,), "loglaplace": (2.4,), "mielke": (2.2, 1.4), "truncpareto": (1.4, 3.2),
    "truncweibull_min": (1.6, 0.2, 2.3), "anglit": (), "cosine": (), "rel_breitwigner": (1.3,), "skewcauchy": (0.4,),
    "vonmises_line": (1.2,), "ncx2": (3.3, 1.2), "geninvgauss": (1.3, 0.8), "genhyperbolic": (0.5, 1.5, -0.5),
    "kappa4": (0.1, 0.2), "tukeylambda": (0.3,),
}  # fmt: skip
DISCRETE = {
    "bernoulli": (0.3,), "binom": (7.0, 0.3), "nbinom": (2.5, 0.4), "poisson": (2.3,), "geom": (0.35,),
    "randint": (2.0, 9.0), "betabinom": (6.0, 1.7, 2.2), "zipf": (2.5,), "logser": (0.6,), "planck": (0.7,),
    "dlaplace": (0.8,), "betanbinom": (5.0, 3.2, 1.7), "boltzmann": (0.4, 9.0), "yulesimon": (2.3,),
    "zipfian": (1.7, 8.0),
}  # fmt: skip
SHARES = np.array([0.15, 0.45, 0.8])
WHOLE = {"betanbinom": 1, "binom": 1, "randint": 2, "betabinom": 1, "erlang": 1}  # so many shapes are whole numbers


def recorded(name: str, methods: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(name, m) for m in methods if getattr(stats, name)._methods(m) is not None]


POINTS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf")
LOADS = [pair for name in CONTINUOUS for pair in recorded(name, (*POINTS, "ppf", "isf"))]
SLOPES = [
    (n, m) for n, m in LOADS if m in ("logpdf", "cdf", "ppf") and (n, m) != ("vonmises", "ppf")
]  # it is interpolated


def test_bessel_functions_of_real_order_are_exact_and_have_slopes_in_the_order() -> None:
    """Of the second kind, and of the first without its power, which is smooth where the argument is 0."""
    v, z = np.meshgrid([0.0, 0.3, 2.0, 7.5, -40.0, 150.0], [1e-3, 0.1, 1.0, 20.0, 300.0, 5000.0])
    expected = np.log(scipy.special.kve(v, z)) - z
    is_there = np.isfinite(expected)
    np.testing.assert_allclose(log_k(wg.tensor(v), wg.tensor(z)).numpy()[is_there], expected[is_there], rtol=1e-12)
    v, z = np.meshgrid([-0.9, -0.5, 0.0, 0.3, 7.5, 150.0], [1e-6, 0.02, 0.1, 1.0, 20.0, 300.0])
    with np.errstate(divide="ignore"):
        expected = np.log(scipy.special.ive(v, z)) + z - v * np.log(z / 2)
    found = log_i_part(wg.tensor(v), wg.tensor(z * z)).numpy()
    is_there = np.isfinite(expected)
    np.testing.assert_allclose(found[is_there], expected[is_there], rtol=1e-12, atol=1e-12)
    for f, points in ((log_k, (np.array(1.3), np.array(0.8))), (log_i_part, (np.array(-0.4), np.array(0.6)))):
        wg.check_gradients(f, *points, order=2)
    np.testing.assert_allclose(wg.grad(log_i_part, 1)(1.5, 0.0), 0.25 / 2.5)  # log(1 + w / (4 (v + 1)) + ...)


@pytest.mark.parametrize("lam", [-0.4, 0.0, 0.7, 1.0, 2.5])
def test_tukeys_distribution_for_every_sign_of_its_shape(lam: float) -> None:
    theirs = reference.tukeylambda(lam)
    x = theirs.ppf(SHARES)
    for method, at in (("logpdf", x), ("cdf", x), ("sf", x), ("ppf", SHARES), ("isf", SHARES)):
        found = getattr(stats.tukeylambda, method)(wg.tensor(at), lam)
        np.testing.assert_allclose(found, getattr(theirs, method)(at), rtol=1e-9, atol=1e-12)
    wg.check_gradients(lambda x, lam: stats.tukeylambda.logpdf(x, lam).sum(), x, lam, order=2, rtol=1e-5)


@pytest.mark.parametrize("shapes", [(0.0, 0.0), (0.5, -0.3), (-0.5, -0.3), (0.5, 0.0), (0.0, 0.4), (-0.3, 0.2)])
def test_kappa4_in_every_part_of_its_plane(shapes: tuple[float, float]) -> None:
    theirs = reference.kappa4(*shapes)
    x = theirs.ppf(SHARES)
    for method, at in (("logpdf", x), ("cdf", x), ("sf", x), ("ppf", SHARES), ("isf", SHARES)):
        found = getattr(stats.kappa4, method)(wg.tensor(at), *shapes)
        np.testing.assert_allclose(found, getattr(theirs, method)(at), rtol=1e-9)
    np.testing.assert_allclose(stats.kappa4.support(*map(wg.tensor, shapes)), theirs.support(), rtol=1e-12)
    wg.check_gradients(lambda h, k: stats.kappa4.logpdf(x, h, k).sum(), *shapes)


@pytest.mark.parametrize(
    ("name", "shapes"),
    [("ncx2", (0.7, 4.0)), ("ncx2", (3.0, 0.0)), ("ncx2", (250.0, 900.0)), ("geninvgauss", (-2.3, 0.1)),
     ("geninvgauss", (60.0, 25.0)), ("genhyperbolic", (-1.5, 2.5, 0.5))],
)  # fmt: skip
def test_densities_by_bessel_functions_far_off(name: str, shapes: tuple[float, ...]) -> None:
    theirs = getattr(reference, name)(*shapes)
    x = theirs.ppf([1e-6, 0.3, 0.99])
    found = getattr(stats, name).logpdf(wg.tensor(x), *shapes)
    np.testing.assert_allclose(found, theirs.logpdf(x), rtol=1e-9)


def test_there_are_forty_distributions_with_every_method() -> None:
    complete = [n for n in CONTINUOUS if len(recorded(n, (*POINTS, "ppf", "isf", "rvs"))) == 9]
    assert len(complete) >= 40


def case(name, method):
    """SciPy's method and ours as functions of points and parameters, and their arguments."""
    shapes, loc, scale = CONTINUOUS[name], 0.3, 1.4
    x = SHARES if method in ("ppf", "isf") else getattr(reference, name).ppf(SHARES, *shapes, loc, scale)
    fixed = shapes[: len(shapes) if name in WHOLE else 0]

    def called(module, x, *parameters):
        return getattr(getattr(module, name), method)(x, *fixed, *parameters)

    args = (x, *map(np.asarray, (*shapes[len(fixed) :], loc, scale)))
    return partial(called, stats), partial(called, reference), args


@pytest.mark.parametrize("name", sorted(CONTINUOUS))
def test_values_of_all_methods_agree(name):
    for method in [m for n, m in LOADS if n == name]:
        ours, theirs, args = case(name, method)
        want = theirs(*args)
        rtol = 1e-4 if name == "vonmises" else 1e-9  # SciPy's quantiles are rough there
        np.testing.assert_allclose(ours(*map(wg.tensor, args)).numpy(), want, rtol=rtol, err_msg=method)
        np.testing.assert_array_equal(ours(*args), want)


@pytest.mark.parametrize(("name", "method"), SLOPES)
def test_slopes_in_points_and_parameters_agree(name, method):
    ours, theirs, args = case(name, method)
    agrees_with_scipy(ours, theirs, args, rtol=1e-8, slope_rtol=2e-5)


@pytest.mark.parametrize("name", sorted(DISCRETE))
def test_counts_have_slopes_in_the_parameters(name):
    theirs, ours, shapes = getattr(reference, name), getattr(stats, name), DISCRETE[name]
    counts = np.array([2.0, 3.0, 4.0]) if name != "bernoulli" else np.array([0.0, 1.0])
    fixed = shapes[: WHOLE.get(name, 0) + (name == "randint")]
    last = {"N": shapes[1]} if name == "boltzmann" else {"n": shapes[1]} if name == "zipfian" else {}
    for method in ("pmf", "logpmf", "cdf", "sf"):
        if ours._methods(method) is None:
            continue

        def called(dist, *parameters, method=method):
            return getattr(dist, method)(counts, *fixed, *parameters, **last)

        args = tuple(np.asarray(v) for v in shapes[len(fixed) : len(shapes) - len(last)])
        if args:
            agrees_with_scipy(partial(called, ours), partial(called, theirs), args, rtol=1e-9, slope_rtol=1e-5)
    if ours._methods("ppf") is not None:
        got = ours.ppf(wg.tensor(SHARES), *shapes)
        np.testing.assert_array_equal(got.numpy(), theirs.ppf(SHARES, *shapes))


MOMENTS = [p for n in (*CONTINUOUS, *DISCRETE) for p in recorded(n, ("mean", "var", "std", "entropy", "median"))]
for heavy in ("zipf", "betanbinom", "yulesimon"):  # sums that do not converge in SciPy, and are not tried here
    MOMENTS.remove((heavy, "entropy"))


@pytest.mark.parametrize(("name", "method"), MOMENTS)
def test_moments_and_medians_agree(name, method):
    shapes = {**CONTINUOUS, **DISCRETE}[name]
    parameters = (*shapes, 0.3, 1.4) if name in CONTINUOUS else shapes
    want = getattr(getattr(reference, name), method)(*parameters)
    got = getattr(getattr(stats, name), method)(*[wg.tensor(p) for p in parameters])
    np.testing.assert_allclose(got.numpy(), EXACT.get((name, method), want), rtol=1e-9, atol=1e-14)


# SciPy's integrals have eight digits here; these are by mpmath, with thirty
EXACT = {("johnsonsu", "entropy"): 1.7680633141606496, ("exponweib", "var"): 1.0775349515242684,
         ("exponweib", "std"): 1.0775349515242684**0.5, ("genexpon", "var"): 1.4**2 * 0.467997313305995542655759872298,
         ("powerlognorm", "var"): 1.4**2 * 0.697716739131697912282897982292,
         ("crystalball", "entropy"): 2.05544628915680170631832373006 + np.log(1.4)}  # fmt: skip


@pytest.mark.parametrize("name", [n for n in (*CONTINUOUS, *DISCRETE) if n in HIGHER])
def test_skewness_and_kurtosis_in_closed_form_agree(name):
    shapes = {**CONTINUOUS, **DISCRETE}[name]
    want = getattr(reference, name).stats(*shapes, moments="sk")
    got = getattr(stats, name).stats(*map(wg.tensor, shapes), moments="sk")
    np.testing.assert_allclose([float(v) for v in got], want, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["f", "betaprime"])
def test_entropies_of_heavy_tails_have_second_derivatives_in_both_modes(name):
    """A tail's last piece is a quotient of numbers next to 0."""
    point = np.array(CONTINUOUS[name])

    def entropy(v):
        return getattr(stats, name).entropy(v[0], v[1])

    forward = wg.hvp(entropy, point, np.ones(2))
    difference = (wg.grad(entropy)(point + 1e-4) - wg.grad(entropy)(point - 1e-4)) / 2e-4
    np.testing.assert_allclose(forward, difference, rtol=1e-6)


SUMMARIES = ["norm", "gamma", "truncnorm", "genextreme", "skewnorm", "beta", "poisson", "binom"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SUMMARIES)
def test_moments_of_all_orders_and_expectations_have_slopes(name):
    fixed = {**CONTINUOUS, **DISCRETE}[name][: WHOLE.get(name, 0)]
    shapes = {**CONTINUOUS, **DISCRETE}[name][len(fixed) :]
    args = tuple(np.asarray(p) for p in ((*shapes, 0.3, 1.4) if name in CONTINUOUS else shapes))

    def summary(dist, *parameters):
        return dist.stats(*fixed, *parameters, moments="mvsk")

    def third(dist, *parameters):
        return dist.moment(3, *fixed, *parameters)

    def between(dist, *parameters):
        end = 3 if name in DISCRETE else 1.5  # SciPy's own integral has noise where it goes beyond the support
        own, places = parameters[: len(shapes)], dict(zip(("loc", "scale"), parameters[len(shapes) :]))
        return dist.expect(lambda x: x * x, args=(*fixed, *own), lb=1, ub=end, conditional=True, **places)

    ours, theirs = getattr(stats, name), getattr(reference, name)
    for f in (summary, third, between):
        agrees_with_scipy(partial(f, ours), partial(f, theirs), args, rtol=1e-6, slope_rtol=1e-4, h=1e-4)


def test_expectations_of_heavy_tails_and_of_far_off_mass():
    found = stats.levy.entropy(wg.tensor(0.3), 1.4)
    exact = (1 + 3 * np.euler_gamma + np.log(16 * np.pi)) / 2 + np.log(1.4)
    assert float(found) == pytest.approx(exact, rel=1e-12)
    assert float(stats.burr.var(wg.tensor(2.1), 1.4)) == pytest.approx(47.97815484158238 / 1.96, rel=1e-12)
    assert float(stats.gamma.expect(lambda x: x * x, args=(wg.tensor(1e4),))) == pytest.approx(1e8 + 1e4, rel=1e-11)
    assert np.isinf(stats.levy.expect(lambda x: x * x, scale=wg.tensor(1.0)))
    assert stats.expon.expect(scale=wg.tensor([1.0, 2.0])[1]) == pytest.approx(2.0, rel=1e-12)


@pytest.mark.parametrize("name", ["skewnorm", "invgauss", "semicircular"])
def test_quantiles_without_a_formula_have_slopes_of_every_order(name):
    ours, shapes = getattr(stats, name), CONTINUOUS[name]
    args = (SHARES, *map(np.asarray, (*shapes, 0.3, 1.4)))
    theirs = getattr(reference, name)
    agrees_with_scipy(ours.ppf, theirs.ppf, args, rtol=1e-9, slope_rtol=1e-4, h=1e-4)
    curved = wg.grad(wg.grad(lambda q: ours.ppf(q, *shapes)))(0.3)
    step = 1e-3
    low, middle, high = (theirs.ppf(0.3 + s * step, *shapes) for s in (-1, 0, 1))
    np.testing.assert_allclose(curved, (low - 2 * middle + high) / step**2, rtol=1e-4)
    assert np.isfinite(ours.interval(0.8, *map(wg.tensor, shapes), wg.tensor(0.3), 1.4)[0].numpy())


DATA = np.array([0.42, 1.31, 0.77, 2.9, 1.05, 0.66, 1.8, 3.3])
FITS = [
    ("norm", {}), ("expon", {}), ("gamma", {"floc": 0}), ("lognorm", {"floc": 0}), ("weibull_min", {"floc": 0}),
    ("gumbel_r", {}), ("logistic", {}), ("norm", {"floc": 0.5}), ("halfnorm", {}), ("t", {"f0": 5.0}),
    ("beta", {"floc": 0, "fscale": 4}), ("norm", {"floc": 0, "fscale": 2}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options"), FITS, ids=[f"{n}-{'-'.join(o)}" for n, o in FITS])
def test_fits_are_functions_of_the_data(name, options):
    ours, theirs = getattr(stats, name), getattr(reference, name)
    if len(options) == 2 and name == "norm":  # nothing is left to fit: SciPy refuses it, and so do we
        with pytest.raises(ValueError, match="fixed"):
            ours.fit(wg.tensor(DATA), **options)
        return
    want = theirs.fit(DATA, **options)
    found = ours.fit(wg.tensor(DATA), **options)
    np.testing.assert_array_equal([float(v) for v in found], want)
    followed = [i for i, v in enumerate(found) if isinstance(v, wg.Tensor)]
    slopes = [wg.grad(lambda d, i=i: ours.fit(d, **options)[i])(DATA) for i in followed]
    tight = {**options, "optimizer": _exactly}
    for i, slope in zip(followed, slopes, strict=True):
        for place in (0, 3):
            sides = []
            for sign in (1, -1):
                x = DATA.copy()
                x[place] += sign * 1e-4
                sides.append(theirs.fit(x, **tight)[i])
            np.testing.assert_allclose(slope[place], (sides[0] - sides[1]) / 2e-4, rtol=2e-3, atol=2e-5)


def _exactly(func, x0, args=(), disp=0):
    return scipy.optimize.fmin(func, x0, args=args, disp=disp, xtol=1e-11, ftol=1e-14, maxiter=10**4, maxfun=10**4)


def test_the_slope_of_a_fit_has_a_slope():
    wanted = np.std(DATA)
    found = wg.hessian(lambda d: stats.norm.fit(d)[1])(DATA)
    exact = wg.hessian(lambda d: ((d - d.mean()) ** 2).mean() ** 0.5)(DATA)
    np.testing.assert_allclose(found, exact, atol=1e-8)
    loss = stats.norm.nnlf((wg.tensor(1.5), wanted), DATA)
    assert float(loss) == pytest.approx(reference.norm.nnlf((1.5, wanted), DATA))


def test_a_fit_on_a_bound_has_no_slope_and_says_so():
    with pytest.raises(wg.LostGradientError, match="floc=, fscale="):
        wg.grad(lambda d: stats.uniform.fit(d)[1])(DATA)


@pytest.mark.parametrize("name", ["norm", "gamma", "beta", "lognorm", "gumbel_r", "t", "f"])
def test_draws_are_scipys_and_follow_their_parameters(name):
    shapes = CONTINUOUS[name]
    args = tuple(np.asarray(v) for v in (*shapes, 0.3, 1.4))
    theirs, ours = getattr(reference, name), getattr(stats, name)
    want = theirs.rvs(*args, size=5, random_state=3)
    np.testing.assert_array_equal(ours.rvs(*args, size=5, random_state=3), want)
    got = wg.jacobian(lambda *p: ours.rvs(*p, size=5, random_state=3), argnums=tuple(range(len(args))), mode="forward")(
        *args
    )
    np.testing.assert_allclose(ours.rvs(*map(wg.tensor, args), size=5, random_state=3).numpy(), want, rtol=1e-10)
    quantiles = theirs.cdf(want, *args)
    for i, slope in enumerate(got):
        up, down = (theirs.ppf(quantiles, *[a + s * 1e-5 * (i == j) for j, a in enumerate(args)]) for s in (1, -1))
        np.testing.assert_allclose(slope, (up - down) / 2e-5, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["gamma", "beta", "t", "f", "vonmises", "burr12"])
def test_second_derivatives_of_draws_and_quantiles_are_those_of_the_place_that_keeps_its_mass(name):
    args = {"gamma": (2.3,), "beta": (2.1, 3.2), "t": (4.5,), "f": (4.0, 6.5), "vonmises": (1.5,), "burr12": (2.0, 3.0)}
    args = args[name]
    theirs, ours = getattr(reference, name), getattr(stats, name)
    quantiles = theirs.cdf(theirs.rvs(*args, size=4, random_state=3), *args)

    def draws(*p):
        return wg.sum(ours.rvs(*p, size=4, random_state=3) ** 2)

    for f in (draws, lambda *p: wg.sum(ours.ppf(quantiles, *p) ** 2)):
        for i, a in enumerate(args):
            up, at, down = (
                np.sum(theirs.ppf(quantiles, *[v + s * 2e-4 * a * (i == j) for j, v in enumerate(args)]) ** 2)
                for s in (1, 0, -1)
            )
            want = (up - 2 * at + down) / (2e-4 * a) ** 2
            assert wg.grad(wg.grad(f, argnums=i), argnums=i)(*args) == pytest.approx(want, rel=1e-5)


def test_derivatives_of_draws_are_right_to_the_fifth():
    """Weibull's quantile is a power, whose derivatives are known."""
    masses = reference.weibull_min.cdf(reference.weibull_min.rvs(1.8, size=3, random_state=3), 1.8)

    def drawn(c):
        return wg.sum(stats.weibull_min.rvs(c, size=3, random_state=3))

    def known(c):
        return wg.sum((-np.log1p(-masses)) ** (1.0 / c))

    for _ in range(5):
        drawn, known = wg.grad(drawn), wg.grad(known)
        assert drawn(1.8) == pytest.approx(known(1.8), rel=1e-8)


def test_frozen_distributions_have_the_methods_and_pickle():
    frozen = stats.gamma(wg.tensor(2.0), scale=3.0)
    assert float(frozen.logpdf(1.5)) == pytest.approx(reference.gamma(2.0, scale=3.0).logpdf(1.5))
    assert float(frozen.mean()) == 6.0
    assert frozen.rvs(size=3, random_state=0).shape == (3,)
    assert wg.grad(lambda a: stats.gamma(a).mean())(2.0) == 1.0
    assert stats.norm(1.0).support() == (-np.inf, np.inf)
    assert pickle.loads(pickle.dumps(stats.norm)) is stats.norm
    assert pickle.loads(pickle.dumps(stats.norm(1.0, 2.0))).std() == 2.0
    for method in (
        stats.norm.fit,
        stats.gamma.logpdf,
        stats.poisson.rvs,
        stats.rice.cdf,
        stats.multivariate_normal.pdf,
    ):
        assert pickle.loads(pickle.dumps(method)) is method
    point = stats.multivariate_normal(wg.tensor([1.0, 2.0]), np.eye(2))
    for bound, args in (
        (frozen.logpdf, (1.5,)),
        (frozen.rvs, (3, 0)),
        (frozen.stats, ("mvs",)),
        (point.logpdf, ([0.0, 1.0],)),
    ):
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(bound))(*args), bound(*args))


def test_methods_that_are_scipys_refuse_a_followed_parameter():
    with pytest.raises(wg.LostGradientError, match=r"stats.ncx2.cdf"):
        wg.grad(lambda b: stats.ncx2.cdf(1.0, 2.0, b))(1.0)
    assert stats.norm.fit([1.0, 2.0, 3.0])[0] == 2.0


COVARIANCE = np.array([[2.0, 0.4, 0.1], [0.4, 1.5, 0.3], [0.1, 0.3, 1.2]])
POINTS_3D = np.random.default_rng(0).normal(size=(4, 3))


def test_multivariate_normal_agrees_also_where_it_is_singular():
    def called(dist, x, m, half, **options):
        return dist.logpdf(x, m, half @ half.T, **options)

    args = (POINTS_3D, np.array([0.1, 0.2, 0.3]), np.linalg.cholesky(COVARIANCE))
    ours, theirs = stats.multivariate_normal, reference.multivariate_normal
    for options in ({}, {"allow_singular": True}):
        agrees_with_scipy(partial(called, ours, **options), partial(called, theirs, **options), args, slope_rtol=1e-5)
    agrees_with_scipy(lambda h: ours.entropy(None, h @ h.T), lambda h: theirs.entropy(None, h @ h.T), args[2:])
    half = np.array([[1.0, 0.2], [0.3, 1.0], [0.5, -0.4]])  # of rank two: points on its plane alone have a density
    flat = np.random.default_rng(1).normal(size=(4, 2)) @ half.T
    along = partial(called, ours, allow_singular=True), partial(called, theirs, allow_singular=True)
    np.testing.assert_allclose(along[0](wg.tensor(flat), None, half).numpy(), along[1](flat, None, half), rtol=1e-8)
    slope = wg.grad(lambda x: wg.sum(along[0](x, None, half)))(flat)
    np.testing.assert_allclose(slope, -flat @ np.linalg.pinv(half @ half.T), atol=1e-8)


def test_draws_of_vectors_are_scipys_and_follow_mean_and_covariance():
    ours, theirs = stats.multivariate_normal, reference.multivariate_normal
    want = theirs.rvs(np.ones(3), COVARIANCE, size=4, random_state=1)
    got = ours.rvs(wg.tensor(np.ones(3)), COVARIANCE, size=4, random_state=1)
    np.testing.assert_allclose(got.numpy(), want)
    slope = wg.grad(lambda m: wg.sum(ours.rvs(m, COVARIANCE, size=4, random_state=1)))(np.ones(3))
    np.testing.assert_allclose(slope, 4.0)
    # Cholesky's factor takes the standard draws to these
    factor = np.linalg.cholesky(COVARIANCE)
    standard = np.linalg.solve(factor, theirs.rvs(None, COVARIANCE, size=4, random_state=1).T)
    slope = wg.grad(lambda h: wg.sum(ours.rvs(None, h @ h.T, size=4, random_state=1) ** 2))(factor)
    np.testing.assert_allclose(np.tril(slope), np.tril(2 * factor @ standard @ standard.T), rtol=1e-8)


def test_dirichlet_and_multinomial_agree():
    shares, alpha = np.array([0.2, 0.3, 0.5]), np.array([1.5, 2.5, 3.0])
    for method in ("mean", "var", "entropy"):
        agrees_with_scipy(getattr(stats.dirichlet, method), getattr(reference.dirichlet, method), (alpha,))
    agrees_with_scipy(partial(stats.dirichlet.logpdf, shares), partial(reference.dirichlet.logpdf, shares), (alpha,))
    got = stats.multinomial.logpmf([1, 2, 3], 6, wg.tensor(shares))
    assert float(got) == pytest.approx(reference.multinomial.logpmf([1, 2, 3], 6, shares))


@pytest.mark.parametrize("method", [None, "silverman", 0.6])
def test_density_estimates_agree_in_points_and_data(method):
    data, weights = np.random.default_rng(2).normal(size=(2, 7)), np.linspace(1.0, 2.0, 7)
    points = np.random.default_rng(3).normal(size=(2, 3))

    def called(module, data, points, weights):
        return module.gaussian_kde(data, method, weights=weights).logpdf(points)

    agrees_with_scipy(partial(called, stats), partial(called, reference), (data, points, weights), slope_rtol=1e-5)
    np.testing.assert_allclose(stats.gaussian_kde(data[0])(points[0]), reference.gaussian_kde(data[0])(points[0]))
    assert stats.gaussian_kde(data[0]).integrate_box_1d(-9, 9) == pytest.approx(1.0, abs=1e-3)


INTEGRALS = {
    "box": lambda m, data, low: m.gaussian_kde(data[0]).integrate_box_1d(low, 0.9),
    "boxes without ends": lambda m, data, low: (
        m.gaussian_kde(data[0]).integrate_box_1d(-np.inf, low)
        + 2 * m.gaussian_kde(data[1]).integrate_box_1d(low, np.inf)
        + m.gaussian_kde(data[0]).integrate_box_1d(-np.inf, np.inf)
    ),
    "normal": lambda m, data, low: m.gaussian_kde(data[0], 0.6).integrate_gaussian(low, low**2 + 0.3),
    "normal of two axes": lambda m, data, low: m.gaussian_kde(data).integrate_gaussian(
        np.array([0.1, 0.4]), np.array([[0.5, 0.2], [0.2, 0.7]]) * low**2
    ),
    "two estimates": lambda m, data, low: m.gaussian_kde(data).integrate_kde(
        m.gaussian_kde(data[:, :4] * low, weights=np.arange(1.0, 5))
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", INTEGRALS)
def test_integrals_of_density_estimates(name):
    data, call = np.random.default_rng(2).normal(size=(2, 7)), INTEGRALS[name]
    low = np.array(-0.7)
    agrees_with_scipy(partial(call, stats), partial(call, reference), (data, low), slope_rtol=1e-5)
    compiled = wg.grad(wg.function(lambda data: call(stats, data, low)))
    np.testing.assert_allclose(compiled(data), wg.grad(lambda data: call(stats, data, low))(data), rtol=1e-9)


def test_a_draw_from_a_followed_estimate_names_the_draw():
    with pytest.raises(wg.LostGradientError, match="gaussian_kde.resample"):
        wg.grad(lambda x: stats.gaussian_kde(x).resample(3).sum())(np.arange(4.0))


X = np.random.default_rng(4).uniform(0.5, 2.0, size=(4, 3))
SIMPLE = [
    ("zscore", (X,), {}), ("zscore", (X,), {"axis": None, "ddof": 1}), ("zmap", (X, X + X**2), {}), ("sem", (X,), {}),
    ("sem", (X,), {"axis": 1, "keepdims": True}), ("gmean", (X,), {}), ("gmean", (X,), {"weights": X}), ("hmean", (X,), {}),
    ("pmean", (X,), {"p": 2.5}), ("moment", (X,), {"order": 3}), ("skew", (X,), {}), ("skew", (X,), {"bias": False}),
    ("kurtosis", (X,), {}), ("kurtosis", (X,), {"bias": False, "fisher": False}), ("variation", (X,), {"ddof": 1}),
    ("entropy", (X,), {}), ("entropy", (X, X**2), {"base": 2, "axis": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "options"), SIMPLE, ids=[f"{c[0]}-{i}" for i, c in enumerate(SIMPLE)])
def test_statistics_of_samples_agree(name, args, options):
    ours, theirs = (partial(getattr(m, name), **options) for m in (stats, reference))
    agrees_with_scipy(ours, theirs, args, slope_rtol=1e-5)


@pytest.mark.parametrize(("name", "shapes"), [("norm", ()), ("gamma", (2.3,)), ("t", (4.5,)), ("f", (3.3, 5.4))])
def test_mean_and_variance_together(name: str, shapes: tuple[float, ...]) -> None:
    args = (*map(np.array, shapes), np.array(0.3), np.array(1.4))
    agrees_with_scipy(
        lambda *v: getattr(stats, name)(*v).stats("mv"), lambda *v: getattr(reference, name)(*v).stats("mv"), args
    )
    agrees_with_scipy(
        lambda *v: getattr(stats, name).stats(*v, moments="v"), lambda *v: getattr(reference, name).stats(*v, moments="v"),
        args,
    )  # fmt: skip


def test_moments_over_a_kink_that_moves_are_those_of_the_formula():
    """SciPy's page of the triangular distribution has its skewness; its excess is -3/5 whatever the mode."""

    def skew(c):
        return 2**0.5 * (1 - 2 * c) * (2 - c) * (1 + c) / (5 * (1 - c + c * c) ** 1.5)

    ours = {order: wg.grad(lambda c, order=order: stats.triang.stats(c, moments=order)) for order in "sk"}
    wanted = wg.grad(skew)
    for c in (0.1, 0.4, 0.9):
        assert ours["s"](c) == pytest.approx(wanted(c), rel=1e-6)
        assert wg.grad(ours["s"])(c) == pytest.approx(wg.grad(wanted)(c), rel=1e-5)
        assert ours["k"](c) == pytest.approx(0.0, abs=1e-9)
        assert wg.grad(ours["k"])(c) == pytest.approx(0.0, abs=1e-7)


def test_quantiles_beside_one_at_infinity_keep_their_slopes():
    shares = np.array([0.5, 1.0, 0.2, 0.0])
    alone = wg.jacobian(lambda a: stats.skewnorm.ppf(shares[[0, 2]], a))(1.4)
    np.testing.assert_allclose(wg.jacobian(lambda a: stats.skewnorm.ppf(shares, a))(1.4)[[0, 2]], alone, rtol=1e-12)
    np.testing.assert_array_equal(stats.skewnorm.ppf(shares, wg.tensor(1.4)).numpy()[[1, 3]], [np.inf, -np.inf])
