"""Integrals in a trace, which has no values to choose intervals by: a rule that is refined while the program runs.

The range is mapped to the real line so that the integrand dies away double exponentially at both ends (tanh-sinh, and
its like for infinite ranges), and the trapezoidal rule there is halved until two results agree. Powers and logarithms
at the ends do no harm; kinks inside cost digits, which the estimated error shows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy

from .. import numpy as np
from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from ..ops.promotion import as_tensor
from ..programs.control import fori_loop, while_loop

_REACH = 4.0  # of the line: the weight is below 1e-35 there
_LEVELS = 11  # halvings; the last has 8 * 2**11 places
_Place = tuple[Any, Any, Any]  # a place, its weight, and whether it counts


def _infinite(x: Any) -> float:
    return 0.0 if isinstance(x, Tensor) or not numpy.isinf(x) else math.copysign(1.0, x)


def _place(t: Any, a: Any, b: Any) -> _Place:
    """Where a point of the line lies in the range."""
    inner, slope = numpy.pi / 2 * np.sinh(t), numpy.pi / 2 * np.cosh(t)
    low, high = _infinite(a), _infinite(b)
    if low and high:
        return np.sinh(inner), slope * np.cosh(inner), True
    if low or high:
        far = np.exp(inner)
        start, sign = (b, -1.0) if low else (a, 1.0)
        x = start + sign * far
        return x, slope * far, x != start
    share = 1 / (1 + np.exp(2 * np.abs(inner)))  # of the range, from the nearer end
    x = np.where(t < 0, a + (b - a) * share, b - (b - a) * share)
    return x, (b - a) * slope / (2 * np.cosh(inner) ** 2), (x != a) & (x != b)


def traced_integral(f: Callable[[Any], Any], a: ArrayLike, b: ArrayLike, options: dict[str, Any]) -> tuple[Any, Any]:
    """The integral from a to b of a function that is traced, and an estimate of its error."""
    if _infinite(a) > 0 or _infinite(b) < 0:
        total, error = traced_integral(f, b, a, options)
        return -total, error
    inside = options.get("points")
    edges = [a, *(() if inside is None else sorted(map(float, inside))), b]
    parts = [_one(f, *pair, options) for pair in itertools.pairwise(edges)]
    return sum((p[0] for p in parts[1:]), parts[0][0]), sum((p[1] for p in parts[1:]), parts[0][1])


def _one(f: Callable[[Any], Any], a: Tensor, b: Tensor, options: dict[str, Any]) -> tuple[Any, Any]:
    middle = (
        0.0 if _infinite(a) and _infinite(b) else b - 1.0 if _infinite(a) else a + 1.0 if _infinite(b) else (a + b) / 2
    )
    middle = as_tensor(middle).astype("float64")

    def term(t: ArrayLike) -> Any:
        x, weight, counts = _place(t, a, b)
        return np.where(counts, weight * f(np.where(counts, x, middle)), 0.0)

    def added(level: Tensor) -> Any:
        """The sum over the places that a level has and the one before has not."""
        step = 2.0 ** (-1.0 * level)
        count = np.astype(np.rint(_REACH / step), "int64")
        zero = term(np.zeros(())) * 0.0
        return fori_loop(0, count, lambda i, c: c + term(-_REACH + (2 * i + 1) * step), zero)

    def refined(level: Tensor, total: Tensor, error: Tensor) -> Any:
        step = 2.0 ** (-1.0 * level)
        better = total / 2 + step * added(level)
        return level + 1, better, np.abs(better - total)

    def goes_on(level: Tensor, total: Tensor, error: Tensor) -> Any:
        wanted = np.maximum(options.get("epsabs", 1.49e-8), options.get("epsrel", 1.49e-8) * np.abs(total))
        # two results that agree differ by far more than the better one is wrong, but not before there are some places
        return (level <= _LEVELS) & ((level <= 4) | (error > wanted))

    first = term(np.zeros(()))
    for k in range(1, int(_REACH)):
        first = first + term(as_tensor(float(k))) + term(as_tensor(float(-k)))
    _, total, error = while_loop(goes_on, refined, (as_tensor(1), first, np.abs(first) + 1.0))
    return total, error


__all__ = ["traced_integral"]
