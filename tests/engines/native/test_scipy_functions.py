"""Functions of `scipy.special` without a primitive of their own, as vector code: values, special ones, derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.scipy.special as S

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._engines.native.lower.functions import lowered
from wengert._engines.native.plan.prepare import ready
from wengert._passes import optimise

mp = pytest.importorskip("mpmath", reason="values with many digits are mpmath's, which comes with PyTorch")


def _dilogarithm(z: Any) -> Any:
    return mp.re(mp.polylog(2, 1 - z)) if z <= 1.5 else -(mp.log(z) ** 2) / 2 - mp.re(mp.polylog(2, 1 - 1 / z))


# what it is, its value with many digits, and the least of what errors are measured by (of a zero among the values)
FUNCTIONS: dict[str, tuple[Any, Any, float]] = {
    "dawsn": (S.dawsn, lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), 0.0),
    "exprel": (S.exprel, lambda x: mp.expm1(x) / x, 0.0),
    "spence": (S.spence, _dilogarithm, 0.0),
    "sine integral": (lambda x: S.sici(x)[0], mp.si, 0.0),
    "cosine integral": (lambda x: S.sici(x)[1], lambda x: mp.ci(abs(x)), 1.0),
    "fresnel sine": (lambda x: S.fresnel(x)[0], mp.fresnels, 0.0),
    "fresnel cosine": (lambda x: S.fresnel(x)[1], mp.fresnelc, 0.0),
}


def compiled_form(function: Any) -> Any:
    return wg.function(function)


def samples(name: str, dtype: Any) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.uniform(0, most, 25) for most in (1e-3, 0.7, 2.2, 3, 6, 12, 100)])
    x = x[x < 80] if name == "exprel" else x  # beyond, float32 has no such numbers
    return (x if name == "spence" else np.concatenate([x, -x[::3]])).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_exact_to_some_units(name: str, dtype: Any) -> None:
    function, exact, least = FUNCTIONS[name]
    x = samples(name, dtype)
    compiled = compiled_form(function)
    found = np.asarray(compiled(x), np.float64)
    with mp.workdps(30):
        wanted = np.array([float(exact(mp.mpf(float(v)))) for v in x])
    size = np.maximum(np.abs(wanted), least / (1 + np.abs(x)))
    assert np.max(np.abs(found - wanted) / size) < 5 * np.finfo(dtype).eps
    text = str(lowered(ready(optimise(compiled.trace(x))), "f").function)
    assert "kernel" not in text and "special." not in text and "while" not in text


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_ends_are_those_of_the_kernels(name: str, dtype: Any) -> None:
    function = FUNCTIONS[name][0]
    x = np.array([0, -0.0, 1, 2, -1, 0.5, 1.5, 2.5, 4, 5, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 1e30, -1e30], dtype)
    with np.errstate(all="ignore"):
        found, wanted = np.asarray(compiled_form(function)(x)), np.asarray(function(x))
    np.testing.assert_allclose(found, wanted, 20 * np.finfo(dtype).eps, np.finfo(dtype).tiny)
    is_told = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found[is_told]), np.signbit(wanted[is_told]))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_not_chosen_raises_no_flag(name: str) -> None:
    x = samples(name, np.float64)
    compiled = compiled_form(FUNCTIONS[name][0])
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        compiled(np.concatenate([x, [1e-30, 1e4, 1e200]]))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_slopes_and_loops_are_those_of_the_kernels(name: str) -> None:
    function = FUNCTIONS[name][0]
    x = np.abs(samples(name, np.float64)) + 0.1

    def slope(v: Any) -> Any:
        return wg.grad(lambda u: wg.sum(function(u)))(v)

    def repeated(v: Any) -> Any:
        return wg.fori_loop(0, 3, lambda i, c: c + function(v), v)

    compiled: Any
    for f in (slope, repeated):
        compiled = compiled_form(f)
        np.testing.assert_allclose(compiled(x), f(x), 1e-12, 1e-13)
        assert {part.by for part in compiled.report(x).parts} == {"machine code"}
    np.testing.assert_allclose(compiled_form(function)(x[0]), function(x[0]), 1e-13)


def test_others_and_those_of_complex_numbers_stay_the_kernels() -> None:
    x = np.linspace(0.1, 3, 20)
    calls: tuple[tuple[Any, Any], ...] = ((S.ellipk, x / 4), (S.dawsn, x + 0.5j), (S.spence, x + 0.5j))
    for function, values in calls:
        np.testing.assert_array_equal(compiled_form(function)(values), function(values))


def test_the_logarithm_of_gamma_is_exact_beside_its_zeros_and_calls_nothing() -> None:
    """Of positive numbers to some units, where SciPy's has no digits next to 2; below 0 sums cancel."""
    rng = np.random.default_rng(0)
    beside = 10.0 ** rng.uniform(-12, -0.3, 60)
    above = np.concatenate([rng.uniform(0, 4, 200), 1 + beside, 2 - beside, rng.uniform(3, 50, 60), beside**20])
    far = 10.0 ** rng.uniform(2, 300, 60)
    below = np.concatenate([rng.uniform(-12, 0, 60), rng.uniform(-60, -12, 40)])
    compiled = compiled_form(wg.special.gammaln)
    for x, most, least in ((above, 7, 0.0), (far, 7, 0.0), (below, 8, 1.0)):
        with mp.workdps(40):
            wanted = np.array([float(mp.re(mp.loggamma(mp.mpf(float(v))))) for v in x])
        error = np.abs(compiled(x) - wanted) / np.maximum(np.abs(wanted), least)
        assert np.max(error) < most * np.finfo(np.float64).eps
    text = str(lowered(ready(optimise(compiled.trace(above))), "f").function)
    assert "special." not in text
    ends = np.array(
        [0.0, -0.0, -1, -2, np.inf, -np.inf, np.nan, 1, 2, -(2.0**52) - 1, 2.5e305, 1.7e308, 1e-310, 5e-324]
    )
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(compiled(ends), wg.special.gammaln(ends), 1e-15)
