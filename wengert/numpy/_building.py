"""NumPy's further ways to build arrays: by joining (`r_`, `c_`), from iterators, with other extents."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Any, SupportsIndex

import numpy as np

from .. import ops
from .._core.argument_types import ArrayLike, DTypeLike
from .._core.tensor import Tensor, tensor_in
from .._core.user_line import at_user_line
from ..ops.memory.writes import is_locked
from ..ops.promotion import as_tensor, cast, common_dtype, names_errors
from ..ops.tapers import kaiser as _kaiser
from ._creation import arange, array, asarray, in_order, linspace
from ._decorators import as_numpy, named_dtype
from ._foreign import or_numpys
from ._shapes import concatenate, ravel


class Joiner:
    """What `np.r_` and `np.c_` are: an index expression joins arrays, numbers and slices, which are ranges.

    Example:
        >>> import wengert.numpy as np
        >>> np.r_[0.0, np.array([1.0, 2.0]), 0:3:2]
        Tensor([0., 1., 2., 0., 2.], shape=(5,), dtype=float64)
    """

    def __init__(self, axis: int, ndmin: int, trans1d: int, name: str) -> None:
        self._axis, self._ndmin, self._trans1d, self._name = axis, ndmin, trans1d, name

    def __getitem__(self, key: Any) -> Tensor:
        items = key if isinstance(key, tuple) else (key,)
        axis, ndmin, trans1d = self._axis, self._ndmin, self._trans1d
        if items and isinstance(items[0], str):
            axis, ndmin, trans1d = self._directive(items[0])
            items = items[1:]
        parts = [_item(item, ndmin, trans1d, self._name) for item in items]
        dtype = common_dtype([part for part, _ in parts])
        return concatenate([cast(wide, dtype) for _, wide in parts], axis=axis)

    def _directive(self, text: str) -> tuple[int, int, int]:
        """The axis, the least number of axes and the place of a vector's, as NumPy writes them."""
        try:
            numbers = [int(part) for part in text.split(",")]
        except ValueError:
            numbers = []
        if not 1 <= len(numbers) <= 3:
            raise ValueError(
                at_user_line(
                    f"np.{self._name}: the directive {text!r} is not supported; wanted up to three integers, as '0,2'"
                )
            )
        axis, ndmin, trans1d = (*numbers, *(self._axis, self._ndmin, self._trans1d)[len(numbers) :])
        return axis, ndmin, trans1d


def _item(item: ArrayLike, ndmin: int, trans1d: int, name: str) -> tuple[Tensor, Tensor]:
    """A part as a tensor that tells the dtype, and with its axes in place."""
    if isinstance(item, slice):
        item = _range(item)
        wide = array(item, ndmin=ndmin)
        return item, ops.swapaxes(wide, -1, trans1d) if ndmin > 1 and trans1d != -1 else wide
    x = as_tensor(item, name)
    wide = array(x, ndmin=max(ndmin, 1))
    missing = ndmin - x.ndim
    if x.ndim and trans1d != -1 and missing > 0:
        start = trans1d if trans1d >= 0 else trans1d + missing + 1
        axes = [*range(ndmin)]
        wide = ops.transpose(wide, (*axes[:start], *axes[missing:], *axes[start:missing]))
    return x, wide


def _range(part: slice) -> Tensor:
    start = 0 if part.start is None else part.start
    step = 1 if part.step is None else part.step
    if isinstance(step, complex):  # NumPy's way to say a number of points
        return linspace(start, part.stop, int(abs(step)))
    return arange(start, part.stop, step)


r_ = Joiner(0, 1, -1, "r_")
c_ = Joiner(-1, 2, 0, "c_")


@names_errors
def fromiter(iter: Iterable[Any], dtype: DTypeLike, count: int = -1, *, like: object = None) -> Tensor:
    """A vector of what an iterable gives; tensors among it are recorded.

    Args:
        iter: gives numbers or tensors.
        dtype: the dtype of the result.
        count: how many to take; all if -1.
        like: accepted for NumPy's sake.

    Returns:
        A tensor.

    Raises:
        ValueError: if the iterable gives fewer.

    Example:
        >>> import wengert.numpy as np
        >>> np.fromiter((i * i for i in range(3)), float)
        Tensor([0., 1., 4.], shape=(3,), dtype=float64)
    """
    items = [*(iter if count < 0 else itertools.islice(iter, count))]
    if count > len(items):
        raise ValueError(at_user_line(f"np.fromiter: the iterable gave {len(items)} items; wanted {count}"))
    return array(items, dtype) if items else ops.zeros((0,), named_dtype(dtype))


@names_errors
def from_dlpack(x: Any, /, *, device: object = None, copy: bool | None = None) -> Tensor:
    """A tensor of another library's array, by the DLPack protocol; a tensor is itself, and stays recorded.

    Args:
        x: an array with `__dlpack__` in the main memory.
        device: None or "cpu".
        copy: False to refuse, for the values are always copied: nobody may write what a tensor holds.

    Returns:
        A tensor.

    Raises:
        BufferError: if `copy=False`, or x lies on another device.
        ValueError: for a device that is not there.

    Example:
        >>> import wengert.numpy as np
        >>> np.from_dlpack(np.ones(2))
        Tensor([1., 1.], shape=(2,), dtype=float64)
    """
    if device not in (None, "cpu"):
        raise ValueError(at_user_line(f"from_dlpack: device is {device!r}; wanted 'cpu' or None"))
    source = tensor_in(x)
    if source is not None:
        return ops.copy(source) if copy else source
    if copy is False:
        raise BufferError(at_user_line("from_dlpack: copy=False, but a tensor owns its values"))
    return as_tensor(np.array(np.from_dlpack(x)), "from_dlpack")


