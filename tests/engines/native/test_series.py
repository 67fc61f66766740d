"""Series and searches in machine code (modified Bessel functions, polygamma, quantiles, slopes in parameters), and
functions of what operands repeat.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from docs.making import accuracy
from tests.support import special_accuracy as A
from wengert._core.apply import apply
from wengert._core.op import REGISTRY
from wengert._engines.native.lower.functions import lowered
from wengert._engines.native.plan.prepare import ready
from wengert._engines.numpy import NUMPY
from wengert._passes import optimise

S = wg.special
HARD = [0.0, -0.0, 1e-300, -1e-8, 7.999999, 8.0, 8.000001, -8.0, 700.0, 1e5, -1e5, np.nan]
X = np.concatenate([np.linspace(-29.7, 30.1, 300), HARD])
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "i0": S.i0, "i0e": S.i0e, "i1": S.i1, "i1e": S.i1e,
    **{f"ive {n}": lambda x, n=n: S.ive(n, x) for n in (2, 3, 4, 5)},
    "iv": lambda x: S.iv(2, x),
    **{f"polygamma {n}": lambda x, n=n: S.polygamma(n, x) for n in (0, 1, 2, 6, 7, 13, 30, 31)},
}  # fmt: skip
STATED = accuracy.rows()
POLES = np.array([0.0, -1.0, -2.0, -1e20, np.inf, -np.inf])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_are_those_of_the_kernels(dtype: Any) -> None:
    x = X.astype(dtype)
    with np.errstate(all="ignore"):
        found = wg.function(lambda x: {name: f(x) for name, f in FUNCTIONS.items()})(x)
        for name, f in FUNCTIONS.items():
            assert found[name].dtype == dtype
            # next to digamma's roots below 0 two terms cancel in either: they are right to units of these
            atol = 1e-15 if name == "polygamma 0" else 0.0
            np.testing.assert_allclose(found[name], f(x), 1e-14 if dtype == np.float64 else 1e-6, atol, err_msg=name)


def test_poles_and_ends() -> None:
    names = [name for name in FUNCTIONS if name.startswith("polygamma")]
    with np.errstate(all="ignore"):
        found = wg.function(lambda x: [FUNCTIONS[name](x) for name in names])(POLES)
        for name, values in zip(names, found, strict=True):
            np.testing.assert_array_equal(values, FUNCTIONS[name](POLES), err_msg=name)
        np.testing.assert_allclose(wg.function(S.i0e)(POLES), S.i0e(POLES), 1e-15)


def test_what_overflows_late_is_finite() -> None:
    """e^x is infinite from 709.8 on, the functions are from 713 on."""
    assert wg.function(lambda x: S.iv(2, x))(712.0) == pytest.approx(2.4614821897475353e307, rel=1e-12)


def test_derivatives_are_series_too() -> None:
    x = X[:-1][np.abs(X[:-1]) < 30]
    f = wg.vmap(wg.grad(wg.grad(lambda x: S.i1e(x) + S.digamma(abs(x) + 0.2))))
    compiled = wg.function(f)
    np.testing.assert_allclose(compiled(x), f(x), 1e-12)
    assert {part.why for part in compiled.report(x).parts} == {""}


SINGLE = {"digamma": S.digamma, "erfcx": S.erfcx, "log_ndtr": S.log_ndtr, "ndtri": lambda x: S.ndtri(0.1 * x)}


@pytest.mark.parametrize("name", SINGLE)
def test_functions_of_single_numbers_are_the_librarys(name: str) -> None:
    """In vectors ours take less time, by themselves up to six times as much."""

    def f(x: Any) -> Any:
        return wg.fori_loop(0, 3, lambda i, y: 0.1 * SINGLE[name](0.1 * y + 2.0) + x, x)

    scipys = {"digamma": "psi"}.get(name, name)
    for count, whys in ((2, {f"special.{scipys}"}), (100, {""})):
        x, compiled = np.linspace(1.0, 2.0, count), wg.function(f, name=f"of_{count}")
        np.testing.assert_allclose(compiled(x), f(x), 1e-14)
        assert {part.why for part in compiled.report(x).parts} - {""} == whys - {""}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_logarithms_of_ratios_are_exact_close_to_1_and_beyond_the_range_of_ratios(dtype: Any) -> None:
    info, rng, n = np.finfo(dtype), np.random.default_rng(8), 20_000
    most = 37 if dtype == np.float32 else 307
    x = np.concatenate([10.0 ** rng.uniform(-most, most, n), rng.uniform(0.1, 10, 2 * n)]).astype(dtype)
    y = np.concatenate([10.0 ** rng.uniform(-most, most, n), rng.uniform(0.1, 10, n), x[2 * n :]]).astype(dtype)
    y[2 * n :] *= (1 + 10.0 ** rng.uniform(-16, -1, n)).astype(dtype)
    ends = np.array([info.max, info.tiny, info.smallest_subnormal, 1.0], dtype)
    x, y = (np.concatenate([a, b.ravel()]) for a, b in zip((x, y), np.meshgrid(ends, ends), strict=True))
    f = wg.function(lambda x, y: apply(REGISTRY["log_ratio"], (wg.asarray(x), wg.asarray(y)), ()))
    with np.errstate(all="raise", under="ignore"):
        found = np.asarray(f(x, y))
    wide = x.astype(np.longdouble), y.astype(np.longdouble)
    gap = (wide[0] - wide[1]) / wide[1]
    wanted = np.where(np.abs(gap) < 0.5, np.log1p(np.maximum(gap, -0.5)), np.subtract(*map(np.log, wide)))
    np.testing.assert_allclose(found, wanted.astype(dtype), 4 * info.eps)


def test_digamma_is_exact_next_to_its_first_root_below_0() -> None:
    x = np.array([-0.5040830082644554, -0.50408, -0.504, -0.45, -0.5999, -0.6001])
    assert wg.function(S.digamma)(x)[0] == pytest.approx(7.23162849047831e-17, rel=1e-14)
    np.testing.assert_allclose(wg.function(S.digamma)(x[1:]), S.digamma(x[1:]), 2e-15)


def test_slopes_of_beta_are_steps_of_digamma_without_digits_that_cancel() -> None:
    """psi(x + 2) - psi(x) is 1 / x + 1 / (x + 1), also below 0; of tiny and huge steps it is no 0 and no NaN."""
    slope = wg.grad(lambda a, b: wg.sum(S.betaln(a, b)))
    x = np.array([-1000.3, -0.3, 1e-3, 0.7, 30.0, 1e10])
    for f in (slope, wg.function(slope)):
        np.testing.assert_allclose(f(x, np.full(x.shape, 2.0)), -1 / x - 1 / (x + 1), 1e-13)
        small = f(np.array([1e-3, 2.0, 1e20]), np.full(3, 1e-25))
        np.testing.assert_allclose(small, -1e-25 * S.polygamma(1, np.array([1e-3, 2.0, 1e20])), 1e-14)
        tiny = 2.0**-52
        beside_poles = f(np.array([-1e-5, -1e-5, tiny, tiny]), np.array([tiny, -tiny, -1.0, -2.0]))
        np.testing.assert_allclose(beside_poles, [-2.22044604966487e-6, 2.22044604956626e-6, -1.0, -1.5], 1e-14)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(f(np.array([2.0, np.inf]), np.array([np.inf, 1e-3])), [-np.inf, 0.0])


def test_functions_of_a_library_leave_vectors_to_the_others() -> None:
    """Values and gradients of programs in which both are, in loops of many elements and of few."""

    def f(x: Any, y: Any) -> Any:
        return S.gamma(wg.exp(x)) * S.digamma(y) + S.gammaln(x * y), S.beta(x, y) * wg.sin(S.i0(y)), wg.exp(x)

    slope = wg.grad(lambda x, y: sum(wg.sum(v) for v in f(x, y)), argnums=(0, 1))
    for count in (1, 5, 40, 300, 5000, 200_000):
        x, y = np.random.default_rng(count).uniform(0.2, 2.0, (2, count))
        for g in (f, slope):
            for found, wanted in zip(wg.function(g)(x, y), g(x, y), strict=True):
                np.testing.assert_allclose(found, wanted, 1e-12, 1e-13)


def test_zeta_and_its_slopes_in_loops_are_those_of_the_kernels() -> None:
    ends = [-np.inf, -1e300, -2.5, -2.0, -0.5, 0.0, 1e-300, 0.3, 1.0, 2.0, 7.0, 50.0, 1e10, 1e300, np.inf, np.nan]
    s, q = np.array(np.meshgrid([*ends, 1.01, 2000.0], ends)).reshape(2, -1)

    def f(s: Any, q: Any) -> Any:
        slope = wg.grad(lambda s: wg.sum(S.zeta(s, q)))
        found = (S.zeta(s, q), slope(s), wg.grad(lambda s: wg.sum(slope(s)))(s))
        return wg.fori_loop(0, 2, lambda i, _: found, (s, s, s))

    compiled = wg.function(f)
    with np.errstate(all="ignore"):
        for found, wanted in zip(compiled(s, q), f(s, q), strict=True):
            np.testing.assert_allclose(found, wanted, 1e-12)
        assert {part.by for part in compiled.report(s, q).parts} == {"machine code"}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_zeta_of_positive_terms_is_vector_code_and_of_others_a_call(dtype: Any) -> None:
    rng, n = np.random.default_rng(3), 4000
    s, q = rng.uniform(1.05, 30, n).astype(dtype), (10 ** rng.uniform(-1, 3, n)).astype(dtype)
    s[::100], q[::100] = rng.integers(2, 6, n // 100), -rng.uniform(0, 9, n // 100)
    compiled = wg.function(S.zeta)
    found, wanted = compiled(s, q), S.zeta(s.astype(np.float64), q.astype(np.float64))
    # beside powers of rounded numbers
    units = 8 + 4 * s * np.log1p(np.abs(q))
    info = np.finfo(dtype)
    assert np.max(np.abs(found - wanted) / (units * np.maximum(np.abs(wanted), info.tiny))) < info.eps
    text = str(lowered(ready(optimise(compiled.trace(s, q))), "f").function)
    assert text.count("own.zeta.0") == 1 and text.count("pow") < 12
    with np.errstate(over="ignore"):  # whose flag has NumPy's kernels run the parts
        assert wg.function(S.zeta)(np.array([30.0]), np.array([1e-30])) == np.inf


def test_the_upper_incomplete_gamma_function_of_small_numbers_is_ours() -> None:
    """Whose values, 1 less the lower function's where that is no loss, SciPy's have to 400 units."""
    a, x = 10 ** np.random.default_rng(8).uniform(-4, 0.3, (2, 4000))
    compiled: Any = wg.function(S.gammaincc)
    np.testing.assert_allclose(compiled(a, x), S.gammaincc(a, x), 1e-13)
    is_large = S.gammaincc(a, x) > 0.3
    np.testing.assert_allclose(compiled(a, x)[is_large], 1 - S.gammainc(a, x)[is_large], 1e-14)
    assert "own.gammaincc" in str(lowered(ready(optimise(compiled.trace(a, x))), "f").function)


@pytest.mark.parametrize("name", ["beta", "betaln"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_beta_of_positive_numbers_is_vector_code_in_low_precision(name: str, dtype: Any) -> None:
    rng, n = np.random.default_rng(5), 3000
    x = np.concatenate([rng.uniform(0, s, n) for s in (1e-2, 1, 10, 100)]).astype(dtype)
    y = (rng.permutation(x) * 10 ** rng.uniform(-1, 1, x.size)).astype(dtype)
    ends = np.array([0, -0.0, 1, 2, -1, -2, -0.5, np.inf, -np.inf, np.nan, 3e4], dtype)
    x, y = (np.concatenate([v, w.ravel()]) for v, w in zip((x, y), np.meshgrid(ends, ends), strict=True))
    function: Any = getattr(S, name)
    compiled: Any = wg.function(function)
    with np.errstate(all="ignore"):
        found, wanted = compiled(x, y), function(x.astype(np.float64), y.astype(np.float64)).astype(dtype)
    np.testing.assert_allclose(found.astype(np.float64), wanted.astype(np.float64), 2 * np.finfo(dtype).eps)
    inside = x[:100], y[:100]
    text = str(lowered(ready(optimise(compiled.trace(*inside))), "f").function)
    assert text.count(f"own.{name}_elsewhere") == 1 and "special." not in text


@pytest.mark.parametrize("name", ["digamma", "ndtr", "ndtri", "log_ndtr", "erfcx", "zeta", "beta", "betaln", "kv 2.5"])
def test_values_of_machine_code_are_as_exact_as_stated(name: str) -> None:
    """Of slopes the factors are other functions, exp in vectors among them."""
    for sample in (s.counted(np.float64) for s in A.samples() if s.name == name and sum(s.orders) == 0):
        f = wg.function(A.function_of(name))
        most = int(STATED[name.split()[0]][A.kind_of(sample.orders, np.float64)])
        assert np.max(A.errors(sample, np.asarray(f(*sample.points)))) <= most, sample.orders


@pytest.mark.parametrize("name", ["ndtr", "ndtri", "log_ndtr", "erfcx", "normal_hazard"])
def test_what_is_not_chosen_raises_no_flag(name: str) -> None:
    x = np.linspace(1e-3, 1 - 1e-3, 99) if name == "ndtri" else np.linspace(-25.0, 35.0, 121)
    primitive = REGISTRY[name]
    compiled = wg.function(lambda x: apply(primitive, (wg.asarray(x),), ()))
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        found = compiled(x)
        np.testing.assert_allclose(found, NUMPY.kernels[name](x), 1e-13)
    assert {part.why for part in compiled.report(x).parts} == {""}


# 40-digit values, rounded
INTEGRALS = {
    1: (2.0885878759056577e175, 48618.53075158231, 0.5651907129276761, 0.5641895835477563, 0.5631907109276751,
        0.34380978317745975, 0.13660600739194928, 0.016191753047510728, 1.1277028156766193e-4, 2.8209479177387815e-41),
    2: (2.0911986107505396e176, 76979.29334087335, 0.250564940336426, 0.25, 0.249436559664824, 0.13207836616529484,
        0.03859289034297711, 0.0018663583112438927, 1.1270271393946528e-06, 1.4104739588693907e-61),
    6: (9.457314727124494e178, 32403.894996571446, 0.0026135880806615907, 1 / 384, 0.0025947817110597636,
        9.193694163815907e-4, 1.0890847460873168e-4, 2.641507696527836e-07, 1.1220885543666596e-14,
        8.815462242933693e-143),
    7: (2.722230342755882e179, 17642.294783550205, 6.74263813850541e-4, 6.716542661282812e-4, 6.690554648921905e-4,
        2.1897086198891148e-4, 2.1633318561284676e-05, 2.7424739451881465e-08, 1.1202992897648735e-16,
        4.407731121466846e-163),
}  # fmt: skip
QUANTILES = {
    -1e-300: 37.0470962993612, -1e-9: 5.997807015088904, -0.05: 1.6568927965620148, -0.3: 0.6458699862012636,
    -0.6931471805599451: 3.0735658403607706e-16, -0.7: -0.008559478582480282, -2.6: -1.4446822551700573,
    -40.0: -8.592675718473773, -699.0: -37.26827606207496, -701.0: -37.32186398117314, -308270.0: -785.1909514671019,
    -1e12: -1414213.562362431, -1.7e308: -1.8439088914585775e154, 0.0: np.inf, -np.inf: -np.inf,
    1e-9: np.nan, np.inf: np.nan, np.nan: np.nan,
}  # fmt: skip
ANGLES = [
    (0.02231112902359461, 0.01, -3.0), (0.18385803943315632, 0.5, -1.5), (0.3497350668930129, 2.0, -0.3),
    (0.49889038029908594, 8.0, -0.001), (4.598601217380489e-25, 30.0, -2.5), (0.1586592869667653, 1e4, -0.01),
    (0.0, 3.0, -np.pi), (0.5, 3.0, 0.0), (0.25, 0.0, -np.pi / 2), (np.nan, 1.0, np.nan), (0.3, np.nan, np.nan),
    (-0.1, 0.5, np.nan),
]  # fmt: skip


def both_ways(name: str, attrs: tuple[Any, ...], *operands: Any) -> list[Any]:
    """What the kernel of a primitive and machine code give, which leaves no flag that says what is not so."""
    primitive = REGISTRY[name]
    compiled = wg.function(lambda *xs: apply(primitive, (*[wg.asarray(x) for x in xs],), attrs), name=name)
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        found = np.asarray(compiled(*operands))
    assert {part.by for part in compiled.report(*operands).parts} == {"machine code"}
    return [NUMPY.kernels[name](*operands, *attrs), found]


@pytest.mark.parametrize("order", INTEGRALS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_integrals_of_the_error_function_are_exact(order: int, dtype: Any) -> None:
    x = np.array([-20.0, -3.0, -1e-3, 0.0, 1e-3, 0.3, 1.0, 4.0, 50.0, 1e20, np.inf, np.nan])
    wanted = np.array([*INTEGRALS[order], 0.0, np.nan])
    if dtype == np.float32:  # which has not all of these
        x, wanted = x[[1, 3, 6, 7, 10, 11]], wanted[[1, 3, 6, 7, 10, 11]]
    for found in both_ways("erfcx_integral", (order,), x.astype(dtype)):
        # beyond the sixth order by a recurrence, in which digits cancel
        np.testing.assert_allclose(found, wanted, 1e-7 if dtype == np.float32 else 5e-15 if order < 7 else 5e-14)
    compiled = wg.function(lambda x: apply(REGISTRY["erfcx_integral"], (wg.asarray(x),), (order,)))
    with np.errstate(over="ignore"):  # exp as NumPy's, which tells that it overflows
        np.testing.assert_array_equal(compiled(np.array([-27.5, -1e300, -np.inf], dtype)), np.inf)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_quantiles_of_logarithms_are_exact(dtype: Any) -> None:
    """SciPy's, which are the kernel's, are exact to 12 digits."""
    y, wanted = (np.array([*v]) for v in (QUANTILES.keys(), QUANTILES.values()))
    if dtype == np.float32:
        is_told = y.astype(dtype) == y
        y, wanted = y[is_told | np.isnan(y)].astype(dtype), wanted[is_told | np.isnan(y)]
    kernels, found = both_ways("ndtri_exp", (), y)
    rtol = 1e-15 if dtype == np.float64 else 1e-7
    np.testing.assert_allclose(found, wanted, rtol)
    np.testing.assert_allclose(kernels, wanted, 1e-12 if dtype == np.float64 else 1e-7, 1e-16)


def test_angles_of_shares_are_exact() -> None:
    share, kappa, wanted = np.array(ANGLES).T
    for found in both_ways("vonmises_place", (), share, kappa):
        np.testing.assert_allclose(found, wanted, 3e-14, 1e-14)


def test_counts_in_machine_code_are_the_kernels() -> None:
    """Exactly, also where a share is a count's own."""
    rng = np.random.default_rng(0)
    n, p, mu = np.floor(rng.uniform(1, 60, 300)), rng.random(300), 10 ** rng.uniform(-1, 2, 300)
    count = np.floor(rng.random(300) * n)
    shares = {
        "poisson_count": (wg.stats.poisson.cdf(count, mu), mu), "binom_count": (wg.stats.binom.cdf(count, n, p), n, p),
        "nbinom_count": (wg.stats.nbinom.cdf(count, n, p), n, p),
    }  # fmt: skip
    for name, operands in shares.items():
        for upper in (False, True):
            kernels, found = both_ways(name, (upper,), *operands)
            np.testing.assert_array_equal(found, kernels, name)


