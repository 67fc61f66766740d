"""Distributions whose densities hold Bessel functions of real order, and kappa4. Their orders have derivatives, too.

The modified Bessel functions are integrals over the whole line of what falls off at least exponentially and has no
singularity near it: the sum over a few hundred equal steps is exact to rounding, and so is its derivative of any order.
How far the steps go is a constant to a gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.tensor import Tensor
from ..ops.conversion import stop_gradient
from ..ops.elementwise import abs as magnitude
from ..ops.elementwise import arcsinh, exp, expm1, less, less_equal, log, log1p, logical_and, sinh, sqrt, tanh
from ..ops.indexing import where
from ..ops.reductions import logsumexp
from ..ops.shapes import expand_dims
from ..special import gammaln, xlogy
from ..stats._distribution import INFINITY
from ._families import (
    HALF,
    LOG_2,
    LOG_PI,
    LOG_ROOT_2PI,
    _extreme,
    _extreme_place,
    any_shape,
    family,
)
from ._rarer_families import FAMILIES

_COUNT = 400  # of steps
_STEPS = np.arange(_COUNT + 1.0) / _COUNT
_WEIGHTS = np.log(np.where(np.arange(_COUNT + 1) == 0, 0.5, 1.0))  # the integrands are even, the ends far below
_FAR = 45.0  # by how much the logarithm has fallen at the end


def _summed(logarithm: Any, reach: Any) -> Any:
    """The logarithm of the integral from 0 to where the steps go."""
    return log(reach / _COUNT) + logsumexp(logarithm + _WEIGHTS, axis=-1)


def log_k(v: Tensor, z: Tensor) -> Any:
    """log(K_v(z)) of real order and positive z: of the integral of exp(-z cosh(t)) cosh(v t) over positive t."""
    v = magnitude(v)
    reach = stop_gradient(2.0 * arcsinh(sqrt((v + _FAR) / z)))  # there z (cosh(t) - 1) is 2 v and 2 _FAR
    t, order = expand_dims(reach, -1) * _STEPS, expand_dims(v, -1)
    fall = 2.0 * expand_dims(z, -1) * sinh(0.5 * t) ** 2  # z (cosh(t) - 1)
    return _summed(order * t - fall + log1p(exp(-2.0 * order * t)) - LOG_2, reach) - z


def _log_cosh_of_root(w: Tensor) -> Any:
    """log(cosh(sqrt(w))), which is smooth at 0."""
    is_small = less(w, 1e-3)
    small = where(is_small, w, 0.0)
    root = sqrt(where(is_small, 1.0, w))
    series = small * (0.5 - small * (1 / 12 - small * (1 / 45 - small * (17 / 2520))))
    return where(is_small, series, root + log1p(exp(-2.0 * root)) - LOG_2)


def _log_even(v: Tensor, w: Tensor) -> Any:
    """The logarithm of (z / 2)^-v I_v(z) for z^2 = w and an order above -1/2, by Poisson's integral."""
    fall = 2.0 * v + 1.0
    reach = stop_gradient(2.0 + 0.5 * log1p(4.0 * sqrt(w) / fall) + _FAR / fall)
    u = expand_dims(reach, -1) * _STEPS
    risen = _log_cosh_of_root(expand_dims(w, -1) * tanh(u) ** 2)
    whole = _summed(risen - expand_dims(fall, -1) * (u + log1p(exp(-2.0 * u)) - LOG_2), reach)
    return LOG_2 + whole - 0.5 * LOG_PI - gammaln(v + 0.5)


def log_i_part(v: Tensor, w: Tensor) -> Any:
    """`_log_even` of an order above -1, by those of the next two orders."""
    next_one = log(v + 1.0) + _log_even(v + 1.0, w)
    return next_one + log1p(0.25 * w * exp(_log_even(v + 2.0, w) - next_one))


def _noncentral(z: Tensor, df: Tensor, nc: Tensor) -> Any:
    v = 0.5 * df - 1.0
    return xlogy(v, 0.5 * z) - LOG_2 - 0.5 * (z + nc) + log_i_part(v, z * nc)


family("ncx2", {"df": 1.0, "nc": 1.0}, {"logpdf": _noncentral}, support=HALF,
       is_valid=lambda df, nc: logical_and(less(0.0, df), less_equal(0.0, nc)))  # fmt: skip
family("geninvgauss", {"p": 1.0, "b": 1.0}, {
    "logpdf": lambda z, p, b: (p - 1.0) * log(z) - 0.5 * b * (z + 1.0 / z) - LOG_2 - log_k(p, b),
}, support=HALF, has_low=False, is_valid=lambda p, b: less(0.0, b + 0.0 * p))  # fmt: skip


def _hyperbolic(z: Tensor, p: Tensor, a: Tensor, b: Tensor) -> Any:
    inside = (a - b) * (a + b)
    root = sqrt(1.0 + z * z)
    whole = 0.5 * p * log(inside) - LOG_ROOT_2PI - (p - 0.5) * log(a) - log_k(p, sqrt(inside))
    return whole + b * z + log_k(p - 0.5, a * root) + (p - 0.5) * log(root)


family("genhyperbolic", {"p": 1.0, "a": 2.0, "b": 0.5}, {"logpdf": _hyperbolic},
       is_valid=lambda p, a, b: less(magnitude(b), a + 0.0 * p))  # fmt: skip


def _kappa_fall(z: Tensor, h: Tensor, k: Tensor) -> Any:
    """-log(cdf): -log(1 - h exp(-y)) / h, where y is -log(1 - k z) / k."""
    return -_extreme(exp(_extreme(z, k)), h)


def _kappa_place(fall: Tensor, h: Tensor, k: Tensor) -> Any:
    return _extreme_place(-log(_extreme_place(fall, h)), k)


def _kappa_support(h: Tensor, k: Tensor) -> tuple[Any, Any]:
    has_low = less(0.0, h)
    end = 1.0 / where(less(0.0, magnitude(k)), k, 1.0)
    low = where(has_low, _extreme_place(log(where(has_low, h, 1.0)), k), where(less(k, 0.0), end, -INFINITY))
    return low, where(less(0.0, k), end, INFINITY)


family("kappa4", {"h": 0.1, "k": 0.1}, {
    "logpdf": lambda z, h, k: (1.0 - k) * _extreme(z, k) - (1.0 - h) * _kappa_fall(z, h, k),
    "logcdf": lambda z, h, k: -_kappa_fall(z, h, k), "cdf": lambda z, h, k: exp(-_kappa_fall(z, h, k)),
    "sf": lambda z, h, k: -expm1(-_kappa_fall(z, h, k)), "ppf": lambda q, h, k: _kappa_place(-log(q), h, k),
    "isf": lambda q, h, k: _kappa_place(-log1p(-q), h, k),
}, support=_kappa_support, middle=lambda h, k: _kappa_place(LOG_2 + 0.0 * h, h, k), is_valid=any_shape,
   has_low=False)  # fmt: skip

__all__ = ["FAMILIES", "log_i_part", "log_k"]
