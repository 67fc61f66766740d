"""Connectionist temporal classification: the loss of label sequences that are not aligned in time, and decoding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.apply import apply
from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import discrete as D
from .._prims import structural as S
from . import promotion
from .activations import log_softmax
from .elementwise import negative
from .indexing import take_along_axis
from .joining import stack
from .promotion import as_float, as_tensor, names_errors, outward
from .reductions import argmax, cumsum, logsumexp
from .reductions import max as largest
from .reductions import sum as total
from .shapes import joined, known_extent, part, reshaped


def _integers(x: ArrayLike, what: str, name: str) -> Tensor:
    a = as_tensor(x, what)
    if not dtypes.is_integer(a.dtype):
        raise TypeError(at_user_line(f"{what}: {name} has dtype {a.dtype.name}, wanted integers"))
    return promotion.cast(a, dtypes.int64)


@names_errors
def ctc_loss(
    target: ArrayLike, output: ArrayLike, target_length: ArrayLike, output_length: ArrayLike, mask_index: int = 0
) -> Any:
    """The negative log likelihood of label sequences, summed over all alignments with the outputs.

    Args:
        target: integers (batch, labels).
        output: logits (batch, times, classes).
        target_length: how many labels count, integers (batch,).
        output_length: how many times count, integers (batch,).
        mask_index: the class that stands for no label.

    Returns:
        The losses (batch,) in the kind of array that came in; inf where the times are too few for the labels.

    Raises:
        TypeError: if `target` or a length does not hold integers.
        ValueError: for other shapes.

    Example:
        >>> import wengert as wg
        >>> wg.ops.ctc_loss([[1]], [[[0.0, 0.0]]], [1], [1]).round(6)
        array([0.693147])
    """
    labels = _integers(target, "ctc_loss", "target")
    scores = log_softmax(as_float(as_tensor(output, "ctc_loss")))
    if labels.ndim != 2 or scores.ndim != 3:
        raise ValueError(at_user_line(f"ctc_loss: target has shape {labels.shape} and output {scores.shape}"))
    many = _integers(target_length, "ctc_loss", "target_length")
    times = _integers(output_length, "ctc_loss", "output_length")
    states = _states(labels, mask_index)
    batch, count = states.shape
    steps = known_extent(scores, 1, "ctc_loss")
    at_states = take_along_axis(
        scores, promotion.broadcast(reshaped(states, (batch, 1, count)), (batch, steps, count)), axis=-1
    )
    reached = _likelihoods(at_states, states, times, mask_index, steps)
    return outward(negative(_at_the_end(reached, many)), target, output, target_length, output_length)


def _states(labels: Tensor, blank: int) -> Tensor:
    """The labels with a blank before, between and after them."""
    batch, count = labels.shape
    pairs = stack([S.fill(labels, blank), labels], axis=2)
    line = reshaped(pairs, (batch, 2 * count))
    return joined([line, S.full(shape=(batch, 1), value=blank, dtype=dtypes.int64)], 1)


def _shifted(x: Tensor, by: int, filler: Any) -> Tensor:
    """The columns moved to the right."""
    batch, count = x.shape
    if by >= count:
        return S.fill(x, filler)
    return joined([S.full(shape=(batch, by), value=filler, dtype=x.dtype), part(x, 1, 0, count - by)], 1)


def _likelihoods(scores: Tensor, states: Tensor, times: Tensor, blank: int, steps: int) -> Tensor:
    """The log likelihood of each state when the times are over, by the forward recursion."""
    batch, count = states.shape[0], known_extent(states, 1, "ctc_loss")
    is_label = apply(D.ne, (states, S.fill(states, blank)))
    can_skip = apply(D.logical_and, (is_label, apply(D.ne, (states, _shifted(states, 2, blank)))))
    first = reshaped(part(scores, 1, 0, 1), (batch, count))
    nowhere = S.fill(first, -math.inf)
    starts = promotion.broadcast(as_tensor(np.arange(count) < 2), (batch, count))
    reached = S.select(starts, first, nowhere)
    for t in range(1, steps):
        ways = [
            reached, _shifted(reached, 1, -math.inf), S.select(can_skip, _shifted(reached, 2, -math.inf), nowhere)
        ]  # fmt: skip
        here = reshaped(part(scores, 1, t, t + 1), (batch, count))
        moved = S.add(logsumexp(stack(ways, axis=0), axis=0), here)
        is_on = apply(D.gt, (times, S.fill(times, t)))
        reached = S.select(promotion.broadcast(reshaped(is_on, (batch, 1)), (batch, count)), moved, reached)
    return reached


def _at_the_end(reached: Tensor, many: Tensor) -> Tensor:
    """The two states that end a sequence: its last label, if it has one, and the blank after it."""
    last = reshaped(S.times_number(many, number=2), (*many.shape, 1))
    has_label = apply(D.gt, (last, S.fill(last, 0)))
    label = take_along_axis(reached, S.select(has_label, S.sub(last, S.fill(last, 1)), last), axis=1)
    label = S.select(has_label, label, S.fill(label, -math.inf))
    return logsumexp(joined([take_along_axis(reached, last, axis=1), label], 1), axis=1)


@names_errors
def ctc_decode(
    inputs: ArrayLike, sequence_lengths: ArrayLike, strategy: str = "greedy", beam_width: int = 100, top_paths: int = 1,
    merge_repeated: bool = True, mask_index: int = 0,
) -> Any:  # fmt: skip
    """The label sequences that outputs stand for.

    Args:
        inputs: logits (batch, times, classes).
        sequence_lengths: how many times count, integers (batch,).
        strategy: "greedy": the best class of each time.
        beam_width: not used by "greedy".
        top_paths: must be 1 for "greedy".
        merge_repeated: whether equal labels that follow each other are one.
        mask_index: the class that stands for no label.

    Returns:
        The labels, integers (1, batch, times) with -1 after the last, constants to a gradient; and the scores
        (batch, 1), less the sum of the best logits. In the kind of array that came in.

    Raises:
        ValueError: for another strategy or other shapes.

    Example:
        >>> import wengert as wg
        >>> labels, scores = wg.ops.ctc_decode([[[0.0, 2.0], [0.0, 2.0], [1.0, 0.0]]], [3])
        >>> labels
        array([[[ 1, -1, -1]]])
    """
    if strategy != "greedy" or top_paths != 1:
        raise ValueError(at_user_line(f"ctc_decode: wanted 'greedy' and one path, got {strategy!r} and {top_paths}"))
    scores = as_float(as_tensor(inputs, "ctc_decode"))
    if scores.ndim != 3:
        raise ValueError(at_user_line(f"ctc_decode: inputs has shape {scores.shape}, wanted three axes"))
    batch, steps, _ = scores.shape
    lengths = _integers(sequence_lengths, "ctc_decode", "sequence_lengths")
    time = promotion.broadcast(S.iota(size=steps, dtype=dtypes.int64), (batch, steps))
    is_on = apply(D.lt, (time, promotion.broadcast(reshaped(lengths, (batch, 1)), (batch, steps))))
    best = argmax(scores, axis=-1)
    top = largest(scores, axis=-1)
    score = negative(total(S.select(is_on, top, S.fill(top, 0)), axis=1, keepdims=True))
    kept = apply(D.logical_and, (is_on, apply(D.ne, (best, S.fill(best, mask_index)))))
    if merge_repeated:
        is_new = apply(D.ne, (best, _shifted(best, 1, -1)))
        kept = apply(D.logical_and, (kept, is_new))
    return outward((reshaped(_packed(best, kept), (1, batch, steps)), score), inputs, sequence_lengths)


def _packed(labels: Tensor, kept: Tensor) -> Tensor:
    """In each row the labels that are kept, then -1."""
    steps = labels.shape[1]
    places = S.sub(cumsum(promotion.cast(kept, dtypes.int64), axis=1), S.fill(labels, 1))
    # at (b, i, t): whether the label of time t is the i-th that is kept
    shape = (labels.shape[0], steps, steps)
    wanted = promotion.broadcast(reshaped(S.iota(size=steps, dtype=dtypes.int64), (1, steps, 1)), shape)
    across = [promotion.broadcast(reshaped(x, (shape[0], 1, steps)), shape) for x in (places, kept, labels)]
    is_it = apply(D.logical_and, (apply(D.eq, (across[0], wanted)), across[1]))
    return largest(S.select(is_it, across[2], S.fill(across[2], -1)), axis=2)


__all__ = ["ctc_decode", "ctc_loss"]
