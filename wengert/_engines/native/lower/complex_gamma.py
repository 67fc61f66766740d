"""The gamma function of complex numbers, its logarithm and the logarithm's derivative as vector code.

Stirling's series serves numbers of size 8 or more that are not near the negative axis; smaller ones are moved up by the
recurrence, and what is near that axis is turned to 1 - z by the reflection (DLMF 5.5, 5.11). Beside a zero of the last
two Taylor's series has the digits that would cancel.
"""

from __future__ import annotations

import math
from typing import Any

from ..ir.complex_numbers import Pair
from .complex_scalars import COMPLEX_SCALARS
from .numbers import EULER, Number, Truth, choose_all, exp, expm1, fma, log1p, where, zeta_less_one
from .points import Point, chosen, inverse, logarithm, series

_FROM = 8.0
_TURNED = 16.0  # SciPy has no digamma of infinite numbers nearer to the negative axis
_HALF_LOG = 0.5 * math.log(2 * math.pi)
_BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330, 854513 / 138,
)  # fmt: skip


def _is_small(z: Point) -> Truth:
    return (abs(z.re) < _FROM) & (abs(z.im) < _FROM)


def _is_pole(z: Point) -> Truth:
    return (z.re <= 0.0) & (z.re == z.re.of("floor")) & (z.im == 0.0)


def _finite(z: Point, instead: float) -> tuple[Truth, Point]:
    """Whether a number is neither infinite, NaN nor a pole, and the number or another."""
    is_told = (abs(z.re) < math.inf) & (abs(z.im) < math.inf) & ~_is_pole(z)
    return is_told, Point(where(is_told, z.re, instead), where(is_told, z.im, 0.0))


# -- digamma -----------------------------------------------------------------------------------------------------------

# the zeros, in two parts; how far up Taylor's series is taken; and its coefficients there, without the constant
_ZEROS = (
    (1.4616321449683622, 9.549995429965697e-17, 2, (
        0.3345617098544669, -0.055476208282819656, 0.012163351366549665, -0.002976677050430833, 0.0007713020708922787,
        -0.00020674607628354467, 5.663403931142351e-05, -1.5742042793645156e-05, 4.4203814378014486e-06,
        -1.2502790337317232e-06, 3.555004365548999e-07, -1.0147423082995085e-07, 2.9048430651778795e-08,
        -8.333507652457267e-09, 2.3946448469644645e-09, 0.0, 0.0, 0.0,
    )),
    (-0.5040830082644554, -8.15428206243813e-18, 3, (
        0.4913240491236688, -0.11856044147907663, 0.037531959133452655, -0.013172055376303032, 0.004866503777109233,
        -0.0018509116032794433, 0.0007164834608058607, -0.0002804707762736125, 0.00011059945836052453,
        -4.3827749767204884e-05, 1.7425838118500264e-05, -6.944388287385589e-06, 2.7718194037819783e-06,
        -1.1075872776553215e-06, 4.429239947710089e-07, -1.7722241955384526e-07, 7.093758183016749e-08,
        -2.840228203415235e-08,
    )),
)  # fmt: skip
_BESIDE = 0.3


def psi(re: Number, im: Number) -> Point:
    """The derivative of the gamma function's logarithm."""
    is_told, z = _finite(Point(re, im), 1.0)
    is_left = (z.re < 0.0) & (abs(z.im) < _FROM)
    found = _psi_of_right(chosen(is_left, Point(1.0 - z.re, -z.im), z))
    found = chosen(is_left, found - _cotangent(chosen(is_left, z, Point(0.5, z.im))) * math.pi, found)
    found = _beside_zeros(z, found)
    found = Point(found.re, where(im == 0.0, found.re - found.re, found.im))  # no number where that is infinite
    return chosen(is_told, found, _psi_at_ends(re, im))


def _psi_at_ends(re: Number, im: Number) -> Point:
    """As SciPy has it."""
    is_endless = (abs(re) == math.inf) | (abs(im) == math.inf)
    is_left = (re == -math.inf) & (abs(im) < _TURNED)
    angle = Number(re.b, re.b.let("atan2", "f64", im.x, re.x))
    angle = where((re == math.inf) & (abs(im) < math.inf), 0.0, angle)
    is_told = is_endless & ~is_left
    return Point(where(is_told, math.inf, math.nan), where(is_told, angle, math.nan))


