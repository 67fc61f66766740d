"""Sparse matrices whose stored values are a tensor: gradients flow in the values, and the pattern is a constant.

A matrix is a vector of values and the places where they stand; nothing here makes it dense but `toarray`. Products and
systems are the ops of `wengert.linalg`, all else gathers and sums of values by places that NumPy works out.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy

from .. import numpy as np
from .. import tree
from .._core.argument_types import ArrayLike, Axes, DTypeLike, Index
from .._core.kinds import ARRAYS, NUMBERS
from .._core.scipy_modules import scipy
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..ops.ordering import segment_sum
from ..ops.sparse import is_sparse, product, right_product
from ._conversions import Array, floats


class Pattern(NamedTuple):
    """Where values stand: their rows and columns, in the order in which they are stored, and what it is a matrix of.

    Attributes:
        rows, columns: integers, one for each stored value.
        shape: of two axes.
        format: SciPy's name, such as "csr".
        is_array: whether it is one of SciPy's sparse arrays, whose `*` is elementwise, rather than of its matrices.
        is_flat: whether it is a vector, stored as a matrix of one row.
    """

    rows: Array
    columns: Array
    shape: tuple[int, int]
    format: str
    is_array: bool
    is_flat: bool = False

    def _key(self) -> tuple[Any, ...]:
        return (self.rows.tobytes(), self.columns.tobytes(), *self[2:])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pattern) and self._key() == other._key()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._key())

    @property
    def numbers(self) -> Array:
        """The places as single numbers, row by row."""
        return self.rows * self.shape[1] + self.columns


class SparseTensor:
    """A sparse matrix whose stored values are a tensor, with the methods of SciPy's matrices.

    Args:
        data: the stored values.
        pattern: where they stand.
    """

    __array_ufunc__ = None  # NumPy's arrays give it the turn in operators
    __wengert_sparse__ = True

    def __init__(self, data: Tensor, pattern: Pattern) -> None:
        self.data = data
        self._pattern = pattern

    # -- what it is -----------------------------------------------------------------------------------------------

    format = property(lambda self: self._pattern.format)
    shape = property(lambda self: self._pattern.shape[1:] if self._pattern.is_flat else self._pattern.shape)
    ndim = property(lambda self: len(self.shape))
    dtype = property(lambda self: self.data.dtype)
    nnz = property(lambda self: len(self._pattern.rows))
    size = nnz
    row = property(lambda self: self._pattern.rows)
    col = property(lambda self: self._pattern.columns)
    T = property(lambda self: self.transpose())
    H = property(lambda self: self.transpose().conj())

    @property
    def coords(self) -> tuple[Array, ...]:
        """The places of the stored values."""
        return (self.col,) if self._pattern.is_flat else (self.row, self.col)

    @property
    def indices(self) -> Array:
        """Of a matrix stored by rows the columns of the values, of one stored by columns their rows."""
        return self.row if self.format == "csc" else self.col

    @property
    def indptr(self) -> Array:
        """Where the values of each row (or column) begin and end."""
        across, count = (
            (self.col, self._pattern.shape[1]) if self.format == "csc" else (self.row, self._pattern.shape[0])
        )
        return numpy.concatenate([[0], numpy.cumsum(numpy.bincount(across, minlength=count))])

    def __repr__(self) -> str:
        return f"<SparseTensor in {self.format} format: shape {self.shape}, {self.nnz} stored values of {self.dtype}>"

    def __len__(self) -> int:
        raise TypeError(at_user_line("sparse array length is ambiguous; use shape[0]"))

    def __bool__(self) -> bool:
        raise ValueError(at_user_line("the truth of a sparse matrix is ambiguous"))

    # -- the same values in another form --------------------------------------------------------------------------

    def _with(self, data: Tensor, **changes: object) -> SparseTensor:
        return SparseTensor(data, self._pattern._replace(**changes))

    def _summed(self, by_columns: bool = False) -> SparseTensor:
        """With one value at each place, in order."""
        pattern = self._pattern
        width, height = pattern.shape[1], pattern.shape[0]
        numbers = pattern.columns * height + pattern.rows if by_columns else pattern.numbers
        places, inverse = numpy.unique(numbers, return_inverse=True)
        if len(places) == len(numbers):
            data = self.data if numpy.array_equal(places, numbers) else self.data[numpy.argsort(numbers)]
        else:
            data = segment_sum(self.data, inverse, len(places))
        columns, rows = (places // height, places % height) if by_columns else (places % width, places // width)
        return self._with(data, rows=rows, columns=columns)

    def asformat(self, format: str | None, copy: bool = False) -> SparseTensor:
        """The matrix in another format of SciPy's; all but "csr" and "csc" keep the order of the values."""
        if format in (None, self.format):
            return self
        found = self._summed(by_columns=format == "csc") if format in ("csr", "csc") else self
        return found._with(found.data, format=format)

    tocsr = functools.partialmethod(asformat, "csr")
    tocsc = functools.partialmethod(asformat, "csc")
    tocoo = functools.partialmethod(asformat, "coo")
    todia = functools.partialmethod(asformat, "dia")

    def sum_duplicates(self) -> None:
        """One value at each place."""
        self.data, self._pattern = (found := self._summed(self.format == "csc")).data, found._pattern

    def copy(self) -> SparseTensor:
        """Another matrix of the same values."""
        return self._with(self.data + 0)

    def astype(self, dtype: DTypeLike) -> SparseTensor:
        """The matrix in another dtype."""
        return self._with(self.data.astype(dtype))

    def transpose(self, axes: Axes = None, copy: bool = False) -> SparseTensor:
        """Rows for columns."""
        p = self._pattern
        turned = {"csr": "csc", "csc": "csr"}.get(p.format, p.format)
        if p.is_flat:
            return self
        return self._with(self.data, rows=p.columns, columns=p.rows, shape=p.shape[::-1], format=turned)

    def conj(self) -> SparseTensor:
        """The complex conjugate."""
        return self._with(np.conj(self.data))

    def toarray(self) -> Tensor:
        """The matrix as a dense tensor."""
        return np.reshape(segment_sum(self.data, self._pattern.numbers, math.prod(self._pattern.shape)), self.shape)

    todense = toarray

    def fixed(self) -> Any:
        """SciPy's own matrix of these values, which nobody may follow."""
        return with_values(self._pattern, self.data.__array__())

    # -- sums and parts -------------------------------------------------------------------------------------------

    def sum(self, axis: Axes = None) -> Any:
        """The sum of all elements, or along an axis."""
        p = self._pattern
        if axis is None or p.is_flat:
            return np.sum(self.data)
        if axis in (0, -2):
            found = segment_sum(self.data, p.columns, p.shape[1])
            return found if p.is_array else np.reshape(found, (1, -1))
        if axis not in (1, -1):
            raise ValueError(at_user_line(f"sum: axis {axis} is out of range for a sparse matrix"))
        found = segment_sum(self.data, p.rows, p.shape[0])
        return found if p.is_array else np.reshape(found, (-1, 1))

    def mean(self, axis: Axes = None) -> Any:
        """The mean of all elements, or along an axis."""
        return self.sum(axis) / (math.prod(self.shape) if axis is None or self.ndim == 1 else self.shape[axis])

    def diagonal(self, k: int = 0) -> Tensor:
        """The k-th diagonal."""
        p = self._pattern
        length = max(0, min(p.shape[0] + min(k, 0), p.shape[1] - max(k, 0)))
        held = numpy.flatnonzero(p.columns - p.rows == k)
        return segment_sum(self.data[held], (p.rows if k >= 0 else p.columns)[held], length)

    def trace(self, offset: int = 0) -> Tensor:
        """The sum of a diagonal."""
        return np.sum(self.diagonal(offset))

    def getrow(self, i: int) -> SparseTensor:
        """A row, as a matrix."""
        return self._rows_at(numpy.arange(self._pattern.shape[0])[[i]])

    def getcol(self, j: int) -> SparseTensor:
        """A column, as a matrix."""
        return self._columns_at(numpy.arange(self._pattern.shape[1])[[j]])

    def _rows_at(self, chosen: Array) -> SparseTensor:
        p = self._pattern
        order = numpy.argsort(p.rows, kind="stable")
        starts = numpy.searchsorted(p.rows[order], numpy.arange(p.shape[0] + 1))
        counts = (starts[1:] - starts[:-1])[chosen]
        rows = numpy.repeat(numpy.arange(len(chosen)), counts)
        before = numpy.repeat(numpy.cumsum(counts) - counts, counts)
        held = order[numpy.repeat(starts[chosen], counts) + numpy.arange(len(rows)) - before]
        return self._with(self.data[held], rows=rows, columns=p.columns[held], shape=(len(chosen), p.shape[1]))

    def _columns_at(self, chosen: Array) -> SparseTensor:
        return self.transpose()._rows_at(chosen).transpose()

    def __getitem__(self, index: ArrayLike) -> Any:
        if self._pattern.is_flat:
            index = (0, index)
        i, j = (*index, slice(None))[:2] if isinstance(index, tuple) else (index, slice(None))
        height, width = self._pattern.shape
        rows, columns = numpy.arange(height)[_known(i)], numpy.arange(width)[_known(j)]
        if (
            rows.ndim > 1
            or columns.ndim > 1
            or (rows.ndim and columns.ndim and not isinstance(i, slice) and not isinstance(j, slice))
        ):
            raise IndexError(at_user_line("a sparse tensor is indexed by numbers, slices and lists of rows or columns"))
        if not rows.ndim and not columns.ndim:
            p = self._pattern
            return np.sum(self.data[numpy.flatnonzero((p.rows == rows) & (p.columns == columns))])
        found = self
        if not (isinstance(i, slice) and len(rows) == height and i.step in (None, 1)):
            found = found._rows_at(numpy.atleast_1d(rows))
        if not (isinstance(j, slice) and len(columns) == width and j.step in (None, 1)):
            found = found._columns_at(numpy.atleast_1d(columns))
        if not self._pattern.is_array or (rows.ndim and columns.ndim):
            return found
        p = found._pattern  # a row or a column of an array is a vector
        along = p.columns if columns.ndim else p.rows
        return found._with(
            found.data, rows=numpy.zeros_like(along), columns=along, shape=(1, len(columns if columns.ndim else rows)),
            format="coo", is_flat=True,
        )  # fmt: skip

    # -- arithmetic -----------------------------------------------------------------------------------------------

    def __matmul__(self, other: Any) -> Any:
        if is_scalar(other):
            raise ValueError(at_user_line("matmul: scalar operands are not allowed, use '*' instead"))
        if isinstance(other, SparseTensor) or is_sparse(other):
            return _product(self, as_sparse(other))
        whole = self._with(self.data, is_flat=False)
        found = product(whole, floats(other), None, "matmul")
        return found[0] if self._pattern.is_flat else found

    def __rmatmul__(self, other: Any) -> Any:
        if is_sparse(other):
            return _product(as_sparse(other), self)
        if self._pattern.is_flat:
            return floats(other) @ self.toarray()
        return right_product(self, floats(other))

    def dot(self, other: ArrayLike) -> Any:
        """The product with a vector, a matrix or a number."""
        return self * other if is_scalar(other) else self @ other

    def multiply(self, other: ArrayLike) -> Any:
        """The product element by element; places that one of the two does not store are zero."""
        if is_scalar(other):
            return self._with(self.data * other)
        if not is_sparse(other) and not isinstance(other, SparseTensor):
            return self._with(self.data * self._met(other), format="coo")
        a, b = self._summed(), as_sparse(other)._summed()
        if a.shape != b.shape:
            raise ValueError(at_user_line(f"multiply: shapes {a.shape} and {b.shape} differ"))
        _, left, right = numpy.intersect1d(a._pattern.numbers, b._pattern.numbers, return_indices=True)
        return a._with(a.data[left] * b.data[right], rows=a.row[left], columns=a.col[left], format="csr")

    def _met(self, dense: Any) -> Tensor:
        """The elements of a dense matrix at the stored places."""
        return np.broadcast_to(floats(dense), self.shape)[self.coords]

    def __mul__(self, other: ArrayLike) -> Any:
        return self.multiply(other) if self._pattern.is_array else self.dot(other)

    def __rmul__(self, other: ArrayLike) -> Any:
        if is_scalar(other) or self._pattern.is_array:
            return self.multiply(other)
        return self.__rmatmul__(other)

    def __truediv__(self, other: ArrayLike) -> Any:
        if is_sparse(other) or isinstance(other, SparseTensor):
            return NotImplemented
        return self._with(self.data / (other if is_scalar(other) else self._met(other)))

    def __neg__(self) -> SparseTensor:
        return self._with(-self.data)

    def __abs__(self) -> SparseTensor:
        found = self._summed(self.format == "csc")
        return found._with(np.abs(found.data))

    def power(self, n: int, dtype: DTypeLike | None = None) -> SparseTensor:
        """The n-th power of each element, n above zero."""
        if not n > 0:
            raise NotImplementedError(at_user_line(f"power: n is {n}; zeros to that power are not zero"))
        found = self._summed(self.format == "csc")
        return found._with(found.data**n)

    def __pow__(self, n: Any) -> Any:
        if self._pattern.is_array:
            return self.power(n)
        if type(n) is not int or n < 1:
            raise ValueError(at_user_line(f"the power of a sparse matrix is a whole number above zero, got {n}"))
        return functools.reduce(lambda a, b: a @ b, [self] * n)

    def __add__(self, other: ArrayLike) -> Any:
        if is_scalar(other):
            if isinstance(other, NUMBERS) and other == 0:
                return self
            raise NotImplementedError(at_user_line("adding a nonzero scalar to a sparse array is not supported"))
        if not is_sparse(other) and not isinstance(other, SparseTensor):
            return self.toarray() + floats(other)
        b = as_sparse(other)
        if b.shape != self.shape:
            raise ValueError(at_user_line(f"add: shapes {self.shape} and {b.shape} differ"))
        both = self._with(
            np.concatenate([self.data, b.data]), rows=numpy.concatenate([self.row, b.row]),
            columns=numpy.concatenate([self.col, b.col]),
        )  # fmt: skip
        return both._summed(self.format == "csc")

    __radd__ = __add__

    def __sub__(self, other: Tensor) -> Any:
        return self + (-other)

    def __rsub__(self, other: ArrayLike) -> Any:
        return -self + other


