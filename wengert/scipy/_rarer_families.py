"""The rarer distributions of `scipy.stats`, by the formulas of their standard forms."""

from __future__ import annotations

import math
from typing import Any

from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from ..ops.activations import log_sigmoid, softplus
from ..ops.elementwise import abs as magnitude
from ..ops.elementwise import (
    arcsin,
    arctan,
    cos,
    exp,
    expm1,
    hypot,
    less,
    less_equal,
    log,
    log1p,
    logaddexp,
    logical_and,
    not_equal,
    power,
    sigmoid,
    sin,
    sqrt,
    tan,
)
from ..ops.indexing import where
from ..ops.piecewise import maximum, minimum
from ..special import (
    betainc,
    betaincc,
    betaincinv,
    betaln,
    erf,
    erfc,
    gammainc,
    gammaincc,
    gammaincinv,
    gammaln,
    i0e,
    k1e,
    log_ndtr,
    ndtr,
    ndtri,
    xlogy,
    zeta,
)
from ..stats._distribution import INFINITY
from ._families import (
    FAMILIES,
    HALF,
    LOG_2,
    LOG_PI,
    LOG_ROOT_2PI,
    ROOT_2,
    UNIT,
    any_shape,
    family,
    odds,
)
from ._special import gammainccinv
from ._ufuncs import raw

_TINY = 5e-324  # an end that is 0 and does not belong to the support

# -- kin of the normal distribution ----------------------------------------------------------------------------------


def _log_phi(z: Tensor) -> Any:
    return z * z * -0.5 - LOG_ROOT_2PI


family("alpha", {"a": 1.0}, {
    "logpdf": lambda z, a: -2.0 * log(z) + _log_phi(a - 1.0 / z) - log_ndtr(a),
    "cdf": lambda z, a: ndtr(a - 1.0 / z) / ndtr(a), "logcdf": lambda z, a: log_ndtr(a - 1.0 / z) - log_ndtr(a),
    "ppf": lambda q, a: 1.0 / (a - ndtri(q * ndtr(a))),
}, support=HALF, has_low=False)  # fmt: skip
family("exponnorm", {"K": 1.0}, {
    "logpdf": lambda z, K: (0.5 / K - z) / K + log_ndtr(z - 1.0 / K) - log(K),
    "cdf": lambda z, K: ndtr(z) - exp((0.5 / K - z) / K + log_ndtr(z - 1.0 / K)),
    "sf": lambda z, K: ndtr(-z) + exp((0.5 / K - z) / K + log_ndtr(z - 1.0 / K)),
})  # fmt: skip


def _fatigue(z: Tensor, c: Tensor) -> Any:
    return (sqrt(z) - 1.0 / sqrt(z)) / c


def _fatigue_place(n: Tensor, c: Tensor) -> Any:
    return 0.25 * (c * n + sqrt((c * n) ** 2 + 4.0)) ** 2


