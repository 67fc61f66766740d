"""`scipy.signal`: filters and spectra."""

from __future__ import annotations

from typing import Any

from .. import signal as _signal
from ._convolutions import convolve2d, correlate2d, upfirdn
from ._filters import filtfilt, lfilter, lfilter_zi, sosfilt, sosfilt_zi, sosfiltfilt
from ._followed import counting, followed
from ._namespace import namespace
from ._partial_fractions import unique_roots
from ._spectra import (
    coherence,
    csd,
    detrend,
    hilbert,
    istft,
    periodogram,
    resample,
    savgol_filter,
    spectrogram,
    stft,
    welch,
)

_FUNCTIONS = (
    convolve2d, correlate2d, filtfilt, lfilter, lfilter_zi, sosfilt, sosfilt_zi, sosfiltfilt, coherence, csd, detrend,
    hilbert, istft, periodogram, resample, savgol_filter, spectrogram, stft, unique_roots, upfirdn, welch,
)  # fmt: skip
OURS: dict[str, Any] = {
    **{name: getattr(_signal, name) for name in _signal.__all__}, **{f.__name__: f for f in _FUNCTIONS},
}  # fmt: skip
OURS |= followed(
    "scipy.signal",
    """
    butter cheby1 cheby2 ellip iirfilter iirnotch iirpeak iircomb firwin firwin2 firls gammatone
    freqz freqz_zpk freqz_sos sosfreqz freqs freqs_zpk group_delay bilinear bilinear_zpk normalize
    tf2zpk tf2sos tf2ss zpk2tf zpk2sos zpk2ss sos2tf sos2zpk ss2tf ss2zpk
    lp2lp lp2hp lp2bp lp2bs lp2lp_zpk lp2hp_zpk lp2bp_zpk lp2bs_zpk
    decimate resample_poly deconvolve wiener hilbert2 envelope lombscargle vectorstrength
    czt zoom_fft minimum_phase lsim dlsim step impulse cont2discrete invres chirp gausspulse sawtooth sweep_poly
    bode freqresp dbode dfreqresp dstep dimpulse iirdesign invresz abcd_normalize savgol_coeffs findfreqs firwin_2d
    residue residuez gauss_spline cspline1d qspline1d kaiser_beta kaiser_atten czt_points medfilt order_filter
    find_peaks peak_prominences peak_widths
""",
)
OURS |= counting("scipy.signal", "argrelextrema argrelmax argrelmin find_peaks_cwt")
NEAR = {
    "lfiltic": "lfilter(..., zi=), whose zi is differentiable", "ShortTimeFFT": "stft and istft",
    "medfilt2d": "medfilt", "sepfir2d": "convolve2d", "bessel": "butter or ellip",
    "lsim2": "lsim",
}  # fmt: skip

__getattr__, __dir__ = namespace(__name__, OURS, near=NEAR)
