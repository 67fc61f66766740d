"""SciPy's modules, as far as autograd has them; each loads when it is asked for, since SciPy takes time to load."""

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")


__all__ = ["integrate", "linalg", "misc", "signal", "special", "stats"]  # pyright: ignore[reportUnsupportedDunderAll]  # found by __getattr__
