"""`scipy.special`: special functions."""

from __future__ import annotations

from ._followed import followed
from ._namespace import namespace
from ._special import OURS

OURS |= followed("scipy.special", "diric")

__getattr__, __dir__ = namespace(__name__, OURS)
