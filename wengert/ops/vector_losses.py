"""Losses that compare distributions and vectors (divergence, hinge, focal, cosine, triplet), without the mean."""

from __future__ import annotations

from typing import Any

from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import piecewise as W
from .._prims import reductions as R
from . import promotion
from .elementwise import add, divide, equal, exp, log, multiply, negative, power, square, subtract
from .elementwise_losses import cosine_similarity, hinge
from .indexing import where
from .linalg import norm
from .piecewise import clip, maximum, minimum
from .promotion import as_tensor, floats_of, names_errors, normal_axis, outward
from .reductions import max as largest
from .reductions import sum as total


def _met(x: ArrayLike, y: ArrayLike, what: str) -> tuple[Tensor, Tensor]:
    """Two values as floats of one dtype and shape."""
    first, second = floats_of((x, y), what)
    return promotion.meet(first, second, what)


@names_errors
def kl_div(target: ArrayLike, output: ArrayLike, log_output: bool = True, log_target: bool = False) -> Any:
    """The terms of Kullback and Leibler's divergence, target * log(target / output); add up those of a distribution.

    At kinks: a target of 0 has a term of 0, and gradient 0.

    Args:
        target: the wanted probabilities.
        output: the logarithms of the predicted ones; shapes broadcast.
        log_output: whether `output` holds logarithms; else probabilities.
        log_target: whether `target` does.

    Returns:
        The terms, element by element, in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.nn.kl_div([0.5, 0.0], [0.25, 0.75], log_output=False).round(6)
        array([0.346574, 0.      ])
    """
    a, b = _met(target, output, "kl_div")
    logs = b if log_output else log(b)
    if log_target:
        return outward(multiply(exp(a), subtract(a, logs)), target, output)
    is_none = equal(a, 0.0)
    crossed = W.xlogy(a, b) if not log_output else multiply(a, where(is_none, 0.0, b))
    return outward(subtract(W.xlogy(a, where(is_none, 1.0, a)), crossed), target, output)


@names_errors
def squared_hinge(target: ArrayLike, output: ArrayLike) -> Any:
    """The square of `hinge`: max(0, 1 - target * output)^2, for targets of -1 and 1.

    Args:
        target: the wanted signs.
        output: the predictions; shapes broadcast.

    Returns:
        The losses, element by element, in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.nn.squared_hinge([1.0, -1.0], [0.5, -2.0])
        array([0.25, 0.  ])
    """
    return square(hinge(target, output))


@names_errors
def categorical_hinge(target: ArrayLike, output: ArrayLike, axis: int = -1) -> Any:
    """max(0, 1 + the largest prediction of a wrong class - that of the right one).

    At kinks: half of the slope at the corner; equal largest predictions share it evenly.

    Args:
        target: zeros, and a one for the right class along an axis.
        output: the predictions; shapes broadcast.
        axis: that axis.

    Returns:
        The losses, without the axis, in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.nn.categorical_hinge([[0.0, 1.0, 0.0]], [[0.5, 1.0, 0.25]])
        array([0.5])
    """
    a, b = _met(target, output, "categorical_hinge")
    right = total(multiply(a, b), axis=axis)
    wrong = largest(multiply(subtract(1.0, a), b), axis=axis)
    return outward(maximum(add(subtract(wrong, right), 1.0), 0.0), target, output)


@names_errors
def categorical_focal(
    target: ArrayLike,
    output: ArrayLike,
    alpha: ArrayLike = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    axis: int = -1,
) -> Any:
    """The cross-entropy of classes, with what is right already left small.

    At kinks: predicted probabilities within 1e-7 of 0 or 1 are clipped and have gradient 0.

    Args:
        target: probabilities of the classes along an axis.
        output: the predicted ones, which are brought to sum 1, or logits; shapes broadcast.
        alpha: the weight of the classes, a number or one for each.
        gamma: how strongly easy examples are left out.
        from_logits: whether `output` holds logits.
        axis: that axis.

    Returns:
        The losses, without the axis, in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.nn.categorical_focal([[0.0, 1.0]], [[0.5, 0.5]]).round(6)
        array([0.043322])
    """
    what = "categorical_focal"
    a, b = _met(target, output, what)
    place = normal_axis(axis, b.ndim, what)
    if from_logits:
        logs = R.log_softmax(b, axis=place)
        share = exp(logs)
    else:
        share = clip(divide(b, total(b, axis=place, keepdims=True)), 1e-7, 1 - 1e-7)
        logs = log(share)
    weight = multiply(power(subtract(1.0, share), gamma), alpha)
    return outward(negative(total(multiply(multiply(a, logs), weight), axis=place)), target, output, alpha)


