"""The vector spaces of arrays."""

from __future__ import annotations

from ..core import ArrayVSpace, ComplexArrayVSpace, VSpace, vspace

__all__ = ["ArrayVSpace", "ComplexArrayVSpace", "VSpace", "vspace"]
