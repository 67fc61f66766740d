"""The log-posterior of a mixture of Gaussians with a Wishart prior, and its gradient."""

import math
from functools import cache
from typing import Any

import numpy as np
from scipy.special import multigammaln

import wengert as wg

PARAMETERS = ("alpha", "mu", "q", "l")


def log_posterior(parameters: dict[str, Any], x: Any, m: int, gamma: float) -> Any:
    """The value for log-weights, means, log-diagonals and strict lower triangles, column by column."""
    alpha, mu, q, strict = (parameters[name] for name in PARAMETERS)
    (n, d), k = x.shape, alpha.shape[0]
    diagonal, sums = wg.exp(q), wg.sum(q, axis=1)
    centred = x[:, None, :] - mu
    scaled = diagonal * centred + wg.einsum("kij,nkj->nki", triangles(strict, d), centred)
    inner = alpha + sums - 0.5 * wg.sum(scaled * scaled, axis=2)
    likelihood = wg.sum(wg.ops.logsumexp(inner, axis=1)) - n * (wg.ops.logsumexp(alpha) + d / 2 * math.log(2 * math.pi))
    squares = wg.sum(diagonal * diagonal) + wg.sum(strict * strict)
    freedom = d + m + 1
    constant = freedom * d * math.log(gamma / math.sqrt(2)) - float(multigammaln(0.5 * freedom, d))
    return likelihood + k * constant - 0.5 * gamma * gamma * squares + m * wg.sum(sums)


def triangles(strict: Any, d: int) -> Any:
    """Matrices with these entries below the diagonal, which are given column by column."""
    columns, rows = np.triu_indices(d, 1)
    position = np.full((d, d), columns.size)  # one past the end: the zero that is put there
    position[rows, columns] = np.arange(columns.size)
    padded = wg.concatenate([strict, wg.zeros((strict.shape[0], 1))], axis=1)
    return wg.take(padded, position, axis=1)


@cache
def _compiled(m: int, gamma: float) -> tuple[Any, Any]:
    def value(parameters: Any, x: Any) -> Any:
        return log_posterior(parameters, x, m, gamma)

    return wg.function(value), wg.function(wg.grad(value))


def _arrays(given: dict[str, Any]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    k, d = given["k"], given["d"]
    shapes = {"alpha": (k,), "mu": (k, d), "q": (k, d), "l": (k, d * (d - 1) // 2)}
    parameters = {n: np.array(given[n], dtype=np.float64).reshape(shape) for n, shape in shapes.items()}
    return parameters, np.array(given["x"], dtype=np.float64)


def objective(given: dict[str, Any]) -> Any:
    parameters, x = _arrays(given)
    run = _compiled(given["m"], given["gamma"])[0]
    return lambda: run(parameters, x), float


def jacobian(given: dict[str, Any]) -> Any:
    parameters, x = _arrays(given)
    run = _compiled(given["m"], given["gamma"])[1]
    return lambda: run(parameters, x), lambda found: {name: found[name].tolist() for name in PARAMETERS}
