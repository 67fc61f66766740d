"""SciPy's classes and functions that make sparse matrices, where their values are tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from .. import numpy as np
from .._core.argument_types import ArrayLike, DTypeLike, ShapeLike
from .._core.scipy_modules import scipy
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..ops.promotion import as_tensor
from ..ops.sparse import is_sparse
from ._conversions import Array, floats
from ._namespace import is_for_us
from ._sparse import Pattern, SparseTensor, as_sparse

_CLASSES = ("csr_array", "csc_array", "coo_array", "csr_matrix", "csc_matrix", "coo_matrix", "dia_array", "dia_matrix")


class Format(type):
    """The class of one of SciPy's formats: called with tensors it gives a sparse tensor, else SciPy's own object."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if not is_for_us(args, kwargs):
            return getattr(scipy("sparse"), cls.__name__)(*args, **kwargs)
        return _made(cls.__name__, *args, **kwargs)

    def __instancecheck__(cls, instance: ArrayLike) -> bool:
        format, _, kind = cls.__name__.partition("_")
        if isinstance(instance, SparseTensor):
            return instance.format == format and instance._pattern.is_array is (kind == "array")
        return isinstance(instance, getattr(scipy("sparse"), cls.__name__))

    def __subclasscheck__(cls, subclass: Any) -> bool:
        return issubclass(subclass, getattr(scipy("sparse"), cls.__name__))


def _integers(x: ArrayLike) -> Array:
    return numpy.asarray(x.numpy() if isinstance(x, Tensor) else x, numpy.int64)


def _made(
    name: str,
    arg1: tuple[Any, ...],
    shape: tuple[int, ...] | None = None,
    dtype: DTypeLike | None = None,
    copy: bool = False,
) -> SparseTensor:
    """What a class makes of its arguments, in all of SciPy's ways."""
    format, is_array = name.split("_")[0], name.endswith("_array")
    if isinstance(arg1, SparseTensor) or is_sparse(arg1):
        found = as_sparse(arg1)
    elif not isinstance(arg1, tuple):
        found = _of_dense(arg1, is_array)
    elif len(arg1) == 3:
        data, indices, indptr = arg1
        found = _compressed(floats(data), _integers(indices), _integers(indptr), shape, format)
    elif format == "dia":
        data, offsets = arg1
        found = _of_diagonals(floats(data), numpy.atleast_1d(_integers(offsets)), shape)
    else:
        data, places = arg1
        rows, columns = map(_integers, places)
        size = shape or (int(rows.max()) + 1, int(columns.max()) + 1)
        found = SparseTensor(floats(data), Pattern(rows, columns, _pair(size), "coo", is_array))
    if tuple(found.data.shape) != found.row.shape or found.row.shape != found.col.shape:
        raise ValueError(at_user_line(
            f"sparse.{name}: {found.data.shape} values for {found.row.shape} rows and {found.col.shape} columns"
        ))  # fmt: skip
    p = found._pattern
    if p.rows.size and (
        p.rows.max() >= p.shape[0] or p.columns.max() >= p.shape[1] or min(p.rows.min(), p.columns.min()) < 0
    ):
        raise ValueError(at_user_line(f"sparse.{name}: an index lies outside of the shape {p.shape}"))
    found = found._with(found.data, is_array=is_array).asformat(format)
    return found if dtype is None else found.astype(dtype)


def _pair(shape: Any) -> tuple[int, int]:
    height, width = shape
    return int(height), int(width)


def _of_dense(matrix: ArrayLike, is_array: bool) -> SparseTensor:
    """All elements of a dense matrix: which of them are zero is no part of the pattern, for their gradients are not."""
    x = floats(matrix)
    if x.ndim != 2:
        raise ValueError(at_user_line(f"sparse: wanted a matrix, got shape {x.shape}"))
    rows, columns = (p.ravel() for p in numpy.indices(_pair(x.shape)))
    return SparseTensor(np.reshape(x, (-1,)), Pattern(rows, columns, _pair(x.shape), "coo", is_array))


def _compressed(
    data: Tensor, indices: Array, indptr: Array, shape: tuple[int, ...] | None, format: str
) -> SparseTensor:
    across = numpy.repeat(numpy.arange(len(indptr) - 1), numpy.diff(indptr))
    if indptr[0] != 0 or len(across) != len(indices):
        raise ValueError(
            at_user_line(f"sparse: indptr goes from {indptr[0]} to {indptr[-1]} for {len(indices)} indices")
        )
    most = int(indices.max()) + 1 if indices.size else 0
    if format == "csc":
        return SparseTensor(data, Pattern(indices, across, _pair(shape or (most, len(indptr) - 1)), "csc", True))
    return SparseTensor(data, Pattern(across, indices, _pair(shape or (len(indptr) - 1, most)), "csr", True))


