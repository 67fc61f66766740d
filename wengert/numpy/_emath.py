"""`np.emath`: roots, logarithms, powers and inverse functions whose results are complex where real ones end.

NumPy looks at the elements to decide between real and complex results. A trace does not know them: a complex operand
is taken there, a real one is refused.
"""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np

from .. import ops
from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..errors import TracingError
from ..ops.promotion import as_tensor
from ._decorators import as_numpy


def _or_complex(x: ArrayLike, name: str, is_outside: Any) -> Tensor:
    """x, as a complex tensor where a real element lies outside of the real function's domain."""
    x = as_tensor(x, f"np.emath.{name}")
    if x.dtype.kind == "c":
        return x
    if x.is_symbolic:
        raise TracingError(
            at_user_line(
                f"np.emath.{name}: whether a real tensor of shape {x.shape} has elements outside of the real "
                f"function's domain is not known while tracing, and decides the dtype; give it a complex one (x + 0j), "
                f"or use np.{name}"
            )
        )
    values = np.asarray(ops.stop_gradient(x).numpy())
    if not np.any(is_outside(values)):
        return x
    return ops.astype(x, np.complex64 if x.dtype == np.float32 else np.complex128)


def _is_negative(x: Any) -> Any:
    return x < 0


def _is_beyond_one(x: Tensor) -> Any:
    return np.abs(x) > 1


@as_numpy
def sqrt(x: ArrayLike) -> Any:
    """The square root; complex where x is negative.

    Example:
        >>> import wengert.numpy as np
        >>> complex(np.emath.sqrt(np.array(-4.0)).numpy())
        2j
    """
    return ops.sqrt(_or_complex(x, "sqrt", _is_negative))


@as_numpy
def log(x: ArrayLike) -> Any:
    """The natural logarithm; complex where x is negative."""
    return ops.log(_or_complex(x, "log", _is_negative))


@as_numpy
def log2(x: ArrayLike) -> Any:
    """The logarithm to base 2; complex where x is negative."""
    return ops.log2(_or_complex(x, "log2", _is_negative))


@as_numpy
def log10(x: ArrayLike) -> Any:
    """The logarithm to base 10; complex where x is negative."""
    return ops.log10(_or_complex(x, "log10", _is_negative))


@as_numpy
def logn(n: SupportsIndex, x: ArrayLike) -> Any:
    """The logarithm to base n; complex where x or n is negative."""
    return ops.log(_or_complex(x, "logn", _is_negative)) / ops.log(_or_complex(n, "logn", _is_negative))


@as_numpy
def power(x: ArrayLike, p: ArrayLike) -> Any:
    """x to the power p; complex where x is negative."""
    return ops.power(_or_complex(x, "power", _is_negative), p)


@as_numpy
def arcsin(x: ArrayLike) -> Any:
    """The inverse sine; complex where abs(x) is above 1."""
    return ops.arcsin(_or_complex(x, "arcsin", _is_beyond_one))


@as_numpy
def arccos(x: ArrayLike) -> Any:
    """The inverse cosine; complex where abs(x) is above 1."""
    return ops.arccos(_or_complex(x, "arccos", _is_beyond_one))


@as_numpy
def arctanh(x: ArrayLike) -> Any:
    """The inverse hyperbolic tangent; complex where abs(x) is above 1."""
    return ops.arctanh(_or_complex(x, "arctanh", _is_beyond_one))


__all__ = ["arccos", "arcsin", "arctanh", "log", "log10", "log2", "logn", "power", "sqrt"]
