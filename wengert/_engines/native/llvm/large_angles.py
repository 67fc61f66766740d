"""Large angles of vector code, brought to an eighth of a turn by the digits of 2 / pi that matter to them.

An angle is X 2^B with a whole number X, of which the multiples of 4 in 2^B 2 / pi add nothing but whole turns. The
rest of that, in a few doubles, stands in a table by B, which goes by steps: X may have some more bits than a double.
Products with X are exact, with what rounding takes from them, and so are their remainders by 4 (Payne and Hanek,
"Radian reduction for trigonometric functions", SIGNUM Newsletter 18, 1983).
"""

from __future__ import annotations

import functools
import math
import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .polynomials import Lanes

LEAST = 2**29  # the size from which on angles are ours
_MAGIC = 1.5 * 2.0**52  # a small number that is added to it is rounded, and stands in its last bits
_HALF_PI = (1.5707963267948966, 6.123233995736766e-17)  # in two parts
_FIRST_BITS = 51  # behind the point of a row's first word, which is below 4; each further word has 53


class _Table(NamedTuple):
    """Of angles that have so many bits: how many bits more X has at most, words of a row, and the largest exponent."""

    bits: int
    step: int
    words: int
    last: int

    @property
    def first(self) -> int:
        """B of the first row."""
        return LEAST.bit_length() - self.bits

    @property
    def rows(self) -> int:
        return (self.last - LEAST.bit_length() + 1) // self.step + 1


# the nearest that a double comes to a multiple of pi / 2 is 2^-62 of a turn, a float 2^-33
_TABLES = {"f64": _Table(53, 32, 4, 1023), "f32": _Table(24, 8, 2, 127)}


@functools.cache
def _two_over_pi(bits: int) -> int:
    """The whole part of 2^bits 2 / pi."""
    unit = 1 << bits + 64

    def arctan_of_inverse(n: int) -> int:
        term, total, k = unit // n, 0, 1
        while term:
            total += term // k if k % 4 == 1 else -(term // k)
            term, k = term // (n * n), k + 2
        return total

    pi = 16 * arctan_of_inverse(5) - 4 * arctan_of_inverse(239)  # Machin's formula
    return (unit << bits + 1) // pi


@functools.cache
def words_of(dtype: str) -> tuple[float, ...]:
    """The table of a type, row by row."""
    table = _TABLES[dtype]
    digits = _FIRST_BITS + 53 * (table.words - 1)
    whole = _two_over_pi(table.last + digits)
    found: list[float] = []
    for row in range(table.rows):
        rest = whole >> table.last - (table.first + row * table.step)
        rest &= (4 << digits) - 1
        for place in reversed(range(table.words)):
            found.append(math.ldexp(rest >> 53 * place, 53 * place - digits))
            rest &= (1 << 53 * place) - 1
    return (*found,)


def _name(dtype: str) -> str:
    return f"two_over_pi.{dtype}"


def _definition(dtype: str) -> str:
    words = [struct.unpack("Q", struct.pack("d", x))[0] for x in words_of(dtype)]
    listed = ", ".join(f"double 0x{word:016X}" for word in words)
    return f"@{_name(dtype)} = internal unnamed_addr constant [{len(words)} x double] [{listed}]"


def _row(w: Lanes, x: str, dtype: str) -> tuple[str, list[str]]:
    """X of each lane, and the words of its row."""
    table, name = _TABLES[dtype], _name(dtype)
    w.externals[name] = _definition(dtype)
    exponent = w.int_op("and", w.int_op("lshr", w.bits(x), 52), 0x7FF)
    shift = table.step.bit_length() - 1
    row = w.int_op("lshr", w.int_op("sub", exponent, 1022 + LEAST.bit_length()), shift)
    power = w.int_op("sub", f"splat (i64 {1023 - table.first})", w.int_op("shl", row, shift))
    whole = w.mul(x, w.floats(w.int_op("shl", power, 52)))
    return whole, w.rows(name, w.int_op("mul", row, table.words), table.words)


def _product(w: Lanes, x: str, y: str) -> tuple[str, str]:
    """A product as it is rounded, and what that has lost."""
    product = w.mul(x, y)
    return product, w.fma(x, y, w.emit(f"fneg {w.type} {product}"))


def _sum(w: Lanes, x: str, y: str) -> tuple[str, str]:
    """A sum as it is rounded, and what that has lost."""
    total = w.add(x, y)
    of_y = w.sub(total, x)
    return total, w.add(w.sub(x, w.sub(total, of_y)), w.sub(y, of_y))


def _rest_by_four(w: Lanes, x: str) -> str:
    """What is left of a number beside the nearest multiple of 4."""
    return w.less(w.intrinsic("rint", w.mul(x, w.number(0.25))), 4.0, x)


def reduced(w: Lanes, x: str, dtype: str) -> tuple[str, str]:
    """r and the last bits of n, where x = n pi / 2 + r; of finite numbers from `LEAST` on, which may be negative.

    Args:
        w: the lanes, of float64.
        x: the angles.
        dtype: "f32" where they are numbers of float32, and r need not have more digits than these.
    """
    whole, words = _row(w, x, dtype)
    first, lost = _product(w, whole, words[0])
    if dtype == "f32":  # the first product is as long as its type at most, so that what was lost of it is small
        total, small = _rest_by_four(w, first), w.fma(whole, words[1], lost)
    else:
        second, lost_then = _product(w, whole, words[1])
        total = _rest_by_four(w, w.add(_rest_by_four(w, first), _rest_by_four(w, lost)))
        total, small = _sum(w, total, _rest_by_four(w, second))
    raised = w.add(total, w.number(_MAGIC))
    rest = w.sub(total, w.sub(raised, w.number(_MAGIC)))
    if dtype == "f32":
        return w.mul(w.add(rest, small), w.number(_HALF_PI[0])), w.bits(raised)
    third, lost_last = _product(w, whole, words[2])
    rest, less = _sum(w, rest, lost_then)
    rest, least = _sum(w, rest, third)
    small = w.add(w.add(small, w.add(less, least)), w.fma(whole, words[3], lost_last))
    rest, small = _sum(w, rest, small)
    beyond = w.fma(rest, w.number(_HALF_PI[1]), w.mul(small, w.number(_HALF_PI[0])))
    return w.fma(rest, w.number(_HALF_PI[0]), beyond), w.bits(raised)
