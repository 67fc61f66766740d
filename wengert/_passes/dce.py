"""Drops nodes whose results nothing uses, unless they have an effect or may raise; and what branches and loops save for
ways back that nobody asks for."""

from __future__ import annotations

from .._core.graph import Graph, Node
from .rewrite import with_nodes


def drop_unused(graph: Graph) -> Graph:
    """The graph without dead nodes."""
    live = {v.key for v in graph.outputs}
    kept = []
    for node in reversed(graph.nodes):
        if node.op.has_effect or node.op.can_raise or not live.isdisjoint([v.key for v in node.outputs]):
            node = _pruned(node, live)
            if node.outputs or _matters(node):
                kept.append(node)
                live.update([v.key for v in node.inputs])
    return with_nodes(graph, kept[::-1], graph.outputs)


def _pruned(node: Node, live: set[int]) -> Node:
    """A branch or a loop without the results beyond the user's own that nothing uses."""
    if node.op.name not in _PRUNED:
        return node
    used = [v.key in live for v in node.outputs]
    attr, kept = node.attrs[-1].pruned(used)
    if all(kept):
        return node
    outputs = (*[v for v, is_kept in zip(node.outputs, kept, strict=True) if is_kept],)
    return Node(node.op, node.inputs, outputs, (*node.attrs[:-1], attr), node.site, node.is_quiet, node.label)


def _matters(node: Node) -> bool:
    """Whether a node without results has an effect, may raise, or need not end."""
    if node.op.name not in _PRUNED:
        return node.op.has_effect or node.op.can_raise
    region = node.attrs[-1]
    is_while = getattr(region, "condition", None) is not None
    return is_while or any(_matters(inner) for program in region.inner for inner in program.graph.nodes)


_PRUNED = frozenset({"switch", "loop"})
