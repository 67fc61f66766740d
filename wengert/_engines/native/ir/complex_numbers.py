"""Complex numbers in loops: two operands each, the real and the imaginary part. Arithmetic as NumPy does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .loops import ITEM

if TYPE_CHECKING:
    from .builder import Builder
    from .loops import Operand, Var


class Pair:
    """A complex number: its parts."""

    __slots__ = ("im", "re")

    def __init__(self, re: Operand, im: Operand) -> None:
        self.re = re
        self.im = im

    def __repr__(self) -> str:
        return f"({self.re}, {self.im})"


class PairVar:
    """A variable of complex numbers: one for each part."""

    __slots__ = ("im", "re", "type")

    def __init__(self, type: str, re: Var, im: Var) -> None:
        self.type = type
        self.re = re
        self.im = im


def pair_of(x: Any) -> Pair:
    """An operand as a pair; a Python number is one that is written out."""
    if type(x) is Pair:
        return x
    number = complex(x)
    return Pair(number.real, number.imag)


class Parts:
    """Arithmetic of the parts' type. A number that no part has is written as it is."""

    def __init__(self, b: Builder, type_: str) -> None:
        self.b = b
        self.complex = type_
        self.type = ITEM[type_]

    def __getattr__(self, op: str) -> Callable[..., Any]:
        return lambda *xs: self.b.let(op, self.type, *xs)

    def of_pairs(self, op: str, *xs: object) -> Any:
        """The result of an operation on whole numbers: a pair, or a truth value."""
        return arithmetic(self.b, op, self.complex, *xs)

    def select(self, cond: Operand, x: Operand, y: Operand) -> Operand:
        """x where cond, else y."""
        return self.b.select(self.type, cond, x, y)

    def chosen(self, cond: Operand, x: Pair, y: Pair) -> Pair:
        """The pair x where cond, else y."""
        return Pair(self.select(cond, x.re, y.re), self.select(cond, x.im, y.im))

    def is_nan(self, x: Operand) -> Operand:
        """Whether x is a NaN."""
        return self.ne(x, x)


def arithmetic(b: Builder, op: str, type_: str, *args: object) -> Any:
    """The result of an operation on complex numbers: a pair, or a truth value."""
    return _OPS[op](Parts(b, type_), *map(pair_of, args))


def _add(p: Parts, x: Pair, y: Pair) -> Pair:
    return Pair(p.add(x.re, y.re), p.add(x.im, y.im))


def _sub(p: Parts, x: Pair, y: Pair) -> Pair:
    return Pair(p.sub(x.re, y.re), p.sub(x.im, y.im))


def _sum(p: Parts, x: Pair, y: Pair) -> Pair:
    return Pair(p.sum(x.re, y.re), p.sum(x.im, y.im))


def _neg(p: Parts, x: Pair) -> Pair:
    return Pair(p.neg(x.re), p.neg(x.im))


def _mul(p: Parts, x: Pair, y: Pair) -> Pair:
    re, im = p.mul(x.im, y.im), p.mul(x.im, y.re)
    if p.b.has_fma:  # one rounding less, as NumPy has it there
        return Pair(p.fma(x.re, y.re, p.neg(re)), p.fma(x.re, y.im, im))
    return Pair(p.sub(p.mul(x.re, y.re), re), p.add(p.mul(x.re, y.im), im))


def _fma(p: Parts, x: Pair, y: Pair, z: Pair) -> Pair:
    if not p.b.has_fma:
        return _add(p, _mul(p, x, y), z)
    re = p.fma(p.neg(x.im), y.im, p.fma(x.re, y.re, z.re))
    return Pair(re, p.fma(x.im, y.re, p.fma(x.re, y.im, z.im)))


def _scale(p: Parts, x: Pair, y: Pair) -> Pair:
    is_zero = p.b.both(p.eq(x.re, 0.0), p.eq(x.im, 0.0))
    return p.chosen(is_zero, Pair(0.0, 0.0), _mul(p, x, y))


def _div(p: Parts, x: Pair, y: Pair) -> Pair:
    """By the larger part of the divisor, so that no square is beyond the type; parts over zero are by its size."""
    if _is_number(y.im, 0.0):
        return _over_real(p, x, y.re)
    re, im = p.abs(y.re), p.abs(y.im)
    is_real, is_zero = p.ge(re, im), p.b.both(p.eq(re, 0.0), p.eq(im, 0.0))
    large, little = p.select(is_real, y.re, y.im), p.select(is_real, y.im, y.re)
    ratio = p.div(little, p.select(is_zero, 1.0, large))
    scale = p.div(1.0, p.add(large, p.mul(little, ratio)))
    first, second = p.select(is_real, x.re, x.im), p.select(is_real, x.im, x.re)
    top, rest = p.add(first, p.mul(second, ratio)), p.mul(first, ratio)
    beside = p.select(is_real, p.sub(second, rest), p.sub(rest, second))
    # infinite where the divisor is zero: anything else would set flags of what nobody has done
    endless = p.select(is_zero, p.abs(scale), 1.0)
    found = Pair(p.mul(top, scale), p.mul(beside, scale))
    return p.chosen(is_zero, Pair(p.mul(x.re, endless), p.mul(x.im, endless)), found)


def _is_number(x: Operand, number: float) -> bool:
    return type(x) is float and x == number


def _over_real(p: Parts, x: Pair, y: Operand) -> Pair:
    """Over a real number made complex, in the same steps: one division, since 0 over it is a zero of its sign."""
    scale, is_zero = p.div(1.0, y), p.eq(y, 0.0)
    endless = p.abs(scale)
    ratio = p.copysign(0.0, y)
    top, beside = p.add(x.re, p.mul(x.im, ratio)), p.sub(x.im, p.mul(x.re, ratio))
    return p.chosen(
        is_zero, Pair(p.mul(x.re, endless), p.mul(x.im, endless)), Pair(p.mul(top, scale), p.mul(beside, scale))
    )


def _eq(p: Parts, x: Pair, y: Pair) -> Operand:
    return p.b.both(p.eq(x.re, y.re), p.eq(x.im, y.im))


def _ne(p: Parts, x: Pair, y: Pair) -> Operand:
    return p.b.either(p.ne(x.re, y.re), p.ne(x.im, y.im))


def _ordered(strict: str, last: str) -> Callable[..., Operand]:
    """A comparison by real parts, and where these are equal by imaginary ones, as NumPy has it."""

    def compare(p: Parts, x: Pair, y: Pair) -> Operand:
        is_told = p.b.negated(p.b.either(p.is_nan(x.im), p.is_nan(y.im)))
        first = p.b.both(getattr(p, strict)(x.re, y.re), is_told)
        return p.b.either(first, p.b.both(p.eq(x.re, y.re), getattr(p, last)(x.im, y.im)))

    return compare


_OPS: dict[str, Callable[..., Any]] = {
    "add": _add, "sub": _sub, "sum": _sum, "neg": _neg, "mul": _mul, "fma": _fma, "scale": _scale, "div": _div,
    "eq": _eq, "ne": _ne, "lt": _ordered("lt", "lt"), "le": _ordered("lt", "le"), "gt": _ordered("gt", "gt"),
    "ge": _ordered("gt", "ge"),
}  # fmt: skip
