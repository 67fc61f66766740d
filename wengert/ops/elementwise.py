"""Elementwise ops: arithmetic, powers, exponentials, trigonometry, comparison, logic, rounding.

Plain ones are a primitive behind a promotion rule and are made by `_one` and `_two`, which write the docstring from
the primitive's own facts; those that choose between primitives stand as functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core import dtypes
from .._core.apply import apply
from .._core.argument_types import ArrayLike
from .._core.op import Op
from .._core.public import unconverted
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._core.wrong_calls import explain_caller
from .._prims import discrete as D
from .._prims import elementwise as E
from .._prims import piecewise as W
from .._prims import structural as S
from .outside_numbers import compare
from .promotion import (
    as_float,
    as_tensor,
    binary,
    binary_float,
    binary_number,
    binary_quotient,
    for_one,
    for_two,
    named,
    names_errors,
    outward,
    tensors_of,
    unary,
    unary_float,
    unary_number,
    with_number,
)

_NUMBER = frozenset({float, int, bool, complex})
# The kinds of dtypes that take a Python number as an attribute, of tensors and of weak ones, whose dtype a number must
# not change.
_WITH_NUMBER = ("iufcV", "fc")
_FUNCTIONS: dict[str, Callable[..., Any]] = {}


def _document(f: Callable[..., Any], name: str, op: Op, arguments: str, example: str) -> Callable[..., Any]:
    kink = f"\n\n    At kinks: {op.facts.kink}." if op.facts.kink else ""
    source = f"\n\n    Source: {op.facts.ref}." if op.facts.ref else ""
    named(f, name)
    f.__doc__ = (
        f"{_sentence(op.facts.doc)}, element by element.\n\n    Args:\n{arguments}\n\n"
        f"    Returns:\n        The result in the kind of array that came in.{kink}{source}\n\n"
        f"    Example:\n        >>> import wengert as wg\n        >>> {example}\n        (2,)\n    "
    )
    _FUNCTIONS[name] = f
    return unconverted(f)


def _sentence(text: str) -> str:
    """A text with a capital at its start, unless it begins with a formula."""
    word = text.split(" ")[0]
    return text if "(" in word or "^" in word or (len(word) == 1 and word != "a") else text[:1].upper() + text[1:]


def _one(name: str, op: Op, rule: Callable[[Op, Any], Any] = unary_float) -> Callable[[Any], Any]:
    def function(x: ArrayLike) -> Any:
        try:
            return rule(op, x)
        except Exception as error:
            explain_caller(error)
            raise

    arguments = f"        x: an array of {_dtypes_text(op)} values, or a number."
    return _document(function, name, op, arguments, f"wg.{name}({_sample(op)}).shape")


def _two(name: str, op: Op, rule: Callable[[Op, Any, Any], Any] = binary) -> Callable[[Any, Any], Any]:
    def function(x1: ArrayLike, x2: ArrayLike) -> Any:
        try:
            return rule(op, x1, x2)
        except Exception as error:
            explain_caller(error)
            raise

    return _document_two(function, name, op, "x1", "x2")


def _bits(name: str, op: Op, rule: Callable[[Op, Any, Any], Any] = binary) -> Callable[[Any, Any], Any]:
    """As `_two`, for ops on bits, whose operands Keras calls x and y."""

    def function(x: ArrayLike, y: ArrayLike) -> Any:
        try:
            return rule(op, x, y)
        except Exception as error:
            explain_caller(error)
            raise

    return _document_two(function, name, op, "x", "y")


def _document_two(f: Callable[..., Any], name: str, op: Op, first: str, second: str) -> Callable[..., Any]:
    arguments = (
        f"        {first}: an array of {_dtypes_text(op)} values, or a number.\n"
        f"        {second}: the same; shapes broadcast and dtypes promote as NumPy's."
    )
    return _document(f, name, op, arguments, f"wg.{name}({_sample(op)}, {_sample(op)}).shape")


def _dtypes_text(op: Op) -> str:
    return {"any": "any", "float": "real", "inexact": "real or complex"}.get(op.facts.dtypes, op.facts.dtypes)


def _sample(op: Op) -> str:
    if op.facts.dtypes in ("bool", "integer", "integer or bool"):
        return "wg.tensor([1, 0])" if "integer" in op.facts.dtypes else "wg.tensor([True, False])"
    domain = op.facts.domain
    low, high = domain[0] if isinstance(domain[0], tuple) else domain
    middle = (low + high) / 2 or 0.25
    return f"wg.tensor([{middle:g}, {middle:g}])"


# -- arithmetic ------------------------------------------------------------------------------------------------------


def add(x1: Any, x2: ArrayLike) -> Any:
    """x1 + x2, element by element.

    Args:
        x1: an array or a number.
        x2: the same; shapes broadcast and dtypes promote as NumPy's.

    Returns:
        The sum, in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.add([1.0, 2.0], 3)
        array([4., 5.])
    """
    if type(x2) in _NUMBER and type(x1) is Tensor and x1._data.dtype.kind in _WITH_NUMBER[x1._weak]:
        return with_number(S.add_number, x1, x2)
    if type(x1) in _NUMBER and type(x2) is Tensor and x2._data.dtype.kind in _WITH_NUMBER[x2._weak]:
        return with_number(S.add_number, x2, x1)
    return binary(S.add, x1, x2)


def subtract(x1: ArrayLike, x2: ArrayLike) -> Any:
    """x1 - x2, element by element.

    Args:
        x1: an array or a number.
        x2: the same; shapes broadcast and dtypes promote as NumPy's.

    Returns:
        The difference, in the kind of array that came in.

    Raises:
        TypeError: for boolean operands, as NumPy.

    Example:
        >>> import wengert as wg
        >>> wg.subtract([1.0, 2.0], 3)
        array([-2., -1.])
    """
    if type(x2) in _NUMBER and type(x1) is Tensor and x1._data.dtype.kind in "fcV":
        # of zeros, too: on a branch cut their sign decides
        return with_number(S.add_number, x1, -complex(x2) if x1._data.dtype.kind == "c" else -x2 if x2 else -float(x2))
    return binary(S.sub, x1, x2)


def multiply(x1: Any, x2: ArrayLike) -> Any:
    """x1 * x2, element by element.

    Args:
        x1: an array or a number.
        x2: the same; shapes broadcast and dtypes promote as NumPy's.

    Returns:
        The product, in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.multiply([1.0, 2.0], 3)
        array([3., 6.])
    """
    if type(x2) in _NUMBER and type(x1) is Tensor and x1._data.dtype.kind in _WITH_NUMBER[x1._weak]:
        return with_number(S.times_number, x1, x2)
    if type(x1) in _NUMBER and type(x2) is Tensor and x2._data.dtype.kind in _WITH_NUMBER[x2._weak]:
        return with_number(S.times_number, x2, x1)
    return binary(S.mul, x1, x2)


def power(x1: ArrayLike, x2: Any) -> Any:
    """x1 ** x2, element by element.

    At kinks: the slope in x1 is 0 where x2 is 0; the slope in x2 is 0 where x1 <= 0.

    Args:
        x1: an array or a number.
        x2: the same; shapes broadcast and dtypes promote as NumPy's.

    Returns:
        The power, in the kind of array that came in; NaN where a negative real base has a fractional exponent.

    Raises:
        ValueError: an integer base with a negative integer exponent, as NumPy.

    Example:
        >>> import wengert as wg
        >>> wg.power([1.0, 2.0], 3)
        array([1., 8.])
    """
    if type(x2) in _NUMBER and type(x1) is Tensor and x1._data.dtype.kind in _WITH_NUMBER[x1._weak]:
        if type(x2) is int and x2 < 0 and dtypes.is_integer(x1._data.dtype):
            return binary(E.power, x1, x2)  # raises, with NumPy's words
        return with_number(E.power_number, x1, x2)
    return binary_number(E.power, x1, x2)


divide = true_divide = _two("divide", E.div, binary_quotient)
negative = _one("negative", S.neg, unary)
reciprocal = _one("reciprocal", E.reciprocal)
square = _one("square", E.square, unary_number)
sqrt = _one("sqrt", E.sqrt)
rsqrt = _one("rsqrt", E.rsqrt)
cbrt = _one("cbrt", E.cbrt)
floor_divide = _two("floor_divide", D.floor_divide, binary_number)


def positive(x: ArrayLike) -> Any:
    """x itself, as a new array.

    Args:
        x: an array or a number.

    Returns:
        The same values in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.positive([1.0, -2.0])
        array([ 1., -2.])
    """
    return unary(S.alias, x)


def abs(x: Any) -> Any:
    """The magnitude of x, element by element.

    At kinks: the gradient is 0 at 0.

    Args:
        x: an array of real or complex values, or a number.

    Returns:
        The magnitudes, real, in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.abs([1.0, -2.0])
        array([1., 2.])
    """
    if type(x) is Tensor and x._data.dtype.kind == "b":
        return x
    return unary(W.abs_, x)


absolute = abs


@names_errors
def fabs(x: ArrayLike) -> Any:
    """The magnitude of real numbers, element by element, as floats.

    At kinks: the gradient is 0 at 0.

    Args:
        x: an array of real values, or a number.

    Returns:
        The magnitudes in the kind of array that came in; integers give floats.

    Raises:
        TypeError: for complex numbers, as NumPy (`abs` takes them).

    Example:
        >>> import wengert as wg
        >>> wg.fabs([1, -2])
        array([1., 2.])
    """
    a = as_tensor(x, "fabs")
    if a.dtype.kind == "c":
        raise TypeError(at_user_line("fabs: x is complex; abs takes complex numbers"))
    return outward(apply(W.abs_, (as_float(a),)), x)


# -- exponentials and logarithms ---------------------------------------------------------------------------------------

exp = _one("exp", E.exp)
exp2 = _one("exp2", E.exp2)
expm1 = _one("expm1", E.expm1)
log = _one("log", E.log)
log2 = _one("log2", E.log2)
log10 = _one("log10", E.log10)
log1p = _one("log1p", E.log1p)
logaddexp = _two("logaddexp", E.logaddexp, binary_float)
logaddexp2 = _two("logaddexp2", E.logaddexp2, binary_float)
sigmoid = _one("sigmoid", E.sigmoid)

# -- trigonometry ------------------------------------------------------------------------------------------------------

sin = _one("sin", E.sin)
cos = _one("cos", E.cos)
tan = _one("tan", E.tan)
arcsin = _one("arcsin", E.arcsin)
arccos = _one("arccos", E.arccos)
arctan = _one("arctan", E.arctan)
sinh = _one("sinh", E.sinh)
cosh = _one("cosh", E.cosh)
tanh = _one("tanh", E.tanh)
arcsinh = _one("arcsinh", E.arcsinh)
arccosh = _one("arccosh", E.arccosh)
arctanh = _one("arctanh", E.arctanh)
arctan2 = _two("arctan2", E.arctan2, binary_float)
hypot = _two("hypot", E.hypot, binary_float)

# -- comparison and logic ----------------------------------------------------------------------------------------------

equal = _two("equal", D.eq, compare)
not_equal = _two("not_equal", D.ne, compare)
less = _two("less", D.lt, compare)
less_equal = _two("less_equal", D.le, compare)
greater = _two("greater", D.gt, compare)
greater_equal = _two("greater_equal", D.ge, compare)
isnan = _one("isnan", D.isnan, unary)
isinf = _one("isinf", D.isinf, unary)
isfinite = _one("isfinite", D.isfinite, unary)
signbit = _one("signbit", D.signbit, unary_number)


def _truth(x: Tensor) -> Tensor:
    """Whether each element is not zero."""
    return x if x.dtype == dtypes.bool_ else apply(D.ne, (x, S.fill(x, 0)))


@for_two("b")
def _logical(op: Op, x: ArrayLike, y: ArrayLike) -> Any:
    a, b = tensors_of(x, y, op.name)
    return outward(binary(op, _truth(a), _truth(b)), x, y)


logical_and = _two("logical_and", D.logical_and, _logical)
logical_or = _two("logical_or", D.logical_or, _logical)
logical_xor = _two("logical_xor", D.logical_xor, _logical)


@names_errors
def logical_not(x: ArrayLike) -> Any:
    """Whether each element is zero (or False).

    Args:
        x: an array or a number.

    Returns:
        Booleans in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.logical_not([1.0, 0.0])
        array([False,  True])
    """
    (a,) = (tensors_of(x, 0, "logical_not")[0],)
    return outward(apply(D.logical_not, (_truth(a),)), x)


bitwise_and = _bits("bitwise_and", D.bitwise_and)
bitwise_or = _bits("bitwise_or", D.bitwise_or)
bitwise_xor = _bits("bitwise_xor", D.bitwise_xor)
bitwise_not = bitwise_invert = invert = _one("bitwise_not", D.bitwise_not, unary)
left_shift = bitwise_left_shift = _bits("left_shift", D.left_shift, binary_number)
right_shift = bitwise_right_shift = _bits("right_shift", D.right_shift, binary_number)

# -- rounding ----------------------------------------------------------------------------------------------------------


@for_one("f")
def _rounding(op: Op, x: ArrayLike) -> Any:
    """Integers are round already; floats take the primitive."""
    a = tensors_of(x, 0, op.name)[0]
    rounded = a if not dtypes.is_inexact(a.dtype) else apply(op, (as_float(a),))
    return outward(rounded, x)


@for_one("f")
def _nearest(op: Op, x: ArrayLike) -> Any:
    """Integers become floats; complex numbers are rounded in both parts."""
    a = as_float(as_tensor(x, op.name))
    if not dtypes.is_complex(a.dtype):
        return outward(apply(op, (a,)), x)
    return outward(S.as_complex(apply(op, (S.real(a),)), apply(op, (S.imag(a),))), x)


@for_one("iuf")
def _direction(op: Op, x: ArrayLike) -> Any:
    """The sign of a complex number is its direction, z / |z|, which is not constant between jumps."""
    a = as_tensor(x, op.name)
    return outward(W.unit(a) if dtypes.is_complex(a.dtype) else apply(op, (a,)), x)


floor = _one("floor", D.floor, _rounding)
ceil = _one("ceil", D.ceil, _rounding)
trunc = _one("trunc", D.trunc, _rounding)
rint = _one("rint", D.rint, _nearest)
sign = _one("sign", D.sign, _direction)

# a checker need not follow this: it takes every name without an underscore, which is what is meant
__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    name for name in dir() if not name.startswith("_") and getattr(globals()[name], "__module__", "") == __name__
]
