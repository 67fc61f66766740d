"""NumPy-engine kernels of `_prims/special.py` and `_prims/bessel.py`: SciPy's functions, loaded at the first call."""

from __future__ import annotations

from typing import Any

from .common import Kernel, lazy

_SAME_NAME = (
    "erf", "erfc", "erfinv", "erfcx", "ndtr", "ndtri", "log_ndtr", "digamma", "gamma", "beta", "betaln", "expi", "exp1",
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


KERNELS: dict[str, Any] = {
    **{name: lazy("scipy.special", name) for name in _SAME_NAME},
    **{name: _with_order(name) for name in ("polygamma", *_WHOLE)},
    "lgamma": lazy("scipy.special", "gammaln"),
}
