"""Fourier transforms: Keras's, on pairs of real and imaginary parts, and the general ones that `wg.fft` calls."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex

from .._core import dims, dtypes
from .._core.argument_types import ArrayLike, Axes
from .._core.dims import DimLike
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import fourier as F
from .._prims import structural as S
from ..errors import LostGradientError
from . import promotion
from .elementwise import divide, power
from .promotion import as_tensor, names_errors, normal_axes, outward, public

# -- transforms of any axes and lengths --------------------------------------------------------------------------------


def _complex_of(x: ArrayLike, what: str) -> Tensor:
    a = _wide(as_tensor(x, what))
    return a if dtypes.is_complex(a.dtype) else promotion.cast(a, dtypes.complex_of(a.dtype))


def _wide(a: Tensor) -> Tensor:
    if not dtypes.is_inexact(a.dtype):
        return promotion.cast(a, dtypes.default_float())
    return promotion.cast(a, dtypes.float32) if dtypes.is_half(a.dtype) else a


def resized(x: Tensor, axis: int, size: DimLike) -> Tensor:
    """x cropped, or lengthened by zeros, along an axis."""
    if x.shape[axis] == size:
        return x
    none = (0,) * x.ndim
    high = (*[size - d if i == axis else 0 for i, d in enumerate(x.shape)],)
    return S.pad(x, low=none, high=high, interior=none)


def _scaled(x: Tensor, count: DimLike, norm: str | None, is_inverse: bool, what: str) -> Tensor:
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(at_user_line(f"{what}: norm is {norm!r}, wanted 'backward', 'ortho' or 'forward'"))
    if norm == "ortho":
        exponent = 0.5
    elif (norm == "forward") != is_inverse:
        exponent = 1.0
    else:
        return x
    if type(count) is int:
        return S.times_number(x, number=1 / count**exponent)
    return divide(x, promotion.cast(power(promotion.as_float(as_tensor(count)), exponent), x.dtype))


def one_length(n: Any, what: str) -> tuple[Any] | None:
    """The length of a transform along one axis, where -1 does not mean the present one as it does among several."""
    if n is None or isinstance(n, dims.Dim):
        return None if n is None else (n,)
    try:
        length = operator.index(n)
    except LostGradientError:
        raise
    except TypeError:
        raise TypeError(at_user_line(f"{what}: n must be an integer, got {n!r}")) from None
    if length < 1:
        raise ValueError(at_user_line(f"{what}: n is {n}, a transform needs at least one number"))
    return (length,)


def _axes_and_sizes(x: Tensor, s: Sequence[int] | None, axes: Any, what: str) -> tuple[tuple[int, ...], list[Any]]:
    """The axes to transform, and the length asked for along each (None: as it is)."""
    if s is not None:
        s = [n if n is None or isinstance(n, dims.Dim) else operator.index(n) for n in s]
    if axes is None:
        axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    places = normal_axes(tuple(axes), x.ndim, what)
    sizes: list[Any] = [None] * len(places) if s is None else [None if n == -1 else n for n in s]
    if len(sizes) != len(places):
        raise ValueError(at_user_line(f"{what}: {len(sizes)} lengths for {len(places)} axes"))
    for n, axis in zip(sizes, places):
        if (isinstance(n, int) and n < 1) or x.shape[axis] == 0:
            raise ValueError(at_user_line(f"{what}: a transform needs at least one number, got {n} of {x.shape[axis]}"))
    return places, sizes


def transformed(x: ArrayLike, s: Any, axes: Axes, norm: str | None, is_inverse: bool, what: str) -> Tensor:
    """The complex transform along axes."""
    a = _complex_of(x, what)
    places, sizes = _axes_and_sizes(a, s, axes, what)
    for axis, n in zip(places, sizes):
        a = a if n is None else resized(a, axis, n)
    if not places:
        return a
    result = F.dft(a, axes=places, inverse=is_inverse)
    return _scaled(result, dims.size_of([a.shape[i] for i in places]), norm, is_inverse, what)


def half_transformed(x: ArrayLike, s: Any, axes: Axes, norm: str | None, what: str) -> Tensor:
    """The transform of real numbers: half a spectrum along the last of the axes."""
    a = as_tensor(x, what)
    if dtypes.is_complex(a.dtype):
        raise TypeError(at_user_line(f"{what}: wanted real numbers, got {a.dtype.name}"))
    a = _wide(a)
    places, sizes = _axes_and_sizes(a, s, axes, what)
    for axis, n in zip(places, sizes):
        a = a if n is None else resized(a, axis, n)
    count = dims.size_of([a.shape[i] for i in places])
    result = F.rfft(a, axis=places[-1])
    if len(places) > 1:
        result = F.dft(result, axes=places[:-1], inverse=False)
    return _scaled(result, count, norm, False, what)


def from_half(x: ArrayLike, s: Any, axes: Axes, norm: str | None, what: str) -> Tensor:
    """The way back from half a spectrum along the last of the axes."""
    a = _complex_of(x, what)
    places, sizes = _axes_and_sizes(a, s, axes, what)
    last = places[-1]
    size = 2 * (a.shape[last] - 1) if sizes[-1] is None else sizes[-1]
    if isinstance(size, int) and size < 1:
        raise ValueError(at_user_line(f"{what}: a transform needs at least one number, got {size}"))
    for axis, n in zip(places[:-1], sizes[:-1]):
        a = a if n is None else resized(a, axis, n)
    a = resized(a, last, dims.floordiv(size, 2) + 1)
    if len(places) > 1:
        a = F.dft(a, axes=places[:-1], inverse=True)
    result = F.irfft(a, axis=last, size=size)
    return _scaled(result, dims.size_of([result.shape[i] for i in places]), norm, True, what)


# -- Keras's, on pairs -------------------------------------------------------------------------------------------------


def _joined(x: ArrayLike, what: str) -> Tensor:
    if not isinstance(x, Sequence) or isinstance(x, str) or len(x) != 2:
        raise ValueError(at_user_line(f"{what}: wanted a pair (real part, imaginary part)"))
    parts = [_wide(as_tensor(p, what)) for p in x]
    dtype = promotion.common_dtype(parts)
    if dtypes.is_complex(dtype) or parts[0].shape != parts[1].shape:
        raise ValueError(at_user_line(f"{what}: wanted two real arrays of one shape"))
    return S.as_complex(*(promotion.cast(p, dtype) for p in parts))


def _pair(z: Tensor) -> tuple[Tensor, Tensor]:
    return S.real(z), S.imag(z)


@names_errors
def fft(x: Any) -> Any:
    """The Fourier transform along the last axis, on pairs of parts. `wg.fft.fft` takes complex arrays.

    Args:
        x: a pair (real part, imaginary part) of real arrays of one shape.

    Returns:
        The pair of parts of the transform, in the kind of array that came in.

    Raises:
        ValueError: if x is not such a pair.

    Example:
        >>> import wengert as wg
        >>> wg.ops.fft(([1.0, 2.0], [0.0, 0.0]))
        (array([ 3., -1.]), array([0., 0.]))
    """
    return outward(_pair(transformed(_joined(x, "fft"), None, (-1,), None, False, "fft")), *x)


@names_errors
def fft2(x: Any) -> Any:
    """The Fourier transform along the last two axes, on pairs of parts. `wg.fft.fft2` takes complex arrays.

    Args:
        x: a pair (real part, imaginary part) of real arrays of one shape.

    Returns:
        The pair of parts of the transform, in the kind of array that came in.

    Raises:
        ValueError: if x is not such a pair.

    Example:
        >>> import wengert as wg
        >>> wg.ops.fft2(([[1.0, 2.0]], [[0.0, 0.0]]))[0]
        array([[ 3., -1.]])
    """
    return outward(_pair(transformed(_joined(x, "fft2"), None, (-2, -1), None, False, "fft2")), *x)


@names_errors
def ifft2(x: Any) -> Any:
    """The inverse Fourier transform along the last two axes, on pairs of parts.

    Args:
        x: a pair (real part, imaginary part) of real arrays of one shape.

    Returns:
        The pair of parts of the transform, divided by the number of elements, in the kind of array that came in.

    Raises:
        ValueError: if x is not such a pair.

    Example:
        >>> import wengert as wg
        >>> wg.ops.ifft2(([[3.0, -1.0]], [[0.0, 0.0]]))[0]
        array([[1., 2.]])
    """
    return outward(_pair(transformed(_joined(x, "ifft2"), None, (-2, -1), None, True, "ifft2")), *x)


@public
def rfft(x: ArrayLike, fft_length: SupportsIndex | None = None) -> Any:
    """The first half of the Fourier transform of real numbers along the last axis, as a pair of parts.

    Args:
        x: an array of real values.
        fft_length: how many of them to transform, zeros following if there are fewer; None means all.

    Returns:
        The pair (real part, imaginary part), with ``fft_length // 2 + 1`` elements along the axis, in x's kind.

    Raises:
        TypeError: for complex values.

    Example:
        >>> import wengert as wg
        >>> wg.ops.rfft([1.0, 2.0])
        (array([ 3., -1.]), array([0., 0.]))
    """
    return _pair(half_transformed(x, one_length(fft_length, "rfft"), (-1,), None, "rfft"))


@names_errors
def irfft(x: Any, fft_length: SupportsIndex | None = None) -> Any:
    """Real numbers from the first half of their Fourier transform along the last axis, given as a pair of parts.

    The imaginary parts of the first element, and of the last one if the length is even, are not read.

    Args:
        x: a pair (real part, imaginary part) of real arrays of one shape.
        fft_length: how many numbers to return; None means twice as many as there are, less two.

    Returns:
        Real numbers in the kind of array that came in.

    Raises:
        ValueError: if x is not such a pair.

    Example:
        >>> import wengert as wg
        >>> wg.ops.irfft(([3.0, -1.0], [0.0, 0.0]))
        array([1., 2.])
    """
    return outward(from_half(_joined(x, "irfft"), one_length(fft_length, "irfft"), (-1,), None, "irfft"), *x)


__all__ = ["fft", "fft2", "ifft2", "irfft", "rfft"]
