"""NumPy's functions that choose, order, compare or clean elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from .._core import dtypes
from .._core.argument_types import ArrayLike, Axes, Out, ShapeLike
from .._core.engine import ndarray_of
from .._core.tensor import Tensor
from .._core.types import same_dim
from .._core.user_line import at_user_line
from ..ops import partitions
from ..ops.indexing import falling, falling_order
from ..ops.memory.writes import write_all
from ..ops.ordering import partition_operands
from ..ops.outside_numbers import in_floats
from ..ops.promotion import (
    as_ndarray,
    as_tensor,
    cast,
    held,
    is_tensor_like,
    named,
    names_errors,
    normal_axis,
    strong,
)
from ..ops.repeating import picked
from ..ops.subscript import is_known, known_places, known_values
from ._decorators import NO_VALUE, accept, as_numpy
from ._foreign import or_numpys
from ._shapes import ravel


@as_numpy
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """x where the condition holds, else y; with the condition alone, the indices where it does.

    The side that is not taken gets gradient zero, whatever its slope."""
    if (x is None) != (y is None):
        raise ValueError(at_user_line("np.where: give both x and y, or neither"))
    return ops.nonzero(condition) if x is None else ops.where(condition, x, y)


def _found(name: str, a: ArrayLike) -> np.ndarray[Any, Any]:
    """The values that decide the shape of a result: they must be known now."""
    if not is_tensor_like(a):
        return as_ndarray(a, name)
    x = as_tensor(a, name)
    x._require_concrete(f"np.{name}")
    return ndarray_of(x._data)


@as_numpy
def nonzero(a: ArrayLike) -> Any:
    """The indices of the elements that are not zero, an integer array for each axis.

    Raises TracingError in a trace, where their number is not known."""
    return ops.nonzero(a)


@as_numpy
def flatnonzero(a: ArrayLike) -> Any:
    """The indices, in one row, of the elements that are not zero."""
    return ops.flatnonzero(a)


@as_numpy
def argwhere(a: ArrayLike) -> Any:
    """The indices of the elements that are not zero, one row for each."""
    return ops.argwhere(a)


@as_numpy
def extract(condition: ArrayLike, arr: ArrayLike) -> Any:
    """The elements for which a condition holds, in one row.

    Example:
        >>> import wengert.numpy as np
        >>> np.extract([True, False], [1.0, 2.0])
        array([1.])
    """
    places = np.flatnonzero(_found("extract", condition))
    return ops.take(ravel(as_tensor(arr, "extract")), places, axis=0)


@as_numpy
def compress(condition: ArrayLike, a: ArrayLike, axis: Axes = None, out: Out | None = None) -> Any:
    """The slices for which a condition holds.

    Example:
        >>> import wengert.numpy as np
        >>> np.compress([True, False], [1.0, 2.0])
        array([1.])
    """
    places = np.flatnonzero(_found("compress", condition))
    x = as_tensor(a, "compress")
    x, axis = (ravel(x), 0) if axis is None else (x, normal_axis(axis, x.ndim, "compress"))
    size = x.shape[axis]
    if type(size) is int and places.size and places[-1] >= size:
        raise IndexError(at_user_line(f"np.compress: the condition holds at {places[-1]} of {size} slices"))
    return ops.take(x, places, axis=axis)


@as_numpy
def select(condlist: ArrayLike, choicelist: ArrayLike, default: ArrayLike = 0) -> Any:
    """Each element from the first choice whose condition holds, else the default."""
    return ops.select(condlist, choicelist, default)


@as_numpy
def choose(a: ArrayLike, choices: Any, out: Out | None = None, mode: str = "raise") -> Any:
    """Each element from the choice that an integer names.

    Example:
        >>> import wengert.numpy as np
        >>> np.choose([1, 0], [[1.0, 2.0], [3.0, 4.0]])
        array([3., 2.])
    """
    index = as_tensor(a, "choose")
    tensors = [as_tensor(c, "choose") for c in choices]
    if mode == "wrap":
        index = ops.mod(index, len(tensors))
    elif mode == "clip":
        index = ops.clip(index, 0, len(tensors) - 1)
    elif mode != "raise":
        raise ValueError(at_user_line(f"np.choose: mode={mode!r} is not known"))
    elif not index.is_symbolic:
        values = ndarray_of(index._data)
        if values.size and not (values.min() >= 0 and values.max() < len(tensors)):
            raise ValueError(
                at_user_line(
                    f"np.choose: indices go from {values.min()} to {values.max()}; wanted 0 to {len(tensors) - 1}"
                )
            )
    result = tensors[-1]
    for number in reversed(range(len(tensors) - 1)):
        result = ops.where(ops.equal(index, number), tensors[number], result)
    return ops.broadcast_to(result, np.broadcast_shapes(result.shape, index.shape))


@as_numpy
def clip(
    a: ArrayLike, a_min: Any = NO_VALUE, a_max: Any = NO_VALUE, out: Out | None = None, *, min: Any = NO_VALUE,
    max: Any = NO_VALUE, **kwargs: Any,
) -> Any:  # fmt: skip
    """Elements kept between two bounds. The gradient passes on the closed interval."""
    dtype = kwargs.pop("dtype", None)
    accept("np.clip", **{key: value for key, value in kwargs.items() if key not in ("subok", "order")})
    low = next((v for v in (a_min, min) if v is not NO_VALUE), None)
    high = next((v for v in (a_max, max) if v is not NO_VALUE), None)
    found = ops.clip(a, low, high)
    return found if dtype is None else ops.cast(found, np.dtype(dtype))


@as_numpy
def take(a: ArrayLike, indices: ArrayLike, axis: Axes = None, out: Out | None = None, mode: str = "raise") -> Any:
    """Elements, or slices along an axis, by number."""
    x = as_tensor(a, "take")
    if axis is None:
        x, axis = ravel(x), 0
    axis = normal_axis(axis, x.ndim, "take")
    index = as_tensor(indices, "take")
    if mode == "wrap":
        index = ops.mod(index, x.shape[axis])
    elif mode == "clip":
        index = ops.clip(index, 0, x.shape[axis] - 1)
    elif mode != "raise":
        raise ValueError(at_user_line(f"np.take: mode={mode!r} is not known"))
    return ops.take(x, index, axis=axis)


@as_numpy
def take_along_axis(arr: ArrayLike, indices: ArrayLike, axis: Axes = -1) -> Any:
    """Elements along an axis by number, row by row."""
    return ops.take_along_axis(arr, indices, axis=axis)


@as_numpy
def delete(arr: ArrayLike, obj: ArrayLike, axis: Axes = None) -> Any:
    """The array without the slices of the given numbers.

    Example:
        >>> import wengert.numpy as np
        >>> np.delete([1.0, 2.0, 3.0], 1)
        array([1., 3.])
    """
    x = as_tensor(arr, "delete")
    if axis is None:
        x, axis = ravel(x), 0
    axis = normal_axis(axis, x.ndim, "delete")
    return picked(x, axis, _renumbered(np.delete, x.shape[axis], known_places(obj, "delete")))


def _renumbered(change: Callable[..., Any], size: Any, *args: object) -> Any:
    """The numbers of slices after NumPy's delete or insert."""
    try:
        return change(np.arange(size), *args)
    except IndexError as error:
        raise IndexError(at_user_line(f"np.{change.__name__}: {error}")) from None


