"""Promotion that differs from framework to framework: torch and TensorFlow take NumPy's scalars for plain numbers, so
they are weak there; JAX has nothing wider than 32 bits unless its user asks for that.

A trace serves every engine, so it is told which of them it is for, and notes what of that made a difference: if
anything did, what it gives is used for arrays of this kind only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from . import dtypes
from .engine import ENGINE_OF, FRAMEWORK_ENGINES, Engine
from .state import STATE
from .tensor import Tensor, Value

Rule = tuple[bool | None, bool | None]


class Scalars:
    """Whether NumPy's scalars are weak in the trace under way and wide numbers narrow, and whether that mattered.

    Attributes:
        give_way: whether NumPy's scalars take the dtype of the arrays beside them.
        were_met: whether that, either way, made a difference.
        was_wide: the same of `is_narrow`.
    """

    __slots__ = ("_engines", "give_way", "was_wide", "were_met")

    def __init__(self, tensors: Iterable[Tensor]) -> None:
        self._engines = set[Engine]()
        self.give_way = self.were_met = self.was_wide = False
        if FRAMEWORK_ENGINES:
            for tensor in tensors:
                if type(tensor._data) is not Value:
                    engine = ENGINE_OF[type(tensor._data)]
                    self._engines.add(engine)
                    self.give_way |= engine.has_weak_scalars

    @property
    def is_narrow(self) -> bool:
        """Whether what is 64 bits wide has 32 where the trace runs."""
        return any(engine.canonical_dtype(dtypes.float64) != dtypes.float64 for engine in self._engines)

    @property
    def rule(self) -> Rule | None:
        """For which arrays the trace is: what of both made a difference, as it was; None, for all."""
        found = (self.give_way if self.were_met else None, self.is_narrow if self.was_wide else None)
        return None if found == (None, None) else found


class beside:
    """Context manager: what is traced inside is for arrays like these; inside another trace, for the arrays of that."""

    __slots__ = ("_before", "_tensors")

    def __init__(self, tensors: Iterable[Tensor]) -> None:
        self._tensors = tensors

    def __enter__(self) -> Scalars:
        self._before = STATE.scalars
        if STATE.builder is None or self._before is None:
            STATE.scalars = Scalars(self._tensors)
        return STATE.scalars

    def __exit__(self, *exc: object) -> None:
        STATE.scalars = self._before


def suits(rule: Rule | None) -> bool:
    """Whether a trace with this rule is for the arrays at hand."""
    if rule is None:
        return True
    gave_way, was_narrow = rule
    scalars = STATE.scalars
    if scalars is None:
        return not gave_way and not was_narrow
    does = gave_way in (None, scalars.give_way) and was_narrow in (None, scalars.is_narrow)
    if does:
        scalars.were_met |= gave_way is not None
        scalars.was_wide |= was_narrow is not None
    return does


def has_dtype(x: Tensor, dtype: np.dtype[Any]) -> bool:
    """Whether a tensor has a dtype, as far as its engine has one as wide; in a trace, the engine that it is for."""
    data = x._data
    if type(data) is Value:
        return are_one_dtype(data.dtype, dtype)
    return data.dtype == dtype or ENGINE_OF[type(data)].canonical_dtype(dtype) == data.dtype


def are_one_dtype(dtype: np.dtype[Any], other: np.dtype[Any]) -> bool:
    """Whether two dtypes are one where the trace under way runs: what is wide may be narrow there."""
    scalars = STATE.scalars
    if dtype == other or scalars is None or _NARROWED.get(dtype, dtype) != _NARROWED.get(other, other):
        return dtype == other
    scalars.was_wide = True
    return scalars.is_narrow


_NARROWED = {dtypes.float64: dtypes.float32, dtypes.complex128: dtypes.complex64}


def are_among_weak(tensors: Iterable[Tensor | None]) -> bool:
    """Whether arrays beside which NumPy's scalars give way are among some tensors."""
    if FRAMEWORK_ENGINES:
        for tensor in tensors:  # no generator: each call of a framework's function asks
            kind = Value if tensor is None else type(tensor._data)
            if kind is not Value and ENGINE_OF[kind].has_weak_scalars:
                return True
    return False


def take_for_numbers(leaves: Sequence[Any], tensors: Sequence[Tensor | None]) -> None:
    """Has NumPy's scalars among some leaves be weak, as tensors that were just made, where such arrays are beside."""
    if are_among_weak(tensors):
        for leaf, tensor in zip(leaves, tensors, strict=True):
            if tensor is not None and isinstance(leaf, np.generic):
                tensor._weak = True


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


__all__ = [
    "Rule", "Scalars", "are_among_weak", "are_one_dtype", "beside", "give_way", "has_dtype", "suits",
    "take_for_numbers", "waiving",
]  # fmt: skip
