"""Data types and their promotion, in a table of our own (NumPy 2's, with bfloat16 in float16's place).

Owns every question about dtypes; knows nothing of arrays. Dtypes are `numpy.dtype` objects.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any

import numpy as np

from .user_line import at_user_line

bool_ = np.dtype(np.bool_)
int8 = np.dtype(np.int8)
int32 = np.dtype(np.int32)
int64 = np.dtype(np.int64)
uint32 = np.dtype(np.uint32)
float16 = np.dtype(np.float16)
float32 = np.dtype(np.float32)
float64 = np.dtype(np.float64)
complex64 = np.dtype(np.complex64)
complex128 = np.dtype(np.complex128)
HISTORY = np.dtype(object)  # of what a loop keeps for its backward pass, which no op but `loop_back` reads

SUPPORTED_NAMES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip

_BFLOAT16 = "bfloat16"
_default_float = float64


@cache
def bfloat16() -> np.dtype[Any]:
    """The bfloat16 dtype; ml_dtypes, which defines it, loads here and not at import."""
    if importlib.util.find_spec("ml_dtypes") is None:
        raise TypeError(at_user_line("bfloat16 needs the ml_dtypes package: install wengert[bfloat16]"))
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16)


def default_float() -> np.dtype[Any]:
    """The dtype of a bare Python float."""
    return _default_float


def default_complex() -> np.dtype[Any]:
    return complex64 if _default_float == float32 else complex128


def set_default_float(dtype: object) -> None:
    """Sets the dtype that a bare Python float becomes.

    Args:
        dtype: "float32" or "float64" (any spelling that NumPy takes), also float16 or bfloat16.

    Raises:
        TypeError: if the dtype is not a floating one.

    Example:
        >>> import wengert as wg
        >>> wg.set_default_float("float32")
        >>> wg.tensor(1.5).dtype
        dtype('float32')
        >>> wg.set_default_float("float64")
    """
    global _default_float
    wanted = as_dtype(dtype)
    if not is_float(wanted):
        raise TypeError(at_user_line(f"set_default_float: wanted a floating dtype, got {wanted.name}"))
    _default_float = wanted


def as_dtype(dtype: Any) -> np.dtype[Any]:
    """A supported `numpy.dtype` from any spelling ("bfloat16" included)."""
    if isinstance(dtype, str) and dtype == _BFLOAT16:
        return bfloat16()
    if dtype is float:
        return _default_float
    if dtype is complex:
        return default_complex()
    try:
        result = np.dtype(dtype)
    except TypeError:
        raise TypeError(at_user_line(f"{dtype!r} is not a dtype; wanted one of {', '.join(SUPPORTED_NAMES)}")) from None
    if result.name not in SUPPORTED_NAMES:
        raise TypeError(
            at_user_line(f"dtype {result.name} is not supported; wanted one of {', '.join(SUPPORTED_NAMES)}")
        )
    return result if result.isnative else result.newbyteorder("=")


@cache
def is_supported(dtype: np.dtype[Any]) -> bool:
    return dtype.name in SUPPORTED_NAMES


@cache
def is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" or dtype.name == _BFLOAT16


@cache
def is_complex(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "c"


@cache
def is_inexact(dtype: np.dtype[Any]) -> bool:
    """Whether values of the dtype can carry a gradient (real or complex floating)."""
    return dtype.kind in "fc" or dtype.name == _BFLOAT16


@cache
def eps_of(dtype: np.dtype[Any]) -> float:
    """The rounding unit of an inexact dtype; NumPy knows none of bfloat16."""
    return float(np.finfo(dtype).eps) if dtype.kind in "fc" else 2.0**-7


@cache
def largest_exponent(dtype: np.dtype[Any]) -> int:
    """The smallest power of 2 that is out of the range of an inexact dtype."""
    return int(np.finfo(dtype).maxexp) if dtype.kind in "fc" else 128


@cache
def is_integer(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "iu"


@cache
def is_half(dtype: np.dtype[Any]) -> bool:
    """float16 and bfloat16: the dtypes that reductions sum in float32."""
    return dtype == float16 or dtype.name == _BFLOAT16


@cache
def promote(x: np.dtype[Any], y: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which two strongly typed operands meet."""
    if x == y:
        return x
    if _BFLOAT16 not in (x.name, y.name):
        return np.promote_types(x, y)
    other = y if x.name == _BFLOAT16 else x
    if other == float16:
        return float32
    met = np.promote_types(float16, other)
    return bfloat16() if met == float16 else met


def weak_dtype(number: bool | int | float | complex, partner: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that a weak Python number takes beside a strong partner."""
    return weak_promote(type(number), partner)


def weak_promote(kind: type, partner: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which a weak Python number of the given type and a strong partner meet."""
    if kind is bool:
        return partner
    if kind is int:
        return int64 if partner == bool_ else partner
    if kind is float:
        return partner if is_inexact(partner) else _default_float
    if is_complex(partner):
        return partner
    if not is_float(partner):
        return default_complex()
    return complex64 if is_half(partner) or partner == float32 else complex128


@cache
def _float_for(dtype: np.dtype[Any], default: np.dtype[Any]) -> np.dtype[Any]:
    if is_inexact(dtype):
        return dtype
    if default != float64:
        return default
    # NumPy's own choice for its float functions on small integers is the narrowest float that holds them
    # for ufuncs (int8 -> float16); for predictable results everything but bool8-bit types meets float64 there.
    if dtype == bool_ or dtype.itemsize == 1:
        return float16
    return float32 if dtype.itemsize == 2 else float64


def float_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that a float function (sin, exp, ...) gives for an argument of this dtype, as NumPy."""
    return _float_for(dtype, _default_float)


@cache
def real_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the real part."""
    if dtype == complex64:
        return float32
    return float64 if dtype == complex128 else dtype


@cache
def complex_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The complex dtype whose parts hold this dtype."""
    if is_complex(dtype):
        return dtype
    return complex64 if dtype == float32 or is_half(dtype) else complex128


def python_type(dtype: np.dtype[Any]) -> type:
    """The Python number type of a dtype's values, for weak typing."""
    if dtype == bool_:
        return bool
    if is_integer(dtype):
        return int
    return complex if is_complex(dtype) else float
