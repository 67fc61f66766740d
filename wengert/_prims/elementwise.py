"""Smooth elementwise mathematics on operands of one shape and dtype: a slope for each operand.

Comparisons, logic and rounding are in `discrete.py`; functions with kinks and choices in `piecewise.py`; the gamma
and error functions in `special.py`.
"""

from __future__ import annotations

import math
from typing import Any

from .._core.op import elementwise
from .._core.tensor import Tensor
from .bodies import in_float32
from .discrete import eq, gt, isfinite, isinf, logical_and, logical_not, lt
from .series import Series, constant, difference, integral, power_below_one, product, quotient, whole_power
from .structural import (
    add_number,
    as_complex,
    fill,
    imag,
    mul,
    neg,
    real,
    select,
    stop_gradient,
    sub,
    times_number,
)

_POSITIVE = (0.2, 3.0)
_INSIDE = (-0.9, 0.9)

# -- division, roots and powers ---------------------------------------------------------------------------------

div = elementwise(
    "div", "x y", partials=(lambda y: reciprocal(y), lambda y, out: neg(div(out, y))),
    domain=((-2.0, 2.0), (0.3, 2.0)), doc="x / y", jet=quotient, operator="/",
)  # fmt: skip
reciprocal = elementwise(
    "reciprocal", "x", partials=lambda out: neg(mul(out, out)), domain=(0.3, 2.0), doc="1 / x",
    jet=lambda x, out: quotient(constant(fill(x[0], 1)), x, out),
)  # fmt: skip
square = elementwise(
    "square", "x", partials=lambda x: times_number(x, number=2), dtypes="number", doc="x * x",
    jet=lambda x: lambda k: product(k, x, x),
)  # fmt: skip
sqrt = elementwise(
    "sqrt", "x", partials=lambda out: times_number(reciprocal(out), number=0.5), domain=_POSITIVE,
    kink="infinite slope at 0", doc="the square root",
)  # fmt: skip
rsqrt = elementwise(
    "rsqrt", "x", partials=lambda x, out: times_number(div(out, x), number=-0.5), domain=_POSITIVE,
    doc="1 / sqrt(x)",
)  # fmt: skip
cbrt = elementwise(
    "cbrt", "x", partials=lambda out: reciprocal(times_number(mul(out, out), number=3)), dtypes="float",
    domain=_POSITIVE, kink="infinite slope at 0", doc="the real cube root",
)  # fmt: skip


def _power_slope(x: Tensor, number: complex) -> Tensor:
    if number == 0:
        return fill(x, 0)
    if number == 1:
        return fill(x, 1)
    return times_number(x if number == 2 else power_number(x, number=number - 1), number=number)


def _power_series(x: Series, out: Series, number: complex) -> Any:
    if not isinstance(number, complex) and number < 1 and number != 0:
        return power_below_one(x, out, number, lambda: _power_slope(x[0], number))
    if isinstance(number, complex) or number == 0 or number != int(number):
        return None  # by the slopes, whose exponents are smaller by one each time
    return whole_power(x, int(number), lambda n: power_number(x[0], number=n)).__getitem__


power_number = elementwise(
    "power_number", "x", attrs="number", partials=_power_slope, jet=_power_series, dtypes="number", domain=_POSITIVE,
    samples=[(((3, 2),), (3,)), (((3,),), (-1.5,)), (((),), (0,)), (((2,),), (1,)), (((2,),), (2,))],
    kink="slope 0 where the exponent is 0, also at x = 0", doc="x to the power of a Python number",
)  # fmt: skip


def _root_slope(x: Tensor, out: Tensor, number: float) -> Tensor:
    """The slope of a root, and 0 at 0; chosen here, as zeros of a choice around the op would be a mask's."""
    is_zero = eq(x, fill(x, 0))
    base = select(is_zero, fill(x, 1), out if number == 0.5 else x)
    slope = reciprocal(base) if number == 0.5 else power_number(base, number=number - 1)
    return select(is_zero, fill(x, 0), times_number(slope, number=number))


root_flat = elementwise(
    "root_flat", "x", attrs="number", partials=_root_slope, dtypes="float", domain=_POSITIVE,
    body=lambda x, number: sqrt(x) if number == 0.5 else power_number(x, number=number),
    samples=[(((3, 2),), (0.5,)), (((3,),), (0.25,)), (((),), (-1.0,))],
    kink="slope 0 at 0", doc="x to the power of a Python number, with which norms are flat where they are 0",
)  # fmt: skip


def _power_slope_x(x: Tensor, y: Tensor) -> Tensor:
    # only 0 times infinity is replaced, so that the slope itself has its derivatives where y is 0; that slope's
    # derivative in y is 0 where the one of x ** y is chosen so, or the mixed second derivatives would differ
    exponent = y if x.dtype.kind == "c" else select(gt(x, fill(x, 0)), y, stop_gradient(y))
    rate = power(x, add_number(exponent, number=-1))
    is_hard = logical_and(eq(y, fill(y, 0)), logical_not(isfinite(rate)))
    return select(is_hard, fill(x, 0), mul(exponent, rate))


