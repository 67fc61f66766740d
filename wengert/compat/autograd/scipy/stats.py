"""`scipy.stats`: SciPy's distributions, followed where we have them."""

from __future__ import annotations

import types
from typing import Any

import numpy as onp
import scipy.stats as _theirs

from .... import stats as _ours
from ...._core.argument_types import ArrayLike
from ....stats._distribution import at_once
from .._boxes import getval
from ._either import distribution, either, finder


def _logpdf(x: Any, mean: Any = None, cov: ArrayLike = 1, allow_singular: bool = False) -> Any:
    """The log density, on the span of the covariance where that may be singular (and is a constant then)."""
    if not allow_singular:
        return _ours.multivariate_normal.logpdf(x, mean, cov)
    values, vectors = onp.linalg.eigh(getval(cov))
    kept = values > 1e-10 * onp.max(onp.abs(values))
    scaled = onp.matmul(x - (0.0 if mean is None else mean), vectors[:, kept] / onp.sqrt(values[kept]))
    return -0.5 * (onp.sum(scaled**2, axis=-1) + onp.sum(onp.log(2 * onp.pi * values[kept])))


def _entropy(mean: ArrayLike | None = None, cov: Any = 1) -> Any:
    return 0.5 * onp.linalg.slogdet(2 * onp.pi * onp.e * cov)[1]


def _norm_logpdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    return at_once(_normal_steps, (x, loc, scale), "norm.logpdf")


def _normal_steps(x: Any, loc: Any, scale: Any) -> Any:
    """In few steps: the everyday likelihood is called with few numbers, and costs what its steps cost."""
    z = (x - loc) / scale
    return -0.5 * (z * z) - onp.log(scale * (2 * onp.pi) ** 0.5)


_normal = types.SimpleNamespace(logpdf=_logpdf, pdf=lambda *a, **k: onp.exp(_logpdf(*a, **k)), entropy=_entropy)
for _name in ("beta", "chi2", "dirichlet", "gamma", "multivariate_normal", "norm", "poisson", "t"):
    _mine = _normal if _name == "multivariate_normal" else getattr(_ours, _name, None)
    globals()[_name] = distribution(__name__, _name, getattr(_theirs, _name), _mine)
vars(globals()["norm"])["logpdf"] = either(_theirs.norm.logpdf, _norm_logpdf)

__getattr__ = finder(globals(), "scipy.stats", _ours)
__path__: list[str] = []  # so that an import of `stats.norm` looks here
