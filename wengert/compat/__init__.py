"""Others' ways of saying things: `v1` has graphs with placeholders, run by sessions; `keras` its names of arguments."""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from . import v1

__all__ = ["v1"]
