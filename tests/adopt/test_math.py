"""`math` and `cmath` of adopted code: the real functions on numbers, recorded ones on tensors."""

from __future__ import annotations

import cmath
import math
from typing import Any

import pytest

import wengert as wg

MATH: Any = wg.adopt("math")
CMATH: Any = wg.adopt("cmath")
ONE = ["exp", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "exp2", "sin", "cos", "tan", "asin", "acos",
       "atan", "sinh", "cosh", "tanh", "asinh", "atanh", "erf", "erfc", "gamma", "lgamma", "degrees", "radians", "fabs"]  # fmt: skip
MORE = {
    "acosh": lambda m, x: m.acosh(x + 1), "log": lambda m, x: m.log(x, 3.0), "pow": lambda m, x: m.pow(x, 2.5),
    "atan2": lambda m, x: m.atan2(x, 2.0), "hypot": lambda m, x: m.hypot(x, 2.0, 3.0), "fsum": lambda m, x: m.fsum([x, x * x]),
    "prod": lambda m, x: m.prod([x, x, 2.0], start=3.0), "dist": lambda m, x: m.dist([x, 1.0], [2.0, x]),
    "fmod": lambda m, x: m.fmod(x, 0.2), "remainder": lambda m, x: m.remainder(5 * x, 2.0),
    "copysign": lambda m, x: m.copysign(x, -1.0), "modf": lambda m, x: m.modf(x * 7)[0], "frexp": lambda m, x: m.frexp(x)[0],
    "ldexp": lambda m, x: m.ldexp(x, 3), "floor": lambda m, x: x * m.floor(x * 9), "ceil": lambda m, x: x * m.ceil(x * 9),
    "trunc": lambda m, x: x * m.trunc(x * 9), "isclose": lambda m, x: x * 2 if m.isclose(x, x) else x,
}  # fmt: skip
COMPLEX = {
    **{name: (lambda m, x, name=name: getattr(m, name)(x + 0.5j).imag) for name in ("exp", "log", "sqrt", "sin", "cosh", "tanh", "atan", "asin")},
    "phase": lambda m, x: m.phase(x + 1j), "polar": lambda m, x: m.polar(x + 1j)[0], "rect": lambda m, x: m.rect(x, 0.3).imag,
}  # fmt: skip


def _holds(ours: Any, real: Any, f: Any) -> None:
    at, step = 0.37, 1e-6
    value, slope = wg.value_and_grad(lambda x: f(ours, x))(at)
    assert value == pytest.approx(f(real, at), rel=1e-13)
    assert slope == pytest.approx((f(real, at + step) - f(real, at - step)) / (2 * step), rel=1e-7)


@pytest.mark.parametrize("name", [name for name in ONE if hasattr(math, name)])
def test_functions_of_one_number(name: str) -> None:
    _holds(MATH, math, lambda m, x: getattr(m, name)(x))
    assert type(getattr(MATH, name)(0.37)) is float


@pytest.mark.parametrize("name", MORE)
def test_functions_of_more(name: str) -> None:
    _holds(MATH, math, MORE[name])


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_functions(name: str) -> None:
    _holds(CMATH, cmath, COMPLEX[name])


def test_constants_and_errors_are_those_of_math() -> None:
    assert (MATH.pi, MATH.inf, CMATH.j if hasattr(CMATH, "j") else 1j) == (math.pi, math.inf, 1j)
    with pytest.raises(OverflowError):
        wg.grad(MATH.exp)(1e4)
    with pytest.raises(ValueError, match="domain|positive"):
        wg.grad(MATH.log)(-1.0)
    with pytest.raises(TypeError):
        wg.grad(lambda x: MATH.sin(wg.stack([x, x])))(1.0)
