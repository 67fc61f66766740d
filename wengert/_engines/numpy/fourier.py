"""NumPy kernels of `_prims/fourier.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .common import widened

_AT_ONCE = 1 << 20  # elements that one call of NumPy's transforms, which nobody can interrupt


def _some_at_once(function: Callable[[Any], Any], x: np.ndarray[Any, Any], axes: tuple[int, ...]) -> Any:
    """A transform along some axes, of some examples of a large batch after the other."""
    if x.size <= _AT_ONCE or 0 in axes:
        return function(x)
    step = max(1, _AT_ONCE * len(x) // x.size)
    return np.concatenate([function(x[start : start + step]) for start in range(0, len(x), step)])


def _dft(x: np.ndarray[Any, Any], axes: tuple[int, ...], inverse: bool) -> Any:
    if not axes or not x.size:
        return x.copy()

    def transformed(part: np.ndarray[Any, Any]) -> Any:
        for axis in reversed(axes):  # what fftn does, too, after a look at its arguments that takes longer
            part = np.fft.ifft(part, axis=axis, norm="forward") if inverse else np.fft.fft(part, axis=axis)
        return part.astype(x.dtype, copy=False)

    return _some_at_once(transformed, x, axes)


def _rfft(x: np.ndarray[Any, Any], axis: int) -> Any:
    x = widened(x)
    dtype = np.complex64 if x.dtype == np.float32 else np.complex128
    return _some_at_once(lambda part: np.fft.rfft(part, axis=axis).astype(dtype, copy=False), x, (axis,))


def _irfft(x: np.ndarray[Any, Any], axis: int, size: int) -> Any:
    dtype = x.real.dtype
    return _some_at_once(lambda p: np.fft.irfft(p, size, axis, norm="forward").astype(dtype, copy=False), x, (axis,))


def _paired_scale(x: np.ndarray[Any, Any], axis: int, size: int, factor: float) -> Any:
    out = x.copy()
    inner = (slice(None),) * axis + (slice(1, (size + 1) // 2),)
    out[inner] *= factor
    return out


KERNELS: dict[str, Any] = {"dft": _dft, "rfft": _rfft, "irfft": _irfft, "paired_scale": _paired_scale}
