"""`wengert.scipy.cluster.vq`: middles of groups move with their points."""

from __future__ import annotations

import numpy as np
import scipy.cluster.vq as reference

import wengert.scipy.cluster.vq as vq
from tests.scipy.against import agrees_with_scipy

POINTS = np.random.default_rng(6).normal(size=(12, 2)) + np.repeat([[0.0, 0], [6, 1], [-3, 7]], 4, axis=0)
GUESS = POINTS[::4]


def test_kmeans() -> None:
    agrees_with_scipy(lambda x: vq.kmeans(x, GUESS), lambda x: reference.kmeans(x, GUESS), (POINTS,))
    agrees_with_scipy(
        lambda x: vq.kmeans(x, GUESS[:, 0]), lambda x: reference.kmeans(x, GUESS[:, 0]), (POINTS[:, 0].copy(),)
    )


def test_kmeans2() -> None:
    def middles(module):
        return lambda x: module.kmeans2(x, GUESS, minit="matrix")[0]

    agrees_with_scipy(middles(vq), middles(reference), (POINTS,))
