"""`embedding_bag`: sums, means or maxima of the rows of a table that each bag names."""

from __future__ import annotations

import operator
from typing import Any

from .._core import dtypes
from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import structural as S
from . import promotion
from .elementwise import add, divide, equal, logical_not, multiply
from .indexing import take, where
from .ordering import searchsorted, segment_max, segment_sum
from .promotion import as_tensor, names_errors, outward
from .shapes import reshaped

_MODES = ("sum", "mean", "max")


@names_errors
def embedding_bag(
    table: ArrayLike,
    ids: ArrayLike,
    offsets: object = None,
    mode: str = "mean",
    per_sample_weights: ArrayLike | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """The sum, mean or maximum of the rows of a table that each bag names.

    At kinks: equal largest elements share the gradient evenly.

    Args:
        table: an array (rows, width).
        ids: the rows of each bag: integers (bags, size), or (n,) with `offsets`.
        offsets: integers (bags,), ascending: where each bag of `ids` (n,) begins; it ends where the next one begins.
        mode: "sum", "mean" or "max".
        per_sample_weights: factors of the rows in ids's shape, for "sum" alone.
        include_last_offset: whether the last of `offsets` is the end of the last bag.
        padding_idx: a row that counts for nothing; negative ones count from the end.

    Returns:
        An array (bags, width) in the kind that came in; 0 for an empty bag.

    Raises:
        IndexError: for a row out of range.
        TypeError: if `ids` or `offsets` are not integers.
        ValueError: for another mode, weights with a mode other than "sum", and shapes that do not fit.

    Example:
        >>> import wengert as wg
        >>> table = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
        >>> wg.nn.embedding_bag(table, [0, 2, 1], offsets=[0, 2], mode="sum")
        array([[6., 8.],
               [3., 4.]])
    """
    what = "embedding_bag"
    rows, places = as_tensor(table, what), _integers(ids, "ids")
    if mode not in _MODES:
        raise ValueError(at_user_line(f"{what}: mode is {mode!r}, wanted 'sum', 'mean' or 'max'"))
    if rows.ndim != 2:
        raise ValueError(at_user_line(f"{what}: the table has shape {rows.shape}, wanted rows of numbers"))
    if (places.ndim, offsets is None) not in ((1, False), (2, True)):
        raise ValueError(
            at_user_line(f"{what}: wanted ids of two axes, or of one with offsets; got shape {places.shape}")
        )
    factors = None if per_sample_weights is None else as_tensor(per_sample_weights, what)
    if factors is not None and (mode != "sum" or factors.shape != places.shape):
        raise ValueError(at_user_line(
            f"{what}: weights of shape {factors.shape} for mode {mode!r} and ids of shape {places.shape}; wanted 'sum' "
            f"and one for each id"
        ))  # fmt: skip
    bags, count = _numbers(places, offsets, include_last_offset)
    if padding_idx is not None:
        pad = operator.index(padding_idx)
        # a bag beyond the last one is dropped
        bags = where(equal(places, pad + rows.shape[0] if pad < 0 else pad), count, bags)
    flat = (places.shape[0] * places.shape[1],) if places.ndim == 2 else places.shape
    taken, bags = take(rows, reshaped(places, flat), axis=0), reshaped(bags, flat)
    if factors is not None:
        taken = multiply(taken, promotion.cast(reshaped(factors, (*flat, 1)), rows.dtype))
    return outward(_reduced(taken, bags, count, mode), table, ids, offsets, per_sample_weights)


def _integers(x: ArrayLike, name: str) -> Tensor:
    found = as_tensor(x, "embedding_bag")
    if not dtypes.is_integer(found.dtype):
        raise TypeError(at_user_line(f"embedding_bag: {name} has dtype {found.dtype.name}, wanted integers"))
    return promotion.cast(found, dtypes.int64)


def _numbers(places: Tensor, offsets: Any, has_end: bool) -> tuple[Tensor, Any]:
    """The bag of each id, and how many bags there are."""
    if offsets is None:
        count = places.shape[0]
        column = reshaped(S.iota(size=count, dtype=dtypes.int64), (count, 1))
        return promotion.broadcast(column, places.shape), count
    starts = _integers(offsets, "offsets")
    if starts.ndim != 1:
        raise ValueError(at_user_line(f"embedding_bag: offsets has shape {starts.shape}, wanted a vector"))
    order = S.iota(size=places.shape[0], dtype=dtypes.int64)
    # ids before the first bag have number -1, those behind the end one beyond the last: both are dropped
    numbers = add(promotion.cast(searchsorted(starts, order, side="right"), dtypes.int64), -1)
    return numbers, starts.shape[0] - 1 if has_end else starts.shape[0]


def _reduced(taken: Tensor, bags: Tensor, count: int, mode: str) -> Tensor:
    if mode == "sum":
        return segment_sum(taken, bags, count)
    ones = S.full(shape=bags.shape, value=1, dtype=taken.dtype)
    sizes = reshaped(segment_sum(ones, bags, count), (count, 1))
    is_empty = equal(sizes, 0)
    if mode == "mean":
        return divide(segment_sum(taken, bags, count), where(is_empty, S.fill(sizes, 1), sizes))
    tops = segment_max(taken, bags, count)
    return where(logical_not(is_empty), tops, S.fill(tops, 0))


__all__ = ["embedding_bag"]
