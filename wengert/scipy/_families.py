"""Further distributions of `scipy.stats`, beside those of `wengert.stats`, by the formulas of their standard forms."""

from __future__ import annotations

import math
from typing import Any

from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from ..ops.activations import log_sigmoid
from ..ops.elementwise import abs as magnitude
from ..ops.elementwise import (
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    ceil,
    cos,
    equal,
    exp,
    expm1,
    floor,
    less,
    less_equal,
    log,
    log1p,
    logical_and,
    power,
    sigmoid,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
)
from ..ops.indexing import where
from ..special import (
    betainc,
    betaincc,
    betaincinv,
    betaln,
    erf,
    erfc,
    erfcinv,
    erfinv,
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
    zeta,
)
from ..stats._distribution import INFINITY, Distribution, Family
from ._special import gammainccinv
from ._ufuncs import log_ratio, raw

FAMILIES: dict[str, Distribution] = {}

LOG_2, LOG_PI = math.log(2), math.log(math.pi)
LOG_ROOT_2PI = math.log(2 * math.pi) / 2
ROOT_2 = math.sqrt(2)


def all_positive(*shapes: Tensor) -> Any:
    valid: Any = True
    for s in shapes:
        valid = less(0.0, s) if valid is True else logical_and(valid, less(0.0, s))
    return valid


def family(name: str, shapes: dict[str, float], formulas: dict[str, Any], **how: Any) -> None:
    """Enters a distribution; the support is a pair, or a function of the shapes, and the middle likewise."""
    support, middle = how.pop("support", (-INFINITY, INFINITY)), how.pop("middle", 0.5)
    FAMILIES[name] = Distribution(Family(
        name, shapes, how.pop("is_valid", all_positive), support if callable(support) else lambda *s: support,
        middle if callable(middle) else lambda *s: middle, formulas, doc=f"SciPy's distribution {name}", **how,
    ))  # fmt: skip


HALF, UNIT = (0.0, INFINITY), (0.0, 1.0)


def any_shape(*shapes: Tensor) -> Any:
    return equal(shapes[0], shapes[0])


# -- extremes --------------------------------------------------------------------------------------------------------

family("gumbel_r", {}, {
    "logpdf": lambda z: -z - exp(-z), "cdf": lambda z: exp(-exp(-z)), "logcdf": lambda z: -exp(-z),
    "sf": lambda z: -expm1(-exp(-z)), "ppf": lambda q: -log(-log(q)), "isf": lambda q: -log(-log1p(-q)),
})  # fmt: skip
family("gumbel_l", {}, {
    "logpdf": lambda z: z - exp(z), "cdf": lambda z: -expm1(-exp(z)), "sf": lambda z: exp(-exp(z)),
    "logsf": lambda z: -exp(z), "ppf": lambda q: log(-log1p(-q)), "isf": lambda q: log(-log(q)),
})  # fmt: skip
family("weibull_max", {"c": 1.0}, {
    "logpdf": lambda z, c: log(c) + xlogy(c - 1.0, -z) - power(-z, c), "cdf": lambda z, c: exp(-power(-z, c)),
    "logcdf": lambda z, c: -power(-z, c), "sf": lambda z, c: -expm1(-power(-z, c)),
    "ppf": lambda q, c: -power(-log(q), 1.0 / c), "isf": lambda q, c: -power(-log1p(-q), 1.0 / c),
}, support=(-INFINITY, 0.0), middle=-1.0)  # fmt: skip
family("invweibull", {"c": 1.0}, {
    "logpdf": lambda z, c: log(c) - (c + 1.0) * log(z) - power(z, -c), "cdf": lambda z, c: exp(-power(z, -c)),
    "logcdf": lambda z, c: -power(z, -c), "sf": lambda z, c: -expm1(-power(z, -c)),
    "ppf": lambda q, c: power(-log(q), -1.0 / c), "isf": lambda q, c: power(-log1p(-q), -1.0 / c),
}, support=HALF, middle=1.0, has_low=False)  # fmt: skip


def _extreme(z: Tensor, c: Tensor) -> Any:
    """log(1 - c z) / c."""
    return -z * log_ratio(-c * z)


def _extreme_place(x: Tensor, c: Tensor) -> Any:
    return x * raw("exprel", -c * x)


