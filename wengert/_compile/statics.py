"""Static arguments of `function` (`static_argnames`): their values belong to the signature, whatever they are."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .._core.engine import is_native
from .._core.kinds import SEQUENCES
from .._core.tensor import is_tensor_or_variable
from .._core.user_line import at_user_line


class Pinned:
    """One static argument, a leaf of the arguments' structure even where it is a tuple."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class StaticNames:
    """Which arguments of f are static.

    Args:
        f: the function.
        names: a name, or a list or tuple of them.
        what: names f in messages.

    Raises:
        TypeError: the names are not strings.
        ValueError: f has no parameter of such a name.
    """

    def __init__(self, f: Callable[..., Any], names: Any, what: str) -> None:
        listed = (names,) if isinstance(names, str) else names
        if not isinstance(listed, SEQUENCES) or not all(isinstance(name, str) for name in listed):
            raise TypeError(
                at_user_line(f"function: wanted a name or a list of names as static_argnames, got {names!r}")
            )
        self._names = frozenset(listed)
        self._what = what
        try:
            parameters = [*inspect.signature(f).parameters.values()]
        except (TypeError, ValueError):  # a function in C that does not tell: what comes by name is found all the same
            parameters = [inspect.Parameter("unknown", inspect.Parameter.VAR_KEYWORD)]
        kinds = inspect.Parameter
        self._positional = [
            p.name for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
        ]
        known = {p.name for p in parameters if p.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)}
        unknown = sorted(self._names - known)
        if unknown and not any(p.kind is kinds.VAR_KEYWORD for p in parameters):
            raise ValueError(at_user_line(
                f"function: static_argnames: {what} has no parameter {unknown[0]!r}; it has {', '.join(sorted(known))}"
            ))  # fmt: skip

    def pinned(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with the static ones pinned; those that are already stay so."""
        found = (*[self._pin(name, a) for name, a in zip(self.names_of(args), args, strict=True)],)
        return found, {name: self._pin(name, a) for name, a in kwargs.items()}

    def names_of(self, args: Sequence[Any]) -> list[str | None]:
        """The name of each positional argument; None where f has none for it."""
        return [*self._positional[: len(args)], *[None] * (len(args) - len(self._positional))]

    def __contains__(self, name: str | None) -> bool:
        return name in self._names

    def _pin(self, name: str | None, value: object) -> Any:
        if name not in self or type(value) is Pinned:
            return value
        kind: type[Any] = type(value)
        if is_tensor_or_variable(value) or (is_native(kind) and not issubclass(kind, (np.ndarray, np.generic))):
            raise TypeError(at_user_line(
                f"{self._what}: {name} is static, but an array came ({kind.__name__}); pass a plain value, or leave "
                f"{name!r} out of static_argnames"
            ))  # fmt: skip
        try:
            hash(value)
        except TypeError:
            raise ValueError(at_user_line(
                f"{self._what}: {name} is static, but a {kind.__name__} has no hash; pass a tuple or a number, or "
                f"leave {name!r} out of static_argnames"
            )) from None  # fmt: skip
        return Pinned(value)


def unpinned(leaf: object) -> Any:
    """What f gets for a leaf."""
    return leaf.value if type(leaf) is Pinned else leaf


__all__ = ["Pinned", "StaticNames", "unpinned"]
