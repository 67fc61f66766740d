"""The gamma and the beta function of float64 in vectors: beside SciPy's, at all ends, in lanes of mixed regions."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.special

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

REGIONS = {
    "small": (0.01, 1), "middle": (1, 8), "moved": (8, 33), "large": (33, 171), "below": (-8, -0.01),
    "far below": (-33, -20), "farther": (-171, -33), "vanishing": (-190, -170), "tiny": (1e-300, 1e-200),
    "beside 0": (-1e-3, 1e-3),
}  # fmt: skip
ENDS = (
    0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, -2.0, -2.5, -50.0, -200.0, 1e-310, -1e-310, 171.5, 172.0, 1e308, 33.0,
    -33.0, -33.5, -1e15 - 0.5, 40.0, -40.5, 10.0, 2.0,
)  # fmt: skip


def eager(name: str, *xs: np.ndarray[Any, Any]) -> Any:
    with np.errstate(all="ignore"):
        return np.asarray(getattr(wg.special, name)(*map(wg.tensor, xs)))


def compiled(name: str, *xs: np.ndarray[Any, Any]) -> Any:
    return wg.function(getattr(wg.special, name))(*xs)


@pytest.mark.parametrize("region", REGIONS)
def test_gamma_is_as_exact_as_scipys(region: str) -> None:
    x = np.random.default_rng(0).uniform(*REGIONS[region], 500)
    np.testing.assert_allclose(compiled("gamma", x), scipy.special.gamma(x), rtol=4e-15, atol=1e-320)


def test_gamma_of_mixed_lanes() -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate([*[rng.uniform(*region, 40) for region in REGIONS.values()], ENDS, ENDS])
    rng.shuffle(x)
    found, wanted = compiled("gamma", x), eager("gamma", x)
    np.testing.assert_allclose(found, wanted, rtol=4e-15, atol=1e-320)
    zeros = (wanted == 0) & (abs(x) < 1e9)  # farther off the processor's sines and SciPy's differ about the sign
    np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(wanted[zeros]))


def test_gamma_of_whole_numbers_is_exact() -> None:
    x = np.arange(1.0, 23.0)
    np.testing.assert_array_equal(compiled("gamma", x), np.cumprod([1.0, *x[:-1]]))


@pytest.mark.parametrize("name", ["beta", "betaln"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_beta_of_mixed_regions_and_ends(name: str, dtype: Any) -> None:
    rng = np.random.default_rng(2)
    sides = [(0.01, 1), (1, 8), (8, 33), (33, 400), (-8, -0.01), (-30, -8)]
    rows = [rng.uniform(*zip(one, two, strict=True), (12, 2)) for one, two in itertools.product(sides, sides)]
    pairs = np.concatenate([*rows, [*itertools.product(ENDS, ENDS)]])
    with np.errstate(all="ignore"):
        x, y = pairs.astype(dtype).T
        found = compiled(name, x, y)
    # logarithms of a value near 1 are as exact as those of its parts
    rtol, atol = 4 * float(np.finfo(dtype).eps) + 2e-12, 0.0 if name == "beta" else 1e-14
    np.testing.assert_allclose(found.astype(float), eager(name, x, y).astype(float), rtol=rtol, atol=atol)


def test_betaln_of_a_denormal_number_beside_a_large_one() -> None:
    x, y = np.full(16, 1e-310), np.full(16, 40.0)
    for found in (compiled("betaln", x, y), eager("betaln", x, y)):
        np.testing.assert_allclose(found, 713.8013788281542, rtol=1e-15)


@pytest.mark.parametrize("name", ["beta", "betaln"])
def test_gradients_of_beta_in_vectors_are_the_eager_ones(name: str) -> None:
    x, y = np.random.default_rng(3).uniform(0.1, 40, (2, 100))
    gradient = wg.grad(lambda x, y: wg.sum(getattr(wg.special, name)(x, y)), argnums=(0, 1))
    for ours, wanted in zip(wg.function(gradient)(x, y), gradient(x, y), strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=2e-12)
