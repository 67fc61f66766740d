"""The methods that NumPy's arrays have, for `Tensor`: each is the op of that name with the method's signature.

Methods that change an array in place write to the tensor (`memory/writes.py`); those that NumPy makes views of give
views (`memory/sharing.py`).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, SupportsIndex

import numpy as np

from .._core.argument_types import ArrayLike, Axes, DTypeLike, Index, ShapeLike
from .._core.engine import default_engine
from .._core.moving import moved
from .._core.other_libraries import refuse_list_to_torch
from .._core.state import STATE
from .._core.tensor import Tensor, Written
from .._core.tracebacks import fold
from .._core.user_line import at_user_line
from . import (
    complex_parts,
    copies,
    indexing,
    linalg,
    memory_methods,
    ordering,
    partitions,
    piecewise,
    reductions,
    repeating,
    shapes,
    triangles,
)
from .at import At
from .elementwise import floor_divide
from .flat import Flat
from .memory import sharing, writes
from .promotion import as_tensor
from .subscript import known_values

_METHODS: dict[str, Any] = {}


def _method(f: Callable[..., Any]) -> Callable[..., Any]:
    _METHODS[f.__name__] = f
    return f


# -- folding -----------------------------------------------------------------------------------------------------------


def _given(**options: object) -> dict[str, Any]:
    """The options that were given, for NumPy's function of the same name, which takes `out=` and comes back to ours."""
    return {key: value for key, value in options.items() if value is not None}


@_method
def sum(
    self: Tensor, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
    where: Any = None,
) -> Any:  # fmt: skip
    """The sum over axes: `wg.ops.sum`."""
    if out is not None:
        return np.sum(self, axis, dtype, out, keepdims, **_given(initial=initial, where=where))
    return reductions.sum(self, axis, keepdims, dtype=dtype, initial=initial, where=where)


@_method
def prod(
    self: Tensor, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
    where: Any = None,
) -> Any:  # fmt: skip
    """The product over axes: `wg.ops.prod`."""
    if out is not None:
        return np.prod(self, axis, dtype, out, keepdims, **_given(initial=initial, where=where))
    return reductions.prod(self, axis, keepdims, dtype, initial=initial, where=where)


