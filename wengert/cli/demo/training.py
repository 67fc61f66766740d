"""Owns the model of the demo and its training.

The model is plain NumPy code: the same functions run on arrays, where they compute, and on tensors,
where `wg.value_and_grad` and `wg.grad` differentiate them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import wengert as wg
from wengert.cli.demo.digits import CLASSES, SIDE, Digits

from ..._core.argument_types import ArrayLike

Parameters = dict[str, Any]

HIDDEN_UNITS = 32
WEIGHT_DECAY = 1e-3


def initial_parameters(seed: int = 0) -> Parameters:
    """Small random weights and zero offsets of a network 64 - 32 - 10."""
    random = np.random.default_rng(seed)
    pixels = SIDE * SIDE
    return {
        "hidden": random.normal(size=(pixels, HIDDEN_UNITS)) / np.sqrt(pixels),
        "hidden_offset": np.zeros(HIDDEN_UNITS),
        "output": random.normal(size=(HIDDEN_UNITS, CLASSES)) / np.sqrt(HIDDEN_UNITS),
        "output_offset": np.zeros(CLASSES),
    }


def class_scores(parameters: Parameters, images: ArrayLike) -> Any:
    """One score per image and digit, before they are made probabilities."""
    hidden = np.tanh(images @ parameters["hidden"] + parameters["hidden_offset"])
    return hidden @ parameters["output"] + parameters["output_offset"]


def log_probabilities(parameters: Parameters, images: ArrayLike) -> Any:
    """The logarithm of each digit's probability, by a softmax that cannot overflow."""
    scores = class_scores(parameters, images)
    scores = scores - np.max(scores, axis=1, keepdims=True)
    return scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))


def cross_entropy(parameters: Parameters, images: ArrayLike, one_hot: np.ndarray) -> Any:
    """The mean over the images of minus the log-probability of the right digit."""
    return -np.sum(one_hot * log_probabilities(parameters, images)) / len(one_hot)


def penalised_loss(parameters: Parameters, images: ArrayLike, one_hot: np.ndarray) -> Any:
    """The cross entropy with a quadratic penalty on the weights, which is what training minimises."""
    penalty = np.sum(parameters["hidden"] ** 2) + np.sum(parameters["output"] ** 2)
    return cross_entropy(parameters, images, one_hot) + 0.5 * WEIGHT_DECAY * penalty


def accuracy(parameters: Parameters, digits: Digits) -> float:
    """The share of the images whose most probable digit is the right one."""
    guesses = np.argmax(class_scores(parameters, digits.images), axis=1)
    return float(np.mean(guesses == digits.labels))


def check_loss_gradient(batch: Digits, seed: int = 0) -> int:
    """Holds the gradient of the training loss against finite differences, at the first parameters.

    Args:
        batch: a few images; every parameter is perturbed.
        seed: of the parameters.

    Returns:
        How many parameters were checked.

    Raises:
        GradientCheckError: an entry disagrees; the message is a table of those that do.
    """
    flat, unravel = wg.tree.ravel(initial_parameters(seed))

    def loss(flat_parameters: object) -> Any:
        return penalised_loss(unravel(flat_parameters), batch.images, batch.one_hot)

    wg.check_gradients(loss, flat, order=1, modes=("reverse",))
    return int(np.size(flat))


@dataclass
class Training:
    """A finished training run: the parameters and how it went."""

    parameters: Parameters
    train_losses: list[float]
    test_losses: list[float]
    gradients_taken: int
    seconds: float
    message: str

    @property
    def iterations(self) -> int:
        """How many steps the optimiser took (the losses also have the start)."""
        return len(self.train_losses) - 1


def train(
    train_digits: Digits,
    test_digits: Digits,
    iterations: int,
    on_step: Callable[[int, float], None],
    seed: int = 0,
) -> Training:
    """Minimises the penalised loss with SciPy's L-BFGS, fed by `wg.value_and_grad`.

    Args:
        train_digits: the images to learn from.
        test_digits: held-out images; only their loss is recorded.
        iterations: the most steps to take.
        on_step: called after each step with its number and the training loss.
        seed: of the first parameters.

    Returns:
        The trained parameters with the course of both losses.
    """
    from scipy.optimize import minimize

    flat, unravel = wg.tree.ravel(initial_parameters(seed))
    train_one_hot, test_one_hot = train_digits.one_hot, test_digits.one_hot
    train_losses: list[float] = []
    test_losses: list[float] = []

    def loss(flat_parameters: object) -> Any:
        return penalised_loss(unravel(flat_parameters), train_digits.images, train_one_hot)

    def record(flat_parameters: np.ndarray) -> None:
        parameters = unravel(flat_parameters)
        train_losses.append(float(cross_entropy(parameters, train_digits.images, train_one_hot)))
        test_losses.append(float(cross_entropy(parameters, test_digits.images, test_one_hot)))

    def after_step(flat_parameters: np.ndarray) -> None:
        record(flat_parameters)
        on_step(len(train_losses) - 1, train_losses[-1])

    started = time.perf_counter()
    record(flat)
    found = minimize(
        wg.value_and_grad(loss),
        flat,
        jac=True,
        method="L-BFGS-B",
        callback=after_step,
        options={"maxiter": iterations},
    )
    return Training(
        parameters=unravel(found.x),
        train_losses=train_losses,
        test_losses=test_losses,
        gradients_taken=int(found.nfev),
        seconds=time.perf_counter() - started,
        message=str(found.message),
    )


def pixel_evidence(parameters: Parameters, digits: Digits) -> np.ndarray:
    """How ink in each pixel changes the score of an image's own digit over the others', by digit.

    The gradient with respect to the images themselves, averaged over the images of each digit.

    Args:
        parameters: of the trained network.
        digits: the images to average over.

    Returns:
        Shape (10, 64): a row of pixels per digit.
    """
    contrast = digits.one_hot - 1.0 / CLASSES
    by_image = wg.grad(lambda images: np.sum(contrast * class_scores(parameters, images)))(digits.images)
    return np.stack([by_image[digits.labels == digit].mean(axis=0) for digit in range(CLASSES)])
