"""NumPy's own `numpy.random`, under the name that a port imports: draws are constants to gradients.

Draws that belong to a key, which loops, batches and compiled functions repeat, are in `wg.random`.

Example:
    >>> from wengert.numpy.random import default_rng
    >>> default_rng(7).integers(10, size=2).shape
    (2,)
"""

from __future__ import annotations

import numpy.random as _theirs

from ._lookup import names_in

__all__ = [*_theirs.__all__]
__getattr__, __dir__ = names_in(__name__, _theirs)
