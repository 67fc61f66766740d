"""`numpy.linalg`, whose functions follow boxes by NumPy's protocols."""

from __future__ import annotations

from typing import Any

import numpy as onp
import numpy.linalg as _theirs

from .... import linalg as _ours
from ...._core.tensor import Tensor
from .numpy_wrapper import of_lists

NAMESPACE = {name: value for name, value in vars(_theirs).items() if not name.startswith("_")}
NAMESPACE["norm"] = of_lists(_theirs.norm, _ours.norm)


def eigh(a: Any, UPLO: Any = "L") -> Any:
    """Eigenvalues and vectors; as autograd's, its gradient lies in the triangle that is read."""
    if not isinstance(a, Tensor):
        return _theirs.eigh(a, UPLO)
    part = onp.tril(a, -1) if UPLO.upper() == "L" else onp.triu(a, 1)
    middle = onp.real(onp.diagonal(a, axis1=-2, axis2=-1))[..., None] * onp.eye(int(a.shape[-1]), dtype=a.dtype)
    whole: Any = part + onp.conj(onp.swapaxes(part, -1, -2)) + middle
    return _theirs.eigh(whole, UPLO)


def T(x: Any) -> Any:
    """Matrices transposed."""
    return onp.swapaxes(x, -1, -2)


_dot = onp.matmul
NAMESPACE.update(eigh=eigh, T=T)
globals().update(NAMESPACE)
__all__ = list(NAMESPACE)  # pyright: ignore[reportUnsupportedDunderAll]  # names found in NumPy as it is installed
