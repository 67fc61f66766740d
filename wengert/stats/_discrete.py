"""The distributions of counts. A count is a whole number, so that its gradient is zero; parameters have theirs."""

from __future__ import annotations

from typing import Any

from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from .._prims import quantiles as Q
from ..ops.elementwise import equal, floor, less, less_equal, log, logical_and
from ..ops.indexing import where
from ..ops.piecewise import minimum
from ..special import betainc, betaincc, betaln, gammainc, gammaincc, gammaln, xlog1py, xlogy
from ._distribution import INFINITY, Distribution, Family

_MANY = 1e15  # beyond it floats are no counts


def _is_share(p: ArrayLike) -> Any:
    return logical_and(less_equal(0.0, p), less_equal(p, 1.0))


def _is_binomial(n: ArrayLike, p: ArrayLike) -> Any:
    return logical_and(logical_and(less_equal(0.0, n), equal(n, floor(n))), _is_share(p))


def _binom_logpmf(k: Tensor, n: Tensor, p: Tensor) -> Any:
    ways = -log(n + 1.0) - betaln(n - k + 1.0, k + 1.0)
    return ways + xlogy(k, p) + xlog1py(n - k, -p)


poisson = Distribution(Family(
    "poisson", {"mu": 1.0}, lambda mu: less_equal(0.0, mu), lambda mu: (0.0, INFINITY), lambda mu: 0.0,
    {
        "logpdf": lambda k, mu: xlogy(k, mu) - gammaln(k + 1.0) - mu,
        "cdf": lambda k, mu: gammaincc(k + 1.0, mu), "sf": lambda k, mu: gammainc(k + 1.0, mu),
        "ppf": lambda q, mu: Q.poisson_count(q, mu, upper=False),
        "isf": lambda q, mu: Q.poisson_count(q, mu, upper=True),
    },
    is_discrete=True, doc="Poisson's distribution",
))  # fmt: skip

binom = Distribution(Family(
    "binom", {"n": 1.0, "p": 0.5}, _is_binomial, lambda n, p: (0.0, n), lambda n, p: 0.0,
    {
        "logpdf": _binom_logpmf,
        # where k < n, which `Family` sees to but for n = 0
        "cdf": lambda k, n, p: betaincc(k + 1.0, where(less(k, n), n - k, 1.0), p),
        "sf": lambda k, n, p: betainc(k + 1.0, where(less(k, n), n - k, 1.0), p),
        "ppf": lambda q, n, p: Q.binom_count(q, n, p, upper=False),
        "isf": lambda q, n, p: Q.binom_count(q, n, p, upper=True),
    },
    is_discrete=True, doc="the binomial distribution",
))  # fmt: skip

bernoulli = Distribution(Family(
    "bernoulli", {"p": 0.5}, _is_share, lambda p: (0.0, 1.0), lambda p: 0.0,
    {
        "logpdf": lambda k, p: xlogy(k, p) + xlog1py(1.0 - k, -p),
        "cdf": lambda k, p: 1.0 - p + k * 0.0, "sf": lambda k, p: p + k * 0.0,
        "ppf": lambda q, p: where(less_equal(q, 1.0 - p), 0.0, 1.0) + (q + p) * 0.0,
        "isf": lambda q, p: where(less_equal(p, q), 0.0, 1.0) + (q + p) * 0.0,
    },
    is_discrete=True, doc="Bernoulli's distribution: 1 with probability p, else 0",
))  # fmt: skip


def _is_negative_binomial(n: ArrayLike, p: ArrayLike) -> Any:
    return logical_and(less(0.0, n), logical_and(less(0.0, p), less_equal(p, 1.0)))


def _nbinom_logpmf(k: Tensor, n: Tensor, p: Tensor) -> Any:
    # of k = 0 there is one way; betaln would cancel there
    is_none = equal(k, 0.0)
    ways = -log(n + k) - betaln(n, where(is_none, 1.0, k) + 1.0)
    return where(is_none, 0.0, ways) + n * log(p) + xlog1py(k, -p)


nbinom = Distribution(Family(
    "nbinom", {"n": 1.0, "p": 0.5}, _is_negative_binomial, lambda n, p: (0.0, INFINITY), lambda n, p: 0.0,
    {
        "logpdf": _nbinom_logpmf,
        "cdf": lambda k, n, p: betainc(n, minimum(k, _MANY) + 1.0, p),
        "sf": lambda k, n, p: betaincc(n, minimum(k, _MANY) + 1.0, p),
        "ppf": lambda q, n, p: Q.nbinom_count(q, n, p, upper=False),
        "isf": lambda q, n, p: Q.nbinom_count(q, n, p, upper=True),
    },
    is_discrete=True, doc="the number of failures before the n-th success",
))  # fmt: skip

__all__ = ["bernoulli", "binom", "nbinom", "poisson"]