@names_errors
def cosine_distance(target: ArrayLike, output: ArrayLike, axis: int = -1) -> Any:
    """1 - `cosine_similarity`.

    At kinks: a zero vector has distance 1 to all, and gradient 0.

    Args:
        target: vectors along an axis.
        output: the same; shapes broadcast.
        axis: that axis.

    Returns:
        The distances, from 0 to 2, in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> print(wg.nn.cosine_distance([1.0, 0.0], [0.0, 2.0]))
        1.0
    """
    return subtract(1.0, cosine_similarity(target, output, axis))


@names_errors
def cosine_embedding(x1: ArrayLike, x2: ArrayLike, target: ArrayLike, margin: float = 0.0, axis: int = -1) -> Any:
    """1 - cosine for pairs that belong together (target 1), and max(0, cosine - margin) for the others (target -1).

    At kinks: half of the slope at the corner; a zero vector has similarity 0 to all, and gradient 0.

    Args:
        x1: vectors along an axis.
        x2: the same; shapes broadcast.
        target: 1 or -1 for each pair.
        margin: up to which similarity others cost nothing.
        axis: the axis of the vectors.

    Returns:
        The losses in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.nn.cosine_embedding([[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [2.0, 0.0]], [1, -1])
        array([1., 1.])
    """
    likeness = cosine_similarity(*_met(x1, x2, "cosine_embedding"), axis=axis)
    apart = maximum(subtract(likeness, margin), 0.0)
    return outward(where(equal(as_tensor(target), 1), subtract(1.0, likeness), apart), x1, x2, target)


@names_errors
def triplet_margin(
    anchor: ArrayLike,
    positive: ArrayLike,
    negative: ArrayLike,
    margin: float = 1.0,
    p: ArrayLike = 2,
    swap: bool = False,
    axis: int = -1,
) -> Any:
    """max(0, distance to the positive - distance to the negative + margin).

    At kinks: half of the slope at the corner; the distance of equal vectors has gradient 0.

    Args:
        anchor: vectors along an axis.
        positive: vectors that are to be near; shapes broadcast.
        negative: vectors that are to be far.
        margin: by how much farther they are to be.
        p: the order of the norm that measures distances.
        swap: whether the distance of the positive to the negative counts, where it is smaller than the anchor's.
        axis: the axis of the vectors.

    Returns:
        The losses in the kind of array that came in.

    Raises:
        ValueError: for shapes that do not broadcast.

    Example:
        >>> import wengert as wg
        >>> wg.nn.triplet_margin([[0.0, 0.0]], [[3.0, 4.0]], [[0.0, 5.5]])
        array([0.5])
    """
    a, near, far = floats_of((anchor, positive, negative), "triplet_margin")
    if not (isinstance(p, (int, float)) and p > 0):
        raise ValueError(at_user_line(f"triplet_margin: p must be a positive number, got {p!r}"))
    to_near, to_far = norm(subtract(a, near), p, axis), norm(subtract(a, far), p, axis)
    if swap:
        to_far = minimum(to_far, norm(subtract(near, far), p, axis))
    return outward(maximum(add(subtract(to_near, to_far), margin), 0.0), anchor, positive, negative)


__all__ = [
    "categorical_focal", "categorical_hinge", "cosine_distance", "cosine_embedding", "kl_div", "squared_hinge",
    "triplet_margin",
]  # fmt: skip