@pytest.mark.parametrize("name", ["gammainc", "gammainc second", "gammainc large", "betainc", "betainc large"])
def test_slopes_in_parameters_are_machine_code_and_as_exact_as_stated(name: str) -> None:
    for sample in (s.counted(np.float64) for s in A.samples() if s.name == name and any(s.orders[:-1])):
        f = wg.function(A.derivative_of(A.function_of(name), sample.orders))
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            found = np.asarray(f(*sample.points))
        most = int(STATED[sample.function][A.kind_of(sample.orders, np.float64)])
        assert np.max(A.errors(sample, found)) <= most, sample.orders
        assert {part.by for part in f.report(*sample.points).parts} == {"machine code"}


@pytest.mark.parametrize("name", ["gammainc", "gammainc large", "betainc", "betainc large"])
def test_densities_are_vector_code_and_as_exact_as_the_kernels(name: str) -> None:
    """Slopes in the last argument: made of no function that calls take the place of."""
    for sample in (s.counted(np.float64) for s in A.samples() if s.name == name and s.orders[-1] == sum(s.orders) == 1):
        slope = A.derivative_of(A.function_of(name), sample.orders)
        f = wg.function(slope)
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            found = np.asarray(f(*sample.points))
        assert {part.why for part in f.report(*sample.points).parts} == {""}
        with np.errstate(all="ignore"):
            kernels = np.max(A.errors(sample, np.asarray(slope(*sample.points))))
        assert np.max(A.errors(sample, found)) <= max(kernels, 4.0)


