"""`scipy.signal`: filters and spectra."""

from __future__ import annotations

from typing import Any

from .. import signal as _signal
from ._convolutions import convolve2d, correlate2d
from ._filters import filtfilt, lfilter, lfilter_zi, sosfilt, sosfilt_zi, sosfiltfilt
from ._namespace import namespace
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
    hilbert, istft, periodogram, resample, savgol_filter, spectrogram, stft, welch,
)  # fmt: skip
OURS: dict[str, Any] = {
    **{name: getattr(_signal, name) for name in _signal.__all__}, **{f.__name__: f for f in _FUNCTIONS},
}  # fmt: skip
_NEAR = {
    "lfiltic": "lfilter(..., zi=), whose zi is differentiable", "decimate": "filtfilt or lfilter, then x[::q]",
    "resample_poly": "resample, or np.convolve and steps of slices", "firwin": "sums of sinc and a window",
    "freqz": "np.polyval of b and a at np.exp(-1j * w)", "wiener": "convolve",
    "ShortTimeFFT": "stft and istft", "upfirdn": "convolve of a signal with zeros between its elements",
    "medfilt": "ndimage.median_filter", "sepfir2d": "convolve2d", "lsim": "integrate.solve_ivp",
}  # fmt: skip

__getattr__, __dir__ = namespace(__name__, OURS, near=_NEAR)
