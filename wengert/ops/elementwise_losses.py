"""Losses element by element (huber, hinge, Poisson, focal, ...), cosine similarity, psnr; without the mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._core.argument_types import ArrayLike
from .._core.user_line import at_user_line
from .._prims import elementwise as E
from .._prims import structural as S
from . import promotion
from .activations import log_sigmoid, softplus
from .elementwise import abs as magnitude
from .elementwise import add, divide, exp, less_equal, log, multiply, negative, square, subtract
from .indexing import where
from .linalg import norm
from .piecewise import maximum
from .promotion import as_float, as_tensor, count_of, names_errors, outward
from .reductions import mean
from .reductions import sum as total

_DOC = """{what}

    At kinks: {kink}

    Args:
        target: the wanted values.
        output: the predictions; shapes broadcast.
{more}
    Returns:
        The losses, element by element, in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.nn.{name}([{target}], [{output}]).round(6)
        {example}
    """


def _loss(
    what: str, example: str, kink: str = "none.", more: str = "", target: str = "1.0, 2.0", output: str = "1.5, 4.0"
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives a loss its docstring."""

    def documented(f: Callable[..., Any]) -> Callable[..., Any]:
        f.__doc__ = _DOC.format(
            name=f.__name__, what=what, kink=kink, more=more, example=example, target=target, output=output
        )
        return names_errors(f)

    return documented


def _met(target: ArrayLike, output: ArrayLike, what: str) -> Any:
    return (as_float(t) for t in promotion.meet(*promotion.tensors_of(target, output, what), what))


@_loss(
    "Half the square of small errors, and delta times larger ones less a constant.",
    "array([0.125, 1.5  ])", more="        delta: from where on errors count linearly.\n",
)  # fmt: skip
def huber(target: ArrayLike, output: ArrayLike, delta: float = 1.0) -> Any:
    a, b = _met(target, output, "huber")
    error = subtract(b, a)
    size = magnitude(error)
    is_near = less_equal(size, delta)
    inner = multiply(square(where(is_near, error, 0.0)), 0.5)
    return outward(where(is_near, inner, multiply(subtract(size, 0.5 * delta), delta)), target, output)


@_loss(
    "Huber's loss over its bound: errors beyond it have slope 1.", "array([0.125, 1.5  ])",
    more="        beta: from where on errors count linearly.\n",
)  # fmt: skip
def smooth_l1(target: ArrayLike, output: ArrayLike, beta: float = 1.0) -> Any:
    return divide(huber(target, output, beta), beta)


@_loss(
    "log(cosh(error)), without overflow.", "array([0.120115, 1.325003])"
)  # fmt: skip
def log_cosh_loss(target: ArrayLike, output: ArrayLike) -> Any:
    a, b = _met(target, output, "log_cosh_loss")
    error = subtract(b, a)
    return outward(add(error, subtract(softplus(multiply(error, -2.0)), math.log(2))), target, output)


@_loss(
    "max(0, 1 - target * output), for targets of -1 and 1.", "array([0.5, 0. ])",
    kink="half of the slope at the corner.", target="1.0, -1.0", output="0.5, -2.0",
)  # fmt: skip
def hinge(target: ArrayLike, output: ArrayLike) -> Any:
    a, b = _met(target, output, "hinge")
    return outward(maximum(subtract(1.0, multiply(a, b)), 0.0), target, output)


@_loss(
    "The negative logarithm of Poisson's probability, less what the counts alone decide.",
    "array([ 2.981689, 46.59815 ])", more="        log_input: whether `output` is the logarithm of the mean.\n",
)  # fmt: skip
def poisson_nll(target: ArrayLike, output: ArrayLike, log_input: bool = True) -> Any:
    a, b = _met(target, output, "poisson_nll")
    loss = subtract(exp(b), multiply(a, b)) if log_input else subtract(b, multiply(a, log(b)))
    return outward(loss, target, output)


@_loss(
    "The cross-entropy of two classes, from logits, with what is right already left small.",
    "array([1.6893e-02, 4.0000e-06])", target="1.0, 0.0", output="0.5, -4.0",
    more="        alpha: the weight of class 1.\n        gamma: how strongly easy examples are left out.\n",
)  # fmt: skip
def sigmoid_focal(target: ArrayLike, output: ArrayLike, alpha: float = 0.25, gamma: float = 2.0) -> Any:
    a, b = _met(target, output, "sigmoid_focal")
    hit, miss = log_sigmoid(b), log_sigmoid(negative(b))
    first = multiply(multiply(a, hit), multiply(exp(multiply(miss, gamma)), alpha))
    second = multiply(multiply(subtract(1.0, a), miss), multiply(exp(multiply(hit, gamma)), 1.0 - alpha))
    return outward(negative(add(first, second)), target, output)


