"""The loss of a sequence of bits under LSTM layers with diagonal weights, and its gradient in all weights."""

from typing import Any

import numpy as np

import wengert as wg


def loss(main: Any, extra: Any, state: Any, sequence: Any) -> Any:
    """The mean over characters of the cross-entropy of the next one.

    Rows of `main` are weight and bias of each layer, of `state` its hidden values and cells; those of `extra` are the
    weights of the inputs, and weights and biases of the outputs.
    """
    length, size = sequence.shape
    layers = state.shape[0] // 2

    def step(carry: Any, here_and_next: Any) -> Any:
        hidden, cells = carry
        x, gold = here_and_next
        x = x * extra[0]
        after: list[tuple[Any, Any]] = []
        for layer in range(layers):
            h = hidden[layer]
            gates = wg.concatenate([x, h, x, h]) * main[2 * layer] + main[2 * layer + 1]
            forget, take, give = (wg.nn.sigmoid(gates[i * size : (i + 1) * size]) for i in range(3))
            cell = cells[layer] * forget + take * wg.tanh(gates[3 * size :])
            x = give * wg.tanh(cell)
            after.append((x, cell))
        found = x * extra[1] + extra[2]
        likely = found - wg.log(wg.sum(wg.exp(found)) + 2.0)
        return (tuple(h for h, _ in after), tuple(c for _, c in after)), wg.sum(gold * likely)

    start = tuple(state[2 * i] for i in range(layers)), tuple(state[2 * i + 1] for i in range(layers))
    _, likelihoods = wg.scan(step, start, (sequence[:-1], sequence[1:]))
    return -wg.sum(likelihoods) / ((length - 1) * size)


_value = wg.function(loss)
_gradient = wg.function(wg.grad(loss, argnums=(0, 1)))


def _arrays(given: dict[str, Any]) -> list[np.ndarray]:
    return [np.array(given[n], dtype=np.float64) for n in ("main_params", "extra_params", "state", "sequence")]


def objective(given: dict[str, Any]) -> Any:
    arrays = _arrays(given)
    return lambda: _value(*arrays), float


def jacobian(given: dict[str, Any]) -> Any:
    arrays = _arrays(given)
    return lambda: _gradient(*arrays), lambda found: np.concatenate([g.ravel() for g in found]).tolist()
