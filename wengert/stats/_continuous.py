"""The continuous distributions of one variable, by their formulas in standard form."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from .._prims import quantiles as Q
from .._prims.structural import stop_gradient
from ..ops.activations import log_sigmoid
from ..ops.elementwise import abs as magnitude
from ..ops.elementwise import (
    arcsin,
    arctan2,
    equal,
    exp,
    expm1,
    floor,
    isinf,
    less,
    less_equal,
    log,
    log1p,
    logaddexp,
    logical_and,
    logical_not,
    logical_or,
    power,
    sigmoid,
    sin,
    sqrt,
    tan,
)
from ..ops.indexing import where
from ..ops.reductions import sum as total
from ..ops.shapes import expand_dims
from ..special import (
    betainc,
    betaincc,
    betaincinv,
    betaln,
    gammainc,
    gammaincc,
    gammaincinv,
    gammaln,
    i0e,
    log_ndtr,
    ndtr,
    ndtri,
    xlog1py,
    xlogy,
)
from ._distribution import INFINITY, Distribution, Family

_LOG_2 = math.log(2)
_LOG_PI = math.log(math.pi)
_LOG_ROOT_2PI = math.log(math.sqrt(2 * math.pi))
_ROOT_2PI = math.sqrt(2 * math.pi)


def _always(*shapes: object) -> Any:
    return True


def _positive(*shapes: Tensor) -> Any:
    found = less(0.0, shapes[0])
    for s in shapes[1:]:
        found = logical_and(found, less(0.0, s))
    return found


def _line(*shapes: Tensor) -> Any:
    return -INFINITY, INFINITY


def _half_line(*shapes: Tensor) -> Any:
    return 0.0, INFINITY


def _constant(value: ArrayLike) -> Any:
    return lambda *shapes: value


def _log_of_complement(z: ArrayLike) -> Any:
    """log(1 - e^-z) for z >= 0, exact near 0 and far out."""
    is_near = less(z, _LOG_2)
    is_zero = less_equal(z, 0.0)
    near = log(-expm1(-where(logical_and(is_near, logical_not(is_zero)), z, 1.0)))
    far = log1p(-exp(-where(is_near, 1.0, z)))
    return where(is_zero, -INFINITY, where(is_near, near, far))


def _with_end(log_density: Callable[..., Any], rest: Callable[..., Any]) -> Any:
    """A density z^(p-1) * rest(z): at z = 0, where its logarithm may have no value, by the power itself.

    `rest` gives p and the logarithm of what is beside the power, from z and the shape parameters.
    """

    def density(z: Tensor, *shapes: Tensor) -> Any:
        is_end = equal(z, 0.0)
        inner = exp(log_density(where(is_end, 1.0, z), *shapes))
        end = where(is_end, z, 0.5)  # a power of 0 takes long, and this is computed for all elements
        exponent, beside = rest(end, *shapes)
        return where(is_end, power(end, exponent - 1.0) * exp(beside), inner)

    return density


# -- the normal distribution and its kin -----------------------------------------------------------------------------

norm = Distribution(Family(
    "norm", {}, _always, _line, _constant(0.0),
    {
        "logpdf": lambda z: z * z * -0.5 - _LOG_ROOT_2PI,
        "pdf": lambda z: exp(z * z * -0.5) / _ROOT_2PI,
        "cdf": ndtr, "sf": lambda z: ndtr(-z), "logcdf": log_ndtr, "logsf": lambda z: log_ndtr(-z),
        "ppf": ndtri, "isf": lambda q: -ndtri(q),
    },
    doc="the normal distribution",
))  # fmt: skip


def _lognorm_logpdf(z: Tensor, s: Tensor) -> Any:
    w = log(z)
    return w * w / (s * s) * -0.5 - log(s * z * _ROOT_2PI)


lognorm = Distribution(Family(
    "lognorm", {"s": 1.0}, _positive, _half_line, _constant(1.0),
    {
        "logpdf": _lognorm_logpdf,
        "cdf": lambda z, s: ndtr(log(z) / s), "sf": lambda z, s: ndtr(-log(z) / s),
        "logcdf": lambda z, s: log_ndtr(log(z) / s), "logsf": lambda z, s: log_ndtr(-log(z) / s),
        "ppf": lambda q, s: exp(s * ndtri(q)), "isf": lambda q, s: exp(-s * ndtri(q)),
    },
    has_low=False, doc="the distribution of e^(s y) for a standard normal y",
))  # fmt: skip


def _log_gap(high: ArrayLike, low: ArrayLike) -> Any:
    """log(e^high - e^low) for low <= high, where low may be -inf and a zero gap gives -inf without a slope."""
    is_alone = equal(low, -INFINITY)
    gap = where(is_alone, -1.0, low) - high
    is_none = less_equal(0.0, gap)
    rest = _log_of_complement(-where(is_none, -1.0, gap))
    return where(is_alone, high, where(is_none, -INFINITY, high + rest))


def _log_normal_mass(a: Tensor, b: Tensor) -> Any:
    """The logarithm of the normal mass from a to b, taken in the tail where both lie."""
    is_right = less(0.0, a)
    is_left = less_equal(b, 0.0)
    is_central = logical_and(logical_not(is_right), logical_not(is_left))
    # a tail holds its own ends; elsewhere stand-ins that are in order
    low = where(is_right, -b, where(is_left, a, -2.0))
    high = where(is_right, -a, where(is_left, b, -1.0))
    is_open = isinf(low)
    below = where(is_open, -INFINITY, log_ndtr(where(is_open, -1.0, low)))
    tail = _log_gap(log_ndtr(high), below)
    outside = _tail_mass(where(is_central, a, -1.0)) + _tail_mass(where(is_central, -b, -1.0))
    return where(is_central, log1p(-outside), tail)


def _tail_mass(x: ArrayLike) -> Any:
    is_open = isinf(x)
    return where(is_open, 0.0, ndtr(where(is_open, -1.0, x)))


def _truncated_quantile(q: Tensor, a: Tensor, b: Tensor) -> Any:
    """By the logarithm of the whole normal mass on whichever side has less of it."""
    below = logaddexp(_log_tail(a) + log1p(-q), _log_tail(b) + log(q))
    above = logaddexp(_log_tail(-a) + log1p(-q), _log_tail(-b) + log(q))
    is_low = less(below, above)
    found = where(is_low, Q.ndtri_exp(where(is_low, below, -1.0)), -Q.ndtri_exp(where(is_low, -1.0, above)))
    # a rounding error must not lead out of the support; the slope stays
    inside = where(less(found, a), a, where(less(b, found), b, found))
    return found + stop_gradient(inside - found)


def _log_tail(x: ArrayLike) -> Any:
    """log_ndtr, with a slope of 0 at infinite ends."""
    is_open = isinf(x)
    return where(is_open, where(less(0.0, x), 0.0, -INFINITY), log_ndtr(where(is_open, 0.0, x)))


truncnorm = Distribution(Family(
    "truncnorm", {"a": -1.0, "b": 1.0}, less, lambda a, b: (a, b), lambda a, b: _between(a, b),
    {
        "logpdf": lambda z, a, b: z * z * -0.5 - _LOG_ROOT_2PI - _log_normal_mass(a, b),
        "cdf": lambda z, a, b: exp(_log_normal_mass(a, z) - _log_normal_mass(a, b)),
        "sf": lambda z, a, b: exp(_log_normal_mass(z, b) - _log_normal_mass(a, b)),
        "logcdf": lambda z, a, b: _log_normal_mass(a, z) - _log_normal_mass(a, b),
        "logsf": lambda z, a, b: _log_normal_mass(z, b) - _log_normal_mass(a, b),
        "ppf": _truncated_quantile, "isf": lambda q, a, b: -_truncated_quantile(q, -b, -a),
    },
    doc="the normal distribution between a and b",
))  # fmt: skip


def _between(a: ArrayLike, b: ArrayLike) -> Any:
    """A point between two ends of which either may be infinite."""
    low = where(isinf(a), where(isinf(b), 0.0, b) - 1.0, a)
    high = where(isinf(b), low + 1.0, b)
    return (low + high) * 0.5


# -- simple shapes ----------------------------------------------------------------------------------------------------

uniform = Distribution(Family(
    "uniform", {}, _always, _constant((0.0, 1.0)), _constant(0.5),
    {
        "logpdf": lambda z: z * 0.0, "pdf": lambda z: z * 0.0 + 1.0, "cdf": lambda z: z, "sf": lambda z: 1.0 - z,
        "ppf": lambda q: q, "isf": lambda q: 1.0 - q,
    },
    doc="the uniform distribution from loc to loc + scale",
))  # fmt: skip

expon = Distribution(Family(
    "expon", {}, _always, _half_line, _constant(1.0),
    {
        "logpdf": lambda z: -z, "cdf": lambda z: -expm1(-z), "sf": lambda z: exp(-z), "logcdf": _log_of_complement,
        "logsf": lambda z: -z, "ppf": lambda q: -log1p(-q), "isf": lambda q: -log(q),
    },
    doc="the exponential distribution",
))  # fmt: skip


def _away(z: Any) -> Any:
    """-|z|, with the slope from below at 0, for functions that go on smoothly there."""
    return where(less(0.0, z), -z, z)


def _laplace_mass(z: ArrayLike) -> Any:
    tail = exp(_away(z)) * 0.5
    return where(less(0.0, z), 1.0 - tail, tail)


def _laplace_log_mass(z: ArrayLike) -> Any:
    tail = _away(z)
    return where(less(0.0, z), log1p(exp(tail) * -0.5), tail - _LOG_2)


def _laplace_quantile(q: Tensor) -> Any:
    is_low = less(q, 0.5)
    share = where(is_low, q, 1.0 - q) * 2.0
    return where(is_low, log(share), -log(share))


laplace = Distribution(Family(
    "laplace", {}, _always, _line, _constant(1.0),
    {
        "logpdf": lambda z: -magnitude(z) - _LOG_2, "pdf": lambda z: exp(-magnitude(z)) * 0.5,
        "cdf": _laplace_mass, "sf": lambda z: _laplace_mass(-z), "logcdf": _laplace_log_mass,
        "logsf": lambda z: _laplace_log_mass(-z), "ppf": _laplace_quantile, "isf": lambda q: -_laplace_quantile(q),
    },
    doc="Laplace's distribution, two exponential ones back to back",
))  # fmt: skip

logistic = Distribution(Family(
    "logistic", {}, _always, _line, _constant(0.0),
    {
        "logpdf": lambda z: log_sigmoid(z) + log_sigmoid(-z), "pdf": lambda z: sigmoid(z) * sigmoid(-z),
        "cdf": sigmoid, "sf": lambda z: sigmoid(-z), "logcdf": log_sigmoid, "logsf": lambda z: log_sigmoid(-z),
        "ppf": lambda q: log(q) - log1p(-q), "isf": lambda q: log1p(-q) - log(q),
    },
    doc="the logistic distribution",
))  # fmt: skip

cauchy = Distribution(Family(
    "cauchy", {}, _always, _line, _constant(0.0),
    {
        "logpdf": lambda z: -log1p(z * z) - _LOG_PI, "pdf": lambda z: 1.0 / (math.pi * (1.0 + z * z)),
        # by the angle on the far side, so that tails are exact
        "cdf": lambda z: arctan2(1.0, -z) / math.pi, "sf": lambda z: arctan2(1.0, z) / math.pi,
        "ppf": lambda q: -1.0 / tan(q * math.pi), "isf": lambda q: 1.0 / tan(q * math.pi),
    },
    doc="Cauchy's distribution",
))  # fmt: skip

pareto = Distribution(Family(
    "pareto", {"b": 1.0}, _positive, _constant((1.0, INFINITY)), _constant(2.0),
    {
        "logpdf": lambda z, b: log(b) - (b + 1.0) * log(z), "pdf": lambda z, b: b * power(z, -(b + 1.0)),
        "cdf": lambda z, b: -expm1(-b * log(z)), "sf": lambda z, b: power(z, -b), "logsf": lambda z, b: -b * log(z),
        "logcdf": lambda z, b: _log_of_complement(b * log(z)),
        "ppf": lambda q, b: exp(-log1p(-q) / b), "isf": lambda q, b: power(q, -1.0 / b),
    },
    doc="Pareto's distribution",
))  # fmt: skip


def _weibull_logpdf(z: Tensor, c: Tensor) -> Any:
    return log(c) + xlogy(c - 1.0, z) - power(z, c)


weibull_min = Distribution(Family(
    "weibull_min", {"c": 1.0}, _positive, _half_line, _constant(1.0),
    {
        "logpdf": _weibull_logpdf,
        "pdf": _with_end(_weibull_logpdf, lambda z, c: (c, log(c) - power(z, c))),
        "cdf": lambda z, c: -expm1(-power(z, c)), "sf": lambda z, c: exp(-power(z, c)),
        "logsf": lambda z, c: -power(z, c), "logcdf": lambda z, c: _log_of_complement(power(z, c)),
        "ppf": lambda q, c: power(-log1p(-q), 1.0 / c), "isf": lambda q, c: power(-log(q), 1.0 / c),
    },
    doc="Weibull's distribution of minima",
))  # fmt: skip

# -- gamma, beta and their kin ---------------------------------------------------------------------------------------


def _gamma_logpdf(z: Tensor, a: Tensor) -> Any:
    return xlogy(a - 1.0, z) - z - gammaln(a)


gamma = Distribution(Family(
    "gamma", {"a": 1.0}, _positive, _half_line, _constant(1.0),
    {
        "logpdf": _gamma_logpdf, "pdf": _with_end(_gamma_logpdf, lambda z, a: (a, -z - gammaln(a))),
        "cdf": lambda z, a: gammainc(a, z), "sf": lambda z, a: gammaincc(a, z),
        "ppf": lambda q, a: gammaincinv(a, q),
    },
    doc="the gamma distribution",
))  # fmt: skip


def _chi2_logpdf(z: Tensor, df: Tensor) -> Any:
    half = df * 0.5
    return xlogy(half - 1.0, z) - z * 0.5 - gammaln(half) - _LOG_2 * half


chi2 = Distribution(Family(
    "chi2", {"df": 2.0}, _positive, _half_line, _constant(1.0),
    {
        "logpdf": _chi2_logpdf,
        "pdf": _with_end(
            _chi2_logpdf, lambda z, df: (df * 0.5, z * -0.5 - gammaln(df * 0.5) - _LOG_2 * (df * 0.5))
        ),
        "cdf": lambda z, df: gammainc(df * 0.5, z * 0.5), "sf": lambda z, df: gammaincc(df * 0.5, z * 0.5),
        "ppf": lambda q, df: gammaincinv(df * 0.5, q) * 2.0,
    },
    doc="the chi-squared distribution",
))  # fmt: skip


def _beta_logpdf(z: Tensor, a: Tensor, b: Tensor) -> Any:
    return _beta_line(z, a, b, betaln(a, b))


def _beta_line(z: Tensor, a: Tensor, b: Tensor, log_beta: Tensor) -> Any:
    """The logarithm of the density, from that of the beta function."""
    is_large = (a > _LARGE) & (b > _LARGE) & (z > 0.0) & (z < 1.0)
    large = _beta_of_large(where(is_large, z, 0.5), where(is_large, a, _LARGE), where(is_large, b, _LARGE))
    return where(is_large, large, xlog1py(b - 1.0, -z) + xlogy(a - 1.0, z) - log_beta)


_LARGE = 100.0  # from here on what the three terms of Stirling's series leave out is below one rounding error


def _beta_of_large(z: Tensor, a: Tensor, b: Tensor) -> Any:
    """By Stirling's formula, in which the large terms are gone: only the distance from the mean is left of them."""
    n = a + b
    distance = (z * b - (1.0 - z) * a) / n  # z - a / n
    u, v = distance * (n / a), -distance * (n / b)
    deviance = a * (log1p(u) - u) + b * (log1p(v) - v)
    rest = _stirling(a) + _stirling(b) - _stirling(n)
    return deviance - log(z) - log1p(-z) + 0.5 * (log(a / n) + log(b)) - _LOG_ROOT_2PI - rest


