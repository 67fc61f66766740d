"""SciPy, loaded when something needs it: `import wengert` does without."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def scipy(part: str) -> Any:
    """A part of SciPy, such as "sparse"."""
    return import_module(f"scipy.{part}")


def scipy_itself() -> Any:
    """The package, whose parts load when they are asked for."""
    return import_module("scipy")