family("fatiguelife", {"c": 1.0}, {
    "logpdf": lambda z, c: log1p(z) - _fatigue(z, c) ** 2 * 0.5 - log(2.0 * c) - LOG_ROOT_2PI - 1.5 * log(z),
    "cdf": lambda z, c: ndtr(_fatigue(z, c)), "sf": lambda z, c: ndtr(-_fatigue(z, c)),
    "logcdf": lambda z, c: log_ndtr(_fatigue(z, c)), "logsf": lambda z, c: log_ndtr(-_fatigue(z, c)),
    "ppf": lambda q, c: _fatigue_place(ndtri(q), c), "isf": lambda q, c: _fatigue_place(-ndtri(q), c),
}, support=HALF, has_low=False)  # fmt: skip
family("foldnorm", {"c": 1.0}, {
    "logpdf": lambda z, c: _log_phi(z - c) + log1p(exp(-2.0 * z * c)),
    "cdf": lambda z, c: 0.5 * (erf((z - c) / ROOT_2) + erf((z + c) / ROOT_2)),
    "sf": lambda z, c: 0.5 * (erfc((z - c) / ROOT_2) + erfc((z + c) / ROOT_2)),
}, support=HALF, is_valid=lambda c: less_equal(0.0, c))  # fmt: skip
family("foldcauchy", {"c": 1.0}, {
    "logpdf": lambda z, c: log(1.0 / (1.0 + (z - c) ** 2) + 1.0 / (1.0 + (z + c) ** 2)) - LOG_PI,
    "cdf": lambda z, c: (arctan(z - c) + arctan(z + c)) / math.pi,
}, support=HALF, is_valid=lambda c: less_equal(0.0, c))  # fmt: skip
family("gibrat", {}, {
    "logpdf": lambda z: _log_phi(log(z)) - log(z), "cdf": lambda z: ndtr(log(z)), "sf": lambda z: ndtr(-log(z)),
    "ppf": lambda q: exp(ndtri(q)), "isf": lambda q: exp(-ndtri(q)),
}, support=HALF, has_low=False)  # fmt: skip
family("powerlognorm", {"c": 1.0, "s": 1.0}, {
    "logpdf": lambda z, c, s: (
        log(c) - log(z) - log(s) + _log_phi(log(z) / s) + (c - 1.0) * log_ndtr(-log(z) / s)
    ),
    "cdf": lambda z, c, s: -expm1(c * log_ndtr(-log(z) / s)), "sf": lambda z, c, s: exp(c * log_ndtr(-log(z) / s)),
    "logsf": lambda z, c, s: c * log_ndtr(-log(z) / s), "isf": lambda q, c, s: exp(-ndtri(power(q, 1.0 / c)) * s),
    "ppf": lambda q, c, s: exp(-ndtri(exp(log1p(-q) / c)) * s),
}, support=HALF, has_low=False)  # fmt: skip
family("powernorm", {"c": 1.0}, {
    "logpdf": lambda z, c: log(c) + _log_phi(z) + (c - 1.0) * log_ndtr(-z),
    "cdf": lambda z, c: -expm1(c * log_ndtr(-z)), "sf": lambda z, c: exp(c * log_ndtr(-z)),
    "logsf": lambda z, c: c * log_ndtr(-z), "ppf": lambda q, c: -ndtri(exp(log1p(-q) / c)),
    "isf": lambda q, c: -ndtri(power(q, 1.0 / c)),
})  # fmt: skip
family("recipinvgauss", {"mu": 1.0}, {
    "logpdf": lambda z, mu: -((1.0 - mu * z) / mu) ** 2 / (2.0 * z) - LOG_ROOT_2PI - 0.5 * log(z),
    "cdf": lambda z, mu: (
        ndtr((z - 1.0 / mu) / sqrt(z)) - exp(2.0 / mu + log_ndtr(-(1.0 / mu + z) / sqrt(z)))
    ),
    "sf": lambda z, mu: (
        ndtr((1.0 / mu - z) / sqrt(z)) + exp(2.0 / mu + log_ndtr(-(1.0 / mu + z) / sqrt(z)))
    ),
}, support=HALF, has_low=False)  # fmt: skip
_of_inverse_gaussian = FAMILIES["invgauss"]._family.formulas
family("wald", {}, {
    name: lambda z, formula=formula: formula(z, 1.0) for name, formula in _of_inverse_gaussian.items()
}, support=HALF, has_low=False)  # fmt: skip


def _root(a: Tensor, b: Tensor) -> Any:
    return sqrt((a - b) * (a + b))


family("norminvgauss", {"a": 2.0, "b": 0.5}, {
    "logpdf": lambda z, a, b: (
        log(a) - LOG_PI + _root(a, b) + log(k1e(a * hypot(1.0, z))) - log(hypot(1.0, z)) + b * z - a * hypot(1.0, z)
    ),
}, is_valid=lambda a, b: logical_and(less(0.0, a), less(magnitude(b), a)))  # fmt: skip
family("levy_l", {}, {
    "logpdf": lambda z: -1.5 * log(-z) + 0.5 / z - LOG_ROOT_2PI, "cdf": lambda z: erf(1.0 / sqrt(-2.0 * z)),
    "sf": lambda z: erfc(1.0 / sqrt(-2.0 * z)), "ppf": lambda q: -1.0 / ndtri((q + 1.0) / 2.0) ** 2,
    "isf": lambda q: -1.0 / ndtri(q / 2.0) ** 2,
}, support=(-INFINITY, -_TINY), middle=-1.0)  # fmt: skip


def _normal_part(chi: Tensor) -> Any:
    """Of Argus' distribution: the normal mass up to chi, less half of it and chi times the density."""
    return gammainc(1.5, chi * chi * 0.5) * 0.5


