"""Gradient methods with options, and the problem on which they are held against optax's: shared with the recorder."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg

STEPS = 12
START = {"w": [1.25, -0.5, 2.0], "b": ([[0.3, -1.2], [0.7, 0.1]],)}
SCALES = np.array([1.0, 4.0, 0.25])

# name: the method here, the same in optax, and options by name
METHODS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "sgd": ("sgd", "sgd", {"learning_rate": 0.1}),
    "sgd with momentum": ("sgd", "sgd", {"learning_rate": 0.1, "momentum": 0.9}),
    "momentum, nesterov": ("momentum", "sgd", {"learning_rate": 0.1, "momentum": 0.8, "nesterov": True}),
    "adam": ("adam", "adam", {"learning_rate": 0.1}),
    "adam, options": ("adam", "adam", {"learning_rate": 0.1, "b1": 0.7, "b2": 0.9, "eps": 1e-3, "eps_root": 1e-4}),
    "nadam": ("adam", "adam", {"learning_rate": 0.1, "nesterov": True}),
    "adamw": ("adamw", "adamw", {"learning_rate": 0.1, "weight_decay": 0.05}),
    "rmsprop": ("rmsprop", "rmsprop", {"learning_rate": 0.1}),
    "rmsprop, centered": ("rmsprop", "rmsprop", {"learning_rate": 0.05, "centered": True, "momentum": 0.9}),
    "rmsprop, eps outside": (
        "rmsprop", "rmsprop",
        {"learning_rate": 0.1, "eps_in_sqrt": False, "initial_scale": 0.5, "momentum": 0.5, "nesterov": True},
    ),
    "adagrad": ("adagrad", "adagrad", {"learning_rate": 0.3}),
    "lion": ("lion", "lion", {"learning_rate": 0.1}),
    "lbfgs": ("lbfgs", "lbfgs", {"learning_rate": 0.5}),
    "lbfgs, short memory": ("lbfgs", "lbfgs", {"learning_rate": 0.5, "memory_size": 3, "scale_init_precond": False}),
}  # fmt: skip
# name: the schedule here, the same in optax, and its arguments
SCHEDULES: dict[str, tuple[str, str, tuple[Any, ...]]] = {
    "constant": ("constant", "constant_schedule", (0.3,)),
    "linear": ("linear", "linear_schedule", (1.0, 0.1, 7, 3)),
    "exponential": ("exponential", "exponential_decay", (1.0, 10, 0.9)),
    "exponential in stairs": ("exponential", "exponential_decay", (1.0, 10, 0.5, 3, True, 0.2)),
    "cosine": ("cosine", "cosine_decay_schedule", (0.3, 10, 0.1, 2.0)),
    "warmup_cosine": ("warmup_cosine", "warmup_cosine_decay_schedule", (0.1, 1.0, 5, 20, 0.05)),
    "no warm-up": ("warmup_cosine", "warmup_cosine_decay_schedule", (0.1, 1.0, 0, 20)),
    "piecewise_constant": ("piecewise_constant", "piecewise_constant_schedule", (1.0, {3: 0.5, 8: 0.1})),
}  # fmt: skip


SEARCH_STEPS = 25
SEARCH_START = [-1.2, 1.0]


def valley(params: Any) -> Any:
    """Rosenbrock's function, in numbers that any library follows."""
    x, y = params["x"][0], params["x"][1]
    return 100.0 * (y - x * x) ** 2 + (1.0 - x) ** 2


def start() -> Any:
    """The parameters before the first step."""
    return {"w": np.array(START["w"]), "b": (np.array(START["b"][0]),)}


def loss(params: Any) -> Any:
    """A quadratic and some cosines."""
    return 0.5 * wg.sum((params["w"] - 3.0) ** 2 * SCALES) + wg.sum(wg.cos(params["b"][0]))
