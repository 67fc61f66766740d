"""The tensors that a user's function reads beside its arguments, and others in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class Noting(TorchFunctionMode):
    """Notes which tensors torch's functions take that none of them has made meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self._made: dict[int, torch.Tensor] = {}  # kept, so that no other tensor gets its `id`
        self._taken: dict[int, torch.Tensor] = {}

    def __torch_function__(
        self, func: Callable[..., Any], types: object, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        self._taken.update((id(x), x) for x in _tensors((args, kwargs)) if id(x) not in self._made)
        found = func(*args, **kwargs)
        self._made.update((id(x), x) for x in _tensors(found) if id(x) not in self._taken)
        return found

    def taken(self) -> list[torch.Tensor]:
        return [*self._taken.values()]


class Replacing(TorchFunctionMode):
    """Gives torch's functions other tensors in the place of some."""

    def __init__(self, tensors: Sequence[torch.Tensor], others: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self._others = {id(x): y for x, y in zip(tensors, others, strict=True)}

    def __torch_function__(
        self, func: Callable[..., Any], types: object, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        return func(*self._replaced((*args,)), **self._replaced({**(kwargs or {})}))

    def _replaced(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self._others.get(id(value), value)
        if type(value) in (list, tuple):
            return type(value)(map(self._replaced, value))
        return {name: self._replaced(x) for name, x in value.items()} if type(value) is dict else value


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors(each)
    elif isinstance(value, dict):
        yield from _tensors([*value.values()])


__all__ = ["Noting", "Replacing"]
