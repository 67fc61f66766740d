"""NumPy's own `numpy.random`, under the name that a port imports: draws are constants to gradients.

Draws that belong to a key, which loops, batches and compiled functions repeat, are in `wg.random`.
"""

from __future__ import annotations

import sys

import numpy.random

sys.modules[__name__] = numpy.random  # the very module: `wengert.numpy.random` was it before this import, too
