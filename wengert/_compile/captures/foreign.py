"""Arrays and variables of frameworks that a traced function reads: whether they hold what they did at the trace.

Needed where code has read their numbers outside of any op, and the trace holds these as constants.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ..._core.engine import ENGINE_OF, array_of, stands_in
from ..._core.tensor import Tensor, source_of
from .watch import bytes_of, same_bytes

_COMPARED = 1 << 24  # bytes; of larger ones, and of those on other devices, the writes are counted where they are


def held_by(array: object) -> Any:
    """What `same_held` compares with: the contents, a count of writes, or None where nothing can change or be read."""
    numbers = _numbers(array)
    if numbers is not None:
        return bytes_of(numbers)
    return version_of(array)


def same_held(array: object, before: tuple[Any, ...]) -> bool:
    """Whether an array or variable holds what it did, and no framework follows it: what that computes of it in a trace
    is a constant. One that had numbers has others in a graph of the framework's.
    """
    if not is_unfollowed(array):
        return False
    if not isinstance(before, tuple):
        return version_of(array) == before
    numbers = _numbers(array)
    return numbers is not None and same_bytes(numbers, before)


def is_unfollowed(array: object, before: object = None) -> bool:
    """Whether no framework differentiates or batches what happens to an array or variable of its own."""
    plain = array_of(array)
    return not ENGINE_OF[type(plain)].is_followed(plain)


def type_of(array: Any) -> Any:
    """Shape and dtype of a framework's array, as that has them."""
    return array.shape, array.dtype


def same_type(variable: object, before: Any) -> bool:
    """Whether what a variable stands for is of a type: Keras's are of another one where a layer computes in halves."""
    return type_of(array_of(variable)) == before


def is_alike(array: Any, other: Any) -> bool:
    """Whether a framework's array can take another's place in a program: JAX's say by one attribute what they are."""
    if type(array) is not type(other):
        return False
    if hasattr(array, "aval"):
        return array.aval == other.aval
    return None not in (*array.shape,) and all(
        getattr(array, look, None) == getattr(other, look, None) for look in _LOOKS
    )


_LOOKS = ("shape", "dtype", "device", "layout")


def never(array: object, before: object = None) -> bool:
    """Whether what a framework's graph or transform held is there in another call."""
    return False


def is_of_one_call(tensor: Tensor) -> bool:
    """Whether a captured tensor is what only a framework's graph, transform or imagination knows, and no variable tells
    it anew.
    """
    if tensor.is_symbolic:
        return False
    engine = ENGINE_OF[type(tensor._data)]
    is_meta = engine.device(tensor._data) == "meta"  # where torch tries shapes; Keras makes parameters there
    source = source_of(tensor)
    if source is not None:
        return is_meta and array_behind(tensor) is source
    return is_meta or not engine.is_concrete(tensor._data)


def version_of(array: object) -> int | None:
    """How often an array of torch was written to; None for others, and for its arrays that count no writes."""
    try:
        return getattr(array, "_version", None)
    except RuntimeError:  # made in its inference mode
        return None


def array_behind(tensor: Tensor) -> Any:
    """The framework's array that a concrete tensor is around, as users know it."""
    return ENGINE_OF[type(tensor._data)].leave(tensor._data)


def memory_of(array: Any) -> Any:
    """What an array of torch, and what it becomes on its way into a program, have in common; of others the identity."""
    if version_of(array) is None:
        return id(array)
    try:
        return array.data_ptr()
    except RuntimeError:  # torch's stand-in for a batch, or for what a transform follows, has no memory of its own
        return id(array)


_ASKS_FOR_NO_CONTENTS = frozenset({"__get__", "data_ptr"})  # the former is an attribute, as shape and dtype are


def met_by_torch(arrays: Sequence[object], met: set[int]) -> AbstractContextManager[object]:
    """Notes by `id` which of these torch's own functions take meanwhile."""
    waiting = {id(array) for array in arrays if _is_torchs(array)}
    return _met_mode()(waiting, met) if waiting else nullcontext()


@functools.cache
def _met_mode() -> Any:
    overrides: Any = sys.modules["torch.overrides"]

    class Met(overrides.TorchFunctionMode):
        def __init__(self, waiting: set[int], met: set[int]) -> None:
            super().__init__()
            self._waiting, self._met = waiting, met

        def __torch_function__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> Any:
            if func.__name__ not in _ASKS_FOR_NO_CONTENTS:
                self._met |= self._waiting.intersection(map(id, _leaves((*args, *(kwargs or {}).values()))))
            return func(*args, **(kwargs or {}))

    return Met


def _leaves(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _leaves(value)
        else:
            yield value


def _is_torchs(array: object) -> bool:
    return type(array).__module__.partition(".")[0] == "torch"


def _numbers(array: Any) -> Any:
    """The contents as an array of NumPy's, if they are at hand and may change."""
    if not (stands_in(type(array)) or _is_torchs(array)):
        return None  # the arrays of TensorFlow and JAX hold what they were made with
    plain = array_of(array)
    engine = ENGINE_OF[type(plain)]
    native = engine.enter(plain)
    device = engine.device(native)
    size = getattr(plain, "nbytes", 0)
    if not engine.is_concrete(native) or "cpu" not in device.lower() or not isinstance(size, int) or size > _COMPARED:
        return None
    try:
        return engine.to_numpy(native)
    except RuntimeError:  # while torch traces, where tensors have no contents
        return None


__all__ = [
    "array_behind", "held_by", "is_alike", "is_of_one_call", "is_unfollowed", "memory_of", "met_by_torch", "never",
    "same_held", "same_type", "type_of",
]  # fmt: skip