def test_densities_at_ends_are_the_kernels() -> None:
    ends = [-np.inf, -1.0, -0.0, 0.0, 1e-300, 0.3, 1.0, 1.5, 10.0, 11.0, 1e5, 1e300, np.inf, np.nan]
    a, x = (v.ravel() for v in np.meshgrid(ends, ends))
    with np.errstate(all="ignore"):
        kernels, found = both_ways("gamma_size", (), a, x)
    np.testing.assert_allclose(found, kernels, 1e-12)


def test_densities_of_beta_at_ends() -> None:
    slope = wg.grad(lambda x, a, b: wg.sum(S.betainc(a, b, x)))
    x, a, b, wanted = np.array([
        (0.0, 2.0, 3.0, 0.0), (0.0, 1.0, 3.0, 3.0), (0.0, 0.5, 3.0, np.inf), (1.0, 2.0, 1.0, 2.0),
        (1.0, 2.0, 0.5, np.inf), (1.0, 2.0, 3.0, 0.0), (0.5, 1e-300, 1e-300, 2e-300), (0.25, 0.5, 0.5, 0.735105193895722),
        (1e-300, 1e-300, 1.0, 1.0), (-0.5, 2.0, 2.0, np.nan), (1.5, 2.0, 2.0, np.nan), (0.5, -1.0, 2.0, np.nan),
    ]).T  # fmt: skip
    np.testing.assert_allclose(wg.function(slope)(x, a, b), wanted, 3e-13)


