"""NumPy's functions that write to their first argument: into tensors, recorded; into plain arrays by NumPy itself.

A tensor under differentiation that would go into a plain array is refused, for its gradient would be lost.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from .._core import dtypes
from .._core.argument_types import ArrayLike, Index
from .._core.labelled import answers_ufuncs
from .._core.public import at_home
from .._core.state import STATE
from .._core.tensor import Tensor, tensor_in
from .._core.user_line import at_user_line
from ..ops import buffer_indexing, masked_elements
from ..ops.flat import Flat
from ..ops.memory import writes
from ..ops.memory.place import place_of
from ..ops.memory.writes import require_cast
from ..ops.outside_numbers import in_floats
from ..ops.promotion import as_tensor, cast, is_symbolic, is_tensor_like, names_errors, tensors_of
from ..ops.subscript import known_values
from ._decorators import refuse_out
from ._foreign import numpys_own, or_numpys


def _plain(values: ArrayLike, name: str) -> Any:
    """Values for a plain array that is written to; refused where a gradient would be lost."""
    tensor = tensor_in(values)
    if tensor is None and isinstance(values, (list, tuple)):
        tensor = as_tensor(values, name)
    if tensor is None:
        return values
    if tensor.is_followed:
        refuse_out(name)
    return tensor.numpy()


def _safely(values: ArrayLike, goal: Tensor, name: str) -> Tensor:
    """Values in the dtype of what they are written to: plain numbers as they fit, arrays by NumPy's rule "safe"."""
    if tensor_in(values) is None and not isinstance(values, np.ndarray) and not is_tensor_like(values):
        try:
            return as_tensor(np.asarray(values, goal.dtype), name)
        except (TypeError, ValueError):  # what holds tensors, or is no number
            pass
    value = as_tensor(values, name)
    require_cast(value.dtype, goal, f"np.{name}", "safe")
    return cast(value, goal.dtype)


def _known(index: ArrayLike) -> np.ndarray[Any, Any]:
    return known_values(as_tensor(index), "the index")


@or_numpys
@names_errors
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """Writes the values of one array into another, broadcast to its shape.

    Args:
        dst: the tensor (or array) that is written to.
        src: the values.
        casting: which changes of dtype are let pass, as NumPy names them.
        where: which elements are written, a boolean array that broadcasts.

    Returns:
        None.

    Example:
        >>> import wengert.numpy as np
        >>> a = np.zeros(3)
        >>> np.copyto(a, 2.0, where=[True, False, True])
        >>> a
        Tensor([2., 0., 2.], shape=(3,), dtype=float64)
    """
    if not isinstance(dst, Tensor):
        np.copyto(dst, _plain(src, "np.copyto"), casting, where=_plain(where, "np.copyto"))
        return
    bare = isinstance(src, (bool, int, float, complex))
    src = in_floats(src) if dtypes.is_inexact(dst.dtype) else src
    value = as_tensor(src, "copyto")
    if not (np.can_cast(np.result_type(dst.dtype, src), dst.dtype, casting) if bare
            else np.can_cast(value.dtype, dst.dtype, casting)):  # fmt: skip
        raise TypeError(
            at_user_line(f"copyto: src of dtype {value.dtype.name} does not go to {dst.dtype.name} by {casting!r}")
        )
    value = tensors_of(dst, src, "copyto")[1] if bare else value  # whose bounds are looked at
    value = ops.copy(buffer_indexing.filling(cast(value, dst.dtype), dst.shape, "copyto"))
    if where is not True:
        value = as_tensor(ops.where(ops.broadcast_to(where, dst.shape), value, dst))
    writes.write_all(dst, value, "copyto")