family("argus", {"chi": 1.0}, {
    "logpdf": lambda z, chi: (
        3.0 * log(chi) - LOG_ROOT_2PI - log(_normal_part(chi)) + log(z) + 0.5 * log1p(-z * z)
        - chi * chi * (1.0 - z * z) * 0.5
    ),
    "sf": lambda z, chi: _normal_part(chi * sqrt(1.0 - z * z)) / _normal_part(chi),
}, support=UNIT)  # fmt: skip


def _crystal_scale(beta: Tensor, m: Tensor) -> Any:
    tail = m / beta / (m - 1.0) * exp(beta * beta * -0.5)
    return 1.0 / (tail + math.sqrt(2 * math.pi) * ndtr(beta))


def _crystal_tail(z: Tensor, beta: Tensor, m: Tensor, shift: float) -> Any:
    """The logarithm of the tail, a power; where z is none of it, at its end."""
    low = minimum(z, -beta)
    return (m - shift) * (log(m / beta) - log(m / beta - beta - low)) - beta * beta * 0.5


def _crystal_mass(z: Tensor, beta: Tensor, m: Tensor) -> Any:
    tail = exp(_crystal_tail(z, beta, m, 1.0)) * m / beta / (m - 1.0)
    middle = math.sqrt(2 * math.pi) * (ndtr(maximum(z, -beta)) - ndtr(-beta))
    return _crystal_scale(beta, m) * (tail + where(less(-beta, z), middle, 0.0))


family("crystalball", {"beta": 1.0, "m": 2.0}, {
    "logpdf": lambda z, beta, m: log(_crystal_scale(beta, m)) + where(
        less(-beta, z), z * z * -0.5, _crystal_tail(z, beta, m, 0.0)
    ),
    "cdf": _crystal_mass,
}, is_valid=lambda beta, m: logical_and(less(0.0, beta), less(1.0, m)))  # fmt: skip

# -- kin of the gamma and beta distributions -------------------------------------------------------------------------


def _sided(z: Tensor, tail: Any) -> tuple[Any, Any]:
    """Masses below and above z of a distribution that is symmetric about 0, from that beyond |z| on one side."""
    beyond = tail(magnitude(z))
    is_low = less(z, 0.0)
    return where(is_low, beyond, 1.0 - beyond), where(is_low, 1.0 - beyond, beyond)


def _mirrored(q: Tensor, place: Any) -> Any:
    """The quantile of a symmetric distribution from the place beyond which a share lies."""
    far = place(minimum(q, 1.0 - q))
    return where(less(q, 0.5), -far, far)


family("dgamma", {"a": 1.0}, {
    "logpdf": lambda z, a: xlogy(a - 1.0, magnitude(z)) - magnitude(z) - LOG_2 - gammaln(a),
    "cdf": lambda z, a: _sided(z, lambda far: 0.5 * gammaincc(a, far))[0],
    "sf": lambda z, a: _sided(z, lambda far: 0.5 * gammaincc(a, far))[1],
    "ppf": lambda q, a: _mirrored(q, lambda p: gammainccinv(a, 2.0 * p)),
    "isf": lambda q, a: -_mirrored(q, lambda p: gammainccinv(a, 2.0 * p)),
})  # fmt: skip
family("dweibull", {"c": 1.0}, {
    "logpdf": lambda z, c: log(c) - LOG_2 + xlogy(c - 1.0, magnitude(z)) - power(magnitude(z), c),
    "cdf": lambda z, c: _sided(z, lambda far: 0.5 * exp(-power(far, c)))[0],
    "sf": lambda z, c: _sided(z, lambda far: 0.5 * exp(-power(far, c)))[1],
    "ppf": lambda q, c: _mirrored(q, lambda p: power(-log(2.0 * p), 1.0 / c)),
    "isf": lambda q, c: -_mirrored(q, lambda p: power(-log(2.0 * p), 1.0 / c)),
})  # fmt: skip


def _power_place(c: Tensor, low: Any, high: Any) -> Any:
    """A power of one of two places, by the sign of the exponent."""
    return power(where(less(0.0, c), low, high), 1.0 / c)


