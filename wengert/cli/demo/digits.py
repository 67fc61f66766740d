"""Owns the handwritten digits: reads them from the package and splits them.

Their source and licence stand in DIGITS.md.
"""

from __future__ import annotations

from importlib import resources
from typing import NamedTuple

import numpy as np

SIDE = 8
CLASSES = 10
INK_LEVELS = 16


class Digits(NamedTuple):
    """Images as rows of 64 pixels between 0 and 1, and the digit that each shows."""

    images: np.ndarray
    labels: np.ndarray

    @property
    def one_hot(self) -> np.ndarray:
        """A row per image with 1 in the column of its digit and 0 elsewhere."""
        return np.eye(CLASSES)[self.labels]

    def take(self, rows: np.ndarray | slice) -> Digits:
        """The images and labels at `rows`."""
        return Digits(self.images[rows], self.labels[rows])


def load_digits() -> Digits:
    """Reads all 1,797 digits.

    Returns:
        Images of shape (1797, 64), float64 in 0 to 1, and labels of shape (1797,), intp.

    Example:
        >>> digits = load_digits()
        >>> digits.images.shape, digits.labels[:5]
        ((1797, 64), array([0, 1, 2, 3, 4]))
    """
    file = resources.files("wengert").joinpath("cli", "demo", "digits.npz")
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        images, labels = arrays["images"], arrays["labels"]
    return Digits(images.reshape(len(images), -1) / float(INK_LEVELS), labels.astype(np.intp))


def split_digits(digits: Digits, held_out: int = 450, seed: int = 0) -> tuple[Digits, Digits]:
    """Splits into a part to train on and a part held out, the same for the same seed.

    Args:
        digits: what to split.
        held_out: how many images to hold out.
        seed: of the permutation.

    Returns:
        The part to train on and the held-out part.

    Example:
        >>> train, test = split_digits(load_digits())
        >>> len(train.labels), len(test.labels)
        (1347, 450)
    """
    order = np.random.default_rng(seed).permutation(len(digits.labels))
    return digits.take(order[held_out:]), digits.take(order[:held_out])
