"""Sparse matrices: products with matrices and linear systems.

A sparse matrix is its stored values `data` and their places `rows` and `columns`, integers; values of one place add up.
A batch of matrices is one large matrix with theirs as blocks on its diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.dims import DimLike
from .._core.op import Op, batch_size, general, multilinear, repeat, require_dtype
from .._core.tensor import Tensor
from .._core.types import TensorType, same_shape, tensor_type
from .indexing import gather
from .structural import add, broadcast_to, cast, conj_of, iota, mul, neg, reduce_sum, reshape, sub, times_number


def _require(name: str, data: TensorType, rows: TensorType, columns: TensorType, x: TensorType) -> None:
    for operand, places in (("rows", rows), ("columns", columns)):
        require_dtype(name, operand, places, "integer")
        if len(data.shape) != 1 or not same_shape(places.shape, data.shape):
            raise ValueError(f"{name}: data has shape {data.shape} and {operand} has shape {places.shape}")
    if len(x.shape) != 2:
        raise ValueError(f"{name}: wanted a matrix as the last operand, got shape {x.shape}")
    if x.dtype != data.dtype:
        raise TypeError(f"{name}: data has dtype {data.dtype.name} and the matrix has dtype {x.dtype.name}")


def _product_type(
    data: TensorType, rows: TensorType, columns: TensorType, x: TensorType, height: DimLike
) -> TensorType:
    _require("sparse_matmul", data, rows, columns, x)
    return tensor_type((height, x.shape[1]), x.dtype)


def _at_places(left: Tensor, right: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """The elements of left @ right^H at places alone."""
    return reduce_sum(mul(gather(left, rows), conj_of(gather(right, columns))), axes=(1,))


def _in_blocks(operands: Any, batched: Any, sizes: tuple[DimLike, DimLike]) -> tuple[Any, DimLike]:
    """The operands of a batch as those of one block diagonal matrix of blocks of `sizes`."""
    count = batch_size(operands, batched)
    data, rows, columns, x = (t if b else repeat(t, count) for t, b in zip(operands, batched, strict=True))
    number = broadcast_to(reshape(iota(size=count, dtype=dtypes.int64), shape=(count, 1)), shape=rows.shape)
    places = [
        add(cast(p, dtypes.int64), times_number(number, number=n)) for p, n in zip((rows, columns), sizes, strict=True)
    ]
    flat = [reshape(t, shape=(t.shape[0] * t.shape[1],)) for t in (data, *places)]
    return (*flat, reshape(x, shape=(count * x.shape[1], x.shape[2]))), count


def _product_batch(op: Op, operands: Sequence[Tensor], batched: Sequence[bool], attrs: tuple[Any, ...]) -> Tensor:
    (height,) = attrs
    x = operands[3]
    blocks, count = _in_blocks(operands, batched, (height, x.shape[1] if batched[3] else x.shape[0]))
    result = op(*blocks, height=count * height)
    return reshape(result, shape=(count, height, result.shape[1]))


def _places(limit: int, count: int) -> Any:
    return lambda rng: rng.integers(0, limit, (count,))


sparse_matmul = multilinear(
    "sparse_matmul", "data rows columns x", attrs="height", type=_product_type, batch=_product_batch, dtypes="inexact",
    transpose=(
        lambda ct, rows, columns, x: _at_places(ct, x, rows, columns), None, None,
        lambda ct, data, rows, columns, x_type: sparse_matmul(
            conj_of(data), columns, rows, ct, height=x_type.shape[0]
        ),
    ),
    samples=[(((5,), _places(3, 5), _places(4, 5), (4, 2)), (3,)),
             (((0,), _places(3, 0), _places(4, 0), (4, 1)), (3,))],
    doc="the product of a sparse matrix of a height with a matrix",
)  # fmt: skip


# -- linear systems ------------------------------------------------------------------------------------------------


def _solve_type(data: TensorType, rows: TensorType, columns: TensorType, b: TensorType) -> TensorType:
    _require("sparse_solve", data, rows, columns, b)
    return tensor_type(b.shape, b.dtype)


def _solve_batch(op: Op, operands: Sequence[Tensor], batched: Sequence[bool], attrs: tuple[Any, ...]) -> Tensor:
    b = operands[3]
    size = b.shape[1] if batched[3] else b.shape[0]
    blocks, count = _in_blocks(operands, batched, (size, size))
    return reshape(op(*blocks), shape=(count, size, b.shape[-1]))


def _solve_back(ct: Tensor, data: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    return sparse_solve(conj_of(data), columns, rows, ct)


def _solve_jvp(data: Tensor, rows: Tensor, columns: Tensor, out: Tensor, data_dot: Tensor, b_dot: Tensor) -> Tensor:
    moved = sparse_matmul(data_dot, rows, columns, out, height=out.shape[0])
    return sparse_solve(data, rows, columns, sub(b_dot, moved))


def _system(rng: np.random.Generator) -> Any:
    return np.concatenate([rng.uniform(2.0, 3.0, 3), rng.uniform(-0.5, 0.5, 2)])


_ROWS, _COLUMNS = np.array([0, 1, 2, 0, 2]), np.array([0, 1, 2, 2, 1])

sparse_solve = general(
    "sparse_solve", "data rows columns b", type=_solve_type, batch=_solve_batch, can_raise=True, dtypes="inexact",
    called="spsolve",
    vjp=(
        lambda ct, data, rows, columns, out: neg(
            _at_places(_solve_back(ct, data, rows, columns), out, rows, columns)
        ),
        None, None, _solve_back,
    ),
    jvp=_solve_jvp,
    samples=[((_system, lambda rng: _ROWS, lambda rng: _COLUMNS, (3, 2)), ())],
    doc="the solutions x of a sparse linear system, matrix @ x = b",
)  # fmt: skip
