"""`scipy.linalg`: SciPy's functions, followed where we have them."""

from __future__ import annotations

from typing import Any

import numpy as onp
import scipy.linalg as _theirs

from .... import linalg as _ours
from .._boxes import getval
from ._either import either, finder


def _sqrtm(A: Any) -> Any:
    """Complex where SciPy's is."""
    return _ours.sqrtm(A + 0j if onp.iscomplexobj(_theirs.sqrtm(getval(A))) else A)


sqrtm = either(_theirs.sqrtm, _sqrtm)
__getattr__ = finder(globals(), "scipy.linalg", _ours)