def test_slopes_in_parameters_vanish_far_out() -> None:
    a, x = np.array([1e-320, 1e-3, 2.0, 2.0]), np.array([1e300, 1e300, 1e308, 1e5])
    for order in (1, 2):
        for found in both_ways("gammainc", (order,), a, x):
            np.testing.assert_array_equal(found, 0.0)


# -- what operands repeat ----------------------------------------------------------------------------------------------


def shapes_of(f: Callable[..., Any], name: str, *args: Any) -> list[tuple[int, ...]]:
    """The shapes of which an op is computed in the graph for machine code."""
    graph = ready(optimise(wg.function(f).trace(*args)))
    return [node.outputs[0].shape for node in graph.nodes if node.op.name == name]


def test_functions_of_repeated_operands_are_computed_once() -> None:
    x = np.linspace(0.5, 2.0, 12).reshape(3, 4)

    def f(a: Any, b: Any, x: Any) -> Any:
        whole = wg.broadcast_to(a, x.shape)
        rows = wg.broadcast_to(b, x.shape)
        one = wg.exp(S.gammaln(whole * 2.0 + 1.0)) * x
        two = S.betaln(rows, wg.full(x.shape, 2.5)) + S.gammaln(rows + whole)
        return one + two + S.gammaln(x + whole)

    args = 1.5, np.linspace(1.0, 2.0, 4), x
    assert sorted(shapes_of(f, "lgamma", *args)) == [(), (3, 4), (4,)]
    assert shapes_of(f, "betaln", *args) == [(4,)]
    np.testing.assert_allclose(wg.function(f)(*args), f(*args), 1e-13)
    g = wg.grad(lambda a, b, x: wg.sum(f(a, b, x)), argnums=(0, 1, 2))
    for found, wanted in zip(wg.function(g)(*args), g(*args), strict=True):
        np.testing.assert_allclose(found, wanted, 1e-12)


