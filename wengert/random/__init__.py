"""Random numbers from keys: stateless, and the same on every engine and any number of threads.

A key is two 32-bit words. Each draw is a pure function of its key, so use a key once: `split` it, or `fold_in` the
number of a step, to get new ones. Keys and bits are integers, constants to a gradient; what is made of them by
arithmetic (`minval`, `maxval`, a scale) is differentiated as usual, and draws of a shape parameter (`gamma`, `beta`,
`dirichlet`, `t`, `vonmises`) move with it as the quantile does that they are. Counts and choices have no gradient.
"""

# pyright: strict, reportPrivateUsage=false

from ._choices import (
    bernoulli,
    binomial,
    categorical,
    choice,
    dropout,
    multinomial,
    permutation,
    poisson,
    rademacher,
    randint,
)
from ._circle import vonmises
from ._families import (
    beta,
    cauchy,
    chisquare,
    dirichlet,
    exponential,
    gamma,
    gumbel,
    laplace,
    logistic,
    multivariate_normal,
    t,
    truncated_normal,
)
from ._keys import bits, fold_in, key, normal, split, uniform

__all__ = [
    "bernoulli", "beta", "binomial", "bits", "categorical", "cauchy", "chisquare", "choice", "dirichlet", "dropout",
    "exponential", "fold_in", "gamma", "gumbel", "key", "laplace", "logistic", "multinomial", "multivariate_normal",
    "normal", "permutation", "poisson", "rademacher", "randint", "split", "t", "truncated_normal", "uniform",
    "vonmises",
]  # fmt: skip
