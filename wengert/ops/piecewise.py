"""Elementwise ops that choose between values or replace them: clip, remainders, rounding, nan_to_num, isclose."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.apply import apply
from .._core.argument_types import ArrayLike
from .._core.op import Op
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import discrete as D
from .._prims import piecewise as W
from .._prims import structural as S
from . import promotion
from .elementwise import _two, divide
from .outside_numbers import bound_or_none, in_floats
from .promotion import (
    as_float,
    as_tensor,
    binary_float,
    broadcast_shapes,
    common_dtype,
    filled_beside,
    names_errors,
    outward,
    public,
    tensors_of,
)
from .reductions import all as every


def _or_logical(of_bool: Op) -> Any:
    """The rule for ops that on booleans are logic."""

    @promotion.for_two("iuf")
    def rule(op: Op, x1: ArrayLike, x2: ArrayLike) -> Any:
        a, b = promotion.meet(*tensors_of(x1, x2, op.name), op.name)
        promotion.require_order(a, op.name)
        return outward(apply(of_bool if a.dtype == dtypes.bool_ else op, (a, b)), x1, x2)

    return rule


@promotion.for_two("iuf")
def _remainder(op: Op, x1: ArrayLike, x2: ArrayLike) -> Any:
    """Booleans are integers of one byte here, as in NumPy."""
    a, b = promotion.meet(*tensors_of(x1, x2, op.name), op.name)
    promotion.require_order(a, op.name)
    return outward(apply(op, (promotion.as_number(a), promotion.as_number(b))), x1, x2)


maximum = _two("maximum", W.maximum, _or_logical(D.logical_or))
minimum = _two("minimum", W.minimum, _or_logical(D.logical_and))
fmax = _two("fmax", W.fmax, _or_logical(D.logical_or))
fmin = _two("fmin", W.fmin, _or_logical(D.logical_and))
mod = remainder = _two("mod", W.mod, _remainder)
fmod = _two("fmod", W.fmod, _remainder)
copysign = _two("copysign", W.copysign, binary_float)
heaviside = _two("heaviside", W.heaviside, binary_float)
for _f in (maximum, minimum, fmax, fmin, mod, fmod, copysign, heaviside):
    _f.__module__ = __name__


_ENDS = frozenset((int, float, type(None)))


@names_errors
def clip(x: ArrayLike, x_min: ArrayLike | None = None, x_max: ArrayLike | None = None) -> Any:
    """x no smaller than one bound and no larger than the other.

    At kinks: on the closed interval the gradient goes to x, outside to the bound that won.

    Args:
        x: an array of real values, or a number.
        x_min: the lower bound, or None for none.
        x_max: the upper bound, or None for none; it wins where it is the smaller of the two.

    Returns:
        The bounded values in the kind that came in; shapes broadcast and dtypes promote as NumPy's.

    Example:
        >>> import wengert as wg
        >>> wg.ops.clip([-1.0, 0.5, 2.0], 0, 1)
        array([0. , 0.5, 1. ])
    """
    if x_min is None and x_max is None:
        return outward(as_tensor(x, "clip"), x)
    if type(x) is Tensor and type(x_min) in _ENDS and type(x_max) in _ENDS:
        low = filled_beside(-math.inf if x_min is None else x_min, x)
        if low is not None:
            high = filled_beside(math.inf if x_max is None else x_max, x)
            return apply(W.clip, (x, low, high))
    a = as_tensor(x, "clip")
    x_min, x_max = bound_or_none(x_min, a, False), bound_or_none(x_max, a, True)
    given = [None if bound is None else tensors_of(a, bound, "clip")[1] for bound in (x_min, x_max)]
    present = [a, *(t for t in given if t is not None)]
    dtype = common_dtype(present)
    if dtype == dtypes.bool_:
        dtype = np.dtype(np.int8)
    if dtypes.is_complex(dtype):
        raise TypeError(at_user_line("clip: complex numbers have no order"))
    shape = a.shape
    for t in present[1:]:
        shape = broadcast_shapes(shape, t.shape, "clip")
    lowest, highest = _range_of(dtype)
    ends = [
        S.full(shape=shape, value=end, dtype=dtype)
        if t is None
        else promotion.broadcast(promotion.cast(t, dtype), shape)
        for t, end in zip(given, (lowest, highest))
    ]
    result = apply(W.clip, (promotion.broadcast(promotion.cast(a, dtype), shape), *ends))
    if common_dtype(present) == dtypes.bool_:
        result = promotion.cast(result, dtypes.bool_)
    return outward(result, x, x_min, x_max)


def _range_of(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Bounds that bound nothing."""
    if dtypes.is_inexact(dtype):
        return -math.inf, math.inf
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


