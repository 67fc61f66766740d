"""`affine_grid` and `roi_align`: grids of affine maps, and boxes of images resampled to one size."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..._core import dtypes
from ..._core.argument_types import ArrayLike
from ..._core.tensor import Tensor
from ..._core.user_line import at_user_line
from ..._prims import discrete as D
from ..._prims import indexing as I
from .. import promotion
from ..elementwise import add, greater_equal, less_equal, logical_and, multiply, subtract
from ..indexing import where
from ..linalg import matmul
from ..piecewise import clip, maximum
from ..promotion import as_float, as_tensor, names_errors, outward
from ..reductions import mean
from ..shapes import joined, known_extent, part, permuted, reshaped
from ..subscript import known_values
from .layout import ImageLayout, laid_out

# -- grids -------------------------------------------------------------------------------------------------------------


@names_errors
def affine_grid(theta: Any, size: Any, align_corners: bool = False) -> Any:
    """The places for `grid_sample` that affine maps give, in coordinates from -1 to 1.

    Args:
        theta: matrices (batch, 2, 3), or (batch, 3, 4) for volumes: the place is theta times (x, y, 1).
        size: (height, width) of the result, or (depth, height, width); torch's sizes with a batch and channels before
            them are taken, too.
        align_corners: whether -1 and 1 are the centres of the border pixels; else they are the borders.

    Returns:
        The places (batch, height, width, 2), or (batch, depth, height, width, 3), x first, in theta's kind.

    Raises:
        ValueError: for other shapes.

    Example:
        >>> import wengert as wg
        >>> wg.image.affine_grid([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]], (1, 2))[0, 0]
        array([[-0.5,  0. ],
               [ 0.5,  0. ]])
    """
    maps = as_float(as_tensor(theta, "affine_grid"))
    ranks: dict[Any, int] = {(2, 3): 2, (3, 4): 3}
    rank = ranks.get(tuple(maps.shape[1:]) if maps.ndim == 3 else ())
    extents = [operator.index(n) for n in size]
    if rank is None or len(extents) not in (rank, rank + 2):
        raise ValueError(at_user_line(f"affine_grid: theta has shape {maps.shape} and size is {tuple(extents)}"))
    extents = extents[-rank:]
    lines = [_line(n, align_corners) for n in extents]
    places = np.meshgrid(*lines, indexing="ij")[::-1]  # x is along the last axis
    known = np.stack([*places, np.ones(extents)], axis=-1).reshape(-1, rank + 1)
    found = matmul(promotion.cast(as_tensor(known), maps.dtype), permuted(maps, (0, 2, 1)))
    return outward(reshaped(found, (maps.shape[0], *extents, rank)), theta)


def _line(count: int, align_corners: bool) -> np.ndarray[Any, Any]:
    if align_corners:
        return np.linspace(-1, 1, count) if count > 1 else np.zeros(count)
    return (np.arange(count) * 2 + 1) / max(count, 1) - 1


# -- regions -----------------------------------------------------------------------------------------------------------


@names_errors
def roi_align(
    images: ArrayLike, boxes: ArrayLike, output_size: Any, spatial_scale: float = 1.0, sampling_ratio: int = -1,
    aligned: bool = False, data_format: str | None = None,
) -> Any:  # fmt: skip
    """Boxes of images brought to one size: means of values between pixels, on an even grid in each cell of a box.

    At kinks: the slope in a box is that of the cells between pixels that its samples lie in, as for
    `map_coordinates`; a sample more than a pixel outside of the image is 0.

    Args:
        images: images (batch, height, width, channels).
        boxes: an array (boxes, 5): the number of the image, and the corners x1, y1, x2, y2, which are differentiable.
        output_size: the height and the width of the results, in cells, or one number for both.
        spatial_scale: the factor from the units of boxes to pixels.
        sampling_ratio: how many samples a cell has along each axis; -1 means as many as it has pixels, for which the
            boxes' values must be known.
        aligned: whether boxes are measured from the borders of pixels, half a pixel before their centres, and may be
            smaller than a pixel.
        data_format: "channels_last" (also None) or "channels_first".

    Returns:
        Images (boxes, *output_size, channels), laid out as they came, in the kind that came in.

    Raises:
        IndexError: for the number of an image that is not there.
        TracingError: for boxes that are being traced, with `sampling_ratio=-1`.
        ValueError: for other shapes.

    Example:
        >>> import wengert as wg
        >>> image = [[[[0.0], [2.0]], [[4.0], [6.0]]]]
        >>> wg.image.roi_align(image, [[0, 0.0, 0.0, 1.0, 1.0]], 1, sampling_ratio=2)[0, 0, 0]
        array([3.])
    """
    what = "roi_align"
    x, layout = laid_out(images, data_format, what)
    rows = as_float(as_tensor(boxes, what))
    if rows.ndim != 2 or rows.shape[1] != 5:
        raise ValueError(at_user_line(f"{what}: boxes has shape {rows.shape}, wanted (boxes, 5)"))
    pair = output_size if isinstance(output_size, (tuple, list)) else (output_size, output_size)
    height, width = map(operator.index, pair)
    wide = promotion.cast(as_float(x), dtypes.float32) if dtypes.is_half(x.dtype) else as_float(x)
    number = promotion.cast(reshaped(part(rows, 1, 0, 1), (rows.shape[0],)), dtypes.int64)
    corners = multiply(promotion.cast(part(rows, 1, 1, 5), wide.dtype), float(spatial_scale))
    if aligned:
        corners = subtract(corners, 0.5)
    x1, y1, x2, y2 = (reshaped(part(corners, 1, i, i + 1), (rows.shape[0],)) for i in range(4))
    spans = [subtract(y2, y1), subtract(x2, x1)]
    if not aligned:
        spans = [maximum(span, 1.0) for span in spans]
    results = []
    count = known_extent(rows, 0, what)
    groups = _groups(spans, (height, width), operator.index(sampling_ratio), count, what)
    for (down, across), members in groups.items():
        own = [v[np.array(members)] if len(groups) > 1 else v for v in (number, y1, x1, *spans)]
        at_y = _samples(own[1], own[3], height, down)
        at_x = _samples(own[2], own[4], width, across)
        cells = _bilinear(wide, own[0], at_y, at_x)
        shape = (len(members), height, down, width, across, wide.shape[3])
        results.append(mean(reshaped(cells, shape), axis=(2, 4)))
    order = np.argsort([m for members in groups.values() for m in members])
    found = joined(results, 0)[order] if len(groups) > 1 else results[0]
    return outward(ImageLayout(4, layout.is_first).back(promotion.cast(found, as_float(x).dtype)), images, boxes)


def _groups(spans: list[Tensor], cells: tuple[int, int], ratio: int, count: int, what: str) -> dict[Any, list[int]]:
    """Boxes by how many samples their cells have."""
    if ratio > 0:
        return {(ratio, ratio): [*range(count)]}
    values = [np.asarray(known_values(span, what)) for span in spans]
    groups: dict[Any, list[int]] = {}
    for i, sizes in enumerate(zip(*values)):
        counts = (*[max(int(np.ceil(size / n)), 1) for size, n in zip(sizes, cells)],)
        groups.setdefault(counts, []).append(i)
    return groups or {(1, 1): []}


def _samples(start: Tensor, span: Tensor, cells: int, each: int) -> Tensor:
    """Places (boxes, cells * each), even in each cell."""
    share = (np.arange(cells * each) + 0.5) / (cells * each) if cells * each else np.zeros(0)
    column = (start.shape[0], 1)
    return add(reshaped(start, column), multiply(reshaped(span, column), promotion.cast(as_tensor(share), span.dtype)))


def _bilinear(x: Tensor, number: Tensor, at_y: Tensor, at_x: Tensor) -> Tensor:
    """Values (boxes, rows, columns, channels) of images at rows and columns of places."""
    boxes, rows, columns = at_y.shape[0], at_y.shape[1], at_x.shape[1]
    wide = (boxes, rows, columns)
    pick = promotion.broadcast(reshaped(number, (boxes, 1, 1)), wide)
    ways = []
    for axis, at, shape in ((1, at_y, (boxes, rows, 1)), (2, at_x, (boxes, 1, columns))):
        size = known_extent(x, axis, "roi_align")
        is_near = logical_and(greater_equal(at, -1.0), less_equal(at, float(size)))
        inside = clip(at, 0.0, float(size - 1))
        low = clip(D.floor(inside), 0.0, float(max(size - 2, 0)))
        share = subtract(inside, low)
        first = promotion.cast(low, dtypes.int64)
        second = clip(add(first, 1), 0, size - 1)
        ends = []
        for index, weight in ((first, subtract(1.0, share)), (second, share)):
            held = reshaped(where(is_near, weight, 0.0), shape)
            ends.append((promotion.broadcast(reshaped(promotion.cast(index, dtypes.int64), shape), wide), held))
        ways.append(ends)
    total: Any = None
    for y, y_weight in ways[0]:
        for z, z_weight in ways[1]:
            weight = reshaped(multiply(y_weight, z_weight), (*wide, 1))
            value = multiply(I.gather(x, pick, y, z), weight)
            total = value if total is None else add(total, value)
    return total


__all__ = ["affine_grid", "roi_align"]
