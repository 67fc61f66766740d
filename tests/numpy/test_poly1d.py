"""`np.poly1d` of tensors: gradients of differences of NumPy's, by `wengert.numpy` and in adopted code."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp

Program = Callable[[Any, Any], Any]
X = np.array([1.3, 2.1, 3.7])
T = np.linspace(-1.0, 1.0, 5)


def written_to(np: Any, x: Any) -> Any:
    p = np.poly1d(x * 1.0)
    p[1] = x[0] ** 2
    p[5] = x[2]
    p.coeffs *= x[1]
    return p(1.1) + p[5]


ANYWHERE: dict[str, Program] = {
    "a list": lambda np, x: np.poly1d([1.0, x[0]])(2.0) + np.poly1d(x[1])(2.0) + np.poly1d(np.poly1d(x))(T).sum(),
    "roots given": lambda np, x: np.poly1d([1.0, x[0], x[1]], True)(2.0),
    "products": lambda np, x: (np.poly1d(x) * np.poly1d([x[0], 1.0]) * [x[1], 2.0])(2.0),
    "numbers": lambda np, x: (2 * np.poly1d([1.0, 2.0]) * x[0] + x[1] - 3 / np.poly1d([x[2]]) / x[0])(0.4),
    "sums": lambda np, x: ([1, x[0]] - np.poly1d(x) + [2.0, x[1]] - -np.poly1d([x[2], 1.0]))(0.3),
    "powers": lambda np, x: (np.poly1d(x) ** 3)(1.1),
    "composed": lambda np, x: (np.poly1d([1.0, x[1], 2.0])(np.poly1d(x)) + np.poly1d(x)(np.poly1d([1, 2])))(1.1),
    "calculus": lambda np, x: np.poly1d(x).deriv()(0.2) + np.poly1d(x).integ(2, k=[x[0], 1.0])(0.7),
    "functions": lambda np, x: (np.polyint(np.poly1d(x)) + np.polyadd(np.poly1d(x), [1.0, 2.0]))(0.3) ** 2
    + np.polymul([1.0, 2.0], np.polyder(np.poly1d(x)))(0.1)
    + np.polyval(np.poly1d(x), 0.3),
    "a fit": lambda np, x: np.poly1d(np.polyfit(T, np.sin(T * x[0]) + x[1], 2))(0.3),
    "iterated": lambda np, x: sum(np.poly1d(x)) * len(np.poly1d([1.0, 2.0])),
}  # fmt: skip
BY_VALUE: dict[str, Program] = {
    "quotients": lambda np, x: (np.poly1d(x) / np.poly1d([1.0, x[1]]))[0](0.3) + (np.poly1d(x) / [1.0, x[1]])[1](0.3),
    "divided": lambda np, x: np.polydiv([1, x[0], 3, 4], np.poly1d(x))[0](0.4),
    "roots": lambda np, x: np.abs(np.poly1d(x).r).sum() + np.abs(np.roots(np.poly1d(x))).max(),
    "zeros in front": lambda np, x: np.poly1d([0, 0, x[1], x[0]]).order * np.poly1d(x).o * x[2] * np.poly1d(x)[1],
    "written to": written_to,
}  # fmt: skip


def slopes(program: Program) -> Any:
    e = 1e-6
    return np.array([(program(np, X + e * d) - program(np, X - e * d)) / (2 * e) for d in np.eye(3)])


@pytest.mark.parametrize("name", [*ANYWHERE, *BY_VALUE])
def test_gradients_are_differences_of_numpys(name: str) -> None:
    program = (ANYWHERE | BY_VALUE)[name]
    expected = slopes(program)
    ours: list[Any] = [lambda x: program(wnp, x), wg.adopt(lambda x: program(np, x))]
    for f in ours:
        np.testing.assert_allclose(f(X), program(np, X), rtol=1e-12)
        np.testing.assert_allclose(wg.grad(f)(X), expected, rtol=1e-6, atol=1e-7)
        if name in ANYWHERE:
            np.testing.assert_allclose(wg.grad(wg.function(f))(X), expected, rtol=1e-6, atol=1e-7)


def test_what_is_known_by_values_only_is_refused_in_a_trace() -> None:
    unknown: Any = wg.function(lambda x: wnp.poly1d(x).order * x)
    with pytest.raises(wg.TracingError, match=r"poly1d\.order"):
        unknown(X)
    constant: Any = wg.function(lambda x: wnp.poly1d([0.0, 1.0, 2.0]).order * x)
    found = constant(X)
    np.testing.assert_array_equal(found, X)


def test_they_are_numpys_polynomials() -> None:
    theirs, ours = np.poly1d([1.0, 2.0]), wnp.poly1d([1.0, 2.0])

    class Derived(wnp.poly1d):
        pass

    assert isinstance(ours, np.poly1d) and isinstance(theirs, wnp.poly1d)
    assert isinstance(Derived([1.0]), Derived) and not isinstance(theirs, Derived)
    assert ours == theirs and theirs == ours and str(ours) == str(theirs) and repr(ours) == repr(theirs)
    assert type(pickle.loads(pickle.dumps(ours))) is wnp.poly1d
    assert type(ours * [1.0, 2.0]) is wnp.poly1d and type(np.polyadd(ours, [1.0])) is wnp.poly1d
    np.testing.assert_array_equal(np.asarray(ours), [1.0, 2.0])
    assert wg.adopt(lambda: isinstance(theirs, np.poly1d) and (theirs * np.poly1d([1.0, 2.0]))(1.0))() == 9.0
    with pytest.raises(wg.LostGradientError):
        wg.grad(lambda x: np.asarray(wnp.poly1d(x)).sum())(X)
