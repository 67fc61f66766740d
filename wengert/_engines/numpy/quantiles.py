"""NumPy kernels of `_prims/quantiles.py`: counts by steps from a guess, angles by Newton's method, in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .common import lazy

_LARGEST = 2.0**53  # beyond it floats are no counts


def _in_float64(function: Callable[..., Any]) -> Callable[..., Any]:
    def kernel(x: np.ndarray[Any, Any], *rest: object) -> Any:
        wide = [np.asarray(v, np.float64) if isinstance(v, (np.ndarray, np.generic)) else v for v in (x, *rest)]
        with np.errstate(all="ignore"):
            return np.asarray(function(*wide)).astype(x.dtype)[()]

    return kernel


# -- counts ------------------------------------------------------------------------------------------------------------


def _smallest(is_enough: Callable[[Any], Any], guess: np.ndarray[Any, Any]) -> Any:
    """The smallest whole number that is enough: by steps from a guess that double, then by halving; inf if no count
    is."""
    at, step = guess, 1.0
    low, high = np.full_like(at, -1.0), np.full_like(at, np.inf)
    while (open_ := (high - low > 1) & (low < _LARGEST)).any():
        enough = is_enough(at)
        low, high = np.where(open_ & ~enough, at, low), np.where(open_ & enough, at, high)
        between = np.where((low < 0) & (high - step > low), high - step, np.floor((low + high) / 2))
        at = np.where(open_, np.where(np.isinf(high), low + step, between), at)
        step = 2 * step
    return np.where(low < _LARGEST, high, np.inf)  # from there on it has not been halved to the smallest


def _count(mass: Callable[..., tuple[Any, Any]], moments: Callable[..., tuple[Any, Any, Any]]) -> Callable[..., Any]:
    """A kernel from the mass up to k and beyond it, and from mean, variance and the third central moment over that:
    counts are looked for from where Cornish and Fisher's expansion has them."""

    def kernel(q: np.ndarray[Any, Any], *shapes_and_upper: bool | np.ndarray[Any, Any]) -> Any:
        from scipy.special import ndtri

        *shapes, upper = shapes_and_upper

        def is_enough(k: np.ndarray[Any, Any]) -> Any:
            return mass(k, *shapes)[1] <= q if upper else mass(k, *shapes)[0] >= q

        mean, variance, third = moments(*shapes)
        z = -ndtri(q) if upper else ndtri(q)
        guess = np.ceil(mean + z * np.sqrt(variance) + (z * z - 1) * third / 6 - 0.5)
        is_near = (guess > 0) & (guess < _LARGEST) & (shapes[0] < _LARGEST)  # of huge sizes SciPy has masses of NaN
        return _smallest(is_enough, np.where(is_near, guess, 0.0))

    return _in_float64(kernel)


def _poisson(k: np.ndarray[Any, Any], mu: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    from scipy.special import gammainc, gammaincc

    return gammaincc(k + 1, mu), gammainc(k + 1, mu)


def _binom(k: np.ndarray[Any, Any], n: np.ndarray[Any, Any], p: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    from scipy.special import betainc, betaincc

    is_all = k >= n
    rest = np.where(is_all, 1.0, n - k)
    return np.where(is_all, 1.0, betaincc(k + 1, rest, p)), np.where(is_all, 0.0, betainc(k + 1, rest, p))


def _nbinom(k: np.ndarray[Any, Any], n: np.ndarray[Any, Any], p: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    from scipy.special import betainc, betaincc

    return betainc(n, k + 1, p), betaincc(n, k + 1, p)


# -- angles ------------------------------------------------------------------------------------------------------------


_MOST_STEPS = 60
_CLOSE = 1e-9  # a step of Newton's method that is so small, beside the angle, leads to all digits
_ROUNDING = 1e-16  # ... and of smaller ones only rounding errors are left


def _vonmises(q: np.ndarray[Any, Any], kappa: np.ndarray[Any, Any]) -> Any:
    """By Newton's method from the normal distribution's place; the mass below an angle is summed by Gauss's rule where
    the density has not vanished."""
    from scipy.special import i0e, ndtri

    nodes, weights = np.polynomial.legendre.leggauss(48)
    height = 1 / (2 * math.pi * i0e(kappa))

    def below(angle: Any, square: Any) -> Any:
        reach = square + 20 / kappa
        end = np.where(reach < 1, -2 * np.arcsin(np.sqrt(np.minimum(reach, 1))), -math.pi)
        half = (angle - end) / 2
        places = (angle + end)[..., None] / 2 + half[..., None] * nodes
        return height * half * (np.exp(-2 * kappa[..., None] * np.sin(places / 2) ** 2) @ weights)

    spread = 2 * np.arcsin(np.maximum(ndtri(q) / (2 * np.sqrt(kappa)), -1))
    angle = np.where(kappa < 1, 2 * math.pi * (q - 0.5), spread)
    angle = np.where((q >= 0) & (q <= 1), angle, np.nan)
    for _ in range(_MOST_STEPS):
        square = np.sin(angle / 2) ** 2
        move = (below(angle, square) - q) / (height * np.exp(-2 * kappa * square))
        is_open = np.abs(move) > _ROUNDING - _CLOSE * angle
        angle = np.clip(angle - move, -math.pi, 0)
        if not is_open.any():
            break
    return angle


def _ndtri_exp(scipys: Callable[..., Any], y: np.ndarray[Any, Any]) -> Any:
    """Where SciPy before 1.14 has infinities: next to 0, and NaN above it."""
    from scipy.special import ndtri

    return np.where(y > -1e-2, -ndtri(-np.expm1(y)), scipys(y))[()]


KERNELS: dict[str, Any] = {
    "ndtri_exp": lazy("scipy.special", "ndtri_exp", _ndtri_exp),
    "poisson_count": _count(_poisson, lambda mu: (mu, mu, 1.0)),
    "binom_count": _count(_binom, lambda n, p: (n * p, n * p * (1 - p), 1 - 2 * p)),
    "nbinom_count": _count(_nbinom, lambda n, p: (n * (1 - p) / p, n * (1 - p) / (p * p), (2 - p) / p)),
    "vonmises_place": _in_float64(_vonmises),
}
