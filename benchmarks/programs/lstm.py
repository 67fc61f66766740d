"""GradBench's lstm: the loss of a long sequence under layers with diagonal weights, small hidden sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "LSTM sequence loss (GradBench lstm)"
CASES = {"2 layers, 1024 characters": {"layers": 2, "length": 1024}, "4 layers, 4096": {"layers": 4, "length": 4096}}
TOLERANCE = 1e-9
HIDDEN = 14  # bits of a character in GradBench's text
LEFT_OUT = {"autograd": "minutes a call"}


def inputs(parameters: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Weights, weights around the layers, first state, and the sequence of bits."""
    layers, length = parameters["layers"], parameters["length"]
    rng = np.random.default_rng(31337)
    sequence = rng.integers(0, 2, size=(length, HIDDEN)).astype(np.float64)
    return rng.random((2 * layers, 4 * HIDDEN)), rng.random((3, HIDDEN)), rng.random((2 * layers, HIDDEN)), sequence


def arguments(parameters: dict[str, Any]) -> tuple[np.ndarray, ...]:
    return inputs(parameters)[:2]


def objective(library: Any, state: np.ndarray, sequence: np.ndarray) -> Any:
    """The loss as a function of the weights of the layers and those around them."""
    if library.loop is None:
        return None
    xp, (length, size), layers = library.np, sequence.shape, len(state) // 2
    first, data = library.constant(state), library.constant(sequence)

    def loss(main: Any, extra: Any) -> Any:
        def step(t: Any, carry: Any) -> Any:
            total, hidden, cells = carry
            x = data[t] * extra[0]
            after_hidden, after_cells = [], []
            for layer in range(layers):
                weight, bias, h = main[2 * layer], main[2 * layer + 1], hidden[layer]
                gates = xp.concatenate([x, h, x, h]) * weight + bias
                forget, take = xp.sigmoid(gates[:size]), xp.sigmoid(gates[size : 2 * size])
                give, change = xp.sigmoid(gates[2 * size : 3 * size]), xp.tanh(gates[3 * size :])
                cell = cells[layer] * forget + take * change
                x = give * xp.tanh(cell)
                after_hidden.append(x)
                after_cells.append(cell)
            found = x * extra[1] + extra[2]
            likely = found - xp.log(xp.sum(xp.exp(found)) + 2.0)
            return total + xp.sum(data[t + 1] * likely), xp.stack(after_hidden), xp.stack(after_cells)

        start = xp.sum(extra) * 0.0, xp.stack([first[2 * i] for i in range(layers)]), \
            xp.stack([first[2 * i + 1] for i in range(layers)])  # fmt: skip
        return -library.loop(length - 1, step, start)[0] / (float(length - 1) * size)

    return loss


def program(library: Any, parameters: dict[str, Any]) -> Any:
    _, _, state, sequence = inputs(parameters)
    return objective(library, state, sequence)


def c_call(parameters: dict[str, Any], arrays: tuple[np.ndarray, ...]) -> Any:
    main, extra, state, sequence = inputs(parameters)
    layers, length = parameters["layers"], parameters["length"]
    results = np.empty(()), np.empty_like(main), np.empty_like(extra)
    workspace = np.empty((length, layers, 7, HIDDEN))
    given = (layers, length, HIDDEN, main, extra, state, sequence, workspace, *results)
    return "lstm", "lstm", given, (8, 9, 10)
