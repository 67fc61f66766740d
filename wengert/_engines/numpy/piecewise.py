"""NumPy kernels of `_prims/piecewise.py`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .common import in_float32

_SERIES_TERMS = 20  # beyond the first order + 1 terms; enough for arguments up to order + 2


def _clip(x: Any, lo: Any, hi: Any) -> Any:
    return np.minimum(np.maximum(x, lo), hi)


def _relu(x: Any) -> Any:
    return np.maximum(x, x.dtype.type(0))


def _sinc(x: Any, order: int) -> Any:
    """The derivative of sin(z) / z at z = pi x, times pi ** order."""
    if order == 0:
        return np.sinc(x).astype(x.dtype, copy=False)
    z = np.multiply(x, math.pi)
    is_small = np.abs(z) < order + 0.5
    near = _sinc_series(np.where(is_small, z, 0), order)
    far = _sinc_recurrence(x, np.where(is_small, 1, z), order)
    return (np.where(is_small, near, far) * math.pi**order).astype(x.dtype, copy=False)[()]


def _sinc_series(z: Any, order: int) -> Any:
    """The derivative's Taylor series at 0: the terms (-1)^k z^(2k - order) / ((2k + 1) (2k - order)!)."""
    first = (order + 1) // 2
    total = np.zeros_like(z)
    for k in range(first + order + _SERIES_TERMS, first - 1, -1):
        coefficient = (-1) ** k / ((2 * k + 1) * math.factorial(2 * k - order))
        total = total * (z * z) + coefficient
    return total * z if (2 * first - order) == 1 else total


def _sinc_recurrence(x: Any, z: Any, order: int) -> Any:
    """z f_n + n f_(n-1) = sin(z + n pi / 2), from z f = sin z differentiated n times; stable while n < |z|.

    The angle is taken from x, of which whole turns leave an exact rest; rounded z has none far out.
    """
    angle = np.multiply(x - 2 * np.round(np.real(x) / 2), math.pi)
    sine, cosine = np.sin(angle), np.cos(angle)
    cycle = (sine, cosine, -sine, -cosine)
    derivative = sine / z
    for n in range(1, order + 1):
        derivative = (cycle[n % 4] - n * derivative) / z
    return derivative


def _xlogy(x: Any, y: Any) -> Any:
    is_zero = np.logical_and(x == 0, ~np.isnan(y))
    return np.multiply(x, np.log(np.where(is_zero, y.dtype.type(1), y)))


def _xlog1py(x: Any, y: Any) -> Any:
    is_zero = np.logical_and(x == 0, ~np.isnan(y))
    return np.multiply(x, np.log1p(np.where(is_zero, y.dtype.type(0), y)))


KERNELS: dict[str, Any] = {
    "maximum": np.maximum,
    "minimum": np.minimum,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "clip": _clip,
    "relu": _relu,
    "mod": np.remainder,
    "fmod": np.fmod,
    "copysign": np.copysign,
    "heaviside": np.heaviside,
    "angle": in_float32(np.angle),
    "sinc": in_float32(_sinc),
    "xlogy": in_float32(_xlogy),
    "xlog1py": in_float32(_xlog1py),
}