def _extreme_support(c: ArrayLike) -> Any:
    end = 1.0 / where(equal(c, 0.0), 1.0, c)
    return where(less(c, 0.0), end, -INFINITY), where(less(0.0, c), end, INFINITY)


family("genextreme", {"c": 0.0}, {
    "logpdf": lambda z, c: _extreme(z, c) - exp(_extreme(z, c)) - log1p(-c * z),
    "cdf": lambda z, c: exp(-exp(_extreme(z, c))), "logcdf": lambda z, c: -exp(_extreme(z, c)),
    "sf": lambda z, c: -expm1(-exp(_extreme(z, c))), "ppf": lambda q, c: _extreme_place(-log(-log(q)), c),
    "isf": lambda q, c: _extreme_place(-log(-log1p(-q)), c),
}, support=_extreme_support, middle=0.0, is_valid=any_shape, has_low=False)  # fmt: skip
family("genpareto", {"c": 0.0}, {
    "logpdf": lambda z, c: -(c + 1.0) * z * log_ratio(c * z), "sf": lambda z, c: exp(-z * log_ratio(c * z)),
    "logsf": lambda z, c: -z * log_ratio(c * z), "cdf": lambda z, c: -expm1(-z * log_ratio(c * z)),
    "ppf": lambda q, c: _extreme_place(-log1p(-q), -c), "isf": lambda q, c: _extreme_place(-log(q), -c),
}, support=lambda c: (0.0, where(less(c, 0.0), -1.0 / where(less(c, 0.0), c, -1.0), INFINITY)),
   middle=0.0, is_valid=any_shape)  # fmt: skip
family("gompertz", {"c": 1.0}, {
    "logpdf": lambda z, c: log(c) + z - c * expm1(z), "cdf": lambda z, c: -expm1(-c * expm1(z)),
    "sf": lambda z, c: exp(-c * expm1(z)), "logsf": lambda z, c: -c * expm1(z),
    "ppf": lambda q, c: log1p(-log1p(-q) / c), "isf": lambda q, c: log1p(-log(q) / c),
}, support=HALF)  # fmt: skip

# -- kin of the normal distribution ----------------------------------------------------------------------------------

family("halfnorm", {}, {
    "logpdf": lambda z: z * z * -0.5 + LOG_2 - LOG_ROOT_2PI, "cdf": lambda z: erf(z / ROOT_2),
    "sf": lambda z: erfc(z / ROOT_2), "ppf": lambda q: erfinv(q) * ROOT_2, "isf": lambda q: erfcinv(q) * ROOT_2,
}, support=HALF)  # fmt: skip
family("rayleigh", {}, {
    "logpdf": lambda z: log(z) - z * z * 0.5, "cdf": lambda z: -expm1(z * z * -0.5), "sf": lambda z: exp(z * z * -0.5),
    "logsf": lambda z: z * z * -0.5, "ppf": lambda q: sqrt(log1p(-q) * -2.0), "isf": lambda q: sqrt(log(q) * -2.0),
}, support=HALF)  # fmt: skip
family("maxwell", {}, {
    "logpdf": lambda z: 2.0 * log(z) - z * z * 0.5 + LOG_2 - LOG_ROOT_2PI,
    "cdf": lambda z: gammainc(1.5, z * z * 0.5), "sf": lambda z: gammaincc(1.5, z * z * 0.5),
    "ppf": lambda q: sqrt(2.0 * gammaincinv(1.5, q)), "isf": lambda q: sqrt(2.0 * gammainccinv(1.5, q)),
}, support=HALF)  # fmt: skip
family("chi", {"df": 1.0}, {
    "logpdf": lambda z, df: xlogy(df - 1.0, z) - z * z * 0.5 - (df * 0.5 - 1.0) * LOG_2 - gammaln(df * 0.5),
    "cdf": lambda z, df: gammainc(df * 0.5, z * z * 0.5), "sf": lambda z, df: gammaincc(df * 0.5, z * z * 0.5),
    "ppf": lambda q, df: sqrt(2.0 * gammaincinv(df * 0.5, q)),
    "isf": lambda q, df: sqrt(2.0 * gammainccinv(df * 0.5, q)),
}, support=HALF)  # fmt: skip


