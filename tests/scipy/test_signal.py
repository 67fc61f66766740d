"""`wengert.scipy.signal`: values against SciPy's, gradients against differences, forward mode against reverse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.signal

import wengert as wg
from tests.support.scipy_rows import Row
from wengert.scipy import signal

RNG = np.random.default_rng(3)
B, A = scipy.signal.butter(2, 0.3)
SOS = scipy.signal.butter(3, 0.3, output="sos")
X = RNG.normal(size=(2, 14))
Y = RNG.normal(size=(2, 14))
LONG = RNG.normal(size=(2, 40))
STATE = RNG.normal(size=(2, 2))
K = RNG.normal(size=(3, 2))
M = RNG.normal(size=(4, 5))
PIECES = scipy.signal.stft(LONG[:, :20], nperseg=8)[2]

ROWS = [
    Row("signal.lfilter", B, A, X, followed=3),
    Row("signal.lfilter", B, A, X.T, 0, STATE.T, followed=3),
    Row("signal.lfilter", B, A, X[:, :1], -1, STATE, followed=3),
    Row("signal.lfilter", B, np.array([2.0]), X, followed=3),
    Row("signal.lfilter", [1.0], A, X + 1j * Y, followed=3, slopes=False),
    Row("signal.lfilter", B, A, X[0].astype(np.float32), followed=3, slopes=False),
    Row("signal.lfilter_zi", B, A, followed=2),
    Row("signal.sosfilt", SOS, X, followed=2),
    Row("signal.sosfilt", SOS, X.T, 0, np.ones((2, 2, 2)), followed=2),
    Row("signal.sosfilt_zi", SOS),
    Row("signal.filtfilt", B, A, X, followed=3),
    *[Row("signal.filtfilt", B, A, X.T, 0, kind, 4, followed=3) for kind in ("even", "constant", None)],
    Row("signal.sosfiltfilt", scipy.signal.butter(4, 0.3, output="sos"), LONG, followed=2),
    *[Row(f"signal.{name}", M, K, mode, followed=2)
      for name in ("convolve", "correlate", "fftconvolve", "oaconvolve") for mode in ("full", "same", "valid")],
    *[Row(f"signal.{name}", M, k, mode, boundary, followed=2)
      for name in ("convolve2d", "correlate2d") for mode in ("full", "same", "valid")
      for boundary in ("fill", "wrap", "symm") for k in (K, K[:2])],
    Row("signal.czt", X), Row("signal.czt", X.T, 5, np.exp(-0.2j), 1.1, axis=0), Row("signal.zoom_fft", X, [0.1, 0.3], 7),
    Row("signal.detrend", X), Row("signal.detrend", X.T, axis=0, bp=[5]), Row("signal.detrend", X, type="constant"),
    *[Row("signal.savgol_filter", X, 5, 2, mode=mode) for mode in ("interp", "mirror", "nearest", "wrap", "constant")],
    Row("signal.savgol_filter", X.T, 6, 2, deriv=1, delta=0.5, axis=0), Row("signal.savgol_filter", X, 6, 2, 3),
    Row("signal.hilbert", X), Row("signal.hilbert", X.T[:9], axis=0), Row("signal.hilbert", X, 17),
    *[Row("signal.resample", X, num, axis=1) for num in (7, 8, 14, 19, 20)],
    *[Row("signal.resample", X[:, :13] + 1j, num, axis=1) for num in (7, 8, 19, 20)],
    Row("signal.resample", X, 9, None, 1, "hamming"), Row("signal.resample", X[0], 9, np.arange(14.0)),
    *[Row("signal.welch", LONG, 10.0, nperseg=8, average=average) for average in ("mean", "median")],
    Row("signal.welch", LONG.T, nperseg=9, noverlap=3, nfft=16, detrend="linear", scaling="spectrum", axis=0),
    Row("signal.welch", LONG, nperseg=8, return_onesided=False, window=np.hanning(8)),
    Row("signal.csd", LONG, LONG[::-1, :30], nperseg=8, followed=2),
    Row("signal.csd", LONG, LONG[::-1], nperseg=8, average="median", followed=2),
    Row("signal.coherence", LONG, LONG[::-1], nperseg=8, followed=2),
    Row("signal.periodogram", X), Row("signal.periodogram", X, nfft=9), Row("signal.periodogram", X, nfft=20),
    *[Row("signal.spectrogram", LONG, nperseg=8, mode=mode)
      for mode in ("psd", "complex", "magnitude", "angle", "phase")],
    Row("signal.spectrogram", LONG.T, nperseg=8, axis=0, scaling="spectrum"),
    *[Row("signal.stft", LONG[:, :20], nperseg=8, boundary=kind) for kind in ("zeros", "even", "odd", "constant", None)],
    Row("signal.stft", LONG.T[:20], nperseg=7, axis=0, padded=False, scaling="psd", detrend="constant"),
    Row("signal.istft", PIECES, nperseg=8), Row("signal.istft", PIECES.swapaxes(1, 2), time_axis=1, freq_axis=2),
    Row("signal.istft", PIECES, nperseg=8, scaling="psd"),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=repr)
def test_values_are_scipys(row: Row) -> None:
    row.check_values()


@pytest.mark.parametrize("row", ROWS, ids=repr)
def test_gradients_are_those_of_differences(row: Row) -> None:
    row.check_slopes()


def test_a_filter_is_differentiated_with_respect_to_its_state() -> None:
    wg.check_gradients(lambda zi: signal.lfilter(B, A, X, zi=zi)[1], STATE)
    wg.check_gradients(lambda zi: signal.lfilter(B, A, X, zi=zi)[0], STATE)


def test_complex_coefficients_of_a_filter() -> None:
    wg.check_gradients(lambda b, a, x: signal.lfilter(b, a, x), B + 0.1j, A + 0.2j, X[0] + 1j * Y[0])


def test_a_filter_works_in_batches_in_traces_and_to_second_order() -> None:
    def f(a: wg.Tensor) -> wg.Tensor:
        return signal.lfilter(B, a, X[0])

    rows = np.stack([A, 1.1 * A, A + 0.01])
    expected = np.stack([scipy.signal.lfilter(B, a, X[0]) for a in rows])
    np.testing.assert_allclose(wg.vmap(f)(rows), expected, atol=1e-12)
    both = wg.vmap(lambda a, x: signal.lfilter(B, a, x), in_axes=(None, 0))(A, X)
    np.testing.assert_allclose(both, scipy.signal.lfilter(B, A, X), atol=1e-12)
    nested = wg.vmap(lambda x: wg.vmap(lambda a: signal.lfilter(B, a, x))(rows))(X)
    np.testing.assert_allclose(nested[1, 2], scipy.signal.lfilter(B, rows[2], X[1]), atol=1e-12)
    np.testing.assert_allclose(wg.function(f)(A), expected[0], atol=1e-12)
    slope = wg.grad(lambda a: (f(a) ** 2).sum())
    wg.check_gradients(slope, A)
    np.testing.assert_allclose(wg.function(slope)(A), slope(A), atol=1e-12)


def test_what_a_filter_cannot_follow_says_what_to_use() -> None:
    with pytest.raises(wg.LostGradientError, match="method='pad'"):
        wg.grad(lambda x: signal.filtfilt(B, A, x, method="gust").sum())(X[0])
    with pytest.raises(wg.LostGradientError, match="scipy.signal.medfilt"):
        wg.grad(lambda x: signal.medfilt2d(x, 3).sum())(LONG)


@pytest.mark.parametrize(("up", "down", "axis"), [(1, 1, -1), (3, 2, 0), (2, 5, 1)])
def test_upfirdn(up: int, down: int, axis: int) -> None:
    x, h = RNG.normal(size=(6, 7)), RNG.normal(size=4)
    np.testing.assert_allclose(
        signal.upfirdn(wg.tensor(h), x, up, down, axis), scipy.signal.upfirdn(h, x, up, down, axis), atol=1e-12
    )
    wg.check_gradients(lambda h, x: signal.upfirdn(h, x, up, down, axis), h, x)


def test_too_short_a_signal_is_the_error_of_scipy() -> None:
    with pytest.raises(ValueError, match="must be greater than padlen, which is 9"):
        wg.grad(lambda x: signal.filtfilt(B, A, x).sum())(X[0, :9])


def test_windows_and_designs_are_scipys_constants() -> None:
    np.testing.assert_array_equal(signal.windows.hann(5), scipy.signal.windows.hann(5))
    np.testing.assert_array_equal(signal.firwin(5, 0.3), scipy.signal.firwin(5, 0.3))


@pytest.mark.parametrize("name", ["residue", "residuez"])
def test_partial_fractions_follow_both_polynomials(name: str) -> None:
    ours, theirs = getattr(signal, name), getattr(scipy.signal, name)
    for b, a in (([1.0, 2.0, 3.0], [1.0, 6.0, 11.0, 6.0]), ([2.0, 1.0, 0.0, 1.0], [1.0, 3.0, 2.0])):
        point = np.concatenate([b, a])
        step = np.cos(np.arange(len(point)))

        def loss(module: Any, p: Any, count: int = len(b)) -> Any:
            residues, poles, direct = module(p[:count], p[count:])
            return np.sum(residues * np.arange(1, len(poles) + 1)) + np.sum(poles**2) + np.sum(direct)

        value, slope = wg.jvp(lambda p, loss=loss: loss(ours, p), (point,), (step,))
        np.testing.assert_allclose(value, loss(theirs, point), rtol=1e-9)
        difference = (loss(theirs, point + 1e-5 * step) - loss(theirs, point - 1e-5 * step)) / 2e-5
        np.testing.assert_allclose(slope, difference, rtol=1e-6)
        np.testing.assert_allclose(wg.grad(lambda p, loss=loss: np.real(loss(ours, p)))(point) @ step, slope, rtol=1e-9)


@pytest.mark.parametrize("name", ["residue", "residuez"])
def test_partial_fractions_of_a_root_that_comes_twice(name: str) -> None:
    (got, *_), slopes = wg.jvp(lambda b: getattr(signal, name)(b, [1.0, 2.0, 1.0])[:2], ([1.0, 3.0],), ([1.0, 0.0],))
    np.testing.assert_allclose(got, getattr(scipy.signal, name)([1.0, 3.0], [1.0, 2.0, 1.0])[0], atol=1e-7)
    np.testing.assert_allclose(slopes[0], getattr(scipy.signal, name)([1.0, 0.0], [1.0, 2.0, 1.0])[0], atol=1e-7)


def test_roots_that_count_as_one() -> None:
    roots = np.array([1.0, 2.0, 1.0005, 2.0 + 1e-5])
    for rtype in ("min", "max", "avg"):
        want, got = scipy.signal.unique_roots(roots, 1e-2, rtype), signal.unique_roots(wg.tensor(roots), 1e-2, rtype)
        np.testing.assert_allclose(got[0], want[0], rtol=1e-15)
        np.testing.assert_array_equal(got[1], want[1])
    slopes = wg.grad(lambda r: signal.unique_roots(r, 1e-2, "avg")[0][0])(roots)
    np.testing.assert_array_equal(slopes, [0.5, 0, 0.5, 0])
