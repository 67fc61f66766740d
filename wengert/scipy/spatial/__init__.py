"""`scipy.spatial`: points in space."""

from __future__ import annotations

from typing import Any

from .._followed import followed
from .._namespace import namespace

OURS: dict[str, Any] = followed(
    "scipy.spatial", "distance_matrix procrustes geometric_slerp minkowski_distance minkowski_distance_p"
)

__getattr__, __dir__ = namespace(__name__, OURS, submodules=("distance", "transform"))
