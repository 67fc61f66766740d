"""`Number`: a float as an expression, so that formulas of special functions are written as in Python.

It has Python's operators; a Python number beside it stays one, and a 0 or 1 among them costs nothing, so that truncated
Taylor series (`taylor.py`), most of whose coefficients are 0, become the arithmetic that they need.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from ...taylor import Taylor
from ..ir.builder import Builder
from ..ir.loops import Operand


class Truth:
    """A condition under construction, on numbers of a type."""

    __slots__ = ("b", "type", "x")

    def __init__(self, b: Builder, x: Operand, type: str = "f64") -> None:
        self.b = b
        self.x = x
        self.type = type

    def __and__(self, other: Truth) -> Truth:
        return Truth(self.b, self.b.both(self.x, other.x), self.type)

    def __or__(self, other: Truth) -> Truth:
        return Truth(self.b, self.b.either(self.x, other.x), self.type)

    def __xor__(self, other: Truth) -> Truth:
        return Truth(self.b, self.b.let("xor", "bool", self.x, other.x), self.type)

    def __invert__(self) -> Truth:
        return Truth(self.b, self.b.negated(self.x), self.type)


Some = Any  # a Number, or a Python number


class Number:
    """A number under construction: of 64 bits unless its type says otherwise."""

    __slots__ = ("b", "type", "x")
    __array_ufunc__ = None
    __hash__ = None  # pyright: ignore[reportAssignmentType]  # `==` is a condition of the program

    def __init__(self, b: Builder, x: Operand, type: str = "f64") -> None:
        self.b = b
        self.x = x
        self.type = type

    def _made(self, op: str, *xs: Some) -> Number:
        return Number(self.b, self.b.let(op, self.type, *map(operand, xs)), self.type)

    def _asked(self, op: str, other: Some) -> Truth:
        return Truth(self.b, self.b.let(op, self.type, self.x, operand(other)), self.type)

    def __add__(self, other: Some) -> Some:
        if isinstance(other, Taylor):
            return NotImplemented
        return self if _is(other, 0) else self._made("add", self, other)

    __radd__ = __add__

    def __sub__(self, other: Some) -> Some:
        if isinstance(other, Taylor):
            return NotImplemented
        return self if _is(other, 0) else self._made("sub", self, other)

    def __rsub__(self, other: Some) -> Some:
        return -self if _is(other, 0) else self._made("sub", other, self)

    def __mul__(self, other: Some) -> Some:
        if isinstance(other, Taylor):
            return NotImplemented
        if _is(other, 0):
            return 0
        return self if _is(other, 1) else self._made("mul", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Some) -> Some:
        if isinstance(other, Taylor):
            return NotImplemented
        return self if _is(other, 1) else self._made("div", self, other)

    def __rtruediv__(self, other: Some) -> Some:
        return 0 if _is(other, 0) else self._made("div", other, self)

    def __neg__(self) -> Number:
        return self._made("neg", self)

    def __abs__(self) -> Number:
        return self._made("abs", self)

    def __pow__(self, other: Some) -> Number:
        return self._made("pow", self, other)

    def __rpow__(self, other: Some) -> Number:
        return self._made("pow", other, self)

    def __lt__(self, other: Some) -> Truth:
        return self._asked("lt", other)

    def __le__(self, other: Some) -> Truth:
        return self._asked("le", other)

    def __gt__(self, other: Some) -> Truth:
        return self._asked("gt", other)

    def __ge__(self, other: Some) -> Truth:
        return self._asked("ge", other)

    def __eq__(self, other: object) -> Any:
        return self._asked("eq", other)

    def __ne__(self, other: object) -> Any:
        return self._asked("ne", other)

    def exp(self) -> Number:
        """e^self; what `Taylor` asks for."""
        return self.of("exp")

    def of(self, function: str) -> Number:
        """A function of C's maths library, by the loop language's name."""
        return self._made(function, self)


def _is(x: Some, number: int) -> bool:
    return not isinstance(x, Number) and x == number


def operand(x: Some) -> Operand:
    return x.x if isinstance(x, Number) else float(x)


def exp(x: Some) -> Number:
    return cast(Number, x).of("exp")


def log(x: Some) -> Number:
    return cast(Number, x).of("log")


def log1p(x: Some) -> Number:
    return cast(Number, x).of("log1p")


def expm1(x: Some) -> Number:
    return cast(Number, x).of("expm1")


def sqrt(x: Some) -> Number:
    return cast(Number, x).of("sqrt")


EULER = float(np.euler_gamma)


def zeta_less_one(k: int) -> float:
    """zeta(k) - 1, of whole k from 2 on."""
    far = 60.0
    total = math.fsum(n**-k for n in range(2, int(far)))
    tail = far ** (1 - k) / (k - 1) + far**-k / 2 + k * far ** (-k - 1) / 12
    tail -= k * (k + 1) * (k + 2) * far ** (-k - 3) / 720
    return total + tail + k * (k + 1) * (k + 2) * (k + 3) * (k + 4) * far ** (-k - 5) / 30240


def horner(x: Number, coefficients: Sequence[float]) -> Some:
    """The sum of coefficients times powers of x, the constant one first."""
    total: Some = 0
    for coefficient in reversed(coefficients):
        total = total * x + coefficient
    return total


def fma(x: Number, y: Some, z: Some) -> Number:
    """x times y plus z, rounded once."""
    return Number(x.b, x.b.let("fma", x.type, x.x, operand(y), operand(z)), x.type)


def fused(x: Number, coefficients: Sequence[float]) -> Some:
    """As `horner`, each step rounded once."""
    total: Some = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = fma(x, total, coefficient)
    return total


def where(cond: Truth, x: Some, y: Some) -> Number:
    """One of two numbers, both of which are computed."""
    return Number(cond.b, cond.b.select(cond.type, cond.x, operand(x), operand(y)), cond.type)


def at_most(x: Number, most: float) -> Number:
    """x, or what is the most; a NaN stays."""
    return where(x > most, most, x)


def larger(x: Some, y: Some) -> Number:
    return where(x > y, x, y)


def choose_all(
    cond: Truth, then: Callable[[], Sequence[Some]], other: Callable[[], Sequence[Some]], count: int
) -> list[Number]:  # fmt: skip
    """The numbers of one of two functions, of which one is computed."""
    b = cond.b
    found = [b.var(cond.type, 0.0) for _ in range(count)]

    def keep(numbers: Sequence[Some]) -> None:
        for var, x in zip(found, numbers, strict=True):
            b.set(var, operand(x))

    with b.when(cond.x) as branch:
        keep(then())
    with b.inside(branch.other):
        keep(other())
    return [Number(b, b.get(var), cond.type) for var in found]


def choose(cond: Truth, then: Callable[[], Some], other: Callable[[], Some]) -> Number:
    """One of two numbers, of which one is computed."""
    return choose_all(cond, lambda: [then()], lambda: [other()], 1)[0]


def first_of(cases: Sequence[tuple[Truth, Callable[[], Some]]], other: Callable[[], Some]) -> Number:
    """The number of the first condition that holds."""
    (cond, then), *rest = cases
    return choose(cond, then, (lambda: first_of(rest, other)) if rest else other)


def repeated(
    b: Builder, start: Sequence[Some], test: Callable[..., Truth], step: Callable[..., Sequence[Some]]
) -> list[Number]:  # fmt: skip
    """The numbers of a while loop when it ends: both functions take them as they are."""
    held = [b.var("f64", operand(x)) for x in start]

    def now() -> list[Number]:
        return [Number(b, b.get(v)) for v in held]

    def body() -> None:
        for v, x in zip(held, [operand(x) for x in step(*now())], strict=True):
            b.set(v, x)

    b.repeat(lambda: test(*now()).x, body)
    return now()