@or_numpys
@names_errors
def put(a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: str = "raise") -> None:
    """Writes values at positions of the elements in one row; too few values are taken again from the first.

    Args:
        a: the tensor (or array) that is written to.
        ind: the positions.
        v: the values.
        mode: what becomes of positions outside: "raise", "wrap" or "clip".

    Returns:
        None.

    Example:
        >>> import wengert.numpy as np
        >>> a = np.zeros(3)
        >>> np.put(a, [0, 2], [1.0, 2.0])
        >>> a
        Tensor([1., 0., 2.], shape=(3,), dtype=float64)
    """
    if isinstance(a, Tensor):
        a.put(_known(ind), v, mode)
    else:
        np.put(a, _plain(ind, "np.put"), _plain(v, "np.put"), mode)  # pyright: ignore[reportArgumentType]


@or_numpys
@names_errors
def place(arr: Any, mask: ArrayLike, vals: ArrayLike) -> None:
    """Writes values, one after the other, where a mask is true; too few are taken again from the first.

    Args:
        arr: the tensor (or array) that is written to.
        mask: a boolean array of its shape, of known values.
        vals: the values.

    Returns:
        None.

    Example:
        >>> import wengert.numpy as np
        >>> a = np.zeros(3)
        >>> np.place(a, [True, False, True], [1.0, 2.0])
        >>> a
        Tensor([1., 0., 2.], shape=(3,), dtype=float64)
    """
    if not isinstance(arr, Tensor):
        np.place(arr, _plain(mask, "np.place"), _plain(vals, "np.place"))
        return
    value = _safely(vals, arr, "place")
    if value.size == 1:  # which needs no count of the elements, and so no known mask
        copyto(arr, ops.reshape(value, ()), "unsafe", ops.reshape(ops.cast(mask, bool), arr.shape))
        return
    if masked_elements.is_unknown_mask(mask):
        _place_in_turn(arr, as_tensor(mask), ops.ravel(value))
        return
    numbers = np.flatnonzero(_known(mask))
    if numbers.size and not value.size:
        raise ValueError(at_user_line("place: there are no values to write"))
    if numbers.size:
        Flat(arr)[numbers] = value


def _place_in_turn(arr: Tensor, mask: Tensor, values: Tensor) -> None:
    """The same where a trace does not know the mask: each element takes the value that is its turn, if it is chosen."""
    turns = ops.cumsum(ops.cast(ops.ravel(mask), np.int64)) - 1
    chosen = ops.take(values, ops.maximum(turns, 0) % values.shape[0], axis=0)
    copyto(arr, ops.reshape(chosen, arr.shape), where=ops.reshape(mask, arr.shape))


@or_numpys
@names_errors
def putmask(a: Any, mask: ArrayLike, values: ArrayLike) -> None:
    """Writes values where a mask is true, each element that at its own position among the values, which repeat.

    Args:
        a: the tensor (or array) that is written to.
        mask: a boolean array of its shape.
        values: the values.

    Returns:
        None.

    Example:
        >>> import wengert.numpy as np
        >>> a = np.zeros(4)
        >>> np.putmask(a, [True, False, False, True], [1.0, 2.0])
        >>> a
        Tensor([1., 0., 0., 2.], shape=(4,), dtype=float64)
    """
    if not isinstance(a, Tensor):
        np.putmask(a, _plain(mask, "np.putmask"), _plain(values, "np.putmask"))
        return
    value = ops.ravel(_safely(values, a, "putmask"))
    if value.shape[0] == 0:
        return
    shape: Any = mask.shape if isinstance(mask, Tensor) else np.shape(mask)  # pyright: ignore[reportArgumentType, reportCallIssue]  # NumPy refuses what is none
    if shape == a.shape and not (isinstance(mask, Tensor) and is_symbolic(mask)):
        numbers = np.flatnonzero(_known(mask))
        if numbers.size:
            Flat(a)[numbers] = ops.take(value, numbers % value.shape[0], axis=0)
        return
    size: Any = a.size
    whole = ops.reshape(ops.take(value, np.arange(size) % value.shape[0], axis=0), a.shape)
    copyto(a, whole, where=ops.reshape(mask, a.shape))


