"""Removes from a graph the code for rare cases: what is computed only where a flag marked `rarely` is set.

Where one is set, the code ends, and code that has everything runs the whole (`support.with_rare`). The flags are those
of limits at equal eigenvalues.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...._core.graph import Graph, Node
from ...._core.tensor import Value
from ...._passes.rewrite import with_inputs, with_nodes


def without_rare(graph: Graph) -> Graph:
    """The graph as it is where none of the flags is set; the flags stay, to be looked at."""
    if not any(node.op.name == "rarely" for node in graph.nodes):
        return graph
    unset: set[int] = set()  # keys of flags
    stands_for: dict[int, Value] = {}
    nodes: list[Node] = []
    for original in graph.nodes:
        node = with_inputs(original, stands_for)
        same = _chosen(node, unset)
        if same is not None:
            stands_for[node.outputs[0].key] = same
            continue
        if _is_unset(node, unset):
            unset.add(node.outputs[0].key)
        nodes.append(node)
    outputs = [stands_for.get(v.key, v) for v in graph.outputs]
    return with_nodes(graph, _needed(nodes, outputs), outputs)


def _is_unset(node: Node, unset: set[int]) -> bool:
    """Whether a node gives flags of which none is set."""
    name, keys = node.op.name, [v.key for v in node.inputs]
    if name == "rarely":
        return True
    if node.op.facts.moves:
        return keys[0] in unset
    if name == "logical_or":
        return unset.issuperset(keys)
    return name == "logical_and" and not unset.isdisjoint(keys)


def _chosen(node: Node, unset: set[int]) -> Value | None:
    """The operand that a node gives because a flag is not set."""
    name, inputs = node.op.name, node.inputs
    if name == "select" and inputs[0].key in unset and inputs[2].shape == node.outputs[0].shape:
        return inputs[2]
    if name == "logical_or" and len([v for v in inputs if v.key in unset]) == 1:
        return next(v for v in inputs if v.key not in unset)
    return None


def _needed(nodes: Sequence[Node], outputs: Iterable[Value]) -> list[Node]:
    """The nodes that outputs need, the flags, and what has an effect or may raise an error of the user's program."""
    live = {v.key for v in outputs}
    kept: list[Node] = []
    for node in reversed(nodes):
        is_told = node.op.name == "rarely" or node.op.has_effect or (node.op.can_raise and not node.is_quiet)
        if is_told or not live.isdisjoint([v.key for v in node.outputs]):
            kept.append(node)
            live.update([v.key for v in node.inputs])
    return kept[::-1]


__all__ = ["without_rare"]
