"""Batching: a graph traced for one example, replayed on whole batches by each op's batch rule.

The batch axis of a batched value is always its first; values that do not depend on the batch are computed once.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core.apply import apply
from .._core.dims import DimLike
from .._core.graph import Graph
from .._core.op import repeat
from .._core.tensor import Tensor
from .._core.where import at_user_line
from .replay import attrs_for, bind_dims, bind_results, entry_environment, store


def batch(graph: Graph, arguments: Sequence[Tensor], batched: Sequence[bool], size: DimLike) -> list[Tensor]:
    """The outputs of a graph for a batch of arguments, all with a leading batch axis.

    Args:
        graph: a finished graph of one example.
        arguments: one tensor an input; those flagged in `batched` have an extra leading axis of extent `size`.
    """
    env = entry_environment(graph, arguments)
    is_batched = {value.key: flag for value, flag in zip(graph.inputs, batched, strict=True)}
    sizes = bind_dims(graph, [x.shape[1:] if b else x.shape for x, b in zip(arguments, batched, strict=True)])
    for node in graph.nodes:
        operands = (*[env[v.key] for v in node.inputs],)
        flags = (*[is_batched.get(v.key, False) for v in node.inputs],)
        attrs = attrs_for(node, sizes)
        if not any(flags):
            results = apply(node.op, operands, attrs)
            store(env, node, results)
            bind_results(node, results, sizes)
            continue
        if node.op.batch_rule is None:
            raise NotImplementedError(at_user_line(f"{node.op.name} has no batch rule"))
        results = node.op.batch_rule(node.op, operands, flags, attrs)
        store(env, node, results)
        bind_results(node, results, sizes, skip=1)
        is_batched.update({v.key: True for v in node.outputs})
    return [
        env[v.key] if is_batched.get(v.key, False) else repeat(env[v.key], size) for v in graph.outputs
    ]
