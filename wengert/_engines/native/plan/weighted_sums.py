"""Products over labelled axes that are no product of matrices: nothing is added up, or all labels are those of one
operand, whose elements are each read once, weighted by the others', and added up.

As a product and a sum they share a loop with what is around them, in the order in which the elements lie, and totals of
a row are added to side by side; as a batch of products of a matrix and a vector they would be many short calls. NumPy's
kernels, which run in the stead of machine code and tell its warnings, have the graph as it was.
"""

from __future__ import annotations

import functools
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
    """Whether products need no sum, or a sum of products weights the elements of one operand, and is no product of a
    vector with a matrix, or with each of a batch, that lies in memory as one."""
    if node.op.name != "einsum" or len(node.inputs) < 2:
        return False
    labels, out = node.attrs
    if {*out} == {*"".join(labels)}:
        return True
    wide = max(labels, key=len)
    if not all({*names} <= {*wide} for names in labels):
        return False
    if len(labels) > 2:
        return sum({*names} == {*wide} for names in labels) > 1
    x, y = labels
    narrow = y if wide is x else x
    if {*narrow} == {*wide}:
        return bool(out) or x != y
    summed = "".join(c for c in wide if c not in out)
    matrix = "".join(c for c in wide if c not in narrow or c not in out)
    kept = "".join(c for c in matrix if c in out)
    is_matrix = matrix in (summed + kept, kept + summed) and kept == "".join(c for c in out if c in kept)
    if not is_matrix:
        return True
    extents = dict(zip(wide, node.inputs[wide is y].shape, strict=True))
    return wide[-1] not in matrix and not _is_small([extents[c] for c in matrix])


def _is_small(extents: Sequence[Any]) -> bool:
    """Whether matrices are computed side by side, in the vectors of a batch."""
    return all(type(n) is int for n in extents) and prod(extents) <= WRITTEN_OUT


def _weighted_sum(*args: Any) -> Tensor:
    """The product element by element in the order of the operand with all labels, or of the result, added up. Half
    floats are rounded once, as the primitive says."""
    *xs, labels, out = args
    dtype = xs[0].dtype
    is_wide = is_half(dtype) and (len(xs) > 2 or {*out} != {*"".join(labels)})
    if is_wide:
        xs = [op("cast")(x, dtype=np.dtype(np.float32)) for x in xs]
    order = out if {*out} == {*"".join(labels)} else max(labels, key=len)
    extents = {c: n for x, names in zip(xs, labels, strict=True) for c, n in zip(names, x.shape, strict=True)}
    found = functools.reduce(op("mul"), [_along(x, names, order, extents) for x, names in zip(xs, labels, strict=True)])
    axes = (*[i for i, c in enumerate(order) if c not in out],)
    found = op("reduce_sum")(found, axes=axes) if axes else _from_zero(found)
    left = [c for c in order if c in out]
    found = op("transpose")(found, perm=(*[left.index(c) for c in out],)) if left != [*out] else found
    return op("cast")(found, dtype=dtype) if is_wide else found


def _from_zero(x: Tensor) -> Tensor:
    """A sum of one term each, which begins with zero as NumPy's does: of a negative zero it is zero."""
    if x.dtype.kind in "iub":
        return x
    return op("add_number")(x, number=0j if x.dtype.kind == "c" else 0.0)


def _along(x: Tensor, names: str, order: str, extents: dict[str, Any]) -> Tensor:
    """An operand with all labels, in their order."""
    places = [names.index(c) for c in order if c in names]
    shape = (*[extents[c] if c in names else 1 for c in order],)
    x = op("transpose")(x, perm=(*places,)) if places != sorted(places) else x
    if len(places) == len(order):
        return x
    return op("broadcast_to")(op("reshape")(x, shape=shape), shape=(*[extents[c] for c in order],))


__all__ = ["with_weighted_sums"]