@public
def round(x: ArrayLike, decimals: int = 0) -> Any:
    """x rounded to decimals, halves to even.

    At kinks: the gradient is 0 everywhere.

    Args:
        x: an array or a number; complex ones are rounded in both parts.
        decimals: how many places behind the point; negative ones are in front of it.

    Returns:
        The rounded values in x's kind and dtype.

    Example:
        >>> import wengert as wg
        >>> wg.ops.round([1.25, 2.5], 1)
        array([1.2, 2.5])
    """
    a, places = as_tensor(x, "round"), operator.index(decimals)
    if a.dtype.kind == "c":
        return S.as_complex(_rounded(S.real(a), places), _rounded(S.imag(a), places))
    if dtypes.is_inexact(a.dtype):
        return _rounded(a, places)
    if a.dtype == dtypes.bool_:
        return promotion.cast(a, dtypes.float16)
    if places >= 0:
        return a
    return promotion.cast(_rounded(promotion.cast(a, dtypes.float64), places), a.dtype)


def _rounded(x: Tensor, places: int) -> Tensor:
    if places == 0:
        return D.rint(x)
    scale = S.fill(x, 10.0 ** abs(places))
    before, after = (S.mul, divide) if places > 0 else (divide, S.mul)
    return after(D.rint(before(x, scale)), scale)


around = round


@public
def nan_to_num(x: ArrayLike, nan: Any = 0.0, posinf: object = None, neginf: object = None) -> Any:
    """x with numbers in place of NaN and infinities.

    At kinks: the gradient is 0 where an element was replaced.

    Args:
        x: an array or a number; complex ones are treated in both parts.
        nan: what stands for NaN.
        posinf: what stands for infinity; the largest finite number if None.
        neginf: what stands for minus infinity; the lowest finite number if None.

    Returns:
        The values in x's kind and dtype.

    Example:
        >>> import wengert as wg
        >>> wg.ops.nan_to_num([float("nan"), 1.0])
        array([0., 1.])
    """
    a = as_tensor(x, "nan_to_num")
    if a.dtype.kind == "c":
        return S.as_complex(*(_finite(part(a), nan, posinf, neginf) for part in (S.real, S.imag)))
    return _finite(a, nan, posinf, neginf) if dtypes.is_inexact(a.dtype) else a


def _finite(x: Tensor, nan: ArrayLike, posinf: object, neginf: object) -> Tensor:
    largest = float(np.finfo(x.dtype).max) if x.dtype.kind == "f" else 3.3895313892515355e38
    below = apply(D.lt, (x, S.fill(x, 0)))
    is_infinite = apply(D.isinf, (x,))
    high = apply(D.logical_and, (is_infinite, apply(D.logical_not, (below,))))
    low = apply(D.logical_and, (is_infinite, below))
    ends = (
        (apply(D.isnan, (x,)), nan),
        (high, largest if posinf is None else posinf),
        (low, -largest if neginf is None else neginf),
    )
    for where, value in ends:
        x = S.select(where, promotion.broadcast(promotion.held(in_floats(value), x.dtype, "nan_to_num"), x.shape), x)
    return x


@names_errors
def divide_no_nan(x1: ArrayLike, x2: ArrayLike) -> Any:
    """x1 / x2, and 0 where x2 is 0.

    At kinks: both gradients are 0 where x2 is 0.

    Args:
        x1: an array or a number.
        x2: the same; shapes broadcast and dtypes promote as NumPy's.

    Returns:
        The quotient in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.ops.divide_no_nan([1.0, 1.0], [0.0, 2.0])
        array([0. , 0.5])
    """
    a, b = map(as_float, promotion.meet(*tensors_of(x1, x2, "divide_no_nan"), "divide_no_nan"))
    is_zero = apply(D.eq, (b, S.fill(b, 0)))
    quotient = divide(a, S.select(is_zero, S.fill(b, 1), b))
    return outward(S.select(is_zero, S.fill(b, 0), quotient), x1, x2)