def _johnson_su(z: ArrayLike, a: ArrayLike, b: ArrayLike) -> Any:
    return a + b * arcsinh(z)


def _johnson_sb(z: Tensor, a: Tensor, b: Tensor) -> Any:
    return a + b * (log(z) - log1p(-z))


family("johnsonsu", {"a": 0.0, "b": 1.0}, {
    "logpdf": lambda z, a, b: log(b) - log1p(z * z) * 0.5 - _johnson_su(z, a, b) ** 2 * 0.5 - LOG_ROOT_2PI,
    "cdf": lambda z, a, b: ndtr(_johnson_su(z, a, b)), "sf": lambda z, a, b: ndtr(-_johnson_su(z, a, b)),
    "logcdf": lambda z, a, b: log_ndtr(_johnson_su(z, a, b)), "logsf": lambda z, a, b: log_ndtr(-_johnson_su(z, a, b)),
    "ppf": lambda q, a, b: sinh((ndtri(q) - a) / b), "isf": lambda q, a, b: sinh((-ndtri(q) - a) / b),
}, is_valid=lambda a, b: logical_and(equal(a, a), less(0.0, b)))  # fmt: skip
family("johnsonsb", {"a": 0.0, "b": 1.0}, {
    "logpdf": lambda z, a, b: (
        log(b) - log(z) - log1p(-z) - _johnson_sb(z, a, b) ** 2 * 0.5 - LOG_ROOT_2PI
    ),
    "cdf": lambda z, a, b: ndtr(_johnson_sb(z, a, b)), "sf": lambda z, a, b: ndtr(-_johnson_sb(z, a, b)),
    "ppf": lambda q, a, b: sigmoid((ndtri(q) - a) / b), "isf": lambda q, a, b: sigmoid((-ndtri(q) - a) / b),
}, is_valid=lambda a, b: logical_and(equal(a, a), less(0.0, b)), support=UNIT, has_low=False)  # fmt: skip
family("skewnorm", {"a": 0.0}, {
    "logpdf": lambda z, a: LOG_2 - z * z * 0.5 - LOG_ROOT_2PI + log_ndtr(a * z),
    "cdf": lambda z, a: ndtr(z) - 2.0 * raw("owens_t", z, a, count=2),
    "sf": lambda z, a: ndtr(-z) + 2.0 * raw("owens_t", z, a, count=2),
}, is_valid=any_shape)  # fmt: skip


def _gennorm_tail(z: Tensor, beta: Tensor) -> Any:
    return gammaincc(1.0 / beta, power(magnitude(z), beta)) * 0.5


def _gennorm_place(q: Tensor, beta: Tensor) -> Any:
    is_low, is_middle = less(q, 0.5), equal(q, 0.5)
    share = where(is_middle, 0.25, where(is_low, q, 1.0 - q))  # in the middle the power has no slope, but q has
    size = power(gammainccinv(1.0 / beta, 2.0 * share), 1.0 / beta)
    around = (q - 0.5) * exp(gammaln(1.0 / beta)) * 2.0 / beta
    return where(is_middle, around, where(is_low, -size, size))


