"""A user's function of NumPy's arrays as a kernel of any engine, which checks what the function gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .engine import Engine
from .types import TensorType

_MOST_KNOWN = 64  # types of results that a kernel remembers

Attrs = tuple[tuple[str, Any], ...]


class HostKernel:
    """Runs a function on the host for one engine.

    Args:
        name: of the primitive.
        function: `function(*arrays, **attributes)`.
        type_rule: from operands and attributes to the type of the result.
        engine: whose arrays come and go.
    """

    def __init__(
        self, name: str, function: Callable[..., Any], type_rule: Callable[[Sequence[Any], Attrs], TensorType],
        engine: Engine,
    ) -> None:  # fmt: skip
        self._name = name
        self._function = function
        self._type_rule = type_rule
        self._engine = engine
        self._known: dict[Any, TensorType] = {}  # of NumPy's arrays: a rule takes longer than many a function

    def __call__(self, *natives_and_attributes: Any) -> Any:
        *natives, attributes = natives_and_attributes
        known = self._known_for(natives, attributes)
        if known is not None and self._engine.name == "numpy":
            return self._checked(self._function(*natives, **dict(attributes)), *known)
        shape, dtype = wanted = known or self._type_rule(natives, attributes)

        def run(*arrays: np.ndarray[Any, Any]) -> tuple[Any]:
            return (self._checked(self._function(*arrays, **dict(attributes)), shape, dtype),)

        return self._engine.host_call(run, natives, (wanted,))[0]

    def giving(self, dtype: np.dtype[Any]) -> Callable[..., Any]:
        """`kernel(*arrays, attributes, shape)` on NumPy's arrays where it is known what the function is to give."""
        function, checked = self._function, self._checked

        def kernel(*given: Any) -> Any:
            *arrays, attributes, shape = given
            return checked(function(*arrays, **dict(attributes)), shape, dtype)

        return kernel

    def _checked(self, result: Any, shape: Sequence[Any], dtype: np.dtype[Any]) -> Any:
        """What the function gave as an array, if it is one of that type."""
        if type(result) is not np.ndarray:
            result = np.asarray(result)
        if result.dtype != dtype or (result.shape != shape and not _fits(result.shape, shape)):
            raise TypeError(
                f"{self._name}: numpy gave {result.dtype.name} of shape {result.shape}, but spec says {dtype.name} "
                f"of shape {shape}"
            )
        return result

    def _known_for(self, natives: Sequence[Any], attributes: Attrs) -> TensorType | None:
        """The type of the result for NumPy's arrays like these; None if there are others."""
        key: list[Any] = [attributes]
        for x in natives:
            if type(x) is not np.ndarray:
                return None
            key.append(x.shape)
            key.append(x.dtype)
        found = self._known.get(asked := (*key,))
        if found is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            found = self._known[asked] = self._type_rule(natives, attributes)
        return found


def _fits(shape: Sequence[int], wanted: Sequence[Any]) -> bool:
    """Whether a shape is the wanted one, which a framework's graph may not know in full."""
    return len(shape) == len(wanted) and all(w is None or n == w for n, w in zip(shape, wanted, strict=True))


__all__ = ["HostKernel"]
