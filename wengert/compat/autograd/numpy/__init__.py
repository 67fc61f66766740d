"""NumPy's namespace: NumPy's own functions, which follow boxes; what is computed of plain arrays is plain."""

from __future__ import annotations

from typing import Any

from . import fft, linalg, numpy_boxes, numpy_jvps, numpy_vjps, numpy_vspaces, numpy_wrapper, random
from .numpy_wrapper import NAMESPACE

globals().update(NAMESPACE)


def __getattr__(name: str) -> Any:
    return getattr(numpy_wrapper, name)


__all__ = ["fft", "linalg", "numpy_boxes", "numpy_jvps", "numpy_vjps", "numpy_vspaces", "numpy_wrapper", "random"]
__all__ += NAMESPACE  # pyright: ignore[reportUnsupportedDunderAll]  # names found in NumPy as it is installed
