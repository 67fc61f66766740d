"""The base of all random draws in `wengert.random`: keys, and uniform and normal numbers made of their bits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.apply import apply
from .._core.argument_types import ArrayLike, DTypeLike, ShapeLike
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import discrete as D
from .._prims import random as Z
from .._prims import special as P
from .._prims import structural as S
from . import promotion
from .promotion import as_tensor, names_errors
from .shapes import part, reshaped

_UINT32 = np.dtype(np.uint32)


def key_of(value: ArrayLike, what: str) -> Tensor:
    tensor = as_tensor(value, what)
    if tensor.dtype != _UINT32 or not tensor.shape or tensor.shape[-1] != 2:
        raise TypeError(
            at_user_line(
                f"random.{what}: wanted a key (two uint32 words; see wg.random.key), got {tensor.dtype.name} of shape "
                f"{tensor.shape}"
            )
        )
    return tensor


@names_errors
def float_dtype(dtype: DTypeLike, what: str) -> np.dtype[Any]:
    wanted = dtypes.default_float() if dtype is None else dtypes.as_dtype(dtype)
    if not dtypes.is_float(wanted):
        raise TypeError(at_user_line(f"random.{what}: dtype is {wanted.name}, wanted a floating one"))
    return wanted


def _mantissas(key: Tensor, shape: Any, is_double: bool) -> tuple[Tensor, int]:
    """Uniform integers of as many bits as a float's mantissa holds, and how many those are."""
    if not is_double:
        return S.convert(_shifted(Z.random_bits(key, shape=shape), 8), dtype=dtypes.float32), 24
    # two words make 53 bits; 2^26 high + low is exact in float64
    words = Z.random_bits(key, shape=(*shape, 2))
    last = words.ndim - 1
    high, low = (reshaped(part(words, last, i, i + 1), tuple(words.shape[:-1])) for i in (0, 1))
    upper = S.convert(_shifted(high, 5), dtype=dtypes.float64)
    lower = S.convert(_shifted(low, 6), dtype=dtypes.float64)
    return S.add(S.times_number(upper, number=2.0**26), lower), 53


def _shifted(words: Tensor, places: int) -> Tensor:
    return apply(D.right_shift, (words, S.fill(words, places)))


@names_errors
def unit(key: Tensor, shape: ShapeLike, dtype: np.dtype[Any]) -> Tensor:
    """Uniform numbers in [0, 1), multiples of the dtype's own step (2^-53, 2^-24, 2^-11 or 2^-8)."""
    numbers, width = _mantissas(key, shape, dtype == dtypes.float64)
    if dtypes.is_half(dtype):
        # fewer bits, so that rounding to the narrow dtype cannot give 1
        kept = 11 if dtype == dtypes.float16 else 8
        numbers = D.floor(S.times_number(numbers, number=2.0 ** (kept - width)))
        width = kept
    return promotion.cast(S.times_number(numbers, number=2.0**-width), dtype)


@names_errors
def open_unit(key: Tensor, shape: ShapeLike, dtype: np.dtype[Any]) -> Tensor:
    """Uniform numbers inside of (0, 1), both ends left out: the middles of equal parts."""
    numbers, width = _mantissas(key, shape, dtype == dtypes.float64)
    # one bit less, so that middles are floats, too
    halves = D.floor(S.times_number(numbers, number=0.5))
    middles = S.times_number(S.add_number(halves, number=0.5), number=2.0 ** (1 - width))
    if dtypes.is_half(dtype):
        return promotion.cast(middles, dtypes.float32)  # narrow floats would round to 0 and 1
    return middles


@names_errors
def standard_normal(key: Tensor, size: ShapeLike, wanted: np.dtype[Any]) -> Tensor:
    """Standard normal numbers, by the inverse of the distribution function."""
    inner = dtypes.float64 if wanted == dtypes.float64 else dtypes.float32
    numbers, width = _mantissas(key, size, inner == dtypes.float64)
    # the middles of 2^(width - 1) equal parts of (-1, 1): symmetric, and never an end
    halves = D.floor(S.times_number(numbers, number=0.5))
    odd = S.add_number(S.times_number(halves, number=2.0), number=1 - 2.0 ** (width - 1))
    centred = S.times_number(odd, number=2.0 ** (1 - width))
    return promotion.cast(S.times_number(P.erfinv(centred), number=math.sqrt(2)), wanted)


__all__ = ["float_dtype", "key_of", "open_unit", "standard_normal", "unit"]
