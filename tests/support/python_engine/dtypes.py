"""What a dtype means for Python scalars: rounding to its width, and the few dtypes that results change to.

NumPy is imported for dtype objects alone; no value passes through it.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

Scalar = Any
DType = Any

BOOL = np.dtype("bool")
INT32 = np.dtype("int32")
INT64 = np.dtype("int64")
UINT32 = np.dtype("uint32")
FLOAT64 = np.dtype("float64")
# bits of the significand, and the exponent of the smallest number above 0
SIGNIFICANCE = {"float64": (53, -1074), "float32": (24, -149), "float16": (11, -24), "bfloat16": (8, -133)}
LARGEST = {
    "float64": (2 - 2.0**-52) * 2.0**1023, "float32": (2 - 2.0**-23) * 2.0**127, "float16": 65504.0,
    "bfloat16": (2 - 2.0**-7) * 2.0**127,
}  # fmt: skip
_REAL_OF = {np.dtype("complex64"): np.dtype("float32"), np.dtype("complex128"): FLOAT64}
_COMPLEX_OF = {np.dtype("float32"): np.dtype("complex64"), np.dtype("float64"): np.dtype("complex128")}


def real_of(dtype: DType) -> DType:
    """The dtype of a complex dtype's parts; any other dtype itself."""
    return _REAL_OF.get(dtype, dtype)


def complex_of(dtype: DType) -> DType:
    """The complex dtype whose parts are of the real dtype (complex64 for the half precisions)."""
    return _COMPLEX_OF.get(dtype, np.dtype("complex64"))


@cache
def rounder(dtype: DType) -> Callable[[Scalar], Scalar]:
    """The function that turns any Python scalar into the nearest value of `dtype`.

    Integers wrap around, floats overflow to infinity, a complex number loses its imaginary part on the way
    to a real dtype, and a NaN or infinity becomes the smallest integer (0 if unsigned).

    Example:
        >>> rounder(np.dtype("int8"))(130), rounder(np.dtype("float16"))(1e6)
        (-126, inf)
    """
    if dtype.kind == "b":
        return bool
    if dtype.kind in "iu":
        return _integer_rounder(8 * dtype.itemsize, signed=dtype.kind == "i")
    if dtype.kind == "c":
        part = rounder(real_of(dtype))
        return lambda v: complex(part(v.real), part(v.imag))
    return _real(_FLOATS[dtype.name])


def _real(round_float: Callable[[float], float]) -> Callable[[Scalar], float]:
    return lambda v: round_float(v.real if isinstance(v, complex) else _to_float(v))


def _to_float(value: Scalar) -> float:
    try:
        return float(value)
    except OverflowError:  # an int beyond float64
        return math.copysign(math.inf, value)


def _integer_rounder(bits: int, signed: bool) -> Callable[[Scalar], int]:
    modulus, half = 1 << bits, 1 << (bits - 1)

    def wrap(value: Scalar) -> int:
        if isinstance(value, complex):
            value = value.real
        if isinstance(value, float) and not math.isfinite(value):
            return -half if signed else 0
        low = int(value) % modulus
        return low - modulus if signed and low >= half else low

    return wrap


def _packed(code: str) -> Callable[[float], float]:
    layout = struct.Struct(code)

    def round_float(value: float) -> float:
        try:
            return layout.unpack(layout.pack(value))[0]
        except OverflowError:
            return math.copysign(math.inf, value)

    return round_float


_round_float32 = _packed("f")


def _round_bfloat16(value: float) -> float:
    """The upper half of a float32, rounded to nearest, ties to even."""
    value = _round_float32(value)
    if not math.isfinite(value):
        return value
    (bits,) = struct.unpack("I", struct.pack("f", value))
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return struct.unpack("f", struct.pack("I", bits))[0]


_FLOATS: dict[str, Callable[[float], float]] = {
    "float64": lambda v: v,
    "float32": _round_float32,
    "float16": _packed("e"),
    "bfloat16": _round_bfloat16,
}