def _of_diagonals(data: Tensor, offsets: Array, shape: object) -> SparseTensor:
    """Rows of values for diagonals, where the place in a row is the column, as SciPy stores them."""
    rows_of_data = data if data.ndim == 2 else np.reshape(data, (1, -1))
    width = int(rows_of_data.shape[1])
    height_all, width_all = _pair(shape or (width, width))
    columns = numpy.broadcast_to(numpy.arange(width), (len(offsets), width))
    rows = columns - offsets[:, None]
    held = numpy.nonzero((rows >= 0) & (rows < height_all) & (columns < width_all))
    return SparseTensor(rows_of_data[held], Pattern(rows[held], columns[held], (height_all, width_all), "coo", True))


def _diagonals(
    diagonals: Sequence[Tensor], offsets: Sequence[int], shape: ShapeLike | None, is_array: bool
) -> SparseTensor:
    """`diags`: a diagonal from its own beginning, a number for all of it."""
    if numpy.ndim(offsets) == 0:
        first = diagonals[0] if isinstance(diagonals, (list, tuple)) else as_tensor(diagonals)
        is_one = not isinstance(diagonals, (list, tuple)) or numpy.ndim(first) == 0
        diagonals = [
            as_tensor(np.asarray(diagonals)) if is_one and getattr(diagonals, "ndim", 1) == 1 else diagonals[0]
        ]
    places = [int(k) for k in numpy.atleast_1d(_integers(offsets))]
    rows_given = [np.atleast_1d(floats(d)) for d in diagonals]
    if len(places) != len(rows_given):
        raise ValueError(at_user_line("Different number of diagonals and offsets."))
    size = int(rows_given[0].shape[0]) + abs(places[0])
    height, width = _pair(shape or (size, size))
    data, rows, columns = [], [], []
    for k, diagonal in zip(places, rows_given, strict=True):
        length = min(height + min(k, 0), width - max(k, 0))
        if length <= 0 or diagonal.shape[0] not in (1, length):
            raise ValueError(at_user_line(
                f"sparse.diags: the diagonal at offset {k} has {diagonal.shape[0]} values, wanted {length}"
            ))  # fmt: skip
        along = numpy.arange(length)
        data.append(np.broadcast_to(diagonal, (length,)))
        rows.append(along + max(-k, 0))
        columns.append(along + max(k, 0))
    pattern = Pattern(numpy.concatenate(rows), numpy.concatenate(columns), (height, width), "coo", is_array)
    return SparseTensor(np.concatenate(data), pattern)


def diags(
    diagonals: Any,
    offsets: Any = 0,
    shape: ShapeLike | None = None,
    format: str | None = None,
    dtype: DTypeLike | None = None,
) -> Any:
    """A matrix of given diagonals, with gradients in them; in the format "coo" where none is asked for."""
    return _finished(_diagonals(diagonals, offsets, shape, is_array=False), format, dtype)


def diags_array(
    diagonals: Any,
    /,
    *,
    offsets: Any = 0,
    shape: ShapeLike | None = None,
    format: str | None = None,
    dtype: DTypeLike | None = None,
) -> Any:
    """An array of given diagonals, with gradients in them; in the format "coo" where none is asked for."""
    return _finished(_diagonals(diagonals, offsets, shape, is_array=True), format, dtype)


def spdiags(
    data: ArrayLike, diags: Any, m: ArrayLike | None = None, n: object = None, format: str | None = None
) -> Any:
    """A matrix of rows of values for its diagonals, where the place in a row is the column, with gradients in them."""
    rows = floats(data)
    shape = m if n is None and m is not None else None if m is None else (m, n)
    found = _of_diagonals(rows, numpy.atleast_1d(_integers(diags)), shape)
    return _finished(found._with(found.data, is_array=False), format, None)


def _finished(found: SparseTensor, format: str | None, dtype: DTypeLike | None) -> SparseTensor:
    return (found if dtype is None else found.astype(dtype)).asformat(format)


# -- matrices of matrices ------------------------------------------------------------------------------------------


