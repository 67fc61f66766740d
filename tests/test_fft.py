"""Fourier transforms: NumPy's values under NumPy's names, adjoints against the definition, pairs for Keras."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

RNG = np.random.default_rng(0)
REAL = RNG.normal(size=(3, 4, 5))
COMPLEX = REAL + 1j * RNG.normal(size=(3, 4, 5))


def close(got, want):
    assert np.asarray(got).dtype == np.asarray(want).dtype
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "ifft", "irfft", "rfft", "hfft", "ihfft"])
@pytest.mark.parametrize("arguments", [{}, {"n": 3}, {"n": 8, "axis": 1}, {"axis": 0}])
def test_one_axis(name, arguments, norm):
    for x in (REAL, COMPLEX)[: 1 if name in ("rfft", "ihfft") else 2]:
        close(getattr(wg.fft, name)(x, **arguments, norm=norm), getattr(np.fft, name)(x, **arguments, norm=norm))


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "ifft", "irfft", "rfft"])
@pytest.mark.parametrize("arguments", [{}, {"s": (4, 3), "axes": (0, 1)}, {"axes": (2, 0)}])
def test_several_axes(name, arguments, norm):
    for suffix in "2n":
        ours, theirs = (getattr(home, name + suffix) for home in (wg.fft, np.fft))
        for x in (REAL, COMPLEX)[: 1 if name == "rfft" else 2]:
            close(ours(x, **arguments, norm=norm), theirs(x, **arguments, norm=norm))


def test_shifts_are_numpys():
    for axes in (None, 0, (0, 2)):
        np.testing.assert_array_equal(wg.fft.fftshift(REAL, axes), np.fft.fftshift(REAL, axes))
        np.testing.assert_array_equal(wg.fft.ifftshift(REAL, axes), np.fft.ifftshift(REAL, axes))


@pytest.mark.parametrize("n", [4, 5])
def test_gradients_against_differences(n):
    w = RNG.normal(size=9) + 1j * RNG.normal(size=9)
    x, z = RNG.normal(size=n), RNG.normal(size=n // 2 + 1) + 1j * RNG.normal(size=n // 2 + 1)

    def there(x):
        y = wg.fft.rfft(x)
        return wg.sum(wg.real(y * w[: n // 2 + 1]) ** 2)

    def back(z):
        return wg.sum(wg.fft.irfft(z, n) ** 2 * w.real[:n])

    wg.check_gradients(there, x)
    wg.check_gradients(back, z)
    wg.check_gradients(lambda z: wg.sum(wg.abs(wg.fft.fft(z, norm="ortho") * wg.fft.ifft(z)) ** 2), z)


def test_what_a_real_result_does_not_read_has_no_gradient():
    g = np.asarray(wg.grad(lambda z: wg.fft.irfft(z, 4)[1])(np.array([1 + 1j, 2 + 2j, 3 + 3j])))
    assert g[0].imag == g[2].imag == 0 and g[1].imag != 0


def test_numpys_functions_are_recorded():
    x = REAL[0, 0]
    f = wg.grad(lambda x: np.sum(np.abs(np.fft.rfft(x)) ** 2))
    weights = np.array([1, 2, 2])  # Parseval: the sum over all five bins is 5 times that of squares
    spectrum = np.fft.rfft(x)
    want = np.fft.irfft(2 * spectrum * np.where(weights == 1, 1, 0.5), 5, norm="forward")
    np.testing.assert_allclose(np.asarray(f(x)), want)
    np.testing.assert_allclose(wg.function(f)(x), want)


def test_lengths_unknown_to_the_trace():
    @wg.function(input_signature=[wg.TensorSpec((None,), np.float64)])
    def f(x):
        return wg.fft.irfft(wg.fft.rfft(x) * 2, x.shape[0], norm="backward")

    for n in (4, 7):
        np.testing.assert_allclose(f(np.arange(n * 1.0)), 2 * np.arange(n * 1.0), atol=1e-12)


def test_errors():
    with pytest.raises(ValueError, match="norm is 'loud'"):
        wg.fft.fft(REAL, norm="loud")
    with pytest.raises(TypeError, match="wanted real numbers, got complex128"):
        wg.fft.rfft(COMPLEX)
    with pytest.raises(ValueError, match="at least one number"):
        wg.fft.fft(REAL, n=0)
    with pytest.raises(ValueError, match="wanted a pair"):
        wg.ops.fft(REAL)


def test_frequencies_follow_the_distance():
    d = np.array(0.5)
    for name in ("fftfreq", "rfftfreq"):
        frequencies = getattr(wg.fft, name)
        np.testing.assert_allclose(wg.function(lambda d, f=frequencies: f(4, d))(d), getattr(np.fft, name)(4, d))
        assert wg.grad(lambda d, f=frequencies: wg.sum(f(5, d) ** 2))(d) == pytest.approx(
            -2 * np.sum(getattr(np.fft, name)(5, d) ** 2) / d
        )
        with pytest.raises(wg.LostGradientError, match="static_argnames"):
            wg.function(frequencies)(np.array(4))


@pytest.mark.parametrize(
    "f",
    [
        lambda n, x: wg.arange(n), lambda n, x: wg.zeros(n), lambda n, x: wg.repeat(x, n), lambda n, x: wg.tile(x, n),
        lambda n, x: wg.linspace(0.0, 1.0, n), lambda n, x: wg.scan(lambda c, _: (c, None), x, None, length=n),
    ],
    ids=["arange", "zeros", "repeat", "tile", "linspace", "scan"],
)  # fmt: skip
def test_a_count_that_is_traced_is_refused_with_the_cure(f):
    with pytest.raises(wg.LostGradientError, match=r"must be known before a program runs.*fori_loop"):
        wg.function(f)(np.array(3), np.ones(2))
