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
from .discrete import gt
from .elementwise import div, exp, reciprocal
from .structural import add, add_number, cast, fill, mul, neg, select, sub, times_number

_POSITIVE = (0.3, 4.0)


def _special(name: str, partials: Any, doc: str, **facts: Any) -> Op:
    return elementwise(name, facts.pop("operands", "x"), partials=partials, dtypes="float", doc=doc, **facts)


def _exp_square(x: Tensor, factor: float, scale: float) -> Tensor:
    """scale * e^(factor x^2)."""
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

_FAR = 20.0  # from here on nine terms of the asymptotic series are exact to double precision
_FAR_TERMS = 9


def _erfcx_slope_far(x: Tensor) -> Tensor:
    """The derivative of the asymptotic series: -1/(sqrt(pi) x^2) times the sum of (2k + 1)!! (-1 / (2 x^2))^k."""
    inverse_square = reciprocal(mul(x, x))
    total = fill(x, 0)
    for k in range(_FAR_TERMS - 1, -1, -1):
        coefficient = math.prod(range(1, 2 * k + 2, 2)) * (-0.5) ** k
        total = add_number(mul(total, inverse_square), number=coefficient)
    return times_number(mul(total, inverse_square), number=-0.5 * _TWO_OVER_ROOT_PI)


def _erfcx_slope(x: Tensor, out: Tensor) -> Tensor:
    """2 x erfcx(x) - 2/sqrt(pi), whose terms cancel where x is large."""
    if dtypes.is_half(x.dtype):  # neither the difference nor the series' coefficients fit half floats
        wide = cast(x, dtypes.float32)
        return cast(_erfcx_slope(wide, erfcx(wide)), x.dtype)
    near = add_number(times_number(mul(x, out), number=2), number=-_TWO_OVER_ROOT_PI)
    far = fill(x, _FAR)
    is_far = gt(x, far)
    return select(is_far, _erfcx_slope_far(select(is_far, x, far)), near)


erfcx = _special("erfcx", _erfcx_slope, "e^(x^2) erfc(x), which neither overflows nor vanishes for large x")

ndtr = _special("ndtr", lambda x: _exp_square(x, -0.5, _ONE_OVER_ROOT_2PI), "the standard normal distribution function")
ndtri = _special(
    "ndtri", lambda out: _exp_square(out, 0.5, 1 / _ONE_OVER_ROOT_2PI), "the standard normal quantile of x",
    domain=(0.05, 0.95), kink="infinite slope at 0 and 1",
)  # fmt: skip


def hazard(x: Tensor) -> Tensor:
    """density / distribution, through erfcx so that neither tail is 0 / 0."""
    if dtypes.is_half(x.dtype):
        return cast(hazard(cast(x, dtypes.float32)), x.dtype)
    return times_number(reciprocal(erfcx(times_number(x, number=-math.sqrt(0.5)))), number=math.sqrt(2 / math.pi))


log_ndtr = _special(
    "log_ndtr", hazard, "the logarithm of the standard normal distribution function, exact in its tail"
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


def _log_slope(own: Tensor, other: Tensor) -> Tensor:
    """The slope of log(beta) in one of its arguments."""
    return sub(digamma(own), digamma(add(own, other)))


beta = _special(
    "beta", (lambda a, b, out: mul(out, _log_slope(a, b)), lambda a, b, out: mul(out, _log_slope(b, a))),
    "gamma(a) gamma(b) / gamma(a + b)", operands="a b", domain=_POSITIVE,
)  # fmt: skip
betaln = _special(
    "betaln", (lambda a, b: _log_slope(a, b), lambda a, b: _log_slope(b, a)), "the logarithm of |beta(a, b)|",
    operands="a b", domain=_POSITIVE,
)  # fmt: skip
expi = _special(
    "expi", lambda x: div(exp(x), x), "the exponential integral Ei(x), that of e^t / t from -inf to x",
    domain=_POSITIVE, kink="-inf at 0",
)  # fmt: skip
exp1 = _special(
    "exp1", lambda x: neg(div(exp(neg(x)), x)), "the exponential integral E1(x), that of e^-t / t from x to inf",
    domain=_POSITIVE, kink="inf at 0, and NaN below",
)  # fmt: skip
