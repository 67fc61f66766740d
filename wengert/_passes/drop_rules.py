"""Removes custom gradients from a graph that is about to run: nothing will ask for their rules any more.

Each `custom` node is replaced by the values that it passes through. The first pass of `optimise`.
"""

from __future__ import annotations

from .._core.graph import Graph
from .._core.tensor import Value
from .rewrite import with_inputs, with_nodes


def drop_rules(graph: Graph) -> Graph:
    """The graph with the results of `custom` nodes replaced by what they let through."""
    stands_for: dict[int, Value] = {}
    nodes = []
    for node in graph.nodes:
        node = with_inputs(node, stands_for)
        if node.op.name == "custom":
            (rule,) = node.attrs
            results = node.inputs[rule.inputs : rule.inputs + rule.outputs]
            stands_for.update((v.key, x) for v, x in zip(node.outputs, results, strict=True))
        else:
            nodes.append(node)
    if not stands_for:
        return graph
    return with_nodes(graph, nodes, [stands_for.get(v.key, v) for v in graph.outputs])
