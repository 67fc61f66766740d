"""Has a program's forward half factorise the matrices of its systems, so that factors cross to the backward half.

Each backward pass through `solve` has a system with the adjoint of the matrix. In a program of its own it would
factorise the matrix once more.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .._core import dtypes
from .._core.graph import Graph, Node
from .._core.tensor import Value
from .._prims.factored_systems import are_dear, factorisation, solve_by_factors
from .._prims.structural import stop_gradient


def with_kept_factors(graph: Graph, active: Sequence[bool], shared: Collection[int] = ()) -> Graph:
    """The graph whose systems that cotangents pass are solved by factors, where these are dear.

    Args:
        graph: a closed graph.
        active: which inputs want a cotangent.
        shared: positions of the inputs that many runs share: the factors of what depends on them alone are not kept for
            each of them.
    """
    if not any(node.op.name == "solve" for node in graph.nodes):
        return graph
    reached = {v.key for v, flag in zip(graph.inputs, active, strict=True) if flag}
    known = {graph.inputs[i].key for i in shared}
    factors: dict[int, tuple[Value, Value]] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        if all(v.key in known for v in node.inputs):
            known.update(v.key for v in node.outputs)
        if node.op.kind != "stop" and any(v.key in reached for v in node.inputs):
            reached.update(v.key for v in node.outputs if dtypes.is_inexact(v.dtype))
        if not _is_kept(node, reached, known):
            nodes.append(node)
            continue
        a, right = node.inputs
        if a.key not in factors:
            nodes += _factorised(node, a)
            packed, _, order = nodes[-1].outputs
            factors[a.key] = packed, order
        nodes.append(node.remade(solve_by_factors, (a, *factors[a.key], right), (False,)))
    return Graph.of(graph.name, graph.inputs, nodes, graph.outputs, graph.guards) if factors else graph


def _is_kept(node: Node, reached: Collection[int], known: Collection[int]) -> bool:
    if node.op.name != "solve" or node.outputs[0].key not in reached or node.inputs[0].key in known:
        return False
    return are_dear(node.inputs[1])


def _factorised(node: Node, a: Value) -> list[Node]:
    """The factors of a matrix, as constants: the derivative in it is that of the system."""
    held = Value(a.shape, a.dtype, a.graph)
    return [Node(stop_gradient, (a,), (held,), (), node.site, node.is_quiet, node.label), factorisation(node, held)]
