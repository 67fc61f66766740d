"""The vector spaces of arrays."""

from ..core import ArrayVSpace, ComplexArrayVSpace, VSpace, vspace

__all__ = ["ArrayVSpace", "ComplexArrayVSpace", "VSpace", "vspace"]
