"""Jacobians: a pullback (or a pushforward) applied to all unit vectors at once, or to as many as a chunk holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from .._core import dtypes
from .._core.dims import Dim, DimLike, size_of
from .._core.moving import beside
from .._core.op import repeat
from .._core.tensor import Tensor
from .._core.types import tensor_type, type_of
from .._prims.discrete import eq
from .._prims.piecewise import minimum
from .._prims.structural import (
    add_number,
    broadcast_to,
    concatenate,
    convert,
    full,
    iota,
    reshape,
    select,
    slice_,
    transpose,
    unstack,
    zeros_of,
)
from .per_example import Example

Linear = Callable[[Tensor], "Sequence[Tensor | None]"]  # from a (co)tangent to others


def images(
    linear: Linear, x: Tensor, chunk: int | None, name: str, shared: int = 0, fills_vectors: bool = False
) -> list[Tensor | None]:  # fmt: skip
    """A linear function's results for each unit vector of x's space, along a new first axis.

    Args:
        linear: from a tensor of x's type to several tensors or Nones.
        x: says which type and engine.
        chunk: how many unit vectors go at once (None: all).
        name: for listings.
        shared: how many of x's leading axes the unit vectors repeat along: they are those of the axes behind.
        fills_vectors: whether the last of a few unit vectors goes several times, so that as many go as processors
            compute at once.

    Returns:
        For each result a tensor with an axis for the unit vectors before its own; None where the result is None.
    """
    count = size_of(x.shape[shared:])
    if not fills_vectors or chunk is not None or count not in _UNEVEN:
        return products(linear, x, _units(x, shared, chunk), name)
    units = _some_units(x, shared, 0, _UNEVEN[count], count)
    return [None if found is None else _first(found, count) for found in products(linear, x, [units], name)]


_UNEVEN: dict[DimLike, int] = {2: 4, 3: 4, 5: 8, 6: 8, 7: 8}  # to how many numbers that make a vector


def _first(x: Tensor, count: DimLike) -> Tensor:
    starts, ones = (0,) * len(x.shape), (1,) * len(x.shape)
    return slice_(x, starts=starts, limits=(count, *x.shape[1:]), strides=ones)


def products(linear: Linear, x: Tensor, directions: Iterable[Tensor], name: str) -> list[Tensor | None]:
    """A linear function's results for some directions, along a new first axis.

    Args:
        linear, x, name: as for `images`.
        directions: batches of tensors like x; each batch goes at once.
    """
    example = Example(lambda arguments: linear(arguments[0]), [type_of(x)], name)
    parts = [_of_units(example, batch) for batch in directions]
    return [*map(_joined, zip(*parts, strict=True))]


def _joined(parts: Sequence[Tensor | None]) -> Tensor | None:
    found = [x for x in parts if x is not None]
    return concatenate(*found, axis=0) if len(found) > 1 else found[0] if found else None


def _of_units(example: Example, units: Tensor) -> list[Tensor | None]:
    try:
        found = example([units], [True])
    except NotImplementedError:  # an op that cannot be batched: one unit vector after the other
        found = _one_by_one(example, units)
    return [None if pair is None else pair[0] if pair[1] else repeat(pair[0], units.shape[0]) for pair in found]


def _one_by_one(example: Example, units: Tensor) -> list[tuple[Tensor, bool] | None]:
    count = units.shape[0]
    if not isinstance(count, int):
        raise NotImplementedError("the number of unit vectors is not known while tracing")
    rows = [[*example([row], [False])] for row in unstack(units, size=count)]
    stacks = [_joined([_row(pair) for pair in column]) for column in zip(*rows, strict=True)]
    return [None if stack is None else (stack, True) for stack in stacks]


def _row(pair: tuple[Tensor, bool] | None) -> Tensor | None:
    return None if pair is None else reshape(pair[0], shape=(1, *pair[0].shape))


def _units(x: Tensor, shared: int, chunk: int | None) -> Iterator[Tensor]:
    """The unit vectors of x's space (behind its shared axes), in chunks."""
    own = x.shape[shared:]
    count = size_of(own)
    if chunk is None or isinstance(count, Dim) or count <= chunk:
        yield _some_units(x, shared, 0, count, count)
        return
    for start in range(0, count, chunk):
        yield _some_units(x, shared, start, min(chunk, count - start), count)


def _some_units(x: Tensor, shared: int, start: int, many: DimLike, count: DimLike) -> Tensor:
    own = x.shape[shared:]
    units = reshape(convert(_diagonal(start, many, count), dtype=x.dtype), shape=(many, *(1,) * shared, *own))
    return beside(broadcast_to(units, shape=(many, *x.shape)), x)


def _diagonal(start: int, many: DimLike, count: DimLike) -> Tensor:
    """Where, in so many rows from one on, the diagonal of a square matrix is; rows behind its last are like that."""
    rows = iota(size=many, dtype=dtypes.int64)
    if start:
        rows = add_number(rows, number=start)
    if isinstance(many, int) and isinstance(count, int) and many > count:
        rows = minimum(rows, full(shape=(many,), value=count - 1, dtype=dtypes.int64))
    wide = broadcast_to(reshape(rows, shape=(many, 1)), shape=(many, count))
    columns = broadcast_to(reshape(iota(size=count, dtype=dtypes.int64), shape=(1, count)), shape=(many, count))
    return eq(wide, columns)


def as_rows(image: Tensor | None, y: Tensor, x: Tensor) -> Tensor:
    """What pulling back the unit vectors of y has given for x, as a block of the Jacobian."""
    shape = (*y.shape, *x.shape)
    return zeros_of(tensor_type(shape, x.dtype)) if image is None else reshape(image, shape=shape)


def as_columns(image: Tensor | None, y: Tensor, x: Tensor) -> Tensor:
    """What pushing the unit vectors of x forward has given for y, as a block of the Jacobian."""
    shape = (*y.shape, *x.shape)
    if image is None:
        return zeros_of(tensor_type(shape, y.dtype))
    count = len(image.shape)
    return reshape(transpose(image, perm=(*range(1, count), 0)), shape=shape)


def as_diagonal(image: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """What pushing ones forward has given for y, as a block of the Jacobian, where each element of y depends on the one
    of x at the same place alone."""
    count = size_of(y.shape)
    square = (count, count)
    wide = broadcast_to(reshape(image, shape=(count, 1)), shape=square)
    block = select(beside(_diagonal(0, count, count), y), wide, zeros_of(type_of(wide)))
    return reshape(block, shape=(*y.shape, *x.shape))
