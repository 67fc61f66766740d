"""`scipy.cluster`: points in groups."""

from __future__ import annotations

from typing import Any

from .._namespace import namespace

OURS: dict[str, Any] = {}

__getattr__, __dir__ = namespace(__name__, OURS, submodules=("vq",))
