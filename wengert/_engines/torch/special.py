"""torch kernels of `_prims/special.py`, `bessel.py`, `incomplete.py` and `quantiles.py`: `torch.special` where it is
exact enough, else SciPy's functions on the host.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from ..checks import unless_derived
from ..special_numerics import by_scaled
from .common import in_float32, on_host


def _unless_derived(name: str, function: Callable[..., Any], orders: int) -> Any:
    return unless_derived(on_host(name), in_float32(function), orders)


def _grown(scaled: Callable[..., Any]) -> Any:
    """i0 or i1, of which torch's own are infinite where e^x is."""

    def function(x: torch.Tensor) -> Any:
        bits = torch.finfo(x.dtype).bits
        return by_scaled(scaled(x), torch.abs(x), bits, lambda size, most: torch.clamp(size, max=most), torch.exp)

    return function


_GROWN = {"i0": _grown(torch.special.i0e), "i1": _grown(torch.special.i1e)}


def _with_whole_order(name: str, functions: tuple[Any, Any]) -> Any:
    """torch has Bessel functions of the orders 0 and 1; those of jv and yv have ten digits."""
    host = on_host(name)
    whole = (*map(in_float32, functions),)

    def kernel(x: torch.Tensor, order: float) -> Any:
        return whole[int(order)](x) if order in (0, 1) else host(x, order)

    kernel.on_host_when = "orders but 0 and 1"
    return kernel


def _ndtr(x: torch.Tensor) -> Any:
    """torch's own has no digits in the left tail."""
    return torch.special.erfc(x * -math.sqrt(0.5)) / 2


def _zeta(s: torch.Tensor, q: torch.Tensor) -> Any:
    """torch's own is NaN at infinities."""
    found = torch.special.zeta(s, q).masked_fill((s > 1) & torch.isposinf(q), 0)
    only_first = torch.where(q > 1, 0.0, torch.where(q < 1, math.inf, q))  # the limit of q**-s, the first term
    return torch.where(torch.isposinf(s) & (q > 0), only_first, found)


# torch's polygamma has nine digits, its zeta underflows before the product does, and its gammaincc has five digits for
# small parameters
_ON_HOST = (
    "polygamma",
    "gammaincc",
    "gammaincinv",
    "betaincinv",
    "betainc",
    "betaincc",
    "beta",
    "betaln",
    "expi",
    "exp1",
    "gamma",
    "jv",
    "yv",
)
_BESSEL = {
    "iv": ("i0", "i1"), "ive": ("i0e", "i1e"),
    "kv": ("modified_bessel_k0", "modified_bessel_k1"),
    "kve": ("scaled_modified_bessel_k0", "scaled_modified_bessel_k1"),
}  # fmt: skip
_SAME_NAME = (
    "erf", "erfc", "erfcx", "erfinv", "ndtri", "log_ndtr", "digamma", "i0e", "i1e",
)  # fmt: skip


def _hazard(x: torch.Tensor) -> Any:
    """In float64, as NumPy's kernel."""
    return (math.sqrt(2 / math.pi) / torch.special.erfcx(x.double() * -math.sqrt(0.5))).to(x.dtype)


# kept exact by series and searches in NumPy, which no framework has
_ONLY_ON_HOST = (
    "ndtri_exp", "erfcx_integral", "poch", "polygamma_step", "gamma_size", "poisson_count", "binom_count",
    "nbinom_count", "vonmises_place",
)  # fmt: skip

KERNELS: dict[str, Any] = {
    **{name: on_host(name) for name in _ON_HOST},
    **{
        name: _with_whole_order(name, (*[_GROWN.get(n) or getattr(torch.special, n) for n in names],))
        for name, names in _BESSEL.items()
    },
    **{name: in_float32(getattr(torch.special, name)) for name in _SAME_NAME},
    **{name: in_float32(function) for name, function in _GROWN.items()},
    "lgamma": in_float32(torch.lgamma),
    "ndtr": in_float32(_ndtr),
    "gammainc": _unless_derived("gammainc", torch.special.gammainc, 1),
    "zeta": _unless_derived("zeta", _zeta, 1),
    **{name: on_host(name) for name in _ONLY_ON_HOST},
    "normal_hazard": in_float32(_hazard),
}