def _power_slope_y(x: Tensor, y: Tensor, out: Tensor) -> Tensor:
    if x.dtype.kind == "c":
        is_base = eq(x, fill(x, 0))
        return select(is_base, fill(x, 0), mul(out, log(select(is_base, fill(x, 1), x))))
    is_positive = gt(x, fill(x, 0))
    return select(is_positive, mul(out, log(select(is_positive, x, fill(x, 1)))), fill(x, 0))


power = elementwise(
    "power", "x y", partials=(_power_slope_x, _power_slope_y), dtypes="number", domain=(_POSITIVE, (-2.0, 2.0)),
    kink="d/dx is 0 where y is 0; d/dy is 0 where x <= 0", doc="x ** y",
)  # fmt: skip

# -- exponentials and logarithms ----------------------------------------------------------------------------------

exp = elementwise("exp", "x", partials=lambda out: out, doc="e ** x")
exp2 = elementwise("exp2", "x", partials=lambda out: times_number(out, number=math.log(2)), doc="2 ** x")
expm1 = elementwise("expm1", "x", partials=lambda x: exp(x), doc="e ** x - 1, exact near 0")  # out + 1 loses e ** -40
log = elementwise("log", "x", partials=lambda x: reciprocal(x), domain=_POSITIVE, doc="the natural logarithm")
log2 = elementwise(
    "log2", "x", partials=lambda x: reciprocal(times_number(x, number=math.log(2))), domain=_POSITIVE,
    doc="the logarithm to base 2",
)  # fmt: skip
log10 = elementwise(
    "log10", "x", partials=lambda x: reciprocal(times_number(x, number=math.log(10))), domain=_POSITIVE,
    doc="the logarithm to base 10",
)  # fmt: skip
log1p = elementwise(
    "log1p", "x", partials=lambda x: reciprocal(add_number(x, number=1)), domain=(-0.5, 3.0),
    doc="log(1 + x), exact near 0",
)  # fmt: skip


def _share(x: Tensor, y: Tensor) -> Tensor:
    """e^x / (e^x + e^y), which is 1/2 where x = y = -inf (and only there not by the formula: it has derivatives)."""
    is_same_infinity = logical_and(eq(x, y), isinf(x))
    # chosen of the shares, not of the differences: the zero tangent of x - x meets NaN as an ordinary zero
    return select(is_same_infinity, fill(x, 0.5), sigmoid(sub(x, y)))


logaddexp = elementwise(
    "logaddexp", "x y", partials=(lambda x, y: _share(x, y), lambda x, y: _share(y, x)), dtypes="float",
    doc="log(e^x + e^y)",
)  # fmt: skip
logaddexp2 = elementwise(
    "logaddexp2", "x y", dtypes="float", doc="log2(2^x + 2^y)",
    partials=(lambda x, y: _share(times_number(x, number=math.log(2)), times_number(y, number=math.log(2))),
              lambda x, y: _share(times_number(y, number=math.log(2)), times_number(x, number=math.log(2)))),
)  # fmt: skip


def _sigmoid_series(x: Series, out: Series) -> Any:
    # the slope is out (1 - out), with 1 - out in full precision; written so, it is the series of no further sigmoid
    rest = Series(lambda k: difference(None, out[k]), (sigmoid(neg(x[0])),), x.masked)
    return integral(Series(lambda k: product(k, out, rest)), x)


sigmoid = elementwise(
    # not out (1 - out), of which nothing is left where out is near 1
    "sigmoid", "x", partials=lambda x, out: mul(out, sigmoid(neg(x))), dtypes="float", doc="1 / (1 + e^-x)",
    jet=_sigmoid_series,
)  # fmt: skip
softplus = elementwise(
    "softplus", "x", partials=lambda x: sigmoid(x), body=in_float32(lambda x: logaddexp(x, fill(x, 0))), dtypes="float",
    doc="log(1 + e^x)",
)  # fmt: skip

# -- trigonometry ---------------------------------------------------------------------------------------------------

sin = elementwise("sin", "x", partials=lambda x: cos(x), doc="the sine of x radians")
cos = elementwise("cos", "x", partials=lambda x: neg(sin(x)), doc="the cosine of x radians")
tan = elementwise(
    "tan", "x", partials=lambda out: add_number(mul(out, out), number=1), domain=(-1.3, 1.3),
    doc="the tangent of x radians",
)  # fmt: skip


def _one_minus_square(x: Tensor) -> Tensor:
    """(1 - x)(1 + x), exact near 1."""
    return mul(add_number(neg(x), number=1), add_number(x, number=1))


