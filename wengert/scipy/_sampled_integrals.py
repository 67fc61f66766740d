"""Integrals of samples: trapezoid, Simpson's and Romberg's rules, cumulative ones; and Gauss' rule of fixed order."""

from __future__ import annotations

import itertools
from typing import Any

import numpy

from .. import numpy as np
from .._core.argument_types import ArrayLike
from .._core.scipy_modules import scipy
from .._core.tensor import Tensor
from ._conversions import fixed, floats, recorded
from ._namespace import only


def _rows(y: Tensor, x: Any, dx: ArrayLike, axis: int) -> tuple[Tensor, Any]:
    """Samples along the last axis, and the distances between them, which broadcast against them."""
    row = np.moveaxis(floats(y), axis, -1)
    if x is None:
        return row, dx
    x = floats(x)
    if x.ndim > 1:
        x = np.moveaxis(x, axis, -1)
    if x.shape[-1] != row.shape[-1]:
        raise ValueError("If given, length of x along axis must be the same as y.")
    return row, x[..., 1:] - x[..., :-1]


@recorded
def trapezoid(y: Any, x: ArrayLike | None = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral of samples by trapezoids, with gradients in y, x and dx."""
    row, steps = _rows(y, x, dx, axis)
    return np.sum(steps * (row[..., 1:] + row[..., :-1]) / 2, axis=-1)


def _begun(found: Tensor, initial: ArrayLike | None, axis: int) -> Tensor:
    if initial is not None:
        if initial != 0:
            raise ValueError("`initial` must be `None` or `0`.")
        found = np.concatenate([np.zeros((*found.shape[:-1], 1), found.dtype), found], axis=-1)
    return np.moveaxis(found, -1, axis)


@recorded
def cumulative_trapezoid(
    y: Any, x: ArrayLike | None = None, dx: Any = 1.0, axis: int = -1, initial: ArrayLike | None = None
) -> Any:
    """The integral of samples up to each by trapezoids, with gradients in y, x and dx."""
    row, steps = _rows(y, x, dx, axis)
    return _begun(np.cumsum(steps * (row[..., 1:] + row[..., :-1]) / 2, axis=-1), initial, axis)


def _parabolas(row: Tensor, first: Any, second: Any) -> Tensor:
    """Simpson's rule over pairs of intervals of any lengths."""
    both, low, middle, high = first + second, row[..., :-2:2], row[..., 1:-1:2], row[..., 2::2]
    weighed = low * (2 - second / first) + middle * (both * both / (first * second)) + high * (2 - first / second)
    return np.sum(both / 6 * weighed, axis=-1)


@recorded
def simpson(y: Any, x: ArrayLike | None = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral of samples by Simpson's rule, with gradients in y, x and dx."""
    row, steps = _rows(y, x, dx, axis)
    count = int(row.shape[-1])
    steps = np.broadcast_to(floats(steps), (*row.shape[:-1], count - 1))
    if count == 2:
        return (steps * (row[..., 1:] + row[..., :-1]) / 2)[..., 0]
    inner = row if count % 2 else row[..., :-1]
    last = count - 1 if count % 2 else count - 2
    found = _parabolas(inner, steps[..., 0:last:2], steps[..., 1:last:2])
    if count % 2:
        return found
    # the last interval, by the parabola through the last three samples
    before, behind = steps[..., -2], steps[..., -1]
    both = before + behind
    found = found + row[..., -1] * (2 * behind**2 + 3 * before * behind) / (6 * both)
    found = found + row[..., -2] * (behind**2 + 3 * before * behind) / (6 * before)
    return found - row[..., -3] * behind**3 / (6 * before * both)


def _first_halves(row: Tensor, first: Any, second: Any) -> Tensor:
    """Of each parabola through three samples, the integral up to the middle one."""
    low, middle, high = row[..., :-2], row[..., 1:-1], row[..., 2:]
    share = first / (first + second)
    other = share * first / second
    return first / 6 * ((3 - share) * low + (3 + other + share) * middle - other * high)


@recorded
def cumulative_simpson(
    y: Any, *, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: ArrayLike | None = None
) -> Any:
    """The integral of samples up to each by Simpson's rule, with gradients in y, x, dx and initial."""
    row, steps = _rows(y, x, dx if numpy.ndim(dx) == 0 else np.moveaxis(floats(dx), axis, -1), axis)
    count = int(row.shape[-1])
    steps = np.broadcast_to(floats(steps), (*row.shape[:-1], count - 1))
    if count < 3:
        found = np.cumsum(steps * (row[..., 1:] + row[..., :-1]) / 2, axis=-1)
    else:
        forth = _first_halves(row, steps[..., :-1], steps[..., 1:])
        turned, back = np.flip(row, -1), np.flip(steps, -1)
        behind = np.flip(_first_halves(turned, back[..., :-1], back[..., 1:]), -1)
        # every other interval is the first half of a parabola, those between, and the last, are second halves
        is_first = numpy.arange(count - 2) % 2 == 0
        first = np.concatenate([forth, behind[..., -1:]], axis=-1)
        second = np.concatenate([forth[..., :1], behind], axis=-1)
        found = np.cumsum(np.where(numpy.append(is_first, False), first, second), axis=-1)
    if initial is not None:
        start = floats(initial)
        start = np.broadcast_to(np.moveaxis(start, axis, -1) if start.ndim else start, (*row.shape[:-1], 1))
        found = np.concatenate([start, found + start], axis=-1)
    return np.moveaxis(found, -1, axis)


@recorded
def romb(y: ArrayLike, dx: ArrayLike = 1.0, axis: int = -1, show: bool = False) -> Any:
    """The integral of 2**k + 1 samples by Romberg's rule, with gradients in y and dx."""
    only("integrate.romb", show=(show, False))
    row = np.moveaxis(floats(y), axis, -1)
    count = int(row.shape[-1])
    if count < 2 or (count - 1) & (count - 2):
        raise ValueError("Number of samples must be one plus a non-negative power of 2.")
    return row @ _romberg(count).astype(row.dtype) * dx


def _romberg(count: int) -> Any:
    """The weights of samples at distances of 1."""
    levels: list[Any] = []
    step = count - 1
    while step:
        weights = numpy.zeros(count)
        weights[::step] = step
        weights[[0, -1]] /= 2
        levels.append(weights)
        step //= 2
    for order in range(1, len(levels)):
        levels = [b + (b - a) / (4.0**order - 1) for a, b in itertools.pairwise(levels)]
    return levels[0]


@recorded
def fixed_quad(func: Any, a: Any, b: Any, args: Any = (), n: int = 5) -> Any:
    """The integral of a function of vectors by Gauss' rule, with gradients in limits, args and what func uses."""
    places, weights = scipy("special").roots_legendre(fixed(n, "n", "fixed_quad"))
    if numpy.isinf(_limit(a)) or numpy.isinf(_limit(b)):
        raise ValueError("Gaussian quadrature is only available for finite limits.")
    at = (b - a) * (places.real + 1) / 2.0 + a
    return (b - a) / 2.0 * np.sum(weights * func(at, *args), axis=-1), None


def _limit(x: ArrayLike) -> Any:
    """A limit's number where it is one; symbols count as finite."""
    return 0.0 if isinstance(x, Tensor) else x


__all__ = [
    "cumulative_simpson", "cumulative_trapezoid", "fixed_quad", "romb", "simpson", "trapezoid",
]  # fmt: skip
