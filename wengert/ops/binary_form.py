"""The binary form of floats: `frexp`, `ldexp` and `nextafter`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import dtypes
from .._core.apply import apply
from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import binary_form as B
from .._prims import discrete as D
from .._prims import structural as S
from . import promotion
from .promotion import as_float, as_tensor, binary_float, names_errors, outward, public


def _float_of(x: ArrayLike, what: str) -> Tensor:
    a = as_float(as_tensor(x, what))
    promotion.require_order(a, what)
    return a


@names_errors
def ldexp(x1: ArrayLike, x2: ArrayLike) -> Any:
    """x1 times two to the power of an integer.

    Args:
        x1: an array of real values, or a number.
        x2: integers, constants to a gradient; shapes broadcast.

    Returns:
        The products in the kind of array that came in.

    Raises:
        TypeError: if x2 does not hold integers.

    Example:
        >>> import wengert as wg
        >>> wg.ops.ldexp([3.0], 2)
        array([12.])
    """
    a, n = _float_of(x1, "ldexp"), as_tensor(x2, "ldexp")
    if not dtypes.is_integer(n.dtype) and n.dtype != dtypes.bool_:
        raise TypeError(at_user_line(f"ldexp: x2 has dtype {n.dtype.name}, wanted integers"))
    shape = promotion.broadcast_shapes(a.shape, n.shape, "ldexp")
    return outward(B.ldexp(promotion.broadcast(a, shape), promotion.broadcast(_as_exponent(n), shape)), x1, x2)


def _as_exponent(n: Tensor) -> Tensor:
    """Integers as int32; those beyond stay beyond every float's range."""
    if n.dtype.itemsize > 4 or n.dtype == np.dtype(np.uint32):
        limit = S.fill(n, 2**30)
        n = S.select(apply(D.gt, (n, limit)), limit, n)
        if n.dtype.kind == "i":
            limit = S.fill(n, -(2**30))
            n = S.select(apply(D.lt, (n, limit)), limit, n)
    return promotion.cast(n, dtypes.int32)


@public
def frexp(x: ArrayLike) -> Any:
    """The mantissa and the exponent: x = mantissa * 2 ** exponent with the mantissa's magnitude from 1/2 to 1.

    At kinks: the gradient of the mantissa is 2 ** -exponent, also where the exponent jumps.

    Args:
        x: an array of real values, or a number.

    Returns:
        The mantissas, and the exponents as integers (int32), constants to a gradient, in x's kind.

    Example:
        >>> import wengert as wg
        >>> mantissa, exponent = wg.ops.frexp([6.0, 0.0])
        >>> mantissa
        array([0.75, 0.  ])
        >>> exponent
        array([3, 0], dtype=int32)
    """
    a = _float_of(x, "frexp")
    n = B.exponent(a)
    return B.ldexp(a, S.neg(n)), n


@names_errors
def nextafter(x1: ArrayLike, x2: ArrayLike) -> Any:
    """The next float after x1 on the way to x2.

    At kinks: the gradient is that of x1 itself: 1 for x1 and 0 for x2.

    Args:
        x1: an array of real values, or a number.
        x2: the same; shapes broadcast.

    Returns:
        The neighbours in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.ops.nextafter([1.0], 2.0) - 1.0
        array([2.22044605e-16])
    """
    return binary_float(B.nextafter, x1, x2)


__all__ = ["frexp", "ldexp", "nextafter"]