def _psi_of_right(z: Point) -> Point:
    is_small = _is_small(z)
    far = Point(where(is_small, z.re + _FROM, z.re), z.im)
    over = inverse(far)
    square = over * over
    lacking = series(square, [b / (2 * k) for k, b in enumerate(_BERNOULLI, 1)])
    found = logarithm(far) - over * 0.5 - square * lacking
    near = chosen(is_small, z, Point(where(is_small, z.re, 1.0), where(is_small, z.im, 0.0)))
    moved = found - _steps(near) - inverse(near)
    return chosen(is_small, moved, found)


def _steps(z: Point) -> Point:
    """The sum of 1 / (z + k) for k from 1 to 7, in pairs: each is 2 (z + 4) over v + k (8 - k), where v = z (z + 8)."""
    v = z * (z + 8.0)
    first, second = (v + 7.0) * (v + 12.0), (v + 15.0) * (v + 16.0)
    above = (v * 2.0 + 19.0) * second * 2.0 + (v * 3.0 + 47.0) * first
    return (z + 4.0) * above * inverse(first * second)


def _cotangent(z: Point) -> Point:
    """cot(pi z), whose imaginary part is 1 from 25 on."""
    angle = (z.re - z.re.of("rint")) * math.pi
    sine, cosine = angle.of("sin"), angle.of("cos")
    most = 25.0
    high = z.im * math.pi
    high = where(high > most, most, where(high < -most, -most, high))
    grown, wide = high.of("sinh"), high.of("cosh")
    is_first = abs(sine) > abs(grown)
    large, little = where(is_first, sine, grown), where(is_first, grown, sine)
    ratio = little / large
    over = 1.0 / (large * fma(ratio, ratio, 1.0))
    return Point(where(is_first, 1.0, ratio) * (cosine * over), -(where(is_first, ratio, 1.0) * (wide * over)))


def _beside_zeros(z: Point, found: Point) -> Point:
    """The value, or beside a zero that of Taylor's series, moved down by steps: all are multiples of z - zero."""
    from_zero = [(z - high) - low for high, low, _, _ in _ZEROS]
    is_first, is_second = (fma(d.re, d.re, d.im * d.im) < _BESIDE**2 for d in from_zero)

    def beside() -> list[Any]:
        step = chosen(is_second, from_zero[1], from_zero[0])
        (first, _, ups, one), (second, _, _, two) = _ZEROS
        total = series(step, [where(is_second, b, a) for a, b in zip(one, two, strict=True)])
        for k in range(3):
            weight = where(is_second, 1 / (second + k), 1 / (first + k) if k < ups else 0.0)
            total = total + inverse(z + float(k)) * weight
        return [*(total * step)]

    return Point(*choose_all(is_first | is_second, beside, lambda: [*found], 2))


# -- the logarithm -----------------------------------------------------------------------------------------------------

_NEAR = 0.2
_TINY, _MORE = 2.0**-900, 2.0**300
# of log(gamma(2 + x)) in x, without the constant, which is 0
_FROM_TWO = (1 - EULER, *[(-1) ** k * zeta_less_one(k) / k for k in range(2, 17)])


def loggamma(re: Number, im: Number) -> Point:
    """The logarithm of the gamma function that has one branch cut, below 0."""
    is_told, given = _finite(Point(re, im), 3.0)
    sign = Number(re.b, re.b.let("copysign", "f64", 1.0, given.im.x))
    z = Point(given.re, abs(given.im))
    is_left = (z.re < 0.0) & (z.im < _FROM)
    place = chosen(is_left, Point(1.0 - z.re, z.im), z)  # of 1 - z the conjugate
    right = _beside_one_and_two(place, _of_right(place))
    found = chosen(is_left, _reflected(z, right.conj), right)
    found = Point(found.re, where((re > 0.0) & (im == 0.0), _flat(re, sign), found.im * sign))
    is_down = (abs(im) == math.inf) & (re < 0.5) & (re > -math.inf)
    return chosen(is_told, found, Point(where(is_down, -math.inf, math.nan), math.nan))


