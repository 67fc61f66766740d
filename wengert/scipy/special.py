"""`scipy.special`: special functions."""

from __future__ import annotations

from ._namespace import namespace
from ._special import OURS

__getattr__, __dir__ = namespace(__name__, OURS)
