"""`scipy.linalg`: decompositions, solves and functions of matrices."""

from __future__ import annotations

from ._linalg import OURS
from ._namespace import namespace

__getattr__, __dir__ = namespace(__name__, OURS)