@as_numpy
def insert(arr: ArrayLike, obj: Any, values: ArrayLike, axis: int | None = None) -> Any:
    """The array with values put in before the given places.

    Example:
        >>> import wengert.numpy as np
        >>> np.insert([1.0, 3.0], 1, 2.0)
        array([1., 2., 3.])
    """
    x = as_tensor(arr, "insert")
    new = held(values, x.dtype, "insert")
    if axis is None:
        x, axis = ravel(x), 0
    axis = normal_axis(axis, x.ndim, "insert")
    size: Any = x.shape[axis]
    obj = known_places(obj, "insert")
    # NumPy itself puts marks in; each says from which of the two arrays its place is filled
    marks = _renumbered(np.insert, size, obj, -1)
    count = len(marks) - size
    shape = (*[count if i == axis else n for i, n in enumerate(x.shape)],)
    if np.ndim(obj) == 0 and not isinstance(obj, slice) and new.ndim and axis > 0 and new.ndim == x.ndim - 1:
        new = ops.expand_dims(new, axis)
    both = ops.concatenate([x, cast(ops.broadcast_to(new, shape), x.dtype)], axis=axis)
    places = np.where(marks < 0, size + np.cumsum(marks < 0) - 1, marks)
    return picked(both, axis, places)


# -- order -----------------------------------------------------------------------------------------------------------


