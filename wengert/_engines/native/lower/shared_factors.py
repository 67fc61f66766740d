"""Systems with one matrix, or with its transpose or adjoint as gradients have them, share its factors where dear.

`with_shared_factors(graph)` puts one `lu` in front of such `solve` nodes, and makes substitutions of them. Few unknowns
are eliminated anew: in registers that takes no longer than to keep factors. So are some more with many right-hand
sides, which go through the elimination as further columns of the matrix.
"""

from __future__ import annotations

from collections import Counter

from ...._core.graph import Graph, Node
from ...._core.tensor import Value
from ...._prims.factored_systems import are_dear, factorisation, substitutions
from ...._prims.linalg import ADJOINT, TRANSPOSED


def with_shared_factors(graph: Graph) -> Graph:
    """The graph with the factors of matrices that several systems have."""
    systems = [node for node in graph.nodes if node.op.name == "solve" and are_dear(node.inputs[1])]
    if len(systems) < 2:
        return graph
    turned = _turned(graph)
    matrices = {node: turned.get(node.inputs[0].key, (node.inputs[0], 0)) for node in systems}
    known = Counter(x.key for x, _ in matrices.values())
    factors: dict[int, tuple[Value, ...]] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        matrix, way = matrices.get(node, (None, 0))
        if matrix is None or known[matrix.key] < 2:
            nodes.append(node)
            continue
        if matrix.key not in factors:
            nodes.append(factorisation(node, matrix))
            factors[matrix.key] = nodes[-1].outputs
        packed, _, order = factors[matrix.key]
        nodes.extend(substitutions(node, packed, order, way))
    return Graph.of(graph.name, graph.inputs, _without_unread(nodes, graph, turned), graph.outputs, graph.guards)


def _turned(graph: Graph) -> dict[int, tuple[Value, int]]:
    """By the keys of transposes and adjoints: what they are of, and which of both they are."""
    found: dict[int, tuple[Value, int]] = {}
    conjugated = {node.outputs[0].key: node.inputs[0] for node in graph.nodes if node.op.name == "conj"}
    for node in graph.nodes:
        if _turns(node):
            (x,) = node.inputs
            of = conjugated.get(x.key)
            found[node.outputs[0].key] = (x, TRANSPOSED) if of is None else (of, ADJOINT)
        elif node.op.name == "conj":
            matrix, way = found.get(node.inputs[0].key, (None, 0))
            if matrix is not None and way == TRANSPOSED:
                found[node.outputs[0].key] = matrix, ADJOINT
    return found


def _without_unread(nodes: list[Node], graph: Graph, turned: dict[int, tuple[Value, int]]) -> list[Node]:
    """The nodes without those that turned a matrix for systems that need it no more."""
    read = {v.key for v in graph.outputs}
    kept: list[Node] = []
    for node in reversed(nodes):
        is_turning = len(node.outputs) == 1 and node.outputs[0].key in turned
        if not is_turning or node.outputs[0].key in read:
            kept.append(node)
            read |= {v.key for v in node.inputs}
    return kept[::-1]


def _turns(node: Node) -> bool:
    """Whether a node gives the transposes of matrices."""
    if node.op.name != "transpose":
        return False
    (order,), count = node.attrs, len(node.inputs[0].shape)
    return count > 1 and tuple(order) == (*range(count - 2), count - 1, count - 2)
