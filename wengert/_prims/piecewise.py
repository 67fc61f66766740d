"""Elementwise functions with kinks: absolute value, choices between operands, remainders, and the smooth functions
whose formulas have a hole (sinc, xlogy).

What the slope is at each kink stands in the declaration and is a test. Choices are written with `select` on
cotangents and tangents, never as a product with a slope of 0, so that what was not chosen cannot turn into NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.op import ZERO, batch_elementwise, elementwise, elementwise_type, general
from .._core.tensor import Tensor
from .bodies import in_float32
from .discrete import eq, floor_divide, ge, gt, le, logical_and, logical_not, logical_or, lt, rint, sign
from .elementwise import cos, div, log, log1p, reciprocal, sin
from .structural import add, add_number, cast, conj_of, fill, mul, neg, real, select, sub, times_number


def _choice(name: str, operands: str, *, vjp: Any, jvp: Any, doc: str, **options: Any) -> Any:
    """Declares an op that hands each cotangent to the operand that was chosen."""
    category = options.setdefault("dtypes", "real")
    return general(
        name, operands, vjp=vjp, jvp=jvp, type=elementwise_type(name, None, category), batch=batch_elementwise,
        inserts_zeros=True, leaves_zeros=True, doc=doc, mixes="nothing", exact=True, **options,
    )  # fmt: skip


def _keep(cond: Tensor, x: Tensor) -> Tensor:
    """x where cond, else 0."""
    return select(cond, x, fill(x, 0))


# -- magnitude, phase and sign -----------------------------------------------------------------------------------


def unit(z: Tensor) -> Tensor:
    """z / |z|, and 0 at 0: the direction of a complex number, the sign of a real one.

    `sign` is constant between its jumps and this is not: a complex direction turns with z.
    """
    return _direction(z, abs_(z)) if z.dtype.kind == "c" else sign(z)


def _direction(z: Tensor, magnitude: Tensor) -> Tensor:
    """z over its magnitude, and 0 at 0 with slope 0."""
    if z.dtype.kind != "c":
        return sign(z)
    is_zero = eq(magnitude, fill(magnitude, 0))
    safe = select(is_zero, fill(magnitude, 1), magnitude)
    return _keep(logical_not(is_zero), div(z, cast(safe, z.dtype)))


def _along(direction: Tensor, z_dot: Tensor, times: Callable[..., Any]) -> Tensor:
    """Re(conj(direction) z_dot), the part of a tangent in a direction."""
    product = times(z_dot, conj_of(direction))
    return real(product) if product.dtype.kind == "c" else product


abs_ = general(
    "abs", "x", vjp=(lambda ct, x, out, times: times(cast(ct, x.dtype), _direction(x, out)),),
    cost="light",
    jvp=lambda x, out, x_dot, times: _along(_direction(x, out), x_dot, times),
    type=elementwise_type("abs", dtypes.real_of, "number"), batch=batch_elementwise, dtypes="number",
    kink="zero at 0", domain=(0.2, 2.0), doc="the magnitude",
    mixes="nothing",
    exact=True,
)  # fmt: skip


def _turn(z: Tensor) -> Tensor:
    """i z / |z|^2, the direction in which the angle of z grows, over |z|; 0 at 0."""
    is_zero = eq(z, fill(z, 0))
    # by the conjugate, for |z|^2 can overflow where the quotient does not
    return _keep(logical_not(is_zero), times_number(reciprocal(conj_of(select(is_zero, fill(z, 1), z))), number=1j))


def _angle_vjp(ct: Tensor, x: Tensor, times: Callable[..., Any]) -> Any:
    return times(cast(ct, x.dtype), _turn(x)) if x.dtype.kind == "c" else ZERO


def _angle_jvp(x: Tensor, x_dot: Tensor, times: Callable[..., Any]) -> Any:
    return _along(_turn(x), x_dot, times) if x.dtype.kind == "c" else ZERO


angle = general(
    "angle", "x", vjp=(_angle_vjp,), jvp=_angle_jvp, type=elementwise_type("angle", dtypes.real_of, "inexact"),
    batch=batch_elementwise, domain=(0.2, 2.0), kink="zero at 0, and everywhere on real operands",
    doc="the angle in radians of a complex number with the positive axis; 0 or pi for a real one",
    mixes="nothing",
)  # fmt: skip


def _copysign_slope(x: Tensor, y: Tensor) -> Tensor:
    return mul(sign(x), copysign(fill(x, 1), y))


copysign = general(
    "copysign", "x y", vjp=(lambda ct, x, y, times: times(ct, _copysign_slope(x, y)), lambda: ZERO),
    jvp=lambda x, y, x_dot, times: times(x_dot, _copysign_slope(x, y)),
    type=elementwise_type("copysign", None, "float"), batch=batch_elementwise, dtypes="float",
    domain=((0.2, 2.0), (-2.0, -0.2)),
    kink="zero at x = 0; zero for y", doc="the magnitude of x with the sign of y",
    mixes="nothing",
    exact=True,
)  # fmt: skip

# -- choices ------------------------------------------------------------------------------------------------------


def _shared(is_chosen: Callable[..., Any], is_other: Callable[..., Any]) -> Any:
    """The rules of maximum and minimum: the chosen operand has all, and both have half where neither is (a tie, or
    a NaN)."""

    def to_first(ct: Tensor, x: Tensor, y: Tensor) -> Tensor:
        half = times_number(ct, number=0.5)
        return select(is_chosen(x, y), ct, select(is_other(x, y), fill(ct, 0), half))

    def to_second(ct: Tensor, x: Tensor, y: Tensor) -> Tensor:
        half = times_number(ct, number=0.5)
        return select(is_other(x, y), ct, select(is_chosen(x, y), fill(ct, 0), half))

    def forward(x: Tensor, y: Tensor, x_dot: Tensor, y_dot: Tensor) -> Tensor:
        mean = times_number(add(x_dot, y_dot), number=0.5)
        return select(is_chosen(x, y), x_dot, select(is_other(x, y), y_dot, mean))

    return {"vjp": (to_first, to_second), "jvp": forward, "kink": "half to each operand at a tie"}


maximum = _choice("maximum", "x y", **_shared(gt, lt), cost="light", doc="the larger of x and y; NaN if one of them is")
minimum = _choice(
    "minimum", "x y", **_shared(lt, gt), cost="light", doc="the smaller of x and y; NaN if one of them is"
)


def _first_unless(is_other: Callable[..., Any]) -> Any:
    """The rules of fmax and fmin: the second operand where it wins or the first is NaN, else the first."""

    def takes_second(x: Tensor, y: Tensor) -> Tensor:
        is_nan = logical_and(logical_not(eq(x, x)), eq(y, y))
        return logical_or(is_other(x, y), is_nan)

    return {
        "vjp": (
            lambda ct, x, y: select(takes_second(x, y), fill(ct, 0), ct),
            lambda ct, x, y: _keep(takes_second(x, y), ct),
        ),
        "jvp": lambda x, y, x_dot, y_dot: select(takes_second(x, y), y_dot, x_dot),
        "kink": "all to the first operand at a tie",
    }


fmax = _choice("fmax", "x y", **_first_unless(lt), doc="the larger of x and y; the other one if one is NaN")
fmin = _choice("fmin", "x y", **_first_unless(gt), doc="the smaller of x and y; the other one if one is NaN")


def _is_inside(x: Tensor, lo: Tensor, hi: Tensor) -> Tensor:
    return logical_and(ge(x, lo), le(x, hi))


def _is_below(x: Tensor, lo: Tensor, hi: Tensor) -> Tensor:
    return logical_and(lt(x, lo), le(lo, hi))


def _is_above(x: Tensor, lo: Tensor, hi: Tensor) -> Tensor:
    return logical_or(gt(x, hi), gt(lo, hi))


def _clip_jvp(x: Tensor, lo: Tensor, hi: Tensor, x_dot: Tensor, lo_dot: Tensor, hi_dot: Tensor) -> Tensor:
    ends = select(_is_below(x, lo, hi), lo_dot, _keep(_is_above(x, lo, hi), hi_dot))
    return select(_is_inside(x, lo, hi), x_dot, ends)


clip = _choice(
    "clip", "x lo hi", jvp=_clip_jvp,
    vjp=(
        lambda ct, x, lo, hi: _keep(_is_inside(x, lo, hi), ct),
        lambda ct, x, lo, hi: _keep(_is_below(x, lo, hi), ct),
        lambda ct, x, lo, hi: _keep(_is_above(x, lo, hi), ct),
    ),
    domain=((-2.0, 2.0), (-1.5, -0.5), (0.5, 1.5)),
    kink="all to x on the closed interval; all to hi where lo > hi; none where an operand is NaN",
    doc="x no smaller than lo and no larger than hi; hi where lo > hi",
)  # fmt: skip

relu = _choice(
    "relu", "x", vjp=(lambda ct, out: _keep(gt(out, fill(out, 0)), ct),),
    jvp=lambda out, x_dot: _keep(gt(out, fill(out, 0)), x_dot), kink="zero at 0", doc="max(x, 0)",
)  # fmt: skip


def _heaviside_to_y(ct: Tensor, x: Tensor) -> Tensor:
    return _keep(eq(x, fill(x, 0)), ct)


heaviside = _choice(
    "heaviside", "x y", vjp=(lambda: ZERO, _heaviside_to_y), jvp=lambda x, y_dot: _heaviside_to_y(y_dot, x),
    dtypes="float", kink="zero for x; 1 for y where x is 0", domain=((0.2, 2.0), (-2.0, 2.0)),
    doc="0 where x < 0, y where x is 0, 1 where x > 0",
)  # fmt: skip

# -- remainders ----------------------------------------------------------------------------------------------------


mod = general(
    "mod", "x y", vjp=(lambda ct: ct, lambda ct, x, y, times: times(ct, neg(floor_divide(x, y)))),
    jvp=lambda x, y, x_dot, y_dot, times: sub(x_dot, times(y_dot, floor_divide(x, y))),
    type=elementwise_type("mod", None, "real"), batch=batch_elementwise, dtypes="real",
    domain=((-2.4, -2.1), (0.85, 1.0)), kink="1 for x and -floor(x / y) for y, also at the jumps",
    doc="the remainder of x / y with the sign of y",
    mixes="nothing",
)  # fmt: skip


def _whole_quotient(x: Tensor, y: Tensor, out: Tensor) -> Tensor:
    """trunc(x / y), from the remainder: the rounded x / y alone may fall on the wrong side of a whole number."""
    return rint(div(sub(x, out), y))


fmod = general(
    "fmod", "x y", vjp=(lambda ct: ct, lambda ct, x, y, out, times: times(ct, neg(_whole_quotient(x, y, out)))),
    jvp=lambda x, y, out, x_dot, y_dot, times: sub(x_dot, times(y_dot, _whole_quotient(x, y, out))),
    type=elementwise_type("fmod", None, "real"), batch=batch_elementwise, dtypes="real",
    domain=((-2.4, -2.1), (0.85, 1.0)), kink="1 for x and -trunc(x / y) for y, also at the jumps",
    doc="the remainder of x / y with the sign of x",
    mixes="nothing",
)  # fmt: skip

# -- formulas with a hole ---------------------------------------------------------------------------------------------

_SERIES_TERMS = 20  # beyond the first order + 1 terms; enough for arguments up to order + 2


def _sinc_body(x: Tensor, order: int) -> Tensor:
    """The derivative of sin(z) / z at z = pi x, times pi ** order."""
    z = times_number(x, number=math.pi)
    is_near = lt(abs_(z), fill(abs_(z), order + 0.5)) if order else eq(x, fill(x, 0))
    near = _sinc_series(_keep(is_near, z), order)
    far = _sinc_recurrence(x, select(is_near, fill(z, 1), z), order)
    found = select(is_near, near, far)
    # a complex infinity times 1 is NaN
    return times_number(found, number=math.pi**order) if order else found


def _sinc_series(z: Tensor, order: int) -> Tensor:
    """The derivative's Taylor series at 0: the terms (-1)^k z^(2k - order) / ((2k + 1) (2k - order)!)."""
    first = (order + 1) // 2
    last = first + order + _SERIES_TERMS if order else 0
    total, square = fill(z, 0), mul(z, z)
    for k in range(last, first - 1, -1):
        coefficient = (-1) ** k / ((2 * k + 1) * math.factorial(2 * k - order))
        total = add_number(mul(total, square), number=coefficient)
    return mul(total, z) if (2 * first - order) == 1 else total


