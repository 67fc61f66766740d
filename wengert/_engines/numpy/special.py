"""NumPy-engine kernels of `_prims/special.py`: SciPy's functions, loaded at the first call."""

from __future__ import annotations

from typing import Any

from .common import lazy

_SAME_NAME = (
    "erf", "erfc", "erfinv", "erfcx", "ndtr", "ndtri", "log_ndtr", "digamma", "gamma", "i0", "i1", "i0e", "i1e",
)  # fmt: skip
_ORDER_FIRST = ("polygamma", "iv", "ive")


def _with_order(name: str) -> Any:
    """A kernel for a SciPy function that takes the order before the argument."""
    return lazy("scipy.special", name, lambda function, x, order: function(order, x))


KERNELS: dict[str, Any] = {
    **{name: lazy("scipy.special", name) for name in _SAME_NAME},
    **{name: _with_order(name) for name in _ORDER_FIRST},
    "lgamma": lazy("scipy.special", "gammaln"),
}
