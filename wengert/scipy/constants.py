"""`scipy.constants`: numbers of physics, all SciPy's own, and conversions."""

from __future__ import annotations

from typing import Any

from ._followed import followed
from ._namespace import namespace

OURS: dict[str, Any] = followed("scipy.constants", "convert_temperature lambda2nu nu2lambda")

__getattr__, __dir__ = namespace(__name__, OURS)
