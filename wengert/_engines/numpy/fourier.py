"""NumPy kernels of `_prims/fourier.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .common import widened


def _dft(x: Any, axes: tuple[int, ...], inverse: bool) -> Any:
    if not axes or not x.size:
        return x.copy()
    result = np.fft.ifftn(x, axes=axes, norm="forward") if inverse else np.fft.fftn(x, axes=axes)
    return result.astype(x.dtype, copy=False)


def _rfft(x: Any, axis: int) -> Any:
    x = widened(x)
    return np.fft.rfft(x, axis=axis).astype(np.complex64 if x.dtype == np.float32 else np.complex128, copy=False)


def _irfft(x: Any, axis: int, size: int) -> Any:
    return np.fft.irfft(x, size, axis, norm="forward").astype(x.real.dtype, copy=False)


def _paired_scale(x: Any, axis: int, size: int, factor: float) -> Any:
    out = x.copy()
    inner = (slice(None),) * axis + (slice(1, (size + 1) // 2),)
    out[inner] *= factor
    return out


KERNELS: dict[str, Any] = {"dft": _dft, "rfft": _rfft, "irfft": _irfft, "paired_scale": _paired_scale}
