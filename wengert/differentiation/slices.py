"""`IndexedSlices`: a gradient that is zero outside some rows, as those rows and their numbers."""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.argument_types import Index
from .._core.dims import DimLike, Shape
from .._core.kinds import ARRAYS
from .._core.moving import beside
from .._core.tensor import Tensor
from .._core.types import same_dim, same_shape, tensor_type
from .._core.user_line import at_user_line
from .._prims.indexing import scatter_add
from .._prims.structural import cast, zeros_of
from .._transforms.row_cotangents import Rows, counted_from_front
from ..ops.promotion import as_tensor

__all__ = ["IndexedSlices"]


class IndexedSlices:
    """Rows of an array that is zero elsewhere: what gathering rows has for a gradient, on `sparse=True`.

    Immutable. Works wherever an array does, as the array in full: `wg.tensor(slices)` and `np.asarray(slices)`
    give it.

    Args:
        values: the rows, of shape `(n, *dense_shape[1:])`.
        indices: the number of each row, integers of shape `(n,)`; a number that comes up several times stands for
            the sum of its rows.
        dense_shape: the shape of the array in full.

    Attributes:
        values: as given.
        indices: as given.
        dense_shape: a tuple.

    Raises:
        TypeError: the indices are not integers.
        ValueError: the shapes do not fit each other.

    Example:
        >>> import numpy as np, wengert as wg
        >>> table = np.ones((3, 2))
        >>> g = wg.grad(lambda t: wg.take(t, [0, 2, 0], axis=0), sparse=True)(table)
        >>> g.indices
        array([0, 2, 0])
        >>> np.asarray(g)
        array([[2., 2.],
               [0., 0.],
               [1., 1.]])
    """

    __slots__ = ("_dense_shape", "_indices", "_values")
    __array_priority__ = 1000

    def __init__(self, values: Any, indices: Index, dense_shape: Sequence[DimLike]) -> None:
        rows, numbers, shape = _array(values), _array(indices), (*dense_shape,)
        if not dtypes.is_integer(numbers.dtype):
            raise TypeError(at_user_line(f"IndexedSlices: wanted integers as indices, got {numbers.dtype.name}"))
        fits = (
            len(shape) > 0
            and len(numbers.shape) == 1
            and len(rows.shape) == len(shape)
            and same_dim(rows.shape[0], numbers.shape[0])
            and same_shape(rows.shape[1:], shape[1:])
        )
        if not fits:
            raise ValueError(
                at_user_line(
                    f"IndexedSlices: wanted values of shape (n, *dense_shape[1:]) and n indices, got values of shape "
                    f"{rows.shape}, indices of shape {numbers.shape} and the dense_shape {shape}"
                )
            )
        self._values = rows
        self._indices = numbers
        self._dense_shape: Shape = shape

    @property
    def values(self) -> Any:
        """The rows."""
        return self._values

    @property
    def indices(self) -> Any:
        """The number of each row."""
        return self._indices

    @property
    def dense_shape(self) -> Shape:
        """The shape of the array in full."""
        return self._dense_shape

    @property
    def shape(self) -> Shape:
        """The shape of the array in full."""
        return self._dense_shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._dense_shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The data type of the values."""
        return self._values.dtype

    def _in_full(self) -> Tensor:
        values = as_tensor(self._values, "IndexedSlices")
        indices = cast(as_tensor(self._indices, "IndexedSlices"), dtypes.int64)
        return scatter_add(zeros_of(tensor_type(self._dense_shape, values.dtype)), values, indices)

    __wengert_tensor__ = _in_full

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError(at_user_line("np.asarray(IndexedSlices, copy=False): the array in full is a new one"))
        array = self._in_full().__array__(dtype)
        return array if array.flags.writeable else array.copy()

    def __repr__(self) -> str:
        return f"IndexedSlices(values={self._values!r}, indices={self._indices!r}, dense_shape={self._dense_shape})"


def _array(x: Any) -> Any:
    """A NumPy array or tensor as it is, anything else as a tensor."""
    return x if isinstance(x, ARRAYS) else as_tensor(x, "IndexedSlices")


def slices_of(rows: Rows, source: Tensor) -> IndexedSlices:
    """The gradient of a source as users see it, on the source's engine."""
    values, indices = rows.columns()
    shape = rows.type.shape
    return IndexedSlices(beside(values, source), counted_from_front(indices, shape[0]), shape)
