"""Polynomials between breakpoints, and the cubic ones through points: CubicSpline, PCHIP, Akima, Hermite's.

Gradients flow in the places of the points, their values, and where they are evaluated.
"""

from __future__ import annotations

from typing import Any

import numpy

from .. import linalg
from .. import numpy as np
from .._core import dtypes
from .._core.argument_types import ArrayLike
from .._core.caller import caller_of
from .._core.scipy_modules import scipy
from .._core.tensor import Tensor
from ..ops.conversion import stop_gradient
from ._conversions import entered, floats, followed_place


def kept(found: ArrayLike, *given: object) -> Any:
    """A result in the kind of array of what it was made of."""
    return caller_of(given).result(found)


def plain_numbers(x: Tensor) -> Any:
    """What a tensor holds, whatever derivative it has."""
    return stop_gradient(x).numpy()


def placed(found: Tensor, places: int, axis: int) -> Tensor:
    """Values (places..., rest...) with the axes of the places where the axis of the points was."""
    axes = [*range(found.ndim)]
    return np.transpose(found, axes[places : places + axis] + axes[:places] + axes[places + axis :])


class PPoly:
    """Polynomials between breakpoints: the sum over m of ``c[m, i] * (x - x[i]) ** (k - m - 1)``.

    Differentiable in c, the breakpoints and where it is evaluated.

    Args:
        c: coefficients (k, m, ...), the highest power first.
        x: breakpoints (m + 1,), increasing.
        extrapolate: whether values outside are those of the first and the last piece; "periodic"; False: NaN.
        axis: where the pieces' axis was.
    """

    def __init__(self, c: ArrayLike, x: ArrayLike, extrapolate: bool | str | None = None, axis: int = 0) -> None:
        self._given = (c, x)
        self.axis = axis
        self._c = np.moveaxis(floats(entered(c)), (axis, axis + 1), (0, 1)) if axis else floats(entered(c))
        self._x = floats(entered(x))
        self.extrapolate = True if extrapolate is None else extrapolate

    def _made(self, c: Tensor, x: Tensor, given: tuple[Any, ...], extrapolate: bool | str | None, axis: int) -> None:
        self._given, self._c, self._x, self.extrapolate, self.axis = given, c, x, extrapolate, axis

    @property
    def c(self) -> Any:
        """The coefficients (k, m, ...)."""
        return kept(self._c, *self._given)

    @property
    def x(self) -> Any:
        """The breakpoints."""
        return kept(self._x, *self._given)

    def __call__(self, x: ArrayLike, nu: int = 0, extrapolate: bool | str | None = None) -> Any:
        """The polynomials, or their derivative of order nu, at places of any shape."""
        outside = self.extrapolate if extrapolate is None else extrapolate
        return kept(self._at(floats(entered(x)), nu, outside), x, *self._given)

    def _at(self, x: Tensor, nu: int, extrapolate: bool | str | None) -> Tensor:
        flat = np.reshape(x, (-1,))
        first, last = self._x[0], self._x[-1]
        if extrapolate == "periodic":
            flat = first + (flat - first) % (last - first)
        pieces = int(self._c.shape[1])
        piece = np.searchsorted(self._x, flat, side="right") - 1
        piece = np.clip(piece, 0, pieces - 1)
        rest = (1,) * (self._c.ndim - 2)
        s = np.reshape(flat - np.take(self._x, piece), (-1, *rest))
        found: Any = 0.0
        power = int(self._c.shape[0]) - 1
        for m in range(power + 1 - nu):
            factor = float(numpy.prod(numpy.arange(power - m - nu + 1, power - m + 1))) if nu else 1.0
            found = found * s + np.take(self._c[m], piece, axis=0) * factor
        if power < nu:
            found = np.zeros((int(flat.shape[0]), *self._c.shape[2:]), self._c.dtype)
        if extrapolate is False:
            is_outside = np.reshape((flat < first) | (flat > last), (-1, *rest))
            found = np.where(is_outside, numpy.nan, found)
        return placed(np.reshape(found, (*x.shape, *self._c.shape[2:])), x.ndim, self.axis)

    def _like(self, c: Tensor, extrapolate: bool | str | None = None) -> PPoly:
        made = PPoly.__new__(PPoly)
        made._made(c, self._x, self._given, self.extrapolate if extrapolate is None else extrapolate, self.axis)
        return made

    def derivative(self, nu: int = 1) -> PPoly:
        """The derivative, or below 0 the antiderivative, as such polynomials."""
        if nu < 0:
            return self.antiderivative(-nu)
        c = self._c
        for _ in range(nu):
            powers = numpy.arange(int(c.shape[0]) - 1, 0, -1.0).reshape(-1, *(1,) * (c.ndim - 1))
            c = c[:-1] * powers if c.shape[0] > 1 else np.zeros_like(c)
        return self._like(c)

    def antiderivative(self, nu: int = 1) -> PPoly:
        """The integral from the first breakpoint, as such polynomials."""
        if nu < 0:
            return self.derivative(-nu)
        c = self._c
        steps = np.reshape(self._x[1:] - self._x[:-1], (-1, *(1,) * (c.ndim - 2)))
        for _ in range(nu):
            powers = numpy.arange(int(c.shape[0]), 0, -1.0).reshape(-1, *(1,) * (c.ndim - 1))
            c = c / powers
            over: Any = 0.0
            for m in range(int(c.shape[0])):
                over = (over + c[m]) * steps
            before = np.concatenate([np.zeros_like(over[:1]), np.cumsum(over, axis=0)[:-1]])
            c = np.concatenate([c, before[None]])
        return self._like(c, False if self.extrapolate == "periodic" else None)

    def solve(self, y: float = 0.0, discontinuity: bool = True, extrapolate: bool | str | None = None) -> Any:
        """The places, in order, where the polynomials are y; their gradient is that of simple roots.

        Args:
            y: the value.
            discontinuity: whether a jump across y counts, at its breakpoint.
            extrapolate: whether places outside of the breakpoints count.
        """
        if self._c.ndim > 2:
            raise ValueError(f"solve: places are found of one function, and c has shape {self._c.shape}")
        outside = self.extrapolate if extrapolate is None else extrapolate
        plain = scipy("interpolate").PPoly(plain_numbers(self._c), plain_numbers(self._x), outside)
        places = plain.solve(float(y), discontinuity)
        piece = numpy.clip(numpy.searchsorted(plain.x, places, side="right") - 1, 0, None)
        jumps = numpy.isclose(places, plain.x[piece], rtol=1e-14, atol=0) & (abs(plain(places) - y) > 1e-9)
        moved = followed_place(
            np.asarray(places), lambda x: np.where(jumps, 0.0, self._at(x, 0, True) - y),
            lambda x: np.where(jumps, 1.0, self._at(x, 1, True)),
        )  # fmt: skip
        return kept(np.where(jumps, np.take(self._x, piece), moved), *self._given)

    def roots(self, discontinuity: bool = True, extrapolate: bool | str | None = None) -> Any:
        """The places, in order, where the polynomials are zero: `solve(0)`."""
        return self.solve(0.0, discontinuity, extrapolate)

    def integrate(self, a: ArrayLike, b: ArrayLike, extrapolate: bool | str | None = None) -> Any:
        """The integral from a to b, with gradients in both."""
        outside = self.extrapolate if extrapolate is None else extrapolate
        whole = self.antiderivative()
        ends = [floats(entered(limit)) for limit in (a, b)]
        if outside == "periodic":
            low, high = self._x[0], self._x[-1]
            period = high - low
            turns = [stop_gradient(np.floor((end - low) / period)) for end in ends]
            total = whole._at(high, 0, True)
            parts = [whole._at(e - n * period, 0, True) + n * total for e, n in zip(ends, turns, strict=True)]
        else:
            parts = [whole._at(end, 0, outside) for end in ends]
        return kept(parts[1] - parts[0], a, b, *self._given)