family("gengamma", {"a": 1.0, "c": 1.0}, {
    "logpdf": lambda z, a, c: log(magnitude(c)) - gammaln(a) + xlogy(c * a - 1.0, z) - power(z, c),
    "cdf": lambda z, a, c: where(less(0.0, c), gammainc(a, power(z, c)), gammaincc(a, power(z, c))),
    "sf": lambda z, a, c: where(less(0.0, c), gammaincc(a, power(z, c)), gammainc(a, power(z, c))),
    "ppf": lambda q, a, c: _power_place(c, gammaincinv(a, q), gammainccinv(a, q)),
    "isf": lambda q, a, c: _power_place(c, gammainccinv(a, q), gammaincinv(a, q)),
}, support=lambda a, c: (where(less(c, 0.0), _TINY, 0.0), INFINITY), middle=0.5,
   is_valid=lambda a, c: logical_and(less(0.0, a), not_equal(c, 0.0)))  # fmt: skip
family("halfgennorm", {"beta": 1.0}, {
    "logpdf": lambda z, beta: log(beta) - gammaln(1.0 / beta) - power(z, beta),
    "cdf": lambda z, beta: gammainc(1.0 / beta, power(z, beta)),
    "sf": lambda z, beta: gammaincc(1.0 / beta, power(z, beta)),
    "ppf": lambda q, beta: power(gammaincinv(1.0 / beta, q), 1.0 / beta),
    "isf": lambda q, beta: power(gammainccinv(1.0 / beta, q), 1.0 / beta),
}, support=HALF)  # fmt: skip
family("loggamma", {"c": 1.0}, {
    "logpdf": lambda z, c: c * z - exp(z) - gammaln(c), "cdf": lambda z, c: gammainc(c, exp(z)),
    "sf": lambda z, c: gammaincc(c, exp(z)), "ppf": lambda q, c: log(gammaincinv(c, q)),
    "isf": lambda q, c: log(gammainccinv(c, q)),
})  # fmt: skip
family("nakagami", {"nu": 1.0}, {
    "logpdf": lambda z, nu: LOG_2 + xlogy(nu, nu) - gammaln(nu) + xlogy(2.0 * nu - 1.0, z) - nu * z * z,
    "cdf": lambda z, nu: gammainc(nu, nu * z * z), "sf": lambda z, nu: gammaincc(nu, nu * z * z),
    "ppf": lambda q, nu: sqrt(gammaincinv(nu, q) / nu), "isf": lambda q, nu: sqrt(gammainccinv(nu, q) / nu),
}, support=HALF)  # fmt: skip


def _gamma_form(z: Tensor, skew: Tensor) -> tuple[Any, Any, Any]:
    """Pearson's third kind as a gamma distribution: its shape, its rate (of the skewness's sign), its variable."""
    skew = where(_is_straight(skew), 1.0, skew)
    shape, rate = 4.0 / (skew * skew), 2.0 / skew
    return shape, rate, rate * z + shape


def _is_straight(skew: Tensor) -> Any:
    return less(magnitude(skew), 0.000016)  # where SciPy, too, takes the normal distribution


def _pearson(z: Tensor, skew: Tensor) -> Any:
    shape, rate, place = _gamma_form(z, skew)
    is_near = less(place, INFINITY)
    near = where(is_near, place, 1.0)
    curved = log(magnitude(rate)) + xlogy(shape - 1.0, near) - near - gammaln(shape)
    return where(_is_straight(skew), _log_phi(z), where(is_near, curved, -INFINITY))


def _pearson_mass(is_low: bool) -> Any:
    def mass(z: Tensor, skew: Tensor) -> Any:
        shape, _, place = _gamma_form(z, skew)
        below, above = gammainc(shape, place), gammaincc(shape, place)
        curved = where(less(0.0, skew), below, above) if is_low else where(less(0.0, skew), above, below)
        return where(_is_straight(skew), ndtr(z if is_low else -z), curved)

    return mass


def _pearson_support(skew: Tensor) -> tuple[Any, Any]:
    end = -2.0 / where(_is_straight(skew), 1.0, skew)
    straight = _is_straight(skew)
    return (
        where(straight, -INFINITY, where(less(0.0, skew), end, -INFINITY)),
        where(straight, INFINITY, where(less(0.0, skew), INFINITY, end)),
    )