tree.register(
    SparseTensor, lambda matrix: ([matrix.data], matrix._pattern), lambda pattern, data: rebuilt(pattern, *data)
)


def rebuilt(pattern: Pattern, data: Any) -> Any:
    """A matrix of other values: SciPy's own of NumPy's; the values themselves where a batch of them came out."""
    if len(data.shape) != 1:
        return data
    return SparseTensor(data, pattern) if isinstance(data, Tensor) else with_values(pattern, numpy.asarray(data))


def with_values(pattern: Pattern, values: Array) -> Any:
    """SciPy's own matrix of a pattern."""
    kind = "array" if pattern.is_array else "matrix"
    if pattern.is_flat:
        return scipy("sparse").coo_array((values, (pattern.columns,)), shape=pattern.shape[1:])
    whole = getattr(scipy("sparse"), f"coo_{kind}")((values, (pattern.rows, pattern.columns)), shape=pattern.shape)
    return whole.asformat(pattern.format)


def is_scalar(x: ArrayLike) -> bool:
    """Whether an operand is a number, or a tensor or array of no axes."""
    return isinstance(x, NUMBERS) or (getattr(x, "ndim", None) == 0 and isinstance(x, (Tensor, *ARRAYS)))


def _known(index: Index) -> Any:
    return index.numpy() if isinstance(index, Tensor) else index


