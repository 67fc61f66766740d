"""`wengert.scipy.stats` of one or two samples: numbers against SciPy's, gradients against differences of SciPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.stats

import wengert as wg
from wengert.scipy import stats
from wengert.scipy.cluster import vq

RNG = np.random.default_rng(1)
X = RNG.normal(size=9) + 0.5 * np.arange(9)
Y = RNG.normal(size=9)
A = RNG.normal(size=(4, 5))
PROGRAMS: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "linregress": (lambda m, x: m.linregress(x, Y), X),
    "linregress in y": (lambda m, y: m.linregress(X, y), Y),
    # SciPy from 1.18 on gives no p for a line through two points, and infinite errors
    "linregress of two": (lambda m, x: [*m.linregress(x, [1.0, 3.0])][:3], X[:2]),
    "linregress beside": (lambda m, x: m.linregress(x, Y).intercept_stderr, X),
    "pearsonr": (lambda m, x: [*m.pearsonr(x, Y)], X),
    "pearsonr along an axis": (lambda m, x: [*m.pearsonr(x, A[::-1] ** 2, axis=1)], A),
    "iqr": (lambda m, x: m.iqr(x), X),
    "iqr otherwise": (lambda m, x: m.iqr(x, 1, (20, 70), "normal", keepdims=True, interpolation="hazen"), A),
    "mad": (lambda m, x: m.median_abs_deviation(x, axis=1, scale="normal", keepdims=True), A),
    "mad of all": (lambda m, x: m.median_abs_deviation(x, axis=None), A),
    "trim_mean": (lambda m, x: m.trim_mean(x, 0.25, axis=1), A),
    "trim_mean of all": (lambda m, x: m.trim_mean(x, 0.1, axis=None), A),
    "circmean": (lambda m, x: m.circmean(x, high=3.0, low=-1.0, axis=0, keepdims=True), A),
    "circvar": (lambda m, x: m.circvar(x, axis=1), A),
    "circstd": (lambda m, x: m.circstd(x, high=3.0, axis=1), A),
    "circstd normalized": (lambda m, x: m.circstd(x, normalize=True), A),
    "wasserstein": (lambda m, x: m.wasserstein_distance(x, Y[:5], np.arange(1.0, 10), [1, 2, 1, 1, 3.0]), X),
    "wasserstein in weights": (lambda m, w: m.wasserstein_distance(X, Y[:5], w), np.arange(1.0, 10)),
}


def _sum(found: Any) -> Any:
    parts = found if isinstance(found, (list, tuple)) else [found]
    return sum(np.sum(part) * (1 + 0.3 * i) for i, part in enumerate(parts))


@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_are_scipys_and_gradients_those_of_differences(name: str) -> None:
    f, x = PROGRAMS[name]
    slopes = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        ends = []
        for sign in (1, -1):
            moved = x.copy()
            moved[place] += sign * 1e-6
            ends.append(_sum(f(scipy.stats, moved)))
        slopes[place] = (ends[0] - ends[1]) / 2e-6
    value, gradient = wg.value_and_grad(lambda x: _sum(f(stats, x)))(x)
    np.testing.assert_allclose(value, _sum(f(scipy.stats, x)), rtol=1e-10)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-7)
    assert np.shape(f(stats, wg.tensor(x))) == np.shape(f(scipy.stats, x))


def test_they_compile() -> None:
    for name in ("linregress", "iqr otherwise", "mad", "wasserstein"):
        f, x = PROGRAMS[name]
        np.testing.assert_allclose(wg.function(lambda x: _sum(f(stats, x)))(x), _sum(f(scipy.stats, x)), rtol=1e-10)  # noqa: B023  # called in the same turn


def test_points_and_the_nearest_of_a_code_book_are_scipys() -> None:
    book = A[:2] + 0.3
    code, distance = vq.vq(wg.tensor(A), book)
    expected = scipy.cluster.vq.vq(A, book)
    np.testing.assert_array_equal(code.numpy(), expected[0])
    np.testing.assert_allclose(distance.numpy(), expected[1])
    np.testing.assert_allclose(vq.whiten(wg.tensor(A)).numpy(), scipy.cluster.vq.whiten(A))
    gradient = wg.grad(lambda b: vq.vq(A, b)[1].sum())(book)
    away = book[expected[0]] - A
    assigned = np.eye(2)[expected[0]]
    np.testing.assert_allclose(gradient, assigned.T @ (away / expected[1][:, None]))
