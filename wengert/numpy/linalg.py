"""`wg.linalg` under the name that a port of `numpy.linalg` imports."""

from __future__ import annotations

import sys

from .. import linalg

sys.modules[__name__] = linalg  # the very module: `wengert.numpy.linalg` was it before this import, too
