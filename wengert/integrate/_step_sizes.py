"""Step size control: the length of the first step, and of the next one after a step with a known error.

The rules are those of E. Hairer, S. P. Norsett, G. Wanner, "Solving Ordinary Differential Equations I", section II.4,
with SciPy's constants, so that steps are SciPy's. Written once for numbers and for symbols. What comes out counts as a
constant: whoever calls hands in values that nobody follows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.argument_types import ArrayLike
from ._runge_kutta import norm

SAFETY, LEAST, MOST = 0.9, 0.2, 10.0
EPS = float(np.finfo(float).eps)


def first_step(
    field: Callable[[Any, Any], Any], t: ArrayLike, y: Any, f: Callable[..., Any], interval: Any, direction: object,
    order: int, rtol: Any,
    atol: Any,
) -> Any:  # fmt: skip
    """The length of the first step: such that an explicit Euler step changes little, and a step errs little."""
    scale = atol + np.abs(y) * rtol
    size, slope = norm(y / scale), norm(f / scale)
    is_small = (size < 1e-5) | (slope < 1e-5)
    guess = np.minimum(np.where(is_small, 1e-6, 0.01 * size / np.where(is_small, 1.0, slope)), interval)
    further = field(t + guess * direction, y + guess * direction * f)
    bend = norm((further - f) / scale) / np.where(guess == 0, 1.0, guess)
    steepest = np.maximum(slope, bend)
    is_flat = steepest <= 1e-15
    root = (0.01 / np.where(is_flat, 1.0, steepest)) ** (1 / (order + 1))
    step = np.where(is_flat, np.maximum(1e-6, guess * 1e-3), root)
    return np.minimum(np.minimum(100 * guess, step), interval)


def next_factor(error: Any, order: int, rejected: Any) -> tuple[Any, Any]:
    """Whether a step with this error is accepted, and what its length is multiplied by. A NaN is rejected."""
    accepted = error < 1
    is_usable = error > 0
    power = np.where(is_usable, error, 1.0) ** (-1 / (order + 1))
    longer = np.where(error == 0, MOST, np.minimum(MOST, SAFETY * power))
    longer = np.where(rejected, np.minimum(1.0, longer), longer)
    shorter = np.where(is_usable, np.maximum(LEAST, SAFETY * power), LEAST)
    return accepted, np.where(accepted, longer, shorter)
