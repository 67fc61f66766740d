"""Schedules: functions of the number of steps done, from which a gradient method takes its learning rate.

They take a Python number, an array or a tensor (in a `function`, a symbolic one), and give a float of that kind.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from .._core.argument_types import ArrayLike
from .._core.public import public
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..ops.elementwise import cos, floor, greater_equal, power
from ..ops.indexing import where
from ..ops.piecewise import maximum, minimum
from ..ops.promotion import as_tensor, outward
from ._picklable import Made, remembered

__all__ = ["Schedule", "constant", "cosine", "exponential", "linear", "piecewise_constant", "warmup_cosine"]

Schedule = Callable[[Any], Any]


class _Schedule(Made):
    """A schedule that knows which call made it."""

    def __init__(self, of_step: Callable[[Any], Any]) -> None:
        self._of_step = of_step

    @public
    def __call__(self, step: ArrayLike) -> Any:
        """The value after so many steps."""
        return outward(self._of_step(as_tensor(step, "schedule").astype("float64")), step)


def _require_steps(steps: object, name: str, argument: str, least: int = 1) -> None:
    if not isinstance(steps, (int, float)) or steps < least:
        raise ValueError(
            at_user_line(f"{name}: {argument}: wanted a number of steps of at least {least}, got {steps!r}")
        )


@public
@remembered(_Schedule)
def constant(value: ArrayLike) -> Schedule:
    """The same value at every step.

    Args:
        value: the value.

    Returns:
        A function of the step.

    Example:
        >>> import wengert as wg
        >>> float(wg.optimize.constant(0.1)(7))
        0.1
    """
    return lambda step: value + 0.0 * step


@public
@remembered(_Schedule)
def linear(init_value: Any, end_value: Any, transition_steps: int, transition_begin: int = 0) -> Schedule:
    """From one value to another in a straight line.

    Args:
        init_value: the value at first.
        end_value: the value at the end, and after it.
        transition_steps: how many steps it takes.
        transition_begin: after how many steps it begins.

    Returns:
        A function of the step.

    Raises:
        ValueError: `transition_steps` is not positive.

    Example:
        >>> import wengert as wg
        >>> float(wg.optimize.linear(1.0, 0.0, 10)(5))
        0.5
    """
    _require_steps(transition_steps, "linear", "transition_steps")

    def of_step(step: Tensor) -> Any:
        part = minimum(maximum(step - transition_begin, 0.0), transition_steps) / transition_steps
        return init_value + (end_value - init_value) * part

    return of_step


@public
@remembered(_Schedule)
def exponential(
    init_value: Any, transition_steps: int, decay_rate: Any, transition_begin: int = 0, staircase: bool = False,
    end_value: object = None,
) -> Schedule:  # fmt: skip
    """Falls (or grows) by a factor each so many steps: `init_value * decay_rate ** (step / transition_steps)`.

    Args:
        init_value: the value at first.
        transition_steps: in how many steps the factor is reached.
        decay_rate: the factor, positive.
        transition_begin: after how many steps it begins.
        staircase: only whole exponents, so that the value falls at once.
        end_value: where it ends: a bound from below for a factor below 1, from above for one above.

    Returns:
        A function of the step.

    Raises:
        ValueError: `transition_steps` is not positive.

    Example:
        >>> import wengert as wg
        >>> float(wg.optimize.exponential(1.0, 10, 0.5)(20))
        0.25
    """
    _require_steps(transition_steps, "exponential", "transition_steps")

    def of_step(step: Tensor) -> Any:
        done = (step - transition_begin) / transition_steps
        value = init_value * power(decay_rate, floor(done) if staircase else done)
        value = where(greater_equal(step, transition_begin), value, init_value)
        if end_value is None:
            return value
        return (maximum if decay_rate < 1.0 else minimum)(value, end_value)

    return of_step


@public
@remembered(_Schedule)
def cosine(init_value: Any, decay_steps: int, alpha: Any = 0.0, exponent: Any = 1.0) -> Schedule:
    """Half a wave of a cosine from one value down to a part of it (Loshchilov and Hutter 2017, without restarts).

    Args:
        init_value: the value at first.
        decay_steps: how many steps it takes.
        alpha: which part of `init_value` is left at the end, and after it.
        exponent: to which the wave is raised.

    Returns:
        A function of the step.

    Raises:
        ValueError: `decay_steps` is not positive.

    Example:
        >>> import wengert as wg
        >>> float(wg.optimize.cosine(1.0, 10)(5).round(12))
        0.5
    """
    _require_steps(decay_steps, "cosine", "decay_steps")

    def of_step(step: Tensor) -> Any:
        wave = 0.5 * (1.0 + cos(math.pi * minimum(step, decay_steps) / decay_steps))
        return init_value * ((1.0 - alpha) * power(wave, exponent) + alpha)

    return of_step


@public
@remembered(_Schedule)
def warmup_cosine(
    init_value: object,
    peak_value: Any,
    warmup_steps: int,
    decay_steps: int,
    end_value: object = 0.0,
    exponent: ArrayLike = 1.0,
) -> Schedule:
    """A straight line up to a peak, then half a wave of a cosine down.

    Args:
        init_value: the value at first.
        peak_value: the value after the warm-up.
        warmup_steps: how many steps the warm-up takes.
        decay_steps: how many steps all of it takes, the warm-up included.
        end_value: the value at the end, and after it.
        exponent: to which the wave is raised.

    Returns:
        A function of the step.

    Raises:
        ValueError: `decay_steps` is not more than `warmup_steps`, or `warmup_steps` is negative.

    Example:
        >>> import wengert as wg
        >>> rate = wg.optimize.warmup_cosine(0.0, 1.0, 10, 30)
        >>> [float(rate(step).round(12)) for step in (0, 5, 10, 20, 30)]
        [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    _require_steps(warmup_steps, "warmup_cosine", "warmup_steps", 0)
    if not decay_steps > warmup_steps:
        raise ValueError(at_user_line(
            f"warmup_cosine: decay_steps: wanted more than the {warmup_steps} of the warm-up, which they include, got "
            f"{decay_steps!r}"
        ))  # fmt: skip

    def of_step(step: Tensor) -> Any:
        rising = init_value + (peak_value - init_value) * minimum(step, warmup_steps) / max(warmup_steps, 1)
        done = minimum(maximum(step - warmup_steps, 0.0), decay_steps - warmup_steps)
        wave = power(0.5 * (1.0 + cos(math.pi * done / (decay_steps - warmup_steps))), exponent)
        return where(greater_equal(step, warmup_steps), end_value + (peak_value - end_value) * wave, rising)

    return of_step


@public
@remembered(_Schedule)
def piecewise_constant(init_value: Any, boundaries_and_scales: Mapping[int, Any] | None = None) -> Schedule:
    """A value that is multiplied by a factor at given steps.

    Args:
        init_value: the value at first.
        boundaries_and_scales: for steps the factors from there on.

    Returns:
        A function of the step.

    Example:
        >>> import wengert as wg
        >>> rate = wg.optimize.piecewise_constant(1.0, {10: 0.1})
        >>> float(rate(9)), float(rate(10))
        (1.0, 0.1)
    """

    def of_step(step: Tensor) -> Any:
        value = init_value + 0.0 * step
        for boundary, factor in sorted((boundaries_and_scales or {}).items()):
            value = value * where(greater_equal(step, boundary), factor, 1.0)
        return value

    return of_step
