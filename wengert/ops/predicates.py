"""Elementwise questions: isin, isreal, isposinf, isneginf; and common divisors and multiples of integers."""

from __future__ import annotations

import math
from typing import Any

from .._core import dtypes
from .._core.apply import apply
from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import discrete as D
from .._prims import piecewise as W
from .._prims import sorting as O
from .._prims import structural as S
from . import promotion
from .complex_parts import imag
from .indexing import take
from .promotion import as_tensor, binary, names_errors, outward, public, strong
from .shapes import flat, reshaped


@names_errors
def isin(x1: ArrayLike, x2: ArrayLike, assume_unique: bool = False, invert: bool = False) -> Any:
    """Whether elements are among those of another array; NaN is never.

    Args:
        x1: an array of real values or booleans.
        x2: an array whose elements are looked up.
        assume_unique: accepted for NumPy's sake, and not needed.
        invert: whether to ask the opposite.

    Returns:
        Booleans in x1's shape, in the kind of array that came in; constants to a gradient.

    Example:
        >>> import wengert as wg
        >>> wg.ops.isin([1, 2, 3], [3, 1])
        array([ True, False,  True])
    """
    a, members = (as_tensor(strong(x), "isin") for x in (x1, x2))
    dtype = promotion.common_dtype([a, members])
    promotion.require_order(a, "isin")
    promotion.require_order(members, "isin")
    dtype = dtypes.as_dtype("int8") if dtype == dtypes.bool_ else dtype  # booleans cannot be sorted
    line, row = flat(promotion.cast(a, dtype)), flat(promotion.cast(members, dtype))
    if type(row.shape[0]) is int and row.shape[0] == 0:
        found: Any = S.full(shape=line.shape, value=False, dtype=dtypes.bool_)
    else:
        row = O.sort(row, axis=0, descending=False)
        place = O.searchsorted(row, line, right=False)
        last = S.broadcast_to(S.dim_value(dim=row.shape[0] - 1), shape=place.shape)
        place = W.minimum(place, last)
        found = apply(D.eq, (take(row, place, axis=0), line))
    found = apply(D.logical_not, (found,)) if invert else found
    return outward(reshaped(found, a.shape), x1, x2)


def _infinite(x: ArrayLike, value: float, what: str) -> Any:
    a = as_tensor(x, what)
    promotion.require_order(a, what)
    if not dtypes.is_inexact(a.dtype):
        return S.full(shape=a.shape, value=False, dtype=dtypes.bool_)
    return apply(D.eq, (a, S.fill(a, value)))


@public
def isposinf(x: ArrayLike) -> Any:
    """Whether elements are positive infinity.

    Args:
        x: an array of real values.

    Returns:
        Booleans in x's kind, constants to a gradient.

    Raises:
        TypeError: for complex numbers, which have no order.

    Example:
        >>> import wengert as wg
        >>> wg.ops.isposinf([1.0, float("inf")])
        array([False,  True])
    """
    return _infinite(x, math.inf, "isposinf")


@public
def isneginf(x: ArrayLike) -> Any:
    """Whether elements are negative infinity.

    Args:
        x: an array of real values.

    Returns:
        Booleans in x's kind, constants to a gradient.

    Raises:
        TypeError: for complex numbers, which have no order.

    Example:
        >>> import wengert as wg
        >>> wg.ops.isneginf([1.0, -float("inf")])
        array([False,  True])
    """
    return _infinite(x, -math.inf, "isneginf")


@public
def isreal(x: ArrayLike) -> Any:
    """Whether elements have no imaginary part, or a zero one.

    Args:
        x: an array.

    Returns:
        Booleans in x's kind, constants to a gradient.

    Example:
        >>> import wengert as wg
        >>> wg.ops.isreal([1.0, 1.0j])
        array([ True, False])
    """
    a = as_tensor(x, "isreal")
    if not dtypes.is_complex(a.dtype):
        return S.full(shape=a.shape, value=True, dtype=dtypes.bool_)
    part: Tensor = imag(a)
    return apply(D.eq, (part, S.fill(part, 0)))


def _of_integers(op: Any, x1: ArrayLike, x2: ArrayLike, what: str) -> Any:
    for x in (as_tensor(x1, what), as_tensor(x2, what)):
        if not dtypes.is_integer(x.dtype):
            raise TypeError(at_user_line(f"{what}: wanted integers, got {x.dtype.name}"))
    return binary(op, x1, x2)


@names_errors
def gcd(x1: ArrayLike, x2: ArrayLike) -> Any:
    """The greatest common divisor, element by element; that of 0 and 0 is 0.

    Args:
        x1: an array of integers, or one.
        x2: the same; shapes broadcast.

    Returns:
        Integers in the kind of array that came in, constants to a gradient.

    Raises:
        TypeError: for anything but integers.

    Example:
        >>> import wengert as wg
        >>> wg.ops.gcd([12, 0], 18)
        array([ 6, 18])
    """
    return _of_integers(D.gcd, x1, x2, "gcd")


@names_errors
def lcm(x1: ArrayLike, x2: ArrayLike) -> Any:
    """The least common multiple, element by element; 0 if one of them is 0.

    Args:
        x1: an array of integers, or one.
        x2: the same; shapes broadcast.

    Returns:
        Integers in the kind of array that came in, constants to a gradient.

    Raises:
        TypeError: for anything but integers.

    Example:
        >>> import wengert as wg
        >>> wg.ops.lcm([4, 0], 6)
        array([12,  0])
    """
    return _of_integers(D.lcm, x1, x2, "lcm")


__all__ = ["gcd", "isin", "isneginf", "isposinf", "isreal", "lcm"]
