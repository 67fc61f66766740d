"""Reading and writing at integer positions: `gather` and the scatters that combine updates into an array.

The k index arrays (int64, one shape) address the first k axes of x; what they address has the remaining axes.
Negative positions count from the end. An op and its adjoint stand together: the adjoint of reading is adding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core import dims, dtypes
from .._core.apply import apply
from .._core.dims import DimLike, Shape
from .._core.op import Op, batch_size, general, linear, repeat, require_dtype
from .._core.tensor import Tensor
from .._core.types import TensorType, same_shape, tensor_type
from .cumulative import linear_recurrence
from .discrete import eq, ne
from .elementwise import div
from .sorting import argsort
from .structural import (
    absent,
    add_number,
    broadcast_to,
    cast,
    conj_of,
    fill,
    full,
    iota,
    mul,
    pad,
    reshape,
    select,
)

# -- types, batching -------------------------------------------------------------------------------


def _gather_type(x: TensorType, indices: tuple[TensorType, ...]) -> TensorType:
    _require_indices("gather", x, indices)
    return tensor_type((*indices[0].shape, *x.shape[len(indices) :]), x.dtype)


def _require_indices(name: str, x: TensorType, indices: tuple[TensorType, ...]) -> None:
    if not 1 <= len(indices) <= len(x.shape):
        raise ValueError(f"{name}: {len(indices)} index arrays address an x of shape {x.shape}")
    for index in indices:
        if index.dtype != dtypes.int64:
            raise TypeError(f"{name}: an index array has dtype {index.dtype.name}, wanted int64")
        if not same_shape(index.shape, indices[0].shape):
            raise ValueError(f"{name}: index arrays have shapes {indices[0].shape} and {index.shape}")


def _scatter_type(name: str, category: str) -> Any:
    def type_rule(x: TensorType, updates: TensorType, indices: tuple[TensorType, ...]) -> TensorType:
        require_dtype(name, "x", x, category)
        _require_indices(name, x, indices)
        if updates.dtype != x.dtype:
            raise TypeError(f"{name}: x has dtype {x.dtype.name} and updates has {updates.dtype.name}")
        wanted = (*indices[0].shape, *x.shape[len(indices) :])
        if not same_shape(updates.shape, wanted):
            raise ValueError(f"{name}: updates has shape {updates.shape}, wanted {wanted}")
        return tensor_type(x.shape, x.dtype)

    return type_rule


def _gather_batch(op: Op, operands: Any, batched: Any, attrs: tuple[Any, ...]) -> Tensor:
    if not batched[0]:
        size = batch_size(operands, batched)
        return gather(operands[0], *_repeated(operands[1:], batched[1:], size))
    return _batch_by_number(op, operands, batched, attrs)


def _batch_by_number(op: Op, operands: Any, batched: Any, attrs: tuple[Any, ...]) -> Tensor:
    """The batch axis of x is addressed like its other axes, by the number of the example."""
    size = batch_size(operands, batched)
    wide = _repeated(operands, batched, size)
    arrays, indices = wide[: op.fixed], wide[op.fixed :]
    shape = indices[0].shape
    number = reshape(iota(size=size, dtype=dtypes.int64), shape=(size, *(1,) * (len(shape) - 1)))
    return apply(op, (*arrays, broadcast_to(number, shape=shape), *indices))


def _repeated(operands: Sequence[Tensor], batched: Sequence[bool], size: DimLike) -> tuple[Tensor, ...]:
    return (*[x if b else repeat(x, size) for x, b in zip(operands, batched, strict=True)],)


# -- gather and scatter_add ------------------------------------------------------------------------


def ints(*shape_and_limit: int) -> Callable[[np.random.Generator], Any]:
    """A sample: indices of a shape, for an axis of the extent that comes last, also counted from its end."""
    *shape, limit = shape_and_limit
    return lambda rng: rng.integers(-limit, limit, tuple(shape))


def _duplicates(rng: np.random.Generator) -> Any:
    """Of four positions one three times, once counted from the end."""
    return rng.permutation([0, 2, 2, -1, -2])


gather = linear(
    "gather", "x *indices", type=_gather_type, batch=_gather_batch, inserts_zeros=True, can_raise=True,
    called="indexing",
    moves="some",
    dtypes="any",
    transpose=(
        lambda ct, x_type, indices: scatter_add(absent(shape=x_type.shape, dtype=x_type.dtype), ct, *indices), None
    ),
    samples=[
        (((5, 3), ints(4, 5)), ()), (((3, 4), ints(2, 2, 3), ints(2, 2, 4)), ()), (((6,), ints(6)), ()),
        (((2, 3, 2), ints(0, 2), ints(0, 3)), ()),
    ],
    doc="x[indices]: the elements, or rows, at integer positions of the first axes",
)  # fmt: skip

_SCATTER_SAMPLES = [
    (((4, 3), (5, 3), _duplicates), ()),
    (((4,), (5,), _duplicates), ()),
    (((3, 2), (2, 3), ints(2, 3, 3), ints(2, 3, 2)), ()),
    (((3, 2), (2,), ints(3)), ()),
    (((3,), (0,), ints(0, 3)), ()),
]  # fmt: skip

scatter_add = linear(
    "scatter_add", "x updates *indices", called="at.add", can_raise=True, type=_scatter_type("scatter_add", "number"),
    writes="x", grounds=("x",),
    batch=_batch_by_number,
    transpose=(lambda ct: ct, lambda ct, indices: gather(ct, *indices), None), dtypes="number",
    samples=_SCATTER_SAMPLES, doc="x with updates added at integer positions; those of one position add up",
    in_float32=True,
)  # fmt: skip


# -- scatter_set -----------------------------------------------------------------------------------


def _winners(lead: Shape, indices: tuple[Tensor, ...]) -> Tensor:
    """For each update the number of the last one that goes to its place; `lead` is the addressed shape."""
    numbers = _numbers(indices)
    slots = scatter_set(full(shape=lead, value=-1, dtype=dtypes.int64), numbers, *indices)
    return gather(slots, *indices)


def _numbers(indices: tuple[Tensor, ...]) -> Tensor:
    shape = indices[0].shape
    return reshape(iota(size=dims.size_of(shape), dtype=dtypes.int64), shape=shape)


def _along_rows(flags: Tensor, shape: Shape) -> Tensor:
    """One flag an update, repeated over the elements of the update."""
    missing = len(shape) - len(flags.shape)
    return broadcast_to(reshape(flags, shape=(*flags.shape, *(1,) * missing)), shape=shape)


def _set_transpose_x(ct: Tensor, updates_type: TensorType, indices: tuple[Tensor, ...]) -> Tensor:
    return scatter_set(ct, absent(shape=updates_type.shape, dtype=updates_type.dtype), *indices)


def _set_transpose_updates(ct: Tensor, indices: tuple[Tensor, ...]) -> Tensor:
    if dims.size_of(indices[0].shape) == 1:  # no other can win; `_winners` takes as much memory as x has rows
        return gather(ct, *indices)
    is_winner = eq(_winners(ct.shape[: len(indices)], indices), _numbers(indices))
    taken = gather(ct, *indices)
    return select(_along_rows(is_winner, taken.shape), taken, fill(taken, 0))


scatter_set = linear(
    "scatter_set", "x updates *indices", called="at.set", can_raise=True, type=_scatter_type("scatter_set", "any"),
    writes="x",
    batch=_batch_by_number,
    transpose=(_set_transpose_x, _set_transpose_updates, None), inserts_zeros=True, dtypes="any",
    samples=_SCATTER_SAMPLES, kink="of updates to one position the last wins and has the gradient",
    doc="x with updates written at integer positions",
)  # fmt: skip

# -- scatter_max, scatter_min ----------------------------------------------------------------------


def _ties(x: Tensor, updates: Tensor, indices: tuple[Tensor, ...], out: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Whether the entry of x, and each update, attains the result; and how many do, in the dtype of x."""
    is_x = eq(x, out)
    is_update = eq(updates, gather(out, *indices))
    count = scatter_add(cast(is_x, out.dtype), cast(is_update, out.dtype), *indices)
    # where the result is NaN nothing equals it: no operand has a share, and 0 must not divide
    none = eq(count, fill(count, 0))
    return is_x, is_update, select(none, fill(count, 1), count)


