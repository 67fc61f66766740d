"""The standard's dtypes and what it asks of them. Dtypes are `numpy.dtype` objects."""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import builtins
import importlib
from typing import Any, NamedTuple
from typing import cast as cast_type

import numpy as np

from .._core import dtypes
from .._core.argument_types import ArrayLike, DTypeLike
from .._core.dtypes import complex64, complex128, float32, float64, int8, int32, int64, uint32
from .._core.tensor import Tensor, tensor_in
from .._core.user_line import at_user_line
from ..ops.promotion import as_tensor, cast, names_errors

bool = dtypes.bool_
int16, uint8, uint16, uint64 = map(np.dtype, (np.int16, np.uint8, np.uint16, np.uint64))


class FloatInfo(NamedTuple):
    """The limits of a floating dtype, as Python numbers."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype[Any]


class IntegerInfo(NamedTuple):
    """The limits of an integer dtype, as Python numbers."""

    bits: int
    max: int
    min: int
    dtype: np.dtype[Any]


def _dtype_of(x: ArrayLike) -> np.dtype[Any]:
    tensor = tensor_in(x)
    if tensor is not None:
        return tensor.dtype
    return dtypes.as_dtype(x if isinstance(x, (type, str, np.dtype)) else getattr(x, "dtype", x))


@names_errors
def astype(x: ArrayLike, dtype: DTypeLike | None, /, *, copy: object = True, device: object = None) -> Tensor:
    """x in another dtype. A cast to integers or booleans ends the gradient.

    Args:
        x: a tensor.
        dtype: the dtype wanted.
        copy: accepted for the standard's sake: tensors are immutable, so x itself may come back.
        device: None or "cpu".

    Returns:
        The values in that dtype.

    Raises:
        TypeError: if the dtype is not supported, or x is complex and the dtype real.
        ValueError: for another device.

    Example:
        >>> import wengert as wg
        >>> wg.array_api.astype(wg.tensor([1.7]), wg.array_api.int32)
        Tensor([1], shape=(1,), dtype=int32)
    """
    tensor, wanted = as_tensor(x, "astype"), dtypes.as_dtype(dtype)
    if device not in (None, "cpu"):
        raise ValueError(at_user_line(f"astype: device is {device!r}; wanted 'cpu' or None"))
    if dtypes.is_complex(tensor.dtype) and not dtypes.is_complex(wanted) and wanted != bool:
        raise TypeError(
            at_user_line(f"astype: x is {tensor.dtype.name} and has no {wanted.name} values; real(x) or abs(x) has")
        )
    return cast(tensor, wanted)


@names_errors
def can_cast(from_: Any, to: Any, /) -> Any:
    """Whether one dtype goes to another without loss, by the promotion of dtypes.

    Args:
        from_: a dtype or a tensor.
        to: a dtype.

    Returns:
        True or False.

    Example:
        >>> import wengert as wg
        >>> wg.array_api.can_cast(wg.array_api.int32, wg.array_api.float64)
        True
    """
    source, target = _dtype_of(from_), dtypes.as_dtype(to)
    return dtypes.promote(source, target) == target


@names_errors
def finfo(type: Any, /) -> FloatInfo:
    """The limits of a floating dtype; for a complex one those of its parts.

    Args:
        type: a dtype or a tensor.

    Returns:
        `bits`, `eps`, `max`, `min` and `smallest_normal` as Python numbers, and the `dtype`.

    Raises:
        TypeError: if the dtype is not a floating one.

    Example:
        >>> import wengert as wg
        >>> wg.array_api.finfo(wg.array_api.float64).eps
        2.220446049250313e-16
    """
    dtype = dtypes.real_of(_dtype_of(type))
    if not dtypes.is_float(dtype):
        raise TypeError(at_user_line(f"finfo: wanted a floating dtype, got {dtype.name}; iinfo knows integers"))
    limits = _limits_of(dtype)
    return FloatInfo(
        int(limits.bits), float(limits.eps), float(limits.max), float(limits.min), float(limits.smallest_normal), dtype
    )


def _limits_of(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "f":
        return np.finfo(dtype)
    return importlib.import_module("ml_dtypes").finfo(dtype)  # which made the dtype, so it is there


@names_errors
def iinfo(type: Any, /) -> IntegerInfo:
    """The limits of an integer dtype.

    Args:
        type: a dtype or a tensor.

    Returns:
        `bits`, `max` and `min` as Python integers, and the `dtype`.

    Raises:
        TypeError: if the dtype is not an integer one.

    Example:
        >>> import wengert as wg
        >>> wg.array_api.iinfo(wg.array_api.int8).max
        127
    """
    dtype = _dtype_of(type)
    if not dtypes.is_integer(dtype):
        raise TypeError(at_user_line(f"iinfo: wanted an integer dtype, got {dtype.name}; finfo knows floats"))
    limits = np.iinfo(dtype)
    return IntegerInfo(limits.bits, int(limits.max), int(limits.min), dtype)


KINDS = {
    "bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f",
    "complex floating": "c", "numeric": "iufc",
}  # fmt: skip


@names_errors
def isdtype(dtype: DTypeLike, kind: str | None) -> Any:
    """Whether a dtype is of a kind.

    Args:
        dtype: a dtype.
        kind: a dtype, one of "bool", "signed integer", "unsigned integer", "integral", "real floating",
            "complex floating" and "numeric", or a tuple of these, of which one must hold.

    Returns:
        True or False.

    Raises:
        ValueError: for a kind of another name.
        TypeError: for a kind of another type.

    Example:
        >>> import wengert as wg
        >>> wg.array_api.isdtype(wg.array_api.int8, "integral")
        True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, member) for member in cast_type("tuple[Any, ...]", kind))
    own = dtypes.as_dtype(dtype)
    if not isinstance(kind, str):
        return own == dtypes.as_dtype(kind)
    if kind not in KINDS:
        raise ValueError(at_user_line(f"isdtype: kind is {kind!r}; wanted a dtype, {', '.join(map(repr, KINDS))}"))
    return ("f" if dtypes.is_float(own) else own.kind) in KINDS[kind]


_NUMBERS = (builtins.bool, int, float, complex)


@names_errors
def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype in which tensors, dtypes and Python numbers meet; numbers take the others' dtype where they can.

    Args:
        *arrays_and_dtypes: at least one tensor or dtype.

    Returns:
        A dtype.

    Raises:
        ValueError: without a tensor or a dtype.

    Example:
        >>> import wengert as wg
        >>> wg.array_api.result_type(wg.array_api.float32, 1.0)
        dtype('float32')
    """
    numbers = [x for x in arrays_and_dtypes if type(x) in _NUMBERS]
    strong = [_dtype_of(x) for x in arrays_and_dtypes if type(x) not in _NUMBERS]
    if not strong:
        raise ValueError(at_user_line("result_type: wanted at least one array or dtype"))
    met = strong[0]
    for dtype in strong[1:]:
        met = dtypes.promote(met, dtype)
    for number in numbers:
        met = dtypes.weak_dtype(number, met)
    return met


__all__ = [
    "astype", "bool", "can_cast", "complex64", "complex128", "finfo", "float32", "float64", "iinfo", "int8", "int16",
    "int32", "int64", "isdtype", "result_type", "uint8", "uint16", "uint32", "uint64",
]  # fmt: skip
