"""Owen's T function as vector code: an integral of a bell over a slope that is at most 1, without branches.

T(h, a) is the integral of exp(-h^2 (1 + x^2) / 2) / (2 pi (1 + x^2)) over x from 0 to a. The integrand is even, so half
of Gauss' and Legendre's places on both sides serve; where the bell is narrower than a, they stand where it is not yet
next to nothing. A slope above 1 comes to its inverse (D. B. Owen, Tables for computing bivariate normal probabilities,
Annals of Mathematical Statistics 27, 1956): what the two have together is made of the normal distribution's tails.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from .error_function import erfc
from .numbers import Number, Some, at_most, exp, fma, where
from .single_precision import tail


class _Exactness(NamedTuple):
    """What a type needs.

    Attributes:
        places: squares of Gauss' and Legendre's places above 0 and their weights, an even number of them.
        reach: standard deviations beyond which the bell is next to nothing beside its middle.
        nothing: the h from which on the function is 0.
        steep: a slope that is as good as infinite.
    """

    places: Sequence[tuple[float, float]]
    reach: float
    nothing: float
    steep: float


_EXACTNESS = {
    "f64": _Exactness((
        (0.0015033003592635162, 0.0775059479784248), (0.013475511464537647, 0.07703981816424797),
        (0.03713235760816143, 0.07611036190062624), (0.0719055943241644, 0.07472316905796826),
        (0.11695995815973713, 0.07288658239580406), (0.17121322997039845, 0.07061164739128678),
        (0.23336223017474425, 0.0679120458152339), (0.3019141215603053, 0.06480401345660104),
        (0.3752222677473721, 0.06130624249292894), (0.45152578599767995, 0.05743976909939155),
        (0.5289918443325199, 0.05322784698393682), (0.6057596870424587, 0.04869580763507223),
        (0.6799853312398909, 0.04387090818567327), (0.7498858612036233, 0.038782167974472016),
        (0.8137822575346664, 0.033460195282547844), (0.870139735288751, 0.0279370069800234),
        (0.917604632532668, 0.02224584919416696), (0.955037009842289, 0.01642105838190789),
        (0.9815384800475735, 0.010498284531152813), (0.9964785250881827, 0.004521277098533191),
    ), 8.3, 40.0, 1e300),
    "f32": _Exactness((
        (0.005856308437, 0.1527533871), (0.05188639398, 0.1491729865), (0.1396562407, 0.1420961093),
        (0.2609850937, 0.1316886384), (0.4045642848, 0.118194532), (0.5570113146, 0.1019301198),
        (0.7041172924, 0.08327674158), (0.8321716521, 0.06267204833), (0.9292418766, 0.0406014298),
        (0.9863044145, 0.01761400714),
    ), 5.6, 15.0, 1e36),
}  # fmt: skip


def owens_t(h: Number, a: Number) -> Number:
    """The function of numbers of one type."""
    exactness = _EXACTNESS[h.type]
    size, slope = at_most(abs(h), exactness.nothing), at_most(abs(a), exactness.steep)
    is_steep = slope > 1.0
    place = at_most(where(is_steep, size * slope, size), exactness.nothing)
    flat = where(is_steep, 1.0 / where(is_steep, slope, 1.0), slope)
    found = _of_flat(place, flat, exactness)
    one, two = _tail(size), _tail(place)
    found = where(is_steep, fma(one, 0.5 - two, 0.5 * two) - found, found)
    return where(a < 0.0, -found, found)


# the root of 1/2 in two parts
_ROOT, _ROOT_REST = 0.7071067811865476, -4.833646656726457e-17


def _tail(x: Number) -> Number:
    """The mass of the normal distribution beyond a number that is not negative."""
    if x.type == "f32":
        return tail(x)
    place = x * _ROOT
    lost = fma(x, _ROOT, -place) + x * _ROOT_REST
    return 0.5 * erfc(place) * (1.0 - 2.0 * place * lost)


def _of_flat(h: Number, a: Number, exactness: _Exactness) -> Number:
    is_narrow = h * a > exactness.reach
    end = where(is_narrow, exactness.reach / where(is_narrow, h, 1.0), a)
    width, square = h * end, end * end
    bell = -0.5 * (width * width)
    parts = [(weight * exp(place * bell), fma(square, place, 1.0)) for place, weight in exactness.places]
    total: Some = 0
    for (first, over), (second, under) in zip(parts[::2], parts[1::2], strict=True):  # one division for two
        total = total + fma(first, under, second * over) / (over * under)
    square_of_h = h * h
    lost = fma(h, h, -square_of_h)
    middle = exp(-0.5 * square_of_h) * (1.0 - 0.5 * lost)
    return (end * (0.5 / math.pi)) * total * middle
