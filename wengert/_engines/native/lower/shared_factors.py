"""Systems with one matrix, or with its transpose as gradients have them, share its factors where these are dear.

`with_shared_factors(graph)` puts one `lu` in front of such `solve` nodes, and makes substitutions of them. Few unknowns
are eliminated anew: in registers that takes no longer than to keep factors.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...._core.graph import Graph, Node
from ...._core.op import Op
from ...._core.tensor import Value
from ...._prims.decompositions import lu, permute_rows, unpermute_rows
from ...._prims.linalg import triangular_solve
from ..ir.loops import FLOATS
from .elimination import LITTLE
from .forms import TYPE_OF

# lower, transposed, unit_diagonal
_LOWER, _UPPER = (True, 0, True), (False, 0, False)
_LOWER_TURNED, _UPPER_TURNED = (True, 1, True), (False, 1, False)


def with_shared_factors(graph: Graph) -> Graph:
    """The graph with the factors of matrices that several systems have."""
    systems = [node for node in graph.nodes if _is_dear(node)]
    if len(systems) < 2:
        return graph
    turned = {node.outputs[0].key: node.inputs[0] for node in graph.nodes if _turns(node)}
    matrices = {node: turned.get(node.inputs[0].key, node.inputs[0]) for node in systems}
    known = [x.key for x in matrices.values()]
    factors: dict[int, tuple[Value, ...]] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        matrix = matrices.get(node)
        if matrix is None or known.count(matrix.key) < 2:
            nodes.append(node)
            continue
        if matrix.key not in factors:
            nodes.append(_factorised(node, matrix))
            factors[matrix.key] = nodes[-1].outputs
        nodes.extend(_substitutions(node, factors[matrix.key], is_turned=matrix is not node.inputs[0]))
    return Graph.of(graph.name, graph.inputs, nodes, graph.outputs, graph.guards)


def _is_dear(node: Node) -> bool:
    if node.op.name != "solve" or TYPE_OF.get(node.inputs[0].dtype) not in FLOATS:
        return False
    n = node.inputs[0].shape[-1]
    return type(n) is int and n > LITTLE


def _turns(node: Node) -> bool:
    """Whether a node gives the transposes of matrices."""
    if node.op.name != "transpose":
        return False
    (order,), count = node.attrs, len(node.inputs[0].shape)
    return count > 1 and tuple(order) == (*range(count - 2), count - 1, count - 2)


def _factorised(node: Node, a: Value) -> Node:
    pivots, order = (Value(a.shape[:-1], np.dtype(dtype), a.graph) for dtype in (np.int32, np.int64))
    outs = Value(a.shape, a.dtype, a.graph), pivots, order
    return Node(lu, (a,), outs, (), node.site, node.is_quiet, node.label)


def _substitutions(node: Node, factors: tuple[Value, ...], is_turned: bool) -> Iterator[Node]:
    """a[order] = L U, so a x = b is L U x = b[order], and a' x = b is U' L' x[order] = b."""
    packed, _, order = factors
    steps: list[tuple[Op, Value, tuple[bool | int, ...]]] = [
        (permute_rows, order, ()), (triangular_solve, packed, _LOWER), (triangular_solve, packed, _UPPER),
    ]  # fmt: skip
    if is_turned:
        steps = [
            (triangular_solve, packed, _UPPER_TURNED), (triangular_solve, packed, _LOWER_TURNED),
            (unpermute_rows, order, ()),
        ]  # fmt: skip
    x, (out,) = node.inputs[1], node.outputs
    found = *(Value(out.shape, out.dtype, out.graph) for _ in steps[1:]), out
    for (op, other, attrs), made in zip(steps, found, strict=True):
        inputs = (other, x) if op is triangular_solve else (x, other)
        yield Node(op, inputs, (made,), attrs, node.site, node.is_quiet, node.label)
        x = made
