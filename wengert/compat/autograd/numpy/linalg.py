"""`numpy.linalg`, whose functions follow boxes by NumPy's protocols."""

from __future__ import annotations

from typing import Any

import numpy as onp
import numpy.linalg as _theirs

from .... import linalg as _ours
from ...._core.tensor import Tensor
from ....numpy._triangles import OF_A_TRIANGLE
from .numpy_wrapper import of_lists

NAMESPACE = {name: value for name, value in vars(_theirs).items() if not name.startswith("_")}
NAMESPACE["norm"] = of_lists(_theirs.norm, _ours.norm)


def eigh(a: Any, UPLO: Any = "L") -> Any:
    """Eigenvalues and vectors; as autograd's, its gradient lies in the triangle that is read."""
    return (OF_A_TRIANGLE["eigh"] if isinstance(a, Tensor) else _theirs.eigh)(a, UPLO)


def T(x: Any) -> Any:
    """Matrices transposed."""
    return onp.swapaxes(x, -1, -2)


_dot = onp.matmul
NAMESPACE.update(eigh=eigh, T=T)
globals().update(NAMESPACE)
__all__ = list(NAMESPACE)  # pyright: ignore[reportUnsupportedDunderAll]  # names found in NumPy as it is installed
