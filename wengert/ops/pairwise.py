"""`corrcoef` and `cdist`: correlations of all pairs of variables, distances of all pairs of points."""

from __future__ import annotations

from typing import Any

from .._core.argument_types import ArrayLike
from .._core.user_line import at_user_line
from . import promotion
from .complex_parts import conj
from .complex_parts import real as real_part
from .elementwise import divide, sqrt, subtract
from .linalg import matmul, norm
from .promotion import as_float, as_tensor, names_errors, outward, public
from .reductions import mean
from .shapes import matrix_transpose, reshaped, with_axis
from .triangles import diagonal


@public
def corrcoef(x: ArrayLike) -> Any:
    """The correlation coefficients of variables, which are rows.

    At kinks: a variable that does not vary has coefficients NaN.

    Args:
        x: an array (variables, samples), or a vector.

    Returns:
        A matrix (variables, variables) in x's kind, or one number for a vector.

    Raises:
        ValueError: for more than two axes.

    Example:
        >>> import wengert as wg
        >>> wg.ops.corrcoef([[1.0, 2.0, 3.0], [2.0, 1.0, 0.0]]).round(12)
        array([[ 1., -1.],
               [-1.,  1.]])
    """
    a = as_float(as_tensor(x, "corrcoef"))
    if a.ndim > 2:
        raise ValueError(at_user_line(f"corrcoef: x has shape {a.shape}, wanted at most two axes"))
    rows = a if a.ndim == 2 else reshaped(a, (1, a.size))
    centred = subtract(rows, mean(rows, axis=1, keepdims=True))
    products = matmul(centred, conj(matrix_transpose(centred)))
    spread = sqrt(real_part(diagonal(products)))
    result = divide(divide(products, with_axis(spread, 1)), with_axis(spread, 0))
    return result if a.ndim == 2 else reshaped(result, ())


@names_errors
def cdist(x: ArrayLike, y: ArrayLike) -> Any:
    """The Euclidean distances of all pairs of points.

    At kinks: where two points are the same, the gradient is 0.

    Args:
        x: points (..., m, k).
        y: points (..., n, k); leading axes broadcast.

    Returns:
        The distances (..., m, n) in the kind of array that came in.

    Raises:
        ValueError: for points of different dimensions.

    Example:
        >>> import wengert as wg
        >>> wg.ops.cdist([[0.0, 0.0], [3.0, 0.0]], [[0.0, 4.0]])
        array([[4.],
               [5.]])
    """
    a, b = (as_float(t) for t in promotion.tensors_of(x, y, "cdist"))
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-1]:
        raise ValueError(at_user_line(f"cdist: points have shapes {a.shape} and {b.shape}"))
    apart = subtract(with_axis(a, a.ndim - 1), with_axis(b, b.ndim - 2))
    return outward(norm(apart, axis=-1), x, y)


__all__ = ["cdist", "corrcoef"]
