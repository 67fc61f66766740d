"""Questions about graphs that transforms, passes and engines ask: which nodes results need, which node makes a value,
and which unknown dimensions (`Atom`s) occur in attributes and shapes.

It knows nodes and values only, never what an op does: where an answer depends on that, the caller gives a function.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

from .dims import Atom, Dim, DimLike, Shape, dims_in
from .extents import checks_of
from .graph import Graph, Node
from .tensor import Value

# -- which nodes results need ------------------------------------------------------------------------------------------


def _never(node: Node) -> bool:
    return False


def needed_for(
    nodes: Sequence[Node], results: Iterable[int], stays: Callable[[Node], bool] = _never
) -> tuple[list[Node], set[int]]:
    """The nodes that results depend on.

    Args:
        nodes: in program order.
        results: the keys of the values that are wanted.
        stays: whether a node is kept though nothing needs its results (it has an effect, say).

    Returns:
        The nodes that stay, in program order, and the keys of the results and of all that these nodes read.
    """
    needed = set(results)
    kept: list[Node] = []
    for node in reversed(nodes):
        if not needed.isdisjoint([v.key for v in node.outputs]) or stays(node):
            kept.append(node)
            needed.update([v.key for v in node.inputs])
    return kept[::-1], needed


def makers(nodes: Iterable[Node]) -> dict[int, Node]:
    """By the key of a value the node that makes it."""
    return {v.key: node for node in nodes for v in node.outputs}


def last_uses(graph: Graph) -> list[tuple[Value, ...]]:
    """For each node the values that nothing reads after it (inputs and outputs of the graph excepted)."""
    seen = {v.key for v in graph.outputs} | {v.key for v in graph.inputs}
    frees: list[tuple[Value, ...]] = [()] * len(graph.nodes)
    for index in range(len(graph.nodes) - 1, -1, -1):
        node = graph.nodes[index]
        ended = []
        for value in (*node.inputs, *node.outputs):
            if value.key not in seen:
                seen.add(value.key)
                ended.append(value)
        if ended:
            frees[index] = tuple(ended)
    return frees


# -- unknown dimensions ------------------------------------------------------------------------------------------------


class Shaped(Protocol):
    """A tensor, a value of a graph or the type of one."""

    @property
    def shape(self) -> Shape: ...


def atoms_in(shape: Iterable[DimLike]) -> set[Atom]:
    """The dimensions that extents are made of."""
    return {atom for dim in shape if type(dim) is Dim for atom in dim.atoms}


def atoms_told(values: Iterable[Shaped]) -> set[Atom]:
    """The dimensions whose size the arrays of these values tell: an array of `n` elements does, one of `n // 2` does
    not."""
    return {d.atom for v in values for d in v.shape if type(d) is Dim and d.is_atom}


def atoms_named(nodes: Iterable[Node]) -> set[Atom]:
    """The dimensions that nodes are given as attributes, so that something else must tell their size."""
    return {atom for node in nodes if node.attrs for d in dims_in(node.attrs) for atom in d.atoms}


def values_with_own_dims(nodes: Iterable[Node]) -> list[Value]:
    """The results whose extents may be known at run time only: those of ops that hold programs."""
    return [v for node in nodes if node.op.facts.holds for v in node.outputs]


def holders(values: Iterable[Value], missing: Collection[Atom]) -> tuple[list[Value], set[Atom]]:
    """The first of these values that tell the missing dimensions, and the dimensions that none of them tells."""
    found: list[Value] = []
    rest = set(missing)
    for value in values if rest else ():
        told = atoms_told((value,)) & rest
        if told:
            found.append(value)
            rest -= told
    return found, rest


def dim_sources(inputs: Sequence[Value]) -> dict[Atom, tuple[int, int]]:
    """Where the size of each unknown dimension is found: an input's position and axis."""
    found: dict[Atom, tuple[int, int]] = {}
    for index, value in enumerate(inputs):
        for axis, dim in enumerate(value.shape):
            if isinstance(dim, Dim) and dim.is_atom:
                found.setdefault(dim.atom, (index, axis))
    return found


def dims_at_entry(graph: Graph) -> dict[Atom, tuple[int, int]]:
    """Where inputs tell the size of a dimension that is needed. (Rows that differ in length tell no size.)"""
    needed = _needed_to_run(graph)
    return {atom: place for atom, place in dim_sources(graph.inputs).items() if atom in needed}


def dims_told(graph: Graph) -> dict[int, tuple[tuple[Atom, int, int], ...]]:
    """Which nodes' results tell the size of a dimension that is needed and that no input tells.

    Returns:
        By the number of the node: the dimension, which result tells it, and along which axis.
    """
    needed = _needed_to_run(graph) - dim_sources(graph.inputs).keys()
    found: dict[int, tuple[tuple[Atom, int, int], ...]] = {}
    for index, node in enumerate(graph.nodes if needed else ()):
        told = {
            dim.atom: (place, axis) for place, value in enumerate(node.outputs) for axis, dim in enumerate(value.shape)
            if isinstance(dim, Dim) and dim.is_atom and dim.atom in needed
        }  # fmt: skip
        needed -= told.keys()
        if told:
            found[index] = (*[(atom, place, axis) for atom, (place, axis) in told.items()],)
    return found


def _needed_to_run(graph: Graph) -> set[Atom]:
    """The dimensions that kernels and checks are given as numbers."""
    return atoms_named(graph.nodes).union(*(check.atoms for check in checks_of(graph)))