def _extreme_vjp(
    ct: Tensor, x: Tensor, updates: Tensor, indices: tuple[Tensor, ...], out: Tensor, needed: tuple[bool, ...]
) -> tuple[Any, ...]:
    is_x, is_update, count = _ties(x, updates, indices, out)
    share = div(ct, count)
    to_x = select(is_x, share, fill(share, 0)) if needed[0] else None
    if not needed[1]:
        return (to_x, None, (None,) * len(indices))
    taken = gather(share, *indices)
    return (to_x, select(is_update, taken, fill(taken, 0)), (None,) * len(indices))


def _extreme_jvp(
    x: Tensor, updates: Tensor, indices: tuple[Tensor, ...], out: Tensor, x_dot: Tensor, updates_dot: Tensor
) -> Tensor:
    is_x, is_update, count = _ties(x, updates, indices, out)
    from_x = select(is_x, x_dot, fill(x_dot, 0))
    from_updates = select(is_update, updates_dot, fill(updates_dot, 0))
    return div(scatter_add(from_x, from_updates, *indices), count)


def _extreme(name: str, doc: str) -> Op:
    return general(
        name, "x updates *indices", type=_scatter_type(name, "real"), batch=_batch_by_number,
        vjp=_extreme_vjp, can_raise=True, writes="x",
        jvp=_extreme_jvp, inserts_zeros=True, dtypes="real", samples=_SCATTER_SAMPLES, doc=doc,
        kink="ties, the entry of x among them, share evenly", called=name.replace("scatter_", "at."),
    )  # fmt: skip


