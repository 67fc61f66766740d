"""The variables of Keras on JAX that a function reads: to `jax.jit` what they hold would be constants."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any


def is_in_use() -> bool:
    """Whether there may be such variables."""
    keras: Any = sys.modules.get("keras")
    return keras is not None and keras.backend.backend() == "jax"


def noting(found: list[Any]) -> AbstractContextManager[Any]:
    """In which the variables that are read are added to a list."""
    keras: Any = sys.modules["keras"]

    class Noting(keras.StatelessScope):  # what is assigned meanwhile is forgotten
        def get_current_value(self, variable: Any) -> Any:
            if not any(variable is known for known in found):
                found.append(variable)
            return super().get_current_value(variable)

    return Noting()


def holding(variables: Sequence[Any], values: Sequence[Any]) -> AbstractContextManager[Any]:
    """In which variables hold these values."""
    if not variables:
        return nullcontext()
    return sys.modules["keras"].StatelessScope(state_mapping=[*zip(variables, values, strict=True)])


__all__ = ["holding", "is_in_use", "noting"]