def _stirling(x: Tensor) -> Any:
    """What Stirling's formula for the logarithm of gamma leaves out."""
    y = 1.0 / x
    square = y * y
    return y * (1 / 12 - square * (1 / 360 - square * (1 / 1260)))


def _beta_pdf(z: Tensor, a: Tensor, b: Tensor) -> Any:
    """By the power at the nearer end."""
    is_low = less(z, 0.5)
    near, own, other = where(is_low, z, 1.0 - z), where(is_low, a, b), where(is_low, b, a)
    return _beta_beside(near, own, other, betaln(a, b))


_beta_beside = _with_end(_beta_line, lambda z, a, b, log_beta: (a, xlog1py(b - 1.0, -z) - log_beta))

beta = Distribution(Family(
    "beta", {"a": 1.0, "b": 1.0}, _positive, _constant((0.0, 1.0)), _constant(0.5),
    {
        "logpdf": _beta_logpdf, "pdf": _beta_pdf,
        "cdf": lambda z, a, b: betainc(a, b, z), "sf": lambda z, a, b: betaincc(a, b, z),
        "ppf": lambda q, a, b: betaincinv(a, b, q),
    },
    doc="the beta distribution",
))  # fmt: skip


def _t_logpdf(z: Tensor, df: Tensor) -> Any:
    return -betaln(df * 0.5, 0.5) - log(df) * 0.5 - (df + 1.0) * 0.5 * log1p(z * z / df)


