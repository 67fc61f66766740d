"""Cross-entropies with Keras's names, arguments and defaults."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.apply import apply
from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from .._core.types import same_shape
from .._core.user_line import at_user_line
from .._prims import elementwise as E
from .._prims import piecewise as W
from .._prims import reductions as R
from .._prims import structural as S
from . import promotion
from .indexing import take_along_axis
from .promotion import as_float, as_tensor, names_errors, normal_axis, outward
from .shapes import reshaped

_CLIP = 1e-7  # probabilities are kept this far from 0 and 1, as in Keras


def _inside(p: Tensor) -> Tensor:
    return apply(W.clip, (p, S.fill(p, _CLIP), S.fill(p, 1 - _CLIP)))


@names_errors
def binary_crossentropy(target: ArrayLike, output: ArrayLike, from_logits: bool = False) -> Any:
    """The cross-entropy of two-class labels and predictions, element by element.

    At kinks: predictions within 1e-7 of 0 or 1 are clipped and have gradient 0.

    Args:
        target: the labels, 0 to 1.
        output: the predicted probabilities, or logits, of the same shape.
        from_logits: whether `output` holds logits.

    Returns:
        The losses in the kind of array that came in.

    Raises:
        ValueError: if the shapes differ.

    Example:
        >>> import wengert as wg
        >>> wg.ops.binary_crossentropy([1.0, 0.0], [0.5, 0.5]).round(6)
        array([0.693147, 0.693147])
    """
    t, o = _target_and_output(target, output, "binary_crossentropy")
    if from_logits:  # softplus(o) - t o
        return outward(S.sub(E.softplus(o), S.mul(t, o)), target, output)
    p = _inside(o)
    misses = S.mul(S.add_number(S.neg(t), number=1), E.log1p(S.neg(p)))
    return outward(S.neg(S.add(S.mul(t, E.log(p)), misses)), target, output)


def _target_and_output(target: ArrayLike, output: ArrayLike, name: str) -> tuple[Tensor, Tensor]:
    t, o = (as_float(x) for x in (as_tensor(target, name), as_tensor(output, name)))
    if not same_shape(t.shape, o.shape):
        raise ValueError(at_user_line(f"{name}: target has shape {t.shape} and output has shape {o.shape}"))
    dtype = promotion.common_dtype([t, o])
    return promotion.cast(t, dtype), promotion.cast(o, dtype)


@names_errors
def categorical_crossentropy(target: ArrayLike, output: ArrayLike, from_logits: bool = False, axis: int = -1) -> Any:
    """The cross-entropy of distributions over classes and predicted ones.

    At kinks: predictions within 1e-7 of 0 or 1 are clipped and have gradient 0.

    Args:
        target: the distributions along an axis.
        output: the predictions (brought to sum 1), or logits, of the same shape.
        from_logits: whether `output` holds logits.
        axis: the axis of the classes.

    Returns:
        The losses, without the axis, in the kind of array that came in.

    Raises:
        ValueError: if the shapes differ.

    Example:
        >>> import wengert as wg
        >>> wg.ops.categorical_crossentropy([[1.0, 0.0]], [[0.5, 0.5]]).round(6)
        array([0.693147])
    """
    t, o = _target_and_output(target, output, "categorical_crossentropy")
    place = normal_axis(axis, o.ndim, "categorical_crossentropy")
    log_p = _log_probabilities(o, from_logits, place)
    return outward(S.neg(S.reduce_sum(S.mul(t, log_p), axes=(place,))), target, output)


def _log_probabilities(output: Tensor, from_logits: bool, axis: int) -> Tensor:
    if from_logits:
        return R.log_softmax(output, axis=axis)
    kept = S.kept(tuple(output.shape), (axis,))
    total = reshaped(S.reduce_sum(output, axes=(axis,)), kept)
    return E.log(_inside(E.div(output, promotion.broadcast(total, tuple(output.shape)))))


@names_errors
def sparse_categorical_crossentropy(
    target: ArrayLike, output: ArrayLike, from_logits: bool = False, axis: int = -1
) -> Any:
    """The cross-entropy of class numbers and predicted distributions.

    At kinks: predictions within 1e-7 of 0 or 1 are clipped and have gradient 0.

    Args:
        target: the class numbers: integers of the predictions' shape without the axis, or with extent 1 there.
        output: the predictions (brought to sum 1), or logits.
        from_logits: whether `output` holds logits.
        axis: the axis of the classes.

    Returns:
        The losses, without the axis, in the kind of array that came in.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.ops.sparse_categorical_crossentropy([0], [[0.5, 0.5]]).round(6)
        array([0.693147])
    """
    name = "sparse_categorical_crossentropy"
    o = as_float(as_tensor(output, name))
    place = normal_axis(axis, o.ndim, name)
    t = promotion.cast(as_tensor(target, name), np.dtype(np.int64))
    kept, without = S.kept(tuple(o.shape), (place,)), S.without(tuple(o.shape), (place,))
    if not (same_shape(t.shape, without) or same_shape(t.shape, kept)):
        raise ValueError(
            at_user_line(f"{name}: target has shape {t.shape}, wanted {without} for an output of {o.shape}")
        )
    log_p = _log_probabilities(o, from_logits, place)
    if not from_logits:  # the clipped probabilities are brought to sum 1 again
        log_p = R.log_softmax(log_p, axis=place)
    picked = take_along_axis(log_p, reshaped(t, kept), place)
    return outward(S.neg(reshaped(picked, without)), target, output)


__all__ = ["binary_crossentropy", "categorical_crossentropy", "sparse_categorical_crossentropy"]
