"""NumPy's makers of arrays: from data, from a shape, from a range.

Those with no array argument give tensors; `array` and its kin give what came in, and record lists that hold tensors.
"""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np

from .. import ops
from .._core import dtypes
from .._core.argument_types import ArrayLike, DTypeLike, ShapeLike
from .._core.moving import beside
from .._core.tensor import Tensor
from ..ops.memory.sharing import as_array, lies_in_order, own
from ..ops.promotion import as_tensor, cast, converted, names_errors
from ._decorators import accept, as_maker, as_numpy, named_dtype
from ._foreign import or_numpys
from ._objects import OBJECTS, objects_in, objects_of, tensor_among
from ._shapes import broadcast_arrays, reshape


@or_numpys
@names_errors
def array(
    object: ArrayLike, dtype: Any = None, *, copy: bool = True, order: str = "K", subok: bool = False, ndmin: int = 0,
    ndmax: int = 0, like: object = None,
) -> Tensor:  # fmt: skip
    """A tensor of an array, a number or a nested list; a list that holds tensors is recorded.

    Args:
        object: an array, a tensor, a number or a nested list of these.
        dtype: the dtype of the result; by default that of the data.
        copy: None or False let the result share with a tensor of that dtype.
        order: accepted for NumPy's sake.
        subok: accepted for NumPy's sake.
        ndmin: the least number of axes; leading ones of length 1 are added.
        ndmax: accepted for NumPy's sake.
        like: accepted for NumPy's sake.

    Returns:
        A tensor.

    Raises:
        ValueError: if a nested list is ragged.
        TypeError: if it holds anything but numbers and arrays.

    Example:
        >>> import wengert.numpy as np
        >>> np.array([1.0, 2.0])
        Tensor([1., 2.], shape=(2,), dtype=float64)
    """
    accept("np.array", order=order)
    if not copy and isinstance(object, Tensor) and _wanted(dtype, object) in (None, object.dtype):
        return object[(None,) * (ndmin - object.ndim)] if object.ndim < ndmin else object
    # a copy of an array: what the caller writes into it later is not ours
    data = np.array(object, subok=True) if isinstance(object, np.ndarray) else object
    try:
        x = converted(data, _wanted(dtype, data), "array")
    except (TypeError, ValueError):  # tensors of several shapes, or beside what is no number
        if dtype not in OBJECTS or not tensor_among(data):
            raise
        return objects_of(data)
    x = own(x, object)
    if x.ndim < ndmin:
        x = ops.reshape(x, (1,) * (ndmin - x.ndim) + tuple(x.shape))
    return in_columns_if(order, as_array(x))


def in_columns_if(order: str | None, x: Tensor) -> Tensor:
    """A tensor, which lies column by column in memory if the order is "F": views and orders "K" and "A" tell."""
    return array(x.T).T if order == "F" and x.ndim > 1 else x


def _wanted(dtype: DTypeLike | None, data: ArrayLike) -> Any:
    """The dtype that is asked for; arrays of objects that hold tensors become one tensor, of the tensors' dtype."""
    if dtype is None or (dtype in OBJECTS and tensor_among(data)):
        return None
    return named_dtype(dtype)


@or_numpys
@names_errors
def asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: object = None,
    copy: bool | None = None,
    like: object = None,
) -> Tensor:
    """A tensor of an array, a number or a nested list; a tensor is itself.

    Args:
        a: an array, a tensor, a number or a nested list of these.
        dtype: the dtype of the result; by default that of the data.
        order: accepted for NumPy's sake.
        device: None or "cpu".
        copy: accepted for NumPy's sake.
        like: accepted for NumPy's sake.

    Returns:
        A tensor.

    Example:
        >>> import wengert.numpy as np
        >>> np.asarray([1.0, 2.0])
        Tensor([1., 2.], shape=(2,), dtype=float64)
    """
    accept("np.asarray", order=order, device=device)
    wanted = _wanted(dtype, a)
    if isinstance(a, Tensor) and wanted in (None, a.dtype) and (order != "F" or lies_in_order(a, "F")):
        return a.__copy__() if copy else a
    return in_columns_if(order, as_array(converted(a, wanted, "asarray")))


asanyarray = asarray


@or_numpys
@names_errors
def ascontiguousarray(a: ArrayLike, dtype: DTypeLike | None = None, *, like: object = None) -> Tensor:
    """`asarray` with at least one axis, as NumPy's.

    Args:
        a: an array, a tensor, a number or a nested list of these.
        dtype: the dtype of the result; by default that of the data.
        like: accepted for NumPy's sake.

    Returns:
        A tensor.

    Example:
        >>> import wengert.numpy as np
        >>> np.ascontiguousarray(1.0)
        Tensor([1.], shape=(1,), dtype=float64)
    """
    return in_order(a, dtype, "C")