_T_HUGE = 1e70
_T_CENTRE = 1e-6  # below it the next term of the series is less than a rounding error


def _t_mass(z: Tensor, df: Tensor) -> Any:
    """Student's distribution function: in the middle by its series, then by the incomplete beta function of whichever
    of z^2 and df is the smaller share of their sum, and far out, where squares overflow, by the first term alone."""
    size = where(less(0.0, z), z, -z)
    is_huge = logical_and(less(_T_HUGE, size), less(sqrt(df) * _T_HUGE, size))
    square = where(is_huge, 1.0, size) * where(is_huge, 1.0, size)
    is_middle = logical_and(less(square, _T_CENTRE), less(square, df * _T_CENTRE))
    is_far = logical_and(less(df, square), logical_not(is_huge))
    is_near = logical_not(logical_or(is_middle, logical_or(is_far, is_huge)))
    # each formula sees its own points, and stand-ins where another one holds
    between, beyond = where(is_near, square, df), where(is_far, square, df)
    near = betaincc(0.5, df * 0.5, between / (df + between))
    far = betainc(df * 0.5, 0.5, df / (df + beyond))
    power_law = exp(df * (log(df) * 0.5 - log(where(is_huge, size, 1.0))) - betaln(df * 0.5, 0.5)) / (df * 0.5)
    tail = where(is_huge, power_law, where(is_far, far, near)) * 0.5
    middle = 0.5 + _t_series(where(is_middle, z, 0.0), df)
    return where(is_middle, middle, where(less(0.0, z), 1.0 - tail, tail))


