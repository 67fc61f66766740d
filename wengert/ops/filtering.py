"""Convolution and correlation of arrays of any number of axes, summed directly or by Fourier transforms.

What lies outside of an array is 0. Modes and rules are those of `scipy.signal`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.argument_types import ArrayLike, Axes
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import conv as C
from .._prims import fourier as F
from .._prims import indexing as I
from .._prims import structural as S
from . import promotion
from .complex_parts import conj
from .flips_and_rolls import flip
from .padding import pad
from .promotion import as_float, as_tensor, names_errors, normal_axes, outward
from .shapes import known_extent, moved, part, reshaped

_MODES = ("full", "valid", "same")
# transforms win from about this many products for each element of the result
_FEW_PRODUCTS = 64


def _pair(first: ArrayLike, second: ArrayLike, what: str) -> tuple[Tensor, Tensor]:
    a, b = as_tensor(first, what), as_tensor(second, what)
    if a.ndim != b.ndim:
        raise ValueError(at_user_line(f"{what}: shapes {a.shape} and {b.shape}; wanted as many axes"))
    dtype = promotion.common_dtype([a, b])
    return promotion.cast(a, dtype), promotion.cast(b, dtype)


def _sizes(x: Tensor, axes: Any, what: str) -> list[int]:
    found = [known_extent(x, i, what) for i in axes]
    if 0 in found:
        raise ValueError(at_user_line(f"{what}: shape {x.shape} is empty along an axis"))
    return found


def _checked_mode(mode: str, what: str) -> None:
    if mode not in _MODES:
        raise ValueError(at_user_line(f"{what}: mode is 'full', 'same' or 'valid', got {mode!r}"))


def _is_swapped(mode: str, first: list[int], second: list[int], what: str) -> bool:
    """Whether the second array is the larger one, for "valid"; one must be at least as long along every axis."""
    if mode != "valid" or all(n >= m for n, m in zip(first, second)):
        return False
    if all(m >= n for n, m in zip(first, second)):
        return True
    raise ValueError(at_user_line(f"{what}: for 'valid' one array must fit into the other, got {first} and {second}"))


def _window(mode: str, n: int, m: int) -> tuple[int, int]:
    """Which part of the n + m - 1 shifts a mode keeps."""
    if mode == "full":
        return 0, n + m - 1
    return ((m - 1) // 2, (m - 1) // 2 + n) if mode == "same" else (m - 1, n)


def _direct(a: Tensor, b: Tensor, mode: str, what: str) -> Tensor:
    """The convolution as a sum of products; exact for integers."""
    sizes = [*zip(_sizes(a, range(a.ndim), what), _sizes(b, range(b.ndim), what))]
    windows = [_window(mode, n, m) for n, m in sizes]
    # of full shifts, which take m - 1 zeros before and after, those outside of the window are cut off
    padding = (*[(m - 1 - low, high - n) for (n, m), (low, high) in zip(sizes, windows)],)
    ones = (1,) * a.ndim
    kernel = flip(b) if b.ndim else b
    wide = [reshaped(x, (1, 1, *x.shape)) for x in (a, kernel)]
    found = C.conv(
        *wide, strides=ones, padding=padding, lhs_dilation=ones, rhs_dilation=ones, groups=1, batch_groups=1
    )  # fmt: skip
    return reshaped(found, tuple(found.shape[2:]))


def _fast_length(n: int) -> int:
    """The next number that is a product of twos, threes and fives, for which transforms are fast."""
    while True:
        rest = n
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return n
        n += 1


def _by_transforms(a: Tensor, b: Tensor, mode: str, axes: tuple[int, ...], what: str) -> Tensor:
    """The convolution along some axes as a product of spectra; the others broadcast."""
    first, second = _sizes(a, axes, what), _sizes(b, axes, what)
    lengths = [_fast_length(n + m - 1) for n, m in zip(first, second)]
    if not axes:
        return S.mul(*promotion.meet(a, b, what))
    wide = [
        pad(x, [(0, lengths[axes.index(i)] - x.shape[i]) if i in axes else (0, 0) for i in range(x.ndim)])
        for x in (a, b)
    ]
    is_real = not dtypes.is_complex(a.dtype)
    first_spectrum, second_spectrum = (_spectrum(x, axes, is_real) for x in wide)
    product = S.mul(*promotion.meet(first_spectrum, second_spectrum, what))
    if is_real:
        product = F.dft(product, axes=axes[:-1], inverse=True) if axes[1:] else product
        product = F.irfft(product, axis=axes[-1], size=lengths[-1])
    else:
        product = F.dft(product, axes=axes, inverse=True)
    product = S.times_number(product, number=1 / math.prod(lengths))
    for axis, n, m in zip(axes, first, second):
        product = part(product, axis, *_window(mode, n, m))
    return product


def _spectrum(x: Tensor, axes: tuple[int, ...], is_real: bool) -> Tensor:
    if not is_real:
        return F.dft(x, axes=axes, inverse=False)
    half = F.rfft(x, axis=axes[-1])
    return F.dft(half, axes=axes[:-1], inverse=False) if axes[1:] else half


def _chosen(a: Tensor, b: Tensor, method: str | None, what: str) -> str:
    if method not in ("auto", "direct", "fft"):
        raise ValueError(at_user_line(f"{what}: method is 'auto', 'direct' or 'fft', got {method!r}"))
    if method != "auto":
        return method
    smaller = min(math.prod(_sizes(x, range(x.ndim), what)) for x in (a, b))
    return "direct" if smaller <= _FEW_PRODUCTS or not dtypes.is_inexact(a.dtype) else "fft"


def _convolved(a: Tensor, b: Tensor, mode: str, method: str | None, what: str) -> Tensor:
    _checked_mode(mode, what)
    if a.ndim == 0:
        return S.mul(a, b)
    way = _chosen(a, b, method, what)
    axes = tuple(range(a.ndim))
    if _is_swapped(mode, _sizes(a, axes, what), _sizes(b, axes, what), what):
        a, b = b, a
    if way == "direct":
        return _direct(a, b, mode, what)
    return promotion.cast(_by_transforms(_wide(a), _wide(b), mode, axes, what), as_float(a).dtype)


def _wide(x: Tensor) -> Tensor:
    """Transforms work in single precision at least."""
    return promotion.cast(x, dtypes.float32) if dtypes.is_half(x.dtype) else as_float(x)


@names_errors
def convolve(in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto") -> Any:
    """The convolution of two arrays of any number of axes, as `scipy.signal.convolve`.

    Args:
        in1: an array.
        in2: an array of as many axes.
        mode: "full": every shift at which the arrays meet; "valid": those at which one lies inside the other; "same":
            as many as `in1` has elements, in the middle of all.
        method: "direct" sums products, "fft" multiplies spectra, "auto" takes what promises to be faster, and sums
            where there are few products or the elements are integers.

    Returns:
        The convolution in the kind of array that came in; "direct" keeps the dtype, also of integers.

    Raises:
        ValueError: for another mode or method, empty arrays, different numbers of axes, and for "valid" arrays of
            which neither fits into the other.

    Example:
        >>> import wengert as wg
        >>> wg.signal.convolve([[1.0, 2.0], [3.0, 4.0]], [[1.0, 1.0]])
        array([[1., 3., 2.],
               [3., 7., 4.]])
    """
    a, b = _pair(in1, in2, "signal.convolve")
    return outward(_convolved(a, b, mode, method, "signal.convolve"), in1, in2)


@names_errors
def correlate(in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto") -> Any:
    """The correlation of two arrays of any number of axes, as `scipy.signal.correlate`: at each shift the sum of the
    products with the conjugate of the second.

    Args:
        in1: an array.
        in2: an array of as many axes.
        mode: which shifts, as for `convolve`.
        method: "direct", "fft" or "auto", as for `convolve`.

    Returns:
        The correlation in the kind of array that came in.

    Raises:
        ValueError: as for `convolve`.

    Example:
        >>> import wengert as wg
        >>> wg.signal.correlate([1.0, 2.0, 3.0], [0.0, 1.0])
        array([1., 2., 3., 0.])
    """
    a, b = _pair(in1, in2, "signal.correlate")
    turned = flip(conj(b)) if b.ndim else conj(b)
    return outward(_convolved(a, turned, mode, method, "signal.correlate"), in1, in2)


@names_errors
def fftconvolve(in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: Axes = None) -> Any:
    """The convolution of two arrays by Fourier transforms, as `scipy.signal.fftconvolve`.

    Args:
        in1: an array.
        in2: an array of as many axes.
        mode: which shifts, as for `convolve`.
        axes: the axes to convolve along; None means all. The others broadcast.

    Returns:
        The convolution in the kind of array that came in; integers give floats.

    Raises:
        ValueError: as for `convolve`, and for other axes that do not broadcast.

    Example:
        >>> import wengert as wg
        >>> wg.signal.fftconvolve([1.0, 2.0, 3.0], [0.0, 1.0, 0.5]).round(12) + 0
        array([0. , 1. , 2.5, 4. , 1.5])
    """
    a, b, places = _along(in1, in2, mode, axes, "fftconvolve")
    result = _by_transforms(_wide(a), _wide(b), mode, places, "fftconvolve")
    return outward(promotion.cast(result, as_float(a).dtype), in1, in2)


def _along(in1: ArrayLike, in2: ArrayLike, mode: str, axes: Axes, what: str) -> tuple[Tensor, Tensor, tuple[int, ...]]:
    """Two arrays, the larger one first for "valid", and the axes to convolve along."""
    _checked_mode(mode, what)
    a, b = _pair(in1, in2, what)
    places = normal_axes(axes, a.ndim, what)
    if _is_swapped(mode, _sizes(a, places, what), _sizes(b, places, what), what):
        a, b = b, a
    return a, b, places


@names_errors
def oaconvolve(in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: Axes = None) -> Any:
    """The convolution by transforms of blocks that overlap, as `scipy.signal.oaconvolve`: faster than `fftconvolve`
    where one array is much longer than the other along an axis.

    Args:
        in1: an array.
        in2: an array of as many axes.
        mode: which shifts, as for `convolve`.
        axes: the axes to convolve along; None means all. The others broadcast.

    Returns:
        The convolution in the kind of array that came in; integers give floats.

    Raises:
        ValueError: as for `fftconvolve`.

    Example:
        >>> import wengert as wg
        >>> wg.signal.oaconvolve([1.0, 2.0, 3.0, 4.0], [1.0, 1.0], mode="valid").round(12)
        array([3., 5., 7.])
    """
    what = "oaconvolve"
    a, b, places = _along(in1, in2, mode, axes, what)
    dtype = as_float(a).dtype
    x, y = _wide(a), _wide(b)
    if not places:
        return outward(promotion.cast(_by_transforms(x, y, mode, places, what), dtype), in1, in2)
    ratios = [n / m for n, m in zip(_sizes(x, places, what), _sizes(y, places, what))]
    # along one axis in blocks: the one on which the arrays differ most
    axis = places[int(np.argmax([abs(math.log(r)) for r in ratios]))]
    long, short = (x, y) if x.shape[axis] >= y.shape[axis] else (y, x)
    full = _in_blocks(long, short, axis, places, what)
    for place in places:
        full = part(full, place, *_window(mode, known_extent(x, place, what), known_extent(y, place, what)))
    return outward(promotion.cast(full, dtype), in1, in2)


def _in_blocks(long: Tensor, short: Tensor, axis: int, axes: tuple[int, ...], what: str) -> Tensor:
    """The full convolution, one axis of the longer array cut into blocks, the results of which overlap."""
    n, m = known_extent(long, axis, what), known_extent(short, axis, what)
    size = max(_fast_length(4 * m) - m + 1, 1)  # blocks of about three times the kernel
    count = -(-n // size)
    if count == 1:
        return _by_transforms(long, short, "full", axes, what)
    filled = pad(long, [(0, count * size - n) if i == axis else (0, 0) for i in range(long.ndim)])
    blocks = reshaped(filled, (*filled.shape[:axis], count, size, *filled.shape[axis + 1 :]))
    kernel = reshaped(short, (*short.shape[:axis], 1, *short.shape[axis:]))
    inner = (*[i + (i >= axis) for i in axes],)
    pieces = _by_transforms(blocks, kernel, "full", inner, what)
    first = moved(moved(pieces, axis, 0), axis + 1, 1)
    zeros = S.full(shape=((count - 1) * size + size + m - 1, *first.shape[2:]), value=0, dtype=first.dtype)
    where = (np.arange(count) * size)[:, None] + np.arange(size + m - 1)
    added = moved(I.scatter_add(zeros, first, as_tensor(where)), 0, axis)
    return part(added, axis, 0, n + m - 1)


__all__ = ["convolve", "correlate", "fftconvolve", "oaconvolve"]
