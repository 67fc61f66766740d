"""`scipy.stats`: distributions and statistics."""

from __future__ import annotations

from ._namespace import namespace
from ._stats import OURS

__getattr__, __dir__ = namespace(__name__, OURS)