def _t_series(z: Tensor, df: Tensor) -> Any:
    """The integral of the density from 0 to a small z."""
    first = -(df + 1.0) / (df * 2.0)
    second = -first * (df + 3.0) / (df * 4.0)
    square = z * z
    height = exp(-betaln(df * 0.5, 0.5)) / sqrt(df)
    return height * z * (1.0 + square * (first / 3.0 + square * second / 5.0))


_T_REMOTE = -80.0  # the logarithm of a share that is nothing beside 1
_T_STEP = 3e-3  # up to so far from the middle, in units of 1 / density, four terms are exact


def _t_quantile(q: Tensor, df: Tensor) -> Any:
    """By the inverse incomplete beta function of whichever share is small, and in the middle by the series there."""
    is_low = less(q, 0.5)
    half = df * 0.5
    tail = where(is_low, q, 1.0 - q) * 2.0
    distance = (q - 0.5) * exp(betaln(half, 0.5)) * sqrt(df)
    is_middle = logical_and(less(distance * distance, _T_STEP**2), less(distance * distance, df * _T_STEP**2))
    is_far = logical_and(less(tail, 0.5), logical_not(is_middle))
    is_near = logical_not(logical_or(is_far, is_middle))
    share = betaincinv(half, 0.5, where(is_far, tail, 0.5))
    # so far out that only the first term is left: the share itself may be less than any float
    log_share = (log(tail * half) + betaln(half, 0.5)) / half
    is_huge = logical_and(is_far, less(log_share, _T_REMOTE))
    share = where(is_huge, 0.5, share)
    far = where(is_huge, exp(log_share * -0.5), sqrt((1.0 - share) / share)) * sqrt(df)
    share = betaincinv(0.5, half, where(is_near, 1.0 - tail, 0.5))
    near = sqrt(df) * sqrt(share / (1.0 - share))
    size = where(is_far, far, near)
    return where(is_middle, _t_middle(where(is_middle, distance, 0.0), df), where(is_low, -size, size))


