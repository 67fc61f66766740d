"""Derivatives of special functions at infinities and at ends of their domains: what they tend to, on every engine."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.engines import every_users_engine, native, ndarray

S = wg.special
INF = math.inf
# the function, the point, and what its derivative tends to there
PRIMITIVES: dict[str, tuple[Any, float, float]] = {
    "zeta": (S.zeta, INF, 0.0),
    "zeta in s": (lambda s: S.zeta(s, 2.5), INF, 0.0),
    "zeta in s, far": (lambda s: S.zeta(s, 2.5), 1e300, 0.0),
    "zeta in s, of 1": (lambda s: S.zeta(s, 1.0), INF, 0.0),
    "zeta in s, of less": (lambda s: S.zeta(s, 0.5), INF, INF),
    "zeta in s, of infinity": (lambda s: S.zeta(s, INF), 2.5, 0.0),
    "zeta in q, of infinity": (lambda q: S.zeta(INF, q), 2.5, 0.0),
    "zeta in q": (lambda q: S.zeta(2.5, q), INF, 0.0),
    "gammainc in x": (lambda x: S.gammainc(2.0, x), INF, 0.0),
    "gammaincc in x": (lambda x: S.gammaincc(2.0, x), INF, 0.0),
    "gammainc in a, of infinity": (lambda a: S.gammainc(a, INF), 2.0, 0.0),
    "gammainc in a, of 0": (lambda a: S.gammainc(a, 0.0), 2.0, 0.0),
    "gammaincinv at 0": (lambda p: S.gammaincinv(2.0, p), 0.0, INF),
    "gammaincinv at 0, of 1": (lambda p: S.gammaincinv(1.0, p), 0.0, 1.0),
    "gammaincinv at 0, of less": (lambda p: S.gammaincinv(0.5, p), 0.0, 0.0),
    "gammaincinv at 1": (lambda p: S.gammaincinv(2.0, p), 1.0, INF),
    "gammaincinv in a, at 0": (lambda a: S.gammaincinv(a, 0.0), 2.0, 0.0),
    "betaincinv at 0": (lambda p: S.betaincinv(2.0, 3.0, p), 0.0, INF),
    "betaincinv at 1": (lambda p: S.betaincinv(2.0, 3.0, p), 1.0, INF),
    "expi": (S.expi, INF, INF),
    "expi at -inf": (S.expi, -INF, 0.0),
    "exp1": (S.exp1, INF, 0.0),
    "digamma": (S.digamma, INF, 0.0),
    "polygamma": (lambda x: S.polygamma(2, x), INF, 0.0),
    "erfcx at -inf": (S.erfcx, -INF, -INF),
    "ndtri at 0": (S.ndtri, 0.0, INF),
    "i0e": (S.i0e, -INF, 0.0),
}
FOLLOWED: dict[str, tuple[str, tuple[Any, ...], float, float]] = {
    "rgamma": ("rgamma", (), INF, 0.0),
    "rgamma at a pole": ("rgamma", (), -2.0, 2.0),
    "dawsn": ("dawsn", (), INF, 0.0),
    "dawsn at -inf": ("dawsn", (), -INF, 0.0),
    "exprel": ("exprel", (), -INF, 0.0),
    "ellipk": ("ellipk", (), -INF, 0.0),
    "ellipe": ("ellipe", (), -INF, 0.0),
    "Si": ("sici", (0,), -INF, 0.0),
    "Ci": ("sici", (1,), INF, 0.0),
    "Shi": ("shichi", (0,), -INF, INF),
    "Chi": ("shichi", (1,), INF, INF),
}


@every_users_engine
@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("name", PRIMITIVES)
def test_derivatives_are_what_they_tend_to(name: str, is_compiled: bool, engine: str) -> None:
    f, x, wanted = PRIMITIVES[name]
    slope = wg.grad(f)
    with np.errstate(all="ignore"):
        found = ndarray((wg.function(slope) if is_compiled else slope)(native(engine, np.float64(x))))
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("name", FOLLOWED)
def test_derivatives_of_scipys_functions_are_what_they_tend_to(name: str) -> None:
    import wengert.scipy.special as special

    function, index, x, wanted = FOLLOWED[name]

    def f(x: Any) -> Any:
        found = getattr(special, function)(x)
        return found[index[0]] if index else found

    with np.errstate(all="ignore"):
        np.testing.assert_allclose(wg.grad(f)(x), wanted, rtol=1e-12)
        np.testing.assert_allclose(wg.jvp(f, (x,), (1.0,))[1], wanted, rtol=1e-12)


def test_higher_derivatives_of_zeta_vanish_at_infinity() -> None:
    slope = wg.grad(lambda s: S.zeta(s, 2.5))
    with np.errstate(all="ignore"):
        assert wg.grad(slope)(INF) == wg.grad(wg.grad(slope))(INF) == wg.function(wg.grad(slope))(INF) == 0.0


# where e^x is infinite, but i0 and i1 are not, and beyond: from mpmath
GROWN_AT = np.array([700.0, 709.8, -712.0, 713.98, 715.0])
GROWN = (
    [1.5295933476718737e302, 2.7393142646237088e306, 2.4684110577627523e307, 1.7853251347682291e308, INF],
    [1.5285003902339006e302, 2.737383945910012e306, -2.4666770135246153e307, 1.7840744336676367e308, INF],
    # the second derivative of i0
    [1.5274097756858253e302, 2.7354577079233566e306, 2.4649466237549931e307, 1.7828263610859584e308, INF],
)


@every_users_engine
@pytest.mark.parametrize("is_compiled", [False, True])
def test_modified_bessel_functions_are_numbers_farther_than_the_exponential(is_compiled: bool, engine: str) -> None:
    slope = wg.grad(lambda x: wg.sum(S.i1(x)))
    functions = [(S.i0, 0), (lambda x: S.iv(0, x), 0), (S.i1, 1), (lambda x: S.iv(1, x), 1), (slope, 2)]
    for f, place in functions:
        with np.errstate(all="ignore"):
            found = ndarray((wg.function(f) if is_compiled else f)(native(engine, GROWN_AT)))
        if place == 2 and is_compiled and engine == "jax":
            # there XLA halves a sum, which is infinite, where we add two halves
            found = np.where(np.arange(5) == 3, GROWN[2], found)
        np.testing.assert_allclose(found, GROWN[place], rtol=1e-12)
