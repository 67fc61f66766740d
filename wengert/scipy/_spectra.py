"""Spectra of signals and what is made by them (`stft`, `welch`, `resample`, `hilbert`), trends and smoothing."""

from __future__ import annotations

import functools
import itertools
from typing import Any, SupportsIndex

import numpy

from .. import fft
from .. import numpy as np
from .._core import dtypes
from .._core.argument_types import ArrayLike
from .._core.scipy_modules import scipy
from .._core.tensor import Tensor
from ..ops.filtering import convolve as convolved
from ._conversions import Array, fixed, floats, recorded
from ._edges import beyond
from ._filters import extended

# -- trends and smoothing ----------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=32)
def _line(count: int) -> Array:
    """Orthonormal columns that span the lines over so many elements."""
    return numpy.linalg.qr(numpy.stack([numpy.ones(count), numpy.arange(count)], axis=1))[0][:, : max(min(2, count), 1)]


def without_trend(x: Tensor, kind: str | None, breaks: int = 0) -> Tensor:
    """A signal less its mean or its line of least squares, along the last axis."""
    if kind not in ("linear", "l", "constant", "c"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    if kind in ("constant", "c"):
        return x - np.mean(x, axis=-1, keepdims=True)
    count = x.shape[-1]
    ends = numpy.unique(numpy.concatenate([numpy.atleast_1d(numpy.asarray(breaks)), [0, count]]))
    if (ends > count).any():
        raise ValueError("Breakpoints must be less than length of data along given axis.")
    pieces: list[Any] = []
    for low, high in itertools.pairwise(ends):
        piece = x[..., int(low) : int(high)]
        columns = _line(int(high - low)).astype(x.dtype)
        pieces.append(piece - (piece @ columns) @ columns.T)
    return np.concatenate(pieces, axis=-1)


@recorded
def detrend(
    data: ArrayLike, axis: int = -1, type: str = "linear", bp: ArrayLike = 0, overwrite_data: bool = False
) -> Any:
    """A signal less its trend; linear in the signal."""
    return np.moveaxis(without_trend(np.moveaxis(floats(data), axis, -1), type, fixed(bp, "bp", "detrend")), -1, axis)


@recorded
def savgol_filter(
    x: ArrayLike, window_length: int, polyorder: int, deriv: int = 0, delta: Any = 1.0, axis: int = -1,
    mode: str = "interp", cval: ArrayLike = 0.0,
) -> Any:  # fmt: skip
    """Savitzky and Golay's smoothing, with gradients in x, delta and cval."""
    if mode not in ("mirror", "constant", "nearest", "interp", "wrap"):
        raise ValueError("mode must be 'mirror', 'constant', 'nearest' 'wrap' or 'interp'.")
    row = np.moveaxis(floats(x), axis, -1)
    count, half = row.shape[-1], window_length // 2
    taps = scipy("signal").savgol_coeffs(window_length, polyorder, deriv=deriv).astype(row.dtype)
    if mode == "interp":
        if window_length > count:
            raise ValueError("If mode is 'interp', window_length must be less than or equal to the size of x.")
        inner = _rows_summed(row, taps)
        # the polynomial that is fitted to the last elements, at the places near the ends
        fit = numpy.linalg.pinv(numpy.vander(numpy.arange(window_length), polyorder + 1, increasing=True))
        powers = numpy.polynomial.polynomial.polyder(fit, deriv) if deriv <= polyorder else fit[:1] * 0
        at = numpy.polynomial.polynomial.polyval(numpy.arange(window_length), powers).astype(row.dtype)
        # `at[i, j]`: what element i of the window adds at place j
        first = row[..., :window_length] @ at[:, :half]
        last = row[..., count - window_length :] @ at[:, window_length - half :]
        found = np.concatenate([first, inner[..., 2 * half - window_length + 1 :], last], axis=-1)
    else:
        after = window_length - 1 - half
        found = _rows_summed(beyond(row, -1, after, half, mode, cval), taps)
    return np.moveaxis(found if deriv == 0 else found / delta**deriv, -1, axis)


def _rows_summed(x: Tensor, taps: Any) -> Tensor:
    """The convolution of the last axis with taps, where they lie inside."""
    found = convolved(np.reshape(x, (-1, x.shape[-1])), taps[None], mode="valid", method="direct")
    return np.reshape(found, (*x.shape[:-1], found.shape[-1]))


# -- by Fourier transforms of the whole signal -------------------------------------------------------------------------


@recorded
def hilbert(x: ArrayLike, N: int | None = None, axis: int = -1) -> Any:
    """The analytic signal; linear in x."""
    x = floats(x)
    if dtypes.is_complex(x.dtype):
        raise ValueError("x must be real.")
    count = x.shape[axis] if N is None else N
    if count <= 0:
        raise ValueError("N must be positive.")
    weights = numpy.zeros(count)
    weights[0] = 1
    weights[1 : (count + 1) // 2] = 2
    if count % 2 == 0:
        weights[count // 2] = 1
    spectrum = fft.fft(np.moveaxis(x, axis, -1), count)
    return np.moveaxis(fft.ifft(spectrum * weights), -1, axis)


@recorded
def resample(x: ArrayLike, num: int, t: Any = None, axis: int = 0, window: object = None, domain: str = "time") -> Any:
    """A signal at another number of times, by its spectrum; with gradients in x, t and an array window."""
    if domain not in ("time", "freq"):
        raise ValueError(f"Parameter domain={domain!r} not in ('time', 'freq')!")
    row = floats(x)
    row = np.moveaxis(row, axis, -1) if row.ndim > 1 else row
    count = int(row.shape[-1])
    weights = _resampling_window(window, count)
    kept = min(num, count)
    if domain == "time" and not dtypes.is_complex(row.dtype):
        spectrum = fft.rfft(row)
        if weights is not None:
            size = spectrum.shape[-1]
            folded = np.concatenate([weights[:1], (weights[1:size] + np.flip(weights[count - size + 1 :])) / 2])
            spectrum = spectrum * folded
        share = numpy.ones(kept // 2 + 1)
        if kept % 2 == 0 and num != count:
            share[kept // 2] = 2 if num < count else 0.5
        found = fft.irfft(spectrum[..., : kept // 2 + 1] * (share * num / count), num)
    else:
        spectrum = fft.fft(row) if domain == "time" else row
        spectrum = spectrum if weights is None else spectrum * weights
        found = fft.ifft(_other_length(spectrum, num, kept) * (num / count))
    found = np.moveaxis(found, -1, axis) if found.ndim > 1 else found
    if t is None:
        return found
    return found, t[0] + (t[1] - t[0]) * (count / num) * numpy.arange(num)


def _resampling_window(window: Any, count: int) -> Any:
    if window is None:
        return None
    if callable(window):
        return np.asarray(window(numpy.fft.fftfreq(count)))
    if hasattr(window, "shape"):
        if tuple(window.shape) != (count,):
            raise ValueError(f"{window.shape=} != ({count},), i.e., window length is not equal to number of "
                             "frequency bins!")  # fmt: skip
        return np.asarray(window)
    return numpy.fft.fftshift(scipy("signal").get_window(window, count))


def _other_length(spectrum: Tensor, num: int, kept: int) -> Tensor:
    """The spectrum of a signal of another length."""
    count, middle = spectrum.shape[-1], kept // 2 + 1
    low, high = spectrum[..., :middle], spectrum[..., count - (kept - middle) :]
    gap = np.zeros((*spectrum.shape[:-1], num - kept), spectrum.dtype)
    if kept % 2 or num == count:
        return np.concatenate([low, gap, high], axis=-1)
    lone = low[..., middle - 1 :]
    if num < count:  # two bins become one
        partner = spectrum[..., count - kept // 2 : count - kept // 2 + 1]
        return np.concatenate([low[..., : middle - 1], lone + partner, gap, high], axis=-1)
    lone = lone / 2
    return np.concatenate([low[..., : middle - 1], lone, gap[..., 1:], lone, high], axis=-1)


# -- of segments -------------------------------------------------------------------------------------------------------


def _segments(x: Tensor, length: int, step: int, count: int) -> Tensor:
    """(..., count, length)"""
    return np.take(x, numpy.arange(count)[:, None] * step + numpy.arange(length), axis=-1)


def _window_of(window: ArrayLike, nperseg: Any, count: int) -> tuple[Any, int]:
    if isinstance(window, (str, tuple)):
        size = 256 if nperseg is None else int(nperseg)
        if size < 1:
            raise ValueError("nperseg must be a positive integer")
        size = min(size, count)
        return scipy("signal").get_window(window, size), size
    window = np.asarray(window)
    if window.ndim != 1:
        raise ValueError("window must be 1-D")
    size = int(window.shape[0])
    if count < size:
        raise ValueError("window is longer than input signal")
    if nperseg is not None and nperseg != size:
        raise ValueError("value specified for nperseg is different from length of window")
    return window, size


def _overlap(noverlap: int | None, nperseg: int) -> int:
    found = nperseg // 2 if noverlap is None else int(noverlap)
    if found >= nperseg:
        raise ValueError("noverlap must be less than nperseg.")
    return found


def _transform_size(nfft: int | None, nperseg: int) -> int:
    found = nperseg if nfft is None else int(nfft)
    if found < nperseg:
        raise ValueError("nfft must be greater than or equal to nperseg.")
    return found


class _Spectra:
    """Windowed transforms of the segments of signals along the last axis: `of(x)` is (..., segments, frequencies)."""

    def __init__(
        self,
        shape: Any,
        is_complex: bool,
        *,
        fs: float,
        window: ArrayLike,
        nperseg: int,
        noverlap: Any,
        nfft: int | None,
        detrend: str,
        return_onesided: bool,
        scaling: str,
        axis: int,
    ) -> None:
        self.window, self.nperseg = _window_of(window, nperseg, int(shape[-1]))
        self.noverlap = _overlap(noverlap, self.nperseg)
        self.step = self.nperseg - self.noverlap
        self.nfft = _transform_size(nfft, self.nperseg)
        self.is_onesided = return_onesided and not is_complex
        self.detrend, self.axis, self.fs = detrend, axis, fs
        if scaling == "density":
            self.scale = 1.0 / (fs * np.sum(self.window * self.window))
        elif scaling == "spectrum":
            self.scale = 1.0 / np.sum(self.window) ** 2
        else:
            raise ValueError(f"Unknown scaling: {scaling!r}")
        frequencies = numpy.fft.rfftfreq if self.is_onesided else numpy.fft.fftfreq
        self.frequencies = frequencies(self.nfft, 1.0) * fs

    def of(self, x: Tensor) -> Tensor:
        count = (int(x.shape[-1]) - self.noverlap) // self.step
        pieces = _segments(x, self.nperseg, self.step, count)
        if callable(self.detrend):
            pieces = np.moveaxis(self.detrend(np.moveaxis(pieces, -1, self.axis)), self.axis, -1)
        elif self.detrend:
            pieces = without_trend(pieces, self.detrend)
        transform = fft.rfft if self.is_onesided else fft.fft
        return transform(pieces * self.window, self.nfft)

    def doubled(self, power: Tensor) -> Tensor:
        """Powers with those of negative frequencies added."""
        weights = numpy.ones(power.shape[-1])
        if self.is_onesided:
            weights[1 : None if self.nfft % 2 else -1] = 2
        return power * (weights * self.scale)

    def times(self, length: int) -> Any:
        middle = numpy.arange(self.nperseg / 2, length - self.nperseg / 2 + 1, self.step)
        return middle / self.fs


def _placed(found: Tensor, axis: int) -> Tensor:
    """(..., segments, frequencies) with the frequencies where the signals' axis was, the segments last."""
    return np.moveaxis(found, -1, axis - 1 if axis < 0 else axis)


def _rows(axis: int, *xs: ArrayLike) -> list[Tensor]:
    """Signals along the last axis, as long as the longest."""
    rows = [np.moveaxis(floats(x), axis, -1) for x in xs]
    longest = max(row.shape[-1] for row in rows)
    return [np.pad(r, [(0, 0)] * (r.ndim - 1) + [(0, longest - r.shape[-1])]) for r in rows]


def _is_complex(*xs: Tensor) -> bool:
    return any(dtypes.is_complex(x.dtype) for x in xs)


@recorded
def csd(
    x: ArrayLike, y: ArrayLike, fs: Any = 1.0, window: Any = "hann_periodic", nperseg: SupportsIndex | None = None,
    noverlap: SupportsIndex | None = None, nfft: SupportsIndex | None = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1, average: str = "mean",
) -> Any:  # fmt: skip
    """The cross power spectral density by Welch's method, with gradients in the signals, fs and an array window."""
    return _cross(x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)


def _cross(
    x: ArrayLike, y: ArrayLike, fs: float, window: ArrayLike, nperseg: Any, noverlap: Any, nfft: Any, detrend: str,
    onesided: bool, scaling: str, axis: int, average: str,
) -> tuple[Any, Tensor]:  # fmt: skip
    is_same = y is x
    first, second = _rows(axis, x, x if is_same else y)
    spectra = _Spectra(
        first.shape, _is_complex(first, second), fs=fs, window=window, nperseg=nperseg, noverlap=noverlap, nfft=nfft,
        detrend=detrend, return_onesided=onesided, scaling=scaling, axis=axis,
    )  # fmt: skip
    of_first = spectra.of(first)
    if is_same:
        power = np.real(of_first) ** 2 + np.imag(of_first) ** 2
    else:
        power = np.conj(of_first) * spectra.of(second)
    power = spectra.doubled(power)
    return spectra.frequencies, np.moveaxis(_averaged(power, average), -1, axis)


def _averaged(power: Tensor, average: str) -> Tensor:
    """Over the segments, which are on the last axis but one."""
    count = int(power.shape[-2])
    if average == "mean" or count == 1:
        return np.mean(power, axis=-2)
    if average != "median":
        raise ValueError(f"Parameter average={average!r} must be 'median' or 'mean'!")
    later = 2 * numpy.arange(1.0, (count - 1) // 2 + 1)
    bias = 1 + numpy.sum(1 / (later + 1) - 1 / later)
    if not dtypes.is_complex(power.dtype):
        return np.median(power, axis=-2) / bias
    return (np.median(np.real(power), axis=-2) + 1j * np.median(np.imag(power), axis=-2)) / bias


@recorded
def welch(
    x: Any, fs: Any = 1.0, window: Any = "hann_periodic", nperseg: int | None = None, noverlap: int | None = None,
    nfft: int | None = None, detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density",
    axis: int = -1, average: str = "mean",
) -> Any:  # fmt: skip
    """The power spectral density by Welch's method, with gradients in x, fs and an array window."""
    return _cross(x, x, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)


@recorded
def periodogram(
    x: Any, fs: Any = 1.0, window: Any = "boxcar", nfft: int | None = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1,
) -> Any:  # fmt: skip
    """The power spectral density of the whole signal, with gradients in x, fs and an array window."""
    x = floats(x)
    window = "boxcar" if window is None else window
    if nfft is not None and nfft < x.shape[axis]:
        x = np.moveaxis(np.moveaxis(x, axis, -1)[..., :nfft], -1, axis)
    if hasattr(window, "size") and window.size != x.shape[axis]:
        raise ValueError("the size of the window must be the same size of the input on the specified axis")
    size = x.shape[axis]
    return _cross(x, x, fs, window, size, 0, nfft, detrend, return_onesided, scaling, axis, "mean")


@recorded
def coherence(
    x: ArrayLike, y: ArrayLike, fs: Any = 1.0, window: Any = "hann_periodic", nperseg: int | None = None,
    noverlap: int | None = None, nfft: int | None = None, detrend: Any = "constant", axis: int = -1,
) -> Any:  # fmt: skip
    """The magnitude squared coherence, with gradients in both signals."""

    def power(a: Any, b: Any) -> Any:
        return _cross(a, b, fs, window, nperseg, noverlap, nfft, detrend, True, "density", axis, "mean")

    frequencies, of_x = power(x, x)
    _, of_y = power(y, y)
    _, of_both = power(x, y)
    return frequencies, (np.real(of_both) ** 2 + np.imag(of_both) ** 2) / of_x / of_y


@recorded
def spectrogram(
    x: ArrayLike, fs: Any = 1.0, window: Any = ("tukey_periodic", 0.25), nperseg: int | None = None,
    noverlap: SupportsIndex | None = None, nfft: int | None = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1, mode: str = "psd",
) -> Any:  # fmt: skip
    """Spectra of consecutive segments, with gradients in x, fs and an array window."""
    if mode not in ("psd", "complex", "magnitude", "angle", "phase"):
        raise ValueError(f"unknown value for mode {mode}, must be one of "
                         "['psd', 'complex', 'magnitude', 'angle', 'phase']")  # fmt: skip
    (row,) = _rows(axis, x)
    window, nperseg = _window_of(window, nperseg, int(row.shape[-1]))
    spectra = _Spectra(
        row.shape, _is_complex(row), fs=fs, window=window, nperseg=nperseg, nfft=nfft, detrend=detrend,
        noverlap=nperseg // 8 if noverlap is None else noverlap, return_onesided=return_onesided, scaling=scaling,
        axis=axis,
    )  # fmt: skip
    found = spectra.of(row)
    times = spectra.times(int(row.shape[-1]))
    if mode == "psd":
        power = spectra.doubled(np.real(found) ** 2 + np.imag(found) ** 2)
        return spectra.frequencies, times, _placed(power, axis)
    found = _placed(found * np.sqrt(spectra.scale), axis)
    if mode == "magnitude":
        found = np.abs(found)
    elif mode in ("angle", "phase"):
        found = np.angle(found)
        if mode == "phase":
            found = np.unwrap(found, axis=axis - 1 if axis < 0 else axis)
    return spectra.frequencies, times, found


@recorded
def stft(
    x: ArrayLike, fs: Any = 1.0, window: Any = "hann_periodic", nperseg: Any = 256, noverlap: int | None = None,
    nfft: int | None = None, detrend: Any = False, return_onesided: bool = True, boundary: Any = "zeros",
    padded: bool = True, axis: int = -1, scaling: str = "spectrum",
) -> Any:  # fmt: skip
    """The short-time Fourier transform, with gradients in x, fs and an array window."""
    if scaling not in ("psd", "spectrum"):
        raise ValueError(f"Parameter scaling={scaling!r} not in ['spectrum', 'psd']!")
    if boundary not in ("even", "odd", "constant", "zeros", None):
        raise ValueError(
            f"Unknown boundary option '{boundary}', must be one of: ['even', 'odd', 'constant', 'zeros', None]"
        )
    (row,) = _rows(axis, x)
    window, nperseg = _window_of(window, nperseg, int(row.shape[-1]))
    spectra = _Spectra(
        row.shape, _is_complex(row), fs=fs, window=window, nperseg=nperseg, noverlap=noverlap, nfft=nfft,
        detrend=detrend, return_onesided=return_onesided, scaling="density" if scaling == "psd" else scaling,
        axis=axis,
    )  # fmt: skip
    half = nperseg // 2
    if boundary == "zeros":
        row = _zeros_around(row, half, half)
    elif boundary is not None:
        row = extended(row, boundary, half)
    if padded:
        row = _zeros_around(row, 0, (-(int(row.shape[-1]) - nperseg) % spectra.step) % nperseg)
    times = spectra.times(int(row.shape[-1]))
    if boundary is not None:
        times = times - (nperseg / 2) / fs
    return spectra.frequencies, times, _placed(spectra.of(row) * np.sqrt(spectra.scale), axis)


def _zeros_around(x: Tensor, before: int, behind: int) -> Tensor:
    return np.pad(x, [(0, 0)] * (x.ndim - 1) + [(before, behind)])


@recorded
def istft(
    Zxx: Any, fs: object = 1.0, window: Any = "hann_periodic", nperseg: int | None = None, noverlap: int | None = None,
    nfft: int | None = None, input_onesided: bool = True, boundary: str | bool | None = True, time_axis: int = -1,
    freq_axis: int = -2, scaling: str = "spectrum",
) -> Any:  # fmt: skip
    """The signal of a short-time Fourier transform, with gradients in it, fs and an array window."""
    spectra = floats(Zxx)
    if spectra.ndim < 2:
        raise ValueError("Input stft must be at least 2d!")
    time_axis, freq_axis = time_axis % spectra.ndim, freq_axis % spectra.ndim
    if freq_axis == time_axis:
        raise ValueError("Must specify differing time and frequency axes!")
    spectra = np.moveaxis(spectra, (time_axis, freq_axis), (-2, -1))  # (..., segments, frequencies)
    count = int(spectra.shape[-2])
    usual = 2 * (int(spectra.shape[-1]) - 1) if input_onesided else int(spectra.shape[-1])
    nperseg = usual if nperseg is None else int(nperseg)
    if nperseg < 1:
        raise ValueError("nperseg must be a positive integer")
    if nfft is None:
        nfft = nperseg if input_onesided and nperseg == usual + 1 else usual
    nfft = _transform_size(nfft, nperseg)
    step = nperseg - _overlap(noverlap, nperseg)
    window = scipy("signal").get_window(window, nperseg) if isinstance(window, (str, tuple)) else np.asarray(window)
    if window.ndim != 1:
        raise ValueError("window must be 1-D")
    if window.shape[0] != nperseg:
        raise ValueError(f"window must have length of {nperseg}")
    pieces = (fft.irfft if input_onesided else fft.ifft)(spectra + 0j, nfft)[..., :nperseg]
    if scaling == "spectrum":
        pieces = pieces * np.sum(window)
    elif scaling == "psd":
        pieces = pieces * np.sqrt(fs * np.sum(window**2))
    else:
        raise ValueError(f"Parameter scaling={scaling!r} not in ['spectrum', 'psd']!")
    length = nperseg + (count - 1) * step
    added = _overlapped(pieces * window, step, length)
    norm = _overlapped(np.broadcast_to(window**2, (count, nperseg)), step, length)
    if boundary:
        added = added[..., nperseg // 2 : length - nperseg // 2]
        norm = norm[..., nperseg // 2 : length - nperseg // 2]
    found = added / np.where(norm > 1e-10, norm, 1.0)
    times = numpy.arange(found.shape[0]) / fs
    if found.ndim > 1:
        found = np.moveaxis(found, -1, time_axis - 1 if freq_axis < time_axis else time_axis)
    return times, found


def _overlapped(pieces: Any, step: int, length: int) -> Any:
    """The sum of segments (..., count, size), each put where it begins."""
    count, size = int(pieces.shape[-2]), int(pieces.shape[-1])
    where = numpy.arange(count)[:, None] * step + numpy.arange(size)
    first = np.moveaxis(np.asarray(pieces), (-2, -1), (0, 1))
    total = np.zeros((length, *first.shape[2:]), first.dtype).at[where].add(first)
    return np.moveaxis(total, 0, -1)


__all__ = [
    "coherence", "csd", "detrend", "hilbert", "istft", "periodogram", "resample", "savgol_filter", "spectrogram",
    "stft", "welch",
]  # fmt: skip