def as_sparse(matrix: Any) -> SparseTensor:
    """One of SciPy's matrices as a sparse tensor; a sparse tensor as it is."""
    if isinstance(matrix, SparseTensor):
        return matrix
    parts = matrix.tocoo()
    format = matrix.format if matrix.format in ("csr", "csc") else "coo"
    rows, columns = (numpy.asarray(p, numpy.int64) for p in (parts.row, parts.col))
    pattern = Pattern(rows, columns, parts.shape, "coo", isinstance(matrix, scipy("sparse").sparray))
    return SparseTensor(floats(parts.data), pattern).asformat(format)


def _product(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    """The product of two sparse matrices: for each value of a those of b in the row that it meets."""
    if a.shape[-1] != b._pattern.shape[0] or a._pattern.is_flat or b._pattern.is_flat:
        raise ValueError(at_user_line(f"matmul: shapes {a.shape} and {b.shape} do not fit together"))
    order = numpy.argsort(b.row, kind="stable")
    starts = numpy.searchsorted(b.row[order], numpy.arange(b.shape[0] + 1))
    counts = (starts[1:] - starts[:-1])[a.col]
    left = numpy.repeat(numpy.arange(a.nnz), counts)
    before = numpy.repeat(numpy.cumsum(counts) - counts, counts)
    right = order[numpy.repeat(starts[a.col], counts) + numpy.arange(len(left)) - before]
    pattern = Pattern(
        a.row[left], b.col[right], (a.shape[0], b.shape[1]), "csr", a._pattern.is_array or b._pattern.is_array
    )
    return SparseTensor(a.data[left] * b.data[right], pattern)._summed()


__all__ = ["Pattern", "SparseTensor", "as_sparse", "is_scalar", "with_values"]
