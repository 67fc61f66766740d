"""A graph pass for CPUs: products of a transposed matrix and a single column are contracted without a transpose.

XLA's compiler for CPUs folds a transpose into a product of matrices, but copies the matrix where the other operand is a
column, as the cotangent of `X @ w` is; the copy is most of the time of such a gradient.
"""

from __future__ import annotations

from ..._core.graph import Graph, Node
from ..._passes.rewrite import rewritten
from ..._prims.linalg import einsum


def contracted(graph: Graph) -> Graph:
    """The graph with such products as `einsum`s of the matrix itself."""
    transposed: dict[int, Node] = {}

    def change(node: Node) -> Node | None:
        if node.op.name == "transpose" and node.attrs[0] == (1, 0):
            transposed[node.outputs[0].key] = node
        if node.op.name != "matmul":
            return None
        x, column = node.inputs
        if x.key not in transposed or column.shape[-1] != 1 or len(column.shape) != 2:
            return None
        return node.remade(einsum, (transposed[x.key].inputs[0], column), (("ba", "bc"), "ac"))

    return rewritten(graph, change)
