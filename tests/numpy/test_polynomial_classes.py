"""`np.polynomial` of tensors: NumPy's own source, followed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp

T = np.linspace(-1.0, 1.0, 7)
C = np.array([0.4, -0.7, 0.9, 0.5])
FAMILIES = ("Polynomial", "Chebyshev", "Legendre", "Hermite", "HermiteE", "Laguerre")
PROGRAMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "call": lambda np_, P, c: P(c)(0.3) ** 2 + (P(c)(T) ** 2).sum(),
    "argument": lambda np_, P, c: P([1.0, 2.0, 3.0])(c).sum(),
    "deriv": lambda np_, P, c: P(c).deriv(2)(0.3),
    "integ": lambda np_, P, c: P(c).integ(2, k=[0.5, c[1]], lbnd=0.1)(0.7),
    "arithmetic": lambda np_, P, c: ((P(c) * P([1.0, 2.0]) + 3 * P(c) - P(c) ** 2) / 2.5)(0.4),
    "division": lambda np_, P, c: (P(c) ** 2 // P([1.0, 2.0, 0.7]))(0.3) + (P(c) % P([0.3, 1.0]))(0.2),
    "roots": lambda np_, P, c: np.sum(np.abs(P(c).roots()) ** 2),
    "values fitted": lambda np_, P, c: P.fit(T, np.sin(T * c[0]) + c[1] * T**2 + c[2] * T**3 - c[3], 3)(0.35),
    "places fitted": lambda np_, P, c: P.fit(T * c[0] + c[1] * T**3, np.cos(T), 3, w=np.exp(-T * c[2]))(0.35),
    "convert": lambda np_, P, c: P(c, domain=[0, 2]).convert(kind=np_.polynomial.Polynomial).coef @ np.arange(4.0),
    "from roots": lambda np_, P, c: P.fromroots(c)(0.3),
    "domain": lambda np_, P, c: P(c, domain=[c[0], c[1] + 3])(0.9) + P(c).linspace(5)[1].sum(),
    "compose": lambda np_, P, c: P([1.0, 2.0, 3.0])(P(c))(0.3) + (c[0] * P.basis(3) + c[1] * P.identity())(0.3),
    "parts": lambda np_, P, c: P(c).truncate(3)(0.3) + P(c).cutdeg(2)(0.2) + P(c).trim()(0.1) + sum(P(c)) * len(P(c)),
}


def differences(f: Callable[[Any], Any], x: Any, h: float = 1e-6) -> Any:
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))])


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_are_differences_of_numpys(family: str, name: str) -> None:
    program = PROGRAMS[name]
    theirs, ours = getattr(np.polynomial, family), getattr(wnp.polynomial, family)
    wanted = differences(lambda c: program(np, theirs, c), C)
    found = wg.grad(lambda c: program(wnp, ours, c))(C)
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-6)


def test_functions_and_imports_of_the_modules_below() -> None:
    from wengert.numpy.polynomial.chebyshev import chebval  # pyright: ignore[reportMissingImports]  # made when its parent loads
    from wengert.numpy.polynomial.polynomial import polyval2d, polyvalfromroots  # pyright: ignore[reportMissingImports]  # likewise

    import wengert.numpy.polynomial

    assert wengert.numpy.polynomial is wnp.polynomial
    assert wnp.polynomial.chebyshev.chebval is chebval

    def f(c: Any) -> Any:
        return chebval(0.2, c) + polyvalfromroots(0.1, c) + polyval2d(c[0], c[1], np.ones((2, 2)))

    def plain(c: Any) -> Any:
        p = np.polynomial
        return p.chebyshev.chebval(0.2, c) + np.prod(0.1 - c) + p.polynomial.polyval2d(c[0], c[1], np.ones((2, 2)))

    np.testing.assert_allclose(wg.grad(f)(C), differences(plain, C), rtol=1e-6)


def test_polynomials_in_traces_batches_and_jacobians() -> None:
    P = wnp.polynomial.Polynomial
    powers = 0.5 ** np.arange(4)
    np.testing.assert_allclose(wg.grad(wg.function(lambda c: (P(c) ** 2)(0.5)))(C), 2 * (C @ powers) * powers)
    np.testing.assert_allclose(wg.vmap(lambda c: P(c)(0.5))(np.stack([C, -C])), [C @ powers, -C @ powers])
    np.testing.assert_allclose(wg.jacobian(lambda c: P(c).deriv().coef)(C), np.diag([1.0, 2.0, 3.0], 1)[:3])


def test_adopted_code_has_them_and_numpys_stay() -> None:
    before = np.polynomial.Polynomial([1.0, 2.0, 3.0])

    def f(x: Any) -> Any:
        assert isinstance(before, np.polynomial.Polynomial)
        return before(x[0]) + (before * np.polynomial.Polynomial(x))(0.3)

    x = np.array([0.3, 0.6])
    np.testing.assert_allclose(wg.grad(wg.adopt(f))(x), differences(f, x), rtol=1e-6)
    assert type(before) is np.polynomial.Polynomial
    assert np.polynomial.Polynomial is not wnp.polynomial.Polynomial
