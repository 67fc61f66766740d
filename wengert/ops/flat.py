"""`Flat`, which `x.flat` gives: the elements of a tensor in row-major order, to iterate over, to read and to write."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from copy import copy
from typing import Any, TypeGuard

import numpy as np

from .._core import dtypes
from .._core.argument_types import ArrayLike, Index
from .._core.tensor import Tensor, Written
from .._core.user_line import at_user_line
from . import promotion, shapes
from .indexing import take, unravel_index
from .memory.sharing import own
from .subscript import known_values


class Flat:
    """The elements in row-major order. A read is a copy, as NumPy's; too few values are taken again from the first."""

    __slots__ = ("_numbers", "base")

    def __init__(self, x: Tensor) -> None:
        self.base = x
        self._numbers: Iterator[int] | None = None

    def __len__(self) -> int:
        return operator.index(self.base.size)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __next__(self) -> Any:
        if self._numbers is None:
            self._numbers = iter(range(len(self)))
        return self[next(self._numbers)]

    @property
    def coords(self) -> tuple[int, ...]:
        """Where a fresh iteration starts."""
        return (0,) * self.base.ndim

    def copy(self) -> Tensor:
        """The elements as a tensor of its own."""
        return own(shapes.ravel(self.base), self.base)

    def __wengert_tensor__(self) -> Tensor:
        return self.copy()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, (int, np.integer)) and not isinstance(index, (bool, np.bool_)):
            return copy(promotion.as_tensor(self.base[self._place(int(index))]))
        if _are_unknown(index):
            return copy(promotion.as_tensor(self.base[unravel_index(index, self.base.shape)]))
        if type(self.base) is Written and self.base.ndim:  # at the cost of what is read
            return promotion.as_tensor(self.base[self._coordinates(self._positions(index))])
        return take(shapes.ravel(self.base), self._positions(index), axis=0)

    def __setitem__(self, index: Index, value: ArrayLike) -> None:
        if isinstance(index, (int, np.integer)) and not isinstance(index, (bool, np.bool_)):
            self.base[self._place(int(index))] = value
            return
        numbers = index if _are_unknown(index) else self._positions(index)
        if isinstance(value, (bool, int, float, complex, np.generic)):  # whose bounds are looked at where it is written
            self.base[self._coordinates(numbers)] = value
            return
        given = promotion.as_tensor(value, "x.flat")
        if given.ndim and given.shape != numbers.shape:
            given = shapes.ravel(given)
            if not given.shape[0]:
                return  # NumPy writes nothing then
            count = operator.index(numbers.size)
            if given.shape[0] != count:
                given = take(given, np.arange(count) % given.shape[0], axis=0)
            given = shapes.reshape(given, numbers.shape)
        self.base[self._coordinates(numbers)] = given

    def _place(self, number: int) -> tuple[int, ...]:
        size = len(self)
        if not -size <= number < size:
            raise IndexError(at_user_line(f"x.flat: index {number} is out of bounds for {size} elements"))
        return (*map(int, np.unravel_index(number % size, self.base.shape)),)

    def _positions(self, index: Any) -> np.ndarray[Any, Any]:
        """The numbers of the elements that an index stands for."""
        size = len(self)
        if isinstance(index, slice):
            return np.arange(*index.indices(size))
        if isinstance(index, np.ndarray) and index.dtype.kind == "i":
            if index.size and not (-size <= index.min() and index.max() < size):
                raise IndexError(at_user_line(f"x.flat: an index is out of bounds for {size} elements"))
            return np.where(index < 0, index + size, index)
        return np.arange(size)[
            known_values(promotion.as_tensor(index), "x.flat") if isinstance(index, (list, Tensor)) else index
        ]

    def _coordinates(self, numbers: Tensor | np.ndarray[Any, Any]) -> tuple[Any, ...]:
        if isinstance(numbers, Tensor):
            return unravel_index(numbers, self.base.shape)
        return np.unravel_index(numbers, self.base.shape) if self.base.ndim else (...,)


def _are_unknown(index: object) -> TypeGuard[Tensor]:
    """Whether these are integers that a trace does not know."""
    return isinstance(index, Tensor) and dtypes.is_integer(index.dtype) and promotion.is_symbolic(index)


__all__ = ["Flat"]
