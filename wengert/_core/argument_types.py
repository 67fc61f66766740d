"""Type aliases for the parameters of public functions: `ArrayLike`, `DTypeLike`, `ShapeLike`, `Axes`, `Index`, `Tree`.

They are for readers and type checkers only. Nothing here is asked at run time: arguments are checked where they are
converted (`ops.promotion`, `_core.dtypes`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from types import EllipsisType
from typing import Any, Protocol, SupportsIndex, TypeAlias

import numpy as np


class SupportsArray(Protocol):
    """An array of any library: a tensor, a Variable, NumPy's arrays and scalars, JAX's, TensorFlow's, PyTorch's."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any: ...


class SupportsDType(Protocol):
    """What has a dtype, as JAX's scalar types do."""

    @property
    def dtype(self) -> Any: ...


# `complex` stands for Python's numbers of all kinds, as in type checkers' own promotion; a dimension has `__index__`.
ArrayLike: TypeAlias = "SupportsArray | complex | SupportsIndex | Sequence[ArrayLike]"

# One axis or several, also those that None stands for: all, or the flattened array's only one.
Axes: TypeAlias = "SupportsIndex | Sequence[SupportsIndex] | None"

DTypeLike: TypeAlias = "np.dtype[Any] | type[Any] | str | SupportsDType"

# One extent or several; an array of integers without further axes will do.
ShapeLike: TypeAlias = "SupportsIndex | Sequence[SupportsIndex] | SupportsArray"

# What stands between the brackets of `x[...]`.
Index: TypeAlias = "ArrayLike | slice | EllipsisType | tuple[Index, ...] | None"

# Arrays that NumPy's functions write their results to.
Out: TypeAlias = "SupportsArray | tuple[SupportsArray | None, ...]"

# Arrays, and lists, tuples, dicts, dataclasses and registered classes of them, one within another (`wg.tree`). What is
# at the leaves is judged where they are read.
Tree: TypeAlias = "object"

# What `unconnected_gradients=` takes: "error", "zero" or "none", or an enum of TensorFlow's with such a value.
Unconnected: TypeAlias = "str | Enum"

# What `progress=` takes: whether to print how far it is, or a function that is told.
Progress: TypeAlias = "bool | Callable[[str], object] | None"
