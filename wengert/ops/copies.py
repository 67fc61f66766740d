"""Copies, casts and conversions of arrays, and questions about shape and dtype."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.argument_types import ArrayLike, DTypeLike
from .._core.dims import DimLike, Shape
from .._core.tensor import Tensor
from .._prims import structural as S
from . import promotion
from .piecewise import clip
from .promotion import as_tensor, names_errors, public


@public
def cast(x: ArrayLike, dtype: object) -> Any:
    """x in another dtype.

    Args:
        x: an array or a number, of any shape and dtype.
        dtype: the dtype wanted, in any spelling that NumPy takes, or "bfloat16".

    Returns:
        The values in that dtype and in x's kind. Floats to integers lose their fraction and their gradient;
        complex to real keeps the real part.

    Raises:
        TypeError: if the dtype is not a supported one.

    Example:
        >>> import wengert as wg
        >>> wg.ops.cast([1.7, -1.7], "int32")
        array([ 1, -1], dtype=int32)
    """
    return promotion.converted(x, dtypes.as_dtype(dtype), "cast")


@public
def astype(x: ArrayLike, dtype: DTypeLike, copy: bool = True) -> Any:
    """x in another dtype: the array API standard's name of `cast`.

    Args:
        x: an array or a number, of any shape and dtype.
        dtype: the dtype wanted.
        copy: taken for NumPy's sake; results are fresh, or immutable.

    Returns:
        The values in that dtype and in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.astype([1, 0], bool)
        array([ True, False])
    """
    return promotion.converted(x, dtypes.as_dtype(dtype), "astype")


@public
def copy(x: ArrayLike) -> Any:
    """x as a new array with the same gradient.

    Args:
        x: an array or a number.

    Returns:
        The same values in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.ops.copy([1.0, 2.0])
        array([1., 2.])
    """
    return S.alias(as_tensor(x, "copy"))


@names_errors
def convert_to_tensor(
    x: ArrayLike, dtype: DTypeLike | None = None, sparse: object = None, ragged: object = None
) -> Tensor:
    """Any array-like value as a Wengert tensor; a list that holds tensors is recorded.

    Args:
        x: an array, a number, a tensor or a nested list of them.
        dtype: the dtype wanted, or None for that of x.
        sparse: must be None or False: tensors are dense.
        ragged: must be None or False: tensors are rectangular.

    Returns:
        A tensor of x's shape.

    Raises:
        ValueError: for `sparse=True` and `ragged=True`.

    Example:
        >>> import wengert as wg
        >>> wg.ops.convert_to_tensor([1.0, 2.0])
        Tensor([1., 2.], shape=(2,), dtype=float64)
    """
    if sparse or ragged:
        raise ValueError("convert_to_tensor: tensors are dense and rectangular; sparse and ragged must be False")
    return promotion.converted(np.array(x) if isinstance(x, np.ndarray) else x, dtype, "convert_to_tensor")


@names_errors
def array(x: ArrayLike, dtype: object = None) -> Tensor:
    """A tensor of an array, a number or a nested list; a list that holds tensors is recorded.

    Args:
        x: an array, a number, a tensor or a nested list of them.
        dtype: the dtype wanted, or None for that of x.

    Returns:
        A tensor of x's shape, with x's gradient.

    Raises:
        TypeError: if x holds anything but numbers and arrays.
        ValueError: if a nested list is ragged.

    Example:
        >>> import wengert as wg
        >>> wg.ops.array([1.0, 2.0])
        Tensor([1., 2.], shape=(2,), dtype=float64)
    """
    tensor = as_tensor(np.array(x) if isinstance(x, np.ndarray) else x, "array")
    return tensor if dtype is None else promotion.cast(tensor, dtypes.as_dtype(dtype))


@names_errors
def convert_to_numpy(x: ArrayLike) -> np.ndarray[Any, Any]:
    """The values as a NumPy array of their own. Cuts the gradient, on purpose.

    Args:
        x: an array, a number, a tensor or a nested list of numbers.

    Returns:
        A fresh, writable array.

    Raises:
        TracingError: on a symbolic tensor, which has no values.

    Example:
        >>> import wengert as wg
        >>> wg.ops.convert_to_numpy([1.0, 2.0])
        array([1., 2.])
    """
    return np.array(as_tensor(x, "convert_to_numpy").numpy())


@names_errors
def shape(x: ArrayLike) -> Shape:
    """The extents of x.

    Args:
        x: an array or a number.

    Returns:
        A tuple of ints, with a `Dim` where a trace does not know one.

    Example:
        >>> import wengert as wg
        >>> wg.ops.shape([[1, 2, 3]])
        (1, 3)
    """
    return tuple(as_tensor(x, "shape").shape)


@names_errors
def ndim(x: ArrayLike) -> int:
    """The number of axes of x.

    Args:
        x: an array or a number.

    Returns:
        A Python int.

    Example:
        >>> import wengert as wg
        >>> wg.ops.ndim([[1, 2, 3]])
        2
    """
    return as_tensor(x, "ndim").ndim


@names_errors
def size(x: ArrayLike) -> DimLike:
    """The number of elements of x.

    Args:
        x: an array or a number.

    Returns:
        An int, or a `Dim` where a trace does not know it.

    Example:
        >>> import wengert as wg
        >>> wg.ops.size([[1, 2, 3]])
        3
    """
    return as_tensor(x, "size").size


@names_errors
def dtype(x: ArrayLike) -> np.dtype[Any]:
    """The data type of x.

    Args:
        x: an array or a number.

    Returns:
        A `numpy.dtype`.

    Example:
        >>> import wengert as wg
        >>> wg.ops.dtype([1.0, 2.0])
        dtype('float64')
    """
    return as_tensor(x, "dtype").dtype


@public
def saturate_cast(x: ArrayLike, dtype: DTypeLike) -> Any:
    """x in another dtype, with what lies beyond that dtype's range at its nearest bound.

    At kinks: the gradient is 0 for what was moved, and on the bounds themselves it passes.

    Args:
        x: an array of real values.
        dtype: the dtype.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.saturate_cast([-1.0, 300.0], "uint8")
        array([  0, 255], dtype=uint8)
    """
    a, wanted = as_tensor(x, "saturate_cast"), dtypes.as_dtype(dtype)
    if dtypes.bool_ in (a.dtype, wanted) or dtypes.is_complex(a.dtype) or dtypes.is_complex(wanted):
        return promotion.cast(a, wanted)
    low, high = (_inward(a.dtype, bound) for bound in _range_of(wanted))
    ours = _range_of(a.dtype)
    if low > ours[0] or high < ours[1]:
        a = clip(a, max(low, ours[0]), min(high, ours[1]))
    return promotion.cast(a, wanted)


def _range_of(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    if dtypes.is_integer(dtype):
        return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    top = (2 - 2.0**-7) * 2.0**127 if dtype == dtypes.bfloat16 else float(np.finfo(dtype).max)
    return -top, top


def _inward(dtype: np.dtype[Any], bound: Any) -> Any:
    """The bound, or the float next to it on the inner side where a float dtype has no such number."""
    if dtypes.is_integer(dtype):
        return bound if isinstance(bound, int) else math.trunc(bound)
    with np.errstate(over="ignore"):
        near = np.asarray(bound).astype(dtype)
    if abs(int(near) if np.isfinite(near) and isinstance(bound, int) else float(near)) > abs(bound):
        near = np.nextafter(near, np.asarray(0, dtype))
    return float(near)


__all__ = [
    "array",
    "astype",
    "cast",
    "convert_to_numpy",
    "convert_to_tensor",
    "copy",
    "dtype",
    "ndim",
    "saturate_cast",
    "shape",
    "size",
]
