"""Bessel functions of real order, elementwise on floats, with their derivatives in the argument.

The order is an attribute: the derivative of each is made of its neighbours in order, so that every order of derivative
is exact also at 0, where formulas that divide by the argument have a hole.
"""

from __future__ import annotations

from typing import Any

from .._core.op import Op, elementwise
from .._core.tensor import Tensor
from .bodies import in_float32
from .discrete import gt, isinf, sign
from .elementwise import reciprocal
from .piecewise import abs_
from .structural import add, add_number, fill, mul, neg, select, sub, times_number

_REF = "NIST Digital Library of Mathematical Functions, 10.6.1 and 10.29.1"


def _bessel(name: str, partials: Any, doc: str, **facts: Any) -> Op:
    return elementwise(name, "x", partials=partials, dtypes="float", doc=doc, ref=_REF, **facts)


def _half_difference(function: Op, x: Tensor, order: float) -> Tensor:
    """(C_(v-1) - C_(v+1)) / 2, the derivative of the functions J and Y."""
    if order == 0:
        return neg(function(x, order=1))
    return times_number(sub(function(x, order=order - 1), function(x, order=order + 1)), number=0.5)


def _second_kind_slope(x: Tensor, order: float) -> Tensor:
    """The same for Y, whose neighbours are infinite together near 0: there the one of the larger order counts."""
    if order == 0:
        return neg(yv(x, order=1))
    below, above = yv(x, order=order - 1), yv(x, order=order + 1)
    plain = times_number(sub(below, above), number=0.5)
    return select(isinf(above), neg(above), plain) if order > 0 else select(isinf(below), below, plain)


def _half_sum(function: Op, x: Tensor, order: float) -> Tensor:
    """(I_(v-1) + I_(v+1)) / 2, the derivative of I and, less its sign, of K; those of order -1 and 1 are equal."""
    if order == 0:
        return function(x, order=1)
    # halves, as the sum may be beyond the largest number
    below, above = (times_number(function(x, order=n), number=0.5) for n in (order - 1, order + 1))
    return add(below, above)


_STEPS = 28  # of the expansion in 1 / x
_FAR = 32.0  # and for orders v from 4 v on, it has all digits


def _expansion(order: float, growth: int) -> list[float]:
    """Of g = w - growth, where w = I'/I (growth 1) or K'/K (growth -1), the coefficients of x^-1, x^-2, ...

    From Riccati's equation of the modified Bessel functions, w' + w^2 + w / x = 1 + (v / x)^2.
    """
    g = [0.0]
    for m in range(1, _STEPS):
        squares = sum(g[i] * g[m - i] for i in range(1, m))
        rest = (m - 2) * g[m - 1] - squares - growth * (m == 1) + order * order * (m == 2)
        g.append(rest * growth / 2)
    return g


@in_float32
def _scaled_slope(slope: Tensor, x: Tensor, out: Tensor, order: float, growth: int) -> Tensor:
    """The slope of a modified Bessel function times e^-|x| or e^x, from the so scaled slope of the function.

    The two cancel for large x to 1 / x of their size, so that there the slope is out g, g by its expansion. Where the
    neighbours of the function are beyond the largest number, near 0, they count alone.
    """
    is_right = sign(x)
    plain = sub(slope, mul(is_right, out)) if growth > 0 else add(slope, out)
    plain = select(isinf(slope), slope, plain)
    distance, from_here = abs_(x), max(_FAR, 4 * abs(order))
    is_far = gt(distance, fill(x, from_here))
    # in from_here / x, whose coefficients single precision holds
    place = times_number(reciprocal(select(is_far, distance, fill(x, from_here))), number=from_here)
    total = fill(x, 0)
    for power, coefficient in reversed([*enumerate(_expansion(order, growth))]):
        total = add_number(mul(total, place), number=coefficient / from_here**power)
    far = mul(out, total)
    return select(is_far, mul(is_right, far) if growth > 0 else far, plain)


_ORDERS = [(((3, 2),), (0,)), (((3,),), (1,)), (((),), (3,)), (((4,),), (2.5,))]
_BEND = "the middle of the slopes of its two sides at 0"
_RIGHT: dict[str, Any] = {"attrs": "order", "samples": _ORDERS, "domain": (0.3, 4.0)}

jv = _bessel("jv", lambda x, order: _half_difference(jv, x, order), "the Bessel function of the first kind", **_RIGHT)
yv = _bessel(
    "yv", lambda x, order: _second_kind_slope(x, order), "the Bessel function of the second kind",
    kink="-inf at 0, and NaN below", **_RIGHT,
)  # fmt: skip
iv = _bessel("iv", lambda x, order: _half_sum(iv, x, order), "the modified Bessel function of the first kind", **_RIGHT)
ive = _bessel(
    "ive", lambda x, out, order: _scaled_slope(_half_sum(ive, x, order), x, out, order, 1), "e^-|x| iv(x)",
    kink=_BEND, **_RIGHT,
)  # fmt: skip
kv = _bessel(
    "kv", lambda x, order: neg(_half_sum(kv, x, order)), "the modified Bessel function of the second kind",
    kink="inf at 0, and NaN below", **_RIGHT,
)  # fmt: skip
kve = _bessel(
    "kve", lambda x, out, order: _scaled_slope(neg(_half_sum(kve, x, order)), x, out, order, -1), "e^x kv(x)",
    kink="inf at 0, and NaN below", **_RIGHT,
)  # fmt: skip

i0 = _bessel("i0", lambda x: i1(x), "the modified Bessel function of order 0")
i1 = _bessel("i1", lambda x: _half_sum(iv, x, 1), "the modified Bessel function of order 1")
i0e = _bessel("i0e", lambda x, out: _scaled_slope(i1e(x), x, out, 0, 1), "e^-|x| i0(x)", kink=_BEND, domain=(0.2, 3.0))
i1e = _bessel(
    "i1e", lambda x, out: _scaled_slope(_half_sum(ive, x, 1), x, out, 1, 1), "e^-|x| i1(x)", kink=_BEND,
    domain=(0.2, 3.0),
)  # fmt: skip