def _points(x: ArrayLike, y: ArrayLike, axis: int) -> tuple[Tensor, Tensor, int]:
    """The places, the values with their axis in front, and where it was."""
    places, values = floats(entered(x)), floats(entered(y))
    if dtypes.is_complex(places.dtype):
        raise ValueError("`x` must contain real values.")
    if places.ndim != 1:
        raise ValueError("`x` must be 1-dimensional.")
    if places.shape[0] < 2:
        raise ValueError("`x` must contain at least 2 elements.")
    axis = axis % values.ndim
    if places.shape[0] != values.shape[axis]:
        raise ValueError(f"The length of `y` along `axis`={axis} doesn't match the length of `x`")
    return places, np.moveaxis(values, axis, 0), axis


def _column(x: Tensor, y: Tensor) -> Tensor:
    return np.reshape(x, (-1, *(1,) * (y.ndim - 1)))


def _hermite(x: Tensor, y: Tensor, slopes: Tensor) -> Tensor:
    """The coefficients of the cubic polynomials with given values and slopes at the ends."""
    h = _column(x[1:] - x[:-1], y)
    mean = (y[1:] - y[:-1]) / h
    bend = (slopes[:-1] + slopes[1:] - 2 * mean) / h
    return np.stack([bend / h, (mean - slopes[:-1]) / h - bend, slopes[:-1], y[:-1]])


