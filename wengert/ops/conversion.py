"""`tensor`: from numbers, lists and arrays to a tensor of one's own."""

from __future__ import annotations

import re
from copy import copy
from typing import Any

import numpy as np

from .._core.argument_types import ArrayLike
from .._core.constant import strong
from .._core.engine import is_native, stands_in
from .._core.kinds import ARRAYS
from .._core.state import next_serial
from .._core.tensor import Tensor, Value
from .._core.user_line import at_user_line
from .._prims import structural
from .promotion import as_tensor, converted, names_errors, unary

__all__ = ["constant", "debug_print", "is_tensor", "stop_gradient", "tensor"]


@names_errors
def tensor(data: Any, dtype: Any = None) -> Tensor:
    """A tensor holding a copy of the data.

    Args:
        data: a number, a nested list (which may hold tensors: it is recorded then), an array, a tensor or a Variable.
        dtype: converts the data; by default NumPy's choice, with bare Python floats in the default float.

    Returns:
        A `Tensor`. It has a tensor's gradient; who writes to one of the two does not change the other.

    Raises:
        TypeError: if the data or the dtype is not numeric.
        ValueError: if a nested list is ragged.
        OverflowError: if the dtype does not hold one of Python's numbers.

    Example:
        >>> import wengert as wg
        >>> wg.tensor([[1, 2], [3, 4]], dtype="float32")
        Tensor([[1., 2.], [3., 4.]], shape=(2, 2), dtype=float32)
    """
    if isinstance(data, Tensor):
        result = copy(data if dtype is None else converted(data, dtype, "tensor"))
    else:
        result = converted(data, dtype, "tensor")
        if stands_in(type(data)):
            result = structural.alias(result)  # an op, as which a trace knows the read of a framework's variable
        elif type(result._data) is not Value and not _makes_tensors(data):
            result = Tensor(_copied(result._data), next_serial(), result._cut)
    return strong(result)


def _makes_tensors(data: ArrayLike) -> bool:
    """Whether what comes of it is its own or nobody else's: a list's, a Variable's (which is a read) or of slices."""
    return isinstance(data, (list, tuple)) or hasattr(type(data), "__wengert_tensor__")


constant = tensor


def _copied(native: object) -> Any:
    if isinstance(native, np.ndarray):
        return np.array(native, order="C")
    return native


def is_tensor(x: ArrayLike) -> bool:
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


@names_errors
def stop_gradient(variable: Tensor) -> Any:
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


@names_errors
def debug_print(fmt: str, *tensors: ArrayLike) -> None:
    """Prints values when the program runs: at once eagerly, at each call in a compiled function, also in loops.

    Args:
        fmt: a format text with one `{}` (or `{:.3f}` for a single number) per tensor.
        *tensors: arrays, tensors or numbers.

    Raises:
        TypeError: if `fmt` is no text.
        ValueError: if it is no format text, or has a field for which there is no tensor.

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
    _require_fields(fmt, len(tensors))
    structural.debug_print(*(as_tensor(t, "debug_print") for t in tensors), text=fmt)


def _require_fields(fmt: str, count: int) -> None:
    """A format text whose fields are `{}` or `{0}` for tensors that there are."""
    if not isinstance(fmt, str):
        raise TypeError(at_user_line(f"debug_print: fmt: wanted a format text, got {type(fmt).__name__}"))
    import string  # takes long to load, and few programs print

    automatic = 0
    for _, field, _, _ in string.Formatter().parse(fmt):
        if field is None:
            continue
        head, *reached = re.split(r"[.\[]", field)
        place = int(head) if head.isdecimal() else automatic
        automatic += not head
        unknown = [name for name in reached if name.isidentifier() and not hasattr(np.ndarray, name)]
        if (head and not head.isdecimal()) or place >= count or unknown:
            raise ValueError(at_user_line(
                f"debug_print: fmt: the field {{{field}}} has no tensor among the {count} given: {{}}, or {{0}}, "
                "{1}, ..."
            ))  # fmt: skip
