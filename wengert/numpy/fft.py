"""`wg.fft` under the name that a port of `numpy.fft` imports; what is not written there is NumPy's own.

Example:
    >>> from wengert.numpy import fft
    >>> fft.fft([1.0, 0.0])
    array([1.+0.j, 1.+0.j])
"""

from __future__ import annotations

import numpy.fft as _theirs

from .. import fft as _ours
from ._lookup import names_in

__all__ = [*_ours.__all__]
__getattr__, __dir__ = names_in(__name__, _ours, _theirs)