def _flat(re: Number, sign: Number) -> Number:
    """The imaginary part at a positive number: a zero that has its sign where SciPy takes the recurrence."""
    is_moved = (re >= 0.1) & (re <= 7.0) & (abs(re - 1.0) > _NEAR) & (abs(re - 2.0) > _NEAR)
    return where(is_moved & (sign < 0.0), -0.0, 0.0)


def _of_right(z: Point) -> Point:
    """By z log(far) - far, whose terms are less than Stirling's of the number far up that the steps lead to."""
    is_small = _is_small(z)
    far = Point(where(is_small, z.re + _FROM, z.re), z.im)
    over = inverse(far)
    lacking = over * series(over * over, [b / (2 * k * (2 * k - 1)) for k, b in enumerate(_BERNOULLI, 1)])
    found = (z - 0.5) * (logarithm(far) - 1.0) + (lacking + where(is_small, _HALF_LOG - 0.5 - _FROM, _HALF_LOG - 0.5))
    near = Point(where(is_small, z.re, 1.0), where(is_small, z.im, 0.0))
    return chosen(is_small, found - _log_of_steps(near, chosen(is_small, over, Point(1 / _FROM, 0.0))), found)


def _log_of_steps(z: Point, over: Point) -> Point:
    """The sum of log((z + k) / far) for k up to 7, above the real axis: a product, and how often it has turned."""
    is_tiny = (z.re < _TINY) & (z.im < _TINY)
    product, turns = (z + (_FROM - 1.0)) * over, 0.0
    for k in range(int(_FROM) - 2, -1, -1):  # the least one last, in which a subnormal number would lose digits
        step = (z + float(k)) * over if k else z * where(is_tiny, _MORE, 1.0) * over
        before, product = product.im >= 0.0, product * step
        turns = turns + where(before & (product.im < 0.0), 2 * math.pi, 0.0)
    found = logarithm(product)
    return Point(found.re - where(is_tiny, math.log(_MORE), 0.0), found.im + turns)


def _beside_one_and_two(z: Point, found: Point) -> Point:
    one, two = z - 1.0, z - 2.0
    is_first, is_second = (fma(d.re, d.re, d.im * d.im) < _NEAR**2 for d in (one, two))

    def beside() -> list[Any]:
        step = chosen(is_second, two, one)
        total = step * series(step, _FROM_TWO)
        size = 0.5 * log1p(fma(step.re, step.re + 2.0, step.im * step.im))
        angle = Number(z.re.b, z.re.b.let("atan2", "f64", step.im.x, (step.re + 1.0).x))
        return [*chosen(is_second, total, -(Point(size, angle) - total))]  # at 1 -0, as SciPy has it

    return Point(*choose_all(is_first | is_second, beside, lambda: [*found], 2))


def _reflected(z: Point, other: Point) -> Point:
    """log(2 pi) + i pi (z - 1/2) - log(1 - e^(2 pi i z)) - log(gamma(1 - z)), above the real axis."""
    within = (z.re - z.re.of("rint")) * math.pi
    sine = within.of("sin")
    decay = z.im * (-2 * math.pi)
    size = exp(decay)
    less = Point(2.0 * (sine * sine) * size - expm1(decay), -(2.0 * (sine * within.of("cos")) * size))
    turned = Point(z.im * -math.pi + 2 * _HALF_LOG, (z.re - 0.5) * math.pi)
    return turned - logarithm(less) - other


# -- the function ------------------------------------------------------------------------------------------------------


def _exp(x: Point) -> Point:
    b = x.re.b
    found = COMPLEX_SCALARS["exp"](b, "c128", (), Pair(x.re.x, x.im.x))
    return Point(Number(b, found.re), Number(b, found.im))


def gamma(re: Number, im: Number) -> Point:
    """By its logarithm, as SciPy has it."""
    found = _exp(loggamma(re, im))
    is_down = (abs(im) == math.inf) & (found.re == 0.0)
    return Point(found.re, where(is_down, -0.0, found.im))


def rgamma(re: Number, im: Number) -> Point:
    """One over it, which is 0 where it has poles."""
    return chosen(_is_pole(Point(re, im)), Point(0.0, 0.0), _exp(-loggamma(re, im)))
