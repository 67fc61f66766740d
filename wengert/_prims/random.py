"""Counter-based random bits: a key (two uint32 words on the last axis) determines everything drawn from it.

Drawing, splitting and folding in are pure functions of the key and give integers: constants to a gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import dtypes
from .._core.dims import DimLike, Shape
from .._core.op import Op, batch_leading, require_dtype, zero
from .._core.tensor import Tensor
from .._core.types import TensorType, same_shape, tensor_type


def _require_key(name: str, key: TensorType) -> None:
    if key.dtype != dtypes.uint32:
        raise TypeError(f"{name}: key has dtype {key.dtype.name}, wanted uint32")
    if not key.shape or key.shape[-1] != 2:
        raise ValueError(f"{name}: key has shape {key.shape}, wanted two words on the last axis")


def _bits_type(key: TensorType, shape: Shape) -> TensorType:
    _require_key("random_bits", key)
    return tensor_type((*key.shape[:-1], *shape), dtypes.uint32)


def _split_type(key: TensorType, count: DimLike) -> TensorType:
    _require_key("random_split", key)
    return tensor_type((*key.shape[:-1], count, 2), dtypes.uint32)


def _fold_type(key: TensorType, data: TensorType) -> TensorType:
    _require_key("random_fold_in", key)
    require_dtype("random_fold_in", "data", data, "integer")
    if not same_shape(key.shape[:-1], data.shape):
        raise ValueError(f"random_fold_in: data has shape {data.shape}, wanted one integer a key: {key.shape[:-1]}")
    return tensor_type(key.shape, dtypes.uint32)


def _same_attrs(op: Op, operands: Sequence[Tensor], batched: Sequence[bool], attrs: tuple[Any, ...]) -> Tensor:
    """One key and a batch of keys are the same to the op: leading axes are a batch already."""
    return op(*operands, **dict(zip(op.attrs, attrs, strict=True)))


def _key(*lead: int) -> Any:
    return lambda rng: rng.integers(0, 2**32, (*lead, 2), "uint32")


random_bits = zero(
    "random_bits", "key", attrs="shape", type=_bits_type, batch=_same_attrs, dtypes="uint32",
    samples=[((_key(),), ((3, 5),)), ((_key(2, 3),), ((4,),)), ((_key(),), ((),)), ((_key(),), ((0, 2),))],
    ref="Salmon, Moraes, Dror & Shaw, Parallel random numbers: as easy as 1, 2, 3, SC 2011",
    doc="uniform 32-bit words from each key; a longer draw begins with the shorter one",
)  # fmt: skip
random_split = zero(
    "random_split", "key", attrs="count", type=_split_type, batch=_same_attrs, dtypes="uint32",
    samples=[((_key(),), (3,)), ((_key(2),), (1,)), ((_key(),), (0,))],
    doc="child keys of each key; child j is the same for every count > j",
)  # fmt: skip
random_fold_in = zero(
    "random_fold_in", "key data", type=_fold_type, batch=batch_leading, dtypes="uint32",
    samples=[((_key(), lambda rng: rng.integers(-9, 9)), ()), ((_key(3), lambda rng: rng.integers(0, 9, 3)),
    ())],
    doc="the key that belongs to a key and an integer, such as the number of a step",
)  # fmt: skip
