"""Elementwise functions with kinks: absolute value, choices between operands, remainders.

What the slope is at each kink stands in the declaration and is a test.
"""

from __future__ import annotations

from .._core import dtypes
from .._core.op import batch_elementwise, elementwise_type, general
from .._core.tensor import Tensor
from .discrete import eq, sign
from .elementwise import div
from .structural import cast, conj_of, fill, mul, real, select


def _direction(x: Tensor, out: Tensor) -> Tensor:
    """x / |x|, 0 at 0. Its own derivative is 0 for real x, not for complex x."""
    if x.dtype.kind != "c":
        return sign(x)
    is_zero = eq(out, fill(out, 0))
    return div(x, cast(select(is_zero, fill(out, 1), out), x.dtype))


def _abs_vjp(ct: Tensor, x: Tensor, out: Tensor, times: object) -> Tensor:
    return times(cast(ct, x.dtype), _direction(x, out))  # type: ignore[operator]


def _abs_jvp(x: Tensor, out: Tensor, x_dot: Tensor) -> Tensor:
    slope = mul(conj_of(_direction(x, out)), x_dot)
    return real(slope) if slope.dtype.kind == "c" else slope


abs_ = general(
    "abs", "x", vjp=(_abs_vjp,), jvp=_abs_jvp, type=elementwise_type("abs", dtypes.real_of, "number"),
    batch=batch_elementwise, dtypes="number", kink="zero at 0", domain=(0.2, 2.0), doc="the magnitude",
)  # fmt: skip
