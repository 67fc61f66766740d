"""Interpolation in tables: `interp1d`, and `RegularGridInterpolator` on grids of any number of axes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy

from .. import numpy as np
from .._core.argument_types import ArrayLike
from .._core.state import STATE
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..errors import LostGradientError
from ..ops.conversion import stop_gradient
from ._bsplines import make_interp_spline
from ._conversions import entered, floats
from ._piecewise import kept, placed

_DEGREES = {"slinear": 1, "quadratic": 2, "cubic": 3}
_SPLINES = {"slinear": 1, "cubic": 3, "quintic": 5}
_STEPS = ("nearest", "nearest-up", "previous", "next", "zero")


def _is_any(condition: Tensor) -> bool:
    """Whether a condition holds somewhere; in a trace nobody can tell."""
    return STATE.builder is None and bool(np.any(stop_gradient(condition)))


class interp1d:
    """The interpolation of a table along an axis, as `scipy.interpolate.interp1d`.

    Differentiable in x, y, fill_value and where it is evaluated.

    Args:
        x: places (n,).
        y: the values there, along an axis.
        kind: "linear", "nearest", "nearest-up", "previous", "next", "zero", "slinear", "quadratic", "cubic", or the
            degree of a spline.
        axis: which axis of y.
        copy: accepted for SciPy's sake, and not used.
        bounds_error: whether places outside are an error; None: unless there is a `fill_value`.
        fill_value: a number for places outside, a pair for those below and above, or "extrapolate".
        assume_sorted: whether x increases; else it is sorted.
    """

    def __init__(
        self, x: ArrayLike, y: ArrayLike, kind: str | None = "linear", axis: int = -1, copy: bool = True,
        bounds_error: object = None, fill_value: ArrayLike = numpy.nan, assume_sorted: bool = False,
    ) -> None:  # fmt: skip
        places, values = floats(entered(x)), floats(entered(y))
        if kind not in ("linear", *_DEGREES, *_STEPS) and not isinstance(kind, int):
            raise NotImplementedError(f"{kind} is unsupported: Use fitpack routines for other types.")
        if places.ndim != 1:
            raise ValueError("the x array must have exactly one dimension.")
        self.axis = axis % values.ndim
        values = np.moveaxis(values, self.axis, 0)
        if values.shape[0] != places.shape[0]:
            raise ValueError("x and y arrays must be equal in length along interpolation axis.")
        if not assume_sorted:
            order = np.argsort(places, kind="stable")
            places, values = np.take(places, order), np.take(values, order, axis=0)
        self._x, self._y, self.kind = places, values, kind
        self._given = (x, y, fill_value)
        is_extrapolated = isinstance(fill_value, str) and fill_value == "extrapolate"
        if is_extrapolated and bounds_error:
            raise ValueError("Cannot extrapolate and raise at the same time.")
        self._fill = None if is_extrapolated else fill_value
        if is_extrapolated and kind in ("previous", "next"):  # there is nothing before the first, after the last
            self._fill = (numpy.nan, values[-1]) if kind == "previous" else (values[0], numpy.nan)
        is_default = isinstance(fill_value, float) and numpy.isnan(fill_value)
        self.bounds_error = (is_default and not is_extrapolated) if bounds_error is None else bounds_error
        degree = None if kind in ("linear", *_STEPS) else _DEGREES[kind] if isinstance(kind, str) else kind
        self._spline = None if degree is None else make_interp_spline(places, values, degree)

    @property
    def x(self) -> Any:
        """The places."""
        return kept(self._x, *self._given)

    @property
    def y(self) -> Any:
        """The values."""
        return kept(np.moveaxis(self._y, 0, self.axis), *self._given)

    def __call__(self, x: ArrayLike) -> Any:
        """The values at places of any shape."""
        places = floats(entered(x))
        flat = np.reshape(places, (-1,))
        found = self._bounded(flat, self._inside(flat))
        return kept(
            placed(np.reshape(found, (*places.shape, *self._y.shape[1:])), places.ndim, self.axis), x, *self._given
        )

    def _inside(self, flat: Tensor) -> Tensor:
        if self._spline is not None:
            return self._spline._at(flat, 0, True)
        x, at = self._x, flat
        count = int(x.shape[0])
        if self.kind == "linear":
            piece = np.clip(np.searchsorted(x, at), 1, count - 1)
            low, high = np.take(self._x, piece - 1), np.take(self._x, piece)
            share = np.reshape((flat - low) / (high - low), (-1, *(1,) * (self._y.ndim - 1)))
            first, second = np.take(self._y, piece - 1, axis=0), np.take(self._y, piece, axis=0)
            return first + share * (second - first)
        if self.kind in ("nearest", "nearest-up"):
            middle = (x[1:] + x[:-1]) / 2
            piece = np.searchsorted(middle, at, side="left" if self.kind == "nearest" else "right")
        elif self.kind == "next":
            piece = np.searchsorted(x, at, side="left")
        else:
            piece = np.searchsorted(x, at, side="right") - 1
        return np.take(self._y, np.clip(piece, 0, count - 1), axis=0)

    def _bounded(self, flat: Tensor, found: Tensor) -> Tensor:
        if self._fill is None:
            return found
        below, above = flat < self._x[0], flat > self._x[-1]
        if self.bounds_error:
            if _is_any(below):
                raise ValueError(at_user_line("A value in x_new is below the interpolation range."))
            if _is_any(above):
                raise ValueError(at_user_line("A value in x_new is above the interpolation range."))
        low, high = self._fill if isinstance(self._fill, tuple) else (self._fill, self._fill)
        shape = (-1, *(1,) * (self._y.ndim - 1))
        found = np.where(np.reshape(below, shape), np.asarray(low), found)
        return np.where(np.reshape(above, shape), np.asarray(high), found)


class RegularGridInterpolator:
    """The interpolation of values on a grid, as `scipy.interpolate.RegularGridInterpolator`.

    Differentiable in the values, the grid and the places.

    Args:
        points: for each axis of the grid its places, increasing or decreasing.
        values: the values (m1, ..., mn, ...).
        method: "linear", "nearest", "slinear", "cubic" or "quintic".
        bounds_error: whether places outside are an error.
        fill_value: the value outside; None: that of the outermost cell, continued.
        solver, solver_args: accepted for SciPy's sake: splines are solved for directly.
    """

    def __init__(
        self,
        points: Any,
        values: Any,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: ArrayLike | None = numpy.nan,
        *,
        solver: Callable[..., Any] | None = None,
        solver_args: object = None,
    ) -> None:
        self._given = (*points, values, fill_value)
        self._values = floats(entered(values))
        self._points: list[Tensor] = []
        if len(points) > self._values.ndim:
            raise ValueError(f"There are {len(points)} point arrays, but values has {self._values.ndim} dimensions")
        for axis, given in enumerate(points):
            place = floats(entered(given))
            if place.ndim != 1 or place.shape[0] != self._values.shape[axis]:
                raise ValueError(
                    f"There are {place.shape[0]} points and {self._values.shape[axis]} values on dimension {axis}"
                )
            if (
                STATE.builder is None
                and place.shape[0] > 1
                and bool(stop_gradient(place[0]) > stop_gradient(place[-1]))
            ):
                place, self._values = np.flip(place), np.flip(self._values, axis)
            self._points.append(place)
        self.method, self.bounds_error, self.fill_value = self._known(method), bounds_error, fill_value

    @property
    def grid(self) -> Any:
        """The places on each axis."""
        return tuple(kept(p, *self._given) for p in self._points)

    @property
    def values(self) -> Any:
        """The values on the grid."""
        return kept(self._values, *self._given)

    def __call__(self, xi: ArrayLike, method: str | None = None, *, nu: Iterable[int] | None = None) -> Any:
        """The values at places (..., n)."""
        way = self.method if method is None else self._known(method)
        if nu is not None and way not in _SPLINES:
            raise ValueError(f"Can only compute derivatives for methods {(*_SPLINES,)}, got method = {way!r}.")
        if isinstance(xi, tuple):
            places = np.stack(np.broadcast_arrays(*[floats(entered(x)) for x in xi]), axis=-1)
        else:
            places = floats(entered(xi))
        axes = len(self._points)
        if places.ndim == 1 and axes == 1 and places.shape[0] != 1:
            places = places[:, None]
        elif places.ndim == 1:
            places = places[None]
        if places.shape[-1] != axes:
            raise ValueError(f"The requested sample points xi have dimension {places.shape[-1]} but this "
                             f"RegularGridInterpolator has dimension {axes}")  # fmt: skip
        flat = np.reshape(places, (-1, axes))
        if way in _SPLINES:
            found = self._splined(flat, _SPLINES[way], (0,) * axes if nu is None else (*nu,))
        else:
            found = self._linear(flat) if way == "linear" else self._nearest(flat)
        found = self._outside(flat, found)
        return kept(np.reshape(found, (*places.shape[:-1], *self._values.shape[axes:])), xi, *self._given)

    def _cells(self, flat: Tensor) -> list[tuple[Any, Tensor]]:
        """On each axis the cell of each place, and how far along it is."""
        found: list[tuple[Any, Tensor]] = []
        for axis, grid in enumerate(self._points):
            x = flat[:, axis]
            if grid.shape[0] == 1:
                found.append((np.zeros(int(flat.shape[0]), int), x * 0))
                continue
            cell = np.searchsorted(grid, x, side="right") - 1
            cell = np.clip(cell, 0, int(grid.shape[0]) - 2)
            low, high = np.take(grid, cell), np.take(grid, cell + 1)
            found.append((cell, (x - low) / (high - low)))
        return found

    def _linear(self, flat: Tensor) -> Tensor:
        cells = self._cells(flat)
        rest = (1,) * (self._values.ndim - len(cells))
        total: Any = 0.0
        for corner in itertools.product((0, 1), repeat=len(cells)):
            if any(side and grid.shape[0] == 1 for side, grid in zip(corner, self._points, strict=True)):
                continue
            weight: Any = 1.0
            for side, (_, share) in zip(corner, cells, strict=True):
                weight = weight * (share if side else 1 - share)
            place = tuple(cell + side for side, (cell, _) in zip(corner, cells, strict=True))
            total = total + self._values[place] * np.reshape(weight, (-1, *rest))
        return total

    def _nearest(self, flat: Tensor) -> Tensor:
        place = tuple(np.where(share <= 0.5, cell, cell + 1) for cell, share in self._cells(flat))
        return self._values[place]

    def _splined(self, flat: Tensor, degree: int, orders: tuple[int, ...]) -> Tensor:
        """Sums of the values, each times the splines of its axes that are 1 there and 0 at the grid's other places."""
        total = self._values[None]
        for axis, (grid, order) in enumerate(zip(self._points, orders, strict=True)):
            share = make_interp_spline(grid, numpy.eye(int(grid.shape[0])), degree)._at(flat[:, axis], order, True)
            total = np.sum(np.reshape(share, (*share.shape, *(1,) * (total.ndim - 2))) * total, axis=1)
        return total

    def _known(self, method: str) -> str:
        if method == "pchip":
            raise LostGradientError(
                at_user_line(
                    "RegularGridInterpolator: method 'pchip' is not differentiable here; use 'cubic', or "
                    "PchipInterpolator along one axis after the other; on plain arrays SciPy's own class has it"
                )
            )
        if method not in ("linear", "nearest", *_SPLINES):
            raise ValueError(f"Method {method!r} is not defined")
        for axis, grid in enumerate(self._points):
            if grid.shape[0] <= _SPLINES.get(method, 0):
                raise ValueError(
                    f"There are {grid.shape[0]} points in dimension {axis}, but method {method} requires at least "
                    f"{_SPLINES[method] + 1} points per dimension."
                )
        return method

    def _outside(self, flat: Tensor, found: Tensor) -> Tensor:
        low = np.stack([p[0] for p in self._points])
        high = np.stack([p[-1] for p in self._points])
        outside = np.any((flat < stop_gradient(low)) | (flat > stop_gradient(high)), axis=-1)
        if self.bounds_error and _is_any(outside):
            raise ValueError(at_user_line("One of the requested xi is out of bounds"))
        if self.bounds_error or self.fill_value is None:
            return found
        return np.where(np.reshape(outside, (-1, *(1,) * (found.ndim - 1))), np.asarray(self.fill_value), found)


def interpn(
    points: Any, values: Any, xi: Any, method: str = "linear", bounds_error: bool = True,
    fill_value: ArrayLike | None = numpy.nan,
) -> Any:  # fmt: skip
    """The interpolation of values on a grid at places, by `RegularGridInterpolator`."""
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)


__all__ = ["RegularGridInterpolator", "interp1d", "interpn"]
