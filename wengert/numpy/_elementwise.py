"""NumPy's elementwise functions: the very objects of `wengert.ops`, under all the names that NumPy gives them."""

from __future__ import annotations

from typing import Any

from .. import ops
from .._core.apply import apply
from .._core.argument_types import ArrayLike
from .._core.op import REGISTRY, Op
from .._core.wrong_calls import explain_caller
from ..ops import (
    abs,
    absolute,
    add,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_not,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    cbrt,
    ceil,
    conj,
    copysign,
    cos,
    cosh,
    deg2rad,
    divide,
    equal,
    exp,
    exp2,
    expm1,
    fabs,
    floor,
    floor_divide,
    fmax,
    fmin,
    fmod,
    frexp,
    gcd,
    greater,
    greater_equal,
    heaviside,
    hypot,
    invert,
    isfinite,
    isinf,
    isnan,
    lcm,
    ldexp,
    left_shift,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logaddexp2,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    matmul,
    maximum,
    minimum,
    mod,
    multiply,
    negative,
    nextafter,
    not_equal,
    positive,
    power,
    rad2deg,
    right_shift,
    rint,
    sign,
    signbit,
    sin,
    sinh,
    sqrt,
    square,
    subtract,
    tan,
    tanh,
    true_divide,
    trunc,
)  # fmt: skip
from ..ops.outside_numbers import in_floats
from ..ops.promotion import as_float, as_tensor, doubled, for_one, outward, public, with_doubles

acos, acosh, asin, asinh, atan, atan2, atanh = arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh
pow, conjugate, remainder = power, conj, mod
radians, degrees = deg2rad, rad2deg


@public
def float_power(x1: ArrayLike, x2: ArrayLike, /) -> Any:
    """x1 ** x2 in float64 at least.

    Args:
        x1: an array or a number.
        x2: the same; shapes broadcast.

    Returns:
        The powers in the kind of array that came in.

    Example:
        >>> import wengert.numpy as np
        >>> np.float_power([2], -1)
        array([0.5])
    """
    return power(doubled(as_tensor(in_floats(x1))), doubled(as_tensor(in_floats(x2))))


@public
def divmod(x1: ArrayLike, x2: ArrayLike, /) -> Any:
    """The quotient rounded down, and the remainder.

    Args:
        x1: an array or a number.
        x2: the same; shapes broadcast.

    Returns:
        A pair in the kind of array that came in. The quotient has gradient zero.

    Example:
        >>> import wengert.numpy as np
        >>> [part.tolist() for part in np.divmod([5.0], 3.0)]
        [[1.0], [2.0]]
    """
    return floor_divide(x1, x2), mod(x1, x2)


@public
def modf(x: ArrayLike, /) -> Any:
    """The fraction and the whole part, both with the sign of x.

    Args:
        x: an array or a number.

    Returns:
        A pair in the kind of array that came in. The whole part has gradient zero, the fraction one.

    Example:
        >>> import wengert.numpy as np
        >>> [part.tolist() for part in np.modf([1.5])]
        [[0.5], [1.0]]
    """
    a = as_float(as_tensor(x, "modf"))
    is_infinite = isinf(a)
    fraction = ops.where(is_infinite, copysign(0.0, a), fmod(ops.where(is_infinite, 0.0, a), 1.0))
    return fraction, trunc(a)


@for_one("fc")
def _whole_too(op: Op, x: ArrayLike) -> Any:
    """Integers stay integers."""
    a = as_tensor(x, op.name)
    if a.dtype.kind not in "biu":
        return outward(apply(op, (a,)), x)
    a = ops.cast(a, "int8") if a.dtype.kind == "b" else a
    return outward(ops.where(equal(abs(a), 1), a, 0), x)


def reciprocal(x: ArrayLike, /) -> Any:
    """1 / x; of integers the whole part of it, an integer.

    Args:
        x: an array or a number.

    Returns:
        The reciprocals in the kind of array that came in.

    Example:
        >>> import wengert.numpy as np
        >>> np.reciprocal([2.0, 4.0])
        array([0.5 , 0.25])
        >>> np.reciprocal([1, 2, -1])
        array([ 1,  0, -1])
    """
    try:
        return _whole_too(REGISTRY["reciprocal"], x)
    except Exception as error:
        explain_caller(error)
        raise


@public
def i0(x: ArrayLike, /) -> Any:
    """The modified Bessel function of order 0; whole numbers become float64.

    Args:
        x: an array or a number.

    Returns:
        The values in the kind of array that came in.

    Example:
        >>> import wengert.numpy as np
        >>> np.i0([0, 1]).round(3)
        array([1.   , 1.266])
    """
    return ops.i0(with_doubles(as_tensor(x, "i0")))


@public
def sinc(x: ArrayLike, /) -> Any:
    """sin(pi x) / (pi x), 1 at 0, and smooth there; whole numbers become float64.

    Args:
        x: an array or a number.

    Returns:
        The values in the kind of array that came in.

    Example:
        >>> import wengert.numpy as np
        >>> np.sinc([0.0, 0.5]).round(3)
        array([1.   , 0.637])
    """
    return ops.sinc(with_doubles(as_tensor(x, "sinc")))


@public
def spacing(x: ArrayLike, /) -> Any:
    """The distance to the next number away from zero, with the sign of x. Its gradient is zero.

    Args:
        x: an array or a number.

    Returns:
        The distances in the kind of array that came in.

    Example:
        >>> import wengert.numpy as np
        >>> float(np.spacing(1.0))
        2.220446049250313e-16
    """
    a = as_float(as_tensor(x, "spacing"))
    size = ops.stop_gradient(abs(a))
    return add(copysign(subtract(nextafter(size, float("inf")), size), ops.stop_gradient(a)), ops.zeros_like(a))


__all__ = [
    "abs", "absolute", "acos", "acosh", "add", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2",
    "arctanh", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_invert", "bitwise_left_shift",
    "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "cbrt", "ceil", "conj", "conjugate",
    "copysign", "cos", "cosh", "deg2rad", "degrees", "divide", "divmod", "equal", "exp", "exp2", "expm1", "fabs",
    "float_power", "floor", "floor_divide", "fmax", "fmin", "fmod", "frexp", "gcd", "greater", "greater_equal",
    "heaviside", "hypot", "i0", "invert", "isfinite", "isinf", "isnan", "lcm", "ldexp", "left_shift", "less",
    "less_equal", "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2", "logical_and", "logical_not",
    "logical_or", "logical_xor", "matmul", "maximum", "minimum", "mod", "modf", "multiply", "negative", "nextafter",
    "not_equal", "positive", "pow", "power", "rad2deg", "radians", "reciprocal", "remainder", "right_shift", "rint",
    "sign", "signbit", "sin", "sinc", "sinh", "spacing", "sqrt", "square", "subtract", "tan", "tanh", "true_divide",
    "trunc",
]  # fmt: skip
