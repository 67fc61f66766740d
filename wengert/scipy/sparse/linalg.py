"""`scipy.sparse.linalg`: linear systems with sparse matrices."""

from __future__ import annotations

from typing import Any

from .._namespace import namespace
from .._sparse_solvers import bicgstab, cg, factorized, gmres, norm, splu, spsolve, spsolve_triangular

OURS: dict[str, Any] = {
    f.__name__: f for f in (bicgstab, cg, factorized, gmres, norm, splu, spsolve, spsolve_triangular)
}
NEAR = {
    "minres": "cg or gmres", "bicg": "bicgstab", "cgs": "bicgstab", "lsqr": "wg.linalg.lstsq",
    "lsmr": "wg.linalg.lstsq",
    "eigsh": "wg.linalg.eigh", "eigs": "wg.linalg.eig", "svds": "wg.linalg.svd", "expm_multiply": "linalg.expm",
}  # fmt: skip

__getattr__, __dir__ = namespace(__name__, OURS, near=NEAR)