def _moved(x: Tensor, number: int) -> Tensor:
    """x + number; a complex x keeps the sign of a zero imaginary part, which says on which side of a cut it lies."""
    if x.dtype.kind != "c":
        return add_number(x, number=number)
    return as_complex(add_number(real(x), number=number), imag(x))


def _side_slope(x: Tensor) -> Tensor:
    """The slope of arcsin; of complex numbers by two roots, as the root of the product is on the wrong side of cuts."""
    if x.dtype.kind != "c":
        return rsqrt(_one_minus_square(x))
    return mul(rsqrt(neg(_moved(x, -1))), rsqrt(_moved(x, 1)))


def _turned_slope(x: Tensor) -> Tensor:
    """The slope of arcsinh, which is arcsin turned by a right angle."""
    if x.dtype.kind != "c":
        return reciprocal(hypot(x, fill(x, 1)))  # the square of a large number would leave the range
    return _side_slope(as_complex(neg(imag(x)), real(x)))


arcsin = elementwise(
    "arcsin", "x", partials=lambda x: _side_slope(x), domain=_INSIDE,
    kink="infinite slope at -1 and 1", doc="the angle in radians whose sine is x",
)  # fmt: skip
arccos = elementwise(
    "arccos", "x", partials=lambda x: neg(_side_slope(x)), domain=_INSIDE,
    kink="infinite slope at -1 and 1", doc="the angle in radians whose cosine is x",
)  # fmt: skip
arctan = elementwise(
    "arctan", "x", partials=lambda x: reciprocal(add_number(mul(x, x), number=1)),
    doc="the angle in radians whose tangent is x",
)  # fmt: skip
sinh = elementwise("sinh", "x", partials=lambda x: cosh(x), doc="the hyperbolic sine")
cosh = elementwise("cosh", "x", partials=lambda x: sinh(x), doc="the hyperbolic cosine")
tanh = elementwise(
    "tanh", "x", partials=lambda out: add_number(neg(mul(out, out)), number=1), doc="the hyperbolic tangent"
)
arcsinh = elementwise("arcsinh", "x", partials=lambda x: _turned_slope(x), doc="the inverse of sinh")
arccosh = elementwise(
    # two roots, for the root of the product is on the wrong branch for half of the complex numbers
    "arccosh", "x", partials=lambda x: mul(rsqrt(_moved(x, -1)), rsqrt(_moved(x, 1))),
    domain=(1.2, 3.0), kink="infinite slope at 1", doc="the inverse of cosh",
)  # fmt: skip
arctanh = elementwise(
    "arctanh", "x", partials=lambda x: reciprocal(_one_minus_square(x)), domain=_INSIDE,
    kink="infinite slope at -1 and 1", doc="the inverse of tanh",
)  # fmt: skip


def _by_ratio(x: Tensor, y: Tensor) -> Tensor:
    """x / (x^2 + y^2) without the squares, which may leave the range of the dtype."""
    is_larger = gt(_size(x), _size(y))
    larger, smaller = select(is_larger, x, y), select(is_larger, y, x)
    is_origin = eq(larger, fill(larger, 0))
    larger = select(is_origin, fill(larger, 1), larger)
    ratio = div(smaller, larger)
    slope = reciprocal(mul(larger, add_number(mul(ratio, ratio), number=1)))
    return select(is_origin, fill(x, 0), select(is_larger, slope, mul(slope, ratio)))


def _size(x: Tensor) -> Tensor:
    return select(lt(x, fill(x, 0)), neg(x), x)


over_square_radius = elementwise(
    # with u and v for the results of (x, y) and (y, x), the slopes are v^2 - u^2 and -2 u v
    "over_square_radius", "x y", body=in_float32(_by_ratio), dtypes="float", domain=(0.3, 2.0),
    kink="zero at the origin",
    partials=(lambda x, y, out: sub(square(over_square_radius(y, x)), square(out)),
              lambda x, y, out: times_number(mul(out, over_square_radius(y, x)), number=-2)),
    doc="x / (x^2 + y^2), and 0 at the origin",
)  # fmt: skip
arctan2 = elementwise(
    "arctan2", "x y",
    partials=(lambda x, y: over_square_radius(y, x), lambda x, y: neg(over_square_radius(x, y))),
    dtypes="float", domain=((0.3, 2.0), (-2.0, -0.3)), kink="zero at the origin",
    doc="the angle in radians of the point (y, x)",
)  # fmt: skip


def _over_radius(x: Tensor, out: Tensor) -> Tensor:
    """x / out, and 0 at the origin, with slope 0."""
    is_origin = eq(out, fill(out, 0))
    return select(is_origin, fill(x, 0), div(x, select(is_origin, fill(out, 1), out)))


hypot = elementwise(
    "hypot", "x y", partials=(lambda x, out: _over_radius(x, out), lambda y, out: _over_radius(y, out)),
    dtypes="float", domain=(0.3, 2.0), kink="zero at the origin", doc="sqrt(x^2 + y^2) without overflow",
)  # fmt: skip