@as_numpy
def sort(
    a: ArrayLike,
    axis: Axes = -1,
    kind: str | None = None,
    order: str | None = None,
    *,
    stable: bool | None = None,
    descending: bool = NO_VALUE,
) -> Any:
    """The elements in order along an axis. At a tie each keeps its own gradient, in the order they came."""
    accept("np.sort", kind=kind, stable=stable)
    return ops.sort(a, axis=axis) if descending is NO_VALUE or not descending else falling(a, axis)


@as_numpy
def argsort(
    a: ArrayLike,
    axis: Axes = -1,
    kind: str | None = None,
    order: str | None = None,
    *,
    stable: bool | None = None,
    descending: bool = NO_VALUE,
) -> Any:
    """The integers that would put the elements in order: constants to a gradient."""
    accept("np.argsort", kind=kind, stable=stable)
    return ops.argsort(a, axis=axis) if descending is NO_VALUE or not descending else falling_order(a, axis)


@as_numpy
def partition(
    a: ArrayLike, kth: ShapeLike, axis: Axes = -1, kind: str | None = "introselect", order: str | None = None
) -> Any:
    """The elements with the kth in its place, smaller ones before it and larger ones after it.

    Example:
        >>> import wengert.numpy as np
        >>> np.partition([2.0, 1.0], 0)
        array([1., 2.])
    """
    return partitions.partition(*partition_operands(a, kth, axis, "partition"))


@as_numpy
def argpartition(
    a: ArrayLike, kth: ShapeLike, axis: Axes = -1, kind: str | None = "introselect", order: str | None = None
) -> Any:
    """The integers that would put the kth element in its place, smaller ones before it and larger ones after it."""
    return ops.argpartition(as_tensor(a, "argpartition"), kth, axis)


# -- comparing -------------------------------------------------------------------------------------------------------


