"""`scipy.fft`: Fourier, cosine and sine transforms."""

from __future__ import annotations

from ._fft import OURS
from ._namespace import namespace

__getattr__, __dir__ = namespace(__name__, OURS)