def _sinc_recurrence(x: Tensor, z: Tensor, order: int) -> Tensor:
    """z f_n + n f_(n-1) = sin(z + n pi / 2), from z f = sin z differentiated n times; stable while n < |z|.

    The angle is taken from x, of which whole turns leave an exact rest; rounded z has none far out.
    """
    whole = real(x) if dtypes.is_complex(x.dtype) else x
    turned = times_number(rint(times_number(whole, number=0.5)), number=2)
    angle = times_number(sub(x, cast(turned, x.dtype)), number=math.pi)
    sine, cosine = sin(angle), cos(angle)
    cycle = (sine, cosine, neg(sine), neg(cosine))
    derivative = div(sine, z)
    for n in range(1, order + 1):
        derivative = div(sub(cycle[n % 4], times_number(derivative, number=n)), z)
    return derivative


sinc = elementwise(
    "sinc", "x", attrs="order", body=in_float32(_sinc_body), dtypes="inexact",
    partials=lambda x, order: sinc(x, order=order + 1),
    samples=[(((3, 2),), (0,)), (((3,),), (1,)), (((),), (3,)), ((lambda rng: np.zeros(2),), (2,))],
    doc="the derivative of the given order of sin(pi x) / (pi x), which is smooth at 0",
)  # fmt: skip


