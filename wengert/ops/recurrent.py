"""Normalisation over groups and with given batch statistics, and the steps of recurrent networks (RNN, LSTM, GRU)."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from .._core.where import at_user_line
from . import promotion
from .elementwise import add, multiply, rsqrt, sigmoid, subtract, tanh
from .linalg import matmul
from .promotion import as_float, as_tensor, names_errors, normal_axis, outward
from .reductions import mean, var
from .shapes import known_extent, reshaped, split

# -- normalisation -------------------------------------------------------------------------------------------------


def _standardised(a: Tensor, axes: tuple[int, ...], epsilon: ArrayLike) -> Tensor:
    spread = rsqrt(add(var(a, axes, keepdims=True), epsilon))
    return multiply(subtract(a, mean(a, axes, keepdims=True)), spread)


def _dressed(a: Tensor, gamma: object, beta: ArrayLike | None, axis: int, what: str) -> Tensor:
    """Channels scaled and moved."""
    shape = (*[a.shape[axis] if i == axis else 1 for i in range(a.ndim)],)
    for value, combine in ((gamma, multiply), (beta, add)):
        if value is not None:
            a = combine(a, reshaped(promotion.cast(as_tensor(value, what), a.dtype), shape))
    return a


@names_errors
def group_normalization(
    x: ArrayLike,
    groups: int,
    gamma: ArrayLike | None = None,
    beta: ArrayLike | None = None,
    axis: int = -1,
    epsilon: float = 1e-3,
) -> Any:
    """Each example's channels, in groups, with mean 0 and variance 1 over a group and all places.

    Args:
        x: an array (batch, ..., channels).
        groups: into how many groups the channels are split; with as many as channels each stands alone, which is
            called instance normalisation.
        gamma: a vector over the channels that multiplies, or None.
        beta: a vector over the channels that is added, or None.
        axis: the axis of the channels.
        epsilon: what is added to the variance.

    Returns:
        An array of x's shape in the kind that came in.

    Raises:
        ValueError: if the groups do not divide the channels.

    Example:
        >>> import wengert as wg
        >>> wg.nn.group_normalization([[1.0, 3.0, 10.0, 10.0]], 2, epsilon=0.0001).round(3)
        array([[-1.,  1.,  0.,  0.]])
    """
    a = as_float(as_tensor(x, "group_normalization"))
    axis = normal_axis(axis, a.ndim, "group_normalization")
    channels = known_extent(a, axis, "group_normalization")
    if groups < 1 or channels % groups:
        raise ValueError(at_user_line(f"group_normalization: {groups} groups do not divide {channels} channels"))
    apart = reshaped(a, (*a.shape[:axis], groups, channels // groups, *a.shape[axis + 1 :]))
    axes = (*[i for i in range(1, apart.ndim) if i != axis],)
    result = reshaped(_standardised(apart, axes, epsilon), tuple(a.shape))
    return outward(_dressed(result, gamma, beta, axis, "group_normalization"), x, gamma, beta)


class BatchStatistics(NamedTuple):
    """A batch with mean 0 and variance 1, scaled and moved, beside its own mean and variance.

    `output` is the batch, in its own shape and dtype. `mean` is its mean over all axes but that of the features.
    `variance` is its variance over the same axes, without correction.
    """

    output: Any
    mean: Any
    variance: Any


@names_errors
def batch_statistics_normalization(
    x: ArrayLike, gamma: object = None, beta: ArrayLike | None = None, axis: int = -1, epsilon: float = 1e-3
) -> BatchStatistics:
    """Channels with mean 0 and variance 1 over the batch and all places: batch normalisation as in training, whose
    statistics are those of the batch itself, with gradients through them.

    Args:
        x: an array (batch, ..., channels).
        gamma: a vector over the channels that multiplies, or None.
        beta: a vector over the channels that is added, or None.
        axis: the axis of the channels.
        epsilon: what is added to the variance.

    Returns:
        `output`, and `mean` and `variance` of the channels for running averages, in the kind that came in.

    Example:
        >>> import wengert as wg
        >>> wg.nn.batch_statistics_normalization([[1.0], [3.0]]).mean
        array([2.])
    """
    a = as_float(as_tensor(x, "batch_statistics_normalization"))
    axis = normal_axis(axis, a.ndim, "batch_statistics_normalization")
    axes = (*[i for i in range(a.ndim) if i != axis],)
    centre, spread = mean(a, axes), var(a, axes)
    result = _dressed(_standardised(a, axes, epsilon), gamma, beta, axis, "batch_statistics_normalization")
    return outward(BatchStatistics(result, centre, spread), x, gamma, beta)


# -- recurrent steps -----------------------------------------------------------------------------------------------


def _mixed(x: ArrayLike, state: Any, kernel: ArrayLike, recurrent: Any, bias: Any) -> Any:
    total = add(matmul(x, kernel), matmul(state, recurrent))
    return total if bias is None else add(total, bias)


@names_errors
def rnn_step(
    x: ArrayLike, state: ArrayLike, kernel: ArrayLike, recurrent_kernel: ArrayLike, bias: ArrayLike | None = None
) -> Any:
    """One step of a simple recurrent network: tanh(x @ kernel + state @ recurrent_kernel + bias).

    Args:
        x: the inputs (batch, features).
        state: the state (batch, units).
        kernel: the weights of the inputs (features, units).
        recurrent_kernel: the weights of the state (units, units).
        bias: what is added (units,), or None.

    Returns:
        The new state in the kind that came in; `wg.scan` runs steps over a sequence.

    Example:
        >>> import wengert as wg
        >>> wg.nn.rnn_step(wg.ones((1, 2)), wg.zeros((1, 3)), wg.zeros((2, 3)), wg.zeros((3, 3))).shape
        (1, 3)
    """
    return tanh(_mixed(x, state, kernel, recurrent_kernel, bias))


@names_errors
def lstm_step(x: ArrayLike, state: Any, kernel: Any, recurrent_kernel: object, bias: object = None) -> tuple[Any, Any]:
    """One step of a network with long short-term memory.

    Args:
        x: the inputs (batch, features).
        state: the pair (hidden, cell), each (batch, units).
        kernel: the weights of the inputs (features, 4 * units), for the gates input, forget, cell and output.
        recurrent_kernel: the weights of the hidden state (units, 4 * units).
        bias: what is added (4 * units,), or None.

    Returns:
        The new pair (hidden, cell) in the kind that came in.

    Example:
        >>> import wengert as wg
        >>> state = wg.zeros((1, 3)), wg.zeros((1, 3))
        >>> hidden, cell = wg.nn.lstm_step(wg.ones((1, 2)), state, wg.ones((2, 12)), wg.ones((3, 12)))
        >>> hidden.shape
        (1, 3)
    """
    hidden, cell = state
    i, f, c, o = split(_mixed(x, hidden, kernel, recurrent_kernel, bias), 4, axis=-1)
    cell = add(multiply(sigmoid(f), cell), multiply(sigmoid(i), tanh(c)))
    return multiply(sigmoid(o), tanh(cell)), cell


@names_errors
def gru_step(
    x: ArrayLike,
    state: ArrayLike,
    kernel: ArrayLike,
    recurrent_kernel: ArrayLike,
    bias: ArrayLike | None = None,
    recurrent_bias: ArrayLike | None = None,
) -> Any:
    """One step of a network of gated recurrent units; the reset gate comes after the product with the state.

    Args:
        x: the inputs (batch, features).
        state: the state (batch, units).
        kernel: the weights of the inputs (features, 3 * units), for the gates update, reset and candidate.
        recurrent_kernel: the weights of the state (units, 3 * units).
        bias: what is added to the inputs' part (3 * units,), or None.
        recurrent_bias: what is added to the state's part (3 * units,), or None.

    Returns:
        The new state in the kind that came in.

    Example:
        >>> import wengert as wg
        >>> wg.nn.gru_step(wg.ones((1, 2)), wg.zeros((1, 3)), wg.ones((2, 9)), wg.ones((3, 9))).shape
        (1, 3)
    """
    outer, inner = matmul(x, kernel), matmul(state, recurrent_kernel)
    outer = outer if bias is None else add(outer, bias)
    inner = inner if recurrent_bias is None else add(inner, recurrent_bias)
    (xz, xr, xh), (sz, sr, sh) = split(outer, 3, axis=-1), split(inner, 3, axis=-1)
    update = sigmoid(add(xz, sz))
    candidate = tanh(add(xh, multiply(sigmoid(add(xr, sr)), sh)))
    return add(multiply(update, state), multiply(subtract(1.0, update), candidate))


__all__ = [
    "BatchStatistics", "batch_statistics_normalization", "group_normalization", "gru_step", "lstm_step", "rnn_step",
]  # fmt: skip