@names_errors
def gaussian_nll(target: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Any:
    """The negative logarithm of the normal density.

    Args:
        target: the wanted values.
        mean: the predicted means; shapes broadcast.
        variance: the predicted variances, positive.

    Returns:
        The losses, element by element, in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> print(wg.nn.gaussian_nll(1.0, 0.0, 1.0).round(6))
        1.418939
    """
    error = subtract(target, mean)
    ratio = divide(multiply(error, error), variance)
    return multiply(add(ratio, add(log(variance), math.log(2 * math.pi))), 0.5)


@names_errors
def cosine_similarity(x1: ArrayLike, x2: ArrayLike, axis: int = -1) -> Any:
    """The cosine of the angle between vectors.

    At kinks: a zero vector has similarity 0 to all, and gradient 0.

    Args:
        x1: vectors along an axis.
        x2: the same; shapes broadcast.
        axis: that axis.

    Returns:
        The cosines in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> print(wg.nn.cosine_similarity([1.0, 0.0], [1.0, 1.0]).round(6))
        0.707107
    """
    a, b = _met(x1, x2, "cosine_similarity")
    lengths = multiply(norm(a, axis=axis), norm(b, axis=axis))
    is_none = less_equal(lengths, 0.0)
    ratio = divide(total(multiply(a, b), axis=axis), where(is_none, 1.0, lengths))
    return outward(where(is_none, 0.0, ratio), x1, x2)


@names_errors
def label_smoothing(target: ArrayLike, share: float, num_classes: int | None = None) -> Any:
    """Targets moved a share of the way to equal ones for all classes.

    Args:
        target: probabilities of the classes along the last axis.
        share: how far they are moved, from 0 to 1.
        num_classes: how many classes there are; None means the extent of the last axis.

    Returns:
        The targets in the kind that came in.

    Example:
        >>> import wengert as wg
        >>> wg.nn.label_smoothing([0.0, 1.0], 0.2)
        array([0.1, 0.9])
    """
    a = as_float(as_tensor(target, "label_smoothing"))
    if a.ndim == 0:
        raise ValueError(at_user_line("label_smoothing: target is a number, wanted the classes along the last axis"))
    count: Any = a.shape[-1] if num_classes is None else count_of(num_classes, "label_smoothing: num_classes", 1)
    if type(count) is int and count == 0:
        return outward(a, target)  # no class, hence no target
    return outward(add(multiply(a, 1.0 - share), share / count), target)


@names_errors
def psnr(x1: ArrayLike, x2: ArrayLike, max_val: ArrayLike) -> Any:
    """The peak signal-to-noise ratio of two images in decibels: 20 log10(max_val) - 10 log10(mean square difference).

    At kinks: of equal images the ratio is inf, and the gradient NaN.

    Args:
        x1: an array of real values.
        x2: an array of the same shape.
        max_val: the largest possible value.

    Returns:
        One number in the kind of array that came in.

    Raises:
        ValueError: for arrays of different shapes.

    Example:
        >>> import wengert as wg
        >>> print(wg.ops.psnr([0.0, 1.0], [0.0, 0.0], 1.0).round(4))
        3.0103
    """
    a, b = as_float(as_tensor(x1, "psnr")), as_float(as_tensor(x2, "psnr"))
    if a.shape != b.shape:
        raise ValueError(at_user_line(f"psnr: x1 has shape {a.shape} and x2 has shape {b.shape}"))
    a, b = promotion.meet(a, b, "psnr")
    noise = E.log10(mean(E.square(S.sub(a, b))))
    peak = E.log10(promotion.cast(as_tensor(max_val, "psnr"), a.dtype))
    ratio = promotion.binary(S.sub, S.times_number(peak, number=20.0), S.times_number(noise, number=10.0))
    return outward(ratio, x1, x2, max_val)


__all__ = [
    "cosine_similarity",
    "gaussian_nll",
    "hinge",
    "huber",
    "label_smoothing",
    "log_cosh_loss",
    "poisson_nll",
    "psnr",
    "sigmoid_focal",
    "smooth_l1",
]
