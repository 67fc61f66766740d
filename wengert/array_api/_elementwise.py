"""The elementwise functions that the standard words differently than NumPy does."""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from typing import Any

from .. import ops
from .._core import dtypes
from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..ops.promotion import as_tensor, broadcast_shapes, cast, names_errors, tensors_of


@names_errors
def clip(x: ArrayLike, /, min: object = None, max: object = None) -> Any:
    """Elements kept between two bounds, in x's dtype. The gradient passes on the closed interval.

    Args:
        x: a tensor.
        min: the lower bound, a number or a tensor; None for none.
        max: the upper bound.

    Returns:
        A tensor of x's dtype, in the shape in which x and the bounds meet.

    Raises:
        TypeError: if x is complex.
        ValueError: if the shapes do not broadcast.

    Example:
        >>> import wengert as wg
        >>> wg.array_api.clip(wg.tensor([1.0, 5.0]), 0, 3)
        Tensor([1., 3.], shape=(2,), dtype=float64)
    """
    a = as_tensor(x, "clip")
    if dtypes.is_complex(a.dtype):
        raise TypeError(at_user_line("clip: complex numbers have no order"))
    return ops.clip(a, _bound(min, a), _bound(max, a))


def _bound(bound: Any, x: Tensor) -> Any:
    """A bound in x's dtype."""
    if bound is None:
        return None
    limit = as_tensor(bound, "clip")
    broadcast_shapes(x.shape, limit.shape, "clip")
    return cast(limit, x.dtype)


@names_errors
def floor_divide(x1: ArrayLike, x2: ArrayLike, /) -> Any:
    """The quotient rounded down: an infinite numerator gives infinity, an infinite divisor a zero of the right sign.

    Those are the standard's special cases. The operator `//` and `wg.floor_divide` give NumPy's: NaN and -1.

    Args:
        x1: a tensor or a number.
        x2: the same; shapes broadcast, dtypes promote.

    Returns:
        A tensor. Its gradient is zero.

    Raises:
        ValueError: if the shapes do not broadcast.

    Example:
        >>> import wengert as wg
        >>> wg.array_api.floor_divide(wg.tensor([7.0, wg.array_api.inf]), 2)
        Tensor([ 3., inf], shape=(2,), dtype=float64)
    """
    a, b = tensors_of(x1, x2, "floor_divide")
    quotient = ops.floor_divide(a, b)
    if not dtypes.is_float(quotient.dtype):
        return quotient
    exact = ops.divide(a, b)
    is_special = ops.logical_or(ops.isinf(a), ops.logical_and(ops.isinf(b), ops.isfinite(a)))
    return ops.where(is_special, ops.trunc(exact), quotient)


@names_errors
def sign(x: ArrayLike, /) -> Any:
    """-1, 0 or 1 by the sign of x, and x / |x| for complex numbers; 0 has no sign here, unlike in `wg.sign`.

    At kinks: the gradient is 0 everywhere for real numbers.

    Args:
        x: a tensor.

    Returns:
        A tensor of x's dtype.

    Example:
        >>> import wengert as wg
        >>> wg.array_api.sign(wg.tensor([-3.0, -0.0]))
        Tensor([-1., 0.], shape=(2,), dtype=float64)
    """
    a = as_tensor(x, "sign")
    direction = ops.sign(a)
    return ops.where(a == 0, ops.zeros_like(a), direction) if dtypes.is_inexact(a.dtype) else direction
