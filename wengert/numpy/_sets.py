"""NumPy's distinct values and its arrays as sets.

How many values there are depends on the values themselves, so these run eagerly and raise `TracingError` in a trace.
Values that are picked are recorded: of equal elements the first has the gradient. Membership is a constant.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import ops
from .._core.argument_types import ArrayLike, Axes
from .._core.engine import ndarray_of
from .._core.moving import beside
from .._core.tensor import Tensor
from ..ops.promotion import as_tensor, common_dtype, normal_axis, strong
from ._decorators import as_numpy
from ._shapes import concatenate, diff, ravel


class UniqueAllResult(NamedTuple):
    """The distinct values, where each is first, their places in the array, and how often each occurs."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCountsResult(NamedTuple):
    """The distinct values and how often each occurs."""

    values: Any
    counts: Any


class UniqueInverseResult(NamedTuple):
    """The distinct values, and the places among them that rebuild the array."""

    values: Any
    inverse_indices: Any


def _values_of(x: Tensor, name: str) -> np.ndarray[Any, Any]:
    x._require_concrete(name)
    return ndarray_of(x._data)


def _picked(x: Tensor, places: np.ndarray[Any, Any], axis: int = 0) -> Tensor:
    return ops.take(x, beside(as_tensor(places), x), axis=axis)


@as_numpy
def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Axes = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """The distinct values, ascending. Of equal elements the first has the gradient.

    Raises TracingError in a trace, where their number is not known."""
    x = as_tensor(ar, "unique")
    axis = None if axis is None else normal_axis(axis, x.ndim, "unique")
    _, first, inverse, counts = np.unique(
        _values_of(x, "unique"), return_index=True, return_inverse=True, return_counts=True, axis=axis,
        equal_nan=equal_nan,
    )  # fmt: skip
    values = _picked(ravel(x), first) if axis is None else _picked(x, first, axis)
    asked = ((first, return_index), (inverse, return_inverse), (counts, return_counts))
    more = (*[as_tensor(extra) for extra, is_wanted in asked if is_wanted],)
    return (values, *more) if more else values


@as_numpy
def unique_all(x: ArrayLike, /) -> Any:
    """The distinct values, the first place of each, the inverse and the counts; each NaN counts for itself.

    Example:
        >>> import wengert.numpy as np
        >>> np.unique_all([3, 1, 3]).counts
        array([1, 2])
    """
    return UniqueAllResult(*unique(as_tensor(x, "unique_all"), True, True, True, equal_nan=False))


@as_numpy
def unique_counts(x: ArrayLike, /) -> Any:
    """The distinct values, and how often each occurs; each NaN counts for itself.

    Example:
        >>> import wengert.numpy as np
        >>> np.unique_counts([3, 1, 3]).counts
        array([1, 2])
    """
    return UniqueCountsResult(*unique(as_tensor(x, "unique_counts"), return_counts=True, equal_nan=False))


@as_numpy
def unique_inverse(x: ArrayLike, /) -> Any:
    """The distinct values, and the places among them that rebuild the array; each NaN counts for itself.

    Example:
        >>> import wengert.numpy as np
        >>> np.unique_inverse([3, 1, 3]).inverse_indices
        array([1, 0, 1])
    """
    return UniqueInverseResult(*unique(as_tensor(x, "unique_inverse"), return_inverse=True, equal_nan=False))


@as_numpy
def unique_values(x: ArrayLike, /) -> Any:
    """The distinct values; each NaN counts for itself.

    Example:
        >>> import wengert.numpy as np
        >>> np.unique_values([3, 1, 3])
        array([1, 3])
    """
    return unique(as_tensor(x, "unique_values"), equal_nan=False)


@as_numpy
def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Any:
    """Whether each element is among others: booleans, constants to a gradient."""
    x, among = (as_tensor(strong(t), "isin") for t in (element, test_elements))
    return ops.isin(x, among, assume_unique, invert)


def _together(a: ArrayLike, b: ArrayLike, name: str) -> tuple[Tensor, Tensor]:
    """Two arrays as vectors in their common dtype."""
    x, y = ravel(as_tensor(a, name)), ravel(as_tensor(b, name))
    dtype = common_dtype([x, y])
    return ops.cast(x, dtype), ops.cast(y, dtype)


@as_numpy
def union1d(ar1: ArrayLike, ar2: ArrayLike) -> Any:
    """The distinct values of two arrays together, ascending.

    Example:
        >>> import wengert.numpy as np
        >>> np.union1d([1, 3], [2, 3])
        array([1, 2, 3])
    """
    return unique(concatenate(_together(ar1, ar2, "union1d")))


@as_numpy
def intersect1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The values that are in both arrays, ascending; the gradient goes to the first of them in ar1.

    Example:
        >>> import wengert.numpy as np
        >>> np.intersect1d([1, 3, 3], [2, 3])
        array([3])
    """
    x, y = _together(ar1, ar2, "intersect1d")
    _, first, second = np.intersect1d(
        _values_of(x, "intersect1d"), _values_of(y, "intersect1d"), assume_unique, return_indices=True
    )
    values = _picked(x, first)
    return (values, as_tensor(first), as_tensor(second)) if return_indices else values


@as_numpy
def setdiff1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Any:
    """The distinct values of one array that are not in another: ascending, or in their order if `assume_unique`.

    Example:
        >>> import wengert.numpy as np
        >>> np.setdiff1d([3, 1, 2], [2])
        array([1, 3])
    """
    x, y = as_tensor(ar1, "setdiff1d"), as_tensor(ar2, "setdiff1d")
    x = ravel(x) if assume_unique else unique(x)
    is_kept = np.isin(_values_of(x, "setdiff1d"), _values_of(y, "setdiff1d"), invert=True)
    return _picked(x, np.flatnonzero(is_kept))


@as_numpy
def setxor1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Any:
    """The values that are in one of two arrays and not in the other, ascending.

    Example:
        >>> import wengert.numpy as np
        >>> np.setxor1d([1, 3], [2, 3])
        array([1, 2])
    """
    x, y = _together(ar1, ar2, "setxor1d")
    if not assume_unique:
        x, y = unique(x), unique(y)
    both = ops.sort(concatenate((x, y)))
    is_edge = np.concatenate(([True], _values_of(diff(both), "setxor1d") != 0, [True]))
    return _picked(both, np.flatnonzero(is_edge[1:] & is_edge[:-1]))


__all__ = [
    "intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all", "unique_counts",
    "unique_inverse", "unique_values",
]  # fmt: skip
