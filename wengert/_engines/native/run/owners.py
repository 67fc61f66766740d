"""Which node each array of compiled code belongs to, so that a MemoryError names the op, the shape and the bytes.

A call that finds no memory gives a number: that of an array that the code makes, or, below zero, that of a result that
is made before the code runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...._core.dims import Atom, Dim, byte_count
from ...._core.graph import Graph
from ..ir.loops import WIDTHS, Operand


class Owner(NamedTuple):
    """The node that an array is allocated for, with its type, as errors name it.

    Attributes:
        op: the op that is computed, "" if none is.
        shape: of its first result.
        dtype: of its first result; None if it has none.
        size: the bytes of the array, 0 where only the run tells.
    """

    op: str
    shape: tuple[Any, ...] = ()
    dtype: Any = None
    size: int = 0

    def __str__(self) -> str:
        return self.told({})

    def told(self, sizes: Mapping[Atom, int]) -> str:
        """The same in words, with what is known of dimensions."""
        if not self.op:
            return "a buffer of the compiled code" + self._bytes(self.size)
        if self.dtype is None:  # a backward pass to nothing
            return self.op + self._bytes(self.size)
        shape = (*[_known(d, sizes) for d in self.shape],)
        size = self.size or (0 if any(isinstance(d, Dim) for d in shape) else byte_count(shape, self.dtype.itemsize))
        return f"{self.op}, whose result has shape {shape} and dtype {self.dtype}" + self._bytes(size)

    def _bytes(self, size: int) -> str:
        return f": {size:,} bytes" if size else ""


def owner_of(node: Any, type_: str, count: Operand | None) -> Owner:
    """The owner of an array of so many elements that is made while a node is lowered."""
    size = count * WIDTHS[type_] if type(count) is int else 0
    if node is None:
        return Owner("", size=size)
    value = node.outputs[0] if node.outputs else None
    if value is None or value.is_history:
        return Owner(node.op.name, size=size)
    return Owner(node.op.name, value.shape, value.dtype, size)


def lack_of(
    graph: Graph, owners: Mapping[int, Owner], numbers: Mapping[Atom, int], failing: int, natives: Sequence[Any]
) -> MemoryError:  # fmt: skip
    """The error of a call that found no memory.

    Args:
        graph: what was compiled.
        owners: of the arrays that the code makes, by number.
        numbers: what dimensions of the code stand for.
        failing: what the call has told.
        natives: its arguments.
    """
    sizes = dict(numbers)
    for value, native in zip(graph.inputs, natives, strict=False):
        if not value.is_history:
            pairs = zip(value.shape, getattr(native, "shape", ()), strict=False)
            sizes.update({d.atom: n for d, n in pairs if isinstance(d, Dim) and d.is_atom})
    owner = owners.get(failing, Owner("")) if failing >= 0 else _result(graph, -1 - failing)
    return MemoryError(f"no memory for {owner.told(sizes)}")


def _result(graph: Graph, place: int) -> Owner:
    arrays = [v for v in graph.outputs if not v.is_history]
    if place >= len(arrays):
        return Owner("")
    value = arrays[place]
    names = [node.op.name for node in graph.nodes for v in node.outputs if v.key == value.key]
    return Owner(names[0] if names else f"result {place}", value.shape, value.dtype)


def _known(dim: Any, sizes: Mapping[Atom, int]) -> Any:
    return dim.evaluate(sizes) if isinstance(dim, Dim) and dim.atoms <= sizes.keys() else dim
