"""`scipy.sparse`: sparse matrices; their values may be tensors."""

from __future__ import annotations

from typing import Any

from .._namespace import namespace
from .._sparse_building import CLASSES, FUNCTIONS

OURS: dict[str, Any] = {**CLASSES, **FUNCTIONS}

__getattr__, __dir__ = namespace(__name__, OURS, submodules=("linalg",))
