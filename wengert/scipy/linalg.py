"""`scipy.linalg`: decompositions, solves and functions of matrices."""

from __future__ import annotations

from ._followed import counting, followed
from ._linalg import OURS
from ._namespace import namespace

OURS |= followed("scipy.linalg", "orth subspace_angles fiedler_companion")
OURS |= counting("scipy.linalg", "bandwidth ishermitian issymmetric")

__getattr__, __dir__ = namespace(__name__, OURS)
