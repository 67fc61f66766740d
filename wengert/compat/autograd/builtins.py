"""`list`, `tuple`, `dict`, `isinstance` and `type` that see through boxes; containers are Python's own here."""

from __future__ import annotations

import builtins
from typing import Any

from ..._core.tensor import Tensor
from ._boxes import getval


class _Kind(builtins.type):
    """The class of names for Python's containers: calling one makes the container, and isinstance asks for it.

    They are classes apart from Python's, since packages put both in tables of types.
    """

    kinds: builtins.tuple[builtins.type, ...]

    def __call__(cls, *args: object, **kwargs: object) -> Any:
        return cls.kinds[0](*args, **kwargs)

    def __instancecheck__(cls, instance: object) -> bool:
        return builtins.isinstance(instance, cls.kinds)


class list(builtins.list[Any], metaclass=_Kind):
    """Python's list."""

    kinds = (builtins.list,)


class tuple(builtins.tuple[Any, ...], metaclass=_Kind):
    """Python's tuple."""

    kinds = (builtins.tuple,)


class SequenceBox(metaclass=_Kind):
    """A tuple or a list; a new one is a tuple."""

    kinds = (builtins.tuple, builtins.list)


class dict(builtins.dict[Any, Any], metaclass=_Kind):
    """Python's dict."""

    kinds = (builtins.dict,)


DictBox, ListBox, TupleBox = dict, list, tuple  # the boxes of containers: themselves


def isinstance(x: Any, A: Any) -> bool:
    """As Python's, where a box counts as what it holds."""
    return builtins.isinstance(x, A) or (builtins.isinstance(x, Tensor) and builtins.isinstance(getval(x), A))


class type(builtins.type):
    """As Python's, where a box counts as what it holds."""

    def __new__(cls, x: Any, *rest: object) -> Any:
        return builtins.type(x, *rest) if rest else builtins.type(getval(x))


def make_sequence(seq_type: Any, *args: Any) -> Any:
    """A sequence of values."""
    return seq_type(args)


__all__ = [
    "DictBox", "ListBox", "SequenceBox", "TupleBox", "dict", "isinstance", "list", "make_sequence", "tuple", "type",
]  # fmt: skip
