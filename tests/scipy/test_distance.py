"""`wengert.scipy.spatial.distance`: values against SciPy's, gradients against differences."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from tests.support.scipy_rows import Row
from wengert.scipy.spatial import distance

RNG = np.random.default_rng(8)
A = RNG.uniform(0.2, 1, size=(5, 3))
B = RNG.uniform(0.2, 1, size=(4, 3))
W = np.array([0.5, 1.0, 2.0])
METRICS = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "cosine", "correlation", "canberra",
           "braycurtis", "seuclidean", "mahalanobis", "jensenshannon")  # fmt: skip
WEIGHTED = METRICS[:9]
NAME = "spatial.distance"

ROWS = [
    *[Row(f"{NAME}.cdist", A, B, metric, followed=2) for metric in METRICS],
    *[Row(f"{NAME}.pdist", A, metric) for metric in METRICS],
    *[Row(f"{NAME}.cdist", A, B, metric, followed=2, w=W) for metric in WEIGHTED],
    *[Row(f"{NAME}.{metric}", A[0], A[1], followed=2) for metric in WEIGHTED],
    *[Row(f"{NAME}.{metric}", A[0], A[1], w=W, followed=2) for metric in WEIGHTED],
    Row(f"{NAME}.cdist", A, B, "minkowski", p=3, followed=2), Row(f"{NAME}.minkowski", A[0], A[1], 1.5, W, followed=2),
    Row(f"{NAME}.cdist", A, B, "seuclidean", V=W, followed=2), Row(f"{NAME}.cdist", A, B, "mahalanobis", VI=np.diag(W), followed=2),
    Row(f"{NAME}.cdist", A, B, lambda u, v: ((u - v) ** 4).sum(), followed=2),
    Row(f"{NAME}.seuclidean", A[0], A[1], W, followed=3), Row(f"{NAME}.mahalanobis", A[0], A[1], np.diag(W), followed=3),
    Row(f"{NAME}.jensenshannon", A, B[[0, 1, 2, 3, 0]], 2.0, axis=1, keepdims=True, followed=2),
    Row(f"{NAME}.squareform", A[0]), Row(f"{NAME}.squareform", np.array([[0.0, 2, 3], [2, 0, 1], [3, 1, 0]]), slopes=False),
    Row(f"{NAME}.hamming", A[0], A[0] * [1, 1, 2], slopes=False),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=repr)
def test_values_are_scipys(row: Row) -> None:
    row.check_values()


@pytest.mark.parametrize("row", ROWS, ids=repr)
def test_gradients_are_those_of_differences(row: Row) -> None:
    row.check_slopes()


def test_equal_points_have_a_gradient_of_zero() -> None:
    points = np.stack([A[0], A[0], A[1]])
    slope = wg.grad(lambda x: distance.cdist(x, x).sum())(points)
    assert np.isfinite(slope).all()
    np.testing.assert_allclose(slope.sum(axis=0), 0, atol=1e-12)


def test_a_metric_of_truth_values_is_refused_for_tensors() -> None:
    with pytest.raises(TypeError, match="metric='jaccard' is not supported"):
        distance.cdist(wg.tensor(A), B, "jaccard")
