"""TensorFlow kernels of `_prims/special.py`, `bessel.py`, `incomplete.py` and `quantiles.py`: `tf.math` where it is
exact enough, else SciPy's functions on the host.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from ..checks import unless_derived
from ..special_numerics import by_scaled
from .common import in_float32, on_host


def _unless_derived(name: str, function: Callable[..., Any], orders: int) -> Any:
    return unless_derived(on_host(name), in_float32(function), orders)


def _ndtr(x: tf.Tensor) -> Any:
    return tf.math.erfc(x * tf.constant(-math.sqrt(0.5), x.dtype)) / 2


def _erf(x: tf.Tensor) -> Any:
    """TensorFlow's own is NaN at the infinities; beyond 7 it is 1 in every type."""
    return tf.math.erf(tf.clip_by_value(x, tf.constant(-7, x.dtype), tf.constant(7, x.dtype)))


def _erfinv(x: tf.Tensor) -> Any:
    """TensorFlow's own, by the quantile of (1 + x) / 2, loses a small x."""
    is_small = tf.abs(x) < 1e-3
    series = x * (1 + x * x * (math.pi / 12)) * (math.sqrt(math.pi) / 2)
    return tf.where(is_small, series, tf.math.erfinv(x))


def _digamma(x: tf.Tensor) -> Any:
    """TensorFlow's own is NaN at the pole at 0, whose sides a zero's sign tells."""
    return tf.where(x == 0, -1 / x, tf.math.digamma(x))


def _grown(scaled: Callable[..., Any]) -> Any:
    """i0 or i1, of which TensorFlow's own are infinite where e^x is."""

    def function(x: tf.Tensor) -> Any:
        return by_scaled(
            scaled(x), tf.abs(x), 8 * x.dtype.size, lambda size, most: tf.minimum(size, tf.constant(most, x.dtype)),
            tf.exp,
        )  # fmt: skip

    return in_float32(function)


def _zeta(s: tf.Tensor, q: tf.Tensor) -> Any:
    """TensorFlow's own is NaN at poles of a negative q."""
    is_pole = (s > 1) & (q <= 0) & (q == tf.floor(q))
    return tf.where(is_pole, tf.constant(math.inf, s.dtype), tf.math.zeta(s, q))


# polygamma is wrong for negative arguments, gammaincc has five digits for small parameters, 1 - x none for a small x
# TensorFlow has none of these; by the log of the gamma function, which it has, large values lose digits
_ON_HOST = (
    "polygamma", "gammaincc", "betaincc", "erfcx", "gammaincinv", "betaincinv", "jv", "yv", "iv", "ive", "kv", "kve",
    "beta", "betaln", "log_ndtr", "gamma", "exp1", "expi", "erfcx_integral", "normal_hazard", "polygamma_step",
    "poch", "gamma_size", "ndtri_exp", "poisson_count", "binom_count", "nbinom_count", "vonmises_place",
)  # fmt: skip

KERNELS: dict[str, Any] = {
    **{name: on_host(name) for name in _ON_HOST},
    "erf": in_float32(_erf),
    "erfc": in_float32(tf.math.erfc),
    "erfinv": in_float32(_erfinv),
    "ndtr": in_float32(_ndtr),
    "ndtri": in_float32(tf.math.ndtri),
    "lgamma": in_float32(tf.math.lgamma),
    "digamma": in_float32(_digamma),
    "gammainc": _unless_derived("gammainc", tf.math.igamma, 1),
    "betainc": _unless_derived("betainc", tf.math.betainc, 2),
    "zeta": _unless_derived("zeta", _zeta, 1),
    "i0": _grown(tf.math.special.bessel_i0e),
    "i1": _grown(tf.math.special.bessel_i1e),
    "i0e": in_float32(tf.math.special.bessel_i0e),
    "i1e": in_float32(tf.math.special.bessel_i1e),
}
