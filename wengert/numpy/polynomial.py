"""NumPy's own `numpy.polynomial` with recorded functions below it, under the name that a port imports.

Its classes (`Polynomial`, `Chebyshev`, ...) hold tensors as their coefficients, domains and arguments, and their fits,
roots, derivatives and integrals are differentiable.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

_stand_ins: Any = importlib.import_module("wengert.adopt._stand_ins")  # which stands above this module, and executes it

for _name in ("chebyshev", "hermite", "hermite_e", "laguerre", "legendre", "polynomial", "polyutils"):
    sys.modules[f"{__name__}.{_name}"] = _stand_ins.stand_in(f"numpy.polynomial.{_name}")
sys.modules[__name__] = _stand_ins.stand_in("numpy.polynomial")
