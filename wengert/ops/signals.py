"""Signals along the last axis: overlapping sequences, short-time Fourier transforms, convolution and correlation."""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex

import numpy as np

from .._core import dtypes
from .._core.argument_types import ArrayLike, DTypeLike
from .._core.dims import Dim, maximum, minimum
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import conv as C
from .._prims import discrete as D
from .._prims import elementwise as E
from .._prims import fourier as F
from .._prims import indexing as I
from .._prims import structural as S
from . import promotion
from .complex_parts import conj
from .creation import arange
from .elementwise import add, multiply
from .flips_and_rolls import flip
from .indexing import take
from .linalg import matmul
from .padding import pad
from .promotion import as_float, as_tensor, names_errors, outward
from .shapes import joined, known_extent, moved, part, reshaped

# -- sequences ---------------------------------------------------------------------------------------------------------


def _positive(value: Any, what: str, name: str) -> int:
    number = operator.index(value)
    if number < 1:
        raise ValueError(at_user_line(f"{what}: {name} must be a positive integer, got {value!r}"))
    return number


def _places(count: int, length: int, stride: int) -> np.ndarray[Any, Any]:
    """The positions of the elements of each sequence."""
    return (np.arange(count) * stride)[:, None] + np.arange(length)


def _sequences(x: Tensor, length: int, stride: int, what: str) -> Tensor:
    size = known_extent(x, x.ndim - 1, what)
    if size < length:
        raise ValueError(at_user_line(f"{what}: sequences of {length} elements do not fit into {size}"))
    return take(x, _places(1 + (size - length) // stride, length, stride), axis=-1)


@names_errors
def extract_sequences(x: ArrayLike, sequence_length: int, sequence_stride: int) -> Any:
    """Overlapping sequences along the last axis.

    Args:
        x: an array (..., n).
        sequence_length: how many elements a sequence has.
        sequence_stride: how far apart sequences begin.

    Returns:
        The sequences (..., count, sequence_length) in x's kind; elements after the last whole one are left out.

    Raises:
        ValueError: for a length or stride below 1, or a length above n.

    Example:
        >>> import wengert as wg
        >>> wg.ops.extract_sequences([1.0, 2.0, 3.0, 4.0, 5.0], 3, 2)
        array([[1., 2., 3.],
               [3., 4., 5.]])
    """
    a = as_tensor(x, "extract_sequences")
    length = _positive(sequence_length, "extract_sequences", "sequence_length")
    stride = _positive(sequence_stride, "extract_sequences", "sequence_stride")
    return outward(_sequences(a, length, stride, "extract_sequences"), x)


# -- short-time Fourier transforms -------------------------------------------------------------------------------------


def _window(window: Any, length: int, fft_length: int, dtype: DTypeLike, what: str) -> Tensor:
    """The window in the middle of as many zeros as the transform is longer."""
    if isinstance(window, str):
        if window not in ("hann", "hamming"):
            raise ValueError(at_user_line(f"{what}: window is {window!r}, wanted 'hann', 'hamming', an array or None"))
        base = 0.5 if window == "hann" else 0.54
        window = base - (1 - base) * np.cos(2 * np.pi * np.arange(length) / length)
    elif window is None:  # no window is one of ones, as long as the transform
        return promotion.cast(as_tensor(np.ones(fft_length), what), dtype)
    values = promotion.cast(as_tensor(window, what), dtype)
    if tuple(values.shape) != (length,):
        raise ValueError(at_user_line(f"{what}: the window has shape {values.shape}, wanted {(length,)}"))
    low = (fft_length - length) // 2
    return pad(values, ((low, fft_length - length - low),))


def _lengths(length: object, stride: ArrayLike, fft_length: object, what: str) -> tuple[int, int, int]:
    size, step = _positive(length, what, "sequence_length"), _positive(stride, what, "sequence_stride")
    whole = _positive(fft_length, what, "fft_length")
    if whole < size:
        raise ValueError(at_user_line(f"{what}: fft_length is {whole}, less than sequence_length, {size}"))
    return size, step, whole


@names_errors
def stft(
    x: ArrayLike,
    sequence_length: int,
    sequence_stride: int,
    fft_length: int,
    window: object = "hann",
    center: bool = True,
) -> Any:
    """The short-time Fourier transform of real signals: the spectra of overlapping sequences.

    Args:
        x: an array (..., n) of real values.
        sequence_length: how many elements a sequence has.
        sequence_stride: how far apart sequences begin.
        fft_length: the length of the transforms, at least `sequence_length`.
        window: "hann", "hamming" (both periodic), an array of `sequence_length` factors, or None for `fft_length` ones.
        center: whether sequences have their middle at multiples of the stride; the signal is reflected at its ends.

    Returns:
        The real and the imaginary parts (..., count, fft_length // 2 + 1), in x's kind.

    Raises:
        ValueError: for lengths that do not fit, or an unknown window.

    Example:
        >>> import wengert as wg
        >>> real, imaginary = wg.ops.stft([1.0, 2.0, 3.0, 4.0], 2, 2, 2, window=None, center=False)
        >>> real
        array([[ 3., -1.],
               [ 7., -1.]])
    """
    a = as_float(as_tensor(x, "stft"))
    if dtypes.is_complex(a.dtype):
        raise TypeError(at_user_line(f"stft: wanted real signals, got {a.dtype.name}"))
    size, step, whole = _lengths(sequence_length, sequence_stride, fft_length, "stft")
    factors = _window(window, size, whole, a.dtype, "stft")
    if center:
        a = pad(a, (*[(0, 0)] * (a.ndim - 1), (whole // 2, whole // 2)), mode="reflect")
    frames = multiply(_sequences(a, whole, step, "stft"), factors)
    spectrum = F.rfft(frames, axis=frames.ndim - 1)
    return outward((S.real(spectrum), S.imag(spectrum)), x, window)


@names_errors
def istft(
    x: ArrayLike,
    sequence_length: int,
    sequence_stride: int,
    fft_length: int,
    length: SupportsIndex | None = None,
    window: object = "hann",
    center: bool = True,
) -> Any:
    """The signals of which `stft` gives the spectra.

    Where sequences overlap they are added up, with the windows that undo those of `stft`. Elements near the ends that
    only some sequences reach are too small.

    Args:
        x: a pair of arrays (..., count, fft_length // 2 + 1), real and imaginary parts.
        sequence_length: how many elements a sequence has.
        sequence_stride: how far apart sequences begin.
        fft_length: the length of the transforms.
        length: the length of the result; as long as the sequences reach if None.
        window: the window given to `stft`.
        center: whether `stft` centred its sequences.

    Returns:
        The signals (..., n) in x's kind.

    Raises:
        ValueError: for lengths that do not fit, or an unknown window.

    Example:
        >>> import wengert as wg
        >>> spectrum = wg.ops.stft([1.0, 2.0, 3.0, 4.0], 2, 1, 2)
        >>> wg.ops.istft(spectrum, 2, 1, 2).round(12)
        array([1., 2., 3., 4.])
    """
    if not isinstance(x, (tuple, list)) or len(x) != 2:
        raise ValueError(at_user_line("istft: wanted a pair (real part, imaginary part)"))
    real, imag = map(as_float, promotion.meet(as_tensor(x[0], "istft"), as_tensor(x[1], "istft"), "istft"))
    size, step, whole = _lengths(sequence_length, sequence_stride, fft_length, "istft")
    spectrum = S.as_complex(real, imag)
    frames = S.times_number(F.irfft(spectrum, axis=real.ndim - 1, size=whole), number=1 / whole)
    frames = multiply(frames, _undoing(_window(window, size, whole, real.dtype, "istft"), step))
    added = _overlapping_sum(frames, step)
    reach = known_extent(added, added.ndim - 1, "istft")
    start = whole // 2 if center else 0
    stop = start + operator.index(length) if length is not None else reach - start
    if stop > reach:
        none = (0,) * (added.ndim - 1)
        added = S.pad(added, low=(*none, 0), high=(*none, stop - reach), interior=(*none, 0))
    return outward(part(added, added.ndim - 1, start, stop), *x, window)


def _undoing(window: Tensor, step: int) -> Tensor:
    """The window over the sum of squares of all windows that overlap there, were there no ends."""
    whole = known_extent(window, 0, "istft")
    overlaps = -(-whole // step)
    squares = reshaped(pad(multiply(window, window), ((0, overlaps * step - whole),)), (overlaps, step))
    total = promotion.broadcast(S.reduce_sum(squares, axes=(0,)), (overlaps, step))
    return multiply(window, _inverse_or_zero(part(reshaped(total, (overlaps * step,)), 0, 0, whole)))


def _inverse_or_zero(x: Tensor) -> Tensor:
    from_zero = promotion.binary(D.eq, x, S.fill(x, 0))
    return S.select(from_zero, S.fill(x, 0), E.reciprocal(S.select(from_zero, S.fill(x, 1), x)))


def _overlapping_sum(frames: Tensor, step: int) -> Tensor:
    """The transpose of taking sequences."""
    count, length = (known_extent(frames, frames.ndim - i, "istft") for i in (2, 1))
    first = moved(moved(frames, frames.ndim - 2, 0), frames.ndim - 1, 1)
    zeros = S.full(shape=((count - 1) * step + length, *frames.shape[:-2]), value=0, dtype=frames.dtype)
    added = I.scatter_add(zeros, first, as_tensor(_places(count, length, step)))
    return moved(added, 0, added.ndim - 1)


# -- convolution of rows -----------------------------------------------------------------------------------------------


def convolved(x: Tensor, y: Tensor, mode: str, what: str, is_correlation: bool = False) -> Tensor:
    """The convolution of two rows as `numpy.convolve` has it.

    Args:
        x: a row.
        y: another one.
        mode: as of `numpy.convolve`.
        what: the function, for errors.
        is_correlation: whether "same" is `numpy.correlate`'s, which rounds up where the second row is the longer one.
    """
    if x.ndim != 1 or y.ndim != 1 or 0 in (x.shape[0], y.shape[0]):
        raise ValueError(at_user_line(f"{what}: shapes {x.shape} and {y.shape}; wanted two rows that are not empty"))
    dtype = promotion.common_dtype([x, y])
    x, y = promotion.cast(x, dtype), promotion.cast(y, dtype)
    if mode not in ("full", "same", "valid"):
        raise ValueError(at_user_line(f"{what}: mode is 'full', 'same' or 'valid', got {mode!r}"))
    if any(isinstance(size, Dim) for size in (*x.shape, *y.shape)):
        return _of_unknown_extents(x, y, mode, is_correlation)
    if is_correlation and mode == "same" and x.shape[0] < y.shape[0]:
        start = (x.shape[0] - 1) - (x.shape[0] - 1) // 2
        return part(convolved(x, y, "full", what), 0, start, start + y.shape[0])
    if y.shape[0] > x.shape[0]:
        x, y = y, x
    m: Any = y.shape[0]
    margins = {"full": (m - 1, m - 1), "same": (m - 1 - (m - 1) // 2, (m - 1) // 2), "valid": (0, 0)}
    return _slid_over(x, flip(y), margins[mode])


def _slid_over(x: Tensor, kernel: Tensor, margins: tuple[int, int]) -> Tensor:
    """The sums of products at each place of a kernel along a row with zeros before and behind it."""
    lhs, rhs = (reshaped(row, (1, 1, row.shape[0])) for row in (x, kernel))
    is_complex = dtypes.is_complex(x.dtype)
    if is_complex:  # real and imaginary parts are two channels: machine code has convolutions of real numbers
        real, imaginary = S.real(rhs), S.imag(rhs)
        lhs = joined([S.real(lhs), S.imag(lhs)], 1)
        rhs = joined([joined([real, S.neg(imaginary)], 1), joined([imaginary, real], 1)], 0)
    ones = (1,)
    found = C.conv(
        lhs, rhs, strides=ones, padding=(margins,), lhs_dilation=ones, rhs_dilation=ones, groups=1, batch_groups=1
    )
    if is_complex:
        found = S.as_complex(part(found, 1, 0, 1), part(found, 1, 1, 2))
    return reshaped(found, (found.shape[2],))


def _of_unknown_extents(x: Tensor, y: Tensor, mode: str, is_correlation: bool) -> Tensor:
    """A convolution whose longer row nobody knows: a part of the full one, in which either may be."""
    n: Any = x.shape[0]
    m: Any = y.shape[0]
    margin = S.full(shape=(m - 1,), value=0, dtype=x.dtype)
    places = add(reshaped(arange(n + m - 1), (n + m - 1, 1)), arange(m))
    full = matmul(take(joined([margin, x, margin], 0), places, axis=0), flip(y))
    less, more = minimum(n, m), maximum(n, m)
    if mode == "full":
        return full
    if mode == "valid":
        return part(full, 0, less - 1, more)
    start = (less - 1 + (minimum(1, maximum(m - n, 0)) if is_correlation else 0)) // 2
    return part(full, 0, start, start + more)


@names_errors
def correlate(x1: ArrayLike, x2: ArrayLike, mode: str = "valid") -> Any:
    """The correlation of two rows, the second conjugated: at each shift the sum of products.

    Args:
        x1: a vector.
        x2: a vector.
        mode: "valid" (shifts at which the shorter one lies inside), "same" or "full", as `numpy.correlate`.

    Returns:
        A vector in the kind of array that came in.

    Raises:
        ValueError: for other shapes, or another mode.

    Example:
        >>> import wengert as wg
        >>> wg.ops.correlate([1.0, 2.0, 3.0], [0.0, 1.0])
        array([2., 3.])
    """
    x, y = as_tensor(x1, "correlate"), as_tensor(x2, "correlate")
    turned = flip(conj(y)) if y.ndim else y
    return outward(convolved(x, turned, mode, "correlate", is_correlation=True), x1, x2)


__all__ = ["correlate", "extract_sequences", "istft", "stft"]
