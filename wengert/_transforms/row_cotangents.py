"""`Rows`: a sparse cotangent, zero outside some rows: what is added to which row, until it is needed in full.

The gradient of a gather of rows (an embedding) is one. The sweep hands it on; `wg.IndexedSlices` shows it to users.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.constant import constant
from .._core.dims import Dim, size_of
from .._core.engine import ndarray_of
from .._core.op import ZERO
from .._core.tensor import Tensor, Value
from .._core.types import TensorType
from .._prims.discrete import lt
from .._prims.indexing import scatter_add
from .._prims.structural import (
    absent,
    add,
    broadcast_to,
    concatenate,
    dim_value,
    fill,
    full,
    reshape,
    select,
)

Part = tuple[Tensor, Tensor]  # values of shape (*indices.shape, *row), and indices


class Rows:
    """The transposes of gathers of whole rows, one part each; rows that come up several times add up."""

    __slots__ = ("count", "parts", "type")

    def __init__(self, type_: TensorType, parts: Sequence[Part]) -> None:
        self.type = type_
        self.parts = [*parts]
        self.count: Any = 0  # rows in all parts; 0 where a trace does not know
        for _, positions in parts:
            size = size_of(positions.shape)
            self.count += 0 if type(size) is Dim else size

    def dense(self) -> Tensor:
        """The cotangent in full."""
        return self.added_to(absent(shape=self.type.shape, dtype=self.type.dtype))

    def added_to(self, x: Tensor) -> Tensor:
        """The sum with a cotangent in full."""
        if len(self.parts) == 1:
            return scatter_add(x, *self.parts[0])
        return scatter_add(x, *self.columns())

    def columns(self) -> Part:
        """The values (n, *row) and indices (n,) of all parts, one after another."""
        values: list[Tensor] = []
        indices: list[Tensor] = []
        for part, positions in self.parts:
            if len(positions.shape) != 1:
                count = size_of(positions.shape)
                part = reshape(part, shape=(count, *self.type.shape[1:]))
                positions = reshape(positions, shape=(count,))
            values.append(part)
            indices.append(positions)
        if len(values) == 1:
            return values[0], indices[0]
        return concatenate(*values, axis=0), concatenate(*indices, axis=0)

    @property
    def is_longer_than_dense(self) -> bool:
        """Whether the parts are known to hold more rows than there are."""
        extent = self.type.shape[0]
        return type(extent) is not Dim and self.count > extent


def dense(cotangent: Any) -> Tensor:
    """A cotangent in full."""
    return cotangent.dense() if type(cotangent) is Rows else cotangent


def joined(x: Any, y: Any) -> Any:
    """The sum of two cotangents, at least one of which is `Rows`."""
    if type(x) is Rows and type(y) is Rows:
        x.parts += y.parts
        x.count += y.count
        return x
    return x.added_to(y) if type(x) is Rows else y.added_to(x)


def total(cotangents: Iterable[Any]) -> Any:
    """The sum of tensors, `Rows` and `ZERO`s (None counts as nothing): one of these, or None."""
    result: Any = None
    for term in cotangents:
        if term is None or (term is ZERO and result is not None):
            continue
        if result is None or result is ZERO:
            result = Rows(term.type, term.parts) if type(term) is Rows else term
        elif type(result) is Rows or type(term) is Rows:
            result = joined(result, term)
        else:
            result = add(result, term)
    return result


def counted_from_front(indices: Tensor, extent: object) -> Tensor:
    """Row numbers of which none is negative, as users expect to be given them."""
    if type(indices._data) is not Value:
        known = ndarray_of(indices._data)
        return indices if not (known < 0).any() else constant(np.where(known < 0, known + extent, known))
    size = dim_value(dim=extent) if type(extent) is Dim else full(shape=(), value=extent, dtype=dtypes.int64)
    from_front = add(indices, broadcast_to(size, shape=indices.shape))
    return select(lt(indices, fill(indices, 0)), from_front, indices)
