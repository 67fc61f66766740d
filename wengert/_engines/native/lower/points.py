"""`Point`: a complex number as an expression, of two `Number`s, so that formulas are written as in Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .numbers import Number, Truth, fma, log, log1p, where


class Point:
    """A complex number under construction; beside it may stand another, or a real number."""

    __slots__ = ("im", "re")

    def __init__(self, re: Any, im: Any) -> None:
        self.re = re
        self.im = im

    def __iter__(self) -> Iterator[Any]:
        return iter((self.re, self.im))

    def __add__(self, other: Any) -> Point:
        if isinstance(other, Point):
            return Point(self.re + other.re, self.im + other.im)
        return Point(self.re + other, self.im)

    def __sub__(self, other: Any) -> Point:
        if isinstance(other, Point):
            return Point(self.re - other.re, self.im - other.im)
        return Point(self.re - other, self.im)

    def __neg__(self) -> Point:
        return Point(-self.re, -self.im)

    def __mul__(self, other: Any) -> Point:
        if not isinstance(other, Point):
            return Point(self.re * other, self.im * other)
        re = fma(self.re, other.re, -(self.im * other.im))
        return Point(re, fma(self.re, other.im, self.im * other.re))

    @property
    def conj(self) -> Point:
        return Point(self.re, -self.im)


def chosen(cond: Truth, x: Point, y: Point) -> Point:
    """One of two, both of which are computed."""
    return Point(where(cond, x.re, y.re), where(cond, x.im, y.im))


def series(x: Point, coefficients: Sequence[Any]) -> Point:
    """The sum of real coefficients times powers of x, the constant one first."""
    total = x * coefficients[-1] + coefficients[-2]
    for coefficient in reversed(coefficients[:-2]):
        total = Point(
            fma(total.re, x.re, fma(-total.im, x.im, coefficient)), fma(total.re, x.im, total.im * x.re)
        )  # fmt: skip
    return total


class Polar(NamedTuple):
    """The larger part of a number's parts by size, and the other one over it."""

    is_real: Truth
    large: Number
    ratio: Number

    @classmethod
    def of(cls, x: Point) -> Polar:
        """Of any number: 0 over 0 is 0."""
        is_real = abs(x.re) >= abs(x.im)
        large, little = where(is_real, x.re, x.im), where(is_real, x.im, x.re)
        return cls(is_real, large, little / where(large == 0.0, 1.0, large))


def inverse(x: Point) -> Point:
    """One over a number, without squares beyond the type."""
    polar = Polar.of(x)
    over = 1.0 / (polar.large * fma(polar.ratio, polar.ratio, 1.0))
    beside = polar.ratio * over
    return Point(where(polar.is_real, over, beside), -where(polar.is_real, beside, over))


def logarithm(x: Point) -> Point:
    """The principal logarithm of a number that is not 0; not near 1, where its size's would cancel."""
    polar = Polar.of(x)
    size = log(abs(polar.large)) + 0.5 * log1p(polar.ratio * polar.ratio)
    return Point(size, Number(x.re.b, x.re.b.let("atan2", "f64", x.im.x, x.re.x)))
