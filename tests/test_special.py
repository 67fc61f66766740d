"""Special functions against SciPy, and their derivatives where the closed formulas have holes."""

from __future__ import annotations

import functools
import itertools
import time
from typing import Any

import numpy as np
import pytest
import scipy.special as reference

import wengert as wg
import wengert.scipy.special
from wengert import special

X = np.array([-2.5, -0.7, -0.1, 0.0, 0.3, 0.5, 0.9, 1.0, 2.0, 8.0])
INSIDE = np.array([0.0, 0.01, 0.3, 0.5, 0.9, 1.0])
POSITIVE = np.array([0.1, 0.5, 1.0, 1.5, 2.0, 20.0])
CASES = [
    *[(n, (X,)) for n in ("erf", "erfc", "erfcx", "ndtr", "log_ndtr", "i0", "i0e", "i1", "i1e", "expit", "log_expit",
                          "cbrt", "exp2", "expm1", "entr", "gammaln")],
    *[(n, (INSIDE,)) for n in ("logit", "ndtri", "erfinv")],
    *[(n, (POSITIVE,)) for n in ("gamma", "digamma", "psi", "log1p")],
    ("polygamma", (0, POSITIVE)), ("polygamma", (2, POSITIVE)), ("iv", (2, X)), ("ive", (0, X)),
    ("xlogy", (INSIDE, POSITIVE)), ("xlogy", (0.0, 0.0)), ("xlog1py", (X, INSIDE[0])), ("rel_entr", (INSIDE, 0.5)),
    ("rel_entr", (np.array([0.0, 1.0, -1.0, 0.0]), np.array([0.0, 0.0, 1.0, -1.0]))), ("kl_div", (INSIDE, 0.5)),
    ("erf", (np.float32([0.1, 1.5]),)), ("logsumexp", (X,)), ("logsumexp", (X.reshape(2, 5), 1)),
    ("softmax", (X.reshape(2, 5),)), ("softmax", (X.reshape(2, 5), 0)), ("log_softmax", (X.reshape(2, 5), 1)),
    ("log_softmax", (X.reshape(1, 2, 5), (0, 2))),
    *[(n, (v, POSITIVE)) for n in ("jv", "yv", "iv", "ive", "kv", "kve") for v in (0, 1, 3, 2.5, -0.5, -1)],
    *[(n, (X,)) for n in ("j0", "j1")], *[(n, (POSITIVE,)) for n in ("y0", "y1", "k0", "k1", "k0e", "k1e", "exp1")],
    ("jv", (3, X)), ("expi", (X,)), ("beta", (POSITIVE, 2.5)), ("betaln", (1.5, POSITIVE)),
    ("gammainc", (POSITIVE, POSITIVE[::-1])), ("gammaincc", (POSITIVE, 3.0)), ("gammainc", (2, 0.0)),
    ("loggamma", (POSITIVE,)), ("gammasgn", (np.array([-2.5, -1.5, -1.0, 0.5, 3.0]),)), ("multigammaln", (POSITIVE + 1, 3)),
    ("factorial", (np.array([0, 1, 5, -1, 20]),)), ("comb", (np.array([5, 5, 5, 30]), np.array([0, 2, 7, 15]))),
    ("poch", (POSITIVE, 2.5)), ("erfcinv", (np.array([0.0, 1e-20, 0.4, 1.0, 1.7, 2.0]),)),
    ("gammaincinv", (POSITIVE, INSIDE)), ("betaincinv", (POSITIVE, 1.5, INSIDE)),
    ("betainc", (POSITIVE, 2, 0.25)), ("betaincc", (0.5, POSITIVE, 0.75)), ("zeta", (POSITIVE + 1, 0.5)),
    ("zeta", (np.array([1.0, 2.0, 4.0]),)), ("gammainc", (np.float32([0.5, 2.0]), np.float32([1.5]))),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args"), CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_values_are_scipys(name, args):
    with np.errstate(all="ignore"):
        result, expected = getattr(special, name)(*args), getattr(reference, name)(*args)
    assert np.asarray(result).dtype == np.asarray(expected).dtype
    tolerance = 1e-6 if np.asarray(expected).dtype == np.float32 else 1e-12
    np.testing.assert_allclose(result, expected, rtol=tolerance, atol=1e-15)


def test_logsumexp_with_factors_and_signs():
    x, b = np.array([[1.0, 2.0, 1000.0], [0.0, 1.0, 2.0]]), np.array([1.0, -2.0, 0.0])
    for kwargs in ({"b": np.abs(b)}, {"b": b, "return_sign": True, "axis": 1}, {"axis": 0, "keepdims": True, "b": 2.0}):
        result, expected = special.logsumexp(x, **kwargs), reference.logsumexp(x, **kwargs)
        for r, e in zip(*(v if isinstance(v, tuple) else (v,) for v in (result, expected))):
            np.testing.assert_allclose(r, e, rtol=1e-13)
    gradient = wg.grad(lambda x: special.logsumexp(x, b=np.array([1.0, 3.0, 0.0])))(np.array([0.0, 1.0, 5.0]))
    weights = np.array([1.0, 3.0 * np.e, 0.0])
    np.testing.assert_allclose(gradient, weights / weights.sum())


def test_derivatives_in_the_holes():
    assert wg.grad(lambda x: special.i1(x))(0.0) == 0.5
    assert wg.grad(wg.grad(lambda x: special.i0(x)))(0.0) == 0.5
    assert wg.grad(lambda x: special.xlogy(x, 0.0))(0.0) == 0.0
    np.testing.assert_allclose(wg.grad(lambda x: special.logit(x))(0.25), 1 / (0.25 * 0.75))
    np.testing.assert_allclose(wg.grad(lambda x: special.log_expit(x))(-800.0), 1.0)
    with pytest.raises(TypeError, match="whole number"):
        special.polygamma(0.5, 1.0)


def differences(f, x, h):
    """The derivative by Richardson's extrapolation of central differences, to about 1e-10."""
    row = [(f(x + h / 2**k) - f(x - h / 2**k)) / (2 * h / 2**k) for k in range(5)]
    for j in range(1, 5):
        row = [(4**j * b - a) / (4**j - 1) for a, b in itertools.pairwise(row)]
    return row[0]


A = np.array([0.01, 0.1, 0.5, 1.0, 3.0, 10.0, 50.0, 200.0, 1000.0])


@pytest.mark.parametrize("share", [0.5, 0.9, 1.0, 1.05, 1.5])
def test_incomplete_gamma_in_its_parameter(share):
    x, h = A * share, np.minimum(A, np.sqrt(A)) * 0.1
    got = wg.grad(lambda a: wg.sum(special.gammainc(a, x)))(A)
    lower = reference.gammainc(A, x) < 0.5  # the smaller of the two has its digits
    below, above = (differences(lambda a, f=f: f(a, x), A, h) for f in (reference.gammainc, reference.gammaincc))
    want = np.where(lower, below, -above)
    np.testing.assert_allclose(got, want, rtol=1e-8)
    np.testing.assert_allclose(wg.grad(lambda a: wg.sum(special.gammaincc(a, x)))(A), -np.asarray(got))


def test_incomplete_gamma_at_known_points():
    # docs/semantics/hard_points.md: "igamma(a=2,x=1.5) d/da" and "igamma(a=2,x=0)"
    np.testing.assert_allclose(wg.grad(lambda a: special.gammainc(a, 1.5))(2.0), -0.31348863782507924, rtol=1e-13)
    np.testing.assert_allclose(wg.grad(lambda x: special.gammainc(2.0, x))(1.5), 0.3346952402226446, rtol=1e-13)
    assert wg.grad(special.gammainc, argnums=(0, 1))(2.0, 0.0) == (0.0, 0.0)
    # gammainc(1, x) is 1 - e^-x, and so its density is e^-x at 0 too
    assert wg.grad(lambda x: special.gammainc(1.0, x))(0.0) == 1.0


@pytest.mark.parametrize("order", [2, 3])
def test_higher_derivatives_in_the_parameter_are_differences_of_the_lower(order):
    def derivative(f, n):
        for _ in range(n):
            f = wg.grad(f)
        return f

    for f, at in (
        (lambda a: special.gammainc(a, 2.5), 1.7), (lambda a: special.gammaincc(a, 8.0), 1.7),
        (lambda a: special.betainc(a, 2.0, 0.3), 1.7), (lambda b: special.betainc(2.5, b, 0.6), 0.8),
        (lambda a: special.betainc(a, 2.0 * a, 0.3), 1.7), (lambda s: special.zeta(s, 0.4), 2.2),
    ):  # fmt: skip
        want = differences(lambda p, f=f: np.asarray(derivative(f, order - 1)(p)), at, 0.05)
        np.testing.assert_allclose(derivative(f, order)(at), want, rtol=1e-8)


def test_incomplete_beta_in_its_parameters():
    rng = np.random.default_rng(3)
    a, b = np.exp(rng.uniform(-2, 6, (2, 40)))
    x = np.clip(a / (a + b) * np.exp(0.2 * rng.normal(size=40)), 0.001, 0.999)
    got = wg.grad(lambda a, b: wg.sum(special.betainc(a, b, x)), argnums=(0, 1))(a, b)
    wants = (
        differences(lambda a: reference.betainc(a, b, x), a, np.minimum(a, np.sqrt(a)) * 0.1),
        differences(lambda b: reference.betainc(a, b, x), b, np.minimum(b, np.sqrt(b)) * 0.1),
    )
    for g, want in zip(got, wants):
        np.testing.assert_allclose(g, want, rtol=1e-8, atol=1e-10)
    # I_x(1, b) = 1 - (1 - x)^b and I_x(a, 1) = x^a
    np.testing.assert_allclose(
        wg.grad(lambda b: special.betainc(1.0, b, 0.3))(2.5), -(0.7**2.5) * np.log(0.7), rtol=1e-13
    )
    np.testing.assert_allclose(wg.grad(lambda a: special.betainc(a, 1.0, 0.3))(2.5), 0.3**2.5 * np.log(0.3), rtol=1e-13)


def test_zeta_in_both_arguments():
    # docs/semantics/hard_points.md: "zeta(2.5,1.5)"
    np.testing.assert_allclose(
        wg.grad(special.zeta, argnums=(0, 1))(2.5, 1.5), (-0.4648123481394763, -0.7677404111428354), rtol=1e-13
    )
    s = np.array([1.1, 1.5, 2.0, 4.0, 20.0])
    want = differences(lambda s: reference.zeta(s, 0.7), s, 0.02)
    np.testing.assert_allclose(wg.grad(lambda s: wg.sum(special.zeta(s, 0.7)))(s), want, rtol=1e-8)


def test_zeta_where_terms_vanish_beside_the_first_and_their_sum_does_not():
    s, q = 1.0 + 2.0**-52, 2.0**-52  # 1 / (s - 1) - digamma(q)
    for f in (special.zeta, wg.function(special.zeta)):
        np.testing.assert_allclose(f(s, q), 2.0**53, rtol=1e-12)


# zeta, zeta' and zeta'' by mpmath
RIEMANN = np.array([
    [-180.5, -5.1567927348837e+185, 2.543029826404202e+186, -9.998815786315263e+186],
    [-100.0, 0.0, 7.095562392673427e+77, -3.934183934330982e+78],
    [-50.25, 7.696959283034125e+23, -4.526803830087649e+24, 1.367040766767412e+25],
    [-10.5, 0.011146122473942813, -0.02375144392688432, -0.0033771099179824384],
    [-4.0, 0.0, 0.007983811450268625, 0.005737415846103786],
    [-3.001, 0.008327947633202333, 0.005392818747569739, -0.01422692209693056],
    [-2.0, 0.0, -0.03044845705839327, -0.0657635161874252],
    [-1.0, -0.08333333333333333, -0.16542114370045094, -0.25020442410960037],
    [-0.5, -0.20788622497735457, -0.3608543395999476, -0.596229176765016],
    [-0.125, -0.39906966894504503, -0.7083051840964735, -1.410408785820538],
    [-0.1, -0.41722804076736686, -0.7447732081330534, -1.5085004221222298],
    [-1e-08, -0.49999999081061475, -0.9189385131411085, -2.0063563958614745],
    [0.0, -0.5, -0.9189385332046728, -2.006356455908585],
    [0.25, -0.8132784052618917, -1.698445150389634, -4.748185215165199],
    [0.75, -3.4412853869452227, -15.924831928690486, -128.00910221409885],
    [0.9999990463256836, -1048575.4227844046, -1099511627775.9271, -2.305843009213694e+18],
    [1.0000009536743164, 1048576.5772157344, -1099511627775.9271, 2.305843009213694e+18],
    [2.0, 1.6449340668482264, -0.9375482543158438, 1.989280234298901],
    [30.0, 1.0000000009313275, -6.45548953880003e-10, 4.4746260164732365e-10],
])  # fmt: skip


def _riemann_derivatives(x):
    """Riemann's zeta function of each number and its first two derivatives, one after the other."""
    first = wg.grad(lambda x: wg.sum(special.zeta(x)))
    return special.zeta(x), first(x), wg.grad(lambda x: wg.sum(first(x)))(x)


def test_riemanns_zeta_of_any_number_and_its_derivatives():
    x, *want = RIEMANN.T
    singly = zip(*map(_riemann_derivatives, x), strict=True)
    for found in (_riemann_derivatives(x), wg.function(_riemann_derivatives)(x), singly):
        for values, expected in zip(found, want, strict=True):
            np.testing.assert_allclose(values, expected, rtol=2e-14)
    np.testing.assert_allclose(wg.jvp(special.zeta, (x,), (x,))[1], x * want[1], rtol=2e-14)
    found = wg.grad(lambda s: wengert.scipy.special.zeta(s) * s)(-10.5)
    assert found == pytest.approx(want[0][3] - 10.5 * want[1][3], rel=1e-14)


def test_riemanns_zeta_at_its_limits_and_of_short_numbers():
    np.testing.assert_array_equal(special.zeta(np.array([-400.0, 1.0, np.inf, np.nan])), [0.0, np.inf, 1.0, np.nan])
    assert np.isnan(special.zeta(-0.5, 1.0))  # there SciPy knows no function of two arguments
    for dtype, bound in ((np.float16, 2e-3), (np.float32, 3e-6)):
        short = np.array([-10.5, -2.0, -0.5, 0.5, 2.0], dtype)
        found, slope = special.zeta(short), wg.grad(lambda s: wg.sum(special.zeta(s)))(short)
        assert found.dtype == slope.dtype == dtype
        np.testing.assert_allclose(found, reference.zeta(short.astype(float)), rtol=bound)
        np.testing.assert_allclose(slope, _riemann_derivatives(short.astype(float))[1], rtol=bound)


@pytest.mark.parametrize("order", [0, 1, 2, 0.5, 2.5, -1.5])
@pytest.mark.parametrize("name", ["jv", "yv", "iv", "kv"])
def test_bessel_derivatives_are_scipys(name, order):
    x = np.array([0.2, 1.0, 3.5, 12.0])
    f = lambda x: wg.sum(getattr(special, name)(order, x))  # two orders of one function
    derivative = getattr(reference, name + "p")
    np.testing.assert_allclose(wg.grad(f)(x), derivative(order, x), rtol=1e-11)
    np.testing.assert_allclose(wg.grad(lambda x: wg.sum(wg.grad(f)(x)))(x), derivative(order, x, 2), rtol=1e-10)


def test_bessel_functions_at_zero_and_their_errors():
    assert wg.grad(special.j1)(0.0) == 0.5
    assert wg.grad(wg.grad(special.j0))(0.0) == -0.5
    with pytest.raises(TypeError, match="order must be a number"):
        special.jv(np.array([1.0, 2.0]), 1.0)


@pytest.mark.parametrize("order", [0, 1, 2, 3, 4])
def test_modified_bessel_functions_at_the_largest_numbers(order: int) -> None:
    """Where SciPy's are NaN, or ours once were: eagerly and compiled."""
    largest = np.finfo(float).max
    x = np.array([1e300, -1e300, largest, -largest])
    sign = np.array([1.0, (-1.0) ** order, 1.0, (-1.0) ** order])
    wanted = {"iv": (x, sign * np.inf), "ive": (x, sign / np.sqrt(2 * np.pi) / np.sqrt(np.abs(x)))}
    wanted["kv"] = (np.array([2e9, 1e300, largest, np.inf]), np.zeros(4))
    for name, (at, values) in wanted.items():
        run = functools.partial(getattr(special, name), order)
        np.testing.assert_allclose(run(at), values, rtol=1e-12, err_msg=name)
        np.testing.assert_allclose(wg.function(run)(at), values, rtol=1e-12, err_msg=name)


SIZES = [1e-300, 1e-8, 0.5, 3.0, 50.0, 999.0, 1e5, 1e8, 1e12, 1e16]


def test_derivatives_in_parameters_of_any_size_take_bounded_time() -> None:
    def places(a, b):
        peak = a / (a + b)
        return [x for x in (1e-12, 0.3, 0.7 * peak, peak * 0.999, peak, 1 - 1e-9) if 0 < x < 1]

    points = [(a, b, x) for a in SIZES for b in SIZES for x in places(a, b)]
    near = [(a, a * r) for a in SIZES for r in (0.1, 0.69, 0.71, 0.999, 1.0, 1.001, 1.31, 3.0)] + [
        (a, 1e16) for a in SIZES
    ]
    begun = time.process_time()
    beta = wg.grads(special.betainc)([*np.array(points).T])
    gamma = wg.grads(special.gammainc)([*np.array(near).T])
    assert time.process_time() - begun < 5  # each point at sizes of 1e12 took 20 seconds
    assert all(np.isfinite(g).all() for g in (*beta[:2], *gamma))
    # more of a lowers both, more of b raises: but for what rounds off beside a value near 1
    assert (gamma[0] <= 1e-15).all()
    assert (beta[0] <= 1e-15).all()
    assert (beta[1] >= -1e-15).all()


def test_tiny_parameters_of_betainc() -> None:
    # there betainc is b / (a + b), whatever x
    tiny = np.array([1e-300, 1e-200, 1e-60])
    for x in (0.1, 0.5, 0.9):
        slope = wg.grads(lambda a, b, x=x: special.betainc(a, b, np.full(3, x)))([tiny, 2 * tiny])
        np.testing.assert_allclose(slope[0], -2 / (9 * tiny), rtol=1e-13)
        np.testing.assert_allclose(slope[1], 1 / (9 * tiny), rtol=1e-13)


@pytest.mark.parametrize("size", [1e3, 1e8, 1e12, 1e14, 1e16, 1e30])
def test_the_slope_of_betainc_in_x_at_large_parameters(size: float) -> None:
    # the density at the middle: sqrt(4 a / pi) (1 - 1 / (8 a) + 1 / (128 a^2) + ...)
    wanted = np.sqrt(4 * size / np.pi) * (1 - 1 / (8 * size) + 1 / (128 * size**2))
    slope = wg.grad(special.betainc, argnums=2)
    for found in (slope(size, size, 0.5), wg.function(slope)(size, size, 0.5)):
        np.testing.assert_allclose(found, wanted, rtol=1e-11 if size < 1e4 else 1e-14)
    np.testing.assert_allclose(wg.grad(special.betaincc, argnums=2)(size, size, 0.5), -wanted, rtol=1e-11)
    np.testing.assert_allclose(wg.grad(special.betaincinv, argnums=2)(size, size, 0.5), 1 / wanted, rtol=1e-11)


def test_the_slope_of_betainc_in_x_at_its_ends() -> None:
    slope = wg.grad(special.betainc, argnums=2)
    points = [(1.0, 2.5, 0.0), (2.0, 2.5, 0.0), (2.0, 2.5, 1.0), (2.0, 1.0, 1.0), (1.0, 1.0, 0.5)]
    assert [slope(*point) for point in points] == [2.5, 0.0, 0.0, 2.0, 1.0]
    np.testing.assert_allclose(wg.grad(slope, argnums=(1, 2))(1.0, 2.5, 0.0), [1.0, -3.75], rtol=1e-14)


@pytest.mark.parametrize("name", ["erf", "erfc", "ndtr"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_higher_derivatives_that_have_vanished_are_zero_at_infinities(name: str, dtype: str) -> None:
    x = np.array([-np.inf, np.inf, -300.0, 6e4, np.nan], dtype)
    f: Any = getattr(wg.special, name)

    def first(x: Any) -> Any:
        return wg.grad(lambda u: wg.sum(f(u)))(x)

    def second(x: Any) -> Any:
        return wg.grad(lambda u: wg.sum(first(u)))(x)

    def third(x: Any) -> Any:
        return wg.grad(lambda u: wg.sum(second(u)))(x)

    by_columns = wg.jvp(first, (x,), (np.ones(5, dtype),))[1]
    for found in (first(x), second(x), third(x), by_columns, wg.function(second)(x)):
        np.testing.assert_array_equal(found, [0.0, 0.0, 0.0, 0.0, np.nan])


def test_zeta_of_infinite_arguments() -> None:
    assert special.zeta(2.0, np.inf) == special.zeta(np.inf, np.inf) == special.zeta(1e300, 1e10) == 0.0


def test_zeta_of_the_largest_numbers() -> None:
    # zeta(s, q) is q ** (1 - s) / (s - 1) there; q ** -s underflows first
    s, q = np.array([2.0, 1.5, 3.0]), np.array([1e300, 1e250, 1e120])
    value = q ** (1 - s) / (s - 1)
    np.testing.assert_allclose(wg.special.zeta(s, q), value, rtol=1e-13)
    slope = wg.grad(lambda s: wg.sum(wg.special.zeta(s, q)))(s)
    np.testing.assert_allclose(slope, -value * (np.log(q) + 1 / (s - 1)), rtol=1e-12)


@pytest.mark.parametrize("name", ["rel_entr", "kl_div"])
@pytest.mark.parametrize("shape", [(2,), (0, 1)])
def test_divergences_of_complex_numbers_are_refused(name: str, shape: tuple[int, ...]) -> None:
    f, z = getattr(wg.special, name), np.ones(shape, complex)
    for way in (f, wg.function(f)):
        with pytest.raises(TypeError, match="complex"):
            way(wg.tensor(z), 1)


@pytest.mark.parametrize("compiles", [False, True])
@pytest.mark.parametrize("f", [special.i0e, special.i1e, lambda x: special.ive(2, x), special.k1e])
def test_slopes_of_scaled_bessel_functions_of_half_floats_are_rounded_once(f, compiles) -> None:
    """The expansion of 28 terms is computed in float32: each step would be rounded, which takes long, too."""
    x = np.linspace(33.0, 400.0, 200).astype(np.float16)
    slope = wg.grad(lambda u: wg.sum(f(u)))
    wanted = slope(x.astype(np.float64))
    found = (wg.function(slope) if compiles else slope)(x)
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, wanted, 2e-3, 2e-7)