@names_errors
def put_along_axis(arr: Any, indices: ArrayLike, values: Any, axis: int | None) -> None:
    """Writes values at positions along an axis, as `take_along_axis` reads them.

    Args:
        arr: the tensor (or array) that is written to.
        indices: the positions, with an axis for each of the array's.
        values: the values, which broadcast to the shape of `indices`.
        axis: the axis; None for the elements in one row.

    Returns:
        None.

    Example:
        >>> import wengert.numpy as np
        >>> a = np.zeros((2, 2))
        >>> np.put_along_axis(a, np.array([[1], [0]]), 5.0, axis=1)
        >>> a
        Tensor([[0., 5.], [5., 0.]], shape=(2, 2), dtype=float64)
    """
    if not isinstance(arr, Tensor):
        np.put_along_axis(arr, _plain(indices, "np.put_along_axis"), _plain(values, "np.put_along_axis"), axis)
        return
    if axis is None:
        Flat(arr)[np.ravel(_known(indices))] = values
        return
    at = axis % arr.ndim
    places = as_tensor(indices)
    extents: tuple[Any, ...] = arr.shape
    others = [np.arange(n).reshape((-1, *(1,) * (arr.ndim - k - 1))) for k, n in enumerate(extents)]
    arr[(*others[:at], places, *others[at + 1 :])] = values


@names_errors
def fill_diagonal(a: Any, val: ArrayLike, wrap: bool = False) -> None:
    """Writes values on the main diagonal.

    Args:
        a: the tensor (or array) that is written to, of two axes or of several of one extent.
        val: the values, in one row, which repeat.
        wrap: whether a tall matrix has the diagonal again below.

    Returns:
        None.

    Example:
        >>> import wengert.numpy as np
        >>> a = np.zeros((2, 2))
        >>> np.fill_diagonal(a, 3.0)
        >>> a
        Tensor([[3., 0.], [0., 3.]], shape=(2, 2), dtype=float64)
    """
    if not isinstance(a, Tensor):
        np.fill_diagonal(a, _plain(val, "np.fill_diagonal"), wrap)
        return
    if a.ndim < 2:
        raise ValueError(at_user_line(f"fill_diagonal: a has shape {a.shape}, wanted at least two axes"))
    if a.ndim > 2 and len({*a.shape}) > 1:
        raise ValueError(at_user_line(f"fill_diagonal: a has shape {a.shape}, wanted axes of one extent"))
    if a.ndim == 2:
        step, end = a.shape[1] + 1, None if wrap else a.shape[1] * a.shape[1]
    else:
        extents: tuple[Any, ...] = a.shape
        step, end = 1 + int(np.sum(np.cumprod(extents[:-1]))), None
    Flat(a)[slice(None, end, step)] = val


_OPTIONS = frozenset({"out", "where", "dtype", "casting", "order", "subok", "signature"})
_UFUNC_ATTRIBUTES = ("nin", "nout", "nargs", "ntypes", "types", "identity", "signature")
_UFUNC_METHODS = ("at", "reduce", "accumulate", "outer", "reduceat")


_EVERYDAY = frozenset({Tensor, np.ndarray, float, int})


def with_options(ours: Callable[..., Any], ufunc: np.ufunc, name: str) -> Callable[..., Any]:
    """Our function for a ufunc, with a ufunc's options and methods, which come by NumPy's protocol.

    Args:
        ours: the function.
        ufunc: NumPy's.
        name: under which `wengert.numpy` has it, by which it is pickled.
    """
    count = ufunc.nin

    @functools.wraps(ours)
    def function(*args: object, **kwargs: object) -> Any:
        for x in args:
            if type(x) not in _EVERYDAY and answers_ufuncs(type(x)):  # labels and units are kept, as NumPy keeps them
                return ufunc(*args, **kwargs)
        try:
            if not kwargs and len(args) == count:
                return ours(*args)
            if len(args) <= count and _OPTIONS.isdisjoint(kwargs):
                return ours(*args, **kwargs)
        except TypeError:
            foreign = numpys_own(name, args, kwargs)
            if foreign is None:
                raise
            return foreign[0]
        return ufunc(
            *[as_tensor(x) if isinstance(x, (list, tuple)) else x for x in args[:count]], *args[count:], **kwargs
        )

    for attribute in (*_UFUNC_METHODS, *_UFUNC_ATTRIBUTES):
        setattr(function, attribute, getattr(ufunc, attribute))
    return at_home(function, "wengert.numpy", name)


