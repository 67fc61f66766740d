"""`scipy.ndimage`: filters and geometry of images."""

from __future__ import annotations

from typing import Any

from ._followed import counting, followed
from ._images import (
    affine_transform,
    convolve,
    convolve1d,
    correlate,
    correlate1d,
    gaussian_filter,
    gaussian_filter1d,
    gaussian_gradient_magnitude,
    gaussian_laplace,
    laplace,
    map_coordinates,
    maximum_filter,
    maximum_filter1d,
    median_filter,
    minimum_filter,
    minimum_filter1d,
    percentile_filter,
    prewitt,
    rank_filter,
    rotate,
    shift,
    sobel,
    uniform_filter,
    uniform_filter1d,
    zoom,
)
from ._namespace import namespace

_FUNCTIONS = (
    affine_transform, convolve, convolve1d, correlate, correlate1d, gaussian_filter, gaussian_filter1d,
    gaussian_gradient_magnitude, gaussian_laplace, laplace, map_coordinates, maximum_filter, maximum_filter1d,
    median_filter, minimum_filter, minimum_filter1d, prewitt, percentile_filter, rank_filter, rotate, shift, sobel,
    uniform_filter, uniform_filter1d, zoom,
)  # fmt: skip
OURS: dict[str, Any] = {f.__name__: f for f in _FUNCTIONS}
OURS |= followed(
    "scipy.ndimage",
    """
    center_of_mass mean variance standard_deviation sum_labels sum minimum maximum median extrema labeled_comprehension
    grey_erosion grey_dilation grey_opening grey_closing white_tophat black_tophat morphological_gradient
    morphological_laplace generic_gradient_magnitude generic_laplace
""",
)
OURS |= counting(
    "scipy.ndimage",
    """
    label find_objects maximum_position minimum_position binary_closing binary_dilation binary_erosion binary_fill_holes
    binary_hit_or_miss binary_opening binary_propagation
""",
)
NEAR = {
    "generic_filter": "maximum_filter, uniform_filter or their like", "generic_filter1d": "correlate1d",
    "geometric_transform": "map_coordinates", "spline_filter": "map_coordinates",
    "fourier_gaussian": "gaussian_filter",
}  # fmt: skip

__getattr__, __dir__ = namespace(__name__, OURS, near=NEAR)
