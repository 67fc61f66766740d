"""Probability distributions with SciPy's names and parametrisation, differentiable in values and parameters.

Each is an object with methods: `wg.stats.norm.logpdf(x, loc=0, scale=1)`, `wg.stats.gamma.cdf(x, a, loc=0, scale=1)`.
Outside of its support a density is 0 (its logarithm -inf) and has gradient 0; where parameters make no distribution the
values are NaN, as in SciPy.
"""

# pyright: strict, reportPrivateUsage=false

from ._continuous import (
    beta,
    cauchy,
    chi2,
    expon,
    gamma,
    laplace,
    logistic,
    lognorm,
    norm,
    pareto,
    t,
    truncnorm,
    uniform,
    vonmises,
    weibull_min,
)
from ._discrete import bernoulli, binom, nbinom, poisson
from ._distribution import Distribution, Frozen
from ._multivariate import dirichlet, multivariate_normal

__all__ = [
    "Distribution", "Frozen", "bernoulli", "beta", "binom", "cauchy", "chi2", "dirichlet", "expon", "gamma", "laplace",
    "logistic", "lognorm", "multivariate_normal", "nbinom", "norm", "pareto", "poisson", "t", "truncnorm", "uniform",
    "vonmises", "weibull_min",
]  # fmt: skip
