"""`scipy.ndimage`: filters as sums of shifted arrays, and geometry by splines; all of SciPy's modes for the edges."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy

from .. import numpy as np
from .._core.argument_types import ArrayLike, Axes, DTypeLike, ShapeLike
from .._core.tensor import Tensor
from ..numpy._decorators import written
from ..ops.filtering import correlate as correlated
from ..ops.image.splines import spline_between
from ._conversions import fixed, floats, recorded
from ._edges import beyond, checked, places
from ._namespace import only


def _filter(ours: Callable[..., Any]) -> Callable[..., Any]:
    """A recorded function of images, whose `output` is an array or a tensor that takes the result, or its dtype."""
    name, place = ours.__name__, ours.__code__.co_varnames.index("output")

    @recorded
    @functools.wraps(ours)
    def call(*args: object, into: DTypeLike | None, **kwargs: object) -> Any:
        found = ours(*args, **kwargs)
        return found if into is None else found.astype(numpy.dtype(into))

    @functools.wraps(ours)
    def function(*args: object, **kwargs: object) -> Any:
        output: Any = args[place] if len(args) > place else kwargs.pop("output", None)
        if len(args) > place:
            args = (*args[:place], None, *args[place + 1 :])
        if not isinstance(output, (Tensor, numpy.ndarray)):
            return call(*args, into=output, **kwargs)
        return written(call(*args, into=None, **kwargs), output, f"ndimage.{name}")

    return function


def _per_axis(value: Any, count: int, name: str) -> list[Any]:
    """One value for each axis."""
    if isinstance(value, (str, type(None))) or numpy.ndim(value) == 0:
        return [value] * count
    if len(value) != count:
        raise RuntimeError(f"{name} must have length equal to the number of axes, {count}")
    return [*value]


def _axes(x: Tensor, axes: Any) -> list[int]:
    if axes is None:
        return [*range(x.ndim)]
    return [a % x.ndim for a in ((axes,) if numpy.ndim(axes) == 0 else axes)]


def _reach(size: int, origin: int) -> tuple[int, int]:
    """How many elements before and behind each place a kernel covers."""
    before = size // 2 + int(origin)
    if before < 0 or before >= size:
        raise ValueError("Invalid origin; origin must satisfy -(len(weights) // 2) <= origin <= (len(weights)-1) // 2")
    return before, size - 1 - before


# -- sums --------------------------------------------------------------------------------------------------------------


def _along(x: Tensor, weights: Any, axis: int, mode: str, cval: ArrayLike, origin: int = 0) -> Tensor:
    """The correlation with a row of weights."""
    weights = floats(weights).astype(x.dtype)
    wide = beyond(x, axis, *_reach(int(weights.shape[0]), origin), mode, cval)
    row = np.moveaxis(wide, axis, -1)
    found = correlated(np.reshape(row, (-1, row.shape[-1])), weights[None], mode="valid", method="direct")
    return np.moveaxis(np.reshape(found, (*row.shape[:-1], found.shape[-1])), -1, axis)


@_filter
def correlate1d(
    input: ArrayLike,
    weights: ArrayLike,
    axis: int = -1,
    output: object = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: int = 0,
) -> Any:
    """The correlation along an axis, with gradients in the array, the weights and cval."""
    return _along(floats(input), weights, axis, checked(mode), cval, origin)


@_filter
def convolve1d(
    input: ArrayLike,
    weights: ArrayLike,
    axis: int = -1,
    output: object = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: int = 0,
) -> Any:
    """The convolution along an axis, with gradients in the array, the weights and cval."""
    weights = floats(weights)
    return _along(floats(input), np.flip(weights), axis, checked(mode), cval, -origin - (weights.shape[0] % 2 == 0))


def _in_space(
    input: Any, weights: Any, mode: object, cval: ArrayLike, origin: ArrayLike, axes: Any, turned: bool
) -> Tensor:
    x, weights = floats(input), floats(weights)
    used = _axes(x, axes)
    if weights.ndim != len(used):
        raise RuntimeError(f"weights.ndim ({weights.ndim}) must match len(axes) ({len(used)})")
    origins = _per_axis(origin, len(used), "origin")
    if turned:
        weights = np.flip(weights)
        even = dict(zip(sorted(used), (n % 2 == 0 for n in weights.shape), strict=True))
        origins = [-o - even[axis] for o, axis in zip(origins, used, strict=True)]
    # the axes of the weights are in the array's order, whatever the order in which axes are named
    sizes = dict(zip(sorted(used), map(int, weights.shape), strict=True))
    for axis, shift, kind in zip(used, origins, _per_axis(mode, len(used), "mode"), strict=True):
        x = beyond(x, axis, *_reach(sizes[axis], shift), checked(kind), cval)
    kernel = np.reshape(weights, tuple(sizes.get(axis, 1) for axis in range(x.ndim)))
    return correlated(x, kernel.astype(x.dtype), mode="valid", method="direct")


@_filter
def correlate(
    input: ArrayLike, weights: ArrayLike, output: object = None, mode: str = "reflect", cval: ArrayLike = 0.0,
    origin: int = 0, *, axes: Axes = None,
) -> Any:  # fmt: skip
    """The correlation with a kernel, with gradients in the array, the weights and cval."""
    return _in_space(input, weights, mode, cval, origin, axes, turned=False)


@_filter
def convolve(
    input: ArrayLike,
    weights: ArrayLike,
    output: ArrayLike | DTypeLike | None = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: ArrayLike = 0,
    *,
    axes: Any = None,
) -> Any:
    """The convolution with a kernel, with gradients in the array, the weights and cval."""
    return _in_space(input, weights, mode, cval, origin, axes, turned=True)


@_filter
def uniform_filter1d(
    input: ArrayLike, size: int, axis: int = -1, output: object = None, mode: str = "reflect", cval: ArrayLike = 0.0,
    origin: int = 0,
) -> Any:  # fmt: skip
    """The mean of neighbours along an axis, with gradients in the array and cval."""
    return _along(floats(input), numpy.full(size, 1 / size), axis, checked(mode), cval, origin)


@_filter
def uniform_filter(
    input: ArrayLike,
    size: object = 3,
    output: object = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: ArrayLike = 0,
    *,
    axes: Axes = None,
) -> Any:
    """The mean of neighbours, with gradients in the array and cval."""
    x = floats(input)
    used = _axes(x, axes)
    given = (_per_axis(v, len(used), n) for v, n in ((size, "size"), (origin, "origin"), (mode, "mode")))
    for axis, count, shift, kind in zip(used, *given, strict=True):
        if count > 1:
            x = _along(x, numpy.full(count, 1 / count), axis, checked(kind), cval, shift)
    return x


# -- Gauss' bell -------------------------------------------------------------------------------------------------------


def _value(x: Any) -> float:
    return float(x.numpy()) if isinstance(x, Tensor) else float(x)


def _bell(sigma: Any, order: int, reach: int) -> Any:
    """The weights of a bell or of its derivative, in the order of a correlation."""
    at = numpy.arange(-reach, reach + 1.0)
    bell = np.exp(-0.5 * at**2 / sigma**2)
    bell = bell / np.sum(bell)
    # d/dx (q(x) bell) = (q' - q x / sigma^2) bell
    terms: list[Any] = [1.0]
    for _ in range(order):
        slope = [(i + 1) * c for i, c in enumerate(terms[1:])] + [0.0, 0.0]
        moved = [0.0, *[-c / sigma**2 for c in terms]]
        terms = [a + b for a, b in itertools.zip_longest(slope[: len(moved)], moved, fillvalue=0.0)]
    factor: Any = 0.0
    for c in reversed(terms):
        factor = factor * at + c
    return np.flip(np.asarray(factor * bell))


def _smoothed(
    x: Tensor, sigma: ArrayLike, axis: int, order: int, mode: str, cval: ArrayLike, truncate: float, radius: Any
) -> Tensor:
    if order < 0:
        raise ValueError("order must be non-negative")
    reach = int(truncate * _value(sigma) + 0.5) if radius is None else int(radius)
    return _along(x, _bell(sigma, order, reach), axis, checked(mode), cval)


@_filter
def gaussian_filter1d(
    input: ArrayLike,
    sigma: ArrayLike,
    axis: int = -1,
    order: int = 0,
    output: ArrayLike | DTypeLike | None = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
) -> Any:
    """Smoothing by a bell along an axis, or its derivative, with gradients in the array, sigma and cval."""
    return _smoothed(floats(input), sigma, axis, order, mode, cval, truncate, radius)


def _blurred(
    x: Tensor, sigma: ArrayLike, order: object, mode: str, cval: ArrayLike, truncate: float, radius: object, axes: Axes
) -> Tensor:  # fmt: skip
    used = _axes(x, axes)
    names = ((sigma, "sigma"), (order, "order"), (mode, "mode"), (radius, "radius"))
    for axis, width, degree, kind, reach in zip(used, *(_per_axis(v, len(used), n) for v, n in names), strict=True):
        if _value(width) > 1e-15:
            x = _smoothed(x, width, axis, degree, kind, cval, truncate, reach)
    return x


@_filter
def gaussian_filter(
    input: ArrayLike,
    sigma: ArrayLike,
    order: Any = 0,
    output: ArrayLike | DTypeLike | None = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
    axes: Axes = None,
) -> Any:
    """Smoothing by a bell, or its derivatives, with gradients in the array, sigma and cval."""
    return _blurred(floats(input), sigma, order, mode, cval, truncate, radius, axes)


def _over_axes(x: Tensor, axes: Axes, of_axis: Callable[..., Any]) -> Any:
    """The sum of `of_axis(axis, axes)`."""
    used = _axes(x, axes)
    return sum((of_axis(axis, used) for axis in used), 0.0)


@_filter
def laplace(
    input: ArrayLike, output: object = None, mode: str = "reflect", cval: ArrayLike = 0.0, *, axes: Axes = None
) -> Any:
    """Laplace's operator by second differences, with gradients in the array and cval."""
    x = floats(input)
    used = _axes(x, axes)
    kinds = dict(zip(used, _per_axis(mode, len(used), "mode"), strict=True))
    weights = numpy.array([1.0, -2.0, 1.0])
    return _over_axes(x, axes, lambda axis, _: _along(x, weights, axis, checked(kinds[axis]), cval))


