"""JAX kernels of `_prims/special.py`, `bessel.py`, `incomplete.py` and `quantiles.py`: `jax.scipy.special` where it
is exact enough, else SciPy's functions on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import jax.scipy.special as jss

from ..checks import unless_derived
from ..special_numerics import by_scaled
from .common import in_float32, on_host
from .meshes import whole_where_it_varies


def _unless_derived(name: str, function: Callable[..., Any], orders: int) -> Any:
    return unless_derived(on_host(name), in_float32(function), orders)


def _digamma(x: Any) -> Any:
    """JAX's own is NaN at the pole at 0, whose sides a zero's sign tells."""
    return jnp.where(x == 0, -1 / x, jss.digamma(x))


def _zeta(s: Any, q: Any) -> Any:
    """JAX's own is NaN at the infinities and at poles of a negative q."""
    only_first = jnp.where(q == 1, 1.0, jnp.where(q > 1, 0.0, jnp.inf))  # the limit of q**-s, the first term
    value = jnp.where(jnp.isposinf(s) & (q > 0), only_first, jnp.where((s > 1) & jnp.isposinf(q), 0.0, jss.zeta(s, q)))
    return jnp.where((s > 1) & (q <= 0) & (q == jnp.floor(q)), jnp.inf, value)


def _grown(scaled: Callable[..., Any]) -> Any:
    """i0 or i1, of which JAX's own are infinite where e^x is."""

    def function(x: Any) -> Any:
        return by_scaled(scaled(x), jnp.abs(x), jnp.finfo(x.dtype).bits, jnp.minimum, jnp.exp)

    return in_float32(function)


# the log and the ratio of gamma functions lose digits in JAX, and so do the tail of log_ndtr, 1 - x for betaincc,
# gammaincc of small parameters; polygamma is wrong below 0; and expi and exp1 of an array with small numbers do not end
_ON_HOST = (
    "erfcx",
    "gammaincinv",
    "betaincinv",
    "jv",
    "yv",
    "iv",
    "ive",
    "kv",
    "kve",
    "beta",
    "betaln",
    "log_ndtr",
    "betaincc",
    "gammaincc",
    "polygamma",
    "expi",
    "exp1",
)
_SAME_NAME = (
    "erf", "erfc", "erfinv", "ndtr", "ndtri", "gamma", "i0e", "i1e",
)  # fmt: skip
# kept exact by series and searches in NumPy, which no framework has
_ONLY_ON_HOST = (
    "ndtri_exp", "normal_hazard", "erfcx_integral", "poch", "polygamma_step", "gamma_size", "poisson_count",
    "binom_count", "nbinom_count", "vonmises_place",
)  # fmt: skip

KERNELS: dict[str, Any] = {
    **{name: on_host(name) for name in _ON_HOST},
    **{name: in_float32(getattr(jss, name)) for name in _SAME_NAME},
    "i0": _grown(jss.i0e),
    "i1": _grown(jss.i1e),
    "lgamma": in_float32(jss.gammaln),
    "digamma": in_float32(_digamma),
    "gammainc": _unless_derived("gammainc", jss.gammainc, 1),
    "betainc": whole_where_it_varies("betainc", _unless_derived("betainc", jss.betainc, 2)),
    "zeta": _unless_derived("zeta", _zeta, 1),
    **{name: on_host(name) for name in _ONLY_ON_HOST},
}
