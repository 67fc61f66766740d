"""NumPy's functions whose results are integers or booleans, computed from values: constants to a gradient.

A trace has no values, so they raise `TracingError` there.
"""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np

from .. import ops
from .._core.argument_types import ArrayLike
from .._core.user_line import at_user_line
from ..ops.promotion import as_tensor, is_symbolic
from ._decorators import as_numpy


def _values(x: ArrayLike, name: str) -> Any:
    """The values of an argument, or of each in a tuple."""
    tensor = as_tensor(x, name)
    tensor._require_concrete(f"np.{name}")
    return ops.stop_gradient(tensor).numpy()


@as_numpy
def lexsort(keys: ArrayLike, axis: int = -1) -> Any:
    """The indices that sort by several keys, of which the last counts most.

    Example:
        >>> import wengert.numpy as np
        >>> np.lexsort(([1.0, 0.0, 2.0], [1, 1, 0]))
        array([2, 1, 0])
    """
    many = [_values(key, "lexsort") for key in keys] if isinstance(keys, (list, tuple)) else _values(keys, "lexsort")
    return as_tensor(np.lexsort(many, axis))


@as_numpy
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: Any = "C") -> Any:
    """The flat indices of tuples of indices.

    Example:
        >>> import wengert.numpy as np
        >>> np.ravel_multi_index(([0, 1], [2, 0]), (2, 3))
        array([2, 3])
    """
    places = (*[_values(index, "ravel_multi_index") for index in multi_index],)
    try:
        return as_tensor(np.ravel_multi_index(places, dims, mode, order))
    except ValueError as error:
        raise ValueError(at_user_line(f"np.ravel_multi_index: {error}; indices go with dims {dims}")) from None


@as_numpy
def unravel_index(indices: Any, shape: Any, order: Any = "C") -> Any:
    """The tuples of indices of flat ones."""
    if order not in ("C", "F"):
        raise ValueError(at_user_line(f"np.unravel_index: order is {order!r}; wanted 'C' or 'F'"))
    flat = as_tensor(indices, "unravel_index")
    if not is_symbolic(flat) and ops.any(flat < 0):  # which `ops` count from the end
        raise ValueError(at_user_line(f"np.unravel_index: index {ops.min(flat)} is out of bounds for shape {shape}"))
    if order == "C":
        return ops.unravel_index(flat, shape)
    return ops.unravel_index(flat, (*np.ravel(shape)[::-1],))[::-1]


@as_numpy
def packbits(a: Any, /, axis: SupportsIndex | None = None, bitorder: Any = "big") -> Any:
    """Booleans as the bits of bytes.

    Example:
        >>> import wengert.numpy as np
        >>> np.packbits([1, 0, 1])
        array([160], dtype=uint8)
    """
    return as_tensor(np.packbits(_values(a, "packbits"), axis, bitorder))


@as_numpy
def unpackbits(a: Any, /, axis: SupportsIndex | None = None, count: Any = None, bitorder: Any = "big") -> Any:
    """The bits of bytes.

    Example:
        >>> import wengert.numpy as np
        >>> np.unpackbits(np.array([160], np.uint8), count=3).numpy()
        array([1, 0, 1], dtype=uint8)
    """
    return as_tensor(np.unpackbits(_values(a, "unpackbits"), axis, count, bitorder))


@as_numpy
def bitwise_count(x: ArrayLike, /) -> Any:
    """How many bits of the magnitude of integers are set.

    Example:
        >>> import wengert.numpy as np
        >>> np.bitwise_count([3, 8])
        array([2, 1], dtype=uint8)
    """
    values = _values(x, "bitwise_count")
    if values.dtype.kind not in "iub":
        raise TypeError(at_user_line(f"np.bitwise_count: x has dtype {values.dtype.name}; wanted integers"))
    return as_tensor(np.bitwise_count(values))


__all__ = ["bitwise_count", "lexsort", "packbits", "ravel_multi_index", "unpackbits", "unravel_index"]
