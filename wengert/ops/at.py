"""Functional updates: `x.at[index].set(value)` and its kin, which return a new tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core import dtypes
from .._core.argument_types import ArrayLike, Index
from .._core.op import Op
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import indexing as I
from .._prims import structural as S
from .._prims.buffer import buffer_add, buffer_new, buffer_set, buffer_value
from . import promotion
from .buffer_indexing import plain_place
from .elementwise import divide, power
from .shapes import reshaped
from .subscript import take_index, targets_of
from .written_values import filling, fitting

_AT_PLACES = {I.scatter_set: buffer_set, I.scatter_add: buffer_add}


class At:
    """`x.at[index]`: writes that return a new tensor.

    Example:
        >>> import wengert as wg
        >>> wg.ops.zeros(3).at[1].set(5.0)
        Tensor([0., 5., 0.], shape=(3,), dtype=float64)
    """

    __slots__ = ("_x",)

    def __init__(self, x: Tensor) -> None:
        self._x = x

    def __getitem__(self, index: Any) -> Places:
        return Places(self._x, index)

    def __repr__(self) -> str:
        return f"<at of {self._x!r}>"


class Places:
    """The elements of a tensor that an index addresses: `get` reads them, the others return a new tensor.

    Values broadcast to the shape of x[index] and take x's dtype. Where an index addresses an element twice, `set`
    keeps the last value, and the others take all of them in.
    """

    __slots__ = ("_index", "_x")

    def __init__(self, x: Tensor, index: Index) -> None:
        self._x = x
        self._index = index

    def get(self) -> Tensor:
        """x[index]."""
        return take_index(self._x, self._index, "at.get")

    def set(self, value: ArrayLike) -> Tensor:
        """x with the value at x[index]; of two values for one element the last wins and has the gradient.

        Args:
            value: an array or a number that broadcasts to the shape of x[index].

        Returns:
            A tensor of x's shape and dtype.

        Raises:
            TypeError: for a value of a dtype that x's cannot hold.
            ValueError: for a value that does not broadcast.

        Example:
            >>> import wengert as wg
            >>> wg.ops.zeros(3).at[:2].set([1.0, 2.0])
            Tensor([1., 2., 0.], shape=(3,), dtype=float64)
        """
        return self._scattered(I.scatter_set, value, "at.set")

    def add(self, value: ArrayLike) -> Tensor:
        """x with the value added at x[index].

        Args:
            value: an array or a number that broadcasts to the shape of x[index].

        Returns:
            A tensor of x's shape and dtype.

        Example:
            >>> import wengert as wg
            >>> wg.ops.zeros(2).at[[0, 0]].add(1.0)
            Tensor([2., 0.], shape=(2,), dtype=float64)
        """
        return self._scattered(I.scatter_add, value, "at.add")

    def subtract(self, value: ArrayLike) -> Tensor:
        """x with the value taken away at x[index].

        Args:
            value: an array or a number that broadcasts to the shape of x[index].

        Returns:
            A tensor of x's shape and dtype.

        Example:
            >>> import wengert as wg
            >>> wg.ops.zeros(2).at[0].subtract(1.0)
            Tensor([-1.,  0.], shape=(2,), dtype=float64)
        """
        return self._scattered(I.scatter_add, value, "at.subtract", S.neg)

    def multiply(self, value: ArrayLike) -> Tensor:
        """x multiplied by the value at x[index]; the gradient is exact where factors are 0.

        Args:
            value: an array or a number that broadcasts to the shape of x[index].

        Returns:
            A tensor of x's shape and dtype.

        Example:
            >>> import wengert as wg
            >>> wg.ops.ones(2).at[0].multiply(3.0)
            Tensor([3., 1.], shape=(2,), dtype=float64)
        """
        return self._scattered(I.scatter_mul, value, "at.multiply")

    def divide(self, value: ArrayLike) -> Tensor:
        """x divided by the value at x[index]; where an index repeats an element, by the product of its values.

        Args:
            value: an array or a number that broadcasts to the shape of x[index].

        Returns:
            A tensor of x's shape and dtype, which is a floating one.

        Example:
            >>> import wengert as wg
            >>> wg.ops.ones(2).at[0].divide(4.0)
            Tensor([0.25, 1.  ], shape=(2,), dtype=float64)
        """
        if not dtypes.is_inexact(self._x.dtype):
            raise TypeError(at_user_line(f"at.divide: x has dtype {self._x.dtype.name}, wanted a floating one"))
        factors = Places(ones_of(self._x), self._index).multiply(value)
        return divide(self._x, factors)

    def power(self, value: ArrayLike) -> Tensor:
        """x to the power of the value at x[index]; of two values for one element the last counts.

        Args:
            value: an array or a number that broadcasts to the shape of x[index].

        Returns:
            A tensor of x's shape and dtype.

        Example:
            >>> import wengert as wg
            >>> wg.ops.full(2, 3.0).at[0].power(2.0)
            Tensor([9., 3.], shape=(2,), dtype=float64)
        """
        return power(self._x, Places(ones_of(self._x), self._index).set(value))

    def max(self, value: ArrayLike) -> Tensor:
        """The larger of x and the value at x[index]; equal ones, x among them, share the gradient evenly.

        Args:
            value: an array or a number that broadcasts to the shape of x[index].

        Returns:
            A tensor of x's shape and dtype.

        Example:
            >>> import wengert as wg
            >>> wg.ops.zeros(2).at[:].max([1.0, -1.0])
            Tensor([1., 0.], shape=(2,), dtype=float64)
        """
        return self._scattered(I.scatter_max, value, "at.max")

    def min(self, value: ArrayLike) -> Tensor:
        """The smaller of x and the value at x[index]; equal ones, x among them, share the gradient evenly.

        Args:
            value: an array or a number that broadcasts to the shape of x[index].

        Returns:
            A tensor of x's shape and dtype.

        Example:
            >>> import wengert as wg
            >>> wg.ops.zeros(2).at[:].min([1.0, -1.0])
            Tensor([ 0., -1.], shape=(2,), dtype=float64)
        """
        return self._scattered(I.scatter_min, value, "at.min")

    def _scattered(self, op: Op, value: ArrayLike, what: str, change: Callable[..., Any] | None = None) -> Tensor:
        x = self._x
        updates = fitting(promotion.tensors_of(x, value, what)[1], x, what)
        updates = updates if change is None else change(updates)
        plain = plain_place(x.shape, self._index) if op in _AT_PLACES else None
        if plain is not None and not plain[2]:  # of slices and integers no two lead to one element
            template, extents, _ = plain
            values = updates if updates.shape == extents else filling(updates, extents, what)
            return buffer_value(_AT_PLACES[op](values, buffer_new(x), template=template))
        targets = targets_of(x, self._index, what)
        result = op(targets.base, filling(updates, targets.shape, what), *targets.positions)
        return reshaped(result, tuple(x.shape))


def ones_of(x: Tensor) -> Tensor:
    """Ones in the type of x."""
    return S.fill(x, 1)
