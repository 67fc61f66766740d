"""One kernel for all sizes: large extents as numbers that the code is told when it runs.

The first graph of a structure is compiled for its own extents. Where another comes that differs from it in extents
beyond `SPECIAL` only, its extents (those equal to one another are one) become dimensions, and the code is that of any
further graph in which the same extents are equal. That it is the same code is seen by its text; the structure compared
before is a guess of when to begin.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, NamedTuple

from ..._core.dims import Atom, Dim
from ..._core.graph import Graph, Node
from ..._core.tensor import Value

SPECIAL = 64  # extents up to which code is made for the number itself
REMEMBERED = 4096  # structures

# Primitives with an extent among their attributes that stands alone, not in a tuple.
_EXTENTS = {"iota", "add_along"}

_lock = threading.Lock()
_seen: OrderedDict[Any, tuple[int, ...]] = OrderedDict()


class Sized(NamedTuple):
    """A graph and the numbers that its dimensions stand for; the dimensions are none where extents stay numbers."""

    graph: Graph
    numbers: dict[Atom, int]


def sized(graph: Graph) -> Sized:
    """A graph with dimensions for its large extents, if one like it with other extents was here before."""
    table = _extents(graph)
    if not table or not all(map(_is_plain, graph.nodes)):
        return Sized(graph, {})
    key, numbers = _structure(graph), (*table,)
    with _lock:
        first = _seen.setdefault(key, numbers)
        if len(_seen) > REMEMBERED:
            _seen.popitem(last=False)
    if first == numbers:
        return Sized(graph, {})
    return Sized(_with_dims(graph, table), {dim.atom: n for n, dim in table.items()})


def _extents(graph: Graph) -> dict[int, Dim]:
    """A dimension for each large extent, in the order in which they come."""
    table: dict[int, Dim] = {}
    for value in (*graph.inputs, *(v for node in graph.nodes for v in node.outputs)):
        for extent in value.shape:
            if type(extent) is not int:
                return {}  # it has dimensions already
            if extent > SPECIAL and extent not in table:
                table[extent] = Dim.free(f"n{len(table)}")
    return table


def _is_plain(node: Node) -> bool:
    """Whether the attributes of a node are numbers, words and tuples: nothing that holds programs."""
    return all(type(a) in (int, float, complex, bool, str, tuple) or _is_constant(a) for a in node.attrs)


def _is_constant(attribute: Any) -> bool:
    return attribute is None or hasattr(attribute, "dtype") or hasattr(attribute, "itemsize")


def _structure(graph: Graph) -> Any:
    """What graphs that differ in extents have in common."""
    places = {v.key: i for i, v in enumerate(graph.inputs)}
    rows: list[Any] = [(v.dtype, len(v.shape)) for v in graph.inputs]
    for node in graph.nodes:
        for v in node.outputs:
            places[v.key] = len(places)
        rows.append((node.op.name, *[places[v.key] for v in node.inputs], *[len(v.shape) for v in node.outputs]))
    return (*rows, *[places[v.key] for v in graph.outputs])


def _with_dims(graph: Graph, table: dict[int, Dim]) -> Graph:
    renamed: dict[int, Value] = {}

    def value(v: Value) -> Value:
        if v.key not in renamed:
            shape = (*[table.get(n, n) for n in v.shape],)
            renamed[v.key] = Value(shape, v.dtype, v.graph, v.name, v.weak)
        return renamed[v.key]

    nodes: list[Node] = []
    inputs = [*map(value, graph.inputs)]
    for node in graph.nodes:
        attrs = (*[_attribute(a, table, node.op.name) for a in node.attrs],)
        operands, outputs = (*map(value, node.inputs),), (*map(value, node.outputs),)
        nodes.append(Node(node.op, operands, outputs, attrs, node.site, node.is_quiet, node.label))
    return Graph.of(graph.name, inputs, nodes, [*map(value, graph.outputs)])


def _attribute(attribute: Any, table: dict[int, Dim], name: str) -> Any:
    if type(attribute) is int:
        return table.get(attribute, attribute) if name in _EXTENTS else attribute
    return _inside(attribute, table) if type(attribute) is tuple else attribute


def _inside(attribute: Any, table: dict[int, Dim]) -> Any:
    """A tuple with dimensions for numbers that are large extents: whatever they mean, in this run they are equal."""
    if type(attribute) is int:
        return table.get(attribute, attribute)
    if type(attribute) is tuple:
        return (*[_inside(a, table) for a in attribute],)
    return attribute
