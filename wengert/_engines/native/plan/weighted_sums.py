"""Sums of products over labelled axes that are no product of matrices: all labels are those of one operand, whose
elements are each read once, weighted by the other's, and added up.

As a product and a sum they share a loop with what is around them, in the order in which the elements lie, and totals of
a row are added to side by side; as a batch of products of a matrix and a vector they would be many short calls. NumPy's
kernels, which run in the stead of machine code and tell its warnings, have the graph as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ...._core.dtypes import is_half
from ...._core.graph import Graph, Node
from ...._core.state import building
from ...._core.tensor import Tensor
from ...._passes.rewrite import with_nodes
from .expansion_helpers import op
from .late_broadcasts import narrowed

WRITTEN_OUT = 64  # elements of a matrix whose product with a vector is written out


def with_weighted_sums(graph: Graph) -> Graph:
    """The graph with such sums as products and sums over axes."""
    if not any(map(_is_weighted_sum, graph.nodes)):
        return graph
    nodes: list[Node] = []
    for node in graph.nodes:
        nodes += _in_steps(node) if _is_weighted_sum(node) else [node]
    return narrowed(with_nodes(graph, nodes, graph.outputs))


def _in_steps(node: Node) -> list[Node]:
    steps = Graph(node.op.name)
    with building(steps):
        given = [steps.add_input(v.shape, v.dtype) for v in node.inputs]
        steps.finish([_weighted_sum(*given, *node.attrs)])
    stands_for = {v.key: x for v, x in zip((*steps.inputs, *steps.outputs), (*node.inputs, *node.outputs), strict=True)}
    return [
        Node(
            step.op, (*[stands_for.get(v.key, v) for v in step.inputs],),
            (*[stands_for.get(v.key, v) for v in step.outputs],), step.attrs, node.site, node.is_quiet, node.label,
        )
        for step in steps.nodes
    ]  # fmt: skip


def _is_weighted_sum(node: Node) -> bool:
    """Whether a sum of products weights the elements of one operand, and is no product of a vector with a matrix, or
    with each of a batch, that lies in memory as one."""
    if node.op.name != "einsum" or len(node.inputs) != 2 or not _is_quick(node.inputs[0].dtype):
        return False
    (x, y), out = node.attrs
    wide, narrow = (x, y) if len(x) >= len(y) else (y, x)
    summed = "".join(c for c in wide if c not in out)
    if not summed or not {*narrow} <= {*wide}:
        return False
    if {*narrow} == {*wide}:
        return bool(out) or x != y
    matrix = "".join(c for c in wide if c not in narrow or c not in out)
    kept = "".join(c for c in matrix if c in out)
    is_matrix = matrix in (summed + kept, kept + summed) and kept == "".join(c for c in out if c in kept)
    if not is_matrix:
        return True
    extents = dict(zip(wide, node.inputs[wide is y].shape, strict=True))
    return wide[-1] not in matrix and not _is_small([extents[c] for c in matrix])


def _is_quick(dtype: np.dtype[Any]) -> bool:
    """Whether LLVM makes vectors of such products at once: of bytes, added up side by side, it takes seconds."""
    return not is_half(dtype) and (dtype.itemsize > 1 or dtype.kind == "b")


def _is_small(extents: Sequence[Any]) -> bool:
    """Whether matrices are computed side by side, in the vectors of a batch."""
    return all(type(n) is int for n in extents) and prod(extents) <= WRITTEN_OUT


def _weighted_sum(*args: Any) -> Tensor:
    """The product element by element in the order of the operand with all labels, added up."""
    x, y, (x_labels, y_labels), out = args
    if len(x_labels) < len(y_labels):
        x, y, x_labels, y_labels = y, x, y_labels, x_labels
    places = [y_labels.index(c) for c in x_labels if c in y_labels]
    shape = (*[n if c in y_labels else 1 for c, n in zip(x_labels, x.shape, strict=True)],)
    y = op("transpose")(y, perm=(*places,)) if places != sorted(places) else y
    y = op("broadcast_to")(op("reshape")(y, shape=shape), shape=x.shape) if len(places) < len(x_labels) else y
    axes = (*[i for i, c in enumerate(x_labels) if c not in out],)
    found = op("reduce_sum")(op("mul")(x, y), axes=axes)
    left = [c for c in x_labels if c in out]
    return op("transpose")(found, perm=(*[left.index(c) for c in out],)) if left != [*out] else found


__all__ = ["with_weighted_sums"]
