"""`scipy.special`: SciPy's functions, followed where we have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as _theirs

from .... import special as _ours
from ..core import defjvp, defvjp
from ..tracer import primitive
from ._either import finder

jn: Any = primitive(_theirs.jn)
yn: Any = primitive(_theirs.yn)
rgamma: Any = primitive(_theirs.rgamma)
gammasgn: Any = primitive(_theirs.gammasgn)

for _bessel in (jn, yn):
    defvjp(
        _bessel, None,
        lambda ans, n, x, f=_bessel: lambda g: g * (f(n - 1, x) - f(n + 1, x)) / 2.0,
    )  # fmt: skip
    defjvp(_bessel, None, lambda g, ans, n, x, f=_bessel: g * (f(n - 1, x) - f(n + 1, x)) / 2.0)
defvjp(rgamma, lambda ans, x: lambda g: -g * _theirs.psi(x) * ans)
defjvp(rgamma, lambda g, ans, x: -g * _theirs.psi(x) * ans)
defvjp(gammasgn, lambda ans, x: lambda g: g * np.zeros(np.shape(x)))
defjvp(gammasgn, lambda g, ans, x: g * np.zeros(np.shape(x)))

erf: Any = primitive(_theirs.erf)
erfc: Any = primitive(_theirs.erfc)
for _error, _slope in ((erf, 2 / np.sqrt(np.pi)), (erfc, -2 / np.sqrt(np.pi))):  # ours take no complex numbers
    defvjp(_error, lambda ans, x, slope=_slope: lambda g: slope * g * np.exp(-(x**2)))
    defjvp(_error, lambda g, ans, x, slope=_slope: slope * g * np.exp(-(x**2)))

__getattr__ = finder(globals(), "scipy.special", _ours)
