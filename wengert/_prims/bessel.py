"""Bessel functions of real order, elementwise on floats, with their derivatives in the argument.

The order is an attribute: the derivative of each is made of its neighbours in order, so that every order of derivative
is exact also at 0, where formulas that divide by the argument have a hole.
"""

from __future__ import annotations

from typing import Any

from .._core.op import Op, elementwise
from .._core.tensor import Tensor
from .discrete import sign
from .structural import add, mul, neg, sub, times_number

_REF = "NIST Digital Library of Mathematical Functions, 10.6.1 and 10.29.1"


def _bessel(name: str, partials: Any, doc: str, **facts: Any) -> Op:
    return elementwise(name, "x", partials=partials, dtypes="float", doc=doc, ref=_REF, **facts)


def _half_difference(function: Op, x: Tensor, order: float) -> Tensor:
    """(C_(v-1) - C_(v+1)) / 2, the derivative of the functions J and Y."""
    if order == 0:
        return neg(function(x, order=1))
    return times_number(sub(function(x, order=order - 1), function(x, order=order + 1)), number=0.5)


def _half_sum(function: Op, x: Tensor, order: float) -> Tensor:
    """(I_(v-1) + I_(v+1)) / 2, the derivative of I and, less its sign, of K; those of order -1 and 1 are equal."""
    if order == 0:
        return function(x, order=1)
    return times_number(add(function(x, order=order - 1), function(x, order=order + 1)), number=0.5)


def _unscaled(slope: Tensor, x: Tensor, out: Tensor) -> Tensor:
    """The slope of e^-|x| I from e^-|x| times the slope of I; the middle of its two sides at 0."""
    return sub(slope, mul(sign(x), out))


_ORDERS = [(((3, 2),), (0,)), (((3,),), (1,)), (((),), (3,)), (((4,),), (2.5,))]
_BEND = "the middle of the slopes of its two sides at 0"
_RIGHT: dict[str, Any] = {"attrs": "order", "samples": _ORDERS, "domain": (0.3, 4.0)}

jv = _bessel("jv", lambda x, order: _half_difference(jv, x, order), "the Bessel function of the first kind", **_RIGHT)
yv = _bessel(
    "yv", lambda x, order: _half_difference(yv, x, order), "the Bessel function of the second kind",
    kink="-inf at 0, and NaN below", **_RIGHT,
)  # fmt: skip
iv = _bessel("iv", lambda x, order: _half_sum(iv, x, order), "the modified Bessel function of the first kind", **_RIGHT)
ive = _bessel(
    "ive", lambda x, out, order: _unscaled(_half_sum(ive, x, order), x, out), "e^-|x| iv(x)", kink=_BEND, **_RIGHT
)
kv = _bessel(
    "kv", lambda x, order: neg(_half_sum(kv, x, order)), "the modified Bessel function of the second kind",
    kink="inf at 0, and NaN below", **_RIGHT,
)  # fmt: skip
kve = _bessel(
    "kve", lambda x, out, order: sub(out, _half_sum(kve, x, order)), "e^x kv(x)", kink="inf at 0, and NaN below",
    **_RIGHT,
)  # fmt: skip

i0 = _bessel("i0", lambda x: i1(x), "the modified Bessel function of order 0")
i1 = _bessel("i1", lambda x: _half_sum(iv, x, 1), "the modified Bessel function of order 1")
i0e = _bessel("i0e", lambda x, out: _unscaled(i1e(x), x, out), "e^-|x| i0(x)", kink=_BEND, domain=(0.2, 3.0))
i1e = _bessel(
    "i1e", lambda x, out: _unscaled(_half_sum(ive, x, 1), x, out), "e^-|x| i1(x)", kink=_BEND, domain=(0.2, 3.0)
)
