"""The error, gamma and Bessel functions of one float, and the derivatives of sinc, to about 1e-12.

Owns scalar functions for the plain-Python engine; knows no arrays. Like those of `safe_math.py` they give infinities
and NaNs where Python's math raises.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

from tests.support.python_engine.safe_math import INF, NAN

# -- the error function and the normal distribution -----------------------------------------------------------------

_ROOT_2 = math.sqrt(2.0)
_ROOT_PI = math.sqrt(math.pi)


def erfinv(y: float) -> float:
    """Inverse error function: a start from the asymptotic form, then Newton steps with the curvature."""
    if y != y or abs(y) > 1:
        return NAN
    if abs(y) == 1:
        return math.copysign(INF, y)
    # Winitzki's closed form starts within 0.2 %. Its log(1 - y * y) is split to keep its digits near 1.
    log_gap = math.log1p(-y) + math.log1p(y)
    a = 0.147
    half = 2 / (math.pi * a) + log_gap / 2
    x = math.sqrt(max(0.0, math.sqrt(half * half - log_gap / a) - half))
    for _ in range(4):
        # In the tails erf(x) - y cancels, so the small side is compared instead.
        error = (1 - abs(y)) - math.erfc(x) if abs(y) > 0.5 else math.erf(x) - abs(y)
        step = error * _ROOT_PI / 2 * math.exp(x * x)
        x -= step / (1 + x * step)
    return math.copysign(x, y)


_FAR = 10.0  # from here on the asymptotic series of erfcx is exact to double precision
_FAR_TERMS = 16


def erfcx(x: float) -> float:
    """e^(x^2) erfc(x): the product while it loses nothing, then the asymptotic series."""
    if x < _FAR:
        try:
            return math.exp(x * x) * math.erfc(x)
        except OverflowError:
            return INF
    if not x < INF:
        return NAN if x != x else 0.0
    u, total = 0.5 / x / x, 0.0
    for k in range(_FAR_TERMS, 0, -1):
        total = (2 * k - 1) * -u * (1.0 + total)
    return (1.0 + total) / (x * _ROOT_PI)


def erfcx_integral(x: float, order: int) -> float:
    """e^(x^2) i^n erfc(x) by its integral: 2 / (sqrt(pi) n!) times that of t^n e^(-t^2 - 2 x t), by Simpson's rule."""
    end, pieces = 7.0 + max(0.0, -x), 12_000
    step = end / pieces

    def term(i: int) -> float:
        t = i * step
        return t**order * math.exp(-t * t - 2 * x * t)

    total = sum((1 if i in (0, pieces) else 4 if i % 2 else 2) * term(i) for i in range(pieces + 1)) * step / 3
    return 2 / (_ROOT_PI * math.factorial(order)) * total


def normal_hazard(x: float) -> float:
    """The density over the distribution function of the standard normal distribution."""
    if abs(x) < 5:
        return math.exp(-x * x / 2) * math.sqrt(2 / math.pi) / math.erfc(-x / _ROOT_2)
    scaled = erfcx(-x / _ROOT_2)
    return math.sqrt(2 / math.pi) / scaled if scaled else INF


def ndtr(x: float) -> float:
    """The standard normal distribution function."""
    return 0.5 * math.erfc(-x / _ROOT_2)


def log_ndtr(x: float) -> float:
    """log(ndtr(x)), with all its digits in both tails."""
    if x > 0:
        return math.log1p(-0.5 * math.erfc(x / _ROOT_2))
    if x == -INF:
        return -INF
    return math.log(0.5 * erfcx(-x / _ROOT_2)) - 0.5 * x * x


def ndtri(p: float) -> float:
    """The standard normal quantile: near 1/2 by erfinv, else by Newton steps with the curvature on log_ndtr."""
    if not 0 <= p <= 1:
        return NAN
    if p == 0 or p == 1:
        return INF if p else -INF
    if 0.25 <= p <= 0.75:
        return _ROOT_2 * erfinv(2 * p - 1)
    return -_lower_quantile(1 - p) if p > 0.5 else _lower_quantile(p)


