"""NumPy-engine kernels of `_prims/special.py` and `_prims/bessel.py`: SciPy's functions, loaded at the first call."""

from __future__ import annotations

from typing import Any

import numpy as np

from .common import Kernel, lazy

_SAME_NAME = (
    "erf", "erfc", "erfinv", "erfcx", "ndtr", "ndtri", "log_ndtr", "digamma", "gamma", "expi", "exp1",
    "i0", "i1", "i0e", "i1e",
)  # fmt: skip
# SciPy's functions for whole orders are more exact than those for real ones
_WHOLE = {
    "jv": ("j0", "j1"), "yv": ("y0", "y1"), "iv": ("i0", "i1"), "ive": ("i0e", "i1e"), "kv": ("k0", "k1"),
    "kve": ("k0e", "k1e"),
}  # fmt: skip


def _with_order(name: str) -> Kernel:
    """A kernel for a SciPy function that takes the order before the argument."""
    general = lazy("scipy.special", name, lambda function, x, order: function(order, x))
    whole = [lazy("scipy.special", n) for n in _WHOLE.get(name, ())]

    def kernel(x: Any, order: float) -> Any:
        return whole[int(order)](x) if whole and order in (0, 1) else general(x, order)

    return kernel


# -- the beta function -------------------------------------------------------------------------------------------------

_LARGE = 10.0  # from here on eight terms of Stirling's series are exact
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)


def _beyond_stirling(x: Any) -> Any:
    """log(gamma(x)) less (x - 1/2) log(x) - x + log(2 pi) / 2, for large x."""
    square, total = 1 / (x * x), 0.0
    for coefficient in reversed(_STIRLING):
        total = total * square + coefficient
    return total / x


def _betaln_of_large(a: Any, b: Any) -> Any:
    """log(beta(a, b)) for 0 < a <= b and b large, in which SciPy's large terms cancel."""
    from scipy.special import gammaln

    whole = a + b
    low = np.minimum(a, _LARGE)  # where both are large the small one's formula is not used
    one = gammaln(low) + low - low * np.log(whole) + (b - 0.5) * np.log1p(-low / whole)
    one = one + _beyond_stirling(b) - _beyond_stirling(low + b)
    high = np.maximum(a, _LARGE)
    rest = _beyond_stirling(high) + _beyond_stirling(b) - _beyond_stirling(high + b)
    share = high / b
    two = 0.5 * (np.log(2 * np.pi) - np.log(b)) + (high - 0.5) * np.log(share / (1 + share)) - b * np.log1p(share) + rest
    return np.where(a < _LARGE, one, two)


def _beta(name: str) -> Kernel:
    """SciPy's function where both arguments are of moderate size, else by Stirling's formula."""
    plain = lazy("scipy.special", name)

    def kernel(x: Any, y: Any) -> Any:
        with np.errstate(all="ignore"):
            low, high = np.minimum(x, y), np.maximum(x, y)
            is_large = (high > _LARGE) & (low > 0) & (high < np.inf)
            value = plain(x, y)
            if not np.any(is_large):
                return value
            wide = [np.where(is_large, v, _LARGE).astype(np.float64) for v in (low, high)]
            ours = _betaln_of_large(*wide)
            return np.where(is_large, np.exp(ours) if name == "beta" else ours, value).astype(x.dtype)[()]

    return kernel


KERNELS: dict[str, Any] = {
    "beta": _beta("beta"),
    "betaln": _beta("betaln"),
    **{name: lazy("scipy.special", name) for name in _SAME_NAME},
    **{name: _with_order(name) for name in ("polygamma", *_WHOLE)},
    "lgamma": lazy("scipy.special", "gammaln"),
}
