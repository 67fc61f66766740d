"""Batching: a graph traced for one example, replayed on whole batches by each op's batch rule.

The batch axis of a batched value is always its first; values that do not depend on the batch are computed once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .._core.dims import Atom, Dim, DimLike, Shape
from .._core.dtypes import HISTORY
from .._core.extents import require_late
from .._core.graph import Graph, Node
from .._core.op import repeat
from .._core.state import building
from .._core.tensor import Tensor, Value
from .._core.user_line import at_user_line
from .replay import attrs_for, bind_dims, entry_environment, on_behalf_of, run_again, store


def batch(graph: Graph, arguments: Sequence[Tensor], batched: Sequence[bool], size: DimLike) -> list[Tensor]:
    """The outputs of a graph for a batch of arguments, all with a leading batch axis.

    Args:
        graph: a finished graph of one example.
        arguments: one tensor an input; those flagged in `batched` have an extra leading axis of extent `size`.
    """
    return lanes_of(graph, arguments, batched, (True,) * len(graph.outputs), size)


def batched_graph(source: Graph, flags: Sequence[bool], wanted: Sequence[bool], size: DimLike) -> Graph:
    """A graph for a batch of the inputs flagged; the outputs `wanted` have the batch axis in any case."""
    graph = Graph(source.name)
    with building(graph):
        arguments = add_lanes(graph, source.inputs, flags, size)
        graph.finish(lanes_of(source, arguments, flags, wanted, size))
    return graph


def add_lanes(graph: Graph, values: Sequence[Value], flags: Sequence[bool], size: DimLike) -> list[Tensor]:
    """Inputs for a graph under construction: of these values' types, those flagged with a leading axis."""
    return [
        graph.add_input((size, *v.shape) if flag else v.shape, v.dtype, weak=v.weak)
        for v, flag in zip(values, flags, strict=True)
    ]


def lanes_of(
    graph: Graph, arguments: Sequence[Tensor], flags: Sequence[bool], wanted: Sequence[bool], size: DimLike
) -> list[Tensor]:  # fmt: skip
    """A graph's outputs for a batch, of which those `wanted` have the batch axis whether they depend on it or not."""
    return [
        repeat(x, size) if wants and not flag and x.dtype != HISTORY else x
        for (x, flag), wants in zip(batch_some(graph, arguments, flags), wanted, strict=True)
    ]


def batch_some(graph: Graph, arguments: Sequence[Tensor], batched: Sequence[bool]) -> list[tuple[Tensor, bool]]:
    """The outputs of a graph for a batch of arguments, each with whether it has the batch axis."""
    env = entry_environment(graph, arguments)
    flags = reached(graph.nodes, [v for v, flag in zip(graph.inputs, batched, strict=True) if flag])
    sizes = bind_dims(graph, [x.shape[1:] if b else x.shape for x, b in zip(arguments, batched, strict=True)])
    for node in graph.nodes:
        operands = (*[env[v.key] for v in node.inputs],)
        of_operands = (*[v.key in flags for v in node.inputs],)
        attrs = attrs_for(node, sizes)
        results = _of_node(node, operands, of_operands, attrs)
        store(env, node, results)
        _learn_dims(node, [env[v.key] for v in node.outputs], flags, sizes)
    require_late(graph, sizes)
    return [(env[v.key], v.key in flags) for v in graph.outputs]


def _of_node(node: Node, operands: tuple[Tensor, ...], flags: tuple[bool, ...], attrs: tuple[Any, ...]) -> Any:
    if not any(flags):
        return run_again(node, operands, attrs)
    if node.op.batch_rule is None:
        raise NotImplementedError(at_user_line(f"{node.op.name} has no batch rule"))
    return on_behalf_of(node, node.op.batch_rule, node.op, operands, flags, attrs)


def reached(nodes: Iterable[Node], batched: Iterable[Value]) -> set[int]:
    """The keys of the values that have the batch axis if these have it."""
    keys = {v.key for v in batched if not v.is_history}
    for node in nodes:
        if any(v.key in keys for v in node.inputs):
            keys.update(v.key for v in node.outputs if not v.is_history)
    return keys


def _learn_dims(node: Node, results: Sequence[Tensor], flags: set[int], sizes: dict[Atom, DimLike]) -> None:
    """Takes note of what the unknown dimensions of a node's results have become."""
    for value, result in zip(node.outputs, results, strict=True):
        shape: Shape = value.shape
        if any(type(d) is Dim for d in shape):
            found = result.shape[1:] if value.key in flags else result.shape
            for dim, extent in zip(shape, found, strict=True):
                if type(dim) is Dim and dim.is_atom and dim != extent:
                    sizes.setdefault(dim.atom, extent)


__all__ = ["batch", "batch_some", "reached"]
