"""The error function and its complement: of float32 without calls of libraries, and of float64 without slow ones.

In float32 erf(x) / x is a polynomial in x^2 up to where erf is 1, of least squares of relative errors at Chebyshev's
points, worked out with 50 digits; erfc is the normal distribution's tail (`single_precision.py`). The C library has
vectors of both, but its `erfcf` calls the scalar function for each number whose value is below 1.2e-38, and `erfc`
for each where it is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir.builder import Builder
from ..ir.loops import Operand
from .numbers import Number, where
from .scalars import Rule
from .single_precision import complement, mapped

_ONE = 3.925  # from here on erf rounds to 1 in float32
_ZERO = 27.2265  # and erfc to 0 in float64
_ERF = (
    0.360277921, -0.179884255, 0.133933067, -0.10908889, 0.0905784294, -0.0740839168, 0.0585039631, -0.0435336642,
    0.0298725665, -0.0202777144, 0.0143159889, -0.00756264571, 0.00196318538, -0.00154223293, 0.00213296758,
    -0.000827711716,
)  # fmt: skip


def _short_erf(x: Number) -> Number:
    half = 0.5 * _ONE**2
    near = _within(x, _ONE)
    return _within(near * mapped(near * near, _ERF, half, half), 1.0)


def _within(x: Number, most: float) -> Number:
    return where(x > most, most, where(x < -most, -most, x))


def erfc(x: Number) -> Number:
    """The complement of float64."""
    is_far = x > _ZERO
    return where(is_far, 0.0, where(is_far, 0.0, x).of("erfc"))


def _of(name: str, short: Callable[[Number], Number], long: Callable[[Number], Number]) -> Rule:
    """A number alone is the C library's to compute, which has branches for all pieces."""

    def rule(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand) -> Operand:
        return b.let(name, t, x) if b.is_single else (short if t == "f32" else long)(Number(b, x, t)).x

    return rule


RULES: dict[str, Rule] = {
    "erf": _of("erf", _short_erf, lambda x: x.of("erf")),
    "erfc": _of("erfc", complement, erfc),
}