class CubicHermiteSpline(PPoly):
    """The piecewise cubic polynomial with given values and slopes, as `scipy.interpolate.CubicHermiteSpline`.

    Args:
        x: places (n,), increasing.
        y: the values there, along an axis.
        dydx: the slopes there.
        axis: which axis of y.
        extrapolate: as `PPoly` has it.
    """

    def __init__(
        self, x: ArrayLike, y: ArrayLike, dydx: ArrayLike, axis: int = 0, extrapolate: bool | str | None = None
    ) -> None:
        places, values, axis = _points(x, y, axis)
        slopes = np.moveaxis(floats(entered(dydx)), axis, 0)
        outside = True if extrapolate is None else extrapolate
        self._made(_hermite(places, values, slopes), places, (x, y, dydx), outside, axis)


class PchipInterpolator(PPoly):
    """The piecewise cubic polynomial that is as monotonic as its points, as `scipy.interpolate.PchipInterpolator`.

    Args:
        x: places (n,), increasing.
        y: the values there, along an axis.
        axis: which axis of y.
        extrapolate: as `PPoly` has it.
    """

    def __init__(self, x: ArrayLike, y: ArrayLike, axis: int = 0, extrapolate: bool | str | None = None) -> None:
        places, values, axis = _points(x, y, axis)
        outside = True if extrapolate is None else extrapolate
        self._made(_hermite(places, values, _monotone(places, values)), places, (x, y), outside, axis)


def _monotone(x: Tensor, y: Tensor) -> Tensor:
    h = _column(x[1:] - x[:-1], y)
    mean = (y[1:] - y[:-1]) / h
    if y.shape[0] == 2:
        return np.concatenate([mean, mean])
    first, second = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    is_flat = (np.sign(mean[1:]) != np.sign(mean[:-1])) | (mean[1:] == 0) | (mean[:-1] == 0)
    low, high = np.where(is_flat, 1.0, mean[:-1]), np.where(is_flat, 1.0, mean[1:])
    inner = np.where(is_flat, 0.0, (first + second) / (first / low + second / high))
    ends = [_end(h[i], h[j], mean[i], mean[j])[None] for i, j in ((0, 1), (-1, -2))]
    return np.concatenate([ends[0], inner, ends[1]])


def _end(h0: Tensor, h1: Tensor, m0: Tensor, m1: Tensor) -> Tensor:
    """The slope at an end, of three points, and no steeper than keeps the shape."""
    d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    is_steep = (np.sign(m0) != np.sign(m1)) & (np.abs(d) > 3.0 * np.abs(m0))
    return np.where(np.sign(d) != np.sign(m0), 0.0, np.where(is_steep, 3.0 * m0, d))