@names_errors
def multiply_no_nan(x1: ArrayLike, x2: ArrayLike) -> Any:
    """x1 * x2, and 0 where x2 is 0, also beside infinity and NaN.

    At kinks: where x2 is 0 the gradient to x1 is 0, and to x2 it is x1, or 0 if that is not finite.

    Args:
        x1: an array or a number.
        x2: the same; shapes broadcast and dtypes promote as NumPy's.

    Returns:
        The product in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.ops.multiply_no_nan([float("inf"), 2.0], [0.0, 3.0])
        array([0., 6.])
    """
    a, b = promotion.meet(*tensors_of(x1, x2, "multiply_no_nan"), "multiply_no_nan")
    is_absent = apply(D.logical_and, (apply(D.eq, (b, S.fill(b, 0))), apply(D.logical_not, (apply(D.isfinite, (a,)),))))
    return outward(S.mul(S.select(is_absent, S.fill(a, 0), a), b), x1, x2)


@public
def sinc(x: ArrayLike) -> Any:
    """sin(pi x) / (pi x), which is 1 at 0 and smooth there.

    Args:
        x: an array or a number.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.sinc([0.0, 0.5]).round(6)
        array([1.     , 0.63662])
    """
    return W.sinc(as_float(as_tensor(x, "sinc")), order=0)


@public
def deg2rad(x: ArrayLike) -> Any:
    """Degrees as radians.

    Args:
        x: an array of real values, or a number.

    Returns:
        x pi / 180 in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.deg2rad([180.0]).round(6)
        array([3.141593])
    """
    return S.times_number(as_float(as_tensor(x, "deg2rad")), number=math.pi / 180)


@public
def rad2deg(x: ArrayLike) -> Any:
    """Radians as degrees.

    Args:
        x: an array of real values, or a number.

    Returns:
        x 180 / pi in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.rad2deg([3.0]).round(6)
        array([171.887339])
    """
    return S.times_number(as_float(as_tensor(x, "rad2deg")), number=180 / math.pi)


@names_errors
def isclose(x1: ArrayLike, x2: ArrayLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Whether |x1 - x2| <= atol + rtol |x2|, element by element.

    Args:
        x1: an array or a number.
        x2: the same; shapes broadcast.
        rtol: the part of the tolerance that grows with x2.
        atol: the part that does not.
        equal_nan: whether two NaN are close.

    Returns:
        Booleans in the kind of array that came in. Equal infinities are close.

    Example:
        >>> import wengert as wg
        >>> wg.ops.isclose([1.0, 2.0], [1.0 + 1e-9, 2.1])
        array([ True, False])
    """
    x1, x2 = (float(x) if type(x) is int else x for x in (x1, x2))
    a, b = promotion.meet(*tensors_of(x1, x2, "isclose"), "isclose")
    if not dtypes.is_inexact(a.dtype):
        a, b = (promotion.cast(t, dtypes.float64) for t in (a, b))
    part, least = (as_tensor(t, "isclose") for t in (rtol, atol))
    if part.ndim or least.ndim:
        raise TypeError(at_user_line(f"isclose: rtol and atol are numbers, got shapes {part.shape} and {least.shape}"))
    size = W.abs_(b)
    part, least = (promotion.broadcast(promotion.cast(t, size.dtype), size.shape) for t in (part, least))
    bound = S.add(S.mul(size, part), least)
    near = apply(D.le, (W.abs_(S.sub(a, b)), bound))
    near = apply(D.logical_and, (near, apply(D.isfinite, (b,))))
    result = apply(D.logical_or, (near, apply(D.eq, (a, b))))
    if equal_nan:
        both = apply(D.logical_and, (apply(D.isnan, (a,)), apply(D.isnan, (b,))))
        result = apply(D.logical_or, (result, both))
    return outward(result, x1, x2)


@names_errors
def allclose(x1: ArrayLike, x2: ArrayLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Whether `isclose` holds for every element.

    Args:
        x1: an array or a number.
        x2: the same; shapes broadcast.
        rtol: the part of the tolerance that grows with x2.
        atol: the part that does not.
        equal_nan: whether two NaN are close.

    Returns:
        One boolean in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> print(wg.ops.allclose([1.0, 2.0], [1.0 + 1e-9, 2.0]))
        True
    """
    return every(isclose(x1, x2, rtol, atol, equal_nan))


# -- complex numbers ---------------------------------------------------------------------------------------------------


__all__ = [
    "maximum", "minimum", "fmax", "fmin", "mod", "remainder", "fmod", "copysign", "heaviside", "clip", "round",
    "around", "nan_to_num", "divide_no_nan", "multiply_no_nan", "sinc", "deg2rad", "rad2deg", "isclose", "allclose",
]  # fmt: skip