scatter_max = _extreme("scatter_max", "the larger of x and the updates that go to each position")
scatter_min = _extreme("scatter_min", "the smaller of x and the updates that go to each position")

# -- scatter_mul -----------------------------------------------------------------------------------


def _moved(x: Tensor, back: bool) -> Tensor:
    """x moved one step along axis 0, a zero moving in."""
    rest = (0,) * (len(x.shape) - 1)
    step = -1 if back else 1
    return pad(x, low=(step, *rest), high=(-step, *rest), interior=(0, *rest))


def _other_factors(x_type: TensorType, updates: Tensor, indices: tuple[Tensor, ...]) -> Tensor:
    """For each update the product of the other updates to its place: no division, so exact with zeros.

    Updates are brought into the order of their places; there the products of what stands before and of what
    stands behind in one place are recurrences, which have derivatives of every order.
    """
    lead = x_type.shape[: len(indices)]
    count = dims.size_of(indices[0].shape)
    rows = reshape(updates, shape=(count, *updates.shape[len(indices[0].shape) :]))
    places = reshape(_winners(lead, indices), shape=(count,))
    order = argsort(places, axis=0, descending=False)
    back = argsort(order, axis=0, descending=False)
    rows, places = gather(rows, order), add_number(gather(places, order), number=1)
    before, behind = _products_on_one_side(rows, places, False), _products_on_one_side(rows, places, True)
    return reshape(gather(mul(before, behind), back), shape=updates.shape)


def _products_on_one_side(rows: Tensor, places: Tensor, behind: bool) -> Tensor:
    """For each row the product of those before (or behind) it in its place; equal places adjoin."""
    starts = _along_rows(ne(places, _moved(places, behind)), rows.shape)
    none, one = fill(rows, 0), fill(rows, 1)
    factors = select(starts, none, _moved(rows, behind))
    return linear_recurrence(factors, select(starts, one, none), axis=0, reverse=behind)


def _multiply_vjp(
    ct: Tensor,
    x: Tensor,
    x_type: TensorType,
    updates: Tensor,
    indices: tuple[Tensor, ...],
    times: Callable[..., Any],
    needed: tuple[bool, ...],
) -> tuple[Any, ...]:
    nothing = (None,) * len(indices)
    to_x = times(ct, conj_of(scatter_mul(fill(x, 1), updates, *indices))) if needed[0] else None
    if not needed[1]:
        return (to_x, None, nothing)
    slope = mul(gather(x, *indices), _other_factors(x_type, updates, indices))
    return (to_x, times(gather(ct, *indices), conj_of(slope)), nothing)


def _multiply_jvp(
    x: Tensor,
    x_type: TensorType,
    updates: Tensor,
    indices: tuple[Tensor, ...],
    x_dot: Tensor,
    updates_dot: Tensor,
    times: Any,
) -> Tensor:
    slope = mul(gather(x, *indices), _other_factors(x_type, updates, indices))
    from_x = times(x_dot, scatter_mul(fill(x, 1), updates, *indices))
    return scatter_add(from_x, times(updates_dot, slope), *indices)


def _with_zeros(*mask: int) -> Any:
    return lambda rng: rng.normal(size=len(mask)) * mask


scatter_mul = general(
    "scatter_mul", "x updates *indices", type=_scatter_type("scatter_mul", "number"), batch=_batch_by_number,
    called="at.multiply",
    vjp=_multiply_vjp, jvp=_multiply_jvp, can_raise=True, dtypes="number", inserts_zeros=True,
    samples=[*_SCATTER_SAMPLES, (((4,), _with_zeros(1, 0, 1, 0, 1), _duplicates), ()),
             ((_with_zeros(1, 0, 0, 1), (5,), _duplicates), ())],
    doc="x multiplied by the updates that go to each position; slopes are exact where factors are 0",
)  # fmt: skip