family("gennorm", {"beta": 1.0}, {
    "logpdf": lambda z, beta: log(beta * 0.5) - gammaln(1.0 / beta) - power(magnitude(z), beta),
    "cdf": lambda z, beta: where(less(z, 0.0), _gennorm_tail(z, beta), 1.0 - _gennorm_tail(z, beta)),
    "sf": lambda z, beta: where(less(z, 0.0), 1.0 - _gennorm_tail(z, beta), _gennorm_tail(z, beta)),
    "ppf": _gennorm_place, "isf": lambda q, beta: -_gennorm_place(q, beta),
}, middle=1.0)  # fmt: skip
family("levy", {}, {
    "logpdf": lambda z: -1.5 * log(z) - 0.5 / z - LOG_ROOT_2PI, "cdf": lambda z: erfc(1.0 / sqrt(2.0 * z)),
    "sf": lambda z: erf(1.0 / sqrt(2.0 * z)), "ppf": lambda q: 0.5 / erfcinv(q) ** 2,
    "isf": lambda q: 0.5 / erfinv(q) ** 2,
}, support=HALF, has_low=False)  # fmt: skip
family("moyal", {}, {
    "logpdf": lambda z: (z + exp(-z)) * -0.5 - LOG_ROOT_2PI, "cdf": lambda z: erfc(exp(z * -0.5) / ROOT_2),
    "sf": lambda z: erf(exp(z * -0.5) / ROOT_2), "ppf": lambda q: -log(2.0 * erfcinv(q) ** 2),
    "isf": lambda q: -log(2.0 * erfinv(q) ** 2),
})  # fmt: skip
family("invgauss", {"mu": 1.0}, {
    "logpdf": lambda z, mu: -1.5 * log(z) - ((z - mu) / mu) ** 2 / (2.0 * z) - LOG_ROOT_2PI,
    "cdf": lambda z, mu: ndtr((z / mu - 1.0) / sqrt(z)) + exp(2.0 / mu + log_ndtr(-(z / mu + 1.0) / sqrt(z))),
    "sf": lambda z, mu: ndtr((1.0 - z / mu) / sqrt(z)) - exp(2.0 / mu + log_ndtr(-(z / mu + 1.0) / sqrt(z))),
}, support=HALF, has_low=False)  # fmt: skip
family("rice", {"b": 1.0}, {
    "logpdf": lambda z, b: log(z) - (z - b) ** 2 * 0.5 + log(i0e(z * b)),
    "cdf": lambda z, b: raw("chndtr_by_df", 2.0, z * z, b * b, count=2),
}, support=HALF, is_valid=lambda b: less_equal(0.0, b))  # fmt: skip

# -- kin of the gamma and beta distributions -------------------------------------------------------------------------

family("invgamma", {"a": 1.0}, {
    "logpdf": lambda z, a: -(a + 1.0) * log(z) - gammaln(a) - 1.0 / z, "cdf": lambda z, a: gammaincc(a, 1.0 / z),
    "sf": lambda z, a: gammainc(a, 1.0 / z), "ppf": lambda q, a: 1.0 / gammainccinv(a, q),
    "isf": lambda q, a: 1.0 / gammaincinv(a, q),
}, support=HALF, middle=1.0, has_low=False)  # fmt: skip
family("f", {"dfn": 2.0, "dfd": 2.0}, {
    "logpdf": lambda z, n, m: (
        m * 0.5 * log(m) + n * 0.5 * log(n) + xlogy(n * 0.5 - 1.0, z) - (n + m) * 0.5 * log(m + n * z)
        - betaln(n * 0.5, m * 0.5)
    ),
    "cdf": lambda z, n, m: betainc(n * 0.5, m * 0.5, n * z / (m + n * z)),
    "sf": lambda z, n, m: betaincc(n * 0.5, m * 0.5, n * z / (m + n * z)),
    "ppf": lambda q, n, m: odds(betaincinv(n * 0.5, m * 0.5, q)) * m / n,
}, support=HALF, middle=1.0)  # fmt: skip


def odds(p: Tensor) -> Any:
    return p / (1.0 - p)


family("betaprime", {"a": 1.0, "b": 1.0}, {
    "logpdf": lambda z, a, b: xlogy(a - 1.0, z) - (a + b) * log1p(z) - betaln(a, b),
    "cdf": lambda z, a, b: betainc(a, b, z / (1.0 + z)), "sf": lambda z, a, b: betaincc(a, b, z / (1.0 + z)),
    "ppf": lambda q, a, b: odds(betaincinv(a, b, q)),
}, support=HALF, middle=1.0)  # fmt: skip
family("arcsine", {}, {
    "logpdf": lambda z: -(log(z) + log1p(-z)) * 0.5 - LOG_PI, "cdf": lambda z: arcsin(sqrt(z)) * (2 / math.pi),
    "ppf": lambda q: sin(q * (math.pi / 2)) ** 2,
}, support=UNIT)  # fmt: skip

# -- powers ----------------------------------------------------------------------------------------------------------

