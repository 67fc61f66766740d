"""Drops nodes whose results nothing uses, unless they have an effect or may raise."""

from __future__ import annotations

from .._core.graph import Graph
from .rewrite import with_nodes


def drop_unused(graph: Graph) -> Graph:
    """The graph without dead nodes."""
    live = {v.key for v in graph.outputs}
    kept = []
    for node in reversed(graph.nodes):
        if node.op.has_effect or node.op.can_raise or any(v.key in live for v in node.outputs):
            kept.append(node)
            live.update(v.key for v in node.inputs)
    return with_nodes(graph, kept[::-1], graph.outputs)
