"""The steps of recurrent networks: RNN, LSTM, GRU."""

from __future__ import annotations

from typing import Any

from .._core.argument_types import ArrayLike
from .elementwise import add, multiply, sigmoid, subtract, tanh
from .linalg import matmul
from .promotion import names_errors
from .splitting import split


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


__all__ = ["gru_step", "lstm_step", "rnn_step"]
