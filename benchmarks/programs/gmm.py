"""GradBench's gmm: the logarithm of the posterior of a mixture of Gaussians, and its gradient."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import multigammaln

TITLE = "Gaussian mixture log-posterior (GradBench gmm)"
CASES = {
    "d=2 k=5 n=1000": {"d": 2, "k": 5, "n": 1000},
    "d=10 k=25 n=1000": {"d": 10, "k": 25, "n": 1000},
    "d=20 k=50 n=1000": {"d": 20, "k": 50, "n": 1000},
    "d=64 k=50 n=1000": {"d": 64, "k": 50, "n": 1000},
}
TOLERANCE = 1e-9
GAMMA, M = 1.0, 0
LEFT_OUT = {"autograd": "it differentiates no scatter into triangles"}


def arguments(parameters: dict[str, Any]) -> tuple[np.ndarray, ...]:
    d, k = parameters["d"], parameters["k"]
    rng = np.random.default_rng(31337)
    return (
        rng.normal(size=k), rng.uniform(size=(k, d)), rng.normal(size=(k, d)), rng.normal(size=(k, d * (d - 1) // 2))
    )  # fmt: skip


def points(parameters: dict[str, Any]) -> np.ndarray:
    return np.random.default_rng(7).normal(size=(parameters["n"], parameters["d"]))


def objective(library: Any, d: int, k: int, x: np.ndarray, m: int, gamma: float) -> Any:
    """The log-posterior as a function of weights, means, log-diagonals and strict lower triangles (by columns)."""
    xp, n = library.np, len(x)
    columns, rows = np.triu_indices(d, 1)  # column by column of the lower triangle
    position = np.full((d, d), columns.size, dtype=np.int32)  # one past the end: the zero that is put there
    position[rows, columns] = np.arange(columns.size, dtype=np.int32)
    places = position.reshape(-1)
    data = library.constant(x)
    constant = -n * d * 0.5 * math.log(2 * math.pi)
    freedom = d + m + 1
    prior = k * (freedom * d * math.log(gamma / math.sqrt(2)) - float(multigammaln(0.5 * freedom, d)))

    def log_posterior(alpha: Any, mu: Any, q: Any, strict: Any) -> Any:
        diagonal, sums = xp.exp(q), xp.sum(q, axis=1)
        padded = xp.concatenate([strict, xp.zeros((k, 1))], axis=1)
        triangles = xp.reshape(xp.one_hot_rows(padded, places, 1), (k, d, d))
        centred = data[:, None, :] - mu[None, :, :]
        scaled = diagonal * centred + xp.einsum("kij,nkj->nki", triangles, centred)
        inner = alpha + sums - 0.5 * xp.sum(scaled * scaled, axis=2)
        squares = xp.sum(diagonal * diagonal) + xp.sum(strict * strict)
        penalty = 0.5 * gamma * gamma * squares - m * xp.sum(sums)
        likelihood = xp.sum(xp.logsumexp(inner, axis=1)) - n * xp.logsumexp(alpha, axis=0)
        return constant + likelihood - penalty + prior

    return log_posterior


def program(library: Any, parameters: dict[str, Any]) -> Any:
    return objective(library, parameters["d"], parameters["k"], points(parameters), M, GAMMA)


def c_call(parameters: dict[str, Any], arrays: tuple[np.ndarray, ...]) -> Any:
    d, k, n = parameters["d"], parameters["k"], parameters["n"]
    freedom = d + M + 1
    constant = -n * d * 0.5 * math.log(2 * math.pi) + k * (
        freedom * d * math.log(GAMMA / math.sqrt(2)) - float(multigammaln(0.5 * freedom, d))
    )
    results = np.empty(()), *(np.empty_like(a) for a in arrays)
    workspace = np.empty(3 * k * d + 3 * k)
    given = (d, k, n, points(parameters), float(M), GAMMA, constant, *arrays, workspace, *results)
    return "gmm", "gmm", given, (12, 13, 14, 15, 16)