def in_order(a: ArrayLike, dtype: Any, order: str) -> Tensor:
    """The array itself where it is a tensor of this dtype that lies so in memory; a new one otherwise."""
    is_there = isinstance(a, Tensor) and _wanted(dtype, a) in (None, a.dtype) and lies_in_order(a, order)
    if isinstance(a, Tensor) and is_there and (a.ndim or a._link is not None):
        return a if a.ndim else a.reshape(1)  # a view of an array without axes
    return array(a, dtype, order=order, ndmin=1)


@as_numpy
def copy(a: ArrayLike, order: str = "K", subok: bool = False) -> Any:
    """The same values as a new array."""
    accept("np.copy", order=order)
    return in_columns_if(order, ops.positive(as_tensor(a, "copy")))


@as_numpy
def astype(x: ArrayLike, dtype: DTypeLike, /, *, copy: bool = True, device: object = None) -> Any:
    """The values in another dtype. A cast to integers or booleans ends the gradient."""
    accept("np.astype", device=device)
    if isinstance(x, Tensor):
        return x.astype(named_dtype(dtype), copy=copy)
    return converted(x, named_dtype(dtype), "astype")


# -- from a shape ----------------------------------------------------------------------------------------------------


def _filled(shape: Any, value: Any, dtype: Any, name: str, order: Any, device: object) -> Tensor:
    accept(f"np.{name}", order=order, device=device)
    if dtype in OBJECTS:  # tensors are written into it, and `np.array` of it is a tensor
        return objects_in(np.full(shape, value, object))
    wanted = named_dtype(dtype) if dtype is not None else dtypes.default_float()
    return in_columns_if(order, as_array(ops.full(shape, value, dtype=wanted)))


@as_maker
def zeros(
    shape: ShapeLike, dtype: DTypeLike | None = None, order: str = "C", *, device: object = None, like: object = None
) -> Tensor:
    """A tensor of zeros."""
    return _filled(shape, 0, dtype, "zeros", order, device)


@as_maker
def empty(
    shape: ShapeLike, dtype: DTypeLike | None = None, order: Any = "C", *, device: Any = None, like: object = None
) -> Tensor:
    """A tensor to be written into: of zeros; of None where the dtype is object."""
    return _filled(shape, None if dtype in OBJECTS else 0, dtype, "empty", order, device)


@as_maker
def ones(
    shape: ShapeLike, dtype: DTypeLike | None = None, order: Any = "C", *, device: Any = None, like: object = None
) -> Tensor:
    """A tensor of ones."""
    return _filled(shape, 1, dtype, "ones", order, device)


@as_maker
def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: object = None, like: object = None
) -> Tensor:
    """A tensor of one value, which may be a tensor itself, and is broadcast."""
    accept("np.full", order=order, device=device)
    if dtype in OBJECTS:
        made = np.empty(shape, object)
        made[...] = objects_of(fill_value) if tensor_among(fill_value) else fill_value
        return objects_in(made)
    x = converted(fill_value, None if dtype is None else named_dtype(dtype), "full")
    whole = as_array(own(ops.broadcast_to(x, shape if isinstance(shape, (tuple, list)) else (shape,)), x))
    return in_columns_if(order, whole)


def _like(a: ArrayLike, dtype: DTypeLike | None, shape: Any) -> tuple[Any, Any]:
    x = as_tensor(a)
    if shape is None:
        shape = x.shape
    return shape, dtype if dtype in OBJECTS else x.dtype if dtype is None else named_dtype(dtype)


def _filled_like(
    a: ArrayLike, value: Any, dtype: DTypeLike | None, name: str, order: object, shape: Any, device: object
) -> Any:
    shape, dtype = _like(a, dtype, shape)
    made = _filled(shape, value, dtype, name, order, device)
    return made if dtype in OBJECTS else beside(made, as_tensor(a))


@as_numpy
def zeros_like(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    order: Any = "K",
    subok: bool = True,
    shape: ArrayLike | None = None,
    *,
    device: Any = None,
) -> Any:
    """Zeros in the shape and dtype of an array."""
    return _filled_like(a, 0, dtype, "zeros_like", order, shape, device)


@as_numpy
def empty_like(
    prototype: Any, /, dtype: Any = None, order: Any = "K", subok: bool = True, shape: ArrayLike | None = None, *,
    device: Any = None,
) -> Any:  # fmt: skip
    """Zeros in the shape and dtype of an array: no result is ever left to chance; None where the dtype is object."""
    return _filled_like(prototype, None if dtype in OBJECTS else 0, dtype, "empty_like", order, shape, device)


@as_numpy
def ones_like(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    order: Any = "K",
    subok: bool = True,
    shape: ArrayLike | None = None,
    *,
    device: Any = None,
) -> Any:
    """Ones in the shape and dtype of an array."""
    return _filled_like(a, 1, dtype, "ones_like", order, shape, device)


