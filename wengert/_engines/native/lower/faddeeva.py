"""The Faddeeva function w(z) = e^(-z^2) erfc(-iz) of complex numbers as vector code, and the scaled erfc that is it.

In the first quadrant by the trapezoidal rule for (i / pi) times the integral of e^(-t^2) / (z - t) over the line, whose
places are those whose poles are further from z: multiples of the step h, or what is between them. Where z is nearer to
the axis than pi / h, what the pole at z adds is taken into account (Chiarella and Reichel 1968, Hunter and Regan 1972).
Both sums over all k are those over some, which decay as e^(-(kh)^2). All terms of the real part have its sign, so both
parts are exact to some units where one is small beside the other. Elsewhere by symmetry, w(-z) = 2 e^(-z^2) - w(z).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from .numbers import Number, Truth, exp, fma, where

_ROOT_PI = math.sqrt(math.pi)
_VANISHED = 1500.0  # e to the minus this is nothing
_TURNS = 1e9  # what rounding an angle beyond this loses is no small angle
_TERMS = 13  # of either side of 0 ...
_STEP = math.sqrt(math.pi / _TERMS)  # ... with which the error of the rule is that of leaving terms out: 1e-17
_FAR = 1e8  # from here on the value is i / (sqrt(pi) z) to the last bit


class _Quadrant(NamedTuple):
    """What is known of a point of the first quadrant.

    Attributes:
        x, y: its parts.
        is_near: whether the pole at it counts.
        is_whole: whether the places of the rule are multiples of its step.
        place: its real part in steps.
    """

    x: Number
    y: Number
    is_near: Truth
    is_whole: Truth
    place: Number


def _seen(x: Number, y: Number) -> _Quadrant:
    place = x * (1 / _STEP)
    within = abs(place - place.of("rint"))
    is_near = y < math.pi / _STEP
    return _Quadrant(x, y, is_near, is_near & (within >= 0.25), place)


def _summed(z: _Quadrant) -> tuple[Number, Number]:
    """The sum over the rule's places, each with the one on the other side of 0."""
    x, y, square = z.x, z.y, z.y * z.y
    size = fma(x, x, square)
    re, im = [], []
    for k in range(_TERMS):
        whole, between = k * _STEP, (k + 0.5) * _STEP
        t = where(z.is_whole, whole, between)
        weight = where(z.is_whole, _weight(whole) * (1 if k else 0.5), _weight(between))
        before, behind = x - t, x + t
        weight = weight / (fma(before, before, square) * fma(behind, behind, square))
        re.append(weight * (size + where(z.is_whole, whole * whole, between * between)))
        im.append(weight * fma(before, behind, square))
    return y * _total(re), x * _total(im)


def _weight(t: float) -> float:
    return 2 * _STEP / math.pi * math.exp(-t * t)


def _total(terms: Sequence[Number]) -> Number:
    """The small ones first."""
    total = terms[-1]
    for term in reversed(terms[:-1]):
        total = total + term
    return total


def _far(x: Number, y: Number) -> tuple[Number, Number]:
    """i / (sqrt(pi) z), without squares beyond the type."""
    is_first = x > y
    large, little = where(is_first, x, y), where(is_first, y, x)
    ratio = little / large
    beside = (1 / _ROOT_PI) / fma(little, ratio, large)
    along = ratio * beside
    return where(is_first, along, beside), where(is_first, beside, along)


def _turned(angle: Number, beyond: Number | float = 0.0) -> tuple[Number, Number]:
    """Cosine and sine of an angle and of a little more."""
    cosine, sine = angle.of("cos"), angle.of("sin")
    return cosine - beyond * sine, sine + beyond * cosine


def _lost(total: Number, x: Number, y: Number) -> Number:
    """What rounding has taken from x + y."""
    part = total - x
    return (x - (total - part)) + (y - part)