family("pearson3", {"skew": 1.0}, {
    "logpdf": _pearson, "cdf": _pearson_mass(True), "sf": _pearson_mass(False),
}, support=_pearson_support, middle=0.0, is_valid=any_shape)  # fmt: skip
family("rdist", {"c": 2.0}, {
    "logpdf": lambda z, c: (c * 0.5 - 1.0) * log1p(-z * z) - betaln(c * 0.5, 0.5),
    "cdf": lambda z, c: betainc(c * 0.5, c * 0.5, (1.0 + z) * 0.5),
    "sf": lambda z, c: betaincc(c * 0.5, c * 0.5, (1.0 + z) * 0.5),
    "ppf": lambda q, c: 2.0 * betaincinv(c * 0.5, c * 0.5, q) - 1.0,
}, support=(-1.0, 1.0), middle=0.0)  # fmt: skip


def _skew_sides(z: Tensor, a: Tensor, b: Tensor) -> tuple[Any, Any]:
    """1 + z / q and 1 - z / q, q being the root of a + b + z * z, without cancellation far off."""
    root = sqrt(a + b + z * z)
    wide = 1.0 + magnitude(z) / root
    narrow = (a + b) / (root * (root + magnitude(z)))
    return where(less(z, 0.0), narrow, wide), where(less(z, 0.0), wide, narrow)


def _skew_place(z: Tensor, a: Tensor, b: Tensor) -> Any:
    above, below = _skew_sides(z, a, b)
    scale = (a + b - 1.0) * LOG_2 + betaln(a, b) + 0.5 * log(a + b)
    return (a + 0.5) * log(above) + (b + 0.5) * log(below) - scale


family("jf_skew_t", {"a": 2.0, "b": 2.0}, {
    "logpdf": _skew_place, "cdf": lambda z, a, b: betainc(a, b, _skew_sides(z, a, b)[0] * 0.5),
    "sf": lambda z, a, b: betainc(b, a, _skew_sides(z, a, b)[1] * 0.5),
})  # fmt: skip

# -- powers ----------------------------------------------------------------------------------------------------------


def _growth(z: Tensor, b: Tensor) -> Any:
    return expm1(power(z, b))


family("exponpow", {"b": 1.0}, {
    "logpdf": lambda z, b: log(b) + xlogy(b - 1.0, z) + power(z, b) - _growth(z, b),
    "cdf": lambda z, b: -expm1(-_growth(z, b)), "sf": lambda z, b: exp(-_growth(z, b)),
    "logsf": lambda z, b: -_growth(z, b), "ppf": lambda q, b: power(log1p(-log1p(-q)), 1.0 / b),
    "isf": lambda q, b: power(log1p(-log(q)), 1.0 / b),
}, support=HALF)  # fmt: skip


def _hazard(z: Tensor, a: Tensor, b: Tensor, c: Tensor) -> Any:
    return -(a + b) * z - b * expm1(-c * z) / c


family("genexpon", {"a": 1.0, "b": 1.0, "c": 1.0}, {
    "logpdf": lambda z, a, b, c: log(a - b * expm1(-c * z)) + _hazard(z, a, b, c),
    "cdf": lambda z, a, b, c: -expm1(_hazard(z, a, b, c)), "sf": lambda z, a, b, c: exp(_hazard(z, a, b, c)),
    "logsf": _hazard,
}, support=HALF)  # fmt: skip
family("genhalflogistic", {"c": 1.0}, {
    "logpdf": lambda z, c: (
        LOG_2 + (1.0 / c - 1.0) * log1p(-c * z) - 2.0 * log1p(exp(log1p(-c * z) / c))
    ),
    "cdf": lambda z, c: -expm1(log1p(-c * z) / c) / (1.0 + exp(log1p(-c * z) / c)),
    "sf": lambda z, c: 2.0 * sigmoid(log1p(-c * z) / c),
    "ppf": lambda q, c: -expm1(c * (log1p(-q) - log1p(q))) / c,
}, support=lambda c: (0.0, 1.0 / c), middle=lambda c: 0.5 / c)  # fmt: skip
family("genlogistic", {"c": 1.0}, {
    "logpdf": lambda z, c: log(c) - z - (c + 1.0) * softplus(-z),
    "cdf": lambda z, c: exp(c * log_sigmoid(z)), "logcdf": lambda z, c: c * log_sigmoid(z),
    "sf": lambda z, c: -expm1(c * log_sigmoid(z)), "ppf": lambda q, c: -log(expm1(-log(q) / c)),
    "isf": lambda q, c: -log(expm1(-log1p(-q) / c)),
})  # fmt: skip
family("kappa3", {"a": 1.0}, {
    "logpdf": lambda z, a: log(a) - (1.0 / a + 1.0) * log(a + power(z, a)),
    "cdf": lambda z, a: z * power(a + power(z, a), -1.0 / a),
    "ppf": lambda q, a: power(a / (power(q, -a) - 1.0), 1.0 / a),
}, support=HALF)  # fmt: skip


