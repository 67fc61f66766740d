"""Cosine transforms of real numbers of types 1 to 4, by Fourier transforms."""

from __future__ import annotations

import math
import operator
from typing import Any, SupportsIndex

import numpy as np

from .._core import dtypes
from .._core.argument_types import ArrayLike, Axes
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import fourier as F
from .._prims import structural as S
from . import promotion
from .elementwise import multiply
from .flips_and_rolls import flip
from .padding import pad
from .promotion import as_float, as_tensor, names_errors, normal_axis, outward
from .shapes import joined, known_extent, moved, part

_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}
_NORMS = (None, "backward", "ortho", "forward")


@names_errors
def dct(x: ArrayLike, type: int = 2, n: SupportsIndex | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The cosine transform of real numbers, as `scipy.fft.dct`.

    Args:
        x: an array of real values.
        type: 1, 2, 3 or 4.
        n: how many elements to take, cut off or filled up by zeros; None means all.
        axis: the axis.
        norm: "backward" (None; not divided), "ortho" (an orthogonal map) or "forward" (divided by twice the number of
            elements; for type 1 twice one less).

    Returns:
        Real numbers in the kind of array that came in.

    Raises:
        TypeError: for complex numbers.
        ValueError: for another type or norm, or too few elements: none, or one for type 1.

    Example:
        >>> import wengert as wg
        >>> wg.fft.dct([1.0, 2.0, 3.0]).round(6) + 0
        array([12.      , -3.464102,  0.      ])
    """
    return _transformed(x, type, n, axis, norm, False, "dct")


@names_errors
def idct(x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `dct` of the same type, as `scipy.fft.idct`.

    Args:
        x: an array of real values.
        type: 1, 2, 3 or 4.
        n: how many elements to take, cut off or filled up by zeros; None means all.
        axis: the axis.
        norm: that of `dct`.

    Returns:
        Real numbers in the kind of array that came in.

    Raises:
        TypeError: for complex numbers.
        ValueError: for another type or norm, or too few elements.

    Example:
        >>> import wengert as wg
        >>> wg.fft.idct(wg.fft.dct([1.0, 2.0, 3.0])).round(12)
        array([1., 2., 3.])
    """
    return _transformed(x, type, n, axis, norm, True, "idct")


def _transformed(x: ArrayLike, kind: int, n: Any, axis: Axes, norm: str | None, is_inverse: bool, what: str) -> Any:
    a = as_tensor(x, what)
    if dtypes.is_complex(a.dtype):
        raise TypeError(at_user_line(f"{what}: wanted real numbers, got {a.dtype.name}"))
    if kind not in _INVERSE:
        raise ValueError(at_user_line(f"{what}: type is {kind!r}, wanted 1, 2, 3 or 4"))
    if norm not in _NORMS:
        raise ValueError(at_user_line(f"{what}: norm is {norm!r}, wanted 'backward', 'ortho' or 'forward'"))
    place = normal_axis(axis, a.ndim, what)
    wanted = as_float(a).dtype
    a = moved(promotion.cast(a, dtypes.float32) if dtypes.is_half(wanted) else as_float(a), place, a.ndim - 1)
    a = _of_length(a, n, what)
    count = known_extent(a, a.ndim - 1, what)
    if count < (2 if kind == 1 else 1):
        raise ValueError(at_user_line(f"{what}: {count} elements are too few for type {kind}"))
    kind = _INVERSE[kind] if is_inverse else kind
    whole = 2 * (count - 1 if kind == 1 else count)
    if norm == "ortho":
        result = multiply(_orthogonal(a, kind, count), 1 / math.sqrt(whole))
    else:
        is_divided = (norm == "forward") != is_inverse
        result = _KINDS[kind](a, count)
        result = multiply(result, 1 / whole) if is_divided else result
    return outward(promotion.cast(moved(result, result.ndim - 1, place), wanted), x)


def _of_length(a: Tensor, n: Any, what: str) -> Tensor:
    if n is None:
        return a
    last, wanted = a.ndim - 1, operator.index(n)
    have = known_extent(a, last, what)
    if wanted <= have:
        return part(a, last, 0, max(wanted, 0))
    return pad(a, [(0, wanted - have) if i == last else (0, 0) for i in range(a.ndim)])


def _orthogonal(a: Tensor, kind: int, count: int) -> Tensor:
    """A transform whose first (of type 1 also last) elements are scaled so that the whole is orthogonal."""
    ends = np.ones(count)
    ends[[0, -1] if kind == 1 else [0]] = math.sqrt(2)
    before, after = kind in (1, 3), kind in (1, 2)
    result = _KINDS[kind](multiply(a, _constant(ends, a)) if before else a, count)
    return multiply(result, _constant(1 / ends, a)) if after else result


def _constant(values: Any, like: Tensor) -> Tensor:
    dtype = dtypes.complex_of(like.dtype) if np.iscomplexobj(values) else like.dtype
    return promotion.cast(as_tensor(values), dtype)


def _real_products(spectrum: Tensor, turns: ArrayLike, like: Tensor) -> Tensor:
    return S.real(multiply(spectrum, _constant(turns, like)))


def _first(a: Tensor, count: int) -> Tensor:
    """The spectrum of the elements and their mirror image, without the ends twice."""
    last = a.ndim - 1
    whole = joined([a, flip(part(a, last, 1, count - 1), axis=last)], last) if count > 2 else a
    return S.real(F.rfft(whole, axis=last))


def _second(a: Tensor, count: int) -> Tensor:
    """That of the elements and their mirror image, turned by half an element.

    That is the turned spectrum of the elements at even places and, behind them and backwards, of those at odd ones: its
    real parts are the first half of the result, its imaginary parts the second (Makhoul).
    """
    last, half = a.ndim - 1, count // 2 + 1
    folded = joined([a[..., ::2], flip(a[..., 1::2], axis=last)], last) if count > 1 else a
    spectrum = F.rfft(folded, axis=last)
    turned = multiply(spectrum, _constant(2.0 * np.exp(-0.5j * np.pi * np.arange(half) / count), a))
    if count < 3:
        return S.real(turned)
    back = multiply(S.imag(part(turned, last, 1, (count + 1) // 2)), -1.0)
    return joined([S.real(turned), flip(back, axis=last)], last)


def _third(a: Tensor, count: int) -> Tensor:
    """The transpose of the second."""
    last = a.ndim - 1
    turned = multiply(a, _constant(np.exp(0.5j * np.pi * np.arange(count) / count), a))
    turned = pad(turned, [(0, 1) if i == last else (0, 0) for i in range(a.ndim)])
    return part(F.irfft(turned, axis=last, size=2 * count), last, 0, count)


def _fourth(a: Tensor, count: int) -> Tensor:
    """That of the elements, turned by half an element both before and after."""
    last, places = a.ndim - 1, np.arange(count)
    turned = multiply(a, _constant(np.exp(-0.5j * np.pi * places / count), a))
    turned = pad(turned, [(0, count) if i == last else (0, 0) for i in range(a.ndim)])
    spectrum = part(F.dft(turned, axes=(last,), inverse=False), last, 0, count)
    return multiply(_real_products(spectrum, np.exp(-0.25j * np.pi * (2 * places + 1) / count), a), 2.0)


_KINDS = {1: _first, 2: _second, 3: _third, 4: _fourth}

__all__ = ["dct", "idct"]
