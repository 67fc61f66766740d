"""float16 and bfloat16 in loops: in registers they are `f32`, rounded to half floats, and in arrays their 16 bits.

An operation on them is one on `f32` whose result is rounded, as NumPy does it. Where the processor has no conversions
between float16 and float32 (bfloat16's are there nowhere), integers do what they would do. Used by `builder.py` and
`lower/{maps,scalars}.py`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...._core import dtypes

if TYPE_CHECKING:
    from .builder import Builder
    from .loops import Operand

_SIGN = 0x80000000
_INFINITE = 0x7F800000  # the bits of an infinite float32
_BEYOND = 0x47800000  # of 2^16, which no float16 reaches
_SMALLEST = 0x38800000  # of 2^-14, the smallest normal float16
_HALF = 0x3F000000  # of 0.5, beside which float32 has the steps of the smallest float16s


def rounded_number(type_: str, x: object) -> float:
    """A Python number as the nearest half float."""
    with np.errstate(over="ignore"):
        dtype = np.dtype(np.float16) if type_ == "f16" else dtypes.bfloat16()
        return float(np.array(x, dtype))


def bits(b: Builder, type_: str, x: Operand) -> Operand:
    """The 16 bits of the half float nearest to a float32."""
    if isinstance(x, (int, float)):
        return _bits_of_number(type_, x)
    if type_ == "bf16":
        return _bfloat16_bits(b, x)
    return b.let("half_to", "f32", x) if b.has_halves else _float16_bits(b, x)


def widened(b: Builder, type_: str, x: Operand) -> Operand:
    """The float32 that has the value of a half float's bits."""
    if type_ == "bf16":
        wide = b.let("shl", "u32", b.convert("u32", "u16", x), 16)
        return b.convert("f32", "u32", wide, bits=True)
    return b.let("half_from", "u16", x) if b.has_halves else _from_float16_bits(b, x)


def rounded(b: Builder, type_: str, x: Operand) -> Operand:
    """A float32 as the nearest half float, in a float32."""
    if isinstance(x, (int, float)):
        return rounded_number(type_, x)
    if type_ == "bf16":
        return b.convert("f32", "u32", _rounded_bits(b, x), bits=True)
    return widened(b, type_, bits(b, type_, x))


def from_double(b: Builder, x: Operand) -> Operand:
    """A float64 as a float32 that rounds to the half float to which the float64 rounds: what is between two float32s
    becomes the one whose last bit is set, which is no tie of half floats."""
    near = b.convert("f32", "f64", x)
    back = b.convert("f64", "f32", near)
    found = b.convert("u32", "f32", near, bits=True)
    is_beyond = b.let("gt", "f64", b.let("abs", "f64", back), b.let("abs", "f64", x))
    cut = b.select("u32", is_beyond, b.let("sub", "u32", found, 1), found)
    odd = b.let("or", "u32", cut, 1)
    is_exact = b.let("eq", "f64", back, x)
    is_nan = b.let("ne", "f64", x, x)
    return b.convert("f32", "u32", b.select("u32", b.either(is_exact, is_nan), found, odd), bits=True)


def _bits_of_number(type_: str, x: object) -> int:
    with np.errstate(over="ignore"):
        dtype = np.dtype(np.float16) if type_ == "f16" else dtypes.bfloat16()
        return int(np.array(x, dtype).view(np.uint16))


# -- bfloat16: the upper half of a float32 ----------------------------------------------------------------------------


def _rounded_bits(b: Builder, x: Operand) -> Operand:
    """The bits of a float32 of which the lower half is rounded away, to even."""
    held = b.convert("u32", "f32", x, bits=True)
    odd = b.let("and", "u32", b.let("shr", "u32", held, 16), 1)
    up = b.let("add", "u32", held, b.let("add", "u32", odd, 0x7FFF))
    nan = b.let("or", "u32", held, 0x400000)
    kept = b.select("u32", b.let("ne", "f32", x, x), nan, up)
    return b.let("and", "u32", kept, 0xFFFF0000)


def _bfloat16_bits(b: Builder, x: Operand) -> Operand:
    return b.convert("u16", "u32", b.let("shr", "u32", _rounded_bits(b, x), 16))


# -- float16 by integers ----------------------------------------------------------------------------------------------


def _float16_bits(b: Builder, x: Operand) -> Operand:
    held = b.convert("u32", "f32", x, bits=True)
    sign = b.let("and", "u32", held, _SIGN)
    size = b.let("xor", "u32", held, sign)
    odd = b.let("and", "u32", b.let("shr", "u32", size, 13), 1)
    # another exponent (112 less), and what is cut off rounded to even
    normal = b.let("add", "u32", b.let("sub", "u32", size, (112 << 23) - 0xFFF), odd)
    normal = b.let("shr", "u32", normal, 13)
    # the sum with 0.5 rounds as the smallest numbers do
    total = b.let("add", "f32", b.convert("f32", "u32", size, bits=True), 0.5)
    small = b.let("sub", "u32", b.convert("u32", "f32", total, bits=True), _HALF)
    large = b.select("u32", b.let("gt", "u32", size, _INFINITE), 0x7E00, 0x7C00)
    found = b.select("u32", b.let("lt", "u32", size, _SMALLEST), small, normal)
    found = b.select("u32", b.let("ge", "u32", size, _BEYOND), large, found)
    return b.convert("u16", "u32", b.let("or", "u32", found, b.let("shr", "u32", sign, 16)))


def _from_float16_bits(b: Builder, x: Operand) -> Operand:
    wide = b.convert("u32", "u16", x)
    sign = b.let("shl", "u32", b.let("and", "u32", wide, 0x8000), 16)
    size = b.let("shl", "u32", b.let("and", "u32", wide, 0x7FFF), 13)
    exponent = b.let("and", "u32", size, 0x0F800000)
    grown = b.let("add", "u32", size, 112 << 23)
    endless = b.let("add", "u32", grown, 112 << 23)
    # of the smallest numbers the fraction is all there is: it stands behind a one, which is taken off again
    shifted = b.convert("f32", "u32", b.let("add", "u32", grown, 1 << 23), bits=True)
    small = b.convert("u32", "f32", b.let("sub", "f32", shifted, math.ldexp(1.0, -14)), bits=True)
    found = b.select("u32", b.let("eq", "u32", exponent, 0), small, grown)
    found = b.select("u32", b.let("eq", "u32", exponent, 0x0F800000), endless, found)
    return b.convert("f32", "u32", b.let("or", "u32", found, sign), bits=True)
