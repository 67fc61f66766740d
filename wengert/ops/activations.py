"""Activation functions and softmax, with Keras's names, arguments and defaults.

Pieces are chosen with `select`, and the piece that is not chosen is computed at a harmless point, so that neither its
value nor its slope can spoil the other.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core import dims, dtypes
from .._core.apply import apply
from .._core.argument_types import ArrayLike, Axes
from .._core.op import Op
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import cumulative as C
from .._prims import discrete as D
from .._prims import elementwise as E
from .._prims import piecewise as W
from .._prims import reductions as R
from .._prims import sorting as O
from .._prims import special as P
from .._prims import structural as S
from . import promotion
from .elementwise import multiply
from .promotion import as_float, as_tensor, normal_axes, normal_axis, public, tensors_of
from .shapes import permuted, reshaped
from .splitting import split

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def _float(x: ArrayLike, name: str) -> Tensor:
    tensor = as_float(as_tensor(x, name))
    if dtypes.is_complex(tensor.dtype):
        raise TypeError(at_user_line(f"{name}: x has dtype {tensor.dtype.name}, wanted real values"))
    return tensor


def _compare(op: Op, x: Tensor, number: float) -> Tensor:
    return apply(op, (x, S.fill(x, number)))


def _number(x: Tensor, value: ArrayLike) -> Tensor:
    """A number, or an array, in the type of x."""
    return promotion.broadcast(promotion.cast(tensors_of(x, value, "")[1], x.dtype), tuple(x.shape))


# -- rectifiers --------------------------------------------------------------------------------------------------------


@public
def relu(x: ArrayLike) -> Any:
    """max(x, 0).

    At kinks: the gradient is 0 at 0.

    Args:
        x: an array of real values or booleans, or a number.

    Returns:
        The values in x's kind and dtype.

    Example:
        >>> import wengert as wg
        >>> wg.ops.relu([-1.0, 2.0])
        array([0., 2.])
    """
    tensor = as_tensor(x, "relu")
    return tensor if tensor.dtype.kind == "b" else W.relu(tensor)  # booleans are what they are in either case


@public
def relu6(x: ArrayLike) -> Any:
    """min(max(x, 0), 6).

    At kinks: the gradient is 0 at 0 and at 6.

    Args:
        x: an array of real values, or a number.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.relu6([-1.0, 2.0, 9.0])
        array([0., 2., 6.])
    """
    return _relu6(_float(x, "relu6"))


def _relu6(x: Tensor) -> Tensor:
    above = S.select(_compare(D.ge, x, 6), S.fill(x, 6), x)
    return S.select(_compare(D.le, x, 0), S.fill(x, 0), above)


@public
def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 0.2) -> Any:
    """x where it is positive, else x times a small slope.

    At kinks: the gradient at 0 is `negative_slope`.

    Args:
        x: an array of real values, or a number.
        negative_slope: the slope on the left.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.leaky_relu([-1.0, 2.0])
        array([-0.2,  2. ])
    """
    a = _float(x, "leaky_relu")
    return S.select(_compare(D.gt, a, 0), a, multiply(a, _number(a, negative_slope)))


@public
def prelu(x: ArrayLike, alpha: ArrayLike) -> Any:
    """x where it is positive, else x times a slope that is learned.

    At kinks: the gradient at 0 is `alpha`.

    Args:
        x: an array of real values.
        alpha: the slope on the left; broadcasts with x, and is differentiable.

    Returns:
        The values in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.nn.prelu([[-1.0, -2.0, 4.0]], [0.5, 0.25, 0.1])
        array([[-0.5, -0.5,  4. ]])
    """
    a, slope = promotion.meet(*promotion.tensors_of(_float(x, "prelu"), alpha, "prelu"), "prelu")
    return S.select(_compare(D.gt, a, 0), a, S.mul(a, slope))


@public
def mish(x: ArrayLike) -> Any:
    """x tanh(softplus(x)).

    Args:
        x: an array of real values, or a number.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.nn.mish([0.0, 1.0]).round(6)
        array([0.      , 0.865098])
    """
    a = _float(x, "mish")
    return S.mul(a, E.tanh(E.softplus(a)))


@public
def softmin(x: ArrayLike, axis: Axes = -1) -> Any:
    """The softmax of -x.

    Args:
        x: an array of real values.
        axis: the axis or axes along which the results sum to 1.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.nn.softmin([0.0, 0.0])
        array([0.5, 0.5])
    """
    return softmax(S.neg(_float(x, "softmin")), axis)


def _exponential_piece(x: Tensor, alpha: ArrayLike, rate: ArrayLike | None, is_right: Op = D.gt) -> Tensor:
    """x to the right of 0, else alpha (e^(x / rate) - 1); `is_right` says which side 0 itself belongs to."""
    on_right = _compare(is_right, x, 0)
    left = S.select(on_right, S.fill(x, 0), x)
    left = left if rate is None else E.div(left, _number(x, rate))
    return S.select(on_right, x, S.mul(E.expm1(left), _number(x, alpha)))


@public
def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Any:
    """x where it is positive, else alpha (e^x - 1).

    At kinks: the gradient at 0 is `alpha`.

    Args:
        x: an array of real values, or a number.
        alpha: the limit on the left, with its sign changed.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.elu([-1.0, 2.0]).round(6)
        array([-0.632121,  2.      ])
    """
    return _exponential_piece(_float(x, "elu"), alpha, None)


@public
def selu(x: ArrayLike) -> Any:
    """`elu` with the two constants that keep mean and variance through layers.

    At kinks: the gradient at 0 is that of the right side, 1.0507.

    Args:
        x: an array of real values, or a number.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.selu([-1.0, 2.0]).round(6)
        array([-1.111331,  2.101402])
    """
    return S.times_number(_exponential_piece(_float(x, "selu"), _SELU_ALPHA, None, D.ge), number=_SELU_SCALE)


@public
def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Any:
    """x where it is positive, else alpha (e^(x / alpha) - 1), whose slope is smooth.

    Args:
        x: an array of real values, or a number.
        alpha: the limit on the left, with its sign changed.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.celu([-1.0, 2.0]).round(6)
        array([-0.632121,  2.      ])
    """
    return _exponential_piece(_float(x, "celu"), alpha, alpha)


@public
def threshold(x: ArrayLike, threshold: ArrayLike, default_value: ArrayLike) -> Any:
    """x where it is above a threshold, else another value.

    At kinks: the gradient is 0 at the threshold.

    Args:
        x: an array of real values, or a number.
        threshold: the threshold.
        default_value: what stands at it and below.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.threshold([0.2, 0.7], 0.5, 0.0)
        array([0. , 0.7])
    """
    a = _float(x, "threshold")
    return S.select(apply(D.gt, (a, _number(a, threshold))), a, _number(a, default_value))


# -- smooth ones -------------------------------------------------------------------------------------------------------


@public
def silu(x: ArrayLike) -> Any:
    """x times the sigmoid of x.

    Args:
        x: an array of real values, or a number.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.silu([0.0, 1.0]).round(6)
        array([0.      , 0.731059])
    """
    a = _float(x, "silu")
    return S.mul(a, E.sigmoid(a))


swish = silu


_SATURATED = 900.0  # a square beyond which the tanh of gelu is 1 to the last digit


@public
def gelu(x: ArrayLike, approximate: bool = True) -> Any:
    """x times the normal distribution function at x.

    Args:
        x: an array of real values, or a number.
        approximate: whether to take the approximation with tanh.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.gelu([0.0, 1.0], approximate=False).round(6)
        array([0.      , 0.841345])
    """
    a = _float(x, "gelu")
    if not approximate:
        return S.mul(a, P.ndtr(a))
    square = E.square(a)
    if a.dtype.itemsize == 2:  # float16 has none of 256, and then slopes would be 0 times infinity
        square = W.minimum(square, S.fill(a, _SATURATED))
    slope = S.add_number(S.times_number(square, number=0.044715), number=1)
    inner = S.times_number(S.mul(a, slope), number=math.sqrt(2 / math.pi))
    return S.mul(a, S.times_number(S.add_number(E.tanh(inner), number=1), number=0.5))


@public
def softplus(x: ArrayLike) -> Any:
    """log(1 + e^x), exact where it is near 0 and without overflow.

    Args:
        x: an array of real values, or a number.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.softplus([0.0, 1000.0]).round(6)
        array([6.93147e-01, 1.00000e+03])
    """
    return E.softplus(_float(x, "softplus"))


@public
def softsign(x: ArrayLike) -> Any:
    """x / (1 + |x|).

    Args:
        x: an array of real values, or a number.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.softsign([-1.0, 3.0])
        array([-0.5 ,  0.75])
    """
    a = _float(x, "softsign")
    share = E.reciprocal(S.add_number(W.abs_(a), number=1))
    # far out the slope share^2 would be lost as the difference of two much larger numbers, so each end has its formula
    far = S.mul(D.sign(a), S.add_number(S.neg(share), number=1))
    return S.select(_compare(D.gt, W.abs_(a), 1), far, S.mul(a, share))


@public
def log_sigmoid(x: ArrayLike) -> Any:
    """log(sigmoid(x)), exact where the sigmoid vanishes.

    Args:
        x: an array of real values, or a number.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.log_sigmoid([-1000.0, 0.0]).round(6)
        array([-1.00000e+03, -6.93147e-01])
    """
    return S.neg(E.softplus(S.neg(_float(x, "log_sigmoid"))))


@public
def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Any:
    """(x + sqrt(x^2 + b)) / 2.

    Args:
        x: an array of real values, or a number.
        b: how round the corner is; a gradient flows to it.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.squareplus([0.0, 1.5])
        array([1., 2.])
    """
    a = _float(x, "squareplus")
    return S.add(S.times_number(a, number=0.5), _half_root_of_squares(a, _number(a, b)))


def _half_root_of_squares(x: Tensor, b: Tensor) -> Tensor:
    """Half the square root of x^2 + b, of smaller numbers where x^2 leaves the range."""
    half = dtypes.largest_exponent(x.dtype) // 2
    is_large = _compare(D.gt, W.abs_(x), 2.0 ** (half - 1))
    small = S.select(is_large, S.fill(x, 2.0 ** (-half - 1)), S.fill(x, 1))
    root = E.sqrt(S.add(E.square(S.mul(x, small)), S.mul(b, E.square(small))))
    return S.mul(root, S.select(is_large, S.fill(x, 2.0**half), S.fill(x, 0.5)))


@public
def sparse_plus(x: ArrayLike) -> Any:
    """0 up to -1, x from 1 on, and (x + 1)^2 / 4 between.

    Args:
        x: an array of real values, or a number.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.sparse_plus([-2.0, 0.0, 2.0])
        array([0.  , 0.25, 2.  ])
    """
    a = _float(x, "sparse_plus")
    middle = S.times_number(E.square(S.add_number(a, number=1)), number=0.25)
    return S.select(_compare(D.le, a, -1), S.fill(a, 0), S.select(_compare(D.ge, a, 1), a, middle))


@public
def sparse_sigmoid(x: ArrayLike) -> Any:
    """0 up to -1, 1 from 1 on, and (x + 1) / 2 between.

    At kinks: the gradient is 0 at -1 and at 1.

    Args:
        x: an array of real values, or a number.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.sparse_sigmoid([-2.0, 0.0, 2.0])
        array([0. , 0.5, 1. ])
    """
    a = _float(x, "sparse_sigmoid")
    middle = S.times_number(S.add_number(a, number=1), number=0.5)
    return S.select(_compare(D.le, a, -1), S.fill(a, 0), S.select(_compare(D.ge, a, 1), S.fill(a, 1), middle))


# -- hard ones and shrinks ---------------------------------------------------------------------------------------------


def _hard_sigmoid(x: Tensor) -> Tensor:
    return S.times_number(_relu6(S.add_number(x, number=3)), number=1 / 6)


@public
def hard_sigmoid(x: ArrayLike) -> Any:
    """relu6(x + 3) / 6.

    At kinks: the gradient is 0 at -3 and at 3.

    Args:
        x: an array of real values, or a number.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.hard_sigmoid([-4.0, 0.0, 4.0])
        array([0. , 0.5, 1. ])
    """
    return _hard_sigmoid(_float(x, "hard_sigmoid"))


@public
def hard_silu(x: ArrayLike) -> Any:
    """x times the hard sigmoid of x.

    At kinks: the gradient is 0 at -3 and 1 at 3.

    Args:
        x: an array of real values, or a number.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.hard_silu([-4.0, 0.0, 4.0])
        array([-0.,  0.,  4.])
    """
    a = _float(x, "hard_silu")
    return S.mul(a, _hard_sigmoid(a))


hard_swish = hard_silu


@public
def hard_tanh(x: ArrayLike) -> Any:
    """x between -1 and 1.

    At kinks: the gradient is 1 at -1 and at 1.

    Args:
        x: an array of real values, or a number.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.hard_tanh([-4.0, 0.5, 4.0])
        array([-1. ,  0.5,  1. ])
    """
    a = _float(x, "hard_tanh")
    return apply(W.clip, (a, S.fill(a, -1), S.fill(a, 1)))


@public
def tanh_shrink(x: ArrayLike) -> Any:
    """x - tanh(x).

    Args:
        x: an array of real values, or a number.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.tanh_shrink([0.0, 1.0]).round(6)
        array([0.      , 0.238406])
    """
    a = _float(x, "tanh_shrink")
    return S.sub(a, E.tanh(a))


@public
def hard_shrink(x: ArrayLike, threshold: ArrayLike = 0.5) -> Any:
    """x where its magnitude is above a threshold, else 0.

    At kinks: the gradient is 0 at the threshold.

    Args:
        x: an array of real values, or a number.
        threshold: the threshold.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.hard_shrink([-0.2, 0.7])
        array([0. , 0.7])
    """
    a = _float(x, "hard_shrink")
    return S.select(apply(D.le, (W.abs_(a), _number(a, threshold))), S.fill(a, 0), a)


@public
def soft_shrink(x: ArrayLike, threshold: ArrayLike = 0.5) -> Any:
    """x moved towards 0 by a threshold, and 0 where its magnitude is not above it.

    At kinks: the gradient is 0 at the threshold.

    Args:
        x: an array of real values, or a number.
        threshold: the threshold.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.soft_shrink([-0.25, 0.75])
        array([0.  , 0.25])
    """
    a = _float(x, "soft_shrink")
    by = _number(a, threshold)
    moved = S.sub(a, S.mul(D.sign(a), by))
    return S.select(apply(D.le, (W.abs_(a), by)), S.fill(a, 0), moved)


# -- along an axis -----------------------------------------------------------------------------------------------------


def _along(op: Op, x: ArrayLike, axis: Axes, name: str) -> Tensor:
    """Applies an op of one axis along one axis, several as one, or all (None)."""
    a = _float(x, name)
    if isinstance(axis, int) and a.ndim:
        return op(a, axis=normal_axis(axis, a.ndim, name))
    axes = normal_axes(axis, a.ndim, name)
    rest = (*[i for i in range(a.ndim) if i not in axes],)
    perm = (*rest, *axes)
    wide = permuted(a, perm)
    line = reshaped(wide, (*(a.shape[i] for i in rest), dims.size_of([a.shape[i] for i in axes])))
    result = reshaped(op(line, axis=len(rest)), tuple(wide.shape))
    return permuted(result, S.inverse(perm))


@public
def softmax(x: ArrayLike, axis: Axes = -1) -> Any:
    """e^x / sum(e^x) along an axis, without overflow.

    Args:
        x: an array of real values.
        axis: the axis, a tuple of axes, or None for all.

    Returns:
        Shares that add up to 1, in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.softmax([1000.0, 1000.0])
        array([0.5, 0.5])
    """
    return _along(R.softmax, x, axis, "softmax")


@public
def log_softmax(x: ArrayLike, axis: Axes = -1) -> Any:
    """The logarithm of softmax along an axis, exact where softmax vanishes.

    Args:
        x: an array of real values.
        axis: the axis, a tuple of axes, or None for all.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.log_softmax([0.0, -1000.0])
        array([    0., -1000.])
    """
    return _along(R.log_softmax, x, axis, "log_softmax")


@public
def sparsemax(x: ArrayLike, axis: Axes = -1) -> Any:
    """The point of the probability simplex nearest to x, along an axis.

    At kinks: elements that just fail to have a share have gradient 0.

    Args:
        x: an array of real values.
        axis: the axis.

    Returns:
        Shares that add up to 1, many of them 0, in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.ops.sparsemax([0.0, 0.5, 3.0])
        array([0., 0., 1.])
    """
    a = _float(x, "sparsemax")
    place = normal_axis(axis, a.ndim, "sparsemax")
    is_chosen = _support(a, place)
    kept = S.kept(tuple(a.shape), (place,))
    size = S.reduce_sum(promotion.cast(is_chosen, a.dtype), axes=(place,))
    total = S.reduce_sum(S.select(is_chosen, a, S.fill(a, 0)), axes=(place,))
    level = E.div(S.add_number(total, number=-1), size)
    return S.select(is_chosen, S.sub(a, promotion.broadcast(reshaped(level, kept), tuple(a.shape))), S.fill(a, 0))


def _support(x: Tensor, axis: int) -> Tensor:
    """Which elements have a share: the largest k such that 1 + k x_k is above the sum of the k largest."""
    values = S.stop_gradient(x)
    ordered = O.sort(values, axis=axis, descending=True)
    sums = C.cumsum(ordered, axis=axis, reverse=False)
    rank = reshaped(
        promotion.cast(S.iota(size=x.shape[axis], dtype=np.dtype(np.int64)), x.dtype),
        (*[x.shape[axis] if i == axis else 1 for i in range(x.ndim)],),
    )
    rank = S.add_number(promotion.broadcast(rank, tuple(x.shape)), number=1)
    is_in = apply(D.gt, (S.add_number(S.mul(rank, ordered), number=1), sums))
    lowest = R.reduce_min(S.select(is_in, ordered, S.fill(ordered, math.inf)), axes=(axis,))
    kept = S.kept(tuple(x.shape), (axis,))
    return apply(D.ge, (values, promotion.broadcast(reshaped(lowest, kept), tuple(x.shape))))


@public
def glu(x: ArrayLike, axis: int = -1) -> Any:
    """The first half of x times the sigmoid of the second.

    Args:
        x: an array whose extent along the axis is even.
        axis: the axis.

    Returns:
        An array half as long along the axis, in x's kind.

    Raises:
        ValueError: if the extent is odd.

    Example:
        >>> import wengert as wg
        >>> wg.ops.glu([2.0, 0.0])
        array([1.])
    """
    first, second = split(_float(x, "glu"), 2, axis)
    return S.mul(first, E.sigmoid(second))


__all__ = [
    "relu", "relu6", "leaky_relu", "elu", "selu", "celu", "threshold", "silu", "swish", "gelu", "softplus", "softsign",
    "log_sigmoid", "squareplus", "sparse_plus", "sparse_sigmoid", "hard_sigmoid", "hard_silu", "hard_swish",
    "hard_tanh", "tanh_shrink", "hard_shrink", "soft_shrink", "softmax", "log_softmax", "sparsemax", "glu", "mish",
    "prelu", "softmin",
]  # fmt: skip
