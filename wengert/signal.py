"""Signals of any number of axes with the names and signatures of `scipy.signal`: convolution and correlation.

Short-time Fourier transforms are in `wg.ops`, transforms in `wg.fft`.
"""

# pyright: strict, reportPrivateUsage=false

from .ops.filtering import convolve, correlate, fftconvolve, oaconvolve

__all__ = ["convolve", "correlate", "fftconvolve", "oaconvolve"]
