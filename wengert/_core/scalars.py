"""Promotion of NumPy's scalars beside tensors of torch and TensorFlow: these take them for plain numbers, so they are
weak there.

A trace serves every engine, so it is told which of them it is for, and notes whether that made a difference: if so,
what it gives is used for arrays of this kind only.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .engine import ENGINE_OF, FRAMEWORK_ENGINES
from .state import STATE
from .tensor import Tensor, Value


class Scalars:
    """Whether NumPy's scalars are weak in the trace under way, and whether that mattered.

    Attributes:
        give_way: whether they take the dtype of the arrays beside them.
        were_met: whether that, either way, made a difference.
    """

    __slots__ = ("give_way", "were_met")

    def __init__(self, give_way: bool) -> None:
        self.give_way = give_way
        self.were_met = False

    @property
    def rule(self) -> bool | None:
        """For which arrays the trace is: where scalars give way, where they do not, or None, for all."""
        return self.give_way if self.were_met else None


class beside:
    """Context manager: what is traced inside is for arrays like these; inside another trace, for the arrays of that."""

    __slots__ = ("_before", "_tensors")

    def __init__(self, tensors: Iterable[Tensor]) -> None:
        self._tensors = tensors

    def __enter__(self) -> Scalars:
        self._before = STATE.scalars
        if STATE.builder is None or self._before is None:
            STATE.scalars = Scalars(are_among_weak(self._tensors))
        return STATE.scalars

    def __exit__(self, *exc: object) -> None:
        STATE.scalars = self._before


def suits(rule: bool | None) -> bool:
    """Whether a trace with this rule is for the arrays at hand."""
    scalars = STATE.scalars
    if rule is None or scalars is None:
        return not rule
    scalars.were_met |= rule == scalars.give_way
    return rule == scalars.give_way


def are_among_weak(tensors: Iterable[Tensor]) -> bool:
    """Whether arrays beside which NumPy's scalars give way are among some tensors."""
    return bool(FRAMEWORK_ENGINES) and any(
        type(t._data) is not Value and ENGINE_OF[type(t._data)].has_weak_scalars for t in tensors
    )


def waiving(tensors: list[Tensor]) -> list[bool]:
    """Which tensors are NumPy's scalars that would give way to the others if those are of such a framework."""
    builder = STATE.builder
    if builder is not None:
        return [t._key in builder.scalars and not t._weak for t in tensors] if builder.scalars else []
    if not FRAMEWORK_ENGINES or not are_among_weak(tensors):
        return []
    return [isinstance(t._data, np.generic) and not t._weak for t in tensors]


def give_way(tensors: list[Tensor]) -> bool:
    """Whether they do, where it makes a difference."""
    if STATE.builder is None:
        return True
    scalars = STATE.scalars
    if scalars is None:
        return are_among_weak(tensors)
    scalars.were_met = True
    return scalars.give_way


__all__ = ["Scalars", "are_among_weak", "beside", "give_way", "suits", "waiving"]