class Akima1DInterpolator(PPoly):
    """Akima's piecewise cubic polynomial, as `scipy.interpolate.Akima1DInterpolator`.

    Args:
        x: places (n,), increasing.
        y: the values there, along an axis.
        axis: which axis of y.
        method: "akima" or "makima".
        extrapolate: as `PPoly` has it; None means False.
    """

    def __init__(
        self, x: ArrayLike, y: ArrayLike, axis: int = 0, *, method: str = "akima", extrapolate: bool | str | None = None
    ) -> None:
        if method not in ("akima", "makima"):
            raise NotImplementedError(f"`method`={method} is unsupported.")
        places, values, axis = _points(x, y, axis)
        outside = False if extrapolate is None else extrapolate
        self._made(_hermite(places, values, _akima(places, values, method)), places, (x, y), outside, axis)


def _akima(x: Tensor, y: Tensor, method: str) -> Tensor:
    mean = (y[1:] - y[:-1]) / _column(x[1:] - x[:-1], y)
    if y.shape[0] == 2:
        return np.concatenate([mean, mean])
    before = 2 * mean[:1] - mean[1:2]
    behind = 2 * mean[-1:] - mean[-2:-1]
    m = np.concatenate([2 * before - mean[:1], before, mean, behind, 2 * behind - mean[-1:]])
    change = np.abs(m[1:] - m[:-1])
    if method == "makima":
        change = change + 0.5 * np.abs(m[1:] + m[:-1])
    right, left = change[2:], change[:-2]
    both = right + left
    is_bent = both > 1e-9 * np.max(stop_gradient(both), initial=-numpy.inf)
    share = left / np.where(is_bent, both, 1.0)
    return np.where(is_bent, m[1:-2] + share * (m[2:-1] - m[1:-2]), 0.5 * (m[3:] + m[:-3]))


class CubicSpline(PPoly):
    """The cubic spline through points, as `scipy.interpolate.CubicSpline`.

    Args:
        x: places (n,), increasing.
        y: the values there, along an axis.
        axis: which axis of y.
        bc_type: "not-a-knot", "periodic", "clamped", "natural", or for each end one of these or (order, value).
        extrapolate: as `PPoly` has it; None means "periodic" for periodic splines, else True.
    """

    def __init__(
        self,
        x: ArrayLike,
        y: ArrayLike,
        axis: int = 0,
        bc_type: Any = "not-a-knot",
        extrapolate: bool | str | None = None,
    ) -> None:
        places, values, axis = _points(x, y, axis)
        ends = _conditions(bc_type, values)
        if extrapolate is None:
            extrapolate = "periodic" if ends[0] == "periodic" else True
        given = (x, y, *(e[1] for e in ends if isinstance(e, tuple)))
        self._made(_hermite(places, values, _smooth(places, values, ends)), places, given, extrapolate, axis)


def _conditions(bc_type: Any, y: Tensor) -> list[Any]:
    """For each end "periodic", "not-a-knot" or (order, value)."""
    if isinstance(bc_type, str):
        ends = [bc_type, bc_type]
    else:
        if len(bc_type) != 2:
            raise ValueError("`bc_type` must contain 2 elements to specify start and end conditions.")
        ends = [*bc_type]
        if "periodic" in [e for e in ends if isinstance(e, str)]:
            raise ValueError("'periodic' `bc_type` is defined for both curve ends and cannot be used with other "
                             "boundary conditions.")  # fmt: skip
    found: list[Any] = []
    for end in ends:
        if isinstance(end, str):
            if end not in ("not-a-knot", "periodic", "clamped", "natural"):
                raise ValueError(f"bc_type={end} is not allowed.")
            zero = np.zeros(tuple(y.shape[1:]), y.dtype)
            found.append({"clamped": (1, zero), "natural": (2, zero)}.get(end, end))
            continue
        order, value = end
        if order not in (1, 2):
            raise ValueError("The specified derivative order must be 1 or 2.")
        value = floats(entered(value))
        if tuple(value.shape) != tuple(y.shape[1:]):
            raise ValueError(f"`deriv_value` shape {value.shape} is not the expected one {y.shape[1:]}.")
        found.append((order, value))
    return found