family("powerlaw", {"a": 1.0}, {
    "logpdf": lambda z, a: log(a) + xlogy(a - 1.0, z), "cdf": lambda z, a: power(z, a),
    "logcdf": lambda z, a: a * log(z), "sf": lambda z, a: -expm1(a * log(z)), "ppf": lambda q, a: power(q, 1.0 / a),
    "isf": lambda q, a: exp(log1p(-q) / a),
}, support=UNIT)  # fmt: skip
family("lomax", {"c": 1.0}, {
    "logpdf": lambda z, c: log(c) - (c + 1.0) * log1p(z), "cdf": lambda z, c: -expm1(-c * log1p(z)),
    "sf": lambda z, c: exp(-c * log1p(z)), "logsf": lambda z, c: -c * log1p(z),
    "ppf": lambda q, c: expm1(-log1p(-q) / c), "isf": lambda q, c: expm1(-log(q) / c),
}, support=HALF)  # fmt: skip
family("fisk", {"c": 1.0}, {
    "logpdf": lambda z, c: log(c) + xlogy(c - 1.0, z) - 2.0 * log1p(power(z, c)),
    "cdf": lambda z, c: sigmoid(c * log(z)), "sf": lambda z, c: sigmoid(-c * log(z)),
    "logcdf": lambda z, c: log_sigmoid(c * log(z)), "logsf": lambda z, c: log_sigmoid(-c * log(z)),
    "ppf": lambda q, c: exp((log(q) - log1p(-q)) / c), "isf": lambda q, c: exp((log1p(-q) - log(q)) / c),
}, support=HALF)  # fmt: skip
family("burr", {"c": 1.0, "d": 1.0}, {
    "logpdf": lambda z, c, d: log(c) + log(d) - (c + 1.0) * log(z) - (d + 1.0) * log1p(power(z, -c)),
    "cdf": lambda z, c, d: exp(-d * log1p(power(z, -c))), "sf": lambda z, c, d: -expm1(-d * log1p(power(z, -c))),
    "ppf": lambda q, c, d: power(expm1(-log(q) / d), -1.0 / c),
}, support=HALF, has_low=False)  # fmt: skip
family("burr12", {"c": 1.0, "d": 1.0}, {
    "logpdf": lambda z, c, d: log(c) + log(d) + xlogy(c - 1.0, z) - (d + 1.0) * log1p(power(z, c)),
    "cdf": lambda z, c, d: -expm1(-d * log1p(power(z, c))), "sf": lambda z, c, d: exp(-d * log1p(power(z, c))),
    "ppf": lambda q, c, d: power(expm1(-log1p(-q) / d), 1.0 / c),
}, support=HALF)  # fmt: skip
family("exponweib", {"a": 1.0, "c": 1.0}, {
    "logpdf": lambda z, a, c: (
        log(a) + log(c) + xlogy(a - 1.0, -expm1(-power(z, c))) - power(z, c) + xlogy(c - 1.0, z)
    ),
    "cdf": lambda z, a, c: power(-expm1(-power(z, c)), a),
    "ppf": lambda q, a, c: power(-log1p(-power(q, 1.0 / a)), 1.0 / c),
}, support=HALF)  # fmt: skip
family("loguniform", {"a": 1.0, "b": 2.0}, {
    "logpdf": lambda z, a, b: -log(z) - log(log(b) - log(a)),
    "cdf": lambda z, a, b: (log(z) - log(a)) / (log(b) - log(a)),
    "sf": lambda z, a, b: (log(b) - log(z)) / (log(b) - log(a)),
    "ppf": lambda q, a, b: exp(log(a) + q * (log(b) - log(a))),
    "isf": lambda q, a, b: exp(log(b) - q * (log(b) - log(a))),
}, is_valid=lambda a, b: logical_and(less(0.0, a), less(a, b)), support=lambda a, b: (a, b),
   middle=lambda a, b: sqrt(a * b))  # fmt: skip

# -- other shapes ----------------------------------------------------------------------------------------------------

