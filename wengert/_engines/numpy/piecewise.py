"""NumPy kernels of `_prims/piecewise.py`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._core.engine import COMPOSED
from .common import in_float32, lazy


def _clip(x: np.ndarray[Any, Any], lo: np.ndarray[Any, Any], hi: np.ndarray[Any, Any]) -> Any:
    return np.minimum(np.maximum(x, lo), hi)


def _relu(x: np.ndarray[Any, Any]) -> Any:
    return np.maximum(x, x.dtype.type(0))


def _sinc(x: Any, order: int) -> Any:
    """The value takes 10 us on small arrays, by the body 46; far out, the body's angle is exact, and this one's."""
    if order:
        return COMPOSED["sinc"](x, order)
    near = np.where(x == 0, x.dtype.type(1e-20), x)
    angle = near - 2 * np.round(near.real / 2)
    return (np.sin(math.pi * angle) / (math.pi * near)).astype(x.dtype, copy=False)[()]


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
    # SciPy's are 0.3 us on small arrays, the bodies of several NumPy calls 22
    "xlogy": lazy("scipy.special", "xlogy"),
    "xlog1py": lazy("scipy.special", "xlog1py"),
}