@_method
def mean(
    self: Tensor,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Any:
    """The mean over axes: `wg.ops.mean`."""
    if out is not None:
        return np.mean(self, axis, dtype, out, keepdims, **_given(where=where))
    return reductions.mean(self, axis, keepdims, dtype=dtype, where=where)


@_method
def var(
    self: Tensor, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: bool = False, *,
    where: ArrayLike | None = None, mean: ArrayLike | None = None,
) -> Any:  # fmt: skip
    """The variance over axes: `wg.ops.var`."""
    if out is not None or mean is not None:
        more = _given(where=where, mean=mean)
        return np.var(self, axis, dtype, out, ddof, keepdims, **more)
    return reductions.var(self, axis, keepdims, dtype=dtype, ddof=ddof, where=where)


@_method
def std(
    self: Tensor, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: bool = False, *,
    where: ArrayLike | None = None, mean: ArrayLike | None = None,
) -> Any:  # fmt: skip
    """The standard deviation over axes: `wg.ops.std`."""
    if out is not None or mean is not None:
        more = _given(where=where, mean=mean)
        return np.std(self, axis, dtype, out, ddof, keepdims, **more)
    return reductions.std(self, axis, keepdims, dtype=dtype, ddof=ddof, where=where)


@_method
def max(
    self: Tensor, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """The largest element over axes: `wg.ops.max`."""
    if out is not None:
        return np.max(self, axis, out, keepdims, **_given(initial=initial, where=where))
    return reductions.max(self, axis, keepdims, initial, where=where)


@_method
def min(
    self: Tensor, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """The smallest element over axes: `wg.ops.min`."""
    if out is not None:
        return np.min(self, axis, out, keepdims, **_given(initial=initial, where=where))
    return reductions.min(self, axis, keepdims, initial, where=where)


@_method
def ptp(self: Tensor, axis: Axes = None, keepdims: bool = False) -> Any:
    """The largest less the smallest element over axes: `wg.ops.ptp`."""
    return reductions.ptp(self, axis, keepdims)


@_method
def any(
    self: Tensor,
    axis: int | tuple[int, ...] | None = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Any:
    """Whether some element over axes is not zero: `wg.ops.any`."""
    if out is not None:
        return np.any(self, axis, out, keepdims, **_given(where=where))
    return reductions.any(self, axis, keepdims, where=where)


@_method
def all(
    self: Tensor,
    axis: int | tuple[int, ...] | None = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Any:
    """Whether every element over axes is not zero: `wg.ops.all`."""
    if out is not None:
        return np.all(self, axis, out, keepdims, **_given(where=where))
    return reductions.all(self, axis, keepdims, where=where)


@_method
def argmax(self: Tensor, axis: SupportsIndex | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
    """The index of the largest element: `wg.ops.argmax`."""
    return reductions.argmax(self, axis, keepdims) if out is None else np.argmax(self, axis, out, keepdims=keepdims)


@_method
def argmin(self: Tensor, axis: SupportsIndex | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
    """The index of the smallest element: `wg.ops.argmin`."""
    return reductions.argmin(self, axis, keepdims) if out is None else np.argmin(self, axis, out, keepdims=keepdims)


@_method
def cumsum(self: Tensor, axis: SupportsIndex | None = None, dtype: Any = None, out: Any = None) -> Any:
    """The running sum: `wg.ops.cumsum`."""
    return reductions.cumsum(self, axis, dtype) if out is None else np.cumsum(self, axis, dtype, out)


@_method
def cumprod(self: Tensor, axis: SupportsIndex | None = None, dtype: Any = None, out: Any = None) -> Any:
    """The running product: `wg.ops.cumprod`."""
    return reductions.cumprod(self, axis, dtype) if out is None else np.cumprod(self, axis, dtype, out)


@_method
def trace(self: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    """The sum along a diagonal: `wg.ops.trace`."""
    if out is not None or dtype is not None:
        return np.trace(self, offset, axis1, axis2, dtype, out)
    return reductions.trace(self, offset, axis1, axis2)


@_method
def dot(self: Tensor, other: Any, /, out: Any = None) -> Any:
    """The product with an array: `wg.ops.dot`."""
    return linalg.dot(self, other) if out is None else np.dot(self, other, out)


# -- shape -------------------------------------------------------------------------------------------------------------


def _one_or_many(arguments: tuple[Any, ...]) -> Any:
    """What may be given as one sequence or as several arguments."""
    return arguments[0] if len(arguments) == 1 else arguments


def _require_order(order: str, name: str, known: str) -> None:
    if order not in known:
        raise ValueError(at_user_line(f"Tensor.{name}: order is {order!r}, wanted one of {', '.join(known)}"))


def _in_a_row(x: Tensor, order: str) -> Tensor:
    return shapes.ravel(x if order == "C" else shapes.transpose(x, sharing.axes_in_order(x, order)))


@_method
def reshape(self: Tensor, *shape: object, order: str = "C", copy: bool | None = None) -> Any:
    """The elements in another shape: `wg.ops.reshape`; by columns with order="F"."""
    if copy:
        self = copies.copy(self)
    _require_order(order, "reshape", "CFA")
    if order != "C":
        return np.reshape(self, _one_or_many(shape), order=order)  # pyright: ignore[reportCallIssue, reportArgumentType]
    return shapes.reshape(self, _one_or_many(shape))


@_method
def ravel(self: Tensor, order: str = "C") -> Any:
    """The elements as a vector: `wg.ops.ravel`."""
    _require_order(order, "ravel", "CFAK")
    return _in_a_row(self, order)


@_method
def flatten(self: Tensor, order: str = "C") -> Any:
    """The elements as a vector: `wg.ops.ravel`."""
    _require_order(order, "flatten", "CFAK")
    return sharing.own(_in_a_row(self, order), self)


@_method
def transpose(self: Tensor, *axes: object) -> Any:
    """The axes in another order: `wg.ops.transpose`."""
    order = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
    return shapes.transpose(self, order if axes and axes != (None,) else None)


@_method
def swapaxes(self: Tensor, axis1: int, axis2: int) -> Any:
    """Two axes exchanged: `wg.ops.swapaxes`."""
    return shapes.swapaxes(self, axis1, axis2)


@_method
def squeeze(self: Tensor, axis: Axes = None) -> Any:
    """Without axes of extent 1: `wg.ops.squeeze`; the tensor itself where it has none."""
    return self if axis is None and {int}.issuperset(map(type, self.shape)) and 1 not in self.shape else (
        shapes.squeeze(self, axis)
    )  # fmt: skip


@_method
def diagonal(self: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonals: `wg.ops.diagonal`."""
    return triangles.diagonal(self, offset, axis1, axis2)


@_method
def repeat(self: Tensor, repeats: ArrayLike, axis: Axes = None) -> Any:
    """Each element several times: `wg.ops.repeat`."""
    return repeating.repeat(self, repeats, axis)


# -- values ------------------------------------------------------------------------------------------------------------


@_method
def astype(
    self: Tensor, dtype: Any, order: str = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
) -> Any:
    """The values in another dtype: `wg.ops.cast`."""
    wanted = copies.dtypes.as_dtype(dtype)
    if casting != "unsafe" and not np.can_cast(self.dtype, wanted, casting):
        raise TypeError(
            at_user_line(f"Tensor.astype: {self.dtype.name} does not go to {wanted.name} by the rule {casting!r}")
        )
    if wanted == self.dtype and not copy:
        return self
    return sharing.own(copies.cast(self, dtype), self)


@_method
def copy(self: Tensor, order: str = "C") -> Any:
    """The same values as a new tensor: `wg.ops.copy`."""
    return copies.copy(self)


@_method
def clip(self: Tensor, min: Any = None, max: Any = None, out: None = None) -> Any:
    """The values within bounds: `wg.ops.clip`."""
    return piecewise.clip(self, min, max) if out is None else np.clip(self, min, max, out)


@_method
def round(self: Tensor, decimals: int = 0, out: Any = None) -> Any:
    """The values rounded to decimals: `wg.ops.round`."""
    return piecewise.round(self, decimals) if out is None else np.round(self, decimals, out)


@_method
def conj(self: Tensor) -> Any:
    """The complex conjugate: `wg.ops.conj`; the tensor itself if it is real, as NumPy's arrays give themselves."""
    return complex_parts.conj(self) if self.dtype.kind == "c" else self


@_method
def conjugate(self: Tensor) -> Any:
    """The complex conjugate: `wg.ops.conj`; the tensor itself if it is real, as NumPy's arrays give themselves."""
    return complex_parts.conj(self) if self.dtype.kind == "c" else self


# -- positions ---------------------------------------------------------------------------------------------------------


@_method
def take(self: Tensor, indices: Any, axis: SupportsIndex | None = None, out: Any = None, mode: Any = "raise") -> Any:
    """The slices at positions along an axis: `wg.ops.take`."""
    if out is not None or mode != "raise":
        return np.take(self, indices, axis, out, mode)
    return indexing.take(self, indices, axis)


@_method
def compress(self: Tensor, condition: Any, axis: SupportsIndex | None = None, out: Any = None) -> Any:
    """The slices along an axis where a condition of known values holds."""
    if out is not None:
        return np.compress(condition, self, axis, out)
    return indexing.take(self, indexing.flatnonzero(condition), axis)


@_method
def choose(self: Tensor, choices: Any, out: Any = None, mode: Any = "raise") -> Any:
    """Each element from the choice that an integer here names: `np.choose`."""
    return np.choose(self, choices, out, mode)


@_method
def searchsorted(self: Tensor, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    """Where values would go in these, which are sorted: `np.searchsorted`."""
    return np.searchsorted(self, v, side, sorter)


@_method
def nonzero(self: Tensor) -> Any:
    """The positions of what is not zero: `wg.ops.nonzero`."""
    return indexing.nonzero(self)


@_method
def sort(
    self: Tensor, axis: int = -1, kind: str | None = None, order: str | None = None, *, stable: bool | None = None,
    descending: bool | None = None,
) -> None:  # fmt: skip
    """Sorts along an axis, in place; `np.sort(x)` is a new tensor."""
    if order is not None:
        raise ValueError(at_user_line(f"Tensor.sort: order={order!r} names fields, which tensors do not have"))
    ordered = indexing.falling(self, axis) if descending else indexing.sort(self, axis)
    writes.write_all(self, ordered, "Tensor.sort")


@_method
def partition(
    self: Tensor, kth: ShapeLike, axis: int = -1, kind: str | None = "introselect", order: str | None = None
) -> None:
    """Puts the smaller elements before the k-th along an axis and the larger ones behind it, in place."""
    operands = ordering.partition_operands(self, kth, axis, "Tensor.partition")
    writes.write_all(self, partitions.partition(*operands), "Tensor.partition")


@_method
def fill(self: Tensor, value: Any) -> None:
    """Writes one value everywhere."""
    if not isinstance(value, (bool, int, float, complex)) and np.ndim(value):
        raise ValueError(at_user_line("Tensor.fill: takes one number; x[...] = value takes an array or a sequence"))
    writes.write(self, ..., value)


@_method
def put(self: Tensor, indices: ArrayLike, values: ArrayLike, mode: str = "raise") -> None:
    """Writes values at positions of the elements in one row; too few values are taken again from the first."""
    is_plain = STATE.builder is None and type(indices) is np.ndarray  # a trace notes which arrays it knows
    known = indices if is_plain else known_values(as_tensor(indices), "Tensor.put: the index")
    numbers = np.ravel(known)  # pyright: ignore[reportArgumentType, reportCallIssue]  # an array, or made of one
    if mode != "raise":
        size: Any = self.size
        numbers = np.clip(numbers, 0, size - 1) if mode == "clip" else numbers % size
    if numbers.size:
        Flat(self)[numbers] = values


@_method
def __setitem__(self: Tensor, index: Index, value: ArrayLike) -> None:
    try:  # not `@public`: a write opens nothing, and loops are made of them
        writes.write(self, index, value)
    except BaseException as error:
        fold(error)
        raise


@_method
def argsort(
    self: Tensor, axis: Axes = -1, kind: str | None = None, order: str | None = None, *, stable: bool | None = None,
    descending: bool | None = None,
) -> Any:  # fmt: skip
    """The positions that sort along an axis: `wg.ops.argsort`."""
    if order is not None:
        raise ValueError(at_user_line(f"Tensor.argsort: order={order!r} names fields, which tensors do not have"))
    return indexing.falling_order(self, axis) if descending else indexing.argsort(self, axis)


@_method
def argpartition(
    self: Tensor, kth: Any, axis: SupportsIndex | None = -1, kind: Any = "introselect", order: str | None = None
) -> Any:
    """The positions that put the smaller elements before the k-th along an axis: `np.argpartition`."""
    return ordering.argpartition(self, kth, axis)


@_method
def __getitem__(self: Tensor, index: Any) -> Any:
    return sharing.item_of(self, index)


@_method
def __len__(self: Tensor) -> int:
    if not self.shape:
        refuse_list_to_torch(self)
        raise TypeError(at_user_line("len() of a tensor of no axes"))
    return shapes.known_extent(self, 0, "len()")


@_method
def __iter__(self: Tensor) -> Iterator[Any]:
    if not self.shape:
        raise TypeError(at_user_line("iteration over a tensor of no axes"))
    count = shapes.known_extent(self, 0, "iteration")
    return (sharing.item_of(self, i) for i in range(count))


@_method
def __contains__(self: Tensor, value: ArrayLike) -> bool:
    return bool(reductions.any(self == value))


@_method
def to_device(self: Tensor, device: object, /, *, stream: object = None) -> Tensor:
    """The tensor on a device: itself where it is there already; "cpu" is the main memory, on NumPy's engine."""
    if stream is not None:
        raise ValueError(at_user_line(f"Tensor.to_device: the main memory has no streams, got stream={stream!r}"))
    if device not in ("cpu", self.device):
        raise ValueError(at_user_line(f"Tensor.to_device: device is {device!r}; wanted 'cpu'"))
    return self if self.device == device else moved(self, default_engine())


# -- operators beyond arithmetic ---------------------------------------------------------------------------------------


@_method
def __divmod__(self: Tensor, other: ArrayLike) -> Any:
    return floor_divide(self, other), piecewise.mod(self, other)


@_method
def __rdivmod__(self: Tensor, other: ArrayLike) -> Any:
    return floor_divide(other, self), piecewise.mod(other, self)


@_method
def __round__(self: Tensor, decimals: int | None = None) -> Any:
    return piecewise.round(self, decimals or 0)


# -- refused -----------------------------------------------------------------------------------------------------------


def _refused(name: str, cure: str) -> Callable[..., NoReturn]:
    def method(self: Tensor, *args: object, **kwargs: object) -> NoReturn:
        raise TypeError(at_user_line(f"Tensor.{name}: NumPy 2 has no such method any more: use {cure}"))

    method.__name__ = name
    method.__doc__ = f"Refused: use {cure}."
    return method


_REFUSED = {
    "itemset": "x[index] = value",
}
_SHARING = ("reshape", "ravel", "transpose", "swapaxes", "squeeze", "diagonal")  # NumPy's views, where it can make them


def _sharing(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """A method whose result lies in the memory of the tensor where NumPy's does."""

    @functools.wraps(method)
    def shared(self: Tensor, *args: object, **kwargs: object) -> Any:
        if type(self) is Written:
            view = sharing.view_unread(self, lambda x: getattr(x, name)(*args, **kwargs))
            if view is not None:
                return view
        found = method(self, *args, **kwargs)
        is_one = not kwargs and name != "diagonal" and not (name == "ravel" and args)
        return sharing.view_of(self, found, lambda x: getattr(x, name)(*args, **kwargs), is_one)

    return shared


def _viewing(name: str, getter: Callable[[Tensor], Any], theirs: Callable[[Any], Any] | None = None) -> Any:
    make = operator.attrgetter(name) if theirs is None else theirs

    def view(self: Tensor) -> Any:
        unread = sharing.view_unread(self, make) if type(self) is Written else None
        return sharing.view_of(self, getter(self), make, name in ("T", "mT")) if unread is None else unread

    return view


def _imaginary(x: Tensor) -> Tensor:
    """The imaginary part; zeros that nobody writes to where there is none."""
    found = complex_parts.imag(x)
    if x.ndim and x.dtype.kind != "c":
        writes.lock(found, True)
    return found


_PROPERTIES: dict[str, tuple[Callable[[Tensor], Any], str]] = {
    "T": (_viewing("T", shapes.transpose), "The axes in opposite order."),
    "mT": (_viewing("mT", shapes.matrix_transpose), "The last two axes exchanged."),
    "real": (_viewing("real", complex_parts.real), "The real part."),
    "imag": (_viewing("imag", _imaginary), "The imaginary part."),
    "flat": (Flat, "The elements in one row, to iterate over, to read and to write: `x.flat[3] = 1.0`."),
    "at": (
        lambda self: At(writes.value_of(self)),
        "Functional updates, such as `x.at[index].set(value)`: a new tensor.",
    ),
}


def _set_flat(self: Tensor, value: ArrayLike) -> None:
    Flat(self)[:] = value


_SETTERS: dict[str, Callable[[Tensor, Any], None]] = {
    "real": lambda self, value: writes.replaced_part(self, "real", value),
    "imag": lambda self, value: writes.replaced_part(self, "imag", value),
    "flat": _set_flat,
}


def attach_methods() -> None:
    """Gives `Tensor` the methods and properties of this file."""
    for name in _SHARING:
        _METHODS[name] = _sharing(name, _METHODS[name])
    for name, method in (*_METHODS.items(), *memory_methods.METHODS.items()):
        method.__qualname__ = f"Tensor.{name}"
        setattr(Tensor, name, method)
    for name, cure in _REFUSED.items():
        setattr(Tensor, name, _refused(name, cure))
    for name, (getter, doc) in (*_PROPERTIES.items(), *memory_methods.PROPERTIES.items()):
        setattr(Tensor, name, property(getter, _SETTERS.get(name), doc=doc))
    for kind in (Tensor, Written):
        kind.shape = vars(kind)["shape"].setter(writes.reshape_in_place)  # pyright: ignore[reportAttributeAccessIssue]