def _laplace_place(q: Tensor, c: Tensor) -> Any:
    is_low = less(q, 0.5)
    return where(is_low, power(2.0 * q, 1.0 / c), power(2.0 * where(is_low, 0.5, 1.0 - q), -1.0 / c))


family("loglaplace", {"c": 1.0}, {
    "logpdf": lambda z, c: log(c) - LOG_2 + where(less(z, 1.0), c - 1.0, -c - 1.0) * log(z),
    "cdf": lambda z, c: where(less(z, 1.0), 0.5 * power(z, c), 1.0 - 0.5 * power(z, -c)),
    "sf": lambda z, c: where(less(z, 1.0), 1.0 - 0.5 * power(z, c), 0.5 * power(z, -c)),
    "ppf": _laplace_place, "isf": lambda q, c: 1.0 / _laplace_place(q, c),
}, support=HALF, has_low=False)  # fmt: skip
family("mielke", {"k": 1.0, "s": 1.0}, {
    "logpdf": lambda z, k, s: log(k) + xlogy(k - 1.0, z) - (1.0 + k / s) * log1p(power(z, s)),
    "cdf": lambda z, k, s: exp(k * (log(z) - log1p(power(z, s)) / s)),
    "ppf": lambda q, k, s: power(odds(power(q, s / k)), 1.0 / s),
}, support=HALF, has_low=False)  # fmt: skip
family("truncpareto", {"b": 1.0, "c": 2.0}, {
    "logpdf": lambda z, b, c: log(b / -expm1(-b * log(c))) - (b + 1.0) * log(z),
    "cdf": lambda z, b, c: expm1(-b * log(z)) / expm1(-b * log(c)),
    "ppf": lambda q, b, c: exp(-log1p(q * expm1(-b * log(c))) / b),
}, support=lambda b, c: (1.0, c), middle=lambda b, c: sqrt(c),
   is_valid=lambda b, c: logical_and(not_equal(b, 0.0), less(1.0, c)))  # fmt: skip


def _between(c: Tensor, a: Tensor, b: Tensor) -> Any:
    return exp(-power(a, c)) - exp(-power(b, c))


family("truncweibull_min", {"c": 1.0, "a": 1.0, "b": 2.0}, {
    "logpdf": lambda z, c, a, b: log(c) + xlogy(c - 1.0, z) - power(z, c) - log(_between(c, a, b)),
    "cdf": lambda z, c, a, b: _between(c, a, z) / _between(c, a, b),
    "sf": lambda z, c, a, b: _between(c, z, b) / _between(c, a, b),
    "ppf": lambda q, c, a, b: power(power(a, c) - log1p(-q * _between(c, a, b) * exp(power(a, c))), 1.0 / c),
}, support=lambda c, a, b: (a, b), middle=lambda c, a, b: 0.5 * (a + b),
   is_valid=lambda c, a, b: logical_and(less(0.0, c), logical_and(less_equal(0.0, a), less(a, b))))  # fmt: skip

# -- other shapes ----------------------------------------------------------------------------------------------------

family("anglit", {}, {
    "logpdf": lambda z: log(cos(2.0 * z)), "cdf": lambda z: sin(z + math.pi / 4) ** 2,
    "sf": lambda z: cos(z + math.pi / 4) ** 2, "ppf": lambda q: arcsin(sqrt(q)) - math.pi / 4,
}, support=(-math.pi / 4, math.pi / 4), middle=0.0)  # fmt: skip
family("cosine", {}, {
    "logpdf": lambda z: log1p(cos(z)) - LOG_2 - LOG_PI, "cdf": lambda z: (math.pi + z + sin(z)) / (2 * math.pi),
    "sf": lambda z: (math.pi - z - sin(z)) / (2 * math.pi),
}, support=(-math.pi, math.pi), middle=0.0)  # fmt: skip
family("rel_breitwigner", {"rho": 1.0}, {
    "logpdf": lambda z, rho: (
        1.5 * LOG_2 - LOG_PI + 0.5 * (log1p(1.0 / rho**2) - log1p(sqrt(1.0 + 1.0 / rho**2)))
        - log1p(((z - rho) * (z + rho) / rho) ** 2)
    ),
}, support=HALF)  # fmt: skip