def _smooth(x: Tensor, y: Tensor, ends: list[Any]) -> Tensor:
    """The slopes at the points of the spline with continuous second derivatives."""
    count = int(x.shape[0])
    steps = x[1:] - x[:-1]
    h = _column(steps, y)
    mean = (y[1:] - y[:-1]) / h
    if ends[0] == "periodic":
        return _round(steps, h, mean, count)
    if count == 2:
        ends = [(1, mean[0]) if end == "not-a-knot" else end for end in ends]
    if count == 3 and ends == ["not-a-knot", "not-a-knot"]:
        one, zero = np.ones(1), np.zeros(1)
        rows = [
            np.concatenate([one, one, zero]),
            np.concatenate([steps[1:], 2 * (steps[:1] + steps[1:]), steps[:1]]),
            np.concatenate([zero, one, one]),
        ]
        right = np.stack([2 * mean[0], 3 * (h[0] * mean[1] + h[1] * mean[0]), 2 * mean[1]])
        return _flat_solve(np.stack(rows), right)
    first, upper, start = _end_row(ends[0], steps, h, mean, y, 0)
    last, lower, stop = _end_row(ends[1], steps[::-1], h[::-1], mean[::-1], y[::-1], 1)
    nothing = np.zeros(1, x.dtype)
    diagonals = np.stack([
        np.concatenate([nothing, upper, steps[:-1]]),
        np.concatenate([first, 2 * (steps[:-1] + steps[1:]), last]),
        np.concatenate([steps[1:], lower, nothing]),
    ])  # fmt: skip
    right = np.concatenate([start[None], 3 * (h[1:] * mean[:-1] + h[:-1] * mean[1:]), stop[None]])
    flat = linalg.solve_banded((1, 1), diagonals, np.reshape(right, (count, -1)))
    return np.reshape(flat, right.shape)


def _flat_solve(matrix: Tensor, right: Tensor) -> Tensor:
    return np.reshape(linalg.solve(matrix, np.reshape(right, (right.shape[0], -1))), right.shape)


def _end_row(end: Any, steps: Tensor, h: Tensor, mean: Tensor, y: Tensor, side: int) -> tuple[Tensor, Tensor, Tensor]:
    """The equation at an end, seen from it: its own coefficient, its neighbour's, and the right side."""
    if end == "not-a-knot":
        both = h[0] + h[1]
        right = ((h[0] + 2 * both) * h[1] * mean[0] + h[0] ** 2 * mean[1]) / both
        return steps[1:2], steps[:1] + steps[1:2], right
    order, value = end
    if order == 1:
        return np.ones(1, steps.dtype), np.zeros(1, steps.dtype), value + 0 * mean[0]
    sign = 0.5 if side else -0.5
    return 2 * steps[:1], steps[:1], sign * value * h[0] ** 2 + 3 * h[0] * mean[0]


def _round(steps: Tensor, h: Tensor, mean: Tensor, count: int) -> Tensor:
    """The slopes of a periodic spline."""
    if count == 2:
        return np.concatenate([mean * 0, mean * 0])
    if count == 3:
        slope = np.sum(mean / h, axis=0) / np.sum(1.0 / h, axis=0)
        return np.stack([slope, slope, slope])
    size = count - 1
    before = np.roll(steps, 1)
    identity = numpy.eye(size)
    matrix = (
        identity * np.reshape(2 * (before + steps), (-1, 1))
        + numpy.roll(identity, 1, axis=1) * np.reshape(before, (-1, 1))
        + numpy.roll(identity, -1, axis=1) * np.reshape(steps, (-1, 1))
    )
    right = 3 * (h * np.roll(mean, 1, axis=0) + np.roll(h, 1, axis=0) * mean)
    found = _flat_solve(matrix, right)
    return np.concatenate([found, found[:1]])


__all__ = ["Akima1DInterpolator", "CubicHermiteSpline", "CubicSpline", "PPoly", "PchipInterpolator", "kept", "placed"]