def test_of_no_elements_nothing_is_computed_and_told() -> None:
    f = wg.function(lambda a, x: wg.log(wg.broadcast_to(a, x.shape)) + x)
    with np.errstate(all="raise"):
        assert f(0.0, np.zeros((0, 4))).shape == (0, 4)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        f(0.0, np.zeros((2, 4)))


def test_values_that_are_used_again_and_again_are_looked_at_once() -> None:
    def f(a: Any, x: Any) -> Any:
        whole = wg.broadcast_to(a, x.shape)
        for k in range(1500):
            whole = whole * whole * 1e-3 + whole / (k + 2.0)
        return S.gammaln(whole + 1.5) + x

    x = np.linspace(0.5, 2.0, 12)
    assert shapes_of(f, "lgamma", 0.5, x) == [()]


def test_what_is_called_first_is_called_once(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    """Calls that need what other ones have given read it, in the strip that they share."""
    monkeypatch.setenv("WENGERT_DUMP", "loops")
    rng = np.random.default_rng(5)
    a, b, p = rng.uniform(1.0, 4.0, 300), rng.uniform(1.0, 4.0, 300), rng.uniform(0.1, 0.9, 300)
    slopes = wg.grad(lambda a, b, p: wg.sum(S.betaincinv(a, b, p)), argnums=(0, 1, 2))
    found = wg.function(slopes)(a, b, p)
    calls = capfd.readouterr().err
    assert calls.count("special.betaincinv(") == 1
    assert calls.count("own.betainc.1.0(") == 1
    for own, expected in zip(found, slopes(a, b, p), strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-9)


def test_calls_of_half_floats_run_in_a_loop_of_their_own() -> None:
    """So that the rest is vector code: rounding each of its numbers by itself takes three times as long."""
    rng = np.random.default_rng(3)
    n, k = rng.uniform(1, 50, 1000).astype(np.float16), rng.uniform(0, 9, 1000).astype(np.float16)
    compiled = wg.function(wg.special.comb)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(compiled(n, k), wg.special.comb(n, k), 2e-2)
    text = str(lowered(ready(optimise(compiled.trace(n, k))), "f").function)
    calling = [part for part in text.split("for %") if "own.betaln_elsewhere" in part]
    assert len(calling) == 1 and "f64 = div" not in calling[0]


def test_incomplete_beta_of_moderate_parameters_is_ours_and_exact() -> None:
    """Beside the mean, where terms of the fraction in its plain form cancel, and next to 1; from mpmath."""
    points = np.array(
        [(6.77, 0.5, 0.85), (24.875, 0.5, 0.925), (4.25, 0.5, 0.8), (150, 220, 0.375), (900, 700, 0.5625),
         (0.5, 0.5, 1 - 2**-53)]
    ).T  # fmt: skip
    lower = [0.145206655938029954, 0.0500418226406127529, 0.180845488530845994, 0.116137676808036402,
             0.499162221294185963, 0.999999993292120724]  # fmt: skip
    upper = [0.854793344061970046, 0.949958177359387247, 0.819154511469154006, 0.883862323191963598,
             0.500837778705814037, 6.70787927625407343e-9]  # fmt: skip
    points = np.repeat(points, 20, axis=1)  # or it is code for single numbers, which calls SciPy
    for function, values in ((S.betainc, lower), (S.betaincc, upper)):
        np.testing.assert_allclose(wg.function(function)(*points), np.repeat(values, 20), rtol=5e-15)


def test_slopes_of_incomplete_beta_in_tiny_parameters_keep_their_digits() -> None:
    a, b, x = np.array([1e-8, 1.0]), np.array([0.3, 1e-8]), np.array([0.3, 0.7])
    slopes = wg.function(wg.grad(lambda a, b: wg.sum(S.betainc(a, b, x)), argnums=(0, 1)))(a, b)
    np.testing.assert_allclose([slopes[0][0], slopes[1][1]], [-3.88638577877444, 1.203972789830431], rtol=1e-13)