def _orders(axis: int, used: list[int], order: int) -> list[int]:
    return [order if a == axis else 0 for a in used]


@_filter
def gaussian_laplace(
    input: ArrayLike,
    sigma: ArrayLike,
    output: object = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    *,
    axes: Axes = None,
    **kwargs: Any,
) -> Any:
    """Laplace's operator by second derivatives of bells, with gradients in the array, sigma and cval."""
    x = floats(input)
    rest = (kwargs.get("truncate", 4.0), kwargs.get("radius"), axes)
    return _over_axes(x, axes, lambda a, used: _blurred(x, sigma, _orders(a, used, 2), mode, cval, *rest))


@_filter
def gaussian_gradient_magnitude(
    input: ArrayLike,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> Any:
    """The size of the gradient by derivatives of bells, with gradients in the array, sigma and cval."""
    x = floats(input)
    rest = (kwargs.get("truncate", 4.0), kwargs.get("radius"), axes)
    return np.sqrt(_over_axes(x, axes, lambda a, used: _blurred(x, sigma, _orders(a, used, 1), mode, cval, *rest) ** 2))


def _edge_filter(input: ArrayLike, axis: int, mode: str, cval: ArrayLike, side: list[float]) -> Tensor:
    x = floats(input)
    kinds = [checked(m) for m in _per_axis(mode, x.ndim, "mode")]
    axis = axis % x.ndim
    found = _along(x, numpy.array([-1.0, 0.0, 1.0]), axis, kinds[axis], cval)
    for other in range(x.ndim):
        if other != axis:
            found = _along(found, numpy.array(side), other, kinds[other], cval)
    return found


@_filter
def sobel(
    input: ArrayLike,
    axis: int = -1,
    output: ArrayLike | DTypeLike | None = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
) -> Any:
    """Sobel's filter, with gradients in the array and cval."""
    return _edge_filter(input, axis, mode, cval, [1.0, 2.0, 1.0])


@_filter
def prewitt(
    input: ArrayLike,
    axis: int = -1,
    output: ArrayLike | DTypeLike | None = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
) -> Any:
    """Prewitt's filter, with gradients in the array and cval."""
    return _edge_filter(input, axis, mode, cval, [1.0, 1.0, 1.0])


# -- by rank -----------------------------------------------------------------------------------------------------------


def neighbours(
    input: ArrayLike, size: object, footprint: Any, mode: str, cval: ArrayLike, origin: Any, axes: Axes, what: str
) -> Tensor:  # fmt: skip
    """The elements that a footprint covers, along a new first axis."""
    x = floats(input)
    used = _axes(x, axes)
    if footprint is None:
        if size is None:
            raise RuntimeError("no footprint or filter size provided")
        shape = [int(n) for n in _per_axis(size, len(used), "size")]
        covered = numpy.ones(shape, bool)
    else:
        covered = numpy.asarray(fixed(footprint, "footprint", what)).astype(bool)
    if covered.ndim != len(used):
        raise RuntimeError(f"{what}: footprint.ndim ({covered.ndim}) must match len(axes) ({len(used)})")
    extents = [int(n) for n in x.shape]
    wide = x
    origins, kinds = _per_axis(origin, len(used), "origin"), _per_axis(mode, len(used), "mode")
    for axis, count, shift, kind in zip(used, covered.shape, origins, kinds, strict=True):
        wide = beyond(wide, axis, *_reach(count, shift), checked(kind), cval)
    found: list[Any] = []
    for place in numpy.argwhere(covered):
        parts: list[Any] = [slice(None)] * x.ndim
        for axis, first in zip(used, place, strict=True):
            parts[axis] = slice(int(first), int(first) + extents[axis])
        found.append(wide[tuple(parts)])
    return np.stack(found)


def _ranked(neighbours: Tensor, rank: int) -> Tensor:
    count = int(neighbours.shape[0])
    rank = rank + count if rank < 0 else rank
    if not 0 <= rank < count:
        raise RuntimeError("rank not within filter footprint size")
    return np.sort(neighbours, axis=0)[rank]


@_filter
def maximum_filter(
    input: ArrayLike,
    size: ShapeLike | None = None,
    footprint: Any = None,
    output: ArrayLike | DTypeLike | None = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: Any = 0,
    *,
    axes: Axes = None,
) -> Any:
    """The largest of the neighbours, with gradients in the array and cval."""
    return np.max(neighbours(input, size, footprint, mode, cval, origin, axes, "maximum_filter"), axis=0)


@_filter
def minimum_filter(
    input: ArrayLike,
    size: ShapeLike | None = None,
    footprint: Any = None,
    output: ArrayLike | DTypeLike | None = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: Any = 0,
    *,
    axes: Axes = None,
) -> Any:
    """The least of the neighbours, with gradients in the array and cval."""
    return np.min(neighbours(input, size, footprint, mode, cval, origin, axes, "minimum_filter"), axis=0)


@_filter
def median_filter(
    input: ArrayLike,
    size: ShapeLike | None = None,
    footprint: Any = None,
    output: ArrayLike | DTypeLike | None = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: Any = 0,
    *,
    axes: Axes = None,
) -> Any:
    """The median of the neighbours, with gradients in the array and cval."""
    near = neighbours(input, size, footprint, mode, cval, origin, axes, "median_filter")
    return _ranked(near, int(near.shape[0]) // 2)


@_filter
def rank_filter(
    input: ArrayLike,
    rank: int,
    size: ShapeLike | None = None,
    footprint: Any = None,
    output: ArrayLike | DTypeLike | None = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: Any = 0,
    *,
    axes: Axes = None,
) -> Any:
    """The neighbour of a rank, with gradients in the array and cval."""
    return _ranked(neighbours(input, size, footprint, mode, cval, origin, axes, "rank_filter"), rank)


@_filter
def percentile_filter(
    input: ArrayLike,
    percentile: float,
    size: ShapeLike | None = None,
    footprint: Any = None,
    output: ArrayLike | DTypeLike | None = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: Any = 0,
    *,
    axes: Axes = None,
) -> Any:
    """The neighbour of a rank in percent, with gradients in the array and cval."""
    percent = percentile + 100 if percentile < 0 else percentile
    if not 0 <= percent <= 100:
        raise RuntimeError("invalid percentile")
    near = neighbours(input, size, footprint, mode, cval, origin, axes, "percentile_filter")
    count = int(near.shape[0])
    return _ranked(near, min(int(count * percent / 100), count - 1))


@_filter
def maximum_filter1d(
    input: ArrayLike,
    size: int,
    axis: int = -1,
    output: ArrayLike | DTypeLike | None = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: int = 0,
) -> Any:
    """The largest of the neighbours along an axis, with gradients in the array and cval."""
    return np.max(neighbours(input, size, None, mode, cval, origin, axis, "maximum_filter1d"), axis=0)


@_filter
def minimum_filter1d(
    input: ArrayLike,
    size: int,
    axis: int = -1,
    output: ArrayLike | DTypeLike | None = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: int = 0,
) -> Any:
    """The least of the neighbours along an axis, with gradients in the array and cval."""
    return np.min(neighbours(input, size, None, mode, cval, origin, axis, "minimum_filter1d"), axis=0)


# -- geometry ----------------------------------------------------------------------------------------------------------


def _between(x: Tensor, at: list[Any], order: int, mode: str, cval: Any, what: str) -> Tensor:
    """The values at places along all axes."""
    checked(mode)
    if not 0 <= order <= 5:
        raise RuntimeError("spline order not supported")
    if order == 0:
        return _nearest(x, at, mode, cval)
    return spline_between(
        x, [floats(a) for a in np.broadcast_arrays(*[floats(a) for a in at])], order, mode, cval, what
    )


def _nearest(x: Tensor, at: list[Any], mode: str, cval: ArrayLike) -> Tensor:
    index: list[Any] = []
    inside: Any = True
    for axis, place in enumerate(at):
        size = int(x.shape[axis])
        if mode == "constant":
            inside = inside & (floats(place) >= 0) & (floats(place) <= size - 1)
        whole = np.floor(floats(place) + 0.5).astype(int)
        if mode == "grid-constant":
            inside = inside & (whole >= 0) & (whole < size)
        if mode == "wrap" and size > 1:  # SciPy's period is one less
            whole = np.floor(floats(place) % (size - 1) + 0.5).astype(int)
        if mode in ("constant", "grid-constant", "nearest", "wrap"):
            index.append(np.clip(whole, 0, size - 1))
            continue
        period = {"mirror": 2 * max(size - 1, 1), "grid-wrap": size}.get(mode, 2 * size)
        index.append(np.take(places(size, 0, period - size, mode), whole % period))
    found = x[tuple(np.broadcast_arrays(*index))]
    return found if inside is True else np.where(inside, found, np.asarray(cval))


@_filter
def map_coordinates(
    input: ArrayLike, coordinates: ArrayLike, output: ArrayLike | None = None, order: int = 3, mode: str = "constant",
    cval: ArrayLike = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    """The values of an array between its elements, with gradients in the array, the coordinates and cval."""
    only("ndimage.map_coordinates", prefilter=(prefilter, True))
    x, at = floats(input), np.asarray(coordinates)
    if at.shape[0] != x.ndim:
        raise RuntimeError("invalid shape for coordinate array")
    return _between(x, [at[i] for i in range(x.ndim)], order, mode, cval, "map_coordinates")


def _grid(shape: list[int]) -> list[Any]:
    return [g.astype(float) for g in numpy.indices(shape)]


@_filter
def shift(
    input: ArrayLike,
    shift: ArrayLike,
    output: ArrayLike | DTypeLike | None = None,
    order: int = 3,
    mode: str = "constant",
    cval: complex = 0.0,
    prefilter: bool = True,
) -> Any:
    """A shifted array, with gradients in the array, the shift and cval."""
    only("ndimage.shift", prefilter=(prefilter, True))
    x = floats(input)
    by = np.broadcast_to(np.asarray(shift), (x.ndim,))
    at = [g - by[i] for i, g in enumerate(_grid([int(n) for n in x.shape]))]
    return _between(x, at, order, mode, cval, "shift")


@_filter
def zoom(
    input: ArrayLike,
    zoom: Any,
    output: ArrayLike | DTypeLike | None = None,
    order: int = 3,
    mode: str = "constant",
    cval: complex = 0.0,
    prefilter: bool = True,
    *,
    grid_mode: bool = False,
) -> Any:
    """An array at another size, with gradients in the array and cval."""
    only("ndimage.zoom", prefilter=(prefilter, True))
    x = floats(input)
    factors = _per_axis(fixed(zoom, "zoom", "zoom"), x.ndim, "zoom")
    sizes = [round(int(n) * float(z)) for n, z in zip(x.shape, factors, strict=True)]
    at: list[Any] = []
    for g, n, m in zip(_grid(sizes), x.shape, sizes, strict=True):
        at.append((g + 0.5) * (int(n) / m) - 0.5 if grid_mode else g * ((int(n) - 1) / (m - 1) if m > 1 else 1.0))
    return _between(x, at, order, mode, cval, "zoom")


def _moved(
    x: Tensor, matrix: Any, offset: Any, shape: list[int], order: int, mode: str, cval: complex, what: str
) -> Tensor:
    grid = _grid(shape)
    offset = np.broadcast_to(np.asarray(offset), (x.ndim,))
    if matrix.ndim == 1:
        at = [matrix[i] * g + offset[i] for i, g in enumerate(grid)]
    else:
        at = [sum(matrix[i, j] * g for j, g in enumerate(grid)) + offset[i] for i in range(x.ndim)]
    return _between(x, at, order, mode, cval, what)


@_filter
def affine_transform(
    input: ArrayLike,
    matrix: ArrayLike,
    offset: ArrayLike = 0.0,
    output_shape: Any = None,
    output: ArrayLike | DTypeLike | None = None,
    order: int = 3,
    mode: str = "constant",
    cval: complex = 0.0,
    prefilter: bool = True,
) -> Any:
    """An array seen through an affine map of places, with gradients in the array, the map and cval."""
    only("ndimage.affine_transform", prefilter=(prefilter, True))
    x, matrix = floats(input), floats(matrix)
    n = x.ndim
    if matrix.ndim == 2 and matrix.shape[1] == n + 1 and matrix.shape[0] in (n, n + 1):
        matrix, offset = matrix[:n, :n], matrix[:n, n]
    if matrix.ndim not in (1, 2) or any(size != n for size in matrix.shape):
        raise RuntimeError("no proper affine matrix provided")
    shape = [int(m) for m in (x.shape if output_shape is None else output_shape)]
    return _moved(x, matrix, offset, shape, order, mode, cval, "affine_transform")


@_filter
def rotate(
    input: ArrayLike,
    angle: ArrayLike,
    axes: Any = (1, 0),
    reshape: bool = True,
    output: ArrayLike | DTypeLike | None = None,
    order: int = 3,
    mode: str = "constant",
    cval: complex = 0.0,
    prefilter: bool = True,
) -> Any:
    """A rotated array, with gradients in the array, the angle and cval; the shape is that of the angle's value."""
    only("ndimage.rotate", prefilter=(prefilter, True))
    x = floats(input)
    first, second = sorted(a % x.ndim for a in axes)
    turn = np.asarray(angle) * (math.pi / 180)
    c, s = np.cos(turn), np.sin(turn)
    sizes = numpy.array([int(x.shape[first]), int(x.shape[second])])
    made = [int(n) for n in x.shape]
    if reshape:
        cosine, sine = (_value(v) for v in (c, s))
        corners = numpy.array([[cosine, sine], [-sine, cosine]]) @ [
            [0, 0, sizes[0], sizes[0]],
            [0, sizes[1], 0, sizes[1]],
        ]
        made[first], made[second] = (int(n) for n in numpy.ptp(corners, axis=1) + 0.5)
    grid = _grid(made)
    u, v = grid[first] - (made[first] - 1) / 2, grid[second] - (made[second] - 1) / 2
    at: list[Any] = [*grid]
    at[first] = c * u + s * v + (sizes[0] - 1) / 2
    at[second] = -s * u + c * v + (sizes[1] - 1) / 2
    return _between(x, at, order, mode, cval, "rotate")


__all__ = [
    "affine_transform", "convolve", "convolve1d", "correlate", "correlate1d", "gaussian_filter", "gaussian_filter1d",
    "gaussian_gradient_magnitude", "gaussian_laplace", "laplace", "map_coordinates", "maximum_filter",
    "maximum_filter1d", "median_filter", "minimum_filter", "minimum_filter1d", "neighbours", "percentile_filter",
    "prewitt", "rank_filter", "rotate", "shift", "sobel", "uniform_filter", "uniform_filter1d", "zoom",
]  # fmt: skip
