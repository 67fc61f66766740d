"""`wg.fft` under the name that a port of `numpy.fft` imports."""

from __future__ import annotations

import sys

from .. import fft

sys.modules[__name__] = fft  # the very module: `wengert.numpy.fft` was it before this import, too
