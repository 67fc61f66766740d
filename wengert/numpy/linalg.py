"""`wg.linalg` under the name that a port of `numpy.linalg` imports; what is not written there is NumPy's own.

Example:
    >>> from wengert.numpy import linalg
    >>> linalg.norm([3.0, 4.0])
    np.float64(5.0)
"""

from __future__ import annotations

import numpy.linalg as _theirs

from .. import linalg as _ours
from ._lookup import names_in

__all__ = [*_ours.__all__]
__getattr__, __dir__ = names_in(__name__, _ours, _theirs)
