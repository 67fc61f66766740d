"""Images at other places than their pixels: resizing, transforms and values between pixels."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np

from ..._core import dtypes
from ..._core.apply import apply
from ..._core.argument_types import ArrayLike, Index
from ..._core.tensor import Tensor
from ..._core.user_line import at_user_line
from ..._prims import discrete as D
from ..._prims import indexing as I
from ..._prims import structural as S
from .. import promotion
from ..elementwise import abs as magnitude
from ..elementwise import add, divide, floor_divide, multiply, subtract
from ..joining import stack
from ..linalg import solve, tensordot
from ..padding import pad
from ..piecewise import clip, mod
from ..promotion import as_float, as_tensor, names_errors, outward
from ..shapes import known_extent, moved, part, reshaped
from .layout import laid_out
from .splines import MODES, spline_between

# -- values between pixels -------------------------------------------------------------------------------------------


def _mirrored(index: Index, size: int) -> Any:
    turn = size - 1
    return magnitude(subtract(mod(add(index, turn), 2 * turn), turn)) if turn else multiply(index, 0)


_FIXERS: dict[str, Any] = {
    "constant": lambda index, size: clip(index, 0, size - 1),
    "nearest": lambda index, size: clip(index, 0, size - 1),
    "wrap": mod,
    "mirror": _mirrored,
    "reflect": lambda index, size: floor_divide(_mirrored(add(multiply(index, 2), 1), 2 * size + 1), 2),
}

_GRID_MODES = {"grid-constant": "constant", "grid-wrap": "wrap", "grid-mirror": "reflect"}


@names_errors
def map_coordinates(inputs: Any, coordinates: Any, order: int, fill_mode: str = "constant", fill_value: Any = 0) -> Any:
    """The values of an array between its elements.

    At kinks: with `order=1` the slope in a coordinate is that of the cell, at a whole one of the cell to its
    right; with `order=0` it is zero. Splines of order 2 to 5 are smooth, but for the edges of "constant", "nearest" and
    "wrap".

    Args:
        inputs: an array of n axes.
        coordinates: an array (n, ...): along its first axis the place on each axis of `inputs`.
        order: 0 for the nearest element (halves to the even one), 1 for linear interpolation, 2 to 5 for splines
            through the elements, as SciPy's.
        fill_mode: what lies outside: "nearest", "mirror", "reflect" (also "grid-mirror"), "grid-constant" or
            "grid-wrap". For orders 0 and 1 "constant" and "wrap" are the latter two, as in Keras; for splines they are
            SciPy's: "constant" has the value alone from the last elements on, and "wrap" takes the last element of an
            axis and its first one for the same.
        fill_value: the value for "constant" and "grid-constant".

    Returns:
        The values (...) in the kind of array that came in.

    Raises:
        ValueError: for another order, mode, or number of coordinates.

    Example:
        >>> import wengert as wg
        >>> wg.ops.image.map_coordinates([0.0, 10.0], [[0.25, 1.0]], 1)
        array([ 2.5, 10. ])
    """
    x, places = as_tensor(inputs, "map_coordinates"), as_float(as_tensor(coordinates, "map_coordinates"))
    if places.ndim < 1 or places.shape[0] != x.ndim:
        raise ValueError(at_user_line(f"map_coordinates: shapes {x.shape} and {places.shape} do not fit"))
    rows = [reshaped(part(places, 0, i, i + 1), places.shape[1:]) for i in range(x.ndim)]
    return outward(between(x, rows, order, fill_mode, fill_value, "map_coordinates"), inputs, coordinates, fill_value)


def between(x: Tensor, places: list[Tensor], order: object, mode: str, filler: int, what: str) -> Tensor:
    """The values of x at places along its first axes."""
    if order in (2, 3, 4, 5):
        return spline_between(x, places, order, mode, filler, what)
    if order not in (0, 1):
        raise ValueError(at_user_line(f"{what}: order must be 0, 1, ... or 5, got {order!r}"))
    if mode not in MODES:
        raise ValueError(at_user_line(f"{what}: fill_mode is {mode!r}, wanted one of {', '.join(MODES)}"))
    mode = _GRID_MODES.get(mode, mode)
    rest = (1,) * (x.ndim - len(places))
    ways = [_neighbours(p, known_extent(x, i, what), order, mode) for i, p in enumerate(places)]
    total: Any = None
    for corner in itertools.product(*ways):
        value = I.gather(x, *[index for index, _, _ in corner])
        if mode == "constant":
            inside = corner[0][1]
            for _, is_valid, _ in corner[1:]:
                inside = apply(D.logical_and, (inside, is_valid))
            outside = promotion.broadcast(promotion.cast(as_tensor(filler, what), x.dtype), value.shape)
            inside = promotion.broadcast(reshaped(inside, (*inside.shape, *rest)), value.shape)
            value = S.select(inside, value, outside)
        for _, _, weight in corner:
            if weight is not None:
                value = multiply(value, promotion.cast(reshaped(weight, (*weight.shape, *rest)), as_float(x).dtype))
        total = value if total is None else add(total, value)
    return total


def _neighbours(place: Tensor, size: int, order: int, mode: str) -> list[tuple[Tensor, Tensor, Any]]:
    """The elements on one axis that a place lies between: index, whether it is inside, weight."""
    if order == 0:
        return [_neighbour(apply(D.rint, (place,)), None, size, mode)]
    below = apply(D.floor, (place,))
    upper = subtract(place, below)
    return [_neighbour(below, subtract(1.0, upper), size, mode), _neighbour(add(below, 1.0), upper, size, mode)]


def _neighbour(at: Tensor, weight: Any, size: int, mode: str) -> tuple[Tensor, Tensor, Any]:
    index = promotion.cast(at, dtypes.int64)
    is_valid = apply(D.logical_and, (
        apply(D.ge, (index, S.fill(index, 0))), apply(D.lt, (index, S.fill(index, size)))
    ))  # fmt: skip
    return promotion.cast(_FIXERS[mode](index, size), dtypes.int64), is_valid, weight


# -- transforms --------------------------------------------------------------------------------------------------------

_ORDERS = {"nearest": 0, "bilinear": 1}


def _transformed(x: Tensor, rows: Tensor, interpolation: Any, mode: Any, filler: Any, what: str) -> Tensor:
    """A batch of images, each at the places that its eight numbers give."""
    if interpolation not in _ORDERS:
        raise ValueError(at_user_line(f"{what}: interpolation is {interpolation!r}, wanted 'bilinear' or 'nearest'"))
    count, height, width = (known_extent(x, i, what) for i in range(3))
    y, along = (as_tensor(v.astype(rows.dtype)) for v in np.mgrid[:height, :width])
    results = []
    for i in range(count):
        k = 0 if rows.shape[0] == 1 else i
        a = [reshaped(part(part(rows, 0, k, k + 1), 1, j, j + 1), ()) for j in range(8)]
        scale = add(add(multiply(a[6], along), multiply(a[7], y)), 1.0)
        source = [divide(add(add(multiply(a[j], along), multiply(a[j + 1], y)), a[j + 2]), scale) for j in (0, 3)]
        if interpolation == "nearest":
            source = [_rounded(place) for place in source]
        image = reshaped(part(x, 0, i, i + 1), x.shape[1:])
        results.append(between(image, [source[1], source[0]], _ORDERS[interpolation], mode, filler, what))
    return stack(results, axis=0)


def _rounded(place: Tensor) -> Tensor:
    """The nearest whole numbers, halves away from zero."""
    half = S.times_number(apply(D.sign, (place,)), number=0.5)
    return apply(D.trunc, (add(place, half),))


@names_errors
def affine_transform(
    images: ArrayLike, transform: ArrayLike, interpolation: str = "bilinear", fill_mode: str = "constant",
    fill_value: ArrayLike = 0, data_format: str | None = None,
) -> Any:  # fmt: skip
    """Images moved, turned, stretched and tilted.

    Args:
        images: images.
        transform: eight numbers (a0, a1, a2, b0, b1, b2, c0, c1), or a row for each image: the pixel (x, y) shows what
            was at ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k), k = c0 x + c1 y + 1. They have gradients.
        interpolation: "bilinear" or "nearest".
        fill_mode: what lies outside, as in `map_coordinates`.
        fill_value: the value for "constant".
        data_format: "channels_last" (also None) or "channels_first".

    Returns:
        Images of the same shape in the kind that came in.

    Raises:
        ValueError: for another interpolation, mode, or shape.

    Example:
        >>> import wengert as wg
        >>> wg.ops.image.affine_transform([[[1.0], [2.0]]], [1.0, 0, 1, 0, 1, 0, 0, 0])[0, :, 0]
        array([2., 0.])
    """
    x, layout = laid_out(images, data_format, "affine_transform")
    rows = as_float(as_tensor(transform, "affine_transform"))
    rows = reshaped(rows, (1, *rows.shape)) if rows.ndim == 1 else rows
    if rows.ndim != 2 or rows.shape[1] != 8 or rows.shape[0] not in (1, x.shape[0]):
        raise ValueError(at_user_line(f"affine_transform: transform has shape {rows.shape}, wanted (8,) or (batch, 8)"))
    result = _transformed(x, rows, interpolation, fill_mode, fill_value, "affine_transform")
    return outward(layout.back(promotion.cast(result, x.dtype)), images, transform)


@names_errors
def perspective_transform(
    images: ArrayLike,
    start_points: ArrayLike,
    end_points: ArrayLike,
    interpolation: str = "bilinear",
    fill_value: ArrayLike = 0,
    data_format: str | None = None,
) -> Any:
    """Images in which four points have moved to four others.

    Args:
        images: images.
        start_points: the points (x, y) in the image, (4, 2), or (batch, 4, 2).
        end_points: where they are to come, in the same shape. The points have gradients.
        interpolation: "bilinear" or "nearest".
        fill_value: the value of what lies outside.
        data_format: "channels_last" (also None) or "channels_first".

    Returns:
        Images of the same shape in the kind that came in.

    Raises:
        ValueError: for other shapes, or another interpolation.
        numpy.linalg.LinAlgError: if three of the points lie on a line.

    Example:
        >>> import wengert as wg
        >>> corners = [[0.0, 0], [1, 0], [0, 1], [1, 1]]
        >>> moved = [[1.0, 0], [2, 0], [1, 1], [2, 1]]
        >>> image = [[[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]]]
        >>> wg.ops.image.perspective_transform(image, corners, moved)[:, :, 0].round(12) + 0
        array([[0., 1., 2.],
               [0., 4., 5.]])
    """
    what = "perspective_transform"
    x, layout = laid_out(images, data_format, what)
    start, end = (as_float(as_tensor(p, what)) for p in (start_points, end_points))
    start, end = (reshaped(p, (1, *p.shape)) if p.ndim == 2 else p for p in (start, end))
    if tuple(start.shape[1:]) != (4, 2) or start.shape != end.shape or start.shape[0] not in (1, x.shape[0]):
        raise ValueError(at_user_line(f"{what}: points have shapes {start.shape} and {end.shape}"))
    dtype = promotion.common_dtype([start, end])
    rows = _homography(promotion.cast(start, dtype), promotion.cast(end, dtype))
    result = _transformed(x, rows, interpolation, "constant", fill_value, what)
    return outward(layout.back(promotion.cast(result, x.dtype)), images, start_points, end_points)


def _homography(start: Tensor, end: Tensor) -> Tensor:
    """The eight numbers that take the end points to the start points."""
    count = start.shape[0]
    sx, sy, ex, ey = (reshaped(part(p, 2, i, i + 1), (count, 4)) for p in (start, end) for i in (0, 1))
    zero, one = S.fill(sx, 0), S.fill(sx, 1)
    first = [ex, ey, one, zero, zero, zero, S.neg(S.mul(sx, ex)), S.neg(S.mul(sx, ey))]
    second = [zero, zero, zero, ex, ey, one, S.neg(S.mul(sy, ex)), S.neg(S.mul(sy, ey))]
    matrix = reshaped(stack([stack(first, axis=2), stack(second, axis=2)], axis=1), (count, 8, 8))
    right = reshaped(stack([sx, sy], axis=1), (count, 8, 1))
    return reshaped(solve(matrix, right), (count, 8))


# -- resizing ----------------------------------------------------------------------------------------------------------


def _cubic(x: Any) -> Any:
    near, far = (1.5 * x - 2.5) * x * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _lanczos(radius: int) -> Any:
    return lambda x: np.where(x < radius, np.sinc(x) * np.sinc(x / radius), 0)


_KERNELS: dict[str, Any] = {
    "bilinear": lambda x: np.maximum(0, 1 - x),
    "bicubic": _cubic,
    "lanczos3": _lanczos(3),
    "lanczos5": _lanczos(5),
}


def _weights(size: int, target: int, interpolation: str, antialias: bool, is_aligned: bool) -> np.ndarray[Any, Any]:
    """The matrix (target, size) that resizes an axis; pixels are as wide as they are apart."""
    ratio = size / target
    place = np.arange(size)
    if interpolation == "nearest":
        return (np.floor((np.arange(target) + 0.5) * ratio).clip(0, size - 1)[:, None] == place).astype(float)
    if interpolation == "area":
        low, high = np.arange(target)[:, None] * ratio, (np.arange(target)[:, None] + 1) * ratio
        return np.maximum(0, np.minimum(high, place + 1) - np.maximum(low, place)) / ratio
    center = (np.arange(target) + 0.5) * ratio - 0.5
    if is_aligned:
        center = np.linspace(0, size - 1, target) if target > 1 else np.zeros(target)
    width = max(ratio, 1.0) if antialias else 1.0
    weights = _KERNELS[interpolation](np.abs(center[:, None] - place) / width)
    return weights / weights.sum(axis=1, keepdims=True)


@names_errors
def resize(
    images: ArrayLike, size: Any, interpolation: str = "bilinear", antialias: bool = False,
    crop_to_aspect_ratio: bool = False, pad_to_aspect_ratio: bool = False, fill_mode: str = "constant",
    fill_value: Any = 0.0, data_format: Any = None, *, align_corners: bool = False,
) -> Any:  # fmt: skip
    """Images of another size.

    Args:
        images: images.
        size: the height and the width.
        interpolation: "bilinear", "nearest", "bicubic" (Keys's, a = -1/2), "lanczos3", "lanczos5" or "area".
        antialias: whether kernels widen where images get smaller.
        crop_to_aspect_ratio: whether to leave out borders rather than to distort.
        pad_to_aspect_ratio: whether to add borders rather than to distort.
        fill_mode: "constant", what such borders hold.
        fill_value: their value.
        data_format: "channels_last" (also None) or "channels_first".
        align_corners: whether the centres of the corner pixels stay where they are, and not their borders; for
            "bilinear" and "bicubic", without `antialias`.

    Returns:
        Images of the new size in the kind and dtype that came in.

    Raises:
        ValueError: for another interpolation or shape, and for `align_corners` with what it does not go with.

    Example:
        >>> import wengert as wg
        >>> wg.ops.image.resize([[[0.0], [4.0]]], (1, 4))[0, :, 0]
        array([0., 1., 3., 4.])
    """
    what = "resize"
    if interpolation not in (*_KERNELS, "nearest", "area"):
        raise ValueError(at_user_line(f"{what}: interpolation is {interpolation!r}"))
    if crop_to_aspect_ratio and pad_to_aspect_ratio:
        raise ValueError(at_user_line(f"{what}: either crop or pad to the aspect ratio"))
    if fill_mode != "constant":
        raise ValueError(at_user_line(f"{what}: fill_mode is {fill_mode!r}, wanted 'constant'"))
    if align_corners and (antialias or interpolation not in ("bilinear", "bicubic")):
        raise ValueError(at_user_line(
            f"{what}: align_corners goes with 'bilinear' and 'bicubic' without antialias, got {interpolation!r}"
        ))  # fmt: skip
    x, layout = laid_out(images, data_format, what)
    target = _size_of(size, what)
    if 0 in x.shape[1:3]:
        raise ValueError(at_user_line(f"{what}: images has shape {tuple(x.shape)}, which has no pixels"))
    x = _of_ratio(x, target, crop_to_aspect_ratio, pad_to_aspect_ratio, fill_value)
    wide = as_float(x)
    for axis in (1, 2):
        extent = known_extent(wide, axis, what)
        if extent != target[axis - 1] or interpolation != "nearest":
            matrix = _weights(extent, target[axis - 1], interpolation, antialias, align_corners)
            rows = tensordot(wide, promotion.cast(as_tensor(matrix), wide.dtype), axes=([axis], [1]))
            wide = moved(rows, rows.ndim - 1, axis)
    return outward(layout.back(promotion.cast(wide, x.dtype)), images)


def _size_of(size: Any, what: str) -> tuple[int, int]:
    """A height and a width of at least one pixel each."""
    try:
        height, width = map(operator.index, size)
    except (TypeError, ValueError):
        raise TypeError(at_user_line(f"{what}: size is {size!r}, wanted a height and a width")) from None
    if height < 1 or width < 1:
        raise ValueError(at_user_line(f"{what}: size is {size!r}, wanted at least one pixel each way"))
    return height, width


def _of_ratio(x: Tensor, target: tuple[int, int], is_cropped: bool, is_padded: bool, filler: Any) -> Tensor:
    """Images cut or widened to the ratio of the target's sides."""
    if not is_cropped and not is_padded:
        return x
    height, width = known_extent(x, 1, "resize"), known_extent(x, 2, "resize")
    fitting = (int(width * target[0] / target[1]), int(height * target[1] / target[0]))
    if is_cropped:
        for axis, (old, new) in enumerate(zip((height, width), fitting), start=1):
            new = max(min(old, new), 1)
            start = int((old - new) / 2)
            x = part(x, axis, start, start + new)
        return x
    ends = []
    for old, new in zip((height, width), fitting):
        low = int((max(old, new) - old) / 2)
        ends.append((low, low))  # an odd row is left out, as Keras does
    return pad(x, ((0, 0), *ends, (0, 0)), constant_values=filler)


__all__ = ["affine_transform", "map_coordinates", "perspective_transform", "resize"]
