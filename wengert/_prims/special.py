"""The error and gamma functions and exponential integrals, elementwise on floats.

A family whose derivatives are members of the same family (polygamma) is one op with the member as an attribute, so
that every order is exact also where the closed formula has a hole.
"""

from __future__ import annotations

import math
from typing import Any

from .._core import dtypes
from .._core.op import Op, elementwise
from .._core.tensor import Tensor
from .discrete import eq, gt, logical_and
from .elementwise import div, exp, reciprocal
from .structural import add, cast, fill, mul, neg, select, times_number

_POSITIVE = (0.3, 4.0)
_VANISHED = 200.0  # e^(-x^2 / 2) is 0 in every dtype, and the square a float16


def _special(name: str, partials: Any, doc: str, **facts: Any) -> Op:
    return elementwise(name, facts.pop("operands", "x"), partials=partials, dtypes="float", doc=doc, **facts)


def _exp_square(x: Tensor, factor: float, scale: float) -> Tensor:
    """scale * e^(factor x^2).

    Where that has vanished it is that of a constant: its own slope has a factor x, infinite at an infinity.
    """
    if factor < 0:
        x = select(gt(mul(x, x), fill(x, _VANISHED**2)), fill(x, _VANISHED), x)
    return times_number(exp(times_number(mul(x, x), number=factor)), number=scale)


# -- the error function and the normal distribution -----------------------------------------------------------------

_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
_ONE_OVER_ROOT_2PI = 1 / math.sqrt(2 * math.pi)

erf = _special(
    "erf", lambda x: _exp_square(x, -1, _TWO_OVER_ROOT_PI), "the error function: 2/sqrt(pi) times the integral of "
    "e^(-t^2) from 0 to x",
)  # fmt: skip
erfc = _special("erfc", lambda x: _exp_square(x, -1, -_TWO_OVER_ROOT_PI), "1 - erf(x), exact for large x")
erfinv = _special(
    "erfinv", lambda out: _exp_square(out, 1, 1 / _TWO_OVER_ROOT_PI), "the number whose erf is x",
    domain=(-0.9, 0.9), kink="infinite slope at -1 and 1",
)  # fmt: skip

erfcx = _special(
    "erfcx", lambda x: times_number(erfcx_integral(x, order=1), number=-2),
    "e^(x^2) erfc(x), which neither overflows nor vanishes for large x",
)  # fmt: skip
# i^n erfc, scaled, is a family closed under differentiation, in which nothing cancels
erfcx_integral = _special(
    "erfcx_integral", lambda x, order: times_number(erfcx_integral(x, order=order + 1), number=-2 * (order + 1)),
    "e^(x^2) times the integral of the given order of erfc, from x to inf; erfcx for order 0", attrs="order",
    samples=[(((3, 2),), (1,)), (((3,),), (2,)), (((),), (3,))],
    ref="NIST Digital Library of Mathematical Functions, 7.18",
)  # fmt: skip

ndtr = _special("ndtr", lambda x: _exp_square(x, -0.5, _ONE_OVER_ROOT_2PI), "the standard normal distribution function")


def _ndtri_slope(x: Tensor, out: Tensor) -> Tensor:
    """1 / density: for small x by the hazard, since a rounding error of a large result would be magnified by exp."""
    is_small = logical_and(gt(x, fill(x, 0)), gt(fill(x, 0.1), x))
    tail = reciprocal(mul(select(is_small, x, fill(x, 1)), hazard(select(is_small, out, fill(x, 0)))))
    return select(is_small, tail, _exp_square(out, 0.5, 1 / _ONE_OVER_ROOT_2PI))


ndtri = _special(
    "ndtri", _ndtri_slope, "the standard normal quantile of x", domain=(0.05, 0.95), kink="infinite slope at 0 and 1",
)  # fmt: skip


