"""What every pass needs: a copy of a graph with other nodes, values replaced throughout."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any

from .._core.graph import Graph, Node
from .._core.tensor import Value

Replacement = Callable[[Node], "Node | Value | tuple[Value, ...] | None"]


def with_nodes(graph: Graph, nodes: list[Node], outputs: list[Value]) -> Graph:
    """A frozen copy of a graph with other nodes and outputs, the same inputs and guards."""
    result = Graph(graph.name)
    result.inputs = graph.inputs
    result.captures = graph.captures
    result.reads = graph.reads
    result.guards = graph.guards
    result.nodes, result.outputs, result.is_frozen = nodes, outputs, True
    return result


def rewritten(graph: Graph, change: Replacement) -> Graph:
    """Applies `change` to each node in program order; the graph itself where nothing changes.

    It may return another node with the same outputs, what stands for the node's outputs (a value for one alone), or
    None to keep the node. Inputs of the nodes it sees are replaced already.
    """
    stands_for: dict[int, Value] = {}
    nodes = []
    is_same = True
    for node in graph.nodes:
        if stands_for:
            node = with_inputs(node, stands_for)
        result = change(node)
        if result is None:
            nodes.append(node)
            continue
        is_same = False
        if isinstance(result, Node):
            nodes.append(result)
        else:
            values = result if isinstance(result, tuple) else (result,)
            stands_for.update((old.key, new) for old, new in zip(node.outputs, values, strict=True))
    if is_same:
        return graph
    return with_nodes(graph, nodes, [stands_for.get(v.key, v) for v in graph.outputs])


def in_order(nodes: Sequence[Node]) -> list[Node] | None:
    """The nodes so that each comes after what it reads, and else as they stand; None where some wait for each other."""
    makers = {v.key: place for place, node in enumerate(nodes) for v in node.outputs}
    sources = [{makers[v.key] for v in node.inputs if v.key in makers} for node in nodes]
    readers: dict[int, list[int]] = defaultdict(list)
    for place, found in enumerate(sources):
        for source in found:
            readers[source].append(place)
    ready = [place for place, found in enumerate(sources) if not found]
    result: list[Node] = []
    while ready:
        place = heappop(ready)
        result.append(nodes[place])
        for reader in readers[place]:
            sources[reader].discard(place)
            if not sources[reader]:
                heappush(ready, reader)
    return result if len(result) == len(nodes) else None


def within_part(attrs: tuple[Any, ...], axis: int, start: int) -> tuple[Any, ...]:
    """The attributes of a slice of what is joined along an axis, for the part that begins at `start`."""
    starts, limits, strides = attrs
    starts, limits = ((*at[:axis], at[axis] - start, *at[axis + 1 :]) for at in (starts, limits))
    return starts, limits, strides


def renamed(value: Value) -> Value:
    """Another value of the same kind."""
    return Value(value.shape, value.dtype, value.graph, value.name, value.weak)


def copied(graph: Graph, given: Sequence[Value]) -> tuple[list[Node], list[Value]]:
    """The nodes of a graph once more, on these values for its inputs, and what they make of its outputs."""
    values = {v.key: x for v, x in zip(graph.inputs, given, strict=True)}
    nodes: list[Node] = []
    for node in graph.nodes:
        inputs, outputs = (*[values[v.key] for v in node.inputs],), (*map(renamed, node.outputs),)
        values.update((v.key, x) for v, x in zip(node.outputs, outputs, strict=True))
        nodes.append(Node(node.op, inputs, outputs, node.attrs, node.site, node.is_quiet, node.label))
    return nodes, [values[v.key] for v in graph.outputs]


def with_inputs(node: Node, stands_for: dict[int, Value]) -> Node:
    """A node that reads what its inputs have been replaced by."""
    for value in node.inputs if stands_for else ():
        if value.key in stands_for:
            inputs = (*[stands_for.get(v.key, v) for v in node.inputs],)
            return node.remade(node.op, inputs, node.attrs)
    return node
