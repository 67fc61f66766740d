"""Ops whose results carry no derivative: comparisons, logic, integer arithmetic, rounding, sign.

Rounding and sign give floats, connected with zero gradient; the others give integers or booleans, constants to a
gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core import dtypes
from .._core.op import Op, batch_elementwise, elementwise_type, zero

_TO_BOOL = lambda dtype: dtypes.bool_  # noqa: E731  # a table entry, not a function worth a name


def _discrete(
    name: str, operands: str, category: str, doc: str, result: Callable[..., Any] | None = None, **facts: object
) -> Op:
    return zero(
        name, operands, type=elementwise_type(name, result, category), batch=batch_elementwise, dtypes=category,
        doc=doc, smooth=False, mixes="nothing", **facts,
    )  # fmt: skip


eq = _discrete("eq", "x y", "any", "x == y", _TO_BOOL, cost="light", operator="==")
ne = _discrete("ne", "x y", "any", "x != y", _TO_BOOL, cost="light", operator="!=")
lt = _discrete("lt", "x y", "any", "x < y", _TO_BOOL, cost="light", operator="<")
le = _discrete("le", "x y", "any", "x <= y", _TO_BOOL, cost="light", operator="<=")
gt = _discrete("gt", "x y", "any", "x > y", _TO_BOOL, cost="light", operator=">")
ge = _discrete("ge", "x y", "any", "x >= y", _TO_BOOL, cost="light", operator=">=")
isnan = _discrete("isnan", "x", "any", "whether x is not a number", _TO_BOOL)
isinf = _discrete("isinf", "x", "any", "whether x is infinite", _TO_BOOL)
isfinite = _discrete("isfinite", "x", "any", "whether x is a finite number", _TO_BOOL)
signbit = _discrete("signbit", "x", "real", "whether the sign bit of x is set", _TO_BOOL)

logical_and = _discrete("logical_and", "x y", "bool", "x and y", cost="light")
logical_or = _discrete("logical_or", "x y", "bool", "x or y", cost="light")
logical_xor = _discrete("logical_xor", "x y", "bool", "exactly one of x and y")
logical_not = _discrete("logical_not", "x", "bool", "not x", cost="light")
rarely = _discrete(
    "rarely",
    "x",
    "bool",
    "x, which is seldom set: machine code leaves out what is needed only where it is",
    samples=[((lambda rng: rng.random((3, 2)) < 0,), ())],
    moves="all",
)

bitwise_and = _discrete("bitwise_and", "x y", "integer or bool", "x & y")
bitwise_or = _discrete("bitwise_or", "x y", "integer or bool", "x | y")
bitwise_xor = _discrete("bitwise_xor", "x y", "integer or bool", "x ^ y")
bitwise_not = _discrete("bitwise_not", "x", "integer or bool", "~x")
left_shift = _discrete("left_shift", "x y", "integer", "x << y")
right_shift = _discrete("right_shift", "x y", "integer", "x >> y")
maximum_iterations = _discrete(
    "maximum_iterations", "x", "integer", "x, which must not be negative", can_raise=True, domain=((0.0, 9.0),)
)
place_of_number = _discrete(
    "place_of_number", "x", "integer", "x, places, which are -1 where there is no number to find: an error",
    called="nanargmax, nanargmin", can_raise=True, domain=((0.0, 9.0),),
)  # fmt: skip
gcd = _discrete("gcd", "x y", "integer", "the greatest common divisor")
lcm = _discrete("lcm", "x y", "integer", "the least common multiple")

_JUMPS = "zero everywhere, also at the jumps"
floor = _discrete("floor", "x", "float", "the largest integer not above x", kink=_JUMPS, exact=True)
ceil = _discrete("ceil", "x", "float", "the smallest integer not below x", kink=_JUMPS, exact=True)
trunc = _discrete("trunc", "x", "float", "x without its fraction", kink=_JUMPS, exact=True)
rint = _discrete("rint", "x", "float", "the nearest integer, halves to even", kink=_JUMPS, exact=True)
# real only: the direction z / |z| of a complex number is not constant between jumps (`piecewise.unit`)
sign = _discrete("sign", "x", "real", "-1, 0 or 1", kink="zero at 0", exact=True)
floor_divide = _discrete(
    "floor_divide", "x y", "real", "the floor of x / y", kink=_JUMPS, domain=((-2.0, 2.0), (0.3, 2.0))
)