def _t_middle(u: Tensor, df: Tensor) -> Any:
    """The series of the quantile at a half, in (q - 1/2) / density."""
    square = u * u
    first = (df + 1.0) / (df * 6.0)
    second = (df + 1.0) * (df * 7.0 + 1.0) / (df * df * 120.0)
    third = (df + 1.0) * (df * df * 127.0 + df * 8.0 + 1.0) / (df * df * df * 5040.0)
    return u * (1.0 + square * (first + square * (second + square * third)))


t = Distribution(Family(
    "t", {"df": 1.0}, _positive, _line, _constant(0.0),
    {
        "logpdf": _t_logpdf, "cdf": _t_mass, "sf": lambda z, df: _t_mass(-z, df),
        "ppf": _t_quantile, "isf": lambda q, df: -_t_quantile(q, df),
    },
    doc="Student's t distribution",
))  # fmt: skip

# -- on the circle ---------------------------------------------------------------------------------------------------


@functools.cache
def _gauss() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Nodes and weights of Gauss's rule on (0, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(48)
    return (nodes + 1) / 2, weights / 2


_BEYOND = 20.0  # e^-40 of the peak is less than a rounding error of the whole


def _vonmises_logpdf(z: Tensor, kappa: ArrayLike) -> Any:
    half = sin(z * 0.5)
    return kappa * half * half * -2.0 - math.log(2 * math.pi) - log(i0e(kappa))