@as_numpy
def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *,
    device: Any = None,
) -> Any:  # fmt: skip
    """One value, which may be a tensor and is recorded, in the shape and dtype of an array."""
    shape, dtype = _like(a, dtype, shape)
    made = full(shape, fill_value, dtype, order, device=device)
    return made if dtype in OBJECTS else beside(made, as_tensor(a))


@as_maker
def eye(
    N: SupportsIndex,
    M: ArrayLike | None = None,
    k: int = 0,
    dtype: DTypeLike = float,
    order: str = "C",
    *,
    device: object = None,
    like: object = None,
) -> Tensor:
    """Ones on a diagonal, zeros elsewhere."""
    accept("np.eye", order=order, device=device)
    return ops.eye(N, M, k, None if dtype is float else dtype)


@as_maker
def identity(n: Any, dtype: DTypeLike | None = None, *, like: object = None) -> Tensor:
    """The identity matrix."""
    return ops.identity(n, dtype)


@as_maker
def tri(N: Any, M: ArrayLike | None = None, k: int = 0, dtype: DTypeLike = float, *, like: Any = None) -> Tensor:
    """Ones on and below a diagonal, zeros above."""
    return ops.tri(N, M, k, None if dtype is float else dtype)


# -- ranges ----------------------------------------------------------------------------------------------------------


@as_maker
def arange(
    start_or_stop: Any,
    /,
    stop: ArrayLike | None = None,
    step: object = 1,
    *,
    dtype: DTypeLike | None = None,
    device: object = None,
    like: object = None,
) -> Tensor:
    """Evenly spaced values of a half-open interval."""
    accept("np.arange", device=device)
    if stop is None:
        return ops.arange(0, start_or_stop, step, dtype=dtype)
    return ops.arange(start_or_stop, stop, step, dtype=dtype)


@as_maker
def linspace(
    start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, retstep: bool = False,
    dtype: DTypeLike | None = None, axis: int = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    """Evenly spaced values of an interval; differentiable in both ends, which may be arrays."""
    accept("np.linspace", device=device)
    wanted = None if dtype is None else named_dtype(dtype)
    exact = wanted is not None and wanted.kind in "iu"
    result = ops.linspace(start, stop, num, endpoint, retstep, None if exact else wanted, axis)
    if not exact:
        return result
    points = ops.cast(ops.floor(result[0] if retstep else result), wanted)  # NumPy rounds integers down
    return (points, result[1]) if retstep else points


@as_maker
def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Any:
    """Powers of a base whose exponents are evenly spaced."""
    if np.ndim(base):
        base = ops.expand_dims(base, axis)
    return ops.logspace(start, stop, num, endpoint, base, dtype, axis)


@as_numpy
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """The coordinates of a grid from those of its axes.

    Example:
        >>> import wengert.numpy as np
        >>> [g.shape for g in np.meshgrid([1.0, 2.0, 3.0], [4.0, 5.0])]
        [(2, 3), (2, 3)]
    """
    if not copy:
        return _views_of_grid(xi, sparse, indexing)
    if sparse:
        axes = list(np.ix_(*(range(as_tensor(x).size) for x in xi)))
        order = [1, 0, *range(2, len(xi))] if indexing == "xy" and len(xi) > 1 else list(range(len(xi)))
        shapes = [grid.shape for grid in axes]
        narrow = [(*[shape[order[i]] for i in range(len(xi))],) for shape in shapes]
        return (*[ops.reshape(as_tensor(x), shape) for x, shape in zip(xi, narrow)],)
    return tuple(ops.meshgrid(*(ops.ravel(as_tensor(x)) for x in xi), indexing=indexing))


def _views_of_grid(xi: tuple[Any, ...], sparse: bool, indexing: str) -> tuple[Any, ...]:
    """The coordinates of a grid as views of those of its axes."""
    order = [1, 0, *range(2, len(xi))] if indexing == "xy" and len(xi) > 1 else [*range(len(xi))]
    shapes = [(*[-1 if axis == order[i] else 1 for axis in range(len(xi))],) for i in range(len(xi))]
    rows = [reshape(x if isinstance(x, Tensor) else as_tensor(x, "meshgrid"), s) for x, s in zip(xi, shapes)]
    return (*rows,) if sparse else broadcast_arrays(*rows)


@as_numpy
def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Any:
    """The Vandermonde matrix: powers of a vector in columns."""
    row = as_tensor(x, "vander")
    return ops.vander(cast(row, dtypes.promote(row.dtype, np.dtype(int))), N, increasing)


__all__ = [
    "arange", "array", "asanyarray", "asarray", "ascontiguousarray", "astype", "copy", "empty", "empty_like", "eye",
    "full", "full_like", "identity", "linspace", "logspace", "meshgrid", "ones", "ones_like", "tri", "vander", "zeros",
    "zeros_like",
]  # fmt: skip
