"""Quantiles of counts, from guesses near and far: the smallest that is enough, eagerly and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg

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


@pytest.mark.parametrize("name", ["binom", "nbinom", "poisson"])
def test_ends_and_no_numbers(name: str) -> None:
    distribution: Any = getattr(wg.stats, name)
    q = np.array([0.0, 1.0, np.nan, -0.5, 1.5, 1e-300, 1 - 2.0**-53, 0.5, 0.5])
    shapes = [np.full(q.size, 9.0), *([np.full(q.size, 0.25)] if name != "poisson" else [])]
    shapes[0][-1], shapes[-1][-2] = np.nan, 0.0
    for method in ("ppf", "isf"):
        f = getattr(distribution, method)
        np.testing.assert_array_equal(wg.function(f)(q, *shapes), f(q, *shapes))
