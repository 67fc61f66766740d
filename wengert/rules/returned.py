"""The checks of what a user's gradient function returns: how many gradients, in which structure, of which types."""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import dtypes
from .._core.constant import is_number
from .._core.kinds import DICTS, SEQUENCES
from .._core.scalars import has_dtype, waiving
from .._core.structure import LEAF, Spec, describe, flatten, is_plain_dict, opens_itself
from .._core.tensor import Tensor
from .._core.types import TensorType, same_shape, type_of
from .._core.user_line import at_user_line
from ..ops.promotion import as_tensor, cast
from .custom_call import CustomCall, is_array_like


class Wanted:
    """What a gradient function must return for the arguments: how many, in which structure, of which types."""

    __slots__ = ("beside", "name", "places", "spec", "total", "types", "weak")

    def __init__(self, name: str, call: CustomCall) -> None:
        self.name = name
        self.spec = call.spec
        self.total = call.total
        self.places = call.places
        self.types = [type_of(x) for x in call.inputs]
        gives_way = waiving(call.inputs) or [False] * len(call.inputs)
        self.weak = [x._weak or waived for x, waived in zip(call.inputs, gives_way, strict=True)]
        # what is weak may have a gradient of the dtype of what it gives way to, and of no other
        self.beside = {x.dtype for x, is_weak in zip(call.inputs, self.weak, strict=True) if not is_weak}

    def checked(self, returned: object) -> list[Tensor | None]:
        """One cotangent an input."""
        found = self._leaves(returned)
        return [
            checked_gradient(
                found[place],
                t,
                f"{self.name}: the gradient for input {place}",
                is_weak and getattr(found[place], "dtype", None) in self.beside,
            )
            for place, t, is_weak in zip(self.places, self.types, self.weak, strict=True)
        ]

    def _leaves(self, returned: Any) -> Sequence[Any]:
        if returned is None:
            return (None,) * self.total
        is_sequence = not opens_itself(returned) and isinstance(returned, SEQUENCES)
        if is_sequence and len(returned) == self.total and not any(map(_is_container, returned)):
            return returned
        for spec in (self.spec, *self._only_argument()):
            found = matched(spec, returned)
            if found is not None:
                return found
        count = len(flatten(returned)[0]) if not is_sequence else len(returned)
        raise ValueError(
            at_user_line(
                f"{self.name}: its gradient function returned {count} gradient{'s' * (count != 1)} "
                f"({describe(flatten(returned)[1])}), wanted {self.total}, one for each input "
                f"({describe(self.spec)})"
            )
        )

    def _only_argument(self) -> tuple[Spec | None, ...]:
        return self.spec.children if self.spec is not None and len(self.spec.children) == 1 else ()


def _is_container(value: object) -> bool:
    return value is not None and flatten(value)[1] is not LEAF


def matched(spec: Spec | None, value: Any) -> list[Any] | None:
    """A value's leaves in a structure (None stands for any part, lists and tuples are the same), or None."""
    if spec is None:
        return None if _is_container(value) else [value]
    if value is None:
        return [None] * _count(spec)
    if opens_itself(value):
        return _leaves_in(spec, value)
    if is_plain_dict(spec.kind):
        if not isinstance(value, DICTS) or set(value) != set(spec.keys):
            return None
        children: list[Any] = [value[key] for key in spec.keys]
    elif issubclass(spec.kind, SEQUENCES):
        if not isinstance(value, SEQUENCES) or len(value) != len(spec.children):
            return None
        children = list(value)
    else:
        return _leaves_in(spec, value)
    found: list[Any] = []
    for child, part in zip(spec.children, children, strict=True):
        leaves = matched(child, part)
        if leaves is None:
            return None
        found += leaves
    return found


def _leaves_in(spec: Spec, value: object) -> list[Any] | None:
    """The leaves of a value that has exactly a structure."""
    leaves, given = flatten(value)
    return leaves if given == spec else None


def _count(spec: Spec | None) -> int:
    return 1 if spec is None else sum(map(_count, spec.children))


def checked_gradient(value: Any, wanted: TensorType, what: str, is_weak: bool = False) -> Tensor | None:
    """What a rule returned for a value, as a tensor of exactly its type; None where no gradient flows.

    Args:
        value: what the rule returned.
        wanted: the type of the value that it belongs to.
        what: for messages.
        is_weak: whether that value is weak, and so takes any dtype.
    """
    if value is None or not dtypes.is_inexact(wanted.dtype):
        return None
    if not is_array_like(value):
        raise TypeError(at_user_line(f"{what} is not an array but {type(value).__name__}"))
    is_plain = is_number(value) or isinstance(value, list)
    given = as_tensor(value, what)
    if not same_shape(given.shape, wanted.shape):
        raise ValueError(at_user_line(f"{what} has shape {given.shape}, wanted {wanted.shape}"))
    if given.dtype == wanted.dtype:
        return given
    if has_dtype(given, wanted.dtype):
        return cast(given, wanted.dtype) if given.is_symbolic else given
    is_free = is_plain or given._weak or is_weak
    if is_free and (dtypes.is_complex(wanted.dtype) or not dtypes.is_complex(given.dtype)):
        return cast(given, wanted.dtype)
    raise TypeError(at_user_line(f"{what} has dtype {given.dtype.name}, wanted {wanted.dtype.name}"))