@or_numpys
@names_errors
def asarray_chkfinite(a: ArrayLike, dtype: DTypeLike | None = None, order: str | None = None) -> Tensor:
    """`asarray` that refuses NaN and infinities.

    Args:
        a: an array, a tensor, a number or a nested list of these.
        dtype: the dtype of the result; by default that of the data.
        order: accepted for NumPy's sake.

    Returns:
        A tensor.

    Raises:
        ValueError: if an element is not finite.
        TracingError: in a trace, which does not know.

    Example:
        >>> import wengert.numpy as np
        >>> np.asarray_chkfinite([1.0])
        Tensor([1.], shape=(1,), dtype=float64)
    """
    x = asarray(a, dtype, order)
    x._require_concrete("np.asarray_chkfinite")
    if not np.all(np.isfinite(ops.stop_gradient(x).numpy())):
        raise ValueError(at_user_line("np.asarray_chkfinite: the array has NaNs or infinities"))
    return x


@or_numpys
@names_errors
def require(
    a: ArrayLike, dtype: DTypeLike | None = None, requirements: object = None, *, like: object = None
) -> Tensor:
    """`asarray`, or a copy where a tensor does not lie in memory as it is required to.

    Args:
        a: an array, a tensor, a number or a nested list of these.
        dtype: the dtype of the result; by default that of the data.
        requirements: NumPy's words or letters for order ("C", "F"), an array's own memory ("O") and writes ("W").
        like: accepted for NumPy's sake.

    Returns:
        A tensor.

    Example:
        >>> import wengert.numpy as np
        >>> np.require([1.0], requirements="C")
        Tensor([1.], shape=(1,), dtype=float64)
    """
    np.require(0, requirements=requirements)  # pyright: ignore[reportArgumentType, reportCallIssue]  # knows the words
    letters = {str(word)[0].upper() for word in requirements or ()}  # pyright: ignore[reportGeneralTypeIssues]
    x = asarray(a, dtype)
    if letters & {"F", "C"}:
        x = in_order(x, None, "F" if "F" in letters else "C") if x.ndim else x
    is_short = ("O" in letters and x.base is not None) or ("W" in letters and is_locked(x))
    return x.copy() if is_short else x


@or_numpys
@names_errors
def asfortranarray(a: ArrayLike, dtype: DTypeLike | None = None, *, like: object = None) -> Tensor:
    """`asarray`; a copy of a tensor of several axes, as NumPy's where elements lie by rows.

    Args:
        a: an array, a tensor, a number or a nested list of these.
        dtype: the dtype of the result; by default that of the data.
        like: accepted for NumPy's sake.

    Returns:
        A tensor.

    Example:
        >>> import wengert.numpy as np
        >>> np.asfortranarray([1.0])
        Tensor([1.], shape=(1,), dtype=float64)
    """
    return in_order(a, dtype, "F")


@as_numpy
def kaiser(M: SupportsIndex, beta: ArrayLike) -> Any:
    """Kaiser's taper of M points; differentiable in beta.

    Example:
        >>> import wengert.numpy as np
        >>> np.kaiser(3, 0.0)
        array([1., 1., 1.])
    """
    return _kaiser(int(M), as_tensor(beta, "kaiser"))


@as_numpy
def resize(a: ArrayLike, new_shape: tuple[int, ...]) -> Any:
    """The elements in another shape: repeated if there are too few, left out if there are too many.

    Example:
        >>> import wengert.numpy as np
        >>> np.resize([1.0, 2.0], (3,))
        array([1., 2., 1.])
    """
    x = ravel(as_tensor(a, "resize"))
    shape = (*new_shape,) if isinstance(new_shape, (tuple, list)) else (new_shape,)
    if any(extent < 0 for extent in shape):
        raise ValueError(at_user_line(f"np.resize: shape {shape} has a negative extent"))
    count = math.prod(shape)
    if not count or not x.size:
        return ops.zeros(shape, x.dtype)
    return ops.reshape(concatenate([x] * -(-count // x.shape[0]))[:count], shape)


@as_numpy
def trim_zeros(filt: ArrayLike, trim: str = "fb", axis: Any = None) -> Any:
    """An array without the zeros at its ends. How many there are depends on the values: not in a trace.

    Example:
        >>> import wengert.numpy as np
        >>> np.trim_zeros([0.0, 1.0, 0.0, 2.0, 0.0])
        array([1., 0., 2.])
    """
    x = filt if isinstance(filt, Tensor) else as_tensor(filt, "trim_zeros")
    x._require_concrete("np.trim_zeros")
    if trim.lower() not in ("f", "b", "fb", "bf"):
        raise ValueError(at_user_line(f"np.trim_zeros: trim is {trim!r}; wanted 'f', 'b' or 'fb'"))
    axes = range(x.ndim) if axis is None else [a % x.ndim for a in (axis if isinstance(axis, tuple) else (axis,))]
    places = np.nonzero(ops.stop_gradient(x).numpy())
    kept = [slice(None)] * x.ndim
    for i in axes:
        if not len(places[i]):
            kept[i] = slice(0, 0)
            continue
        low = int(places[i].min()) if "f" in trim.lower() else 0
        kept[i] = slice(low, int(places[i].max()) + 1 if "b" in trim.lower() else None)
    return x[(*kept,)]


__all__ = [
    "asarray_chkfinite", "asfortranarray", "c_", "from_dlpack", "fromiter", "kaiser", "r_", "require", "resize",
    "trim_zeros",
]  # fmt: skip