@as_numpy
def isclose(a: ArrayLike, b: ArrayLike, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Whether elements are equal within tolerances."""
    return ops.isclose(a, b, rtol, atol, equal_nan)


def _verdict(result: ArrayLike) -> Any:
    """A Python bool, unless the value belongs to a trace."""
    tensor = as_tensor(result)
    return tensor if tensor.is_symbolic else bool(tensor._data)


@names_errors
def allclose(
    a: ArrayLike, b: ArrayLike, rtol: ArrayLike = 1e-05, atol: ArrayLike = 1e-08, equal_nan: bool = False
) -> Any:
    """Whether all elements are equal within tolerances.

    Args:
        a: an array or a tensor.
        b: another that broadcasts with it.
        rtol: the tolerance relative to b.
        atol: the absolute tolerance.
        equal_nan: whether NaN equals NaN.

    Returns:
        A bool (in a trace a boolean tensor).

    Example:
        >>> import wengert.numpy as np
        >>> np.allclose([1.0, 2.0], [1.0, 2.0])
        True
    """
    return _verdict(ops.all(isclose(as_tensor(in_floats(a)), as_tensor(in_floats(b)), rtol, atol, equal_nan)))


@or_numpys
@names_errors
def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Any:
    """Whether two arrays have one shape and equal elements.

    Args:
        a1: an array or a tensor.
        a2: another.
        equal_nan: whether NaN equals NaN.

    Returns:
        A bool (in a trace a boolean tensor).

    Example:
        >>> import wengert.numpy as np
        >>> np.array_equal([1.0, 2.0], [1.0, 2.0])
        True
    """
    x, y = as_tensor(in_floats(a1), "array_equal"), as_tensor(in_floats(a2), "array_equal")
    if tuple(x.shape) != tuple(y.shape):
        return False
    same = ops.equal(x, y)
    if equal_nan:
        same = ops.logical_or(same, ops.logical_and(ops.isnan(x), ops.isnan(y)))
    return _verdict(ops.all(same))


@or_numpys
@names_errors
def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Any:
    """Whether two arrays broadcast to equal elements.

    Args:
        a1: an array or a tensor.
        a2: another.

    Returns:
        A bool (in a trace a boolean tensor).

    Example:
        >>> import wengert.numpy as np
        >>> np.array_equiv([1.0, 1.0], 1.0)
        True
    """
    x, y = as_tensor(a1, "array_equiv"), as_tensor(a2, "array_equiv")
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return _verdict(ops.all(ops.equal(x, y)))


# -- parts and cleaning ----------------------------------------------------------------------------------------------


@as_numpy
def real(val: ArrayLike) -> Any:
    """The real part."""
    return ops.real(val)


@as_numpy
def imag(val: ArrayLike) -> Any:
    """The imaginary part; zeros for real elements."""
    return val.imag if isinstance(val, Tensor) else ops.imag(val)


@as_numpy
def angle(z: ArrayLike, deg: bool = False) -> Any:
    """The angle of complex elements."""
    x = ops.angle(as_tensor(z, "angle"))
    return ops.rad2deg(x) if deg else x


@as_numpy
def nan_to_num(
    x: ArrayLike,
    copy: bool = True,
    nan: ArrayLike = 0.0,
    posinf: ArrayLike | None = None,
    neginf: ArrayLike | None = None,
) -> Any:
    """NaN and infinities replaced, in place with copy=False; what is replaced has gradient zero."""
    if not copy and type(x) is np.ndarray and not any(map(is_tensor_like, (nan, posinf, neginf))):
        return np.nan_to_num(x, False, nan, posinf, neginf)  # pyright: ignore[reportCallIssue, reportArgumentType]
    found = ops.nan_to_num(x, nan, posinf, neginf)
    if not copy and isinstance(x, Tensor) and x.ndim and x.dtype.kind in "fc":
        write_all(x, as_tensor(found), "np.nan_to_num", "unsafe")
        return x
    return found


@as_numpy
def round(a: ArrayLike, decimals: int = 0, out: Out | None = None) -> Any:
    """Rounded to a number of decimals, halves to even."""
    return ops.round(a, decimals)


around = round


@as_numpy
def fix(x: ArrayLike, out: Out | None = None) -> Any:
    """Rounded towards zero. Its gradient is zero.

    Example:
        >>> import wengert.numpy as np
        >>> np.fix([1.7, -1.7])
        array([ 1., -1.])
    """
    return ops.trunc(as_tensor(x, "fix"))


def _signed_infinity(name: str, compare: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def function(x: ArrayLike, out: Out | None = None) -> Any:
        t = as_tensor(x, name)
        return ops.logical_and(ops.isinf(t), compare(t, 0))

    sign = "positive" if name == "isposinf" else "negative"
    named(function, name)
    function.__doc__ = (
        f"Whether elements are {sign} infinity.\n\n    Example:\n        >>> import wengert.numpy as np\n"
        f"        >>> np.{name}([np.inf, -np.inf]).tolist()\n        {[name == 'isposinf', name == 'isneginf']}\n    "
    )
    return as_numpy(function)


isposinf = _signed_infinity("isposinf", ops.greater)
isneginf = _signed_infinity("isneginf", ops.less)


@as_numpy
def real_if_close(a: ArrayLike, tol: Any = 100) -> Any:
    """The real part where all imaginary parts are within `tol` rounding units of 0 (or `tol` itself if it is less than
    1), else the array: that depends on the values, so not in a trace.

    Example:
        >>> import wengert.numpy as np
        >>> np.real_if_close([2.0 + 1e-17j])
        array([2.])
    """
    x = as_tensor(a, "real_if_close")
    if not dtypes.is_complex(x.dtype):
        return x
    x._require_concrete("np.real_if_close")
    bound = tol * np.finfo(x.dtype).eps if tol > 1 else tol
    return ops.real(x) if np.all(np.abs(ops.stop_gradient(x).numpy().imag) < bound) else x


@as_numpy
def sort_complex(a: ArrayLike) -> Any:
    """Sorted by real parts, equal ones by imaginary parts, as complex numbers.

    Example:
        >>> import wengert.numpy as np
        >>> np.sort_complex([2.0, 1.0])
        array([1.+0.j, 2.+0.j])
    """
    x = as_tensor(a, "sort_complex")
    stays = dtypes.is_complex(x.dtype)
    wide = x.dtype if stays else "complex64" if x.dtype in (np.int8, np.int16, np.uint8, np.uint16) else "complex128"
    z = ops.cast(x, wide)
    z = ops.take_along_axis(z, ops.argsort(ops.imag(z), axis=-1), axis=-1)
    return ops.take_along_axis(z, ops.argsort(ops.real(z), axis=-1), axis=-1)  # equal ones stay in order


@as_numpy
def iscomplex(x: ArrayLike) -> Any:
    """Whether elements have an imaginary part that is not zero.

    Example:
        >>> import wengert.numpy as np
        >>> np.iscomplex([1.0, 1.0j])
        array([False,  True])
    """
    return ops.not_equal(ops.imag(as_tensor(x, "iscomplex")), 0)


@as_numpy
def isreal(x: ArrayLike) -> Any:
    """Whether elements have no imaginary part, or a zero one."""
    return ops.equal(ops.imag(as_tensor(x, "isreal")), 0)


@as_numpy
def searchsorted(a: ArrayLike, v: ArrayLike, side: str = "left", sorter: Any = None) -> Any:
    """Where values belong in a sorted row: integers, constants to a gradient."""
    row, values = (as_tensor(strong(x), "searchsorted") for x in (a, v))
    if row.ndim != 1:
        raise ValueError(at_user_line(f"np.searchsorted: the sorted array must have one axis, got {row.shape}"))
    if sorter is not None:
        row = ops.take(row, sorter, axis=0)
    if "c" not in row.dtype.kind + values.dtype.kind:
        return ops.searchsorted(row, values, side)
    if side not in ("left", "right"):
        raise ValueError(at_user_line(f"np.searchsorted: side is 'left' or 'right', got {side!r}"))
    is_before = (ops.less if side == "left" else ops.less_equal)(row, ops.expand_dims(values, -1))
    return ops.sum(ops.cast(is_before, "int64"), axis=-1)


@as_numpy
def digitize(x: ArrayLike, bins: ArrayLike, right: bool = False) -> Any:
    """The number of the bin that each value falls into: integers, constants to a gradient.

    Bins that a trace makes are not looked through for an order: they descend where the first lies above the last.

    Example:
        >>> import wengert.numpy as np
        >>> np.digitize([0.5, 1.5], [0.0, 1.0, 2.0])
        array([1, 2])
    """
    values, edges = (as_tensor(strong(t), "digitize") for t in (x, bins))
    if edges.ndim != 1:
        raise ValueError(at_user_line(f"np.digitize: bins have shape {edges.shape}; wanted one axis"))
    side = "left" if right else "right"
    if not is_known(edges):
        return _bins_either_way(values, edges, side)
    ordered = known_values(edges, "np.digitize: bins")
    if np.all(ordered[1:] >= ordered[:-1]):
        return searchsorted(edges, values, side)
    if not np.all(ordered[1:] <= ordered[:-1]):
        raise ValueError(at_user_line(f"np.digitize: bins {ordered} neither ascend nor descend"))
    return ops.subtract(len(ordered), searchsorted(ops.flip(edges), values, side))


def _bins_either_way(values: Tensor, edges: Tensor, side: str) -> Any:
    """The bins of edges of a trace, which ascend unless the first lies above the last."""
    if same_dim(edges.shape[0], 0):
        return searchsorted(edges, values, side)
    descends = ops.greater(edges[0], edges[-1])
    place = searchsorted(ops.where(descends, ops.flip(edges), edges), values, side)
    return ops.where(descends, ops.subtract(edges.shape[0], place), place)


@as_numpy
def bincount(x: ArrayLike, /, weights: ArrayLike | None = None, minlength: int = 0) -> Any:
    """How often each integer occurs, or the sum of the weights that come with it; differentiable in the weights.

    Example:
        >>> import wengert.numpy as np
        >>> np.bincount([0, 1, 1], weights=[1.0, 2.0, 3.0])
        array([1., 5.])
    """
    places = _found("bincount", x)
    if places.ndim != 1 or (places.size and (places.dtype.kind not in "iub" or places.min() < 0)):
        raise ValueError(
            at_user_line(
                f"np.bincount: x has shape {places.shape} and dtype {places.dtype.name}; wanted one axis of integers "
                f"that are not negative"
            )
        )
    if weights is None:
        return as_tensor(np.bincount(places, minlength=minlength))
    values = ops.cast(as_tensor(weights, "bincount"), "float64")
    if tuple(values.shape) != places.shape:
        raise ValueError(at_user_line(f"np.bincount: {places.shape} integers have weights of shape {values.shape}"))
    return ops.bincount(places, values, minlength)


__all__ = [
    "allclose", "angle", "argpartition", "argsort", "argwhere", "around", "array_equal", "array_equiv", "bincount",
    "choose", "clip", "compress", "delete", "digitize", "extract", "fix", "flatnonzero", "imag", "insert", "isclose",
    "iscomplex", "isneginf", "isposinf", "isreal", "nan_to_num", "nonzero", "partition", "real", "real_if_close",
    "round", "searchsorted", "select", "sort", "sort_complex", "take", "take_along_axis", "where",
]  # fmt: skip