_FUNCTIONAL = {
    np.multiply: "multiply", np.divide: "divide", np.maximum: "max", np.minimum: "min",
}  # fmt: skip


def write_each(ufunc: np.ufunc, ours: Callable[..., Any], a: Tensor, index: Index, *rest: ArrayLike) -> None:
    """`ufunc.at(a, index, b)`: each position as often as the index addresses it, one after the other."""
    name = f"np.{ufunc.__name__}.at"
    place = place_of(a)
    if masked_elements.has_unknown_mask(index):  # which addresses nothing twice
        a[index] = ours(a[index], *rest)
    elif ufunc in (np.add, np.subtract):
        value = rest[0]
        if ufunc is np.subtract:
            given = tensors_of(a, value, name)[1]
            value = ops.negative(cast(given, a.dtype) if np.can_cast(given.dtype, a.dtype, "same_kind") else given)
        if type(value) is Tensor and place.add_promptly(index, value):
            return
        reached = None if place.is_root else place.reached(index)
        if place.is_root or reached is not None:
            held = place.family.written()._held
            place.put_version(buffer_indexing.add(held, index, value, name, reached))
        else:
            writes.write_all(a, writes.value_of(a).at[index].add(value), name)
    elif ufunc in _FUNCTIONAL and a.dtype.kind in "fc":
        _write_functionally(a, index, _FUNCTIONAL[ufunc], rest, name)
    else:
        _write_in_rounds(ours, a, index, rest)


def _write_functionally(a: Tensor, index: Any, name: str, rest: tuple[Any, ...], what: str) -> None:
    """A write by the functional update of this name, of the elements alone that the index addresses."""
    if STATE.builder is not None or not a.ndim or buffer_indexing.is_lone_truth(index):
        writes.write_all(a, getattr(writes.value_of(a).at[index], name)(*rest), what)
        return
    numbers = buffer_indexing.numbers_of(a, index, what)
    elements, which = np.unique(numbers, return_inverse=True)
    flat = Flat(a)
    part: Any = flat[elements]
    flat[elements] = getattr(part.at[which.reshape(numbers.shape)], name)(*rest)


def _write_in_rounds(ours: Callable[..., Any], a: Tensor, index: Any, rest: tuple[Any, ...]) -> None:
    """As many writes as the index has of one element at most: each takes what it addresses for the n-th time."""
    if STATE.builder is None and a.ndim and not buffer_indexing.is_lone_truth(index):
        numbers: Any = buffer_indexing.numbers_of(a, index, "ufunc.at")
    else:
        shape: tuple[Any, ...] = a.shape
        numbers = np.arange(math.prod(shape)).reshape(shape)[_index_known(index)]
    row = np.ravel(numbers)
    order = np.argsort(row, kind="stable")
    starts = np.searchsorted(row[order], row[order], side="left")
    rounds = np.empty_like(row)
    rounds[order] = np.arange(row.size) - starts
    values = [ops.ravel(ops.broadcast_to(b, np.shape(numbers))) for b in rest]
    elements = Flat(a)
    for n in range(int(rounds.max(initial=-1)) + 1):
        chosen = np.flatnonzero(rounds == n)
        where = row[chosen]
        elements[where] = ours(elements[where], *[ops.take(b, chosen) for b in values])


def _index_known(index: ArrayLike) -> Any:
    if isinstance(index, tuple):
        return (*map(_index_known, index),)
    return known_values(index, "the index") if isinstance(index, Tensor) else index


__all__ = ["copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"]
