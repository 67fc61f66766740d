"""`tensor`: from numbers, lists and arrays to a tensor of one's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import dtypes
from .._core.engine import is_native
from .._core.kinds import ARRAYS
from .._core.state import next_serial
from .._core.tensor import Tensor, Value
from .._prims import structural
from .promotion import as_tensor, cast, unary

__all__ = ["constant", "debug_print", "is_tensor", "stop_gradient", "tensor"]


def tensor(data: Any, dtype: Any = None) -> Tensor:
    """A tensor holding a copy of the data.

    Args:
        data: a number, a nested list (which may hold tensors: it is recorded then), an array, a tensor or a Variable.
        dtype: converts the data; by default NumPy's choice, with bare Python floats in the default float.

    Returns:
        A `Tensor`. A tensor that has the dtype already is returned as it is (tensors are immutable).

    Raises:
        TypeError: if the data or the dtype is not numeric.
        ValueError: if a nested list is ragged.

    Example:
        >>> import wengert as wg
        >>> wg.tensor([[1, 2], [3, 4]], dtype="float32")
        Tensor([[1., 2.], [3., 4.]], shape=(2, 2), dtype=float32)
    """
    if isinstance(data, Tensor):
        result = data
    else:
        result = as_tensor(data, "tensor")
        if type(result._data) is not Value and not _makes_tensors(data):
            result = Tensor(_copied(result._data), next_serial(), result._cut)
        result._weak = False
    return result if dtype is None else cast(result, dtypes.as_dtype(dtype))


def _makes_tensors(data: Any) -> bool:
    """Whether what comes of it is its own or nobody else's: a list's, a Variable's (which is a read) or of slices."""
    return isinstance(data, (list, tuple)) or hasattr(type(data), "__wengert_tensor__")


constant = tensor


def _copied(native: Any) -> Any:
    if isinstance(native, np.ndarray):
        return np.array(native, order="C")
    return native


def is_tensor(x: Any) -> bool:
    """Whether a value is a tensor.

    Args:
        x: anything.

    Returns:
        True for Wengert tensors and the native arrays of a framework's engine; False for NumPy arrays and numbers.

    Example:
        >>> import wengert as wg
        >>> wg.ops.is_tensor(wg.tensor(1.0)), wg.ops.is_tensor(1.0)
        (True, False)
    """
    return type(x) is Tensor or (is_native(type(x)) and not isinstance(x, ARRAYS))


def stop_gradient(variable: Any) -> Any:
    """A value as a constant: no gradient flows through it.

    Args:
        variable: an array, a tensor or a number.

    Returns:
        The same values, in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.grad(lambda x: x * wg.stop_gradient(x))(3.0)
        np.float64(3.0)
    """
    return unary(structural.stop_gradient, variable)


def debug_print(fmt: str, *tensors: Any) -> None:
    """Prints values when the program runs: at once eagerly, at each call in a compiled function, also in loops.

    Args:
        fmt: a format text with one `{}` (or `{:.3f}` for a single number) per tensor.
        *tensors: arrays, tensors or numbers.

    Example:
        >>> import wengert as wg
        >>> @wg.function
        ... def f(x):
        ...     wg.debug_print("x is {}", x)
        ...     return x * 2
        >>> f(1.5)
        x is 1.5
        np.float64(3.0)
    """
    structural.debug_print(*(as_tensor(t, "debug_print") for t in tensors), text=fmt)
