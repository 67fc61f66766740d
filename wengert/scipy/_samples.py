"""Statistics of one or two samples: linregress, pearsonr, iqr, trim_mean, circular means, wasserstein_distance."""

from __future__ import annotations

import math
from collections import namedtuple
from typing import Any

import numpy

from .. import numpy as np
from .. import special
from .._core.argument_types import ArrayLike, Axes
from ..ops.conversion import stop_gradient
from ..ops.promotion import outward
from ._conversions import entered, floats, meeting
from ._namespace import listed_in, only

SAMPLES: dict[str, Any] = {}
_ours = listed_in(SAMPLES)


class LinregressResult(namedtuple("LinregressResult", "slope intercept rvalue pvalue stderr")):  # as SciPy's result
    """The line, and beside it `intercept_stderr`."""

    intercept_stderr: Any


PearsonRResult = namedtuple("PearsonRResult", "statistic pvalue")


def _two_sided(t: Any, df: Any) -> Any:
    """The share of Student's t beyond -t and t."""
    return special.betainc(df / 2, 0.5, df / (df + t * t))


@_ours
def linregress(
    x: ArrayLike, y: ArrayLike, alternative: str = "two-sided", *, axis: int | None = 0, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """The line through points by least squares, of two vectors."""
    only("stats.linregress", alternative=(alternative, "two-sided"), nan_policy=(nan_policy, "propagate"),
         axis=(axis, 0, None), keepdims=(keepdims, False))  # fmt: skip
    a, b = meeting(entered(x), entered(y))
    only("stats.linregress", ndim=(a.ndim, 1))
    count = int(a.shape[0])
    u, v = a - np.mean(a), b - np.mean(b)
    uu, uv, vv = np.mean(u * u), np.mean(u * v), np.mean(v * v)
    slope = uv / uu
    intercept = np.mean(b) - slope * np.mean(a)
    is_flat = vv == 0
    r = np.where(is_flat, 0.0, uv / np.sqrt(uu * np.where(is_flat, 1.0, vv)))
    if count == 2:  # SciPy's word on a line through two points
        p, error = np.where(b[0] == b[1], 1.0, 0.0), 0.0 * slope
        below = error
    else:
        left = (1 - r) * (1 + r)
        error = np.sqrt(left * vv / uu / (count - 2))
        p = _two_sided(r * np.sqrt((count - 2) / (left + 1e-20)), count - 2.0)
        below = error * np.sqrt(uu + np.mean(a) ** 2)
    found = LinregressResult(*(outward(n, x, y) for n in (slope, intercept, r, p, error)))
    found.intercept_stderr = outward(below, x, y)
    return found


@_ours
def pearsonr(
    x: ArrayLike, y: ArrayLike, *, alternative: str = "two-sided", method: object = None, axis: int = 0
) -> Any:  # fmt: skip
    """How far two samples lie on a line, and the probability of that without a relation."""
    only("stats.pearsonr", alternative=(alternative, "two-sided"), method=(method, None))
    a, b = meeting(entered(x), entered(y))
    u, v = (n - np.mean(n, axis=axis, keepdims=True) for n in (a, b))
    r = np.sum(u * v, axis=axis) / np.sqrt(np.sum(u * u, axis=axis) * np.sum(v * v, axis=axis))
    half = int(a.shape[axis]) / 2 - 1
    p = 2 * special.betainc(half, half, (1 - np.abs(r)) / 2) if half > 0 else np.ones_like(r)
    return PearsonRResult(outward(r, x, y), outward(p, x, y))


_QUARTILE = 0.6744897501960817  # of the standard normal distribution


@_ours
def iqr(
    x: ArrayLike, axis: Axes = None, rng: tuple[float, float] = (25, 75), scale: Any = 1.0,
    nan_policy: str = "propagate", interpolation: str = "linear", keepdims: bool = False,
) -> Any:  # fmt: skip
    """The distance between two percentiles."""
    only("stats.iqr", nan_policy=(nan_policy, "propagate"))
    low, high = np.percentile(floats(entered(x)), sorted(rng), axis=axis, method=interpolation, keepdims=keepdims)
    return outward((high - low) / (2 * _QUARTILE if scale == "normal" else scale), x)


@_ours
def median_abs_deviation(
    x: ArrayLike, axis: int | None = 0, center: Any = None, scale: Any = 1.0, nan_policy: str = "propagate", *,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """The median of the distances from the median."""
    only("stats.median_abs_deviation", nan_policy=(nan_policy, "propagate"), center=(center, None))
    a = floats(entered(x))
    gaps = np.abs(a - np.median(a, axis=axis, keepdims=True))
    factor = _QUARTILE if scale == "normal" else scale
    return outward(np.median(gaps, axis=axis, keepdims=keepdims) / factor, x)


@_ours
def trim_mean(
    a: ArrayLike, proportiontocut: float, axis: int | None = 0, *, nan_policy: str = "propagate", keepdims: bool = False
) -> Any:
    """The mean without a share of the smallest and of the largest elements."""
    only("stats.trim_mean", nan_policy=(nan_policy, "propagate"), keepdims=(keepdims, False))
    x = floats(entered(a))
    x, place = (np.ravel(x), 0) if axis is None else (x, axis)
    count = int(x.shape[place])
    cut = int(proportiontocut * count)
    if 2 * cut >= count:
        raise ValueError("Proportion too big.")
    return outward(np.mean(np.moveaxis(np.sort(x, axis=place), place, 0)[cut : count - cut], axis=0), a)


def _mean_direction(samples: ArrayLike, high: float, low: float, axis: Axes, keepdims: bool) -> tuple[Any, Any]:
    angles = (floats(entered(samples)) - low) * (2 * math.pi / (high - low))
    return tuple(np.mean(f(angles), axis=axis, keepdims=keepdims) for f in (np.sin, np.cos))


@_ours
def circmean(
    samples: ArrayLike, high: float = 2 * math.pi, low: float = 0, axis: Axes = None, nan_policy: str = "propagate",
    *, keepdims: bool = False,
) -> Any:  # fmt: skip
    """The mean of angles."""
    only("stats.circmean", nan_policy=(nan_policy, "propagate"))
    angle = np.arctan2(*_mean_direction(samples, high, low, axis, keepdims)) % (2 * math.pi)
    return outward(angle * ((high - low) / (2 * math.pi)) + low, samples)


@_ours
def circvar(
    samples: ArrayLike, high: float = 2 * math.pi, low: float = 0, axis: Axes = None, nan_policy: str = "propagate",
    *, keepdims: bool = False,
) -> Any:  # fmt: skip
    """The variance of angles: 1 less the length of their mean direction."""
    only("stats.circvar", nan_policy=(nan_policy, "propagate"))
    return outward(1.0 - np.hypot(*_mean_direction(samples, high, low, axis, keepdims)), samples)


@_ours
def circstd(
    samples: ArrayLike, high: float = 2 * math.pi, low: float = 0, axis: Axes = None, nan_policy: str = "propagate",
    *, normalize: bool = False, keepdims: bool = False,
) -> Any:  # fmt: skip
    """The standard deviation of angles."""
    only("stats.circstd", nan_policy=(nan_policy, "propagate"))
    spread = np.sqrt(-2 * np.log(np.hypot(*_mean_direction(samples, high, low, axis, keepdims))))
    return outward(spread if normalize else spread * ((high - low) / (2 * math.pi)), samples)


@_ours
def wasserstein_distance(
    u_values: ArrayLike, v_values: ArrayLike, u_weights: ArrayLike | None = None, v_weights: ArrayLike | None = None
) -> Any:
    """The earth mover's distance of two samples of numbers."""
    given = (u_values, v_values, u_weights, v_weights)
    u, v = (np.ravel(x) for x in meeting(entered(u_values), entered(v_values)))
    everything = np.sort(np.concatenate([u, v]))
    shares = [_share_up_to(x, w, everything[:-1]) for x, w in ((u, u_weights), (v, v_weights))]
    return outward(np.sum(np.abs(shares[0] - shares[1]) * np.diff(everything)), *given)


def _share_up_to(x: Any, weights: ArrayLike | None, places: Any) -> Any:
    """The distribution function of a sample at places."""
    order = np.argsort(stop_gradient(x))
    counts = np.searchsorted(stop_gradient(x)[order], stop_gradient(places), side="right")
    w = np.ones(x.shape[0]) if weights is None else floats(entered(weights))[order]
    sums = np.concatenate([numpy.zeros(1), np.cumsum(w)])
    return sums[counts] / sums[-1]


__all__ = ["SAMPLES"]