def _lower_quantile(p: float) -> float:
    # The start is Abramowitz & Stegun 26.2.23, within 5e-4.
    t = math.sqrt(-2 * math.log(p))
    x = (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t
    for _ in range(3):
        # (ndtr(x) - p) / density(x), of which neither part underflows
        step = -_ROOT_PI / _ROOT_2 * erfcx(-x / _ROOT_2) * math.expm1(math.log(p) - log_ndtr(x))
        x -= step / (1 + 0.5 * x * step)
    return x


# -- the gamma function ---------------------------------------------------------------------------------------------


def lgamma(x: float) -> float:
    """log(|gamma(x)|), infinite at the poles."""
    try:
        return math.lgamma(x)
    except ValueError:  # a pole
        return INF


def digamma(x: float) -> float:
    """The logarithmic derivative of gamma: reflection, recurrence, then the asymptotic series."""
    if not math.isfinite(x):
        return x if x > 0 or x != x else NAN
    if x == 0:
        return math.copysign(INF, -x)
    if x < 0:
        if x == math.floor(x):
            return NAN
        # The argument of tan is reduced first: pi * x itself would lose the digits that matter.
        return digamma(1.0 - x) - math.pi / math.tan(math.pi * math.fmod(x, 1.0))
    shift = 0.0
    while x < 12.0:
        shift -= 1.0 / x
        x += 1.0
    u = 1.0 / (x * x)
    series = u * (1 / 12 - u * (1 / 120 - u * (1 / 252 - u * (1 / 240 - u * (1 / 132 - u * (691 / 32760 - u / 12))))))
    return shift + math.log(x) - 0.5 / x - series


# Bernoulli numbers B2, B4, ... over (2k)!, the weights of the Euler-Maclaurin sum.
_EULER_MACLAURIN = [
    b / math.factorial(2 * k)
    for k, b in enumerate((1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510), start=1)
]


def polygamma(n: int, x: float) -> float:
    """The n-th derivative of digamma, by the Hurwitz zeta function (its series also holds at negative x)."""
    if n == 0:
        return digamma(x)
    if x != x:
        return NAN
    if x == -INF or (x <= 0 and x == math.floor(x)):
        return INF if n % 2 else -INF
    s, total = n + 1, 0.0
    if x == INF:
        return 0.0
    while x < 15.0:
        total += x**-s
        x += 1.0
    total += x ** (1 - s) / (s - 1) + 0.5 * x**-s
    rising, power = float(s), x ** (-s - 1)
    for k, weight in enumerate(_EULER_MACLAURIN, start=1):
        total += weight * rising * power
        rising *= (s + 2 * k - 1) * (s + 2 * k)
        power /= x * x
    return (-1) ** (n + 1) * math.factorial(n) * total


def gamma(x: float) -> float:
    """The gamma function: NaN at the negative poles, infinite where it overflows."""
    if x == 0:
        return math.copysign(INF, x)
    try:
        return math.gamma(x)
    except ValueError:
        return NAN
    except OverflowError:
        return INF


# -- modified Bessel functions of the first kind, of whole order ----------------------------------------------------

_LARGE = 1e200  # where the recurrence is scaled down, lest it overflow


def ive(x: float, order: int) -> float:
    """e^-|x| I_n(x)."""
    n, z = abs(order), abs(x)
    if z != z:
        return NAN
    if z == 0:
        return float(n == 0)
    if z == INF:
        scaled = 0.0
    elif z <= 1:
        scaled = _ive_near(z, n)
    else:
        scaled = _ive_far(z, n) if z > 1e4 and n * n < z / 100 else _ive_by_recurrence(z, n)
    return -scaled if x < 0 and n % 2 else scaled


def _ive_near(z: float, n: int) -> float:
    """The power series at 0."""
    term = math.exp(-z)
    for k in range(1, n + 1):
        term *= 0.5 * z / k
    total = term
    for k in range(1, 20):
        term *= 0.25 * z * z / (k * (k + n))
        total += term
    return total


def _ive_far(z: float, n: int) -> float:
    """Hankel's asymptotic series."""
    term = total = 1.0
    for k in range(1, 12):
        term *= -(4 * n * n - (2 * k - 1) ** 2) / (8 * k * z)
        total += term
    return total / math.sqrt(2 * math.pi * z)


def _ive_by_recurrence(z: float, n: int) -> float:
    """I_(k-1) = I_(k+1) + 2k/z I_k downwards from an order where I vanishes; e^z = I_0 + 2 I_1 + 2 I_2 + ..."""
    start = n + 40 + int(math.sqrt(90 * (z + n)))
    above, here, wanted, total = 0.0, 1.0, 0.0, 0.0
    for k in range(start, 0, -1):
        if k == n:
            wanted = here
        total += 2 * here
        above, here = here, above + 2 * k / z * here
        if here > _LARGE:
            above, here, wanted, total = above / _LARGE, here / _LARGE, wanted / _LARGE, total / _LARGE
    return (here if n == 0 else wanted) / (total + here)


def iv(x: float, order: int) -> float:
    """I_n(x): halves of the exponential, for the whole may overflow where I does not."""
    if x != x:
        return NAN
    if abs(x) > 1400:
        return math.copysign(INF, x if order % 2 else 1.0)
    half = math.exp(0.5 * abs(x))
    return ive(x, order) * half * half


# -- sinc -----------------------------------------------------------------------------------------------------------

_SERIES_TERMS = 20  # beyond the first order + 1 terms; enough for arguments up to order + 2


def sinc(x: Any, order: int) -> Any:
    """The derivative of the given order of sin(pi x) / (pi x)."""
    z = math.pi * x
    if not isinstance(x, complex) and not math.isfinite(x):
        return NAN
    derivative = _sinc_series(z, order) if abs(z) < order + 0.5 else _sinc_recurrence(z, order)
    return derivative * math.pi**order


def _sinc_series(z: Any, order: int) -> Any:
    """The Taylor series at 0: the terms (-1)^k z^(2k - order) / ((2k + 1) (2k - order)!)."""
    first = (order + 1) // 2
    total = 0.0 * z
    for k in range(first + order + _SERIES_TERMS, first - 1, -1):
        total = total * (z * z) + (-1) ** k / ((2 * k + 1) * math.factorial(2 * k - order))
    return total * z if 2 * first - order == 1 else total


def _sinc_recurrence(z: Any, order: int) -> Any:
    """z f_n + n f_(n-1) = sin(z + n pi / 2), from z f = sin z differentiated n times; stable while n < |z|."""
    module: Any = cmath if isinstance(z, complex) else math
    sine, cosine = module.sin(z), module.cos(z)
    cycle = (sine, cosine, -sine, -cosine)
    derivative = sine / z
    for n in range(1, order + 1):
        derivative = (cycle[n % 4] - n * derivative) / z
    return derivative


# Functions of one float, by op name.
FUNCTIONS: dict[str, Callable[[float], float]] = {
    "erf": math.erf,
    "erfc": math.erfc,
    "erfinv": erfinv,
    "erfcx": erfcx,
    "normal_hazard": normal_hazard,
    "ndtr": ndtr,
    "ndtri": ndtri,
    "log_ndtr": log_ndtr,
    "lgamma": lgamma,
    "gamma": gamma,
    "digamma": digamma,
    "i0": lambda x: iv(x, 0),
    "i1": lambda x: iv(x, 1),
    "i0e": lambda x: ive(x, 0),
    "i1e": lambda x: ive(x, 1),
}
# Functions of one float and a whole order.
ORDERED: dict[str, Callable[[float, int], float]] = {
    "polygamma": lambda x, order: polygamma(order, x),
    "erfcx_integral": erfcx_integral,
    "sinc": sinc,
}
