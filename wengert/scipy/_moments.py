"""Mean, variance and entropy of distributions in their standard forms, by name: functions of the shape parameters.

None stands for what has no closed form; SciPy's own method serves there, and refuses followed parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.argument_types import ShapeLike
from .._core.tensor import Tensor
from ..ops.elementwise import exp, expm1, less, log, logical_and, sin, sqrt
from ..ops.indexing import where
from ..special import betaln, digamma, entr, gamma, gammaln, zeta

Moment = Callable[..., Any] | None

_EULER = float(np.euler_gamma)
_PI = math.pi


def _above(bound: float, shape: ShapeLike, value: Callable[[Any], Any]) -> Any:
    """A moment that is infinite for shapes up to a bound."""
    is_finite = less(bound, shape)
    return where(is_finite, value(where(is_finite, shape, bound + 1.0)), math.inf)


def _both_above(bound: float, a: Tensor, b: Tensor, value: Callable[[Any, Any], Any], otherwise: float) -> Any:
    is_finite = logical_and(less(bound, a), less(bound, b))
    return where(is_finite, value(where(is_finite, a, bound + 1.0), where(is_finite, b, bound + 1.0)), otherwise)


def _skew_mean(a: Tensor, b: Tensor) -> Any:
    lean = exp(gammaln(a - 0.5) - gammaln(a) + gammaln(b - 0.5) - gammaln(b))
    return (a - b) * sqrt(a + b) / 2 * lean


def _spread(c: Tensor) -> Any:
    return gamma(1.0 + 2.0 / c) - gamma(1.0 + 1.0 / c) ** 2


def _chi_mean(df: Tensor) -> Any:
    return exp(gammaln((df + 1.0) / 2) - gammaln(df / 2)) * math.sqrt(2)


def _log_uniform(a: Tensor, b: Tensor) -> Any:
    return (b - a) / log(b / a)


def _skew(a: Tensor) -> Any:
    return a / sqrt(1.0 + a * a) * math.sqrt(2 / _PI)


def _t_entropy(df: Tensor) -> Any:
    half, next_half = df / 2, (df + 1.0) / 2
    return next_half * (digamma(next_half) - digamma(half)) + log(df) / 2 + betaln(half, 0.5)


def _zipf_mean(a: Tensor) -> Any:
    return _above(2.0, a, lambda a: zeta(a - 1.0) / zeta(a))


def _constants(*values: float | None) -> tuple[Moment, ...]:
    return (*(None if v is None else (lambda v=v: v) for v in values),)


MOMENTS: dict[str, tuple[Moment, ...]] = {
    "norm": _constants(0.0, 1.0, math.log(2 * _PI * math.e) / 2), "uniform": _constants(0.5, 1 / 12, 0.0),
    "expon": _constants(1.0, 1.0, 1.0), "laplace": _constants(0.0, 2.0, 1 + math.log(2)),
    "logistic": _constants(0.0, _PI**2 / 3, 2.0), "cauchy": _constants(math.nan, math.nan, math.log(4 * _PI)),
    "gumbel_r": _constants(_EULER, _PI**2 / 6, _EULER + 1), "gumbel_l": _constants(-_EULER, _PI**2 / 6, _EULER + 1),
    "rayleigh": _constants(math.sqrt(_PI / 2), (4 - _PI) / 2, 1 + _EULER / 2 - math.log(2) / 2),
    "maxwell": _constants(2 * math.sqrt(2 / _PI), 3 - 8 / _PI, _EULER + math.log(2 * _PI) / 2 - 0.5),
    "halfnorm": _constants(math.sqrt(2 / _PI), 1 - 2 / _PI, math.log(_PI / 2) / 2 + 0.5),
    "halflogistic": _constants(math.log(4), _PI**2 / 3 - math.log(4) ** 2, 2 - math.log(2)),
    "hypsecant": _constants(0.0, _PI**2 / 4, math.log(2 * _PI)), "arcsine": _constants(0.5, 1 / 8, math.log(_PI / 4)),
    "semicircular": _constants(0.0, 0.25, math.log(_PI) - 0.5),
    "moyal": _constants(_EULER + math.log(2), _PI**2 / 2, None),
    "gamma": (lambda a: a, lambda a: a, lambda a: a + gammaln(a) + (1.0 - a) * digamma(a)),
    "beta": (
        lambda a, b: a / (a + b), lambda a, b: a * b / ((a + b) ** 2 * (a + b + 1.0)),
        lambda a, b: betaln(a, b) - (a - 1.0) * digamma(a) - (b - 1.0) * digamma(b) + (a + b - 2.0) * digamma(a + b),
    ),
    "chi2": (
        lambda df: df, lambda df: 2.0 * df,
        lambda df: df / 2 + math.log(2) + gammaln(df / 2) + (1.0 - df / 2) * digamma(df / 2),
    ),
    "chi": (_chi_mean, lambda df: df - _chi_mean(df) ** 2, None),
    "lognorm": (
        lambda s: exp(s * s / 2), lambda s: expm1(s * s) * exp(s * s), lambda s: (1 + math.log(2 * _PI)) / 2 + log(s),
    ),
    "pareto": (
        lambda b: _above(1.0, b, lambda b: b / (b - 1.0)),
        lambda b: _above(2.0, b, lambda b: b / ((b - 1.0) ** 2 * (b - 2.0))), lambda b: 1.0 + 1.0 / b - log(b),
    ),
    "lomax": (
        lambda c: _above(1.0, c, lambda c: 1.0 / (c - 1.0)),
        lambda c: _above(2.0, c, lambda c: c / ((c - 1.0) ** 2 * (c - 2.0))), lambda c: 1.0 + 1.0 / c - log(c),
    ),
    "weibull_min": (
        lambda c: gamma(1.0 + 1.0 / c), _spread, lambda c: -_EULER / c - log(c) + _EULER + 1.0,
    ),
    "weibull_max": (
        lambda c: -gamma(1.0 + 1.0 / c), _spread, lambda c: -_EULER / c - log(c) + _EULER + 1.0,
    ),
    "t": (
        lambda df: _above(1.0, df, lambda df: df * 0.0),
        lambda df: _above(2.0, df, lambda df: df / (df - 2.0)), _t_entropy,
    ),
    "invgamma": (
        lambda a: _above(1.0, a, lambda a: 1.0 / (a - 1.0)),
        lambda a: _above(2.0, a, lambda a: 1.0 / ((a - 1.0) ** 2 * (a - 2.0))),
        lambda a: a + gammaln(a) - (1.0 + a) * digamma(a),
    ),
    "f": (
        lambda n, m: _above(2.0, m, lambda m: m / (m - 2.0)) + n * 0.0,
        lambda n, m: _above(4.0, m, lambda m: 2.0 * m * m * (n + m - 2.0) / (n * (m - 2.0) ** 2 * (m - 4.0))), None,
    ),
    "powerlaw": (
        lambda a: a / (a + 1.0), lambda a: a / ((a + 2.0) * (a + 1.0) ** 2), lambda a: 1.0 - 1.0 / a - log(a),
    ),
    "genpareto": (
        lambda c: _above(-1.0, -c, lambda d: 1.0 / (1.0 + d)),
        lambda c: _above(-0.5, -c, lambda d: 1.0 / ((1.0 + d) ** 2 * (1.0 + 2.0 * d))), lambda c: 1.0 + c,
    ),
    "invgauss": (lambda mu: mu, lambda mu: mu**3, None),
    "loguniform": (
        _log_uniform, lambda a, b: (b * b - a * a) / (2.0 * log(b / a)) - _log_uniform(a, b) ** 2,
        lambda a, b: (log(a) + log(b)) / 2 + log(log(b / a)),
    ),
    "laplace_asymmetric": (lambda k: 1.0 / k - k, lambda k: 1.0 / (k * k) + k * k, lambda k: 1.0 + log(k + 1.0 / k)),
    "triang": (lambda c: (1.0 + c) / 3, lambda c: (1.0 - c + c * c) / 18, lambda c: c * 0.0 + (0.5 - math.log(2))),
    "gennorm": (
        lambda b: b * 0.0, lambda b: exp(gammaln(3.0 / b) - gammaln(1.0 / b)),
        lambda b: 1.0 / b - log(b / 2) + gammaln(1.0 / b),
    ),
    "skewnorm": (_skew, lambda a: 1.0 - _skew(a) ** 2, None),
    "fisk": (lambda c: _above(1.0, c, lambda c: _PI / c / sin(_PI / c)), None, None),
    "jf_skew_t": (
        lambda a, b: _both_above(0.5, a, b, _skew_mean, math.nan),
        lambda a, b: _both_above(1.0, a, b, lambda a, b: (
            (a + b) / 4 * ((a - b) ** 2 + a + b - 2.0) / ((a - 1.0) * (b - 1.0)) - _skew_mean(a, b) ** 2
        ), math.inf), None,
    ),
    "betanbinom": (
        lambda n, a, b: _above(1.0, a, lambda a: n * b / (a - 1.0)),
        lambda n, a, b: _above(2.0, a, lambda a: (
            n * b * (n + a - 1.0) * (b + a - 1.0) / ((a - 2.0) * (a - 1.0) ** 2)
        )), None,
    ),
    "yulesimon": (
        lambda a: _above(1.0, a, lambda a: a / (a - 1.0)),
        lambda a: _above(2.0, a, lambda a: a * a / ((a - 1.0) ** 2 * (a - 2.0))), None,
    ),
    "geom": (lambda p: 1.0 / p, lambda p: (1.0 - p) / p**2, None),
    "poisson": (lambda mu: mu, lambda mu: mu, None),
    "binom": (lambda n, p: n * p, lambda n, p: n * p * (1.0 - p), None),
    "bernoulli": (lambda p: p, lambda p: p * (1.0 - p), lambda p: entr(p) + entr(1.0 - p)),
    "nbinom": (lambda n, p: n * (1.0 - p) / p, lambda n, p: n * (1.0 - p) / p**2, None),
    "randint": (
        lambda low, high: (low + high - 1.0) / 2, lambda low, high: ((high - low) ** 2 - 1.0) / 12,
        lambda low, high: log(high - low),
    ),
    "betabinom": (
        lambda n, a, b: n * a / (a + b), lambda n, a, b: n * a * b * (a + b + n) / ((a + b) ** 2 * (a + b + 1.0)), None,
    ),
    "zipf": (_zipf_mean, lambda a: _above(3.0, a, lambda a: zeta(a - 2.0) / zeta(a) - _zipf_mean(a) ** 2), None),
    "planck": (lambda rate: 1.0 / expm1(rate), lambda rate: exp(rate) / expm1(rate) ** 2, None),
}  # fmt: skip


def _beta_skew(a: Tensor, b: Tensor) -> Any:
    return 2.0 * (b - a) * sqrt(a + b + 1.0) / ((a + b + 2.0) * sqrt(a * b))


def _beta_excess(a: Tensor, b: Tensor) -> Any:
    apart = (a - b) ** 2 * (a + b + 1.0) - a * b * (a + b + 2.0)
    return 6.0 * apart / (a * b * (a + b + 2.0) * (a + b + 3.0))


def _lognormal_excess(s: Tensor) -> Any:
    p = exp(s * s)
    return p**4 + 2.0 * p**3 + 3.0 * p**2 - 6.0


def _t_excess(df: Tensor) -> Any:
    is_finite = less(4.0, df)
    return where(is_finite, 6.0 / where(is_finite, df - 4.0, 1.0), where(less(2.0, df), math.inf, math.nan))


_GUMBEL = 12 * math.sqrt(6) * 1.2020569031595942 / _PI**3

# skewness and excess kurtosis
HIGHER: dict[str, tuple[Moment, ...]] = {
    "norm": _constants(0.0, 0.0), "uniform": _constants(0.0, -1.2), "expon": _constants(2.0, 6.0),
    "laplace": _constants(0.0, 3.0), "logistic": _constants(0.0, 1.2), "gumbel_r": _constants(_GUMBEL, 2.4),
    "gumbel_l": _constants(-_GUMBEL, 2.4),
    "rayleigh": _constants(2 * math.sqrt(_PI) * (_PI - 3) / (4 - _PI) ** 1.5,
                           -(6 * _PI**2 - 24 * _PI + 16) / (4 - _PI) ** 2),
    "gamma": (lambda a: 2.0 / sqrt(a), lambda a: 6.0 / a), "chi2": (lambda df: sqrt(8.0 / df), lambda df: 12.0 / df),
    "beta": (_beta_skew, _beta_excess),
    "lognorm": (lambda s: (exp(s * s) + 2.0) * sqrt(expm1(s * s)), _lognormal_excess),
    "t": (lambda df: where(less(3.0, df), 0.0, math.nan) + 0.0 * df, _t_excess),
    "invgauss": (lambda mu: 3.0 * sqrt(mu), lambda mu: 15.0 * mu),
    "poisson": (lambda mu: 1.0 / sqrt(mu), lambda mu: 1.0 / mu),
    "binom": (
        lambda n, p: (1.0 - 2.0 * p) / sqrt(n * p * (1.0 - p)),
        lambda n, p: (1.0 - 6.0 * p * (1.0 - p)) / (n * p * (1.0 - p)),
    ),
    "bernoulli": (
        lambda p: (1.0 - 2.0 * p) / sqrt(p * (1.0 - p)), lambda p: (1.0 - 6.0 * p * (1.0 - p)) / (p * (1.0 - p)),
    ),
    "geom": (lambda p: (2.0 - p) / sqrt(1.0 - p), lambda p: 6.0 + p * p / (1.0 - p)),
    "nbinom": (
        lambda n, p: (2.0 - p) / sqrt(n * (1.0 - p)), lambda n, p: 6.0 / n + p * p / (n * (1.0 - p)),
    ),
}  # fmt: skip

__all__ = ["HIGHER", "MOMENTS"]
