"""`scipy.special`: SciPy's functions, followed where we have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as _theirs

from .... import special as _ours
from ..core import defjvp, defvjp
from ..tracer import primitive
from ._either import either, finder


def _with_slope(theirs: Callable[..., Any], slope: Callable[..., Any], of_real: Any = None) -> Any:
    """A function whose slope in its last argument is `slope(ans, *args)`; the others are orders.

    Of real numbers `of_real` is taken, where there is one.
    """
    f, orders = primitive(theirs), [None] * (theirs.nin - 1)
    defvjp(f, *orders, lambda ans, *args: lambda g: g * slope(ans, *args))
    defjvp(f, *orders, lambda g, ans, *args: g * slope(ans, *args))
    return f if of_real is None else either(theirs, lambda x: f(x) if x.dtype.kind == "c" else of_real(x))


jn = _with_slope(_theirs.jn, lambda ans, n, x: (jn(n - 1, x) - jn(n + 1, x)) / 2.0)
yn = _with_slope(_theirs.yn, lambda ans, n, x: (yn(n - 1, x) - yn(n + 1, x)) / 2.0)
rgamma = _with_slope(_theirs.rgamma, lambda ans, x: -_theirs.psi(x) * ans)
gammasgn = _with_slope(_theirs.gammasgn, lambda ans, x: np.zeros(np.shape(x)))
# ours take no complex numbers
erf = _with_slope(_theirs.erf, lambda ans, x: 2 / np.sqrt(np.pi) * np.exp(-(x**2)), _ours.erf)
erfc = _with_slope(_theirs.erfc, lambda ans, x: -2 / np.sqrt(np.pi) * np.exp(-(x**2)), _ours.erfc)

__getattr__ = finder(globals(), "scipy.special", _ours)