def _leaning(z: ArrayLike, a: Tensor) -> Any:
    return where(less(z, 0.0), 1.0 - a, 1.0 + a)


family("skewcauchy", {"a": 0.0}, {
    "logpdf": lambda z, a: -LOG_PI - log1p((z / _leaning(z, a)) ** 2),
    "cdf": lambda z, a: (1.0 - a) * 0.5 + _leaning(z, a) / math.pi * arctan(z / _leaning(z, a)),
    "sf": lambda z, a: (1.0 + a) * 0.5 - _leaning(z, a) / math.pi * arctan(z / _leaning(z, a)),
    "ppf": lambda q, a: (
        _leaning(q - (1.0 - a) * 0.5, a)
        * tan(math.pi / _leaning(q - (1.0 - a) * 0.5, a) * (q - (1.0 - a) * 0.5))
    ),
}, is_valid=lambda a: less(magnitude(a), 1.0))  # fmt: skip
family("vonmises_line", {"kappa": 1.0}, {
    "logpdf": lambda z, kappa: kappa * (cos(z) - 1.0) - LOG_2 - LOG_PI - log(i0e(kappa)),
}, support=(-math.pi, math.pi), middle=0.0, is_valid=lambda kappa: less_equal(0.0, kappa))  # fmt: skip


def _tukey_fall(z: Tensor, lam: Tensor) -> Any:
    low, high = (log(raw("tklmbda", side, lam, count=2)) for side in (z, -z))
    return logaddexp((lam - 1.0) * low, (lam - 1.0) * high)


def _tukey_place(q: Tensor, lam: Tensor) -> Any:
    low, high = log(q), log1p(-q)
    return low * raw("exprel", lam * low) - high * raw("exprel", lam * high)


family("tukeylambda", {"lam": 1.0}, {
    "logpdf": lambda z, lam: -_tukey_fall(z, lam), "cdf": lambda z, lam: raw("tklmbda", z, lam, count=2),
    "sf": lambda z, lam: raw("tklmbda", -z, lam, count=2), "ppf": _tukey_place,
    "isf": lambda q, lam: -_tukey_place(q, lam),
}, support=lambda lam: (
    where(less(0.0, lam), -1.0 / where(less(0.0, lam), lam, 1.0), -INFINITY),
    where(less(0.0, lam), 1.0 / where(less(0.0, lam), lam, 1.0), INFINITY),
), middle=0.0, is_valid=any_shape)  # fmt: skip

# -- counts ----------------------------------------------------------------------------------------------------------

family("betanbinom", {"n": 1.0, "a": 1.0, "b": 1.0}, {
    "logpdf": lambda k, n, a, b: -log(n + k) - betaln(n, k + 1.0) + betaln(a + n, b + k) - betaln(a, b),
}, support=(0.0, INFINITY), middle=0.0, is_discrete=True)  # fmt: skip
family("boltzmann", {"lambda_": 1.0, "N": 2.0}, {
    "logpdf": lambda k, rate, n: log(-expm1(-rate)) - log(-expm1(-rate * n)) - rate * k,
    "cdf": lambda k, rate, n: expm1(-rate * (k + 1.0)) / expm1(-rate * n),
}, support=lambda rate, n: (0.0, n - 1.0), middle=0.0, is_discrete=True)  # fmt: skip
family("yulesimon", {"alpha": 1.0}, {
    "logpdf": lambda k, alpha: log(alpha) + betaln(k, alpha + 1.0),
    "sf": lambda k, alpha: k * exp(betaln(k, alpha + 1.0)),
}, support=(1.0, INFINITY), middle=1.0, is_discrete=True)  # fmt: skip
family("zipfian", {"a": 2.0, "n": 2.0}, {
    "logpdf": lambda k, a, n: -a * log(k) - log(zeta(a, 1.0) - zeta(a, n + 1.0)),
}, support=lambda a, n: (1.0, n), middle=1.0, is_discrete=True,
   is_valid=lambda a, n: logical_and(less(1.0, a), less_equal(1.0, n)))  # fmt: skip

__all__ = ["FAMILIES"]
