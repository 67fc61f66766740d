"""The kind of array in which a caller works (tensors, NumPy's arrays or a framework's), and results in that kind.

A public function asks `caller_of` once for its arguments, and hands back what it found by `Caller.result`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from .constant import met_engine, native_result, strong_twin, to_numpy_result
from .engine import Engine, framework_of
from .state import next_serial
from .structure import LEAF, flatten, unflatten
from .tensor import Tensor


class Caller:
    """Whoever works with tensors (`TENSORS`), with NumPy's arrays (`NUMPY`) or with those of a framework.

    Attributes:
        engine: that of the framework; None for the other two.
    """

    __slots__ = ("engine",)

    def __init__(self, engine: Engine | None = None) -> None:
        self.engine = engine

    def result(self, value: Any, own: Callable[[Tensor], Any] = to_numpy_result) -> Any:
        """A result in the caller's kind: tensors anywhere in a structure become arrays of it, NumPy's by `own`."""
        if self is TENSORS:
            return value
        if self.engine is not None:
            own = partial(native_result, engine=self.engine)
        return own(value) if type(value) is Tensor else _with_each(value, own)

    def results(self, tensors: tuple[Tensor, ...]) -> tuple[Any, ...]:
        """As `result`, for one tensor after the other."""
        if self is TENSORS:
            return tensors
        if self.engine is None:
            return (*map(to_numpy_result, tensors),)
        return (*[native_result(x, self.engine) for x in tensors],)

    def or_that_of(self, values: Sequence[Any]) -> Caller:
        """This caller, unless nothing but NumPy's arrays told of it: then the one of whom these values tell."""
        return caller_of(values) if self is NUMPY else self


TENSORS = Caller()
NUMPY = Caller()
_OF_FRAMEWORKS: dict[Engine, Caller] = {}


def caller_with(engine: Engine) -> Caller:
    """The caller who works with a framework's arrays."""
    found = _OF_FRAMEWORKS.get(engine)
    if found is None:
        found = _OF_FRAMEWORKS[engine] = Caller(engine)
    return found


def caller_of(values: Sequence[Any]) -> Caller:
    """`caller_among` for nested arguments."""
    for value in values:
        if type(value) not in _LEAF_TYPES:
            return caller_among(_leaves_of(values))
    return NUMPY


def caller_among(leaves: Iterable[Any]) -> Caller:
    """The caller of a function with these arguments: tensors if one is a tensor or a Variable, else a framework's.

    Raises:
        TypeError: if there are arrays of two frameworks.
    """
    found: set[Engine] = set()
    for leaf in leaves:
        kind = type(leaf)
        if kind in _EVERYDAY:
            continue
        if kind is Tensor or hasattr(kind, "__wengert_tensor__"):
            return TENSORS
        engine = framework_of(kind)
        if engine is not None:
            found.add(engine)
    return caller_with(met_engine(found)) if found else NUMPY


_LEAF_TYPES = frozenset({np.ndarray, float, int, complex, bool, str, type(None)})
_EVERYDAY = _LEAF_TYPES | {np.float64}


def _leaves_of(values: Sequence[Any]) -> Iterator[Any]:
    for value in values:
        if type(value) in _LEAF_TYPES:
            continue
        leaves, spec = flatten(value)
        if spec is LEAF:
            yield value
        else:
            yield from leaves


def _with_each(value: Any, own: Callable[[Tensor], Any]) -> Any:
    """A structure with what `own` makes of each tensor in it."""
    if isinstance(value, Tensor):
        return own(value)
    if type(value) in _LEAF_TYPES:
        return value
    leaves, spec = flatten(value)
    if spec is LEAF:
        return value
    return unflatten(spec, [own(leaf) if isinstance(leaf, Tensor) else leaf for leaf in leaves])


def strong_result(value: Any) -> Any:
    """What a call of a program or of a derivative gives, which has a dtype: a number among it is weak no more.

    Its tensors are the caller's own, even if f returned an argument, or one tensor twice: writes to one stay there.
    """
    return _with_each(value, strong_twin)


class Owned:
    """Makes the NumPy results of one call the caller's: no two share memory, and none is that of an older tensor."""

    __slots__ = ("_given", "_since")

    def __init__(self) -> None:
        self._since = next_serial()
        self._given: set[int] = set()

    def __call__(self, tensor: Tensor) -> Any:
        result = to_numpy_result(tensor)
        if type(result) is np.ndarray:
            if tensor._key < self._since or id(tensor._data) in self._given:
                result = result.copy()
            self._given.add(id(tensor._data))
        return result