family("halfcauchy", {}, {
    "logpdf": lambda z: LOG_2 - LOG_PI - log1p(z * z), "cdf": lambda z: arctan(z) * (2 / math.pi),
    "sf": lambda z: arctan2(1.0, z) * (2 / math.pi), "ppf": lambda q: tan(q * (math.pi / 2)),
    "isf": lambda q: 1.0 / tan(q * (math.pi / 2)),
}, support=HALF)  # fmt: skip
family("halflogistic", {}, {
    "logpdf": lambda z: LOG_2 - z - 2.0 * log1p(exp(-z)), "cdf": lambda z: tanh(z * 0.5),
    "sf": lambda z: 2.0 * sigmoid(-z), "ppf": lambda q: 2.0 * arctanh(q), "isf": lambda q: log(2.0 - q) - log(q),
}, support=HALF)  # fmt: skip
family("hypsecant", {}, {
    "logpdf": lambda z: LOG_2 - LOG_PI - magnitude(z) - log1p(exp(-2.0 * magnitude(z))),
    "cdf": lambda z: arctan(exp(z)) * (2 / math.pi), "sf": lambda z: arctan(exp(-z)) * (2 / math.pi),
    "ppf": lambda q: log(tan(q * (math.pi / 2))), "isf": lambda q: -log(tan(q * (math.pi / 2))),
})  # fmt: skip


def _share_below(kappa: Any) -> Any:
    """Of Laplace's asymmetric distribution: the mass below 0."""
    return kappa * kappa / (1.0 + kappa * kappa)


def _asymmetric_mass(z: Tensor, kappa: object, is_low: bool) -> Any:
    below = less(z, 0.0)
    low = exp(where(below, z, 0.0) / kappa) * _share_below(kappa)
    high = exp(where(below, 0.0, -z) * kappa) * (1.0 - _share_below(kappa))
    return where(below, low, 1.0 - high) if is_low else where(below, 1.0 - low, high)


def _asymmetric_place(q: Tensor, kappa: object) -> Any:
    share = _share_below(kappa)
    is_low = less(q, share)
    return where(
        is_low, kappa * log(where(is_low, q / share, 1.0)),
        -log(where(is_low, 1.0, (1.0 - q) / (1.0 - share))) / kappa,
    )  # fmt: skip


family("laplace_asymmetric", {"kappa": 1.0}, {
    "logpdf": lambda z, kappa: where(less(z, 0.0), z / kappa, -z * kappa) - log(kappa + 1.0 / kappa),
    "cdf": lambda z, kappa: _asymmetric_mass(z, kappa, True), "sf": lambda z, kappa: _asymmetric_mass(z, kappa, False),
    "ppf": _asymmetric_place,
})  # fmt: skip
family("bradford", {"c": 1.0}, {
    "logpdf": lambda z, c: log(c) - log1p(c * z) - log(log1p(c)), "cdf": lambda z, c: log1p(c * z) / log1p(c),
    "ppf": lambda q, c: expm1(q * log1p(c)) / c, "isf": lambda q, c: expm1((1.0 - q) * log1p(c)) / c,
}, support=UNIT)  # fmt: skip
family("semicircular", {}, {
    "logpdf": lambda z: LOG_2 - LOG_PI + log1p(-z * z) * 0.5,
    "cdf": lambda z: 0.5 + (z * sqrt(1.0 - z * z) + arcsin(z)) / math.pi,
    "sf": lambda z: 0.5 - (z * sqrt(1.0 - z * z) + arcsin(z)) / math.pi,
}, support=(-1.0, 1.0), middle=0.0)  # fmt: skip
family("wrapcauchy", {"c": 0.5}, {
    "logpdf": lambda z, c: log1p(-c * c) - LOG_2 - LOG_PI - log((1.0 - c) ** 2 + 4.0 * c * sin(z * 0.5) ** 2),
    "cdf": lambda z, c: arctan2((1.0 + c) * sin(z * 0.5), (1.0 - c) * cos(z * 0.5)) / math.pi,
    "sf": lambda z, c: arctan2((1.0 + c) * sin(z * 0.5), -(1.0 - c) * cos(z * 0.5)) / math.pi,
    "ppf": lambda q, c: 2.0 * arctan2((1.0 - c) * sin(q * math.pi), (1.0 + c) * cos(q * math.pi)),
}, support=(0.0, 2 * math.pi), is_valid=lambda c: logical_and(less(0.0, c), less(c, 1.0)), middle=math.pi)  # fmt: skip
family("triang", {"c": 0.5}, {
    "logpdf": lambda z, c: LOG_2 + where(less(z, c), log(z) - log(c), log1p(-z) - log1p(-c)),
    "cdf": lambda z, c: where(less(z, c), z * z / c, 1.0 - (1.0 - z) ** 2 / (1.0 - c)),
    "sf": lambda z, c: where(less(z, c), 1.0 - z * z / c, (1.0 - z) ** 2 / (1.0 - c)),
    "ppf": lambda q, c: where(less(q, c), sqrt(c * q), 1.0 - sqrt((1.0 - c) * (1.0 - q))),
}, support=UNIT, is_valid=lambda c: logical_and(less(0.0, c), less(c, 1.0)))  # fmt: skip
family("truncexpon", {"b": 1.0}, {
    "logpdf": lambda z, b: -z - log(-expm1(-b)), "cdf": lambda z, b: expm1(-z) / expm1(-b),
    "ppf": lambda q, b: -log1p(q * expm1(-b)),
}, support=lambda b: (0.0, b), middle=lambda b: b * 0.5)  # fmt: skip

