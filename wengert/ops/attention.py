"""Dot-product attention."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

from .._core import dtypes
from .._core.apply import apply
from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from .._core.types import same_shape
from .._core.user_line import at_user_line
from .._prims import discrete as D
from .._prims import elementwise as E
from .._prims import linalg as L
from .._prims import structural as S
from . import promotion
from .activations import softmax
from .promotion import as_float, as_tensor, names_errors, outward
from .repeating import repeat
from .shapes import permuted

_MASKED = -0.7 * 3.4028234663852886e38  # far below every logit, and finite: a row that is masked as a whole has a mean


@names_errors
def dot_product_attention(
    query: ArrayLike, key: ArrayLike, value: ArrayLike, bias: ArrayLike | None = None, mask: ArrayLike | None = None,
    scale: ArrayLike | None = None, is_causal: bool = False, flash_attention: object = None,
    attn_logits_soft_cap: object = None, *, query_seq_lengths: object = None, key_value_seq_lengths: object = None,
    local_window_size: object = None,
) -> Any:  # fmt: skip
    """Means of values, weighted by the softmax of the products of queries and keys.

    Args:
        query: an array (batch, times, heads, depth).
        key: an array (batch, places, key heads, depth); heads of the query share them in equal groups.
        value: an array (batch, places, key heads, depth).
        bias: what is added to the logits; broadcasts to (batch, heads, times, places).
        mask: booleans, false for what is left out; they broadcast likewise.
        scale: the factor of the products; 1 / sqrt(depth) if None.
        is_causal: whether a time attends to no later place.
        flash_attention: accepted for Keras's sake; there is one way to compute it here.
        attn_logits_soft_cap: a bound that the scaled products approach, c tanh(x / c).
        query_seq_lengths: integers (batch,): how many times each example has; the result is 0 at later ones. None means
            all.
        key_value_seq_lengths: integers (batch,): how many places each example has; later ones are left out.
        local_window_size: how many places before and after its own a time attends to: a pair, or one number for both.

    Returns:
        An array (batch, times, heads, depth) in the kind that came in; the mean of all values where all is masked.

    Raises:
        ValueError: for other shapes.

    Example:
        >>> import wengert as wg
        >>> one = wg.ones((1, 2, 1, 3))
        >>> wg.ops.dot_product_attention(one, one, one).shape
        (1, 2, 1, 3)
    """
    parts = [as_float(as_tensor(x, "dot_product_attention")) for x in (query, key, value)]
    if any(x.ndim != 4 for x in parts):
        shapes = ", ".join(str(x.shape) for x in parts)
        raise ValueError(at_user_line(f"dot_product_attention: wanted query, key and value of four axes, got {shapes}"))
    dtype = promotion.common_dtype(parts)
    q, k, v = (permuted(promotion.cast(x, dtype), (0, 2, 1, 3)) for x in parts)
    k, v = (_shared(x, q) for x in (k, v))
    depth = q.shape[3]
    if scale is None and not isinstance(depth, int):
        raise ValueError(at_user_line("dot_product_attention: the depth must be known in a trace, or scale given"))
    factor = 1 / math.sqrt(depth) if scale is None else scale
    # the query is scaled, for it is small beside the logits
    logits = _capped(L.matmul(promotion.binary(S.mul, q, factor), L.swap_last(k)), attn_logits_soft_cap)
    wide = dtypes.float32 if dtypes.is_half(dtype) else dtype
    logits = promotion.cast(logits, wide)
    if bias is not None:
        logits = promotion.binary(S.add, logits, bias)
    lengths = [_lengths(n, q, name) for n, name in (
        (query_seq_lengths, "query_seq_lengths"), (key_value_seq_lengths, "key_value_seq_lengths")
    )]  # fmt: skip
    window = _windowed(logits, local_window_size)
    logits = promotion.cast(_masked(logits, mask, is_causal, window, lengths[1]), wide)
    result = permuted(L.matmul(promotion.cast(softmax(logits), dtype), v), (0, 2, 1, 3))
    if lengths[0] is not None:
        times = S.reshape(S.iota(size=result.shape[1], dtype=dtypes.int64), shape=(1, result.shape[1], 1, 1))
        is_there = promotion.broadcast(promotion.binary(D.lt, times, lengths[0]), result.shape)
        result = S.select(is_there, result, S.fill(result, 0))
    return outward(result, query, key, value, bias)


def _shared(x: Tensor, q: Tensor) -> Tensor:
    """The heads of keys or values, each as often as heads of the query share it."""
    heads, ours = q.shape[1], x.shape[1]
    if heads == ours:
        return x
    if not isinstance(heads, int) or not isinstance(ours, int) or heads % ours:
        raise ValueError(at_user_line(f"dot_product_attention: {heads} heads cannot share {ours} key heads evenly"))
    return repeat(x, heads // ours, axis=1)


def _capped(logits: Tensor, cap: Any) -> Tensor:
    if cap is None:
        return logits
    if not float(cap) > 0:
        raise ValueError(
            at_user_line(f"dot_product_attention: attn_logits_soft_cap is {cap!r}, wanted a positive number")
        )
    return S.times_number(E.tanh(S.times_number(logits, number=1 / float(cap))), number=float(cap))


def _lengths(lengths: Any, q: Tensor, name: str) -> Tensor | None:
    """The lengths of a batch as (batch, 1, 1, 1)."""
    if lengths is None:
        return None
    found = as_tensor(lengths, "dot_product_attention")
    if not dtypes.is_integer(found.dtype):
        raise TypeError(at_user_line(f"dot_product_attention: {name} has dtype {found.dtype.name}, wanted integers"))
    if not same_shape(found.shape, (q.shape[0],)):
        raise ValueError(at_user_line(f"dot_product_attention: {name} has shape {found.shape}, wanted {(q.shape[0],)}"))
    return S.reshape(promotion.cast(found, dtypes.int64), shape=(q.shape[0], 1, 1, 1))


def _numbers(logits: Tensor) -> tuple[Tensor, Tensor]:
    """The number of each row (a time) and of each column (a place)."""
    times, places = logits.shape[2:]
    rows = promotion.broadcast(_column(S.iota(size=times, dtype=dtypes.int64)), (times, places))
    return rows, promotion.broadcast(S.iota(size=places, dtype=dtypes.int64), (times, places))


def _windowed(logits: Tensor, window: Any) -> Tensor | None:
    """Which places lie near each time."""
    if window is None:
        return None
    before, after = map(operator.index, window if isinstance(window, (tuple, list)) else (window, window))
    if before < 0 or after < 0:
        raise ValueError(at_user_line(f"dot_product_attention: local_window_size is {window!r}, wanted no negatives"))
    times, places = _numbers(logits)
    first, last = S.add_number(times, number=-before), S.add_number(times, number=after)
    return apply(D.logical_and, (apply(D.ge, (places, first)), apply(D.le, (places, last))))


def _masked(
    logits: Tensor, mask: ArrayLike | None, is_causal: bool, window: Tensor | None, length: Tensor | None
) -> Tensor:
    if mask is None and window is None and length is None and not is_causal:
        return logits
    kept = [] if mask is None else [promotion.cast(as_tensor(mask, "dot_product_attention"), dtypes.bool_)]
    times, places = _numbers(logits)
    if is_causal:
        kept.append(apply(D.ge, (times, places)))
    if window is not None:
        kept.append(window)
    if length is not None:
        kept.append(promotion.binary(D.lt, S.reshape(places, shape=(1, 1, *places.shape)), length))
    seen = functools.reduce(lambda x, y: promotion.binary(D.logical_and, x, y), kept)
    return S.select(promotion.broadcast(seen, logits.shape), logits, S.fill(logits, _MASKED))


def _column(x: Tensor) -> Tensor:
    return S.reshape(x, shape=(*x.shape, 1))


__all__ = ["dot_product_attention"]
