"""Tracing: a Python function run once on symbolic tensors, its arguments given by a signature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._core import dtypes
from .._core.bare_integers import is_bare, note_bare
from .._core.constant import constant, dimension
from .._core.dims import Dim, is_frameworks_dim
from .._core.engine import is_native
from .._core.garbage import seldom_collected
from .._core.graph import Graph
from .._core.kinds import ARRAYS
from .._core.state import STATE, building, pinning
from .._core.structure import LEAF, Spec, flatten, unflatten
from .._core.tensor import Tensor, entered, tensor_in
from .._core.types import type_of
from .._core.unrolled import Lines
from .._core.verifier import verify


class ArrayKey(NamedTuple):
    """The part of a signature that describes one array argument: its type, and what else decides."""

    shape: tuple[Any, ...]
    dtype: np.dtype[Any]
    weak: bool
    is_bare: bool = False  # came as bare integers, which are floats where they are differentiated


class Static:
    """A value that is part of the signature: compared by type and value, or by identity if it has no hash.

    `is_named` says that the user has called it static.
    """

    __slots__ = ("_compared", "_hash", "is_named", "value")

    def __init__(self, value: Any, is_named: bool = False) -> None:
        self.value = value
        self.is_named = is_named
        # a set may be changed between two calls: it is compared by what it held
        self._compared = frozenset(value) if isinstance(value, set) else _identity(value)
        try:
            self._hash = hash((type(value), self._compared))
        except TypeError:
            self._hash = -1

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Static):
            return NotImplemented
        if self._compared is other._compared:
            return True
        if self._hash == -1 or type(self.value) is not type(other.value):
            return False
        return bool(self._compared == other._compared)

    def __repr__(self) -> str:
        return repr(self.value)


def _identity(value: object) -> Any:
    """What tells values apart that Python calls equal: the types in tuples, the signs of zeros."""
    if type(value) is tuple:
        return (*[(type(v), _identity(v)) for v in value],)
    return (value, repr(value)) if type(value) in (float, complex) else value


class Traced(NamedTuple):
    """A traced function: its graph, and what its results look like."""

    graph: Graph
    results: Spec | None  # the structure of the result
    places: tuple[Any, ...]  # for each leaf of it an output position, or a Static that is not a tensor


def trace(
    f: Callable[..., Any], spec: Spec | None, keys: Sequence[Any], name: str, names: Sequence[str] = (),
    opened: Callable[[Graph], None] | None = None,
) -> Traced:  # fmt: skip
    """Runs f on symbolic arguments.

    Args:
        f: the function.
        spec: the structure of `(args, kwargs)`.
        keys: for each leaf an `ArrayKey` (becomes an input) or a `Static` (passed as it is).
        name: the graph's name.
        names: for each leaf how the user calls it, for listings (by default x0, x1, ...).
        opened: is given the graph before f runs.
    """
    before = (STATE.builder, STATE.recorders, STATE.reading, STATE.pins)
    graph = Graph(name)
    if opened is not None:
        opened(graph)
    try:
        return seldom_collected.run(_traced, f, spec, keys, graph, names)
    finally:  # again, for an interrupt may come as an `__exit__` begins
        STATE.builder, STATE.recorders, STATE.reading, STATE.pins = before


def _traced(
    f: Callable[..., Any], spec: Spec | None, keys: Sequence[Any], graph: Graph, names: Sequence[str]
) -> Traced:  # fmt: skip
    graph.lines = Lines()
    leaves = []
    # those who observe or pin Variables outside meet their values at each call, not the symbols that stand for them
    with pinning(None), building(graph):
        for index, key in enumerate(keys):
            if isinstance(key, ArrayKey):
                leaf = graph.add_input(key.shape, key.dtype, names[index] if names else f"x{index}", key.weak)
                leaves.append(note_bare(leaf) if key.is_bare else leaf)
            else:
                leaves.append(key.value)
        args, kwargs = unflatten(spec, leaves)
        result = f(*args, **kwargs)
        found, results = flatten(result)
        outputs: list[Tensor] = []
        places = (*[_place(leaf, outputs) for leaf in found],)
        graph.finish([*outputs, *(tensor for _, tensor in graph.writes.values())])
    verify(graph)
    return Traced(graph, results, places)


def _place(leaf: Any, outputs: list[Tensor]) -> Any:
    if isinstance(leaf, ARRAYS) and dtypes.is_supported(leaf.dtype):
        tensor = constant(leaf)
    elif type(leaf) is Dim:
        tensor = dimension(leaf)
    else:
        tensor = entered(leaf) if is_native(type(leaf)) else tensor_in(leaf)
    if tensor is None:
        return Static(leaf)
    outputs.append(tensor)
    return len(outputs) - 1


def with_dims(key: ArrayKey, index: int) -> ArrayKey:
    """A key with a fresh unknown dimension in place of each None, and of each symbolic extent of a framework's."""
    names = "nmkpqrst"
    shape = (
        *[
            Dim.free(f"{names[(index + axis) % len(names)]}{index}") if d is None or is_frameworks_dim(d) else d
            for axis, d in enumerate(key.shape)
        ],
    )
    return key._replace(shape=shape)


def array_key(tensor: Tensor) -> ArrayKey:
    """The key of a tensor as an argument."""
    shape, dtype = type_of(tensor)
    return ArrayKey(shape, dtype, tensor._weak, is_bare(tensor))


__all__ = ["LEAF", "ArrayKey", "Static", "Traced", "array_key", "trace", "with_dims"]