# -- counts ----------------------------------------------------------------------------------------------------------


def _is_share(p: Tensor) -> Any:
    return logical_and(less(0.0, p), less(p, 1.0))


family("geom", {"p": 0.5}, {
    "logpdf": lambda k, p: xlog1py(k - 1.0, -p) + log(p), "cdf": lambda k, p: -expm1(k * log1p(-p)),
    "sf": lambda k, p: exp(k * log1p(-p)), "logsf": lambda k, p: k * log1p(-p),
    "ppf": lambda q, p: ceil(log1p(-q) / log1p(-p)),
}, support=(1.0, INFINITY), middle=1.0, is_valid=_is_share, is_discrete=True)  # fmt: skip
family("randint", {"low": 0.0, "high": 2.0}, {
    "logpdf": lambda k, low, high: -log(high - low) + k * 0.0,
    "cdf": lambda k, low, high: (k - low + 1.0) / (high - low),
    "ppf": lambda q, low, high: ceil(q * (high - low) + low) - 1.0,
}, support=lambda low, high: (low, high - 1.0), middle=lambda low, high: low,
   is_valid=lambda low, high: less(low, high), is_discrete=True)  # fmt: skip
family("betabinom", {"n": 1.0, "a": 1.0, "b": 1.0}, {
    "logpdf": lambda k, n, a, b: (
        -log(n + 1.0) - betaln(n - k + 1.0, k + 1.0) + betaln(k + a, n - k + b) - betaln(a, b)
    ),
}, support=lambda n, a, b: (0.0, n), middle=0.0, is_discrete=True,
   is_valid=lambda n, a, b: logical_and(less_equal(0.0, n), all_positive(a, b)))  # fmt: skip
family("zipf", {"a": 2.0}, {
    "logpdf": lambda k, a: -a * log(k) - log(zeta(a, 1.0)),
}, support=(1.0, INFINITY), middle=1.0, is_discrete=True, is_valid=lambda a: less(1.0, a))  # fmt: skip
family("logser", {"p": 0.5}, {
    "logpdf": lambda k, p: k * log(p) - log(k) - log(-log1p(-p)),
}, support=(1.0, INFINITY), middle=1.0, is_discrete=True, is_valid=_is_share)  # fmt: skip
family("planck", {"lambda_": 1.0}, {
    "logpdf": lambda k, rate: log(-expm1(-rate)) - rate * k, "cdf": lambda k, rate: -expm1(-rate * (k + 1.0)),
    "sf": lambda k, rate: exp(-rate * (k + 1.0)), "ppf": lambda q, rate: ceil(-log1p(-q) / rate - 1.0),
}, support=(0.0, INFINITY), middle=0.0, is_discrete=True)  # fmt: skip
family("dlaplace", {"a": 1.0}, {
    "logpdf": lambda k, a: log(tanh(a * 0.5)) - a * magnitude(k),
    "cdf": lambda k, a: where(
        less(k, 0.0), exp(a * (where(less(k, 0.0), k, 0.0) + 1.0)) / (exp(a) + 1.0),
        1.0 - exp(-a * where(less(k, 0.0), 0.0, floor(k))) / (exp(a) + 1.0),
    ),
}, middle=0.0, is_discrete=True)  # fmt: skip

__all__ = [
    "FAMILIES", "HALF", "LOG_2", "LOG_PI", "LOG_ROOT_2PI", "ROOT_2", "UNIT", "all_positive", "any_shape", "family",
    "odds",
]  # fmt: skip
