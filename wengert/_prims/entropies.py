"""x log(x) and its relatives with two operands: where digits would cancel, values and slopes have others.

What the slopes are at kinks stands in the declarations and is a test.
"""

from __future__ import annotations

import math
from typing import Any

from .._core.op import Op, elementwise
from .._core.tensor import Tensor
from .bodies import in_float32
from .discrete import eq, ge, gt, isfinite, isnan, le, logical_and, logical_or, lt
from .elementwise import div, log, log1p, reciprocal
from .piecewise import abs_
from .structural import add, add_number, fill, mul, neg, select, sub, times_number


def _entropy(name: str, operands: str, body: Any, partials: Any, doc: str, **facts: Any) -> Op:
    facts = {"domain": (0.2, 3.0), **facts}
    return elementwise(
        name, operands, body=in_float32(body), partials=partials, dtypes="float", doc=doc, **facts
    )  # fmt: skip


def _entr(x: Tensor) -> Tensor:
    zero = fill(x, 0)
    inside = select(le(x, zero), fill(x, 1), x)
    value = select(eq(x, zero), zero, neg(mul(inside, log(inside))))
    return select(lt(x, zero), fill(x, -math.inf), value)


def _entr_slope(x: Tensor) -> Tensor:
    """-log(x) - 1, also at 0."""
    zero = fill(x, 0)
    is_below = lt(x, zero)
    slope = neg(add_number(log(select(is_below, fill(x, 1), x)), number=1))
    return select(is_below, zero, slope)


entr = _entropy("entr", "x", _entr, lambda x: _entr_slope(x), "-x log(x); 0 at 0, and -inf below",
                kink="infinite slope at 0, and zero below")  # fmt: skip


def _log_ratio(x: Tensor, y: Tensor) -> Tensor:
    """By the logarithms of both where the ratio or its slope may be beyond the floats, and near 1 by the gap."""
    gap = sub(x, y)
    is_near = lt(times_number(abs_(gap), number=2.0), y)
    share = div(select(is_near, gap, fill(y, 0)), y)
    return select(is_near, log1p(share), sub(log(x), log(y)))


log_ratio = _entropy("log_ratio", "x y", _log_ratio, (lambda x: reciprocal(x), lambda y: neg(reciprocal(y))),
                     "log(x / y) of positive numbers, exact where they are close")  # fmt: skip


def _are_positive(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Whether both numbers are, and the numbers with 1 in the place of others."""
    zero, one = fill(x, 0), fill(x, 1)
    both = logical_and(gt(x, zero), gt(y, zero))
    return both, select(both, x, one), select(both, y, one)


def _rel_entr(x: Tensor, y: Tensor) -> Tensor:
    zero = fill(x, 0)
    both, inner, other = _are_positive(x, y)
    value = mul(inner, log_ratio(inner, other))
    at_zero = logical_and(eq(x, zero), ge(y, zero))
    nothing = logical_or(isnan(x), isnan(y))
    outside = select(nothing, fill(x, math.nan), select(at_zero, zero, fill(x, math.inf)))
    return select(both, value, outside)


def _rel_entr_slope(x: Tensor, y: Tensor) -> Tensor:
    both, inner, other = _are_positive(x, y)
    return select(both, add_number(log_ratio(inner, other), number=1), fill(x, 0))


def _rel_entr_other_slope(x: Tensor, y: Tensor) -> Tensor:
    both, inner, other = _are_positive(x, y)
    return select(both, neg(div(inner, other)), fill(x, 0))


rel_entr = _entropy(
    "rel_entr", "x y", _rel_entr, (lambda x, y: _rel_entr_slope(x, y), lambda x, y: _rel_entr_other_slope(x, y)),
    "x log(x / y); 0 where x is 0 and y is not negative, and inf elsewhere", kink="zero where one is not positive",
)  # fmt: skip


def _divergence(x: Tensor, gap: Tensor) -> Tensor:
    """gap - x log(1 + gap / x), by the series of the logarithm in t = gap / (2 x + gap)."""
    t = div(gap, add(times_number(x, number=2.0), gap))
    square = mul(t, t)
    rest = fill(x, 0)
    for k in range(8, 0, -1):
        rest = mul(add_number(rest, number=1 / (2 * k + 1)), square)
    # gap - 2 x t = gap t, and 2 x t (t^2/3 + t^4/5 + ...) is the rest of x log(1 + gap / x)
    return mul(t, sub(gap, times_number(mul(x, rest), number=2.0)))


def _are_inside(x: Tensor, y: Tensor) -> Tensor:
    zero = fill(x, 0)
    return logical_and(ge(x, zero), ge(y, zero))


def _kl_div(x: Tensor, y: Tensor) -> Tensor:
    entropy = rel_entr(x, y)
    difference = select(_are_inside(x, y), sub(y, x), fill(x, 0))
    # where the numbers are close, their difference and the logarithm cancel
    is_close = lt(abs_(difference), times_number(x, number=0.1))
    is_near = logical_and(isfinite(entropy), is_close)
    near = _divergence(select(is_near, x, fill(x, 1)), select(is_near, difference, fill(x, 0)))
    return select(is_near, near, add(entropy, difference))


def _kl_div_slope(x: Tensor, y: Tensor) -> Tensor:
    both, inner, other = _are_positive(x, y)
    edge = select(_are_inside(x, y), fill(x, -1), fill(x, 0))
    return select(both, log_ratio(inner, other), edge)


def _kl_div_other_slope(x: Tensor, y: Tensor) -> Tensor:
    both, inner, other = _are_positive(x, y)
    edge = select(_are_inside(x, y), fill(x, 1), fill(x, 0))
    return select(both, div(sub(other, inner), other), edge)


kl_div = _entropy(
    "kl_div", "x y", _kl_div, (lambda x, y: _kl_div_slope(x, y), lambda x, y: _kl_div_other_slope(x, y)),
    "x log(x / y) - x + y; y where x is 0 and y is not negative, and inf elsewhere",
    kink="-1 and 1 where one is zero and the other is not negative, zero where one is negative",
)  # fmt: skip
