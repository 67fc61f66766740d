"""Special functions of complex numbers as vector code: each part beside mpmath's and SciPy's, special values, slopes."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.special

import wengert as wg
import wengert.scipy.special as S
from wengert.scipy._ufuncs import SLOPES, ufunc

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._engines.native.lower.functions import lowered
from wengert._engines.native.plan.prepare import ready
from wengert._passes import optimise

mp = pytest.importorskip("mpmath", reason="values with many digits are mpmath's, which comes with PyTorch")

Complex = np.ndarray[Any, Any]


def _faddeeva(z: Any) -> Any:
    return mp.exp(-z * z) * mp.erfc(-1j * z)


class Case(NamedTuple):
    """A function of complex numbers.

    Attributes:
        ours: it.
        exact: with many digits.
        most: by which a value may differ, in units of the type's precision.
        around: points of the plane near which it is looked at.
        large: from where on values have no digits, not even their sign, since SciPy has an angle of that size.
    """

    ours: Any
    exact: Any
    most: float
    around: tuple[complex, ...] = (0,)
    large: float = np.inf


_ZEROS_AND_POLES = (0, 1, 2, 1.4616321449683622, -0.5040830082644554, -1, -3, -12)


CASES = {
    "wofz": Case(S.wofz, _faddeeva, 4),
    "erfcx": Case(S.erfcx, lambda z: _faddeeva(1j * z), 4),
    "psi": Case(ufunc("psi"), lambda z: mp.psi(0, z), 30, _ZEROS_AND_POLES),
    "loggamma": Case(S.loggamma, mp.loggamma, 400, _ZEROS_AND_POLES),
    "gamma": Case(S.gamma, mp.gamma, 20_000, _ZEROS_AND_POLES, 1e150),
    "rgamma": Case(S.rgamma, mp.rgamma, 20_000, _ZEROS_AND_POLES, 1e150),
}


def points(around: tuple[complex, ...]) -> Complex:
    """Ordinary numbers, small ones, those near an axis, large and huge ones, and those near some points."""
    rng = np.random.default_rng(3)
    n = 60

    def small(low: float, high: float) -> Any:
        return 10 ** rng.uniform(low, high, n) * rng.choice([-1, 1], n)

    found = [rng.uniform(-s, s, n) + 1j * rng.uniform(-s, s, n) for s in (1, 3, 8, 60)]
    found += [rng.uniform(-25, 25, n) + 1j * small(-12, -1), small(-12, -1) + 1j * rng.uniform(-25, 25, n)]
    found += [small(2, 15) + 1j * small(0, 15)]
    found += [z + small(-8, -0.3) * np.exp(1j * rng.uniform(0, 3, n)) for z in around]
    return np.concatenate(found)


def errors(found: Complex, wanted: list[Any]) -> tuple[Complex, Complex]:
    """Relative ones of the numbers and of their parts, but where values are beyond the type."""
    info = np.finfo(found.dtype)
    whole: list[float] = []
    parts: list[float] = []
    for one, exact in zip(found, wanted, strict=True):
        if not info.tiny < abs(exact) < info.max:
            continue
        with mp.workdps(50):
            whole.append(float(abs(mp.mpc(complex(one)) - exact) / abs(exact)))
            pairs = ((one.real, exact.real), (one.imag, exact.imag))
            parts += [float(abs(mp.mpf(float(a)) - b) / abs(b)) for a, b in pairs if abs(b) > info.tiny]
    return np.array(whole) / info.eps, np.array(parts) / info.eps


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("name", CASES)
def test_values_are_exact_to_some_units_and_no_worse_than_scipys(name: str, dtype: Any) -> None:
    case = CASES[name]
    z = points(case.around).astype(dtype)
    with mp.workdps(50):
        wanted = [case.exact(mp.mpc(complex(v))) for v in z]
    compiled = wg.function(case.ours)
    ours = errors(compiled(z), wanted)
    assert np.max(ours[0]) < case.most
    with np.errstate(all="ignore"):
        theirs = errors(getattr(scipy.special, name)(z), wanted)
    for some, others in zip(ours, theirs, strict=True):
        for share in (0.5, 0.9, 0.98):
            assert np.quantile(some, share) <= 1.2 * np.quantile(others, share) + 1
    text = str(lowered(ready(optimise(compiled.trace(z))), "f").function)
    assert "kernel" not in text and "special." not in text and "while" not in text


SPECIAL = (
    0.0,
    -0.0,
    1.0,
    2.0,
    -1.0,
    -2.5,
    30.0,
    -30.0,
    6.5,
    -7.0,
    1e9,
    np.inf,
    -np.inf,
    np.nan,
    1e200,
    -1e200,
    1e-300,
    -3e-20,
)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("name", CASES)
def test_ends_are_those_of_the_kernels(name: str, dtype: Any) -> None:
    z = np.array([complex(x, y) for x, y in itertools.product(SPECIAL, SPECIAL)], np.complex128)
    with np.errstate(all="ignore"):
        z = z[~np.isfinite(z) | (np.abs(z) < CASES[name].large)].astype(dtype)
        found, wanted = wg.function(CASES[name].ours)(z), CASES[name].ours(z)
    info = np.finfo(dtype)
    for part in ("real", "imag"):
        ours, theirs = getattr(found, part), getattr(wanted, part)
        size = np.where(np.isfinite(wanted), np.abs(wanted), np.abs(theirs))
        is_near = np.abs(ours - theirs) <= 5000 * info.eps * size + info.tiny
        assert np.all(is_near | (ours == theirs) | (np.isnan(ours) & np.isnan(theirs)))
        is_told = (np.abs(theirs) > 5000 * info.eps * size + info.tiny) | (theirs == 0.0)
        np.testing.assert_array_equal(np.signbit(ours[is_told]), np.signbit(theirs[is_told]))


@pytest.mark.parametrize("name", CASES)
def test_what_is_not_chosen_raises_no_flag(name: str) -> None:
    z = np.concatenate([points(CASES[name].around), np.array([0.5, 1e200, 1e200j, 3 + 1e9j, 1e9 + 3j])])
    z = z[np.isfinite(CASES[name].ours(z))]
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        wg.function(CASES[name].ours)(z)


@pytest.mark.parametrize("name", CASES)
def test_slopes_and_loops_are_those_of_the_kernels(name: str) -> None:
    z = points(())[:120]

    def slope(v: Any) -> Any:
        return wg.grad(lambda u: wg.sum(wg.real(CASES[name].ours(u))))(v)

    def repeated(v: Any) -> Any:
        return wg.fori_loop(0, 2, lambda i, u: 0.1 * CASES[name].ours(u), v)

    for function in (slope, repeated) if name in SLOPES else (repeated,):
        np.testing.assert_allclose(wg.function(function)(z), function(z), 1e-11)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_faddeeva_function_of_real_numbers_is_made_of_two_of_these(dtype: Any) -> None:
    x = np.array([0.0, -0.0, 1e-9, 0.3, -2.0, 4.5, 26.0, -60.0, np.inf, -np.inf, np.nan], dtype)
    found, wanted = wg.function(S.wofz)(x), S.wofz(wg.tensor(x)).numpy()
    assert found.dtype == wanted.dtype
    for part in ("real", "imag"):
        ours, theirs = getattr(found, part), getattr(wanted, part)
        np.testing.assert_allclose(ours, theirs, 500 * np.finfo(dtype).eps, 1e-300)
        np.testing.assert_array_equal(np.signbit(ours[:-1]), np.signbit(theirs[:-1]))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_of_psi_of_complex_numbers(order: int) -> None:
    """That of the gamma function was an error, which named nothing but psi."""
    z = points((0, -3, 0.5))
    z = z[np.abs(z) < 100][::11]  # whose exact values take a millisecond each
    one = np.ones_like(z)

    def derivative(u: Any) -> Any:
        function = S.psi
        for _ in range(order):
            function = (lambda inner: lambda v: wg.jvp(inner, (v,), (one,))[1])(function)
        return function(u)

    wanted = np.array([complex(mp.psi(order, mp.mpmathify(x))) for x in z.tolist()])
    for found in (derivative(z), wg.function(derivative)(z)):
        assert np.max(np.abs(found - wanted) / np.abs(wanted)) < 1e-12


def test_every_function_that_a_slope_asks_for_has_one() -> None:
    z = np.array([0.7 + 0.4j, -1.3 - 2.0j])
    for function in (S.gamma, S.loggamma, S.rgamma, S.digamma):
        wg.check_gradients(lambda u, f=function: wg.sum(wg.real(f(u))), z, order=2)