def _bell(x: Number, y: Number) -> tuple[Number, Number]:
    """2 e^(-z^2), by the root of its size, which is no power beyond the type.

    Its exponent and its angle are taken with what rounding them loses, which is many units of a large one.
    """
    less, more, twice = y - x, y + x, 2.0 * x
    exponent, angle = less * more, twice * y
    lost = fma(less, more, -exponent) + fma(less, _lost(more, y, x), more * _lost(less, y, -x))
    is_large = abs(exponent) > _VANISHED
    is_endless = (exponent < 0.0) & is_large & (angle == math.inf)
    beyond = where(is_large | (angle > _TURNS), 0.0, fma(twice, y, -angle))
    root = exp(0.5 * exponent)
    root, twice = root * where(is_large, 1.0, 1.0 + lost), root + root
    cosine, sine = _turned(where(is_endless, 0.0, angle), beyond)
    return root * cosine * twice, -(root * sine * twice)


def _of_pole(z: _Quadrant, bell: tuple[Number, Number]) -> tuple[Number, Number]:
    """What the pole at z adds: 2 e^(-z^2) / (1 -+ 1 / q) for q = e^(2 pi i z / h)."""
    size = exp(where(z.is_near, z.y, 0.0) * (-2 * math.pi / _STEP))
    cosine, sine = _turned((z.place - z.place.of("rint")) * (2 * math.pi))
    re, im = size * cosine, size * sine
    below = re + where(z.is_whole, -1.0, 1.0)
    over = 1.0 / fma(below, below, im * im)
    share, turn = fma(re, below, im * im) * over, (im * below - re * im) * over
    found = bell[0] * share - bell[1] * turn, bell[0] * turn + bell[1] * share
    return where(z.is_near, found[0], 0.0), where(z.is_near, found[1], 0.0)


def wofz(re: Number, im: Number) -> tuple[Number, Number]:
    """w of a complex number."""
    x, y = abs(re), abs(im)
    is_told = (x < math.inf) & (y < math.inf)
    is_far = (x > _FAR) | (y > _FAR)
    nearby = where(is_far, 1.0, x), where(is_far, _FAR, y)
    z = _seen(*nearby)
    is_below, is_left = im < 0.0, re < 0.0
    # above, far out, 2 e^(-z^2) is nothing, or nobody asks for it
    is_asked = is_told & (is_below | (y < math.pi / _STEP))
    bell = _bell(where(is_asked, x, 0.0), where(is_asked, y, 0.0))
    total = [term + pole for term, pole in zip(_summed(z), _of_pole(z, bell), strict=True)]
    distant = _far(where(is_far & is_told, x, 1.0), where(is_far & is_told, y, 1.0))
    above = [where(is_far, far, near) for far, near in zip(distant, total, strict=True)]
    below = [twice - found for twice, found in zip(bell, above, strict=True)]
    first, second = (where(is_below, low, high) for low, high in zip(below, above, strict=True))
    second = where(is_below ^ is_left, -second, second)
    return _ends(re, im, first, second)


def _ends(re: Number, im: Number, first: Number, second: Number) -> tuple[Number, Number]:
    """What SciPy has on the imaginary axis, and for infinite parts."""
    none = (re != re) | (im != im) | ((im == -math.inf) & (re != 0.0))
    is_endless = abs(re) == math.inf
    sign = Number(re.b, re.b.let("copysign", re.type, 0.0, re.x), re.type)
    first = where(is_endless | (im == math.inf), 0.0, first)
    second = where(is_endless, sign, second)
    second = where(im == math.inf, 0.0, second)
    first, second = where(none, math.nan, first), where(none, math.nan, second)
    is_axis = re == 0.0
    first = where(is_axis & (im == -math.inf), math.inf, first)
    return first, where(is_axis, re, second)


def erfcx(re: Number, im: Number) -> tuple[Number, Number]:
    """e^(z^2) erfc(z), which is w(iz)."""
    return wofz(-im, re)