def block_array(blocks: Any, *, format: str | None = None, dtype: DTypeLike | None = None) -> Any:
    """A matrix of blocks, None where there is nothing, with gradients in their values."""
    grid = [
        [None if b is None else as_sparse(b if is_sparse(b) else _of_dense(b, True)) for b in row] for row in blocks
    ]
    heights = [next((b.shape[0] for b in row if b is not None), 0) for row in grid]
    widths = [next((b.shape[1] for b in column if b is not None), 0) for column in zip(*grid, strict=True)]
    data, rows, columns = [], [], []
    for i, row in enumerate(grid):
        for j, b in enumerate(row):
            if b is None:
                continue
            if b.shape != (heights[i], widths[j]):
                raise ValueError(at_user_line(
                    f"sparse.block_array: the block at ({i}, {j}) has shape {b.shape}, wanted {(heights[i], widths[j])}"
                ))  # fmt: skip
            data.append(b.data)
            rows.append(b.row + sum(heights[:i]))
            columns.append(b.col + sum(widths[:j]))
    is_array = any(b is not None and b._pattern.is_array for row in grid for b in row)
    pattern = Pattern(numpy.concatenate(rows), numpy.concatenate(columns), (sum(heights), sum(widths)), "coo", is_array)
    return _finished(SparseTensor(np.concatenate(data), pattern), format, dtype)


def bmat(blocks: ArrayLike, format: str | None = None, dtype: DTypeLike | None = None) -> Any:
    """A matrix of blocks, None where there is nothing, with gradients in their values."""
    return block_array(blocks, format=format, dtype=dtype)


def hstack(blocks: Any, format: str | None = None, dtype: DTypeLike | None = None) -> Any:
    """Matrices side by side, with gradients in their values."""
    return block_array([list(blocks)], format=format, dtype=dtype)


def vstack(blocks: Any, format: str | None = None, dtype: DTypeLike | None = None) -> Any:
    """Matrices below each other, with gradients in their values."""
    return block_array([[b] for b in blocks], format=format, dtype=dtype)


def block_diag(mats: Any, format: str | None = None, dtype: DTypeLike | None = None) -> Any:
    """A matrix of blocks on its diagonal, with gradients in their values."""
    grid = [[b if i == j else None for j in range(len(mats))] for i, b in enumerate(mats)]
    return block_array(grid, format=format, dtype=dtype)


def kron(A: ArrayLike, B: ArrayLike, format: str | None = None) -> Any:
    """The Kronecker product of two matrices, with gradients in their values."""
    a, b = (as_sparse(m) if is_sparse(m) else _of_dense(m, False) for m in (A, B))
    rows = (a.row[:, None] * b.shape[0] + b.row).ravel()
    columns = (a.col[:, None] * b.shape[1] + b.col).ravel()
    shape = (a.shape[0] * b.shape[0], a.shape[1] * b.shape[1])
    pattern = Pattern(rows, columns, shape, "coo", a._pattern.is_array or b._pattern.is_array)
    return SparseTensor(np.reshape(a.data[:, None] * b.data, (-1,)), pattern).asformat(format)


def triu(A: ArrayLike, k: int = 0, format: str | None = None) -> Any:
    """The upper triangle of a matrix, with gradients in its values."""
    return _part(A, lambda rows, columns: columns - rows >= k, format)


def tril(A: ArrayLike, k: int = 0, format: str | None = None) -> Any:
    """The lower triangle of a matrix, with gradients in its values."""
    return _part(A, lambda rows, columns: columns - rows <= k, format)


def _part(matrix: ArrayLike, keeps: Any, format: str | None) -> Any:
    a = as_sparse(matrix) if is_sparse(matrix) else _of_dense(matrix, False)
    held = numpy.flatnonzero(keeps(a.row, a.col))
    return a._with(a.data[held], rows=a.row[held], columns=a.col[held], format="coo").asformat(format)


def find(A: ArrayLike) -> Any:
    """The rows, columns and values of what a matrix stores, with gradients in the values."""
    found = as_sparse(A)._summed()
    return found.row, found.col, found.data


def issparse(x: ArrayLike) -> bool:
    """Whether a value is a sparse matrix or array."""
    return isinstance(x, SparseTensor) or scipy("sparse").issparse(x)


def isspmatrix(x: ArrayLike) -> bool:
    """Whether a value is a sparse matrix (not one of the sparse arrays)."""
    return not x._pattern.is_array if isinstance(x, SparseTensor) else scipy("sparse").isspmatrix(x)


def _class(name: str) -> Format:
    doc = f"SciPy's `{name}`; one whose values are a tensor is a sparse tensor, with gradients in its values."
    return Format(name, (), {"__doc__": doc, "__module__": "wengert.scipy.sparse"})


CLASSES: dict[str, Any] = {name: _class(name) for name in _CLASSES}
FUNCTIONS: dict[str, Any] = {
    f.__name__: f for f in (
        block_array, block_diag, bmat, diags, diags_array, find, hstack, issparse, isspmatrix, kron, spdiags, tril,
        triu, vstack,
    )
}  # fmt: skip

__all__ = ["CLASSES", "FUNCTIONS"]