def _hazard_slope(x: Tensor, out: Tensor) -> Tensor:
    """-out (x + out), whose terms cancel in the left tail: there their sum is a ratio of integrals of erfc."""
    if dtypes.is_half(x.dtype):
        wide = cast(x, dtypes.float32)
        return cast(_hazard_slope(wide, hazard(wide)), x.dtype)
    zero = fill(x, 0)
    is_right = gt(x, zero)
    left = times_number(select(is_right, zero, x), number=-math.sqrt(0.5))
    is_far = gt(left, fill(x, 1e8))  # further out the integral vanishes before the ratio does
    near = select(is_far, fill(x, 1), left)
    ratio = div(erfcx_integral(near, order=1), erfcx(near))
    ratio = select(is_far, times_number(reciprocal(select(is_far, left, fill(x, 1))), number=0.5), ratio)
    ratio = times_number(ratio, number=math.sqrt(2))
    return neg(mul(out, select(is_right, add(x, out), ratio)))


hazard = _special(
    "normal_hazard", lambda x, out: _hazard_slope(x, out),
    "density / distribution function of the standard normal distribution, exact in both tails",
)  # fmt: skip
log_ndtr = _special(
    "log_ndtr", lambda x: hazard(x), "the logarithm of the standard normal distribution function, exact in its tail"
)

# -- the gamma function ---------------------------------------------------------------------------------------------

lgamma = _special(
    "lgamma", lambda x: digamma(x), "the logarithm of |gamma(x)|", domain=_POSITIVE,
    kink="not defined at 0, -1, -2, ...",
)  # fmt: skip
digamma = _special(
    "digamma", lambda x: polygamma(x, order=1), "the derivative of log(gamma(x))", domain=_POSITIVE,
    kink="not defined at 0, -1, -2, ...",
)  # fmt: skip
polygamma = _special(
    "polygamma", lambda x, order: polygamma(x, order=order + 1),
    "the derivative of the given order of digamma (digamma itself for 0)", attrs="order", domain=_POSITIVE,
    samples=[(((3, 2),), (0,)), (((3,),), (1,)), (((),), (2,))], kink="not defined at 0, -1, -2, ...",
)  # fmt: skip
gamma = _special(
    "gamma", lambda x, out: mul(out, digamma(x)), "the gamma function, (x - 1)! at whole x", domain=_POSITIVE,
    kink="not defined at 0, -1, -2, ...",
)  # fmt: skip

# -- the beta function and exponential integrals ----------------------------------------------------------------------


polygamma_step = _special(
    "polygamma_step",
    (
        lambda a, b, order: polygamma_step(a, b, order=order + 1),
        lambda a, b, order: polygamma(add(a, b), order=order + 1),
    ),
    "polygamma(a + b) - polygamma(a) of the given order (0 is digamma's), which does not cancel for small b",
    operands="a b", attrs="order", domain=_POSITIVE,
    samples=[(((3, 2), (3, 2)), (0,)), (((4,), (4,)), (1,)), (((), ()), (2,))],
)  # fmt: skip
poch = _special(
    "poch", (lambda a, b, out: mul(out, polygamma_step(a, b, order=0)), lambda a, b, out: mul(out, digamma(add(a, b)))),
    "gamma(a + b) / gamma(a) for positive a and a + b, which neither overflows nor cancels before its value does",
    operands="a b", domain=_POSITIVE,
)  # fmt: skip


def _log_slope(own: Tensor, other: Tensor) -> Tensor:
    """The slope of log(beta) in one of its arguments."""
    return neg(polygamma_step(own, other, order=0))


beta = _special(
    "beta", (lambda a, b, out: mul(out, _log_slope(a, b)), lambda a, b, out: mul(out, _log_slope(b, a))),
    "gamma(a) gamma(b) / gamma(a + b)", operands="a b", domain=_POSITIVE,
)  # fmt: skip
betaln = _special(
    "betaln", (lambda a, b: _log_slope(a, b), lambda a, b: _log_slope(b, a)), "the logarithm of |beta(a, b)|",
    operands="a b", domain=_POSITIVE,
)  # fmt: skip


def _expi_slope(x: Tensor) -> Tensor:
    is_limit = eq(x, fill(x, math.inf))
    return select(is_limit, x, div(exp(x), select(is_limit, fill(x, 1), x)))


expi = _special(
    "expi", _expi_slope, "the exponential integral Ei(x), that of e^t / t from -inf to x",
    domain=_POSITIVE, kink="-inf at 0",
)  # fmt: skip
exp1 = _special(
    "exp1", lambda x: neg(div(exp(neg(x)), x)), "the exponential integral E1(x), that of e^-t / t from x to inf",
    domain=_POSITIVE, kink="inf at 0, and NaN below",
)  # fmt: skip
