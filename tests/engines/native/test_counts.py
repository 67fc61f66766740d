"""Quantiles of counts, from guesses near and far: the smallest that is enough, eagerly and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert._prims import quantiles

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

CASES = {
    "binom few": ("binom", (1, 20), (0, 1)), "binom many": ("binom", (180, 220), (0.4, 0.6)),
    "binom rare": ("binom", (1e5, 1e6), (1e-5, 1e-3)), "nbinom": ("nbinom", (1, 10), (0.3, 0.9)),
    "nbinom steep": ("nbinom", (0.1, 2), (0.001, 0.1)), "poisson few": ("poisson", (0.01, 8)),
    "poisson many": ("poisson", (80, 1e4)),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("method", "mass"), [("ppf", "cdf"), ("isf", "sf")])
def test_counts_are_the_smallest_that_are_enough(case: str, method: str, mass: str) -> None:
    name, *ranges = CASES[case]
    distribution: Any = getattr(wg.stats, name)
    rng, size = np.random.default_rng(0), 120
    tails = 10 ** rng.uniform(-9, 0, (2, size // 3))
    q = np.concatenate([rng.uniform(0, 1, size // 3), tails[0], 1 - tails[1]])
    shapes = [rng.uniform(*r, size) for r in ranges]
    shapes[0] = np.floor(shapes[0]) if name == "binom" else shapes[0]
    eager = getattr(distribution, method)(q, *shapes)
    np.testing.assert_array_equal(wg.function(getattr(distribution, method))(q, *shapes), eager)
    one = wg.function(getattr(distribution, method))(float(q[0]), *[float(s[0]) for s in shapes])
    assert one == eager[0]
    found, before = (getattr(distribution, mass)(k, *shapes) for k in (eager, eager - 1))
    is_enough, is_lacking = (found >= q, before < q) if method == "ppf" else (found <= q, before > q)
    assert is_enough.all() and (is_lacking | (eager == 0)).all()


# shares that are none and sizes that are no counts: the primitives are asked as they are
HARD = [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 1e300, -1e300, 5e-324, 1e-300, 1e-3, 1.5, 26.0, 3e4]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("name", ["binom", "nbinom", "poisson"])
def test_hard_numbers(name: str, upper: bool, dtype: Any) -> None:
    """Compiled as eagerly; and 0 exactly where the mass up to it is enough, whatever the guess."""
    primitive: Any = getattr(quantiles, f"{name}_count")
    with np.errstate(all="ignore"):
        hard = np.array(HARD).astype(dtype)
    xs = [x.ravel() for x in np.meshgrid(*[hard] * (2 if name == "poisson" else 3))]
    found = np.asarray(wg.function(lambda *xs: primitive(*xs, upper=upper))(*xs))
    eager = np.asarray(primitive(*map(wg.asarray, xs), upper=upper))
    np.testing.assert_array_equal(found, eager)
    assert found.dtype == dtype
    q, (below, beyond) = xs[0].astype(np.float64), _masses(name, *[x.astype(np.float64) for x in xs[1:]])
    at_0 = beyond <= q if upper else below >= q
    np.testing.assert_array_equal(eager == 0, at_0)


def _masses(name: str, *shapes: Any) -> tuple[Any, Any]:
    """Up to 0 and beyond it, by SciPy's functions."""
    special = pytest.importorskip("scipy.special")
    with np.errstate(all="ignore"):
        if name == "poisson":
            return special.gammaincc(1.0, *shapes), special.gammainc(1.0, *shapes)
        n, p = shapes
        if name == "nbinom":
            return special.betainc(n, 1.0, p), special.betaincc(n, 1.0, p)
        below, beyond = special.betaincc(1.0, n, p), special.betainc(1.0, n, p)
        return np.where(n <= 0, 1.0, below), np.where(n <= 0, 0.0, beyond)


@pytest.mark.parametrize("upper", [False, True])
def test_counts_that_are_no_floats_are_infinite(upper: bool) -> None:
    """Floats beyond 2^53 leave counts out: looking for one there ends."""
    q, means = np.array([1e-9, 0.3, 0.999]), np.array([[9e15], [9.007199e15], [1e16], [1.6e16], [1e17]])
    for name, shapes in (("poisson", [means]), ("binom", [2 * means, 0.5]), ("nbinom", [means, 0.5])):
        f = getattr(getattr(wg.stats, name), "isf" if upper else "ppf")
        eager = f(q, *shapes)
        np.testing.assert_array_equal(wg.function(f)(q, *shapes), eager)
        assert np.isinf(eager[2:]).all() and np.isfinite(eager[0]).all()


@pytest.mark.parametrize("name", ["binom", "nbinom", "poisson"])
def test_ends_and_no_numbers(name: str) -> None:
    distribution: Any = getattr(wg.stats, name)
    q = np.array([0.0, 1.0, np.nan, -0.5, 1.5, 1e-300, 1 - 2.0**-53, 0.5, 0.5])
    shapes = [np.full(q.size, 9.0), *([np.full(q.size, 0.25)] if name != "poisson" else [])]
    shapes[0][-1], shapes[-1][-2] = np.nan, 0.0
    for method in ("ppf", "isf"):
        f = getattr(distribution, method)
        np.testing.assert_array_equal(wg.function(f)(q, *shapes), f(q, *shapes))
