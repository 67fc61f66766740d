"""Removes rules from a graph that is about to run: nothing will ask for them any more.

Each `custom` node is replaced by the values that it passes through, systems with known factors by substitutions, which
do not read the matrix. The first pass of `optimise`.
"""

from __future__ import annotations

from .._core.graph import Graph, Node
from .._core.tensor import Value
from .._prims.factored_systems import solve_by_factors, substitutions
from .._prims.linalg import ADJOINT
from .rewrite import with_inputs, with_nodes


def drop_rules(graph: Graph) -> Graph:
    """The graph with the results of `custom` nodes replaced by what they let through, and without matrices whose
    factors are known."""
    stands_for: dict[int, Value] = {}
    nodes: list[Node] = []
    has_factors = False
    for node in graph.nodes:
        node = with_inputs(node, stands_for)
        if node.op.name == "custom":
            (rule,) = node.attrs
            results = node.inputs[rule.inputs : rule.inputs + rule.outputs]
            stands_for.update((v.key, x) for v, x in zip(node.outputs, results, strict=True))
        elif node.op is solve_by_factors:
            has_factors = True
            _, packed, order, _ = node.inputs
            nodes += substitutions(node, packed, order, ADJOINT if node.attrs[0] else 0)
        else:
            nodes.append(node)
    if not (stands_for or has_factors):
        return graph
    return with_nodes(graph, nodes, [stands_for.get(v.key, v) for v in graph.outputs])