def _is_corner(x: Tensor, y: Tensor, corner: float) -> Tensor:
    return logical_and(eq(x, fill(x, 0)), eq(y, fill(y, corner)))


def _unless_corner(slope: Callable[..., Any], corner: float) -> Any:
    """A slope with 0 at the point x = 0, y = corner."""

    def rule(x: Tensor, y: Tensor) -> Tensor:
        is_corner = _is_corner(x, y, corner)
        return select(is_corner, fill(x, 0), slope(x, select(is_corner, fill(y, 1), y)))

    return rule


def _times_log(log_of: Callable[..., Any], neutral: float) -> Any:
    """x times a logarithm of y, and 0 where x is 0 and y a number."""

    def body(x: Tensor, y: Tensor) -> Tensor:
        is_nothing = logical_and(eq(x, fill(x, 0)), eq(y, y))
        return _keep(logical_not(is_nothing), mul(x, log_of(select(is_nothing, fill(y, neutral), y))))

    return in_float32(body)


xlogy = elementwise(
    "xlogy", "x y", body=_times_log(log, 1),
    partials=(_unless_corner(lambda x, y: log(y), 0), _unless_corner(lambda x, y: div(x, y), 0)),
    dtypes="float", domain=((-2.0, 2.0), (0.2, 3.0)), kink="zero for both operands at (0, 0)",
    doc="x log(y), and 0 where x is 0",
)  # fmt: skip
xlog1py = elementwise(
    "xlog1py", "x y", body=_times_log(log1p, 0), dtypes="float",
    domain=((-2.0, 2.0), (-0.5, 3.0)), kink="zero for both operands at (0, -1)",
    partials=(_unless_corner(lambda x, y: log1p(y), -1),
              _unless_corner(lambda x, y: div(x, add_number(y, number=1)), -1)),
    doc="x log(1 + y), and 0 where x is 0",
)  # fmt: skip