def _vonmises_area(low: Tensor, high: Tensor, kappa: Tensor) -> Any:
    """The integral of the density from one angle to another, by Gauss's rule."""
    nodes, weights = (np.asarray(v).astype(kappa.dtype) for v in _gauss())
    places = expand_dims(low, -1) + expand_dims(high - low, -1) * nodes
    density = exp(_vonmises_logpdf(places, expand_dims(kappa, -1)))
    return total(density * weights, axis=-1) * (high - low)


def _vonmises_mass(z: Tensor, kappa: Any, is_below: bool = True) -> Any:
    """Whole turns, and the mass on one side: that of the tail, or near the middle a half and the rest."""
    turns = floor(z / (2 * math.pi) + 0.5)
    angle = z - turns * (2 * math.pi)
    sine = sin(angle * 0.5)
    size = where(less(angle, 0.0), -angle, angle)
    # how far the density has not vanished, from the angle on
    share = sine * sine + _BEYOND / kappa
    is_whole = less_equal(1.0, share)
    end = where(is_whole, math.pi, arcsin(sqrt(where(is_whole, 0.25, share))) * 2.0)
    tail = _vonmises_area(size, end, kappa)
    centre = 0.5 - _vonmises_area(size * 0.0, size, kappa)
    is_central = less(size * size * kappa, 1.0)
    beyond = where(logical_and(is_central, less(size, 1.0)), centre, tail)
    is_small_side = less(angle, 0.0) if is_below else less(0.0, angle)
    here = where(is_small_side, beyond, 1.0 - beyond)
    return turns + here if is_below else here - turns


def _vonmises_quantile(q: Tensor, kappa: Tensor) -> Any:
    """The angle that the engine finds, then two steps of Newton's method: they give it the derivatives of what it
    solves, one step the first and two the first three."""
    is_low = less_equal(q, 0.5)
    share = where(is_low, q, 1.0 - q)
    place = Q.vonmises_place(stop_gradient(share), stop_gradient(kappa))
    for _ in range(2):
        mass = _vonmises_mass(place, kappa)
        density = exp(_vonmises_logpdf(place, kappa))
        place = place - (mass - share) / density
    return where(is_low, place, -place)


vonmises = Distribution(Family(
    "vonmises", {"kappa": 1.0}, _positive, _line, _constant(0.0),
    {
        "logpdf": _vonmises_logpdf, "cdf": _vonmises_mass, "sf": lambda z, kappa: _vonmises_mass(z, kappa, False),
        "ppf": _vonmises_quantile, "isf": lambda q, kappa: -_vonmises_quantile(q, kappa),
    },
    doc="von Mises's distribution of angles",
))  # fmt: skip

__all__ = [
    "beta", "cauchy", "chi2", "expon", "gamma", "laplace", "logistic", "lognorm", "norm", "pareto", "t", "truncnorm",
    "uniform", "vonmises", "weibull_min",
]  # fmt: skip
