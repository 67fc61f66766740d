"""`scipy.spatial.transform`: rotations. The classes are ours, for plain arrays too."""

from __future__ import annotations

from typing import Any

from .._namespace import namespace
from .._rotations import Rotation, Slerp

OURS: dict[str, Any] = {"Rotation": Rotation, "Slerp": Slerp}

__getattr__, __dir__ = namespace(__name__, OURS)
